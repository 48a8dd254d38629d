"""The Gaussian mechanism on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdfast import check
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.exact import float_up
from holdfast.bounds.guarantee import Guarantee
from holdfast.bounds.mechanism import gaussian_width
from holdfast.errors import InvalidParameter
from holdfast.mechanisms.base import NEIGHBOURS, plain
from holdfast.mechanisms.on_grid import GridMechanism
from holdfast.noise.calibrate import GridGaussian, gaussian_on_grid
from holdfast.noise.grid import Grid, check_grid
from holdfast.noise.inputs import Rational, rational
from holdfast.noise.integers import fits_vector


@dataclass(frozen=True)
class Gaussian(GridMechanism):
    """Adds discrete Gaussian noise to a number, or to a vector of `dimension` numbers.

    The value is rounded to the nearest point of the grid, the sensitivity is rounded up to whole steps, and integer
    noise with `P(k)` proportional to `exp(-k^2/(2 sigma^2))` is added. The law that is sampled is rho-zCDP exactly
    (Canonne-Kamath-Steinke 2020, Theorem 4). It is not exactly Gaussian-DP, so the cost is `ZCDP` and nothing stronger.

    Parameters
    ----------
    sensitivity : Fraction, int or float
        How far neighbours move the value; for a vector, in Euclidean distance.
    rho, sigma : Fraction, int or float
        Exactly one of them: the cost wanted, or the noise wanted, in the value's own unit.
    dimension : int
        How many numbers are released together.
    grid : Grid, optional
        None for one with at least 2048 steps in sigma.

    Examples
    --------
    >>> mechanism = Gaussian(sensitivity=1 / 1000, rho=0.005)
    >>> mechanism.cost, mechanism.law.sigma
    (ZCDP(rho=0.005), 0.01...)
    >>> round(mechanism.half_width(0.05), 5)
    0.01961
    >>> abs(mechanism.release(0.37) - 0.37) < mechanism.half_width(1e-12)
    True
    >>> Gaussian(sensitivity=1 / 1000, sigma=0.01).cost
    ZCDP(rho=0.005)
    """

    sensitivity: Rational
    rho: Rational | None = None
    sigma: Rational | None = None
    dimension: int = 1
    grid: Grid | None = None

    def __post_init__(self) -> None:
        rational("sensitivity", self.sensitivity, above=0)
        if (self.rho is None) == (self.sigma is None):
            raise InvalidParameter("give exactly one of rho and sigma")
        name = "rho" if self.sigma is None else "sigma"
        rational(name, getattr(self, name), above=0)
        object.__setattr__(self, "dimension", check.whole("dimension", self.dimension, at_least=1))
        object.__setattr__(self, "grid", check_grid(self.grid))
        object.__setattr__(self, "grid", self.law.grid)
        if self.dimension > 1:  # arrays are limited; say so here and not at the first release
            fits_vector("sigma", self.law.sigma_steps)

    @cached_property
    def law(self) -> GridGaussian:
        """The law of the noise, in whole steps, with its exact rho."""
        return gaussian_on_grid(
            self.sensitivity, rho=self.rho, sigma=self.sigma, grid=self.grid, dimension=self.dimension
        )

    @property
    def cost(self) -> ZCDP:
        """What one release spends: the declared rho, or that of the sampled law."""
        return ZCDP(float_up(self.law.rho if self.rho is None else rational("rho", self.rho, above=0)))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        return Guarantee("mechanism.gaussian", self.to_dict(), NEIGHBOURS)

    def to_dict(self) -> dict[str, Any]:
        """Public parameters as plain data."""
        return {
            "sensitivity": plain(self.sensitivity),
            "rho": self.cost.rho,
            "dimension": self.dimension,
        } | self.law.to_dict()

    def _noise_steps(self, beta: float, draws: int) -> int:
        """The normal quantile rounded up to whole steps, which covers the discrete law."""
        return gaussian_width(self.law.sigma_steps, beta, draws)


__all__ = ["Gaussian"]
