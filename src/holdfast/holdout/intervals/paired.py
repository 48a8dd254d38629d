"""Paired differences: which of two columns of the same rows has the larger mean, and by how much.

Three procedures, chosen before the rows are read:

- *The sign test*, for 0/1 columns of rows drawn alike and a margin of 0: given the number of rows on which the two
  differ, the wins are binomial (McNemar's test in its exact form).
- *Betting with predictable bets* (`intervals.betting`), for rows drawn alike: for the size of a difference, another
  margin, or bounded values.
- *Mixture betting at a fixed number of rows*, for independent rows that are not alike, such as the hidden labels of a
  board. It needs no order and, for few distinct values, only counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from holdfast.bounds.numerics.binomial import log_at_least, log_at_least_half
from holdfast.bounds.numerics.exact import UNIT
from holdfast.bounds.numerics.search import crossing
from holdfast.bounds.one_question import means
from holdfast.bounds.one_question.means import Side, outwards
from holdfast.core import arguments
from holdfast.data.values import column, summarise

_CAP = 0.95  # the largest part of the capital that one bet may lose
_FIRST = 2.0  # the smallest bet, in units of sqrt(2 ln(1/tail)/n)
_MOST_BETS = 4
_WIDTH = 1e-7  # ends are found to this part of the range
_FEW = 64  # distinct values up to which rows are counted


def log_sign_p_value(wins: int, losses: int) -> float:
    """`ln` of the p-value of "B is no better than A": wins of B among the rows where the two differ; rounded up.

    Examples
    --------
    >>> round(math.exp(log_sign_p_value(8, 2)), 9), log_sign_p_value(2, 8), log_sign_p_value(0, 0)
    (0.0546875, 0.0, 0.0)
    """
    differ = wins + losses
    if 2 * wins <= differ:
        return 0.0
    return min(0.0, log_at_least(wins, differ, 0.5)[0])


def log_sign_p_values(wins: npt.NDArray[np.int64], losses: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The same for many pairs at once, all of them with more wins than losses.

    Examples
    --------
    >>> np.round(np.exp(log_sign_p_values(np.array([8, 9]), np.array([2, 1]))), 4).tolist()
    [0.0547, 0.0107]
    """
    seen, place = np.unique(np.stack([wins, losses]), axis=1, return_inverse=True)
    return np.minimum(0.0, log_at_least_half(seen[0], seen[0] + seen[1]))[place.ravel()]


@dataclass(frozen=True, repr=False, eq=False)
class MixtureBets:
    """Rows scaled to [0, 1], to be bet on by several fixed bets at once. Secret: it holds the rows or their counts.

    Let rows be independent with means `mu_i` in [0, 1], and let `mu` be the mean of the `mu_i`. For a bet `b >= 0`,

        E [ product over i of (1 + b (x_i - mu)) ]  =  product of (1 + b (mu_i - mu))  <=  1,

    by the inequality of arithmetic and geometric means, since the `mu_i - mu` add up to 0. So has every mixture of bets
    that was fixed before, and `mu` is left out where the mixture is at least `1/tail` (Markov). Rows need not be alike,
    and their order does not matter.

    The capped bets `min(b, c/mu)` make every factor fall as `mu` grows, so that the candidates that are left out are
    those below one point; only the test at the true mean has to hold. The bets start at `2 sqrt(2 ln(1/tail)/n)`, and
    each is twice the one before.

    Examples
    --------
    >>> rows = MixtureBets.on([1.0] * 300 + [0.0] * 700)
    >>> low, high = rows.interval(math.log(0.05))
    >>> round(low, 3), round(high, 3)
    (0.256, 0.348)
    """

    values: npt.NDArray[np.float64]
    counts: npt.NDArray[np.float64]
    n: int
    low: float
    high: float

    @classmethod
    def on(cls, values: npt.ArrayLike, low: float = 0.0, high: float = 1.0, name: str = "values") -> MixtureBets:
        """Check the values, scale them, and count them where few differ."""
        low, high = arguments.value_range(low, high)
        rows = column(values, name)
        summarise(rows, n=len(rows), low=low, high=high, name=name)
        scaled = np.clip((rows.astype(np.float64) - low) / (high - low), 0.0, 1.0)
        distinct, counts = np.unique(scaled, return_counts=True)
        if distinct.size > _FEW:
            distinct, counts = scaled, np.ones(scaled.size, dtype=np.int64)
        return cls(distinct, counts.astype(np.float64), scaled.size, low, high)

    @classmethod
    def of_counts(cls, counts: dict[float, int], low: float, high: float) -> MixtureBets:
        """Return rows that are known by how often each value occurs.

        Examples
        --------
        >>> MixtureBets.of_counts({-1.0: 3, 0.0: 90, 1.0: 7}, -1.0, 1.0).n
        100
        """
        positive = {value: count for value, count in counts.items() if count}
        values = (np.array(list(positive), dtype=np.float64) - low) / (high - low)
        return cls(values, np.array(list(positive.values()), dtype=np.float64), sum(positive.values()), low, high)

    def interval(self, log_share: float, side: Side = "both") -> tuple[float, float]:
        """Limits that miss the mean of the rows' means with probability at most `exp(log_share)`."""
        below, above = means.tails(means.share(log_share), side)
        lower = 0.0 if below is None or not self.n else self._lower(self.values, below)
        upper = 1.0 if above is None or not self.n else 1.0 - self._lower(1.0 - self.values, above)
        length = self.high - self.low
        return outwards(self.low + length * lower, self.low + length * upper, self.low, self.high)

    def log_p_value(self, margin: float, log_level: float) -> float:
        """`ln` of a p-value of "the mean is at most `margin`", with bets that are best at the level; rounded up."""
        at = (margin - self.low) / (self.high - self.low)
        if not self.n or at >= 1:
            return 0.0
        return min(0.0, -self._log_capital(self.values, max(at, 1e-12), log_level))

    def _lower(self, x: npt.NDArray[np.float64], log_tail: float) -> float:
        def short_of_rich(mean: float) -> float:
            return -log_tail - self._log_capital(x, mean, log_tail)

        least, most = 1e-12, float((x * self.counts).sum() / self.n)
        if most <= least or short_of_rich(least) >= 0:
            return 0.0
        if short_of_rich(most) < 0:  # rounding at the mean itself; nothing there can be left out
            return max(0.0, most - _WIDTH)
        return crossing(short_of_rich, least, most, _WIDTH)[0]

    def _log_capital(self, x: npt.NDArray[np.float64], mean: float, log_tail: float) -> float:
        """`ln` of the mixture's capital against a mean, rounded down."""
        first = _FIRST * math.sqrt(-2 * log_tail / self.n)
        bets = first * 2.0 ** np.arange(_MOST_BETS)
        capped = np.minimum(bets, _CAP / mean)
        steps = np.log1p(capped[:, None] * (x[None, :] - mean)) * self.counts
        logs = steps.sum(axis=1) - UNIT * (16 + x.size) * np.abs(steps).sum(axis=1)
        best = float(logs.max())
        return best + math.log(float(np.exp(logs - best).sum()) / _MOST_BETS) - 1e-12

    def __repr__(self) -> str:
        return f"MixtureBets(n={self.n}, low={self.low:g}, high={self.high:g})"
