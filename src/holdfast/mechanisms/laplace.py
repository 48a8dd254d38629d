"""The Laplace mechanism on a grid."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdfast import check
from holdfast.accounting.costs import PureDP
from holdfast.bounds.exact import float_up
from holdfast.bounds.guarantee import Guarantee
from holdfast.bounds.mechanism import laplace_width
from holdfast.mechanisms.base import NEIGHBOURS, plain
from holdfast.mechanisms.on_grid import GridMechanism
from holdfast.noise.calibrate import GridLaplace, laplace_on_grid
from holdfast.noise.grid import Grid, check_grid
from holdfast.noise.inputs import Rational, rational
from holdfast.noise.integers import fits_vector


@dataclass(frozen=True)
class Laplace(GridMechanism):
    """Adds discrete Laplace noise to a number, or to a vector of `dimension` numbers.

    The value is rounded to the nearest point of the grid, the sensitivity is rounded up to whole steps, and integer
    noise with `P(k)` proportional to `exp(-|k|/scale)` is added. The law that is sampled is epsilon-differentially
    private exactly: the scale is a whole number of steps, at least sensitivity over epsilon.

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
        object.__setattr__(self, "dimension", check.whole("dimension", self.dimension, at_least=1))
        object.__setattr__(self, "grid", check_grid(self.grid))
        object.__setattr__(self, "grid", self.law.grid)
        if self.dimension > 1:  # arrays are limited; say so here and not at the first release
            fits_vector("scale", self.law.scale_steps)

    @cached_property
    def law(self) -> GridLaplace:
        """The law of the noise, in whole steps, with its exact epsilon."""
        return laplace_on_grid(self.sensitivity, self.epsilon, self.grid, dimension=self.dimension)

    @property
    def cost(self) -> PureDP:
        """What one release spends."""
        return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        return Guarantee("mechanism.laplace", self.to_dict(), NEIGHBOURS)

    def to_dict(self) -> dict[str, Any]:
        """Public parameters as plain data."""
        return {
            "sensitivity": plain(self.sensitivity),
            "epsilon": plain(self.epsilon),
            "dimension": self.dimension,
        } | self.law.to_dict()

    def _noise_steps(self, beta: float, draws: int) -> int:
        """The exact quantile."""
        return laplace_width(self.law.scale_steps, beta, draws)


__all__ = ["Laplace"]
