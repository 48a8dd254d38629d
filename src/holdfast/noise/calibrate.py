"""Turns a real-valued mechanism (sensitivity and privacy parameter) into its form on a grid, and says the grid.

What is certified is the law that is sampled: the noise is a whole number of steps, the sensitivity is a whole number of
steps, rounded up, and the cost is computed from these two integers. It never exceeds what was declared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.noise.entropy import Source
from holdfast.noise.gaussian import discrete_gaussian
from holdfast.noise.grid import Grid, check_grid, upper_reading
from holdfast.noise.inputs import Rational, rational
from holdfast.noise.laplace import discrete_laplace
from holdfast.noise.laws import discrete_gaussian_variance, discrete_laplace_variance

FINENESS = 2048
"""The default grid has at least this many steps in the sensitivity and in the noise scale."""


class _Sampler(Protocol):
    @overload
    def __call__(self, scale: int, size: None = None, /, *, source: Source | None = None) -> int: ...
    @overload
    def __call__(self, scale: int, size: int, /, *, source: Source | None = None) -> NDArray[np.int64]: ...


class _Law(NamedTuple):
    """A law of integer noise: its name, the field that holds its parameter, how it is drawn, and its variance."""

    name: str
    parameter: str
    sampler: _Sampler
    variance: Callable[[float], float]


class _GridNoise:
    """What both laws share: a grid, a sensitivity and a noise parameter in whole steps, and how a value is released."""

    _law: ClassVar[_Law]
    grid: Grid
    sensitivity_steps: int

    def __post_init__(self) -> None:
        if check_grid(self.grid) is None:
            raise InvalidParameter("grid must be a noise.Grid, got None")
        for name in (self._law.parameter, "sensitivity_steps"):
            object.__setattr__(self, name, check.whole(name, getattr(self, name), at_least=1))

    @property
    def _steps(self) -> int:
        return int(getattr(self, self._law.parameter))

    @property
    def variance(self) -> float:
        """The variance of the noise in the statistic's own unit."""
        step = float(self.grid.step)
        return self._law.variance(self._steps) * step * step

    @overload
    def release(self, value: Fraction | float, *, source: Source | None = None) -> float: ...
    @overload
    def release(self, value: NDArray[Any], *, source: Source | None = None) -> NDArray[np.float64]: ...
    def release(self, value: Any, *, source: Source | None = None) -> float | NDArray[np.float64]:
        """The value on the grid plus noise; of an array each element gets its own noise.

        The cost is that of one statistic with the declared sensitivity. An array is one statistic if the sensitivity
        was declared for all of it (`dimension`). If it was declared for one number, each element is a release that
        costs as much, as for local noise, where each belongs to another person. This class cannot tell which;
        `mechanisms.Laplace` and `Gaussian` check the size.
        """
        draw = self._law.sampler
        if isinstance(value, np.ndarray):
            indices = self.grid.indices(value)
            noise = draw(self._steps, indices.size, source=source)
            return self.grid.values(indices + noise.reshape(indices.shape))
        return self.grid.value(self.grid.index(value) + draw(self._steps, source=source))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "noise": self._law.name,
            "grid_exponent": self.grid.exponent,
            self._law.parameter: self._steps,
            "sensitivity_steps": self.sensitivity_steps,
        }


@dataclass(frozen=True)
class GridLaplace(_GridNoise):
    """Discrete Laplace noise of `scale_steps` steps on a statistic that moves by at most `sensitivity_steps`.

    Attributes
    ----------
    grid : Grid
        Where the answers lie.
    scale_steps, sensitivity_steps : int
        In steps of the grid; for vectors the sensitivity is in the sum of absolute values.

    Examples
    --------
    >>> noise = GridLaplace(Grid(-6), scale_steps=20, sensitivity_steps=10)
    >>> noise.epsilon, noise.scale
    (Fraction(1, 2), 0.3125)
    """

    _law = _Law("discrete-laplace", "scale_steps", discrete_laplace, discrete_laplace_variance)
    grid: Grid
    scale_steps: int
    sensitivity_steps: int

    @property
    def epsilon(self) -> Fraction:
        """The exact cost of one release: `sensitivity_steps / scale_steps`-differential privacy."""
        return Fraction(self.sensitivity_steps, self.scale_steps)

    @property
    def scale(self) -> float:
        """The noise scale in the statistic's own unit."""
        return self.grid.value(self.scale_steps)


@dataclass(frozen=True)
class GridGaussian(_GridNoise):
    """Discrete Gaussian noise of `sigma_steps` steps on a statistic that moves by at most `sensitivity_steps`.

    Attributes
    ----------
    grid : Grid
        Where the answers lie.
    sigma_steps, sensitivity_steps : int
        In steps of the grid; for vectors the sensitivity is Euclidean.

    Examples
    --------
    >>> noise = GridGaussian(Grid(-6), sigma_steps=50, sensitivity_steps=10)
    >>> noise.rho, noise.sigma
    (Fraction(1, 50), 0.78125)
    """

    _law = _Law("discrete-gaussian", "sigma_steps", discrete_gaussian, discrete_gaussian_variance)
    grid: Grid
    sigma_steps: int
    sensitivity_steps: int

    @property
    def rho(self) -> Fraction:
        """The exact cost of one release: `sensitivity_steps**2 / (2 sigma_steps**2)`-zCDP."""
        return Fraction(self.sensitivity_steps**2, 2 * self.sigma_steps**2)

    @property
    def sigma(self) -> float:
        """The parameter sigma in the statistic's own unit."""
        return self.grid.value(self.sigma_steps)


