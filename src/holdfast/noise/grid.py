"""Noise on a grid: grids of powers of two, the noise of a mechanism on its grid, and its variance and tails.

A release on a grid is `step * (index of the value + integer noise)`. The index is exact integer arithmetic, and turning
the noisy index into a float afterwards only processes what is already private. So no low-order bit of a float carries
the value (Mironov 2012).

Rounding and sensitivity
------------------------
The index of a is `floor(a/step + 1/2)`: the nearest, halves upwards. This rule commutes with whole shifts,
`index(a + m step) = index(a) + m`, and it is monotone, so for all real a and b

    |index(a) - index(b)| <= ceil(|a - b| / step).

Proof: let `a <= b` and `m = ceil((b - a)/step)`; then `b <= a + m step`, so `index(b) <= index(a) + m`. The rule
"halves to the even neighbour" of Python's `round` and of NumPy does not commute with odd shifts and breaks the
inequality: with step 1 it takes 1/2 to 0 and 3/2 to 2, a distance of 2 where 1 is claimed.

Calibration
-----------
What is certified is the distribution that is sampled: the noise is a whole number of steps, the sensitivity is a whole
number of steps, rounded up, and the cost is computed from these two integers. It never exceeds what was declared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.noise.entropy import Source
from holdfast.noise.gaussian import discrete_gaussian
from holdfast.noise.inputs import Rational, plain_array, rational
from holdfast.noise.laplace import discrete_laplace

_INDEX_LIMIT = 1 << 61
_NEAR = "within 2**61 steps of zero"
_ARRAYS = "an array of whole numbers or of floats of at most 64 bits"
_LARGEST = float(np.finfo(np.float64).max)


@dataclass(frozen=True)
class Grid:
    """The grid of all multiples of `step = 2**exponent`.

    Parameters
    ----------
    exponent : int
        From -1000 to 1000.

    Examples
    --------
    >>> grid = Grid(-3)
    >>> grid.step, grid.index(0.3), grid.value(2)
    (Fraction(1, 8), 2, 0.25)
    >>> grid.sensitivity_steps(0.3)
    3
    """

    exponent: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "exponent", arguments.whole("exponent", self.exponent, at_least=-1000, at_most=1000))

    @property
    def step(self) -> Fraction:
        """The distance between neighbouring points of the grid."""
        return Fraction(2) ** self.exponent

    def index(self, value: Fraction | float) -> int:
        """Return the index of the multiple nearest to a value, exactly. A value in the middle between two multiples
        goes upwards.

        A float is taken as the binary number that it is. An error does not show the value, which may be an exact
        statistic.
        """
        n, d = _exact_ratio(value)
        n, d = (n << -self.exponent, d) if self.exponent <= 0 else (n, d << self.exponent)
        return (2 * n + d) // (2 * d)

    def near_index(self, value: Fraction | float, name: str = "value") -> int:
        """Return `index`, but refuse values that are more than 2**61 steps from zero, as `indices` does."""
        index = self.index(value)
        if abs(index) > _INDEX_LIMIT:
            raise InvalidParameter(f"{name} must be {_NEAR}")
        return index

    def indices(self, values: Any) -> NDArray[np.int64]:
        """Return the `index` of each element of an array.

        Notes
        -----
        Scaling by a power of two, `floor` and the difference to it are exact in floating point wherever they
        decide: values are finite doubles, a result that underflows has index 0 either way, and `x - floor(x)` is
        exact by Sterbenz's lemma except for x in (-1/2, 0), where it is at least 1/2 however it is rounded.
        """
        array = plain_array("values", values, "iuf", _ARRAYS)
        if array.dtype.kind in "iu":
            return self._whole_indices(array)
        if array.dtype.itemsize > 8:
            raise InvalidParameter(f"values must be {_ARRAYS}")
        numbers = array.astype(np.float64)
        if not np.isfinite(numbers).all():
            raise InvalidParameter("values must be finite")
        with np.errstate(over="ignore", under="ignore"):
            scaled = np.ldexp(numbers, -self.exponent)
        if scaled.size and float(np.abs(scaled).max()) > _INDEX_LIMIT:
            raise InvalidParameter(f"values must be {_NEAR}")
        floors = np.floor(scaled)
        return floors.astype(np.int64) + (scaled - floors >= 0.5)

    def _whole_indices(self, array: NDArray[Any]) -> NDArray[np.int64]:
        largest = max(-int(array.min()), int(array.max())) if array.size else 0
        if largest > _INDEX_LIMIT or largest > _INDEX_LIMIT * self.step:
            raise InvalidParameter(f"values must be {_NEAR}")
        whole = array.astype(np.int64)
        if self.exponent <= 0:
            return whole << -self.exponent if largest else whole
        if self.exponent > 62:
            return np.zeros_like(whole)  # less than half a step from zero
        return (whole + (1 << (self.exponent - 1))) >> self.exponent

    def value(self, index: int) -> float:
        """Return the multiple with this index, as the nearest finite floating-point number."""
        try:
            return math.ldexp(index, self.exponent)
        except OverflowError:  # the index alone may be beyond the doubles
            return float(max(min(index * self.step, Fraction(_LARGEST)), -Fraction(_LARGEST)))

    def values(self, indices: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the multiples with these indices, as the nearest finite floating-point numbers."""
        with np.errstate(over="ignore", under="ignore"):
            return np.clip(np.ldexp(indices.astype(np.float64), self.exponent), -_LARGEST, _LARGEST)

    def sensitivity_steps(self, sensitivity: Rational) -> int:
        """Return by how many steps the index of a statistic can change: `ceil(sensitivity / step)`.

        A float may be a rounded number, such as `1 / 3`. So it is read as the largest number that rounds to it.
        """
        return math.ceil(upper_reading("sensitivity", sensitivity) / self.step)


