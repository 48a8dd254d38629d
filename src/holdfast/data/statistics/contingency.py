"""How many rows there are in each cell of a table by declared categories."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from holdfast.data.expressions import tree
from holdfast.data.schema import Schema
from holdfast.data.statistics.declared_categories import Categories, categories_of, code, place
from holdfast.data.statistics.plan import Plan, built_whole, checked_cells
from holdfast.data.statistics.request import Added, Row, set_fields
from holdfast.errors import InvalidParameter


@dataclass(frozen=True)
class Contingency:
    """How many rows there are in each cell of a table of columns by their declared categories.

    Parameters
    ----------
    columns : tuple of str
        Text, integer or boolean columns.
    categories : tuple of (tuple or None), optional
        Of each column; None takes the values that the schema declares (for a boolean column: false, true).

    The cells are in the order of the categories, the last column fastest; after those of a column comes "other", which
    holds every other value and NULL.

    Examples
    --------
    >>> from holdfast.data.statistics import of_rows
    >>> rows = [{"a": "x", "b": True}, {"a": "y", "b": True}, {"a": "z", "b": None}]
    >>> tuple(of_rows(Contingency(("a", "b"), (("x", "y"), None)), rows, Schema({"a": "text", "b": "boolean"})))
    (0, 1, 0, 0, 1, 0, 0, 0, 1)
    """

    columns: tuple[str, ...]
    categories: tuple[Categories | None, ...] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.columns, str) or not isinstance(self.columns, Iterable) or not tuple(self.columns):
            raise InvalidParameter("columns must be a list of names")
        columns = tuple(self.columns)
        categories = (None,) * len(columns) if self.categories is None else tuple(self.categories)
        if len(categories) != len(columns):
            raise InvalidParameter(
                f"categories must have one entry for each of {len(columns)} columns, got {len(categories)}"
            )
        if len(set(columns)) != len(columns):
            raise InvalidParameter("columns must be different from each other")
        set_fields(self, columns=columns, categories=tuple(None if k is None else tuple(k) for k in categories))

    def _all(self, schema: Schema) -> list[tuple[str, Categories]]:
        assert self.categories is not None
        return [
            (name, categories_of(schema, name, categories))
            for name, categories in zip(self.columns, self.categories, strict=True)
        ]

    def plan(self, schema: Schema) -> Plan:
        """What an engine adds up. Raises `InvalidParameter` where columns or categories do not fit the schema."""
        cells = self.size(schema)
        stride, cell = cells, None
        for name, categories in self._all(schema):
            stride //= len(categories) + 1
            here = code(schema[name], categories, stride)
            cell = here if cell is None else tree.Arithmetic("+", cell, here)
        assert cell is not None
        return Plan(cells=cells, cell=built_whole(cell, schema, cells << len(self.columns)))

    def adds(self, schema: Schema) -> Added:
        """The definition, row by row."""
        named = self._all(schema)

        def added(row: Row) -> list[tuple[int, int]]:
            cell = 0
            for name, categories in named:
                cell = cell * (len(categories) + 1) + place(row[name], schema[name], categories)
            return [(cell, 1)]

        return added

    def size(self, schema: Schema) -> int:
        """Length of the result: the number of cells."""
        return checked_cells(math.prod(len(categories) + 1 for _, categories in self._all(schema)))

    def to_dict(self) -> dict[str, Any]:
        """The request as plain data."""
        assert self.categories is not None
        categories = [None if these is None else list(these) for these in self.categories]
        return {"statistic": "contingency", "columns": list(self.columns), "categories": categories}


__all__ = ["Contingency"]
