"""The power of the private tests of a composite null: independence, homogeneity and the other null models."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests import asympt_indep
from holdfast.inference.private_tests.independence_methods import (
    INDEPENDENCE_METHODS,
    MODEL_METHODS,
    IndependenceMethod,
    ModelMethod,
)
from holdfast.inference.private_tests.independence_simulation import independence_batch, simulate_tables
from holdfast.inference.private_tests.minimum_chi_square import MINIMUM_EXPECTED
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES, generator
from holdfast.inference.private_tests.noise_law import NoiseLaw, Unit, noise_of
from holdfast.inference.private_tests.null_models import Homogeneity, Independence, NullModel
from holdfast.inference.private_tests.power import Power, distribution, simulated_power
from holdfast.inference.private_tests.power_kernel import (
    LIMIT_DRAWS,
    At,
    Quadratic,
    limit_power,
    multinomial,
    quadratic_power,
)
from holdfast.inference.private_tests.weighted_fit import Whitening, whitening
from holdfast.noise.inputs import Rational

Array = NDArray[np.float64]

_NAMES = {
    "classical": "classical",
    "projected": "projected",
    "nonprojected": "nonprojected",
    "asymptotic": "AsymptIndep (corrected)",
    "asymptotic-printed": "AsymptIndep (printed)",
    "monte-carlo": "MCIndep",
    "monte-carlo-projected": "MC projected",
}


def independence_power(
    p: Any,
    n: int,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    method: IndependenceMethod | Literal["classical"] | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    at: At = "alternative",
    unit: Unit = "person",
    trials: int | None = None,
    rng: np.random.Generator | None = None,
) -> Power:
    """The probability that `independence` rejects when the records follow the table `p` of probabilities.

    Projected and nonprojected statistics: noncentrality `n delta' (N - N J (J'NJ)^-1 J'N) delta`, `N = Pi Sigma^-1 Pi`
    at the product of the margins and `delta` what `p` has beyond it (spec 3, derived and reviewed), with `(r-1)(c-1)`
    degrees of freedom, one more where not projected. AsymptIndep and MCIndep: the residual is `K` times the noisy table
    (see `asympt_indep.weights`) and `K delta = delta`, which gives a noncentral mixture; the printed variant compares
    it with its own, larger, threshold (derived here, checked by simulation).

    Parameters
    ----------
    p : table
        Probabilities `(r, c)` under the alternative, summing to one, with positive margins.
    n : int
        Number of records.
    rho, epsilon, noise, unit
        As in `independence`; none for "classical".
    method : str, optional
        As in `independence`; also "classical", Pearson's test without privacy.
    alpha, m
        As in `independence`.
    at, trials, rng
        As in `gof_power`. The limit does not see the rule of thumb; `trials` does.

    Examples
    --------
    >>> table = [[0.26, 0.24], [0.24, 0.26]]
    >>> print(f"{independence_power(table, 5000, rho=0.00125, at='null').noncentrality:.8f}")
    4.87804878
    >>> print(independence_power(table, 5000, rho=0.00125))
    projected independence: power 0.598 at n = 5000, alpha 0.05 (limit); cost ZCDP(rho=0.00125)
    """
    truth = _numbers(p)
    if truth.ndim != 2 or min(truth.shape) < 2:
        raise InvalidParameter(f"p must be a table of at least 2 by 2 probabilities, got shape {truth.shape}")
    law = _law(method, rho, epsilon, noise, unit)
    method = method or ("projected" if law is None or law.is_gaussian else "monte-carlo-projected")
    check.choice("method", method, ("classical", *INDEPENDENCE_METHODS))
    model = Independence(*truth.shape)
    if method not in ("asymptotic", "asymptotic-printed", "monte-carlo"):
        return _power(model, truth.reshape(1, -1), [n], law, method, alpha, m, at, trials, rng, "independence")
    assert law is not None
    flat, sizes = _checked(model, truth.reshape(1, -1), [n])
    _refuse(law, method)
    theta = model.start(flat)
    rows, columns = theta[: model.r], theta[model.r :]
    product = model.probabilities(theta)[0]
    root = np.sqrt(n / product)[:, None] * _residual(rows, columns)
    threshold = None
    if method == "asymptotic-printed":
        threshold = tuple(asympt_indep.weights(rows, columns, n, law.variance, "printed").tolist())
    test = Quadratic(root, multinomial(product) / n, threshold=threshold)
    replicates = m if method == "monte-carlo" else None
    return _evaluate(model, test, flat, sizes, law, method, alpha, replicates, at, trials, rng, _NAMES[method])


def homogeneity_power(
    p: Any,
    sizes: Any,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    method: ModelMethod | Literal["classical"] | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    at: At = "alternative",
) -> Power:
    """The probability that `homogeneity` rejects when the groups, rows of `p`, follow different laws.

    Parameters
    ----------
    p : table
        One row of probabilities a group, each summing to one. Groups are rows here.
    sizes : list
        The groups' public sizes.
    rho, epsilon, noise, method, alpha, m, at
        As in `independence_power`.

    Examples
    --------
    Cases and controls of Figure 23, 500 each:

    >>> genotypes = [[1 / 2, 1 / 4, 1 / 4], [1 / 3, 1 / 3, 1 / 3]]
    >>> print(f"{homogeneity_power(genotypes, [500, 500], rho=0.002).power:.2f}")
    0.70
    """
    truth = _numbers(p)
    if truth.ndim != 2:
        raise InvalidParameter("p must be a table: one row of probabilities a group")
    law = _law(method, rho, epsilon, noise, "person")
    model = Homogeneity(*truth.shape)
    return _power(model, truth, sizes, law, method, alpha, m, at, None, None, "homogeneity")


def model_power(
    model: NullModel,
    p: Any,
    n: int,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    method: ModelMethod | Literal["classical"] | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    at: At = "alternative",
) -> Power:
    """The probability that `minimum_chi_square` rejects a null model of one group when the records follow `p`.

    Parameters
    ----------
    model : NullModel
        `HardyWeinberg`, `Symmetry`, `Independence`, `Simple`.
    p : list
        Cell probabilities under the alternative.
    n : int
        Number of records.
    rho, epsilon, noise, method, alpha, m, at
        As in `independence_power`.

    Examples
    --------
    >>> from holdfast.inference.private_tests import HardyWeinberg
    >>> print(model_power(HardyWeinberg(), [0.28, 0.44, 0.28], 1000, rho=0.01))
    projected Hardy-Weinberg equilibrium of 2 alleles: power 0.922 at n = 1000, alpha 0.05 (limit); cost ...
    """
    if not isinstance(model, NullModel) or model.groups != 1:
        raise InvalidParameter("model must be a null model of one group; several groups: homogeneity_power")
    law = _law(method, rho, epsilon, noise, "person")
    truth = _numbers(p).reshape(1, -1)
    return _power(model, truth, [n], law, method, alpha, m, at, None, None, model.name)


def minimum_chi_square_root(model: NullModel, theta: Array, white: Whitening) -> Array:
    """`A` with `T = |A v|^2` near the null: whitened residuals, less what the fit takes up."""
    cells = model.groups * model.cells
    whole = white.columns(np.eye(cells).reshape(model.groups, model.cells, cells))
    if model.parameters == 0:
        return whole
    slopes = white.columns(model.jacobian(theta) @ model.tangent)
    basis, sizes_of, _ = np.linalg.svd(slopes, full_matrices=False)
    basis = basis[:, sizes_of > 1e-10 * sizes_of.max(initial=0.0)]
    root: Array = whole - basis @ (basis.T @ whole)
    return root


def _power(
    model: NullModel,
    truth: Array,
    sizes: Any,
    law: NoiseLaw | None,
    method: str | None,
    alpha: float,
    m: int,
    at: At,
    trials: int | None,
    rng: np.random.Generator | None,
    what: str,
) -> Power:
    method = method or ("projected" if law is None or law.is_gaussian else "monte-carlo-projected")
    check.choice("method", method, ("classical", *MODEL_METHODS))
    flat, totals = _checked(model, truth, sizes)
    if law is not None:
        _refuse(law, method)
    theta = model.start(flat * totals[:, None])
    white = whitening(model.probabilities(theta), totals, 0.0 if law is None else law.variance)
    root = minimum_chi_square_root(model, theta, white)
    null = _blocks([multinomial(row) / size for row, size in zip(model.probabilities(theta), totals, strict=True)])
    test = Quadratic(root, null, extra=model.groups if method == "nonprojected" else 0)
    replicates = m if method == "monte-carlo-projected" else None
    name = f"{_NAMES[method]} {what}"
    return _evaluate(model, test, flat, totals, law, method, alpha, replicates, at, trials, rng, name)


def _evaluate(
    model: NullModel,
    test: Quadratic,
    truth: Array,
    sizes: Array,
    law: NoiseLaw | None,
    method: str,
    alpha: float,
    m: int | None,
    at: At,
    trials: int | None,
    rng: np.random.Generator | None,
    name: str,
) -> Power:
    alpha = check.probability("alpha", alpha)
    check.choice("at", at, ("alternative", "null"))
    fitted = model.probabilities(model.start(truth * sizes[:, None]))
    variance = 0.0 if law is None else law.variance
    known: dict[str, Any] = {"n": int(sizes.sum()), "alpha": alpha, "cost": None if law is None else law.cost}
    known["level"] = "asymptotic" if m is None else "empirical"
    warnings = _rule_of_thumb(fitted, truth, sizes, variance, method)
    if trials is not None:
        if not isinstance(model, Independence) or law is None:
            raise InvalidParameter("trials are for private tests of independence")
        count, stream = check.whole("trials", trials, at_least=1), generator(rng)
        noisy = simulate_tables(known["n"], truth.reshape(model.r, model.c), law, count, stream)
        options: dict[str, Any] = {"method": method, "alpha": alpha, "rng": stream}
        rate = independence_batch(noisy, known["n"], law, m=m or DEFAULT_REPLICATES, **options).rate
        return simulated_power(name, rate, count, known, ())
    shift = (truth - fitted).ravel()
    spread = test.null
    if at == "alternative":
        spread = _blocks([multinomial(row) / size for row, size in zip(truth, sizes, strict=True)])
    deviation = np.repeat(np.sqrt(variance) / sizes, model.cells)
    if law is not None and not law.is_gaussian:
        found = limit_power(test, shift, spread, deviation, alpha, m=m)
        return simulated_power(name, found, LIMIT_DRAWS, known, warnings, how="simulated limit")
    own = np.diag(np.square(deviation))
    whole = Quadratic(test.root, test.null + own, test.extra, test.threshold)
    found, noncentrality = quadratic_power(whole, shift, spread + own, alpha, m=m)
    return Power(name, found, noncentrality=noncentrality, how="limit", warnings=warnings, **known)


def _residual(rows: Array, columns: Array) -> Array:
    """`K = I - L Pi` of the corrected AsymptIndep: the residual of the two-step fit as a map of the noisy table."""
    r, c = rows.size, columns.size
    fitted = np.kron(np.eye(r), np.outer(columns, np.ones(c))) + np.kron(np.outer(rows, np.ones(r)), np.eye(c))
    found: Array = np.eye(r * c) - fitted @ (np.eye(r * c) - 1 / (r * c))
    return found


def _rule_of_thumb(fitted: Array, truth: Array, sizes: Array, variance: float, method: str) -> tuple[str, ...]:
    """A warning where the test is often inconclusive: the limit knows nothing of it."""
    if method == "classical":
        return ()
    least = float((fitted * sizes[:, None]).min())
    often = least < 2 * MINIMUM_EXPECTED
    if method in ("asymptotic", "asymptotic-printed", "monte-carlo"):  # these look at each denoised cell
        least = min(least, float((truth * sizes[:, None]).min()))
        often = least < MINIMUM_EXPECTED + 3 * np.sqrt(variance + least)
    if not often:
        return ()
    return (
        f"the smallest expected count is {least:.3g}: the rule of thumb will often make the test inconclusive, which "
        "this number does not count; simulate with trials",
    )


def _numbers(p: Any) -> Array:
    try:
        return np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("p must be a list of numbers, or of rows of equal length") from None


def _checked(model: NullModel, truth: Array, sizes: Any) -> tuple[Array, Array]:
    totals = np.array([check.whole("n", size, at_least=1) for size in np.ravel(sizes)], dtype=np.float64)
    if totals.size != model.groups:
        raise InvalidParameter(f"sizes must list {model.groups} groups, got {totals.size}")
    if truth.shape != (model.groups, model.cells):
        raise InvalidParameter(f"p must have {model.groups * model.cells} cells for {model.name}")
    flat = np.array([distribution("p", row) for row in truth])
    if not np.all(model.probabilities(model.start(flat * totals[:, None])) > 0):
        raise InvalidParameter("p must have positive margins: an empty row or column leaves nothing to test")
    return flat, totals


def _law(method: Any, rho: Any, epsilon: Any, noise: Any, unit: Unit) -> NoiseLaw | None:
    if method != "classical":
        return noise_of(rho=rho, epsilon=epsilon, noise=noise, unit=unit)
    if not (rho is None and epsilon is None and noise is None):
        raise InvalidParameter("the classical test is not private: give neither rho, epsilon nor noise")
    return None


def _refuse(law: NoiseLaw, method: str) -> None:
    if not law.is_gaussian and not method.startswith("monte-carlo"):
        raise InvalidParameter(f"{method} needs Gaussian noise (rho); with Laplace noise use monte-carlo-projected")


def _blocks(parts: list[Array]) -> Array:
    from scipy.linalg import block_diag

    found: Array = block_diag(*parts)
    return found


__all__ = ["homogeneity_power", "independence_power", "minimum_chi_square_root", "model_power"]
