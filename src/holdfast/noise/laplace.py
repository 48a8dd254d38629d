"""Discrete Laplace and geometric noise, exact for every rational scale."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.noise.entropy import Source, resolve
from holdfast.noise.inputs import Rational, fits_vector, ratio, signed, signed_each, symmetric
from holdfast.noise.table import Table, Weights, quadratic_weights

_DIGIT_BITS = 6  # smaller digits make smaller tables, larger ones fewer draws
_BASE = 1 << _DIGIT_BITS
_TOP_SCALE = 6  # the largest scale of the highest digit, which has no upper end
_CHUNK = 1 << 16


@overload
def discrete_laplace(scale: Rational, size: None = None, *, source: Source | None = None) -> int: ...
@overload
def discrete_laplace(scale: Rational, size: int, *, source: Source | None = None) -> NDArray[np.int64]: ...
def discrete_laplace(
    scale: Rational, size: int | None = None, *, source: Source | None = None
) -> int | NDArray[np.int64]:
    """Return random whole numbers `k` with probability exactly proportional to `exp(-|k| / scale)`.

    Added to an integer statistic of sensitivity D, one such number gives `D / scale`-differential privacy.

    Parameters
    ----------
    scale : Fraction, int or float
        Positive; a float means the decimal it prints as. For arrays at most 2**48: beyond it values might not fit 64
        bits. One value at a time has no limit.
    size : int or None
        None for one int, otherwise an int64 array of that length.
    source : Source or None
        Where the words come from; None for the operating system.

    Returns
    -------
    int or array of int64

    Notes
    -----
    Ghosh, Roughgarden and Sundararajan 2009, the two-sided geometric mechanism.

    Let `q = exp(-1/scale)` and G geometric, `P[G = g]` proportional to `q**g`. Then G with probability `1/(1+q)` and
    `-1 - G` otherwise has the distribution, without rejection. The digits of G in base 64 are independent, and digit i
    has weights `exp(-d 64**i / scale)`, so each is one draw from a small table (`table.Table`); the sign shares the
    table of the lowest digit. The number of words of a single draw does not depend on its value, except with
    probability below `2**-53`. A new scale costs about 0.2 ms for its tables, which are kept for the last 32 scales.

    In arrays the highest digit stops at `table.VECTOR_CAP`, so that values stay below 2**63; this changes the
    distribution by less than `10**-290`.

    Examples
    --------
    >>> isinstance(discrete_laplace(10), int)
    True
    >>> from holdfast.noise import Seeded
    >>> discrete_laplace(Fraction(5, 2), 6, source=Seeded(2))
    array([-1, -1,  4,  0,  2,  3])
    """
    digits = _laplace(*ratio("scale", scale))
    origin = resolve(source)
    if size is None:
        return signed(digits.draw(origin))
    count = arguments.whole("size", size, at_least=0)
    fits_vector("scale", scale)
    result = np.empty(count, dtype=np.int64)
    for start in range(0, count, _CHUNK):
        part = result[start : start + _CHUNK]
        part[:] = signed_each(digits.draws(origin, part.size))
    return result


@overload
def geometric(scale: Rational, size: None = None, *, source: Source | None = None) -> int: ...
@overload
def geometric(scale: Rational, size: int, *, source: Source | None = None) -> NDArray[np.int64]: ...
def geometric(scale: Rational, size: int | None = None, *, source: Source | None = None) -> int | NDArray[np.int64]:
    """Return random whole numbers `k >= 0` with probability exactly proportional to `exp(-k / scale)`.

    This is one-sided discrete Laplace noise.

    Parameters
    ----------
    scale : Fraction, int or float
        Positive; for arrays at most 2**48.
    size : int or None
        None for one int, otherwise an int64 array of that length.
    source : Source or None
        Where the words come from; None for the operating system.

    Notes
    -----
    Alone it is not private when added to a number, because its support moves; `selection.noisy_max` uses it.

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> geometric(3, 8, source=Seeded(3))
    array([0, 0, 4, 2, 0, 1, 1, 0])
    """
    digits = _geometric(*ratio("scale", scale))
    origin = resolve(source)
    if size is None:
        return digits.draw(origin)
    count = arguments.whole("size", size, at_least=0)
    fits_vector("scale", scale)
    result = np.empty(count, dtype=np.int64)
    for start in range(0, count, _CHUNK):
        part = result[start : start + _CHUNK]
        part[:] = digits.draws(origin, part.size)
    return result


class _Digits:
    """A number whose digits in base 64 are independent: a lowest table and higher ones."""

    __slots__ = ("_lowest", "_more", "_spare")

    def __init__(self, lowest: Table, more: list[Table], spare: int) -> None:
        self._lowest = lowest
        self._more = list(enumerate(more))
        self._spare = spare  # bits that the lowest digit takes next to its own: 1 for a sign

    def draw(self, source: Source) -> int:
        number = self._lowest.draw(source)
        for i, table in self._more:
            number += table.draw(source) << (_DIGIT_BITS * (i + 1) + self._spare)
        return number

    def draws(self, source: Source, count: int) -> NDArray[np.int64]:
        number = self._lowest.draws(source, count)
        for i, table in self._more:
            digit = table.draws(source, count)
            digit <<= _DIGIT_BITS * (i + 1) + self._spare
            number += digit
        return number


@lru_cache(maxsize=32)
def _laplace(n: int, d: int) -> _Digits:
    """Codes `2 g + s`: g geometric of scale n/d and s = 1 for a negative sign, of weight `q**(g + s)`."""
    more = _higher_digits(n, d)
    count = _BASE if more else None

    def lowest(precision: int) -> Weights:
        # One weight more than digits: the code 2 g + 1 has the weight of g + 1.
        ladder = quadratic_weights(Fraction(d, n), Fraction(0), precision, None if count is None else count + 1)
        pairs = symmetric(ladder)
        return pairs if count is None else Weights(pairs.lower[: 2 * count], pairs.error)

    return _Digits(Table(lowest), more, 1)


@lru_cache(maxsize=32)
def _geometric(n: int, d: int) -> _Digits:
    more = _higher_digits(n, d)
    count = _BASE if more else None
    lowest = Table(lambda precision: quadratic_weights(Fraction(d, n), Fraction(0), precision, count))
    return _Digits(lowest, more, 0)


def _higher_digits(n: int, d: int) -> list[Table]:
    """Tables of the digits 1, 2, ... of a geometric number of scale n/d; the highest has no upper end."""
    tables = []
    unit = 1
    while n > _TOP_SCALE * unit * d:
        unit *= _BASE
        last = n <= _TOP_SCALE * unit * d
        tables.append(_digit_table(Fraction(unit * d, n), None if last else _BASE))
    return tables


def _digit_table(rate: Fraction, count: int | None) -> Table:
    return Table(lambda precision: quadratic_weights(rate, Fraction(0), precision, count))
