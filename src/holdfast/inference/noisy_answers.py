"""What answerers of many means with noise share: scale to [0, 1], add noise, clip, scale back."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from typing import Any

from holdfast import check
from holdfast.accounting.costs import Cost
from holdfast.bounds.exact import up
from holdfast.bounds.interval.width import Width
from holdfast.data.values import Rows
from holdfast.inference.answerer import Answerer
from holdfast.inference.exact_mean import VALUE_ERROR, exact_mean, exact_means
from holdfast.mechanisms.answer import Answer
from holdfast.noise.grid import Grid


class NoisyAnswers(Answerer):
    """Base of the Gaussian and the Laplace answerer."""

    width: Width
    grid: Grid

    @property
    def method(self) -> str:
        """The theorem that the plan rests on."""
        return self.width.method

    @property
    def half_width(self) -> float:
        """Half the length of every interval, as a share of the declared range; rounding included."""
        return up(self.width.half_width + float(self.grid.step) / 2 + VALUE_ERROR, 2)

    def sigma(self, question: int) -> float:
        """The noise scale of question number `question`, counted from 1, as a share of the declared range."""
        return self.width.sigma_of(question)

    @abstractmethod
    def cost(self, question: int) -> Cost:
        """What question number `question` spends, for a ledger; neighbours replace one row."""

    def mean(self, values: Rows, low: float = 0.0, high: float = 1.0) -> Answer:
        """Answer the mean of a function of the rows.

        Parameters
        ----------
        values : array or iterable of arrays
            The function's value on each of the `n` rows.
        low, high : float
            The range of the function, declared without looking at the rows. The interval is that much wider.

        Returns
        -------
        Answer
            A noisy value clipped to the range, and an interval that holds for every answer at once.

        Raises
        ------
        BudgetExhausted
            All planned questions have been asked. Nothing changes.
        InvalidParameter
            A value outside the range, NaN, or the wrong number of rows. Nothing is spent.
        """
        low, high = check.value_range(low, high)
        mean = exact_mean(values, self.n, low, high)
        return self.answer_to(self._take(), mean, low, high)

    def means(self, table: Any, low: float = 0.0, high: float = 1.0) -> tuple[Answer, ...]:
        """Answer the means of several functions chosen together: one column of `table` each.

        The same as `mean` of each column in turn, and faster. All columns are answered or none.
        """
        low, high = check.value_range(low, high)
        found = exact_means(table, self.n, low, high)
        first = self._take(len(found))
        return tuple(self.answer_to(first + i, mean, low, high) for i, mean in enumerate(found))

    def answer_to(self, question: int, mean: Fraction, low: float, high: float) -> Answer:
        """Answer question number `question`, from 1, whose exact mean is known as a share of the range.

        For a caller that counts the questions itself, such as a guard's ledger: each number may be used once.
        """
        share = min(max(self.grid.value(self._noisy(question, mean)), 0.0), 1.0)
        value = min(max(low + (high - low) * share, low), high)
        # a few roundings of numbers no larger than the ends of the range
        half = up((high - low) * self.half_width, 4) + 4 * math.ulp(max(abs(low), abs(high)))
        return Answer(
            value,
            (max(value - half, low), min(value + half, high)),
            self.width.guarantee,
            self.cost(question),
            {"questions": self.questions - question},
        )

    @abstractmethod
    def _noisy(self, question: int, mean: Fraction) -> int:
        """The exact mean plus noise, as an index of the grid."""


__all__ = ["NoisyAnswers"]
