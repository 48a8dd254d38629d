"""A whole Renyi curve as an odometer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from holdfast.accounting.account import State
from holdfast.accounting.amount import orders_of
from holdfast.accounting.costs import GDP, RDP, ZCDP, PointwiseDP, PureDP
from holdfast.accounting.increments import at_orders
from holdfast.accounting.odometers.base import Odometer
from holdfast.accounting.split import split
from holdfast.accounting.tally import Tally
from holdfast.accounting.totals import ZERO, charged, double_down, double_up, exact, plus
from holdfast.bounds.filters import SPARSE_ORDERS
from holdfast.bounds.odometers import pointwise_drift, renyi_reading


class RenyiOdometer(Tally, Odometer):
    """Read `min over orders a of S(a) + log(m/slack)/(a - 1)`, `m` the number of orders; one-sided.

    Ville's inequality for `exp((a-1)(L_t - S_t(a)))` at each order of a fixed grid, the slack shared equally. Derived
    and checked; simpler and smaller than the doubling form of Lecuyer 2021. The odometer for Gaussian and other
    concentrated costs.

    A point-wise cost counts as a pure one of `epsilon + d` and a certain loss of `d = log(1/(1 - delta))`: given the
    good outputs its two laws are that close.

    Parameters
    ----------
    delta : float
        The probability with which a reading may ever be too small, `delta_sum` included.
    orders : sequence of float
        The grid, fixed in advance, increasing, above 1. Time per cost is linear in its length.
    delta_sum : float
        The part of `delta` that is room for the costs' own point-wise deltas.

    Examples
    --------
    >>> from holdfast.accounting import ZCDP, RenyiOdometer
    >>> odometer = RenyiOdometer(1e-6, orders=(1.5, 2, 3, 4, 6, 8, 16, 32, 64))
    >>> odometer.record(ZCDP(0.05))
    >>> round(odometer.reading(), 9)
    1.867515676
    """

    name = "renyi"
    accepts = (PureDP, PointwiseDP, ZCDP, GDP, RDP)
    two_sided = False
    listed = True

    def __init__(self, delta: float, orders: Sequence[float] = SPARSE_ORDERS, *, delta_sum: float = 0.0) -> None:
        self.orders = orders_of(orders)
        self.totals = (*(f"order {order:g}" for order in self.orders), "delta")
        super().__init__()
        self._slack, self._room = split(delta, delta_sum)
        self._double_slack = double_down(self._slack)
        self._weight = 1 / len(self.orders)

    def parameters(self) -> dict[str, Any]:
        """The failure probability and the grid."""
        return {"delta": self.delta, "delta_sum": self.delta_sum, "orders": list(self.orders)}

    def _increments(self, cost: PureDP | PointwiseDP | ZCDP | GDP | RDP) -> tuple[Decimal, ...]:
        if not isinstance(cost, PointwiseDP):
            return (*at_orders(cost, self.orders), ZERO)
        if not cost.delta:
            return (*at_orders(PureDP(cost.epsilon), self.orders), ZERO)
        certain = charged(pointwise_drift(cost.delta), cost.delta)
        pure = PureDP(double_up(plus(exact(cost.epsilon), certain)))
        return (*(plus(certain, each) for each in at_orders(pure, self.orders)), exact(cost.delta))

    def _read(self, state: State) -> float:
        *totals, delta = state
        if delta > self._room:
            return math.inf
        if not any(totals):
            return 0.0
        known = [(order, double_up(total)) for order, total in zip(self.orders, totals, strict=True)]
        known = [(order, total) for order, total in known if total < math.inf]
        if not known:
            return math.inf
        orders, sums = zip(*known, strict=True)
        return renyi_reading(orders, sums, self._double_slack, [self._weight] * len(orders)).value


__all__ = ["RenyiOdometer"]
