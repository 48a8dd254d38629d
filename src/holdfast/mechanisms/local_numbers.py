"""Local noise: a number with its owner's own Laplace or Gaussian noise, and what many of them say together."""

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
from holdfast.bounds.exact import float_up, up
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import InvalidParameter
from holdfast.mechanisms.base import LOCAL, LocalEstimate, plain
from holdfast.noise.calibrate import GridGaussian, GridLaplace, gaussian_on_grid, laplace_on_grid
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational, plain_array, rational
from holdfast.noise.integers import fits_vector
from holdfast.noise.local import clipped, declared_range

_ANSWERS = "a list of at least one finite number"


class _LocalNumbers(ABC):
    """What both laws share: a public range, a public default, the release and the mean."""

    low: float
    high: float
    default: float | None

    @property
    @abstractmethod
    def law(self) -> GridLaplace | GridGaussian:
        """The law of the noise, in whole steps."""

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
        """Add each person's own noise.

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
        """Estimate the mean of the (clipped) numbers of those who answered; the error is that of the noise.

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
    """A number in `[low, high]` plus discrete Laplace noise of scale `(high - low)/epsilon`, drawn by its owner.

    Numbers outside the range are moved into it first, and a missing one (NaN, None) becomes the public default: an
    error would say something about its owner.

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
        """The law of the noise, in whole steps."""
        return laplace_on_grid(self._width, self.epsilon)

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
        return self._range() | {"epsilon": plain(self.epsilon)} | self.law.to_dict()

    def half_width(self, n: int, beta: float) -> float:
        """How far the estimated mean is from that of the `n` people, except with probability `beta`.

        Chernoff's bound with the exact moment generating function of the noise, plus half a step of rounding.
        """
        return laplace_mean_half_width(self.law, n, beta, rounding=0.5)


@dataclass(frozen=True)
class LocalGaussian(_LocalNumbers):
    """A number in `[low, high]` plus discrete Gaussian noise, drawn by its owner; rho-zCDP.

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
        """The law of the noise, in whole steps."""
        return gaussian_on_grid(self._width, rho=self.rho)

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
        return self._range() | {"rho": plain(self.rho)} | self.law.to_dict()

    def half_width(self, n: int, beta: float) -> float:
        """How far the estimated mean is from that of the `n` people, except with probability `beta`.

        The discrete Gaussian's moment generating function is at most the Gaussian's (Canonne-Kamath-Steinke 2020), so
        `sigma sqrt(2 log(2/beta)/n)`; plus half a step of rounding.
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
    """The same for discrete Gaussian noise, whose moment generating function is at most the Gaussian's."""
    n, log_term = _log_term(n, beta, means)
    return up(law.sigma * math.sqrt(2 * log_term / n) + rounding * float(law.grid.step), 16)


def _log_term(n: int, beta: float, means: int) -> tuple[int, float]:
    return check.whole("n", n, at_least=1), math.log(2 * means / check.probability("beta", beta))


__all__ = ["LocalGaussian", "LocalLaplace", "gaussian_mean_half_width", "laplace_mean_half_width"]
