"""Signed integers from draws of non-negative ones, and the limit of 64-bit arrays.

The integers are numbered 0, -1, 1, -2, 2, ...: the code `2 g` stands for g and `2 g + 1` for `-1 - g`. No integer has
two codes, so zero cannot be counted twice.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from holdfast.errors import InvalidParameter
from holdfast.noise.fixed import Weights
from holdfast.noise.inputs import Rational

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
    """The integer of a code.

    Examples
    --------
    >>> [signed(code) for code in range(5)]
    [0, -1, 1, -2, 2]
    """
    return ~(code >> 1) if code & 1 else code >> 1


def signed_each(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The integers of codes, written over them."""
    signs = -(codes & 1)
    codes >>= 1
    codes ^= signs
    return codes


def fits_vector(name: str, value: Rational) -> None:
    """Refuse a scale whose arrays might not fit 64 bits."""
    if value > VECTOR_SCALE:
        raise InvalidParameter(f"{name} must be at most 2**48 steps for an array of 64-bit integers; coarsen the grid")
