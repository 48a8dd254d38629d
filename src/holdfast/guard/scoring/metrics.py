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
from holdfast.bounds.one_question.means import MEAN_FAMILIES, Side, clopper_pearson, kl, two_sample_u
from holdfast.core.copying import NoCopy
from holdfast.data.statistics import UNIT
from holdfast.data.values import Summary
from holdfast.errors import GuaranteeUnavailable
from holdfast.guard.scoring.board import MEANS, Board
from holdfast.holdout.intervals.mean import ROOM, MeanInterval
from holdfast.holdout.intervals.procedure import OnRows
from holdfast.holdout.metrics.means import ratio_of_means
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
    drawn: bool = False
    """Whether its interval holds for rows that are drawn from one population only, and not for known rows."""

    def share(self, log_share: float) -> float:
        """Return the share that an interval is computed at."""
        return log_share

    def __init__(self, board: Board, n: int) -> None:
        self.board, self.n = board, n
        self.low, self.high = board.range

    @abstractmethod
    def read(self, measured: Measured) -> HiddenScore:
        """Return the score that the rows add up to. Secret."""

    @abstractmethod
    def check(self, found: HiddenScore, guess: float, tolerance: float | None, log_share: float) -> Outcome:
        """Check a guess of the score."""

    def require(self, guess: float, tolerance: float | None, log_share: float) -> None:
        """Raise where `check` would refuse this guess and tolerance, whatever the rows. Public."""
        self.tolerance(guess, tolerance, log_share)

    @abstractmethod
    def half_width(self, guess: float | None, log_share: float) -> float:
        """Return how near a guess can be certified at this share. Public."""

    @abstractmethod
    def tolerance(self, guess: float, tolerance: float | None, log_share: float) -> float:
        """Return how near a guess that passes is certified: by what was asked for, or the default. Public."""


class MeanMetric(Metric):
    """A mean of one bounded loss a row; accuracies are counts."""

    def __init__(self, board: Board, n: int) -> None:
        super().__init__(board, n)
        self.binary = board.counts
        self.description = "clopper-pearson" if self.binary else "kl"
        self._question = MeanQuestion("score", "auto", None, self.low, self.high, self.binary, n)

    def share(self, log_share: float) -> float:
        """Return a hair less for counts: analysts may know rows that are not alike."""
        return unlike_rows(log_share) if self.binary else log_share

    @property
    def interval(self) -> MeanInterval:
        """The interval as a function of the mean."""
        return MeanInterval(MEAN_FAMILIES[self.description], self.n, self.low, self.high)

    def read(self, measured: Measured) -> HiddenScore:
        """Return the mean."""
        (total,) = measured
        if self.binary:
            sums = Summary(self.n, 0.0, 1.0, float(total), float(total), True)
        else:
            value = self.n * self.low + (self.high - self.low) * (total / UNIT)
            sums = Summary(self.n, self.low, self.high, value, math.nan, False)
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
        """Return the interval at a share, as a function of the share and the side. Secret."""

    @abstractmethod
    def likely(self, guess: float, log_share: float) -> tuple[float, float]:
        """The interval that a score at the guess would have if nothing were unusual about the classes. Public."""

    @abstractmethod
    def score(self, measured: Measured) -> float:
        """Return the score of the rows. Secret."""

    def read(self, measured: Measured) -> HiddenScore:
        """Return the score and its interval."""
        rows = self.procedure(measured)
        return HiddenScore(self.score(measured), rows.interval)

    def procedure(self, measured: Measured) -> OnRows:
        """Return the score with its interval at any share. Secret."""
        limits, value = self.limits(measured), self.score(measured)
        return OnRows(self.low, self.high, self.n, self.description, limits, value)

    def check(self, found: HiddenScore, guess: float, tolerance: float | None, log_share: float) -> Outcome:
        """Return a pass shows the guess, a failure both ends, rounded outward."""
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
        """Return what was asked for, or twice what classes of ordinary sizes give."""
        near = self.half_width(guess, log_share)
        if near >= (self.high - self.low) / 2:
            raise GuaranteeUnavailable(
                f"at this point of the run, {self.n} rows are too few to check a guess of this metric even to within "
                "half of its range; nothing was spent"
            )
        return ROOM * near if tolerance is None else tolerance


