"""Oracles of the noise tests: probabilities by direct summation, and one goodness-of-fit test for all of them.

Every statistical test here rejects below `LEVEL` = 1e-6. Seeds are fixed, so a test that passes keeps passing.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, ndtr

LEVEL = 1e-6
_LEAST_EXPECTED = 20.0

Cdf = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def laplace_cdf(scale: float) -> Cdf:
    """`P[k <= x]` of the distribution proportional to `exp(-|k| / scale)`, at whole x."""
    q = math.exp(-1 / scale)

    def cdf(x: NDArray[np.float64]) -> NDArray[np.float64]:
        lower = np.exp(-np.abs(x) / scale) / (1 + q)  # P[k <= x] for x < 0
        upper = np.exp(-(np.maximum(x, 0) + 1) / scale) / (1 + q)  # P[k > x] for x >= 0
        return np.where(x < 0, lower, 1 - upper)

    return cdf


def geometric_cdf(scale: float) -> Cdf:
    return lambda x: np.where(x < 0, 0.0, -np.expm1(-(np.maximum(x, -1) + 1) / scale))


def gaussian_cdf(sigma: float) -> Cdf:
    """By summation below sigma 2000; beyond it the midpoint rule, whose error is below 1e-8 there."""
    if sigma > 2000:
        return lambda x: ndtr((x + 0.5) / sigma)
    end = math.ceil(14 * sigma) + 2
    k = np.arange(-end, end + 1, dtype=np.float64)
    mass = np.exp(-0.5 * (k / sigma) ** 2)
    running = np.cumsum(mass) / mass.sum()
    return lambda x: running[np.clip(np.floor(x).astype(np.int64) + end, 0, 2 * end)] * (x >= -end)


def fit(draws: NDArray[np.int64], cdf: Cdf) -> float:
    """p-value of the chi-square test of the whole distribution, one bin an integer where possible, tails pooled.

    Two tests, with up to 500 bins for local faults and up to 40 for slow drifts; the smaller p-value is doubled.
    """
    count = draws.size
    low, high = int(draws.min()) - 2, int(draws.max()) + 2
    stride = max(1, -(-(high - low) // 40_000))
    edges = np.arange(low, high + stride, stride, dtype=np.float64)  # the bin after edge e is (e, next]
    mass = np.diff(np.concatenate(([0.0], cdf(edges), [1.0])))
    seen = np.bincount(np.searchsorted(edges, draws, side="left"), minlength=mass.size)
    return min(1.0, 2 * min(chi_square(seen, mass * count, bins) for bins in (500, 40)))


def chi_square(seen: NDArray[np.int64], expected: NDArray[np.float64], most_bins: int = 500) -> float:
    """Pearson's test after pooling neighbours until each bin expects enough."""
    need = max(_LEAST_EXPECTED, expected.sum() / most_bins)
    pooled_seen, pooled_expected = [], []
    s = e = 0.0
    for a, b in zip(seen, expected, strict=True):
        s, e = s + float(a), e + float(b)
        if e >= need:
            pooled_seen.append(s)
            pooled_expected.append(e)
            s = e = 0.0
    if pooled_expected:
        pooled_seen[-1] += s
        pooled_expected[-1] += e
    if len(pooled_expected) < 2:
        return 1.0
    o, x = np.array(pooled_seen), np.array(pooled_expected)
    return float(chdtrc(o.size - 1, ((o - x) ** 2 / x).sum()))


def same_law(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    """p-value of the two-sample chi-square test."""
    low = int(min(a.min(), b.min()))
    size = int(max(a.max(), b.max())) - low + 1
    x = np.bincount(a - low, minlength=size).astype(float)
    y = np.bincount(b - low, minlength=size).astype(float)
    xs, ys = [0.0], [0.0]
    for p, q in zip(x, y, strict=True):
        xs[-1] += p
        ys[-1] += q
        if xs[-1] + ys[-1] >= 2 * _LEAST_EXPECTED:
            xs.append(0.0)
            ys.append(0.0)
    if len(xs) > 1:
        xs[-2] += xs.pop()
        ys[-2] += ys.pop()
    u, v = np.array(xs), np.array(ys)
    statistic = ((math.sqrt(b.size / a.size) * u - math.sqrt(a.size / b.size) * v) ** 2 / (u + v)).sum()
    return float(chdtrc(u.size - 1, statistic))
