"""What all chain models share: log ratios of transition probabilities, the search for the best two lags, and influence.

A quilt of a chain is a pair of lags, and the influence on it is the sum of its two sides.

Log ratios
----------
For a pair of values `x, x'` of the protected record and a lag `t`:

- forward `F_t(x, x') = max_v ln P^t(x, v) / P^t(x', v)`: what the record `t` later tells;
- columns `D_t(x, x') = max_u ln P^t(u, x) / P^t(u, x')`: what the record `t` earlier tells, apart from the prior
  odds `ln pi(x') / pi(x)` that Bayes' rule adds.

A ratio 0/0 is skipped; positive over zero is infinite.

Search for the best lags
------------------------
A quilt of record `i` is a pair of lags `(a, b)`: the separating records are `i - a` and `i + b`, and `a + b - 1`
records lie between them, `i` included. A side that has no separating record is the lag just beyond the end of the
series, where the side's log ratio is 0; so one-sided quilts and the trivial one are corners of the same rectangle. The
log ratios do not increase with the lag, hence a rectangle of lags cannot hold anything better than the size of its
smallest pair at the surcharge of its largest: rectangles that cannot win are dropped, the others are cut in four. The
result is the exact optimum after about as many evaluations as the best quilt is long, whatever the series' length. For
quilts of millions of records the search stops refining after `MOST` rectangles and keeps the best pair it has, which is
safe: any quilt is.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.numerics.exact import UNIT
from holdfast.core import arguments
from holdfast.correlated.chains.transition import Array, Mask
from holdfast.correlated.model import (
    Between,
    Quilt,
    QuiltModel,
    Surcharge,
    check_record,
    check_records,
    check_surcharge,
)
from holdfast.errors import InvalidParameter

TINY = 1e-300
"""A probability below this that is not an exact zero makes every ratio with it infinite: doubles end there."""

#: Numbers of one batch of `k^3` ratios.
_BATCH = 2_000_000


def log_ratios(values: Array, supports: Mask, allowed: Mask | None = None) -> Array:
    """For matrices `(m, k, l)`: the largest `ln values[x, v] / values[x', v]` over `v`, shape `(m, k, k)`.

    `allowed` keeps some `v` only. The diagonal is 0. Computed as `log1p` of a relative difference, which keeps the
    digits of rows that are nearly equal. Time `O(m k^2 l)`.

    Examples
    --------
    The chain that leaves state 0 with probability 0.1 and state 1 with probability 0.4:

    >>> step = np.array([[[0.9, 0.1], [0.4, 0.6]]])
    >>> log_ratios(step, step > 0).round(9)[0].tolist()
    [[0.0, 0.810930216], [1.791759469, 0.0]]
    """
    if allowed is not None:
        values, supports = values[:, :, allowed], supports[:, :, allowed]
    count, states, seen = values.shape
    ratios = np.empty((count, states, states))
    step = max(_BATCH // max(states * states * seen, 1), 1)
    for low in range(0, count, step):
        ratios[low : low + step] = _largest(values[low : low + step], supports[low : low + step])
    diagonal = np.arange(states)
    ratios[:, diagonal, diagonal] = 0.0
    return ratios


def _largest(values: Array, supports: Mask) -> Array:
    top, bottom = values[:, :, None, :], values[:, None, :, :]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        excess = (top - bottom) / bottom
        possible, vanishing = supports[:, :, None, :], bottom < TINY
        excess = np.where(vanishing, np.where(possible, np.inf, -1.0), excess)
        ratios: Array = np.log1p(excess.max(axis=3))
    return ratios


def forward(values: Array, supports: Mask) -> Array:
    """`F_t` for a stack of powers."""
    return log_ratios(values, supports)


def columns(values: Array, supports: Mask, allowed: Mask | None = None) -> Array:
    """`D_t` for a stack of powers; `allowed` are the possible values `u` of the earlier record."""
    return log_ratios(values.transpose(0, 2, 1), supports.transpose(0, 2, 1), allowed)


def prior_odds(laws: Array, supports: Mask) -> Array:
    """`ln law(x') / law(x)` for distributions `(m, k)`, shape `(m, k, k)`; minus infinity where `x` or `x'` is
    impossible.

    A pair with an impossible value is no pair, so it must not win a maximum. A distribution too small for a double is
    infinite.

    Examples
    --------
    >>> law = np.array([[0.8, 0.2, 0.0]])
    >>> prior_odds(law, law > 0).round(6)[0, 0].tolist()
    [-inf, -1.386294, -inf]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(laws)
        odds = logs[:, None, :] - logs[:, :, None]
    both = supports[:, None, :] & supports[:, :, None]
    tiny = (laws < TINY)[:, None, :] | (laws < TINY)[:, :, None]
    states = laws.shape[1]
    pairs = both & ~np.eye(states, dtype=bool)
    return np.where(pairs, np.where(tiny, np.inf, odds), -np.inf)


