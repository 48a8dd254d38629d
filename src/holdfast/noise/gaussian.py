"""Discrete Gaussian noise, exact for every rational sigma."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.noise.coins import below, exp_coin, series_coins
from holdfast.noise.entropy import Source, resolve
from holdfast.noise.inputs import Rational, fits_vector, paired, ratio, signed, signed_each, symmetric
from holdfast.noise.table import Table, Weights, coin, quadratic_weights

_DIRECT = 32
_CHUNK = 1 << 15
_WORD_SIGMA = 1 << 31


@overload
def discrete_gaussian(sigma: Rational, size: None = None, *, source: Source | None = None) -> int: ...
@overload
def discrete_gaussian(sigma: Rational, size: int, *, source: Source | None = None) -> NDArray[np.int64]: ...
def discrete_gaussian(
    sigma: Rational, size: int | None = None, *, source: Source | None = None
) -> int | NDArray[np.int64]:
    """Return random whole numbers `k` with probability exactly proportional to `exp(-k**2 / (2 sigma**2))`.

    Added to an integer statistic of sensitivity D, one such number gives `D**2 / (2 sigma**2)`-zCDP, the same as
    continuous Gaussian noise. It is not exactly Gaussian-DP.

    Parameters
    ----------
    sigma : Fraction, int or float
        Positive; a float means the decimal it prints as. For arrays at most 2**48. Arrays use 64-bit arithmetic
        up to 2**31, and Python integers, one value at a time, beyond.
    size : int or None
        None for one int, otherwise an int64 array of that length.
    source : Source or None
        Where the words come from; None for the operating system.

    Returns
    -------
    int or array of int64

    Notes
    -----
    Canonne, Kamath and Steinke 2020, Theorem 4.

    For `sigma < 32` the distribution itself is tabled (`table.Table`) and nothing is rejected. Otherwise take the power
    of two L with `16 <= sigma/L < 32`. A table gives a sign s (0 or 1) and a block g, with weight
    `exp(-(L g)**2 / (2 sigma**2))`; r is uniform below L; the candidate is `L g + r`, or `-(L g + r + 1)` if s is 1,
    and with `t = r + s` it is kept with probability `exp(-t (2 L g + t) / (2 sigma**2))`. The product of the two is the
    weight of the candidate, and every integer is a candidate exactly once, so zero is not counted twice. About 97 of
    100 candidates are kept, or more. A new sigma costs about 0.3 ms for its table, which is kept for the last 32.

    Why 64 bits suffice for `sigma <= 2**31`: the exponent is `N / (2 sigma**2)` with the whole number
    `N = t (2 L g + t) <= L**2 (2 g + 1)`, below `2 sigma**2 <= 2**63` as long as `2 g + 1 < 2 (sigma/L)**2`. The first
    table ends where the tail is below `2**-64`, that is before `g = 10 sigma/L`, and `20 y + 1 < 2 y**2` for `y >= 16`.
    A block beyond comes only from a refined draw and is settled with Python integers. If `2 sigma**2` is not whole, let
    D be its floor: a coin of probability `N / (2 sigma**2)` is one of `N / D` and one of `D / (2 sigma**2)`.

    Examples
    --------
    >>> isinstance(discrete_gaussian(1000), int)
    True
    >>> from holdfast.noise import Seeded
    >>> discrete_gaussian(100, 6, source=Seeded(1))
    array([-70, 198, -20, 197,  41,  56])
    """
    sampler = _gaussian(*ratio("sigma", sigma))
    origin = resolve(source)
    if size is None:
        return sampler.draw(origin)
    count = arguments.whole("size", size, at_least=0)
    fits_vector("sigma", sigma)
    return sampler.draws(origin, count)


class _Blocks:
    """Blocks of L integers: a table for the sign and the block, a uniform place in it, and a coin."""

    __slots__ = ("_block", "_denominator", "_factor", "_far", "_floor", "_in_words", "_table", "_thinning")

    def __init__(self, n: int, d: int) -> None:
        shift = (n // (_DIRECT * d)).bit_length()
        self._block = 1 << shift  # n/d < 32 gives 1; otherwise n/d / 32 < 2**shift <= n/d / 16
        self._factor = d * d
        self._denominator = 2 * n * n
        rate = Fraction((self._block * d) ** 2, self._denominator)
        direct = self._block == 1

        def weights(precision: int) -> Weights:
            blocks = quadratic_weights(Fraction(0), rate, precision)
            return symmetric(blocks) if direct else paired(blocks)

        self._table = Table(weights)
        self._in_words = n <= _WORD_SIGMA * d
        self._floor, rest = divmod(self._denominator, self._factor)
        p, q = self._floor * self._factor, self._denominator
        self._thinning = coin(lambda precision: ((p << precision) // q, 1)) if rest and not direct else None
        # The largest code 2 g + s of which every exponent is below 1.
        self._far = 2 * ((n * n // (self._block * d) ** 2) - 1)

    def draw(self, source: Source) -> int:
        block = self._block
        if block == 1:
            return signed(self._table.draw(source))
        while True:
            coded = self._table.draw(source)
            place = below(source, block)
            if self._keep(source, coded, place):
                number = block * (coded >> 1) + place
                return ~number if coded & 1 else number

    def _keep(self, source: Source, coded: int, place: int) -> bool:
        t = place + (coded & 1)
        return exp_coin(source, self._factor * t * (2 * self._block * (coded >> 1) + t), self._denominator)

    def draws(self, source: Source, count: int) -> NDArray[np.int64]:
        if not self._in_words:
            return np.fromiter((self.draw(source) for _ in range(count)), dtype=np.int64, count=count)
        result = np.empty(count, dtype=np.int64)
        filled = 0
        while filled < count:
            wanted = min(count - filled, _CHUNK)
            if self._block == 1:
                values = signed_each(self._table.draws(source, wanted))
            else:
                values = self._candidates(source, wanted + wanted // 32 + 8)[:wanted]
            result[filled : filled + values.size] = values
            filled += values.size
        return result

    def _candidates(self, source: Source, count: int) -> NDArray[np.int64]:
        """The kept ones of `count` candidates."""
        coded = self._table.draws(source, count)
        places = (source.words(count) & np.uint64(self._block - 1)).astype(np.int64)
        t = places + (coded & 1)
        base = (coded >> 1) * self._block
        tops = t * (2 * base + t)
        far = np.flatnonzero(coded > self._far)
        tops[far] = 0
        accepted = series_coins(source, tops.astype(np.uint64), self._floor, self._thinning)
        for i in far:
            accepted[i] = self._keep(source, int(coded[i]), int(places[i]))
        base += places
        return (base ^ -(coded & 1))[accepted]


@lru_cache(maxsize=32)
def _gaussian(n: int, d: int) -> _Blocks:
    return _Blocks(n, d)
