"""Running totals that neither drift nor grow: decimals, added exactly.

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
"""

from __future__ import annotations

import decimal
import math
from decimal import Decimal
from typing import Any

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
        raise InvalidParameter(f"the stored total {name} must be a decimal text, at least 0")
    return total


__all__ = [
    "ZERO",
    "above",
    "below",
    "charged",
    "double_down",
    "double_up",
    "exact",
    "minus",
    "parse_total",
    "plus",
    "read_down",
    "read_up",
    "root_down",
    "root_up",
    "square",
    "times",
]
