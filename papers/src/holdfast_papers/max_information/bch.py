"""Primitive narrow-sense binary BCH codes with a bounded-distance decoder (Berlekamp-Massey and Chien search)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast_papers.max_information.codes import Decoded, Words, remainder_matrix, times_modulo_two
from holdfast_papers.max_information.gf2m import Field, field, multiply_polynomials


@dataclass(frozen=True, eq=False)
class BCH:
    """The code of length 2^m - 1 that corrects `radius` errors; made by `bch`.

    The generator vanishes at the primitive element's powers 1 to 2 `radius`, so the minimum distance is at least
    2 `radius` + 1 and the redundancy at most `m * radius`. Decoding one word with errors takes time of order
    `radius^2 + n * radius`; a codeword costs only its syndromes.
    """

    field: Field
    radius: int
    generator: int
    parity: NDArray[np.float32]
    checks: NDArray[np.float32]

    @property
    def name(self) -> str:
        """What people call it."""
        return f"BCH m={self.field.m}"

    @property
    def n(self) -> int:
        """Length of a word."""
        return self.field.order

    @property
    def redundancy(self) -> int:
        """Degree of the generator."""
        return self.generator.bit_length() - 1

    def remainders(self, words: Words) -> Words:
        """Each word modulo the generator."""
        return times_modulo_two(words, self.parity)

    def syndromes(self, words: Words) -> NDArray[np.int64]:
        """Each word's polynomial at the powers 1 to 2 `radius` of the primitive element, as field elements."""
        m, radius = self.field.m, self.radius
        bits = times_modulo_two(words, self.checks).reshape(len(words), radius, m).astype(np.int64)
        values = np.zeros((len(words), 2 * radius), dtype=np.int64)
        values[:, ::2] = bits @ (1 << np.arange(m))
        for power in range(2, 2 * radius + 1, 2):  # squaring is linear here: S_2j = S_j^2
            half = values[:, power // 2 - 1]
            square = self.field.powers[2 * self.field.logs[half] % self.field.order]
            values[:, power - 1] = np.where(half == 0, 0, square)
        return values

    def decode(self, words: Words) -> Decoded:
        """For each word the codeword within `radius`, if there is one."""
        syndromes = self.syndromes(words)
        codewords = words.copy()
        distances = np.zeros(len(words), dtype=np.int64)
        for row in np.flatnonzero(syndromes.any(axis=1)):
            errors = self._errors(syndromes[row].tolist())
            distances[row] = -1 if errors is None else len(errors)
            if errors is not None:
                codewords[row, errors] ^= 1
        return Decoded(codewords, distances)

    def _errors(self, syndromes: list[int]) -> NDArray[np.int64] | None:
        """The places of at most `radius` errors with these syndromes, or None.

        If the shortest recurrence has length L <= radius and its polynomial has L different roots, the syndromes are
        the power sums of those L places with some coefficients, and S_2j = S_j^2 makes every coefficient 0 or 1. So
        roots equal in number to the degree are the whole test: what is corrected is a codeword.
        """
        locator, length = berlekamp_massey(self.field, syndromes)
        degree = len(locator) - 1
        if degree != length or length > self.radius:
            return None
        logs = self.field.logs[np.asarray(locator)]
        exponents = np.arange(degree + 1)[logs >= 0]
        places = np.arange(self.n)
        terms = self.field.powers[(logs[logs >= 0][:, None] - exponents[:, None] * places) % self.field.order]
        roots = np.flatnonzero(np.bitwise_xor.reduce(terms, axis=0) == 0)
        return roots if len(roots) == degree else None


def berlekamp_massey(over: Field, sequence: list[int]) -> tuple[list[int], int]:
    """The shortest linear recurrence of a sequence: its connection polynomial, lowest first, and its length.

    Examples
    --------
    >>> berlekamp_massey(field(3), [1, 1, 1, 1])
    ([1, 1], 1)
    """
    powers, logs, order = over.powers.tolist(), over.logs.tolist(), over.order
    current, previous = [1], [1]
    length, shift, last = 0, 1, 1
    for i, value in enumerate(sequence):
        discrepancy = value
        for j in range(1, min(length, len(current) - 1) + 1):
            if current[j] and sequence[i - j]:
                discrepancy ^= powers[logs[current[j]] + logs[sequence[i - j]]]
        if discrepancy == 0:
            shift += 1
            continue
        factor = (logs[discrepancy] - logs[last]) % order
        updated = current + [0] * (len(previous) + shift - len(current))
        for j, coefficient in enumerate(previous):
            if coefficient:
                updated[j + shift] ^= powers[logs[coefficient] + factor]
        if 2 * length <= i:
            previous, last, shift, length = current, discrepancy, 1, i + 1 - length
        else:
            shift += 1
        current = updated
    while current[-1] == 0:
        current.pop()
    return current, length


@lru_cache(maxsize=16)
def bch(m: int, radius: int) -> BCH:
    """The BCH code of length 2^m - 1 that corrects `radius` errors.

    Examples
    --------
    >>> code = bch(4, 2)
    >>> code.n, code.redundancy, bin(code.generator)
    (15, 8, '0b111010001')
    """
    over = field(m)
    arguments.whole("radius", radius, at_least=1, at_most=over.order // 2)
    generator, covered = 1, set[int]()
    for power in range(1, 2 * radius, 2):
        if power not in covered:
            factor = over.minimal_polynomial(power)
            generator = multiply_polynomials(generator, factor)
            covered |= {power * 2**i % over.order for i in range(m)}
    redundancy = generator.bit_length() - 1
    if redundancy >= over.order:
        raise InvalidParameter(f"radius must leave codewords: {radius} errors use up all {over.order} bits")
    exponents = np.outer(np.arange(over.order), np.arange(1, 2 * radius, 2)) % over.order
    values = over.powers[exponents]
    checks = (values[:, :, None] >> np.arange(m)) & 1
    return BCH(
        over,
        radius,
        generator,
        remainder_matrix(generator, over.order),
        checks.reshape(over.order, radius * m).astype(np.float32),
    )


__all__ = ["BCH", "bch", "berlekamp_massey"]
