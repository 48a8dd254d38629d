"""Private selection: the exponential mechanism, permute-and-flip, and the report-noisy-max mechanisms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy.typing as npt

from holdfast.accounting.costs import ZCDP, PureDP
from holdfast.bounds.mechanism import noisy_max_gap, selection_gap
from holdfast.bounds.numerics.exact import float_up
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from holdfast.mechanisms.base import NEIGHBOURS, plain
from holdfast.noise.entropy import Source
from holdfast.noise.grid import Grid, GridLaplace, check_grid, laplace_on_grid
from holdfast.noise.inputs import Rational, rational
from holdfast.noise.selection import exponential_choice, noisy_max, permute_and_flip

Method = Literal["permute-and-flip", "exponential", "geometric", "laplace"]
METHODS: tuple[Method, ...] = ("permute-and-flip", "exponential", "geometric", "laplace")


@dataclass(frozen=True)
class Selection:
    """Selects one of several candidates whose score is nearly the best.

    Scores are put on a grid, the sensitivity `D` is rounded up to whole steps, and the choice is sampled exactly, with
    `b = 2D/epsilon` (`D/epsilon` if monotone) steps:

    - "permute-and-flip": candidates in random order, each taken with probability `exp(-gap/b)`; its expected score is
      never below that of the exponential mechanism (McKenna-Sheldon 2020);
    - "exponential": candidate `i` with probability proportional to `exp(score_i/b)` (McSherry-Talwar 2007); under
      zCDP it costs only `epsilon^2/8`;
    - "geometric", "laplace": the largest score after one- or two-sided noise of scale `b` (report noisy max). Only the
      place of the maximum is released, never the noisy score.

    Parameters
    ----------
    sensitivity : Fraction, int or float
        How far neighbours move any one score.
    epsilon : Fraction, int or float
        Positive; a float means the decimal it prints as.
    method : str
        One of the above.
    monotone : bool
        Only if neighbours move all scores in the same direction. **Not** true of counts when a row is replaced.
    grid : Grid, optional
        None for one with at least 2048 steps in the sensitivity. `Grid(0)` for whole scores such as counts.

    Examples
    --------
    >>> mechanism = Selection(sensitivity=1 / 1000, epsilon=0.5)
    >>> mechanism.cost, round(mechanism.gap(0.05, candidates=10), 4)
    (PureDP(epsilon=0.5), 0.0208)
    >>> mechanism.release([0.61, 0.93, 0.58])
    1
    """

    sensitivity: Rational
    epsilon: Rational
    method: Method = "permute-and-flip"
    monotone: bool = False
    grid: Grid | None = None

    def __post_init__(self) -> None:
        rational("sensitivity", self.sensitivity, above=0)
        rational("epsilon", self.epsilon, above=0)
        arguments.choice("method", self.method, METHODS)
        if not isinstance(self.monotone, bool):
            raise InvalidParameter("monotone must be True or False")
        object.__setattr__(self, "grid", check_grid(self.grid))
        object.__setattr__(self, "grid", self.law.grid)

    @cached_property
    def law(self) -> GridLaplace:
        """The scale `b` in whole steps: one candidate's share of epsilon is that of Laplace noise of this scale."""
        share = rational("epsilon", self.epsilon, above=0) / (1 if self.monotone else 2)
        return laplace_on_grid(self.sensitivity, share, self.grid)

    @property
    def cost(self) -> PureDP:
        """What one selection spends."""
        return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))

    @property
    def concentrated_cost(self) -> ZCDP:
        """What one selection of the exponential mechanism spends under zCDP: `epsilon^2/8`.

        The log-likelihood ratio lies in an interval of length epsilon, and Hoeffding's lemma does the rest
        (Cesar-Rogers 2021; the two lines are in docs/mechanisms.md). The other methods have no such bound here.
        """
        if self.method != "exponential":
            raise GuaranteeUnavailable(
                f"epsilon^2/8-zCDP is proved for the exponential mechanism only, not for {self.method}"
            )
        return ZCDP(float_up(rational("epsilon", self.epsilon, above=0) ** 2 / 8))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        monotone = "; neighbours move all scores in one direction" if self.monotone else ""
        return Guarantee("mechanism.selection", self.to_dict(), NEIGHBOURS + monotone)

    def to_dict(self) -> dict[str, Any]:
        """Public parameters as plain data."""
        return {
            "sensitivity": plain(self.sensitivity),
            "epsilon": plain(self.epsilon),
            "method": self.method,
            "monotone": self.monotone,
            "grid_exponent": self.law.grid.exponent,
            "sensitivity_steps": self.law.sensitivity_steps,
            "scale_steps": self.law.scale_steps,
        }

    def gap(self, beta: float, candidates: int) -> float:
        """How far the selected score falls short of the best one, rounding included, except with probability `beta`.

        Parameters
        ----------
        beta : float
            Failure probability, in (0, 1).
        candidates : int
            Number of candidates, at least 1.
        """
        if self.method == "laplace":
            steps: float = noisy_max_gap(self.law.scale_steps, candidates, beta)
        else:
            steps = selection_gap(1, 2 / self.law.scale_steps, candidates, beta)
        return (steps + 1) * float(self.law.grid.step)  # rounding moves the two scores by half a step each

    def release(self, scores: npt.ArrayLike, source: Source | None = None) -> int:
        """Select a candidate and return its place.

        Parameters
        ----------
        scores : array of float
            The exact scores, larger is better. They are not shown in any error.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        """
        grid, scale = self.law.grid, self.law.scale_steps
        indices = grid.indices(scores)
        if indices.ndim != 1 or indices.size == 0:
            raise InvalidParameter("scores must be a list of at least one number")
        rate = Fraction(1, scale)
        if self.method == "exponential":
            return exponential_choice(indices, rate, source=source)
        if self.method == "permute-and-flip":
            return permute_and_flip(indices, rate, source=source)
        return noisy_max(indices, scale, noise=self.method, source=source)
