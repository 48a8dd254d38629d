"""What a simulated analyst talks to: one question in, one reply out, whatever stands behind it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from holdfast.bounds.numerics.exact import left_to_chance
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

Values = npt.NDArray[Any]
"""One number in [0, 1] a row; arrays of bool are the fast case."""


def sample_mean(values: Values) -> float:
    """Return the mean of the values, by counting where they are of type bool.

    Examples
    --------
    >>> sample_mean(np.array([True, False])), sample_mean(np.array([0.25, 0.75]))
    (0.5, 0.5)
    """
    return int(np.count_nonzero(values)) / values.size if values.dtype == np.bool_ else float(np.mean(values))


class Reply(NamedTuple):
    """What an analyst is told: a value, the interval it comes with, and whether the guess passed.

    `interval` is None when nothing is claimed, `passed` None when a question cannot fail. A refusal is no reply at
    all, but None.
    """

    value: float
    interval: tuple[float, float] | None = None
    passed: bool | None = None


@dataclass(frozen=True)
class Design:
    """What is fixed before the first question: rows, questions, how many may fail, and the confidence.

    Examples
    --------
    >>> Design(n=1000, questions=100).beta
    0.05
    """

    n: int
    questions: int
    failures: int = 10
    confidence: float = 0.95

    def __post_init__(self) -> None:
        arguments.whole("n", self.n, at_least=2, at_most=10**9)
        arguments.whole("questions", self.questions, at_least=2, at_most=10**7)
        arguments.whole("failures", self.failures, at_least=1, at_most=10**7)
        if self.failures > self.questions:
            raise InvalidParameter(
                f"failures must be at most the number of questions, {self.questions}, got {self.failures}"
            )
        arguments.probability("confidence", self.confidence)

    @property
    def beta(self) -> float:
        """The failure probability, for all answers at once."""
        return left_to_chance(self.confidence)


class Answerer(ABC):
    """Answers questions about one sample that it never shows.

    Attributes
    ----------
    needs_guess : bool
        Whether it looks at the guess. A simulation makes a training sample only for those that do.
    failures : int
        How many guesses it has refuted so far.
    most_failures : int, optional
        How many it will refute at most, where there is a limit.
    tells_best : bool
        Whether a reply is about the best question so far and not about this one, as on a leaderboard.
    """

    needs_guess: bool = False
    failures: int = 0
    most_failures: int | None = None
    tells_best: bool = False

    @abstractmethod
    def ask(self, values: Values, guess: float) -> Reply | None:
        """Answer one question, given as its value on every row; None is a refusal."""

    def ask_many(self, values: Values, guesses: Sequence[float] | npt.NDArray[np.float64]) -> list[Reply | None]:
        """Answer several questions that were fixed together, one a row of `values`, in that order."""
        return [self.ask(row, float(guess)) for row, guess in zip(values, guesses, strict=True)]

    @property
    def tolerance(self) -> float | None:
        """How far a guess may be from the sample before it fails, where the analyst is told; otherwise None."""
        return None
