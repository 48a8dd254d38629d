"""The sparse-vector mechanism with Laplace noise: many comparisons with a threshold, few of them paid for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from holdfast import check
from holdfast.accounting.costs import ZCDP, PureDP
from holdfast.bounds.conversions import pure_to_zcdp
from holdfast.bounds.exact import float_up
from holdfast.bounds.guarantee import Guarantee
from holdfast.bounds.mechanism import laplace_width
from holdfast.errors import InvalidParameter
from holdfast.mechanisms.base import NEIGHBOURS, plain
from holdfast.mechanisms.sparse_mechanism import SparseMechanism
from holdfast.mechanisms.sparse_run import Noises
from holdfast.noise.calibrate import GridLaplace, laplace_on_grid
from holdfast.noise.grid import Grid, check_grid
from holdfast.noise.inputs import Rational, rational
from holdfast.noise.laplace import discrete_laplace

Shares = tuple[Rational, Rational, Rational]


@dataclass(frozen=True)
class SparseVector(SparseMechanism):
    """Says for each of many questions whether its value is above a threshold, until `cap` answers were "above".

    One class for all correct Laplace forms; the published ones have names in `holdfast.mechanisms.above_threshold`.
    With `D` the sensitivity, `c` the cap, `e1, e2, e3` epsilon times the shares, and `k = 2` (1 if monotone), the
    scales are: threshold `c D/e1` with refresh and `D/e1` without, comparison `k c D/e2`, released value `c D/e3`.
    They are rounded up to whole steps of the grid, and all comparisons are comparisons of integers.

    The whole run is epsilon-differentially private, however many questions are answered "below"; the proof is in
    docs/mechanisms.md.

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
        object.__setattr__(self, "threshold", check.real("threshold", self.threshold))
        rational("sensitivity", self.sensitivity, above=0)
        rational("epsilon", self.epsilon, above=0)
        object.__setattr__(self, "cap", check.whole("cap", self.cap, at_least=1))
        if not isinstance(self.shares, tuple) or len(self.shares) != 3:
            raise InvalidParameter("shares must be three numbers: of threshold, comparisons and released values")
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
        """The laws of the noise on threshold, comparisons and, if there are any, released values."""
        return tuple(laplace_on_grid(self.sensitivity, part, self.grid) for part in self._parts)

    @property
    def scales(self) -> tuple[float, ...]:
        """The noise scales in the questions' own unit."""
        return tuple(law.scale for law in self.laws)

    @property
    def length(self) -> None:
        """An epoch has no limit."""
        return

    @property
    def exact_epsilon(self) -> Fraction:
        """What the sampled laws spend, exactly; at most `epsilon`, because scales are rounded up to whole steps."""
        threshold, question, *release = (law.epsilon for law in self.laws)
        each = (1 if self.monotone else 2) * question + sum(release, start=Fraction(0))
        return self.cap * (threshold + each) if self.refresh else threshold + self.cap * each

    @property
    def cost(self) -> PureDP:
        """What a whole run spends, exhausted or not."""
        return PureDP(float_up(rational("epsilon", self.epsilon, above=0)))

    @property
    def concentrated_cost(self) -> ZCDP:
        """What a whole run spends under zCDP; with refresh and many answers above far less than its epsilon suggests.

        With refresh a run is an adaptive composition of `cap` epochs and `cap` released values, each with its own pure
        epsilon, and each epsilon counts as `epsilon tanh(epsilon/2)`. Without refresh the comparisons are one piece,
        interactive, between whose answers values are released; why the costs add then is in docs/mechanisms.md.
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
        """Public parameters as plain data."""
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
        """How far a value can be from the threshold and still be judged wrongly, except with probability `beta`.

        Half of `beta` covers all threshold draws, half all comparisons, so it holds for a whole run of `questions`
        against any adaptive analyst: the draws do not depend on the questions.

        Parameters
        ----------
        beta : float
            Failure probability, in (0, 1).
        questions : int
            How many questions may be asked, at least 1.
        """
        beta = check.probability("beta", beta)
        questions = check.whole("questions", questions, at_least=1)
        thresholds = min(self.cap, questions) if self.refresh else 1
        steps = laplace_width(self.laws[0].scale_steps, beta / 2, thresholds)
        steps += laplace_width(self.laws[1].scale_steps, beta / 2, questions)
        return (steps + 1) * float(self.laws[0].grid.step)  # rounding moves value and threshold by half a step each

    @cached_property
    def noises(self) -> Noises:
        """How the noise is drawn, in whole steps."""
        return Noises(discrete_laplace, *(law.scale_steps for law in self.laws))


def _concentrated(epsilon: Fraction) -> Fraction:
    return Fraction(pure_to_zcdp(float_up(epsilon)))


__all__ = ["Shares", "SparseVector"]