def _exact_ratio(value: Any) -> tuple[int, int]:
    if isinstance(value, Integral):
        return int(value), 1
    if isinstance(value, Fraction):
        return value.numerator, value.denominator
    if not isinstance(value, Real) or not math.isfinite(value):
        raise InvalidParameter("value must be a finite number")
    n, d = value.as_integer_ratio() if hasattr(value, "as_integer_ratio") else float(value).as_integer_ratio()
    return int(n), int(d)


def upper_reading(name: str, value: Any) -> Fraction:
    """Return a positive number from above.

    A float that prints as what it is, such as 0.25 or 3.0, is taken as it is. Any other was rounded at least once: 0.1
    is a little above one tenth, 0.7 a little below seven tenths, and both readings of `1 / 3` are below a third. So the
    next float is taken, which is above every number that rounds to the given one.

    Examples
    --------
    >>> upper_reading("sensitivity", 1 / 3) > Fraction(1, 3), upper_reading("sensitivity", 0.25)
    (True, Fraction(1, 4))
    """
    decimal = rational(name, value, above=0)
    if isinstance(value, (Fraction, Integral)) or decimal == Fraction(float(value)):
        return decimal
    following = math.nextafter(float(value), math.inf)
    return Fraction(following) if math.isfinite(following) else max(decimal, Fraction(float(value)))


def check_grid(grid: Any) -> Grid | None:
    """Return a grid, or None for the default."""
    if grid is not None and not isinstance(grid, Grid):
        raise InvalidParameter(f"grid must be a noise.Grid, got a {type(grid).__name__}")
    return grid


def discrete_laplace_variance(scale: float) -> float:
    """Return the variance of discrete Laplace noise, whose probabilities are proportional to `exp(-|k| / scale)`.

    It is `2 q / (1 - q)**2` with `q = exp(-1/scale)`.

    Parameters
    ----------
    scale : float
        Positive.

    Notes
    -----
    Derived: `1 / (2 sinh(1 / (2 scale))**2)`, which keeps its digits for small and large scales.

    Examples
    --------
    >>> discrete_laplace_variance(20)
    799.8333...
    """
    scale = arguments.real("scale", scale, above=0)
    half = 0.5 / scale
    if half > 700:
        return 0.0
    width = 1 / math.sinh(half)
    return 0.5 * width * width


