"""The largest of `k` absolute noises: its quantile and its expected shortfall.

The noises are independent of everything, so these are exact statements about `k` independent draws.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import erfcinv, ndtr, ndtri

_SQRT2 = math.sqrt(2)
_PANELS = 6
_REACH = 12.0


def normal_quantile(questions: int, beta: float) -> float:
    """The number that the largest of `questions` absolute standard normals exceeds with probability `beta`, exactly.

    Examples
    --------
    >>> round(normal_quantile(1000, 0.05), 10)
    4.0496605496
    """
    return _SQRT2 * float(erfcinv(-math.expm1(math.log1p(-beta) / questions)))


@lru_cache(maxsize=1)
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on [0, _REACH], denser near 0, where the integrand bends."""
    x, w = np.polynomial.legendre.leggauss(32)
    ends = _REACH * np.linspace(0, 1, _PANELS + 1) ** 2
    half = np.diff(ends) / 2
    return (ends[:-1, None] + half[:, None] * (1 + x)).ravel(), (half[:, None] * w).ravel()


def normal_excess(questions: int, level: float) -> float:
    """`E (W - level)_+` for `W` the largest of `questions` absolute standard normals.

    The integral of `P(W > w)` past `level`, by Gauss-Legendre quadrature over twelve units; what lies beyond is below
    `2 k Q(12) < 1e-20` for fewer than `1e12` questions.

    Examples
    --------
    >>> round(normal_excess(1000, 4.05), 10)
    0.0112887887
    """
    x, w = _nodes()
    tails = -np.expm1(questions * np.log1p(-np.minimum(2 * ndtr(-(level + x)), 1 - 2.0**-53)))
    return float(np.dot(w, tails))


@lru_cache(maxsize=4096)
def normal_shortfall(questions: int, beta: float) -> float:
    """`omega`, the expected shortfall `ES_beta(W)` of the largest of `questions` absolute standard normals.

    `ES_beta(W) = q + E (W - q)_+ / beta`, `q` the upper `beta` quantile: the mean of the worst `beta` part.

    Examples
    --------
    >>> round(normal_shortfall(1000, 0.05), 9)
    4.275775535
    """
    q = normal_quantile(questions, beta)
    return q + normal_excess(questions, q) / beta


def square_shortfall(beta: float) -> float:
    """`kappa`, the root of the expected shortfall of one squared normal: `sqrt(1 + 2 z phi(z) / beta)`.

    `z` is the upper `beta / 2` quantile of the standard normal and `phi` its density.

    Examples
    --------
    >>> round(square_shortfall(0.05), 9)
    2.362627621
    """
    z = -float(ndtri(beta / 2))
    return math.sqrt(1 + 2 * z * math.exp(-z * z / 2) / (math.sqrt(2 * math.pi) * beta))
