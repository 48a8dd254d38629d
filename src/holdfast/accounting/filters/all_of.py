"""Several filters joined by AND: a cost is admitted while all of them admit it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.accounting.account import State
from holdfast.accounting.filters.base import Filter, Promise
from holdfast.accounting.joint import Joint, named
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import InvalidParameter


class AllOf(Joint[Filter], Filter):
    """Admit a cost while every one of `filters` admits it.

    Always sound: the interaction stops no later than each filter would stop it, so every guarantee holds, none of them
    weakened. Every cost must be of a kind that all of them account for.

    Parameters
    ----------
    filters : sequence of Filter
        At least two. What they have spent is taken over; the given filters themselves are left alone. A promise is
        then about the history of the filter that makes it: its own costs before, and the common ones since.

    Examples
    --------
    >>> from holdfast.accounting import AllOf, BasicFilter, PureDP, ZCDPFilter
    >>> both = AllOf([BasicFilter(2.0), ZCDPFilter(0.1)])
    >>> both.admits(PureDP(0.4)), both.admits(PureDP(0.5))
    (True, False)
    """

    name = "all-of"
    kind = Filter
    parts_name = "filters"

    def __init__(self, filters: Sequence[Filter]) -> None:
        super().__init__(filters)
        self.accepts = self._shared_kinds()
        if not self.accepts:
            raise InvalidParameter("filters must have a kind of cost that all of them accept")
        self._take(tuple(part._state for part in self._parts))

    def guarantee(self) -> Guarantee:
        """Every guarantee of every filter; epsilon and delta are those of the one with the smallest delta."""
        promise = self._promise()
        stated: dict[str, Any] = {} if promise is None else {"epsilon": promise.epsilon, "delta": promise.delta}
        stated["filters"] = [dict(part.guarantee().parameters) for part in self._parts]
        return self._stated(stated)

    def _promise(self) -> Promise | None:
        promises = [p for p in (part._promise() for part in self._parts) if p is not None]
        return min(promises, key=lambda p: (p.delta, p.epsilon), default=None)

    def _fits(self, state: State) -> bool:
        return all(part._fits(held) for part, held in zip(self._parts, state, strict=True))

    def _spent(self, state: State) -> dict[str, Any]:
        return named([(part.name, part._spent(held)) for part, held in zip(self._parts, state, strict=True)])

    def _left(self, state: State) -> dict[str, Any]:
        return named([(part.name, part._left(held)) for part, held in zip(self._parts, state, strict=True)])


__all__ = ["AllOf"]
