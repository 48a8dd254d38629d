"""The laws of the noise as numbers: variances and tails, for intervals and statistics. No sampling here."""

from __future__ import annotations

import math

from holdfast import check


def discrete_laplace_variance(scale: float) -> float:
    """Variance of the law proportional to `exp(-|k| / scale)`: `2 q / (1 - q)**2` with `q = exp(-1/scale)`.

    Derived: `1 / (2 sinh(1 / (2 scale))**2)`, which keeps its digits for small and large scales.

    Parameters
    ----------
    scale : float
        Positive.

    Examples
    --------
    >>> discrete_laplace_variance(20)
    799.8333...
    """
    scale = check.real("scale", scale, above=0)
    half = 0.5 / scale
    if half > 700:
        return 0.0
    width = 1 / math.sinh(half)
    return 0.5 * width * width


def discrete_gaussian_variance(sigma: float) -> float:
    """Variance of the law proportional to `exp(-k**2 / (2 sigma**2))`; it never exceeds `sigma**2`.

    The sum itself for `sigma < 2`; beyond it the difference to `sigma**2` is below 1e-30 of it (Poisson summation gives
    `8 pi**2 sigma**2 exp(-2 pi**2 sigma**2)` to first order), and `sigma**2` is returned.

    Parameters
    ----------
    sigma : float
        Positive.

    Examples
    --------
    >>> discrete_gaussian_variance(0.5**0.5)
    0.49897...
    """
    sigma = check.real("sigma", sigma, above=0)
    if sigma >= 2:
        return sigma * sigma
    weights = [math.exp(-0.5 * (k / sigma) * (k / sigma)) for k in range(1, 80)]
    total = 1 + 2 * math.fsum(weights)
    return 2 * math.fsum(k * k * w for k, w in enumerate(weights, start=1)) / total


def discrete_laplace_tail(scale: float, at_least: int) -> float:
    """`P[|k| >= at_least]` under discrete Laplace noise: `2 q**at_least / (1 + q)`, or 1 at 0.

    Parameters
    ----------
    scale : float
        Positive.
    at_least : int
        At least 0.

    Examples
    --------
    >>> discrete_laplace_tail(1, 3)
    0.0727...
    """
    scale = check.real("scale", scale, above=0)
    k = check.whole("at_least", at_least, at_least=0)
    return 1.0 if k == 0 else 2 * math.exp(-k / scale) / (1 + math.exp(-1 / scale))


def discrete_gaussian_tail(sigma: float, at_least: int) -> float:
    """An upper bound on `P[|k| >= at_least]` under discrete Gaussian noise: `2 exp(-m**2 / (2 sigma**2))`, at most 1.

    Derived: `E exp(t k) <= exp(t**2 sigma**2 / 2)` for every real t, because completing the square leaves the ratio of
    `sum_k exp(-(k - c)**2 / (2 sigma**2))` at `c = t sigma**2` to its value at 0, where it is largest (its Fourier
    coefficients are positive). Markov's inequality at `t = m / sigma**2` on both sides gives the bound.

    Parameters
    ----------
    sigma : float
        Positive.
    at_least : int
        At least 0.

    Examples
    --------
    >>> discrete_gaussian_tail(1, 3)
    0.0222...
    """
    sigma = check.real("sigma", sigma, above=0)
    m = check.whole("at_least", at_least, at_least=0)
    return min(1.0, 2 * math.exp(-0.5 * (m / sigma) * (m / sigma)))


__all__ = [
    "discrete_gaussian_tail",
    "discrete_gaussian_variance",
    "discrete_laplace_tail",
    "discrete_laplace_variance",
]
