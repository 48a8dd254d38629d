"""The rounded Gaussian: a real normal number, rounded to a grid, exactly.

The discrete Gaussian of `noise.gaussian` is another distribution. A theorem about continuous Gaussian noise, such as
the posterior-shift bound or Gaussian differential privacy, covers the *rounded* Gaussian, because rounding is done
after the release; and rounding moves an answer by at most half a step.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.noise.entropy import WORD_BITS, Source, resolve
from holdfast.noise.grid import Grid, check_grid
from holdfast.noise.inputs import Rational, paired, rational
from holdfast.noise.table import EXP_ERROR, Table, Weights, exp_lower, quadratic_weights

_CHUNK = 1 << 15
_FARTHEST = 1 << 48
_WORD = 2.0**-WORD_BITS
#: The relative error allowed to `exp` and to the few products before it: 64 units in the last place, where numpy and C
#: libraries promise a handful.
_DOUBT = 2.0**-47
#: Likewise for placing a real number on the grid: a sum of three terms, each with at most four roundings.
_PLACE = 2.0**-49


@overload
def rounded_gaussian(
    sigma: Rational, grid: Grid, *, mean: Rational = 0, size: None = None, source: Source | None = None
) -> int: ...
@overload
def rounded_gaussian(
    sigma: Rational, grid: Grid, *, mean: Rational = 0, size: int, source: Source | None = None
) -> NDArray[np.int64]: ...
def rounded_gaussian(
    sigma: Rational, grid: Grid, *, mean: Rational = 0, size: int | None = None, source: Source | None = None
) -> int | NDArray[np.int64]:
    """Return the point of the grid nearest to `mean + sigma Z`, drawn exactly, where `Z` is a real standard normal
    number.

    So the distribution is that of the continuous Gaussian mechanism followed by rounding, which does not change its
    privacy.

    Parameters
    ----------
    sigma : Fraction, int or float
        Standard deviation in the unit of the grid, positive; a float means the decimal it prints as.
    grid : Grid
        Where the result lies.
    mean : Fraction, int or float
        The exact centre, any rational number; a float is taken as the binary number it is. No error shows it.
    size : int or None
        None for one int, otherwise an int64 array of that length.
    source : Source or None
        Where the words come from; None for the operating system.

    Returns
    -------
    int or array of int64
        Indices: `grid.value(i)` is the number. Time: about 15 microseconds for one, 0.15 each in a long array.

    Notes
    -----
    The index i has probability `Phi((i + 1/2 - m)/s) - Phi((i - 1/2 - m)/s)`, `m` and `s` the mean and sigma in
    steps. Rounding is post-processing.

    *The normal number.* A table gives a sign and a whole part g with weight `exp(-g^2/2)`; the fraction x is uniform;
    the pair is kept with probability `exp(-x (2g + x)/2)`. The product is `exp(-(g + x)^2/2)`: what is kept is normal
    (about 71 of 100 are). This is rejection as in Karney (2016), with a table in place of his coin tosses.

    *Real numbers.* x, and the uniform number that it is kept by, are streams of fair digits, of which 64 are looked at
    first. Floating point decides only what it can decide for every value of the digits not yet seen and every rounding
    error it can have made; the rest, about one draw in 10**13 for keeping and one in 10**6 for rounding, is decided
    with integers, and where these cannot decide either, 64 more digits are drawn. So no approximation is left.

    Examples
    --------
    >>> from holdfast.noise import Grid, Seeded
    >>> grid = Grid(-10)
    >>> rounded_gaussian(1, grid, mean=0.3, size=5, source=Seeded(1))
    array([ -697,  1049,    24,   143, -1710])
    >>> abs(grid.value(rounded_gaussian(0.01, grid, mean=Fraction(1, 3))) - 1 / 3) < 0.1
    True
    """
    if check_grid(grid) is None:
        raise InvalidParameter("grid must be a noise.Grid, got None")
    scale = rational("sigma", sigma, above=0) / grid.step
    centre = _exact(mean) / grid.step
    origin = resolve(source)
    if size is None:
        return _place(origin, _normal(origin), centre, scale)
    count = arguments.whole("size", size, at_least=0)
    if scale > _FARTHEST or abs(centre) > _FARTHEST:
        raise InvalidParameter("sigma and mean must be at most 2**48 grid steps for an array; give a coarser grid")
    result = np.empty(count, dtype=np.int64)
    filled = 0
    while filled < count:
        values = _candidates(origin, min((count - filled) * 3 // 2 + 16, _CHUNK), centre, scale)[: count - filled]
        result[filled : filled + values.size] = values
        filled += values.size
    return result


class _Real:
    """A real number `sign (whole + x)`: x is known to lie in `[digits, digits + 1) / 2**bits`."""

    __slots__ = ("bits", "code", "digits")

    def __init__(self, code: int, digits: int) -> None:
        self.code, self.digits, self.bits = code, digits, WORD_BITS

    def refine(self, source: Source) -> None:
        """Look at 64 more digits."""
        self.digits = (self.digits << WORD_BITS) | source.word()
        self.bits += WORD_BITS


@lru_cache(maxsize=1)
def _blocks() -> Table:
    """The distribution of sign and whole part: the code `2 g + s` has weight `exp(-g^2/2)`."""

    def weights(precision: int) -> Weights:
        return paired(quadratic_weights(Fraction(0), Fraction(1, 2), precision))

    return Table(weights)


def _normal(source: Source) -> _Real:
    """One standard normal number, its first digits."""
    table = _blocks()
    while True:
        code = table.draw(source)
        digits, coin = source.word(), source.word()
        x, u, whole = digits * _WORD, coin * _WORD, code >> 1
        exponent = x * (2 * whole + x) / 2
        chance = math.exp(-exponent)
        doubt = (exponent + 8) * _DOUBT
        real = _Real(code, digits)
        if u < chance - doubt or (u <= chance + doubt and _keep(source, real, coin)):
            return real


def _keep(source: Source, real: _Real, coin: int) -> bool:
    """Whether a uniform number that begins with `coin` is below `exp(-x (2g + x)/2)`, in integers."""
    whole, bits = real.code >> 1, WORD_BITS
    while True:
        one = 1 << real.bits
        precision = bits + 8
        near = Fraction(real.digits * (2 * whole * one + real.digits), 2 * one * one)
        far = Fraction((real.digits + 1) * (2 * whole * one + real.digits + 1), 2 * one * one)
        if (coin + 1) << 8 <= exp_lower(far, precision):
            return True
        if coin << 8 >= exp_lower(near, precision) + EXP_ERROR:
            return False
        real.refine(source)
        coin = (coin << WORD_BITS) | source.word()
        bits += WORD_BITS


def _place(source: Source, real: _Real, centre: Fraction, scale: Fraction) -> int:
    """`floor(centre + scale t + 1/2)` for the real number t, in integers; looks at more digits where it must."""
    p, q, a, c = centre.numerator, centre.denominator, scale.numerator, scale.denominator
    sign = -1 if real.code & 1 else 1
    while True:
        one = 1 << real.bits
        below = 2 * q * c << real.bits
        start = ((2 * p + q) * c << real.bits) + sign * 2 * q * a * ((real.code >> 1) * one + real.digits)
        end = start + sign * 2 * q * a
        # the digits not seen are all 0 or all 1 with probability 0, so both ends are left out
        low, high = min(start, end) // below, (max(start, end) - 1) // below
        if low == high:
            return low
        real.refine(source)


def _candidates(source: Source, count: int, centre: Fraction, scale: Fraction) -> NDArray[np.int64]:
    """The kept ones of `count` candidates, placed on the grid."""
    codes = _blocks().draws(source, count)
    digits, coins = source.words(count), source.words(count)
    x, whole = digits * _WORD, (codes >> 1).astype(np.float64)
    exponents = x * (2 * whole + x) / 2
    margin = np.exp(-exponents) - coins * _WORD
    doubt = (exponents + 8) * _DOUBT
    accepted = margin > doubt
    refined: dict[int, _Real] = {}
    for i in np.flatnonzero(np.abs(margin) <= doubt):
        real = _Real(int(codes[i]), int(digits[i]))
        accepted[i] = _keep(source, real, int(coins[i]))
        refined[int(i)] = real
    places = np.flatnonzero(accepted)
    t = whole[places] + x[places]
    middle, spread = float(centre) + 0.5, float(scale)
    y = middle + np.where(codes[places] & 1, -spread, spread) * t
    error = (abs(middle) + spread * (t + 1) + 1) * _PLACE
    values = np.floor(y - error).astype(np.int64)
    for i in np.flatnonzero(np.floor(y + error) != values):
        j = int(places[i])
        real = refined.get(j) or _Real(int(codes[j]), int(digits[j]))
        values[i] = _place(source, real, centre, scale)
    return values


def fine_grid(scale: float, halvings: int = 20) -> Grid:
    """Return a grid whose step is `2**-halvings` of the scale, or up to half of that: rounding adds next to nothing.

    Examples
    --------
    >>> fine_grid(0.75).exponent
    -21
    """
    return Grid(math.frexp(scale)[1] - 1 - halvings)


def _exact(mean: Any) -> Fraction:
    """The centre as the number it is; an error does not show it."""
    if isinstance(mean, Fraction):
        return mean
    if isinstance(mean, bool) or not isinstance(mean, Real) or not math.isfinite(mean):
        raise InvalidParameter("mean must be a finite number")
    return Fraction(int(mean) if isinstance(mean, Integral) else float(mean))
