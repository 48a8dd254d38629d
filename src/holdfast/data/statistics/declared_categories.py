"""Categories of a column that are declared in public: which of them a row holds, or "other"."""

from __future__ import annotations

from typing import Any

from holdfast.data.expressions import python_rows, tree
from holdfast.data.schema import Column, Schema, category
from holdfast.errors import InvalidParameter

MOST_CATEGORIES = 500

Categories = tuple[str | int | bool, ...]


def categories_of(schema: Schema, name: str, categories: Categories | None) -> Categories:
    """The categories, checked against the column; None takes those that the schema declares.

    Examples
    --------
    >>> categories_of(Schema([Column("sex", "text", values=("f", "m"))]), "sex", None)
    ('f', 'm')
    """
    if not isinstance(name, str) or name not in schema:
        raise InvalidParameter(f"column must be one of the schema, got {str(name)[:60]!r}")
    column = schema[name]
    if column.kind == "number":
        raise InvalidParameter(
            f"column {name!r} must be text, integer or boolean to have categories; a number has edges of bins"
        )
    if categories is None:
        categories = (False, True) if column.kind == "boolean" else column.values
    if categories is None:
        raise InvalidParameter(f"categories of column {name!r} must be declared, here or in the schema")
    if not 0 < len(categories) <= MOST_CATEGORIES:
        raise InvalidParameter(f"categories of column {name!r} must be 1 to {MOST_CATEGORIES}, got {len(categories)}")
    checked = tuple(category(f"categories of column {name!r}", value, column.kind) for value in categories)
    if len(set(checked)) != len(checked):
        raise InvalidParameter(f"categories of column {name!r} must be different from each other")
    return checked


def code(column: Column, categories: Categories, stride: int) -> tree.Node:
    """`stride` times the place of a row's category, as an expression; the place after the last is "other".

    Examples
    --------
    >>> code(Column("b", "boolean"), (True,), 1)
    Case(branches=((Name(column='b'), Number(value=0.0)),), otherwise=Number(value=1.0))
    """
    name = tree.Name(column.name)
    branches = tuple((_test(name, value), tree.Number(stride * at)) for at, value in enumerate(categories))
    return tree.Case(branches, tree.Number(stride * len(categories)))


def _test(name: tree.Name, value: str | int | bool) -> tree.Node:
    if isinstance(value, bool):
        return name if value else tree.Not(name)
    return tree.Comparison("=", name, tree.Text(value) if isinstance(value, str) else tree.Number(value))


def place(held: Any, column: Column, categories: Categories) -> int:
    """The place of a row's category among the categories, by definition; the place after the last is "other".

    Examples
    --------
    >>> place("b", Column("s", "text"), ("a", "b")), place(None, Column("s", "text"), ("a", "b"))
    (1, 2)
    """
    value = python_rows.read(held, column.kind)
    return len(categories) if value is None or value not in categories else categories.index(value)


__all__ = ["MOST_CATEGORIES", "Categories", "categories_of", "code", "place"]
