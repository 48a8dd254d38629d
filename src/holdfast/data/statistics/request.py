"""What an engine is asked for: whole numbers by cell, checked when requested, and what they mean row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

from holdfast.core import arguments
from holdfast.data.expressions import Expression, checked, tree
from holdfast.data.schema import Column, Schema
from holdfast.errors import InvalidParameter

# --- Plan -------------------------------------------------------------------------------------------------------------
# What an engine adds up for one request: whole numbers by cell, and nothing else.
#
# A request such as a histogram becomes a `Plan`: the cell of every row and what the row adds to it, both expressions of
# the row language. So an engine needs to know one thing only, and every engine gives the same whole numbers.

MOST_CELLS = 100_000
MOST_ADDED = 2**30
"""The most that one row adds, so that a sum over `MOST_ROWS` rows fits in 64 bits."""

MOST_ROWS = 2**32
"""Rows of a sample at most, so that every sum is a whole number of 64 bits."""
_MOST_NODES = 20_000


class Exact(tuple[int, ...]):
    """The exact result of a statistic, one whole number for each cell. It is secret, and no repr shows it.

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
    """The plan of one statistic: the sums over rows that an engine computes for it.

    Parameters
    ----------
    cells : int
        The number of cells.
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
        """The names of the columns that the expression uses, in alphabetical order."""
        parts = (self.cell, self.counted, self.added)
        return tuple(sorted({name for part in parts if part is not None for name in part.columns}))

    def finish(self, sums: Sequence[int]) -> Exact:
        """Return the result of the statistic, computed from the sums of all cells in order."""
        if len(sums) != self.cells:
            raise InvalidParameter(f"sums must have one number for each of {self.cells} cells, got {len(sums)}")
        results = [int(total) * self.times for total in sums]
        for start in range(0, self.cells if self.running else 0, self.running or 1):
            for at in range(start + 1, start + self.running - 1):
                results[at] += results[at - 1]
        return Exact(results)


def built(node: tree.Node, schema: Schema) -> Expression:
    """Return an expression that the library builds around a checked one: larger than a question may be."""
    return checked(node, schema, _MOST_NODES)


def built_whole(node: tree.Node, schema: Schema, most: int) -> Expression:
    """Return the same, for a cell or for what a row adds: proved to be a whole number on every row, and never NULL.

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
    """Return the number of cells, refused where it is too large to add up at once."""
    if cells > MOST_CELLS:
        raise InvalidParameter(
            f"cells (combinations of categories) must be at most {MOST_CELLS}, got {cells}; declare fewer categories"
        )
    return cells


# --- Pass -------------------------------------------------------------------------------------------------------------
# Which plans an engine adds up in one pass over the rows.


