"""Thresholdout on noisy means: a guess that the noisy mean agrees with is shown again, any other gets the noisy mean.

The accuracy is proved by post-processing (docs/papers/adaptive-widths.md, "A Thresholdout of useful size"): what is
shown is a function of the noisy mean and of the guess, so an analyst of this algorithm is one of those that the theorem
about the noisy means covers.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from holdfast.bounds.interval.signs import RowLaw
from holdfast.bounds.numerics.exact import up
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee
from holdfast.data.values import Rows
from holdfast.inference.answers.noisy import GaussianAnswers, GaussianMethod
from holdfast.mechanisms.answer import Answer
from holdfast.noise.entropy import Source


class ThresholdAnswers(GaussianAnswers):
    """Checks guesses of up to `questions` means against noisy means of `n` rows, with a certified accuracy.

    A guess within `threshold` of the noisy mean passes and is shown again; for any other the noisy mean is shown. With
    probability `confidence` every shown value is within `accuracy` of the population value: the half-width of
    `GaussianAnswers`, plus the threshold where the guess passed. Every question may fail: there is no budget of
    overfits. The guesses must come from other rows. `GaussianAnswers` has the narrower interval; this is for guesses
    that should be kept where they are right, as the reusable holdout's Thresholdout does at sizes where it certifies
    nothing.

    Parameters
    ----------
    n : int
        Rows of the sample.
    questions : int
        How many questions may be asked; one more is refused.
    confidence : float
        Probability that all intervals hold, in (0, 1).
    threshold : float, optional
        How far a guess may be from the noisy mean, as a part of the declared range, in [0, 1); `4/sqrt(n)`, as in the
        published experiments, if not given, and at most 0.5.
    method, rows, source
        As for `GaussianAnswers`.

    Examples
    --------
    >>> import numpy as np
    >>> answers = ThresholdAnswers(n=10_000, questions=1000, confidence=0.95)
    >>> answers.threshold, answers.accuracy < 0.15
    (0.04, True)
    >>> values = np.arange(10_000) % 4 == 0
    >>> far = answers.check(values, guess=0.9)
    >>> far.passed, far.interval[0] < 0.25 < far.interval[1], far.remaining
    (False, True, {'questions': 999})
    """

    kind: ClassVar[str] = "threshold"

    def __init__(
        self,
        n: int,
        questions: int,
        confidence: float,
        *,
        threshold: float | None = None,
        method: GaussianMethod = "best",
        rows: RowLaw = "identical",
        source: Source | None = None,
    ) -> None:
        super().__init__(n, questions, confidence, method=method, rows=rows, source=source)
        usual = min(4 / math.sqrt(self.n), 0.5)
        self.threshold = usual if threshold is None else arguments.real("threshold", threshold, at_least=0, below=1)

    @property
    def accuracy(self) -> float:
        """How far any shown value may be from the population value, as a part of the declared range."""
        return up(self.half_width + self.threshold)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that recreate this plan."""
        return super().parameters() | {"threshold": self.threshold}

    def check(self, values: Rows, guess: float, low: float = 0.0, high: float = 1.0) -> Answer:
        """Check a guess of the mean of a function of the rows.

        Parameters
        ----------
        values : array or iterable of arrays
            The function's value on each of the `n` rows.
        guess : float
            The guess, inside the range, from other rows.
        low, high : float
            The range of the function, declared without looking at the rows.

        Returns
        -------
        Answer
            `passed` with the guess as value, or the noisy mean; and an interval that holds for every answer at once.

        Raises
        ------
        BudgetExhausted
            All planned questions have been asked. Nothing changes.
        InvalidParameter
            A guess or value outside the range, NaN, or the wrong number of rows. Nothing is spent.
        """
        low, high = arguments.value_range(low, high)
        guess = arguments.real("guess", guess, at_least=low, at_most=high)
        noisy = self.mean(values, low, high)
        guarantee = Guarantee(
            "holdout.planned-threshold-accuracy",
            {"n": self.n, "questions": self.questions, "beta": self.beta, "threshold": self.threshold},
            self.width.assumption + "; guesses from other rows",
            self.width.certified,
        )
        reach = (high - low) * self.threshold
        if abs(noisy.value - guess) > reach:
            return Answer(noisy.value, noisy.interval, guarantee, noisy.cost, noisy.remaining, passed=False)
        half = up((high - low) * self.accuracy, 8) + 8 * math.ulp(max(abs(low), abs(high)))
        interval = max(guess - half, low), min(guess + half, high)
        return Answer(guess, interval, guarantee, noisy.cost, noisy.remaining, passed=True)
