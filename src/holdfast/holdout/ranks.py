"""Who is certainly better than whom: one-sided tests of every ordered pair by Holm's method, and ranges of ranks.

The hypotheses are "i is no better than j", in both directions: two for each pair. Weighted Holm at a level rejects a
hypothesis where its p-value is at most `level * weight / (weight of all that are not yet rejected)`; what follows from
rejected ones by transitivity is rejected with them; and again, until nothing is. It is valid for a family and weights
that were fixed in advance, whatever the dependence of the tests (Holm 1979): the first true hypothesis that is rejected
by its own p-value was compared with at most `level * weight / (weight of all true hypotheses)`; the chance that some
true one has a p-value so small is at most the level; and a claim that follows from true claims is true.
Nothing of the tested rows may enter the weights. A sign test may take the number of rows on which its two differ as
given, but not those of other pairs: they can tell who won, as with a third one that is right wherever the two differ.

Not all hypotheses that are left can be true at once: if i is better than j, no third one is equal to both. So "the
weight of all that are not yet rejected" may be replaced by any bound of the weight that can be true where the claims
so far are (Shaffer 1986), for up to that moment they are, and the proof stays the same. `most_true` has such a bound.

Holm's method hands the level of a rejected hypothesis to all others alike, the hopeless ones included. Where other rows
say which pairs are far apart (`Forecast`), most of it goes to the next closer pair of the same candidates instead
(`Passing`), as in the graphs of Bretz, Maurer, Brannath and Posch (2009): with i better than j, to the next opponent of
i and to the next opponent of j. Each hypothesis then has a level `level(C)` that depends on the claims C so far. The
proof needs two things of it (Goeman and Solari 2010): it does not fall as claims are added, and where C holds all
false hypotheses, the levels of the true ones add up to at most the whole. Then the first true hypothesis that is
rejected had a level of at most what it has there, and some true one has a p-value so small with probability at most the
sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.special import ndtr, ndtri_exp

from holdfast.errors import InvalidParameter
from holdfast.holdout.intervals.paired import MixtureBets, log_sign_p_values

Array = npt.NDArray[np.float64]
_EVENLY = 0.1
"""The part of the weight that every hypothesis has a share of, whatever other rows say; and the part of the level that
is handed on to all alike."""
_FIRST_STEP = 0.003
"""The part of the level that weights are planned for. What early rejections set free is handed on, so the first step
goes to pairs that are likely to be told apart at a small part of the level."""
_GRID = 320
_MOST_DISTINCT = 10_000
"""Pairs up to which each has a weight of its own."""
_MOST_EXACT = 100
"""Candidates up to which it is worked out how many hypotheses can be true at once."""


@dataclass(frozen=True)
class Ranks:
    """Certified comparisons of several candidates.

    Attributes
    ----------
    better : frozenset of (int, int)
        Pairs `(i, j)` of which `i` is certainly better than `j`.
    count : int
        How many candidates there are.

    Examples
    --------
    >>> ranks = Ranks(frozenset({(0, 1), (0, 2)}), 3)
    >>> ranks.ranges, ranks.separated
    (((1, 1), (2, 3), (2, 3)), 2)
    """

    better: frozenset[tuple[int, int]]
    count: int

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """For each candidate the best and the worst rank that it can have."""
        ahead, behind = [0] * self.count, [0] * self.count
        for i, j in self.better:
            ahead[j] += 1
            behind[i] += 1
        return tuple((1 + ahead[i], self.count - behind[i]) for i in range(self.count))

    @property
    def separated(self) -> int:
        """How many pairs are told apart."""
        return len({frozenset(pair) for pair in self.better})


@dataclass(frozen=True)
class Forecast:
    """What other rows say about the pairs, fixed before the tested rows are read.

    Attributes
    ----------
    weights : matrix
        A positive weight of each ordered pair: how the level is divided at first.
    statistics : matrix
        Entry `[i, j]` says how much better i is expected to be than j. A level that is set free goes to pairs that are
        expected to be closer.
    """

    weights: Array
    statistics: Array


class Passing:
    """Where the level of a hypothesis goes when it is rejected: to the next closer pairs of its two candidates.

    Only hypotheses in the expected direction take part: "i is no better than j" where i is expected to be better. Such
    a pair hands half of its level to i and the next closer one of those that i is expected to beat, and half to j and
    the next closer one of those that are expected to beat j; all of it to one of them where the other does not exist.
    A pair with neither hands it to the hypotheses at large.

    Examples
    --------
    >>> z = np.array([[0.0, 2.0, 5.0], [-2.0, 0.0, 3.0], [-5.0, -3.0, 0.0]])
    >>> passing = Passing(Forecast(np.ones((3, 3)), z))
    >>> nothing = np.zeros((3, 3), dtype=np.bool_)
    >>> np.round(passing.levels(nothing)[0], 2).tolist()                       # a third for each expected pair
    [[0.0, 0.33, 0.33], [0.0, 0.0, 0.33], [0.0, 0.0, 0.0]]
    >>> claimed = nothing.copy()
    >>> claimed[0, 2] = True                                                   # the pair that is furthest apart
    >>> np.round(passing.levels(claimed)[0], 2).tolist()
    [[0.0, 0.5, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]]
    """

    def __init__(self, forecast: Forecast) -> None:
        z, count = forecast.statistics, len(forecast.weights)
        expected = (z > 0) | ((z == 0) & np.triu(np.ones((count, count), dtype=np.bool_), 1))
        first, second = np.nonzero(expected)
        order = np.lexsort((second, first, -z[first, second]))
        self._pairs = first[order], second[order]
        given = forecast.weights[self._pairs]
        total, outside = given.size, given.size
        self._initial = np.append(given / given.sum(), 0.0)
        after = [_next_with(end[order]) for end in (first, second)]
        # One that has no next pair hands all of its level to the other one, and with neither to all at large.
        self._next = [
            np.where(mine < total, mine, np.where(other < total, other, outside))
            for mine, other in (after, after[::-1])
        ]
        self._rounds = _rounds(*self._pairs)

    def levels(self, claimed: npt.NDArray[np.bool_]) -> tuple[Array, float]:
        """The part of the level of each hypothesis where these are claimed, and the part that is for all at large.

        Neither falls as claims are added. So a pair that is claimed the other way round has to keep its level: it was
        tested at it.
        """
        level, is_claimed = self._initial.copy(), claimed[self._pairs]
        outside = is_claimed.size
        for pairs in self._rounds:  # those further apart come first
            given_by = pairs[is_claimed[pairs]]
            if given_by.size:
                half, level[given_by] = level[given_by] / 2, 0.0
                for closer in self._next:
                    np.add.at(level, closer[given_by], half)
        parts = np.zeros(claimed.shape)
        parts[self._pairs] = level[:outside]
        return parts, float(level[outside])


def _next_with(ends: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each place the next one with the same end; the number of places where there is none."""
    order = np.argsort(ends, kind="stable")
    following = np.full(ends.size, ends.size, dtype=np.int64)
    same = ends[order[1:]] == ends[order[:-1]]
    following[order[:-1][same]] = order[1:][same]
    return following


