"""Goodness of fit with Pearson's statistic of noisy counts and its limit, a mixture of chi-squares (Algorithm 9)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.bounds.chi_square_mixture import mixture_sf
from holdfast.bounds.chi_square_quantile import mixture_quantile
from holdfast.inference.private_tests.classical import pearson
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.goodness_of_fit import (
    TINY,
    asymptotic_warnings,
    need_gaussian,
    setting,
    too_few,
)
from holdfast.inference.private_tests.noise_law import NoiseLaw
from holdfast.inference.private_tests.released import source_warnings
from holdfast.inference.private_tests.result import TestResult
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational


def weights(p0: Any, n: int, variance: float) -> NDArray[np.float64]:
    """The d weights of the limit, ascending: eigenvalues of `I - sqrt(p0) sqrt(p0)' + (variance/n) Diag(1/p0)`.

    Equal to the nonzero ones of the printed `2d` by `2d` form (spec Algorithm 9, derived and reviewed). For uniform
    `p0` they are `d c` once and `1 + d c`, with `c = variance/n`, and no eigenvalue problem is solved.

    Parameters
    ----------
    p0 : list
        The null probabilities.
    n : int
        Number of records.
    variance : float
        Variance of the noise on one cell.

    Examples
    --------
    >>> weights([0.25] * 4, 1000, 800.0).tolist()
    [3.2, 4.2, 4.2, 4.2]
    """
    vector = probabilities("p0", p0)
    c = check.real("variance", variance, at_least=0) / check.whole("n", n, at_least=1)
    d = vector.size
    if np.all(vector == vector[0]):
        return np.array([d * c] + [1 + d * c] * (d - 1))
    root = np.sqrt(vector)
    return np.maximum(np.linalg.eigvalsh(np.diag(1 + c / vector) - np.outer(root, root)), 0.0)


def critical_value(p0: Any, n: int, variance: float, alpha: float = 0.05) -> float:
    """The threshold of Algorithm 9: the upper `alpha` quantile of the limit. It depends on no record.

    Examples
    --------
    >>> round(critical_value([0.25] * 4, 1000, 800.0), 8)
    37.61305391
    """
    vector = probabilities("p0", p0)
    alpha = check.probability("alpha", alpha)
    return _critical(tuple(weights(vector, n, variance)), alpha)


@lru_cache(maxsize=256)
def _critical(lam: tuple[float, ...], alpha: float) -> float:
    return float(mixture_quantile(alpha, lam))


def gof(
    counts: Any,
    p0: Any,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    alpha: float = 0.05,
    minimum_expected: float = TINY,
    n: int | None = None,
    neighbours: str = "replace-one",
    source: Source | None = None,
) -> TestResult:
    """Test `counts ~ Multinomial(n, p0)` privately with Pearson's statistic of the noisy counts (AsymptGOF).

    The statistic tends to `sum_i weight_i chi2(1)` as `n rho` tends to a positive constant (Theorem 6.1.7; printed).
    rho-zCDP. `new_stat_gof` has more power; this one is the dissertation's first.

    Parameters
    ----------
    counts : Counts, list of whole numbers, or NoisyCounts
        Exact counts, which get noise once, or counts that were released before.
    p0 : list
        The null probabilities, positive, summing to one.
    rho, epsilon, noise
        One of rho (discrete Gaussian noise) and a Gaussian `NoiseLaw`; neither with noisy counts. `epsilon` means
        Laplace noise, which is refused with the reason.
    alpha : float
        The level.
    minimum_expected : float
        Below this expected count the test is NULL and spends nothing.
    n, neighbours
        As in `counts.histogram`.
    source : Source, optional
        Of the privacy noise; None for the operating system.

    Returns
    -------
    TestResult
        Level asymptotic. Time: one `eigvalsh` of d by d, one mixture tail and, once for a setting, one quantile.

    Examples
    --------
    >>> from holdfast.inference.private_tests import NoisyCounts, gaussian
    >>> noisy = NoisyCounts([253.5, 234.75, 279.0, 251.25], 1000, gaussian(0.00125))
    >>> round(gof(noisy, [0.25] * 4).p_value, 8)
    0.89316307
    """
    name = "AsymptGOF"
    found = setting(counts, p0, rho=rho, epsilon=epsilon, noise=noise, alpha=alpha, n=n, neighbours=neighbours)
    need_gaussian(found, name)
    warnings = asymptotic_warnings(found)
    reason = too_few(found, minimum_expected)
    if reason is not None:
        return found.null(name, reason, "asymptotic", warnings)
    warnings += source_warnings(found.counts, source)
    lam = weights(found.p0, found.n, found.noise.variance)
    threshold = _critical(tuple(lam), found.alpha)
    noisy = found.noisy(source)
    statistic = float(pearson(noisy, found.n, found.p0))
    p = min(1.0, max(0.0, float(mixture_sf(statistic, lam))))
    return found.result(name, statistic, p, threshold, "asymptotic", warnings, {"weights": lam, "noisy_counts": noisy})


__all__ = ["critical_value", "gof", "weights"]
