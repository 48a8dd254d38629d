"""How numbers are read and rounded: decimals exactly, bounds upwards, budgets downwards.

One convention for every budget and every cost. A float stands for the decimal number that it prints as: `0.1` is one
tenth, not the double nearest to it, which is a little larger. So ten costs of 0.1 fill a budget of 1 exactly, a hundred
costs of 0.01 do too, and a million of them do not drift. The totals are rational numbers; a total becomes a float only
at the end, rounded towards the safe side.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

from holdfast.core import arguments

UNIT = 2.0**-53
"""Half a unit in the last place of 1: the relative error of one rounded operation."""


def decimal_fraction(x: float) -> Fraction:
    """Read a number as the decimal that it prints as, exactly.

    A float is taken by its shortest decimal form (`repr`), an int by itself. A number computed in floating point, such
    as `1 / 3`, is taken by its shortest form too: that form reads back as the same double, so at most half a unit in
    the last place changes.

    Parameters
    ----------
    x : float
        Any finite number.

    Returns
    -------
    Fraction
        The exact rational value of the decimal.

    Examples
    --------
    >>> decimal_fraction(0.1), 100 * decimal_fraction(0.01) <= 1
    (Fraction(1, 10), True)
    >>> Fraction(0.1) == Fraction(1, 10)
    False
    """
    if isinstance(x, int) and not isinstance(x, bool):
        return Fraction(x)
    if isinstance(x, Fraction):
        return x
    return Fraction(repr(arguments.real("x", x)))


def decimal_sum(values: Iterable[float]) -> Fraction:
    """Add numbers, each read by `decimal_fraction`, exactly.

    Examples
    --------
    >>> decimal_sum([0.1, 0.2]), 0.1 + 0.2 == 0.3
    (Fraction(3, 10), False)
    """
    counts = Counter(values)  # repeated costs are common, and a product is cheaper than as many sums
    return sum((count * decimal_fraction(value) for value, count in counts.items()), Fraction(0))


def total(values: Iterable[float]) -> float:
    """Add floats with one rounding (`math.fsum`); an overflow is infinity, which is what a bound may say.

    Examples
    --------
    >>> total([0.1] * 10), total([1.7e308] * 2)
    (1.0, inf)
    """
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


def float_up(x: Fraction) -> float:
    """Return the smallest float that, read by `decimal_fraction`, is not below `x`.

    Examples
    --------
    >>> float_up(Fraction(6, 10)), float_up(Fraction(1, 3)) > float_down(Fraction(1, 3))
    (0.6, True)
    """
    try:
        nearest = float(x)
    except OverflowError:
        return math.inf if x > 0 else -math.nextafter(math.inf, 0.0)
    return nearest if decimal_fraction(nearest) >= x else math.nextafter(nearest, math.inf)


def float_down(x: Fraction) -> float:
    """Return the largest float that, read by `decimal_fraction`, is not above `x`.

    Examples
    --------
    >>> float_down(Fraction(6, 10)), decimal_fraction(float_down(Fraction(1, 3))) <= Fraction(1, 3)
    (0.6, True)
    """
    return -float_up(-x)


def left_to_chance(confidence: float) -> float:
    """One minus a confidence, which is read as the decimal that it prints as; rounded down.

    Examples
    --------
    >>> left_to_chance(0.95), 1 - 0.95 == 0.05
    (0.05, False)
    """
    return float_down(1 - decimal_fraction(confidence))


def up(x: float, ulps: int = 4) -> float:
    """Raise `x` by `ulps` units in the last place; infinities and zero stay.

    Examples
    --------
    >>> up(1.0) > 1.0, up(0.0), up(float("inf"))
    (True, 0.0, inf)
    """
    if x == 0 or math.isinf(x):
        return x
    return x + ulps * math.ulp(x)


def down(x: float, ulps: int = 4) -> float:
    """Lower `x` by `ulps` units in the last place; infinities and zero stay, and a positive number stays positive or 0.

    Examples
    --------
    >>> down(1.0) < 1.0, down(0.0)
    (True, 0.0)
    """
    if x == 0 or math.isinf(x):
        return x
    lowered = x - ulps * math.ulp(x)
    return max(lowered, 0.0) if x > 0 else lowered


def digits_down(x: float, digits: int) -> float:
    """Return a number as it is said to people: so many significant digits, never above what it prints as. For budgets.

    Examples
    --------
    >>> digits_down(0.01209065970, 6), digits_down(0.5, 3), digits_down(0.0, 3)
    (0.0120906, 0.5, 0.0)
    """
    return _digits(x, digits, ROUND_FLOOR)


def digits_up(x: float, digits: int) -> float:
    """Return the same, never below. For bounds.

    Examples
    --------
    >>> digits_up(0.0608001, 3), digits_up(1.999, 2), digits_up(float("inf"), 3)
    (0.0609, 2.0, inf)
    """
    return _digits(x, digits, ROUND_CEILING)


def _digits(x: float, digits: int, rounding: str) -> float:
    return float(Context(prec=digits, rounding=rounding).create_decimal(repr(float(x)))) if math.isfinite(x) else x
