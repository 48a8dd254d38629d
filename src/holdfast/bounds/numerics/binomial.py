"""Logarithms of binomial tails and coefficients, and the divergence between two coins, with bounded rounding."""

from __future__ import annotations

import math

import numpy as np

from holdfast.bounds.numerics.exact import UNIT

# --- Binomial tail ----------------------------------------------------------------------------------------------------
# Upper bounds on the logarithms of binomial tails, tight to rounding error and right however far out the tail is.

_TERMS = 1 << 14  # beyond them the rest of a tail is bounded by a geometric series: a little too much, never too little
_SMALL = tuple(math.lgamma(k + 1) - (k + 0.5) * math.log(k) + k - 0.5 * math.log(2 * math.pi) for k in range(1, 16))


def log_at_most(k: int, n: int, p: float) -> tuple[float, float]:
    """Return a bound on `ln P(Bin(n, p) <= k)`, and the sum `P(Bin <= k) / P(Bin = k)` that goes with it.

    For `0 <= k < n`, `k/n <= p < 1`. Downwards from `k` each probability is the one above it times a ratio, and the
    ratios fall. So the sum of any first terms plus a geometric series for the rest is an upper bound.

    Examples
    --------
    >>> round(math.exp(log_at_most(2, 10, 0.5)[0]), 9), (1 + 10 + 45) / 1024
    (0.0546875, 0.0546875)
    """
    total = _sum(k, n - k, (1 - p) / p, _terms(k, n))
    return _log_mass(k, n, p) + math.log(total), total


def log_at_least(k: int, n: int, p: float) -> tuple[float, float]:
    """A bound on `ln P(Bin(n, p) >= k)`, and the sum `P(Bin >= k) / P(Bin = k)`, for `0 < k <= n`, `0 < p <= k/n`.

    Examples
    --------
    >>> round(math.exp(log_at_least(8, 10, 0.5)[0]), 9)
    0.0546875
    """
    total = _sum(n - k, k, p / (1 - p), _terms(k, n))
    return _log_mass(k, n, p) + math.log(total), total


def _terms(k: int, n: int) -> int:
    """About how many terms can matter: ten standard deviations."""
    return min(_TERMS, 64 + math.ceil(10 * math.sqrt(k * (n - k) / n)))


def _sum(first: int, below: int, odds: float, terms: int) -> float:
    """`1 + r1 + r1 r2 + ...` with ratios `r_j = odds (first - j + 1)/(below + j)` for `j` up to `first`; rounded up.

    The ratios fall. Beyond so many terms the rest is bounded by a geometric series with the last ratio.
    """
    count = min(first, terms)
    if count == 0:
        return 1.0
    ratios = np.arange(float(first), first - count, -1.0)
    ratios /= np.arange(below + 1.0, below + count + 1)
    ratios *= odds
    last = float(ratios[-1])
    with np.errstate(under="ignore"):
        products = np.multiply.accumulate(ratios)
    rest = 0.0 if count == first else float(products[-1]) * (last / (1 - last) if last < 1 else math.inf)
    return (1.0 + float(np.add.reduce(products)) + rest) * (1 + (8 + 6 * count) * UNIT)


def _log_mass(k: int, n: int, p: float) -> float:
    """`ln P(Bin(n, p) = k)` by Stirling's series around the divergence, as Loader does; rounded up."""
    if k == 0:
        return _raised(n * math.log1p(-p))
    if k == n:
        return _raised(n * math.log(p))
    first = k * math.log(k / (n * p))
    share, left = math.log1p(-k / n) if 2 * k <= n else math.log((n - k) / n), math.log1p(-p)
    second = (n - k) * (share - left)
    error = 8 * UNIT * (k + abs(first) + (n - k) * (abs(share) + abs(left)))
    size = 0.5 * math.log(n / (2 * math.pi * k * (n - k)))
    return _raised(size + _stirling(n) - _stirling(k) - _stirling(n - k)) - first - second + error


def _stirling(k: int) -> float:
    """`ln k!` less `(k + 1/2) ln k - k + ln(2 pi)/2`."""
    if k < 16:
        return _SMALL[k - 1]
    square = 1.0 / (float(k) * k)
    return (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - square / 1188) * square) * square) * square) / k


def _raised(x: float) -> float:
    return x + 8 * UNIT * abs(x) + 1e-13


# --- Divergence -------------------------------------------------------------------------------------------------------
# The divergence between two coins, with a bound on its rounding error, so that its inverses can be certified.


def binary_kl(q: float, p: float) -> float:
    """`q ln(q/p) + (1-q) ln((1-q)/(1-p))` in nats, for `q` in [0, 1] and `p` in (0, 1).

    Examples
    --------
    >>> round(binary_kl(0.5, 0.25), 12), binary_kl(0.3, 0.3)
    (0.143841036226, 0.0)
    """
    first, second = _divergence_terms(q, p)
    return max(0.0, first + second)


def binary_kl_at_least(q: float, p: float) -> float:
    """Return a number that is certainly not above the exact divergence of the two doubles, and close to it.

    The two terms have opposite signs and nearly cancel where `q` is near `p`; what rounding can do to the sum is a few
    units of the terms' own sizes. Each term is a product of one logarithm, so sixteen units are ample.

    Examples
    --------
    >>> binary_kl(0.5, 0.25) - 1e-14 < binary_kl_at_least(0.5, 0.25) < binary_kl(0.5, 0.25)
    True
    """
    first, second = _divergence_terms(q, p)
    return first + second - 16 * UNIT * (abs(first) + abs(second))


def _divergence_terms(q: float, p: float) -> tuple[float, float]:
    return _term(q, p, p - q), _term(1.0 - q, 1.0 - p, q - p)


def _term(q: float, p: float, gap: float) -> float:
    """`q ln(q/p)`, with `gap = p - q` given so that no digits are lost where the two are near."""
    if q == 0.0:
        return 0.0
    return -q * math.log1p(gap / q) if abs(gap) < 0.5 * q else q * math.log(q / p)


# --- Counting ---------------------------------------------------------------------------------------------------------
# Logarithms of binomial coefficients, exact while they are cheap and rounded up beyond.


def log_choose(n: int, k: int) -> float:
    """`ln C(n, k)`: from the exact integer for up to a thousand factors, else from log-gamma, rounded up.

    Examples
    --------
    >>> round(log_choose(10, 2), 10)
    3.8066624898
    """
    if min(k, n - k) <= 1000:
        return math.log(math.comb(n, k))
    # log-gamma is good to a few units in the last place of its largest term
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + 1e-14 * math.lgamma(n + 1)
