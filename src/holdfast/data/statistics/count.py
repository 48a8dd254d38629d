"""How many rows a predicate is true of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.data.expressions import python_rows, to_json
from holdfast.data.schema import Schema
from holdfast.data.statistics.plan import Plan
from holdfast.data.statistics.request import Added, checked_kind, set_fields, to_node


@dataclass(frozen=True)
class Count:
    """How many rows a predicate is true of. NULL is not true.

    Examples
    --------
    >>> from holdfast.data.statistics import of_rows
    >>> tuple(of_rows(Count("age > 30"), [{"age": 25}, {"age": 50}, {"age": None}], Schema({"age": "integer"})))
    (1,)
    """

    expression: Any

    def __post_init__(self) -> None:
        set_fields(self, expression=to_node(self.expression))

    def plan(self, schema: Schema) -> Plan:
        """What an engine adds up. Raises `InvalidParameter` where the expression does not fit the schema."""
        return Plan(counted=checked_kind(self.expression, schema, "boolean"))

    def adds(self, schema: Schema) -> Added:
        """The definition, row by row."""
        inner = checked_kind(self.expression, schema, "boolean")
        return lambda row: [(0, 1)] if python_rows.evaluate(inner, row) is True else []

    def size(self, schema: Schema) -> int:
        """Length of the result: 1."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """The request as plain data."""
        return {"statistic": "count", "expression": to_json(self.expression)}


__all__ = ["Count"]
