"""How large and how small a number can get, known before any row is read.

A double overflows above 2**1024 and loses digits below 2**-1022, and engines disagree about what happens then:
PostgreSQL raises an error, which would depend on rows. So each expression is measured beforehand. Its columns hold
zero or numbers between 2**-100 and 2**100 in size; from there the rules below bound every intermediate result, and
an expression that could come near the ends of the range is refused. Derived here; the rules are one line each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from holdfast.data.expressions import limits


@dataclass(frozen=True, slots=True)
class Size:
    """Every value is at most `2**top` in size, at least `2**least` unless it is zero, and a multiple of `2**grain`."""

    top: int
    least: int
    grain: int

    @property
    def safe(self) -> bool:
        """Whether no value can come near the ends of the range of doubles."""
        end = limits.LARGEST_RESULT_EXPONENT
        return self.top <= end and self.least >= -end and self.grain >= -end

    @property
    def small_whole(self) -> bool:
        """Whether a whole number at or below the value, or above it, always fits in 53 bits."""
        return self.top <= 53


def _rounded(top: int, least: int, grain: int) -> Size:
    # A double of size at least 2**least has its last digit at 2**(least - 52) or higher.
    return Size(top, least, max(grain, least - 52))


NUMBER = _rounded(limits.LARGEST_EXPONENT, -limits.LARGEST_EXPONENT, -limits.LARGEST_EXPONENT - 52)
"""A column of numbers."""

INTEGER = Size(63, 0, 0)
"""A column of whole numbers of 64 bits, turned into doubles."""

LENGTH = Size(40, 0, 0)
SIGN = Size(0, 0, 0)
SPELT = _rounded(50, -50, -102)
"""At most 15 digits before the point and 15 after it."""


def of_literal(value: float) -> Size:
    """The size of one number.

    Examples
    --------
    >>> of_literal(3.0)
    Size(top=2, least=1, grain=0)
    """
    if value == 0.0:
        return Size(-limits.LARGEST_EXPONENT, limits.LARGEST_EXPONENT, limits.LARGEST_EXPONENT)
    fraction, exponent = math.frexp(abs(value))
    numerator = int(fraction * 2**53)
    grain = exponent - 53 + (numerator & -numerator).bit_length() - 1
    return Size(exponent - 1 if fraction == 0.5 else exponent, exponent - 1, grain)


def of_sum(left: Size, right: Size) -> Size:
    """Of a sum or a difference: rounding keeps multiples of a power of two."""
    grain = min(left.grain, right.grain)
    return Size(max(left.top, right.top) + 1, grain, grain)


def of_product(left: Size, right: Size) -> Size:
    """Of a product."""
    return _rounded(left.top + right.top, left.least + right.least, left.grain + right.grain)


def of_quotient(left: Size, right: Size) -> Size:
    """Of a quotient whose divisor is not zero."""
    least = left.least - right.top
    return _rounded(left.top - right.least, least, least - 52)


def of_root(inner: Size) -> Size:
    """Of a square root."""
    least = math.floor(inner.least / 2)
    return _rounded(math.ceil(inner.top / 2), least, least - 52)


def of_whole(inner: Size) -> Size:
    """Of a number rounded down or up to a whole one."""
    return Size(max(inner.top, 0), 0, 0)


def of_any(*sizes: Size) -> Size:
    """Of a value that is one of several."""
    return Size(max(s.top for s in sizes), min(s.least for s in sizes), min(s.grain for s in sizes))


def of_clipped(inner: Size, low: Size, high: Size) -> Size:
    """Of a value moved into a range: no larger than the ends of the range."""
    either = of_any(inner, low, high)
    return Size(max(low.top, high.top), either.least, either.grain)


__all__ = [
    "INTEGER",
    "LENGTH",
    "NUMBER",
    "SIGN",
    "SPELT",
    "Size",
    "of_any",
    "of_clipped",
    "of_literal",
    "of_product",
    "of_quotient",
    "of_root",
    "of_sum",
    "of_whole",
]
