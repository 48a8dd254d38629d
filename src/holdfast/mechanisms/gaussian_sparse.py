"""The sparse-vector mechanism with Gaussian noise, with a proof: epochs of bounded length, priced by a Renyi curve."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from holdfast import check
from holdfast.accounting.costs import RDP
from holdfast.bounds.exact import up
from holdfast.bounds.guarantee import Guarantee
from holdfast.bounds.mechanism import gaussian_width
from holdfast.bounds.sparse_vector import gaussian_sparse_renyi
from holdfast.errors import InvalidParameter
from holdfast.mechanisms.base import NEIGHBOURS, plain
from holdfast.mechanisms.sparse_mechanism import SparseMechanism
from holdfast.mechanisms.sparse_run import Noises
from holdfast.noise.calibrate import GridGaussian, gaussian_on_grid
from holdfast.noise.gaussian import discrete_gaussian
from holdfast.noise.grid import Grid, check_grid
from holdfast.noise.inputs import Rational, rational

ORDERS = (
    1.25,
    1.5,
    2.0,
    2.5,
    3.0,
    4.0,
    5.0,
    6.0,
    8.0,
    10.0,
    12.0,
    16.0,
    20.0,
    24.0,
    32.0,
    48.0,
    64.0,
    96.0,
    128.0,
    256.0,
)
"""The orders at which the cost is stated."""


@dataclass(frozen=True)
class GaussianSparseVector(SparseMechanism):
    """Says for each of many questions whether its value is above a threshold; discrete Gaussian noise on a grid.

    A run has `cap` epochs. An epoch draws a fresh threshold and ends with the first answer "above", or after `length`
    questions. Bounding the length is what makes the guarantee possible: the loss of a Gaussian comparison is unbounded
    in its tail, and many comparisons reach far into it.

    What is proved (docs/mechanisms.md): each epoch's Renyi divergence is at most
    `holdfast.bounds.sparse_vector.gaussian_sparse_renyi`, and epochs add up. There is no pure epsilon. For one epoch,
    or when a pure guarantee is wanted, `SparseVector` is better; see the table there.

    Parameters
    ----------
    threshold : float
        Public.
    sensitivity : Fraction, int or float
        How far neighbours move any one question.
    threshold_sigma, question_sigma : Fraction, int or float
        Noise on the threshold and on each comparison, in the questions' own unit.
    cap : int
        Epochs, at least 1.
    length : int
        Questions of an epoch, at least 1.
    monotone : bool
        As in `SparseVector`.
    grid : Grid, optional
        None for one with at least 2048 steps in the sensitivity and in both sigmas.

    Examples
    --------
    >>> mechanism = GaussianSparseVector(0.1, 1e-4, threshold_sigma=0.005, question_sigma=0.01, cap=3, length=100)
    >>> mechanism.cost.kind, mechanism.cost.epsilons[2] < 0.03
    ('rdp', True)
    >>> mechanism.release([0.02, 0.5, 0.01, 0.4]).above.tolist()
    [False, True, False, True]
    """

    threshold: float
    sensitivity: Rational
    threshold_sigma: Rational
    question_sigma: Rational
    cap: int = 1
    length: int = 1000
    monotone: bool = False
    grid: Grid | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", check.real("threshold", self.threshold))
        for name in ("sensitivity", "threshold_sigma", "question_sigma"):
            rational(name, getattr(self, name), above=0)
        for name in ("cap", "length"):
            object.__setattr__(self, name, check.whole(name, getattr(self, name), at_least=1))
        if not isinstance(self.monotone, bool):
            raise InvalidParameter("monotone must be True or False")
        if check_grid(self.grid) is None:
            sigmas = (self.threshold_sigma, self.question_sigma)
            exponents = [gaussian_on_grid(self.sensitivity, sigma=sigma).grid.exponent for sigma in sigmas]
            object.__setattr__(self, "grid", Grid(min(exponents)))
        self._check_reach()

    @cached_property
    def laws(self) -> tuple[GridGaussian, GridGaussian]:
        """The laws of the noise on threshold and comparisons."""
        return (
            gaussian_on_grid(self.sensitivity, sigma=self.threshold_sigma, grid=self.grid),
            gaussian_on_grid(self.sensitivity, sigma=self.question_sigma, grid=self.grid),
        )

    @property
    def refresh(self) -> bool:
        """Every epoch has a fresh threshold."""
        return True

    @cached_property
    def cost(self) -> RDP:
        """What a whole run spends, exhausted or not: a Renyi curve, computed from the laws in whole steps."""
        threshold, question = self.laws
        epoch = [
            gaussian_sparse_renyi(
                order,
                threshold.sensitivity_steps,
                threshold.sigma_steps,
                question.sigma_steps,
                self.length,
                "monotone" if self.monotone else "any",
            )
            for order in ORDERS
        ]
        return RDP(ORDERS, tuple(up(self.cap * divergence) for divergence in epoch))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        monotone = "; neighbours move all questions in one direction" if self.monotone else ""
        return Guarantee("sparse-vector.gaussian-renyi", self.to_dict(), NEIGHBOURS + monotone)

    def to_dict(self) -> dict[str, Any]:
        """Public parameters as plain data."""
        threshold, question = self.laws
        return {
            "threshold": self.threshold,
            "sensitivity": plain(self.sensitivity),
            "cap": self.cap,
            "length": self.length,
            "questions": "monotone" if self.monotone else "any",
            "noise": "discrete-gaussian",
            "grid_exponent": threshold.grid.exponent,
            "sensitivity_steps": threshold.sensitivity_steps,
            "sigma_steps": [threshold.sigma_steps, question.sigma_steps],
        }

    def margin(self, beta: float, questions: int) -> float:
        """How far a value can be from the threshold and still be judged wrongly, except with probability `beta`.

        As `SparseVector.margin`, with Gaussian quantiles.

        Parameters
        ----------
        beta : float
            Failure probability, in (0, 1).
        questions : int
            How many questions may be asked, at least 1.
        """
        beta = check.probability("beta", beta)
        questions = check.whole("questions", questions, at_least=1)
        threshold, question = self.laws
        steps = gaussian_width(threshold.sigma_steps, beta / 2, min(self.cap, questions))
        steps += gaussian_width(question.sigma_steps, beta / 2, questions)
        return (steps + 1) * float(threshold.grid.step)

    @cached_property
    def noises(self) -> Noises:
        """How the noise is drawn, in whole steps."""
        return Noises(discrete_gaussian, *(law.sigma_steps for law in self.laws))


__all__ = ["ORDERS", "GaussianSparseVector"]
