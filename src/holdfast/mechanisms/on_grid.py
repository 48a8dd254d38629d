"""What the mechanisms that add noise on a grid share: the release, and how far it can be off."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from holdfast.mechanisms.base import Range, check_range, clipped, one_vector
from holdfast.noise.calibrate import GridGaussian, GridLaplace
from holdfast.noise.entropy import Source


class GridMechanism(ABC):
    """A number, or a vector of `dimension` numbers, rounded to a grid, plus integer noise."""

    dimension: int

    @property
    @abstractmethod
    def law(self) -> GridLaplace | GridGaussian:
        """The law of the noise, in whole steps, with its exact cost."""

    @abstractmethod
    def _noise_steps(self, beta: float, draws: int) -> int:
        """Steps that none of `draws` draws of the noise exceeds, except with probability `beta`."""

    def half_width(self, beta: float, draws: int | None = None) -> float:
        """How far an answer can be off, rounding included, except with probability `beta`.

        A quantile of the noise in whole steps, plus half a step.

        Parameters
        ----------
        beta : float
            Failure probability, in (0, 1), of all draws together.
        draws : int, optional
            Number of numbers it shall hold for at once; the dimension if not given.
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


__all__ = ["GridMechanism"]
