"""The divergence between two coins, with a bound on its rounding error, so that its inverses can be certified."""

from __future__ import annotations

import math

from holdfast.bounds.exact import UNIT


def binary_kl(q: float, p: float) -> float:
    """`q ln(q/p) + (1-q) ln((1-q)/(1-p))` in nats, for `q` in [0, 1] and `p` in (0, 1).

    Examples
    --------
    >>> round(binary_kl(0.5, 0.25), 12), binary_kl(0.3, 0.3)
    (0.143841036226, 0.0)
    """
    first, second = _terms(q, p)
    return max(0.0, first + second)


def binary_kl_at_least(q: float, p: float) -> float:
    """A number that is certainly not above the exact divergence of the two doubles, and close to it.

    The two terms have opposite signs and nearly cancel where `q` is near `p`; what rounding can do to the sum is a few
    units of the terms' own sizes. Each term is a product of one logarithm, so sixteen units are ample.

    Examples
    --------
    >>> binary_kl(0.5, 0.25) - 1e-14 < binary_kl_at_least(0.5, 0.25) < binary_kl(0.5, 0.25)
    True
    """
    first, second = _terms(q, p)
    return first + second - 16 * UNIT * (abs(first) + abs(second))


def _terms(q: float, p: float) -> tuple[float, float]:
    return _term(q, p, p - q), _term(1.0 - q, 1.0 - p, q - p)


def _term(q: float, p: float, gap: float) -> float:
    """`q ln(q/p)`, with `gap = p - q` given so that no digits are lost where the two are near."""
    if q == 0.0:
        return 0.0
    return -q * math.log1p(gap / q) if abs(gap) < 0.5 * q else q * math.log(q / p)


__all__ = ["binary_kl", "binary_kl_at_least"]
