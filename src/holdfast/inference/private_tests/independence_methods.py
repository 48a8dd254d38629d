"""One front for the tests of a table or of genotypes: independence, homogeneity, symmetry, Hardy-Weinberg."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests import asympt_indep, mc_indep
from holdfast.inference.private_tests.counts import Counts, Margins, histogram, table
from holdfast.inference.private_tests.mc_gen_chi import mc_minimum_chi_square
from holdfast.inference.private_tests.minimum_chi_square import MINIMUM_EXPECTED, Model, minimum_chi_square
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES, OnNull
from holdfast.inference.private_tests.noise_law import NoiseLaw, Unit
from holdfast.inference.private_tests.null_models import HardyWeinberg, Homogeneity, Independence, Symmetry
from holdfast.inference.private_tests.released import NoisyCounts
from holdfast.inference.private_tests.result import TestResult
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational

IndependenceMethod = Literal[
    "projected", "nonprojected", "asymptotic", "asymptotic-printed", "monte-carlo", "monte-carlo-projected"
]
INDEPENDENCE_METHODS: tuple[IndependenceMethod, ...] = (
    "projected",
    "nonprojected",
    "asymptotic",
    "asymptotic-printed",
    "monte-carlo",
    "monte-carlo-projected",
)
ModelMethod = Literal["projected", "nonprojected", "monte-carlo-projected"]
MODEL_METHODS: tuple[ModelMethod, ...] = ("projected", "nonprojected", "monte-carlo-projected")


def independence(
    counts: Any,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    method: IndependenceMethod | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    on_null: OnNull = "redraw",
    minimum: float = 5.0,
    n: int | None = None,
    neighbours: str = "replace-one",
    public_margins: Margins = "none",
    unit: Unit = "person",
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test privately whether the rows and columns of a table are independent.

    Parameters
    ----------
    counts : Counts, a table of whole numbers, or NoisyCounts
        `r` by `c`, at least 2 by 2: exact counts (see `table`, `cross`), which get noise once, or released ones.
    rho, epsilon, noise
        Exactly one, and none with noisy counts: `rho` adds discrete Gaussian noise (rho-zCDP), `epsilon` discrete
        Laplace noise (epsilon-DP), `noise` any `NoiseLaw`.
    method : str, optional
        "projected" (Algorithm 15; the most powerful), "nonprojected", "asymptotic" (Algorithm 13 with corrected
        weights), "asymptotic-printed" (conservative), "monte-carlo" (Algorithm 12, MCIndep) or
        "monte-carlo-projected" (Algorithm 16). None: "projected" with Gaussian noise, "monte-carlo-projected" with
        Laplace noise, for which no chi-square threshold keeps its level.
    alpha : float
        The level asked for.
    m, on_null, rng
        Of the Monte Carlo methods: replicates, what an inconclusive one does, their randomness.
    minimum : float
        The rule of thumb: NULL where an expected count is at most this (projected ones) or a denoised count below it
        (asymptotic and "monte-carlo").
    n, neighbours
        As in `table`: n is public, neighbours replace one record.
    public_margins, unit
        Which margins are public by design. One: nothing changes. Both: only a swap of two records is a neighbour, and
        `unit="swap"` must say so.
    source : Source, optional
        Of the privacy noise; None for the operating system.

    Returns
    -------
    TestResult
        An empty row or column makes the test NULL with high probability: the noisy counts decide.

    Examples
    --------
    >>> from holdfast.inference import private_tests as pt
    >>> found = pt.independence([[300, 200], [150, 350]], rho=0.1)
    >>> found.test, found.reject, found.cost
    ('projected independence', True, ZCDP(rho=0.1))
    >>> pt.independence([[300, 200], [150, 350]], epsilon=1).test
    'MC projected independence'
    """
    if method is None:
        law = counts.noise if isinstance(counts, NoisyCounts) else noise
        plain = law.is_gaussian if isinstance(law, NoiseLaw) else epsilon is None
        method = "projected" if plain else "monte-carlo-projected"
    check.choice("method", method, INDEPENDENCE_METHODS)
    shared: dict[str, Any] = {"rho": rho, "epsilon": epsilon, "noise": noise, "alpha": alpha, "n": n}
    shared |= {"neighbours": neighbours, "public_margins": public_margins, "unit": unit, "source": source}
    if method == "monte-carlo":
        return mc_indep.independence(counts, m=m, on_null=on_null, minimum_count=minimum, rng=rng, **shared)
    if method in ("asymptotic", "asymptotic-printed"):
        kind: asympt_indep.Weights = "corrected" if method == "asymptotic" else "printed"
        return asympt_indep.independence(counts, kind=kind, minimum_count=minimum, **shared)
    checked = _table(counts, n, neighbours)
    model = Independence(*checked.shape)
    return _general(checked, model, method, m, on_null, minimum, rng, shared, "independence")


