"""Row expressions as Ibis expressions: one definition for DuckDB, PostgreSQL and Spark.

Written so that no engine can fail or differ on any row. Divisors are NULL where they are zero, because Spark and
PostgreSQL raise an error there; `floor` and `ceil` see only numbers that fit in 53 bits, because Ibis casts their
result to a whole number; `least` and `greatest` are told about NULL, because engines skip it; numbers are written as
texts and cast, so that no engine reads them as decimals with rules of their own. A truth value stands
only under `and`, `or`, `not`, `case when` and `coalesce`: Ibis writes `a = b in (...)` without brackets, which engines
read in different ways.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache, reduce
from operator import add, and_, or_
from typing import TYPE_CHECKING, Any

from holdfast.data.expressions import lowering, tree
from holdfast.data.expressions.checking import Expression, never_negative, never_zero
from holdfast.data.expressions.patterns import regex
from holdfast.data.expressions.python_rows import LOWER, UPPER
from holdfast.data.schema import Column, Schema

if TYPE_CHECKING:
    import ibis.expr.types as ir

_OTHER_LETTERS = "[^0-9.+-]"
_SPELT = r"^[+-]?[0-9]{1,15}(\.[0-9]{1,15})?$"
_WHOLE = 2.0**53
_END = "!"


def read(table: ir.Table, schema: Schema, others: frozenset[str] = frozenset()) -> ir.Table:
    """Return a table whose columns are what the language sees, under their own names.

    Apply it once, before anything from `compile`. A column must already have a type of its kind: any whole or
    floating-point type for numbers, boolean, string; the days or microseconds of `sql_columns` for times.
    """
    return table.select(**seen(table, schema, others))


def seen(table: ir.Table, schema: Schema, others: frozenset[str] = frozenset()) -> dict[str, ir.Value]:
    """What the language sees of each column of a table, by its name."""
    number = exact_number if "number literal" in others else _number
    return {column.name: _read(table, column, number) for column in schema}


def _read(table: ir.Table, column: Column, number: Callable[[float], Any]) -> ir.Value:
    import ibis

    raw: Any = table[column.name]
    if column.kind == "integer":
        return raw.cast("float64")
    if column.kind in lowering.TIMED:
        is_date = column.kind == "date"
        low, high = (
            (lowering.FIRST_DAY, lowering.LAST_DAY) if is_date else (lowering.FIRST_MOMENT, lowering.AFTER_MOMENTS)
        )
        held = raw.cast("float64")
        last = held if is_date else ibis.least(held, number(float(lowering.LAST_MOMENT)))
        return ibis.cases((held.between(number(float(low)), number(float(high))), last), else_=ibis.null("float64"))
    if column.kind == "number":
        held = raw.cast("float64")
        # First what nearly every number is. NaN is neither: engines order it above all numbers, or beside them.
        size = held.abs()
        usual = size.between(number(tree.SMALLEST), number(tree.LARGEST))
        small = size < number(tree.SMALLEST)
        return ibis.cases((usual, held), (small, number(0.0)), else_=ibis.null("float64"))
    return raw


OTHER_WAYS = ("clip", "contains", "ends_with", "lower", "number literal", "starts_with", "trim", "upper")
"""Forms that can be compiled in another way, for engines that do not know the usual one, do not do it right or take
longer for it."""


def compile(expression: Expression, table: ir.Table, others: frozenset[str] = frozenset()) -> ir.Value:
    """Return an Ibis expression over a table that `read` has been through; `others` of `OTHER_WAYS` in their other way.

    Examples
    --------
    >>> import ibis
    >>> from holdfast.data.expressions import expression
    >>> from holdfast.data.schema import Schema
    >>> table = ibis.table({"x": "float64"}, name="rows")
    >>> str(compile(expression("x > 1", Schema({"x": "number"})), table).type())
    'boolean'
    """
    return _Compiler(expression, table, others).of(expression.node)


def floored(expression: Expression, table: ir.Table, others: frozenset[str] = frozenset()) -> Any | None:
    """What is under the `floor` of an expression whose outermost form is one, and below 53 bits; else None.

    So that the whole number can be added up as it is, and not by way of a double.
    """
    node = expression.node
    if not (isinstance(node, tree.Call) and node.function == "floor"):
        return None
    size = expression.facts[node.arguments[0]].size
    if size is None or not size.small_whole:
        return None
    return _Compiler(expression, table, others).of(node.arguments[0])


def floor_double(value: Any) -> Any:
    """The floor of a double as a double, for engines whose `floor` gives one."""
    return _builtin("floor", "float64")(value)


def _number(value: float) -> Any:
    return _written(repr(value))


@lru_cache(maxsize=1 << 12)
def _written(number: str) -> Any:
    """The text that writes a number, cast; kept because questions have many numbers in common."""
    import ibis

    return ibis.literal(number).cast("float64")


class _Compiler:
    def __init__(self, expression: Expression, table: ir.Table, others: frozenset[str]) -> None:
        self.facts, self.table, self.others = expression.facts, table, others
        self.number = exact_number if "number literal" in others else _number

    def of(self, node: tree.Node) -> Any:
        import ibis

        if (form := lowering.lowered(node, lambda part: self.facts[part].kind)) is not None:
            return self.of(form)
        match node:
            case tree.Retyped(operand):
                return self.of(operand)
            case tree.Name(column):
                return self.table[column]
            case tree.Number(value):
                return self.number(value)
            case tree.Text(value):
                return ibis.literal(value, type="string")
            case tree.Truth(value):
                return ibis.literal(value, type="boolean")
            case tree.Null():
                return ibis.null()
            case tree.Arithmetic("/", left, right):
                below = self.of(right)
                return self.of(left) / (below if never_zero(right) else below.nullif(self.number(0.0)))
            case tree.Arithmetic(sign, left, right):
                one, other = self.of(left), self.of(right)
                return one + other if sign == "+" else one - other if sign == "-" else one * other
            case tree.Minus(operand):
                return self.number(0.0) - self.of(operand)
            case tree.Comparison(sign, left, right):
                one, other = self.of(left), self.of(right)
                if self.facts[left].kind == "boolean":
                    return (one & other) | (~one & ~other) if sign == "=" else (one & ~other) | (~one & other)
                return tree.COMPARE[sign](one, other)
            case tree.Between(operand, low, high):
                middle = self.of(operand)
                return (self.of(low) <= middle) & (middle <= self.of(high))
            case tree.In(operand, values):
                return self._in(operand, values)
            case tree.IsNull(operand):
                inner = self.of(operand)
                if self.facts[operand].kind == "boolean":
                    return ibis.coalesce(inner, ibis.literal(True)) & ~ibis.coalesce(inner, ibis.literal(False))
                return inner.isnull()
            case tree.Bucket(operand, salt, below):
                return self._bucket(operand, salt, below)
            case tree.Not(operand):
                return ~self.of(operand)
            case tree.And(operands):
                return reduce(and_, [self.of(part) for part in operands])
            case tree.Or(operands):
                return reduce(or_, [self.of(part) for part in operands])
            case tree.Case(branches, otherwise):
                pairs = [(self.of(condition), self._result(result, node)) for condition, result in branches]
                return ibis.cases(*pairs, else_=self._result(otherwise, node))
            case tree.Call(name, arguments):
                return self._call(name, arguments)
        raise AssertionError(
            "a checked expression has only nodes that are handled here, so this is a defect of Holdfast"
        )

    def _result(self, result: tree.Node, case: tree.Node) -> Any:
        import ibis

        if isinstance(result, tree.Null):
            kinds = {"text": "string", "boolean": "boolean"}
            return ibis.null(kinds.get(str(self.facts[case].kind), "float64"))
        return self.of(result)

    def _bucket(self, operand: tree.Name, salt: str, below: int) -> Any:
        """Whether the first byte of a digest is among the first; compared by equality, which no collation changes."""
        import ibis

        inner = self.of(operand)
        text = inner if self.facts[operand].kind == "text" else inner.cast("int64").cast("string")
        wanted = [f"{first:02x}" for first in range(below)] or ["none"]
        first = _builtin("md5")(ibis.literal(f"{salt}:") + text).left(2)
        return ibis.coalesce(first.isin(wanted), ibis.literal(below > 255))

    def _in(self, operand: tree.Node, values: tuple[tree.Number | tree.Text, ...]) -> Any:
        import ibis

        inner = self.of(operand)
        if isinstance(values[0], tree.Number):
            # A list is looked up by hash on some engines, where minus zero is not zero.
            if any(value.value == 0.0 for value in values):
                inner = ibis.cases((inner == self.number(0.0), self.number(0.0)), else_=inner)
            return inner.isin([self.number(value.value) for value in values if isinstance(value, tree.Number)])
        return inner.isin([value.value for value in values])

    def _call(self, name: str, arguments: tuple[tree.Node, ...]) -> Any:
        import ibis

        parts = [self.of(argument) for argument in arguments]
        first, written = parts[0], getattr(arguments[-1], "value", None)
        match name:
            case "abs":
                return first.abs()
            case "floor" | "ceil":
                return self._whole(name, first, arguments[0])
            case "sign":
                zero = self.number(0.0)
                return ibis.cases(
                    (first > zero, self.number(1.0)),
                    (first < zero, self.number(-1.0)),
                    (first == zero, zero),
                    else_=ibis.null("float64"),
                )
            case "sqrt":
                if never_negative(arguments[0]):
                    return first.sqrt()
                return ibis.cases((first >= self.number(0.0), first), else_=ibis.null("float64")).sqrt()
            case "least" | "greatest":
                extreme = ibis.least(*parts) if name == "least" else ibis.greatest(*parts)
                nulls = [p.isnull() for p, a in zip(parts, arguments, strict=True) if self.facts[a].nullable]
                return ibis.cases((reduce(or_, nulls), ibis.null("float64")), else_=extreme) if nulls else extreme
            case "clip":
                _, low, high = parts
                if name not in self.others and not self.facts[arguments[0]].nullable:
                    return ibis.least(ibis.greatest(first, low), high)
                return ibis.cases((first < low, low), (first > high, high), else_=first)
            case "coalesce":
                return ibis.coalesce(*parts)
            case "length":
                return first.length().cast("float64")
            case "lower" | "upper":
                before, after = (UPPER, LOWER) if name == "lower" else (LOWER, UPPER)
                if name not in self.others:
                    return first.translate(before, after)
                return reduce(lambda text, pair: text.replace(*pair), zip(before, after, strict=True), first)
            case "starts_with":
                if name in self.others:
                    return first.substr(0, len(str(written))) == str(written)
                return first.startswith(str(written))
            case "ends_with":
                if name in self.others:
                    return first.substr(_at_least_0(first.length() - len(str(written)))) == str(written)
                return first.endswith(str(written))
            case "contains" if name in self.others:
                return first.replace(str(written), "") != first
            case "contains":
                return first.contains(str(written))
            case "like":
                # Behind a sign of our own the end is the end: before a last line end some engines let $ match.
                return (first + _END).re_search(f"(?s)^{regex(str(written))}{_END}$")
            case "substring":
                start, length = (int(getattr(argument, "value", 0)) for argument in arguments[1:])
                return first.substr(start - 1, length)
            case "trim" if name in self.others:
                return _builtin("trim")(first)
            case "trim":
                return (first.re_replace("^ +", "") + _END).re_replace(f" *{_END}$", "")
            case "concat":
                return reduce(add, parts)
            case "number":
                # Without other letters there is no line end, before which some engines let $ match.
                spelt = ~first.re_search(_OTHER_LETTERS) & first.re_search(_SPELT)
                return ibis.cases((spelt, first), else_=ibis.null("string")).cast("float64")
        raise AssertionError(
            "a checked expression has only functions that are handled here, so this is a defect of Holdfast"
        )

    def _whole(self, name: str, inner: Any, argument: tree.Node) -> Any:
        import ibis

        size = self.facts[argument].size
        if size is not None and size.small_whole:
            return (inner.floor() if name == "floor" else inner.ceil()).cast("float64")
        # Beyond 53 bits every double is a whole number already.
        small = ibis.cases((inner.abs() < self.number(_WHOLE), inner), else_=ibis.null("float64"))
        return ibis.coalesce((small.floor() if name == "floor" else small.ceil()).cast("float64"), inner)


@cache
def _builtin(name: str, kind: str = "string") -> Any:
    """A function, of a kind to the same kind, that every engine that is asked has under this name."""
    import ibis

    def function(value):  # type: ignore[no-untyped-def]
        """Compiled to the engine's own."""

    function.__name__ = name
    return ibis.udf.scalar.builtin(name=name, signature=((kind,), kind))(function)


def _at_least_0(length: Any) -> Any:
    import ibis

    return ibis.cases((length > 0, length), else_=0)


def exact_number(value: float) -> Any:
    """Return a double as a whole number and powers of two, for engines that read written numbers with an error.

    Examples
    --------
    >>> import ibis
    >>> print(ibis.to_sql(exact_number(-0.75), dialect="sqlite", pretty=False))
    SELECT CAST(-3 AS REAL) / CAST(4 AS REAL) AS ...
    """
    import ibis

    mantissa, exponent = math.frexp(value)
    whole, exponent = int(math.ldexp(mantissa, 53)), exponent - 53
    while whole and whole % 2 == 0 and exponent < 0:
        whole, exponent = whole // 2, exponent + 1
    exact = ibis.literal(whole, type="int64").cast("float64")
    while value and exponent:
        step = min(abs(exponent), 62)
        power = ibis.literal(1 << step, type="int64").cast("float64")
        exact = exact * power if exponent > 0 else exact / power
        exponent += -step if exponent > 0 else step
    return exact
