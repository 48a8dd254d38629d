"""Local randomizers: what a person, or the program on their device, runs before anything leaves them.

A category: `RandomizedResponse` (few categories), `BitFlip` (many), `OneHotLaplace` and `OneHotGaussian` (noise on a
one-hot row). A number in a public range: `LocalLaplace`, `LocalGaussian`. Each is a frozen set of public parameters
with `release(values)` for the client, and `estimate(answers)` for whoever collects the answers.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from holdfast.accounting.costs import ZCDP, PointwiseDP, PureDP
from holdfast.bounds.numerics.exact import float_up, up
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.errors import InvalidParameter
from holdfast.mechanisms.base import LOCAL, LocalEstimate, plain
from holdfast.noise.entropy import Source
from holdfast.noise.grid import Grid, GridGaussian, GridLaplace, gaussian_on_grid, laplace_on_grid
from holdfast.noise.inputs import Rational, fits_vector, plain_array, rational
from holdfast.noise.local import (
    clipped,
    declared_range,
    flip_bits,
    leaky_response,
    one_hot,
    one_hot_gaussian_law,
    one_hot_laplace_law,
    randomized_response,
)


@dataclass(frozen=True)
class RandomizedResponse:
    """Randomized response: a person reports one of `d` categories, the true one with odds `e^epsilon` to 1 against
    each other one.

    The answer is epsilon-differentially private for the person who gives it.

    Parameters
    ----------
    categories : int
        `d`, at least 2.
    epsilon : Fraction, int or float
        Positive; a float means the decimal it prints as.

    Notes
    -----
    Warner 1965 for two categories; M_EXP of Gaboardi-Rogers 2018.

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> mechanism = RandomizedResponse(categories=3, epsilon=1.0)
    >>> truth = np.repeat([0, 1, 2], [60_000, 30_000, 10_000])
    >>> estimate = mechanism.estimate(mechanism.release(truth, Seeded(1)))
    >>> bool(np.abs(estimate.value - [0.6, 0.3, 0.1]).max() < mechanism.half_width(100_000, 1e-6))
    True
    """

    categories: int
    epsilon: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", arguments.whole("categories", self.categories, at_least=2))
        rational("epsilon", self.epsilon, above=0)

    @property
    def cost(self) -> PureDP:
        """The privacy cost of one answer for the person who gives it."""
        return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        return Guarantee("mechanism.randomized-response", self.to_dict(), LOCAL)

    def to_dict(self) -> dict[str, Any]:
        """Return the public parameters as plain data."""
        return {"categories": self.categories, "epsilon": plain(self.epsilon)}

    @property
    def contrast(self) -> float:
        """How much more likely an answer is if it is true than if it is not: `(e^epsilon - 1) / (e^epsilon + d -
        1)`.

        It is the difference of the two probabilities.
        """
        epsilon = plain(self.epsilon)
        return -math.expm1(-epsilon) / (1 + (self.categories - 1) * math.exp(-epsilon))

    @overload
    def release(self, values: int, source: Source | None = ...) -> int: ...
    @overload
    def release(self, values: npt.NDArray[Any], source: Source | None = ...) -> npt.NDArray[np.int64]: ...
    def release(self, values: Any, source: Source | None = None) -> int | npt.NDArray[np.int64]:
        """Randomize one category, or an array of categories, one for each person.

        Parameters
        ----------
        values : int or array of int
            In [0, categories). They are not shown in any error.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        """
        answers = randomized_response(values, self.categories, self.epsilon, source=source)
        return answers if answers.ndim else int(answers)

    def estimate(self, answers: npt.ArrayLike) -> LocalEstimate:
        """Estimate, without bias, the frequencies of the categories among the people who answered.

        Parameters
        ----------
        answers : array of int
            What was released.
        """
        counts = _counts(answers, self.categories)
        n = int(counts.sum())
        lie = (1 - self.contrast) / self.categories
        value = (counts / n - lie) / self.contrast
        # Given the people, those of the category show it with probability lie + contrast and the others with lie.
        share, truth = np.clip(value, 0, 1), lie + self.contrast
        variance = share * truth * (1 - truth) + (1 - share) * lie * (1 - lie)
        return LocalEstimate(value, np.sqrt(variance / n) / self.contrast, n)

    def half_width(self, n: int, beta: float) -> float:
        """Return how far any estimated frequency is from the true one among the `n` people, except with probability
        `beta`.

        Notes
        -----
        Hoeffding's inequality for the `n` independent answers, over all categories at once.
        """
        return _hoeffding(n, beta, self.categories, self.contrast)


@dataclass(frozen=True)
class BitFlip:
    """A person reports a category as a row of bits, one for each category. Each bit is kept with odds
    `e^(epsilon/2)` to 1.

    Before randomizing, only the bit of the person's category is 1. The answer is epsilon-differentially private for the
    person. With many categories it is less noisy than `RandomizedResponse`.

    Parameters
    ----------
    categories : int
        `d`, at least 2.
    epsilon : Fraction, int or float
        Positive; a float means the decimal it prints as.

    Notes
    -----
    M_FC of Gaboardi-Rogers 2018; Duchi-Jordan-Wainwright 2013. Two one-hot rows differ in two bits.

    Examples
    --------
    >>> BitFlip(categories=4, epsilon=2.0).release(np.array([0, 3])).shape
    (2, 4)
    """

    categories: int
    epsilon: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", arguments.whole("categories", self.categories, at_least=2))
        rational("epsilon", self.epsilon, above=0)

    @property
    def cost(self) -> PureDP:
        """The privacy cost of one answer for the person who gives it."""
        return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost: two bits, each randomized response at half of epsilon."""
        return Guarantee("mechanism.randomized-response", self.to_dict(), LOCAL)

    def to_dict(self) -> dict[str, Any]:
        """Return the public parameters as plain data."""
        return {"categories": self.categories, "epsilon": plain(self.epsilon), "bits": "flipped"}

    @property
    def contrast(self) -> float:
        """How much more likely a bit is reported as 1 if it is 1 than if it is 0: `tanh(epsilon/4)`.

        It is the difference of the two probabilities.
        """
        return math.tanh(0.25 * plain(self.epsilon))

    def release(self, values: Any, source: Source | None = None) -> npt.NDArray[np.uint8]:
        """Randomize one category, or an array of categories. The result is a row of bits for each person.

        Parameters
        ----------
        values : int or array of int
            In [0, categories). They are not shown in any error.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        """
        return flip_bits(one_hot(values, self.categories)[0], self.epsilon, source=source)

    def estimate(self, answers: npt.ArrayLike) -> LocalEstimate:
        """Estimate, without bias, the frequencies of the categories among the people who answered.

        Parameters
        ----------
        answers : array of 0 and 1, one row per person
            What was released.
        """
        wanted = f"rows of {self.categories} bits, at least one"
        rows = plain_array("answers", answers, "iub", wanted)
        if rows.ndim != 2 or rows.shape[1] != self.categories or len(rows) == 0 or ((rows != 0) & (rows != 1)).any():
            raise InvalidParameter(f"answers must be {wanted}")
        shown, lie = rows.mean(axis=0), (1 - self.contrast) / 2
        error = math.sqrt(lie * (1 - lie) / len(rows)) / self.contrast  # given the people, every bit has this variance
        return LocalEstimate((shown - lie) / self.contrast, np.full(self.categories, error), len(rows))

    def half_width(self, n: int, beta: float) -> float:
        """Return how far any estimated frequency is from the true one among the `n` people, except with probability
        `beta`.
        """
        return _hoeffding(n, beta, self.categories, self.contrast)


