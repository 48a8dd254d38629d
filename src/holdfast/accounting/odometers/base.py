"""An odometer says, at any time, what has been spent."""

from __future__ import annotations

from abc import abstractmethod
from decimal import Decimal
from typing import Any, ClassVar

from holdfast.accounting.account import Account, State
from holdfast.accounting.costs import Cost
from holdfast.accounting.totals import plus, read_up
from holdfast.bounds.guarantee import Guarantee


class Odometer(Account):
    """Base of all odometers.

    With probability at least `1 - delta` over the answers, the privacy loss of everything recorded so far is at most
    `reading()`, **at every moment at once**: one may look after each answer, stop because of what one sees, and quote
    the reading. That is more than a filter or a composition theorem promises, and costs more. Composition theorems for
    fixed parameters are not odometers: read along the way, the advanced one fails about four times too often.

    The bound is on the loss itself, so a cost with a delta must bound the loss too: `PointwiseDP`, not `ApproxDP`. An
    (epsilon, delta)-DP mechanism may lose more than epsilon with a probability far above delta.

    `two_sided` says whether the reading bounds the loss in both directions or only from above. The upper tail is what a
    privacy promise needs, once for each order of the two neighbours.

    Examples
    --------
    >>> from holdfast.accounting import BasicOdometer, PureDP
    >>> odometer = BasicOdometer()
    >>> odometer.record(PureDP(0.25))
    >>> odometer.reading()
    0.25
    """

    role: ClassVar[str] = "odometer"
    two_sided: bool = True
    _slack: Decimal
    _room: Decimal

    @property
    def delta(self) -> float:
        """The probability with which a reading may ever be too small: of the bound, and of the costs' own deltas."""
        return read_up(plus(self._slack, self._room))

    @property
    def delta_sum(self) -> float:
        """The room for the costs' own deltas, a part of `delta`; beyond it the reading is infinite."""
        return read_up(self._room)

    @abstractmethod
    def _read(self, state: State) -> float:
        """The reading in `state`, rounded up."""

    def record(self, cost: Cost) -> None:
        """Add `cost`. Never refuses for its size; a cost of a wrong kind raises `InvalidParameter`."""
        with self._lock:
            self._state = self._after(self._state, cost)

    def reading(self) -> float:
        """The bound on the privacy loss so far, rounded up; infinite where there is none."""
        return self._read(self._state)

    def reading_after(self, cost: Cost) -> float:
        """What `reading()` would be after `cost`; records nothing."""
        return self._read(self._after(self._state, cost))

    def guarantee(self) -> Guarantee:
        """What the reading means."""
        stated: dict[str, Any] = (
            {"name": self.name} | self.parameters() | {"delta": self.delta, "two_sided": self.two_sided}
        )
        return Guarantee(
            "odometer.reading",
            stated,
            "neighbours replace one of n rows, n public; costs and the moment of reading may be chosen adaptively",
        )


__all__ = ["Odometer"]
