"""The power of the private goodness-of-fit tests, before any record is touched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.accounting.costs import Cost
from holdfast.bounds.chi_square_mixture import mixture_moments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.counts import probabilities
from holdfast.inference.private_tests.gof_methods import METHODS, Method
from holdfast.inference.private_tests.gof_simulation import gof_batch, simulate_noisy
from holdfast.inference.private_tests.goodness_of_fit import FEW, TINY
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES, generator
from holdfast.inference.private_tests.noise_law import NoiseLaw, noise_of
from holdfast.inference.private_tests.power_kernel import (
    LIMIT_DRAWS,
    At,
    Quadratic,
    limit_power,
    multinomial,
    quadratic_law,
    quadratic_power,
)
from holdfast.inference.private_tests.result import Level
from holdfast.inference.private_tests.weighted_fit import whitening
from holdfast.noise.inputs import Rational

Array = NDArray[np.float64]
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
        The level.
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
        """Plain data for JSON."""
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
    method: Method | Literal["classical"] | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    at: At = "alternative",
    trials: int | None = None,
    rng: np.random.Generator | None = None,
) -> Power:
    """The probability that `gof` rejects `p0` when the records follow `p1`.

    Gaussian noise: `Qp -> chi2(d - 1, v)`, `Q -> chi2(d, v)`, `v = n delta' Sigma^-1 delta` (Theorem 7.2.10; printed);
    Pearson's noisy statistic tends to `sum_j l_j chi2(1, nu_j)` with eigenpairs `(l_j, q_j)` of Algorithm 9's matrix
    and `nu_j = n (q_j . delta/sqrt(p0))^2 / l_j` (Theorem 6.1.11, simplified in spec 3 and reviewed). A Monte Carlo
    threshold of `m` replicates has a random level, which is averaged over. Laplace noise: the same limit with the
    noise's own law, simulated once with common draws.

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
        raise InvalidParameter(f"p1 must have one entry a cell, {null.size} in all, got {truth.size}")
    size, alpha = check.whole("n", n, at_least=1), check.probability("alpha", alpha)
    check.choice("at", at, ("alternative", "null"))
    if method == "classical":
        if not (rho is None and epsilon is None and noise is None):
            raise InvalidParameter("the classical test is not private: give neither rho, epsilon nor noise")
        if trials is not None:
            raise InvalidParameter("trials simulate private tests only; the classical one has its limit")
        law: NoiseLaw | None = None
    else:
        law = noise_of(rho=rho, epsilon=epsilon, noise=noise)
        method = method or ("projected" if law.is_gaussian else "monte-carlo-projected")
        check.choice("method", method, ("classical", *METHODS))
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
        count = check.whole("trials", trials, at_least=1)
        stream = generator(rng)
        noisy = _noisy(size, truth, law, count, stream)
        rate = gof_batch(noisy, size, null, law, method=method, alpha=alpha, m=m, rng=stream, p_values=simulated).rate
        return simulated_power(name, rate, count, known, ())
    test = _quadratic(method, null, size, variance)
    shift, spread = truth - null, multinomial(truth if at == "alternative" else null) / size
    if law is not None and not law.is_gaussian:
        found = limit_power(test, shift, spread, np.full(null.size, np.sqrt(variance) / size), alpha, m=replicates)
        return simulated_power(name, found, LIMIT_DRAWS, known, warnings, how="simulated limit")
    own = np.eye(null.size) * variance / size**2
    test = Quadratic(test.root, test.null + own, test.extra)
    found, noncentrality = quadratic_power(test, shift, spread + own, alpha, m=replicates)
    return Power(name, found, noncentrality=noncentrality, how="limit", warnings=warnings, **known)


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
    check.choice("method", method, ("projected", "nonprojected", "asymptotic"))
    check.choice("at", at, ("alternative", "null"))
    null, truth, size = probabilities("p0", p0), distribution("p1", p1), check.whole("n", n, at_least=1)
    if truth.size != null.size:
        raise InvalidParameter(f"p1 must have one entry a cell, {null.size} in all, got {truth.size}")
    law = noise_of(rho=rho, noise=noise)
    if not law.is_gaussian:
        raise InvalidParameter("noise must be Gaussian: the variance is that of a quadratic form of normals")
    spread = multinomial(truth if at == "alternative" else null) / size + np.eye(null.size) * law.variance / size**2
    found = quadratic_law(_quadratic(method, null, size, law.variance), truth - null, spread)
    mean, variance = mixture_moments(found.weights, noncentrality=found.noncentrality)
    return mean + found.constant, variance


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
    vector = np.array(check.reals(name, plain, at_least=0))
    total = float(vector.sum())
    if vector.size < 2 or abs(total - 1) > 1e-9:
        raise InvalidParameter(f"{name} must be at least two numbers that sum to 1, got a sum of {total:.10g}")
    return vector / total


def simulated_power(
    name: str, rate: float, trials: int, known: dict[str, Any], warnings: tuple[str, ...], how: How = "simulated"
) -> Power:
    """A simulated power with its standard error, never below that of one rejection."""
    error = float(np.sqrt(max(rate * (1 - rate), 1 / trials) / trials))
    return Power(name, rate, noncentrality=None, how=how, standard_error=error, warnings=warnings, **known)


def _noisy(n: int, p: Array, noise: NoiseLaw, trials: int, rng: np.random.Generator) -> Array:
    if np.all(p > 0):
        return simulate_noisy(n, p, noise, trials, rng)
    return rng.multinomial(n, p, size=trials) + noise.sample(rng, (trials, p.size))


__all__ = ["Power", "distribution", "gof_moments", "gof_power", "simulated_power"]
