"""The power of the tests of a genotype table: noise on the counts, or on the statistic."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy.special import chndtr, ndtr

from holdfast import check
from holdfast.accounting.costs import ZCDP
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.composite_power import homogeneity_power
from holdfast.inference.private_tests.gwas import sensitivity, threshold
from holdfast.inference.private_tests.noise_law import noise_of
from holdfast.inference.private_tests.power import Power, distribution
from holdfast.inference.private_tests.power_kernel import At
from holdfast.noise.inputs import Rational

GwasMethod = Literal["projected", "output-perturbation", "classical"]
GWAS_METHODS: tuple[GwasMethod, ...] = ("projected", "output-perturbation", "classical")

#: Standard deviations beyond which a normal has less than 1e-32.
_FAR = 12.0


def gwas_power(
    cases: Any,
    controls: Any,
    n: int,
    *,
    rho: Rational | None = None,
    share: float = 0.5,
    method: GwasMethod = "projected",
    alpha: float = 0.05,
    at: At = "alternative",
) -> Power:
    """The probability of finding that cases and controls have different genotypes.

    "projected" is `homogeneity` with noise on the counts. "output-perturbation" is `gwas`: in the limit its statistic
    is `chi2(2, v) + N(0, sd^2)` with `v = sum (n1 (a - p)^2 + n2 (b - p)^2) / p`, `p` the pooled law (section 7.3.2
    for the null; the noncentral form is derived here).

    Parameters
    ----------
    cases, controls : list
        Probabilities of the three genotypes in each group.
    n : int
        Number of people in all.
    rho : float
        The zCDP cost; none for "classical".
    share : float
        Of cases among the people; rounded to whole people.
    method : {"projected", "output-perturbation", "classical"}
        Which test.
    alpha : float
        The level.
    at : {"alternative", "null"}
        As in `gof_power`; the output-perturbed statistic is always taken at the null.

    Examples
    --------
    >>> genotypes = [1 / 2, 1 / 4, 1 / 4], [1 / 3, 1 / 3, 1 / 3]
    >>> for method, rho in (("output-perturbation", 0.05), ("projected", 0.002)):           # Figure 23
    ...     print(f"{method}, rho {rho}: {gwas_power(*genotypes, 1000, rho=rho, method=method).power:.2f}")
    output-perturbation, rho 0.05: 0.67
    projected, rho 0.002: 0.70
    """
    check.choice("method", method, GWAS_METHODS)
    a, b = distribution("cases", cases), distribution("controls", controls)
    if a.size != 3 or b.size != 3:
        raise InvalidParameter("cases and controls must list the probabilities of three genotypes each")
    total = check.whole("n", n, at_least=2)
    first = min(total - 1, max(1, round(total * check.probability("share", share))))
    sizes = (first, total - first)
    if method != "output-perturbation":
        options: dict[str, Any] = {"alpha": alpha, "at": at, "method": method}
        return homogeneity_power([a, b], sizes, rho=rho, **options)
    law = noise_of(rho=rho)
    alpha = check.probability("alpha", alpha)
    sd = float(sensitivity(*sizes)) / math.sqrt(2 * float(law.parameter))
    pooled = (sizes[0] * a + sizes[1] * b) / total
    seen = pooled > 0
    v = float(((sizes[0] * (a - pooled) ** 2 + sizes[1] * (b - pooled) ** 2)[seen] / pooled[seen]).sum())
    found = shifted_tail(threshold(sd, alpha), sd, v)
    cost = ZCDP(law.cost.rho) if isinstance(law.cost, ZCDP) else law.cost
    return Power("GWAS output perturbation", found, total, alpha, cost, v, "limit", "asymptotic")


def shifted_tail(t: float, sd: float, noncentrality: float) -> float:
    """`P(chi2(2, v) + N(0, sd^2) > t)` by quadrature over the normal, cut where the chi-square begins.

    Examples
    --------
    >>> from holdfast.inference.private_tests.gwas import tail
    >>> print(f"{shifted_tail(10.0, 3.0, 0.0):.10f} {tail(10.0, 3.0):.10f}")
    0.0204906909 0.0204906909
    """
    cut = t / sd
    whole = float(ndtr(-cut))  # beyond the cut the normal alone exceeds t
    if cut <= -_FAR:
        return whole
    x, w = np.polynomial.legendre.leggauss(64)
    edges = np.linspace(-_FAR, min(cut, _FAR), 33)
    for left, right in pairwise(edges):
        z = 0.5 * (right - left) * x + 0.5 * (right + left)
        density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        upper = 1 - chndtr(np.maximum(t - sd * z, 0.0), 2, noncentrality)
        whole += float(0.5 * (right - left) * (w * density * upper).sum())
    return min(1.0, max(0.0, whole))


__all__ = ["GWAS_METHODS", "GwasMethod", "gwas_power", "shifted_tail"]
