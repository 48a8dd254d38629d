"""Finite-state Markov chains with known transition matrices: one for all records, or one for each step."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.bounds.correlated.effective_size import effective_n_chain, effective_n_stationary
from holdfast.bounds.correlated.influence import QuiltTerms
from holdfast.core import arguments
from holdfast.correlated.chains.model import (
    TIE,
    TIMES,
    ChainModel,
    Charge,
    Found,
    Lags,
    Objective,
    columns,
    forward,
    prior_odds,
    worst_of,
)
from holdfast.correlated.chains.transition import (
    Array,
    Mask,
    Powers,
    RowChain,
    check_law,
    check_transition,
    stationary_law,
)
from holdfast.correlated.model import ZEROS
from holdfast.errors import InvalidParameter

SETTLED = 1e-13
"""Distributions whose logarithms differ by at most this count as one; the reported influence is raised to cover it."""

#: A chain whose distribution has not settled keeps the distribution of every record; more numbers than this do not fit.
_LAWS = 40_000_000
#: Log ratios of so many records at once.
_CHUNK = 4_000_000


class Settled(NamedTuple):
    """The distributions of records 0, 1, ... until they stop changing; later records have the last one."""

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
        """The distributions of the records, by doubling: `O(m k^2)` for the `m` records before the distribution
        settles.
        """
        if self.start is None:
            law = stationary_law(self.transition)[None]
            return Settled(law, law > 0, 0, True)
        try:
            goal: Array | None = stationary_law(self.transition)
        except InvalidParameter:
            goal = None  # several closed classes: the distribution may settle, but on what depends on the start
        laws, supports = self.start[None], (self.start > 0)[None]
        while len(laws) < self.n:
            if goal is not None and (near := _near(laws, supports, goal)).any():
                since = int(np.argmax(near))
                return Settled(laws[: since + 1], supports[: since + 1], since, bool((laws[since] == goal).all()))
            if 2 * len(laws) * self.states > _LAWS and len(laws) < self.n:
                raise InvalidParameter(
                    f"the distribution of this chain has not settled after {len(laws)} steps, and the distributions "
                    f"of {self.n} records with {self.states} states do not fit in memory; give a smaller n, or start "
                    "the chain from its stationary distribution"
                )
            value, support = self.powers.at([len(laws)])
            more = laws @ value[0]
            laws = np.concatenate([laws, more / more.sum(axis=1, keepdims=True)])
            supports = np.concatenate([supports, (supports.astype(float) @ support[0].astype(float)) > 0])
        return Settled(laws[: self.n], supports[: self.n], min(self.n, len(laws)) - 1, True)

    @cached_property
    def _patterns(self) -> tuple[Mask, Lags]:
        """The distinct supports, and which of them each record until the distribution settles has."""
        patterns, inverse = np.unique(self.settled.supports, axis=0, return_inverse=True)
        return patterns.astype(bool), inverse.reshape(-1).astype(np.int64)

    def law_index(self, records: Lags) -> Lags:
        """Return where the records' distributions stand in `settled`."""
        return np.minimum(records, len(self.settled.laws) - 1)

    def pattern(self, records: Lags) -> Lags:
        """Return the number of each record's support; one number for all if supports are not respected."""
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
        """Return the left side of the influence, or of the sharp surcharge; 0 at the lag beyond the first record."""
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
        """Return the right side; 0 at the lag beyond the last record."""
        room = self.n - 1 - record
        sides = np.zeros((len(lags), self.states, self.states))
        real, beyond = lags <= room, lags < room
        if real.any():
            sides[real] = self.forward(lags[real])
        if sharp and beyond.any():
            sides[beyond] += self.forward(lags[beyond] + 1).transpose(0, 2, 1)
        return sides

    def at_all(self, records: Lags, left: int, right: int, sharp: bool) -> Array:
        """Return the surcharge of one pair of lags, cut to the room, at many records."""
        surcharges = np.full(len(records), -np.inf)
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
            first = records[at[0]]
            side = self.right(int(first), np.array([min(right, self.n - int(first))]), sharp)
            values = np.concatenate(
                [self._over_laws(part, key, left, sharp, side) for part in _parts(laws, _CHUNK // self.states**2)]
            )
            surcharges[at] = values[back.reshape(-1)]
        most: Array = np.maximum(surcharges, 0.0)
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


_LONGEST = 10**15


class MarkovChain(ChainModel):
    """A Markov chain of `n` records with finitely many states, whose transition matrix is the same at every step.

    Parameters
    ----------
    transition : matrix
        Row `x` is the distribution of the next record given `x`; rows sum to one within 1e-12.
    n : int
        Records.
    start : "stationary" or list of float
        The distribution of the first record.
    respect_support : bool
        Whether values that an earlier record cannot have are left out of a maximum. They should be; False is the
        convention behind the published score 13.0219 of Song, Wang and Chaudhuri (2017), and is never less noisy.

    Notes
    -----
    Zhao 2017, Lemma 2, with surcharges as in specification 3.2 and 3.3. For a stationary start the best quilt of a
    record in the middle bounds every record's: cut to the room that a record has, it is no larger and no more
    influenced. So planning does not depend on `n` once `n` exceeds twice the best quilt. Otherwise records are scanned
    until their distribution is stationary to working precision.

    Examples
    --------
    An energy meter that is off (0) or on (1), a million readings, Bayesian level 1:

    >>> meter = MarkovChain([[0.9, 0.1], [0.4, 0.6]], n=1_000_000)
    >>> quilt = meter.worst_quilt(1.0)
    >>> quilt.size, round(quilt.score(1.0), 8), round(meter.epsilon_dp(1.0), 10)
    (11, 13.29039734, 0.0752422952)
    >>> round(meter.epsilon_bdp(meter.epsilon_dp(1.0)), 9)
    1.0
    >>> round(meter.effective_n())
    333333
    """

    def __init__(
        self, transition: npt.ArrayLike, n: int, start: npt.ArrayLike = "stationary", respect_support: bool = True
    ) -> None:
        self._matrix = check_transition("transition", transition)
        self._n = arguments.whole("n", n, at_least=1, at_most=_LONGEST)
        self._start: Array | None = None
        if isinstance(start, str):
            arguments.choice("start", start, ("stationary",))
        else:
            self._start = check_law("start", start, len(self._matrix))
        self._respect_support = bool(respect_support)
        _ = self.tables.settled  # a chain without the distribution it asks for is refused here

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    @cached_property
    def tables(self) -> ChainTables:
        """The log ratios of transition probabilities from which influences are computed, each computed only once."""
        return ChainTables(self._matrix, self._start, self._n, self._respect_support)

    @property
    def n(self) -> int:
        """The number of records."""
        return self._n

    @property
    def matrix(self) -> Array:
        """The transition matrix, read-only."""
        return self._matrix

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.matrix)

    @property
    def stationary(self) -> bool:
        """Whether the chain starts from its stationary distribution."""
        return self._start is None

    def describe(self) -> str:
        """Return one line that describes the declared dependence."""
        start = "stationary start" if self.stationary else "given start"
        return f"Markov chain of {self.n} records, {self.states} states, {start}"

    def law(self, record: int) -> Array:
        """Return the distribution of a record over the states."""
        settled = self.tables.settled
        where = min(record, len(settled.laws) - 1)
        return np.where(settled.supports[where], np.maximum(settled.laws[where], 5e-324), 0.0)

    def left(self, record: int, lags: Lags, sharp: bool) -> Array:
        """Return how strongly the record at some distance before `record` reveals the value of `record`, one result
        for each distance.

        The results are log ratios of transition probabilities.
        """
        return self.tables.left(record, lags, sharp)

    def right(self, record: int, lags: Lags, sharp: bool) -> Array:
        """Return how strongly the record at some distance after `record` reveals the value of `record`, one result
        for each distance.

        The results are log ratios of transition probabilities.
        """
        return self.tables.right(record, lags, sharp)

    def product(self, low: int, high: int) -> tuple[Array, Mask]:
        """Return the transition probabilities between two records, a power of the transition matrix."""
        values, can = self.tables.powers.at([high - low])
        return values[0], can[0]

    def _guard(self, record: int, lags: int) -> float:
        settled = self.tables.settled
        drift = 0.0 if settled.exact or record <= settled.since else 4 * SETTLED
        return super()._guard(record, lags) + drift

    def _worst(self, price: Objective, charge: Charge) -> Found:
        """Search the middle, then only the records that the middle's quilt does not cover."""
        middle = (self.n - 1) // 2
        ceiling = float(price(np.array([float(self.n)]), np.array([0.0]))[0])
        optimum = self._search(middle, price, charge)
        if optimum.price >= ceiling * (1 - TIE):
            return optimum
        since, widest = self.tables.settled.since, price.largest_size(optimum.price)
        if middle >= since and middle + 1 > widest and self.n - middle > widest:
            # From `since + left + 2` on, a record's tables are the middle's, and cutting lags to its room only helps.
            records = np.arange(min(self.n, since + optimum.left + 2 if since else 0))
        else:
            records = np.arange(self.n)
        times, sharp = TIMES[charge], charge == "sharp"

        def prices(some: Lags, left: int, right: int) -> Array:
            sizes = np.minimum(left, some + 1) + np.minimum(right, self.n - some) - 1
            return price(sizes.astype(np.float64), times * self.tables.at_all(some, left, right, sharp))

        return worst_of(records, optimum, prices, lambda record: self._search(record, price, charge), ceiling)

    def effective_n(self) -> float:
        """Return the effective number of rows: with so many independent rows one fixed mean would get the same
        interval.

        Either the state of the chain must be the complete row, or the question must use only columns that form this
        chain.

        Notes
        -----
        The better of C and, if stationary, D of 3.9.
        """
        row = RowChain(self.matrix)
        deltas = row.coefficients(self.n)
        values = [1.0] if deltas is None else [effective_n_chain(self.n, deltas)]
        if self.stationary and row.operator_norm < 1:
            values.append(effective_n_stationary(self.n, row.operator_norm))
        return max(values)

    def terms(self, left: int, right: int) -> QuiltTerms:
        """Return the four numbers about this model that the theorems on Thresholdout with dependent records need.

        For each record the Markov quilt consists of the records `left` places before and `right` places after it. Near
        an end of the chain one of the two may be missing. The number of colours is the larger of the two distances. The
        numbers hold for this chain of `n` records. They hold for a longer chain only if some record here has both sides
        and a distribution that has settled.

        Notes
        -----
        Records of one residue class modulo the larger lag are never nearby one another, the ends included
        (specification 3.6). `run_terms` sees to the last condition.
        """
        left = arguments.whole("left", left, at_least=1, at_most=self.n)
        right = arguments.whole("right", right, at_least=1, at_most=self.n)
        # later records have the tables of the last one here, and no more room on the right
        records = np.arange(min(self.n, self.tables.settled.since + left + 3))
        guard = self._guard(self.n - 1, left + right)
        plain, sharp = (
            float(self.tables.at_all(records, left, right, sharp).max()) * (1 + 1e-12) + guard
            for sharp in (False, True)
        )
        size = min(left + right - 1, self.n)
        return QuiltTerms(size, plain, min(sharp, 2 * plain), min(max(left, right), self.n))

    def notes(self) -> tuple[str, ...]:
        """Return what a certificate must state about this chain: zero transition probabilities that make influences
        infinite at every distance.
        """
        if self.tables.powers.positive:
            return ()
        possible = self.tables.settled.supports.any(axis=0)
        rows = self.tables.powers.at([self.states**2 + 1])[1][0][possible]
        return () if (rows == rows[0]).all() else (ZEROS,)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        start = "stationary" if self._start is None else self._start.tolist()
        return {"model": "chain", "n": self.n, "transition": self.matrix.tolist(), "start": start} | (
            {} if self._respect_support else {"respect_support": False}
        )


#: Mixing coefficients are computed until they are this small, or this many; sub-multiplicativity goes on from there.
_ENOUGH, _MOST = 1e-6, 4096
_ROUNDING = 1e-11


class InhomogeneousChain(ChainModel):
    """A Markov chain whose transition matrix may differ at every step; `steps[j]` leads from record `j` to record `j
    + 1`.

    The chain has `len(steps) + 1` records. Everything is as for `MarkovChain`, with ordered products of the matrices in
    place of powers.

    Parameters
    ----------
    steps : sequence of matrices
        One fewer than records, all of the same size.
    start : list of float
        The distribution of the first record.

    Notes
    -----
    Specification 2.5, derived. Every record has its own products: time `O(n l k^3)` with `l` the length of the
    best quilt; records that an earlier record's lags already price low enough are not searched.

    Examples
    --------
    Constant steps are the homogeneous chain:

    >>> chain = InhomogeneousChain([[[0.9, 0.1], [0.4, 0.6]]] * 59, [0.8, 0.2])
    >>> chain.n, round(chain.noise_scale(1.0), 8)
    (60, 13.29039734)
    """

    def __init__(self, steps: Sequence[npt.ArrayLike], start: npt.ArrayLike) -> None:
        if isinstance(steps, str) or not hasattr(steps, "__len__") or not len(steps):
            raise InvalidParameter("steps must be a list of at least one transition matrix")
        self._steps = [check_transition(f"steps[{j}]", step) for j, step in enumerate(steps)]
        sizes = {len(step) for step in self._steps}
        if len(sizes) > 1:
            raise InvalidParameter(f"steps must all have the same number of states, got {sorted(sizes)}")
        laws = [check_law("start", start, sizes.pop())]
        supports = [laws[0] > 0]
        for step in self._steps:
            law = laws[-1] @ step
            laws.append(law / law.sum())
            supports.append((supports[-1].astype(float) @ (step > 0).astype(float)) > 0)
        self._laws, self._supports = np.array(laws), np.array(supports)
        self._record = -1
        self._ahead: list[tuple[Array, Mask]] = []
        self._back: list[tuple[Array, Mask]] = []

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    @property
    def n(self) -> int:
        """The number of records."""
        return len(self._steps) + 1

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self._steps[0])

    def describe(self) -> str:
        """Return one line that describes the declared dependence."""
        return f"inhomogeneous Markov chain of {self.n} records, {self.states} states"

    def law(self, record: int) -> Array:
        """Return the distribution of a record over the states."""
        return np.where(self._supports[record], np.maximum(self._laws[record], 5e-324), 0.0)

    def product(self, low: int, high: int) -> tuple[Array, Mask]:
        """Return the transition probabilities from one record to another, the ordered product of the steps between
        them.
        """
        value, can = np.eye(self.states), np.eye(self.states, dtype=bool)
        for step in self._steps[low:high]:
            value, can = _times(value, can, step, step > 0)
        return value, can

    def _products(self, record: int, lag: int, ahead: bool) -> tuple[Array, Mask]:
        """The product between a record and the one `lag` away; those of one record are kept."""
        if record != self._record:
            self._record, self._ahead, self._back = record, [], []
        products = self._ahead if ahead else self._back
        unit = np.eye(self.states), np.eye(self.states, dtype=bool)
        while len(products) < lag:
            value, can = products[-1] if products else unit
            if ahead:
                step = self._steps[record + len(products)]
                products.append(_times(value, can, step, step > 0))
            else:
                step = self._steps[record - len(products) - 1]
                products.append(_times(step, step > 0, value, can))
        return products[lag - 1]

    def left(self, record: int, lags: Lags, sharp: bool) -> Array:
        """Return how strongly the record at some distance before `record` reveals the value of `record`, one result
        for each distance.

        The results are log ratios of transition probabilities.
        """
        odds = prior_odds(self._laws[record][None], self._supports[record][None])[0]
        sides = np.where(np.isneginf(odds), -np.inf, 0.0)[None].repeat(len(lags), axis=0)
        for j, lag in enumerate(lags):
            if lag > record:
                continue
            prior = odds
            if sharp and lag < record:
                prior = np.maximum(odds, self._column(record, int(lag) + 1).T)
            with np.errstate(invalid="ignore"):
                sides[j] = np.where(np.isneginf(odds), -np.inf, self._column(record, int(lag)) + prior)
        return sides

    def _column(self, record: int, lag: int) -> Array:
        value, can = self._products(record, lag, ahead=False)
        table: Array = columns(value[None], can[None], self._supports[record - lag])[0]
        return table

    def right(self, record: int, lags: Lags, sharp: bool) -> Array:
        """Return how strongly the record at some distance after `record` reveals the value of `record`, one result
        for each distance.

        The results are log ratios of transition probabilities.
        """
        room = self.n - 1 - record
        sides = np.zeros((len(lags), self.states, self.states))
        for j, lag in enumerate(lags):
            if lag <= room:
                sides[j] = self._row(record, int(lag))
            if sharp and lag < room:
                sides[j] += self._row(record, int(lag) + 1).T
        return sides

    def _row(self, record: int, lag: int) -> Array:
        value, can = self._products(record, lag, ahead=True)
        table: Array = forward(value[None], can[None])[0]
        return table

    def _worst(self, price: Objective, charge: Charge) -> Found:
        """From the first record to the last; the lags that the last searched record liked are tried first."""
        dearest = lags = self._search(0, price, charge)
        for record in range(1, self.n):
            if self._price(record, lags, price, charge) <= dearest.price * (1 + TIE):
                continue
            lags = self._search(record, price, charge)
            if lags.price > dearest.price:
                dearest = lags
        return dearest

    def _price(self, record: int, lags: Found, price: Objective, charge: Charge) -> float:
        if not self._pairs(record):
            return 0.0
        a, b = np.array([min(lags.left, record + 1)]), np.array([min(lags.right, self.n - record)])
        w = self._surcharges(record, charge == "sharp")(a, b) * self.times(charge)
        return float(price((a + b - 1).astype(np.float64), w)[0])

    def effective_n(self) -> float:
        """Return the effective number of rows: with so many independent rows one fixed mean would get the same
        interval.

        Notes
        -----
        C of 3.9, coefficients over all start times.
        """
        steps = np.array(self._steps)
        products, spreads = steps, [_spread(steps)]
        while spreads[-1] > _ENOUGH and len(spreads) < min(self.n - 1, _MOST):
            products = products[:-1] @ steps[len(spreads) :]
            spreads.append(min(spreads[-1], _spread(products)))
        return effective_n_chain(self.n, spreads) if spreads[-1] < 1 else 1.0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "model": "inhomogeneous chain",
            "n": self.n,
            "steps": [step.tolist() for step in self._steps],
            "start": self._laws[0].tolist(),
        }


def _times(value: Array, can: Mask, other: Array, other_can: Mask) -> tuple[Array, Mask]:
    product = value @ other
    return product / product.sum(axis=1, keepdims=True), (can.astype(float) @ other_can.astype(float)) > 0


def _spread(products: Array) -> float:
    """The largest total variation distance between two rows of one matrix, rounded up."""
    states = products.shape[1]
    worst = max(float(np.abs(products - products[:, x : x + 1, :]).sum(axis=2).max()) for x in range(states)) / 2
    return 0.0 if worst == 0 else min(1.0, worst + _ROUNDING)
