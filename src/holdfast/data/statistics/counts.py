"""How many rows there are: of a predicate, in bins, below thresholds, in cells of declared categories."""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from holdfast.core import arguments
from holdfast.data.expressions import Expression, python_rows, to_json, tree
from holdfast.data.expressions.checking import VALUE_KINDS, node_of
from holdfast.data.schema import Column, Kind, Schema, category
from holdfast.data.statistics.request import (
    Added,
    Plan,
    Row,
    Statistic,
    branch,
    built,
    built_whole,
    checked_cells,
    checked_kind,
    rising,
    set_fields,
)
from holdfast.errors import InvalidParameter

# --- Declared categories ----------------------------------------------------------------------------------------------
# Categories of a column that are declared in public: which of them a row holds, or "other".

MOST_CATEGORIES = 500

Categories = tuple[str | int | bool, ...]


def categories_of(schema: Schema, name: str, categories: Categories | None) -> Categories:
    """Return the categories, checked against the column; None takes those that the schema declares.

    Examples
    --------
    >>> categories_of(Schema([Column("sex", "text", values=("f", "m"))]), "sex", None)
    ('f', 'm')
    """
    if not isinstance(name, str) or name not in schema:
        raise InvalidParameter(f"column must be the name of a column of the data, got {str(name)[:60]!r}")
    column = schema[name]
    if column.kind not in ("text", "integer", "boolean"):
        instead = "a number has edges of bins" if column.kind == "number" else "a date has parts such as year(d)"
        raise InvalidParameter(f"column {name!r} must be text, integer or boolean to have categories; {instead}")
    if categories is None:
        categories = (False, True) if column.kind == "boolean" else column.values
    if categories is None:
        raise InvalidParameter(f"categories of column {name!r} must be declared, in the question or in the schema")
    if not 0 < len(categories) <= MOST_CATEGORIES:
        raise InvalidParameter(f"categories of column {name!r} must be 1 to {MOST_CATEGORIES}, got {len(categories)}")
    checked = tuple(category(f"categories of column {name!r}", value, column.kind) for value in categories)
    if len(set(checked)) != len(checked):
        raise InvalidParameter(f"categories of column {name!r} must be different from each other")
    return checked


def parse_categories(text: str, kind: Kind) -> list[str | int | bool]:
    """Categories as people type them, `a,b` or a JSON list, in the kind of their column.

    Every command, file and form that takes a list of categories reads it here. A JSON list is for names that have a
    comma in them.

    Examples
    --------
    >>> parse_categories("0, 1", "integer"), parse_categories("0,1", "text"), parse_categories("yes,no", "boolean")
    ([0, 1], ['0', '1'], [True, False])
    >>> parse_categories('["Reno, NV", "Bend, OR"]', "text")
    ['Reno, NV', 'Bend, OR']
    >>> parse_categories("0,x", "integer")
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: categories must be whole numbers for a column of kind integer, got 'x'
    """
    if text.strip().startswith("["):
        try:
            parts = [_printed(part) for part in json.loads(text)]
        except (ValueError, RecursionError):
            raise InvalidParameter(
                f"categories must be names with commas between them, or a JSON list, got {text[:60]!r}"
            ) from None
    else:
        parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise InvalidParameter(f"categories must not be empty, got {text[:60]!r}")
    return [_typed(part, kind) for part in parts]


def _printed(value: Any) -> str:
    """A part of a JSON list as it would be typed."""
    if isinstance(value, (bool, int, float)):
        return json.dumps(value)
    if not isinstance(value, str):
        raise ValueError
    return value


def _typed(part: str, kind: Kind) -> str | int | bool:
    if kind == "boolean":
        if part.lower() not in _TRUTH:
            raise InvalidParameter(f"categories must be true or false for a column of kind boolean, got {part[:60]!r}")
        return _TRUTH[part.lower()]
    if kind != "integer":
        return part
    try:
        return int(part[:40])
    except ValueError:
        raise InvalidParameter(
            f"categories must be whole numbers for a column of kind integer, got {part[:60]!r}"
        ) from None


