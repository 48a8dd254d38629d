"""Private tests of means that need no normal distribution: one sample, two samples, and analysis of variance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES, blocks, generator
from holdfast.inference.private_tests.result import TestResult
from holdfast.inference.private_tests.statistic_noise import (
    LARGEST_PERMUTED_N,
    RESOLUTION,
    Alternative,
    StatisticNoise,
    permutation_decision,
    sample,
    whole_values,
)
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational


def between_statistic(values: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """`n` times `SA = sum_j n_j |mean_j - mean|`, a whole number; the values come group after group.

    Examples
    --------
    >>> int(between_statistic(np.array([0, 0, 1, 1]), np.array([2, 2])))
    8
    """
    n = values.shape[-1]
    sums = np.add.reduceat(values, np.concatenate([[0], np.cumsum(sizes)[:-1]]), axis=-1)
    total = values.sum(axis=-1, keepdims=True)
    return np.asarray(np.abs(n * sums - sizes * total).sum(axis=-1))


def anova_sensitivity(sizes: NDArray[np.int64]) -> int:
    """Return how far a neighbour moves `between_statistic` of whole values from 0 to `RESOLUTION`.

    Derived. A value of group g moves by d. With `u_j = n s_j - n_j S` (s_j sums of groups, S of all), `u_g` moves by
    `(n - n_g) d` and the others by `n_j d`, together `(n - n_g) d`. So by at most `2 (n - smallest size) RESOLUTION`:
    in the unit of values in [0, 1], `SA` moves by `2 (1 - smallest/n) < 2`.

    Swanberg et al. 2019 let a neighbour change group too and print 4 for SA and 3 for SE. Both can be had smaller: SA
    moves by at most 2 and SE by at most 2 even then (`docs/errata/private-tests.md` has the proofs).

    Examples
    --------
    >>> anova_sensitivity(np.array([10, 30])) // RESOLUTION
    60
    """
    return 2 * int(sizes.sum() - sizes.min()) * RESOLUTION


def anova(
    *samples: Any,
    low: float,
    high: float,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test privately whether several groups come from the same distribution, with power against different means.

    The statistic is `SA = sum_j n_j |mean_j - mean|`, with absolute deviations in place of the squares of the usual
    analysis of variance. Whether it is large is decided by a noisy permutation test: the values are assigned to the
    groups anew `m` times. The level is exact for values of any distribution. Only the decision is released.

    Parameters
    ----------
    *samples : arrays
        Two or more groups, one number per record. Sizes are public; a neighbour replaces one value within its group.
    low, high : float
        Public range; values are clipped to it. Clipping keeps the level and costs power where values lie outside.
    epsilon, rho, alpha, m, source, rng
        As in `one_sample`.

    Returns
    -------
    TestResult
        Decision only: the p-value is alpha or 1. Time: O(m n).

    Notes
    -----
    SA is the numerator of Swanberg et al. 2019. They compare a noisy F-ratio with one simulated from a normal
    distribution of estimated spread, whose level no theorem covers. See `permutation_decision`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> groups = [rng.normal(mean, 1, 400) for mean in (0, 0, 0.8)]
    >>> result = anova(*groups, low=-3, high=3, epsilon=1)
    >>> result.reject, result.level, result.p_value
    (True, 'exact', 0.05)
    """
    if len(samples) < 2:
        raise InvalidParameter(f"samples must be a list of at least two samples, got {len(samples)}")
    parts = [whole_values(f"samples[{i}]", part, low, high) for i, part in enumerate(samples)]
    values, sizes = np.concatenate(parts), np.array([part.size for part in parts])
    if values.size > LARGEST_PERMUTED_N:
        raise InvalidParameter(f"samples must hold at most {LARGEST_PERMUTED_N} records in all, got {values.size}")
    noise = StatisticNoise(2 * anova_sensitivity(sizes), epsilon, rho)
    alpha, stream = arguments.probability("alpha", alpha), generator(rng)

    def rearranged(k: int) -> NDArray[np.int64]:
        statistics = np.empty(k, dtype=np.int64)
        for block in blocks(k, values.size):
            rows = np.broadcast_to(values, (block.stop - block.start, values.size))
            statistics[block] = between_statistic(stream.permuted(rows, axis=1), sizes)
        return statistics

    return permutation_decision(
        "ANOVA (absolute, permutation)",
        int(between_statistic(values, sizes)),
        rearranged,
        noise,
        n=values.size,
        alpha=alpha,
        m=m,
        rng=stream,
        source=source,
        details={"sizes": sizes, "range": [low, high]},
    )


