"""Local noise: a number with its owner's own Laplace or Gaussian noise, and what many of them say together."""

from __future__ import annotations

import math
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
from holdfast.mechanisms.base import LOCAL, Estimate, plain
from holdfast.noise.calibrate import GridGaussian, GridLaplace, gaussian_on_grid, laplace_on_grid
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational, rational
from holdfast.noise.local import local_gaussian, local_laplace


@dataclass(frozen=True)
class LocalLaplace:
    """A number in `[low, high]` plus discrete Laplace noise of scale `(high - low)/epsilon`, drawn by its owner.

    Numbers outside the range are moved into it first; a NaN is refused.

    Parameters
    ----------
    low, high : float
        The public range, `low < high`.
    epsilon : Fraction, int or float
        Positive; a float means the decimal it prints as.

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

    def __post_init__(self) -> None:
        low, high = _range(self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        rational("epsilon", self.epsilon, above=0)

    @cached_property
    def law(self) -> GridLaplace:
        """The law of the noise, in whole steps."""
        return laplace_on_grid(_width(self.low, self.high), self.epsilon)

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
        return {"low": self.low, "high": self.high, "epsilon": plain(self.epsilon)} | self.law.to_dict()

    def release(self, values: Any, source: Source | None = None) -> npt.NDArray[np.float64]:
        """Add each person's own noise.

        Parameters
        ----------
        values : array of float
            One a person. They are not shown in any error.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        """
        return local_laplace(values, self.low, self.high, self.epsilon, grid=self.law.grid, source=source)

    def estimate(self, answers: npt.ArrayLike) -> Estimate:
        """Estimate the mean of the (clipped) numbers of those who answered; the error is that of the noise."""
        return _mean(answers, self.law.variance)

    def half_width(self, n: int, beta: float) -> float:
        """How far the estimated mean is from that of the `n` people, except with probability `beta`.

        Chernoff's bound with the exact moment generating function of the noise, plus half a step of rounding.
        """
        n, log_term = _log_term(n, beta)
        scale = self.law.scale_steps
        tilts = (1 - np.geomspace(1e-4, 1, 400)[:-1]) / scale
        # E exp(t X) = (1-q)^2 / ((1 - q e^t)(1 - q e^-t)) = sinh(h)^2 / (sinh(h - t/2) sinh(h + t/2)), h = 1/(2 scale)
        h = 0.5 / scale
        log_mgf = 2 * math.log(math.sinh(h)) - np.log(np.sinh(h - tilts / 2)) - np.log(np.sinh(h + tilts / 2))
        steps = float(np.min((log_mgf + log_term / n) / tilts))
        return up((steps + 0.5) * float(self.law.grid.step), 64)


@dataclass(frozen=True)
class LocalGaussian:
    """A number in `[low, high]` plus discrete Gaussian noise, drawn by its owner; rho-zCDP.

    Parameters
    ----------
    low, high : float
        The public range, `low < high`.
    rho : Fraction, int or float
        Positive; a float means the decimal it prints as.

    Examples
    --------
    >>> LocalGaussian(0, 1, rho=0.5).cost
    ZCDP(rho=0.5)
    """

    low: float
    high: float
    rho: Rational

    def __post_init__(self) -> None:
        low, high = _range(self.low, self.high)
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        rational("rho", self.rho, above=0)

    @cached_property
    def law(self) -> GridGaussian:
        """The law of the noise, in whole steps."""
        return gaussian_on_grid(_width(self.low, self.high), rho=self.rho)

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
        return {"low": self.low, "high": self.high, "rho": plain(self.rho)} | self.law.to_dict()

    def release(self, values: Any, source: Source | None = None) -> npt.NDArray[np.float64]:
        """Add each person's own noise.

        Parameters
        ----------
        values : array of float
            One a person. They are not shown in any error.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        """
        return local_gaussian(values, self.low, self.high, self.rho, grid=self.law.grid, source=source)

    def estimate(self, answers: npt.ArrayLike) -> Estimate:
        """Estimate the mean of the (clipped) numbers of those who answered; the error is that of the noise."""
        return _mean(answers, self.law.variance)

    def half_width(self, n: int, beta: float) -> float:
        """How far the estimated mean is from that of the `n` people, except with probability `beta`.

        The discrete Gaussian's moment generating function is at most the Gaussian's (Canonne-Kamath-Steinke 2020), so
        `sigma sqrt(2 log(2/beta)/n)`; plus half a step of rounding.
        """
        n, log_term = _log_term(n, beta)
        return up(self.law.sigma * math.sqrt(2 * log_term / n) + 0.5 * float(self.law.grid.step), 16)


def _range(low: Any, high: Any) -> tuple[float, float]:
    bottom = check.real("low", low)
    return bottom, check.real("high", high, above=bottom)


def _width(low: float, high: float) -> Fraction:
    return Fraction(high) - Fraction(low)


def _mean(answers: npt.ArrayLike, variance: float) -> Estimate:
    array = np.asarray(answers, dtype=np.float64)
    if array.ndim != 1 or array.size == 0 or not np.isfinite(array).all():
        raise InvalidParameter("answers must be a list of at least one finite number")
    return Estimate(float(array.mean()), math.sqrt(variance / array.size), array.size)


def _log_term(n: int, beta: float) -> tuple[int, float]:
    return check.whole("n", n, at_least=1), math.log(2 / check.probability("beta", beta))


__all__ = ["LocalGaussian", "LocalLaplace"]
