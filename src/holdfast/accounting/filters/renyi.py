"""One Renyi order as a filter."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from holdfast import check
from holdfast.accounting.account import State, shown
from holdfast.accounting.amount import budget
from holdfast.accounting.costs import GDP, RDP, ZCDP, PureDP
from holdfast.accounting.filters.base import Filter
from holdfast.accounting.increments import NONE, at_orders
from holdfast.accounting.tally import Tally
from holdfast.accounting.totals import exact, minus, read_down, read_up
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import InvalidParameter


class RenyiFilter(Tally, Filter):
    """Admit a cost while the divergences at one `order` sum to at most `epsilon`: the interaction is that RDP.

    Feldman and Zrnic 2021, Theorem 3.1 as cited; re-derived: `exp((a-1)(L_t - S_t(a)))` is a supermartingale, and
    whether the next cost is admitted is known before it is paid. The order is fixed in advance; picking the best order
    afterwards needs `RenyiCurveFilter`.

    Parameters
    ----------
    order : float
        The order, above 1.
    epsilon : float
        The budget at that order, in nats, at least 0.

    Examples
    --------
    >>> from holdfast.accounting import RDP, ZCDP, RenyiFilter
    >>> budget = RenyiFilter(order=8, epsilon=1.0)
    >>> budget.spend(ZCDP(0.1))
    >>> budget.spend(RDP(orders=(2, 8), epsilons=(0.01, 0.05)))
    >>> budget.remaining()
    {'order': 8.0, 'epsilon': 0.15}
    """

    name = "renyi"
    totals = ("epsilon",)
    accepts = (PureDP, ZCDP, GDP, RDP)

    def __init__(self, order: float, epsilon: float) -> None:
        super().__init__()
        self.order = check.real("order", order, above=1)
        self.epsilon = budget("epsilon", epsilon)
        self._cap = exact(self.epsilon)

    def parameters(self) -> dict[str, Any]:
        """The order and its budget."""
        return {"order": self.order, "epsilon": self.epsilon}

    def guarantee(self) -> Guarantee:
        """(order, epsilon)-RDP."""
        return self._stated(self.parameters())

    def _increments(self, cost: PureDP | ZCDP | GDP | RDP) -> tuple[Decimal, ...]:
        (divergence,) = at_orders(cost, (self.order,))
        if divergence == NONE:
            raise InvalidParameter(f"cost must list an order of at least {self.order:g}, got {shown(cost)}")
        return (divergence,)

    def _fits(self, state: State) -> bool:
        return bool(state[0] <= self._cap)

    def _spent(self, state: State) -> dict[str, Any]:
        return {"order": self.order, "epsilon": read_up(state[0])}

    def _left(self, state: State) -> dict[str, Any]:
        return {"order": self.order, "epsilon": read_down(minus(self._cap, state[0]))}


__all__ = ["RenyiFilter"]
