"""An expression checked against a schema: kinds fit, sizes are safe, and so it has a value or NULL on every row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Literal, get_args

from holdfast.data.expressions import lowering, patterns, tree
from holdfast.data.expressions.parsing import parse
from holdfast.data.schema import Kind, Schema, plain_text
from holdfast.errors import InvalidParameter

# --- Functions --------------------------------------------------------------------------------------------------------
# The fixed list of functions. Each gives the same bits on every engine; a property test holds them to it.
#
# What engines would do in ways of their own is written in other forms of the language first (`lowering`). What is not
# here is not here for a reason: `exp`, `power` and the like differ in the last bit between libraries, and letters
# beyond A to Z change case by tables that differ.

Wanted = Literal[
    "number", "text", "date", "timed", "moment", "any", "ordered", "literal number", "literal text", "dated"
]
"""`timed` is a date or a timestamp, `moment` a timestamp, `ordered` a number or one of these, the same for all."""


@dataclass(frozen=True, slots=True)
class Function:
    """What a function takes and gives.

    `takes` lists the kinds of its arguments; where `more` is set the last may be repeated. The kind `any` is one kind,
    the same for all arguments, and then that of the result.
    """

    name: str
    takes: tuple[Wanted, ...]
    gives: Literal["number", "text", "boolean", "date", "timestamp", "timestamptz", "any"]
    says: str
    more: bool = False
    optional: int = 0
    """How many of the last arguments may be left out."""


_ALL = (
    Function("abs", ("number",), "number", "size of a number"),
    Function("floor", ("number",), "number", "largest whole number not above it"),
    Function("ceil", ("number",), "number", "smallest whole number not below it"),
    Function("sign", ("number",), "number", "-1, 0 or 1"),
    Function(
        "round",
        ("number", "literal number"),
        "number",
        "nearest whole number, halves away from zero, or as many digits after the point as a written number says",
        optional=1,
    ),
    Function("sqrt", ("number",), "number", "square root; NULL below zero"),
    Function("ln", ("number",), "number", "natural logarithm in steps of 2**-40; NULL at zero and below"),
    Function("log2", ("number",), "number", "logarithm with base 2, in the same way"),
    Function("log10", ("number",), "number", "logarithm with base 10, in the same way"),
    Function("least", ("ordered", "ordered"), "any", "smallest or earliest; NULL if any argument is NULL", more=True),
    Function("greatest", ("ordered", "ordered"), "any", "largest or latest; NULL if any argument is NULL", more=True),
    Function(
        "clip",
        ("number", "literal number", "literal number"),
        "number",
        "moved into the range between two written numbers; NULL stays NULL",
    ),
    Function("coalesce", ("any", "any"), "any", "first argument that is not NULL", more=True),
    Function("length", ("text",), "number", "number of Unicode code points"),
    Function("lower", ("text",), "text", "with A to Z as a to z; other letters stay"),
    Function("upper", ("text",), "text", "with a to z as A to Z; other letters stay"),
    Function("starts_with", ("text", "literal text"), "boolean", "whether it begins with a written text"),
    Function("ends_with", ("text", "literal text"), "boolean", "whether it ends with a written text"),
    Function("contains", ("text", "literal text"), "boolean", "whether a written text is part of it"),
    Function("like", ("text", "literal text"), "boolean", "whether all of it fits a written pattern with % and _"),
    Function("ilike", ("text", "literal text"), "boolean", "the same, with A to Z and a to z alike"),
    Function(
        "substring",
        ("text", "literal number", "literal number"),
        "text",
        "the characters from a written place on, counted from 1, as many as a written number says",
    ),
    Function("trim", ("text",), "text", "without spaces at both ends; other white space stays"),
    Function("concat", ("text", "text"), "text", "texts joined; NULL if any argument is NULL", more=True),
    Function(
        "number",
        ("text",),
        "number",
        "the decimal number that the text spells, at most 15 digits before and after the point; NULL for other text",
    ),
    Function("cast", ("any", "literal text"), "any", "a value as another kind, NULL where it is none"),
    Function("date", ("dated",), "date", "a written date, or the day of a timestamp"),
    Function("timestamp", ("literal text",), "timestamp", "a written timestamp without a zone"),
    Function("timestamptz", ("literal text",), "timestamptz", "a written timestamp with its zone"),
    Function("year", ("timed",), "number", "the year; parts of a timestamptz are those of UTC"),
    Function("quarter", ("timed",), "number", "1 to 4"),
    Function("month", ("timed",), "number", "1 to 12"),
    Function("day", ("timed",), "number", "day of the month, from 1"),
    Function("weekday", ("timed",), "number", "1 for Monday to 7 for Sunday"),
    Function("hour", ("moment",), "number", "0 to 23"),
    Function("minute", ("moment",), "number", "0 to 59"),
    Function("second", ("moment",), "number", "0 to 59, without a fraction"),
    Function("days", ("date",), "number", "days since 1970-01-01"),
    Function("seconds", ("moment",), "number", "seconds since 1970-01-01"),
)

FUNCTIONS: dict[str, Function] = {function.name: function for function in _ALL}

_INSTEAD = {
    **dict.fromkeys(["log", "logarithm"], "write ln(x), log2(x) or log10(x): databases differ in what log is"),
    **dict.fromkeys(["pow", "power"], "write x * x"),
    **dict.fromkeys(["mod", "modulo", "fmod"], "write a % b"),
    **dict.fromkeys(["ceiling"], "write ceil(x)"),
    **dict.fromkeys(["trunc", "truncate", "int"], "write floor(x) or ceil(x)"),
    **dict.fromkeys(["min"], "write least(a, b)"),
    **dict.fromkeys(["max"], "write greatest(a, b)"),
    **dict.fromkeys(["len", "char_length", "character_length"], "write length(s)"),
    **dict.fromkeys(["substr", "mid", "left", "slice"], "write substring(s, 1, 3)"),
    **dict.fromkeys(["right"], "write ends_with(s, 'ab'), or s like '%ab'"),
    **dict.fromkeys(["isnan", "is_nan", "isinf", "is_inf", "isfinite"], "write x is null: NaN and infinities are NULL"),
    **dict.fromkeys(["any", "some", "all"], "write s like 'a%' or s like 'b%', and x in (1, 2)"),
    **dict.fromkeys(["xor"], "write a <> b: one of two conditions and not both"),
    **dict.fromkeys(["div", "intdiv", "int_div"], "write floor(a / b)"),
    **dict.fromkeys(["ltrim", "rtrim", "btrim", "strip"], "write trim(s)"),
    **dict.fromkeys(["lcase", "casefold"], "write lower(s)"),
    **dict.fromkeys(["ucase"], "write upper(s)"),
    **dict.fromkeys(["regexp_like", "regexp_matches", "rlike", "regexp", "glob"], "write s like 'a%'"),
    **dict.fromkeys(["startswith", "prefix"], "write starts_with(s, 'a')"),
    **dict.fromkeys(["endswith", "suffix"], "write ends_with(s, 'a')"),
    **dict.fromkeys(["strpos", "str_position", "position", "instr", "locate"], "write contains(s, 'a')"),
    **dict.fromkeys(
        ["replace", "regexp_replace", "translate"],
        "list the whole texts that are meant: s in ('a-b', 'a b'), or case when s = 'a-b' then 'a b' else s end",
    ),
    **dict.fromkeys(["concat_ws"], "write concat(a, ' ', b)"),
    **dict.fromkeys(["try_cast", "safe_cast", "convert", "to_number"], "write cast(s as number)"),
    **dict.fromkeys(["to_date", "str_to_date", "strptime"], "write cast(s as date)"),
    **dict.fromkeys(["to_timestamp"], "declare the column as timestamp in the schema"),
    **dict.fromkeys(["extract", "date_part", "datepart", "date_trunc"], "write year(d), month(d) or day(d)"),
    **dict.fromkeys(["datediff", "date_diff", "age", "timestampdiff"], "write a - b, in days for dates"),
    **dict.fromkeys(
        ["dateadd", "date_add", "date_sub", "interval", "add_months", "make_interval"],
        "compare a difference in days: d - date '2020-12-31' < 30",
    ),
    **dict.fromkeys(
        ["now", "today", "current_date", "current_timestamp", "getdate", "localtime"],
        "write the date: date '2020-12-31'",
    ),
    **dict.fromkeys(["dayofweek", "day_of_week", "isodow", "dow"], "write weekday(d), 1 for Monday"),
    **dict.fromkeys(["dayofmonth"], "write day(d)"),
    **dict.fromkeys(["epoch", "unix_timestamp", "epoch_seconds"], "write seconds(t)"),
    **dict.fromkeys(["if", "iff", "iif", "decode"], "write case when a then b else c end"),
    **dict.fromkeys(["ifnull", "nvl"], "write coalesce(a, b)"),
    **dict.fromkeys(["isnull", "notnull"], "write a is null, a is not null or coalesce(a, b)"),
    **dict.fromkeys(
        ["dayofyear", "day_of_year", "doy", "week", "weekofyear", "week_of_year"],
        "compare days: d - date '2020-01-01' < 7, or write month(d) and day(d)",
    ),
    **dict.fromkeys(["strftime", "to_char", "date_format", "format"], "write year(d), month(d) or day(d), as numbers"),
    **dict.fromkeys(["initcap", "title", "proper"], "write lower(s) or upper(s)"),
    **dict.fromkeys(["split_part", "regexp_extract", "regexp_substr", "reverse"], "write substring(s, 1, 3)"),
    **dict.fromkeys(["lpad", "rpad", "repeat", "space"], "write concat('0', s)"),
    **dict.fromkeys(["md5", "sha1", "sha256", "hash"], "compare the text itself"),
    **dict.fromkeys(["exp", "expm1"], "write case when for the ranges that matter, or compare ln(x)"),
    **dict.fromkeys(
        ["sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "cbrt"],
        "write case when for the ranges that matter",
    ),
    **dict.fromkeys(
        ["random", "rand", "uuid", "setseed"], "leave it out: a row has one value, however often it is asked"
    ),
    **dict.fromkeys(
        ["avg", "mean", "sum", "count", "median", "stddev", "variance", "quantile", "corr", "mode"],
        "an expression is about one row; ask for the mean, the median or a table of it",
    ),
    **dict.fromkeys(["nullif"], "write case when a = b then null else a end"),
}
"""What people write who come from a database, and the nearest form of the language."""


# --- Sizes ------------------------------------------------------------------------------------------------------------
# How large and how small a number can get, known before any row is read.
#
# A double overflows above 2**1024 and loses digits below 2**-1022, and engines disagree about what happens then:
# PostgreSQL raises an error, which would depend on rows. So each expression is measured beforehand. Its columns hold
# zero or numbers between 2**-100 and 2**100 in size; from there the rules below bound every intermediate result, and an
# expression that could come near the ends of the range is refused. Derived here; the rules are one line each.


@dataclass(frozen=True, slots=True)
class Size:
    """Every value is at most `2**top` in size, at least `2**least` unless it is zero, and a multiple of `2**grain`."""

    top: int
    least: int
    grain: int

    @property
    def safe(self) -> bool:
        """Whether no value can come near the ends of the range of doubles."""
        end = tree.LARGEST_RESULT_EXPONENT
        return self.top <= end and self.least >= -end and self.grain >= -end

    @property
    def small_whole(self) -> bool:
        """Whether a whole number at or below the value, or above it, always fits in 53 bits."""
        return self.top <= 53


def _rounded(top: int, least: int, grain: int) -> Size:
    # A double of size at least 2**least has its last digit at 2**(least - 52) or higher.
    return Size(top, least, max(grain, least - 52))


NUMBER = _rounded(tree.LARGEST_EXPONENT, -tree.LARGEST_EXPONENT, -tree.LARGEST_EXPONENT - 52)
"""A column of numbers."""

INTEGER = Size(63, 0, 0)
"""A column of whole numbers of 64 bits, turned into doubles."""

DATE = Size(22, 0, 0)
"""Days since 1970, of the years 1 to 9999."""

MOMENT = Size(58, 0, 0)
"""Microseconds since 1970, of the same years."""

LENGTH = Size(40, 0, 0)
SIGN = Size(0, 0, 0)
SPELT = _rounded(50, -50, -102)
"""At most 15 digits before the point and 15 after it."""


def of_literal(value: float) -> Size:
    """Return the size of one number.

    Examples
    --------
    >>> of_literal(3.0)
    Size(top=2, least=1, grain=0)
    """
    if value == 0.0:
        return Size(-tree.LARGEST_EXPONENT, tree.LARGEST_EXPONENT, tree.LARGEST_EXPONENT)
    fraction, exponent = math.frexp(abs(value))
    numerator = int(fraction * 2**53)
    grain = exponent - 53 + (numerator & -numerator).bit_length() - 1
    return Size(exponent - 1 if fraction == 0.5 else exponent, exponent - 1, grain)


def of_sum(left: Size, right: Size) -> Size:
    """Of a sum or a difference: rounding keeps multiples of a power of two."""
    grain = min(left.grain, right.grain)
    return Size(max(left.top, right.top) + 1, grain, grain)


def of_product(left: Size, right: Size) -> Size:
    """Of a product."""
    return _rounded(left.top + right.top, left.least + right.least, left.grain + right.grain)


def of_quotient(left: Size, right: Size) -> Size:
    """Of a quotient whose divisor is not zero."""
    least = left.least - right.top
    return _rounded(left.top - right.least, least, least - 52)


def of_root(inner: Size) -> Size:
    """Of a square root."""
    least = math.floor(inner.least / 2)
    return _rounded(math.ceil(inner.top / 2), least, least - 52)


def of_whole(inner: Size) -> Size:
    """Of a number rounded down or up to a whole one."""
    return Size(max(inner.top, 0), 0, 0)


def of_any(*sizes: Size) -> Size:
    """Of a value that is one of several."""
    return Size(max(s.top for s in sizes), min(s.least for s in sizes), min(s.grain for s in sizes))


def of_clipped(inner: Size, low: Size, high: Size) -> Size:
    """Of a value moved into a range: no larger than the ends of the range."""
    either = of_any(inner, low, high)
    return Size(max(low.top, high.top), either.least, either.grain)


def never_zero(node: tree.Node) -> bool:
    """Return whether a number cannot be zero by its form alone, so that it may divide without a test.

    Examples
    --------
    >>> never_zero(tree.Number(2)), never_zero(tree.Name("x"))
    (True, False)
    """
    match node:
        case tree.Number(value):
            return value != 0.0
        case tree.Call("clip", (_, tree.Number(low), _)):
            return low > 0.0
        case _:
            return False


def never_negative(node: tree.Node) -> bool:
    """Return whether a number cannot be negative by its form alone, so that it has a root."""
    return isinstance(node, tree.Call) and node.function in ("abs", "sqrt", "length")


# --- Checking ---------------------------------------------------------------------------------------------------------

ValueKind = Literal["number", "boolean", "text", "date", "timestamp", "timestamptz"]
VALUE_KINDS: tuple[ValueKind, ...] = get_args(ValueKind)


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a node on every row, before any is read.

    `nullable` says whether it can be NULL, `size` how large a number can get, `copies` how many nodes it has once it
    is compiled, `depth` how deep it is.
    """

    kind: ValueKind | None
    nullable: bool
    size: Size | None
    copies: int
    depth: int


