"""What is known about a mean before the data are read: widths, tolerances, and the cells a failure may show."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.special import ndtri_exp

from holdfast.bounds.one_question.means import MeanFamily, Side, kl
from holdfast.data.values import Summary


@dataclass(frozen=True)
class Cells:
    """`count` cells that cover `[low, high]`; a failure shows the index of one.

    Cells have one length, or, when `curved`, one length on the arcsine scale: near the ends of the range, where means
    are more certain, they are shorter in proportion.

    Examples
    --------
    >>> cells = Cells(0.0, 1.0, 5)
    >>> cells.index(0.37), round(cells.midpoint(1), 12)
    (1, 0.3)
    >>> curved = Cells(0.0, 1.0, 5, curved=True)
    >>> [round(curved.edge(i), 4) for i in range(6)]
    [0.0, 0.0955, 0.3455, 0.6545, 0.9045, 1.0]
    """

    low: float
    high: float
    count: int
    curved: bool = False

    def index(self, value: float) -> int:
        """The cell that holds `value`; a value on an edge is in one of its two cells, whichever rounding says."""
        place = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        if self.curved:
            place = math.asin(math.sqrt(place)) / (math.pi / 2)
        return min(math.floor(place * self.count), self.count - 1)

    def edge(self, index: int) -> float:
        """Return the lower end of cell `index`; `high` for `index = count`."""
        place = index / self.count
        if self.curved:
            place = math.sin(place * math.pi / 2) ** 2
        return self.high if index == self.count else self.low + (self.high - self.low) * place

    def midpoint(self, index: int) -> float:
        """Return what is shown for cell `index`."""
        return (self.edge(index) + self.edge(index + 1)) / 2


@dataclass(frozen=True)
class Pairs:
    """Intervals whose ends lie on a grid of `steps` equal steps over `[low, high]`.

    For an interval that is not a function of one mean, both ends are rounded outward to the grid and the pair is
    shown. There are `steps (steps + 1) / 2` pairs.

    Examples
    --------
    >>> pairs = Pairs(0.0, 1.0, 10)
    >>> pairs.count, [round(end, 12) for end in pairs.outward(0.33, 0.58)]
    (55, [0.3, 0.6])
    """

    low: float
    high: float
    steps: int

    @property
    def count(self) -> int:
        """How many pairs could be shown."""
        return self.steps * (self.steps + 1) // 2

    def outward(self, lower: float, upper: float) -> tuple[float, float]:
        """Return the narrowest pair that holds `[lower, upper]`."""
        grid = Cells(self.low, self.high, self.steps)
        first, last = grid.index(lower), grid.index(upper)
        # An end that rounding put a hair on the wrong side of an edge takes one more step.
        first -= first > 0 and grid.edge(first) > lower
        last += last < self.steps - 1 and grid.edge(last + 1) < upper
        return grid.edge(first), grid.edge(last + 1)


ROOM = 2.5
"""A tolerance that is not given is this many half-widths at the guess. One is for the interval; the rest is for the
distance of guess and holdout mean, so that an honest guess hardly ever fails: failures cost more than room."""
_ROOM_DEVIATIONS = 3.3
"""With a guess that is the mean of some rows: standard deviations of its distance that pass."""
#: Floating-point means and edges are off by far less than this part of the largest value.
_HAIR = 1e-12
_STEPS = 60
_GRID = 1 << 30
"""Means of values that are not counted are tried on a grid of so many steps."""


@dataclass(frozen=True)
class OutwardCells:
    """The cells of corrected values: numbered outwards from the edge of what passes around a guess.

    Cell `j >= 1` above the guess covers the j-th length beyond the edge, `-j` the same below; `0` is the inner cell of
    either side, for means that fail although they are near, since intervals are not symmetric. They cover the range, so
    every mean that can fail has one.

    Examples
    --------
    >>> cells = OutwardCells(0.5, 0.06, 0.08, 0.0, 1.0)
    >>> [cells.index(mean) for mean in (0.53, 0.57, 0.65, 0.42)], [round(end, 2) for end in cells.ends(0.42)]
    ([0, 1, 2, -1], [0.36, 0.44])
    """

    guess: float
    edge: float
    length: float
    low: float
    high: float

    def index(self, mean: float) -> int:
        """Return the number of the cell that holds a mean; one on an edge is in either of its two cells."""
        beyond = abs(mean - self.guess) - self.edge
        if beyond <= 0:
            return 0
        place = 1 + math.floor(beyond / self.length)
        return place if mean > self.guess else -place

    def ends(self, mean: float) -> tuple[float, float]:
        """Return the ends of the cell that holds a mean, within the range."""
        place, sign = abs(self.index(mean)), 1 if mean > self.guess else -1
        near = self.edge + (place - 1) * self.length if place else 0.0
        far = self.edge + place * self.length
        first, last = sorted((self.guess + sign * near, self.guess + sign * far))
        return min(max(first, self.low), self.high), max(min(last, self.high), self.low)


@dataclass(frozen=True)
class OutwardEnds:
    """Pairs of ends in steps of a grid, counted outwards from a guess; for an interval that is more than a mean's.

    Both ends are rounded outward and the pair is shown.

    Examples
    --------
    >>> pairs = OutwardEnds(0.5, 0.1, 0.0, 1.0)
    >>> pairs.steps(0.33, 0.58), [round(end, 2) for end in pairs.ends(0.33, 0.58)]
    ((2, 1), [0.3, 0.6])
    """

    guess: float
    step: float
    low: float
    high: float

    def steps(self, lower: float, upper: float) -> tuple[int, int]:
        """Return how many steps the two ends lie from the guess, down and up."""
        hair = 1e-9
        down = math.ceil((self.guess - lower) / self.step - hair)
        above = math.ceil((upper - self.guess) / self.step - hair)
        # An end that rounding put a hair on the wrong side of the grid takes one more step.
        down += self.guess - down * self.step > lower
        above += self.guess + above * self.step < upper
        return down, max(above, 1 - down)

    def ends(self, lower: float, upper: float) -> tuple[float, float]:
        """Return the narrowest pair of the grid that holds `[lower, upper]`, within the range."""
        down, above = self.steps(lower, upper)
        first, last = self.guess - down * self.step, self.guess + above * self.step
        return min(max(first, self.low), self.high), max(min(last, self.high), self.low)


@dataclass(slots=True)
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
        """Return the union of the intervals of all means in `[least, most]`, and of what rounding may make of them."""
        hair = self.hair
        # Inside the range also where noise has carried both ends beyond one side of it.
        least = min(max(self.low, least - hair), self.high)
        most = max(min(self.high, most + hair), self.low)
        if self.family.whole:  # only the counts inside matter; the hair keeps those that a rounded edge would cut off
            least, most = math.ceil(least * self.n) / self.n, math.floor(most * self.n) / self.n
        lower, upper = self.at(least, log_share, side)[0], self.at(most, log_share, side)[1]
        return max(self.low, lower - hair), min(self.high, upper + hair)

    def of(self, rows: Summary, log_share: float, side: Side = "both") -> tuple[float, float]:
        """Return the interval of these rows. Secret."""
        if self.family.whole:
            return self.at(rows.ones / rows.n, log_share, side)
        lower, upper = self.at(rows.mean, log_share, side)
        hair = self.hair
        return max(self.low, lower - hair), min(self.high, upper + hair)

    def half_width(self, guess: float, log_share: float) -> float:
        """Return how far the interval of a mean at the guess reaches from the guess.

        For counts this is the width of `kl`, which needs no whole number, is never narrower and costs less.
        """
        ends = kl if self.family.whole else self.family.ends
        lower, upper = ends(guess, self.n, log_share, self.low, self.high, "both")
        return max(guess - lower, upper - guess)

    def reach(self, guess: float, log_share: float) -> float:
        """Return a tolerance with which some rows pass: those whose mean is at the guess, or next to it."""
        lower, upper = self.at(round(guess * self.n) / self.n if self.family.whole else guess, log_share)
        return max(guess - lower, upper - guess) + 2 * self.hair

    def least_tolerance(self, guess: float, log_share: float) -> float:
        """Return the smallest tolerance with which some mean passes at this guess.

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

    def passing(self, claimed: tuple[float, float], log_share: float) -> tuple[float, float] | None:
        """The least and the greatest mean whose interval lies inside what a pass claims; None where no mean's does.

        Both limits rise with the mean, so each is found by halving.
        """
        steps = self.n if self.family.whole else _GRID
        length = self.high - self.low

        def mean_at(step: int) -> float:
            return step / steps if self.family.whole else self.low + length * (step / steps)

        least = _first(steps, lambda step: self.at(mean_at(step), log_share)[0] >= claimed[0])
        beyond = _first(steps, lambda step: self.at(mean_at(step), log_share)[1] > claimed[1])
        return (mean_at(least), mean_at(beyond - 1)) if least < beyond else None

    def default_tolerance(self, guess: float, log_share: float, guess_rows: int | None = None) -> float:
        """Return the tolerance of a question that names none; more where the guess is the mean of few rows."""
        return room(log_share, self.n, guess_rows) * self.half_width(guess, log_share)

    def cells(self, guess: float, tolerance: float, log_share: float, grid: float | None = None) -> OutwardCells:
        """Return the cells of a failure, from what is known before the data: two half-widths long, or two `grid`."""
        width = self.half_width(guess, log_share)
        length = 2 * (width if grid is None else grid)
        return OutwardCells(guess, max(0.0, tolerance - width), length, self.low, self.high)


def _first(steps: int, holds: Callable[[int], bool]) -> int:
    """The first of `0..steps` that holds, where all after it do too; `steps + 1` where none does."""
    first, last = 0, steps + 1
    while first < last:
        middle = (first + last) // 2
        first, last = (first, middle) if holds(middle) else (middle + 1, last)
    return first


def room(log_share: float, n: int, guess_rows: int | None) -> float:
    """Return how many half-widths around the guess a pass certifies, where no tolerance was given.

    Where the guess is the mean of `guess_rows` other rows, its distance from the mean of `n` rows has a standard
    deviation of `sqrt(1 + n/guess_rows)` times that of the mean, of which 3.3 will pass.

    Examples
    --------
    >>> room(-10.0, 1000, None), round(room(-10.0, 10_000, 1000), 2)
    (2.5, 3.68)
    """
    if guess_rows is None:
        return ROOM
    return max(ROOM, 1 + _ROOM_DEVIATIONS * math.sqrt(1 + n / guess_rows) / deviations(log_share))


def deviations(log_share: float) -> float:
    """Return the half-width of a normal interval at a share, in standard deviations."""
    return float(-ndtri_exp(log_share - math.log(2)))