def homogeneity(
    counts: Any,
    *,
    groups: Literal["rows", "columns"] = "columns",
    sizes: Any = None,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    method: ModelMethod | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    on_null: OnNull = "redraw",
    minimum_expected: float = MINIMUM_EXPECTED,
    n: int | None = None,
    neighbours: str = "replace-one",
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test privately whether several samples of public sizes (cases and controls, say) have one law.

    The groups' sizes are fixed by design and used exactly; a neighbour replaces a record inside its group, which moves
    two cells, so the noise is that of `independence`. The statistic sums the groups' projected statistics at the common
    fit: each group's total is known, so each is centred (derived; `(groups - 1)(cells - 1)` degrees of freedom).

    Parameters
    ----------
    counts : Counts, a table of whole numbers, or NoisyCounts
        At least 2 by 2.
    groups : {"columns", "rows"}
        Which side of the table holds the groups.
    sizes : list, optional
        The groups' public sizes; needed with noisy counts only.
    rho, epsilon, noise, alpha, m, on_null, n, neighbours, source, rng
        As in `independence`.
    method : {"projected", "nonprojected", "monte-carlo-projected"}, optional
        None: "projected" with Gaussian noise, Monte Carlo with Laplace noise.
    minimum_expected : float
        NULL where an expected count is at most this.

    Examples
    --------
    >>> found = homogeneity([[250, 167], [125, 167], [125, 166]], rho=0.5)      # genotypes by cases and controls
    >>> found.reject, found.details["degrees"]
    (True, 2)
    """
    check.choice("groups", groups, ("rows", "columns"))
    checked = _table(counts, n, neighbours)
    if groups == "columns":
        checked = _turned(checked)
    model = Homogeneity(*checked.shape)
    side: Margins = "rows"  # of the turned table
    shared: dict[str, Any] = {"rho": rho, "epsilon": epsilon, "noise": noise, "alpha": alpha, "source": source}
    shared |= {"public_margins": side, "sizes": sizes, "n": n, "neighbours": neighbours}
    method = _default(method, counts, epsilon, noise)
    found = _general(checked, model, method, m, on_null, minimum_expected, rng, shared, "homogeneity")
    if groups == "rows":
        return found
    upright = {name: found.details[name].T for name in ("noisy_counts", "fitted") if name in found.details}
    return replace(found, details=dict(found.details) | upright)


def symmetry(
    counts: Any,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    method: ModelMethod | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    on_null: OnNull = "redraw",
    minimum_expected: float = MINIMUM_EXPECTED,
    n: int | None = None,
    neighbours: str = "replace-one",
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test privately whether `p_ij = p_ji` in a square table: no change between paired answers. As `homogeneity`.

    Examples
    --------
    >>> symmetry([[400, 260], [140, 200]], rho=0.5).reject
    True
    """
    checked = _table(counts, n, neighbours)
    if checked.shape[0] != checked.shape[1]:
        raise InvalidParameter(f"counts must be a square table, got shape {checked.shape}")
    shared: dict[str, Any] = {"rho": rho, "epsilon": epsilon, "noise": noise, "alpha": alpha, "source": source}
    shared |= {"n": n, "neighbours": neighbours}
    model = Symmetry(checked.shape[0])
    method = _default(method, counts, epsilon, noise)
    return _general(checked, model, method, m, on_null, minimum_expected, rng, shared, "symmetry")


def hardy_weinberg(
    counts: Any,
    *,
    alleles: int = 2,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    method: ModelMethod | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    on_null: OnNull = "redraw",
    minimum_expected: float = MINIMUM_EXPECTED,
    n: int | None = None,
    neighbours: str = "replace-one",
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test privately whether genotypes are in Hardy-Weinberg equilibrium. As `homogeneity`; a person is a record.

    `counts` are AA, Aa, aa for two alleles, else the unordered pairs in the order of `HardyWeinberg`.

    Examples
    --------
    >>> hardy_weinberg([400, 200, 400], rho=0.5).reject
    True
    """
    model = HardyWeinberg(alleles)
    checked = counts if isinstance(counts, NoisyCounts) else histogram(counts, n=n, neighbours=neighbours)
    shared: dict[str, Any] = {"rho": rho, "epsilon": epsilon, "noise": noise, "alpha": alpha, "source": source}
    shared |= {"n": n, "neighbours": neighbours}
    method = _default(method, counts, epsilon, noise)
    return _general(checked, model, method, m, on_null, minimum_expected, rng, shared, "Hardy-Weinberg")


def _default(method: Any, counts: Any, epsilon: Any, noise: Any) -> ModelMethod:
    law = counts.noise if isinstance(counts, NoisyCounts) else noise
    plain = law.is_gaussian if isinstance(law, NoiseLaw) else epsilon is None
    chosen: ModelMethod = method or ("projected" if plain else "monte-carlo-projected")
    check.choice("method", chosen, MODEL_METHODS)
    return chosen


def _table(counts: Any, n: Any, neighbours: str) -> Counts | NoisyCounts:
    if not isinstance(counts, NoisyCounts):
        return table(counts, n=n, neighbours=neighbours)
    if len(counts.shape) != 2 or min(counts.shape) < 2:
        raise InvalidParameter(f"counts must be a table of at least 2 by 2 cells, got shape {counts.shape}")
    return counts


def _turned(counts: Counts | NoisyCounts) -> Counts | NoisyCounts:
    if isinstance(counts, NoisyCounts):
        return replace(counts, values=counts.values.T)
    return table(counts.values.T)


def _general(
    counts: Counts | NoisyCounts,
    model: Model,
    method: str,
    m: int,
    on_null: OnNull,
    minimum: float,
    rng: np.random.Generator | None,
    shared: dict[str, Any],
    what: str,
) -> TestResult:
    if method == "monte-carlo-projected":
        found = mc_minimum_chi_square(counts, model, m=m, on_null=on_null, minimum_expected=minimum, rng=rng, **shared)
    else:
        found = minimum_chi_square(counts, model, projected=method == "projected", minimum_expected=minimum, **shared)
    return replace(found, test=found.test.replace("minimum chi-square", what))


__all__ = [
    "INDEPENDENCE_METHODS",
    "MODEL_METHODS",
    "IndependenceMethod",
    "ModelMethod",
    "hardy_weinberg",
    "homogeneity",
    "independence",
    "symmetry",
]
