"""Statistics that are not means: noise in proportion to what one row can move them by."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from holdfast import check
from holdfast.accounting.costs import GDP
from holdfast.bounds.exact import up
from holdfast.bounds.interval.any_statistic import low_sensitivity
from holdfast.errors import InvalidParameter
from holdfast.inference.answerer import Answerer
from holdfast.mechanisms.answer import Answer
from holdfast.noise.entropy import Source
from holdfast.noise.rounded_gaussian import fine_grid, rounded_gaussian


class LowSensitivityAnswers(Answerer):
    """Answers up to `questions` adaptively chosen statistics of sensitivity `c` with Gaussian noise.

    The truth that the intervals are about is the statistic's expectation on `n` fresh rows. For a biased statistic that
    is not the population's own value; a trimmed mean, a loss at a fixed model, a U-statistic are typical uses.
    Replacing any one row, whatever the rows are, must move the statistic *as computed* by at most `c`: that is the
    caller's promise and cannot be checked here.

    Parameters
    ----------
    n : int
        Rows of the sample.
    questions : int
        How many questions may be asked; one more is refused.
    confidence : float
        Probability that all intervals hold, in (0, 1).
    sensitivity : float
        `c`, the same for all questions.
    method : str
        "best" (default), "scheduled", "posterior-shift" or "russo-zou-kl"; see `interval.low-sensitivity`.
    source : noise.Source, optional
        Where the randomness comes from; the operating system if not given. `noise.Seeded` for simulations only.

    Examples
    --------
    The share of agreeing pairs (a U-statistic of order 2) has sensitivity `2/n`.

    >>> answers = LowSensitivityAnswers(n=10_000, questions=20, confidence=0.95, sensitivity=2 / 10_000)
    >>> round(answers.half_width, 4)
    0.1061
    >>> answer = answers.statistic(0.61)
    >>> answer.interval[1] - answer.interval[0] < 2.0001 * answers.half_width
    True
    """

    kind: ClassVar[str] = "low-sensitivity"

    def __init__(
        self,
        n: int,
        questions: int,
        confidence: float,
        sensitivity: float,
        *,
        method: Literal["best", "scheduled", "posterior-shift", "russo-zou-kl"] = "best",
        source: Source | None = None,
    ) -> None:
        super().__init__(n, questions, confidence, source)
        self.width = low_sensitivity(self.n, self.questions, self.beta, sensitivity, method)
        self.sensitivity, self._method = float(sensitivity), method
        self.grid = fine_grid(self.width.least_sigma)

    @property
    def half_width(self) -> float:
        """Half the length of every interval, in the statistics' own unit; rounding included."""
        return up(self.width.half_width + float(self.grid.step) / 2, 2)

    def sigma(self, question: int) -> float:
        """The noise scale of question number `question`, counted from 1."""
        return self.width.sigma_of(question)

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this plan again."""
        return {
            "n": self.n,
            "questions": self.questions,
            "confidence": self.confidence,
            "sensitivity": self.sensitivity,
            "method": self._method,
        }

    def statistic(self, value: float, low: float = -math.inf, high: float = math.inf) -> Answer:
        """Answer a statistic, given as its exact value on the sample.

        Parameters
        ----------
        value : float
            The statistic on the sample. Secret: no error shows it.
        low, high : float
            Ends of its range, if it has any: answer and interval are kept inside.
        """
        low, high = check.real("low", low, infinite=True), check.real("high", high, infinite=True)
        if not low < high:
            raise InvalidParameter(f"low must be below high, got [{low:g}, {high:g}]")
        if isinstance(value, bool) or not isinstance(value, (int, float, np.floating, np.integer)):
            raise InvalidParameter("value must be a number")
        if not low <= value <= high or not math.isfinite(value):
            raise InvalidParameter("value must be finite and inside its declared range")
        question = self._take()
        sigma = self.sigma(question)
        place = rounded_gaussian(Fraction(sigma), self.grid, mean=Fraction(float(value)), source=self._source)
        noisy = min(max(self.grid.value(place), low), high)
        half = self.half_width + 4 * math.ulp(noisy)
        return Answer(
            noisy,
            (max(noisy - half, low), min(noisy + half, high)),
            self.width.guarantee,
            GDP(up(self.sensitivity / sigma, 4)),
            {"questions": self.questions - question},
        )


__all__ = ["LowSensitivityAnswers"]