@dataclass(frozen=True)
class LeakyResponse:
    """The answer about one bit that reveals most among all (epsilon, delta)-private answers. Use it for games and
    lower bounds.

    With probability `delta` the bit itself is shown (codes 0 and 3). Otherwise the answer is randomized response (codes
    1 and 2). Every (epsilon, delta)-differentially private mechanism, on a fixed pair of neighbours, can be computed
    from this answer.

    Parameters
    ----------
    epsilon, delta : Fraction, int or float
        Epsilon at least 0, delta in [0, 1).

    Notes
    -----
    The table is `holdfast.bounds.mechanism.randomized_response_table`. Kairouz-Oh-Viswanath 2015.

    Examples
    --------
    >>> LeakyResponse(1.0, 0.1).cost
    PointwiseDP(epsilon=1.0, delta=0.1)
    """

    epsilon: Rational
    delta: Rational

    def __post_init__(self) -> None:
        rational("epsilon", self.epsilon, at_least=0)
        if rational("delta", self.delta, at_least=0) >= 1:
            raise InvalidParameter(f"delta must be a number in [0, 1), got {float(self.delta):g}")

    @property
    def cost(self) -> PointwiseDP:
        """The privacy cost of one answer. The privacy loss is epsilon in size, except with probability exactly
        delta.
        """
        epsilon, delta = rational("epsilon", self.epsilon, at_least=0), rational("delta", self.delta, at_least=0)
        return PointwiseDP(float_up(epsilon), float_up(delta))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        return Guarantee("mechanism.randomized-response", self.to_dict(), LOCAL)

    def to_dict(self) -> dict[str, Any]:
        """Return the public parameters as plain data."""
        return {"epsilon": plain(self.epsilon), "delta": plain(self.delta)}

    def release(self, bits: Any, source: Source | None = None) -> npt.NDArray[np.int64]:
        """Return one of the codes 0, 1, 2 and 3 for each bit.

        Parameters
        ----------
        bits : array of 0 and 1
            They are not shown in any error.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        """
        return leaky_response(bits, self.epsilon, self.delta, source=source)


