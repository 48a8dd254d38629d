"""From what rows add up to, to a score and its interval at any share: one small class a sort of metric."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.data.statistics import UNIT
from holdfast.data.values import Summary
from holdfast.guard.scoring.board import MEANS, Board
from holdfast.holdout.decisions import Guess
from holdfast.holdout.families import MEAN_FAMILIES
from holdfast.holdout.mean_interval import MeanInterval
from holdfast.holdout.mean_question import MeanQuestion
from holdfast.holdout.transcript import Outcome

Measured = tuple[int, ...]


@dataclass(frozen=True, repr=False, eq=False)
class Score:
    """The score of the rows and its interval at a share. Secret: it has no repr and is not pickled.

    `sums` is what a mean is computed from.
    """

    value: float
    ends: Callable[[float], tuple[float, float]]
    sums: Summary | None = None

    def __repr__(self) -> str:
        return "Score(secret)"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a score of hidden rows is not pickled")


class Metric(ABC):
    """What is public about a board's metric on `n` rows."""

    description: str = ""

    def __init__(self, board: Board, n: int) -> None:
        self.board, self.n = board, n
        self.low, self.high = board.range

    @abstractmethod
    def read(self, measured: Measured) -> Score:
        """The score that the rows add up to. Secret."""

    @abstractmethod
    def check(self, found: Score, guess: float, tolerance: float | None, log_share: float) -> Outcome:
        """Check a guess of the score."""

    @abstractmethod
    def half_width(self, guess: float | None, log_share: float) -> float:
        """How near a guess can be certified at this share. Public."""


class MeanMetric(Metric):
    """A mean of one bounded loss a row; accuracies are counts."""

    def __init__(self, board: Board, n: int) -> None:
        super().__init__(board, n)
        self.binary = board.metric == "accuracy"
        self.description = "clopper-pearson" if self.binary else "kl"
        self._question = MeanQuestion("score", "auto", None, self.low, self.high, self.binary, n)

    def interval(self, log_share: float) -> MeanInterval:
        """The interval as a function of the mean."""
        return MeanInterval(MEAN_FAMILIES[self.description], self.n, self.low, self.high)

    def read(self, measured: Measured) -> Score:
        """The mean."""
        (total,) = measured
        if self.binary:
            sums = Summary(self.n, 0.0, 1.0, float(total), float(total), True)
        else:
            sums = Summary(self.n, self.low, self.high, self.high * (total / UNIT), math.nan, False)
        return Score(sums.mean, lambda share: self.interval(share).of(sums, share), sums)

    def check(self, found: Score, guess: float, tolerance: float | None, log_share: float) -> Outcome:
        """As `Check`: a pass shows the guess, a failure the mean's cell."""
        assert found.sums is not None
        return self._question.decide_check(found.sums, Guess(guess, tolerance, True), log_share)

    def half_width(self, guess: float | None, log_share: float) -> float:
        """At the guess, or in the middle of the range."""
        middle = (self.low + self.high) / 2
        return self._question.least_tolerance(middle if guess is None else guess, log_share)


def metric_of(board: Board, n: int) -> Metric:
    """The metric of a board over `n` rows."""
    assert board.metric in MEANS
    return MeanMetric(board, n)


__all__ = ["MeanMetric", "Metric", "Score", "metric_of"]
