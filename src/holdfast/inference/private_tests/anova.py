"""Do several groups have one mean? Analysis of variance with absolute deviations, private and exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES, blocks, generator
from holdfast.inference.private_tests.permutation import LARGEST_N, RESOLUTION, permutation_decision, whole_values
from holdfast.inference.private_tests.result import TestResult
from holdfast.inference.private_tests.statistic_noise import StatisticNoise
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


def sensitivity(sizes: NDArray[np.int64]) -> int:
    """How far a neighbour moves `between_statistic` of whole values from 0 to `RESOLUTION`.

    Derived. A value of group g moves by d. With `u_j = n s_j - n_j S` (s_j sums of groups, S of all), `u_g` moves by
    `(n - n_g) d` and the others by `n_j d`, together `(n - n_g) d`. So by at most `2 (n - smallest size) RESOLUTION`:
    in the unit of values in [0, 1], `SA` moves by `2 (1 - smallest/n) < 2`.

    Swanberg et al. 2019 let a neighbour change group too and print 4 for SA and 3 for SE. Both can be had smaller: SA
    moves by at most 2 and SE by at most 2 even then (`docs/errata/private-tests.md` has the proofs).

    Examples
    --------
    >>> sensitivity(np.array([10, 30])) // RESOLUTION
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
    """Test privately whether groups come from one law, against different means.

    The statistic is `SA = sum_j n_j |mean_j - mean|`, the numerator of Swanberg et al. 2019: absolute deviations in
    place of squares. They compare a noisy F-ratio with one simulated from a normal law of estimated spread, whose level
    no theorem covers. Here the values are dealt to the groups anew, `m` times, and a noisy permutation test decides
    (`permutation`): the level is exact for values of any law, and only the decision is released.

    Parameters
    ----------
    *samples : arrays
        Two or more groups, one number a record. Sizes are public; a neighbour replaces one value within its group.
    low, high : float
        Public range; values are clipped to it. Clipping keeps the level and costs power where values lie outside.
    epsilon, rho
        Exactly one: the decision is epsilon-DP, or rho-zCDP.
    alpha : float
        The level.
    m : int
        Rearrangements.
    source : Source, optional
        Of the privacy noise; None for the operating system.
    rng : numpy Generator, optional
        Of the rearrangements.

    Returns
    -------
    TestResult
        Decision only: the p-value is alpha or 1. Time: O(m n).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> groups = [rng.normal(mean, 1, 400) for mean in (0, 0, 0.8)]
    >>> result = anova(*groups, low=-3, high=3, epsilon=1)
    >>> result.reject, result.level, result.p_value
    (True, 'exact', 0.05)
    """
    if len(samples) < 2:
        raise InvalidParameter(f"samples must be at least two, got {len(samples)}")
    parts = [whole_values(f"samples[{i}]", part, low, high) for i, part in enumerate(samples)]
    values, sizes = np.concatenate(parts), np.array([part.size for part in parts])
    if values.size > LARGEST_N:
        raise InvalidParameter(f"samples must hold at most {LARGEST_N} records in all, got {values.size}")
    noise = StatisticNoise(2 * sensitivity(sizes), epsilon, rho)
    alpha, stream = check.probability("alpha", alpha), generator(rng)

    def rearranged(k: int) -> NDArray[np.int64]:
        found = np.empty(k, dtype=np.int64)
        for block in blocks(k, values.size):
            rows = np.broadcast_to(values, (block.stop - block.start, values.size))
            found[block] = between_statistic(stream.permuted(rows, axis=1), sizes)
        return found

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


__all__ = ["anova", "between_statistic", "sensitivity"]
