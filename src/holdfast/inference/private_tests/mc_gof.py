"""Goodness of fit with a simulated null: exact at every n and for every law of the noise (Algorithms 8 and 16)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.inference.private_tests.classical import pearson
from holdfast.inference.private_tests.goodness_of_fit import setting
from holdfast.inference.private_tests.monte_carlo import (
    DEFAULT_REPLICATES,
    critical_value,
    generator,
    null_counts,
    p_value,
    rank,
)
from holdfast.inference.private_tests.new_stat_gof import nonprojected_statistic, projected_statistic
from holdfast.inference.private_tests.noise_law import NoiseLaw
from holdfast.inference.private_tests.released import source_warnings
from holdfast.inference.private_tests.result import TestResult
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational

Statistic = Literal["pearson", "projected", "nonprojected"]
Kernel = Callable[[npt.ArrayLike, int, npt.ArrayLike, float], Any]

TWO_CELLS = "two cells: proportion is exact too and needs half the variance of noise for the same epsilon"


def kernel(statistic: Statistic) -> Kernel:
    """The statistic as a function of `(noisy counts, n, p0, variance)`."""
    check.choice("statistic", statistic, ("pearson", "projected", "nonprojected"))
    if statistic == "pearson":
        return lambda noisy, n, p0, variance: pearson(noisy, n, p0)
    return projected_statistic if statistic == "projected" else nonprojected_statistic


def gof(
    counts: Any,
    p0: Any,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    statistic: Statistic = "pearson",
    n: int | None = None,
    neighbours: str = "replace-one",
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test `counts ~ Multinomial(n, p0)` privately, comparing with `m` simulated noisy histograms (MCGOF).

    The p-value is `(1 + #{replicates at least as large}) / (m + 1)`. `P(p <= alpha) <= alpha` under the null for every
    n, p0 and law of the noise (Theorems 6.1.5 and 7.4.1; printed), because the replicates have the very law of the
    released counts, grid included, and are drawn afresh at every call. Holds for `m >= 1/alpha - 1` (spec 9, row 3).

    Parameters
    ----------
    counts : Counts, list of whole numbers, or NoisyCounts
        Exact counts, which get noise once, or counts that were released before.
    p0 : list
        The null probabilities, positive, summing to one.
    rho, epsilon, noise
        One of them: discrete Gaussian noise, discrete Laplace noise, or any `NoiseLaw`.
    alpha : float
        The level.
    m : int
        Replicates, 999 by default; fewer lose power.
    statistic : {"pearson", "projected", "nonprojected"}
        "pearson" is Algorithm 8. "projected" has more power, above all with Laplace noise (Algorithm 16 for a
        simple null).
    n, neighbours
        As in `counts.histogram`.
    source : Source, optional
        Of the privacy noise; None for the operating system.
    rng : numpy Generator, optional
        Of the replicates, never of the privacy noise; None for a fresh one.

    Returns
    -------
    TestResult
        Level exact. Time: `m` multinomials; about 1 ms at m = 999, d = 4.

    Examples
    --------
    >>> result = gof([5200, 1500, 1700, 1600], [0.5, 1 / 6, 1 / 6, 1 / 6], epsilon=1, statistic="projected")
    >>> result.level, result.reject, result.cost
    ('exact', True, PureDP(epsilon=1.0))
    >>> gof([2, 1, 0], [0.2, 0.4, 0.4], epsilon=0.1, m=99).inconclusive      # exact even for three records
    False
    """
    found = setting(counts, p0, rho=rho, epsilon=epsilon, noise=noise, alpha=alpha, n=n, neighbours=neighbours)
    rank(m, found.alpha)
    compute = kernel(statistic)
    stream = generator(rng)
    warnings: tuple[str, ...] = ()
    if m < DEFAULT_REPLICATES:
        warnings = (f"m = {m} replicates: the level is exact, but power is lost; 999 or more lose next to none",)
    if found.d == 2 and not found.noise.is_gaussian:
        warnings += (TWO_CELLS,)
    warnings += source_warnings(found.counts, source)
    noisy = found.noisy(source)
    replicates = null_counts(stream, found.n, found.p0, found.noise, m)
    # One call for all, so that equal counts give equal floats and ties are counted as ties.
    values = compute(np.vstack([noisy, replicates]), found.n, found.p0, found.noise.variance)
    observed = float(values[0])
    name = "MCGOF" if statistic == "pearson" else f"MCGOF ({statistic})"
    return found.result(
        name,
        observed,
        p_value(observed, values[1:]),
        critical_value(values[1:], found.alpha),
        "exact",
        warnings,
        {"m": m, "statistic": statistic, "noisy_counts": noisy},
    )


__all__ = ["Statistic", "gof", "kernel"]
