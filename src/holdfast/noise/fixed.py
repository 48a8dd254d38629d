"""exp(-x) for rational x in integer arithmetic, with a proven error. All tables of the samplers are made of it.

A number in [0, 1] is held as an integer that counts units of `2**-precision`. Every function returns lower bounds and
says how far below the truth they can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

EXP_ERROR = 2


def exp_lower(x: Fraction, precision: int) -> int:
    """A lower bound on `2**precision * exp(-x)` that is at most `EXP_ERROR` below it.

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
    """The first weights of a law on 0, 1, 2, ... in fixed point, and a bound on the rest.

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
    """The weights `exp(-(linear * g + square * g**2))` of g = 0, 1, 2, ...

    Parameters
    ----------
    linear, square : Fraction
        At least 0. If `count` is None, not both 0.
    precision : int
        Number of binary places.
    count : int or None
        How many weights the law has; None for all g, listed until the tail is negligible.

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