@dataclass(frozen=True)
class Expression:
    """An expression that was checked against a schema. The compilers and the interpreter accept only such expressions.

    Examples
    --------
    >>> from holdfast.data.expressions import expression
    >>> from holdfast.data.schema import Schema
    >>> rule = expression("income / age > 1000", Schema({"age": "integer", "income": "number"}))
    >>> rule.kind, rule.columns, rule.nullable
    ('boolean', ('age', 'income'), True)
    >>> expression("age is not null and age < 30", Schema({"age": "integer"})).nullable
    False
    """

    node: tree.Node
    kind: ValueKind
    kinds: Mapping[str, Kind] = field(hash=False)
    facts: Mapping[tree.Node, Facts] = field(repr=False, compare=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that the expression uses, in alphabetical order."""
        return tuple(sorted(self.kinds))

    def fits(self, schema: Schema) -> bool:
        """Whether its columns are in a schema as they were in that which it was checked against: it is checked then."""
        return all(
            name in schema and schema[name].kind == kind and schema[name].may_be_missing == self._nullable(name)
            for name, kind in self.kinds.items()
        )

    def _nullable(self, column: str) -> bool:
        return self.facts[tree.Name(column)].nullable

    @cached_property
    def nullable(self) -> bool:
        """Whether the expression can be NULL on some row with this schema, judged by its parts."""
        return _can_be_null(self.node, self.facts, frozenset())


def checked(node: tree.Node, schema: Schema, most_nodes: int = tree.MOST_NODES) -> Expression:
    """Check the tree of an expression against a schema.

    `most_nodes` is the largest allowed number of nodes. The library gives a larger one for trees that it builds around
    an expression, such as the cells of a histogram.

    Raises
    ------
    InvalidParameter
        An unknown column or function, a value of the wrong kind, or a limit of `limits` passed. The message
        speaks of the expression and the schema only.

    Examples
    --------
    >>> from holdfast.data.expressions import parse
    >>> from holdfast.data.schema import Schema
    >>> checked(parse("age + 1 < 30"), Schema({"age": "integer"})).kind
    'boolean'
    """
    # Size and depth first and without recursion, so that what follows may recurse.
    nodes, depths = 0, [(node, 1)]
    while depths:
        here, depth = depths.pop()
        nodes += 1
        if depth > tree.DEEPEST:
            raise InvalidParameter(f"expression must be at most {tree.DEEPEST} levels deep")
        if nodes > most_nodes:
            raise InvalidParameter(f"expression must have at most {most_nodes} parts")
        depths.extend((below, depth + 1) for below in tree.children(here))
    checker = _Checker(schema, tree.MOST_COPIES if most_nodes <= tree.MOST_NODES else most_nodes)
    top = checker.facts_of(node)
    if top.kind is None:
        raise InvalidParameter("expression must not be null in every row, got null")
    return Expression(node, top.kind, checker.kinds, checker.facts)


class _Checker:
    def __init__(self, schema: Schema, most_copies: int) -> None:
        self.schema, self.most_copies = schema, most_copies
        self.kinds: dict[str, Kind] = {}
        self.facts: dict[tree.Node, Facts] = {}

    def facts_of(self, node: tree.Node) -> Facts:
        known = self.facts.get(node)
        if known is None:
            known = self.facts[node] = self._find(node)
            if known.size is not None and not known.size.safe:
                raise InvalidParameter(
                    "expression must have a size between 2**-1000 and 2**1000 for all values of its columns with "
                    "sizes between 2**-100 and 2**100; clip parts of the expression to smaller ranges"
                )
            if known.copies > self.most_copies:
                raise InvalidParameter(
                    f"expression must have at most {self.most_copies} parts after it is compiled for the "
                    f"engine{self._dated_text(node)}"
                )
        return known

    def _find(self, node: tree.Node) -> Facts:
        match node:
            case tree.Name(column):
                return self._name(column)
            case tree.Number(value):
                if not (value == 0.0 or tree.SMALLEST <= abs(value) <= tree.LARGEST):
                    raise InvalidParameter(
                        "expression must have numbers that are 0 or have a size between 2**-100 and 2**100"
                    )
                return Facts("number", False, of_literal(value), 1, 1)
            case tree.Text(value):
                plain_text("text in an expression", value)
                return Facts("text", False, None, 1, 1)
            case tree.Truth():
                return Facts("boolean", False, None, 1, 1)
            case tree.Null():
                return Facts(None, True, None, 1, 1)
            case tree.Arithmetic(sign, left, right):
                return self._arithmetic(sign, left, right)
            case tree.Minus(operand):
                return self._joined("number", [inner := self._wants("number", operand, "-")], inner.size)
            case tree.Comparison(sign, left, right):
                return self._comparison(sign, left, right)
            case tree.Between(operand, low, high):
                self._comparison("<=", low, operand, "between")
                self._comparison("<=", operand, high, "between")
                return self._joined("boolean", [self.facts_of(part) for part in (operand, low, high)])
            case tree.In(operand, values):
                return self._in(operand, values)
            case tree.IsNull(operand):
                inner = self.facts_of(operand)
                if inner.kind is None:
                    raise InvalidParameter("expression must not contain `null is null`, which is always true")
                times = 2 if inner.kind == "boolean" else 1
                return Facts("boolean", False, None, times * inner.copies + 1, inner.depth + 1)
            case tree.Bucket(operand):
                inner = self.facts_of(operand)
                return Facts("boolean", False, None, inner.copies + 1, inner.depth + 1)
            case tree.Not(operand):
                return self._joined("boolean", [self._wants("boolean", operand, "not")])
            case tree.And(operands) | tree.Or(operands):
                word = "and" if isinstance(node, tree.And) else "or"
                if len(operands) < 2:
                    raise InvalidParameter(f"expression must join at least two conditions with {word}")
                return self._joined("boolean", [self._wants("boolean", part, word) for part in operands])
            case tree.Case(branches, otherwise):
                return self._case(branches, otherwise)
            case tree.Call(name, arguments):
                return self._call(name, arguments, node)
            case tree.Retyped(operand, kind):
                return replace(self.facts_of(operand), kind=kind)
            case _:
                raise InvalidParameter(
                    "expression must be a text, or a tree of the node types that holdfast.data.expressions defines"
                )

    def _name(self, column: str) -> Facts:
        if not isinstance(column, str) or column not in self.schema:
            alike = {name.lower(): name for name in self.schema.names}
            near = get_close_matches(str(column).lower()[:60], alike, n=1)
            hint = f"; there is {alike[near[0]]!r}" if near else ""
            hint = f"; {_INSTEAD[str(column).lower()]}" if str(column).lower() in _INSTEAD and not near else hint
            raise InvalidParameter(f"expression must name columns of the schema, got {str(column)[:60]!r}{hint}")
        kind, missing = self.schema[column].kind, self.schema[column].may_be_missing
        self.kinds[column] = kind
        if kind == "text" or kind == "boolean":
            return Facts(kind, missing, None, 1, 1)
        if kind in lowering.TIMED:
            return Facts(kind, missing, DATE if kind == "date" else MOMENT, 1, 1)
        return Facts("number", missing, INTEGER if kind == "integer" else NUMBER, 1, 1)

    def _wants(self, kind: ValueKind, node: tree.Node, where: str) -> Facts:
        facts = self.facts_of(node)
        if facts.kind != kind:
            hint = _INSTEAD_OF_KIND.get((kind, facts.kind), "")
            raise InvalidParameter(
                f"expression must have a {kind} as operand of {where}, got {_called(facts.kind)}{hint}"
            )
        return facts

    def _dated_text(self, node: tree.Node) -> str:
        """What to do where texts are read as dates, which takes too many parts for most other functions."""
        for below in tree.walk(node):
            match below:
                case tree.Call("cast", (tree.Name(column), tree.Text("date"))) if self.kinds.get(column) == "text":
                    return _declared_as(column, "date")
        return ""

    def _joined(self, kind: ValueKind, parts: list[Facts], size: Size | None = None, times: int = 1) -> Facts:
        return Facts(
            kind,
            any(part.nullable for part in parts),
            size,
            times * sum(part.copies for part in parts) + 1,
            max(part.depth for part in parts) + 1,
        )

    def _lowered(self, node: tree.Node) -> Facts:
        """What is known of a node that is written in other forms."""
        other = lowering.lowered(node, lambda part: self.facts_of(part).kind)
        assert other is not None
        return self.facts_of(other)

    def _arithmetic(self, sign: str, numerator: tree.Node, divisor: tree.Node) -> Facts:
        if sign not in ("+", "-", "*", "/", "%"):
            raise InvalidParameter("expression must have one of the signs + - * / % between two numbers")
        if (kind := self.facts_of(numerator).kind) in lowering.TIMED or self.facts_of(divisor).kind in lowering.TIMED:
            if sign == "-" and self.facts_of(divisor).kind == kind:
                return self._lowered(tree.Arithmetic("-", numerator, divisor))
            raise InvalidParameter(
                f"expression must not have a date or timestamp with the sign {sign}, except for the difference of two "
                "dates or of two timestamps, as in d - date '2020-12-31' < 30 days"
            )
        left, right = self._wants("number", numerator, sign), self._wants("number", divisor, sign)
        assert left.size is not None
        assert right.size is not None
        if sign in "+-":
            return self._joined("number", [left, right], of_sum(left.size, right.size))
        if sign == "*":
            return self._joined("number", [left, right], of_product(left.size, right.size))
        if sign == "%":
            if left.size.grain < 0 or right.size.grain < 0:
                raise InvalidParameter(
                    "expression must have whole numbers on both sides of %; write floor(x) % 7 or round(x) % 7"
                )
            return self._lowered(tree.Arithmetic("%", numerator, divisor))
        facts = self._joined("number", [left, right], of_quotient(left.size, right.size))
        return facts if never_zero(divisor) else Facts("number", True, facts.size, facts.copies + 1, facts.depth)

    def _comparison(self, sign: str, left: tree.Node, right: tree.Node, where: str | None = None) -> Facts:
        one, other = self.facts_of(left), self.facts_of(right)
        if one.kind is None or other.kind is None:
            raise InvalidParameter(
                "expression must not compare a value with null; write `is null` to find missing values"
            )
        if one.kind != other.kind:
            hint = _hint_to_compare(one.kind, other.kind)
            raise InvalidParameter(
                f"expression must compare values of the same kind, got {one.kind} {where or sign} {other.kind}{hint}"
            )
        if sign not in ("=", "<>"):
            if one.kind == "boolean" or sign not in ("<", "<=", ">", ">="):
                raise InvalidParameter(
                    "expression must have numbers, texts, dates or timestamps on both sides of < and >, got "
                    f"{one.kind} {where or sign} {other.kind}; for conditions write a and not b"
                )
            if one.kind == "text" and not (_reads_text(left) or _reads_text(right)):
                # PostgreSQL would order written texts by the collation of the database, columns are read without one.
                raise InvalidParameter(
                    f"expression must not compare two constant texts with {where or sign}; write the result of the "
                    "comparison instead, or compare a column with a text"
                )
        return self._joined("boolean", [one, other], times=2 if one.kind == "boolean" else 1)

    def _in(self, operand: tree.Node, values: tuple[tree.Node, ...]) -> Facts:
        inner = self.facts_of(operand)
        listed = [self.facts_of(value) for value in values]
        if inner.kind in lowering.TIMED:
            raise InvalidParameter(
                f"expression must not have a {inner.kind} before `in`; write d = date '2020-12-31' or d = ..., or use "
                "between"
            )
        if inner.kind not in ("number", "text") or not listed or any(value.kind != inner.kind for value in listed):
            raise InvalidParameter(
                "expression must have a list of only numbers or only texts after `in`, of the same kind as the value "
                "before it"
            )
        return self._joined("boolean", [inner, inner, *listed])

    def _case(self, branches: tuple[tuple[tree.Node, tree.Node], ...], otherwise: tree.Node) -> Facts:
        if not branches:
            raise InvalidParameter("expression must have at least one `when ... then ...` in `case`")
        conditions = [self._wants("boolean", condition, "when") for condition, _ in branches]
        results = [self.facts_of(result) for _, result in branches] + [self.facts_of(otherwise)]
        kinds = {result.kind for result in results} - {None}
        if len(kinds) != 1:
            shown = "nothing but null" if not kinds else " and ".join(sorted(str(kind) for kind in kinds))
            raise InvalidParameter(
                f"expression must have results of the same kind in all branches of `case`, got {shown}"
            )
        joined = self._joined(kinds.pop(), conditions + results, _any_size(results))  # type: ignore[arg-type]
        return Facts(joined.kind, any(r.nullable for r in results), joined.size, joined.copies, joined.depth)

    def _call(self, name: str, arguments: tuple[tree.Node, ...], node: tree.Node) -> Facts:
        function = FUNCTIONS.get(name) if isinstance(name, str) else None
        if function is None:
            raise InvalidParameter(_no_function(str(name)[:40]))
        most = len(function.takes)
        least = most - function.optional
        if len(arguments) < least or (len(arguments) > most and not function.more):
            wanted = f"{least} or more" if function.more else f"{least} or {most}" if least < most else str(least)
            hint = "; the characters from the second on are substring(s, 2, 1000)" if name == "substring" else ""
            raise InvalidParameter(f"expression must call {name} with {wanted} arguments, got {len(arguments)}{hint}")
        parts = [self.facts_of(argument) for argument in arguments]
        for position, (argument, part) in enumerate(zip(arguments, parts, strict=True)):
            takes = function.takes[min(position, most - 1)]
            if not _is_taken(takes, argument, part.kind, parts[0].kind):
                wanted = _wanted_words(takes, parts[0].kind)
                hint = _INSTEAD_OF_KIND.get((takes, part.kind), "")
                if takes in ("timed", "moment", "date") and part.kind == "text" and isinstance(argument, tree.Name):
                    hint = _declared_as(argument.column, "timestamp" if takes == "moment" else "date")
                raise InvalidParameter(f"expression must call {name} with a {wanted}, got {_called(part.kind)}{hint}")
        _check_written(name, arguments)
        if name in lowering.LOWERED:
            return self._lowered(node)
        return self._result(name, arguments, parts)

    def _result(self, name: str, arguments: tuple[tree.Node, ...], parts: list[Facts]) -> Facts:
        first, nullable = parts[0], any(part.nullable for part in parts)
        match name:
            case "abs":
                return self._joined("number", parts, first.size)
            case "floor" | "ceil":
                assert first.size is not None
                return self._joined("number", parts, of_whole(first.size), 1 if first.size.small_whole else 3)
            case "sign":
                return self._joined("number", parts, SIGN, 3)
            case "sqrt":
                assert first.size is not None
                if never_negative(arguments[0]):
                    return self._joined("number", parts, of_root(first.size))
                facts = self._joined("number", parts, of_root(first.size), 2)
                return Facts("number", True, facts.size, facts.copies, facts.depth)
            case "least" | "greatest":
                return self._joined(first.kind, parts, _any_size(parts), 2 if nullable else 1)  # type: ignore[arg-type]
            case "clip":
                low, high = arguments[1], arguments[2]
                assert isinstance(low, tree.Number)
                assert isinstance(high, tree.Number)
                if not low.value < high.value:
                    raise InvalidParameter(
                        "expression must call clip with a smallest value that is below the largest value"
                    )
                assert first.size is not None
                size = of_clipped(first.size, of_literal(low.value), of_literal(high.value))
                if low.value > 0.0:
                    size = replace(size, least=of_literal(low.value).least)
                return self._joined("number", parts, size, 3 if nullable else 1)
            case "coalesce":
                facts = self._joined(first.kind, parts, _any_size(parts))  # type: ignore[arg-type]
                some = all(part.nullable for part in parts)
                return Facts(facts.kind, some, facts.size, facts.copies, facts.depth)
            case "length":
                return self._joined("number", parts, LENGTH)
            case "lower" | "upper" | "substring" | "trim" | "concat":
                return self._joined("text", parts)
            case "number":
                facts = self._joined("number", parts, SPELT, 3)
                return Facts("number", True, facts.size, facts.copies, facts.depth)
            case _:
                return self._joined("boolean", parts)


def _no_function(name: str) -> str:
    """What to write in place of a function that there is not."""
    known = ", ".join(sorted(FUNCTIONS))
    near = get_close_matches(name, FUNCTIONS, n=1, cutoff=0.75)
    instead = _INSTEAD.get(name) or (f"there is {near[0]}" if near else "")
    if not instead:
        return f"expression must use the functions {known}, got {name!r}"
    return f"expression must use the functions of the row language, got {name!r}; {instead}"


def _is_taken(takes: Wanted, argument: tree.Node, kind: ValueKind | None, first: ValueKind | None) -> bool:
    """Whether a function that takes this can have an argument of a kind."""
    match takes:
        case "any":
            return kind is not None and kind == first
        case "ordered":
            return kind == first and (kind == "number" or kind in lowering.TIMED)
        case "timed":
            return kind in lowering.TIMED
        case "moment":
            return kind in ("timestamp", "timestamptz")
        case "dated":
            return kind in ("timestamp", "timestamptz") or isinstance(argument, tree.Text)
        case "literal number":
            return isinstance(argument, tree.Number)
        case "literal text":
            return isinstance(argument, tree.Text)
        case _:
            return kind == takes


def _wanted_words(takes: Wanted, first: ValueKind | None) -> str:
    if takes == "any":
        return str(first or "value")
    if takes == "ordered":
        return first if first is not None and (first == "number" or first in lowering.TIMED) else "number"
    words = {"timed": "date or timestamp", "moment": "timestamp", "dated": "written date or timestamp"}
    return words.get(takes, takes.replace("literal", "written"))


_FARTHEST = 1_000_000
"""Characters that substring counts up to."""
_MOST_DIGITS = 12
_MOST_JOINED = 16
"""Texts of columns in one concat: some engines fail on a text of a gigabyte."""


def _check_written(name: str, arguments: tuple[tree.Node, ...]) -> None:
    """Refuse written arguments that a function cannot do with."""
    values: list[Any] = [getattr(argument, "value", None) for argument in arguments]
    match name:
        case "starts_with" | "ends_with" | "contains" if not values[1]:
            raise InvalidParameter(f"expression must call {name} with a second text that is not empty")
        case "like" | "ilike":
            patterns.regex(values[1])
        case "substring" if not (values[1] in range(1, _FARTHEST + 1) and values[2] in range(_FARTHEST + 1)):
            raise InvalidParameter(
                "expression must call substring with a position (from 1 on) and a number of characters, both whole "
                f"numbers of at most {_FARTHEST}; the first three characters are substring(s, 1, 3)"
            )
        case "round" if len(values) > 1 and values[1] not in range(_MOST_DIGITS + 1):
            raise InvalidParameter(
                f"expression must round to a number of digits after the decimal point from 0 to {_MOST_DIGITS}"
            )
        case "concat":
            joined = sum(isinstance(below, tree.Name) for part in arguments for below in tree.walk(part))
            if joined > _MOST_JOINED:
                raise InvalidParameter(f"expression must join at most {_MOST_JOINED} columns with concat, got {joined}")


def _hint_to_compare(one: str, other: str) -> str:
    kinds = {one, other}
    for kind in lowering.TIMED:
        if kind in kinds and "text" in kinds:
            zone = "+00:00" if kind == "timestamptz" else ""
            return f"; write {kind} '2020-12-31{'' if kind == 'date' else f' 23:59:59{zone}'}'"
    if "date" in kinds and kinds & {"timestamp", "timestamptz"}:
        return "; write date(t)"
    if kinds == {"timestamp", "timestamptz"}:
        return "; write timestamptz '2020-12-31 23:59:59+00:00', with its zone, where the column has one"
    if kinds == {"number", "text"}:
        return "; write number(s)"
    if kinds == {"boolean", "number"}:
        return "; a condition is written alone, as `member` or `not member`; as a number it is cast(member as integer)"
    if kinds == {"boolean", "text"}:
        return "; a condition is written alone, as `member` or `not member`"
    return ""


_INSTEAD_OF_KIND: dict[tuple[Any, Any], str] = {
    ("number", "boolean"): "; as a number a condition is cast(member as integer)",
    ("boolean", "number"): "; write x <> 0 or another comparison",
    ("boolean", "text"): "; write s = 'a' or another comparison",
    ("number", "text"): "; write number(s)",
    ("text", "number"): "; declare the column as text in the schema, which keeps its digits",
    ("text", "boolean"): "; write case when member then 'yes' else 'no' end",
}
"""What to write where a value of the second kind stands in the place of one of the first."""


def _declared_as(column: str, kind: str) -> str:
    """How to have a column of texts read as dates, which a file of plain text does not say by itself."""
    name = column if column.isidentifier() else "day"
    return (
        f"; declare the column as a {kind} when the data are read: schema={{{name!r}: {kind!r}, ...}} with the other "
        f"columns, or --schema '{name} {kind}, ...'"
    )


def _reads_text(node: tree.Node) -> bool:
    """Whether a text comes from a column on some way, and so is ordered letter by letter."""
    match node:
        case tree.Name():
            return True
        case tree.Case(branches, otherwise):
            return any(_reads_text(result) for _, result in branches) or _reads_text(otherwise)
        case tree.Call(_, arguments):
            return any(_reads_text(argument) for argument in arguments)
        case _:
            return False


def _can_be_null(node: tree.Node, facts: Mapping[tree.Node, Facts], present: frozenset[tree.Node]) -> bool:
    """Whether a node can be NULL where the nodes of `present` are not.

    `Facts.nullable` looks at a node's parts one by one. This looks at what they say about each other: `x is not null
    and x < 1` is false, not NULL, where `x` is missing, and so on for `or` and the branches of `case`.
    """
    if not facts[node].nullable or (present and node in present):
        return False
    match node:
        case tree.And(operands):
            known_present = present.union(*(_present_where_true(part) for part in operands if _is_present(part)))
            return any(_can_be_null(part, facts, known_present) for part in operands)
        case tree.Or(operands):
            known_present = present.union(part.operand for part in operands if isinstance(part, tree.IsNull))
            return any(_can_be_null(part, facts, known_present) for part in operands)
        case tree.Case(branches, otherwise):
            for condition, result in branches:
                if _can_be_null(result, facts, present | _present_where_true(condition)):
                    return True
                if isinstance(condition, tree.IsNull):
                    present |= {condition.operand}
            return _can_be_null(otherwise, facts, present)
        case tree.Call("coalesce", arguments):
            return all(_can_be_null(part, facts, present) for part in arguments)
        case tree.Call("sqrt", (operand,)) if not never_negative(operand):
            return True
        case tree.Call("number") | tree.Name() | tree.Null():
            return True
        case tree.Arithmetic("/", _, divisor) if not never_zero(divisor):
            return True
        case tree.Call("cast", (operand, tree.Text("number" | "integer"))) if facts[operand].kind == "boolean":
            return _can_be_null(operand, facts, present)
        case tree.Call("ln" | "log2" | "log10", (operand,)) if _least_sign(operand) > 0:
            return _can_be_null(operand, facts, present)
        case tree.Arithmetic("%", whole, tree.Number(value)) if value != 0.0 and _exact_remainder(facts, whole, node):
            return _can_be_null(whole, facts, present)
        case _ if (other := lowering.lowered(node, lambda part: facts[part].kind)) is not None:
            return _can_be_null(other, facts, present)
        case _:
            return any(_can_be_null(part, facts, present) for part in tree.children(node))


def _exact_remainder(facts: Mapping[tree.Node, Facts], whole: tree.Node, node: tree.Arithmetic) -> bool:
    """Whether both numbers of `%` are at most 2**53 in size on every row: beyond that the remainder is NULL."""
    sizes = facts[whole].size, facts[node.right].size
    return all(size is not None and size.small_whole for size in sizes)


def _least_sign(node: tree.Node) -> int:
    """1 for a number that is above 0 by its form alone, 0 for one that is never below, -1 for all others.

    Examples
    --------
    >>> from holdfast.data.expressions import parse
    >>> [_least_sign(parse(text)) for text in ("abs(x) + 1", "2 * month(d)", "length(s)", "x + 1")]
    [1, 1, 0, -1]
    """
    match node:
        case tree.Number(value):
            return (value > 0) - (value < 0)
        case tree.Call("clip", (_, tree.Number(low), _)):
            return (low > 0) - (low < 0)
        case tree.Call("year" | "quarter" | "month" | "day" | "weekday", _):
            return 1
        case tree.Call("abs" | "length" | "hour" | "minute" | "second", _):
            return 0
        case tree.Call("sqrt" | "ceil", (operand,)):
            return _least_sign(operand)
        case tree.Call("floor" | "round", (operand, *_)):
            return min(_least_sign(operand), 0)
        case tree.Call("greatest", arguments):
            return max(map(_least_sign, arguments))
        case tree.Call("least" | "coalesce", arguments):
            return min(map(_least_sign, arguments))
        case tree.Arithmetic("+", left, right):
            signs = _least_sign(left), _least_sign(right)
            return -1 if min(signs) < 0 else max(signs)
        case tree.Arithmetic("*", left, right):
            square = 0 if left == right else -1
            return max(square, min(_least_sign(left), _least_sign(right)))
        case tree.Case(branches, otherwise):
            results = [result for _, result in branches] + [otherwise]
            return min(_least_sign(one) for one in results if not isinstance(one, tree.Null))
        case _:
            return -1


def _is_present(node: tree.Node) -> bool:
    return isinstance(node, tree.Not) and isinstance(node.operand, tree.IsNull)


def _present_where_true(condition: tree.Node) -> frozenset[tree.Node]:
    """What cannot be NULL on a row where the condition is true."""
    match condition:
        case tree.Not(tree.IsNull(operand)):
            return frozenset({operand})
        case tree.Comparison(_, left, right):
            return frozenset({left, right})
        case tree.Between(operand, low, high):
            return frozenset({operand, low, high})
        case tree.In(operand, _):
            return frozenset({operand})
        case tree.And(operands):
            return frozenset().union(*(_present_where_true(part) for part in operands))
        case _:
            return frozenset({condition})


def _any_size(parts: list[Facts]) -> Size | None:
    known = [part.size for part in parts if part.size is not None]
    return of_any(*known) if known else None


def _called(kind: Any) -> str:
    return "null" if kind is None else f"a {kind}"


def expression(source: str | Mapping[str, Any] | float | tree.Node | Expression, schema: Schema) -> Expression:
    """Read an expression, given as a text, a tree or plain data, and check it against a schema. No row is read.

    Parameters
    ----------
    source : str, JSON data, tree, or a checked expression
        Text such as `"income > 50000 and age < 30"`, the same in the JSON form, or a tree.
    schema : Schema
        The columns there are.

    Raises
    ------
    InvalidParameter
        Anything that is not an expression of the language over this schema.

    Examples
    --------
    >>> schema = Schema({"age": "integer", "income": "number"})
    >>> expression("income > 50000 and age < 30", schema).kind
    'boolean'
    >>> expression("read_text('/etc/passwd')", schema)
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: expression must use the functions abs, ..., year, got 'read_text'
    """
    return checked(node_of(source), schema)


def node_of(source: Any) -> tree.Node:
    """An expression in any form as a tree, not yet checked against a schema."""
    if isinstance(source, Expression):
        return source.node
    if isinstance(source, str):
        return parse(source)
    return source if isinstance(source, tree.Node) else tree.from_json(source)
