"""The smallest of several readings, with delta split between them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, Self

from holdfast.accounting.account import State
from holdfast.accounting.costs import Cost
from holdfast.accounting.odometers.base import Odometer
from holdfast.accounting.totals import plus
from holdfast.errors import InvalidParameter


class MinimumOdometer(Odometer):
    """Read the smallest of several odometers; the chances that any of them ever reads too little add up.

    A union bound over the slacks, and the largest room for the costs' own deltas once: off the event that some cost's
    loss leaves its point-wise bound, of probability at most that room, only the slacks are left to fail. The basic
    odometer has no slack, so it joins for nothing. Two-sided if all are.

    Parameters
    ----------
    odometers : sequence of Odometer
        At least two. What they have recorded is taken over; the given odometers themselves are left alone.

    Examples
    --------
    >>> from holdfast.accounting import BasicOdometer, MinimumOdometer, MixtureOdometer, PureDP
    >>> odometer = MinimumOdometer([BasicOdometer(), MixtureOdometer(1e-6)])
    >>> odometer.record(PureDP(0.1))
    >>> odometer.reading(), odometer.delta
    (0.1, 1e-06)
    """

    name = "minimum"

    def __init__(self, odometers: Sequence[Odometer]) -> None:
        super().__init__()
        if not isinstance(odometers, (list, tuple)) or not all(isinstance(child, Odometer) for child in odometers):
            raise InvalidParameter("odometers must be a list of odometers")
        if len(odometers) < 2:
            raise InvalidParameter(f"odometers must be a list of at least two odometers, got {len(odometers)}")
        self._odometers: tuple[Odometer, ...] = tuple(odometers)
        first, *others = self._odometers
        self.accepts = tuple(kind for kind in first.accepts if all(kind in child.accepts for child in others))
        self.two_sided = all(child.two_sided for child in self._odometers)
        self._slack = reduce(plus, (child._slack for child in self._odometers))
        self._room = max(child._room for child in self._odometers)
        self._state = tuple(child._state for child in self._odometers)

    def parameters(self) -> dict[str, Any]:
        """The odometers, as made."""
        return {"odometers": [{child.role: child.name} | child.parameters() for child in self._odometers]}

    def _after(self, state: State, cost: Cost) -> State:
        if not isinstance(cost, self.accepts):
            raise self._unaccepted(cost)
        return tuple(child._after(held, cost) for child, held in zip(self._odometers, state, strict=True))

    def _read(self, state: State) -> float:
        return min(child._read(held) for child, held in zip(self._odometers, state, strict=True))

    def _plain(self, state: State) -> dict[str, Any]:
        children = [child._plain(held) for child, held in zip(self._odometers, state, strict=True)]
        return {self.role: self.name, "odometers": children}

    @classmethod
    def _restored(cls, plain: dict[str, Any]) -> Self:
        children = plain.pop("odometers", None)
        if plain or not isinstance(children, list):
            raise InvalidParameter("a stored minimum odometer must have odometers and nothing else")
        return cls([Odometer.from_dict(child) for child in children])

    def __repr__(self) -> str:
        return f"MinimumOdometer({list(self._odometers)!r})"


__all__ = ["MinimumOdometer"]
