"""An answerer of the library behind the door of the simulations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from holdfast.errors import BudgetExhausted
from holdfast.experiments.answerers.base import Answerer, Reply, Values
from holdfast.mechanisms.answer import Answer


class Wrapped(Answerer):
    """Turns `Answer` into `Reply`, an exhausted budget or bottom into a refusal, and counts the guesses that failed.

    Parameters
    ----------
    question : callable
        `question(values, guess)` returns an `Answer`.
    needs_guess : bool
        Whether it looks at the guess.
    most_failures : int, optional
        How many guesses may fail.
    tells_best : bool
        Whether an answer is about the best question so far.
    tolerance : callable, optional
        How far a guess may be off at the next question, where the analyst is told.

    Examples
    --------
    >>> from holdfast.inference import GaussianAnswers
    >>> answers = GaussianAnswers(1000, 1, 0.95)
    >>> wrapped = Wrapped(lambda values, guess: answers.mean(values))
    >>> wrapped.ask(np.ones(1000, dtype=bool), 0.5) is None, wrapped.ask(np.ones(1000, dtype=bool), 0.5) is None
    (False, True)
    """

    def __init__(
        self,
        question: Callable[[Values, float], Answer],
        *,
        needs_guess: bool = False,
        most_failures: int | None = None,
        tells_best: bool = False,
        tolerance: Callable[[], float] | None = None,
    ) -> None:
        self._question = question
        self._tolerance = tolerance
        self.needs_guess = needs_guess
        self.most_failures = most_failures
        self.tells_best = tells_best
        self.failures = 0

    def ask(self, values: Values, guess: float) -> Reply | None:
        """The answer; None once the budget is spent."""
        try:
            answer = self._question(values, guess)
        except BudgetExhausted:
            return None
        if answer.value is None and answer.passed is None:  # bottom
            return None
        passed = answer.passed if self.needs_guess else None
        self.failures += passed is False
        return Reply(np.nan if answer.value is None else answer.value, answer.interval, passed)

    @property
    def tolerance(self) -> float | None:
        """How far a guess may be off at the next question."""
        return None if self._tolerance is None else self._tolerance()


__all__ = ["Wrapped"]
