"""How parameters are read: what is not a float is rounded to one, a cost up and a budget down."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from numbers import Integral
from typing import Any

from holdfast import check
from holdfast.bounds.exact import float_down, float_up
from holdfast.errors import InvalidParameter


def spent(name: str, value: Any) -> float:
    """Return a cost's amount, at least 0; a float stays, any other number is rounded up.

    Examples
    --------
    >>> from fractions import Fraction
    >>> Fraction(repr(spent("epsilon", Fraction(1, 3)))) > Fraction(1, 3), spent("epsilon", Fraction(1, 10))
    (True, 0.1)
    """
    return check.real(name, _rounded(check.real(name, value, at_least=0), value, float_up), at_least=0)


def spent_delta(name: str, value: Any) -> float:
    """Return a cost's delta, in [0, 1); a float stays, any other number is rounded up.

    Examples
    --------
    >>> spent_delta("delta", 0)
    0.0
    """
    return check.probability(name, _rounded(check.probability(name, value, zero=True), value, float_up), zero=True)


def budget(name: str, value: Any, *, above: float | None = None) -> float:
    """Return a budget, at least 0 or above `above`; a float stays, any other number is rounded down.

    Examples
    --------
    >>> from fractions import Fraction
    >>> Fraction(repr(budget("epsilon", Fraction(2, 3)))) < Fraction(2, 3)
    True
    """
    low = 0 if above is None else None
    number = check.real(name, value, above=above, at_least=low)
    return check.real(name, _rounded(number, value, float_down), above=above, at_least=low)


def budget_delta(name: str, value: Any, *, zero: bool = False, below: float = 1) -> float:
    """Return a budget's delta, in (0, `below`); a float stays, any other number is rounded down.

    Examples
    --------
    >>> budget_delta("delta", 1e-6)
    1e-06
    """
    low, least = (None, 0) if zero else (0, None)
    number = check.real(name, value, above=low, at_least=least, below=below)
    return check.real(name, _rounded(number, value, float_down), above=low, at_least=least, below=below)


def orders_of(values: Any) -> tuple[float, ...]:
    """Return a grid of Renyi orders: above 1, strictly increasing.

    Examples
    --------
    >>> orders_of([2, 3.5])
    (2.0, 3.5)
    """
    orders = check.reals("orders", values, above=1)
    if any(b <= a for a, b in pairwise(orders)):
        raise InvalidParameter("orders must increase strictly")
    return orders


def flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False.

    Examples
    --------
    >>> flag("two_sided", True)
    True
    """
    if not isinstance(value, bool):
        raise InvalidParameter(f"{name} must be True or False, got {value!r}")
    return value


def _rounded(number: float, value: Any, rounding: Callable[[Fraction], float]) -> float:
    if isinstance(value, float):
        return number
    exact = Fraction(int(value)) if isinstance(value, Integral) else Fraction(*value.as_integer_ratio())
    return number if Fraction(number) == exact else rounding(exact)


__all__ = ["budget", "budget_delta", "flag", "orders_of", "spent", "spent_delta"]
