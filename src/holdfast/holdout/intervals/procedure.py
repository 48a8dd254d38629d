"""What a holdout needs to know of a question's statistic: an interval that holds when the question is fixed.

A reusable holdout gives each question a share of its failure probability. Given the transcript so far the question is
fixed, so any interval that covers the truth of a *fixed* question on independent rows, except with probability
`share`, may be used. Such an interval, computed from the rows but not shown, is a `Procedure`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from holdfast.bounds.one_question import means
from holdfast.bounds.one_question.means import Side, mean_interval
from holdfast.core.copying import NoCopy
from holdfast.data.values import Rows, Summary, chunks, summarise
from holdfast.holdout.intervals.betting import Bets


@runtime_checkable
class Procedure(Protocol):
    """A way to compute the interval for one question, at any error probability.

    Everything except `interval` is public and may be shown. The result of `interval` is secret, because it depends on
    the rows. Only those parts of it may be shown that the holdout's transcript pays for. The repr shows the public part
    alone.

    Attributes
    ----------
    low, high : float
        The public range of the target; every interval lies inside it.
    n : int
        Rows it was computed from; it must be the holdout's `n`, also where only some rows enter (a group, a class).
    description : str
        Public words for what is estimated and how, e.g. "AUC (two-sample U-statistic)".

    Examples
    --------
    >>> from holdfast.holdout.metrics import auc
    >>> question = auc([0, 1, 1, 0] * 100, [0.1, 0.9, 0.8, 0.4] * 100)
    >>> isinstance(question, Procedure), question.low, question.high, question.n
    (True, 0.0, 1.0, 400)
    """

    @property
    def low(self) -> float:
        """The smallest value that the target can have."""

    @property
    def high(self) -> float:
        """The largest value that the target can have."""

    @property
    def n(self) -> int:
        """The number of rows from which the interval is computed."""

    @property
    def description(self) -> str:
        """A public description of what is estimated and how."""

    def interval(self, log_share: float, side: Side = "both") -> tuple[float, float]:
        """Return limits that miss the true value of a fixed question with probability at most `exp(log_share)`.

        With `side="lower"` this whole probability is used for the lower limit, and the upper limit is `high`. With
        `side="upper"` it is used for the upper limit, and the lower limit is `low`. A smaller probability need not give
        a wider interval, because bets, for example, are placed for one probability.
        """


@dataclass(frozen=True, repr=False, eq=False)
class OnRows(NoCopy):
    """A `Procedure` made of a function `limits(log_share, side)` that keeps the rows, or their sums, to itself.

    Examples
    --------
    >>> OnRows(0.0, 1.0, 100, "a constant", lambda log_share, side: (0.25, 1.5)).interval(-3.0)
    (0.25, 1.0)
    """

    _not_copied = "a question's interval holds sums of guarded rows and is not pickled; make it again from rows"

    low: float
    high: float
    n: int
    description: str
    limits: Callable[[float, Side], tuple[float, float]]
    value: float | None = None

    def interval(self, log_share: float, side: Side = "both") -> tuple[float, float]:
        """Limits that miss the truth of a fixed question with probability at most `exp(log_share)`."""
        log_share = means.share(log_share)
        below, above = means.tails(log_share, side)
        lower, upper = self.limits(log_share, side)
        return (
            self.low if below is None else min(max(lower, self.low), self.high),
            self.high if above is None else max(min(upper, self.high), self.low),
        )

    def __repr__(self) -> str:
        return f"OnRows({self.description}, n={self.n}, low={self.low:g}, high={self.high:g})"


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

    return OnRows(rows.low, rows.high, rows.n, "empirical-bernstein", limits, rows.mean)


def betting(values: Rows, n: int, low: float, high: float, name: str) -> OnRows:
    """Return the betting interval of rows in their order; it holds the rows while a question is decided.

    Chunks are put together, since bets look at every row several times.
    """
    column = np.concatenate([*chunks(values, name), np.empty(0)])
    rows = summarise(column, n=n, low=low, high=high, name=name)
    return OnRows(low, high, n, "betting", Bets.on(column[order(n)], low, high, name).interval, rows.mean)


@lru_cache(maxsize=16)
def order(n: int) -> npt.NDArray[np.intp]:
    """The order in which bets are placed on rows: fixed before any row is read, and not that of a sorted file."""
    return np.random.default_rng(n).permutation(n)
