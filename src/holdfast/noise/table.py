"""Exact draws from a law with computable probabilities: inversion with digits revealed only as far as needed.

Let `C_1 <= C_2 <= ...` be the cumulative probabilities of the outcomes 0, 1, ... and U uniform on [0, 1]. Then the
number of `C_j <= U` has the law. U is a stream of fair digits, of which 64 are looked at first. They place U in a cell
of width `2**-64`; if no `C_j` can lie in that cell the outcome is known, whatever the other digits are. Otherwise 64
more digits are drawn, and so on. So the outcome is that of a real uniform number and exact real probabilities, although
every number ever computed is an integer. Revealing digits only as needed goes back to Knuth and Yao (1976).

Each table entry `a_j` satisfies `a_j <= 2**bits * C_j < a_j + 2`. A word below `a_j` is below `C_j`, a word of at least
`a_j + 2` is above it, and the two words between are the open cells. At 64 digits a table of 300 entries leaves a draw
open with probability below `2**-54`.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from holdfast.noise.entropy import WORD_BITS, Source
from holdfast.noise.fixed import Weights

_GUARD = 64
_OPEN = np.uint16(0xFFFF)
_LOOKUP_FROM = 2048
VECTOR_CAP = 1 << 13
"""Outcomes of vector draws stop here. The laws of this package get there with probability below 10**-290: the slowest
is discrete Laplace of scale 6, whose outcome 2**13 stands for the integer 2**12, and exp(-2**12 / 6) < 10**-296."""


class Table:
    """A law on 0, 1, 2, ... given by its weights to any precision.

    Parameters
    ----------
    weights : callable
        Maps a precision to the law's `Weights`; the weights need not sum to 1.
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
        """The table at `bits` digits: integers `a_j` with `a_j <= 2**bits * C_j < a_j + 2`, not falling.

        The list ends with the law, or where all later cells are open anyway.

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
        found = self._cells().take(shorts)
        outcomes = found.astype(np.int64)
        rest = np.flatnonzero(found == _OPEN)
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
    """The law of a coin whose probability of outcome 1 is known to any precision.

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
    """The law of a coin whose outcomes 0 and 1 have weights 1 and w, with w known to any precision.

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
