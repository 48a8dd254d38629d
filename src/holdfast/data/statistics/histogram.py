"""How many rows have a value in each bin."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import Any

from holdfast.data.expressions import python_rows, to_json, tree
from holdfast.data.schema import Schema
from holdfast.data.statistics.plan import Plan, built_whole
from holdfast.data.statistics.request import Added, Row, branch, checked_kind, rising, set_fields, to_node


@dataclass(frozen=True)
class Histogram:
    """How many rows have a value in each bin; the last number counts all others, NULL among them.

    Bin `i` is `[edges[i], edges[i + 1])`; the last bin has its right edge too.

    Examples
    --------
    >>> from holdfast.data.statistics import of_rows
    >>> ages = [{"age": age} for age in (18, 30, 40, 65, None)]
    >>> tuple(of_rows(Histogram("age", (20, 40, 60, 65)), ages, Schema({"age": "integer"})))
    (1, 1, 1, 2)
    """

    expression: Any
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        set_fields(self, expression=to_node(self.expression), edges=rising("edges", self.edges, 2))

    def plan(self, schema: Schema) -> Plan:
        """What an engine adds up. Raises `InvalidParameter` where the expression does not fit the schema."""
        checked_kind(self.expression, schema, "number")
        bins = len(self.edges) - 1
        branches = [branch(self.expression, "<", self.edges[0], bins)]
        branches += [branch(self.expression, "<", edge, at) for at, edge in enumerate(self.edges[1:])]
        branches.append(branch(self.expression, "<=", self.edges[-1], bins - 1))
        cell = built_whole(tree.Case(tuple(branches), tree.Number(bins)), schema, bins)
        return Plan(cells=bins + 1, cell=cell)

    def adds(self, schema: Schema) -> Added:
        """The definition, row by row."""
        inner = checked_kind(self.expression, schema, "number")
        bins = len(self.edges) - 1

        def added(row: Row) -> list[tuple[int, int]]:
            value: Any = python_rows.evaluate(inner, row)
            if value is None or not self.edges[0] <= value <= self.edges[-1]:
                return [(bins, 1)]
            return [(min(bisect_right(self.edges, value) - 1, bins - 1), 1)]

        return added

    def size(self, schema: Schema) -> int:
        """Length of the result: one for each bin, and one for other rows."""
        return len(self.edges)

    def to_dict(self) -> dict[str, Any]:
        """The request as plain data."""
        return {"statistic": "histogram", "expression": to_json(self.expression), "edges": list(self.edges)}


__all__ = ["Histogram"]
