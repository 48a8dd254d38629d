"""Adaptive means with an open end: intervals that grow with the number of questions asked, no number to commit to."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

from holdfast.accounting.costs import GDP
from holdfast.bounds.interval.open_end import MOST_OPEN, open_plan, sign_comparison_open
from holdfast.bounds.numerics.exact import up
from holdfast.core import arguments
from holdfast.data.values import Rows
from holdfast.inference.answers.answerer import VALUE_ERROR, Answerer, exact_mean
from holdfast.mechanisms.answer import Answer
from holdfast.noise.entropy import Source
from holdfast.noise.rounded_gaussian import fine_grid, rounded_gaussian


class OpenAnswers(Answerer):
    """Answers adaptively chosen means of `n` rows with Gaussian noise, without a planned number of questions.

    With probability `confidence` all intervals hold. The first interval is the narrowest, and each later one is a
    little wider than the one before. The noise scale is constant. It is tuned for one number of questions, but a run
    may stop earlier or go on, up to 100,000 questions. Rows must be independent and identically distributed. If the
    number of questions is known, `GaussianAnswers` has narrower intervals at its end.

    Parameters
    ----------
    n : int
        Rows of the sample.
    confidence : float
        Probability that all intervals hold, in (0, 1).
    tuned_for : int
        The number of the question whose half-width the noise makes about least.
    source : noise.Source, optional
        Where the randomness comes from; the operating system if not given. `noise.Seeded` for simulations only.

    Examples
    --------
    >>> import numpy as np
    >>> answers = OpenAnswers(n=100_000, confidence=0.95)
    >>> round(answers.half_width, 4), round(answers.half_width_of(1000), 4)
    (0.0118, 0.0447)
    >>> answer = answers.mean(np.arange(100_000) % 4 == 0)
    >>> answer.interval[0] < 0.25 < answer.interval[1], answers.asked
    (True, 1)
    """

    kind: ClassVar[str] = "open-end"

    def __init__(self, n: int, confidence: float, *, tuned_for: int = 1000, source: Source | None = None) -> None:
        super().__init__(n, MOST_OPEN, confidence, source)
        self.tuned_for = arguments.whole("tuned_for", tuned_for, at_least=1, at_most=MOST_OPEN)
        self.plan = open_plan(self.n, self.beta, self.tuned_for)
        self.grid = fine_grid(self.plan.sigma)

    @property
    def remaining(self) -> dict[str, float]:
        """What may still be asked. It has no count, because the number of questions is open."""
        return {}

    @property
    def half_width(self) -> float:
        """The half-width of the next question, as a proportion of the declared range, rounding included."""
        return self.half_width_of(min(self.asked + 1, MOST_OPEN))

    def half_width_of(self, question: int) -> float:
        """Return the half-width of question number `question`, counted from 1, as a proportion of the declared
        range.
        """
        question = arguments.whole("question", question, at_least=1, at_most=MOST_OPEN)
        return up(self.plan.half_width(question) + float(self.grid.step) / 2 + VALUE_ERROR, 2)

    def sigma(self, question: int) -> float:
        """Return the noise scale of a question as a proportion of the declared range. It is the same for all
        questions.
        """
        arguments.whole("question", question, at_least=1, at_most=MOST_OPEN)
        return self.plan.sigma

    @property
    def mu(self) -> float:
        """The privacy of all answers that can ever be asked for: together they are `mu`-Gaussian differentially
        private.
        """
        return up(math.sqrt(MOST_OPEN) / (self.n * self.plan.sigma), 16)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that make this plan again."""
        return {"n": self.n, "confidence": self.confidence, "tuned_for": self.tuned_for}

    def mean(self, values: Rows, low: float = 0.0, high: float = 1.0) -> Answer:
        """Answer a question about the mean of a function of the rows, with noise.

        Parameters
        ----------
        values : array or iterable of arrays
            The function's value on each of the `n` rows.
        low, high : float
            The range of the function, declared without looking at the rows. The interval is that much wider.

        Raises
        ------
        BudgetExhausted
            100,000 questions have been asked. Nothing changes.
        InvalidParameter
            A value outside the range, NaN, or the wrong number of rows. Nothing is spent.
        """
        low, high = arguments.value_range(low, high)
        mean = exact_mean(values, self.n, low, high)
        return self.answer_to(self._take(), mean, low, high)

    def answer_to(self, question: int, mean: Fraction, low: float, high: float) -> Answer:
        """Answer question number `question`, counted from 1, given its exact mean as a proportion of the range.

        This is for callers that count the questions themselves, such as the ledger of a guard. Use each number only
        once.
        """
        half = up((high - low) * self.half_width_of(question), 4) + 4 * math.ulp(max(abs(low), abs(high)))
        place = rounded_gaussian(Fraction(self.plan.sigma), self.grid, mean=mean, source=self._source)
        share = min(max(self.grid.value(place), 0.0), 1.0)
        value = min(max(low + (high - low) * share, low), high)
        guarantee = sign_comparison_open(self.n, question, self.beta, self.tuned_for).guarantee
        cost = GDP(up(1 / (self.n * self.plan.sigma), 4))
        return Answer(value, (max(value - half, low), min(value + half, high)), guarantee, cost, self.remaining)
