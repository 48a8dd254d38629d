"""Tests of independence, homogeneity, symmetry and Hardy-Weinberg proportions on noisy tables, and their simulation.

`independence_batch` and `simulate_tables` run thousands of tests for simulations of level and power. They are not for
releases: their noise comes from numpy, which protects nobody.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.numerics.chi_square import mixture_quantile, mixture_sf
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests import cell_bounds
from holdfast.inference.private_tests.classical import chi_square_sf
from holdfast.inference.private_tests.counts import Counts, Margins, NoisyCounts, histogram, source_warnings, table
from holdfast.inference.private_tests.minimum_chi_square import (
    MINIMUM_EXPECTED,
    Model,
    degrees_of_freedom,
    fit,
    mc_minimum_chi_square,
    minimum_chi_square,
)
from holdfast.inference.private_tests.monte_carlo import (
    DEFAULT_REPLICATES,
    OnNull,
    blocks,
    generator,
    null_counts,
    rank,
    rejects,
    resample,
)
from holdfast.inference.private_tests.noise_law import NoiseLaw, Unit
from holdfast.inference.private_tests.null_models import (
    MINIMUM_COUNT,
    HardyWeinberg,
    Homogeneity,
    Independence,
    NullModel,
    Symmetry,
    independence_statistic,
    residual_statistic,
    two_step_mle,
)
from holdfast.inference.private_tests.question import (
    ModelMethod,
    default_method,
    few_replicates,
    need_gaussian,
    question,
    small_alpha,
)
from holdfast.inference.private_tests.result import TestResult
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational

Array = NDArray[np.float64]
Weights = Literal["corrected", "printed"]

CONSERVATIVE = (
    "the printed weights ignore that the fit absorbs noise: the level falls to about .01 for .05 where noise dominates"
)


def residual_covariance(rows: Any, columns: Any) -> Array:
    """`Sigma_ind`: the limiting covariance of Pearson's residuals without noise, `(..., r c, r c)`.

    `(I - sqrt(a) sqrt(a)') (x) (I - sqrt(b) sqrt(b)')` for margins a and b; equal to the printed
    `I - sqrt(p) sqrt(p)' - G (G'G)^-1 G'` (derived, reviewed).

    Examples
    --------
    >>> residual_covariance([0.5, 0.5], [2 / 3, 1 / 3])[0].round(4).tolist()
    [0.1667, -0.2357, -0.1667, 0.2357]
    """
    a, b = np.sqrt(np.asarray(rows, dtype=np.float64)), np.sqrt(np.asarray(columns, dtype=np.float64))
    left = np.eye(a.shape[-1]) - a[..., :, None] * a[..., None, :]
    right = np.eye(b.shape[-1]) - b[..., :, None] * b[..., None, :]
    d = a.shape[-1] * b.shape[-1]
    product: Array = np.einsum("...ik,...jl->...ijkl", left, right).reshape(*a.shape[:-1], d, d)
    return product


def weights(rows: Any, columns: Any, n: int, variance: float, kind: Weights = "corrected") -> Array:
    """Weights of the chi-squares whose mixture is the limit of statistic (6.18), in ascending order.

    Parameters
    ----------
    rows, columns : array
        Positive margins `(..., r)` and `(..., c)`, each summing to one.
    n : int
        Number of records.
    variance : float
        Of the noise on each cell.
    kind : {"corrected", "printed"}
        "printed": eigenvalues of `S + (variance/n) Diag(1/p)`, `S = (I - sqrt(a) sqrt(a)') (x) (I - sqrt(b) sqrt(b)')`
        for margins a and b; equal to those of the printed block matrix. "corrected": eigenvalues of
        `D^-1/2 K (Diag(p) - p p' + (variance/n) I) K' D^-1/2` with `K = I - L Pi`, `Pi` the centring and
        `L e = (R e) (x) b + a (x) (C e)`: `K` is the derivative of the residual `h~ - n p~` in the noisy table where
        no cell is clipped, so this is the delta method (derived, reviewed). `K` maps the `r + c - 2` tangent
        directions of the model to zero, which leaves `(r - 1)(c - 1) + 1` weights.

    Examples
    --------
    >>> weights([0.5, 0.5], [2 / 3, 1 / 3], 2000, 800, "printed").round(9).tolist()
    [1.2, 1.4, 2.4, 3.2]
    >>> weights([0.5, 0.5], [2 / 3, 1 / 3], 2000, 800).round(9).tolist()
    [1.8, 3.0]
    """
    arguments.choice("kind", kind, ("corrected", "printed"))
    a, b = np.asarray(rows, dtype=np.float64), np.asarray(columns, dtype=np.float64)
    for name, margin in (("rows", a), ("columns", b)):
        if margin.ndim < 1 or margin.shape[-1] < 2 or not np.all(margin > 0):
            raise InvalidParameter(f"{name} must be positive margins of at least two entries")
    ratio = arguments.real("variance", variance, at_least=0) / arguments.whole("n", n, at_least=1)
    r, c = a.shape[-1], b.shape[-1]
    d = r * c
    p = (a[..., :, None] * b[..., None, :]).reshape(*a.shape[:-1], d)
    if kind == "printed":
        matrix = residual_covariance(a, b)
        matrix[..., np.arange(d), np.arange(d)] += ratio / p
        return np.asarray(np.linalg.eigvalsh(matrix), dtype=np.float64)
    # K e = e - (R e)(x)b - a(x)(C e) + mean(e) (c 1(x)b + r a(x)1): rows and columns of the centred part.
    row_of, column_of = np.repeat(np.arange(r), c), np.tile(np.arange(c), r)
    same_row, same_column = row_of[:, None] == row_of, column_of[:, None] == column_of
    cell_b, cell_a = b[..., column_of], a[..., row_of]
    k = np.eye(d) - same_row * cell_b[..., :, None] - same_column * cell_a[..., :, None]
    k = k + ((c * cell_b + r * cell_a) / d)[..., :, None]
    k = k / np.sqrt(p)[..., :, None]
    # The covariance is Diag(p + ratio) - p p', so the sandwich is a scaled product less an outer square.
    moved = (k @ p[..., None])[..., 0]
    sandwich = (k * (p + ratio)[..., None, :]) @ np.swapaxes(k, -1, -2) - moved[..., :, None] * moved[..., None, :]
    return np.asarray(np.linalg.eigvalsh(sandwich)[..., -((r - 1) * (c - 1) + 1) :], dtype=np.float64)


def asymptotic_independence(
    counts: Any,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    alpha: float = 0.05,
    kind: Weights = "corrected",
    minimum_count: float = MINIMUM_COUNT,
    n: int | None = None,
    neighbours: str = "replace-one",
    public_margins: Margins = "none",
    unit: Unit = "person",
    source: Source | None = None,
) -> TestResult:
    """Test independence in a table with Gaussian noise against the limit of Pearson's noisy statistic (AsymptIndep).

    Parameters
    ----------
    counts, rho, epsilon, noise, alpha, n, neighbours, public_margins, unit, source
        As in `independence`; the noise must be Gaussian.
    kind : {"corrected", "printed"}
        The weights; see `weights`. The printed ones are conservative.
    minimum_count : float
        NULL where a denoised cell is below this; positive, because the limit needs a fit inside the simplex.

    Returns
    -------
    TestResult
        Level asymptotic. Worst level measured for .05 over 2,900 settings, corrected: .0519 (s.e. .0008) over all
        runs. Among conclusive runs it can be far higher where NULL is frequent, so never rerun until conclusive.

    Examples
    --------
    >>> result = asymptotic_independence([[300, 200], [150, 350]], rho=0.1)
    >>> result.reject, result.level
    (True, 'asymptotic')
    """
    problem = question(
        counts,
        rho=rho,
        epsilon=epsilon,
        noise=noise,
        alpha=alpha,
        n=n,
        neighbours=neighbours,
        public_margins=public_margins,
        unit=unit,
    )
    arguments.choice("kind", kind, ("corrected", "printed"))
    least = arguments.real("minimum_count", minimum_count, above=0)
    need_gaussian(problem.noise, "AsymptIndep")
    warnings = small_alpha(problem.alpha, "up to three times the nominal level")
    if least < MINIMUM_COUNT:
        warnings += (f"minimum_count = {least:g} is below 5, where no level was measured",)
    if kind == "printed":
        warnings += (CONSERVATIVE,)
    warnings += source_warnings(problem.counts, source)
    name = f"AsymptIndep ({kind})"
    noisy = problem.noisy(source)
    fitted = two_step_mle(noisy, problem.n, minimum_count=least)
    known: dict[str, Any] = {"noisy_counts": noisy}
    if not fitted.conclusive:
        return problem.null(name, f"a denoised count is below {least:g}", "asymptotic", warnings, known)
    lam = weights(fitted.rows, fitted.columns, problem.n, problem.noise.variance, kind)
    statistic = float(residual_statistic(noisy, problem.n, fitted))
    p = min(max(float(mixture_sf(statistic, lam)), 0.0), 1.0)
    known |= {"weights": lam, "rows": fitted.rows, "columns": fitted.columns}
    return problem.result(
        name, statistic, p, float(mixture_quantile(problem.alpha, lam)), "asymptotic", warnings, known
    )


def monte_carlo_independence(
    counts: Any,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    on_null: OnNull = "redraw",
    minimum_count: float = MINIMUM_COUNT,
    n: int | None = None,
    neighbours: str = "replace-one",
    public_margins: Margins = "none",
    unit: Unit = "person",
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test independence in a table privately by a parametric bootstrap from the two-step estimate (MCIndep).

    Pearson's statistic of the noisy table against its two-step fit is ranked among those of `m` noisy tables drawn from
    the fit, each fitted again. The p-value is `(1 + #{replicates at least as large}) / (replicates + 1)`.

    Parameters
    ----------
    on_null : {"redraw", "skip", "fail"}
        What an inconclusive resample does. "fail" is the printed rule: one of m makes the test NULL, so a larger m is
        more conservative. "redraw" (default) draws another; "skip" ranks among the conclusive ones. Ranking it as
        minus infinity lowers the threshold (level .090 for .05 at margins .9, rho = 5e-5, n = 2000) and is not offered.
    minimum_count : float
        NULL where a denoised cell is below this; 5 as printed.
    counts, rho, epsilon, noise, alpha, m, n, neighbours, public_margins, unit, source, rng
        As in `independence`.

    Returns
    -------
    TestResult
        Level empirical: no finite-sample guarantee is known for a bootstrap. Worst level measured for .05: "fail"
        .0507 (s.e. .002, 1,288 settings), "redraw" .0580 (s.e. .0017; margins .9, rho 5e-5,
        n = 5,000, where a third of the runs are NULL; 324 settings screened), over all runs. Among
        conclusive runs it can be far higher where NULL is frequent (.126 where 57% are), so never rerun until
        conclusive. Time: about 0.6 ms at m = 999, 2 by 2, with `gaussian` noise.

    Examples
    --------
    >>> result = monte_carlo_independence([[300, 200], [150, 350]], epsilon=1)
    >>> result.reject, result.level, result.cost
    (True, 'empirical', PureDP(epsilon=1.0))
    >>> monte_carlo_independence([[500, 500], [0, 0]], rho=1).null_returned
    'a denoised count is below 5. The release is spent; ...'
    """
    problem = question(
        counts,
        rho=rho,
        epsilon=epsilon,
        noise=noise,
        alpha=alpha,
        n=n,
        neighbours=neighbours,
        public_margins=public_margins,
        unit=unit,
    )
    rank(m, problem.alpha)
    arguments.choice("on_null", on_null, ("redraw", "skip", "fail"))
    least = arguments.real("minimum_count", minimum_count, at_least=0)
    stream, warnings = generator(rng), few_replicates(m) + source_warnings(problem.counts, source)
    noisy = problem.noisy(source)
    fitted = two_step_mle(noisy, problem.n, minimum_count=least)
    known: dict[str, Any] = {"m": m, "on_null": on_null, "noisy_counts": noisy}
    if not fitted.conclusive:
        why = f"a denoised count is below {least:g}" if least > 0 else "a denoised row or column is empty"
        return problem.null("MCIndep", why, "empirical", warnings, known)
    # Of a batch of two, as the replicates are of a batch: the same table has the same statistic to the last bit.
    observed = float(independence_statistic(np.stack([noisy, noisy]), problem.n, minimum_count=least)[0])
    p = fitted.probabilities.ravel()
    p = p / p.sum()

    def draw(count: int) -> Any:
        tables = null_counts(stream, problem.n, p, problem.noise, count, exact=False).reshape(count, *noisy.shape)
        return independence_statistic(tables, problem.n, minimum_count=least)

    replicates = resample(draw, m, on_null=on_null)
    known |= {"rows": fitted.rows, "columns": fitted.columns}
    return problem.ranked("MCIndep", observed, replicates, m, "empirical", warnings, known)


