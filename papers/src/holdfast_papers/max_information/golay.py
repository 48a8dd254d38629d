"""The binary Golay code [23, 12, 7] with its exact decoder."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from holdfast_papers.max_information.codes import Decoded, Words, remainder_matrix, times_modulo_two

GENERATOR = 0b1010_1110_0011  # z^11 + z^9 + z^7 + z^6 + z^5 + z + 1
_WEIGHTS = 1 << np.arange(11, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Golay:
    """The perfect code of length 23: every word lies within distance 3 of exactly one codeword.

    `leaders[s]` is the lightest word of the coset with remainder `s`, as 23 bits. The table is the decoder. Building it
    checks perfection: the 2048 words of weight at most 3 have 2048 different remainders.

    Examples
    --------
    >>> code = golay()
    >>> word = np.zeros((1, 23), dtype=np.uint8)
    >>> word[0, [2, 7, 20]] = 1
    >>> decoded = code.decode(word)
    >>> int(decoded.codewords.sum()), int(decoded.distances[0])
    (0, 3)
    """

    parity: NDArray[np.float32]
    leaders: Words
    name: str = "Golay [23,12,7]"
    n: int = 23
    redundancy: int = 11
    radius: int = 3

    def remainders(self, words: Words) -> Words:
        """Each word modulo the generator, 11 bits."""
        return times_modulo_two(words, self.parity)

    def decode(self, words: Words) -> Decoded:
        """For each word its nearest codeword; there always is one."""
        leaders = self.leaders[self.cosets(words)]
        return Decoded(words ^ leaders, leaders.sum(axis=1, dtype=np.int64))

    def cosets(self, words: Words) -> NDArray[np.int64]:
        """The number of each word's coset, from 0 to 2047."""
        return np.asarray(self.remainders(words).astype(np.int64) @ _WEIGHTS)


@lru_cache(maxsize=1)
def golay() -> Golay:
    """The code, built once."""
    parity = remainder_matrix(GENERATOR, 23)
    errors = np.zeros((2048, 23), dtype=np.uint8)
    places = itertools.chain.from_iterable(itertools.combinations(range(23), weight) for weight in range(4))
    for row, chosen in enumerate(places):
        errors[row, list(chosen)] = 1
    cosets = times_modulo_two(errors, parity).astype(np.int64) @ _WEIGHTS
    if len(np.unique(cosets)) != 2048:
        raise ArithmeticError("the generator does not make the Golay code")
    leaders = np.empty_like(errors)
    leaders[cosets] = errors
    return Golay(parity, leaders)


__all__ = ["GENERATOR", "Golay", "golay"]
