"""Arithmetic in the finite fields GF(2^m), by tables of powers of a primitive element."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments

# Bit i is the coefficient of z^i. `field` checks that each is primitive, so a slip here cannot pass unseen.
_PRIMITIVE = {
    2: 0x7,
    3: 0xB,
    4: 0x13,
    5: 0x25,
    6: 0x43,
    7: 0x89,
    8: 0x11D,
    9: 0x211,
    10: 0x409,
    11: 0x805,
    12: 0x1053,
    13: 0x201B,
    14: 0x4443,
    15: 0x8003,
    16: 0x1100B,
}


@dataclass(frozen=True, eq=False)
class Field:
    """GF(2^m): `powers[i]` is the primitive element to the power `i`, for `i` below twice the order; `logs` inverts it.

    Elements are integers whose bits are the coefficients over the basis 1, z, ..., z^(m-1); addition is exclusive or.
    """

    m: int
    order: int
    powers: NDArray[np.int64]
    logs: NDArray[np.int64]

    def multiply(self, a: int, b: int) -> int:
        """The product of two elements.

        Examples
        --------
        >>> field(3).multiply(0b010, 0b100) == 0b011
        True
        """
        return int(self.powers[self.logs[a] + self.logs[b]]) if a and b else 0

    def minimal_polynomial(self, exponent: int) -> int:
        """The smallest polynomial over GF(2) that vanishes at the primitive element's power `exponent`, as a bit mask.

        Its roots are the powers in the cyclotomic coset of `exponent`: double it until it returns.

        Examples
        --------
        >>> bin(field(3).minimal_polynomial(1)), bin(field(3).minimal_polynomial(3))
        ('0b1011', '0b1101')
        """
        coefficients = [1]
        for power in cyclotomic_coset(exponent, self.order):
            root = int(self.powers[power])
            shifted = [0, *coefficients]
            scaled = [self.multiply(root, c) for c in coefficients] + [0]
            coefficients = [a ^ b for a, b in zip(shifted, scaled, strict=True)]
        return sum(c << i for i, c in enumerate(coefficients))


@cache
def field(m: int) -> Field:
    """The field with 2^m elements, `2 <= m <= 16`. Building it takes time and memory of order 2^m.

    Examples
    --------
    >>> field(4).order
    15
    """
    arguments.whole("m", m, at_least=2, at_most=16)
    order = (1 << m) - 1
    powers = np.zeros(2 * order, dtype=np.int64)
    logs = np.full(order + 1, -1, dtype=np.int64)
    value = 1
    for i in range(order):
        if logs[value] != -1:
            raise ArithmeticError(f"the polynomial for m={m} is not primitive")
        powers[i] = powers[i + order] = value
        logs[value] = i
        value <<= 1
        if value > order:
            value ^= _PRIMITIVE[m]
    return Field(m, order, powers, logs)


def cyclotomic_coset(exponent: int, order: int) -> tuple[int, ...]:
    """`exponent`, doubled again and again modulo `order` until it returns.

    Examples
    --------
    >>> cyclotomic_coset(3, 15)
    (3, 6, 12, 9)
    """
    members = [exponent % order]
    while (following := 2 * members[-1] % order) != members[0]:
        members.append(following)
    return tuple(members)


def multiply_polynomials(a: int, b: int) -> int:
    """The product of two polynomials over GF(2), each a bit mask.

    Examples
    --------
    >>> bin(multiply_polynomials(0b11, 0b11))
    '0b101'
    """
    product = 0
    while b:
        if b & 1:
            product ^= a
        a <<= 1
        b >>= 1
    return product


def remainder_polynomial(a: int, divisor: int) -> int:
    """The remainder of `a` modulo `divisor`, polynomials over GF(2) as bit masks.

    Examples
    --------
    >>> bin(remainder_polynomial(0b1000, 0b1011))
    '0b11'
    """
    degree = divisor.bit_length()
    while a.bit_length() >= degree:
        a ^= divisor << (a.bit_length() - degree)
    return a


__all__ = ["Field", "cyclotomic_coset", "field", "multiply_polynomials", "remainder_polynomial"]
