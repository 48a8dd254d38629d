"""Power of the private tests of counts, before any record is touched: goodness of fit and composite null models.

The kernel
----------
Each statistic is, near the null, `|root v|^2` with `v` the noisy proportions less the null ones. In the limit `v` is
normal, so the statistic is a mixture of chi-squares under the null (its weights give the threshold) and a noncentral
one under an alternative. The dissertation's theorems take the covariance at the null in both (local alternatives). The
covariance at the alternative is what the central limit theorem says for a fixed one, and costs nothing more: where a
small cell changes by a large factor it is right within .003 and the printed form is off by .03 to .10 (derived here;
`tests/inference/private_tests/test_power.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from holdfast.accounting.costs import Cost
from holdfast.bounds.numerics.chi_square import mixture_moments, mixture_quantile, mixture_sf
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests import independence_tests
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.goodness_of_fit import METHODS, LawMethod, gof_batch, simulate_noisy
from holdfast.inference.private_tests.independence_tests import (
    INDEPENDENCE_METHODS,
    MODEL_METHODS,
    IndependenceMethod,
    independence_batch,
    simulate_tables,
)
from holdfast.inference.private_tests.minimum_chi_square import MINIMUM_EXPECTED, Whitening, whitening
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES, generator, rank
from holdfast.inference.private_tests.noise_law import NoiseLaw, Unit, noise_of
from holdfast.inference.private_tests.null_models import Homogeneity, Independence, NullModel, two_step_mle
from holdfast.inference.private_tests.question import FEW, TINY, ModelMethod
from holdfast.inference.private_tests.result import Level
from holdfast.noise.inputs import Rational

Array = NDArray[np.float64]
At = Literal["alternative", "null"]

#: Shares of the largest weight below which a weight is rounding error.
_NOTHING = 1e-11
#: Noncentralities from which the power is one to the last digit.
_CERTAIN = 1e6
#: Nodes over the distribution of a Monte Carlo threshold; 24 leave 1e-6.
_NODES = 24
#: Thresholds between which its power is interpolated.
_GRID = 257
#: Draws from the limit distribution where the noise is not normal. Power 1/2 has standard error .0018.
LIMIT_DRAWS = 80_000


@dataclass(frozen=True)
class Quadratic:
    """A statistic `|root v|^2 + chi2(extra)`, the second term independent and free of the alternative.

    Attributes
    ----------
    root : array
        `(k, cells)`, the groups of a stacked design one after the other.
    null : array
        Covariance `(cells, cells)` of `v` under the null, noise included.
    extra : int
        Degrees of freedom that only noise fills: 1 a group for the nonprojected statistics.
    threshold : tuple, optional
        Weights of the distribution that gives the critical value, where the test does not use the right one.
    """

    root: Array
    null: Array
    extra: int = 0
    threshold: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Law:
    """`constant + sum_j weight_j chi2(1, noncentrality_j)`."""

    weights: tuple[float, ...]
    noncentrality: tuple[float, ...]
    constant: float = 0.0

    def sf(self, x: float) -> float:
        """Return the probability beyond `x`."""
        return float(_upper(np.array([x]), self)[0])


def quadratic_law(test: Quadratic, shift: Array, covariance: Array) -> Law:
    """Return the distribution of the statistic where `v` is normal with mean `shift`.

    With eigenpairs `(l_j, u_j)` of `root covariance root'`, the weights are `l_j` and the noncentralities
    `(u_j . root shift)^2 / l_j`; a direction without variance adds a constant (spec 3, Theorem 6.1.11 simplified).
    """
    values, vectors = np.linalg.eigh(test.root @ covariance @ test.root.T)
    along = np.square(vectors.T @ (test.root @ shift))
    keep = values > _NOTHING * max(values[-1], 1e-300)
    weights = np.where(np.abs(values - 1) < 1e-9, 1.0, values)[keep]  # chi-squares, up to rounding
    # What is left where there is no variance is rounding error, unless the alternative empties a cell.
    constant = float(along[~keep].sum())
    constant = constant if constant > 1e-9 * float(along.sum()) else 0.0
    extra = np.ones(test.extra)
    return Law(
        tuple(np.concatenate([weights, extra]).tolist()),
        tuple(np.concatenate([along[keep] / values[keep], 0 * extra]).tolist()),
        constant,
    )


def quadratic_power(
    test: Quadratic, shift: Array, covariance: Array, alpha: float, *, m: int | None = None
) -> tuple[float, float]:
    """Return the power in the limit with Gaussian noise, and the noncentrality `sum weight nc` over the mean weight.

    With `m` the threshold is the order statistic of `m` replicates: its level is Beta distributed, and the power is the
    mean of the powers at those levels.
    """
    under = test.threshold or quadratic_law(test, np.zeros_like(shift), test.null).weights
    law = quadratic_law(test, shift, covariance)
    signal = float(np.dot(law.weights, law.noncentrality)) + law.constant
    size = signal * len(law.weights) / max(float(np.sum(law.weights)), 1e-300)
    if m is None:
        return law.sf(critical(under, alpha)), size
    levels, masses = threshold_levels(m, alpha)
    # One vectorised pass over a grid of thresholds; the power is smooth in the logarithm of the level.
    points = np.linspace(critical(under, float(levels.max())), critical(under, float(levels.min())), _GRID)
    reached = np.log(_upper(points, Law(under, (0.0,) * len(under))))
    powers = np.interp(np.log(levels), reached[::-1], _upper(points, law)[::-1])
    return float(masses @ powers), size


def limit_power(
    test: Quadratic,
    shift: Array,
    covariance: Array,
    noise: Array,
    alpha: float,
    *,
    m: int | None = None,
    seed: int = 1,
) -> float:
    """Return the power in the limit where the noise is Laplace: sampling error is normal, the noise keeps its own
    distribution.

    Simulated with `LIMIT_DRAWS` draws that are the same for every setting, so that the power moves smoothly with n and
    epsilon and a planner can solve for them.

    Parameters
    ----------
    test : Quadratic
        `test.null` and `covariance` here are without the noise.
    shift, covariance : array
        Of `v` under the alternative.
    noise : array
        Standard deviation of the noise on each cell of `v`.
    alpha, m
        As in `quadratic_power`.
    seed : int
        Of the simulation.
    """
    cells = shift.size
    normal, laplace = _draws(cells, seed)

    def values(at: Array, spread: Array) -> Array:
        size, vectors = np.linalg.eigh(spread)
        v = at + normal @ (vectors * np.sqrt(np.maximum(size, 0.0))).T + laplace * noise
        statistics: Array = np.square(v @ test.root.T).sum(axis=1)
        return statistics

    under = np.sort(values(np.zeros(cells), test.null))
    above = np.sort(values(shift, covariance))
    levels, masses = threshold_levels(m, alpha) if m is not None else (np.array([alpha]), np.ones(1))
    thresholds = np.quantile(under, 1 - levels)
    return float(masses @ (1 - np.searchsorted(above, thresholds, side="right") / above.size))


def _upper(points: Array, law: Law) -> Array:
    """The probability beyond each point, never outside [0, 1]."""
    if sum(law.noncentrality) > _CERTAIN:
        return np.ones(points.size)
    if not law.weights:
        return (points < law.constant).astype(np.float64)
    tails = mixture_sf(np.maximum(points - law.constant, 0.0), law.weights, noncentrality=law.noncentrality)
    return np.asarray(np.clip(tails, 0.0, 1.0))


@lru_cache(maxsize=4)
def _draws(cells: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([seed, cells])
    draws = max(2000, min(LIMIT_DRAWS, 16_000_000 // cells))
    return rng.normal(size=(draws, cells)), rng.laplace(scale=np.sqrt(0.5), size=(draws, cells))


def threshold_levels(m: int, alpha: float) -> tuple[Array, Array]:
    """Nodes and masses of the true level of a Monte Carlo threshold: Beta(m + 1 - t, t), t its rank among `m`.

    Examples
    --------
    >>> levels, masses = threshold_levels(999, 0.05)
    >>> print(f"{levels @ masses:.4f}")                                  # the level is kept on average
    0.0500
    """
    t = rank(m, alpha)
    x, masses = np.polynomial.legendre.leggauss(_NODES)
    levels: Array = betaincinv(m + 1 - t, t, 0.5 * (x + 1))
    return levels, 0.5 * masses


@lru_cache(maxsize=4096)
def critical(weights: tuple[float, ...], alpha: float) -> float:
    """Return the upper `alpha` quantile of `sum weight chi2(1)`."""
    if all(w == 1.0 for w in weights):
        return float(mixture_quantile(alpha, [1.0], degrees=len(weights)))
    return float(mixture_quantile(alpha, weights))


def multinomial(p: Any) -> Array:
    """`Diag(p) - p p'`."""
    law = np.asarray(p, dtype=np.float64)
    return np.diag(law) - np.outer(law, law)


How = Literal["limit", "simulated limit", "simulated", "exact"]


@dataclass(frozen=True)
class Power:
    """The probability that a test rejects under an alternative.

    Attributes
    ----------
    test : str
        Which test.
    power : float
        The probability, in [0, 1].
    n : int
        Number of records; of all groups where there are several.
    alpha : float
        The significance level.
    cost : Cost or None
        What the test would spend; None where it is not private.
    noncentrality : float or None
        Of the chi-square that the statistic tends to (of a mixture: its signal over its mean weight).
    how : {"limit", "simulated limit", "simulated", "exact"}
        Whether it is a limit in closed form, the same limit simulated (Laplace noise), a simulation of whole
        tests with their rules of thumb, or the exact probability.
    level : str
        How the level of the test is known; see `TestResult`.
    standard_error : float
        Of a simulated number, else 0.
    warnings : tuple of str
        Where the number is rough.

    Examples
    --------
    >>> p0, p1 = [0.25] * 4, [0.26, 0.24, 0.24, 0.26]
    >>> print(gof_power(p0, p1, 10_000, rho=0.00125))
    projected GOF: power 0.844 at n = 10000, alpha 0.05 (limit); cost ZCDP(rho=0.00125)
    """

    test: str
    power: float
    n: int
    alpha: float
    cost: Cost | None
    noncentrality: float | None
    how: How
    level: Level
    standard_error: float = 0.0
    warnings: tuple[str, ...] = ()

    def __float__(self) -> float:
        return self.power

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "test": self.test,
            "power": self.power,
            "n": self.n,
            "alpha": self.alpha,
            "cost": None if self.cost is None else self.cost.to_dict(),
            "noncentrality": self.noncentrality,
            "how": self.how,
            "level": self.level,
            "standard_error": self.standard_error,
            "warnings": list(self.warnings),
        }

    def __str__(self) -> str:
        error = f" +- {self.standard_error:.1g}" if self.standard_error else ""
        spent = "not private" if self.cost is None else f"cost {self.cost}"
        head = f"{self.test}: power {self.power:.3g}{error} at n = {self.n}, alpha {self.alpha:g} ({self.how}); {spent}"
        return "\n  ".join([head, *(f"warning: {warning}" for warning in self.warnings)])


def gof_power(
    p0: Any,
    p1: Any,
    n: int,
    *,
    rho: Rational | None = None,
    epsilon: Rational | None = None,
    noise: NoiseLaw | None = None,
    method: LawMethod | Literal["classical"] | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    at: At = "alternative",
    trials: int | None = None,
    rng: np.random.Generator | None = None,
) -> Power:
    """Return the probability that `gof` rejects `p0` if the records follow `p1`.

    With Gaussian noise it is computed from the limiting noncentral distribution of the statistic. With Laplace noise
    the limit is simulated once. The threshold of a Monte Carlo test is random, and the probability is averaged over it.

    Parameters
    ----------
    p0, p1 : list
        The null and the truth, each summing to one; `p0` positive.
    n : int
        Number of records.
    rho, epsilon, noise
        Exactly one, as in `gof`; none for "classical".
    method : str, optional
        As in `gof`; also "classical", Pearson's test without privacy.
    alpha, m
        As in `gof`.
    at : {"alternative", "null"}
        Where the covariance of the counts is taken. "null" is the printed theorem for local alternatives.
    trials : int, optional
        Simulate this many whole tests instead: no limit is used. Then `rng` is their randomness.
    rng : numpy Generator, optional
        None for a fresh one.

    Returns
    -------
    Power
        Within .005 of simulation where every expected count is at least 5. Time at d = 4: 4 ms, 25 ms with Monte Carlo,
        70 ms with Laplace noise.

    Notes
    -----
    Gaussian noise: `Qp -> chi2(d - 1, v)`, `Q -> chi2(d, v)`, `v = n delta' Sigma^-1 delta` (Theorem 7.2.10;
    printed); Pearson's noisy statistic tends to `sum_j l_j chi2(1, nu_j)` with eigenpairs `(l_j, q_j)` of
    Algorithm 9's matrix and `nu_j = n (q_j . delta/sqrt(p0))^2 / l_j` (Theorem 6.1.11, simplified in spec 3 and
    reviewed). A Monte Carlo threshold of `m` replicates has a random level, which is averaged over. Laplace
    noise: the same limit with the noise's own distribution, simulated once with common draws.

    Examples
    --------
    >>> p0, p1 = [1 / 2, 1 / 6, 1 / 6, 1 / 6], [0.51, 0.49 / 3, 0.49 / 3, 0.49 / 3]
    >>> for method in ("projected", "asymptotic", "nonprojected"):
    ...     print(f"{method} {gof_power(p0, p1, 20_000, rho=0.00125, method=method, at='null').power:.4f}")
    projected 0.5993
    asymptotic 0.5637
    nonprojected 0.5496
    >>> print(f"{gof_power(p0, p1, 20_000, epsilon=0.1).power:.2f}")                     # Laplace noise
    0.59
    """
    null, truth = probabilities("p0", p0), distribution("p1", p1)
    if truth.size != null.size:
        raise InvalidParameter(f"p1 must have one entry per cell, {null.size} in all, got {truth.size}")
    size, alpha = arguments.whole("n", n, at_least=1), arguments.probability("alpha", alpha)
    arguments.choice("at", at, ("alternative", "null"))
    if method == "classical":
        if not (rho is None and epsilon is None and noise is None):
            raise InvalidParameter(
                "rho, epsilon and noise must be left out for the classical test, because it is not private"
            )
        if trials is not None:
            raise InvalidParameter(
                "trials must be left out for the classical test, because only private tests are simulated"
            )
        law: NoiseLaw | None = None
    else:
        law = noise_of(rho=rho, epsilon=epsilon, noise=noise)
        method = method or ("projected" if law.is_gaussian else "monte-carlo-projected")
        arguments.choice("method", method, ("classical", *METHODS))
        if not law.is_gaussian and not method.startswith("monte-carlo"):
            raise InvalidParameter(f"{method} needs Gaussian noise (rho); with Laplace noise use monte-carlo-projected")
    simulated = method.startswith("monte-carlo")
    variance = 0.0 if law is None else law.variance
    replicates = m if simulated else None
    name = {
        "classical": "classical GOF",
        "projected": "projected GOF",
        "nonprojected": "nonprojected GOF",
        "asymptotic": "AsymptGOF",
        "monte-carlo": "MCGOF",
        "monte-carlo-projected": "MCGOF (projected)",
    }[method]
    warnings: tuple[str, ...] = ()
    smallest = float(size * null.min())
    known: dict[str, Any] = {"n": size, "alpha": alpha, "cost": None if law is None else law.cost}
    known["level"] = "exact" if simulated else "asymptotic"
    if not simulated and law is not None and smallest < TINY:
        why = f"the smallest expected count is {smallest:.3g}, below {TINY:g}: the test is NULL"
        return Power(name, 0.0, noncentrality=None, how="exact", warnings=(why,), **known)
    if smallest < FEW:
        warnings = (
            f"the smallest expected count is {smallest:.3g}, below 5: the limit is rough; simulate with trials",
        )
    if trials is not None and law is not None:
        count = arguments.whole("trials", trials, at_least=1)
        stream = generator(rng)
        noisy = _noisy(size, truth, law, count, stream)
        rate = gof_batch(noisy, size, null, law, method=method, alpha=alpha, m=m, rng=stream, p_values=simulated).rate
        return simulated_power(name, rate, count, known, ())
    test = _quadratic(method, null, size, variance)
    shift, spread = truth - null, multinomial(truth if at == "alternative" else null) / size
    if law is not None and not law.is_gaussian:
        power = limit_power(test, shift, spread, np.full(null.size, np.sqrt(variance) / size), alpha, m=replicates)
        return simulated_power(name, power, LIMIT_DRAWS, known, warnings, how="simulated limit")
    own = np.eye(null.size) * variance / size**2
    test = Quadratic(test.root, test.null + own, test.extra)
    power, noncentrality = quadratic_power(test, shift, spread + own, alpha, m=replicates)
    return Power(name, power, noncentrality=noncentrality, how="limit", warnings=warnings, **known)


def gof_moments(
    p0: Any,
    p1: Any,
    n: int,
    *,
    rho: Rational | None = None,
    noise: NoiseLaw | None = None,
    method: Literal["projected", "nonprojected", "asymptotic"] = "projected",
    at: At = "alternative",
) -> tuple[float, float]:
    """Mean and variance of a statistic with Gaussian noise when the records follow `p1`, in the limit.

    With `at="null"`, Theorem 7.2.12 (printed): `2 (d - 1 + 2 v)` for the projected statistic, `2 (d + 2 v)` for the
    other, and the longer form for Pearson's ("asymptotic").

    Parameters
    ----------
    p0, p1, n, rho, noise, at
        As in `gof_power`; Gaussian noise only.
    method : {"projected", "nonprojected", "asymptotic"}
        Which statistic.

    Examples
    --------
    >>> p0, p1 = [1 / 2, 1 / 6, 1 / 6, 1 / 6], [0.51, 0.49 / 3, 0.49 / 3, 0.49 / 3]
    >>> mean, variance = gof_moments(p0, p1, 20_000, rho=0.00125, method="asymptotic", at="null")
    >>> print(f"{mean:.6f} {variance:.6f}")
    11.800000 46.038400
    """
    arguments.choice("method", method, ("projected", "nonprojected", "asymptotic"))
    arguments.choice("at", at, ("alternative", "null"))
    null, truth, size = probabilities("p0", p0), distribution("p1", p1), arguments.whole("n", n, at_least=1)
    if truth.size != null.size:
        raise InvalidParameter(f"p1 must have one entry per cell, {null.size} in all, got {truth.size}")
    law = noise_of(rho=rho, noise=noise)
    if not law.is_gaussian:
        raise InvalidParameter(
            "noise must be Gaussian, because the variance is that of a quadratic form of normal variables"
        )
    spread = multinomial(truth if at == "alternative" else null) / size + np.eye(null.size) * law.variance / size**2
    form = quadratic_law(_quadratic(method, null, size, law.variance), truth - null, spread)
    mean, variance = mixture_moments(form.weights, noncentrality=form.noncentrality)
    return mean + form.constant, variance


def _quadratic(method: str, null: Array, n: int, variance: float) -> Quadratic:
    """The statistic of a method; the covariance without the noise."""
    root = np.diag(np.sqrt(n / null))
    if method not in ("classical", "asymptotic", "monte-carlo"):
        root = whitening(null[None], np.array([float(n)]), variance).columns(np.eye(null.size)[None])
    return Quadratic(root, multinomial(null) / n, extra=int(method == "nonprojected"))


def distribution(name: str, values: Any) -> Array:
    """Check a probability vector that may have empty cells: a truth, not a null."""
    try:
        plain = np.ravel(values).tolist()
    except ValueError:
        raise InvalidParameter(f"{name} must be a list of numbers, or of rows of equal length") from None
    vector = np.array(arguments.reals(name, plain, at_least=0))
    total = float(vector.sum())
    if vector.size < 2 or abs(total - 1) > 1e-9:
        raise InvalidParameter(f"{name} must be at least two numbers that sum to 1, got a sum of {total:.10g}")
    return vector / total


def simulated_power(
    name: str, rate: float, trials: int, known: dict[str, Any], warnings: tuple[str, ...], how: How = "simulated"
) -> Power:
    """Return a simulated power with its standard error, never below that of one rejection."""
    error = float(np.sqrt(max(rate * (1 - rate), 1 / trials) / trials))
    return Power(name, rate, noncentrality=None, how=how, standard_error=error, warnings=warnings, **known)


def _noisy(n: int, p: Array, noise: NoiseLaw, trials: int, rng: np.random.Generator) -> Array:
    if np.all(p > 0):
        return simulate_noisy(n, p, noise, trials, rng)
    return rng.multinomial(n, p, size=trials) + noise.sample(rng, (trials, p.size))


_OFTEN = 0.05
_TABLES = 200
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
    """Return the probability that `independence` rejects if the records follow the table `p` of probabilities.

    It is computed from the limiting noncentral distribution of the statistic.

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

    Notes
    -----
    Projected and nonprojected statistics: noncentrality `n delta' (N - N J (J'NJ)^-1 J'N) delta`, `N = Pi
    Sigma^-1 Pi` at the product of the margins and `delta` what `p` has beyond it (spec 3, derived and reviewed),
    with `(r-1)(c-1)` degrees of freedom, one more where not projected. AsymptIndep and MCIndep: the residual is
    `K` times the noisy table (see `independence_tests.weights`) and `K delta = delta`, which gives a noncentral
    mixture; the printed variant compares it with its own, larger, threshold (derived here, checked by
    simulation).

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
    arguments.choice("method", method, ("classical", *INDEPENDENCE_METHODS))
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
        threshold = tuple(independence_tests.weights(rows, columns, n, law.variance, "printed").tolist())
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
    """Return the probability that `homogeneity` rejects if the groups follow different distributions, the rows of
    `p`.

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
        raise InvalidParameter("p must be a table with one row of probabilities for each group")
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
    """Return the probability that `minimum_chi_square` rejects a null model of one group if the records follow `p`.

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
        raise InvalidParameter("model must be a null model of one group; for several groups use homogeneity_power")
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
    arguments.choice("method", method, ("classical", *MODEL_METHODS))
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
    alpha = arguments.probability("alpha", alpha)
    arguments.choice("at", at, ("alternative", "null"))
    fitted = model.probabilities(model.start(truth * sizes[:, None]))
    variance = 0.0 if law is None else law.variance
    known: dict[str, Any] = {"n": int(sizes.sum()), "alpha": alpha, "cost": None if law is None else law.cost}
    known["level"] = "asymptotic" if m is None else "empirical"
    warnings = _rule_of_thumb(model, fitted, truth, sizes, law, method)
    if trials is not None:
        if not isinstance(model, Independence) or law is None:
            raise InvalidParameter(
                "trials must be left out here, because only private tests of independence are simulated"
            )
        count, stream = arguments.whole("trials", trials, at_least=1), generator(rng)
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
        power = limit_power(test, shift, spread, deviation, alpha, m=m)
        return simulated_power(name, power, LIMIT_DRAWS, known, warnings, how="simulated limit")
    own = np.diag(np.square(deviation))
    whole = Quadratic(test.root, test.null + own, test.extra, test.threshold)
    power, noncentrality = quadratic_power(whole, shift, spread + own, alpha, m=m)
    return Power(name, power, noncentrality=noncentrality, how="limit", warnings=warnings, **known)


