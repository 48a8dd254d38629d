"""What a plan can say about a mean before the data are looked at: widths, tolerances and cells, all public."""

from __future__ import annotations

import math
from dataclasses import dataclass

from holdfast.bounds.one_question.divergence_bound import kl
from holdfast.bounds.one_question.inputs import Side
from holdfast.data.values import Summary
from holdfast.holdout.cells import Cells
from holdfast.holdout.families import MeanFamily

#: A tolerance that is not given is this many half-widths at the guess. One is for the interval, one for the distance
#: of guess and holdout mean: a guess that equals the truth is farther away about as rarely as an interval misses.
#: A smaller room would make honest guesses fail, and failures are what is dear.
DEFAULT_ROOM = 2.0
#: A cell's half-width in half-widths of the interval. Finer cells cost share in every later question and say little
#: more; coarser ones hide what the rows say.
FINEST, COARSEST = 0.5, 2.0
#: Floating-point means and edges are off by far less than this part of the largest value.
_HAIR = 1e-12
_STEPS = 60


@dataclass(frozen=True)
class MeanInterval:
    """The interval of a mean of `n` values in `[low, high]`, as a function of the mean."""

    family: MeanFamily
    n: int
    low: float
    high: float

    @property
    def hair(self) -> float:
        """More than what a floating-point mean or edge is off by."""
        return _HAIR * max(abs(self.low), abs(self.high), self.high - self.low)

    def at(self, mean: float, log_share: float, side: Side = "both") -> tuple[float, float]:
        """Limits at this mean, within the range."""
        return self.family.ends(mean, self.n, log_share, self.low, self.high, side)

    def over(self, least: float, most: float, log_share: float, side: Side = "both") -> tuple[float, float]:
        """The union of the intervals of all means in `[least, most]`, and of what rounding may make of them."""
        hair = self.hair
        # Inside the range also where noise has carried both ends beyond one side of it.
        least = min(max(self.low, least - hair), self.high)
        most = max(min(self.high, most + hair), self.low)
        if self.family.whole:  # only the counts inside matter; the hair keeps those that a rounded edge would cut off
            least, most = math.ceil(least * self.n) / self.n, math.floor(most * self.n) / self.n
        lower, upper = self.at(least, log_share, side)[0], self.at(most, log_share, side)[1]
        return max(self.low, lower - hair), min(self.high, upper + hair)

    def of(self, rows: Summary, log_share: float, side: Side = "both") -> tuple[float, float]:
        """The interval of these rows. Secret."""
        if self.family.whole:
            return self.at(rows.ones / rows.n, log_share, side)
        lower, upper = self.at(rows.mean, log_share, side)
        return max(self.low, lower - self.hair), min(self.high, upper + self.hair)

    def half_width(self, guess: float, log_share: float) -> float:
        """How far the interval of a mean at the guess reaches from the guess.

        For counts this is the width of `kl`, which needs no whole number, is never narrower and costs less.
        """
        ends = kl if self.family.whole else self.family.ends
        lower, upper = ends(guess, self.n, log_share, self.low, self.high, "both")
        return max(guess - lower, upper - guess)

    def reach(self, guess: float, log_share: float) -> float:
        """A tolerance with which some rows pass: those whose mean is at the guess, or next to it."""
        lower, upper = self.at(round(guess * self.n) / self.n if self.family.whole else guess, log_share)
        return max(guess - lower, upper - guess) + 2 * self.hair

    def least_tolerance(self, guess: float, log_share: float) -> float:
        """The smallest tolerance with which some mean passes at this guess.

        `min_m max(guess - L(m), U(m) - guess)`: the first term falls and the second rises with the mean `m`, so the
        crossing is found by halving. For counts `m` runs over `k/n`.
        """

        def arms(mean: float) -> tuple[float, float]:
            lower, upper = self.at(mean, log_share)
            return guess - lower, upper - guess

        if self.family.whole:
            first, last = 0, self.n
            while last - first > 1:
                middle = (first + last) // 2
                below, above = arms(middle / self.n)
                first, last = (first, middle) if above >= below else (middle, last)
            return min(max(arms(k / self.n)) for k in (first, last))
        least, most = self.low, self.high
        for _ in range(_STEPS):
            mean = (least + most) / 2
            below, above = arms(mean)
            least, most = (least, mean) if above >= below else (mean, most)
        return min(max(arms(mean)) for mean in (least, most)) + 2 * self.hair

    def default_tolerance(self, guess: float, log_share: float) -> float:
        """The tolerance of a question that names none."""
        return DEFAULT_ROOM * self.half_width(guess, log_share)

    def cells(self, guess: float, tolerance: float, log_share: float, grid: float | None = None) -> Cells:
        """The cells of a failure, from what is known before the data.

        As in the published algorithm a cell's half-width is what the tolerance leaves beside the interval, but at
        least `FINEST` and at most `COARSEST` times the interval's half-width. `grid` asks for another half-width.
        """
        if grid is not None:
            return Cells.of_half_width(grid, self.low, self.high)
        width = self.half_width(guess, log_share)
        room = min(max(tolerance / width - 1, FINEST), COARSEST)
        if self.family.curved:
            middle = (self.low + self.high) / 2
            return Cells.of_half_width(room * self.half_width(middle, log_share), self.low, self.high, curved=True)
        return Cells.of_half_width(room * width, self.low, self.high)


__all__ = ["COARSEST", "DEFAULT_ROOM", "FINEST", "MeanInterval"]
