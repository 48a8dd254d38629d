"""Several filters joined by OR: a cost is admitted while any of them admits everything so far."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Self

from holdfast.accounting.account import State
from holdfast.accounting.costs import Cost
from holdfast.accounting.filters.base import Filter, Promise
from holdfast.accounting.filters.children import named, read_children
from holdfast.accounting.totals import plus
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import InvalidParameter


class AnyOf(Filter):
    """Admit a cost while at least one of `filters` admits it together with all that was spent before.

    The price is the **sum** of the deltas. The combination stops at the latest of the individual stops, and there the
    hockey-stick integrand is at most the sum of the individual ones. Nothing smaller holds in general: two valid Renyi
    filters joined at a single delta reach 1.8 times that delta (`tests/accounting/test_unsound_or.py`).

    What is free. Write each filter's delta as a slack (its concentration argument) and a room for the costs' own
    deltas. Then the total is the sum of the slacks plus the largest room: the costs' deltas are paid once, because off
    the event that some mechanism reveals itself, of probability at most the largest room, all costs are pure. Basic
    composition has no slack, so "basic OR one other filter" costs nothing.

    Provenance: the sum is reviewed; the split into slacks and one room is derived here and contains the reviewed
    special case "basic and one other with the same room". Proof: replace each mechanism by randomized response with
    its epsilon and delta, of which it is a post-processing. A response reveals its input with probability delta; the
    executed deltas sum to at most the largest room. Where nothing is revealed the costs are pure, and there the
    latest stop gains at most the sum of what each stop gains, the slacks.

    A filter that cannot account for a cost, or does not admit it, is closed once that cost is spent on the strength of
    another. A cost of zero closes nothing.

    Parameters
    ----------
    filters : sequence of Filter
        At least two, each with an (epsilon, delta) promise: build zCDP and GDP filters with `from_dp`. What they have
        spent is taken over; the given filters themselves are left alone.

    Examples
    --------
    >>> from holdfast.accounting import AnyOf, BasicFilter, PureDP, ZCDPFilter
    >>> both = AnyOf([BasicFilter(1.0), ZCDPFilter.from_dp(1.0, 1e-6)])
    >>> both.admits(PureDP(1.0)), ZCDPFilter.from_dp(1.0, 1e-6).admits(PureDP(1.0))
    (True, False)
    >>> both.guarantee().parameters["delta"]
    1e-06
    """

    name = "any-of"

    def __init__(self, filters: Sequence[Filter]) -> None:
        super().__init__()
        self._filters = read_children(filters)
        self._promises = [_promised(child) for child in self._filters]
        self.accepts = tuple(dict.fromkeys(kind for child in self._filters for kind in child.accepts))
        self._state = tuple(child._state for child in self._filters)

    def parameters(self) -> dict[str, Any]:
        """The filters, as made."""
        return {"filters": [{child.role: child.name} | child.parameters() for child in self._filters]}

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP: the largest epsilon; the sum of the slacks and the largest room for the costs."""
        promise = self._promise()
        parts = [dict(child.guarantee().parameters) for child in self._filters]
        stated = {"epsilon": promise.epsilon, "delta": promise.delta, "filters": parts}
        return self._stated(stated)

    def _promise(self) -> Promise:
        return Promise(
            max(p.epsilon for p in self._promises),
            reduce(plus, (p.slack for p in self._promises)),
            max(p.sum for p in self._promises),
        )

    def _after(self, state: State, cost: Cost) -> State:
        if not isinstance(cost, self.accepts):
            raise self._unaccepted(cost)
        return tuple(
            None if held is None else _child_after(child, held, cost)
            for child, held in zip(self._filters, state, strict=True)
        )

    def _fits(self, state: State) -> bool:
        return any(held is not None for held in state)

    def _spent(self, state: State) -> dict[str, Any]:
        open_ones = [(c, h) for c, h in zip(self._filters, state, strict=True) if h is not None]
        return named([(child.name, child._spent(held)) for child, held in open_ones])

    def _left(self, state: State) -> dict[str, Any]:
        open_ones = [(c, h) for c, h in zip(self._filters, state, strict=True) if h is not None]
        return named([(child.name, child._left(held)) for child, held in open_ones])

    def _plain(self, state: State) -> dict[str, Any]:
        closed = [held is None for held in state]
        held = [child._state if shut else held for child, shut, held in zip(self._filters, closed, state, strict=True)]
        children = [child._plain(its) for child, its in zip(self._filters, held, strict=True)]
        return {self.role: self.name, "filters": children, "closed": closed}

    @classmethod
    def _restored(cls, plain: dict[str, Any]) -> Self:
        closed = plain.pop("closed", None)
        children = plain.pop("filters", None)
        listed = isinstance(children, list) and isinstance(closed, list) and len(closed) == len(children)
        if plain or not listed or not all(isinstance(shut, bool) for shut in closed):
            raise InvalidParameter("a stored any-of filter must have filters and, for each, whether it is closed")
        account = cls([Filter.from_dict(child) for child in children])
        account._state = tuple(None if shut else held for shut, held in zip(closed, account._state, strict=True))
        return account

    def __repr__(self) -> str:
        return f"AnyOf({list(self._filters)!r})"


def _promised(child: Filter) -> Promise:
    promise = child._promise()
    if promise is None:
        raise InvalidParameter(
            f"filters must promise an (epsilon, delta) to be joined by OR; the {child.name} filter does not"
            " (build it with from_dp where it has one)"
        )
    return promise


def _child_after(child: Filter, held: State, cost: Cost) -> State | None:
    if not isinstance(cost, child.accepts):
        return held if cost.is_zero else None
    after = child._after(held, cost)
    return after if child._fits(after) else None


__all__ = ["AnyOf"]