def laplace_on_grid(
    sensitivity: Rational, epsilon: Rational, grid: Grid | None = None, *, dimension: int = 1
) -> GridLaplace:
    """The Laplace mechanism on a grid: `epsilon`-differential privacy for a statistic of the given sensitivity.

    Parameters
    ----------
    sensitivity : Fraction, int or float
        How far neighbours move the statistic; for a vector in the sum of absolute values.
    epsilon : Fraction, int or float
        Positive; a float means the decimal it prints as.
    grid : Grid or None
        None for a grid so fine that rounding costs less than one part in a thousand of the scale.
    dimension : int
        Number of coordinates of the statistic.

    Returns
    -------
    GridLaplace
        With `.epsilon <= epsilon` exactly.

    Notes
    -----
    The index of one coordinate moves by at most `ceil(u)` when the coordinate moves by u steps (module `grid`). Over d
    coordinates `sum ceil(u_i) < sum u_i + d`, so in whole steps at most `ceil(sum u_i) + d - 1`. The scale is that many
    steps over epsilon, rounded up. On the default grid the sensitivity has at least `2048 d` steps and the scale at
    least 2048, so the two roundings multiply the scale by at most `(1 + 1/2048)**2 < 1.001`. The law is that of Ghosh,
    Roughgarden and Sundararajan (2009): integer noise of ratio `exp(-1/scale_steps)` on an integer statistic.

    Examples
    --------
    >>> mechanism = laplace_on_grid(0.001, 0.1)
    >>> mechanism.grid, mechanism.epsilon <= Fraction(1, 10), mechanism.scale
    (Grid(exponent=-21), True, 0.0100...)
    """
    width = upper_reading("sensitivity", sensitivity)
    cost = rational("epsilon", epsilon, above=0)
    d = check.whole("dimension", dimension, at_least=1)
    where = check_grid(grid)
    if where is None:
        where = _default_grid(_floor_log2(min(width / d, width / cost) / FINENESS), "sensitivity and epsilon")
    steps = where.sensitivity_steps(width) + d - 1
    return GridLaplace(where, _countable(math.ceil(steps / cost), "epsilon"), steps)


def gaussian_on_grid(
    sensitivity: Rational,
    *,
    rho: Rational | None = None,
    sigma: Rational | None = None,
    grid: Grid | None = None,
    dimension: int = 1,
) -> GridGaussian:
    """The Gaussian mechanism on a grid, from its cost rho or from its noise sigma.

    Parameters
    ----------
    sensitivity : Fraction, int or float
        How far neighbours move the statistic; for a vector in Euclidean distance.
    rho, sigma : Fraction, int or float
        Exactly one of them, positive: the zCDP cost, or the standard deviation of the continuous mechanism to replace.
    grid : Grid or None
        None for a grid so fine that rounding costs less than one part in a thousand of sigma.
    dimension : int
        Number of coordinates of the statistic.

    Returns
    -------
    GridGaussian
        With `.rho` at most `rho`, or at most `sensitivity**2 / (2 sigma**2)`, exactly.

    Notes
    -----
    One coordinate as in `laplace_on_grid`. Over `d > 1` coordinates each index moves by less than `u_i + 1` steps, so
    the vector by less than `|u| + sqrt(d)` (triangle inequality). Sigma is the smallest whole number of steps whose
    cost is small enough. Cost: Canonne, Kamath and Steinke 2020, Theorem 4; over coordinates the costs add.

    Examples
    --------
    >>> mechanism = gaussian_on_grid(1, rho=0.02)
    >>> mechanism.grid, mechanism.rho <= Fraction(2, 100), mechanism.sigma
    (Grid(exponent=-11), True, 5.0)
    """
    width = upper_reading("sensitivity", sensitivity)
    d = check.whole("dimension", dimension, at_least=1)
    if (rho is None) == (sigma is None):
        raise InvalidParameter("give exactly one of rho and sigma")
    if rho is not None:
        squared = width**2 / (2 * rational("rho", rho, above=0))
    else:
        squared = rational("sigma", sigma, above=0) ** 2
    allowance = 0 if d == 1 else math.isqrt(d - 1) + 1
    grid = check_grid(grid)
    if grid is None:
        per_sensitivity = _floor_log2(width / (1 + allowance) / FINENESS)
        exponent = min(per_sensitivity, _floor_log2(squared / FINENESS**2) // 2)
        grid = _default_grid(exponent, f"sensitivity and {'rho' if sigma is None else 'sigma'}")
    steps = grid.sensitivity_steps(width) + allowance
    # sigma_steps**2 >= squared * (steps / width)**2, so the cost is at most width**2 / (2 squared).
    least = squared * (steps / width) ** 2
    return GridGaussian(grid, _countable(_ceil_sqrt(least), "rho" if sigma is None else "sigma"), steps)


def _default_grid(exponent: int, parameters: str) -> Grid:
    if not -1000 <= exponent <= 1000:
        raise InvalidParameter(
            f"{parameters} need a grid of step 2**{exponent}, outside 2**-1000 to 2**1000; use another unit"
        )
    return Grid(exponent)


def _countable(steps: int, parameter: str) -> int:
    if steps > check.LARGEST_WHOLE:
        raise InvalidParameter(f"{parameter} asks for noise of more than 1e300 steps of the grid; coarsen it")
    return steps


def _floor_log2(x: Fraction) -> int:
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if Fraction(2) ** guess <= x else guess - 1


def _ceil_sqrt(x: Fraction) -> int:
    """The smallest whole number whose square is at least x."""
    whole = math.ceil(x)
    root = math.isqrt(whole - 1) + 1 if whole > 0 else 0
    return max(root, 1)


__all__ = ["FINENESS", "GridGaussian", "GridLaplace", "gaussian_on_grid", "laplace_on_grid"]
