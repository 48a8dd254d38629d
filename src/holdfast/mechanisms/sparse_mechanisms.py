"""Sparse-vector mechanisms: many comparisons with a threshold, of which few are paid for.

`SparseVector` has Laplace noise; `above_threshold`, `sparse`, `numeric_sparse` and `sparse_vector` are the published
mechanisms that are correct, each with its own split of epsilon. `GaussianSparseVector` has Gaussian noise, with a
proof: epochs of bounded length, priced by a Renyi curve.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy.typing as npt

from holdfast.accounting.costs import RDP, ZCDP, PureDP
from holdfast.bounds.conversions import pure_to_zcdp
from holdfast.bounds.mechanism import gaussian_width, laplace_width
from holdfast.bounds.numerics.exact import float_up, up
from holdfast.bounds.sparse_vector import gaussian_sparse_renyi, sparse_vector_split
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.errors import InvalidParameter
from holdfast.mechanisms.base import NEIGHBOURS, plain
from holdfast.mechanisms.sparse_run import Noises, Rules, SparseAnswers, SparseRun, replicate
from holdfast.noise.entropy import Source
from holdfast.noise.gaussian import discrete_gaussian
from holdfast.noise.grid import Grid, GridGaussian, GridLaplace, check_grid, gaussian_on_grid, laplace_on_grid
from holdfast.noise.inputs import Rational, fits_vector, rational
from holdfast.noise.laplace import discrete_laplace


class SparseMechanism:
    """Public rules of a sparse-vector run (`sparse_run.Rules`); the secret state is in the run."""

    threshold: float
    grid: Grid | None

    @cached_property
    def place(self) -> tuple[Grid, int]:
        """The grid, and the index of the public threshold on it."""
        assert self.grid is not None
        return self.grid, self.grid.near_index(self.threshold, "threshold")

    def _check_reach(self: Rules) -> None:
        """Refuse at construction what batches could not draw or compare, so that single questions and batches agree."""
        for scale in self.noises[1:]:
            if scale is not None:
                fits_vector("noise scale", scale)
        _ = self.place

    def start(self: Rules, source: Source | None = None) -> SparseRun:
        """Begin a run, in which questions are asked one by one or in batches. The run spends `cost`, whatever is
        asked.
        """
        return SparseRun(self, source)

    def resume(self: Rules, state: dict[str, Any], source: Source | None = None) -> SparseRun:
        """Continue a run from what its `secret_state()` returned."""
        return SparseRun.resume(self, state, source)

    def release(self: Rules, values: npt.ArrayLike, source: Source | None = None) -> SparseAnswers:
        """Answer a batch of questions in a new run that is used for this batch only.

        Parameters
        ----------
        values : array of float
            The exact statistics, in order.
        source : noise.Source, optional
            Where the randomness comes from; the operating system if not given.
        """
        return SparseRun(self, source).ask_all(values)

    def replicate(self: Rules, values: npt.ArrayLike, runs: int, source: Source | None = None) -> npt.NDArray[Any]:
        """Return the transcripts of many independent runs, for simulations and audits; see `sparse_run.replicate`."""
        return replicate(self, values, runs, source)


Shares = tuple[Rational, Rational, Rational]


@dataclass(frozen=True)
class SparseVector(SparseMechanism):
    """Says for each of many questions whether its value is above a threshold, until `cap` answers were "above".

    The whole run is epsilon-differentially private, however many questions are answered "below". Noise is added to the
    threshold, to each comparison and, if values are released, to each released value. With `refresh` a fresh noisy
    threshold is drawn after each answer "above". This class has all correct forms with Laplace noise. The published
    ones have names in `holdfast.mechanisms.sparse_mechanisms`.

    Parameters
    ----------
    threshold : float
        Public.
    sensitivity : Fraction, int or float
        How far neighbours move any one question.
    epsilon : Fraction, int or float
        What the whole run spends; a float means the decimal it prints as.
    cap : int
        Answers "above" after which the run is over.
    shares : three numbers
        How epsilon is split among threshold, comparisons and released values; they sum to at most 1. The last is 0
        if no values are released.
    refresh : bool
        Draw a fresh threshold after each answer "above". Without, one threshold serves the whole run.
    monotone : bool
        Only if neighbours move all questions in the same direction. **Not** true of counts and means when a row is
        replaced.
    grid : Grid, optional
        None for one with at least 2048 steps in the sensitivity and in every scale.

    Notes
    -----
    With `D` the sensitivity, `c` the cap, `e1, e2, e3` epsilon times the shares, and `k = 2` (1 if monotone), the
    scales are: threshold `c D/e1` with refresh and `D/e1` without, comparison `k c D/e2`, released value `c
    D/e3`. They are rounded up to whole steps of the grid, and all comparisons are comparisons of integers. The
    proof of privacy is in docs/mechanisms.md.

    Examples
    --------
    >>> mechanism = SparseVector(threshold=0.1, sensitivity=1e-4, epsilon=0.5, cap=3, shares=(0.2, 0.8, 0))
    >>> mechanism.cost
    PureDP(epsilon=0.5)
    >>> answers = mechanism.release([0.02, 0.5, 0.01, 0.4])
    >>> answers.above.tolist(), answers.exhausted
    ([False, True, False, True], False)
    """

    threshold: float
    sensitivity: Rational
    epsilon: Rational
    cap: int = 1
    shares: Shares = (Fraction(1, 2), Fraction(1, 2), 0)
    refresh: bool = False
    monotone: bool = False
    grid: Grid | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", arguments.real("threshold", self.threshold))
        rational("sensitivity", self.sensitivity, above=0)
        rational("epsilon", self.epsilon, above=0)
        object.__setattr__(self, "cap", arguments.whole("cap", self.cap, at_least=1))
        if not isinstance(self.shares, tuple) or len(self.shares) != 3:
            raise InvalidParameter(
                "shares must be three numbers: the shares of the threshold, the comparisons and the released values"
            )
        for i, share in enumerate(self.shares):
            rational(f"shares[{i}]", share, above=0 if i < 2 else None, at_least=0)
        if sum(self._shares) > 1:
            raise InvalidParameter(f"shares must sum to at most 1, got {float(sum(self._shares)):g}")
        for name in ("refresh", "monotone"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidParameter(f"{name} must be True or False")
        if check_grid(self.grid) is None:
            exponents = [laplace_on_grid(self.sensitivity, part).grid.exponent for part in self._parts]
            object.__setattr__(self, "grid", Grid(min(exponents)))
        self._check_reach()

    @property
    def _shares(self) -> tuple[Fraction, ...]:
        return tuple(rational(f"shares[{i}]", share, at_least=0) for i, share in enumerate(self.shares))

    @property
    def _parts(self) -> list[Fraction]:
        """Epsilon of one draw of each kind: one threshold, one comparison that goes above, one released value."""
        total = rational("epsilon", self.epsilon, above=0)
        threshold, questions, release = (total * share for share in self._shares)
        shifts = 1 if self.monotone else 2
        parts = [threshold / (self.cap if self.refresh else 1), questions / (shifts * self.cap)]
        return [*parts, release / self.cap] if release else parts

    @cached_property
    def laws(self) -> tuple[GridLaplace, ...]:
        """The distributions of the noise on the threshold, on comparisons and, if there are any, on released values."""
        return tuple(laplace_on_grid(self.sensitivity, part, self.grid) for part in self._parts)

    @property
    def scales(self) -> tuple[float, ...]:
        """The scales of the noise, in the unit of the questions."""
        return tuple(law.scale for law in self.laws)

    @property
    def length(self) -> None:
        """The largest number of questions in an epoch: None, because here an epoch has no limit."""
        return

    @property
    def exact_epsilon(self) -> Fraction:
        """The exact epsilon of the noise that is drawn.

        It is at most `epsilon`, because scales are rounded up to whole steps.
        """
        threshold, question, *release = (law.epsilon for law in self.laws)
        each = (1 if self.monotone else 2) * question + sum(release, start=Fraction(0))
        return self.cap * (threshold + each) if self.refresh else threshold + self.cap * each

    @property
    def cost(self) -> PureDP:
        """The privacy cost of a whole run, whether or not it ends early."""
        return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))

    @property
    def concentrated_cost(self) -> ZCDP:
        """The privacy cost of a whole run under zCDP.

        With `refresh` and many answers "above" it is far smaller than epsilon suggests.

        Notes
        -----
        With refresh a run is an adaptive composition of `cap` epochs and `cap` released values, each with its own
        pure epsilon, and each epsilon counts as `epsilon tanh(epsilon/2)`. Without refresh the comparisons are
        one piece, interactive, between whose answers values are released; why the costs add then is in
        docs/mechanisms.md.
        """
        threshold, question, *release = (law.epsilon for law in self.laws)
        shifts = 1 if self.monotone else 2
        epoch = threshold + shifts * (1 if self.refresh else self.cap) * question
        rho = (self.cap if self.refresh else 1) * _concentrated(epoch)
        return ZCDP(float_up(rho + self.cap * sum(map(_concentrated, release), start=Fraction(0))))

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the cost."""
        monotone = "; neighbours move all questions in one direction" if self.monotone else ""
        return Guarantee("sparse-vector.epsilon", self.to_dict(), NEIGHBOURS + monotone)

    def to_dict(self) -> dict[str, Any]:
        """Return the public parameters as plain data."""
        assert self.grid is not None
        return {
            "threshold": self.threshold,
            "sensitivity": plain(self.sensitivity),
            "epsilon": plain(self.epsilon),
            "cap": self.cap,
            "form": "refresh" if self.refresh else "single",
            "questions": "monotone" if self.monotone else "any",
            "noise": "discrete-laplace",
            "grid_exponent": self.grid.exponent,
            "sensitivity_steps": self.laws[0].sensitivity_steps,
            "scale_steps": [law.scale_steps for law in self.laws],
        }

    def margin(self, beta: float, questions: int) -> float:
        """Return how far a value can be from the threshold and still be judged wrongly, except with probability
        `beta`.

        The result is for a whole run of `questions` questions and for any adaptive analyst.

        Parameters
        ----------
        beta : float
            Failure probability, in (0, 1).
        questions : int
            How many questions may be asked, at least 1.

        Notes
        -----
        Half of `beta` covers all threshold draws, half all comparisons. The draws do not depend on the questions.
        """
        beta = arguments.probability("beta", beta)
        questions = arguments.whole("questions", questions, at_least=1)
        thresholds = min(self.cap, questions) if self.refresh else 1
        steps = laplace_width(self.laws[0].scale_steps, beta / 2, thresholds)
        steps += laplace_width(self.laws[1].scale_steps, beta / 2, questions)
        return (steps + 1) * float(self.laws[0].grid.step)  # rounding moves value and threshold by half a step each

    @cached_property
    def noises(self) -> Noises:
        """Return how the noise is drawn, in whole grid steps."""
        return Noises(discrete_laplace, *(law.scale_steps for law in self.laws))


