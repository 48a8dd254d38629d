"""Noise chosen from question to question, under caps fixed in advance: precise where it matters, cheap elsewhere."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

from holdfast import check
from holdfast.accounting.costs import GDP
from holdfast.bounds.exact import float_down, up
from holdfast.bounds.guarantee import Guarantee
from holdfast.bounds.interval.constant_noise import filtered_width
from holdfast.bounds.interval.maxima import normal_shortfall, square_shortfall
from holdfast.data.values import Rows
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.inference.exact_mean import VALUE_ERROR, exact_mean
from holdfast.inference.horizon import HorizonAnswerer
from holdfast.mechanisms.answer import Answer
from holdfast.noise.entropy import Source
from holdfast.noise.rounded_gaussian import fine_grid, rounded_gaussian

#: Halvings of the grid below the largest scale: a question may choose a much smaller one.
_FINE = 30


class FilteredAnswers(HorizonAnswerer):
    """Answers means with noise scales that the analyst chooses as he goes, and charges narrow questions by their range.

    Three caps are fixed before the first answer: the number of questions `k`, the largest scale `s`, and a horizon `V`.
    A question whose values lie in an interval of length `r <= 1`, answered with scale `sigma <= s`, charges
    `r^2/(16 n^2 sigma^2)`; it is refused, and charges nothing, when the sum would pass `V`. Then with probability
    `confidence` every answer is within `s omega + kappa sqrt(V)` (docs/posterior-shift.md, "Filter").

    The half-width is the same for all answers, in the unit of the values, whatever their range. So a question of range
    0.1 costs a hundredth of a full one; and a smaller `sigma` buys an answer closer to the sample's mean, not a
    narrower interval. `GaussianAnswers` is narrower when all questions are alike.

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
        self.full = float(self.questions) if full is None else check.real("full", full, above=0, at_most=1e18)
        omega, kappa = normal_shortfall(self.questions, self.beta), square_shortfall(self.beta)
        self.largest_sigma = (
            math.sqrt(math.sqrt(self.full) * kappa / (4 * self.n * omega))
            if largest_sigma is None
            else check.real("largest_sigma", largest_sigma, at_least=1e-50, at_most=1e50)
        )
        self._horizon = up(self.full * self.charge(1.0), 4)
        self.grid = fine_grid(self.largest_sigma, _FINE)

    @property
    def horizon(self) -> float:
        """What all charges together may come to: `full` questions of range 1 at the largest scale."""
        return self._horizon

    @property
    def half_width(self) -> float:
        """Half the length of every interval, in the unit of the values; rounding included."""
        ideal = filtered_width(self.questions, self.beta, self.largest_sigma, self.horizon)
        return up(ideal + float(self.grid.step) / 2 + VALUE_ERROR, 2)

    @property
    def guarantee(self) -> Guarantee:
        """The theorem and its caps."""
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
        """Questions left; and of the horizon, in questions of range 1 at the largest scale."""
        rest = max(Fraction(self.horizon) - self._spent, Fraction(0)) / Fraction(self.charge(1.0))
        return {"questions": self.questions - self.asked, "full_questions": float_down(rest)}

    def charge(self, length: float, sigma: float | None = None) -> float:
        """What a question of this range and scale takes off the horizon, rounded up: `r^2/(16 n^2 sigma^2)`."""
        length = check.real("length", length, above=0, at_most=1)
        scale = self.largest_sigma if sigma is None else self._scale(sigma)
        return up((length / (4 * self.n * scale)) ** 2, 8)

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this plan again."""
        return {
            "n": self.n,
            "questions": self.questions,
            "confidence": self.confidence,
            "full": self.full,
            "largest_sigma": self.largest_sigma,
        }

    def mean(self, values: Rows, low: float = 0.0, high: float = 1.0, sigma: float | None = None) -> Answer:
        """Answer the mean of a function of the rows.

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
        low, high = check.value_range(low, high)
        length = Fraction(high) - Fraction(low)
        if length > 1:
            raise InvalidParameter(f"high must be at most low + 1 for a question of range 1 or less, got {high:g}")
        scale = self.largest_sigma if sigma is None else self._scale(sigma)
        charge = Fraction(self.charge(min(up(float(length)), 1.0), scale))
        share = exact_mean(values, self.n, low, high)
        with self._alone():
            if self.asked >= self.questions:
                self._count()  # refuses
            if self._spent + charge > Fraction(self.horizon):
                raise BudgetExhausted(
                    "the charge of this question does not fit into the horizon; a narrower range or a "
                    "larger sigma charges less"
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
        return check.real("sigma", sigma, at_least=1e-60, at_most=self.largest_sigma)


__all__ = ["FilteredAnswers"]
