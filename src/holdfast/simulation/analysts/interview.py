"""The record of one analysis: every question's truth, what was told, and where the interval missed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from holdfast.simulation.answerers.base import Answerer, Design, Reply, Values, sample_mean

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Run:
    """One finished analysis. Arrays have one entry per question asked; a refused question has NaN for its value.

    Attributes
    ----------
    truth : array
        Population mean of every question, exact by construction; on a leaderboard the largest so far.
    sample : array
        Mean on the guarded rows. No analyst sees it; monitors and tests do.
    value, low, high : array
        The replies and their intervals; NaN where nothing was told or claimed.
    failures : int
        How many guesses the method refuted.
    extra : mapping
        What this analyst measures besides, such as the share of bits recovered.
    """

    truth: Floats
    sample: Floats
    value: Floats
    low: Floats
    high: Floats
    failures: int
    extra: dict[str, float]

    @property
    def asked(self) -> int:
        """How many questions were put."""
        return self.truth.size

    @property
    def answered(self) -> int:
        """How many of them got an answer."""
        return int(np.count_nonzero(~np.isnan(self.value)))

    @property
    def refused(self) -> int:
        """How many got none."""
        return self.asked - self.answered

    @cached_property
    def errors(self) -> Floats:
        """Distance between each answer and the truth; NaN where refused."""
        return np.abs(self.value - self.truth)

    @property
    def worst(self) -> float:
        """The largest error of an answer, 0 if nothing was answered."""
        return float(np.nanmax(self.errors)) if self.answered else 0.0

    @property
    def mean_error(self) -> float:
        """The mean error of the answers, 0 if nothing was answered."""
        return float(np.nanmean(self.errors)) if self.answered else 0.0

    @cached_property
    def violations(self) -> npt.NDArray[np.intp]:
        """Which questions have an interval that misses their truth."""
        return np.flatnonzero((self.truth < self.low) | (self.truth > self.high))

    @property
    def covered(self) -> bool:
        """Whether every interval of the run holds its truth."""
        return self.violations.size == 0

    @property
    def used(self) -> float:
        """How much of an interval an error used at most: 1 is the interval's end; NaN without intervals.

        An error is measured against the end on its own side, so this is above 1 exactly when an interval misses.
        """
        if not self.claimed:
            return float("nan")
        high = self.value > self.truth
        room = np.where(high, self.value - self.low, self.high - self.value)
        share = np.divide(self.errors, room, out=np.where(self.errors > 0, np.inf, 0.0), where=room > 0)
        return float(np.max(share[~np.isnan(self.low)]))

    @property
    def claimed(self) -> int:
        """How many answers came with an interval."""
        return int(np.count_nonzero(~np.isnan(self.low)))

    @property
    def half_width(self) -> float:
        """Mean half-width of the intervals; NaN without any."""
        return float(np.nanmean((self.high - self.low) / 2)) if self.claimed else float("nan")


class Interview:
    """Puts an analyst's questions to a method and keeps the books."""

    def __init__(self, answerer: Answerer, design: Design) -> None:
        self.answerer = answerer
        self.design = design
        self.extra: dict[str, float] = {}
        self._truth: list[float] = []
        self._sample: list[float] = []
        self._replies: list[Reply | None] = []

    @property
    def left(self) -> int:
        """How many of the planned questions are left."""
        return self.design.questions - len(self._replies)

    def ask(self, values: Values, guess: float, truth: float) -> Reply | None:
        """Put one question, given by its values, with the analyst's guess; the truth is for the books only."""
        reply = self.answerer.ask(values, guess)
        self._note(values, truth, reply)
        return reply

    def ask_many(self, values: Values, guesses: Sequence[float] | Floats, truths: Sequence[float] | Floats) -> Floats:
        """Put questions that are fixed together; returns the values told, NaN where refused."""
        replies = self.answerer.ask_many(values, guesses)
        for row, truth, reply in zip(values, truths, replies, strict=True):
            self._note(row, float(truth), reply)
        return np.array([np.nan if reply is None else reply.value for reply in replies])

    def done(self) -> Run:
        """Return the finished record."""
        replies = [(np.nan, None) if r is None else (r.value, r.interval) for r in self._replies]
        ends = [(np.nan, np.nan) if interval is None else interval for _, interval in replies]
        low, high = np.array(ends, dtype=np.float64).reshape(-1, 2).T
        return Run(
            truth=np.array(self._truth),
            sample=np.array(self._sample),
            value=np.array([value for value, _ in replies]),
            low=low,
            high=high,
            failures=self.answerer.failures,
            extra=self.extra,
        )

    def _note(self, values: Values, truth: float, reply: Reply | None) -> None:
        mean = sample_mean(values)
        if self.answerer.tells_best and self._truth:
            truth, mean = max(truth, self._truth[-1]), max(mean, self._sample[-1])
        self._truth.append(truth)
        self._sample.append(mean)
        self._replies.append(reply)