def _concentrated(epsilon: Fraction) -> Fraction:
    return Fraction(pure_to_zcdp(float_up(epsilon)))


_HALVES = (Fraction(1, 2), Fraction(1, 2), 0)
_NINTHS = (Fraction(4, 9), Fraction(4, 9), Fraction(1, 9))


def above_threshold(
    threshold: float, sensitivity: Rational, epsilon: Rational, *, grid: Grid | None = None
) -> SparseVector:
    """Return the mechanism AboveThreshold, which stops at the first answer "above".

    The noise on the threshold has the scale `2D/epsilon`, and that on each comparison `4D/epsilon`, for the sensitivity
    `D`.

    Parameters
    ----------
    threshold : float
        Public.
    sensitivity, epsilon : Fraction, int or float
        How far neighbours move a question, and what the run spends.
    grid : Grid, optional
        As in `SparseVector`.

    Notes
    -----
    Dwork-Roth 2014, Algorithm 1 and Theorem 3.23.

    Examples
    --------
    >>> mechanism = above_threshold(threshold=0.1, sensitivity=1e-4, epsilon=0.5)
    >>> [round(scale, 6) for scale in mechanism.scales]
    [0.0004, 0.0008]
    """
    return SparseVector(threshold, sensitivity, epsilon, 1, _HALVES, refresh=True, grid=grid)


