"""An odometer used as a filter."""

from __future__ import annotations

from typing import Any, Self

from holdfast.accounting.account import State
from holdfast.accounting.amount import budget
from holdfast.accounting.costs import Cost
from holdfast.accounting.filters.base import Filter, Promise
from holdfast.accounting.odometers.base import Odometer
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import InvalidParameter


class FilterFromOdometer(Filter):
    """Admit a cost while the odometer's reading, the cost included, is at most `epsilon`.

    Rogers' dissertation, Lemma 5.3.3: the interaction is `(epsilon, delta)`-DP with the odometer's delta. An odometer
    promises more than a filter needs, so the direct filters admit more; this one is for those who want the readings
    along the way.

    Parameters
    ----------
    odometer : Odometer
        Its parameters and what it has recorded are taken over; the given odometer itself is left alone. One that
        already reads more than `epsilon` is refused.
    epsilon : float
        The budget, at least 0.

    Examples
    --------
    >>> from holdfast.accounting import BasicOdometer, FilterFromOdometer, PureDP
    >>> budget = FilterFromOdometer(BasicOdometer(), epsilon=1.0)
    >>> budget.spend(PureDP(0.9))
    >>> budget.admits(PureDP(0.1)), budget.admits(PureDP(0.2))
    (True, False)
    """

    name = "from-odometer"

    def __init__(self, odometer: Odometer, epsilon: float) -> None:
        if not isinstance(odometer, Odometer):
            raise InvalidParameter(f"odometer must be an Odometer, got a {type(odometer).__name__}")
        self.epsilon = budget("epsilon", epsilon)
        self._odometer = odometer
        self.accepts = odometer.accepts
        super().__init__()
        self._take(odometer._state)

    def parameters(self) -> dict[str, Any]:
        """The odometer, as made, and the budget."""
        made = {self._odometer.role: self._odometer.name} | self._odometer.parameters()
        return {"odometer": made, "epsilon": self.epsilon}

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP."""
        stated = {"epsilon": self.epsilon, "delta": self._odometer.delta, "odometer": self._odometer.name}
        return self._stated(stated)

    def _promise(self) -> Promise:
        return Promise(self.epsilon, self._odometer._slack, self._odometer._room)

    def _blank(self) -> State:
        return self._odometer._blank()

    def _is_blank(self, state: State) -> bool:
        return self._odometer._is_blank(state)

    def _next(self, state: State, cost: Cost) -> State:
        return self._odometer._next(state, cost)

    def _fits(self, state: State) -> bool:
        return self._odometer._read(state) <= self.epsilon

    def _spent(self, state: State) -> dict[str, Any]:
        return {"epsilon": self._odometer._read(state)}

    def _left(self, state: State) -> dict[str, Any]:
        return {"epsilon": self._largest(state)}

    def _plain(self, state: State) -> dict[str, Any]:
        return {self.role: self.name, "odometer": self._odometer._plain(state), "epsilon": self.epsilon}

    @classmethod
    def _restored(cls, plain: dict[str, Any]) -> Self:
        if set(plain) != {"odometer", "epsilon"}:
            raise InvalidParameter("a stored from-odometer filter must have an odometer and an epsilon")
        return cls(Odometer.from_dict(plain["odometer"]), plain["epsilon"])

    def __repr__(self) -> str:
        return f"FilterFromOdometer({self._odometer!r}, epsilon={self.epsilon!r})"


__all__ = ["FilterFromOdometer"]
