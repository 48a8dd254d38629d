"""Higher-order and hidden Markov chains: sequences whose quilts are windows of records.

A quilt lies `a` steps before the record and `b` steps after it (a side may be missing at an end of the sequence), and
the records strictly between are nearby. Its influence is the smaller of two valid numbers: the exact maximum over
everything that may be known nearby, from the distribution of the window alone, where its tables fit; and Birkhoff's
bound, which holds whatever is known and needs no tables.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.bounds.correlated.effective_size import effective_n_chain
from holdfast.bounds.correlated.influence import QuiltTerms
from holdfast.core import arguments
from holdfast.correlated.chains.markov import MarkovChain
from holdfast.correlated.chains.transition import RowChain, check_law, check_transition, settled_place, stationary_law
from holdfast.correlated.model import ZEROS, Between, ListedModel, Quilt, Surcharge, check_record, check_surcharge
from holdfast.correlated.networks.factors import SUM_TOLERANCE, Array, Factor, TooWide, log_of
from holdfast.correlated.networks.influence import largest_influence, path_bound, projective_diameter, set_influence
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

LONGEST_STRETCH = 2000
LARGEST_WINDOW = 4096
"""Sizes that the search lists; a sequence that has not forgotten by then gets its trivial quilt."""
_POSITIONS = 64


@dataclass(frozen=True)
class Stretch:
    """The distribution of consecutive nodes: factors over local variables, and the local number of each node."""

    factors: tuple[Factor, ...]
    sizes: tuple[int, ...]
    place: dict[int, int]


@dataclass(frozen=True)
class Lags:
    """How far a window reaches: `before` and `after` steps; None where the side goes to the end of the sequence."""

    before: int | None
    after: int | None


@dataclass(frozen=True)
class _Goal:
    """What a search minimises: a quilt's price, the least price of any size, and the influence that can still win."""

    price: Callable[[Quilt], float]
    least: Callable[[int], float]
    limit: Callable[[int, float], float]


