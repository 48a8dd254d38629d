"""Independence against a mixture of chi-squares: AsymptIndep, as printed and corrected (Algorithm 13)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.bounds.chi_square_mixture import mixture_sf
from holdfast.bounds.chi_square_quantile import mixture_quantile
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.counts import Margins
from holdfast.inference.private_tests.noise_law import NoiseLaw, Unit
from holdfast.inference.private_tests.question import need_gaussian, question, small_alpha
from holdfast.inference.private_tests.released import source_warnings
from holdfast.inference.private_tests.result import TestResult
from holdfast.inference.private_tests.two_step_mle import MINIMUM_COUNT, residual_statistic, two_step_mle
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
    check.choice("kind", kind, ("corrected", "printed"))
    a, b = np.asarray(rows, dtype=np.float64), np.asarray(columns, dtype=np.float64)
    for name, margin in (("rows", a), ("columns", b)):
        if margin.ndim < 1 or margin.shape[-1] < 2 or not np.all(margin > 0):
            raise InvalidParameter(f"{name} must be positive margins of at least two entries")
    ratio = check.real("variance", variance, at_least=0) / check.whole("n", n, at_least=1)
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


def independence(
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
        As in `mc_indep.independence`; the noise must be Gaussian.
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
    >>> result = independence([[300, 200], [150, 350]], rho=0.1)
    >>> result.reject, result.level
    (True, 'asymptotic')
    """
    found = question(
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
    check.choice("kind", kind, ("corrected", "printed"))
    least = check.real("minimum_count", minimum_count, above=0)
    need_gaussian(found.noise, "AsymptIndep")
    warnings = small_alpha(found.alpha, "up to three times the nominal level")
    if least < MINIMUM_COUNT:
        warnings += (f"minimum_count = {least:g} is below 5, where no level was measured",)
    if kind == "printed":
        warnings += (CONSERVATIVE,)
    warnings += source_warnings(found.counts, source)
    name = f"AsymptIndep ({kind})"
    noisy = found.noisy(source)
    fitted = two_step_mle(noisy, found.n, minimum_count=least)
    known: dict[str, Any] = {"noisy_counts": noisy}
    if not fitted.conclusive:
        return found.null(name, f"a denoised count is below {least:g}", "asymptotic", warnings, known)
    lam = weights(fitted.rows, fitted.columns, found.n, found.noise.variance, kind)
    statistic = float(residual_statistic(noisy, found.n, fitted))
    p = min(max(float(mixture_sf(statistic, lam)), 0.0), 1.0)
    known |= {"weights": lam, "rows": fitted.rows, "columns": fitted.columns}
    return found.result(name, statistic, p, float(mixture_quantile(found.alpha, lam)), "asymptotic", warnings, known)


__all__ = ["Weights", "independence", "residual_covariance", "weights"]
