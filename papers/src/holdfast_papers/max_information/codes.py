"""Binary cyclic codes: what the lower-bound construction needs of a code, whatever its decoder.

A word of length `n` is an array of 0 and 1; entry `i` is the coefficient of z^i. The code is the set of multiples of
its generator g(z) modulo z^n - 1, so the cosets of the code are indexed by the remainders modulo g(z).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast_papers.max_information.gf2m import remainder_polynomial

Words = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Decoded:
    """The nearest codewords of a batch and their distances; distance -1 where none lies within the radius.

    A row of `codewords` whose distance is -1 has no meaning.
    """

    codewords: Words
    distances: NDArray[np.int64]


class Code(Protocol):
    """A cyclic code with a bounded-distance decoder."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def n(self) -> int:
        """Length of a word."""

    @property
    def redundancy(self) -> int:
        """Number of parity bits, the degree of the generator."""

    @property
    def radius(self) -> int:
        """How many errors the decoder corrects; the minimum distance is at least twice this plus one."""

    def remainders(self, words: Words) -> Words:
        """Each word modulo the generator: `redundancy` bits that name its coset."""

    def decode(self, words: Words) -> Decoded:
        """For each word the codeword within the radius, if there is one."""


def remainder_matrix(generator: int, n: int) -> NDArray[np.float32]:
    """Row `i` holds z^i modulo the generator. Times a word, modulo 2, it is the word's remainder.

    In single precision, because that is where matrix products are fast; entries sum to at most `n`, far below 2^24,
    so every product is exact.

    Examples
    --------
    >>> remainder_matrix(0b111, 3)
    array([[1., 0.],
           [0., 1.],
           [1., 1.]], dtype=float32)
    """
    redundancy = generator.bit_length() - 1
    matrix = np.zeros((n, redundancy), dtype=np.float32)
    power = 1
    for i in range(n):
        matrix[i] = bits_of(power, redundancy)
        power = remainder_polynomial(power << 1, generator)
    return matrix


def times_modulo_two(words: Words, matrix: NDArray[np.float32]) -> Words:
    """The product of binary words with a binary matrix over GF(2).

    Examples
    --------
    >>> times_modulo_two(np.array([[1, 1, 1]], dtype=np.uint8), remainder_matrix(0b111, 3))
    array([[0, 0]], dtype=uint8)
    """
    counts = words.astype(np.float32) @ matrix
    return (counts.astype(np.int64) & 1).astype(np.uint8)


def bits_of(value: int, length: int) -> Words:
    """The lowest `length` bits of an integer, lowest first.

    Examples
    --------
    >>> bits_of(0b0110, 4)
    array([0, 1, 1, 0], dtype=uint8)
    """
    raw = np.frombuffer(value.to_bytes((length + 7) // 8, "little"), dtype=np.uint8)
    return np.unpackbits(raw, bitorder="little")[:length]


def integer_of(bits: Words) -> int:
    """The integer whose bits these are, lowest first.

    Examples
    --------
    >>> integer_of(bits_of(12345, 20))
    12345
    """
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def rank(rows: Words) -> int:
    """The rank over GF(2) of a binary matrix, by elimination on whole numbers.

    Examples
    --------
    >>> rank(np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=np.uint8))
    2
    """
    pivots: dict[int, int] = {}
    for row in rows:
        value = integer_of(row)
        while value and value.bit_length() in pivots:
            value ^= pivots[value.bit_length()]
        if value:
            pivots[value.bit_length()] = value
    return len(pivots)


def random_words(rng: np.random.Generator, count: int, n: int) -> Words:
    """Uniform words."""
    return rng.integers(0, 2, size=(count, n), dtype=np.uint8)


__all__ = [
    "Code",
    "Decoded",
    "Words",
    "bits_of",
    "integer_of",
    "random_words",
    "rank",
    "remainder_matrix",
    "times_modulo_two",
]
