"""A filter says, before an answer is released, whether its cost may still be spent."""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from decimal import Decimal
from typing import Any, ClassVar, NamedTuple

from holdfast.accounting.account import Account, State, amounts, shown
from holdfast.accounting.costs import Cost, PureDP
from holdfast.accounting.totals import plus, read_up
from holdfast.bounds.guarantee import Guarantee
from holdfast.bounds.search import first_at_least
from holdfast.errors import BudgetExhausted, InvalidParameter

REPLACE_ONE = "neighbours replace one of n rows, n public; costs may be chosen adaptively"

REREAD = 64
"""Units in the last place by which a stored promise may differ from its budget: another machine's `exp` may."""

_SMALLEST = math.ulp(0.0)
_LARGEST = sys.float_info.max / 2
"""Beyond, the search for what is left would leave the floating range; a cost of that size is nobody's question."""


class Promise(NamedTuple):
    """What a filter promises about the whole interaction as `(epsilon, delta)`, with the two parts of delta apart.

    `slack` is the chance that the concentration argument fails, `room` is kept for the costs' own deltas. They are
    kept apart because a combination pays every slack but the deltas of the costs only once.
    """

    epsilon: float
    slack: Decimal
    room: Decimal

    @property
    def delta(self) -> float:
        """The delta of the promise."""
        return read_up(plus(self.slack, self.room))


class Filter(Account):
    """Base of all filters.

    The rule of use: ask `spend(cost)` *before* the mechanism runs, and run it only if `spend` returns. Then the whole
    interaction has the property that `guarantee()` states, however the costs were chosen. A mechanism that fails after
    its cost was spent stays charged.

    A refused cost changes nothing, and smaller costs may still be asked for: a refused question is a round of cost 0.
    Every call takes constant time and the filter constant memory, however many costs were spent. A spend takes
    microseconds; a refusal may take a millisecond, because what is left may have to be searched for.

    Examples
    --------
    >>> from holdfast.accounting import BasicFilter, PureDP
    >>> budget = BasicFilter(1.0)
    >>> budget.spend(PureDP(0.75))
    >>> budget.admits(PureDP(0.5)), budget.admits(PureDP(0.25))
    (False, True)
    """

    role: ClassVar[str] = "filter"

    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What holds for the whole interaction, whoever chose the costs and whenever it stops."""

    @abstractmethod
    def _fits(self, state: State) -> bool:
        """Whether `state` is inside the budget."""

    @abstractmethod
    def _spent(self, state: State) -> dict[str, Any]:
        """What `state` has spent, in the names of the accepted costs."""

    @abstractmethod
    def _left(self, state: State) -> dict[str, Any]:
        """The largest amounts that `state` still admits."""

    def _take(self, state: State) -> None:
        if not self._fits(state):
            spent = amounts(self._spent(state)) or "all of it"
            raise InvalidParameter(f"the {self.name} filter cannot begin beyond its budget; spent {spent}")
        super()._take(state)

    def _stated(self, parameters: dict[str, Any]) -> Guarantee:
        """A guarantee under the catalogue's entry for filters, with this filter's name."""
        return Guarantee("filter.rounds", {"name": self.name} | parameters, REPLACE_ONE)

    def _promise(self) -> Promise | None:
        """The guarantee as (epsilon, delta), where it is one."""
        return None

    def admits(self, cost: Cost) -> bool:
        """Whether `spend(cost)` would succeed now; changes nothing. A wrong kind of cost raises `InvalidParameter`."""
        return self._fits(self._after(self._state, cost))

    def spend(self, cost: Cost) -> None:
        """Charge `cost`, or raise `BudgetExhausted` and change nothing."""
        with self._lock:
            before = self._state
            after = self._after(before, cost)
            if self._fits(after):
                self._state = after
                return
        # outside the lock: what is left may have to be searched for, and nobody should wait for a message
        spent, left = amounts(self._spent(before)), amounts(self._left(before))
        hint = self._hint(before, cost)
        raise BudgetExhausted(f"the {self.name} filter refuses: spent {spent}; asked {shown(cost)}; left {left}{hint}")

    def _hint(self, state: State, cost: Cost) -> str:
        """What else explains a refusal of `cost` at `state`; nothing where the amounts say it all."""
        return ""

    def spent(self) -> dict[str, Any]:
        """What has been spent, rounded up; a position in the ledger, not a guarantee.

        In the names of the costs where they simply add. Rules that do not add show what they compare instead: Rogers
        and Whitehouse the sum of squared epsilons and the left side of their inequality.
        """
        return self._spent(self._state)

    def remaining(self) -> dict[str, Any]:
        """The largest amounts that are still admitted, rounded down: each alone, and together where costs have both."""
        return self._left(self._state)

    def _largest(self, state: State) -> float:
        """The largest pure epsilon that fits, to the last double; for filters whose rule has no simple inverse."""

        def refused(epsilon: float) -> bool:
            return not self._fits(self._after(state, PureDP(epsilon)))

        if refused(_SMALLEST):
            return 0.0
        return math.nextafter(first_at_least(refused, True, _SMALLEST, _LARGEST), 0.0)


__all__ = ["REPLACE_ONE", "REREAD", "Filter", "Promise"]
