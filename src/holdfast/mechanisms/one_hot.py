"""A category as a one-hot row with its owner's own Laplace or Gaussian noise in every place."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.accounting.costs import ZCDP, PureDP
from holdfast.bounds.exact import float_up
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import InvalidParameter
from holdfast.mechanisms.base import LOCAL, LocalEstimate, plain
from holdfast.mechanisms.local_numbers import gaussian_mean_half_width, laplace_mean_half_width
from holdfast.noise.calibrate import GridGaussian, GridLaplace
from holdfast.noise.entropy import Source
from holdfast.noise.grid import Grid
from holdfast.noise.inputs import Rational, plain_array, rational
from holdfast.noise.integers import fits_vector
from holdfast.noise.local import one_hot, one_hot_gaussian_law, one_hot_laplace_law


class _OneHotNoise(ABC):
    """What both laws share: the release of noisy rows and the mean of many."""

    categories: int

    @property
    @abstractmethod
    def law(self) -> GridLaplace | GridGaussian:
        """The law of the noise in each place, in whole steps of a grid that holds 0 and 1."""

    def release(self, values: Any, source: Source | None = None) -> npt.NDArray[np.float64]:
        """Randomize one category, or an array of them: a row of numbers for each person.

        Parameters
        ----------
        values : int or array of int
            In [0, categories). They are not shown in any error.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        """
        return self.law.release(one_hot(values, self.categories)[0], source=source)

    def estimate(self, answers: npt.ArrayLike) -> LocalEstimate:
        """Estimate the frequencies of the categories among those who answered: the mean row, without bias.

        Parameters
        ----------
        answers : array of float, one row a person
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
    """A one-hot row plus discrete Laplace noise of scale `2/epsilon` in every place; epsilon-differentially private.

    Two one-hot rows differ in two places by one. Section 8.2.2 of Rogers 2017; Gaboardi-Rogers 2018.

    Parameters
    ----------
    categories : int
        `d`, at least 2.
    epsilon : Fraction, int or float
        Positive; a float means the decimal it prints as.

    Examples
    --------
    >>> mechanism = OneHotLaplace(categories=3, epsilon=1.0)
    >>> mechanism.release(np.array([0, 2])).shape, round(mechanism.law.variance, 6)
    ((2, 3), 8.0)
    """

    categories: int
    epsilon: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", check.whole("categories", self.categories, at_least=2))
        rational("epsilon", self.epsilon, above=0)
        fits_vector("scale", self.law.scale_steps)

    @cached_property
    def law(self) -> GridLaplace:
        """The law of the noise in each place, in whole steps of a grid that holds 0 and 1."""
        epsilon = rational("epsilon", self.epsilon, above=0)
        return one_hot_laplace_law(epsilon, _fine(2 / epsilon))

    @property
    def cost(self) -> PureDP:
        """What one answer spends of its owner's privacy."""
        return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        return Guarantee("mechanism.laplace", self.to_dict(), LOCAL)

    def to_dict(self) -> dict[str, Any]:
        """Public parameters as plain data."""
        return {"categories": self.categories, "epsilon": plain(self.epsilon)} | self.law.to_dict()

    def half_width(self, n: int, beta: float) -> float:
        """How far any estimated frequency is from the one among the `n` people, except with probability `beta`."""
        return laplace_mean_half_width(self.law, n, beta, rounding=0.0, means=self.categories)


@dataclass(frozen=True)
class OneHotGaussian(_OneHotNoise):
    """A one-hot row plus discrete Gaussian noise of variance `1/rho` in every place; rho-zCDP.

    Two one-hot rows are `sqrt(2)` apart. Section 8.2.1 of Rogers 2017; Gaboardi-Rogers 2018. Weaker privacy than an
    epsilon of `sqrt(2 rho)`: that promises rho-zCDP, and not the other way round.

    Parameters
    ----------
    categories : int
        `d`, at least 2.
    rho : Fraction, int or float
        Positive; a float means the decimal it prints as.

    Examples
    --------
    >>> OneHotGaussian(categories=3, rho=0.5).cost
    ZCDP(rho=0.5)
    """

    categories: int
    rho: Rational

    def __post_init__(self) -> None:
        object.__setattr__(self, "categories", check.whole("categories", self.categories, at_least=2))
        rational("rho", self.rho, above=0)
        fits_vector("sigma", self.law.sigma_steps)

    @cached_property
    def law(self) -> GridGaussian:
        """The law of the noise in each place, in whole steps of a grid that holds 0 and 1."""
        rho = rational("rho", self.rho, above=0)
        return one_hot_gaussian_law(rho, _fine(Fraction(math.sqrt(1 / rho))))

    @property
    def cost(self) -> ZCDP:
        """What one answer spends of its owner's privacy."""
        return ZCDP(float_up(rational("rho", self.rho, above=0)))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        return Guarantee("mechanism.gaussian", self.to_dict(), LOCAL)

    def to_dict(self) -> dict[str, Any]:
        """Public parameters as plain data."""
        return {"categories": self.categories, "rho": plain(self.rho)} | self.law.to_dict()

    def half_width(self, n: int, beta: float) -> float:
        """How far any estimated frequency is from the one among the `n` people, except with probability `beta`."""
        return gaussian_mean_half_width(self.law, n, beta, rounding=0.0, means=self.categories)


def _fine(scale: Fraction) -> Grid:
    """A grid of `2**30` steps in the noise scale, or in 1 where the noise is smaller; its step is at most 1.

    So fine that the variance is the continuous one but for a part in a billion, which tests that know it profit from.
    """
    whole = math.floor(scale).bit_length()
    return Grid(min(0, whole - 30))


__all__ = ["OneHotGaussian", "OneHotLaplace"]
