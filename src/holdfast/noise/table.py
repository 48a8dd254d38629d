"""Exact draws from a distribution with computable probabilities: inversion that reveals only the digits it needs.

Let `C_1 <= C_2 <= ...` be the cumulative probabilities of the outcomes 0, 1, ... and U uniform on [0, 1]. Then the
number of `C_j <= U` has the distribution. U is a stream of fair digits, of which 64 are looked at first. They place U
in a cell of width `2**-64`; if no `C_j` can lie in that cell the outcome is known, whatever the other digits are.
Otherwise 64 more digits are drawn, and so on. So the outcome is that of a real uniform number and exact real
probabilities, although every number ever computed is an integer. Revealing digits only as needed goes back to Knuth and
Yao (1976).

Each table entry `a_j` satisfies `a_j <= 2**bits * C_j < a_j + 2`. A word below `a_j` is below `C_j`, a word of at least
`a_j + 2` is above it, and the two words between are the open cells. At 64 digits a table of 300 entries leaves a draw
open with probability below `2**-54`.

Fixed-point arithmetic
----------------------
A number in [0, 1] is held as an integer that counts units of `2**-precision`. Every function returns lower bounds and
says how far below the truth they can be.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from holdfast.noise.entropy import WORD_BITS, Source

EXP_ERROR = 2


def exp_lower(x: Fraction, precision: int) -> int:
    """Return a lower bound on `2**precision * exp(-x)` that is at most `EXP_ERROR` below it.

    Parameters
    ----------
    x : Fraction
        At least 0.
    precision : int
        Number of binary places, at least 8.

    Returns
    -------
    int
        `v` with `v <= 2**precision * exp(-x) <= v + 2`; exact at 0.

    Notes
    -----
    With `y = x / 2**s < 2**-8` the alternating Taylor series of `exp(-y)` is summed in units of `2**-work`, then
    squared `s` times. Let E be the error in units of `2**-work`.

    - Rounding y down costs at most 1. Each term is two floors of the previous term times `y / k`, so its error is below
      `2 + e/256` with e the error before, hence below 2.01. With K terms and a remainder below 2.01 when a term has
      become 0, the sum has `E <= 2.01 (K + 1) + 1 <= 3 K + 4`, and `K <= work / 8 + 2`.
    - A square of a number of at most 1, rounded down, has `E' <= 2 E + 2`. After s of them `E <= 2**s (3 K + 6)`.
    - `work = precision + s + g` with `g = 8 + bit_length(precision)` makes this at most half a unit of `2**-precision`:
      `2 (3 K + 6) <= 0.75 work + 24 <= 256 precision < 2**g`.

    Costs about `precision / 12` multiplications of `precision`-bit integers.

    Examples
    --------
    >>> exp_lower(Fraction(1), 32) / 2**32
    0.36787944...
    >>> exp_lower(Fraction(0), 16) == 2**16
    True
    """
    if x == 0:
        return 1 << precision
    n, d = x.numerator, x.denominator
    if n > precision * d:
        return 0  # exp(-x) < 2**-x < 2**-precision
    s = (n // d).bit_length() + 8
    g = 8 + precision.bit_length()
    work = precision + s + g
    y = (n << (work - s)) // d
    total = term = 1 << work
    k = 0
    while term:
        k += 1
        term = (term * y >> work) // k
        total += -term if k & 1 else term
    for _ in range(s):
        total = total * total >> work
    half = 1 << (s + g - 1)
    return max(total - half, 0) >> (s + g)


@dataclass(frozen=True, slots=True)
class Weights:
    """The first weights of a distribution on 0, 1, 2, ... in fixed point, and a bound on the rest.

    Attributes
    ----------
    lower : list of int
        `lower[j] <= 2**precision * weight_j <= lower[j] + error`.
    error : int
        At most this much is missing in each.
    tail : int
        `2**precision` times the sum of all weights that are not listed is at most this; 0 says that all are listed.
    """

    lower: list[int]
    error: int
    tail: int = 0


def quadratic_weights(linear: Fraction, square: Fraction, precision: int, count: int | None = None) -> Weights:
    """Return the weights `exp(-(linear * g + square * g**2))` of g = 0, 1, 2, ...

    Parameters
    ----------
    linear, square : Fraction
        At least 0. If `count` is None, not both 0.
    precision : int
        Number of binary places.
    count : int or None
        How many weights the distribution has; None for all g, listed until the tail is negligible.

    Notes
    -----
    The ratio of two neighbours is `r_g = exp(-(linear + square (2 g + 1)))`, and `r_{g+1} = r_g exp(-2 square)`. All
    factors are lower bounds in [0, 1], so a product rounded down is one. The ratio is at most `2 + 3 g` units low, by
    induction, and the weight at most `sum_{i<g} (3 + 3 i) <= 2 (g + 1)**2`. The ratios fall, so that the weights from g
    on sum to at most `w_g / (1 - r_g)`.
    """
    one = 1 << precision
    ratio = exp_lower(linear + square, precision)
    bend = exp_lower(2 * square, precision)
    negligible = 1 << 32
    bent = square != 0
    lower: list[int] = []
    weight = one
    while len(lower) != count and (count is not None or weight > negligible):
        lower.append(weight)
        weight = weight * ratio >> precision
        if bent:
            ratio = ratio * bend >> precision
    m = len(lower)
    error = 2 * (m + 1) ** 2
    if count is not None:
        return Weights(lower, error)
    gap = one - ratio - (2 + 3 * m)
    return Weights(lower, error, ((weight + error) * one // gap + 1) if gap > 0 else one)


_GUARD = 64
_OPEN = np.uint16(0xFFFF)
_LOOKUP_FROM = 2048
VECTOR_CAP = 1 << 13
"""Outcomes of vector draws stop here. The distributions of this package get there with probability below 10**-290: the
slowest is discrete Laplace of scale 6, whose outcome 2**13 stands for the integer 2**12, and exp(-2**12 / 6) <
10**-296."""


class Table:
    """A distribution on 0, 1, 2, ... given by its weights to any precision.

    Parameters
    ----------
    weights : callable
        Maps a precision to the distribution's `Weights`; the weights need not sum to 1.
    width : int
        Digits per word of the source: 64, except in tests that enumerate every word.

    Notes
    -----
    The first table costs some hundred integer operations an entry; a scalar draw one word and one binary search; a
    vector draw 16 bits, one look-up and, in about one of a hundred cases, 64 bits and a search.

    Examples
    --------
    A coin that shows 0 three times as often as 1.

    >>> from holdfast.noise.entropy import Seeded
    >>> coin = Table(lambda precision: Weights([3 << precision, 1 << precision], 0))
    >>> int(coin.draws(Seeded(1), 1000).sum())
    270
    """

    __slots__ = ("_array", "_first", "_lookup", "_weights", "_width")

    def __init__(self, weights: Callable[[int], Weights], *, width: int = WORD_BITS) -> None:
        self._weights = weights
        self._width = width
        self._first = self.thresholds(width)
        self._array: NDArray[np.uint64] | None = None
        self._lookup: NDArray[np.uint16] | None = None

    def thresholds(self, bits: int) -> list[int]:
        """Return the table at `bits` digits: integers `a_j` with `a_j <= 2**bits * C_j < a_j + 2`, not falling.

        The list ends with the distribution, or where all later cells are open anyway.

        Notes
        -----
        With m weights, `S_j` the sum of the first j lower bounds and `[T, T']` an interval for the total, C_j lies in
        `[S_j / T', (S_j + j error) / T]`, whose width is at most `(2 m error + tail) / T`. That is made at most
        `2**-bits`, so `floor(2**bits S_j / T')` will do.
        """
        precision = bits
        while True:
            precision += _GUARD
            known = self._weights(precision)
            total = sum(known.lower)
            missing = len(known.lower) * known.error + known.tail
            if (missing + len(known.lower) * known.error) << bits <= total:
                break
        upper = total + missing
        listed = known.lower if known.tail else known.lower[:-1]
        table = [(below << bits) // upper for below in accumulate(listed)]
        # From the first entry of at least 2**bits - 2 on, every cell above is open.
        return table[: bisect_left(table, (1 << bits) - 2) + 1]

    def draw(self, source: Source) -> int:
        """One outcome."""
        word = source.word()
        table = self._first
        at = bisect_right(table, word)
        if at and word - table[at - 1] <= 1:
            return self._refine(word, source)
        return at

    def draws(self, source: Source, count: int) -> NDArray[np.int64]:
        """`count` independent outcomes, at most `VECTOR_CAP` each.

        The first 16 digits index a look-up table of all cells that hold no threshold. The other draws take their
        remaining digits and search.
        """
        if count < _LOOKUP_FROM:
            return self._search(source.words(count), source)
        shorts = source.shorts(count)
        cells = self._cells().take(shorts)
        outcomes = cells.astype(np.int64)
        rest = np.flatnonzero(cells == _OPEN)
        words = (shorts[rest].astype(np.uint64) << np.uint64(48)) | (source.words(rest.size) >> np.uint64(16))
        outcomes[rest] = self._search(words, source)
        return outcomes

    def _search(self, words: NDArray[np.uint64], source: Source) -> NDArray[np.int64]:
        if self._array is None:
            # A leading entry that no word is just above; only the two largest words look open to it, and refining a
            # draw that was settled changes nothing.
            self._array = np.array([(1 << WORD_BITS) - 2, *self._first], dtype=np.uint64)
        at = np.searchsorted(self._array[1:], words, side="right")
        for i in np.flatnonzero(words - self._array[at] <= 1):
            at[i] = min(self._refine(int(words[i]), source), VECTOR_CAP)
        return at.astype(np.int64, copy=False)

    def _cells(self) -> NDArray[np.uint16]:
        """For each 16-digit prefix the outcome, or `_OPEN` where a threshold lies in its cell."""
        if self._lookup is None:
            entries = np.array(self._first, dtype=np.uint64)
            shift = np.uint64(WORD_BITS - 16)
            cells = (entries >> shift).astype(np.int64)
            after = (np.minimum(entries, np.uint64((1 << WORD_BITS) - 2)) + np.uint64(1)) >> shift
            lookup = np.cumsum(np.bincount(cells, minlength=1 << 16)).astype(np.uint16)
            lookup[cells] = _OPEN
            lookup[after.astype(np.int64)] = _OPEN
            self._lookup = lookup
        return self._lookup

    def _refine(self, word: int, source: Source) -> int:
        """The outcome of a draw whose first digits are `word` and lie in an open cell."""
        bits = self._width
        while True:
            word = (word << self._width) | source.word()
            bits += self._width
            table = self.thresholds(bits)
            at = bisect_right(table, word)
            if not at or word - table[at - 1] > 1:
                return at


def coin(success: Callable[[int], tuple[int, int]], *, width: int = WORD_BITS) -> Table:
    """Return the distribution of a coin whose probability of outcome 1 is known to any precision.

    Parameters
    ----------
    success : callable
        Maps a precision to `(v, error)` with `v <= 2**precision * p <= v + error`.
    width : int
        As for `Table`.
    """

    def weights(precision: int) -> Weights:
        low, error = success(precision)
        return Weights([max((1 << precision) - low - error, 0), low], error)

    return Table(weights, width=width)


def odds(weight: Callable[[int], tuple[int, int]], *, width: int = WORD_BITS) -> Table:
    """Return the distribution of a coin whose outcomes 0 and 1 have weights 1 and w, with w known to any precision.

    Parameters
    ----------
    weight : callable
        Maps a precision to `(v, error)` with `v <= 2**precision * w <= v + error`.
    width : int
        As for `Table`.
    """

    def weights(precision: int) -> Weights:
        low, error = weight(precision)
        return Weights([1 << precision, low], error)

    return Table(weights, width=width)
