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
    """Selects one of several candidates whose score is nearly the best, with differential privacy.

    Scores are rounded to a grid, and the sensitivity `D` is rounded up to whole steps. The choice is drawn exactly,
    with the scale `b = 2D/epsilon` (or `D/epsilon` if `monotone`) in steps. The methods are:

    - "permute-and-flip": the candidates are visited in random order, and each is chosen with probability `exp(-gap/b)`,
      where `gap` is the distance of its score from the best. The expected score is never below that of the exponential
      mechanism (McKenna-Sheldon 2020).
    - "exponential": candidate `i` is chosen with probability proportional to `exp(score_i/b)` (McSherry-Talwar 2007).
      Under zCDP it costs only `epsilon^2/8`.
    - "geometric", "laplace": the largest score after one-sided or two-sided noise of scale `b` is chosen (report noisy
      max). Only the place of the candidate is released, never the noisy score.

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
        """The distribution of Laplace noise of scale `b` in whole steps.

        One candidate's part of epsilon is that of Laplace noise of this scale.
        """
        share = rational("epsilon", self.epsilon, above=0) / (1 if self.monotone else 2)
        return laplace_on_grid(self.sensitivity, share, self.grid)

    @property
    def cost(self) -> PureDP:
        """The privacy cost of one selection."""
        return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))

    @property
    def concentrated_cost(self) -> ZCDP:
        """The privacy cost of one selection by the exponential mechanism under zCDP: `epsilon^2/8`.

        For the other methods no such bound is proved here.

        Notes
        -----
        The log-likelihood ratio lies in an interval of length epsilon, and Hoeffding's lemma does the rest
        (Cesar-Rogers 2021; the two lines are in docs/mechanisms.md).
        """
        if self.method != "exponential":
            raise GuaranteeUnavailable(
                f"the cost epsilon^2/8 under zCDP is proved for the exponential mechanism only, not for {self.method}"
            )
        return ZCDP(float_up(rational("epsilon", self.epsilon, above=0) ** 2 / 8))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        monotone = "; neighbours move all scores in one direction" if self.monotone else ""
        return Guarantee("mechanism.selection", self.to_dict(), NEIGHBOURS + monotone)

    def to_dict(self) -> dict[str, Any]:
        """Return the public parameters as plain data."""
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
        """Return how far the score of the selected candidate is below the best, rounding included, except with
        probability `beta`.

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
