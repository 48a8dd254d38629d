"""Running totals that neither drift nor grow: exact decimals, what a cost adds to them, and how a delta splits.

A cost is the decimal number that it prints as (`bounds.exact.decimal_fraction` states the convention), so a million
costs of 1e-6 fill a budget of 1 and leave exactly nothing. A total is a `decimal.Decimal`: adding and multiplying such
numbers is exact, in C, and takes a fraction of a microsecond, where a `Fraction` takes several.

Why memory stays bounded. The shortest decimal of a double has at most 17 digits and is a whole multiple of 1e-324, and
it is below 2e308. A sum of `k` of them is therefore a whole multiple of 1e-324 below `2e308 k`: at most
`633 + log10(k)` digits, whatever the costs and however many. Squares need twice that, a product of an order with a
square three times. The context below holds 2,500 digits, enough for 1e500 costs, and raises rather than round. In
practice a total has some twenty digits.

An irrational summand, such as `epsilon * tanh(epsilon / 2)`, is rounded up once, to a decimal of 17 digits, before it
is added; the sum of the rounded summands is again exact. So a total is never below the truth, and above it by at most a
relative 2e-15.

Increments
----------
Analysts ask many questions at the same price, so what takes a transcendental function is remembered for the last few
hundred prices.
"""

from __future__ import annotations

import bisect
import decimal
import math
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

from holdfast.accounting.costs import GDP, RDP, ZCDP, PureDP, budget_delta
from holdfast.bounds.conversions import pure_to_rdp, pure_to_zcdp
from holdfast.bounds.filters import loss_drift
from holdfast.errors import InvalidParameter

