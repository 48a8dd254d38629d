"""From what rows add up to, to a score and its interval at any share: one small class a sort of metric."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.one_question.known_predictions import auc_known_scores, f1_known_predictions, unlike_rows
from holdfast.bounds.one_question.means import MEAN_FAMILIES, Side, clopper_pearson, two_sample_u
from holdfast.core.copying import NoCopy
from holdfast.data.statistics import UNIT
from holdfast.data.values import Summary
from holdfast.errors import GuaranteeUnavailable
from holdfast.guard.scoring.board import MEANS, Board
from holdfast.holdout.intervals.mean import ROOM, MeanInterval
from holdfast.holdout.intervals.procedure import OnRows
from holdfast.holdout.questions import Guess, MeanQuestion, check_procedure
from holdfast.holdout.transcript import Outcome

Measured = tuple[int, ...]


@dataclass(frozen=True, repr=False, eq=False)
class HiddenScore(NoCopy):
    """The score of the rows and its interval at a share. Secret: it has no repr and is not pickled.

    `sums` is what a mean is computed from.
    """

    _not_copied = "a score of hidden rows is not pickled"

    value: float
    ends: Callable[[float], tuple[float, float]]
    sums: Summary | None = None

    def __repr__(self) -> str:
        return "HiddenScore(secret)"


class Metric(ABC):
    """What is public about a board's metric on `n` rows."""

    description: str = ""

    def share(self, log_share: float) -> float:
        """The share that an interval is computed at."""
        return log_share

    def __init__(self, board: Board, n: int) -> None:
        self.board, self.n = board, n
        self.low, self.high = board.range

    @abstractmethod
    def read(self, measured: Measured) -> HiddenScore:
        """The score that the rows add up to. Secret."""

    @abstractmethod
    def check(self, found: HiddenScore, guess: float, tolerance: float | None, log_share: float) -> Outcome:
        """Check a guess of the score."""

    def require(self, guess: float, tolerance: float | None, log_share: float) -> None:
        """Raise where `check` would refuse this guess and tolerance, whatever the rows. Public."""
        self.tolerance(guess, tolerance, log_share)

    @abstractmethod
    def half_width(self, guess: float | None, log_share: float) -> float:
        """How near a guess can be certified at this share. Public."""

    @abstractmethod
    def tolerance(self, guess: float, tolerance: float | None, log_share: float) -> float:
        """How near a guess that stands is certified: by what was asked for, or the default. Public."""


class MeanMetric(Metric):
    """A mean of one bounded loss a row; accuracies are counts."""

    def __init__(self, board: Board, n: int) -> None:
        super().__init__(board, n)
        self.binary = board.metric == "accuracy"
        self.description = "clopper-pearson" if self.binary else "kl"
        self._question = MeanQuestion("score", "auto", None, self.low, self.high, self.binary, n)

    def share(self, log_share: float) -> float:
        """A hair less for counts: analysts may know rows that are not alike."""
        return unlike_rows(log_share) if self.binary else log_share

    @property
    def interval(self) -> MeanInterval:
        """The interval as a function of the mean."""
        return MeanInterval(MEAN_FAMILIES[self.description], self.n, self.low, self.high)

    def read(self, measured: Measured) -> HiddenScore:
        """The mean."""
        (total,) = measured
        if self.binary:
            sums = Summary(self.n, 0.0, 1.0, float(total), float(total), True)
        else:
            sums = Summary(self.n, self.low, self.high, self.high * (total / UNIT), math.nan, False)
        return HiddenScore(sums.mean, lambda share: self.interval.of(sums, share), sums)

    def check(self, found: HiddenScore, guess: float, tolerance: float | None, log_share: float) -> Outcome:
        """As `Check`: a pass shows the guess, a failure the mean's cell."""
        assert found.sums is not None
        return self._question.decide_check(found.sums, Guess(guess, tolerance, True), log_share)

    def require(self, guess: float, tolerance: float | None, log_share: float) -> None:
        """Check the guess against rows that are as far from it as rows can be: a refusal is the same for all rows."""
        far = 0 if 2 * guess > self.low + self.high else self.n * (1 if self.binary else UNIT)
        self.check(self.read((far,)), guess, tolerance, log_share)

    def half_width(self, guess: float | None, log_share: float) -> float:
        """At the guess, or in the middle of the range."""
        middle = (self.low + self.high) / 2
        return self._question.least_tolerance(middle if guess is None else guess, log_share)

    def tolerance(self, guess: float, tolerance: float | None, log_share: float) -> float:
        """As `Check`."""
        return self._question.tolerance(Guess(guess, tolerance, True), log_share)


