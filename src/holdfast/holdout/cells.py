"""What a failure may show: one of finitely many cells that were fixed before the data were looked at."""

from __future__ import annotations

import math
from dataclasses import dataclass

from holdfast.bounds.holdout.guess_and_check import shown_values


@dataclass(frozen=True)
class Cells:
    """`count` cells of equal length that cover `[low, high]`; a failure shows the index of one.

    Examples
    --------
    >>> cells = Cells.of_half_width(0.1, 0.0, 1.0)
    >>> cells.count, cells.index(0.37), round(cells.midpoint(1), 12)
    (5, 1, 0.3)
    """

    low: float
    high: float
    count: int

    @classmethod
    def of_half_width(cls, grid: float, low: float, high: float) -> Cells:
        """The fewest equal cells of half-width at most `grid`."""
        return cls(low, high, shown_values(grid, high - low))

    def index(self, value: float) -> int:
        """The cell that holds `value`; a value on an edge is in one of its two cells, whichever rounding says."""
        place = (value - self.low) / (self.high - self.low) * self.count
        return min(max(math.floor(place), 0), self.count - 1)

    def edge(self, index: int) -> float:
        """The lower end of cell `index`; `high` for `index = count`."""
        return self.high if index == self.count else self.low + (self.high - self.low) * (index / self.count)

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