def two_sample(
    x: Any,
    y: Any,
    *,
    low: float,
    high: float,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    m: int = DEFAULT_REPLICATES,
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test privately whether two samples come from the same distribution, with power against different means.

    The statistic is proportional to the difference of the two means. A noisy permutation test decides whether it is
    large. The level is exact for values of any distribution. Only the decision is released. Two samples with the same
    mean but a different spread do not satisfy the null hypothesis, so the level does not hold for them.

    Parameters
    ----------
    x, y : arrays
        One number per record. Sizes are public.
    low, high : float
        Public range; values are clipped to it.
    alternative : {"two-sided", "greater", "less"}
        "greater": the mean of x is larger.
    epsilon, rho, alpha, m, source, rng
        As in `one_sample`.

    Returns
    -------
    TestResult
        Decision only: the p-value is alpha or 1.

    Notes
    -----
    The statistic is `n (sum of x) - n_x (sum of all) = n_x n_y (mean of x - mean of y)` in whole numbers.
    Sensitivity (derived): a value of x that moves by d moves it by `n_y d`, a value of y by `n_x d`; so by at
    most `max(n_x, n_y)` ranges. See `permutation_decision`. No studentising: a private spread would take budget
    and the exact level does not need it.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> two_sample(rng.normal(1, 1, 400), rng.normal(0, 1, 400), low=-3, high=3, epsilon=1).reject
    True
    """
    first, second = whole_values("x", x, low, high), whole_values("y", y, low, high)
    values, count = np.concatenate([first, second]), first.size
    _enough_room(values.size)
    side = _side(alternative)
    noise = StatisticNoise(2 * max(first.size, second.size) * RESOLUTION, epsilon, rho)
    alpha, stream = arguments.probability("alpha", alpha), generator(rng)
    total = int(values.sum())

    def statistic(rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(side(values.size * rows[..., :count].sum(axis=-1) - count * total))

    def rearranged(k: int) -> NDArray[np.int64]:
        statistics = np.empty(k, dtype=np.int64)
        for block in blocks(k, values.size):
            rows = np.broadcast_to(values, (block.stop - block.start, values.size))
            statistics[block] = statistic(stream.permuted(rows, axis=1))
        return statistics

    return permutation_decision(
        f"difference of means ({alternative}, permutation)",
        int(statistic(values)),
        rearranged,
        noise,
        n=values.size,
        alpha=alpha,
        m=m,
        rng=stream,
        source=source,
        details={"sizes": [first.size, second.size], "range": [low, high], "alternative": alternative},
    )


def one_sample(
    x: Any,
    *,
    center: float = 0.0,
    half_range: float,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    m: int = DEFAULT_REPLICATES,
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test privately whether values are symmetric about `center`, with power against another mean.

    The statistic is the sum of `x - center`, where each term is clipped to `half_range` on either side. A noisy
    permutation test, which flips the signs of the terms at random, decides whether it is large. The level is exact for
    any symmetric distribution. For pairs, give their differences. There is no test here of the mean alone, without
    symmetry, because without a normal distribution it would have no exact level.

    Parameters
    ----------
    x : array
        One number per record.
    center, half_range : float
        The centre under the null, and how far from it values count; public.
    epsilon, rho
        Exactly one: the decision is epsilon-DP, or rho-zCDP.
    alpha : float
        The significance level.
    alternative : {"two-sided", "greater", "less"}
        "greater": the mean is larger than the centre.
    m : int
        Sign flips.
    source : Source, optional
        Of the privacy noise; None for the operating system.
    rng : numpy Generator, optional
        Of the sign flips.

    Returns
    -------
    TestResult
        Decision only: the p-value is alpha or 1.

    Notes
    -----
    Sensitivity (derived): one term moves by at most `2 half_range`. Rearrangements flip signs with fair coins,
    under which a distribution that is symmetric about the centre does not change (`permutation_decision`).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> one_sample(rng.normal(0.8, 1, 400), half_range=3, epsilon=1).reject
    True
    """
    center, half_range = arguments.real("center", center), arguments.real("half_range", half_range, above=0)
    with np.errstate(over="ignore"):
        moved = np.clip(sample("x", x) - center, -half_range, half_range)
    # An odd function, so that a symmetric distribution stays symmetric.
    values = np.rint(moved / half_range * RESOLUTION).astype(np.int64)
    _enough_room(values.size)
    side = _side(alternative)
    noise = StatisticNoise(2 * 2 * RESOLUTION, epsilon, rho)
    alpha, stream = arguments.probability("alpha", alpha), generator(rng)

    def rearranged(k: int) -> NDArray[np.int64]:
        sums = np.empty(k, dtype=np.int64)
        for block in blocks(k, values.size):
            coins = stream.integers(0, 2, size=(block.stop - block.start, values.size), dtype=np.int8)
            sums[block] = 2 * (coins @ values) - values.sum()
        return np.asarray(side(sums))

    return permutation_decision(
        f"one mean ({alternative}, sign flips)",
        int(side(values.sum())),
        rearranged,
        noise,
        n=values.size,
        alpha=alpha,
        m=m,
        rng=stream,
        source=source,
        details={"center": center, "half_range": half_range, "alternative": alternative},
    )


def _side(alternative: Alternative) -> Callable[[Any], Any]:
    arguments.choice("alternative", alternative, ("two-sided", "greater", "less"))
    return {"two-sided": np.abs, "greater": np.positive, "less": np.negative}[alternative]


def _enough_room(n: int) -> None:
    if n > LARGEST_PERMUTED_N:
        raise InvalidParameter(f"there must be at most {LARGEST_PERMUTED_N} records, got {n}")


__all__ = ["one_sample", "two_sample"]
