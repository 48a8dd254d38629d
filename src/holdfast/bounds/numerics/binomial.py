"""Logarithms of binomial tails and coefficients, and the divergence between two coins, with bounded rounding."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from holdfast.bounds.numerics.exact import UNIT

# --- Binomial tail ----------------------------------------------------------------------------------------------------
# Upper bounds on the logarithms of binomial tails, tight to rounding error and right however far out the tail is.

_TERMS = 1 << 14  # beyond them the rest of a tail is bounded by a geometric series: a little too much, never too little
_BLOCK = 1 << 21  # numbers that are held at once for many tails
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


def log_at_least_half(k: npt.NDArray[np.int64], n: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The bounds of `log_at_least` at `p = 1/2` for many counts at once, `n < 2 k <= 2 n` each.

    Examples
    --------
    >>> np.round(np.exp(log_at_least_half(np.array([8, 10]), np.array([10, 10]))), 7).tolist()
    [0.0546875, 0.0009766]
    """
    found = np.empty(k.size)
    terms = np.minimum(n - k, np.minimum(_TERMS, 64 + np.ceil(10 * np.sqrt(k * ((n - k) / n)))).astype(np.int64))
    order = np.argsort(terms, kind="stable")  # those of a block take about as many terms
    begin = 0
    while begin < order.size:
        most = int(terms[order[min(begin + _BLOCK // (1 + int(terms[order[begin]])), order.size - 1)]])
        block = order[begin : begin + max(1, _BLOCK // (1 + most))]
        begin += block.size
        found[block] = _log_mass_half(k[block], n[block]) + np.log(_sums(n[block] - k[block], k[block], terms[block]))
    return found


def _sums(
    first: npt.NDArray[np.int64], below: npt.NDArray[np.int64], count: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """`_sum` at odds of one, each with so many terms of its own."""
    steps = np.arange(int(count.max(initial=0)))
    ratios = (first[:, None] - steps).astype(np.float64)
    ratios /= below[:, None] + 1.0 + steps
    ratios[steps >= count[:, None]] = 0.0
    with np.errstate(under="ignore"):
        products = np.multiply.accumulate(ratios, axis=1)
    total = 1.0 + products.sum(axis=1)
    rest = (count > 0) & (count < first)
    at = np.flatnonzero(rest), count[rest] - 1
    last = ratios[at]
    total[rest] += products[at] * (last / (1 - last))  # below one: more than half are wins
    return np.asarray(total * (1 + (8 + 6 * count) * UNIT))


def _log_mass_half(k: npt.NDArray[np.int64], n: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """`_log_mass` at one half, for `n < 2 k`."""
    every = k == n
    inner, left = np.where(every, 1, k).astype(np.float64), np.where(every, 1, n - k).astype(np.float64)
    whole = np.where(every, 2, n).astype(np.float64)
    first, share, half = inner * np.log(2 * (inner / whole)), np.log(left / whole), math.log1p(-0.5)
    second = left * (share - half)
    error = 8 * UNIT * (inner + np.abs(first) + left * (np.abs(share) + abs(half)))
    size = 0.5 * np.log(whole / (2 * math.pi * inner * left))
    apart = size + _stirlings(whole) - _stirlings(inner) - _stirlings(left)
    found = apart + 8 * UNIT * np.abs(apart) + 1e-13 - first - second + error
    all_wins = n * math.log(0.5)
    return np.where(every, all_wins + 8 * UNIT * np.abs(all_wins) + 1e-13, found)


def _stirlings(k: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """`_stirling` of whole numbers from 1 on."""
    square = 1.0 / (k * k)
    large = (1 / 12 - (1 / 360 - (1 / 1260 - (1 / 1680 - square / 1188) * square) * square) * square) / k
    return np.where(k < 16, np.array(_SMALL)[np.minimum(k, 15).astype(np.int64) - 1], large)


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
