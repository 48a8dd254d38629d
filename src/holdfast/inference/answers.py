"""Answers to many adaptively chosen means: noise from the plan, one simultaneous interval, a refusal at the end."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, Literal

from holdfast import check
from holdfast.accounting.costs import GDP, Cost
from holdfast.bounds import interval
from holdfast.bounds.exact import up
from holdfast.bounds.interval.width import Width
from holdfast.data.values import Rows
from holdfast.inference.answerer import Answerer, declared_range
from holdfast.inference.exact_mean import VALUE_ERROR, exact_mean, exact_means
from holdfast.mechanisms.answer import Answer
from holdfast.noise.entropy import Source
from holdfast.noise.grid import Grid
from holdfast.noise.rounded_gaussian import rounded_gaussian

GaussianMethod = Literal[
    "best", "scheduled", "posterior-shift", "jung", "bns", "russo-zou-kl", "russo-zou", "xu-raginsky", "dfh"
]
_GAUSSIAN: dict[str, Callable[..., Width]] = {
    "scheduled": interval.scheduled,
    "posterior-shift": interval.posterior_shift,
    "jung": interval.jung,
    "bns": interval.bns,
    "russo-zou-kl": interval.russo_zou_kl,
    "russo-zou": interval.russo_zou,
    "xu-raginsky": interval.xu_raginsky,
    "dfh": interval.dfh,
}
#: The grid has this many halvings below the smallest scale: rounding adds less than a millionth of it.
_FINE = 20


class NoisyAnswers(Answerer):
    """What Gaussian and Laplace answerers share: scale to [0, 1], add noise, clip, scale back."""

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
        question = check.whole("question", question, at_least=1, at_most=self.questions)
        return self.width.sigma if self.width.schedule is None else self.width.schedule.sigma(question)

    def cost(self, question: int) -> Cost:
        """What question number `question` spends, for a ledger; neighbours replace one row."""
        raise NotImplementedError

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
        low, high = declared_range(low, high)
        mean = exact_mean(values, self.n, low, high)
        return self._answer(self._take(), mean, low, high)

    def means(self, table: Any, low: float = 0.0, high: float = 1.0) -> tuple[Answer, ...]:
        """Answer the means of several functions chosen together: one column of `table` each.

        The same as `mean` of each column in turn, and faster. All columns are answered or none.
        """
        low, high = declared_range(low, high)
        found = exact_means(table, self.n, low, high)
        first = self._take(len(found))
        return tuple(self._answer(first + i, mean, low, high) for i, mean in enumerate(found))

    def _answer(self, question: int, mean: Fraction, low: float, high: float) -> Answer:
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

    def _noisy(self, question: int, mean: Fraction) -> int:
        """The exact mean plus noise, as an index of the grid."""
        raise NotImplementedError


class GaussianAnswers(NoisyAnswers):
    """Answers up to `questions` adaptively chosen means of `n` rows with Gaussian noise.

    With probability `confidence` every interval holds, whatever the analyst does with the answers, as long as rows are
    independent and nothing else computed from them reaches the analyst. The noise scale, or a falling schedule of them,
    is fixed by the plan. Noise is a real Gaussian number rounded to a grid (`noise.rounded_gaussian`), as the theorems
    need; the rounding is in the half-width.

    Parameters
    ----------
    n : int
        Rows of the sample.
    questions : int
        How many questions may be asked; one more is refused.
    confidence : float
        Probability that all intervals hold, in (0, 1).
    method : str
        "best" (default): the smaller of "scheduled" (Theorem B) and "posterior-shift" (Theorem A, constant noise).
        The others are the published bounds in their best valid form, for comparison.
    source : noise.Source, optional
        Where the randomness comes from; the operating system if not given. `noise.Seeded` for simulations only.

    Examples
    --------
    >>> answers = GaussianAnswers(n=100_000, questions=1000, confidence=0.95)
    >>> round(answers.half_width, 4), answers.method
    (0.0497, 'interval.scheduled')
    >>> import numpy as np
    >>> answer = answers.mean(np.arange(100_000) % 4 == 0)
    >>> answer.interval[0] < 0.25 < answer.interval[1], answer.remaining
    (True, {'questions': 999})
    >>> GaussianAnswers(n=100_000, questions=1000, confidence=95)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: confidence must be a number in (0, 1), got 95
    """

    kind: ClassVar[str] = "gaussian"

    def __init__(
        self,
        n: int,
        questions: int,
        confidence: float,
        *,
        method: GaussianMethod = "best",
        source: Source | None = None,
    ) -> None:
        super().__init__(n, questions, confidence, source)
        self._method = check.choice("method", method, ("best", *_GAUSSIAN))
        names = ("scheduled", "posterior-shift") if self._method == "best" else (self._method,)
        widths = [_GAUSSIAN[name](self.n, self.questions, self.beta) for name in names]
        self.width = min(widths, key=lambda width: width.half_width)
        scales = self.width.schedule.scales if self.width.schedule is not None else (self.width.sigma,)
        self.grid = Grid(math.frexp(min(scales))[1] - 1 - _FINE)

    def parameters(self) -> dict[str, Any]:
        """The arguments that make this plan again."""
        return {"n": self.n, "questions": self.questions, "confidence": self.confidence, "method": self._method}

    def cost(self, question: int) -> GDP:
        """`1/(n sigma)`-Gaussian differential privacy: the noise is a real Gaussian, rounded afterwards."""
        return GDP(up(1 / (self.n * self.sigma(question)), 4))

    def _noisy(self, question: int, mean: Fraction) -> int:
        return rounded_gaussian(Fraction(self.sigma(question)), self.grid, mean=mean, source=self._source)


__all__ = ["GaussianAnswers", "GaussianMethod", "NoisyAnswers"]
