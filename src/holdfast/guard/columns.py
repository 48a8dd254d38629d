"""What the owner declares in public about columns: the range of a number, and the categories of a text.

A declaration is part of the policy, so it was there before any row was read. Questions and SQL statements take ranges
and categories from it, and whoever asks need not repeat them. Rows may hold other values: numbers are clipped to the
range row by row, and other categories count as "other".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.core import arguments
from holdfast.data.expressions import Expression, tree
from holdfast.data.expressions.checking import Facts
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT, FixedSum
from holdfast.data.statistics.counts import MOST_CATEGORIES, Categories, categories_of
from holdfast.errors import InvalidParameter

_MOST_COLUMNS = 10_000
_FORM = "{'age': {'low': 0, 'high': 120}, 'sex': {'categories': ['f', 'm']}}"


@dataclass(frozen=True)
class DeclaredColumn:
    """What is declared about one column.

    Parameters
    ----------
    low, high : float, optional
        The range that a number is clipped to; both or none.
    categories : sequence, optional
        The categories of a text, an integer or a boolean column.

    Examples
    --------
    >>> DeclaredColumn(low=0, high=120).to_dict()
    {'low': 0.0, 'high': 120.0}
    """

    low: float | None = None
    high: float | None = None
    categories: Categories | None = None

    def __post_init__(self) -> None:
        if (self.low is None) != (self.high is None):
            raise InvalidParameter("columns must declare both low and high, or neither of them")
        if self.low is not None:
            low, high = arguments.value_range(self.low, self.high)
            object.__setattr__(self, "low", low)
            object.__setattr__(self, "high", high)
        if self.categories is not None:
            object.__setattr__(self, "categories", _categories(self.categories))

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The range, where one is declared."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        plain: dict[str, Any] = {} if self.bounds is None else {"low": self.low, "high": self.high}
        return plain | ({} if self.categories is None else {"categories": list(self.categories)})


def declared_columns(columns: Any) -> dict[str, DeclaredColumn]:
    """Read the declarations of a policy.

    Examples
    --------
    >>> declared_columns({"age": {"low": 0, "high": 120}})
    {'age': DeclaredColumn(low=0.0, high=120.0, categories=None)}
    >>> declared_columns({"age": {"least": 0}})
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: columns must be declared by low and high, by categories, or by all three, such
    as {'age': ...
    """
    if not isinstance(columns, Mapping) or not 0 < len(columns) <= _MOST_COLUMNS:
        raise InvalidParameter(
            f"columns must be a mapping from names of columns to their declarations, such as {_FORM}"
        )
    columns_by_name = {}
    for name, declared in columns.items():
        if isinstance(declared, DeclaredColumn):
            columns_by_name[str(name)] = declared
            continue
        if not isinstance(declared, Mapping) or not declared or set(declared) - {"low", "high", "categories"}:
            raise InvalidParameter(
                f"columns must be declared by low and high, by categories, or by all three, such as {_FORM}"
            )
        try:
            columns_by_name[str(name)] = DeclaredColumn(**declared)
        except InvalidParameter as error:
            raise InvalidParameter(f"columns, at {str(name)[:60]!r}: {error}") from None
    return columns_by_name


def check_declared(columns: Mapping[str, DeclaredColumn] | None, schema: Schema) -> None:
    """Raise where a declaration does not fit the schema of the rows. It depends on no row.

    Examples
    --------
    >>> check_declared({"age": DeclaredColumn(0, 120)}, Schema({"age": "text"}))
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: columns must declare low and high for columns of numbers only, and 'age'
    has the kind text
    """
    for name, declared in (columns or {}).items():
        if name not in schema:
            raise InvalidParameter(f"columns must be named in the schema of the data, got {name[:60]!r}")
        if declared.bounds is not None and schema[name].kind not in ("number", "integer"):
            raise InvalidParameter(
                f"columns must declare low and high for columns of numbers only, and {name!r} has the kind "
                f"{schema[name].kind}"
            )
        if declared.categories is not None:
            categories_of(schema, name, declared.categories)


Bounds = tuple[float, float]


def bounds_of(parsed: Expression, columns: Mapping[str, DeclaredColumn] | None) -> Bounds | None:
    """Return the range of an expression that follows from what is declared; None where it does not follow.

    It follows for columns with a declared range, numbers, sums, differences and products of these, quotients by a
    number, `case`, `coalesce`, `abs`, `clip`, `least`, `greatest`, rounding, roots and logarithms of these, for a
    condition that is cast to a number, and for parts of dates but years.

    Examples
    --------
    >>> from holdfast.data.expressions import expression
    >>> schema, declared = Schema({"pay": "number"}), {"pay": DeclaredColumn(0, 100)}
    >>> bounds_of(expression("2 * pay - 50", schema), declared)
    (-50.0, 150.0)
    >>> bounds_of(expression("case when pay > 3 then 1 else 0 end", schema), None)
    (0.0, 1.0)
    >>> bounds_of(expression("month(seen)", Schema({"seen": "timestamp"})), None)
    (1.0, 12.0)
    >>> bounds_of(expression("100 * cast(pay > 3 as integer)", schema), None)
    (0.0, 100.0)
    """
    ends = _range(parsed.node, columns or {}, parsed.facts)
    if ends is None or not ends[0] < ends[1] or max(map(abs, ends)) > tree.LARGEST:
        return None
    return ends


def only_value(parsed: Expression, columns: Mapping[str, DeclaredColumn] | None) -> float | None:
    """Return the number that an expression is on every row where it is not null; None where it may be several.

    Examples
    --------
    >>> from holdfast.data.expressions import expression
    >>> only_value(expression("case when age > 65 then 1 end", Schema({"age": "integer"})), None)
    1.0
    """
    ends = _range(parsed.node, columns or {}, parsed.facts)
    return ends[0] if ends is not None and ends[0] == ends[1] else None


def is_two_valued(parsed: Expression, low: float, high: float) -> bool:
    """Return whether every value of a number, moved into a range, is one of its ends and adds all or nothing to a sum.

    Whole numbers in a range of length 1 are, and so are conditions that are cast, and numbers that have few values by
    their form.

    Examples
    --------
    >>> from holdfast.data.expressions import expression
    >>> schema = Schema({"left": "integer", "pay": "number"})
    >>> [is_two_valued(expression(text, schema), 0, 1) for text in ("left", "pay", "cast(pay > 3 as integer)")]
    [True, False, True]
    >>> is_two_valued(expression("case when pay > 3 then 1 else 0.5 end", schema), 0, 1)
    False
    """
    size = parsed.facts[parsed.node].size
    whole = high - low == 1 and float(low).is_integer() and size is not None and size.grain >= 0
    values = None if whole else _values(parsed.node, parsed.facts)
    at_ends = whole or (values is not None and all(value <= low or value >= high for value in values))
    return at_ends and FixedSum(parsed.node, low, high).steps(high) == UNIT


_MOST_VALUES = 16


def _values(node: tree.Node, facts: Mapping[tree.Node, Facts]) -> frozenset[float] | None:
    """The few numbers that a node can be where it is not null; None where they do not follow from its form."""
    match node:
        case tree.Number(value):
            return frozenset({value})
        case tree.Call("cast", (operand, tree.Text("number" | "integer"))) if facts[operand].kind == "boolean":
            return frozenset({0.0, 1.0})
        case tree.Case(branches, otherwise):
            parts = [result for _, result in branches] + [otherwise]
            sets = [_values(one, facts) for one in parts if not isinstance(one, tree.Null)]
        case tree.Call("coalesce", arguments):
            sets = [_values(one, facts) for one in arguments]
        case tree.Arithmetic("*", left, right):
            one, two = _values(left, facts), _values(right, facts)
            if one is None or two is None:
                return None
            sets = [frozenset(a * b for a in one for b in two)]
        case _:
            return None
    known = [one for one in sets if one is not None]
    together = frozenset[float]().union(*known)
    return together if len(known) == len(sets) and len(together) <= _MOST_VALUES else None


_NATURAL: dict[str, Bounds] = {
    "quarter": (1.0, 4.0),
    "month": (1.0, 12.0),
    "day": (1.0, 31.0),
    "weekday": (1.0, 7.0),
    "hour": (0.0, 23.0),
    "minute": (0.0, 59.0),
    "second": (0.0, 59.0),
    "sign": (-1.0, 1.0),
}
"""Functions whose values lie in a range whatever they are given."""


def _range(node: tree.Node, columns: Mapping[str, DeclaredColumn], facts: Mapping[tree.Node, Facts]) -> Bounds | None:
    match node:
        case tree.Name(column):
            return columns[column].bounds if column in columns else None
        case tree.Number(value):
            return value, value
        case tree.Minus(operand):
            inner = _range(operand, columns, facts)
            return None if inner is None else (-inner[1], -inner[0])
        case tree.Arithmetic(sign, left, right):
            return _joined(sign, _range(left, columns, facts), _range(right, columns, facts))
        case tree.Case(branches, otherwise):
            results = [result for _, result in branches] + [otherwise]
            return _hull([_range(one, columns, facts) for one in results if not isinstance(one, tree.Null)])
        case tree.Call("coalesce", arguments):
            return _hull([_range(one, columns, facts) for one in arguments])
        case tree.Call("clip", (_, tree.Number(low), tree.Number(high))):
            return low, high
        case tree.Call("least" | "greatest" as name, arguments):
            ends = [_range(one, columns, facts) for one in arguments]
            known = [one for one in ends if one is not None]
            pick = min if name == "least" else max
            return (pick(low for low, _ in known), pick(high for _, high in known)) if len(known) == len(ends) else None
        case tree.Call("floor" | "ceil" | "round", (inner_node, *_)):
            inner = _range(inner_node, columns, facts)
            return None if inner is None else (float(math.floor(inner[0])), float(math.ceil(inner[1])))
        case tree.Call("cast", (inner_node, tree.Text("number" | "integer"))):
            is_condition = inner_node in facts and facts[inner_node].kind == "boolean"
            return (0.0, 1.0) if is_condition else _range(inner_node, columns, facts)
        case tree.Call("sqrt" | "ln" | "log2" | "log10" as name, (inner_node,)):
            return _rising(name, _range(inner_node, columns, facts))
        case tree.Call("abs", (inner_node,)):
            inner = _range(inner_node, columns, facts)
            if inner is None:
                return None
            least = 0.0 if inner[0] <= 0 <= inner[1] else min(map(abs, inner))
            return least, max(map(abs, inner))
        case tree.Call(name, _):
            return _NATURAL.get(name)
    return None


_RISING: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "ln": math.log,
    "log2": math.log2,
    "log10": math.log10,
}


def _rising(name: str, inner: Bounds | None) -> Bounds | None:
    """The range of a root or a logarithm; a logarithm has none where its number may be as small as 0.

    Examples
    --------
    >>> _rising("sqrt", (-1.0, 9.0)), _rising("log10", (1.0, 100.0)), _rising("ln", (0.0, 100.0))
    ((0.0, 3.0), (0.0, 2.0), None)
    """
    if inner is None or inner[1] < 0 or (name != "sqrt" and inner[0] <= 0):
        return None
    return _RISING[name](max(inner[0], 0.0)), _RISING[name](inner[1])


def _joined(sign: str, left: Bounds | None, right: Bounds | None) -> Bounds | None:
    if left is None or right is None:
        return None
    if sign == "+":
        return left[0] + right[0], left[1] + right[1]
    if sign == "-":
        return left[0] - right[1], left[1] - right[0]
    if sign == "%":
        return _remainder(left, right)
    if sign == "/" and (right[0] != right[1] or right[0] == 0):
        return None
    ends = [a * b if sign == "*" else a / b for a in left for b in right]
    return min(ends), max(ends)


def _remainder(left: Bounds, right: Bounds) -> Bounds | None:
    """The range of `left % right` of whole numbers: it has the sign of the first and is smaller than the second.

    Examples
    --------
    >>> _remainder((0, 120), (7, 7)), _remainder((-3, 5), (7, 7)), _remainder((0, 120), (0, 0))
    ((0, 6), (-3, 5), None)
    """
    most = max(map(abs, right)) - 1
    if most < 0:
        return None
    return max(min(left[0], 0), -most), min(max(left[1], 0), most)


def _hull(ranges: Sequence[Bounds | None]) -> Bounds | None:
    known = [one for one in ranges if one is not None]
    if not known or len(known) < len(ranges):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def categories_for(name: str, schema: Schema, columns: Mapping[str, DeclaredColumn] | None) -> Categories:
    """Return the declared categories of a column: of the policy, or of the schema; false and true of a truth value.

    Raises
    ------
    InvalidParameter
        None are declared, or there is no such column. Categories are never looked up in the rows.
    """
    if not isinstance(name, str) or name not in schema:
        raise InvalidParameter(f"by must be names of columns of the data, got {str(name)[:60]!r}")
    declared = declared_categories(name, schema, columns)
    if declared is None:
        known = grouped_by(schema, columns)
        can = f"; declared are {', '.join(known[:8])}" if known else ""
        raise InvalidParameter(
            f"by must be columns with declared categories, and {name!r} has none: the owner of the data can declare "
            f"them with Policy(columns={{{name!r}: {{'categories': [...]}}}}){can}; nothing was spent"
        )
    return declared


def declared_categories(name: str, schema: Schema, columns: Mapping[str, DeclaredColumn] | None) -> Categories | None:
    """Return the categories of a column of the schema, as the policy or the schema declares them; None without any."""
    declared = (columns or {}).get(name)
    if declared is not None and declared.categories is not None:
        return categories_of(schema, name, declared.categories)
    if schema[name].values is None and schema[name].kind != "boolean":
        return None
    return categories_of(schema, name, None)


def grouped_by(schema: Schema, columns: Mapping[str, DeclaredColumn] | None) -> list[str]:
    """Return the columns that a table can be grouped by."""
    named = columns or {}
    return [
        column.name
        for column in schema
        if column.values is not None
        or column.kind == "boolean"
        or (column.name in named and named[column.name].categories is not None)
    ]


def _categories(categories: Any) -> Categories:
    if isinstance(categories, (str, bytes)) or not isinstance(categories, Iterable):
        raise InvalidParameter("categories must be a list of all values that the column can have")
    listed = tuple(categories)
    if not 0 < len(listed) <= MOST_CATEGORIES or not all(isinstance(one, (str, int, bool)) for one in listed):
        raise InvalidParameter(f"categories must be 1 to {MOST_CATEGORIES} texts, whole numbers or truth values")
    return listed