@dataclass(frozen=True)
class Pass:
    """Plans whose rows fall into the same cells, so that one grouping serves them all.

    Examples
    --------
    >>> from holdfast.data.statistics import Count
    >>> schema = Schema({"b": "boolean"})
    >>> plans = [Count("b").plan(schema), Count("not b").plan(schema), Plan()]
    >>> [(len(one.plans), one.cells) for one in passes(plans, 2)]
    [(2, 1), (1, 1)]
    """

    cell: Expression | None
    plans: tuple[Plan, ...]

    @property
    def cells(self) -> int:
        """The number of cells."""
        return self.plans[0].cells

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are read, in order of the alphabet."""
        return tuple(sorted({name for plan in self.plans for name in plan.columns}))

    def read(self, schema: Schema) -> tuple[Column, ...]:
        """The columns that are read."""
        return tuple(schema[name] for name in self.columns)


def passes(plans: Sequence[Plan], at_once: int) -> Iterator[Pass]:
    """Group different plans by their cells, at most `at_once` plans a pass."""
    shared: dict[tuple[Expression | None, int], list[Plan]] = {}
    for plan in dict.fromkeys(plans):
        shared.setdefault((plan.cell, plan.cells), []).append(plan)
    for (cell, _), grouped in shared.items():
        for start in range(0, len(grouped), at_once):
            yield Pass(cell, tuple(grouped[start : start + at_once]))


# --- Request ----------------------------------------------------------------------------------------------------------
# What every request has in common: its parts, checked when it is made.

MOST_EDGES = 500

Row = Mapping[str, Any]
Added = Callable[[Row], Iterable[tuple[int, int]]]
"""Which results a row adds to, and what."""


@runtime_checkable
class Statistic(Protocol):
    """A statistic that is to be computed from the rows. It cannot be changed, and two equal statistics ask for the same
    numbers.

    Examples
    --------
    >>> from holdfast.data.statistics import Count
    >>> isinstance(Count("age < 30"), Statistic), Count("age < 30") == Count("age<30")
    (True, True)
    """

    def plan(self, schema: Schema) -> Plan:
        """Return the plan of the sums that an engine computes."""

    def adds(self, schema: Schema) -> Added:
        """Return what each row adds to the sums. This defines the statistic."""

    def size(self, schema: Schema) -> int:
        """The length of the result: how many numbers it has."""

    def to_dict(self) -> dict[str, Any]:
        """Return the statistic as plain data."""


def checked_kind(node: tree.Node | Expression, schema: Schema, *kinds: str) -> Expression:
    """Return the expression checked against a schema, and to be of one of these kinds."""
    if isinstance(node, Expression):
        inner = node if node.fits(schema) else checked(node.node, schema)
    else:
        inner = checked(node, schema)
    if inner.kind not in kinds:
        wanted = " or a ".join("truth value" if kind == "boolean" else kind for kind in kinds)
        hints = {"date": "; write days(d) or year(d)", "timestamp": "; write seconds(t)"}
        hint = hints.get(inner.kind.removesuffix("tz"), "") if "number" in kinds else ""
        raise InvalidParameter(f"expression must be a {wanted}, got a {inner.kind}{hint}")
    if not inner.columns:
        raise InvalidParameter(
            "expression must use at least one column, because without one its value does not depend on the data"
        )
    return inner


def branch(node: tree.Node, sign: tree.ComparisonSign, edge: float, cell: int) -> tuple[tree.Node, tree.Node]:
    """Return a branch of `case` that leads from a comparison with an edge to a cell."""
    return tree.Comparison(sign, node, tree.Number(edge)), tree.Number(cell)


def rising(name: str, values: Any, fewest: int) -> tuple[float, ...]:
    """Edges, checked: numbers that an expression may hold, each above the one before."""
    numbers = arguments.reals(name, values)
    numbers = tuple(end(f"{name}[{at}]", value) for at, value in enumerate(numbers))
    if not fewest <= len(numbers) <= MOST_EDGES or any(a >= b for a, b in pairwise(numbers)):
        raise InvalidParameter(f"{name} must be {fewest} to {MOST_EDGES} numbers in increasing order")
    return numbers


def end(name: str, value: Any, *, at_least: float = -tree.LARGEST, at_most: float = tree.LARGEST) -> float:
    """Return a number that an expression may hold: 0, or between 2**-100 and 2**100 in size."""
    number = arguments.real(name, value, at_least=at_least, at_most=at_most) + 0.0
    if number != 0.0 and abs(number) < tree.SMALLEST:
        raise InvalidParameter(f"{name} must be 0 or a number with a size of at least 2**-100, got {number:g}")
    return number


def set_fields(request: Any, **values: Any) -> None:
    """Set checked fields of a frozen request while it is made."""
    for name, value in values.items():
        object.__setattr__(request, name, value)


# --- By rows ----------------------------------------------------------------------------------------------------------
# What a request means: its result by the interpreter, one row at a time.


def of_rows(statistic: Statistic, rows: Iterable[Row], schema: Schema) -> Exact:
    """Return the exact result of each statistic, computed row by row in Python. It defines what each statistic means,
    and the engines are tested against it.

    Examples
    --------
    >>> from holdfast.data.statistics import Count
    >>> of_rows(Count("b"), [{"b": True}], Schema({"b": "boolean"}))
    Exact(1 secret numbers)
    """
    results, added = [0] * statistic.size(schema), statistic.adds(schema)
    for row in rows:
        for at, amount in added(row):
            results[at] += amount
    return Exact(results)