def _residual(rows: Array, columns: Array) -> Array:
    """`K = I - L Pi` of the corrected AsymptIndep: the residual of the two-step fit as a map of the noisy table."""
    r, c = rows.size, columns.size
    fitted = np.kron(np.eye(r), np.outer(columns, np.ones(c))) + np.kron(np.outer(rows, np.ones(r)), np.eye(c))
    residual: Array = np.eye(r * c) - fitted @ (np.eye(r * c) - 1 / (r * c))
    return residual


def _rule_of_thumb(
    model: NullModel, fitted: Array, truth: Array, sizes: Array, law: NoiseLaw | None, method: str
) -> tuple[str, ...]:
    """A warning where the test is often inconclusive, with how often: the limit knows nothing of it."""
    if method == "classical" or law is None:
        return ()
    least = float((fitted * sizes[:, None]).min())
    share = _inconclusive(model, truth, sizes, law, method)
    if share < _OFTEN:
        return ()
    return (
        f"the smallest expected count is {least:.3g} and the noise on each has standard deviation "
        f"{law.variance**0.5:.3g}: the rule of thumb makes the test inconclusive with probability about {share:.2g}, "
        "which this number does not count; fewer categories, a larger budget or more records would help",
    )


def _inconclusive(model: NullModel, truth: Array, sizes: Array, law: NoiseLaw, method: str) -> float:
    """How often the rule of thumb fires on noisy tables of this truth; the same every time."""
    rng, shape = np.random.default_rng(20170), (_TABLES, model.groups, model.cells)
    tables = rng.multinomial(sizes.astype(np.int64), truth, size=shape[:-1]) + law.sample(rng, shape)
    if method in ("asymptotic", "asymptotic-printed", "monte-carlo") and isinstance(model, Independence):
        conclusive = two_step_mle(tables.reshape(_TABLES, model.r, model.c), int(sizes[0])).conclusive
    else:
        known = tables.sum(axis=(-2, -1)) > 0
        first = model.probabilities(model.start(np.where(known[:, None, None], tables, 1.0)))
        conclusive = known & ((first * sizes[:, None]).min(axis=(-2, -1)) > MINIMUM_EXPECTED)
    return float(1 - np.mean(conclusive))


