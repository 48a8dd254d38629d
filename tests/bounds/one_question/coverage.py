"""Exact coverage: the probability of a miss, summed over every outcome, at the truths where it is largest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from scipy.special import gammaln, xlog1py, xlogy

Interval = tuple[float, float]


def binomial_masses(n: int, p: float) -> np.ndarray:
    k = np.arange(n + 1.0)
    return np.exp(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1) + xlogy(k, p) + xlog1py(n - k, -p))


def worst_binomial_miss(intervals: Sequence[Interval], n: int) -> float:
    """The largest probability, over all `p`, that the interval of a Bin(n, p) count misses `p`.

    Between two neighbouring ends the missing counts do not change, and a miss is likeliest just outside an end or where
    the mass of the missing counts peaks, so the ends, their neighbours and a grid are tried.
    """
    low, high = np.array([i[0] for i in intervals]), np.array([i[1] for i in intervals])
    ends = np.concatenate([low, high])
    tried = np.concatenate([np.linspace(0, 1, 201), np.nextafter(ends, 0), np.nextafter(ends, 1)])
    worst = 0.0
    for p in np.unique(np.clip(tried, 0, 1)):
        missed = (p < low) | (p > high)
        worst = max(worst, float(binomial_masses(n, float(p))[missed].sum()))
    return worst


def outcomes(n: int, cells: int) -> Iterator[tuple[int, ...]]:
    """Every way to put `n` rows into `cells` cells."""
    if cells == 1:
        yield (n,)
        return
    for first in range(n + 1):
        for rest in outcomes(n - first, cells - 1):
            yield (first, *rest)


def miss_probability(
    n: int, law: Sequence[float], truth: float, interval_of: Callable[[tuple[int, ...]], Interval]
) -> float:
    """Probability that the interval of the counts of `n` rows drawn from `law` misses `truth`."""
    total = 0.0
    for counts in outcomes(n, len(law)):
        mass = math.exp(
            math.lgamma(n + 1)
            + sum(c * math.log(p) - math.lgamma(c + 1) if c else 0.0 for c, p in zip(counts, law, strict=True))
        )
        low, high = interval_of(counts)
        total += mass if not low <= truth <= high else 0.0
    return total
