"""Association of a genotype with a disease by noise on the statistic itself (section 7.3.2), and its power.

A baseline. Noise on the counts and `homogeneity` need about 25 times less budget for the same power from n = 1,000 on.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from scipy.special import chndtr, erfcx, ndtr

from holdfast.accounting.costs import ZCDP
from holdfast.bounds.numerics.exact import float_up
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.counts import table
from holdfast.inference.private_tests.monte_carlo import rejects
from holdfast.inference.private_tests.noise_law import noise_of, unprotected
from holdfast.inference.private_tests.power import At, Power, distribution, homogeneity_power
from holdfast.inference.private_tests.question import small_alpha
from holdfast.inference.private_tests.result import TestResult
from holdfast.noise.entropy import Source
from holdfast.noise.grid import gaussian_on_grid
from holdfast.noise.inputs import Rational, rational


def sensitivity(cases: int, controls: int) -> Fraction:
    """Return how far replacing one genotype moves Pearson's statistic of an `r` by 2 table with public column totals.

    `n^2 / (n1 n2) (1 - 1/(max(n1, n2) + 1))`, exactly; `4n/(n + 2)` where balanced (Lemma 7.3.3, printed for 3 by 2,
    balanced, positive margins). An empty row contributes nothing to the statistic and is allowed.

    Notes
    -----
    Proved here for every `r >= 2` and every n (the unbalanced form was only checked to n = 12 before). With `a_i` cases
    and `b_i` controls in row i the statistic is `n^2/(n1 n2) (sum_i f(a_i, b_i) - n1^2/n)`, `f(a, b) = a^2/(a + b) =
    a - b + b^2/(a + b)`. One more case in a row adds `1 - b^2/(N (N + 1))`, `N = a + b`, to `f`, and 1 to an empty row;
    that lies in `[1/(n2 + 1), 1]`, because `b <= N` and `b <= n2`. A replaced case adds one such number and removes
    another, so it moves the sum by at most `n2/(n2 + 1)`. The statistic is the same with cases and controls
    exchanged, so a replaced control moves it by at most `n1/(n1 + 1)`. Both are attained.

    Examples
    --------
    >>> sensitivity(500, 500) == Fraction(4 * 1000, 1002)
    True
    >>> print(float(sensitivity(6, 3)))
    3.857142857142857
    """
    first, second = arguments.whole("cases", cases, at_least=1), arguments.whole("controls", controls, at_least=1)
    n, most = first + second, max(first, second)
    return Fraction(n * n, first * second) * Fraction(most, most + 1)


def statistic(counts: Any) -> Fraction:
    """Pearson's statistic of an `r` by 2 table of whole counts, exactly; an empty row contributes 0. Not private.

    Exact, so that not even a rounding error adds to the sensitivity.

    Examples
    --------
    >>> statistic([[10, 20], [0, 0], [20, 10]])
    Fraction(20, 3)
    """
    rows = [(int(a), int(b)) for a, b in counts]
    first, second = sum(a for a, _ in rows), sum(b for _, b in rows)
    n = first + second
    inner = sum((Fraction(a * a, a + b) for a, b in rows if a + b), Fraction(0)) - Fraction(first * first, n)
    return Fraction(n * n, first * second) * inner


def tail(t: Any, sd: float) -> Any:
    """`P(chi2_2 + N(0, sd^2) > t)`: chi-square with two degrees is exponential of mean 2, so the sum is closed form.

    `Phi(-z) + exp(sd^2/8 - t/2) Phi(x)`, `z = t/sd`, `x = z - sd/2` (derived). The second term is
    `exp(-z^2/2) erfcx(-x/sqrt(2))/2`, used for `x <= 0`, where the printed
    form is a huge number times a tiny one.

    Examples
    --------
    >>> print(f"{tail(23.04881014, 12.62386291):.9f}")
    0.050000000
    """
    t = np.asarray(t, dtype=np.float64)
    z = t / sd
    x = z - sd / 2
    left = 0.5 * np.exp(-z * z / 2) * erfcx(np.maximum(-x, 0.0) / math.sqrt(2))
    right = np.exp(np.minimum(sd * sd / 8 - t / 2, 0.0)) * ndtr(x)
    clipped = np.clip(ndtr(-z) + np.where(x <= 0, left, right), 0.0, 1.0)
    return float(clipped) if clipped.ndim == 0 else clipped


def threshold(sd: float, alpha: float) -> float:
    """Return the `t` with `tail(t, sd) = alpha`.

    Examples
    --------
    >>> print(f"{threshold(3.99920016, 0.05):.6f}")
    9.502868
    """
    from scipy.optimize import brentq  # here, since every server and command that guards rows loads this module

    sd, alpha = arguments.real("sd", sd, above=0), arguments.probability("alpha", alpha)
    goal = math.log(alpha)

    def excess(t: float) -> float:
        return math.log(max(tail(t, sd), 1e-300)) - goal

    low, high = -40 * sd, 2 - 2 * goal + 40 * sd
    return float(brentq(excess, low, high, xtol=1e-12 * max(1.0, sd), rtol=1e-14))


def output_sd(n: int, rho: float) -> float:
    """Return the printed standard deviation `S / sqrt(2 rho)` of the noise in a balanced design.

    Examples
    --------
    >>> print(f"{output_sd(1000, 0.05):.8f}")
    12.62386291
    """
    n = arguments.whole("n", n, at_least=2)
    return 4 * n / (n + 2) / math.sqrt(2 * arguments.real("rho", rho, above=0))


def gwas(
    counts: Any,
    *,
    rho: Rational,
    alpha: float = 0.05,
    labels: str = "fixed",
    n: int | None = None,
    neighbours: str = "replace-one",
    source: Source | None = None,
) -> TestResult:
    """Test privately the association in a 3 by 2 table of genotypes (rows) by cases and controls (columns).

    The noise is added to the statistic, not to the counts.

    Parameters
    ----------
    counts : Counts or a 3 by 2 table of whole numbers
        Column totals, the numbers of cases and controls, are public by design.
    rho : float, int or Fraction
        The zCDP cost.
    alpha : float
        The level asked for.
    labels : {"fixed"}
        A neighbour has another genotype and the same label. "private" is refused: then the sensitivity is larger
        (3.995 against 3.857 at 6 cases and 3 controls) and not known in general.
    n, neighbours
        As in `counts.table`.
    source : Source, optional
        Of the privacy noise; None for the operating system.

    Returns
    -------
    TestResult
        Level asymptotic, against `chi2_2 + N(0, sd^2)`; worst measured .0523 for .05 from n = 10 on. The noise is
        discrete Gaussian on a grid finer than a 2048th of the statistic's sensitivity.

    Examples
    --------
    >>> result = gwas([[1250, 833], [625, 833], [625, 834]], rho=0.5)
    >>> result.reject, result.cost
    (True, ZCDP(rho=0.5))
    >>> gwas([[10, 20], [10, 20], [10, 20]], rho=1, labels="private")
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: labels must be fixed, got private: with private labels the sensitivity of ...
    """
    alpha = arguments.probability("alpha", alpha)
    arguments.choice("labels", labels, ("fixed", "private"))
    if labels == "private":
        raise InvalidParameter(
            "labels must be fixed, got private: with private labels the sensitivity of the statistic is larger and "
            "not known; use independence instead, which adds noise to the counts"
        )
    budget = rational("rho", rho, above=0)
    checked = table(counts, n=n, neighbours=neighbours)
    if checked.shape != (3, 2):
        raise InvalidParameter(f"counts must be a 3 by 2 table of genotypes by cases and controls, got {checked.shape}")
    cases, controls = (int(total) for total in checked.values.sum(axis=0))
    if min(cases, controls) < 1:
        raise InvalidParameter("counts must have at least one case and one control, whose numbers are public by design")
    mechanism = gaussian_on_grid(sensitivity(cases, controls), rho=budget)
    warnings = small_alpha(alpha, "two to three times the nominal level")
    if checked.n < 10:
        warnings += (f"n = {checked.n} is below 10, where the level was not measured",)
    warnings += unprotected(source)
    released = float(mechanism.release(statistic(checked.values), source=source))
    sd = math.sqrt(mechanism.variance)
    p = tail(released, sd)
    return TestResult(
        "GWAS output perturbation",
        released,
        p,
        threshold(sd, alpha),
        alpha,
        bool(rejects(p, alpha)),
        None,
        ZCDP(float_up(budget)),
        "asymptotic",
        warnings,
        checked.n,
        {"sd": sd, "cases": cases, "controls": controls, "sensitivity": float(sensitivity(cases, controls))},
    )


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
    """Return the probability of finding that cases and controls have different genotypes.

    The method "projected" is the test `homogeneity`, with noise on the counts. "output-perturbation" is the test
    `gwas`, with noise on the statistic.

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
        The significance level.
    at : {"alternative", "null"}
        As in `gof_power`; the output-perturbed statistic is always taken at the null.

    Notes
    -----
    For `gwas`, in the limit the statistic is `chi2(2, v) + N(0, sd^2)` with `v = sum (n1 (a - p)^2 + n2 (b -
    p)^2) / p`, `p` the pooled distribution (section 7.3.2 for the null; the noncentral form is derived here).

    Examples
    --------
    >>> genotypes = [1 / 2, 1 / 4, 1 / 4], [1 / 3, 1 / 3, 1 / 3]
    >>> for method, rho in (("output-perturbation", 0.05), ("projected", 0.002)):           # Figure 23
    ...     print(f"{method}, rho {rho}: {gwas_power(*genotypes, 1000, rho=rho, method=method).power:.2f}")
    output-perturbation, rho 0.05: 0.67
    projected, rho 0.002: 0.70
    """
    arguments.choice("method", method, GWAS_METHODS)
    a, b = distribution("cases", cases), distribution("controls", controls)
    if a.size != 3 or b.size != 3:
        raise InvalidParameter("cases and controls must each be a list of three probabilities, one for each genotype")
    total = arguments.whole("n", n, at_least=2)
    first = min(total - 1, max(1, round(total * arguments.probability("share", share))))
    sizes = (first, total - first)
    if method != "output-perturbation":
        options: dict[str, Any] = {"alpha": alpha, "at": at, "method": method}
        return homogeneity_power([a, b], sizes, rho=rho, **options)
    law = noise_of(rho=rho)
    alpha = arguments.probability("alpha", alpha)
    sd = float(sensitivity(*sizes)) / math.sqrt(2 * float(law.parameter))
    pooled = (sizes[0] * a + sizes[1] * b) / total
    seen = pooled > 0
    v = float(((sizes[0] * (a - pooled) ** 2 + sizes[1] * (b - pooled) ** 2)[seen] / pooled[seen]).sum())
    power = shifted_tail(threshold(sd, alpha), sd, v)
    cost = ZCDP(law.cost.rho) if isinstance(law.cost, ZCDP) else law.cost
    return Power("GWAS output perturbation", power, total, alpha, cost, v, "limit", "asymptotic")


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
