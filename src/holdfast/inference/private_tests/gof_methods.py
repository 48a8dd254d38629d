"""One front for the goodness-of-fit tests."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from holdfast import check
from holdfast.inference.private_tests import asympt_gof, mc_gof, new_stat_gof
from holdfast.inference.private_tests.goodness_of_fit import TINY
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES
from holdfast.inference.private_tests.noise_law import NoiseLaw
from holdfast.inference.private_tests.released import NoisyCounts
from holdfast.inference.private_tests.result import TestResult
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational

Method = Literal["projected", "nonprojected", "asymptotic", "monte-carlo", "monte-carlo-projected"]
METHODS: tuple[Method, ...] = ("projected", "nonprojected", "asymptotic", "monte-carlo", "monte-carlo-projected")


def gof(
    counts: Any,
    p0: Any,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    method: Method | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    minimum_expected: float = TINY,
    n: int | None = None,
    neighbours: str = "replace-one",
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test privately whether `n` records follow the probabilities `p0`.

    For two categories and `epsilon`, `proportion` is better: it is exact and its noise has half the variance. With
    `rho` this test is as good as noise on one count: two cells of variance `1/rho` give the difference `1/(2 rho)`.

    Parameters
    ----------
    counts : Counts, list of whole numbers, or NoisyCounts
        Exact counts (see `histogram`, `tally`), which get noise once, or counts that were released before.
    p0 : list
        The null probabilities, positive, summing to one; fixed before the data.
    rho, epsilon, noise
        Exactly one, and none with noisy counts: `rho` adds discrete Gaussian noise (rho-zCDP), `epsilon` discrete
        Laplace noise (epsilon-DP), `noise` any `NoiseLaw`.
    method : str, optional
        "projected" (Algorithm 14; the most powerful), "nonprojected", "asymptotic" (Algorithm 9), "monte-carlo"
        (Algorithm 8, Pearson's statistic) or "monte-carlo-projected" (Algorithm 16). None: "projected" with Gaussian
        noise, "monte-carlo-projected" with Laplace noise, for which only Monte Carlo keeps the level.
    alpha : float
        The level.
    m : int
        Replicates of a Monte Carlo method.
    minimum_expected : float
        Below this expected count an asymptotic method is NULL and spends nothing.
    n, neighbours
        As in `histogram`: n is public, neighbours replace one record.
    source : Source, optional
        Of the privacy noise; None for the operating system.
    rng : numpy Generator, optional
        Of Monte Carlo replicates only.

    Examples
    --------
    >>> from holdfast.inference import private_tests as pt
    >>> found = pt.gof([5200, 1500, 1700, 1600], [0.5, 1 / 6, 1 / 6, 1 / 6], rho=0.1)
    >>> found.test, found.reject, found.cost
    ('projected GOF', True, ZCDP(rho=0.1))
    >>> pt.gof([5200, 1500, 1700, 1600], [0.5, 1 / 6, 1 / 6, 1 / 6], epsilon=1).test
    'MCGOF (projected)'
    """
    if method is None:
        law = counts.noise if isinstance(counts, NoisyCounts) else noise
        plain = law.is_gaussian if isinstance(law, NoiseLaw) else epsilon is None
        method = "projected" if plain else "monte-carlo-projected"
    check.choice("method", method, METHODS)
    shared: dict[str, Any] = {"rho": rho, "alpha": alpha, "n": n, "neighbours": neighbours, "source": source}
    if method in ("monte-carlo", "monte-carlo-projected"):
        statistic: mc_gof.Statistic = "pearson" if method == "monte-carlo" else "projected"
        return mc_gof.gof(counts, p0, epsilon=epsilon, noise=noise, m=m, statistic=statistic, rng=rng, **shared)
    shared |= {"epsilon": epsilon, "noise": noise, "minimum_expected": minimum_expected}
    if method == "asymptotic":
        return asympt_gof.gof(counts, p0, **shared)
    return new_stat_gof.gof(counts, p0, projected=method == "projected", **shared)


__all__ = ["METHODS", "Method", "gof"]
