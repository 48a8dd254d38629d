"""What chains of both kinds share: quilts are pairs of lags, and influence is a sum of two sides."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection
from dataclasses import replace
from typing import Literal

import numpy as np

from holdfast import check
from holdfast.bounds.exact import UNIT
from holdfast.correlated.chain_influence import TINY
from holdfast.correlated.chain_quilts import TIE, Found, Lags, LevelAt, NoiseAt, Objective, best_lags
from holdfast.correlated.model import QuiltModel, check_record, check_records
from holdfast.correlated.quilt import Between, Quilt, Surcharge, check_surcharge
from holdfast.correlated.transition import Array, Mask
from holdfast.errors import InvalidParameter

Charge = Literal["sharp", "two", "paper", "one"]
"""A surcharge rule, or one times the influence for the Markov Quilt Mechanism."""

TIMES: dict[Charge, float] = {"sharp": 1.0, "two": 2.0, "paper": 4.0, "one": 1.0}


class ChainModel(QuiltModel):
    """A Markov chain; a subclass gives the log ratios of the two sides and the products of its step matrices."""

    @property
    @abstractmethod
    def states(self) -> int:
        """How many states."""

    @abstractmethod
    def left(self, record: int, lags: Lags, sharp: bool) -> Array:
        """Left sides at many lags, minus infinity for pairs of values that are not both possible."""

    @abstractmethod
    def right(self, record: int, lags: Lags, sharp: bool) -> Array:
        """Right sides at many lags."""

    @abstractmethod
    def product(self, low: int, high: int) -> tuple[Array, Mask]:
        """The transition probabilities from record `low` to record `high`, and which are positive."""

    @abstractmethod
    def law(self, record: int) -> Array:
        """The law of a record."""

    @abstractmethod
    def _worst(self, price: Objective, charge: Charge) -> Found:
        """The record whose cheapest quilt is dearest."""

    @staticmethod
    def times(charge: Charge) -> float:
        """How many times the log ratios are charged."""
        return TIMES[charge]

    def _guard(self, record: int, lags: int) -> float:
        """How much rounding can have lowered a log ratio.

        A product of `t` non-negative `k x k` matrices has a relative error of at most about `t k u` in every entry, so
        the logarithm of a ratio is off by twice that. It is added, doubled.
        """
        return 4 * self.states * lags * UNIT

    def quilt(self, record: int, left: int | None = None, right: int | None = None) -> Quilt:
        """The quilt that separates `record` from the rest at `left` records before and `right` records after it.

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
        a = record + 1 if left is None else check.whole("left", left, at_least=1, at_most=record)
        b = self.n - record if right is None else check.whole("right", right, at_least=1, at_most=self.n - 1 - record)
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
        """The quilt of `record` with the least noise at the Bayesian level `epsilon`; exact.

        On a chain with the nearby set strictly between the quilt's records, the maximum over what is known nearby is
        attained when nothing is (specification 2.4, derived and reviewed), so no search over it is needed.
        """
        price = NoiseAt(check.real("epsilon", epsilon, above=0))
        return self._found(self._search(check_record(record, self.n), price, check_surcharge(surcharge)))

    def cheapest_quilt(self, record: int, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The quilt of `record` with the lowest Bayesian level for an `epsilon_dp`-DP mechanism; exact."""
        price = LevelAt(check.real("epsilon_dp", epsilon_dp, above=0))
        return self._found(self._search(check_record(record, self.n), price, check_surcharge(surcharge)))

    def worst_quilt(self, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The best quilt of a record that needs most noise at the Bayesian level `epsilon`."""
        price = NoiseAt(check.real("epsilon", epsilon, above=0))
        return self._found(self._worst(price, check_surcharge(surcharge)))

    def dearest_quilt(self, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The cheapest quilt of a record that leaks most through an `epsilon_dp`-DP mechanism."""
        price = LevelAt(check.real("epsilon_dp", epsilon_dp, above=0))
        return self._found(self._worst(price, check_surcharge(surcharge)))

    def markov_quilt(self, epsilon: float) -> Quilt:
        """The worst record's best quilt for the Markov Quilt Mechanism, which charges one times the influence."""
        price = NoiseAt(check.real("epsilon", epsilon, above=0))
        return self._found(self._worst(price, "one"))

    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        """Max-influence `I(X_quilt <- X_record | X_known)` in nats, rounded up; any sets of records.

        Only the nearest quilt record and the nearest known record of each side matter. With the known record nearer,
        the side says nothing. With the known record `c` beyond the quilt record, the log ratio of the side loses what
        `c` alone says: for the right side, lags `b < c`, it is the largest over possible `v, w` of
        `ln P^b(x,v)/P^b(x',v) - ln P^c(x,w)/P^c(x',w)`.
        """
        record = check_record(record, self.n)
        marked, seen = check_records("quilt", quilt, self.n), check_records("known", known, self.n)
        if record in marked or record in seen or set(marked) & set(seen):
            raise InvalidParameter("record, quilt and known must be disjoint sets of records")
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
        found = np.full((self.states, self.states), -np.inf)
        for x in range(self.states):
            for y in range(self.states):
                for w in np.flatnonzero(reach & far_can[x] & far_can[y]):
                    values = np.flatnonzero(link[:, w] & near_can[x])
                    if not len(values) or x == y:
                        continue
                    if (near[y][values] < TINY).any() or far[x, w] < TINY:
                        found[x, y] = np.inf
                        continue
                    with np.errstate(divide="ignore"):
                        here = np.log(near[x][values]) - np.log(near[y][values]) + np.log(far[y, w]) - np.log(far[x, w])
                    found[x, y] = max(found[x, y], float(here.max()))
        return found

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
        found: Array = (tables[left.reshape(-1)] + others[right.reshape(-1)]).max(axis=1)
        return found


__all__ = ["TIMES", "ChainModel", "Charge"]