def _counts(answers: npt.ArrayLike, categories: int) -> npt.NDArray[np.int64]:
    array = plain_array("answers", answers, "iu", "a list of at least one whole number")
    if array.ndim != 1 or array.size == 0:
        raise InvalidParameter("answers must be a list of at least one whole number")
    if array.min() < 0 or array.max() >= categories:
        raise InvalidParameter(f"answers must be whole numbers from 0 to {categories} - 1")
    return np.bincount(array, minlength=categories)


def _hoeffding(n: int, beta: float, categories: int, contrast: float) -> float:
    n = arguments.whole("n", n, at_least=1)
    beta = arguments.probability("beta", beta)
    return up(math.sqrt(math.log(2 * categories / beta) / (2 * n)) / contrast, 8)


_ANSWERS = "a list of at least one finite number"


class _LocalNumbers(ABC):
    """What both distributions share: a public range, a public default, the release and the mean."""

    low: float
    high: float
    default: float | None

    @property
    @abstractmethod
    def law(self) -> GridLaplace | GridGaussian:
        """The distribution of the noise in whole grid steps."""

    def _check_range(self) -> None:
        low, high, default = declared_range(self.low, self.high, self.default)
        for name, value in {"low": low, "high": high, "default": default}.items():
            object.__setattr__(self, name, value)

    @property
    def _width(self) -> Fraction:
        return Fraction(self.high) - Fraction(self.low)

    def _range(self) -> dict[str, Any]:
        return {"low": self.low, "high": self.high, "default": self.default}

    def release(self, values: Any, source: Source | None = None) -> npt.NDArray[np.float64]:
        """Add noise to the numbers, drawn separately for each person.

        Parameters
        ----------
        values : array of float
            One a person. They are not shown in any error.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        """
        assert self.default is not None
        return self.law.release(clipped(values, self.low, self.high, self.default), source=source)

    def estimate(self, answers: npt.ArrayLike) -> LocalEstimate:
        """Estimate the mean of the (clipped) numbers of the people who answered. The standard error is that of the
        noise.

        Parameters
        ----------
        answers : array of float
            What was released.
        """
        array = plain_array("answers", answers, "iuf", _ANSWERS)
        if array.ndim != 1 or array.size == 0 or not np.isfinite(array).all():
            raise InvalidParameter(f"answers must be {_ANSWERS}")
        return LocalEstimate(float(array.mean()), math.sqrt(self.law.variance / array.size), array.size)


