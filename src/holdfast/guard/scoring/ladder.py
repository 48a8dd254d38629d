"""The ladder rule on a board: the best score so far is public state, and only a step beyond it shows anything.

Blum and Hardt 2015 with the guard's accounting in the place of theirs: an improvement is a failed look that could have
shown any place above the best one, and everything else is a pass (docs/guard-proof.md).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass

from holdfast.guard.ledger.transaction import View
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.metrics import HiddenScore, MeanMetric, Metric
from holdfast.holdout.cells import Cells, Pairs
from holdfast.holdout.transcript import Outcome


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
        """The places of a board."""
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
        """The cell of a place."""
        return place if self.rising else self.count - 1 - place

    def shown(self, place: int) -> float:
        """The score that is shown for a place."""
        return self.cells.midpoint(self.index(place))

    def bar(self, best: int) -> float:
        """What a score must reach to be an improvement on a place: the score shown there, and one step more."""
        return self.shown(best) + (self.step if self.rising else -self.step)


def account(board: Board, analyst: str) -> str:
    """The name of the public account that holds the best place so far; an analyst goes by a digest, which is short.

    Examples
    --------
    >>> account(Board("b", key="id", label="y", metric="accuracy", rule="ladder", best="board"), "ann")
    'board:b'
    """
    whose = hashlib.sha256(analyst.encode()).hexdigest()[:32] if board.best == "analyst" else ""
    return f"board:{board.name}" + (f":{whose}" if whose else "")


def place(view: View, name: str) -> int | None:
    """The best place so far; None before the first submission."""
    stored = view.account(name)
    return None if stored is None else int(stored["place"])


def climb(
    rungs: Rungs, best: int | None, metric: Metric, found: HiddenScore, log_share: float
) -> tuple[Outcome, int | None]:
    """What a submission shows, and the place it took; `passed` says that it took none.

    A score at or beyond the bar is shown by its place, one of those above the best. Below the bar nothing is shown,
    and that it was below is an interval too.
    """
    beyond = rungs.count if best is None else rungs.count - 1 - best
    if isinstance(metric, MeanMetric):
        return _climb_mean(rungs, best, beyond, metric, found, log_share)
    return _climb_pair(rungs, best, metric, found, log_share)


def _climb_mean(
    rungs: Rungs, best: int | None, beyond: int, metric: MeanMetric, found: HiddenScore, log_share: float
) -> tuple[Outcome, int | None]:
    mean, interval = found.value, metric.interval
    cell = rungs.cells.index(mean)
    reached = rungs.index(cell)  # the map between places and cells is its own inverse
    if best is not None:
        bar = rungs.bar(best)
        if (mean < bar if rungs.rising else mean > bar) or reached <= best:
            ends = (rungs.low, bar) if rungs.rising else (bar, rungs.high)
            # A mean that rounding left on the far side of the bar is within a hair of it, which `over` has in it.
            edge = _clipped(*ends, rungs)
            return Outcome(True, None, interval.over(*edge, log_share), 1, interval.family.name), None
    lower, upper = rungs.cells.edge(cell), rungs.cells.edge(cell + 1)
    ends = interval.over(lower, upper, log_share)
    return Outcome(False, rungs.cells.midpoint(cell), ends, max(1, beyond), interval.family.name), reached


def _climb_pair(
    rungs: Rungs, best: int | None, metric: Metric, found: HiddenScore, log_share: float
) -> tuple[Outcome, int | None]:
    """For a metric whose interval is not a function of the score: both ends are shown, rounded outward to the rungs.

    The score of a pair is its middle; twice that in steps is its place.
    """
    pairs = Pairs(rungs.low, rungs.high, rungs.count)
    ends = pairs.outward(*found.ends(log_share))
    middle = (ends[0] + ends[1]) / 2
    reached = round(2 * (middle - rungs.low) / rungs.step)
    if best is not None and reached < best + 2:
        return Outcome(True, None, None, 1, metric.description), None
    return Outcome(False, middle, ends, pairs.count, metric.description), reached


def _clipped(lower: float, upper: float, rungs: Rungs) -> tuple[float, float]:
    return max(rungs.low, min(lower, rungs.high)), min(rungs.high, max(upper, rungs.low))


__all__ = ["Rungs", "account", "climb", "place"]
