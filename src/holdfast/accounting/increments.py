"""What a cost adds to a total, as an exact decimal that is never below the truth.

Analysts ask many questions at the same price, so what takes a transcendental function is remembered for the last few
hundred prices.
"""

from __future__ import annotations

import bisect
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from holdfast.accounting.costs import GDP, RDP, ZCDP, PureDP
from holdfast.accounting.totals import charged, exact, square, times
from holdfast.bounds.conversions import pure_to_rdp, pure_to_zcdp
from holdfast.bounds.filters import loss_drift

HALF = Decimal("0.5")
NONE = Decimal("Infinity")
_PRICES = 512


@lru_cache(_PRICES)
def pure_rho(epsilon: float) -> Decimal:
    """The rho of a pure cost, `epsilon tanh(epsilon/2)`, rounded up.

    Examples
    --------
    >>> round(pure_rho(1.0), 10)
    Decimal('0.4621171573')
    """
    return charged(pure_to_zcdp(epsilon), epsilon)


def gaussian_rho(mu: float) -> Decimal:
    """The rho of a Gaussian cost, `mu^2/2`, exactly (`bounds.conversions.gdp_to_zcdp` rounds it up).

    Examples
    --------
    >>> gaussian_rho(0.2)
    Decimal('0.020')
    """
    return times(HALF, square(mu))


@lru_cache(_PRICES)
def mean_loss(epsilon: float, method: Literal["tight", "paper"]) -> Decimal:
    """The largest mean loss of a pure cost, rounded up; "paper" is the larger printed bound.

    Examples
    --------
    >>> round(mean_loss(0.1, "paper"), 10)
    Decimal('0.0052585459')
    """
    return charged(loss_drift(epsilon, method), epsilon)


def at_order(cost: PureDP | ZCDP | GDP | RDP, order: float) -> Decimal:
    """A bound on the divergence of `cost` at one Renyi order; infinite where the cost gives none.

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
        return times(exact(order), gaussian_rho(cost.mu))
    if isinstance(cost, PureDP):
        return charged(pure_to_rdp(cost.epsilon, order), cost.epsilon)
    place = bisect.bisect_left(cost.orders, order)
    return exact(cost.epsilons[place]) if place < len(cost.orders) else NONE


@lru_cache(_PRICES)
def at_orders(cost: PureDP | ZCDP | GDP | RDP, orders: tuple[float, ...]) -> tuple[Decimal, ...]:
    """`at_order` along a grid.

    Examples
    --------
    >>> at_orders(ZCDP(0.1), (2.0, 3.0))
    (Decimal('0.20'), Decimal('0.30'))
    """
    return tuple(at_order(cost, order) for order in orders)


__all__ = ["HALF", "NONE", "at_order", "at_orders", "gaussian_rho", "mean_loss", "pure_rho"]
