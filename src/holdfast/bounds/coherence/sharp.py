"""The sharp sampling bound: how far two halves of a group drift apart by chance, without rounded constants.

For a group of `m` of `n` rows and a predictor fixed before the split, let `V` be the members in the first half. Given
`V = v`, Serfling's inequality for sampling without replacement bounds each side of `F_a(y) - F_b(y)` beyond `a`; the
complement of the sample is a sample too, so the larger half `M` may be used. Averaged over `V`:

    q(n, m, a) = sum_v Pr[V = v] min{1, 2 exp(-2 a^2 (v (m-v)/m) M/(M+1))},    M = max(v, m - v).

Between neighbouring prediction values the difference is constant and at both ends it is 0, so `m - 1` thresholds
decide, and `W1 <= 2 sup |F_a - F_b|` on [-1, 1]: `Pr[W1 > alpha] <= (m - 1) q(n, m, alpha/2)`. An empty half
counts as a failure. Derived, reviewed.

The definition asks for every group size from some size on, so the decay of `(m - 1) q` beyond a size has to be proved,
not sampled. `log_envelope` does that. `V` is a sum of `m` draws without replacement from zeros and ones in equal
number, so a convex function of it has at most the mean that it has under `Bin(m, 1/2)` (Hoeffding 1963, Theorem 4),
whose deviation is sub-Gaussian with variance proxy `m/4`. With `M/(M+1) >= m/(m+2)` and
`E exp(s X^2) <= (1 - s m/2)^(-1/2)` at `s = 2 a^2/(m+2)`,

    q(n, m, a) <= 2 exp(-(a^2/2) m^2/(m+2)) (1 - a^2)^(-1/2)    for a < 1,

and `(m - 1)` times that decreases in `m` once `m - 1 >= 8/(3 a^2)`. Holdfast's own; exact sums in the tests.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from holdfast import check
from holdfast.bounds.coherence.ratio import even_rows

_EXPONENT = 80.0  # terms beyond the window weigh less than exp(-80) of a bound on the sum
_MOST_STEPS = 200_000


def log_pointwise(n: int, size: int, gap: float) -> float:
    """Return `ln q(n, m, a)`, rounded up: a bound on `Pr[|F_a(y) - F_b(y)| >= a]` for a predictor fixed in advance.

    Cost: about `18 sqrt(m / (1 - a^2))` terms; what the window leaves out is bounded and added.

    Parameters
    ----------
    n : int
        Rows in the data set, even.
    size : int
        Rows of the group, in [1, n].
    gap : float
        The gap `a` between the distribution functions, in (0, 1).

    Examples
    --------
    >>> round(log_pointwise(400, 100, 0.3), 10)
    -3.6897791963
    """
    n = even_rows(n)
    size = check.whole("size", size, at_least=1, at_most=n)
    return _log_pointwise(n, size, check.real("gap", gap, above=0, below=1))


@lru_cache(maxsize=65536)
def _log_pointwise(n: int, m: int, a: float) -> float:
    half = n // 2
    first, last = max(0, m - half), min(m, half)
    spread = math.sqrt(_EXPONENT * m / (1 - a * a))
    low, high = max(first, math.floor(m / 2 - spread)), min(last, math.ceil(m / 2 + spread))
    v = np.arange(low, high + 1, dtype=np.float64)
    steps = np.log((m - v[:-1]) / (v[:-1] + 1)) + np.log((half - v[:-1]) / (half - m + v[:-1] + 1))
    weight = np.concatenate(([0.0], np.cumsum(steps)))
    # Normalised inside the window: what lies outside only makes the weights here larger. All terms are positive, so
    # plain sums lose some 1e-15 of themselves; the 1e-12 at the end covers that and the running sum.
    weight -= weight.max()
    weight -= math.log(float(np.exp(weight).sum()))
    larger = np.maximum(v, m - v)
    exponent = np.minimum(0.0, math.log(2) - 2 * a * a * (v * (m - v) / m) * (larger / (larger + 1)))
    terms = weight + exponent
    top = float(terms.max())
    found = top + math.log(float(np.exp(terms - top).sum()))
    if low > first or high < last:
        # E[exp(s X^2); |X| > w] <= exp(-(t - s) w^2) (1 - t m/2)^(-1/2), t midway between s = 2 a^2/m and 2/m
        width = min(m / 2 - low, high - m / 2)
        left_out = _log_peak(m, a) + 0.5 * math.log(2 / (1 - a * a)) - (1 - a * a) * width * width / m
        found = float(np.logaddexp(found, left_out))
    return min(0.0, found + 1e-12 * (1 + abs(found)))


def _log_peak(m: int, a: float) -> float:
    return math.log(2) - 0.5 * a * a * m * (m / (m + 2))


def log_envelope(size: int, gap: float) -> float:
    """Return `ln` of the closed bound on `(m - 1) q(n, m, a)`, whatever `n`; decreasing once `m - 1 >= 8/(3 a^2)`.

    Examples
    --------
    >>> log_envelope(100, 0.3) >= math.log(99) + log_pointwise(400, 100, 0.3)
    True
    """
    return math.log(max(size - 1, 1)) + _log_peak(size, gap) - 0.5 * math.log1p(-gap * gap)


def log_failure(n: int, size: int, gap: float) -> float:
    """Return `ln` of the bound on `Pr[W1 > 2 a]` at exactly this group size: `ln((m - 1) q)`. Arguments not checked."""
    return math.log(max(size - 1, 1)) + _log_pointwise(n, size, gap)


def log_failure_beyond(n: int, size: int, gap: float, thresholds: float | None = None) -> float:
    """Return the largest `ln((m' - 1) q(n, m', a))` over every group size `m'` from `size` to `n`, rigorously.

    Sizes are taken one by one until the decreasing envelope falls below what was found. That takes about
    `ln(1/(1-a^2))/a^2` sizes where the bound is of any use. With `thresholds` (in place of `m - 1`), for predictors
    that see few profiles.

    Examples
    --------
    >>> round(log_failure_beyond(5_000_000, 250_000, 0.1), 6)
    -1236.862884
    """
    fixed = None if thresholds is None else math.log(thresholds)
    turning = 1 + 8 / (3 * gap * gap)
    worst = -math.inf
    for m in range(size, n + 1):
        here = log_failure(n, m, gap) if fixed is None else fixed + _log_pointwise(n, m, gap)
        worst = max(worst, here)
        if m + 1 < turning and worst < math.log(0.5) and m - size < _MOST_STEPS:
            continue
        rest = log_envelope(m + 1, gap)
        if fixed is not None:
            rest += fixed - math.log(m)  # the envelope without its factor m - 1 decreases as well
        if m + 1 >= turning and rest <= worst:
            return worst
        if worst >= math.log(0.5) or m - size >= _MOST_STEPS:
            return max(worst, 0.0)  # no use: every promise needs less than one half
    return worst


def holds_beyond(n: int, size: int, gap: float, log_target: float, thresholds: float | None = None) -> bool:
    """Whether `(m' - 1) q(n, m', a)` is at most the target at every size from `size` to `n`. Arguments not checked."""
    fixed = None if thresholds is None else math.log(thresholds)
    here = log_failure(n, size, gap) if fixed is None else fixed + _log_pointwise(n, size, gap)
    return here <= log_target and log_failure_beyond(n, size, gap, thresholds) <= log_target


def smallest_size(n: int, gap: float, log_target: float, thresholds: float | None = None) -> float:
    """Return the smallest size that `holds_beyond` accepts; `inf` if not even `n` does. About 40 evaluations.

    Examples
    --------
    >>> smallest_size(1_000_000, 0.1, -math.log(20) - math.log(2))
    2440
    """
    if log_target >= 0 or not holds_beyond(n, n, gap, log_target, thresholds):
        return math.inf
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2 if high < 4 * max(low, 1) else max(low + 1, math.isqrt(max(low, 1) * high))
        if holds_beyond(n, middle, gap, log_target, thresholds):
            high = middle
        else:
            low = middle
    return high


__all__ = ["holds_beyond", "log_envelope", "log_failure", "log_failure_beyond", "log_pointwise", "smallest_size"]