@dataclass(frozen=True)
class LocalLaplace(_LocalNumbers):
    """A person reports a number in `[low, high]` plus discrete Laplace noise of scale `(high - low)/epsilon`, drawn
    by the person.

    Numbers outside the range are first moved into it, and a missing number (NaN, None) is replaced by the public
    default, because an error would reveal something about the person.

    Parameters
    ----------
    low, high : float
        The public range, `low < high`.
    epsilon : Fraction, int or float
        Positive; a float means the decimal it prints as.
    default : float, optional
        The public value of who gives no number; the middle of the range if not given.

    Examples
    --------
    >>> from holdfast.noise import Seeded
    >>> mechanism = LocalLaplace(0, 1, epsilon=1.0)
    >>> estimate = mechanism.estimate(mechanism.release(np.full(10_000, 0.3), Seeded(1)))
    >>> abs(estimate.value - 0.3) < mechanism.half_width(10_000, 1e-6)
    True
    """

    low: float
    high: float
    epsilon: Rational
    default: float | None = None

    def __post_init__(self) -> None:
        self._check_range()
        rational("epsilon", self.epsilon, above=0)
        fits_vector("scale", self.law.scale_steps)

    @cached_property
    def law(self) -> GridLaplace:
        """The distribution of the noise in whole grid steps."""
        return laplace_on_grid(self._width, self.epsilon)

    @property
    def cost(self) -> PureDP:
        """The privacy cost of one answer for the person who gives it."""
        return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        return Guarantee("mechanism.laplace", self.to_dict(), LOCAL)

    def to_dict(self) -> dict[str, Any]:
        """Return the public parameters as plain data."""
        return self._range() | {"epsilon": plain(self.epsilon)} | self.law.to_dict()

    def half_width(self, n: int, beta: float) -> float:
        """Return how far the estimated mean is from the true mean of the `n` people, except with probability `beta`.

        Notes
        -----
        Chernoff's bound with the exact moment generating function of the noise, plus half a step of rounding.
        """
        return laplace_mean_half_width(self.law, n, beta, rounding=0.5)


@dataclass(frozen=True)
class LocalGaussian(_LocalNumbers):
    """A person reports a number in `[low, high]` plus discrete Gaussian noise, drawn by the person. The answer is
    rho-zCDP.

    Parameters
    ----------
    low, high : float
        The public range, `low < high`.
    rho : Fraction, int or float
        Positive; a float means the decimal it prints as.
    default : float, optional
        As in `LocalLaplace`.

    Examples
    --------
    >>> LocalGaussian(0, 1, rho=0.5).cost
    ZCDP(rho=0.5)
    """

    low: float
    high: float
    rho: Rational
    default: float | None = None

    def __post_init__(self) -> None:
        self._check_range()
        rational("rho", self.rho, above=0)
        fits_vector("sigma", self.law.sigma_steps)

    @cached_property
    def law(self) -> GridGaussian:
        """The distribution of the noise in whole grid steps."""
        return gaussian_on_grid(self._width, rho=self.rho)

    @property
    def cost(self) -> ZCDP:
        """The privacy cost of one answer for the person who gives it."""
        return ZCDP(float_up(rational("rho", self.rho, above=0)))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        return Guarantee("mechanism.gaussian", self.to_dict(), LOCAL)

    def to_dict(self) -> dict[str, Any]:
        """Return the public parameters as plain data."""
        return self._range() | {"rho": plain(self.rho)} | self.law.to_dict()

    def half_width(self, n: int, beta: float) -> float:
        """Return how far the estimated mean is from the true mean of the `n` people, except with probability `beta`.

        It is `sigma sqrt(2 log(2/beta)/n)`, plus half a grid step for rounding.

        Notes
        -----
        The discrete Gaussian's moment generating function is at most the Gaussian's (Canonne-Kamath-Steinke
        2020).
        """
        return gaussian_mean_half_width(self.law, n, beta, rounding=0.5)


