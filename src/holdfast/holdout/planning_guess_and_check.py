"""Guess and check in a plan: what `ReusableHoldout` certifies at its last question, by interval family.

The numbers come from the holdout's own shares, intervals and cells, so that a plan and a run cannot disagree.
"""

from __future__ import annotations

import math

from holdfast.bounds.one_question.families import Family, least_tolerance
from holdfast.holdout.families import MEAN_FAMILIES
from holdfast.holdout.mean_interval import FINEST, MeanInterval
from holdfast.holdout.planning_use import Found, Use, method


class Run:
    """A run on `n` rows with one family, in units of the range; without a guess at the middle, the worst place.

    Hoeffding's width is the same everywhere but at the very ends, so it is always taken at the middle.

    A failure shows one of `K` cells, no finer than `FINEST` half-widths of the interval in force then, which is at
    least the half-width of a first question; hence `cells` bounds `K` whatever the path. Counted as a real number,
    rounded up by one, so that widths fall smoothly with the rows.
    """

    def __init__(self, n: int, use: Use, family: Family) -> None:
        self.use, self.family = use, family
        self.interval = MeanInterval(MEAN_FAMILIES[family], n, 0.0, 1.0)
        curved = self.interval.family.curved
        self.guess = use.guess if curved and use.guess is not None else 0.5
        finest = 2 * FINEST * self.interval.half_width(0.5, use.shares.log_share(1, 0, 0.0))
        self.cells = (math.pi / 2 if curved else 1.0) / finest + 1

    @property
    def worst(self) -> int:
        """The number of failures, at most those planned, with the most transcripts before the last question.

        `C(m-1, f) K^f` rises up to `f = m K/(K + 1)`.
        """
        m = self.use.questions
        return min(self.use.failures, m - 1, math.floor(m * self.cells / (self.cells + 1)))

    def log_share(self, failures: int) -> float:
        """Of the last question after this many failures."""
        return self.use.shares.log_share(self.use.questions, failures, failures * math.log(self.cells))

    def tolerance(self, failures: int) -> float:
        """The least tolerance with which the last question passes, after this many failures, if the mean is the guess.

        A holdout's own `least_tolerance` asks for some mean that passes: the same for Hoeffding, a little less near the
        ends of the range, where it may be a mean far from the guess.
        """
        return least_tolerance(self.family, self.guess, self.interval.n, self.log_share(failures))

    def corrected(self, failures: int) -> float:
        """How far the truth can be from what a failing last question shows, after this many failures before it."""
        share = self.log_share(failures)
        cells = self.interval.cells(self.guess, self.interval.half_width(self.guess, share), share)
        index = cells.index(self.guess)
        lower, upper = self.interval.over(cells.edge(index), cells.edge(index + 1), share)
        return max(cells.midpoint(index) - lower, upper - cells.midpoint(index))


def _found(n: int, use: Use, family: Family) -> Found:
    run = Run(n, use, family)
    clean = run.tolerance(0)
    extra = {"before_failures": clean}
    if run.worst > 0:
        extra["corrected"] = run.corrected(run.worst - 1)
    after = run.tolerance(run.worst) if run.worst > 0 else clean
    # with tolerance 4w, a guess within 2w of the truth is within 3w of the holdout mean; for one width w everywhere
    return Found(after, True, None if run.interval.family.curved else 4 * after, extra)


def _spare(n: int, use: Use, tau: float, family: Family) -> float:
    run = Run(n, use, family)
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


__all__ = ["Run"]
