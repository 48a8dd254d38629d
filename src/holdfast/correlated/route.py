"""One proved way from a declared dependence to the interval of a mean: an effective size, a ratio and a bias."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from holdfast import check
from holdfast.bounds.correlated.fixed_question import fixed_question_half_width
from holdfast.bounds.interval.width import MOST
from holdfast.bounds.one_question import inputs
from holdfast.bounds.one_question.divergence_bound import kl
from holdfast.bounds.one_question.inputs import Side
from holdfast.bounds.one_question.limits import outwards
from holdfast.errors import InvalidParameter
from holdfast.holdout.families import MeanFamily


@dataclass(frozen=True)
class Route:
    """The tail of a mean of dependent rows, for one fixed question.

    On each side, with probability at least `1 - tail`, the mean of values in [0, 1] is within
    `bias + sqrt(ln(start_ratio / tail) / (2 effective_n))` of the truth (section 3.9 of the specification; which row of
    its table is in `name`). With `blocks` the rows are that many independent blocks of one size, and the tighter
    Chernoff-Hoeffding interval of their means is used instead; block means are not 0/1 values, so binomial intervals
    stay out, and no other effective size may enter a divergence.

    Parameters
    ----------
    name : str
        Which bound it is.
    effective_n : float
        Independent rows that the rows are worth.
    start_ratio : float
        How many times likelier than under the stationary law a first row can be: `c` of the specification.
    bias : float
        How far the conditional mean, given the training rows, may be from the target.
    blocks : int, optional
        Number of independent blocks of one size.

    Examples
    --------
    >>> route = Route("stationary chain", effective_n=4000 * 0.1 / 1.9)
    >>> round(route.half_width(math.log(1e-6)), 9)
    0.185628829
    """

    name: str
    effective_n: float
    start_ratio: float = 1.0
    bias: float = 0.0
    blocks: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise InvalidParameter("name must be a text that says which bound it is")
        clean: dict[str, Any] = {
            "effective_n": check.real("effective_n", self.effective_n, above=0, at_most=MOST),
            "start_ratio": check.real("start_ratio", self.start_ratio, at_least=1, at_most=1e300),
            "bias": check.real("bias", self.bias, at_least=0, at_most=1),
        }
        if self.blocks is not None:
            clean["blocks"] = check.whole("blocks", self.blocks, at_least=1, at_most=MOST)
            if self.start_ratio != 1 or self.bias != 0:
                raise InvalidParameter("blocks must be None where there is a start_ratio or a bias")
        for name, value in clean.items():
            object.__setattr__(self, name, value)

    def half_width(self, log_share: float, side: Side = "both") -> float:
        """How far the mean of [0, 1] values may be from the truth; with both sides each has half of the share."""
        inputs.tails(log_share, side)
        if side != "both":  # one tail at the whole share is half of a two-sided bound at twice the share
            log_share = min(log_share + math.log(2) * (1 - 1e-12), -1e-300)
        return fixed_question_half_width(self.effective_n, log_share, self.start_ratio, self.bias)

    def ends(
        self, mean: float, n: int, log_share: float, low: float, high: float, side: Side = "both"
    ) -> tuple[float, float]:
        """Limits at this mean, within the range; `n` counts rows and is not used, since dependence fixed their worth.

        Examples
        --------
        >>> low, high = Route("blocks", 50.0, blocks=50).ends(0.9, 500, math.log(0.05), 0.0, 1.0)
        >>> round(low, 3), round(high, 3)
        (0.748, 0.977)
        """
        if self.blocks is not None:
            return kl(mean, self.blocks, log_share, low, high, side)
        below, above = inputs.tails(inputs.share(log_share), side)
        reach = (high - low) * self.half_width(log_share, side)
        return outwards(low if below is None else mean - reach, high if above is None else mean + reach, low, high)

    @property
    def family(self) -> MeanFamily:
        """The interval as a question of a reusable holdout takes it."""
        return MeanFamily(self.name, self.ends, curved=self.blocks is not None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data that `from_dict` reads back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Route:
        """Read back from `to_dict()`."""
        return cls(**{name: plain[name] for name in cls.__dataclass_fields__})


__all__ = ["Route"]
