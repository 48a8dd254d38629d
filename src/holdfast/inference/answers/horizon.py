"""Answers that charge a horizon: noise chosen for each question, and means near an end of their range."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, Protocol, Self

from holdfast.accounting.costs import GDP
from holdfast.bounds import interval
from holdfast.bounds.interval.width import Width
from holdfast.bounds.numerics.exact import float_down, up
from holdfast.bounds.numerics.maxima import normal_shortfall, square_shortfall
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.data.values import Rows
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.inference.answers.answerer import VALUE_ERROR, Answerer, exact_mean
from holdfast.mechanisms.answer import Answer
from holdfast.noise.entropy import Source
from holdfast.noise.rounded_gaussian import fine_grid, rounded_gaussian


class HorizonAnswerer(Answerer):
    """A method whose questions do not all charge alike. The sum of charges is exact and never passes the horizon."""

    def __init__(self, n: int, questions: int, confidence: float, source: Source | None) -> None:
        super().__init__(n, questions, confidence, source)
        self._spent = Fraction(0)

    @property
    @abstractmethod
    def horizon(self) -> float:
        """The largest sum that the charges of all questions may reach."""

    def state(self) -> dict[str, Any]:
        """Return the plan and the progress as plain data, for `from_state`."""
        return super().state() | {"spent": str(self._spent)}

    @classmethod
    def _progress(cls) -> tuple[str, ...]:
        return ("asked", "spent")

    def _restore(self, state: Mapping[str, Any]) -> None:
        try:
            spent = Fraction(state["spent"])
        except (KeyError, TypeError, ValueError, ZeroDivisionError):
            raise InvalidParameter("state must be what state() returned") from None
        if not 0 <= spent <= Fraction(self.horizon):
            raise InvalidParameter(
                "state must be what state() returned, but its spent is not between 0 and the horizon"
            )
        super()._restore(state)
        self._spent = spent


#: Halvings of the grid below the largest scale: a question may choose a much smaller one.
_FINE = 30


class FilteredAnswers(HorizonAnswerer):
    """Answers means with noise scales that the analyst chooses along the way. Questions with a narrow range cost
    less.

    Three limits are fixed before the first answer: the number of questions `k`, the largest noise scale `s`, and a
    horizon `V`. A question whose values lie in an interval of length `r <= 1`, answered with noise scale `sigma <= s`,
    charges `r^2/(16 n^2 sigma^2)`. If the sum of the charges would exceed `V`, the question is refused and charges
    nothing. With probability `confidence` every answer is within `s omega + kappa sqrt(V)` of its population value
    (docs/posterior-shift.md, "Filter").

    The half-width is the same for all answers, in the unit of the values, whatever their range. So a question of range
    0.1 costs a hundredth of a question of range 1. A smaller `sigma` gives an answer closer to the sample's mean, but
    not a narrower interval. If all questions have the same range, `GaussianAnswers` has narrower intervals.

    Parameters
    ----------
    n : int
        Rows of the sample.
    questions : int
        How many questions may be asked; one more is refused.
    confidence : float
        Probability that all intervals hold, in (0, 1).
    full : float
        How many questions of range 1 at the largest scale the horizon holds; `questions` when not given. With
        `largest_sigma` not given, the scale that makes the half-width least for it is used.
    largest_sigma : float
        The largest scale.
    source : noise.Source, optional
        Where the randomness comes from; the operating system if not given. `noise.Seeded` for simulations only.

    Examples
    --------
    >>> answers = FilteredAnswers(n=100_000, questions=10_000, confidence=0.95, full=500)
    >>> round(answers.half_width, 4)
    0.0502
    >>> import numpy as np
    >>> first = answers.mean(np.full(100_000, 0.42), low=0.4, high=0.5)      # a narrow question
    >>> second = answers.mean(np.arange(100_000) % 4 == 0)                    # a full one
    >>> round(answers.charge(0.1) / answers.charge(1.0), 6)
    0.01
    >>> answers.remaining["questions"], round(answers.remaining["full_questions"], 2)
    (9998, 498.99)
    """

    kind: ClassVar[str] = "filtered"

    def __init__(
        self,
        n: int,
        questions: int,
        confidence: float,
        *,
        full: float | None = None,
        largest_sigma: float | None = None,
        source: Source | None = None,
    ) -> None:
        super().__init__(n, questions, confidence, source)
        self.full = float(self.questions) if full is None else arguments.real("full", full, above=0, at_most=1e18)
        omega, kappa = normal_shortfall(self.questions, self.beta), square_shortfall(self.beta)
        self.largest_sigma = (
            math.sqrt(math.sqrt(self.full) * kappa / (4 * self.n * omega))
            if largest_sigma is None
            else arguments.real("largest_sigma", largest_sigma, at_least=1e-50, at_most=1e50)
        )
        self._horizon = up(self.full * self.charge(1.0), 4)
        self.grid = fine_grid(self.largest_sigma, _FINE)

    @property
    def horizon(self) -> float:
        """The largest sum that the charges may reach: that of `full` questions of range 1 at the largest noise
        scale.
        """
        return self._horizon

    @property
    def half_width(self) -> float:
        """Half the length of every interval, in the unit of the values, rounding included."""
        ideal = interval.filtered_width(self.questions, self.beta, self.largest_sigma, self.horizon)
        return up(ideal + float(self.grid.step) / 2 + VALUE_ERROR, 2)

    @property
    def guarantee(self) -> Guarantee:
        """The theorem behind the intervals, with its limits."""
        caps = {"n": self.n, "questions": self.questions, "beta": self.beta}
        caps |= {"largest_sigma": self.largest_sigma, "horizon": self.horizon}
        return Guarantee(
            "interval.posterior-shift",
            caps | {"method": "filter"},
            "rows independent; caps fixed before the first answer; fresh noise; nothing else computed from these rows "
            "reaches the analyst",
        )

    @property
    def remaining(self) -> dict[str, float]:
        """The number of questions left, and what is left of the horizon, in questions of range 1 at the largest
        noise scale.
        """
        rest = max(Fraction(self.horizon) - self._spent, Fraction(0)) / Fraction(self.charge(1.0))
        return {"questions": self.questions - self.asked, "full_questions": float_down(rest)}

    def charge(self, length: float, sigma: float | None = None) -> float:
        """Return what a question of this range and noise scale charges: `r^2/(16 n^2 sigma^2)`, rounded up."""
        length = arguments.real("length", length, above=0, at_most=1)
        scale = self.largest_sigma if sigma is None else self._scale(sigma)
        return up((length / (4 * self.n * scale)) ** 2, 8)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that make this plan again."""
        return {
            "n": self.n,
            "questions": self.questions,
            "confidence": self.confidence,
            "full": self.full,
            "largest_sigma": self.largest_sigma,
        }

    def mean(self, values: Rows, low: float = 0.0, high: float = 1.0, sigma: float | None = None) -> Answer:
        """Answer a question about the mean of a function of the rows, with noise.

        Parameters
        ----------
        values : array or iterable of arrays
            The function's value on each of the `n` rows.
        low, high : float
            A range of length at most 1 that holds the function's values, declared without looking at the rows.
        sigma : float
            The noise scale in the unit of the values, at most `largest_sigma`, which is the default. It may depend on
            earlier answers.

        Raises
        ------
        BudgetExhausted
            All planned questions have been asked, or the charge does not fit. Nothing changes.
        InvalidParameter
            A value outside the range, NaN, or the wrong number of rows. Nothing is spent.
        """
        low, high = arguments.value_range(low, high)
        length = Fraction(high) - Fraction(low)
        if length > 1:
            raise InvalidParameter(
                f"high must be at most low + 1, because a question has range 1 or less, got {high:g}"
            )
        scale = self.largest_sigma if sigma is None else self._scale(sigma)
        charge = Fraction(self.charge(min(up(float(length)), 1.0), scale))
        share = exact_mean(values, self.n, low, high)
        with self._alone():
            if self.asked >= self.questions:
                self._count()  # refuses
            if self._spent + charge > Fraction(self.horizon):
                raise BudgetExhausted(
                    "this question charges more than is left of the horizon; give a narrower range or a larger "
                    "sigma, which are charged less"
                )
            self.asked += 1
            self._spent += charge
            left = self.remaining
        place = rounded_gaussian(Fraction(scale), self.grid, mean=Fraction(low) + length * share, source=self._source)
        value = min(max(self.grid.value(place), low), high)
        half = self.half_width + 4 * math.ulp(max(abs(low), abs(high)))
        cost = GDP(up(float(length) / (self.n * scale), 8))
        return Answer(value, (max(value - half, low), min(value + half, high)), self.guarantee, cost, left)

    def _scale(self, sigma: Any) -> float:
        return arguments.real("sigma", sigma, at_least=1e-60, at_most=self.largest_sigma)