def _numbers(p: Any) -> Array:
    try:
        return np.asarray(p, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidParameter("p must be a list of numbers, or of rows of equal length") from None


def _checked(model: NullModel, truth: Array, sizes: Any) -> tuple[Array, Array]:
    totals = np.array([arguments.whole("n", size, at_least=1) for size in np.ravel(sizes)], dtype=np.float64)
    if totals.size != model.groups:
        raise InvalidParameter(f"sizes must have one entry for each of {model.groups} groups, got {totals.size}")
    if truth.shape != (model.groups, model.cells):
        raise InvalidParameter(f"p must have {model.groups * model.cells} cells for {model.name}")
    flat = np.array([distribution("p", row) for row in truth])
    if not np.all(model.probabilities(model.start(flat * totals[:, None])) > 0):
        raise InvalidParameter(
            "every row and column of p must have a sum above 0, because an empty one leaves nothing to test"
        )
    return flat, totals


def _law(method: Any, rho: Any, epsilon: Any, noise: Any, unit: Unit) -> NoiseLaw | None:
    if method != "classical":
        return noise_of(rho=rho, epsilon=epsilon, noise=noise, unit=unit)
    if not (rho is None and epsilon is None and noise is None):
        raise InvalidParameter(
            "rho, epsilon and noise must be left out for the classical test, because it is not private"
        )
    return None


def _refuse(law: NoiseLaw, method: str) -> None:
    if not law.is_gaussian and not method.startswith("monte-carlo"):
        raise InvalidParameter(f"{method} needs Gaussian noise (rho); with Laplace noise use monte-carlo-projected")


def _blocks(parts: list[Array]) -> Array:
    from scipy.linalg import block_diag

    matrix: Array = block_diag(*parts)
    return matrix
