"""Another request, for the rows of each declared category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from holdfast.data.expressions import tree
from holdfast.data.schema import Schema
from holdfast.data.statistics.declared_categories import Categories, categories_of, code, place
from holdfast.data.statistics.plan import Plan, built_whole, checked_cells
from holdfast.data.statistics.request import Added, Row, Statistic, set_fields
from holdfast.errors import InvalidParameter


@dataclass(frozen=True)
class GroupBy:
    """Another request for the rows of each declared category of a column, then for all other rows.

    Examples
    --------
    >>> from holdfast.data.statistics import Count, of_rows
    >>> rows = [{"a": "x", "v": 1.0}, {"a": "y", "v": 0.5}, {"a": "y", "v": 2.0}]
    >>> wanted = GroupBy("a", ("x", "y"), Count("v > 0.75"))
    >>> tuple(of_rows(wanted, rows, Schema({"a": "text", "v": "number"})))
    (1, 1, 0)
    """

    column: str
    categories: Categories | None
    inner: Statistic

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Statistic):
            raise InvalidParameter("inner must be a request such as FixedSum or Count")
        if self.categories is not None:
            set_fields(self, categories=tuple(self.categories))

    def plan(self, schema: Schema) -> Plan:
        """What an engine adds up. Raises `InvalidParameter` where column or categories do not fit the schema."""
        inner, categories = self.inner.plan(schema), categories_of(schema, self.column, self.categories)
        cell: tree.Node = code(schema[self.column], categories, inner.cells)
        cells = checked_cells((len(categories) + 1) * inner.cells)
        if inner.cell is not None:
            cell = tree.Arithmetic("+", cell, inner.cell.node)
        whole = built_whole(cell, schema, 2 * cells)
        return Plan(cells, whole, inner.counted, inner.added, inner.times, inner.running)

    def adds(self, schema: Schema) -> Added:
        """The definition, row by row."""
        inner, categories = self.inner.adds(schema), categories_of(schema, self.column, self.categories)
        length = self.inner.size(schema)

        def added(row: Row) -> list[tuple[int, int]]:
            start = place(row[self.column], schema[self.column], categories) * length
            return [(start + at, amount) for at, amount in inner(row)]

        return added

    def size(self, schema: Schema) -> int:
        """Length of the result: that of the inner request for each category and for other rows."""
        return checked_cells((len(categories_of(schema, self.column, self.categories)) + 1) * self.inner.size(schema))

    def to_dict(self) -> dict[str, Any]:
        """The request as plain data."""
        categories = None if self.categories is None else list(self.categories)
        return {"statistic": "group-by", "column": self.column, "categories": categories, "inner": self.inner.to_dict()}


__all__ = ["GroupBy"]
