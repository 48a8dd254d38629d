"""A whole Renyi curve as a filter: some order must still be inside, and the choice of the order is paid for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from holdfast.accounting.account import State
from holdfast.accounting.amount import budget, budget_delta, orders_of
from holdfast.accounting.costs import GDP, RDP, ZCDP, PureDP
from holdfast.accounting.filters.base import Filter, Promise
from holdfast.accounting.increments import NONE, at_orders
from holdfast.accounting.tally import Tally
from holdfast.accounting.totals import ZERO, below, exact, minus, read_down, read_up
from holdfast.bounds.exact import down, up
from holdfast.bounds.filters import SPARSE_ORDERS, renyi_constant
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import InvalidParameter


class RenyiCurveFilter(Tally, Filter):
    """Admit a cost while at some order `a` of a fixed grid the divergences sum to at most that order's cap.

    The cap is `epsilon - (log(1/delta) + log C)/(a - 1)` with `C = sum over the grid of (a-1)^(a-1)/a^a`. The
    interaction is `(epsilon, delta)`-DP. Lecuyer 2021 prints the rule without `C`, which is not valid on every grid:
    the answers choose which order survives. This form is derived and reviewed: `(1 - e^(g-L))_+ <= c_a
    e^((a-1)(L-g))` at every order, summed over the order that survives. On the default grid `C` is below 1, so
    nothing is lost; on that grid the printed rule is covered too. With one order it is the single-order filter with
    the tight conversion.

    Concurrent interleaving is not covered by the published statements; ask one question at a time.

    Parameters
    ----------
    epsilon : float
        The budget, at least 0.
    delta : float
        In (0, 1).
    orders : sequence of float
        The grid, fixed in advance, increasing, above 1. Time per cost is linear in its length.

    Examples
    --------
    >>> from holdfast.accounting import PureDP, RenyiCurveFilter
    >>> budget = RenyiCurveFilter(1.0, 1e-6)
    >>> for _ in range(360):
    ...     budget.spend(PureDP(0.01))
    >>> budget.admits(PureDP(0.01))
    False
    """

    name = "renyi-curve"
    accepts = (PureDP, ZCDP, GDP, RDP)
    listed = True

    def __init__(self, epsilon: float, delta: float, orders: Sequence[float] = SPARSE_ORDERS) -> None:
        self.epsilon = budget("epsilon", epsilon)
        self.delta = budget_delta("delta", delta)
        self.orders = orders_of(orders)
        self.totals = tuple(f"order {order:g}" for order in self.orders)
        price = max(up(renyi_constant(self.orders) - math.log(self.delta), 8), 0.0)
        self._caps = tuple(_cap(self.epsilon, price, order) for order in self.orders)
        if max(self._caps) < 0:
            raise InvalidParameter(f"orders must reach higher: at epsilon {self.epsilon} no order admits a cost of 0")
        super().__init__()

    def parameters(self) -> dict[str, Any]:
        """The budget and the grid."""
        return {"epsilon": self.epsilon, "delta": self.delta, "orders": list(self.orders)}

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP."""
        return self._stated(self.parameters())

    def _promise(self) -> Promise:
        return Promise(self.epsilon, exact(self.delta), ZERO)

    def _increments(self, cost: PureDP | ZCDP | GDP | RDP) -> tuple[Decimal, ...]:
        return at_orders(cost, self.orders)

    def _fits(self, state: State) -> bool:
        return any(map(Decimal.__le__, state, self._caps))

    def _spent(self, state: State) -> dict[str, Any]:
        return {"orders": list(self.orders), "epsilons": [read_up(total) for total in state]}

    def _left(self, state: State) -> dict[str, Any]:
        left = [
            0.0 if total == NONE else read_down(minus(cap, total)) for cap, total in zip(self._caps, state, strict=True)
        ]
        return {"orders": list(self.orders), "epsilons": left}


def _cap(epsilon: float, price: float, order: float) -> Decimal:
    """The budget at one order, rounded down; below zero the order admits nothing."""
    rest = minus(exact(epsilon), exact(up(price / (order - 1), 8)))
    return below(down(float(rest), 2)) if rest > 0 else (rest if rest < 0 else ZERO)


__all__ = ["RenyiCurveFilter"]
