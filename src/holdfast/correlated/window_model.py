"""Sequences whose quilts are windows: the shared search of higher-order and hidden chains.

A quilt lies `a` steps before the record and `b` steps after it (a side may be missing at an end of the sequence), and
the records strictly between are nearby. Its influence is the smaller of two valid numbers: the exact maximum over
everything that may be known nearby, from the law of the window alone, where its tables fit; and Birkhoff's bound, which
holds whatever is known and needs no tables.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from holdfast import check
from holdfast.bounds.correlated.quilt_terms import QuiltTerms
from holdfast.correlated.elimination import TooWide
from holdfast.correlated.listed_model import ListedModel
from holdfast.correlated.model import check_record
from holdfast.correlated.network_factors import Factor
from holdfast.correlated.network_influence import largest_influence, set_influence
from holdfast.correlated.quilt import Between, Quilt, Surcharge, check_surcharge
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

LONGEST_STRETCH = 2000
LARGEST_WINDOW = 4096
"""Sizes that the search lists; a sequence that has not forgotten by then gets its trivial quilt."""
_POSITIONS = 64


@dataclass(frozen=True)
class Stretch:
    """The law of consecutive nodes: factors over local variables, and the local number of each node."""

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
        From this place on the law of a window no longer changes to working precision. None if that is not known: then
        only Birkhoff's bound is used for sequences of more than 64 records, since it does not depend on the place.
    cells : int
        Cap on the tables of one window.
    """

    def __init__(self, n: int, settled: int | None, cells: int) -> None:
        self._n = n
        self._settled = settled
        self._cells = check.whole("cells", cells, at_least=4)
        self._exact: dict[tuple[int | None, ...], tuple[float, bool]] = {}
        self._largest_exact = int(math.log2(self._cells)) if settled is not None or n <= _POSITIONS else 0

    @property
    def n(self) -> int:
        """How many records."""
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
        """The law of the places `low` to `high`."""

    def quilt(self, record: int, before: int | None = None, after: int | None = None) -> Quilt:
        """The quilt that lies `before` steps before the record and `after` steps after it; None leaves a side out."""
        i = check_record(record, self.n)
        room = self._room(i)
        for name, lag, most in (("before", before, room[0]), ("after", after, room[1])):
            if lag is not None:
                check.whole(name, lag, at_least=1, at_most=most)
        return self._quilt(i, Lags(before, after))

    def terms(self, left: int, right: int) -> QuiltTerms:
        """One pair of lags for every record, cut to its room: the numbers that Theorems 1 and 2 need.

        Birkhoff's bounds of the two sides, which hold for every record and whatever is known. Records whose places
        differ by the larger lag are in each other's quilt or beyond it. Where the first few records may be tied in any
        way a cut window reaches that many farther, so as many are added to its size and to the number of colours.
        """
        left, right = (
            check.whole(name, lag, at_least=1, at_most=self.n) for name, lag in (("left", left), ("right", right))
        )
        tied = self.n - 1 - self._room(self.n - 1)[0]
        ahead = max(self._side_bound(record, right, True) for record in (0, self.n // 2))
        influence = self._side_bound(self.n // 2, left, False) + ahead
        size, colours = left + right - 1 + tied, max(left, right) + tied
        return QuiltTerms(min(size, self.n), influence, None, min(colours, self.n))

    def quilts(self, record: int) -> Iterator[Quilt]:
        """Quilts by increasing size, the trivial one last; each with its exact influence or a bound."""
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
            found = largest_influence(
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
        return (limit, False) if found is None else (found, True)

    def influence(self, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
        """`I(X_quilt <- X_record | X_known)` in nats, exactly, by elimination over the stretch between them.

        Hidden nodes count from `n` on; they may be in the quilt and not among the known.
        """
        i = check_record(record, self.n)
        top = self._node_count()
        q = {check.whole(f"quilt[{j}]", node, at_least=0, at_most=top - 1) for j, node in enumerate(quilt)}
        k = {check.whole(f"known[{j}]", node, at_least=0, at_most=self.n - 1) for j, node in enumerate(known)}
        if i in q or i in k or q & k:
            raise InvalidParameter("record, quilt and known must have no node in common")
        places = [node % self.n for node in (i, *q, *k)]
        if max(places) - min(places) > LONGEST_STRETCH:
            raise GuaranteeUnavailable(f"quilt and known must lie within {LONGEST_STRETCH} records of each other here")
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
        """The quilt of `record` that maximises `(epsilon - surcharge) / size` among the windows."""
        epsilon = check.real("epsilon", epsilon, above=0)
        return self._searched(check_record(record, self.n), self._best(epsilon, surcharge))

    def cheapest_quilt(self, record: int, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The quilt of `record` that minimises `size * epsilon_dp + surcharge` among the windows."""
        epsilon_dp = check.real("epsilon_dp", epsilon_dp, above=0)
        return self._searched(check_record(record, self.n), self._cheapest(epsilon_dp, surcharge))

    def worst_quilt(self, epsilon: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The best quilt of the record that needs most noise.

        The middle is searched first. Its window, cut to the room that another record has, shows for nearly all others
        that they need no more; only the rest are searched.
        """
        epsilon = check.real("epsilon", epsilon, above=0)
        return self._worst(self._best(epsilon, surcharge))

    def dearest_quilt(self, epsilon_dp: float, surcharge: Surcharge = "sharp") -> Quilt:
        """The cheapest quilt of the record that leaks most at `epsilon_dp`."""
        epsilon_dp = check.real("epsilon_dp", epsilon_dp, above=0)
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
            found = self._searched(record, goal)
            if goal.price(found) > high:
                worst, high = found, goal.price(found)
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
        """Records whose window is not a copy of the middle's: those near the ends and those before the law settles."""
        settled = self._settled if self._largest_exact else 0
        low, high = self._span(middle, lags)
        if lags.before is None or lags.after is None or settled is None or low < settled:
            return range(self.n)
        head, tail = settled + middle - low, high - middle
        if head + tail >= self.n:
            return range(self.n)
        return [*range(head), *range(self.n - tail, self.n)]


__all__ = ["Lags", "Stretch", "WindowModel"]
