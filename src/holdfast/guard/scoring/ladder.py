"""The ladder rule on a board: scores are rounded to steps, and one is shown if, rounded, it beats the best by a step.

The best place so far is public state. Blum and Hardt 2015 with the guard's accounting in the place of theirs: an
improvement is a failed look that shows a place above the best one, and everything else is a pass
(docs/error-budget.md). The first submission has nothing to beat: the score that it claims is checked, and without a
claim its place is shown. Their rule compares a score with the rounded best one. Here both are rounded the same way, so
that a score that beats the best by a step is always shown.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

from holdfast.guard.ledger.entry import Entry, account_digest
from holdfast.guard.ledger.transaction import View
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.metrics import HiddenScore, MeanMetric, Metric
from holdfast.holdout.error_budget import log_place_weight
from holdfast.holdout.intervals.mean import Cells, Pairs
from holdfast.holdout.transcript import Exact, Outcome

_ACCOUNT, _BOARD = "account:", "board:"
_HAIR = 1e-13  # of the range: more than what a floating-point mean or edge is off by


@dataclass(frozen=True)
class Rungs:
    """The places that a score may be shown at: equal steps over the metric's range, counted from the worst.

    Examples
    --------
    >>> rungs = Rungs.of(Board("b", key="id", label="y", metric="brier", rule="ladder", step=0.1))
    >>> rungs.count, rungs.shown(7)
    (10, 0.25)
    """

    low: float
    high: float
    count: int
    rising: bool

    @classmethod
    def of(cls, board: Board) -> Rungs:
        """Return the places of a board."""
        low, high = board.range
        assert board.step is not None
        return cls(low, high, max(1, math.ceil((high - low) / board.step - 1e-9)), board.rising)

    @property
    def cells(self) -> Cells:
        """The same places by value."""
        return Cells(self.low, self.high, self.count)

    @property
    def step(self) -> float:
        """Their length."""
        return (self.high - self.low) / self.count

    def index(self, place: int) -> int:
        """Return the cell of a place."""
        return place if self.rising else self.count - 1 - place

    def shown(self, place: int) -> float:
        """Return the score that is shown for a place."""
        return self.cells.midpoint(self.index(place))

    def reached(self, score: float) -> int:
        """Return the place of a score; one between two places, or within a hair of that, has the worse one.

        So whatever is better by a step has a better place, the best possible score included. Only the worst possible
        score shares its place with the one that is a step better.

        Examples
        --------
        >>> rungs = Rungs.of(Board("b", key="id", label="y", metric="accuracy", rule="ladder", step=0.01))
        >>> rungs.reached(0.28), rungs.reached(0.29), 0.28 * 100 > 28, rungs.reached(0.99), rungs.reached(1.0)
        (27, 28, True, 98, 99)
        """
        hair = _HAIR * (self.high - self.low)
        return self.index(self.cells.index(score - hair if self.rising else score + hair))

    def bar(self, best: int) -> float:
        """What a score must be better than to be an improvement on a place: the nearer end of the next better one."""
        cell = self.index(best)
        return self.cells.edge(cell + 1 if self.rising else cell)


def account(board: Board, analyst: str) -> str:
    """The name of the public account that holds the best place so far; an analyst goes by a digest, which is short.

    Examples
    --------
    >>> account(Board("b", key="id", label="y", metric="accuracy", rule="ladder", best="board"), "ann")
    'board:b'
    """
    whose = hashlib.sha256(analyst.encode()).hexdigest()[:32] if board.best == "analyst" else ""
    return f"{_BOARD}{board.name}" + (f":{whose}" if whose else "")


def place(view: View, name: str) -> int | None:
    """Return the best place so far; None before the first submission."""
    stored = view.account(name)
    return None if stored is None else int(stored["place"])


def beaten(view: View, entry: Entry) -> bool:
    """Whether a better submission came after one that took a place: the account that it wrote has changed since."""
    written = {name.removeprefix(_ACCOUNT): digest for name, digest in entry.states.items()}
    for name in written:
        if name.startswith(_BOARD):
            text = view.account_text(name)
            return text is None or account_digest(text) != written[name]
    return False


def first_place(rungs: Rungs, metric: Metric, outcome: Outcome) -> int:
    """Return the place of a first submission: that of the score that its check shows, claimed or corrected."""
    assert outcome.value is not None
    return rungs.reached(outcome.value) if isinstance(metric, MeanMetric) else _pair_place(rungs, outcome.value)


def _pair_place(rungs: Rungs, middle: float) -> int:
    """The place of a pair of ends by its middle: twice that in steps."""
    return round(2 * (middle - rungs.low) / rungs.step)


def climb(
    rungs: Rungs, best: int | None, metric: Metric, found: HiddenScore, log_share: float
) -> tuple[Outcome, int | None]:
    """Return what a submission shows, and the place it took; `passed` says that it took none.

    A score in a better place than the best one is shown by that place. Else nothing is shown, and that it was below
    the bar is an interval too.
    """
    if isinstance(metric, MeanMetric):
        return _climb_mean(rungs, best, metric, found, log_share)
    return _climb_pair(rungs, best, metric, found, log_share)


def _climb_mean(
    rungs: Rungs, best: int | None, metric: MeanMetric, found: HiddenScore, log_share: float
) -> tuple[Outcome, int | None]:
    interval, reached = metric.interval, rungs.reached(found.value)
    exact = Exact(found.value, found.ends(log_share))
    # A mean that is outside its cell, or on the far side of the bar, is within a hair of it, which `over` has in it.
    if best is not None and reached <= best:
        ends = (rungs.low, rungs.bar(best)) if rungs.rising else (rungs.bar(best), rungs.high)
        return Outcome(True, None, interval.over(*ends, log_share), interval.family.name, exact=exact), None
    cell = rungs.index(reached)  # the map between places and cells is its own inverse
    lower, upper = rungs.cells.edge(cell), rungs.cells.edge(cell + 1)
    ends = interval.over(lower, upper, log_share)
    # Without a bar to beat, and without a claimed score, each place is as likely. Others are counted from the bar.
    weight = -math.log(rungs.count) if best is None else log_place_weight(reached - best)
    return Outcome(False, rungs.cells.midpoint(cell), ends, interval.family.name, weight, exact), reached


def _climb_pair(
    rungs: Rungs, best: int | None, metric: Metric, found: HiddenScore, log_share: float
) -> tuple[Outcome, int | None]:
    """For a metric whose interval is not a function of the score: both ends are shown, rounded outward to the rungs.

    The score of a pair is its middle; twice that in steps is its place.
    """
    pairs = Pairs(rungs.low, rungs.high, rungs.count)
    exact = Exact(found.value, found.ends(log_share))
    ends = pairs.outward(*found.ends(log_share))
    middle = (ends[0] + ends[1]) / 2
    reached = _pair_place(rungs, middle)
    if best is not None and reached < best + 2:
        return Outcome(True, None, None, metric.description, exact=exact), None
    return Outcome(False, middle, ends, metric.description, -math.log(pairs.count), exact), reached