VarianceMethod = Literal["best", "small-variance", "sign-comparison-rates", "noise"]


class SmallVarianceAnswers(HorizonAnswerer):
    """Answers adaptively chosen means that are mostly near an end of their range: below `level` or above `1 -
    level`.

    A function with values in [0, 1] and mean `p` has variance at most `p (1 - p)`. So a question with a mean near an
    end reveals less about the rows and gets a narrower interval. Nothing about the means is assumed: the width of each
    interval follows from its own answer. If a mean is not near an end, its interval is wider and it charges more.

    With Theorem D' (`interval.sign-comparison-rates`) what a question charges makes later intervals a little wider.
    With Theorem C (`interval.small-variance`) it is taken off a horizon, up to `1/(4 level (1 - level))` questions. If
    the worst case of the next question exceeds what is left of the horizon, the question is refused.

    Parameters
    ----------
    n : int
        Rows of the sample, independent and alike.
    questions : int
        How many questions near an end may be asked.
    confidence : float
        Probability that all intervals hold, in (0, 1).
    level : float
        Near an end means below this, or above 1 minus this, in (0, 0.5]. Take it above the means that you expect by
        about a half-width.
    method : str
        "best" (default): the plan with the shortest interval for an answer at `level`, of "sign-comparison-rates"
        (Theorem D'), "small-variance" (Theorem C) and "noise", the plan of `GaussianAnswers`, whose intervals are all
        as long as each other. It is chosen before the first answer, from the numbers above alone.
    source : noise.Source, optional
        Where the randomness comes from; the operating system if not given. `noise.Seeded` for simulations only.

    Examples
    --------
    >>> import numpy as np
    >>> answers = SmallVarianceAnswers(n=100_000, questions=1000, confidence=0.95, level=0.05)
    >>> answers.method
    'interval.sign-comparison-rates'
    >>> wrong = np.arange(100_000) % 25 == 0                     # an error rate of 4%
    >>> answer = answers.mean(wrong)
    >>> answer.interval[0] < 0.04 < answer.interval[1], 0.01 < answer.half_width < 0.02
    (True, True)
    """

    kind: ClassVar[str] = "small-variance"

    def __init__(
        self,
        n: int,
        questions: int,
        confidence: float,
        level: float,
        *,
        method: VarianceMethod = "best",
        source: Source | None = None,
    ) -> None:
        super().__init__(n, questions, confidence, source)
        self.level = arguments.real("level", level, at_least=1e-6, at_most=0.5)
        self._method = arguments.choice("method", method, ("best", *_PLANS))
        names = tuple(_PLANS) if self._method == "best" else (self._method,)
        plans = [_PLANS[name](self.n, self.questions, self.beta, self.level) for name in names]
        self.plan = min(plans, key=lambda plan: plan.length(self.level))
        self.grid = fine_grid(self.plan.least_scale)

    @property
    def method(self) -> str:
        """The theorem on which the plan depends."""
        return self.plan.guarantee.theorem

    @property
    def horizon(self) -> float:
        """The largest sum that the charges of all questions may reach."""
        return self.plan.horizon

    @property
    def half_width(self) -> float:
        """The half-width for a question whose mean is `level`, as a proportion of the declared range."""
        return up(self.plan.typical_width + float(self.grid.step) / 2 + VALUE_ERROR, 2)

    @property
    def remaining(self) -> dict[str, float]:
        """The number of questions with a mean near an end that can still be asked."""
        return {"questions": min(self.questions - self.asked, self.plan.fitting(self._spent))}

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that make this plan again."""
        plain = {"n": self.n, "questions": self.questions, "confidence": self.confidence, "level": self.level}
        return plain | {"method": self._method}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], source: Source | None = None) -> Self:
        """Return the method that `state()` described. A state from before Theorem D' continues with Theorem C."""
        if isinstance(state, Mapping) and state.get("kind") == cls.kind and "method" not in state:
            state = dict(state) | {"method": "small-variance"}
        return super().from_state(state, source)

    def mean(self, values: Rows, low: float = 0.0, high: float = 1.0) -> Answer:
        """Answer a question about the mean of a function of the rows, with noise.

        Parameters
        ----------
        values : array or iterable of arrays
            The function's value on each of the `n` rows.
        low, high : float
            The range of the function, declared without looking at the rows.

        Raises
        ------
        BudgetExhausted
            All planned questions have been asked, or the worst case of one more does not fit. Nothing changes.
        """
        low, high = arguments.value_range(low, high)
        mean = exact_mean(values, self.n, low, high)
        with self._alone():  # the charge is known only with the answer, and no other question may slip in between
            if self.plan.fitting(self._spent) < 1:
                raise BudgetExhausted(
                    "what is left of the horizon may be too little for one more question, so no more questions are "
                    "answered"
                )
            question = self._count()
            scale = self.plan.scale(question)
            place = rounded_gaussian(Fraction(scale), self.grid, mean=mean, source=self._source)
            share = min(max(self.grid.value(place), 0.0), 1.0)
            # about the values as rounded row by row, whose variance is the one that was charged
            first, last, charge = self.plan.read(share, question, up(float(self._spent)), float(self.grid.step) / 2)
            self._spent += Fraction(charge)
            left = self.remaining
        slack = (high - low) * VALUE_ERROR + 4 * math.ulp(max(abs(low), abs(high)))
        interval = max(low + (high - low) * first - slack, low), min(low + (high - low) * last + slack, high)
        cost = GDP(up(1 / (self.n * scale), 4))
        return Answer(min(low + (high - low) * share, high), interval, self.plan.guarantee, cost, left)


