"""What all coherence bounds share: the modes, the logarithm of groups over beta, and the form of an answer.

Number of groups and failure probability enter every bound only through `Lambda = ln(groups / beta)`. Everything is
written in Lambda, so a failure probability of `exp(-1000)` is as good as any other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.errors import InvalidParameter

Mode = Literal["paper", "corrected", "sharp"]
"""Which form of a theorem: as printed, with slips repaired, or without rounded constants."""
MODES = ("paper", "corrected", "sharp")
"""Every `Mode`."""
Population = Literal["large", "finite"]
"""How the half that is released is counted: as drawn from a large population, or from these `n` rows."""
POPULATIONS = ("large", "finite")
"""Every `Population`."""

SPLIT = "n even, uniform half split, groups fixed before the split"
RELEASE = f"{SPLIT}; curator order-invariant; neighbours replace one row; any lens and learner"


@dataclass(frozen=True)
class GroupSize:
    """The least size of the groups that a bound covers, with the terms that it is the largest of.

    `size` is the number that the formula gives, `rows` the whole number to compare a group with. `vacuous` says that
    not even the whole data set is that large. A size of `inf` means that there is no bound.

    Examples
    --------
    >>> print(GroupSize(34_225.2, "paper", n=1_000_000))
    groups of at least 34,226 rows (paper)
    """

    size: float
    mode: str
    n: int | None = None
    terms: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The headline number."""
        return self.size

    @property
    def rows(self) -> int | None:
        """The smallest whole number of rows that is covered; None where there is no bound."""
        return math.ceil(self.size) if math.isfinite(self.size) else None

    @property
    def binding(self) -> str | None:
        """The term that decides."""
        return max(self.terms, key=self.terms.__getitem__) if self.terms and math.isfinite(self.size) else None

    @property
    def vacuous(self) -> bool:
        """Whether no group can be that large."""
        return not math.isfinite(self.size) or (self.n is not None and self.size > self.n)

    def __str__(self) -> str:
        if self.rows is None:
            return f"no group size is covered ({self.mode})"
        return f"groups of at least {self.rows:,} rows ({self.mode})" + ("; larger than n" if self.vacuous else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain: dict[str, Any] = {"value": self.size, "rows": self.rows, "mode": self.mode, "vacuous": self.vacuous}
        if self.terms:
            plain |= {"binding": self.binding, "terms": dict(self.terms)}
        return plain | dict(self.details)


def log_ratio(beta: float, groups: int, lenses: int = 1, predictors: int = 1) -> float:
    """Return `Lambda = ln(groups lenses predictors / beta)`, rounded up.

    A theorem is about one lens and one predictor drawn from one report. A promise about several of each at once is a
    union bound: their number multiplies the groups. Derived, reviewed.

    Examples
    --------
    >>> round(log_ratio(0.05, 20), 12) == round(math.log(400), 12)
    True
    """
    beta = check.probability("beta", beta, one=True)
    total = math.fsum(
        math.log(check.whole(name, count, at_least=1))
        for name, count in (("groups", groups), ("lenses", lenses), ("predictors", predictors))
    )
    return up(total - math.log(beta), 2)


def even_rows(n: int) -> int:
    """Return `n` if it is even and at least 4: the experiment cuts the rows into two equal halves.

    Examples
    --------
    >>> even_rows(100)
    100
    >>> even_rows(101)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: n must be even, since the rows are cut into two equal halves, got 101; ...
    """
    n = check.whole("n", n, at_least=4)
    if n % 2:
        raise InvalidParameter(
            f"n must be even, since the rows are cut into two equal halves, got {n}; drop one random row"
        )
    return n


def tolerance(alpha: float, mode: str) -> float:
    """Return `alpha` if it is a distance on [-1, 1] that `mode` covers: (0, 2], and below 2 in sharp mode."""
    if mode == "sharp":
        return check.real("alpha", alpha, above=0, below=2)
    return check.real("alpha", alpha, above=0, at_most=2)


__all__ = [
    "MODES",
    "POPULATIONS",
    "RELEASE",
    "SPLIT",
    "GroupSize",
    "Mode",
    "Population",
    "even_rows",
    "log_ratio",
    "tolerance",
]
