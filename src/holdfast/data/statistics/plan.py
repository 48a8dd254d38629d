"""What an engine adds up for one request: whole numbers by cell, and nothing else.

A request such as a histogram becomes a `Plan`: the cell of every row and what the row adds to it, both expressions of
the row language. So an engine needs to know one thing only, and every engine gives the same whole numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.data.expressions import tree
from holdfast.data.expressions.checking import Expression, checked
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter

MOST_CELLS = 100_000
MOST_ADDED = 2**30
"""The most that one row adds, so that a sum over `MOST_ROWS` rows fits in 64 bits."""

MOST_ROWS = 2**32
"""Rows of a sample at most, so that every sum is a whole number of 64 bits."""
_MOST_NODES = 20_000


class Exact(tuple[int, ...]):
    """Exact results, one whole number a cell. Secret: no repr shows them.

    Examples
    --------
    >>> Exact([3, 5])
    Exact(2 secret numbers)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"Exact({len(self)} secret numbers)"

    __str__ = __repr__


@dataclass(frozen=True)
class Plan:
    """What an engine adds up for one request.

    Parameters
    ----------
    cells : int
        Number of cells.
    cell : Expression, optional
        The cell of each row: a whole number from 0 to `cells - 1` on every row, never NULL. None: all rows in cell 0.
    counted : Expression, optional
        A truth value; only rows where it is true count. None: all rows.
    added : Expression, optional
        What a row adds: a whole number from 0 to 2**30 on every row, never NULL. None: 1.
    times : int
        What each sum is multiplied by at the end.
    running : int
        Length of the runs of cells whose sums are added up one after the other; 0 for none. The last cell of each
        run is "other" and stays out.

    Examples
    --------
    >>> Plan(cells=4, running=4).finish([1, 2, 3, 10]) == (1, 3, 6, 10)
    True
    """

    cells: int = 1
    cell: Expression | None = None
    counted: Expression | None = None
    added: Expression | None = None
    times: int = 1
    running: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns it reads, in order of the alphabet."""
        parts = (self.cell, self.counted, self.added)
        return tuple(sorted({name for part in parts if part is not None for name in part.columns}))

    def finish(self, sums: Sequence[int]) -> Exact:
        """The result, from the sums of all cells in order."""
        if len(sums) != self.cells:
            raise InvalidParameter(f"sums must have one number for each of {self.cells} cells, got {len(sums)}")
        results = [int(total) * self.times for total in sums]
        for start in range(0, self.cells if self.running else 0, self.running or 1):
            for at in range(start + 1, start + self.running - 1):
                results[at] += results[at - 1]
        return Exact(results)


def built(node: tree.Node, schema: Schema) -> Expression:
    """An expression that the library builds around a checked one: larger than a question may be."""
    return checked(node, schema, _MOST_NODES)


def built_whole(node: tree.Node, schema: Schema, most: int) -> Expression:
    """The same, for a cell or for what a row adds: proved to be a whole number on every row, and never NULL.

    Examples
    --------
    >>> schema = Schema({"b": "boolean"})
    >>> built_whole(tree.Case(((tree.Name("b"), tree.Number(1)),), tree.Number(0)), schema, 1).nullable
    False
    """
    whole = built(node, schema)
    size = whole.facts[node].size
    assert size is not None
    assert size.grain >= 0
    assert size.top <= most.bit_length()
    assert not whole.nullable
    return whole


def checked_cells(cells: int) -> int:
    """The number of cells, refused where it is too large to add up at once."""
    if cells > MOST_CELLS:
        raise InvalidParameter(f"cells must be at most {MOST_CELLS} in all, got {cells}; declare fewer categories")
    return cells


__all__ = ["MOST_ADDED", "MOST_CELLS", "MOST_ROWS", "Exact", "Plan", "built", "built_whole", "checked_cells"]