class _Plan(Protocol):
    """What a plan for means near an end of their range can say."""

    @property
    def guarantee(self) -> Guarantee: ...
    @property
    def horizon(self) -> float: ...
    @property
    def least_scale(self) -> float: ...
    @property
    def typical_width(self) -> float: ...
    def scale(self, question: int) -> float: ...
    def length(self, level: float) -> float: ...
    def fitting(self, spent: Fraction) -> float: ...
    def read(self, answer: float, question: int, spent: float, slack: float) -> tuple[float, float, float]: ...


@dataclass(frozen=True)
class _Even:
    """The plan of `GaussianAnswers`: every interval is as long as the next, and nothing is charged."""

    width: Width
    horizon: float = 0.0

    @property
    def guarantee(self) -> Guarantee:
        return self.width.guarantee

    @property
    def least_scale(self) -> float:
        return self.width.least_sigma

    @property
    def typical_width(self) -> float:
        return self.width.half_width

    def scale(self, question: int) -> float:
        return self.width.sigma_of(question)

    def length(self, level: float) -> float:
        return min(level + self.width.half_width, 1.0) - max(level - self.width.half_width, 0.0)

    def fitting(self, spent: Fraction) -> float:
        return self.width.questions

    def read(self, answer: float, question: int, spent: float, slack: float) -> tuple[float, float, float]:
        half = up(self.width.half_width + slack, 4)
        return max(answer - half, 0.0), min(answer + half, 1.0), 0.0


def _theorem_c(n: int, questions: int, beta: float, level: float) -> _Plan:
    return interval.small_variance_plan(n, questions, beta, min(up(math.sqrt(level * (1 - level))), 0.5))


#: Ties go to the first.
_PLANS: dict[str, Callable[[int, int, float, float], _Plan]] = {
    "sign-comparison-rates": interval.rate_plan,
    "small-variance": _theorem_c,
    "noise": lambda n, questions, beta, level: _Even(interval.best_noise(n, questions, beta)),
}
