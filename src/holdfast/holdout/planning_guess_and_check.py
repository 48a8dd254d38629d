"""Guess and check in a plan: what `ReusableHoldout` certifies at its last question, by interval family.

The numbers come from the holdout's own shares, intervals and cells, so that a plan and a run cannot disagree.
"""

from __future__ import annotations

import math

from holdfast.bounds.one_question.families import Family, least_tolerance
from holdfast.bounds.one_question.inputs import LEAST_LOG_SHARE
from holdfast.holdout.families import MEAN_FAMILIES, MeanFamily
from holdfast.holdout.mean_interval import FINEST, MeanInterval
from holdfast.holdout.planning_use import Found, Use, method

#: Failures that are followed one by one; from there on each is counted like the last of them, which shows more.
_TABLE = 128


class PlannedRun:
    """A run on `n` rows with one family, in units of the range; without a guess at the middle, the worst place.

    The family may be one of those for independent rows, by name, or the interval of dependent ones.

    Hoeffding's width is the same everywhere but at the very ends, so it is always taken at the middle.

    What failures have shown when the last question comes is bounded over all runs that leave the grid of corrected
    values to the holdout. Its cells are never finer than `FINEST` half-widths of the interval in force, so failure
    number `f + 1` shows one of at most `K = 1/(2 FINEST w) + 1` of them (`pi/2` times as many where cells are curved).
    Write `S` for the log of the product of all `K`. As `w` grows more slowly than `exp(S)`, `S + ln K` rises with `S`;
    and `w` is least for a question that all earlier failures directly precede, where the binomial coefficient in its
    share is 1. So the run that fails at once shows most. `K` is taken as a real number, rounded up by one, so that
    widths fall smoothly with the rows.
    """

    def __init__(self, n: int, use: Use, family: Family | MeanFamily) -> None:
        self.use, self.family = use, family
        known = family if isinstance(family, MeanFamily) else MEAN_FAMILIES[family]
        self.interval = MeanInterval(known, n, 0.0, 1.0)
        curved = self.interval.family.curved
        self.guess = use.guess if curved and use.guess is not None else 0.5
        span = (math.pi / 2 if curved else 1.0) / (2 * FINEST)
        self._log_cells: list[float] = []
        self._log_shown = [0.0]
        for f in range(min(use.failures, use.questions - 1, _TABLE)):
            width = self.interval.half_width(0.5, use.shares.log_share(f + 1, f, self._log_shown[f]))
            self._log_cells.append(math.log(span / width + 1))
            self._log_shown.append(self._log_shown[f] + self._log_cells[f])

    def log_shown(self, failures: int) -> float:
        """The most that this many failures have shown, as a logarithm; past the table, its last (largest) cells."""
        known = len(self._log_shown) - 1
        if failures <= known:
            return self._log_shown[failures]
        return self._log_shown[known] + (failures - known) * self._log_cells[known - 1]

    @property
    def worst(self) -> int:
        """The number of failures, at most those planned, with the most transcripts before the last question.

        The next failure multiplies their number by `K (m - f)/f`, a falling sequence; so stop where it drops below 1.
        """
        m, known = self.use.questions, len(self._log_cells)
        f = min(self.use.failures, m - 1)
        if f > known:
            cells = math.exp(self._log_cells[-1])
            f = max(known, min(f, math.floor(m * cells / (cells + 1))))
        while 0 < f <= known and math.log((m - f) / f) + self._log_cells[f - 1] < 0:
            f -= 1
        return f

    def log_share(self, failures: int) -> float:
        """Of the last question after this many failures."""
        return self.use.shares.log_share(self.use.questions, failures, self.log_shown(failures))

    def tolerance(self, failures: int) -> float:
        """The least tolerance with which the last question passes, after this many failures, if the mean is the guess.

        A holdout's own `least_tolerance` asks for some mean that passes: the same for Hoeffding, a little less near the
        ends of the range, where it may be a mean far from the guess.
        """
        share = self.log_share(failures)
        if share < LEAST_LOG_SHARE:  # nothing is left that an interval could be made of
            return max(self.guess, 1 - self.guess)
        if isinstance(self.family, MeanFamily):
            return self.interval.half_width(self.guess, share)
        return least_tolerance(self.family, self.guess, self.interval.n, share)

    def corrected(self, failures: int) -> float:
        """How far the truth can be from what the last question shows if it fails, at the default tolerance."""
        share = max(self.log_share(failures), LEAST_LOG_SHARE)
        cells = self.interval.cells(self.guess, self.interval.default_tolerance(self.guess, share), share)
        index = cells.index(self.guess)
        lower, upper = self.interval.over(cells.edge(index), cells.edge(index + 1), share)
        return max(cells.midpoint(index) - lower, upper - cells.midpoint(index))


def _found(n: int, use: Use, family: Family) -> Found:
    run = PlannedRun(n, use, family)
    clean = run.tolerance(0)
    extra = {"before_failures": clean}
    if run.worst > 0:
        extra["corrected"] = run.corrected(run.worst - 1)
    after = run.tolerance(run.worst) if run.worst > 0 else clean
    # with tolerance 4w, a guess within 2w of the truth is within 3w of the holdout mean; for one width w everywhere
    return Found(after, True, None if run.interval.family.curved else 4 * after, extra)


def _spare(n: int, use: Use, tau: float, family: Family) -> float:
    run = PlannedRun(n, use, family)
    after = run.tolerance(run.worst)
    return math.log(tau / after) if after <= tau else min(math.log(tau / after), -5e-324)


@method(
    "guess-and-check",
    theorem="holdout.guess-and-check-width",
    needs=("a guess",),
    says="ReusableHoldout: a pass certifies the guess to this tolerance, a failure shows a rounded corrected value.",
    spare=lambda n, use, tau: _spare(n, use, tau, "hoeffding"),
)
def guess_and_check(n: int, use: Use) -> Found:
    """Hoeffding's interval at the share of the transcript."""
    return _found(n, use, "hoeffding")


@method(
    "guess-and-check-kl",
    theorem="one-question.kl",
    needs=("a guess",),
    says="ReusableHoldout with intervals that are narrower near the ends of the range, for means near the given guess.",
    applies=lambda use: use.guess is not None,
    spare=lambda n, use, tau: _spare(n, use, tau, "kl"),
)
def guess_and_check_kl(n: int, use: Use) -> Found:
    """The Chernoff-Hoeffding interval at the share of the transcript."""
    return _found(n, use, "kl")


@method(
    "guess-and-check-binary",
    theorem="one-question.clopper-pearson",
    needs=("a guess", "values declared binary"),
    says="ReusableHoldout with exact binomial intervals, for means near the guess (the middle, if none is given).",
    applies=lambda use: use.binary,
    spare=lambda n, use, tau: _spare(n, use, tau, "clopper-pearson"),
)
def guess_and_check_binary(n: int, use: Use) -> Found:
    """Clopper and Pearson's interval at the share of the transcript."""
    return _found(n, use, "clopper-pearson")


__all__ = ["PlannedRun"]