def laplace_mean_half_width(law: GridLaplace, n: int, beta: float, *, rounding: float, means: int = 1) -> float:
    """How far `means` averages of `n` noises each are from 0 at most, except with probability `beta`, by Chernoff.

    `rounding` steps are added, for values that are not on the grid.
    """
    n, log_term = _log_term(n, beta, means)
    # E exp(t X) = sinh(h)^2 / (sinh(h - a) sinh(h + a)) with h = 1/(2 scale) and a = t/2, for 0 < t < 1/scale; the
    # product is sinh(h)^2 - sinh(a)^2. Every tilt gives a valid bound: the best is near sqrt(log(2/beta)/n)/scale
    # for many people and near 1/scale for few.
    h = 0.5 / law.scale_steps
    shares = np.concatenate([np.geomspace(1e-8, 0.5, 400), 1 - np.geomspace(1e-4, 0.5, 200)])
    log_mgf = -np.log1p(-((np.sinh(shares * h) / math.sinh(h)) ** 2))
    steps = float(np.min((log_mgf + log_term / n) / (2 * h * shares)))
    return up((steps + rounding) * float(law.grid.step), 64)


def gaussian_mean_half_width(law: GridGaussian, n: int, beta: float, *, rounding: float, means: int = 1) -> float:
    """Return the same for discrete Gaussian noise, whose moment generating function is at most the Gaussian's."""
    n, log_term = _log_term(n, beta, means)
    return up(law.sigma * math.sqrt(2 * log_term / n) + rounding * float(law.grid.step), 16)


def _log_term(n: int, beta: float, means: int) -> tuple[int, float]:
    return arguments.whole("n", n, at_least=1), math.log(2 * means / arguments.probability("beta", beta))


class _OneHotNoise(ABC):
    """What both distributions share: the release of noisy rows and the mean of many."""

    categories: int

    @property
    @abstractmethod
    def law(self) -> GridLaplace | GridGaussian:
        """The distribution of the noise in each place, in whole steps of a grid that contains 0 and 1."""

    def release(self, values: Any, source: Source | None = None) -> npt.NDArray[np.float64]:
        """Randomize one category, or an array of categories. The result is a row of numbers for each person.

        Parameters
        ----------
        values : int or array of int
            In [0, categories). They are not shown in any error.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        """
        return self.law.release(one_hot(values, self.categories)[0], source=source)

    def estimate(self, answers: npt.ArrayLike) -> LocalEstimate:
        """Estimate, without bias, the frequencies of the categories among the people who answered: the mean of their
        rows.

        Parameters
        ----------
        answers : array of float, one row per person
            What was released.
        """
        wanted = f"rows of {self.categories} finite numbers, at least one"
        rows = plain_array("answers", answers, "iuf", wanted)
        if rows.ndim != 2 or rows.shape[1] != self.categories or len(rows) == 0 or not np.isfinite(rows).all():
            raise InvalidParameter(f"answers must be {wanted}")
        error = math.sqrt(self.law.variance / len(rows))
        return LocalEstimate(rows.mean(axis=0), np.full(self.categories, error), len(rows))