IndependenceMethod = Literal[
    "projected",
    "nonprojected",
    "asymptotic",
    "asymptotic-printed",
    "monte-carlo",
    "monte-carlo-projected",
    "cell-bounds",
]
INDEPENDENCE_METHODS: tuple[IndependenceMethod, ...] = (
    "projected",
    "nonprojected",
    "asymptotic",
    "asymptotic-printed",
    "monte-carlo",
    "monte-carlo-projected",
)
"""Those that have a null distribution, which simulations and power functions study; `independence` knows "cell-bounds"
too."""
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
        weights), "asymptotic-printed" (conservative), "monte-carlo" (Algorithm 12, MCIndep), "monte-carlo-projected"
        (Algorithm 16) or "cell-bounds" (Chernoff's bound for each cell over intervals for the margins). None:
        "projected" with Gaussian noise, "monte-carlo-projected" with Laplace noise, for which no chi-square threshold
        keeps its level.

        Which levels are exact: that of "cell-bounds" alone, by its inequality. The Monte Carlo methods draw from
        margins that were fitted to the same noisy table, so that table and replicates do not have one distribution and
        are not exchangeable: their level is empirical. The others compare with a limit distribution: their level is
        asymptotic.
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
    method = default_method(counts, epsilon, noise) if method is None else method
    arguments.choice("method", method, (*INDEPENDENCE_METHODS, "cell-bounds"))
    shared: dict[str, Any] = {"rho": rho, "epsilon": epsilon, "noise": noise, "alpha": alpha, "n": n}
    shared |= {"neighbours": neighbours, "public_margins": public_margins, "unit": unit, "source": source}
    if method == "cell-bounds":
        return cell_bounds.independence(counts, **shared)
    if method == "monte-carlo":
        return monte_carlo_independence(counts, m=m, on_null=on_null, minimum_count=minimum, rng=rng, **shared)
    if method in ("asymptotic", "asymptotic-printed"):
        kind: Weights = "corrected" if method == "asymptotic" else "printed"
        return asymptotic_independence(counts, kind=kind, minimum_count=minimum, **shared)
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
    """Test privately whether several samples of public sizes, such as cases and controls, have the same
    distribution.

    The sizes of the groups are fixed by design and used exactly. Privacy is for replacing a record inside its group.
    The statistic is a sum over the groups, each compared with a common fit, and has `(groups - 1)(cells - 1)` degrees
    of freedom.

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

    Notes
    -----
    A neighbour moves two cells, so the noise is that of `independence`. The statistic sums the groups' projected
    statistics at the common fit: each group's total is known, so each is centred (derived).

    Examples
    --------
    >>> found = homogeneity([[250, 167], [125, 167], [125, 166]], rho=0.5)      # genotypes by cases and controls
    >>> found.reject, found.details["degrees"]
    (True, 2)
    """
    arguments.choice("groups", groups, ("rows", "columns"))
    checked = _table(counts, n, neighbours)
    if groups == "columns":
        checked = _turned(checked)
    model = Homogeneity(*checked.shape)
    side: Margins = "rows"  # of the turned table
    shared: dict[str, Any] = {"rho": rho, "epsilon": epsilon, "noise": noise, "alpha": alpha, "source": source}
    shared |= {"public_margins": side, "sizes": sizes, "n": n, "neighbours": neighbours}
    method = _default(method, counts, epsilon, noise)
    result = _general(checked, model, method, m, on_null, minimum_expected, rng, shared, "homogeneity")
    if groups == "rows":
        return result
    upright = {name: result.details[name].T for name in ("noisy_counts", "fitted") if name in result.details}
    return replace(result, details=dict(result.details) | upright)


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
    """Test privately whether a square table is symmetric, `p_ij = p_ji`: whether paired answers show no change.

    Everything else is as in `homogeneity`.

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
    """Test privately whether genotypes are in Hardy-Weinberg equilibrium. Each person is a record.

    `counts` are those of AA, Aa and aa for two alleles. For more alleles they are those of the unordered pairs, in the
    order of `HardyWeinberg`. Everything else is as in `homogeneity`.

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
    chosen: ModelMethod = method or default_method(counts, epsilon, noise)
    arguments.choice("method", chosen, MODEL_METHODS)
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
        result = mc_minimum_chi_square(counts, model, m=m, on_null=on_null, minimum_expected=minimum, rng=rng, **shared)
    else:
        result = minimum_chi_square(counts, model, projected=method == "projected", minimum_expected=minimum, **shared)
    return replace(result, test=result.test.replace("minimum chi-square", what))


SimulatedIndependence = Literal[
    "classical",
    "projected",
    "nonprojected",
    "asymptotic",
    "asymptotic-printed",
    "monte-carlo",
    "monte-carlo-projected",
]
OnNullStudied = Literal["redraw", "skip", "fail", "minus-infinity"]
#: Rounds of redrawing every resample that is still inconclusive.
_ROUNDS = 100


@dataclass(frozen=True)
class TestBatch:
    """One entry a test; statistic and p-value are NaN where it was inconclusive, which is not rejected."""

    __test__ = False

    statistic: Array
    p_value: Array
    reject: NDArray[np.bool_]
    conclusive: NDArray[np.bool_]

    @property
    def rate(self) -> float:
        """Share of rejections among all tests: level under the null, power under an alternative."""
        return float(self.reject.mean())


def simulate_tables(
    n: int, p: Any, noise: NoiseLaw, trials: int, rng: np.random.Generator, *, noisy: bool = True
) -> Array:
    """Return `trials` noisy tables of `n` records from the cell probabilities `p`, an `r` by `c` table.

    With `noisy=False` the counts are exact.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gaussian
    >>> simulate_tables(1000, [[0.25, 0.25], [0.25, 0.25]], gaussian(0.00125), 3, np.random.default_rng(1)).shape
    (3, 2, 2)
    """
    law = np.asarray(p, dtype=np.float64)
    if law.ndim != 2 or not np.all(law >= 0) or abs(law.sum() - 1) > 1e-9:
        raise InvalidParameter("p must be a table of probabilities that sum to one")
    size, count = arguments.whole("n", n, at_least=1), arguments.whole("trials", trials, at_least=1)
    tables = generator(rng).multinomial(size, (law / law.sum()).ravel(), size=count).reshape(count, *law.shape)
    return tables + noise.sample(rng, tables.shape) if noisy else tables.astype(np.float64)


def independence_batch(
    noisy: Array,
    n: int,
    noise: NoiseLaw,
    *,
    method: SimulatedIndependence = "projected",
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    on_null: OnNullStudied = "redraw",
    minimum: float = MINIMUM_COUNT,
    rng: np.random.Generator | None = None,
) -> TestBatch:
    """Test the independence in every table of `noisy`, an array of shape `(trials, r, c)`.

    Parameters
    ----------
    noisy : array
        From `simulate_tables`.
    n, noise
        The setting, one for all.
    method : str
        As in `independence`; also "classical": statistic (6.18) against Pearson's threshold, which loses its level.
    alpha, m, minimum
        As in `independence`; replicates are fresh for every table.
    on_null : str
        As in `independence`; also "minus-infinity", the rule that loses its level, for showing that it does.
    rng : numpy Generator
        Needed by the Monte Carlo methods.

    Returns
    -------
    TestBatch
        Time for 10,000 tables of 2 by 2: .1 s "projected", .4 s "asymptotic", 1 s "monte-carlo" and 5 s
        "monte-carlo-projected" at m = 59.

    Examples
    --------
    >>> from holdfast.inference.private_tests import gaussian
    >>> rng, law = np.random.default_rng(1), gaussian(0.00125)
    >>> noisy = simulate_tables(5000, [[0.25, 0.25], [0.25, 0.25]], law, 10_000, rng)
    >>> rates = [independence_batch(noisy, 5000, law, method=name).rate for name in ("projected", "classical")]
    >>> [rate < 0.06 for rate in rates]
    [True, False]
    """
    arguments.choice("method", method, ("classical", *INDEPENDENCE_METHODS))
    alpha, n = arguments.probability("alpha", alpha), arguments.whole("n", n, at_least=1)
    tables = np.asarray(noisy, dtype=np.float64)
    if tables.ndim != 3 or min(tables.shape[1:]) < 2:
        raise InvalidParameter(f"noisy must have shape (trials, r, c), got {tables.shape}")
    trials, r, c = tables.shape
    model = Independence(r, c)
    sizes, flat = np.array([float(n)]), tables.reshape(trials, 1, r * c)
    if method == "monte-carlo":
        fitted = two_step_mle(tables, n, minimum_count=minimum)
        statistic = independence_statistic(tables, n, minimum_count=minimum)  # as that of the replicates, ties included
        law = fitted.probabilities.reshape(flat.shape)
        return bootstrap(statistic, law, sizes, noise, _pearson(n, r, c, minimum), alpha, m, on_null, rng)
    if method in ("asymptotic", "asymptotic-printed", "classical"):
        fitted = two_step_mle(tables, n, minimum_count=minimum)
        statistic = residual_statistic(tables, n, fitted)
        good = np.asarray(fitted.conclusive)
        p = np.full(trials, np.nan)
        if method == "classical":
            p[good] = chi_square_sf(statistic[good], (r - 1) * (c - 1))
        elif good.any():
            kind: Weights = "corrected" if method == "asymptotic" else "printed"
            lam = weights(fitted.rows[good], fitted.columns[good], n, noise.variance, kind)
            p[good] = np.clip(mixture_sf(statistic[good], lam), 0.0, 1.0)
        return _decided(statistic, p, alpha)
    fitting = fit(flat, sizes, noise.variance, model, minimum)
    if method == "monte-carlo-projected":
        general = _minimum(model, sizes, noise.variance, minimum)
        return bootstrap(fitting.projected, fitting.probabilities, sizes, noise, general, alpha, m, on_null, rng)
    statistic = (
        fitting.projected if method == "projected" else np.where(fitting.conclusive, fitting.nonprojected, np.nan)
    )
    p = np.full(trials, np.nan)
    degrees = degrees_of_freedom(model, method == "projected")
    p[fitting.conclusive] = chi_square_sf(statistic[fitting.conclusive], degrees)
    return _decided(statistic, p, alpha)


def bootstrap(
    observed: Array,
    law: Array,
    sizes: Array,
    noise: NoiseLaw,
    statistic: Callable[[Array], Array],
    alpha: float,
    m: int,
    on_null: OnNullStudied = "redraw",
    rng: np.random.Generator | None = None,
) -> TestBatch:
    """Rank `observed` statistics `(trials,)` among `m` of tables drawn from each trial's own fitted distribution.

    Parameters
    ----------
    observed : array
        NaN where inconclusive.
    law : array
        Fitted cell probabilities, `(trials, groups, cells)`.
    sizes, noise
        Public sizes of the groups, and the distribution of the noise.
    statistic : callable
        From tables `(k, groups, cells)` to `(k,)`, NaN where inconclusive.
    alpha, m, on_null, rng
        As in `independence_batch`.
    """
    rank(m, alpha)
    arguments.choice("on_null", on_null, ("redraw", "skip", "fail", "minus-infinity"))
    stream = generator(rng)
    p_values = np.full(observed.size, np.nan)
    good = np.flatnonzero(~np.isnan(observed))
    shape = law.shape[1:]
    for part in blocks(good.size, m * int(np.prod(shape))):
        rows = good[part]
        p = np.maximum(law[rows], 0.0)
        p = p / p.sum(axis=-1, keepdims=True)
        owner = np.repeat(np.arange(rows.size), m)
        values = _draw(stream, p[owner], sizes, noise, statistic)
        for _ in range(_ROUNDS if on_null == "redraw" else 0):
            empty = np.flatnonzero(np.isnan(values))
            if not empty.size:
                break
            values[empty] = _draw(stream, p[owner[empty]], sizes, noise, statistic)
        values = values.reshape(rows.size, m)
        known = ~np.isnan(values)
        above = np.count_nonzero(values >= observed[rows, None], axis=1)
        count = known.sum(axis=1) if on_null == "skip" else np.full(rows.size, m)
        usable = known.any(axis=1) if on_null == "skip" else known.all(axis=1) | (on_null == "minus-infinity")
        p_values[rows] = np.where(usable, (1 + above) / (count + 1), np.nan)
    return _decided(np.where(np.isnan(p_values), np.nan, observed), p_values, alpha)


def _draw(
    rng: np.random.Generator, p: Array, sizes: Array, noise: NoiseLaw, statistic: Callable[[Array], Array]
) -> Array:
    """The statistic of one fresh noisy table from each distribution `(k, groups, cells)`."""
    tables = rng.multinomial(sizes.astype(np.int64), p, size=p.shape[:-1]) + noise.sample(rng, p.shape)
    return statistic(tables)


def _pearson(n: int, r: int, c: int, minimum: float) -> Callable[[Array], Array]:
    def statistic(tables: Array) -> Array:
        statistics: Array = independence_statistic(tables.reshape(-1, r, c), n, minimum_count=minimum)
        return statistics

    return statistic


def _minimum(model: NullModel, sizes: Array, variance: float, minimum: float) -> Callable[[Array], Array]:
    def statistic(tables: Array) -> Array:
        statistics: Array = fit(tables, sizes, variance, model, minimum).projected
        return statistics

    return statistic


def _decided(statistic: Array, p: Array, alpha: float) -> TestBatch:
    conclusive = ~np.isnan(p)
    reject = np.zeros(p.size, dtype=bool)
    reject[conclusive] = rejects(p[conclusive], alpha)
    return TestBatch(statistic, p, reject, conclusive)