def _both_ends(found: HiddenScore, log_share: float, _: Side) -> tuple[float, float]:
    return found.ends(log_share)


class Area(PairMetric):
    """The area under the ROC curve."""

    description = "AUC (two-sample U-statistic, and known scores)"

    def score(self, measured: Measured) -> float:
        """Return the share of pairs in the right order; 1/2 where a class has no row."""
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
        """Return the score of the rows; 0 where no row is positive or predicted so."""
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
        """Return a quarter of the rows predicted positive, and precision equal to recall."""
        predicted = max(1, self.n // 4)
        hits = round(guess * predicted)
        missed = min(predicted - hits, self.n - predicted)
        return self.limits((predicted, hits, missed))(log_share, "both")


class RootError(PairMetric):
    """The root of the mean squared error: that of the ends of the mean's interval."""

    description = "RMSE (root of a KL interval)"

    def score(self, measured: Measured) -> float:
        """Return the root of the mean."""
        return self.high * math.sqrt(measured[0] / (UNIT * self.n))

    def limits(self, measured: Measured) -> Callable[[float, Side], tuple[float, float]]:
        """Return the root is monotone."""
        mean = measured[0] / (UNIT * self.n)

        def ends(log_share: float, side: Side) -> tuple[float, float]:
            interval = kl(mean, self.n, log_share, side=side)
            hair = 1e-9 * self.high
            return self.high * math.sqrt(interval.low) - hair, self.high * math.sqrt(interval.high) + hair

        return ends

    def likely(self, guess: float, log_share: float) -> tuple[float, float]:
        """Of a mean squared error that is the guess squared."""
        return self.limits((round(UNIT * self.n * (guess / self.high) ** 2),))(log_share, "both")


class Determined(PairMetric):
    """The coefficient of determination by its parts: squared error, mean and second moment, a third of the share each.

    Below -1 it counts as -1, so that it is bounded.
    """

    description = "R2 (its parts by KL intervals)"
    drawn = True

    def score(self, measured: Measured) -> float:
        """One less the squared error as a part of the variance."""
        error, mean, second = (one / (UNIT * self.n) for one in measured)
        variance = second - (2 * mean - 1) ** 2  # in units of a quarter of the squared range
        return max(-1.0, 1 - 4 * error / variance) if variance > 0 else -1.0

    def limits(self, measured: Measured) -> Callable[[float, Side], tuple[float, float]]:
        """From an interval of each part; nothing is said where the variance may be 0."""
        parts = [one / (UNIT * self.n) for one in measured]

        def ends(log_share: float, _: Side) -> tuple[float, float]:
            third = log_share - math.log(3)
            error, mean, second = (kl(min(1.0, one), self.n, third) for one in parts)
            off = sorted((abs(2 * mean.low - 1), abs(2 * mean.high - 1)))
            nearest = 0.0 if mean.low <= 0.5 <= mean.high else off[0]
            least, most = second.low - off[1] ** 2, second.high - nearest**2
            lower = -1.0 if least <= 0 else max(-1.0, 1 - 4 * error.high / least)
            upper = 1.0 if most <= 0 else max(-1.0, 1 - 4 * error.low / most)
            return max(-1.0, lower - 1e-8), min(1.0, upper + 1e-8)

        return ends

    def likely(self, guess: float, log_share: float) -> tuple[float, float]:
        """Labels that are spread evenly over the range."""
        parts = min(1.0, (1 - guess) / 12), 0.5, 1 / 3
        sums = tuple(round(UNIT * self.n * one) for one in parts)
        return self.limits(sums)(log_share, "both")


class Quotients(PairMetric):
    """The ratio of two means of expressions."""

    description = "ratio of means (KL)"

    def score(self, measured: Measured) -> float:
        """Return the ratio of the sums; the least score where the denominator is 0."""
        over, below = measured
        return self.low + (self.high - self.low) * over / below if below else self.low

    def limits(self, measured: Measured) -> Callable[[float, Side], tuple[float, float]]:
        """Those of `holdfast.holdout.metrics.ratio`, which needs the two means alone."""
        over, below = measured
        return ratio_of_means(over / (UNIT * self.n), below / (UNIT * self.n), self.n, self.low, self.high)

    def likely(self, guess: float, log_share: float) -> tuple[float, float]:
        """Denominators of half their largest value."""
        part = (guess - self.low) / (self.high - self.low)
        sums = round(UNIT * self.n * part / 2), round(UNIT * self.n / 2)
        return self.limits(sums)(log_share, "both")


class OfClasses(PairMetric):
    """A metric of the square of counts: rows of each class that are predicted as each; the last are other labels."""

    drawn = True

    @property
    def count(self) -> int:
        """How many classes are declared."""
        return len(self.board.classes or ())

    def square(self, measured: Measured) -> NDArray[np.int64]:
        """Return the counts, one line an actual class."""
        return np.array(measured, dtype=np.int64).reshape(self.count + 1, self.count + 1)

    def likely(self, guess: float, log_share: float) -> tuple[float, float]:
        """Classes of one size, and errors that go evenly to all others."""
        many = self.count
        right = guess + (1 - guess) / many if self.low < 0 else guess
        rows = max(1, self.n // many)
        square = np.zeros((many + 1, many + 1), dtype=np.int64)
        for i in range(many):
            square[i, i] = round(right * rows)
            square[i, (i + 1) % many] += rows - square[i, i]
        return self.limits(tuple(square.ravel().tolist()))(log_share, "both")


class BalancedAccuracy(OfClasses):
    """The mean of the classes' recalls: the narrower of two intervals, each at half of the share.

    Given the actual classes of the rows, the score is a sum of independent terms, those of class `k` in
    `[0, 1/(K n_k)]` (Hoeffding 1963, Theorem 2); and each recall is a share of its class's rows (Clopper-Pearson). A
    class without rows may have any recall.
    """

    description = "balanced accuracy (Hoeffding and Clopper-Pearson, given the classes)"

    def score(self, measured: Measured) -> float:
        """Return the mean over the classes that have rows."""
        square = self.square(measured)
        rows = square[:-1].sum(axis=1)
        right = np.diag(square)[:-1]
        some = rows > 0
        return float((right[some] / rows[some]).mean()) if some.any() else 0.0

    def limits(self, measured: Measured) -> Callable[[float, Side], tuple[float, float]]:
        """Both, intersected."""
        square, many = self.square(measured), self.count
        pairs = [(int(square[i, i]), int(square[i].sum())) for i in range(many)]
        some = [(right, rows) for right, rows in pairs if rows]
        middle = math.fsum(right / rows for right, rows in some) / many
        spread = math.sqrt(math.fsum(1 / rows for _, rows in some)) / many
        absent = (many - len(some)) / many

        def ends(log_share: float, side: Side) -> tuple[float, float]:
            half = log_share - math.log(2)
            tail = half - (math.log(2) if side == "both" else 0.0)
            away = spread * math.sqrt(-tail / 2) * (1 + 1e-12)
            each = [clopper_pearson(right, rows, half - math.log(many), side) for right, rows in some]
            low = max(middle - away, math.fsum(one.low for one in each) / many - 1e-12)
            high = min(middle + away, math.fsum(one.high for one in each) / many + 1e-12) + absent
            return 0.0 if side == "upper" else max(0.0, low), 1.0 if side == "lower" else min(1.0, high)

        return ends


class MacroF1(OfClasses):
    """The mean of the classes' F1: each is a function of a share of the rows that are of the class or predicted so."""

    description = "macro F1 (Clopper-Pearson for each class, given the rows that count)"

    def _counts(self, measured: Measured) -> list[tuple[int, int]]:
        square = self.square(measured)
        right, rows, named = np.diag(square), square.sum(axis=1), square.sum(axis=0)
        return [(int(right[i]), int(rows[i] + named[i] - right[i])) for i in range(self.count)]

    def score(self, measured: Measured) -> float:
        """Return the mean of `2 J / (1 + J)`; 0 for a class that is nowhere."""
        shares = [right / counted if counted else 0.0 for right, counted in self._counts(measured)]
        return math.fsum(2 * share / (1 + share) for share in shares) / self.count

    def limits(self, measured: Measured) -> Callable[[float, Side], tuple[float, float]]:
        """Return all classes at once, each at its part of the share."""
        counts, many = self._counts(measured), self.count

        def ends(log_share: float, side: Side) -> tuple[float, float]:
            each = log_share - math.log(many)
            shares = [clopper_pearson(*pair, each, side)[:2] if pair[1] else (0.0, 1.0) for pair in counts]
            low, high = (math.fsum(2 * one[end] / (1 + one[end]) for one in shares) / many for end in (0, 1))
            return max(0.0, low - 1e-12), min(1.0, high + 1e-12)

        return ends


class Kappa(OfClasses):
    """Cohen's kappa by its parts, half of the share each: agreement, and agreement by chance.

    That label and prediction of two different rows agree is a U-statistic of order two with values in [0, 1], so
    Hoeffding's bound (1963, section 5b) holds with half as many rows. Kappa rises in the first part and falls in the
    second. The score that is shown has agreement by chance from all pairs of rows, each with itself included, as Cohen
    (1960) defines it and as is usual; the two differ by at most one part in the number of rows.
    """

    description = "kappa (Clopper-Pearson, and Hoeffding's bound of a U-statistic)"

    def _parts(self, measured: Measured) -> tuple[int, float]:
        square = self.square(measured)
        agree = int(np.diag(square)[:-1].sum())
        rows, named = square.sum(axis=1)[:-1], square.sum(axis=0)[:-1]
        pairs = int((rows.astype(object) * named.astype(object)).sum()) - agree
        return agree, pairs / max(1, self.n * (self.n - 1))

    def score(self, measured: Measured) -> float:
        """The usual one; 0 where chance alone would agree everywhere."""
        square = self.square(measured)
        agree = int(np.diag(square)[:-1].sum())
        rows, named = square.sum(axis=1)[:-1], square.sum(axis=0)[:-1]
        by_chance = int((rows.astype(object) * named.astype(object)).sum())
        left = self.n**2 - by_chance
        return (self.n * agree - by_chance) / left if left else 0.0

    def limits(self, measured: Measured) -> Callable[[float, Side], tuple[float, float]]:
        """From both parts; the score is in it, on however few rows."""
        agree, chance = self._parts(measured)
        value = self.score(measured)

        def ends(log_share: float, _: Side) -> tuple[float, float]:
            half = log_share - math.log(2)
            near = clopper_pearson(agree, self.n, half)
            away = math.sqrt((math.log(2) - half) / (2 * max(1, self.n // 2))) * (1 + 1e-12)
            low, high = max(0.0, chance - away), min(1.0, chance + away)
            upper = 1.0 if low >= 1 else 1 - (1 - near.high) / (1 - low)
            lower = -1.0 if high >= 1 else 1 - (1 - near.low) / (1 - high)
            return max(-1.0, min(lower, value)), max(-1.0, value, min(1.0, upper))

        return ends


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
    """Return the metric of a board over `n` rows.

    Examples
    --------
    >>> board = Board("b", key="id", label="y", metric="f1")
    >>> round(metric_of(board, 10_000).half_width(0.8, -10.0), 2)
    0.04
    """
    if board.metric in MEANS:
        return MeanMetric(board, n)
    pairs: dict[str, type[PairMetric]] = {
        "auc": Area,
        "f1": F1,
        "rmse": RootError,
        "r2": Determined,
        "ratio": Quotients,
        "balanced-accuracy": BalancedAccuracy,
        "macro-f1": MacroF1,
        "kappa": Kappa,
    }
    return pairs[board.metric](board, n)
