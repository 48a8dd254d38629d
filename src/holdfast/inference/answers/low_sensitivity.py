"""Statistics that are not means: low-sensitivity statistics, and minimisation over several candidates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from holdfast.accounting.costs import GDP
from holdfast.bounds.interval.mutual_information import minimisation
from holdfast.bounds.interval.posterior_shift import low_sensitivity
from holdfast.bounds.numerics.exact import up
from holdfast.core import arguments
from holdfast.data.values import column
from holdfast.errors import InvalidParameter
from holdfast.inference.answers.answerer import Answerer
from holdfast.mechanisms.answer import Answer
from holdfast.mechanisms.selection import Selection
from holdfast.noise.entropy import Source
from holdfast.noise.rounded_gaussian import fine_grid, rounded_gaussian


class LowSensitivityAnswers(Answerer):
    """Answers up to `questions` adaptively chosen statistics of sensitivity `c` with Gaussian noise.

    An interval is for the expected value of the statistic on `n` fresh rows. If the statistic is biased, that is not
    the value in the population. Typical uses are a trimmed mean, the loss of a fixed model, and a U-statistic. You must
    make sure that replacing any one row changes the statistic *as computed* by at most `c`, whatever the rows are. This
    cannot be checked here.

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
        """Half the length of every interval, in the unit of the statistics, rounding included."""
        return up(self.width.half_width + float(self.grid.step) / 2, 2)

    def sigma(self, question: int) -> float:
        """Return the noise scale of question number `question`, counted from 1."""
        return self.width.sigma_of(question)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that make this plan again."""
        return {
            "n": self.n,
            "questions": self.questions,
            "confidence": self.confidence,
            "sensitivity": self.sensitivity,
            "method": self._method,
        }

    def statistic(self, value: float, low: float = -math.inf, high: float = math.inf) -> Answer:
        """Answer a question about a statistic, given its exact value on the sample.

        Parameters
        ----------
        value : float
            The statistic on the sample. Secret: no error shows it.
        low, high : float
            Ends of its range, if it has any: answer and interval are kept inside.
        """
        low, high = arguments.real("low", low, infinite=True), arguments.real("high", high, infinite=True)
        if not low < high:
            raise InvalidParameter(f"low must be below high, got [{low:g}, {high:g}]")
        if isinstance(value, bool) or not isinstance(value, (int, float, np.floating, np.integer)):
            raise InvalidParameter("value must be a number")
        if not low <= value <= high or not math.isfinite(value):
            raise InvalidParameter("value must be a finite number in the declared range")
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


@dataclass(frozen=True)
class MinimisationAnswer(Answer):
    """A selected candidate. `choice` is its place, and its population loss is within `excess` of the smallest one.

    Examples
    --------
    >>> found = MinimisationAnswers(n=100_000, questions=10, candidates=50, confidence=0.95).minimise([0.9, 0.1, 0.8])
    >>> found.choice, round(found.excess, 3), found.value
    (1, 0.06, None)
    """

    choice: int = 0
    excess: float = math.inf

    def __str__(self) -> str:
        return f"candidate {self.choice}, within {self.excess:.6g} of the best ({self.guarantee.theorem})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return super().to_dict() | {"choice": self.choice, "excess": self.excess}


class MinimisationAnswers(Answerer):
    """Answers up to `questions` adaptively chosen questions that ask which candidate has the smallest loss.

    With probability `confidence`, the population loss of every chosen candidate is within `excess` of the smallest loss
    in its question. The exponential mechanism chooses, and only the place of the candidate is released. To learn its
    loss, ask another method.

    Parameters
    ----------
    n : int
        Rows of the sample.
    questions : int
        How many questions may be asked; one more is refused.
    candidates : int
        The largest number of candidates of a question.
    confidence : float
        Probability that all promises hold, in (0, 1).
    sensitivity : float
        How far replacing one row can move a loss; `1/n`, that of means of [0,1] losses, when not given.
    source : noise.Source, optional
        Where the randomness comes from; the operating system if not given. `noise.Seeded` for simulations only.

    Examples
    --------
    >>> answers = MinimisationAnswers(n=100_000, questions=10, candidates=50, confidence=0.95)
    >>> round(answers.excess, 3)
    0.06
    >>> print(answers.minimise([0.9, 0.1, 0.8]))
    candidate 1, within 0.0596926 of the best (interval.minimisation)
    """

    kind: ClassVar[str] = "minimisation"

    def __init__(
        self,
        n: int,
        questions: int,
        candidates: int,
        confidence: float,
        *,
        sensitivity: float | None = None,
        source: Source | None = None,
    ) -> None:
        super().__init__(n, questions, confidence, source)
        self.bound = minimisation(self.n, self.questions, candidates, self.beta, sensitivity)
        self.candidates = self.bound.candidates
        self._selection = Selection(
            self.bound.sensitivity, self.bound.epsilon, "exponential", grid=fine_grid(self.bound.sensitivity)
        )

    @property
    def excess(self) -> float:
        """How far the population loss of a chosen candidate can be above the smallest one, rounding included."""
        law = self._selection.law
        ideal = 2 * Fraction(self.bound.sensitivity) / Fraction(self.bound.epsilon)
        stretch = max(float(law.scale_steps * law.grid.step / ideal) - 1, 0.0)
        return up(self.bound.half_width * (1 + stretch) + 2 * float(law.grid.step), 8)

    def parameters(self) -> dict[str, Any]:
        """Return the arguments that make this plan again."""
        return {
            "n": self.n,
            "questions": self.questions,
            "candidates": self.candidates,
            "confidence": self.confidence,
            "sensitivity": self.bound.sensitivity,
        }

    def minimise(self, losses: npt.ArrayLike) -> MinimisationAnswer:
        """Choose a candidate whose loss is nearly the smallest, given the exact losses on the sample.

        Parameters
        ----------
        losses : array
            One number per candidate, the loss on the sample. Secret: no error shows them.
        """
        array = column(losses, "losses")
        if array.dtype.kind == "b" or not 1 <= array.size <= self.candidates:
            got = f"{array.size} of type {array.dtype}"
            raise InvalidParameter(f"losses must be a list of 1 to {self.candidates} numbers, got {got}")
        if not np.isfinite(array).all():
            raise InvalidParameter("losses must be finite")
        scores = -array.astype(np.float64)
        self._selection.law.grid.indices(scores)  # refuses numbers too large for the grid before anything is spent
        question = self._take()
        place = self._selection.release(scores, self._source)
        return MinimisationAnswer(
            None,
            None,
            self.bound.guarantee,
            self._selection.concentrated_cost,
            {"questions": self.questions - question},
            None,
            place,
            self.excess,
        )
