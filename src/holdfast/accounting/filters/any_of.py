"""Several filters joined by OR: a cost is admitted while any of them admits everything so far."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Self

from holdfast.accounting.account import State
from holdfast.accounting.costs import Cost
from holdfast.accounting.filters.base import Filter, Promise
from holdfast.accounting.joint import Joint, named
from holdfast.accounting.totals import plus
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import InvalidParameter


class AnyOf(Joint[Filter], Filter):
    """Admit a cost while at least one of `filters` admits it together with all that was spent before.

    The price is the **sum** of the deltas. The combination stops at the latest of the individual stops, and there the
    hockey-stick integrand is at most the sum of the individual ones. Nothing smaller holds in general: two valid Renyi
    filters joined at a single delta reach 1.8 times that delta (`tests/accounting/test_unsound_or.py`).

    What is free. Write each filter's delta as a slack (its concentration argument) and a room for the costs' own
    deltas. Then the total is the sum of the slacks plus the largest room: the costs' deltas are paid once, because off
    the event that some mechanism reveals itself, of probability at most the largest room, no cost has a delta. Basic
    composition has no slack, so "basic OR one other filter" costs nothing.

    Provenance: the sum is reviewed; the split into slacks and one room is derived here and contains the reviewed
    special case "basic and one other with the same room". Proof: replace each mechanism by randomized response with
    its epsilon and delta, of which it is a post-processing; zCDP, GDP and Renyi costs have no delta and stay as they
    are. A response reveals its input with probability delta; the executed deltas sum to at most the largest room. Where
    nothing is revealed no cost has a delta, and there the latest stop gains at most the sum of what each stop gains,
    the slacks.

    Interleaving several interactive mechanisms at once is not covered by a published statement; ask one question at a
    time.

    A filter that cannot account for a cost, or does not admit it, is closed once that cost is spent on the strength of
    another. A cost of zero closes nothing.

    Parameters
    ----------
    filters : sequence of Filter
        At least two, each with an (epsilon, delta) promise: build zCDP and GDP filters with `from_dp`. They must be
        fresh: a filter that has not seen what another has admitted would admit it again. The given filters themselves
        are left alone.

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
    kind = Filter
    parts_name = "filters"

    def __init__(self, filters: Sequence[Filter]) -> None:
        super().__init__(filters)
        self._require_fresh()
        promises = [_promised(part) for part in self._parts]
        self._whole = Promise(
            max(p.epsilon for p in promises), reduce(plus, (p.slack for p in promises)), max(p.room for p in promises)
        )
        if not self._whole.delta < 1:
            raise InvalidParameter(f"filters must have deltas that join to below 1, got {self._whole.delta}")
        self.accepts = tuple(dict.fromkeys(kind for part in self._parts for kind in part.accepts))

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP: the largest epsilon; the sum of the slacks and the largest room for the costs."""
        parts = [dict(part.guarantee().parameters) for part in self._parts]
        return self._stated({"epsilon": self._whole.epsilon, "delta": self._whole.delta, "filters": parts})

    def _promise(self) -> Promise:
        return self._whole

    def _next(self, state: State, cost: Cost) -> State:
        return tuple(
            None if held is None else _part_after(part, held, cost)
            for part, held in zip(self._parts, state, strict=True)
        )

    def _fits(self, state: State) -> bool:
        return any(held is not None for held in state)

    def _open(self, state: State) -> list[tuple[Filter, State]]:
        return [(part, held) for part, held in zip(self._parts, state, strict=True) if held is not None]

    def _spent(self, state: State) -> dict[str, Any]:
        return named([(part.name, part._spent(held)) for part, held in self._open(state)])

    def _left(self, state: State) -> dict[str, Any]:
        return named([(part.name, part._left(held)) for part, held in self._open(state)])

    def _hint(self, state: State, cost: Cost) -> str:
        if any(isinstance(cost, part.accepts) for part, _ in self._open(state)):
            return ""
        shut = [part.name for part, held in zip(self._parts, state, strict=True) if held is None]
        still = [part.name for part, _ in self._open(state)]
        kind = type(cost).__name__
        return f"; {', '.join(shut)} was closed by an earlier cost, and {', '.join(still)} cannot account for {kind}"

    def _plain(self, state: State) -> dict[str, Any]:
        written = tuple(blank if held is None else held for blank, held in zip(self._blank(), state, strict=True))
        return super()._plain(written) | {"closed": [held is None for held in state]}

    @classmethod
    def _restored(cls, plain: dict[str, Any]) -> Self:
        closed = plain.pop("closed", None)
        if not isinstance(closed, list) or not all(isinstance(shut, bool) for shut in closed):
            raise InvalidParameter("a stored any-of filter must have filters and, for each, whether it is closed")
        account = super()._restored(plain)
        if len(closed) != len(account._parts):
            raise InvalidParameter("a stored any-of filter must say of each filter whether it is closed")
        account._take(tuple(None if shut else held for shut, held in zip(closed, account._state, strict=True)))
        return account


def _promised(part: Filter) -> Promise:
    promise = part._promise()
    if promise is None:
        raise InvalidParameter(
            f"filters must promise an (epsilon, delta) to be joined by OR; the {part.name} filter does not"
            " (build it with from_dp where it has one)"
        )
    return promise


def _part_after(part: Filter, held: State, cost: Cost) -> State | None:
    if not isinstance(cost, part.accepts):
        return held if cost.is_zero else None
    after = part._after(held, cost)
    return after if part._fits(after) else None


__all__ = ["AnyOf"]
