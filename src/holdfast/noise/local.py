"""Local randomizers: each person's answer is noisy before it leaves them. Exact, vectorised.

The privacy unit is one person's value. Epsilon is the cost of all that one call releases about one person.
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.noise.coins import below_each, bernoulli, bernoulli_logistic, logistic_table
from holdfast.noise.entropy import Source, resolve
from holdfast.noise.grid import Grid, GridGaussian, GridLaplace, check_grid, gaussian_on_grid, laplace_on_grid
from holdfast.noise.inputs import Rational, plain_array, rational


def randomized_response(
    values: Any, categories: int, epsilon: Rational, *, source: Source | None = None
) -> NDArray[np.int64]:
    """Return categories after randomized response. Each stays with probability `e**epsilon / (e**epsilon + d - 1)`.

    Otherwise it becomes one of the `d - 1` other categories, each with the same probability. The answers are
    `epsilon`-locally differentially private.

    Parameters
    ----------
    values : array of whole numbers
        Each in [0, categories).
    categories : int
        d, at least 2.
    epsilon : Fraction, int or float
        At least 0; a float means the decimal it prints as.
    source : Source or None
        Where the words come from; None for the operating system.

    Returns
    -------
    array of int64, of the shape of `values`

    Notes
    -----
    Warner 1965 for two categories; the ratio of any two probabilities of one answer is `e**epsilon`. The
    mechanism M_EXP of Gaboardi and Rogers 2018.

    Whether a value moves is a coin of odds `(d - 1) exp(-epsilon)` to 1, exact to any digit; where to is uniform among
    `d - 1`. Both are drawn for everyone, so that the work does not depend on who moves.

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> randomized_response([0, 1, 2, 2], 3, 2, source=Seeded(4))
    array([2, 1, 1, 2])
    """
    d = arguments.whole("categories", categories, at_least=2, at_most=1 << 62)
    truth = coded(values, d)
    cost = rational("epsilon", epsilon, at_least=0)
    origin = resolve(source)
    moves = logistic_table(cost.numerator, cost.denominator, d - 1).draws(origin, truth.size).reshape(truth.shape)
    others = below_each(origin, np.full(truth.size, d - 1, dtype=np.uint64)).astype(np.int64).reshape(truth.shape)
    others += others >= truth
    return np.where(moves == 1, others, truth)


def flip_bits(bits: Any, epsilon: Rational, *, source: Source | None = None) -> NDArray[np.uint8]:
    """Return bits of which each stays with probability `e**(epsilon/2) / (1 + e**(epsilon/2))`, independently of the
    others.

    Otherwise it is flipped. For rows with one 1, of which any two differ in two places, this is `epsilon`-locally
    differentially private.

    Parameters
    ----------
    bits : array of 0 and 1
        Any shape, usually one row per person.
    epsilon : Fraction, int or float
        At least 0, the cost of a one-hot row; a float means the decimal it prints as.
    source : Source or None
        Where the words come from; None for the operating system.

    Notes
    -----
    The mechanism M_FC of Gaboardi and Rogers 2018; Duchi, Jordan and Wainwright 2013.

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> flip_bits(np.eye(3, dtype=int), 4, source=Seeded(1))
    array([[1, 1, 0],
           [1, 1, 0],
           [0, 0, 1]], dtype=uint8)
    """
    truth = coded(bits, 2, "bits")
    cost = rational("epsilon", epsilon, at_least=0)
    flips = bernoulli_logistic(cost / 2, truth.size, source=source).reshape(truth.shape)
    return truth.astype(np.uint8) ^ flips


def leaky_response(bits: Any, epsilon: Rational, delta: Rational, *, source: Source | None = None) -> NDArray[np.int64]:
    """Return the answer about a bit that reveals most among all `(epsilon, delta)`-private answers, as a code 0, 1,
    2 or 3.

    Codes 0 and 3 show the bit. With `a = e**epsilon`, for the bit 0 the codes 0, 1, 2 and 3 have the probabilities
    `delta`, `(1 - delta) a / (1 + a)`, `(1 - delta) / (1 + a)` and 0. For the bit 1 the order is reversed. Every
    `(epsilon, delta)`-private mechanism on a pair of neighbours can be computed from this answer.

    Parameters
    ----------
    bits : array of 0 and 1
        Any shape.
    epsilon, delta : Fraction, int or float
        Epsilon at least 0, delta in [0, 1]; floats mean the decimals they print as.
    source : Source or None
        Where the words come from; None for the operating system.

    Notes
    -----
    Kairouz, Oh and Viswanath 2015; Rogers 2017, Definition 5.2.1 (its top is 1, its bottom 2).

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> leaky_response([0, 0, 1, 1], 1, 0, source=Seeded(1))
    array([1, 2, 2, 1])
    """
    truth = coded(bits, 2, "bits")
    cost = rational("epsilon", epsilon, at_least=0)
    chance = rational("delta", delta, at_least=0, at_most=1)
    origin = resolve(source)
    flips = bernoulli_logistic(cost, truth.size, source=origin).reshape(truth.shape)
    leaks = bernoulli(chance, truth.size, source=origin).reshape(truth.shape)
    return np.where(leaks, 3 * truth, 1 + (truth ^ flips))


def local_laplace(
    values: Any,
    low: float,
    high: float,
    epsilon: Rational,
    *,
    default: float | None = None,
    grid: Grid | None = None,
    source: Source | None = None,
) -> NDArray[np.float64]:
    """Return each value, clipped to `[low, high]`, plus its own discrete Laplace noise on a grid.

    Each value is `epsilon`-locally differentially private.

    Parameters
    ----------
    values : array of numbers
        One a person.
    low, high : float
        The declared range, `low < high`.
    epsilon : Fraction, int or float
        Positive.
    default : float or None
        The public value, inside the range, of a person whose value is NaN or None; the middle of the range if not
        given. An error instead would say something about a row.
    grid : Grid or None
        None for the default of `laplace_on_grid`.
    source : Source or None
        Where the words come from; None for the operating system.

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> local_laplace([0.2, 7.0], 0, 1, 1000, source=Seeded(1)).round(2)
    array([0.2, 1. ])
    """
    bottom, top, missing = declared_range(low, high, default)
    width = Fraction(top) - Fraction(bottom)
    return laplace_on_grid(width, epsilon, grid).release(clipped(values, bottom, top, missing), source=source)


def local_gaussian(
    values: Any,
    low: float,
    high: float,
    rho: Rational,
    *,
    default: float | None = None,
    grid: Grid | None = None,
    source: Source | None = None,
) -> NDArray[np.float64]:
    """Return each value, clipped to `[low, high]`, plus its own discrete Gaussian noise on a grid.

    Each value is `rho`-locally zCDP.

    Parameters
    ----------
    values : array of numbers
        One a person.
    low, high : float
        The declared range, `low < high`.
    rho : Fraction, int or float
        Positive.
    default : float or None
        The public value, inside the range, of a person whose value is NaN or None; the middle of the range if not
        given. An error instead would say something about a row.
    grid : Grid or None
        None for the default of `gaussian_on_grid`.
    source : Source or None
        Where the words come from; None for the operating system.

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> local_gaussian([0.2, 7.0], 0, 1, 100_000, source=Seeded(1)).round(1)
    array([0.2, 1. ])
    """
    bottom, top, missing = declared_range(low, high, default)
    width = Fraction(top) - Fraction(bottom)
    return gaussian_on_grid(width, rho=rho, grid=grid).release(clipped(values, bottom, top, missing), source=source)


def one_hot_laplace(
    values: Any, categories: int, epsilon: Rational, *, grid: Grid | None = None, source: Source | None = None
) -> NDArray[np.float64]:
    """Return rows with one 1, plus discrete Laplace noise of scale `2 / epsilon` in each place.

    Each row is `epsilon`-locally differentially private.

    Parameters
    ----------
    values : array of whole numbers
        Each in [0, categories).
    categories : int
        Number of places of a row, at least 2.
    epsilon : Fraction, int or float
        Positive.
    grid : Grid or None
        With a step of at most 1, so that 0 and 1 lie on it and no rounding moves them; None for the default.
    source : Source or None
        Where the words come from; None for the operating system.

    Returns
    -------
    array of float64, one row a value

    Examples
    --------
    >>> one_hot_laplace([1], 3, 1).shape
    (1, 3)
    """
    rows, d = one_hot(values, categories)
    return one_hot_laplace_law(epsilon, grid).release(rows.reshape(-1, d), source=source)


def one_hot_laplace_law(epsilon: Rational, grid: Grid | None = None) -> GridLaplace:
    """Return the noise in each place of a one-hot row: two rows differ by 2 in the sum of absolute values, exactly."""
    where = check_grid(grid) or laplace_on_grid(2, epsilon).grid
    steps = 2 * _steps_of_one(where)
    return GridLaplace(where, math.ceil(steps / rational("epsilon", epsilon, above=0)), steps)


def one_hot_gaussian(
    values: Any, categories: int, rho: Rational, *, grid: Grid | None = None, source: Source | None = None
) -> NDArray[np.float64]:
    """Return rows with one 1, plus discrete Gaussian noise of variance `1 / rho` in each place.

    Each row is `rho`-locally zCDP.

    Parameters
    ----------
    values : array of whole numbers
        Each in [0, categories).
    categories : int
        Number of places of a row, at least 2.
    rho : Fraction, int or float
        Positive.
    grid : Grid or None
        With a step of at most 1; None for the default.
    source : Source or None
        Where the words come from; None for the operating system.

    Returns
    -------
    array of float64, one row a value

    Notes
    -----
    Two one-hot rows differ by the square root of 2. In steps that is rounded up, and sigma is calibrated to it.

    Examples
    --------
    >>> one_hot_gaussian([1], 3, 0.5).shape
    (1, 3)
    """
    rows, d = one_hot(values, categories)
    return one_hot_gaussian_law(rho, grid).release(rows.reshape(-1, d), source=source)


def one_hot_gaussian_law(rho: Rational, grid: Grid | None = None) -> GridGaussian:
    """The noise in each place of a one-hot row: two rows differ by the square root of 2, rounded up to a step."""
    where = check_grid(grid) or gaussian_on_grid(1, rho=rho).grid
    steps = math.isqrt(2 * _steps_of_one(where) ** 2 - 1) + 1
    return GridGaussian(where, gaussian_on_grid(steps, rho=rho, grid=Grid(0)).sigma_steps, steps)


def coded(values: Any, categories: int, name: str = "values") -> NDArray[np.int64]:
    """Whole numbers in [0, categories); an error does not show them."""
    wanted = f"whole numbers in [0, {categories})"
    array = plain_array(name, values, "iub", wanted)
    if array.size and (int(array.min()) < 0 or int(array.max()) >= categories):
        raise InvalidParameter(f"{name} must be {wanted}")
    return array.astype(np.int64)


def one_hot(values: Any, categories: int) -> tuple[NDArray[np.int64], int]:
    """Return rows with a 1 in the place of the value, and how many places there are."""
    d = arguments.whole("categories", categories, at_least=2)
    truth = coded(values, d)
    return (truth[..., None] == np.arange(d)).astype(np.int64), d


def _steps_of_one(grid: Grid) -> int:
    if grid.exponent > 0:
        raise InvalidParameter(f"grid must have a step of at most 1, got 2**{grid.exponent}")
    return 1 << -grid.exponent


def declared_range(low: float, high: float, default: float | None) -> tuple[float, float, float]:
    """Return the public range and the public value of those who give no number: the middle if none is declared."""
    bottom = arguments.real("low", low)
    top = arguments.real("high", high, above=bottom)
    if default is None:
        return bottom, top, 0.5 * bottom + 0.5 * top
    return bottom, top, arguments.real("default", default, at_least=bottom, at_most=top)


def clipped(values: Any, low: float, high: float, default: float) -> NDArray[np.float64]:
    """Values inside the declared range; NaN, and what is no number in a list of objects, becomes the default.

    Nothing is refused that depends on one person's value, only values that are no numbers as a whole.
    """
    array = plain_array("values", values, "iufbO", "numbers, one a person")
    if array.dtype.kind == "O":
        filled = [_moved(v, low, high) for v in array.ravel()]
        array = np.array(filled, dtype=np.float64).reshape(array.shape)
    numbers = array.astype(np.float64)
    return np.clip(np.where(np.isnan(numbers), default, numbers), low, high)


def _moved(value: Any, low: float, high: float) -> float:
    """A number of any size moved into the range, NaN for anything else."""
    number: Any = value if isinstance(value, Real) else math.nan
    return low if number < low else high if number > high else float(number)
