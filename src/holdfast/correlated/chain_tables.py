"""The log ratios of a homogeneous chain at any record and lag, each computed once."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np

from holdfast.correlated.chain_influence import columns, forward, prior_odds
from holdfast.correlated.chain_quilts import Lags
from holdfast.correlated.transition import Array, Mask, Powers, stationary_law
from holdfast.errors import InvalidParameter

SETTLED = 1e-13
"""Laws whose logarithms differ by at most this count as one; the reported influence is raised to cover it."""

#: A chain whose law has not settled keeps the law of every record; more numbers than this do not fit.
_LAWS = 40_000_000
#: Log ratios of so many records at once.
_CHUNK = 4_000_000


class Settled(NamedTuple):
    """The laws of records 0, 1, ... until they stop changing; later records have the last one."""

    laws: Array
    supports: Mask
    since: int
    exact: bool


class ChainTables:
    """Log ratios by record, lag and side; `None` as support means that every earlier value counts as possible."""

    def __init__(self, transition: Array, start: Array | None, n: int, respect_support: bool) -> None:
        self.transition, self.start, self.n, self.respect_support = transition, start, n, respect_support
        self.states = len(transition)
        self.powers = Powers(transition)
        self._forward: dict[int, Array] = {}
        self._columns: dict[tuple[int, int], Array] = {}

    @cached_property
    def settled(self) -> Settled:
        """The laws of the records, by doubling: `O(m k^2)` for the `m` records before the law settles."""
        if self.start is None:
            law = stationary_law(self.transition)[None]
            return Settled(law, law > 0, 0, True)
        try:
            goal: Array | None = stationary_law(self.transition)
        except InvalidParameter:
            goal = None  # several closed classes: the law may settle, but on what depends on the start
        laws, supports = self.start[None], (self.start > 0)[None]
        while len(laws) < self.n:
            if goal is not None and (near := _near(laws, supports, goal)).any():
                since = int(np.argmax(near))
                return Settled(laws[: since + 1], supports[: since + 1], since, bool((laws[since] == goal).all()))
            if 2 * len(laws) * self.states > _LAWS and len(laws) < self.n:
                raise InvalidParameter(
                    f"n must be smaller: the law of this chain does not settle in {len(laws)} steps, and the laws of "
                    f"{self.n} records of {self.states} states do not fit; start it from its stationary law"
                )
            value, support = self.powers.at([len(laws)])
            more = laws @ value[0]
            laws = np.concatenate([laws, more / more.sum(axis=1, keepdims=True)])
            supports = np.concatenate([supports, (supports.astype(float) @ support[0].astype(float)) > 0])
        return Settled(laws[: self.n], supports[: self.n], min(self.n, len(laws)) - 1, True)

    @cached_property
    def _patterns(self) -> tuple[Mask, Lags]:
        """The distinct supports, and which of them each record until the law settles has."""
        found, inverse = np.unique(self.settled.supports, axis=0, return_inverse=True)
        return found.astype(bool), inverse.reshape(-1).astype(np.int64)

    def law_index(self, records: Lags) -> Lags:
        """Where the records' laws stand in `settled`."""
        return np.minimum(records, len(self.settled.laws) - 1)

    def pattern(self, records: Lags) -> Lags:
        """The number of each record's support; one number for all if supports are not respected."""
        if not self.respect_support:
            return np.full(len(records), -1, dtype=np.int64)
        return self._patterns[1][self.law_index(records)]

    def forward(self, lags: Lags) -> Array:
        """`F_t` for each lag."""
        missing = np.array([t for t in np.unique(lags) if int(t) not in self._forward], dtype=np.int64)
        if len(missing):
            for t, table in zip(missing, forward(*self.powers.at(missing)), strict=True):
                self._forward[int(t)] = table
        return np.stack([self._forward[int(t)] for t in lags])

    def columns(self, lags: Lags, pattern: int) -> Array:
        """`D_t` for each lag, over the earlier values that a support allows."""
        missing = np.array([t for t in np.unique(lags) if (int(t), pattern) not in self._columns], dtype=np.int64)
        if len(missing):
            allowed = None if pattern < 0 else self._patterns[0][pattern]
            for t, table in zip(missing, columns(*self.powers.at(missing), allowed), strict=True):
                self._columns[int(t), pattern] = table
        return np.stack([self._columns[int(t), pattern] for t in lags])

    def odds(self, records: Lags) -> Array:
        """Prior odds of each record, minus infinity where a pair has an impossible value."""
        where = self.law_index(records)
        return prior_odds(self.settled.laws[where], self.settled.supports[where])

    def left(self, record: int, lags: Lags, sharp: bool) -> Array:
        """The left side of the influence, or of the sharp surcharge; 0 at the lag beyond the first record."""
        odds = self.odds(np.array([record]))[0]
        sides = np.where(np.isneginf(odds), -np.inf, 0.0)[None].repeat(len(lags), axis=0)
        for key, at in _groups(lags <= record, self.pattern(np.maximum(record - lags, 0)), lags < record):
            if key[0]:
                sides[at] = self._left(odds[None], lags[at], key[1], sharp and bool(key[2]), record)
        return sides

    def _left(self, odds: Array, lags: Lags, pattern: int, beyond: bool, record: int) -> Array:
        near, prior = self.columns(lags, pattern), odds
        if beyond:
            prior = np.broadcast_to(odds, near.shape).copy()
            further = self.pattern(record - lags - 1)
            for p in np.unique(further):
                at = further == p
                prior[at] = np.maximum(prior[at], self.columns(lags[at] + 1, int(p)).transpose(0, 2, 1))
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(odds), -np.inf, near + prior)

    def right(self, record: int, lags: Lags, sharp: bool) -> Array:
        """The right side; 0 at the lag beyond the last record."""
        room = self.n - 1 - record
        sides = np.zeros((len(lags), self.states, self.states))
        real, beyond = lags <= room, lags < room
        if real.any():
            sides[real] = self.forward(lags[real])
        if sharp and beyond.any():
            sides[beyond] += self.forward(lags[beyond] + 1).transpose(0, 2, 1)
        return sides

    def at_all(self, records: Lags, left: int, right: int, sharp: bool) -> Array:
        """The surcharge of one pair of lags, cut to the room, at many records."""
        found = np.full(len(records), -np.inf)
        where = self.law_index(records)
        keys = np.stack(
            [
                records >= left,
                records > left,
                self.pattern(np.maximum(records - left, 0)),
                self.pattern(np.maximum(records - left - 1, 0)),
                self.n - 1 - records >= right,
                self.n - 1 - records > right,
            ],
            axis=1,
        ).astype(np.int64)
        kinds, kind = np.unique(keys, axis=0, return_inverse=True)
        for j, key in enumerate(kinds):
            at = np.flatnonzero(kind.reshape(-1) == j)
            laws, back = np.unique(where[at], return_inverse=True)
            one = records[at[0]]
            side = self.right(int(one), np.array([min(right, self.n - int(one))]), sharp)
            values = np.concatenate(
                [self._over_laws(part, key, left, sharp, side) for part in _parts(laws, _CHUNK // self.states**2)]
            )
            found[at] = values[back.reshape(-1)]
        most: Array = np.maximum(found, 0.0)
        return most

    def _over_laws(self, laws: Lags, key: Lags, left: int, sharp: bool, side: Array) -> Array:
        odds = prior_odds(self.settled.laws[laws], self.settled.supports[laws])
        total: Array = np.where(np.isneginf(odds), -np.inf, 0.0)
        if key[0]:
            prior = odds
            if sharp and key[1]:
                prior = np.maximum(odds, self.columns(np.array([left + 1]), int(key[3])).transpose(0, 2, 1))
            with np.errstate(invalid="ignore"):
                total = np.where(np.isneginf(odds), -np.inf, self.columns(np.array([left]), int(key[2])) + prior)
        with np.errstate(invalid="ignore"):  # an impossible pair stays out, however large the other side is
            both = np.where(np.isneginf(total), -np.inf, total + side)
        best: Array = both.max(axis=(1, 2))
        return best


def _near(laws: Array, supports: Mask, goal: Array) -> Mask:
    same: Mask = (supports == (goal > 0)).all(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        gap = np.abs(np.log(laws) - np.log(goal))
    close: Mask = np.where(goal > 0, gap, 0.0).max(axis=1) <= SETTLED
    return same & close


def _groups(*keys: Array | Lags | Mask) -> list[tuple[tuple[int, ...], Lags]]:
    """The distinct rows of the keys, and where each stands."""
    stacked = np.stack([np.asarray(key, dtype=np.int64) for key in keys], axis=1)
    kinds, kind = np.unique(stacked, axis=0, return_inverse=True)
    return [(tuple(int(v) for v in key), np.flatnonzero(kind.reshape(-1) == j)) for j, key in enumerate(kinds)]


def _parts(values: Lags, size: int) -> list[Lags]:
    step = max(size, 1)
    return [values[low : low + step] for low in range(0, len(values), step)]


__all__ = ["SETTLED", "ChainTables", "Settled"]