class WindowModel(ListedModel):
    """A homogeneous sequence of records; a subclass says what lies in a window and bounds its influence.

    Parameters
    ----------
    n : int
        Records.
    settled : int or None
        From this place on the distribution of a window no longer changes to working precision. None if that is not
        known: then only Birkhoff's bound is used for sequences of more than 64 records, since it does not depend on the
        place.
    cells : int
        Cap on the tables of one window.
    """

    def __init__(self, n: int, settled: int | None, cells: int) -> None:
        self._n = n
        self._settled = settled
        self._cells = arguments.whole("cells", cells, at_least=4)
        self._exact: dict[tuple[int | None, ...], tuple[float, bool]] = {}
        self._largest_exact = int(math.log2(self._cells)) if settled is not None or n <= _POSITIONS else 0

    @property
    def n(self) -> int:
        """The number of records."""
        return self._n

    @abstractmethod
    def _side_bound(self, record: int, lag: int, after: bool) -> float:
        """Evidence-proof bound on the influence of the record towards one side at this lag."""

    @abstractmethod
    def _room(self, record: int) -> tuple[int, int]:
        """Largest lags before and after the record."""

    @abstractmethod
    def _nodes(self, record: int, lags: Lags) -> tuple[int, ...]:
        """The quilt's nodes."""

    @abstractmethod
    def _span(self, record: int, lags: Lags) -> tuple[int, int]:
        """First and last place of the window, quilt included."""

    @abstractmethod
    def _stretch(self, low: int, high: int) -> Stretch:
        """The distribution of the places `low` to `high`."""

    def quilt(self, record: int, before: int | None = None, after: int | None = None) -> Quilt:
        """Return the Markov quilt that lies `before` steps before the record and `after` steps after it.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        If `before` or `after` is None, the quilt has no records on that side.
        """
        i = check_record(record, self.n)
        room = self._room(i)
        for name, lag, most in (("before", before, room[0]), ("after", after, room[1])):
            if lag is not None:
                arguments.whole(name, lag, at_least=1, at_most=most)
        return self._quilt(i, Lags(before, after))

    def terms(self, left: int, right: int) -> QuiltTerms:
        """Return the four numbers about this model that the theorems on Thresholdout with dependent records need.

        For each record the Markov quilt lies `left` places before and `right` places after it. Near an end of the chain
        one of the two sides may be missing. The influence is Birkhoff's bound for the two sides, which holds for every
        record and whatever else is known.

        Notes
        -----
        Records whose places differ by the larger lag are in each other's quilt or beyond it. Where the first few
        records may be tied in any way a cut window reaches that many farther, so as many are added to its size
        and to the number of colours.
        """
        left, right = (
            arguments.whole(name, lag, at_least=1, at_most=self.n) for name, lag in (("left", left), ("right", right))
        )
        tied = self.n - 1 - self._room(self.n - 1)[0]
        ahead = max(self._side_bound(record, right, True) for record in (0, self.n // 2))
        influence = self._side_bound(self.n // 2, left, False) + ahead
        size, colours = left + right - 1 + tied, max(left, right) + tied
        return QuiltTerms(min(size, self.n), influence, None, min(colours, self.n))

    def quilts(self, record: int) -> Iterator[Quilt]:
        """Return the Markov quilts of `record` by increasing size, each with its exact influence or a bound on it.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The last is the trivial quilt: it is empty, and all records count as nearby.
        """
        i = check_record(record, self.n)
        for _, lags in self._listed(i):
            yield self._quilt(i, lags)

    def _listed(self, record: int) -> Iterator[tuple[int, Lags]]:
        """Sizes and lags: by increasing size, of equal ones the most balanced first."""
        left, right = self._room(record)
        before, after = record, self.n - 1 - record
        for size in range(1, min(self.n - 1, LARGEST_WINDOW) + 1):
            pairs = list(range(max(1, size + 1 - right), min(left, size) + 1))
            if size > self._largest_exact:  # Birkhoff's bound is convex in the lag, so the balanced pairs are best
                pairs = [a for a in pairs if abs(2 * a - size - 1) <= 2] or pairs[:1] + pairs[-1:]
            for a in sorted(pairs, key=lambda a: (abs(2 * a - size - 1), a)):
                yield size, Lags(a, size + 1 - a)
            if 1 <= size - before <= right:
                yield size, Lags(None, size - before)
            if 1 <= size - after <= left:
                yield size, Lags(size - after, None)
        yield self.n, Lags(None, None)

    def _size(self, record: int, lags: Lags) -> int:
        left = record if lags.before is None else lags.before - 1
        right = self.n - 1 - record if lags.after is None else lags.after - 1
        return 1 + left + right

    def _quilt(self, record: int, lags: Lags, limit: float = math.inf) -> Quilt:
        low = 0 if lags.before is None else record - lags.before + 1
        high = self.n if lags.after is None else record + lags.after
        influence = self._influence_of(record, lags, limit)
        nearby = Between(low, high, without=record)
        return Quilt(record, self._nodes(record, lags), nearby, influence, self._size(record, lags))

    def _influence_of(self, record: int, lags: Lags, limit: float) -> float:
        """The exact influence where its tables fit and it is below the limit, and never more than Birkhoff's bound."""
        if lags.before is None and lags.after is None:
            return 0.0
        low, high = self._span(record, lags)
        place = low if self._settled is None else min(low, self._settled)
        key = (lags.before, lags.after, record - low, high - record, place)
        value, exact = self._exact.get(key, (0.0, False))  # either exact, or only known to be at least that
        if not exact and value < limit:
            value, exact = self._exact[key] = self._window_influence(record, lags, limit)
        bound = self._bound(record, lags)
        return min(value, bound) if exact else bound

    def _bound(self, record: int, lags: Lags) -> float:
        """Birkhoff's bound; the sides add up by the chain rule, since each holds whatever is known."""
        before = 0.0 if lags.before is None else self._side_bound(record, lags.before, after=False)
        return before + (0.0 if lags.after is None else self._side_bound(record, lags.after, after=True))

    def _window_influence(self, record: int, lags: Lags, limit: float) -> tuple[float, bool]:
        """The exact influence, or a number that it is at least: the limit, or infinity where tables do not fit."""
        if self._size(record, lags) > self._largest_exact:
            return math.inf, False  # each nearby record at least doubles the work
        stretch = self._stretch(*self._span(record, lags))
        low = 0 if lags.before is None else record - lags.before + 1
        high = self.n if lags.after is None else record + lags.after
        quilt = [stretch.place[node] for node in self._nodes(record, lags)]
        known = [stretch.place[node] for node in range(low, high) if node != record]
        try:
            influence = largest_influence(
                stretch.factors,
                stretch.sizes,
                stretch.place[record],
                quilt,
                known,
                limit=limit,
                cells=self._cells,
            )
        except TooWide:
            return math.inf, False
        return (limit, False) if influence is None else (influence, True)

    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        """Return the exact max-influence of `record` on the records of `quilt`, in nats, for an adversary who knows
        the records of `known`.

        The max-influence is the largest log ratio of the probabilities of what the quilt's records show, given two
        values of `record`. Hidden nodes are numbered from `n` on. They may be in the quilt, but not among the known
        records.

        Notes
        -----
        `I(X_quilt <- X_record | X_known)`, by elimination over the stretch between them.
        """
        i = check_record(record, self.n)
        top = self._node_count()
        q = {arguments.whole(f"quilt[{j}]", node, at_least=0, at_most=top - 1) for j, node in enumerate(quilt)}
        k = {arguments.whole(f"known[{j}]", node, at_least=0, at_most=self.n - 1) for j, node in enumerate(known)}
        if i in q or i in k or q & k:
            raise InvalidParameter("record, quilt and known must have no node in common")
        places = [node % self.n for node in (i, *q, *k)]
        if max(places) - min(places) > LONGEST_STRETCH:
            raise GuaranteeUnavailable(
                f"quilt and known must be within {LONGEST_STRETCH} records of each other; choose nearer nodes"
            )
        stretch = self._stretch(min(places), max(places))
        local = stretch.place
        try:
            return set_influence(
                stretch.factors,
                stretch.sizes,
                local[i],
                [local[node] for node in sorted(q)],
                [local[node] for node in sorted(k)],
            )
        except TooWide:
            raise GuaranteeUnavailable("quilt and known are too large for exact tables; choose fewer nodes") from None

    def _node_count(self) -> int:
        return self.n

    def best_quilt(self, record: int, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` with which the record needs the least noise.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        `epsilon` is the level of Bayesian differential privacy to reach. The quilt maximises `(epsilon - surcharge) /
        size` among those that this model considers.
        """
        epsilon = arguments.real("epsilon", epsilon, above=0)
        return self._searched(check_record(record, self.n), self._best(epsilon, surcharge))

    def cheapest_quilt(self, record: int, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of `record` that proves the lowest level of Bayesian differential privacy for it.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        The mechanism is `epsilon_dp`-differentially private, and the level is `size * epsilon_dp + surcharge`. The
        quilt is the best among those that this model considers.
        """
        epsilon_dp = arguments.real("epsilon_dp", epsilon_dp, above=0)
        return self._searched(check_record(record, self.n), self._cheapest(epsilon_dp, surcharge))

    def worst_quilt(self, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of the record that needs the most noise. It determines the noise for all records.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        `epsilon` is the level of Bayesian differential privacy to reach.

        Notes
        -----
        The middle is searched first. Its window, cut to the room that another record has, shows for nearly all
        others that they need no more; only the rest are searched.
        """
        epsilon = arguments.real("epsilon", epsilon, above=0)
        return self._worst(self._best(epsilon, surcharge))

    def dearest_quilt(self, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """Return the Markov quilt of the record about which an `epsilon_dp`-differentially private mechanism reveals
        the most.

        A Markov quilt of a record is a set of records that separates it and the records nearby from all other records.
        """
        epsilon_dp = arguments.real("epsilon_dp", epsilon_dp, above=0)
        return self._worst(self._cheapest(epsilon_dp, surcharge))

    def _best(self, epsilon: float, rule: Surcharge) -> _Goal:
        times = 4.0 if check_surcharge(rule) == "paper" else 2.0
        return _Goal(
            price=lambda quilt: quilt.score(epsilon, rule),
            least=lambda size: size / epsilon,
            limit=lambda size, price: (epsilon - size / price) / times,
        )

    def _cheapest(self, epsilon_dp: float, rule: Surcharge) -> _Goal:
        times = 4.0 if check_surcharge(rule) == "paper" else 2.0
        return _Goal(
            price=lambda quilt: quilt.epsilon_bdp(epsilon_dp, rule),
            least=lambda size: size * epsilon_dp,
            limit=lambda size, price: (price - size * epsilon_dp) / times,
        )

    def _searched(self, record: int, goal: _Goal) -> Quilt:
        best = self._quilt(record, Lags(None, None))
        lowest = goal.price(best)
        for size, lags in self._listed(record):
            if goal.least(size) >= lowest:
                break
            quilt = self._quilt(record, lags, goal.limit(size, lowest))
            if goal.price(quilt) < lowest:
                best, lowest = quilt, goal.price(quilt)
        return best

    def _worst(self, goal: _Goal) -> Quilt:
        middle = self.n // 2
        worst = self._searched(middle, goal)
        if worst.size == self.n:  # no record can do worse than its trivial quilt
            return worst
        high = goal.price(worst)
        lags = self._lags_of(worst)
        for record in self._scanned(middle, lags):
            if goal.price(self._cut_to_room(record, lags)) <= high:
                continue
            quilt = self._searched(record, goal)
            if goal.price(quilt) > high:
                worst, high = quilt, goal.price(quilt)
        return worst

    def _lags_of(self, quilt: Quilt) -> Lags:
        nearby = quilt.nearby
        assert isinstance(nearby, Between)
        left = quilt.record - nearby.start + 1 if nearby.start > 0 else None
        right = nearby.stop - quilt.record if nearby.stop < self.n else None
        return Lags(left, right)

    def _cut_to_room(self, record: int, lags: Lags) -> Quilt:
        """Another record's window, cut to the room of this one."""
        left, right = self._room(record)
        before = lags.before if lags.before is not None and lags.before <= left else None
        after = lags.after if lags.after is not None and lags.after <= right else None
        return self._quilt(record, Lags(before, after))

    def _scanned(self, middle: int, lags: Lags) -> Sequence[int]:
        """Records whose window is not a copy of the middle's: those near the ends and those before the distribution
        settles.
        """
        settled = self._settled if self._largest_exact else 0
        low, high = self._span(middle, lags)
        if lags.before is None or lags.after is None or settled is None or low < settled:
            return range(self.n)
        head, tail = settled + middle - low, high - middle
        if head + tail >= self.n:
            return range(self.n)
        return [*range(head), *range(self.n - tail, self.n)]


CELLS = 2**18
MOST_TUPLES = 1024


class OrderChain(WindowModel):
    """A homogeneous Markov chain of order `r` with `k` states: a record depends on the `r` records before it.

    The Markov quilt of a record consists of `r` consecutive records on each side. Unlike on chains of order 1, what an
    adversary knows in between can raise the influence, so the influence is maximised over all such knowledge. For
    records far apart a bound of Birkhoff is used.

    Parameters
    ----------
    kernel : array
        `kernel[x_1, ..., x_r, y]`: probability of `y` after `x_1, ..., x_r`, the latest last; `r + 1` axes of length
        `k`, sums over the last axis 1 within 1e-12. At most 1024 tuples.
    n : int
        Records, at least `r`.
    start : "stationary" or array
        Joint distribution of the first `r` records.
    cells : int
        Cap on the tables of one exact window.

    Notes
    -----
    Fewer than `r` consecutive records do not separate. Long windows use Birkhoff's bound with the kernels between
    blocks of `r` records. One-step kernels of blocks have structural zeros and bound nothing (specification 2.5,
    derived and reviewed).

    Examples
    --------
    >>> kernel = [[[0.6, 0.4], [0.45, 0.55]], [[0.55, 0.45], [0.4, 0.6]]]
    >>> series = OrderChain(kernel, n=100_000)
    >>> quilt = series.worst_quilt(1.0)
    >>> quilt.size, len(quilt.quilt), quilt.influence < 0.5
    (5, 4, True)
    >>> round(series.epsilon_dp(1.0), 6)
    0.164804
    """

    def __init__(
        self, kernel: npt.ArrayLike, n: int, start: npt.ArrayLike = "stationary", *, cells: int = CELLS
    ) -> None:
        self._kernel = _check_kernel(kernel)
        self._order, self._states = self._kernel.ndim - 1, self._kernel.shape[-1]
        tuples = self._states**self._order
        self._tuple_matrix = _tuple_matrix(self._kernel)
        count = arguments.whole("n", n, at_least=self._order, at_most=10**15)
        self._stationary = isinstance(start, str)
        if isinstance(start, str):
            arguments.choice("start", start, ("stationary",))
            law = stationary_law(self._tuple_matrix)
        else:
            law = check_law("start", np.asarray(start, dtype=float).reshape(-1), tuples)
        settled, self._laws = settled_place(law, self._tuple_matrix, count)
        super().__init__(count, settled, cells)
        block = np.linalg.matrix_power(self._tuple_matrix, self._order)
        self._diameter = projective_diameter(log_of(block))

    @property
    def order(self) -> int:
        """The order of the chain: on how many records before it a record depends."""
        return int(self._order)

    @property
    def states(self) -> int:
        """The number of states."""
        return int(self._states)

    def describe(self) -> str:
        """Return one line that describes the declared dependence."""
        start = "stationary start" if self._stationary else "given start"
        return f"chain of order {self.order} of {self.n} records, {self.states} states, {start}"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data."""
        start: Any = "stationary" if self._stationary else self._laws[0].reshape((self.states,) * self.order).tolist()
        return {"model": "order chain", "n": self.n, "kernel": self._kernel.tolist(), "start": start}

    def notes(self) -> tuple[str, ...]:
        """Return what a certificate must state: zero probabilities that make Birkhoff's bound infinite."""
        return () if math.isfinite(self._diameter) else (ZEROS,)

    def effective_n(self) -> float:
        """Return the effective number of rows: with so many independent rows one fixed mean would get the same
        interval.

        Notes
        -----
        3.9, row C, for the chain of `r`-tuples. With a given start the first `r - 1` records have no full tuple
        before them, so each lag is taken `r - 1` steps later, which only raises its coefficient.
        """
        deltas = RowChain(self._tuple_matrix).coefficients(self.n)
        if deltas is None:
            return 1.0
        late = 0 if self._stationary else self.order - 1
        return effective_n_chain(self.n, [1.0] * late + deltas)

    def _side_bound(self, record: int, lag: int, after: bool) -> float:
        # The block that starts `lag` steps away is reached through this many kernels between whole blocks; steps that
        # are left over only mix the rows of the last one. A given start may tie the first r records in any way, so the
        # first block is theirs and ends later than the record.
        if after and not self._stationary:
            lag -= max(0, self.order - 1 - record)
        return path_bound([self._diameter] * ((lag - 1) // self.order + 1)) if lag > 0 else math.inf

    def _room(self, record: int) -> tuple[int, int]:
        # Fewer than r records beyond a quilt may end the sequence: a stationary one goes on unseen on both sides, so
        # the bound for whole blocks covers what is left of them. A given start may tie the first r in any way.
        return record if self._stationary else max(0, record - self.order + 1), self.n - 1 - record

    def _nodes(self, record: int, lags: Lags) -> tuple[int, ...]:
        low, high = self._span(record, lags)
        left = range(low, record - lags.before + 1) if lags.before is not None else ()
        right = range(record + lags.after, high + 1) if lags.after is not None else ()
        return (*left, *right)

    def _span(self, record: int, lags: Lags) -> tuple[int, int]:
        r = self.order
        low = 0 if lags.before is None else max(0, record - lags.before - r + 1)
        high = self.n - 1 if lags.after is None else min(self.n - 1, record + lags.after + r - 1)
        return low, high

    def _stretch(self, low: int, high: int) -> Stretch:
        r, k = self.order, self.states
        low = min(low, self.n - r)
        high = max(high, low + r - 1)
        law = self._laws[min(low, len(self._laws) - 1)].reshape((k,) * r)
        factors = [Factor.of(range(r), law)]
        logs = log_of(self._kernel)
        factors += [Factor(tuple(range(j - r, j + 1)), logs) for j in range(r, high - low + 1)]
        return Stretch(tuple(factors), (k,) * (high - low + 1), {low + j: j for j in range(high - low + 1)})


def _check_kernel(kernel: Any) -> Array:
    try:
        numbers = np.array(kernel, dtype=float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.array(math.nan)
    if numbers.ndim < 2 or len(set(numbers.shape)) != 1 or numbers.size == 0:
        raise InvalidParameter(
            "kernel must have r + 1 axes of one length: one for each of the r earlier records and one for the next"
        )
    if numbers.size // numbers.shape[-1] > MOST_TUPLES:
        raise InvalidParameter(
            f"kernel must have at most {MOST_TUPLES} combinations of the values of the earlier records"
        )
    if not np.isfinite(numbers).all() or (numbers < 0).any():
        raise InvalidParameter("kernel must have probabilities in [0, 1]")
    sums = numbers.sum(axis=-1, keepdims=True)
    worst = float(sums.flat[int(np.argmax(np.abs(sums - 1)))])
    if abs(worst - 1) > 1e-12:
        raise InvalidParameter(f"kernel must sum to 1 within 1e-12 over its last axis, got {worst:.15g}")
    return np.asarray(numbers / sums)


def _tuple_matrix(kernel: Array) -> Array:
    """One step of the chain of r-tuples: `(x_1..x_r)` goes to `(x_2..x_r, y)`."""
    k, r = kernel.shape[-1], kernel.ndim - 1
    tuples = k**r
    matrix = np.zeros((tuples, tuples))
    rows = np.arange(tuples)
    for y in range(k):
        matrix[rows, (rows * k + y) % tuples] += kernel.reshape(tuples, k)[:, y]
    return matrix


_READINGS = 4


class HiddenChain(WindowModel):
    """A hidden Markov chain: each hidden state is read through a noisy emission, and the readings are the records.

    A Markov quilt of a record has, on each side and from some distance on, a few readings and then a hidden state,
    which separates all that follows. What an adversary may know in between are readings, and the influence is maximised
    over them. Hidden states do not count as records, because nobody knows them. The surcharge is twice the influence.

    Parameters
    ----------
    transition : matrix
        Of the hidden chain.
    emission : matrix
        Row `h` is the distribution of a reading in hidden state `h`.
    n : int
        Records.
    start : "stationary" or list of float
        Distribution of the first hidden state.
    cells : int
        Cap on the tables of one exact window.

    Notes
    -----
    Hidden states may sit anywhere: nobody knows them, they are never changed, and they do not count
    (specification 2.5). The more readings before the hidden state, the less the quilt hears of the record
    (derived: they and what follows are a noisy reading of the hidden state at their edge), so up to four are
    taken if the tables bear it.

    Hidden states have the numbers `n` to `2n - 1` in quilts.

    Examples
    --------
    >>> sensor = HiddenChain([[0.8, 0.2], [0.2, 0.8]], [[0.7, 0.3], [0.3, 0.7]], n=10_000)
    >>> quilt = sensor.worst_quilt(1.0)
    >>> quilt.size, len(quilt.quilt), round(quilt.influence, 6)
    (5, 10, 0.246352)
    >>> round(sensor.epsilon_dp(1.0), 6), round(sensor.effective_n())
    (0.101459, 2500)
    """

    def __init__(
        self,
        transition: npt.ArrayLike,
        emission: npt.ArrayLike,
        n: int,
        start: npt.ArrayLike = "stationary",
        *,
        cells: int = CELLS,
    ) -> None:
        self._transition = check_transition("transition", transition)
        self._emission = _check_emission(emission, len(self._transition))
        count = arguments.whole("n", n, at_least=1, at_most=10**15)
        self._stationary = isinstance(start, str)
        if isinstance(start, str):
            arguments.choice("start", start, ("stationary",))
            law = stationary_law(self._transition)
        else:
            law = check_law("start", start, len(self._transition))
        settled, self._laws = settled_place(law, self._transition, count)
        super().__init__(count, settled, cells)
        self._step = projective_diameter(log_of(self._transition))
        self._reading = projective_diameter(log_of(self._emission))

    def describe(self) -> str:
        """Return one line that describes the declared dependence."""
        hidden, seen = self._emission.shape
        start = "stationary start" if self._stationary else "given start"
        return f"hidden chain of {self.n} records, {hidden} hidden states, {seen} readings, {start}"

    def __repr__(self) -> str:
        return f"<{self.describe()}>"

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data."""
        return {
            "model": "hidden chain",
            "n": self.n,
            "transition": self._transition.tolist(),
            "emission": self._emission.tolist(),
            "start": "stationary" if self._stationary else self._laws[0].tolist(),
        }

    def notes(self) -> tuple[str, ...]:
        """Return what a certificate must state: zero probabilities that make Birkhoff's bound infinite."""
        return () if math.isfinite(self._step) and math.isfinite(self._reading) else (ZEROS,)

    def effective_n(self) -> float:
        """Return the effective number of rows: with so many independent rows one fixed mean would get the same
        interval.

        It is that of the hidden chain.

        Notes
        -----
        State and reading together form a chain whose coefficients and operator norm are at most the hidden
        chain's (specification 3.9).
        """
        start: Any = "stationary" if self._stationary else self._laws[0]
        return MarkovChain(self._transition, self.n, start).effective_n()

    def _side_bound(self, record: int, lag: int, after: bool) -> float:
        # Of the hidden state at this lag; readings and states beyond it say less.
        return path_bound([self._reading] + [self._step] * lag)

    def _room(self, record: int) -> tuple[int, int]:
        return record, self.n - 1 - record

    def _margin(self, record: int, lags: Lags) -> int:
        """How many readings on each side come before the hidden state: what the tables bear, at most 4."""
        hidden, seen = self._emission.shape
        used = math.log(hidden * hidden * seen) + (self._size(record, lags) - 1) * math.log1p(seen)
        left = math.log(self._cells) - used
        return min(_READINGS, int(left / (2 * math.log(seen)))) if seen > 1 and left > 0 else 0

    def _side(self, edge: int, far: int) -> tuple[int, ...]:
        """Readings from `edge` outwards and the hidden state at `far`; at an end of the sequence just the readings."""
        step = 1 if far >= edge else -1
        readings = tuple(j for j in range(edge, far, step) if 0 <= j < self.n)
        return (*readings, self.n + far) if 0 <= far < self.n else readings

    def _nodes(self, record: int, lags: Lags) -> tuple[int, ...]:
        margin = self._margin(record, lags)
        left = () if lags.before is None else self._side(record - lags.before, record - lags.before - margin)
        right = () if lags.after is None else self._side(record + lags.after, record + lags.after + margin)
        return tuple(sorted(left + right))

    def _span(self, record: int, lags: Lags) -> tuple[int, int]:
        margin = self._margin(record, lags)
        low = 0 if lags.before is None else max(0, record - lags.before - margin)
        high = self.n - 1 if lags.after is None else min(self.n - 1, record + lags.after + margin)
        return low, high

    def _stretch(self, low: int, high: int) -> Stretch:
        hidden, seen = self._emission.shape
        count = high - low + 1
        step, reading = log_of(self._transition), log_of(self._emission)
        factors = [Factor.of((0,), self._laws[min(low, len(self._laws) - 1)])]
        factors += [Factor((j, j + 1), step) for j in range(count - 1)]
        factors += [Factor((j, count + j), reading) for j in range(count)]
        place = {self.n + low + j: j for j in range(count)} | {low + j: count + j for j in range(count)}
        return Stretch(tuple(factors), (hidden,) * count + (seen,) * count, place)

    def _node_count(self) -> int:
        return 2 * self.n


def _check_emission(emission: Any, states: int) -> Array:
    try:
        numbers = np.array(emission, dtype=float)
    except (TypeError, ValueError, OverflowError):
        numbers = np.array(math.nan)
    if numbers.ndim != 2 or numbers.shape[0] != states or numbers.shape[1] == 0:
        raise InvalidParameter(f"emission must be a matrix with one row for each of the {states} hidden states")
    if not np.isfinite(numbers).all() or (numbers < 0).any():
        raise InvalidParameter("emission must have probabilities in [0, 1]")
    sums = numbers.sum(axis=1, keepdims=True)
    worst = float(sums.flat[int(np.argmax(np.abs(sums - 1)))])
    if abs(worst - 1) > SUM_TOLERANCE:
        raise InvalidParameter(f"emission must have rows that sum to 1 within {SUM_TOLERANCE:g}, got {worst:.15g}")
    return np.asarray(numbers / sums)