_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def code(column: Column, categories: Categories, stride: int, null_at: int | None = None) -> tree.Node:
    """`stride` times the place of a row's category, as an expression; the place after the last is "other".

    A missing value has the place `null_at`, or that of "other".

    Examples
    --------
    >>> code(Column("b", "boolean"), (True,), 1)
    Case(branches=((Name(column='b'), Number(value=0.0)),), otherwise=Number(value=1.0))
    """
    name = tree.Name(column.name)
    branches = tuple((_test(name, value), tree.Number(stride * at)) for at, value in enumerate(categories))
    if null_at is not None:
        branches = ((tree.IsNull(name), tree.Number(stride * null_at)), *branches)
    return tree.Case(branches, tree.Number(stride * len(categories)))


def _test(name: tree.Name, value: str | int | bool) -> tree.Node:
    if isinstance(value, bool):
        return name if value else tree.Not(name)
    return tree.Comparison("=", name, tree.Text(value) if isinstance(value, str) else tree.Number(value))


def place(held: Any, column: Column, categories: Categories, null_at: int | None = None) -> int:
    """Return the place of a row's category among the categories, by definition; the place after the last is "other".

    Examples
    --------
    >>> place("b", Column("s", "text"), ("a", "b")), place(None, Column("s", "text"), ("a", "b"))
    (1, 2)
    """
    value = python_rows.read(held, column.kind)
    if value is None and null_at is not None:
        return null_at
    return len(categories) if value is None or value not in categories else categories.index(value)


# --- Count ------------------------------------------------------------------------------------------------------------
# How many rows a predicate is true of, and on how many an expression has a value.


