"""What can be asked of a sample: frozen requests whose exact results are whole numbers, the same on every engine.

Each request becomes a `Plan`: a cell for every row and what each row adds to its cell, both expressions of the row
language. So an engine needs to know one thing only, how to add whole numbers by cell. Keys are declared, never found in
the rows: what a row holds besides them counts in a last cell, "other".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from holdfast import check
from holdfast.data.expressions import Expression, from_json, limits, parse, python_rows, tree
from holdfast.data.expressions.checked import checked
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter

UNIT_BITS = 30
UNIT: int = 2**UNIT_BITS
"""A fixed sum counts in steps of this fraction of the declared range."""

MOST_ROWS = 2**32
"""A sum of this many rows still fits in 64 bits."""

MOST_KEYS = 500
MOST_CELLS = 100_000
_MOST_NODES = 20_000

Source = str | Mapping[str, Any] | float | tree.Node


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


@dataclass(frozen=True)
class FixedSum:
    """Sum over rows of a clipped value in whole steps of 2**-30 of its range.

    A row with value `x` adds `floor((clip(x) - low) * scale)`, where `scale` is the double nearest to
    `2**30 / (high - low)` and each operation is one in double precision; NULL counts as `default`. A truth value counts
    as 1 or 0. So one row adds a whole number from 0 to 2**30, and a sum over up to 2**32 rows is exact in 64 bits, in
    any order. A product and not a quotient, because some engines divide by multiplying with a rounded reciprocal.

    Parameters
    ----------
    expression : str, JSON data or tree
        A number or a truth value.
    low, high : float
        The declared range; each 0 or between 2**-100 and 2**100 in size.
    default : float, optional
        What NULL counts as; `low` unless given.

    Examples
    --------
    >>> schema = Schema({"age": "integer"})
    >>> wanted = FixedSum("age", 0, 100)
    >>> float(wanted.mean(of_rows(wanted, [{"age": 25}, {"age": 50}, {"age": None}], schema)[0], 3))
    25.0
    """

    expression: Any
    low: float = 0.0
    high: float = 1.0
    default: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", _node(self.expression))
        low, high = (_end(name, end) for name, end in (("low", self.low), ("high", self.high)))
        if not low < high:
            raise InvalidParameter(f"low must be below high, got [{low:g}, {high:g}]")
        if high - low < limits.SMALLEST:
            raise InvalidParameter("high must be at least 2**-100 above low")
        default = low if self.default is None else _end("default", self.default, at_least=low, at_most=high)
        for name, value in (("low", low), ("high", high), ("default", default)):
            object.__setattr__(self, name, value)

    @property
    def width(self) -> float:
        """`high - low` in double precision."""
        return self.high - self.low

    @property
    def scale(self) -> float:
        """Steps for one unit of the value."""
        return UNIT / self.width

    def steps(self, value: float | None) -> int:
        """What a row with this value adds."""
        number = self.default if value is None else float(value)
        assert number is not None
        return math.floor((min(max(number, self.low), self.high) - self.low) * self.scale)

    def mean(self, total: int, n: int) -> Fraction:
        """The mean that a sum of `n` rows stands for.

        It is below the mean of the clipped values by less than `(1 + 2**-20) * 2**-30 * width`, and never above it by
        more than `2**-50 * width`: rounding down costs less than a step, each of three roundings 2**-53 of the width.
        """
        return Fraction(self.low) + Fraction(self.width) * Fraction(int(total), n * UNIT)

    def plan(self, schema: Schema) -> Plan:
        """What an engine adds up."""
        inner = checked(self.expression, schema)
        assert self.default is not None
        if inner.kind == "text":
            raise InvalidParameter("expression must be a number or a truth value, got a text")
        if inner.kind == "boolean":
            yes, no, missing = self.steps(1.0), self.steps(0.0), self.steps(None)
            if no == 0 and missing in (yes, no):
                counted = inner
                if missing == yes and inner.nullable:
                    counted = _built(tree.Call("coalesce", (self.expression, tree.Truth(True))), schema)
                return Plan(counted=counted, times=yes)
            branches = ((self.expression, tree.Number(yes)), (tree.Not(self.expression), tree.Number(no)))
            return Plan(added=_built(tree.Case(branches, tree.Number(missing)), schema))
        value = self.expression
        if inner.nullable:
            value = tree.Call("coalesce", (value, tree.Number(self.default)))
        value = tree.Call("clip", (value, tree.Number(self.low), tree.Number(self.high)))
        if self.low != 0.0:
            value = tree.Arithmetic("-", value, tree.Number(self.low))
        value = tree.Arithmetic("*", value, tree.Number(self.scale))
        return Plan(added=_built(tree.Call("floor", (value,)), schema))


@dataclass(frozen=True)
class Count:
    """How many rows a predicate is true of. NULL is not true.

    Examples
    --------
    >>> tuple(of_rows(Count("age > 30"), [{"age": 25}, {"age": 50}, {"age": None}], Schema({"age": "integer"})))
    (1,)
    """

    expression: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", _node(self.expression))

    def plan(self, schema: Schema) -> Plan:
        """What an engine adds up."""
        inner = checked(self.expression, schema)
        if inner.kind != "boolean":
            raise InvalidParameter(f"expression must be a truth value, got a {inner.kind}")
        return Plan(counted=inner)


def of_rows(statistic: Any, rows: Iterable[Mapping[str, Any]], schema: Schema) -> Exact:
    """The exact result by the interpreter, row by row: what each request means, and the oracle for every engine."""
    inner = checked(statistic.expression, schema)
    values: Iterable[Any] = (python_rows.evaluate(inner, row) for row in rows)
    if isinstance(statistic, FixedSum):
        return Exact([sum(statistic.steps(value) for value in values)])
    assert isinstance(statistic, Count)
    return Exact([sum(value is True for value in values)])


def _node(source: Source) -> tree.Node:
    if isinstance(source, Expression):
        return source.node
    if isinstance(source, str):
        return parse(source)
    return source if isinstance(source, tree.Node) else from_json(source)


def _built(node: tree.Node, schema: Schema) -> Expression:
    return checked(node, schema, _MOST_NODES)


def _end(name: str, value: Any, *, at_least: float = -limits.LARGEST, at_most: float = limits.LARGEST) -> float:
    number = check.real(name, value, at_least=at_least, at_most=at_most) + 0.0
    if number != 0.0 and abs(number) < limits.SMALLEST:
        raise InvalidParameter(f"{name} must be 0 or at least 2**-100 in size, got {number:g}")
    return number


__all__ = ["MOST_ROWS", "UNIT", "Count", "Exact", "FixedSum", "Plan", "of_rows"]