def _rounds(first: npt.NDArray[np.int64], second: npt.NDArray[np.int64]) -> list[npt.NDArray[np.int64]]:
    """The places of pairs in rounds: each comes after all those that can hand it a level."""
    if not first.size:
        return []
    latest_first, latest_second = ([0] * (1 + int(end.max())) for end in (first, second))
    rounds = []
    for i, j in zip(first.tolist(), second.tolist(), strict=True):
        latest_first[i] = latest_second[j] = own = 1 + max(latest_first[i], latest_second[j])
        rounds.append(own)
    number = np.array(rounds)
    order = np.argsort(number, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(number[order])) + 1)


def rank(
    log_p_values: Array,
    log_level: float,
    forecast: Forecast | None = None,
    counted: npt.NDArray[np.bool_] | None = None,
) -> Ranks:
    """Weighted Holm with transitivity over all ordered pairs, or with levels that go to the next closer pairs.

    Parameters
    ----------
    log_p_values : matrix
        Entry `[i, j]` is `ln` of the p-value of "i is no better than j"; the diagonal is ignored.
    log_level : float
        `ln` of the level of the whole family.
    forecast : Forecast, optional
        What other rows say, fixed before the tested rows were read; all pairs alike if not given.
    counted : matrix of truth values, optional
        Which hypotheses belong to the family, where there is no forecast; all but the diagonal if not given.

    Examples
    --------
    >>> p = np.log(np.array([[1, 1e-9, 1e-3], [1, 1, 1e-9], [1, 1, 1]]))
    >>> sorted(rank(p, math.log(0.05)).better)
    [(0, 1), (0, 2), (1, 2)]
    """
    count = len(log_p_values)
    family = ~np.eye(count, dtype=np.bool_) if counted is None else counted & ~np.eye(count, dtype=np.bool_)
    weights = np.ones((count, count)) if forecast is None else forecast.weights
    if weights.shape != (count, count) or np.any(weights[family] <= 0):
        raise InvalidParameter("weights must have a number above 0 for each ordered pair")
    weights = np.where(family, weights, 0.0)
    passing = None if forecast is None else Passing(forecast)
    at_large = 1.0 if passing is None else _EVENLY
    claimed = np.zeros((count, count), dtype=np.bool_)
    while True:
        left = most_true(weights, claimed)
        if left <= 0:
            break
        parts = weights * (at_large / left)
        if passing is not None:
            closer, outside = passing.levels(claimed)
            parts = (1 - at_large) * closer + parts * (1 + (1 - at_large) * outside / at_large)
        with np.errstate(divide="ignore"):
            rejected = family & ~claimed & (log_p_values <= log_level + np.log(parts) - 1e-12)
        if not rejected.any():
            break
        claimed = _closed(claimed | rejected)
    np.fill_diagonal(claimed, False)
    first, second = np.nonzero(claimed)
    return Ranks(frozenset(zip(first.tolist(), second.tolist(), strict=True)), count)