@dataclass(frozen=True)
class Count:
    """The number of rows for which a condition is true. NULL does not count as true.

    Examples
    --------
    >>> from holdfast.data.statistics import of_rows
    >>> tuple(of_rows(Count("age > 30"), [{"age": 25}, {"age": 50}, {"age": None}], Schema({"age": "integer"})))
    (1,)
    """

    expression: Any

    def __post_init__(self) -> None:
        set_fields(self, expression=node_of(self.expression))

    def plan(self, schema: Schema) -> Plan:
        """Return the plan of the sums that an engine computes. `InvalidParameter` is raised if the expression does not
        fit the schema.
        """
        return Plan(counted=checked_kind(self.expression, schema, "boolean"))

    def adds(self, schema: Schema) -> Added:
        """Return what each row adds to the sums. This defines the statistic."""
        inner = checked_kind(self.expression, schema, "boolean")
        return lambda row: [(0, 1)] if python_rows.evaluate(inner, row) is True else []

    def size(self, schema: Schema) -> int:
        """The length of the result, which is 1."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """Return the statistic as plain data."""
        return {"statistic": "count", "expression": to_json(self.expression)}


@dataclass(frozen=True)
class Present:
    """The number of rows in which an expression is not NULL.

    Examples
    --------
    >>> from holdfast.data.statistics import of_rows
    >>> tuple(of_rows(Present("age"), [{"age": 25}, {"age": 50}, {"age": None}], Schema({"age": "integer"})))
    (2,)
    """

    expression: Any

    def __post_init__(self) -> None:
        set_fields(self, expression=node_of(self.expression))

    def plan(self, schema: Schema) -> Plan:
        """Return the plan of the sums that an engine computes. `InvalidParameter` is raised if the expression does not
        fit the schema.
        """
        checked_kind(self.expression, schema, *VALUE_KINDS)
        return Plan(counted=built(tree.Not(tree.IsNull(self.expression)), schema))

    def adds(self, schema: Schema) -> Added:
        """Return what each row adds to the sums. This defines the statistic."""
        inner = checked_kind(self.expression, schema, *VALUE_KINDS)
        return lambda row: [] if python_rows.evaluate(inner, row) is None else [(0, 1)]

    def size(self, schema: Schema) -> int:
        """The length of the result, which is 1."""
        return 1

    def to_dict(self) -> dict[str, Any]:
        """Return the statistic as plain data."""
        return {"statistic": "present", "expression": to_json(self.expression)}


# --- Histogram --------------------------------------------------------------------------------------------------------
# How many rows have a value in each bin.


@dataclass(frozen=True)
class Histogram:
    """The number of rows with a value in each bin. The last number counts all other rows, including those with NULL.

    Bin `i` is `[edges[i], edges[i + 1])`, and the last bin includes its right edge. If `null_as` is given, NULL counts
    in that bin instead. With `where_present`, rows with NULL are not counted at all.

    Examples
    --------
    >>> from holdfast.data.statistics import of_rows
    >>> ages = [{"age": age} for age in (18, 30, 40, 65, None)]
    >>> tuple(of_rows(Histogram("age", (20, 40, 60, 65)), ages, Schema({"age": "integer"})))
    (1, 1, 1, 2)
    """

    expression: Any
    edges: tuple[float, ...]
    null_as: int | None = None
    where_present: bool = False

    def __post_init__(self) -> None:
        set_fields(self, expression=node_of(self.expression), edges=rising("edges", self.edges, 2))
        if self.null_as is not None:
            set_fields(self, null_as=arguments.whole("null_as", self.null_as, at_least=0, at_most=len(self.edges) - 2))

    def plan(self, schema: Schema) -> Plan:
        """Return the plan of the sums that an engine computes. `InvalidParameter` is raised if the expression does not
        fit the schema.
        """
        checked_kind(self.expression, schema, "number")
        bins = len(self.edges) - 1
        branches = [branch(self.expression, "<", self.edges[0], bins)]
        branches += [branch(self.expression, "<", edge, at) for at, edge in enumerate(self.edges[1:])]
        branches.append(branch(self.expression, "<=", self.edges[-1], bins - 1))
        if self.null_as is not None:
            branches.insert(0, (tree.IsNull(self.expression), tree.Number(self.null_as)))
        cell = built_whole(tree.Case(tuple(branches), tree.Number(bins)), schema, bins)
        counted = built(tree.Not(tree.IsNull(self.expression)), schema) if self.where_present else None
        return Plan(cells=bins + 1, cell=cell, counted=counted)

    def adds(self, schema: Schema) -> Added:
        """Return what each row adds to the sums. This defines the statistic."""
        inner = checked_kind(self.expression, schema, "number")
        bins = len(self.edges) - 1

        def added(row: Row) -> list[tuple[int, int]]:
            value: Any = python_rows.evaluate(inner, row)
            if value is None and self.where_present:
                return []
            if value is None and self.null_as is not None:
                return [(self.null_as, 1)]
            if value is None or not self.edges[0] <= value <= self.edges[-1]:
                return [(bins, 1)]
            return [(min(bisect_right(self.edges, value) - 1, bins - 1), 1)]

        return added

    def size(self, schema: Schema) -> int:
        """The length of the result: one number for each bin, and one for all other rows."""
        return len(self.edges)

    def to_dict(self) -> dict[str, Any]:
        """Return the statistic as plain data."""
        plain = {"statistic": "histogram", "expression": to_json(self.expression), "edges": list(self.edges)}
        plain |= {} if self.null_as is None else {"null_as": self.null_as}
        return plain | ({"where_present": True} if self.where_present else {})


# --- Quantile counts --------------------------------------------------------------------------------------------------
# How many rows are at or below thresholds: what quantiles are read from.


@dataclass(frozen=True)
class QuantileCounts:
    """The number of rows whose value is at or below each threshold, then the number of rows with a value, then the
    number of rows with NULL.

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
        set_fields(self, expression=node_of(self.expression), thresholds=rising("thresholds", self.thresholds, 1))

    def plan(self, schema: Schema) -> Plan:
        """Return the plan of the sums that an engine computes. `InvalidParameter` is raised if the expression does not
        fit the schema.
        """
        checked_kind(self.expression, schema, "number")
        last = len(self.thresholds)
        branches = [branch(self.expression, "<=", edge, at) for at, edge in enumerate(self.thresholds)]
        branches.append(branch(self.expression, ">", self.thresholds[-1], last))
        cell = built_whole(tree.Case(tuple(branches), tree.Number(last + 1)), schema, last + 1)
        return Plan(cells=last + 2, cell=cell, running=last + 2)

    def adds(self, schema: Schema) -> Added:
        """Return what each row adds to the sums. This defines the statistic."""
        inner = checked_kind(self.expression, schema, "number")
        last = len(self.thresholds)

        def added(row: Row) -> list[tuple[int, int]]:
            value: Any = python_rows.evaluate(inner, row)
            if value is None:
                return [(last + 1, 1)]
            return [(at, 1) for at in range(bisect_left(self.thresholds, value), last + 1)]

        return added

    def size(self, schema: Schema) -> int:
        """The length of the result, which is the number of thresholds plus 2."""
        return len(self.thresholds) + 2

    def to_dict(self) -> dict[str, Any]:
        """Return the statistic as plain data."""
        ends = list(self.thresholds)
        return {"statistic": "quantile-counts", "expression": to_json(self.expression), "thresholds": ends}


