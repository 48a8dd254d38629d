"""What a failure may show: one of finitely many cells that were fixed before the data were looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass

from holdfast.bounds.holdout.guess_and_check import shown_values


@dataclass(frozen=True)
class Cells:
    """`count` cells that cover `[low, high]`; a failure shows the index of one.

    Cells have one length, or, when `curved`, one length on the arcsine scale: near the ends of the range, where means
    are more certain, they are shorter in proportion.

    Examples
    --------
    >>> cells = Cells.of_half_width(0.1, 0.0, 1.0)
    >>> cells.count, cells.index(0.37), round(cells.midpoint(1), 12)
    (5, 1, 0.3)
    >>> curved = Cells(0.0, 1.0, 5, curved=True)
    >>> [round(curved.edge(i), 4) for i in range(6)]
    [0.0, 0.0955, 0.3455, 0.6545, 0.9045, 1.0]
    """

    low: float
    high: float
    count: int
    curved: bool = False

    @classmethod
    def of_half_width(cls, grid: float, low: float, high: float, curved: bool = False) -> Cells:
        """The fewest cells of half-width at most `grid`; for curved cells that is the half-width in the middle."""
        return cls(low, high, shown_values(grid, (high - low) * (math.pi / 2 if curved else 1)), curved)

    def index(self, value: float) -> int:
        """The cell that holds `value`; a value on an edge is in one of its two cells, whichever rounding says."""
        place = min(max((value - self.low) / (self.high - self.low), 0.0), 1.0)
        if self.curved:
            place = math.asin(math.sqrt(place)) / (math.pi / 2)
        return min(math.floor(place * self.count), self.count - 1)

    def edge(self, index: int) -> float:
        """The lower end of cell `index`; `high` for `index = count`."""
        place = index / self.count
        if self.curved:
            place = math.sin(place * math.pi / 2) ** 2
        return self.high if index == self.count else self.low + (self.high - self.low) * place

    def midpoint(self, index: int) -> float:
        """What is shown for cell `index`."""
        return (self.edge(index) + self.edge(index + 1)) / 2


@dataclass(frozen=True)
class Pairs:
    """Intervals whose ends lie on a grid of `steps` equal steps over `[low, high]`.

    For an interval that is not a function of one mean, both ends are rounded outward to the grid and the pair is
    shown. There are `steps (steps + 1) / 2` pairs.

    Examples
    --------
    >>> pairs = Pairs.of_step(0.1, 0.0, 1.0)
    >>> pairs.count, [round(end, 12) for end in pairs.outward(0.33, 0.58)]
    (55, [0.3, 0.6])
    """

    low: float
    high: float
    steps: int

    @classmethod
    def of_step(cls, step: float, low: float, high: float) -> Pairs:
        """The fewest equal steps of length at most `step`."""
        return cls(low, high, shown_values(step / 2, high - low))

    @property
    def count(self) -> int:
        """How many pairs could be shown."""
        return self.steps * (self.steps + 1) // 2

    def outward(self, lower: float, upper: float) -> tuple[float, float]:
        """The narrowest pair that holds `[lower, upper]`."""
        grid = Cells(self.low, self.high, self.steps)
        first, last = grid.index(lower), grid.index(upper)
        # An end that rounding put a hair on the wrong side of an edge takes one more step.
        first -= first > 0 and grid.edge(first) > lower
        last += last < self.steps - 1 and grid.edge(last + 1) < upper
        return grid.edge(first), grid.edge(last + 1)


__all__ = ["Cells", "Pairs"]
