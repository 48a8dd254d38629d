"""How many rows are at or below thresholds: what quantiles are read from."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from holdfast.data.expressions import python_rows, to_json, tree
from holdfast.data.schema import Schema
from holdfast.data.statistics.plan import Plan, built_whole
from holdfast.data.statistics.request import Added, Row, branch, checked_kind, rising, set_fields, to_node


@dataclass(frozen=True)
class QuantileCounts:
    """How many rows are at or below each threshold, then how many have a value, then how many are NULL.

    Examples
    --------
    >>> from holdfast.data.statistics import of_rows
    >>> ages = [{"age": age} for age in (18, 30, 40, 65, None)]
    >>> tuple(of_rows(QuantileCounts("age", (20, 40)), ages, Schema({"age": "integer"})))
    (1, 3, 4, 1)
    """

    expression: Any
    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        set_fields(self, expression=to_node(self.expression), thresholds=rising("thresholds", self.thresholds, 1))

    def plan(self, schema: Schema) -> Plan:
        """What an engine adds up. Raises `InvalidParameter` where the expression does not fit the schema."""
        checked_kind(self.expression, schema, "number")
        last = len(self.thresholds)
        branches = [branch(self.expression, "<=", edge, at) for at, edge in enumerate(self.thresholds)]
        branches.append(branch(self.expression, ">", self.thresholds[-1], last))
        cell = built_whole(tree.Case(tuple(branches), tree.Number(last + 1)), schema, last + 1)
        return Plan(cells=last + 2, cell=cell, running=last + 2)

    def adds(self, schema: Schema) -> Added:
        """The definition, row by row."""
        inner = checked_kind(self.expression, schema, "number")
        last = len(self.thresholds)

        def added(row: Row) -> list[tuple[int, int]]:
            value: Any = python_rows.evaluate(inner, row)
            if value is None:
                return [(last + 1, 1)]
            return [(at, 1) for at in range(bisect_left(self.thresholds, value), last + 1)]

        return added

    def size(self, schema: Schema) -> int:
        """Length of the result: one for each threshold, and two."""
        return len(self.thresholds) + 2

    def to_dict(self) -> dict[str, Any]:
        """The request as plain data."""
        ends = list(self.thresholds)
        return {"statistic": "quantile-counts", "expression": to_json(self.expression), "thresholds": ends}


__all__ = ["QuantileCounts"]