def _closed(better: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """What follows by transitivity."""
    while True:
        plain = better.astype(np.float32)  # a count of candidates, exact however it is added up
        further = better | (plain @ plain > 0)
        if np.array_equal(further, better):
            return better
        better = further


def most_true(weights: Array, better: npt.NDArray[np.bool_]) -> float:
    """Return a bound of the weight of the hypotheses that can be true together, where all claims so far are true.

    `weights[i, j]` is the weight of "i is no better than j", 0 on the diagonal, and `better[i, j]` says that i is
    claimed to be better than j; it is transitive. Of a pair that is told apart one hypothesis is false. Of another pair
    both are true only where the two are equal, else at most the heavier one. Those that are equal to i are equal to
    each other, so no two of them are told apart: they are at most as many as the largest such set among the candidates
    that are not told apart from i. By Dilworth's theorem its size is their number less that of a largest matching.

    Examples
    --------
    >>> better = np.zeros((3, 3), dtype=np.bool_)
    >>> better[0, 1] = True                       # 5 are not rejected, of which 4 can be true: the third is not equal
    >>> round(most_true(1.0 - np.eye(3), better), 9)                      # to both of the others
    4.5
    """
    count = len(weights)
    left = float(weights[~better].sum())
    if count > _MOST_EXACT:
        return left
    free = ~(better | better.T) & ~np.eye(count, dtype=np.bool_)
    lighter = np.where(free, np.minimum(weights, weights.T), 0.0)
    equal = 0.0
    for i in range(count):
        others = np.flatnonzero(free[i])
        most = _most_apart_from_none(better[np.ix_(others, others)])
        equal += float(np.sort(lighter[i, others])[others.size - most :].sum()) / 2
    return min(left, left - float(lighter.sum()) / 2 + equal + 1e-12 * left)


def _most_apart_from_none(better: npt.NDArray[np.bool_]) -> int:
    """The size of a largest set of candidates of which no two are told apart."""
    if not better.any():
        return len(better)
    return len(better) - int((maximum_bipartite_matching(csr_matrix(better), perm_type="column") >= 0).sum())


def sign_p_values(wins: npt.NDArray[np.int64]) -> Array:
    """`ln` of the p-value of every ordered pair by the sign test; `wins[i, j]` counts the rows on which i beats j.

    Examples
    --------
    >>> np.round(np.exp(sign_p_values(np.array([[0, 4], [0, 0]]))), 4).tolist()
    [[1.0, 0.0625], [1.0, 1.0]]
    """
    logs = np.zeros(wins.shape)
    ahead = wins > wins.T
    logs[ahead] = log_sign_p_values(wins[ahead], wins.T[ahead])
    return logs


def betting_p_values(columns: Array, low: float, high: float, log_level: float) -> Array:
    """`ln` of the p-value of every ordered pair by mixture betting; for bounded values, and rows that are not alike."""
    count, length = len(columns), high - low
    logs = np.zeros((count, count))
    for i in range(count):
        for j in range(count):
            if i != j:
                bets = MixtureBets.on(columns[i] - columns[j], -length, length)
                logs[i, j] = bets.log_p_value(0.0, log_level)
    return logs


def forecast_from(statistics: Array, n: int, n_other: int, log_level: float) -> Forecast:
    """What other rows say about all ordered pairs; weights are the levels of most expected rejections.

    `statistics` are the normal statistics of the pairs on `n_other` rows. On `n` rows the statistic of a pair is then
    about `N(z, 1 + n/n_other)` with `z` theirs times `sqrt(n/n_other)`. The levels that maximise the expected number of
    rejections, subject to their sum, a small part of the level, are found by one multiplier. One tenth of the weight
    goes to all evenly, so that little is lost where the other rows mislead.

    Parameters
    ----------
    statistics : matrix
        Entry `[i, j]` says how much better i was than j on the other rows, in standard errors.
    n, n_other : int
        Rows that are tested, and other rows.
    log_level : float
        `ln` of the level of the family.

    Examples
    --------
    >>> z = np.array([[0.0, 4.0, 0.1], [-4.0, 0.0, 0.1], [-0.1, -0.1, 0.0]])
    >>> w = forecast_from(z, 500, 1000, math.log(0.05)).weights
    >>> bool(w[0, 1] > w[0, 2] > w[1, 0] > 0), round(float(w.sum()), 9)
    (True, 1.0)
    """
    count, log_level = len(statistics), log_level + math.log(_FIRST_STEP)
    off = ~np.eye(count, dtype=np.bool_)
    z = (statistics * math.sqrt(n / n_other))[off]
    spread = math.sqrt(1 + n / n_other)
    # A level depends on the statistic alone; where there are very many, those that agree to two digits share one.
    distinct, place, times = np.unique(
        z if z.size <= _MOST_DISTINCT else np.round(z, 2), return_inverse=True, return_counts=True
    )
    logs = log_level + np.linspace(-60.0, 0.0, _GRID)
    gain = ndtr((distinct[:, None] + ndtri_exp(logs)[None, :]) / spread)
    levels = np.exp(logs - log_level)

    def chosen(price: float) -> Array:
        best = np.argmax(gain - price * levels[None, :], axis=1)
        return np.where(gain[np.arange(distinct.size), best] > price * levels[best], levels[best], 0.0)

    least, most = 1e-12, 1e12
    for _ in range(80):
        price = math.sqrt(least * most)
        least, most = (price, most) if chosen(price) @ times > 1 else (least, price)
    focused = chosen(most)[place]
    total = focused.sum()
    flat = np.full(z.size, _EVENLY / z.size)
    flat += (1 - _EVENLY) * (focused / total if total > 0 else 1 / z.size)
    weights = np.zeros((count, count))
    weights[off] = flat / flat.sum()
    return Forecast(weights, statistics)


def pair_statistics(columns: Array) -> Array:
    """Return how much better each is than each other, in standard errors of the paired difference; 0 where they agree.

    Examples
    --------
    >>> np.round(pair_statistics(np.array([[1.0, 1, 1, 0], [0, 1, 0, 0]])), 3).tolist()
    [[0.0, 1.732], [-1.732, 0.0]]
    """
    rows = np.asarray(columns, dtype=np.float64)
    n = rows.shape[1]
    mean = rows.mean(axis=1)
    second = rows @ rows.T / n
    squares = np.diag(second)
    spread = np.maximum(squares[:, None] + squares[None, :] - 2 * second - (mean[:, None] - mean[None, :]) ** 2, 0.0)
    gap = mean[:, None] - mean[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = gap / np.sqrt(spread / max(n - 1, 1))
    return np.where(np.isfinite(statistics), statistics, 0.0)


def sign_statistics(wins: npt.NDArray[np.int64], n: int) -> Array:
    """Return the same for 0/1 columns of `n` rows, from the number of rows on which each beats each other.

    Examples
    --------
    >>> np.round(sign_statistics(np.array([[0, 2], [0, 0]]), 4), 3).tolist()
    [[0.0, 1.732], [-1.732, 0.0]]
    """
    gap = (wins - wins.T) / n
    with np.errstate(divide="ignore", invalid="ignore"):
        statistics = gap / np.sqrt(np.maximum((wins + wins.T) / n - gap**2, 0.0) / max(n - 1, 1))
    return np.where(np.isfinite(statistics), statistics, 0.0)


def names_of(ranks: Ranks, names: Sequence[str]) -> tuple[dict[str, tuple[int, int]], frozenset[tuple[str, str]]]:
    """Return the ranges of ranks by name, and the pairs of names that are told apart."""
    better = frozenset((names[i], names[j]) for i, j in ranks.better)
    return dict(zip(names, ranks.ranges, strict=True)), better