# --- Contingency ------------------------------------------------------------------------------------------------------
# How many rows there are in each cell of a table by declared categories.


@dataclass(frozen=True)
class Contingency:
    """The number of rows in each cell of a table, whose cells are the combinations of the declared categories of some
    columns.

    Parameters
    ----------
    columns : tuple of str
        Text, integer or boolean columns.
    categories : tuple of (tuple or None), optional
        Of each column; None takes the values that the schema declares (for a boolean column: false, true).
    null_as : tuple of (int or None), optional
        Of each column, the place of the category that NULL counts as; None for "other".
    where_present : bool
        Rows with NULL in one of the columns count nowhere.

    The cells are in the order of the categories, the last column fastest; after those of a column comes "other", which
    holds every other value, and NULL unless `null_as` or `where_present` says otherwise.

    Examples
    --------
    >>> from holdfast.data.statistics import of_rows
    >>> rows = [{"a": "x", "b": True}, {"a": "y", "b": True}, {"a": "z", "b": None}]
    >>> tuple(of_rows(Contingency(("a", "b"), (("x", "y"), None)), rows, Schema({"a": "text", "b": "boolean"})))
    (0, 1, 0, 0, 1, 0, 0, 0, 1)
    """

    columns: tuple[str, ...]
    categories: tuple[Categories | None, ...] | None = None
    null_as: tuple[int | None, ...] | None = None
    where_present: bool = False

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
        places = (None,) * len(columns) if self.null_as is None else tuple(self.null_as)
        if len(places) != len(columns):
            raise InvalidParameter(f"null_as must have one entry for each of {len(columns)} columns, got {len(places)}")
        set_fields(self, columns=columns, categories=tuple(None if k is None else tuple(k) for k in categories))
        set_fields(self, null_as=places)

    def _all(self, schema: Schema) -> list[tuple[str, Categories, int | None]]:
        assert self.categories is not None
        assert self.null_as is not None
        declared = [
            (name, categories_of(schema, name, categories), null_at)
            for name, categories, null_at in zip(self.columns, self.categories, self.null_as, strict=True)
        ]
        for name, categories, null_at in declared:
            if null_at is not None and not 0 <= null_at < len(categories):
                raise InvalidParameter(f"null_as of column {name!r} must be the position of one of its categories")
        return declared

    def plan(self, schema: Schema) -> Plan:
        """Return the plan of the sums that an engine computes. `InvalidParameter` is raised if columns or categories do
        not fit the schema.
        """
        cells = self.size(schema)
        stride, cell = cells, None
        for name, categories, null_at in self._all(schema):
            stride //= len(categories) + 1
            here = code(schema[name], categories, stride, null_at)
            cell = here if cell is None else tree.Arithmetic("+", cell, here)
        assert cell is not None
        counted = present(self.columns, schema) if self.where_present else None
        return Plan(cells=cells, cell=built_whole(cell, schema, cells << len(self.columns)), counted=counted)

    def adds(self, schema: Schema) -> Added:
        """Return what each row adds to the sums. This defines the statistic."""
        named = self._all(schema)

        def added(row: Row) -> list[tuple[int, int]]:
            cell = 0
            for name, categories, null_at in named:
                if self.where_present and python_rows.read(row[name], schema[name].kind) is None:
                    return []
                cell = cell * (len(categories) + 1) + place(row[name], schema[name], categories, null_at)
            return [(cell, 1)]

        return added

    def size(self, schema: Schema) -> int:
        """The length of the result, which is the number of cells."""
        return checked_cells(math.prod(len(categories) + 1 for _, categories, _ in self._all(schema)))

    def to_dict(self) -> dict[str, Any]:
        """Return the statistic as plain data."""
        assert self.categories is not None
        categories = [None if these is None else list(these) for these in self.categories]
        plain: dict[str, Any] = {"statistic": "contingency", "columns": list(self.columns), "categories": categories}
        assert self.null_as is not None
        plain |= {} if all(at is None for at in self.null_as) else {"null_as": list(self.null_as)}
        return plain | ({"where_present": True} if self.where_present else {})