Lags = NDArray[np.int64]

#: Two prices closer than this, relatively, are the same: the shorter quilt wins, then the shorter left side.
TIE = 1e-12

MOST = 1_000_000
"""Rectangles that one search looks at; enough for an exact answer up to quilts of about a million records."""


class Objective(Protocol):
    """A price that does not decrease in the size nor in the surcharge."""

    def __call__(self, size: Array, surcharge: Array) -> Array:
        """The price, infinite where the quilt cannot be used."""

    def largest_size(self, price: float) -> float:
        """Return the size at which a quilt without surcharge costs `price`."""


@dataclass(frozen=True)
class NoiseAt:
    """The noise scale `size / (epsilon - surcharge)` at a Bayesian level."""

    epsilon: float

    def __call__(self, size: Array, surcharge: Array) -> Array:
        """The noise scale."""
        left = self.epsilon - surcharge
        return np.where(left > 0, size / np.where(left > 0, left, 1.0), np.inf)

    def largest_size(self, price: float) -> float:
        """Return the size with that noise scale."""
        return price * self.epsilon


@dataclass(frozen=True)
class LevelAt:
    """The Bayesian level `size * epsilon_dp + surcharge` of an `epsilon_dp`-DP mechanism."""

    epsilon_dp: float

    def __call__(self, size: Array, surcharge: Array) -> Array:
        """The significance level."""
        return size * self.epsilon_dp + surcharge

    def largest_size(self, price: float) -> float:
        """Return the size with that level."""
        return price / self.epsilon_dp


@dataclass(frozen=True)
class Found:
    """A record's best lags and their price; a lag just beyond the series means that side has no separating record."""

    record: int
    left: int
    right: int
    price: float


def best_lags(
    record: int, left_room: int, right_room: int, surcharge: Callable[[Lags, Lags], Array], price: Objective
) -> Found:
    """Return the cheapest pair of lags with `1 <= a <= left_room` and `1 <= b <= right_room`.

    Parameters
    ----------
    record : int
        Only copied into the result.
    left_room, right_room : int
        One more than the records on that side: the largest lag means "no separating record there".
    surcharge : callable
        Of two arrays of lags; must not increase in either.
    price : Objective
        What is minimised, of size and surcharge.
    """
    best = Found(record, left_room, right_room, math.inf)

    def offer(a: Lags, b: Lags, w: Array) -> None:
        nonlocal best
        sizes = a + b - 1
        prices = price(sizes.astype(np.float64), w)
        near = np.flatnonzero(prices <= prices.min() * (1 + TIE)) if np.isfinite(prices.min()) else np.empty(0, int)
        for j in near:
            rival = Found(record, int(a[j]), int(b[j]), float(prices[j]))
            if rival.price < best.price * (1 - TIE) or (
                rival.price <= best.price * (1 + TIE)
                and (rival.left + rival.right, rival.left) < (best.left + best.right, best.left)
            ):
                best = rival

    corner = np.array([left_room]), np.array([right_room])
    offer(*corner, surcharge(*corner))
    lag = 1
    while 2 * lag - 1 < price.largest_size(best.price) and lag < max(left_room, right_room):
        a, b = np.array([min(lag, left_room)]), np.array([min(lag, right_room)])
        offer(a, b, surcharge(a, b))
        lag *= 2

    widest = int(min(price.largest_size(best.price) * (1 + TIE) + 1, left_room + right_room))
    boxes = np.array([[1, min(left_room, widest), 1, min(right_room, widest)]])
    seen = 0
    while len(boxes) and seen < MOST:
        seen += len(boxes)
        a0, a1, b0, b1 = boxes.T
        w = surcharge(a1, b1)
        offer(a1, b1, w)
        offer(a0, b0, surcharge(a0, b0))
        floor = price((a0 + b0 - 1).astype(np.float64), w)
        alive = (floor <= best.price * (1 + TIE)) & ((a0 < a1) | (b0 < b1))
        boxes = _quarters(boxes[alive])
    return best