def sparse(
    threshold: float, sensitivity: Rational, epsilon: Rational, cap: int, *, grid: Grid | None = None
) -> SparseVector:
    """Return the mechanism Sparse: AboveThreshold, restarted with a fresh threshold after each answer "above".

    For the cap `c` and the sensitivity `D` the noise scales are `2cD/epsilon` for thresholds and `4cD/epsilon` for
    comparisons. Thresholdout's comparisons have this form.

    Parameters
    ----------
    threshold : float
        Public.
    sensitivity, epsilon : Fraction, int or float
        How far neighbours move a question, and what the run spends.
    cap : int
        Answers above after which the run is over.
    grid : Grid, optional
        As in `SparseVector`.

    Notes
    -----
    Dwork-Roth 2014, Algorithm 2 with delta = 0 and Theorem 3.25.

    Examples
    --------
    >>> [round(scale, 5) for scale in sparse(0.1, 1e-4, 0.5, cap=10).scales]
    [0.004, 0.008]
    """
    return SparseVector(threshold, sensitivity, epsilon, cap, _HALVES, refresh=True, grid=grid)


def numeric_sparse(
    threshold: float, sensitivity: Rational, epsilon: Rational, cap: int, *, grid: Grid | None = None
) -> SparseVector:
    """Return the mechanism NumericSparse: Sparse, with a noisy value in each answer "above".

    Four ninths of epsilon are for the thresholds, four for the comparisons and one for the values. For the cap `c` and
    the sensitivity `D` the noise scales are `9cD/(4 epsilon)`, `9cD/(2 epsilon)` and `9cD/epsilon`. The noise of a
    value is fresh: showing the noise of the comparison instead would break the guarantee.

    Parameters
    ----------
    threshold : float
        Public.
    sensitivity, epsilon : Fraction, int or float
        How far neighbours move a question, and what the run spends.
    cap : int
        Answers above after which the run is over.
    grid : Grid, optional
        As in `SparseVector`.

    Notes
    -----
    Dwork-Roth 2014, Algorithm 3 with delta = 0 and Theorem 3.27.

    Examples
    --------
    >>> [round(scale, 4) for scale in numeric_sparse(0.1, 1e-4, 0.2, cap=10).scales]
    [0.0113, 0.0225, 0.045]
    """
    return SparseVector(threshold, sensitivity, epsilon, cap, _NINTHS, refresh=True, grid=grid)