def present(columns: tuple[str, ...], schema: Schema) -> Expression:
    """Return whether a row has a value in each of these columns."""
    parts: tuple[tree.Node, ...] = tuple(tree.Not(tree.IsNull(tree.Name(name))) for name in columns)
    return built(parts[0] if len(parts) == 1 else tree.And(parts), schema)


# --- Group by ---------------------------------------------------------------------------------------------------------
# Another request, for the rows of each declared category.


@dataclass(frozen=True)
class GroupBy:
    """Another statistic, computed separately for the rows of each declared category of a column, and then for all other
    rows.

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
            raise InvalidParameter("inner must be a statistic such as FixedSum or Count")
        if self.categories is not None:
            set_fields(self, categories=tuple(self.categories))

    def plan(self, schema: Schema) -> Plan:
        """Return the plan of the sums that an engine computes. `InvalidParameter` is raised if the column or the
        categories do not fit the schema.
        """
        inner, categories = self.inner.plan(schema), categories_of(schema, self.column, self.categories)
        cell: tree.Node = code(schema[self.column], categories, inner.cells)
        cells = checked_cells((len(categories) + 1) * inner.cells)
        if inner.cell is not None:
            cell = tree.Arithmetic("+", cell, inner.cell.node)
        whole = built_whole(cell, schema, 2 * cells)
        return Plan(cells, whole, inner.counted, inner.added, inner.times, inner.running)

    def adds(self, schema: Schema) -> Added:
        """Return what each row adds to the sums. This defines the statistic."""
        inner, categories = self.inner.adds(schema), categories_of(schema, self.column, self.categories)
        length = self.inner.size(schema)

        def added(row: Row) -> list[tuple[int, int]]:
            start = place(row[self.column], schema[self.column], categories) * length
            return [(start + at, amount) for at, amount in inner(row)]

        return added

    def size(self, schema: Schema) -> int:
        """The length of the result: the length of the inner statistic's result, once for each category and once for all
        other rows.
        """
        return checked_cells((len(categories_of(schema, self.column, self.categories)) + 1) * self.inner.size(schema))

    def to_dict(self) -> dict[str, Any]:
        """Return the statistic as plain data."""
        categories = None if self.categories is None else list(self.categories)
        return {"statistic": "group-by", "column": self.column, "categories": categories, "inner": self.inner.to_dict()}
