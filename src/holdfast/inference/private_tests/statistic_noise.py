"""Exact integer noise on one whole-numbered statistic whose null law is known without the data, and the test it makes.

The noisy statistic is released once. Under the null its law is known, so as many copies of it as wanted are simulated,
noise included, and the plus-one p-value is exact at every n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.accounting.costs import ZCDP, Cost, PureDP
from holdfast.bounds.exact import float_up
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.monte_carlo import critical_value, p_value, rank, rejects
from holdfast.inference.private_tests.noise_law import Words, unprotected
from holdfast.inference.private_tests.result import TestResult
from holdfast.noise.calibrate import GridGaussian, GridLaplace, gaussian_on_grid, laplace_on_grid
from holdfast.noise.entropy import Source
from holdfast.noise.gaussian import discrete_gaussian
from holdfast.noise.grid import Grid
from holdfast.noise.inputs import Rational, rational
from holdfast.noise.integers import fits_vector
from holdfast.noise.laplace import discrete_laplace

Alternative = Literal["two-sided", "greater", "less"]


@dataclass(frozen=True)
class StatisticNoise:
    """Discrete Laplace noise for epsilon-DP, or discrete Gaussian noise for rho-zCDP, on one whole number.

    Parameters
    ----------
    sensitivity : int
        How far neighbours move the statistic.
    epsilon, rho : Fraction, int or float
        Exactly one; a float means the decimal it prints as.

    Examples
    --------
    >>> StatisticNoise(50, epsilon=1).law.scale_steps, StatisticNoise(50, epsilon=1).cost
    (50, PureDP(epsilon=1.0))
    """

    sensitivity: int
    epsilon: Rational | None = None
    rho: Rational | None = None

    def __post_init__(self) -> None:
        check.whole("sensitivity", self.sensitivity, at_least=1)
        if (self.epsilon is None) == (self.rho is None):
            raise InvalidParameter("exactly one of epsilon and rho must be given")
        fits_vector("the scale of the noise", self._steps)

    @cached_property
    def law(self) -> GridLaplace | GridGaussian:
        """The law, in whole steps, with its exact cost."""
        if self.epsilon is not None:
            return laplace_on_grid(self.sensitivity, self.epsilon, Grid(0))
        return gaussian_on_grid(self.sensitivity, rho=self.rho, grid=Grid(0))

    @property
    def _steps(self) -> int:
        return self.law.scale_steps if isinstance(self.law, GridLaplace) else self.law.sigma_steps

    @property
    def cost(self) -> Cost:
        """What one release spends."""
        if self.epsilon is not None:
            return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))
        return ZCDP(float_up(rational("rho", self.rho, above=0)))

    def release(self, statistic: int, source: Source | None = None) -> int:
        """The one private release."""
        if isinstance(source, Words):
            raise InvalidParameter("source must not be the generator of a simulation: it cannot protect a release")
        return statistic + int(self._draw(1, source)[0])

    def resample(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Noise of the same law for simulated statistics. Never for a release."""
        return self._draw(size, Words(rng))

    def _draw(self, size: int, source: Source | None) -> NDArray[np.int64]:
        draw = discrete_laplace if isinstance(self.law, GridLaplace) else discrete_gaussian
        return draw(self._steps, size, source=source)


def simulated_test(
    name: str,
    observed: int,
    null: Callable[[int], NDArray[np.int64]],
    noise: StatisticNoise,
    *,
    n: int,
    alpha: float,
    m: int,
    rng: np.random.Generator,
    source: Source | None,
    alternative: Alternative = "greater",
    twice_centre: int = 0,
    details: dict[str, Any] | None = None,
) -> TestResult:
    """Release `observed`, simulate `m` noisy copies under the null, and rank.

    Parameters
    ----------
    name : str
        Of the test.
    observed : int
        The exact statistic; secret.
    null : callable
        `null(k)` draws k exact statistics under the null.
    noise, n, alpha, m, rng, source
        As everywhere.
    alternative : {"greater", "less", "two-sided"}
        Which noisy statistics speak against the null: large ones, small ones, or those far from the centre.
    twice_centre : int
        Twice the middle of the null law, where the test is two-sided.
    details : dict
        What else is public.
    """
    rank(m, alpha)  # refuses too few replicates before anything is spent
    noisy = noise.release(observed, source)
    copies = null(m) + noise.resample(rng, m)
    values = _against(np.concatenate([[noisy], copies]), alternative, twice_centre).astype(np.float64)
    p, far = p_value(values[0], values[1:]), critical_value(values[1:], alpha)
    public = {"m": m, "noise": noise.law.to_dict(), **(details or {})}
    if alternative == "two-sided":
        public["critical_values"] = [(twice_centre - far) / 2, (twice_centre + far) / 2]
    return TestResult(
        test=name,
        statistic=float(noisy),
        p_value=p,
        critical_value={"greater": far, "less": -far}.get(alternative),
        alpha=alpha,
        reject=rejects(p, alpha),
        null_returned=None,
        cost=noise.cost,
        level="exact",
        warnings=unprotected(source),
        n=n,
        details=public,
    )


def checked(alternative: Alternative) -> Alternative:
    """The alternative, refused before anything is spent if it is none."""
    check.choice("alternative", alternative, ("two-sided", "greater", "less"))
    return alternative


def _against(noisy: NDArray[np.int64], alternative: Alternative, twice_centre: int) -> NDArray[np.int64]:
    if alternative == "two-sided":
        return np.abs(2 * noisy - twice_centre)
    return noisy if alternative == "greater" else -noisy


__all__ = ["Alternative", "StatisticNoise", "checked", "simulated_test"]