@dataclass(frozen=True)
class OneHotLaplace(_OneHotNoise):
    """A person reports a category as a row with one 1, plus discrete Laplace noise of scale `2/epsilon` in every
    place.

    The answer is epsilon-differentially private for the person.

    Parameters
    ----------
    categories : int
        `d`, at least 2.
    epsilon : Fraction, int or float
        Positive; a float means the decimal it prints as.

    Notes
    -----
    Two one-hot rows differ in two places by one. Section 8.2.2 of Rogers 2017; Gaboardi-Rogers 2018.

    Examples
    --------
    >>> mechanism = OneHotLaplace(categories=3, epsilon=1.0)
    >>> mechanism.release(np.array([0, 2])).shape, round(mechanism.law.variance, 6)
    ((2, 3), 8.0)
    """

    categories: int
    epsilon: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", arguments.whole("categories", self.categories, at_least=2))
        rational("epsilon", self.epsilon, above=0)
        fits_vector("scale", self.law.scale_steps)

    @cached_property
    def law(self) -> GridLaplace:
        """The distribution of the noise in each place, in whole steps of a grid that contains 0 and 1."""
        epsilon = rational("epsilon", self.epsilon, above=0)
        return one_hot_laplace_law(epsilon, _fine(2 / epsilon))

    @property
    def cost(self) -> PureDP:
        """The privacy cost of one answer for the person who gives it."""
        return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        return Guarantee("mechanism.laplace", self.to_dict(), LOCAL)

    def to_dict(self) -> dict[str, Any]:
        """Return the public parameters as plain data."""
        return {"categories": self.categories, "epsilon": plain(self.epsilon)} | self.law.to_dict()

    def half_width(self, n: int, beta: float) -> float:
        """Return how far any estimated frequency is from the true one among the `n` people, except with probability
        `beta`.
        """
        return laplace_mean_half_width(self.law, n, beta, rounding=0.0, means=self.categories)


@dataclass(frozen=True)
class OneHotGaussian(_OneHotNoise):
    """A person reports a category as a row with one 1, plus discrete Gaussian noise of variance `1/rho` in every
    place.

    The answer is rho-zCDP. This is weaker than differential privacy with epsilon `sqrt(2 rho)`, which implies rho-zCDP
    but is not implied by it.

    Parameters
    ----------
    categories : int
        `d`, at least 2.
    rho : Fraction, int or float
        Positive; a float means the decimal it prints as.

    Notes
    -----
    Two one-hot rows are `sqrt(2)` apart. Section 8.2.1 of Rogers 2017; Gaboardi-Rogers 2018.

    Examples
    --------
    >>> OneHotGaussian(categories=3, rho=0.5).cost
    ZCDP(rho=0.5)
    """

    categories: int
    rho: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", arguments.whole("categories", self.categories, at_least=2))
        rational("rho", self.rho, above=0)
        fits_vector("sigma", self.law.sigma_steps)

    @cached_property
    def law(self) -> GridGaussian:
        """The distribution of the noise in each place, in whole steps of a grid that contains 0 and 1."""
        rho = rational("rho", self.rho, above=0)
        return one_hot_gaussian_law(rho, _fine(Fraction(math.sqrt(1 / rho))))

    @property
    def cost(self) -> ZCDP:
        """The privacy cost of one answer for the person who gives it."""
        return ZCDP(float_up(rational("rho", self.rho, above=0)))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        return Guarantee("mechanism.gaussian", self.to_dict(), LOCAL)

    def to_dict(self) -> dict[str, Any]:
        """Return the public parameters as plain data."""
        return {"categories": self.categories, "rho": plain(self.rho)} | self.law.to_dict()

    def half_width(self, n: int, beta: float) -> float:
        """Return how far any estimated frequency is from the true one among the `n` people, except with probability
        `beta`.
        """
        return gaussian_mean_half_width(self.law, n, beta, rounding=0.0, means=self.categories)


def _fine(scale: Fraction) -> Grid:
    """A grid of `2**30` steps in the noise scale, or in 1 where the noise is smaller; its step is at most 1.

    So fine that the variance is the continuous one but for a part in a billion, which tests that know it profit from.
    """
    whole = math.floor(scale).bit_length()
    return Grid(min(0, whole - 30))


__all__ = [
    "BitFlip",
    "LeakyResponse",
    "LocalGaussian",
    "LocalLaplace",
    "OneHotGaussian",
    "OneHotLaplace",
    "RandomizedResponse",
]
