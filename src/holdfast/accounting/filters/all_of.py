"""Several filters joined by AND: a cost is admitted while all of them admit it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from holdfast.accounting.account import State
from holdfast.accounting.costs import Cost
from holdfast.accounting.filters.base import Filter, Promise
from holdfast.accounting.filters.children import named, read_children
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import InvalidParameter


class AllOf(Filter):
    """Admit a cost while every one of `filters` admits it.

    Always sound: the interaction stops no later than each filter would stop it, so every guarantee holds, none of them
    weakened. Every cost must be of a kind that all of them account for.

    Parameters
    ----------
    filters : sequence of Filter
        At least two. What they have spent is taken over; the given filters themselves are left alone.

    Examples
    --------
    >>> from holdfast.accounting import AllOf, BasicFilter, PureDP, ZCDPFilter
    >>> both = AllOf([BasicFilter(2.0), ZCDPFilter(0.1)])
    >>> both.admits(PureDP(0.4)), both.admits(PureDP(0.5))
    (True, False)
    """

    name = "all-of"

    def __init__(self, filters: Sequence[Filter]) -> None:
        super().__init__()
        self._filters = read_children(filters)
        first, *others = self._filters
        self.accepts = tuple(kind for kind in first.accepts if all(kind in child.accepts for child in others))
        if not self.accepts:
            raise InvalidParameter("filters must have a kind of cost that all of them accept")
        self._state = tuple(child._state for child in self._filters)

    def parameters(self) -> dict[str, Any]:
        """The filters, as made."""
        return {"filters": [{child.role: child.name} | child.parameters() for child in self._filters]}

    def guarantee(self) -> Guarantee:
        """Every guarantee of every filter; epsilon and delta are those of the one with the smallest delta."""
        promise = self._promise()
        stated: dict[str, Any] = {} if promise is None else {"epsilon": promise.epsilon, "delta": promise.delta}
        stated["filters"] = [dict(child.guarantee().parameters) for child in self._filters]
        return self._stated(stated)

    def _promise(self) -> Promise | None:
        promises = [p for p in (child._promise() for child in self._filters) if p is not None]
        return min(promises, key=lambda p: (p.delta, p.epsilon), default=None)

    def _after(self, state: State, cost: Cost) -> State:
        if not isinstance(cost, self.accepts):
            raise self._unaccepted(cost)
        return tuple(child._after(held, cost) for child, held in zip(self._filters, state, strict=True))

    def _fits(self, state: State) -> bool:
        return all(child._fits(held) for child, held in zip(self._filters, state, strict=True))

    def _spent(self, state: State) -> dict[str, Any]:
        return named([(child.name, child._spent(held)) for child, held in zip(self._filters, state, strict=True)])

    def _left(self, state: State) -> dict[str, Any]:
        return named([(child.name, child._left(held)) for child, held in zip(self._filters, state, strict=True)])

    def _plain(self, state: State) -> dict[str, Any]:
        children = [child._plain(held) for child, held in zip(self._filters, state, strict=True)]
        return {self.role: self.name, "filters": children}

    @classmethod
    def _restored(cls, plain: dict[str, Any]) -> Self:
        children = plain.pop("filters", None)
        if plain or not isinstance(children, list):
            raise InvalidParameter("a stored all-of filter must have filters and nothing else")
        return cls([Filter.from_dict(child) for child in children])

    def __repr__(self) -> str:
        return f"AllOf({list(self._filters)!r})"


__all__ = ["AllOf"]
