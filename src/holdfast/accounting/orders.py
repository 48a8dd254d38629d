"""What a cost adds at one Renyi order."""

from __future__ import annotations

import bisect
from decimal import Decimal

from holdfast.accounting.costs import GDP, RDP, ZCDP, PureDP
from holdfast.accounting.totals import charged, exact, square, times
from holdfast.bounds.conversions import pure_to_rdp

_HALF = Decimal("0.5")
NONE = Decimal("Infinity")


def at_order(cost: PureDP | ZCDP | GDP | RDP, order: float) -> Decimal:
    """Return a bound on the divergence of `cost` at `order`, never below it; infinite where the cost gives none.

    A curve given at some orders is read at the smallest listed order that is not below the wanted one, because the
    Renyi divergence grows with its order. Pure costs use the exact value of randomized response.

    Parameters
    ----------
    cost : PureDP, ZCDP, GDP or RDP
        The cost.
    order : float
        The order, above 1.

    Examples
    --------
    >>> at_order(ZCDP(0.1), 2.0), at_order(RDP((2, 4), (0.1, 0.3)), 3.0), at_order(RDP((2,), (0.1,)), 3.0)
    (Decimal('0.20'), Decimal('0.3'), Decimal('Infinity'))
    """
    if isinstance(cost, ZCDP):
        return times(exact(order), exact(cost.rho))
    if isinstance(cost, GDP):
        return times(exact(order), times(_HALF, square(cost.mu)))
    if isinstance(cost, PureDP):
        return charged(pure_to_rdp(cost.epsilon, order), cost.epsilon)
    place = bisect.bisect_left(cost.orders, order)
    return exact(cost.epsilons[place]) if place < len(cost.orders) else NONE


__all__ = ["NONE", "at_order"]
