"""Means near an end of their range: error rates, accuracies, rare events. Narrower intervals, and no promise needed."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

from holdfast import check
from holdfast.accounting.costs import GDP
from holdfast.bounds.exact import up
from holdfast.bounds.interval.small_variance import small_variance_plan
from holdfast.data.values import Rows
from holdfast.errors import BudgetExhausted
from holdfast.inference.exact_mean import VALUE_ERROR, exact_mean
from holdfast.inference.horizon import HorizonAnswerer
from holdfast.mechanisms.answer import Answer
from holdfast.noise.entropy import Source
from holdfast.noise.rounded_gaussian import fine_grid, rounded_gaussian


class SmallVarianceAnswers(HorizonAnswerer):
    """Answers adaptively chosen means that are mostly below `level`, or above `1 - level`, of their range.

    A [0,1] function of mean p has variance at most `p (1 - p)`. Such a question moves the rows' posteriors less and is
    moved less by them (`interval.small-variance`). Each interval follows the variance that is left possible by the
    answer itself. A question whose mean turns out not to be near an end is answered too, with a wider interval, and
    charges more: up to `1/(4 level (1 - level))` questions. When the worst case of the next question no longer fits, it
    is refused.

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
    source : noise.Source, optional
        Where the randomness comes from; the operating system if not given. `noise.Seeded` for simulations only.

    Examples
    --------
    >>> import numpy as np
    >>> answers = SmallVarianceAnswers(n=100_000, questions=1000, confidence=0.95, level=0.1)
    >>> wrong = np.arange(100_000) % 25 == 0                     # an error rate of 4%
    >>> answer = answers.mean(wrong)
    >>> answer.interval[0] < 0.04 < answer.interval[1], round(answer.half_width, 2)
    (True, 0.03)
    """

    kind: ClassVar[str] = "small-variance"

    def __init__(
        self, n: int, questions: int, confidence: float, level: float, *, source: Source | None = None
    ) -> None:
        super().__init__(n, questions, confidence, source)
        self.level = check.real("level", level, at_least=1e-6, at_most=0.5)
        deviation = min(up(math.sqrt(self.level * (1 - self.level))), 0.5)
        self.plan = small_variance_plan(self.n, self.questions, self.beta, deviation)
        self.grid = fine_grid(self.plan.sigma)

    @property
    def horizon(self) -> float:
        """What all charges together may come to."""
        return self.plan.horizon

    @property
    def half_width(self) -> float:
        """The half-width of a question of mean `level`, as a share of the declared range."""
        return up(self.plan.half_width(self.plan.deviation) + float(self.grid.step) / 2 + VALUE_ERROR, 2)

    @property
    def remaining(self) -> dict[str, float]:
        """How many questions near an end still fit."""
        rest = Fraction(self.horizon) - self._spent - Fraction(self.plan.charge(0.5))
        units = math.floor(max(rest / Fraction(self.plan.charge(0.0)) + 1, Fraction(0)))
        return {"questions": min(self.questions - self.asked, units)}

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this plan again."""
        return {"n": self.n, "questions": self.questions, "confidence": self.confidence, "level": self.level}

    def mean(self, values: Rows, low: float = 0.0, high: float = 1.0) -> Answer:
        """Answer the mean of a function of the rows.

        Parameters
        ----------
        values : array or iterable of arrays
            The function's value on each of the `n` rows.
        low, high : float
            The range of the function, declared without looking at the rows.

        Raises
        ------
        BudgetExhausted
            The worst case of one more question does not fit. Nothing changes.
        """
        low, high = check.value_range(low, high)
        mean = exact_mean(values, self.n, low, high)
        with self._alone():  # the charge is known only with the answer, and no other question may slip in between
            if self._spent + Fraction(self.plan.charge(0.5)) > Fraction(self.horizon):
                raise BudgetExhausted("what is left does not cover the worst case of one more question")
            self._count()
            place = rounded_gaussian(Fraction(self.plan.sigma), self.grid, mean=mean, source=self._source)
            share = min(max(self.grid.value(place), 0.0), 1.0)
            # about the values as rounded row by row, whose variance is the one that was charged
            ends = self.plan.interval(share, float(self.grid.step) / 2)
            largest = 0.5 if ends[0] <= 0.5 <= ends[1] else max(math.sqrt(end * (1 - end)) for end in ends)
            self._spent += Fraction(self.plan.charge(min(up(largest), 0.5)))
            left = self.remaining
        slack = (high - low) * VALUE_ERROR + 4 * math.ulp(max(abs(low), abs(high)))
        interval = (
            max(low + (high - low) * ends[0] - slack, low),
            min(low + (high - low) * ends[1] + slack, high),
        )
        cost = GDP(up(1 / (self.n * self.plan.sigma), 4))
        return Answer(min(low + (high - low) * share, high), interval, self.plan.guarantee, cost, left)


__all__ = ["SmallVarianceAnswers"]