def sparse_vector(
    threshold: float,
    sensitivity: Rational,
    epsilon: Rational,
    cap: int,
    *,
    release_share: Rational = 0,
    refresh: bool = False,
    monotone: bool = False,
    grid: Grid | None = None,
) -> SparseVector:
    """Return the improved sparse vector: one threshold for the whole run, and epsilon divided for the least noisy
    comparison.

    For the cap `c` and the sensitivity `D` the noise scales are `D/e1` for the threshold, `2cD/e2` (`cD/e2` if
    monotone) for comparisons and `cD/e3` for values, with `e1 : e2 = 1 : (2c)^(2/3)` (`1 : c^(2/3)` if monotone). With
    `refresh` the thresholds have the scale `cD/e1`, and `e1 : e2` is `1 : 2^(2/3)` (1 : 1 if monotone).

    Parameters
    ----------
    threshold : float
        Public.
    sensitivity, epsilon : Fraction, int or float
        How far neighbours move a question, and what the run spends.
    cap : int
        Answers above after which the run is over.
    release_share : Fraction, int or float
        The part of epsilon that pays for released values, in [0, 1); 0 releases none.
    refresh : bool
        Draw a fresh threshold after each answer above. Costs accuracy; see docs/mechanisms.md for when it is worth it.
    monotone : bool
        As in `SparseVector`: not for counts or means when a row is replaced.
    grid : Grid, optional
        As in `SparseVector`.

    Notes
    -----
    Lyu-Su-Li 2017, Algorithm 1 (`release_share = 0`) and Algorithm 7.

    Examples
    --------
    Little more than half the noise of `sparse` at the same cost:

    >>> [round(scale, 5) for scale in sparse_vector(0.1, 1e-4, 0.5, cap=10).scales]
    [0.00167, 0.00454]
    """
    cap = arguments.whole("cap", cap, at_least=1)
    shown = rational("release_share", release_share, at_least=0)
    form, questions = "refresh" if refresh else "single", "monotone" if monotone else "any"
    best = sparse_vector_split(1.0, cap, form, questions)  # type: ignore[arg-type]
    # Any split is as private as another; a short fraction keeps the parameters readable.
    first = Fraction(best.threshold).limit_denominator(math.ceil(1000 / best.threshold))
    shares = ((1 - shown) * first, (1 - shown) * (1 - first), shown)
    return SparseVector(threshold, sensitivity, epsilon, cap, shares, refresh, monotone, grid)


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
    """Says for each of many questions whether its value is above a threshold, with discrete Gaussian noise on a
    grid.

    A run has `cap` epochs. An epoch draws a fresh threshold and ends with the first answer "above", or after `length`
    questions. The limit on the length is necessary for the guarantee. The cost of a run is a Renyi curve, and there is
    no pure epsilon. For a single epoch, or if you want a pure guarantee, `SparseVector` is better (see the table in
    docs/mechanisms.md).

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

    Notes
    -----
    The loss of a Gaussian comparison is unbounded in its tail, and many comparisons reach far into it. What is
    proved (docs/mechanisms.md): each epoch's Renyi divergence is at most
    `holdfast.bounds.sparse_vector.gaussian_sparse_renyi`, and epochs add up.

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
        object.__setattr__(self, "threshold", arguments.real("threshold", self.threshold))
        for name in ("sensitivity", "threshold_sigma", "question_sigma"):
            rational(name, getattr(self, name), above=0)
        for name in ("cap", "length"):
            object.__setattr__(self, name, arguments.whole(name, getattr(self, name), at_least=1))
        if not isinstance(self.monotone, bool):
            raise InvalidParameter("monotone must be True or False")
        if check_grid(self.grid) is None:
            sigmas = (self.threshold_sigma, self.question_sigma)
            exponents = [gaussian_on_grid(self.sensitivity, sigma=sigma).grid.exponent for sigma in sigmas]
            object.__setattr__(self, "grid", Grid(min(exponents)))
        self._check_reach()

    @cached_property
    def laws(self) -> tuple[GridGaussian, GridGaussian]:
        """The distributions of the noise on the threshold and on comparisons."""
        return (
            gaussian_on_grid(self.sensitivity, sigma=self.threshold_sigma, grid=self.grid),
            gaussian_on_grid(self.sensitivity, sigma=self.question_sigma, grid=self.grid),
        )

    @property
    def refresh(self) -> bool:
        """Whether every epoch has a fresh threshold, which is always the case here."""
        return True

    @cached_property
    def cost(self) -> RDP:
        """The privacy cost of a whole run, whether or not it ends early: a Renyi curve.

        Notes
        -----
        It is computed from the distributions in whole steps.
        """
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
        """Return the public parameters as plain data."""
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
        """Return how far a value can be from the threshold and still be judged wrongly, except with probability
        `beta`.

        The result is for a whole run, as in `SparseVector.margin`.

        Parameters
        ----------
        beta : float
            Failure probability, in (0, 1).
        questions : int
            How many questions may be asked, at least 1.

        Notes
        -----
        With Gaussian quantiles.
        """
        beta = arguments.probability("beta", beta)
        questions = arguments.whole("questions", questions, at_least=1)
        threshold, question = self.laws
        steps = gaussian_width(threshold.sigma_steps, beta / 2, min(self.cap, questions))
        steps += gaussian_width(question.sigma_steps, beta / 2, questions)
        return (steps + 1) * float(threshold.grid.step)

    @cached_property
    def noises(self) -> Noises:
        """Return how the noise is drawn, in whole grid steps."""
        return Noises(discrete_gaussian, *(law.sigma_steps for law in self.laws))