def discrete_gaussian_variance(sigma: float) -> float:
    """Return the variance of discrete Gaussian noise, whose probabilities are proportional to `exp(-k**2 / (2
    sigma**2))`.

    It is at most `sigma**2`.

    Parameters
    ----------
    sigma : float
        Positive.

    Notes
    -----
    The sum itself for `sigma < 2`; beyond it the difference to `sigma**2` is below 1e-30 of it (Poisson summation
    gives `8 pi**2 sigma**2 exp(-2 pi**2 sigma**2)` to first order), and `sigma**2` is returned.

    Examples
    --------
    >>> discrete_gaussian_variance(0.5**0.5)
    0.49897...
    """
    sigma = arguments.real("sigma", sigma, above=0)
    if sigma >= 2:
        return sigma * sigma
    weights = [math.exp(-0.5 * (k / sigma) * (k / sigma)) for k in range(1, 80)]
    total = 1 + 2 * math.fsum(weights)
    return 2 * math.fsum(k * k * w for k, w in enumerate(weights, start=1)) / total


def discrete_laplace_tail(scale: float, at_least: int) -> float:
    """Return the probability that discrete Laplace noise is at least `at_least` in size: `2 q**at_least / (1 + q)`,
    or 1 at 0.

    Here `q = exp(-1/scale)`.

    Parameters
    ----------
    scale : float
        Positive.
    at_least : int
        At least 0.

    Examples
    --------
    >>> discrete_laplace_tail(1, 3)
    0.0727...
    """
    scale = arguments.real("scale", scale, above=0)
    k = arguments.whole("at_least", at_least, at_least=0)
    return 1.0 if k == 0 else 2 * math.exp(-k / scale) / (1 + math.exp(-1 / scale))


def discrete_gaussian_tail(sigma: float, at_least: int) -> float:
    """Return an upper bound on the probability that discrete Gaussian noise is at least `m = at_least` in size.

    The bound is `2 exp(-m**2 / (2 sigma**2))`, at most 1.

    Parameters
    ----------
    sigma : float
        Positive.
    at_least : int
        At least 0.

    Notes
    -----
    Derived: `E exp(t k) <= exp(t**2 sigma**2 / 2)` for every real t, because completing the square leaves the
    ratio of `sum_k exp(-(k - c)**2 / (2 sigma**2))` at `c = t sigma**2` to its value at 0, where it is largest
    (its Fourier coefficients are positive). Markov's inequality at `t = m / sigma**2` on both sides gives the
    bound.

    Examples
    --------
    >>> discrete_gaussian_tail(1, 3)
    0.0222...
    """
    sigma = arguments.real("sigma", sigma, above=0)
    m = arguments.whole("at_least", at_least, at_least=0)
    return min(1.0, 2 * math.exp(-0.5 * (m / sigma) * (m / sigma)))


FINENESS = 2048
"""The default grid has at least this many steps in the sensitivity and in the noise scale."""


class _Sampler(Protocol):
    @overload
    def __call__(self, scale: int, size: None = None, /, *, source: Source | None = None) -> int: ...
    @overload
    def __call__(self, scale: int, size: int, /, *, source: Source | None = None) -> NDArray[np.int64]: ...


class _Law(NamedTuple):
    """A distribution of integer noise: its name, the field that holds its parameter, how it is drawn, and its
    variance.
    """

    name: str
    parameter: str
    sampler: _Sampler
    variance: Callable[[float], float]


class _GridNoise:
    """What both distributions share: a grid, a sensitivity and a noise parameter in whole steps, and how a value is
    released.
    """

    _law: ClassVar[_Law]
    grid: Grid
    sensitivity_steps: int

    def __post_init__(self) -> None:
        if check_grid(self.grid) is None:
            raise InvalidParameter("grid must be a noise.Grid, got None")
        for name in (self._law.parameter, "sensitivity_steps"):
            object.__setattr__(self, name, arguments.whole(name, getattr(self, name), at_least=1))

    @property
    def _steps(self) -> int:
        return int(getattr(self, self._law.parameter))

    @property
    def variance(self) -> float:
        """The variance of the noise, in the unit of the statistic squared."""
        step = float(self.grid.step)
        return self._law.variance(self._steps) * step * step

    @overload
    def release(self, value: Fraction | float, *, source: Source | None = None) -> float: ...
    @overload
    def release(self, value: NDArray[Any], *, source: Source | None = None) -> NDArray[np.float64]: ...
    def release(self, value: Any, *, source: Source | None = None) -> float | NDArray[np.float64]:
        """Return the value, rounded to the grid, plus noise. In an array each element gets its own noise.

        The cost is that of one statistic with the declared sensitivity. An array is one statistic if the sensitivity
        was declared for all of it (`dimension`). If the sensitivity was declared for one number, each element is a
        release with that cost, as in local privacy, where each element is about another person. This class cannot tell
        the two cases apart; `mechanisms.Laplace` and `mechanisms.Gaussian` check the size.
        """
        draw = self._law.sampler
        if isinstance(value, np.ndarray):
            indices = self.grid.indices(value)
            noise = draw(self._steps, indices.size, source=source)
            return self.grid.values(indices + noise.reshape(indices.shape))
        return self.grid.value(self.grid.index(value) + draw(self._steps, source=source))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "noise": self._law.name,
            "grid_exponent": self.grid.exponent,
            self._law.parameter: self._steps,
            "sensitivity_steps": self.sensitivity_steps,
        }