def _quarters(boxes: Lags) -> Lags:
    """Cut every rectangle at its middle, both ways; a side of one lag is not cut."""
    a0, a1, b0, b1 = boxes.T
    am, bm = (a0 + a1) // 2, (b0 + b1) // 2
    parts = [
        np.stack(part, axis=1)
        for part in ((a0, am, b0, bm), (am + 1, a1, b0, bm), (a0, am, bm + 1, b1), (am + 1, a1, bm + 1, b1))
    ]
    cut: Lags = np.concatenate(parts)
    return cut[(cut[:, 0] <= cut[:, 1]) & (cut[:, 2] <= cut[:, 3])]


def worst_of(
    records: Lags,
    start: Found,
    prices: Callable[[Lags, int, int], Array],
    search: Callable[[int], Found],
    ceiling: float,
) -> Found:
    """Return the most expensive of the records' cheapest quilts, without searching most records.

    A record is done as soon as any known pair of lags prices it at or below the most expensive found so far. Only the
    record that looks most expensive is searched; its lags are then tried on all that are left.

    Parameters
    ----------
    records : array
        The records to look at.
    start : Found
        A record already searched.
    prices : callable
        Of records and one pair of lags: the price each record has with these lags, cut to its room.
    search : callable
        The exact search of one record.
    ceiling : float
        The price of the trivial quilt, above which no record can be.
    """
    dearest, lags, left = start, start, records
    known = np.full(len(records), np.inf)
    while len(left) and dearest.price < ceiling * (1 - TIE):
        known = np.minimum(known, prices(left, lags.left, lags.right))
        open_ = known > dearest.price * (1 + TIE)
        left, known = left[open_], known[open_]
        if not len(left):
            break
        lags = search(int(left[int(np.argmax(known))]))
        if lags.price > dearest.price:
            dearest = lags
        keep = left != lags.record
        left, known = left[keep], known[keep]
    return dearest


Charge = Literal["sharp", "two", "paper", "one"]
"""A surcharge rule, or one times the influence for the Markov Quilt Mechanism."""

TIMES: dict[Charge, float] = {"sharp": 1.0, "two": 2.0, "paper": 4.0, "one": 1.0}