class PairMetric(Metric):
    """A metric that is more than a mean: its interval depends on more than the score.

    Two intervals hold, each for its own reading of the truth: rows drawn with their predictions from a population, and
    labels drawn for rows that are known. The one that is shown holds both.
    """

    @abstractmethod
    def limits(self, measured: Measured) -> Callable[[float, Side], tuple[float, float]]:
        """The interval at a share, as a function of the share and the side. Secret."""

    @abstractmethod
    def likely(self, guess: float, log_share: float) -> tuple[float, float]:
        """The interval that a score at the guess would have if nothing were unusual about the classes. Public."""

    @abstractmethod
    def score(self, measured: Measured) -> float:
        """The score of the rows. Secret."""

    def read(self, measured: Measured) -> HiddenScore:
        """The score and its interval."""
        limits = OnRows(self.low, self.high, self.n, self.description, self.limits(measured))
        return HiddenScore(self.score(measured), limits.interval)

    def check(self, found: HiddenScore, guess: float, tolerance: float | None, log_share: float) -> Outcome:
        """A pass shows the guess, a failure both ends, rounded outward."""
        room = self.tolerance(guess, tolerance, log_share)
        limits = partial(_both_ends, found)
        procedure = OnRows(self.low, self.high, self.n, self.description, limits, found.value)
        return check_procedure(procedure, Guess(guess, room, True), log_share, room, self.description)

    def half_width(self, guess: float | None, log_share: float) -> float:
        """At the guess, for classes that are nothing unusual; how large they are is not known before the rows."""
        at = (self.low + self.high) / 2 if guess is None else guess
        lower, upper = self.likely(at, log_share)
        return max(at - lower, upper - at)

    def tolerance(self, guess: float, tolerance: float | None, log_share: float) -> float:
        """What was asked for, or twice what classes of ordinary sizes give."""
        near = self.half_width(guess, log_share)
        if near >= (self.high - self.low) / 2:
            raise GuaranteeUnavailable(
                f"{self.n} rows do not settle a guess of this metric to half its range at this point of the run, not "
                "even with classes of ordinary sizes; nothing was spent"
            )
        return ROOM * near if tolerance is None else tolerance


def _both_ends(found: HiddenScore, log_share: float, _: Side) -> tuple[float, float]:
    return found.ends(log_share)


class Area(PairMetric):
    """The area under the ROC curve."""

    description = "AUC (two-sample U-statistic, and known scores)"

    def score(self, measured: Measured) -> float:
        """The share of pairs in the right order; 1/2 where a class has no row."""
        zeros, ones = _classes(measured)
        return _area(zeros, ones)

    def limits(self, measured: Measured) -> Callable[[float, Side], tuple[float, float]]:
        """Both readings; nothing is said where a class has no row."""
        zeros, ones = _classes(measured)
        n_ones, n_zeros, value = int(ones.sum()), int(zeros.sum()), _area(zeros, ones)
        all_ = (zeros + ones).astype(np.float64)
        ranks = np.cumsum(all_) - all_ + (all_ - 1) / 2
        away = np.abs(ranks / max(1, self.n - 1) - 0.5)
        distance = min(0.5, float(all_ @ away) / self.n * (1 + 1e-12))
        square = min(0.25, float(all_ @ (away * away)) / self.n * (1 + 1e-12))

        def ends(log_share: float, side: Side) -> tuple[float, float]:
            if n_ones == 0 or n_zeros == 0:
                return 0.0, 1.0
            drawn = two_sample_u(value, n_ones, n_zeros, log_share, side)
            known = auc_known_scores(value, n_ones, n_zeros, log_share, side, distance, square)
            return min(drawn.low, known.low), max(drawn.high, known.high)

        return ends

    def likely(self, guess: float, log_share: float) -> tuple[float, float]:
        """Half of the rows positive, and all scores different."""
        half = max(1, self.n // 2)
        drawn, known = two_sample_u(guess, half, half, log_share), auc_known_scores(guess, half, half, log_share)
        return min(drawn.low, known.low), max(drawn.high, known.high)


class F1(PairMetric):
    """The F1 score."""

    description = "F1 (Clopper-Pearson given the rows that count, and known predictions)"

    def score(self, measured: Measured) -> float:
        """The score of the rows; 0 where no row is positive or predicted so."""
        predicted, hits, missed = measured
        return 2 * hits / (hits + missed + predicted) if predicted + missed else 0.0

    def limits(self, measured: Measured) -> Callable[[float, Side], tuple[float, float]]:
        """Both readings."""
        predicted, hits, missed = measured
        counted = predicted + missed

        def ends(log_share: float, side: Side) -> tuple[float, float]:
            if counted == 0:
                return 0.0, 1.0
            jaccard = clopper_pearson(hits, counted, log_share, side)
            drawn = [2 * end / (1 + end) for end in jaccard]
            known = f1_known_predictions(hits, missed, predicted, self.n, log_share, side)
            return min(drawn[0], known.low) - 1e-15, max(drawn[1], known.high) + 1e-15

        return ends

    def likely(self, guess: float, log_share: float) -> tuple[float, float]:
        """A quarter of the rows predicted positive, and precision equal to recall."""
        predicted = max(1, self.n // 4)
        hits = round(guess * predicted)
        missed = min(predicted - hits, self.n - predicted)
        return self.limits((predicted, hits, missed))(log_share, "both")


def _classes(measured: Measured) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of either class at each score, scores rising."""
    half = len(measured) // 2
    counts = np.array(measured, dtype=np.int64)
    return counts[:half], counts[half:]


def _area(zeros: NDArray[np.int64], ones: NDArray[np.int64]) -> float:
    """The mean over all pairs, from whole numbers; 1/2 where there is no pair."""
    pairs = int(ones.sum()) * int(zeros.sum())
    if pairs == 0:
        return 0.5
    below = np.cumsum(zeros) - zeros
    some = np.flatnonzero(ones)
    twice = 2 * below[some] + zeros[some]
    if 2 * pairs < 2**62:
        return int((ones[some] * twice).sum()) / (2 * pairs)
    return sum(map(int.__mul__, ones[some].tolist(), twice.tolist())) / (2 * pairs)


def metric_of(board: Board, n: int) -> Metric:
    """The metric of a board over `n` rows.

    Examples
    --------
    >>> board = Board("b", key="id", label="y", metric="f1")
    >>> round(metric_of(board, 10_000).half_width(0.8, -10.0), 2)
    0.04
    """
    if board.metric in MEANS:
        return MeanMetric(board, n)
    return Area(board, n) if board.metric == "auc" else F1(board, n)