@dataclass(frozen=True)
class GridLaplace(_GridNoise):
    """Discrete Laplace noise of `scale_steps` grid steps, for a statistic that changes by at most
    `sensitivity_steps`.

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
        """The exact privacy cost epsilon of one release: `sensitivity_steps / scale_steps`."""
        return Fraction(self.sensitivity_steps, self.scale_steps)

    @property
    def scale(self) -> float:
        """The scale of the noise, in the unit of the statistic."""
        return self.grid.value(self.scale_steps)


@dataclass(frozen=True)
class GridGaussian(_GridNoise):
    """Discrete Gaussian noise of `sigma_steps` grid steps, for a statistic that changes by at most
    `sensitivity_steps`.

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
        """The exact privacy cost rho (zCDP) of one release: `sensitivity_steps**2 / (2 sigma_steps**2)`."""
        return Fraction(self.sensitivity_steps**2, 2 * self.sigma_steps**2)

    @property
    def sigma(self) -> float:
        """The parameter sigma of the noise, in the unit of the statistic."""
        return self.grid.value(self.sigma_steps)


def laplace_on_grid(
    sensitivity: Rational, epsilon: Rational, grid: Grid | None = None, *, dimension: int = 1
) -> GridLaplace:
    """Return the Laplace mechanism on a grid, which gives `epsilon`-differential privacy for a statistic of this
    sensitivity.

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
    least 2048, so the two roundings multiply the scale by at most `(1 + 1/2048)**2 < 1.001`. The distribution is that
    of Ghosh, Roughgarden and Sundararajan (2009): integer noise of ratio `exp(-1/scale_steps)` on an integer statistic.

    Examples
    --------
    >>> mechanism = laplace_on_grid(0.001, 0.1)
    >>> mechanism.grid, mechanism.epsilon <= Fraction(1, 10), mechanism.scale
    (Grid(exponent=-21), True, 0.0100...)
    """
    width = upper_reading("sensitivity", sensitivity)
    cost = rational("epsilon", epsilon, above=0)
    d = arguments.whole("dimension", dimension, at_least=1)
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
    """Return the Gaussian mechanism on a grid, given its privacy cost rho or its noise parameter sigma.

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
    d = arguments.whole("dimension", dimension, at_least=1)
    if (rho is None) == (sigma is None):
        raise InvalidParameter("exactly one of rho and sigma must be given")
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
            f"{parameters} need a grid of step 2**{exponent}, but a step must be between 2**-1000 and 2**1000; use "
            "another unit"
        )
    return Grid(exponent)


def _countable(steps: int, parameter: str) -> int:
    if steps > arguments.LARGEST_WHOLE:
        raise InvalidParameter(f"{parameter} needs noise of more than 1e300 grid steps; give a coarser grid")
    return steps


def _floor_log2(x: Fraction) -> int:
    guess = x.numerator.bit_length() - x.denominator.bit_length()
    return guess if Fraction(2) ** guess <= x else guess - 1


def _ceil_sqrt(x: Fraction) -> int:
    """The smallest whole number whose square is at least x."""
    whole = math.ceil(x)
    root = math.isqrt(whole - 1) + 1 if whole > 0 else 0
    return max(root, 1)
