"""The intervals that a question about a mean may use; one is chosen before the data are looked at.

Each holds for a fixed question on independent rows, except with the probability that it is given. Those of
`MEAN_FAMILIES` are public functions of the mean of the values. The others look at more than the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from holdfast.bounds.one_question.binomial_exact import clopper_pearson
from holdfast.bounds.one_question.divergence_bound import kl
from holdfast.bounds.one_question.inputs import Side
from holdfast.bounds.one_question.range_bound import hoeffding
from holdfast.bounds.one_question.variance_bound import empirical_bernstein
from holdfast.data.values import Summary

#: Bound on what a variance loses to rounding, as a part of the squared range.
_LOST = 1e-11


class Ends(Protocol):
    """Both limits as a function of the mean."""

    def __call__(
        self, mean: float, n: int, log_share: float, low: float, high: float, side: Side
    ) -> tuple[float, float]: ...


@dataclass(frozen=True)
class MeanFamily:
    """An interval that is a function of the mean alone.

    `whole` says that the mean is a number of ones over `n`. `curved` says that the interval is narrower near the ends
    of the range, as a binomial's is.
    """

    name: str
    ends: Ends
    whole: bool = False
    curved: bool = False


def _clopper_pearson(mean: float, n: int, log_share: float, low: float, high: float, side: Side) -> tuple[float, float]:
    return clopper_pearson(round(mean * n), n, log_share, side)


MEAN_FAMILIES = {
    family.name: family
    for family in (
        MeanFamily("hoeffding", hoeffding),
        MeanFamily("kl", kl, curved=True),
        MeanFamily("clopper-pearson", _clopper_pearson, whole=True, curved=True),
    )
}

SPREAD_FAMILIES = ("empirical-bernstein",)
FAMILIES = (*MEAN_FAMILIES, *SPREAD_FAMILIES)


@dataclass(frozen=True, repr=False)
class SpreadInterval:
    """Empirical Bernstein's interval of summed rows: a `Procedure` that looks at mean and variance."""

    rows: Summary
    description: ClassVar[str] = "empirical-bernstein"
    mean_only: ClassVar[bool] = False

    @property
    def n(self) -> int:
        """Rows."""
        return self.rows.n

    @property
    def low(self) -> float:
        """Least value."""
        return self.rows.low

    @property
    def high(self) -> float:
        """Greatest value."""
        return self.rows.high

    def interval(self, log_share: float, side: Side = "both") -> tuple[float, float]:
        """The interval at this share. Secret."""
        rows, length = self.rows, self.high - self.low
        # Squares lose digits when they cancel; the term is far above what is lost and far below what matters.
        variance = rows.variance + _LOST * (length * length)
        lower, upper = empirical_bernstein(rows.mean, variance, rows.n, log_share, rows.low, rows.high, side)
        return max(rows.low, lower - rows.slack), min(rows.high, upper + rows.slack)


def at_spread(spread: float) -> MeanFamily:
    """Empirical Bernstein's interval at a presumed standard deviation: what can be said before the data."""

    def ends(mean: float, n: int, log_share: float, low: float, high: float, side: Side) -> tuple[float, float]:
        return empirical_bernstein(mean, spread * spread, n, log_share, low, high, side)

    return MeanFamily("empirical-bernstein", ends)


__all__ = ["FAMILIES", "MEAN_FAMILIES", "SPREAD_FAMILIES", "MeanFamily", "SpreadInterval", "at_spread"]
