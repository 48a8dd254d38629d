"""The intervals that a question about a mean may use; one is chosen before the data are looked at.

Each holds for a fixed question on independent rows, except with the probability that it is given. Those of
`MEAN_FAMILIES` are public functions of the mean of the values. The others look at more than the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from holdfast.bounds.one_question.binomial_exact import clopper_pearson
from holdfast.bounds.one_question.divergence_bound import kl
from holdfast.bounds.one_question.families import mean_interval
from holdfast.bounds.one_question.inputs import Side
from holdfast.bounds.one_question.range_bound import hoeffding
from holdfast.bounds.one_question.variance_bound import empirical_bernstein
from holdfast.data.values import Rows, Summary, chunks, summarise
from holdfast.holdout.betting import Bets
from holdfast.holdout.procedure import OnRows


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

#: Families that look at more than the mean, so that a failure shows both ends, rounded.
OTHER_FAMILIES = ("empirical-bernstein", "betting")
FAMILIES = (*MEAN_FAMILIES, *OTHER_FAMILIES)


def bernstein(rows: Summary) -> OnRows:
    """Empirical Bernstein's interval of rows that were summed with their squares."""

    def limits(log_share: float, side: Side) -> tuple[float, float]:
        return mean_interval(
            "empirical-bernstein",
            rows.mean,
            rows.n,
            log_share,
            side,
            low=rows.low,
            high=rows.high,
            variance=rows.variance,
            slack=rows.slack,
        )

    return OnRows(rows.low, rows.high, rows.n, "empirical-bernstein", limits)


def betting(values: Rows, n: int, low: float, high: float, name: str) -> OnRows:
    """The betting interval of rows in their order; it holds the rows while a question is decided.

    Chunks are put together, since bets look at every row several times.
    """
    column = np.concatenate([*chunks(values, name), np.empty(0)])
    summarise(column, n=n, low=low, high=high, name=name)
    return OnRows(low, high, n, "betting", Bets.on(column, low, high, name).interval)


def at_spread(spread: float) -> MeanFamily:
    """Empirical Bernstein's interval at a presumed standard deviation: what can be said before the data."""

    def ends(mean: float, n: int, log_share: float, low: float, high: float, side: Side) -> tuple[float, float]:
        return empirical_bernstein(mean, spread * spread, n, log_share, low, high, side)

    return MeanFamily("empirical-bernstein", ends)


__all__ = ["FAMILIES", "MEAN_FAMILIES", "OTHER_FAMILIES", "MeanFamily", "at_spread", "bernstein", "betting"]
