"""The smallest of several readings, with delta split between them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from holdfast.accounting.account import State
from holdfast.accounting.joint import Joint
from holdfast.accounting.odometers.base import Odometer
from holdfast.accounting.totals import plus
from holdfast.errors import InvalidParameter


class MinimumOdometer(Joint[Odometer], Odometer):
    """Read the smallest of several odometers; the chances that any of them ever reads too little add up.

    A union bound over the slacks, and the largest room for the costs' own deltas once: off the event that some cost's
    loss leaves its point-wise bound, of probability at most that room, only the slacks are left to fail. The basic
    odometer has no slack, so it joins for nothing. Two-sided if all are.

    Parameters
    ----------
    odometers : sequence of Odometer
        At least two, and fresh: an odometer that has not seen a cost reads too little. The given odometers themselves
        are left alone.

    Examples
    --------
    >>> from holdfast.accounting import BasicOdometer, MinimumOdometer, MixtureOdometer, PureDP
    >>> odometer = MinimumOdometer([BasicOdometer(), MixtureOdometer(1e-6)])
    >>> odometer.record(PureDP(0.1))
    >>> odometer.reading(), odometer.delta
    (0.1, 1e-06)
    """

    name = "minimum"
    kind = Odometer
    parts_name = "odometers"

    def __init__(self, odometers: Sequence[Odometer]) -> None:
        super().__init__(odometers)
        self._require_fresh()
        self.accepts = self._shared_kinds()
        self.two_sided = all(part.two_sided for part in self._parts)
        self._slack = reduce(plus, (part._slack for part in self._parts))
        self._room = max(part._room for part in self._parts)
        if not self.delta < 1:
            raise InvalidParameter(f"odometers must have deltas that join to below 1, got {self.delta}")

    def _read(self, state: State) -> float:
        return min(part._read(held) for part, held in zip(self._parts, state, strict=True))


__all__ = ["MinimumOdometer"]
