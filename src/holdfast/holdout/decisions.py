"""Pass or fail, and what a failure shows: pure functions of a share and of what the question computed from the rows.

Every claim here follows from one event, "the truth lies in the interval at this share": a pass claims an interval
that holds it, and a failure shows an interval that holds it and that is one of `shown` many fixed before the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from holdfast.data.values import Summary
from holdfast.errors import InvalidParameter
from holdfast.holdout.cells import Pairs
from holdfast.holdout.mean_interval import MeanInterval
from holdfast.holdout.procedure import Procedure
from holdfast.holdout.transcript import Outcome

#: Steps of the grid that both ends of an interval are rounded to, at most: more would cost later questions too much.
_MOST_STEPS = 64
#: Rounding moves a limit by far less than this part of the range.
_MARGIN = 1e-9


@dataclass(frozen=True)
class Guess:
    """A guess and how near the truth it is to be shown; `tolerance` None for the plan's default."""

    guess: float
    tolerance: float | None
    show_value: bool
    grid: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain public data."""
        return {"guess": self.guess, "tolerance": self.tolerance, "value": self.show_value, "grid": self.grid}


@dataclass(frozen=True)
class OneSided:
    """A one-sided claim: the truth is at least (at most) `bound`."""

    bound: float
    at_least: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain public data."""
        return {"at_least" if self.at_least else "at_most": self.bound}


def check_mean(rows: Summary, interval: MeanInterval, asked: Guess, log_share: float) -> Outcome:
    """Check a guess of a mean by an interval that is a public function of the mean."""
    guess, name = asked.guess, interval.family.name
    tolerance = asked.tolerance
    if tolerance is None:
        tolerance = interval.default_tolerance(guess, log_share)
    claimed = around(guess, tolerance, interval.low, interval.high)
    lower, upper = interval.of(rows, log_share)
    if claimed[0] <= lower and upper <= claimed[1]:
        return Outcome(True, guess, claimed, 1, name)
    if asked.tolerance is not None:
        refuse_small(tolerance, interval, guess, log_share)
    if not asked.show_value:
        return Outcome(False, None, None, 1, name)
    cells = interval.cells(guess, tolerance, log_share, asked.grid)
    index = cells.index(rows.mean)
    union = interval.over(cells.edge(index), cells.edge(index + 1), log_share)
    return Outcome(False, cells.midpoint(index), union, cells.count, name)


def check_procedure(procedure: Procedure, asked: Guess, log_share: float, tolerance: float, name: str) -> Outcome:
    """Check a guess by an interval that depends on more than a mean: a failure shows both ends, rounded outward."""
    claimed = around(asked.guess, tolerance, procedure.low, procedure.high)
    lower, upper = procedure.interval(log_share)
    if claimed[0] <= lower and upper <= claimed[1]:
        return Outcome(True, asked.guess, claimed, 1, name)
    if not asked.show_value:
        return Outcome(False, None, None, 1, name)
    pairs = pairs_for(tolerance, asked.grid, procedure.low, procedure.high)
    ends = pairs.outward(min(lower, upper), max(lower, upper))  # limits by betting can cross: then they missed
    return Outcome(False, (ends[0] + ends[1]) / 2, ends, pairs.count, name)


def pairs_for(tolerance: float, grid: float | None, low: float, high: float) -> Pairs:
    """The pairs that a failure may show: steps of half the tolerance, or of two `grid`, but no more than 64."""
    step = max(tolerance / 2 if grid is None else 2 * grid, (high - low) / _MOST_STEPS)
    return Pairs.of_step(min(step, high - low), low, high)


def claim_mean(rows: Summary, interval: MeanInterval, asked: OneSided, log_share: float) -> Outcome:
    """Check a one-sided claim about a mean: the whole share is on one tail."""
    name = interval.family.name
    if asked.at_least:
        if interval.of(rows, log_share, "lower")[0] >= asked.bound:
            return Outcome(True, None, (asked.bound, interval.high), 1, name)
        best = interval.at(interval.high, log_share, "lower")[0]
        if asked.bound > best + _MARGIN * (interval.high - interval.low):
            raise InvalidParameter(
                f"at_least must be at most {_floor(best)} at this point of the run, where no rows can show more, "
                f"got {asked.bound:g}; nothing was spent"
            )
        return Outcome(False, None, None, 1, name)
    if interval.of(rows, log_share, "upper")[1] <= asked.bound:
        return Outcome(True, None, (interval.low, asked.bound), 1, name)
    best = interval.at(interval.low, log_share, "upper")[1]
    if asked.bound < best - _MARGIN * (interval.high - interval.low):
        raise InvalidParameter(
            f"at_most must be at least {_ceil(best)} at this point of the run, where no rows can show less, "
            f"got {asked.bound:g}; nothing was spent"
        )
    return Outcome(False, None, None, 1, name)


def claim_procedure(procedure: Procedure, asked: OneSided, log_share: float, name: str) -> Outcome:
    """Check a one-sided claim by any interval."""
    if asked.at_least:
        passed = procedure.interval(log_share, "lower")[0] >= asked.bound
        return Outcome(passed, None, (asked.bound, procedure.high) if passed else None, 1, name)
    passed = procedure.interval(log_share, "upper")[1] <= asked.bound
    return Outcome(passed, None, (procedure.low, asked.bound) if passed else None, 1, name)


def around(guess: float, tolerance: float, low: float, high: float) -> tuple[float, float]:
    """What a pass claims: everything within `tolerance` of the guess, inside the range."""
    return max(low, guess - tolerance), min(high, guess + tolerance)


def refuse_small(tolerance: float, interval: MeanInterval, guess: float, log_share: float) -> None:
    """Raise if no rows can pass with this tolerance, and say which tolerance would do.

    It is asked only after rows failed, so it must be true that all rows would have: hence the margin, and the hairs
    off. `least_tolerance` has two of them in it so that its number works, and rows need not be farther off than one;
    in a range far from zero a hair is wide, and an error between the two would be a failure that nobody pays for. As
    it is the error says nothing about the rows.
    """
    if tolerance >= interval.reach(guess, log_share):  # rows with their mean at the guess pass: no search is needed
        return
    least = interval.least_tolerance(guess, log_share)
    if tolerance < least - 2 * interval.hair - _MARGIN * (interval.high - interval.low):
        raise InvalidParameter(
            f"tolerance must be at least {_ceil(least)} for this guess at this point of the run, where no rows can "
            f"show less, got {tolerance:g}; nothing was spent"
        )


def _ceil(x: float) -> str:
    """`x` rounded up to four digits, so that the number in a message works."""
    scale = 10.0 ** (3 - math.floor(math.log10(abs(x)))) if x else 1.0
    return f"{math.ceil(x * scale) / scale:.10g}"


def _floor(x: float) -> str:
    scale = 10.0 ** (3 - math.floor(math.log10(abs(x)))) if x else 1.0
    return f"{math.floor(x * scale) / scale:.10g}"


__all__ = [
    "Guess",
    "OneSided",
    "around",
    "check_mean",
    "check_procedure",
    "claim_mean",
    "claim_procedure",
    "pairs_for",
    "refuse_small",
]
