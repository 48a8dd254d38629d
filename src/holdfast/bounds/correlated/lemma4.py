"""Lemma 4 of Zhao 2017: the privacy level of a chain from its spectral gap and its rarest state alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from holdfast import check
from holdfast.bounds.exact import down
from holdfast.bounds.registry import theorem

_STEP = 0.0005  # of the grid on which the free constant is chosen


@dataclass(frozen=True)
class ChainLevel:
    """A level of differential privacy that gives the asked Bayesian level on a chain of at least `rows` records.

    Examples
    --------
    >>> found = chain_level(1.0, 0.5, 0.2)
    >>> found.rows == 2 * found.d, found.value == found.epsilon_dp
    (True, True)
    """

    epsilon_dp: float
    d: int
    s: int
    first: float
    second: float
    constant: float

    @property
    def value(self) -> float:
        """The level."""
        return self.epsilon_dp

    @property
    def rows(self) -> int:
        """The fewest records that the lemma covers, `2d`."""
        return 2 * self.d

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "value": self.epsilon_dp,
            "rows": self.rows,
            "d": self.d,
            "s": self.s,
            "first": self.first,
            "second": self.second,
            "constant": self.constant,
        }


@theorem(
    "correlated.chain-level",
    statement="Level of differential privacy that makes any mechanism epsilon-Bayesian-private on a reversible chain.",
    source="Zhao 2017, Lemma 4, with s supplied from the proof of Theorem 2; the first term alone (Holdfast)",
    conditions="reversible, irreducible, aperiodic chain, any start; at least 2d records; differential privacy "
    "between all databases",
    unit="epsilon",
    provenance="mixed",
)
def chain_level(
    epsilon: float,
    gap: float,
    rarest: float,
    constant: float | None = None,
    method: Literal["sharp", "paper"] = "sharp",
) -> ChainLevel:
    """Return `(1 - 6c) epsilon/(2d - 1)`, `d = ceil((1/gap) ln((e^(c eps) + 1)/(rho (e^(c eps) - 1))))`.

    At lag `d` every log ratio is at most `c epsilon`. Interior rows take the quilt `d` back and `d` ahead: influence at
    most `3 c epsilon` (backward counted twice), surcharge twice that, `2d - 1` records nearby. With at least `2d`
    records the rows near an end have a quilt on one side with no more records nearby. Derived. "paper" keeps the
    printed minimum with `(1/3 - 2c) epsilon/(d + s)`, which is not needed. Exact quilts allow four to five times more.

    Parameters
    ----------
    epsilon : float
        Bayesian level to reach, at most 100.
    gap : float
        Absolute spectral gap.
    rarest : float
        Stationary probability of the rarest state.
    constant : float
        `c` in (0, 1/6); by default the best on a grid.
    method : str
        "sharp" or "paper".

    Returns
    -------
    ChainLevel
        Its value is the level, rounded down.

    Examples
    --------
    >>> found = chain_level(1.0, 0.5, 0.2, 0.1, "paper")
    >>> found.d, found.s, round(found.first, 11), round(found.second, 12), round(found.value, 12)
    (10, 9, 0.02105263158, 0.00701754386, 0.00701754386)
    >>> best = chain_level(1.0, 0.5, 0.2)
    >>> round(best.constant, 4), round(best.value, 6)
    (0.025, 0.036957)
    """
    epsilon = check.real("epsilon", epsilon, at_least=1e-9, at_most=100)
    gap, rarest = check.real("gap", gap, at_least=1e-12, at_most=1), check.real("rarest", rarest, above=0, at_most=1)
    check.choice("method", method, ("sharp", "paper"))
    if constant is not None:
        return _level(epsilon, gap, rarest, check.real("constant", constant, above=0, below=1 / 6), method)
    grid = (_level(epsilon, gap, rarest, step * _STEP, method) for step in range(1, 334))
    return max(grid, key=lambda level: level.epsilon_dp)


def _level(epsilon: float, gap: float, rarest: float, c: float, method: str) -> ChainLevel:
    d, s = _lag(c * epsilon, gap, rarest), _lag(epsilon / 6, gap, rarest)
    first, second = down((1 - 6 * c) * epsilon / (2 * d - 1)), down((1 / 3 - 2 * c) * epsilon / (d + s))
    return ChainLevel(min(first, second) if method == "paper" else first, d, s, first, second, c)


def _lag(nats: float, gap: float, rarest: float) -> int:
    """The least lag at which the printed bound on a log ratio is at most `nats`."""
    return max(1, math.ceil((-math.log(math.tanh(nats / 2)) - math.log(rarest)) / gap * (1 + 1e-13)))


__all__ = ["ChainLevel", "chain_level"]
