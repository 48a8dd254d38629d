"""Parameters and results of samplers: exact rationals in, signed integers within 64-bit arrays out.

A rational number stays as it is; a float means the decimal that it prints as.

Signed integers
---------------
The integers are numbered 0, -1, 1, -2, 2, ...: the code `2 g` stands for g and `2 g + 1` for `-1 - g`. No integer has
two codes, so zero cannot be counted twice.
"""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.numerics.exact import decimal_fraction
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.noise.table import Weights

Rational = Fraction | int | float
"""What a parameter may be given as. `0.1` means one tenth (see `holdfast.bounds.numerics.exact`)."""


def rational(
    name: str, value: Any, *, above: int | None = None, at_least: int | None = None, at_most: int | None = None
) -> Fraction:
    """Return `value` as an exact fraction inside the stated range.

    Examples
    --------
    >>> rational("epsilon", 0.1, above=0)
    Fraction(1, 10)
    >>> rational("epsilon", 0, above=0)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: epsilon must be a number in (0, inf), got 0
    """
    if isinstance(value, (Fraction, Integral)) and not isinstance(value, bool):
        fraction = value if isinstance(value, Fraction) else Fraction(int(value))
        inside = (above is None or fraction > above) and (at_least is None or fraction >= at_least)
        if not inside or (at_most is not None and fraction > at_most):
            arguments.real(name, value, above=above, at_least=at_least, at_most=at_most)
            raise InvalidParameter(f"{name} is outside its range")  # rounding to a float hid it
        return fraction
    arguments.real(name, value, above=above, at_least=at_least, at_most=at_most)
    return decimal_fraction(float(value))


def plain_array(name: str, values: Any, kinds: str, wanted: str) -> NDArray[Any]:
    """`values` as an array of one of the given kinds (`dtype.kind`); an error shows none of them.

    Examples
    --------
    >>> plain_array("values", [1, 2], "iu", "whole numbers")
    array([1, 2])
    >>> plain_array("values", ["a row"], "iu", "whole numbers")
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: values must be whole numbers
    """
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidParameter(
            f"{name} must not be a masked array, because its hidden entries would be used; fill its gaps first"
        )
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):  # lists of unequal length; the message could hold a value
        raise InvalidParameter(f"{name} must be {wanted}") from None
    if array.dtype.kind not in kinds:
        raise InvalidParameter(f"{name} must be {wanted}")
    return array


def ratio(name: str, value: Any) -> tuple[int, int]:
    """Return a positive parameter as numerator and denominator in lowest terms: a cheap key for caches.

    Examples
    --------
    >>> ratio("scale", 2.5), ratio("scale", 3)
    ((5, 2), (3, 1))
    """
    if type(value) is int and value > 0:
        return value, 1
    fraction = value if type(value) is Fraction and value.numerator > 0 else rational(name, value, above=0)
    return fraction.numerator, fraction.denominator


VECTOR_SCALE = 1 << 48
"""The largest scale, in steps, of which arrays are drawn: their values fit 64 bits."""


def symmetric(weights: Weights) -> Weights:
    """Weights of codes such that the integer k has the weight of `|k|`."""
    twice = [w for w in weights.lower for _ in (0, 1)]
    return Weights(twice[1:], weights.error, 2 * weights.tail)


def paired(weights: Weights) -> Weights:
    """Weights of codes such that g and `-1 - g` both have the weight of g."""
    return Weights([w for w in weights.lower for _ in (0, 1)], weights.error, 2 * weights.tail)


def signed(code: int) -> int:
    """Return the integer of a code.

    Examples
    --------
    >>> [signed(code) for code in range(5)]
    [0, -1, 1, -2, 2]
    """
    return ~(code >> 1) if code & 1 else code >> 1


def signed_each(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the integers of codes, written over them."""
    signs = -(codes & 1)
    codes >>= 1
    codes ^= signs
    return codes


def fits_vector(name: str, value: Rational) -> None:
    """Refuse a scale whose arrays might not fit 64 bits."""
    if value > VECTOR_SCALE:
        raise InvalidParameter(
            f"{name} must be at most 2**48 grid steps for an array of 64-bit integers; give a coarser grid"
        )
