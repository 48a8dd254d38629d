"""The Laplace and the Gaussian mechanism: noise added on a grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from holdfast.accounting.costs import ZCDP, PureDP
from holdfast.bounds.mechanism import gaussian_width, laplace_width
from holdfast.bounds.numerics.exact import float_up
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.errors import InvalidParameter
from holdfast.mechanisms.base import NEIGHBOURS, Range, check_range, clipped, one_vector, plain
from holdfast.noise.entropy import Source
from holdfast.noise.grid import Grid, GridGaussian, GridLaplace, check_grid, gaussian_on_grid, laplace_on_grid
from holdfast.noise.inputs import Rational, fits_vector, rational


class GridMechanism(ABC):
    """A number, or a vector of `dimension` numbers, rounded to a grid, plus integer noise."""

    dimension: int

    @property
    @abstractmethod
    def law(self) -> GridLaplace | GridGaussian:
        """The distribution of the noise in whole grid steps, with its exact privacy cost."""

    @abstractmethod
    def _noise_steps(self, beta: float, draws: int) -> int:
        """Steps that none of `draws` draws of the noise exceeds, except with probability `beta`."""

    def half_width(self, beta: float, draws: int | None = None) -> float:
        """Return how far an answer can be off, rounding included, except with probability `beta`.

        It is a quantile of the noise in whole grid steps, plus half a step.

        Parameters
        ----------
        beta : float
            Failure probability, in (0, 1), of all draws together.
        draws : int, optional
            Number of numbers it will hold for at once; the dimension if not given.
        """
        steps = self._noise_steps(beta, self.dimension if draws is None else draws)
        return (steps + 0.5) * float(self.law.grid.step)

    @overload
    def release(self, value: float, source: Source | None = ..., *, clip: Range = ...) -> float: ...
    @overload
    def release(
        self, value: npt.NDArray[Any], source: Source | None = ..., *, clip: Range = ...
    ) -> npt.NDArray[np.float64]: ...
    def release(
        self, value: Any, source: Source | None = None, *, clip: Range = None
    ) -> float | npt.NDArray[np.float64]:
        """Release one noisy number, or one noisy vector of `dimension` numbers.

        Parameters
        ----------
        value : float or array
            The exact statistic. It is not shown in any error.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        clip : tuple, optional
            A public range to move the noisy answer into. Post-processing: it costs nothing, and it biases the answer.
        """
        clip = check_range(clip)
        answer: float | npt.NDArray[np.float64] = self.law.release(one_vector(value, self.dimension), source=source)
        return clipped(answer, clip)


@dataclass(frozen=True)
class Laplace(GridMechanism):
    """Adds discrete Laplace noise to a number, or to a vector of `dimension` numbers.

    The value is rounded to the nearest point of a grid, and the sensitivity is rounded up to whole grid steps. Then
    integer noise is added, with `P(k)` proportional to `exp(-|k|/scale)`. The result is exactly epsilon-differentially
    private.

    Parameters
    ----------
    sensitivity : Fraction, int or float
        How far neighbours move the value; for a vector, in the sum of absolute changes.
    epsilon : Fraction, int or float
        Positive; a float means the decimal it prints as.
    dimension : int
        How many numbers are released together.
    grid : Grid, optional
        None for one with at least 2048 steps in the scale.

    Notes
    -----
    The scale is a whole number of steps, at least sensitivity over epsilon.

    Examples
    --------
    A mean of 1,000 values in [0, 1]:

    >>> mechanism = Laplace(sensitivity=1 / 1000, epsilon=0.5)
    >>> mechanism.cost
    PureDP(epsilon=0.5)
    >>> round(mechanism.half_width(0.05), 5)
    0.00599
    >>> abs(mechanism.release(0.37) - 0.37) < mechanism.half_width(1e-12)
    True
    """

    sensitivity: Rational
    epsilon: Rational
    dimension: int = 1
    grid: Grid | None = None

    def __post_init__(self) -> None:
        rational("sensitivity", self.sensitivity, above=0)
        rational("epsilon", self.epsilon, above=0)
        object.__setattr__(self, "dimension", arguments.whole("dimension", self.dimension, at_least=1))
        object.__setattr__(self, "grid", check_grid(self.grid))
        object.__setattr__(self, "grid", self.law.grid)
        if self.dimension > 1:  # arrays are limited; say so here and not at the first release
            fits_vector("scale", self.law.scale_steps)

    @cached_property
    def law(self) -> GridLaplace:
        """The distribution of the noise in whole grid steps, with its exact epsilon."""
        return laplace_on_grid(self.sensitivity, self.epsilon, self.grid, dimension=self.dimension)

    @property
    def cost(self) -> PureDP:
        """The privacy cost of one release."""
        return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        return Guarantee("mechanism.laplace", self.to_dict(), NEIGHBOURS)

    def to_dict(self) -> dict[str, Any]:
        """Return the public parameters as plain data."""
        return {
            "sensitivity": plain(self.sensitivity),
            "epsilon": plain(self.epsilon),
            "dimension": self.dimension,
        } | self.law.to_dict()

    def _noise_steps(self, beta: float, draws: int) -> int:
        """The exact quantile."""
        return laplace_width(self.law.scale_steps, beta, draws)


@dataclass(frozen=True)
class Gaussian(GridMechanism):
    """Adds discrete Gaussian noise to a number, or to a vector of `dimension` numbers.

    The value is rounded to the nearest point of a grid, and the sensitivity is rounded up to whole grid steps. Then
    integer noise is added, with `P(k)` proportional to `exp(-k^2/(2 sigma^2))`. The result is exactly rho-zCDP. It is
    not exactly Gaussian-DP, so the cost is `ZCDP`.

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

    Notes
    -----
    Canonne-Kamath-Steinke 2020, Theorem 4.

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
            raise InvalidParameter("exactly one of rho and sigma must be given")
        name = "rho" if self.sigma is None else "sigma"
        rational(name, getattr(self, name), above=0)
        object.__setattr__(self, "dimension", arguments.whole("dimension", self.dimension, at_least=1))
        object.__setattr__(self, "grid", check_grid(self.grid))
        object.__setattr__(self, "grid", self.law.grid)
        if self.dimension > 1:  # arrays are limited; say so here and not at the first release
            fits_vector("sigma", self.law.sigma_steps)

    @cached_property
    def law(self) -> GridGaussian:
        """The distribution of the noise in whole grid steps, with its exact rho."""
        return gaussian_on_grid(
            self.sensitivity, rho=self.rho, sigma=self.sigma, grid=self.grid, dimension=self.dimension
        )

    @property
    def cost(self) -> ZCDP:
        """The privacy cost of one release: the declared rho, or if sigma was given the rho of the noise that is
        drawn.
        """
        return ZCDP(float_up(self.law.rho if self.rho is None else rational("rho", self.rho, above=0)))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        return Guarantee("mechanism.gaussian", self.to_dict(), NEIGHBOURS)

    def to_dict(self) -> dict[str, Any]:
        """Return the public parameters as plain data."""
        return {
            "sensitivity": plain(self.sensitivity),
            "rho": self.cost.rho,
            "dimension": self.dimension,
        } | self.law.to_dict()

    def _noise_steps(self, beta: float, draws: int) -> int:
        """The normal quantile rounded up to whole steps, which covers the discrete distribution."""
        return gaussian_width(self.law.sigma_steps, beta, draws)