_EXACT = decimal.Context(
    prec=2500,
    Emin=decimal.MIN_EMIN,
    Emax=decimal.MAX_EMAX,
    traps=[decimal.Inexact, decimal.InvalidOperation, decimal.Overflow],
)
_ROOT = decimal.Context(prec=60, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
_SMALLEST = math.ulp(0.0)
_LONGEST = 2500

ZERO = Decimal(0)
plus = _EXACT.add
minus = _EXACT.subtract
times = _EXACT.multiply


def exact(x: float) -> Decimal:
    """Read a float as the decimal that it prints as.

    Examples
    --------
    >>> sum([exact(0.1)] * 10, ZERO) == 1
    True
    """
    return Decimal(float.__repr__(x))


def square(x: float) -> Decimal:
    """Square a float's decimal exactly.

    Examples
    --------
    >>> square(0.1)
    Decimal('0.01')
    """
    value = Decimal(float.__repr__(x))
    return times(value, value)


def above(x: float) -> Decimal:
    """Return a decimal certainly not below the double `x`: the shortest decimal of its upper neighbour; 0 stays 0.

    Examples
    --------
    >>> above(0.1) > Decimal(0.1), above(0.0)
    (True, Decimal('0.0'))
    """
    return exact(math.nextafter(x, math.inf)) if x > 0 else exact(x)


def below(x: float) -> Decimal:
    """Return a decimal certainly not above the double `x`: the shortest decimal of its lower neighbour; 0 stays 0.

    Examples
    --------
    >>> below(0.1) < Decimal(0.1)
    True
    """
    return exact(math.nextafter(x, -math.inf)) if x > 0 else exact(x)


def charged(rounded_up: float, amount: float) -> Decimal:
    """Return what an amount is charged, given a bound already rounded up by at least one unit in the last place.

    A bound that underflows to 0 for a positive amount is charged the smallest positive double instead.

    Examples
    --------
    >>> charged(0.0, 1e-200) > 0, charged(0.0, 0.0)
    (True, Decimal('0.0'))
    """
    return exact(max(rounded_up, _SMALLEST)) if amount > 0 else exact(rounded_up)


def double_up(total: Decimal) -> float:
    """Round a total to the nearest double that is not below it.

    Examples
    --------
    >>> double_up(Decimal("0.25")), double_up(Decimal("0.1")) > Decimal("0.1")
    (0.25, True)
    """
    nearest = float(total)
    return nearest if nearest >= total else math.nextafter(nearest, math.inf)


def double_down(total: Decimal) -> float:
    """Round a total to the nearest double that is not above it.

    Examples
    --------
    >>> double_down(Decimal("0.3")) < Decimal("0.3")
    True
    """
    nearest = float(total)
    return nearest if nearest <= total else math.nextafter(nearest, -math.inf)


def read_up(total: Decimal) -> float:
    """Return the smallest double that, read as a decimal, is not below the total: how a total is shown as spent.

    Examples
    --------
    >>> read_up(exact(0.1) + exact(0.2))
    0.3
    """
    nearest = float(total)
    return nearest if exact(nearest) >= total else math.nextafter(nearest, math.inf)


def read_down(total: Decimal) -> float:
    """Return the largest double that, read as a decimal, is not above the total: how a rest is shown as left.

    A cost of that size fits into the rest, and the next larger double does not. A negative rest shows as 0.

    Examples
    --------
    >>> read_down(minus(exact(1.0), exact(0.9)))
    0.1
    """
    if total <= 0:
        return 0.0
    nearest = float(total)
    return nearest if exact(nearest) <= total else math.nextafter(nearest, -math.inf)


def root_up(total: Decimal) -> float:
    """Return a double whose decimal, squared, is not below the total, within a unit in the last place of its root.

    Examples
    --------
    >>> root_up(Decimal("0.09"))
    0.3
    """
    root = math.nextafter(read_up(_ROOT.sqrt(total)), 0.0)
    while square(root) < total:
        root = math.nextafter(root, math.inf)
    return root


def root_down(total: Decimal) -> float:
    """Return a double whose decimal, squared, is not above the total, within a unit in the last place of its root.

    Examples
    --------
    >>> root_down(Decimal("0.16"))
    0.4
    """
    if total <= 0:
        return 0.0
    root = math.nextafter(read_up(_ROOT.sqrt(total)), math.inf)
    while square(root) > total:
        root = math.nextafter(root, 0.0)
    return root


def parse_total(name: str, text: Any) -> Decimal:
    """Read a stored total back; anything but a decimal text, at least 0, raises `InvalidParameter`.

    Examples
    --------
    >>> parse_total("epsilon", "0.30")
    Decimal('0.30')
    """
    try:
        total = Decimal(text) if isinstance(text, str) else None
    except decimal.InvalidOperation:
        total = None
    if total is not None and total.is_infinite() and total > 0:
        return total
    if total is None or not total.is_finite() or total < 0 or len(text) > _LONGEST or abs(total.adjusted()) > _LONGEST:
        raise InvalidParameter(f"the stored total {name} must be a text with a decimal number of at least 0")
    return total


def slack_of(delta: float, delta_sum: float) -> Decimal:
    """Return `delta - delta_sum` exactly; it must be positive, or nothing is left for the concentration argument.

    Examples
    --------
    >>> slack_of(1e-6, 4e-7)
    Decimal('6E-7')
    """
    delta = budget_delta("delta", delta)
    delta_sum = budget_delta("delta_sum", delta_sum, zero=True)
    slack = minus(exact(delta), exact(delta_sum))
    if slack <= 0:
        raise InvalidParameter(f"delta_sum must be below delta, got {delta_sum} and {delta}")
    return slack


def split(delta: float, delta_sum: float) -> tuple[Decimal, Decimal]:
    """Return `slack_of` and the room for the costs' own deltas, exactly.

    Examples
    --------
    >>> split(1e-6, 4e-7)
    (Decimal('6E-7'), Decimal('4E-7'))
    """
    return slack_of(delta, delta_sum), exact(budget_delta("delta_sum", delta_sum, zero=True))


HALF = Decimal("0.5")
NONE = Decimal("Infinity")
_PRICES = 512


@lru_cache(_PRICES)
def pure_rho(epsilon: float) -> Decimal:
    """Return the rho of a pure cost, `epsilon tanh(epsilon/2)`, rounded up.

    Examples
    --------
    >>> round(pure_rho(1.0), 10)
    Decimal('0.4621171573')
    """
    return charged(pure_to_zcdp(epsilon), epsilon)


def gaussian_rho(mu: float) -> Decimal:
    """Return the rho of a Gaussian cost, `mu^2/2`, exactly (`bounds.conversions.gdp_to_zcdp` rounds it up).

    Examples
    --------
    >>> gaussian_rho(0.2)
    Decimal('0.020')
    """
    return times(HALF, square(mu))


@lru_cache(_PRICES)
def mean_loss(epsilon: float, method: Literal["tight", "paper"]) -> Decimal:
    """Return the largest mean loss of a pure cost, rounded up; "paper" is the larger printed bound.

    Examples
    --------
    >>> round(mean_loss(0.1, "paper"), 10)
    Decimal('0.0052585459')
    """
    return charged(loss_drift(epsilon, method), epsilon)


def at_order(cost: PureDP | ZCDP | GDP | RDP, order: float) -> Decimal:
    """Return a bound on the divergence of `cost` at one Renyi order; infinite where the cost gives none.

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