class ChainModel(QuiltModel):
    """A Markov chain; a subclass gives the log ratios of the two sides and the products of its step matrices."""

    @property
    @abstractmethod
    def states(self) -> int:
        """The number of states."""

    @abstractmethod
    def left(self, record: int, lags: Lags, sharp: bool) -> Array:
        """Return how strongly the record at some distance before `record` reveals the value of `record`, one result
        for each distance.

        The results are log ratios of transition probabilities. For a pair of values that are not both possible the log
        ratio is minus infinity.
        """

    @abstractmethod
    def right(self, record: int, lags: Lags, sharp: bool) -> Array:
        """Return how strongly the record at some distance after `record` reveals the value of `record`, one result
        for each distance.

        The results are log ratios of transition probabilities.
        """

    @abstractmethod
    def product(self, low: int, high: int) -> tuple[Array, Mask]:
        """Return the transition probabilities from record `low` to record `high`, and which of them are positive."""

    @abstractmethod
    def law(self, record: int) -> Array:
        """Return the distribution of a record over the states."""

    @abstractmethod
    def _worst(self, price: Objective, charge: Charge) -> Found:
        """The record whose cheapest quilt is most expensive."""

    @staticmethod
    def times(charge: Charge) -> float:
        """Return the factor by which the chain's influence is multiplied in a surcharge of this kind."""
        return TIMES[charge]

    def _guard(self, record: int, lags: int) -> float:
        """How much rounding can have lowered a log ratio.

        A product of `t` non-negative `k x k` matrices has a relative error of at most about `t k u` in every entry, so
        the logarithm of a ratio is off by twice that. It is added, doubled.
        """
        return 4 * self.states * lags * UNIT

    def quilt(self, record: int, left: int | None = None, right: int | None = None) -> Quilt:
        """Return the Markov quilt of `record` that consists of the records `left` places before and `right` places
        after it.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.

        Parameters
        ----------
        record : int
            From 0.
        left, right : int, optional
            Lags, at least 1; None for a side without a separating record, all of which is then nearby.

        Returns
        -------
        Quilt
            With its exact influence and its sharp surcharge, rounded up.
        """
        record = check_record(record, self.n)
        a = record + 1 if left is None else arguments.whole("left", left, at_least=1, at_most=record)
        b = (
            self.n - record
            if right is None
            else arguments.whole("right", right, at_least=1, at_most=self.n - 1 - record)
        )
        return self._quilt(record, a, b)

    def _quilt(self, record: int, a: int, b: int) -> Quilt:
        present = [j for j in (record - a, record + b) if 0 <= j < self.n]
        if not self._pairs(record):
            # A record whose value is certain has nothing to hide; it is charged as if it were independent.
            return Quilt(record, (), (), 0.0, 1, 0.0)
        lags = np.array([a]), np.array([b])
        plain, sharp = (float(self._surcharges(record, sharp)(*lags)[0]) for sharp in (False, True))
        guard = self._guard(record, (a if a <= record else 0) + (b if record + b < self.n else 0)) if present else 0.0
        plain, sharp = (max(w, 0.0) * (1 + 1e-12) + guard if present else 0.0 for w in (plain, sharp))
        return Quilt(record, tuple(present), Between(record - a + 1, record + b, record), plain, a + b - 1, sharp)

    def _pairs(self, record: int) -> bool:
        return bool((self.law(record) > 0).sum() > 1)

    def _surcharges(self, record: int, sharp: bool) -> _Surcharges:
        return _Surcharges(self, record, sharp)

    def _search(self, record: int, price: Objective, charge: Charge) -> Found:
        """The exact search of one record."""
        if not self._pairs(record):
            return Found(record, 1, 1, float(price(np.array([1.0]), np.array([0.0]))[0]))
        surcharges, times = self._surcharges(record, charge == "sharp"), TIMES[charge]
        return best_lags(record, record + 1, self.n - record, lambda a, b: times * surcharges(a, b), price)

    def _found(self, found: Found) -> Quilt:
        """The quilt that was found, its influence raised by what two prices may differ and still count as equal."""
        quilt = self._quilt(found.record, found.left, found.right)
        if not quilt.quilt or quilt.sharp is None:
            return quilt
        slack = 4 * TIE * max(1.0, quilt.influence)
        return replace(quilt, influence=quilt.influence + slack, sharp=quilt.sharp + slack)

    def best_quilt(self, record: int, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` with which the record needs the least noise.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        `epsilon` is the level of Bayesian differential privacy to reach. The search is exact.

        Notes
        -----
        On a chain with the nearby set strictly between the quilt's records, the maximum over what is known nearby
        is attained when nothing is (specification 2.4, derived and reviewed), so no search over it is needed.
        """
        price = NoiseAt(arguments.real("epsilon", epsilon, above=0))
        return self._found(self._search(check_record(record, self.n), price, check_surcharge(surcharge)))

    def cheapest_quilt(self, record: int, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` that proves the lowest level of Bayesian differential privacy for it.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The mechanism is `epsilon_dp`-differentially private, and the level is `size * epsilon_dp + surcharge`. The
        search is exact.
        """
        price = LevelAt(arguments.real("epsilon_dp", epsilon_dp, above=0))
        return self._found(self._search(check_record(record, self.n), price, check_surcharge(surcharge)))

    def worst_quilt(self, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of the record that needs the most noise. It determines the noise for all records.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        `epsilon` is the level of Bayesian differential privacy to reach.
        """
        price = NoiseAt(arguments.real("epsilon", epsilon, above=0))
        return self._found(self._worst(price, check_surcharge(surcharge)))

    def dearest_quilt(self, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of the record about which an `epsilon_dp`-differentially private mechanism reveals
        the most.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        """
        price = LevelAt(arguments.real("epsilon_dp", epsilon_dp, above=0))
        return self._found(self._worst(price, check_surcharge(surcharge)))

    def markov_quilt(self, epsilon: float) -> Quilt:
        """Return the Markov quilt that determines the noise of the Markov Quilt Mechanism (Song, Wang and Chaudhuri
        2017).

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The quilt belongs to the record that needs the most noise. The mechanism charges the influence once.
        """
        price = NoiseAt(arguments.real("epsilon", epsilon, above=0))
        return self._found(self._worst(price, "one"))

    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        """Return the max-influence of `record` on the records of `quilt` for an adversary who knows the records of
        `known`, in nats.

        It is the largest log ratio of the probabilities of what the quilt shows, given two values of the record;
        rounded up. Any sets of records may be given.

        Notes
        -----
        The max-influence is `I(X_quilt <- X_record | X_known)`. Only the nearest quilt record and the nearest
        known record of each side matter. With the known record nearer, the side reveals nothing. With the known
        record `c` beyond the quilt record, the log ratio of the side loses what `c` alone says: for the right
        side, lags `b < c`, it is the largest over possible `v, w` of `ln P^b(x,v)/P^b(x',v) - ln
        P^c(x,w)/P^c(x',w)`.
        """
        record = check_record(record, self.n)
        marked, seen = check_records("quilt", quilt, self.n), check_records("known", known, self.n)
        if record in marked or record in seen or set(marked) & set(seen):
            raise InvalidParameter("record, quilt and known must have no record in common")
        sides, lags = np.zeros((self.states, self.states)), 0
        possible = self.law(record) > 0
        pairs = possible[:, None] & possible & ~np.eye(self.states, dtype=bool)
        for before in (True, False):
            mine = [j for j in marked if (j < record) == before]
            theirs = [j for j in seen if (j < record) == before]
            if not mine:
                continue
            q = max(mine) if before else min(mine)
            k = (max(theirs) if before else min(theirs)) if theirs else None
            if k is not None and abs(k - record) < abs(q - record):
                continue
            lags += abs(q - record) + (abs(k - record) if k is not None else 0)
            if k is None:
                lag = np.array([abs(q - record)])
                side = (self.left(record, lag, False) if before else self.right(record, lag, False))[0]
            else:
                side = self._bridge(record, q, k)
            sides = sides + np.where(pairs, side, 0.0)
        if not pairs.any() or not lags:
            return 0.0
        return float(sides[pairs].max()) * (1 + 1e-12) + self._guard(record, lags)

    def _bridge(self, record: int, q: int, k: int) -> Array:
        """What `q` says about the record when `k`, beyond it, is known: log ratios for every pair of values."""
        near, near_can = self._towards(record, q)
        far, far_can = self._towards(record, k)
        link = self.product(min(q, k), max(q, k))[1]
        link = link if q < k else link.T  # link[value of q, value of k]
        reach = self.law(k) > 0 if k < record else np.ones(self.states, dtype=bool)
        ratios = np.full((self.states, self.states), -np.inf)
        for x in range(self.states):
            for y in range(self.states):
                for w in np.flatnonzero(reach & far_can[x] & far_can[y]):
                    values = np.flatnonzero(link[:, w] & near_can[x])
                    if not len(values) or x == y:
                        continue
                    if (near[y][values] < TINY).any() or far[x, w] < TINY:
                        ratios[x, y] = np.inf
                        continue
                    with np.errstate(divide="ignore"):
                        here = np.log(near[x][values]) - np.log(near[y][values]) + np.log(far[y, w]) - np.log(far[x, w])
                    ratios[x, y] = max(ratios[x, y], float(here.max()))
        return ratios

    def _towards(self, record: int, other: int) -> tuple[Array, Mask]:
        """Probabilities indexed by (value of the record, value of the other)."""
        if other > record:
            return self.product(record, other)
        values, can = self.product(other, record)
        return values.T, can.T


class _Surcharges:
    """The surcharge of pairs of lags of one record; each lag's table is looked up once."""

    def __init__(self, chain: ChainModel, record: int, sharp: bool) -> None:
        self._chain, self._record, self._sharp = chain, record, sharp

    def __call__(self, a: Lags, b: Lags) -> Array:
        lefts, left = np.unique(a, return_inverse=True)
        rights, right = np.unique(b, return_inverse=True)
        states = self._chain.states
        tables = self._chain.left(self._record, lefts, self._sharp).reshape(len(lefts), states * states)
        others = self._chain.right(self._record, rights, self._sharp).reshape(len(rights), states * states)
        pairs = ~np.isneginf(tables[0])
        tables, others = tables[:, pairs], others[:, pairs]
        sums: Array = (tables[left.reshape(-1)] + others[right.reshape(-1)]).max(axis=1)
        return sums
