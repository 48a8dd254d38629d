"""Whether a database means by a question what it means: asked of a few hard rows, written into the statement.

Before a sample of a database that Ibis speaks to is opened, every form of the row language is computed there on rows
that look for trouble, and compared with the interpreter, row by row. The rows are written as literals, so that nothing
is stored and no right to write is needed. A form that comes out wrong, or that the database does not know, is compiled
in another way where there is one. If that is wrong too, it is refused by name; where it is one of those that every
question is made of, the database is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Any

from holdfast.data.engines.sql_columns import RawType
from holdfast.data.engines.sql_statements import Statements, bundles, gather
from holdfast.data.expressions import Expression, expression, ibis_columns, lowering, python_rows, tree
from holdfast.data.sample import Sums
from holdfast.data.schema import Column, Kind, Schema
from holdfast.data.statistics import Contingency, Count, FixedSum, GroupBy, Histogram, PowerSum, Statistic
from holdfast.data.statistics.request import of_rows, passes
from holdfast.errors import InvalidParameter, SampleUnavailable

Run = Callable[[str], Iterable[Sequence[Any]]]
"""Runs a statement and gives its rows; any error of the database is an `Exception`."""

KEY = "holdfast_key"
_AT_ONCE = 8
"""Cases that one statement computes."""
_KINDS: dict[str, tuple[Kind, RawType]] = {
    KEY: ("integer", "int64"),
    **dict.fromkeys(["x", "y"], ("number", "float64")),
    **dict.fromkeys(["i", "j"], ("integer", "int64")),
    **dict.fromkeys(["b", "c"], ("boolean", "boolean")),
    **dict.fromkeys(["s", "t"], ("text", "string")),
}
_OTHER_KINDS: dict[RawType, tuple[Kind, RawType]] = {
    "float32": ("number", "float32"),
    "decimal": ("number", "decimal"),
    "date": ("date", "date"),
    "timestamp": ("timestamp", "timestamp"),
    "timestamptz": ("timestamptz", "timestamptz"),
}
"""What is probed only where a column of the sample holds it, in a column that is called as the type."""

_NUMBERS = (
    *(0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 1 / 3, -7.25, 1e-5, 12345.678, 0.1234567890123456),
    *(0.49999999999999994, 4503599627370497.5, 2.0**52 + 0.5, 2.0**53, 2.0**53 + 2, -(2.0**53), 1e16 + 2, 2.0**63),
    *(2.0**100, math.nextafter(2.0**100, math.inf), -(2.0**100), 2.0**-100, math.nextafter(2.0**-100, 0.0), 5e-324),
    *(1.7976931348623157e308, 1e30, -1e30, 1e-30, 5.365e-28, 8.5e22, 3.0, 100.0, 1e9 + 0.5, None),
)
_BEYOND = (math.nan, math.inf, -math.inf)
"""Numbers that a database may not be able to write, and then has none in a column either."""
_INTEGERS = (
    *(0, 1, -1, 2, 3, 7, -7, 40, 100, -5, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, 1 - 2**63),
    *(10**15, None),
)
_TEXTS = (
    *(
        "",
        " ",
        "a",
        "A",
        "abc",
        "ABC",
        "aBc",
        "abc ",
        " abc",
        "  abc  ",
        "it's",
        '"q"',
        "\\",
        "\\n",
        "a\\",
        "\n",
        "12\n",
    ),
    *("%", "_", "a%", "a%c", "é", "e\u0301", "É", "ß", "ẞ", "ss", "İ", "ı", "ﬀ", "日本", "👩\u200d👧", "\U0001f600"),
    *(
        "\uffee",
        "\u00a0",
        "12",
        "-12.5",
        "+3",
        "0012",
        "1e5",
        "1_0",
        " 7",
        ".5",
        "5.",
        "0x10",
        "inf",
        "nan",
        "1,5",
        "٣",
    ),
    *("123456789012345", "1234567890123456", "0.123456789012345", "12\r\n", "2020-02-29", "2021-02-29", "2020-2-9"),
    *("Z", "b", "ab", "\t", "--", "NULL", "true", None),
)
_DAYS = (
    date(1970, 1, 1),
    date(2000, 2, 29),
    date(1969, 12, 31),
    date(1900, 3, 1),
    date(1582, 10, 4),
    date(2024, 12, 31),
)
_MOMENTS = tuple(
    datetime(*parts)
    for parts in (
        *((1970, 1, 1), (1999, 12, 31, 23, 59, 59, 999_999), (1969, 12, 31, 23, 59, 59, 500_000)),
        *((2024, 2, 29, 12, 0, 0, 1), (2001, 9, 9, 1, 46, 40)),
    )
)
_SINGLES = (*(0.0, 2.0**24, 2.0**24 - 1, 1 + 2.0**-23, 3355443 / 2**25, -15801234 / 2**7, 2.0**-126, 2.0**99), None)
"""Numbers that 24 bits hold, most of which six digits do not."""
_DECIMALS = tuple(map(Decimal, ("12.34", "-0.10", "0.07", "99999.99", "0", "-12345.67")))


@dataclass(frozen=True)
class Case:
    """One thing that databases do differently, and an expression that shows it."""

    what: str
    shown_by: str | tree.Node

    @property
    def form(self) -> str:
        """The form that the expression is there to show: its outermost."""
        whole = _checked(self.shown_by)
        return form_of(whole.node, whole) or "column"


_WRITTEN = "a written number as the nearest double"
CASES = tuple(
    Case(*pair)
    for pair in (
        ("a column of numbers: NaN, infinities and numbers beyond 2**100 are missing, small ones are 0", "x"),
        ("a column of whole numbers above 2**53 as the nearest double", "i"),
        ("a column of truth values", "b"),
        ("a column of texts", "s"),
        (_WRITTEN, "x + 0.1234567890123456"),
        (_WRITTEN, "y * 5.365e-28"),
        ("a sum of doubles", "x + y"),
        ("a difference of doubles", "x - y"),
        ("a product of doubles", "clip(x, -1e9, 1e9) * y"),
        ("a quotient of doubles, NULL by zero", "x / y"),
        ("a quotient of whole numbers, which is no whole number", "i / j"),
        ("a negative number", "-x"),
        ("numbers compared", "x < y"),
        ("numbers compared", "x >= i"),
        ("numbers compared, minus zero with zero", "x = 0"),
        ("numbers compared", "x <> y"),
        ("a range of numbers", "x between -1 and y"),
        ("a list of numbers", "x in (0, 0.1, 2.5, 9007199254740992)"),
        ("a list of numbers", "x in (1, 2.5)"),
        ("a missing number", "x is null"),
        ("a missing truth value", "(b and c) is null"),
        ("a missing text", "s is null"),
        ("and in three-valued logic", "b and x > 0"),
        ("or in three-valued logic", "b or x > 0"),
        ("not in three-valued logic", "not (x > y)"),
        ("truth values compared", "b = c"),
        ("truth values compared", "b <> (x > 0)"),
        ("a case", "case when x > y then x when b then 1 end"),
        ("a case of texts", "case when b then s else 'other' end"),
        ("a size", "abs(x)"),
        ("rounding down", "floor(x)"),
        ("rounding down at the grid", "floor(clip(y, -1, 1) * 1073741824)"),
        ("rounding up", "ceil(x)"),
        ("a sign", "sign(x)"),
        ("a square root", "sqrt(x)"),
        ("the least, NULL where one is missing", "least(x, y, i)"),
        ("the greatest, NULL where one is missing", "greatest(x, y)"),
        ("a clipped number", "clip(x, -1, 0.1)"),
        ("the first that is not missing", "coalesce(x, y, 0)"),
        ("a half rounded away from zero", "round(clip(x, -1e12, 1e12))"),
        ("a number rounded to digits", "round(clip(x, -1e6, 1e6), 2)"),
        ("a remainder of negative numbers", "i % 7"),
        ("a remainder by a column", "i % j"),
        ("a logarithm", "ln(x)"),
        ("a logarithm", "log2(abs(y))"),
        ("texts compared letter by letter: case, accents, spaces at the end", "s = t"),
        ("texts compared letter by letter", "s = 'abc'"),
        ("texts compared letter by letter", "s <> 'a'"),
        ("texts ordered by code points", "s < 'b'"),
        ("texts ordered by code points", "s <= t"),
        ("texts ordered by code points", "s > 'abc'"),
        ("texts ordered by code points", "s >= t"),
        ("a range of texts", "s between 'A' and 'b'"),
        ("a list of texts", "s in ('abc', 'é', ' ', '\\')"),
        ("the number of code points", "length(s)"),
        ("small letters", "lower(s)"),
        ("capital letters", "upper(s)"),
        ("how a text begins", "starts_with(s, 'a')"),
        ("how a text begins", "starts_with(s, '12')"),
        ("how a text ends", "ends_with(s, 'c')"),
        ("how a text ends", "ends_with(s, 'bc ')"),
        ("how a text ends, with a sign taken as it is", "ends_with(s, '%')"),
        ("how a text begins, with a sign taken as it is", "starts_with(s, '_')"),
        ("how a text begins, with small and capital letters apart", "starts_with(s, 'aB')"),
        ("a text in a text", "contains(s, '%')"),
        ("a text in a text", "contains(s, 'b')"),
        ("a pattern", "s like 'a%'"),
        ("a pattern that a line end fits", "s like '12_'"),
        ("a pattern with a sign taken as it is", "s like 'a\\%_'"),
        ("a pattern with a letter beyond A to Z", "s like '_'"),
        ("a pattern with small and capital letters alike", "s ilike 'AB%'"),
        ("part of a text", "substring(s, 2, 2)"),
        ("part of a text", "substring(s, 1, 1)"),
        ("a text without outer spaces", "trim(s)"),
        ("texts joined", "concat(s, '|', t)"),
        ("the number that a text spells", "number(s)"),
        ("the day that a text spells", "days(cast(s as date))"),
        ("the whole number that a text spells", "cast(s as integer)"),
        ("the first byte of a digest of a text", tree.Bucket(tree.Name("s"), "salt", 100)),
        ("the first byte of a digest of a whole number", tree.Bucket(tree.Name(KEY), "salt", 100)),
    )
)
"""The forms of the language, one after the other."""

_TIMES: Mapping[RawType, tuple[Case, ...]] = {
    "float32": (Case("a single-precision number as the double that it is", '"float32"'),),
    "decimal": (Case("a decimal as the nearest double", '"decimal"'),),
    "date": (Case("a date", 'days("date")'), Case("parts of a date", 'year("date") * 10000 + day("date")')),
    "timestamp": (Case("a timestamp", 'seconds("timestamp")'),),
    "timestamptz": (Case("a timestamp with its zone", 'seconds("timestamptz")'),),
}
_STATISTICS: tuple[tuple[str, Statistic], ...] = (
    ("how many rows there are", Count("x > y")),
    ("a sum of steps of 2**-30", FixedSum("x", -1.0, 2.0, 0.5)),
    ("a sum of powers", PowerSum(FixedSum("x", -1.0, 2.0, 0.5), 3)),
    ("a sum of powers of differences", PowerSum(FixedSum("x", 0.0, 1.0, 0.0), 4, FixedSum("y", 0.0, 1.0, 0.0))),
    ("a sum over some rows", FixedSum("case when b then y end", 0.0, 1.0, 0.0)),
    ("rows counted in bins", Histogram("x", (-1.0, 0.0, 0.5, 2.0))),
    ("rows counted by truth values", Contingency(("b", "c"))),
    ("sums by groups", GroupBy("i", (0, 1, 7), FixedSum("x", 0.0, 1.0, 0.0))),
)
"""Whole questions, which put the forms together: all must be right."""

CORE = frozenset(
    {
        *("column", "number literal", "+", "-", "*", "/", "minus", "=", "<>", "<", "<=", ">", ">=", "between", "in"),
        *("is null", "and", "or", "not", "case", "abs", "floor", "ceil", "sign", "sqrt", "least", "greatest", "clip"),
        *("coalesce", "= of truth values", "<> of truth values"),
    }
)
"""Forms that questions are made of: a database that does one of them otherwise is refused."""


@dataclass(frozen=True)
class Probed:
    """What was found out about a database.

    Parameters
    ----------
    others : frozenset of str
        Forms that are compiled in another way.
    refused : mapping
        Forms that it does otherwise, and the case that showed it.
    """

    others: frozenset[str]
    refused: Mapping[str, str]

    def check(self, expressions: Iterable[Expression]) -> None:
        """Refuse an expression that has a form that the database does otherwise."""
        for each in expressions:
            for form in sorted(forms(each) & self.refused.keys()):
                raise InvalidParameter(
                    f"expression must not have {form!r}, because this database computes it in another way than other "
                    f"engines ({self.refused[form]}); leave it out, or copy the rows to a Parquet file"
                )


def probe(dialect: str, types: Iterable[RawType], run: Run, *, sets: bool = True) -> Probed:
    """Ask a database about hard rows; `types` are those of the columns that questions may use.

    Raises
    ------
    InvalidParameter
        It does one of `CORE` otherwise, or holds columns of one of the types otherwise. The error names the case.
    """
    extra = [raw for raw in _OTHER_KINDS if raw in set(types)]
    schema, kinds = _schema(extra), {name: raw for name, (_, raw) in _columns(extra).items()}
    run(_row(dialect, {KEY: _literal(1, "int64")}))  # a database that cannot be reached is none that computes otherwise
    cases = [*CASES, *(case for raw in extra for case in _TIMES[raw])]
    rows, table = _written(dialect, schema, kinds, run)
    usual = Statements(dialect, schema, kinds, table, sets)
    wrong = _wrong(usual, cases, rows, run)
    others = frozenset[str]()
    if any(case.what == _WRITTEN for case in wrong):
        others = frozenset({"number literal"})
        wrong = _wrong(replace(usual, others=others), cases, rows, run)
    if other := {case.form for case in wrong} & set(ibis_columns.OTHER_WAYS):
        others |= other
        wrong = _wrong(replace(usual, others=others), wrong, rows, run)
    for case in wrong:
        if case.form in CORE or any(case in _TIMES[raw] for raw in extra):
            raise _refused(dialect, case.what, f" ({case.shown_by})")
    _check_statistics(replace(usual, others=others), rows, run)
    _check_read(usual, rows, run)
    return Probed(others, {case.form: case.what for case in reversed(wrong)})


def forms(whole: Expression) -> frozenset[str]:
    """The forms that an expression is compiled from, those that it is written in and those that these are made of.

    Examples
    --------
    >>> sorted(forms(expression("ilike(s, 'a%') and s = 'b'", Schema({"s": "text"}))))
    ['= of texts', 'and', 'column', 'ilike', 'like', 'lower']
    """
    names, left = set[str](), [whole.node]
    while left:
        node = left.pop()
        if (form := form_of(node, whole)) is not None:
            names.add(form)
        lowered = lowering.lowered(node, lambda part: whole.facts[part].kind)
        left.extend(tree.children(node) if lowered is None else [lowered])
    return frozenset(names)


def form_of(node: tree.Node, whole: Expression) -> str | None:
    """Return what a node is called in errors; None for a written value."""

    def of(operand: tree.Node) -> str:
        return {"text": " of texts", "boolean": " of truth values"}.get(str(whole.facts[operand].kind), "")

    match node:
        case tree.Name():
            return "column"
        case tree.Arithmetic(sign, _, _):
            return sign
        case tree.Minus():
            return "minus"
        case tree.Comparison(sign, left, _):
            return sign + of(left)
        case tree.Between(operand, _, _):
            return "between" + of(operand)
        case tree.In(operand, _):
            return "in" + of(operand)
        case tree.Case(branches, _):
            return "case" + of(branches[0][1]).replace(" of truth values", "")
        case tree.Call(name, _):
            return name
        case tree.Bucket():
            return "bucket"
        case tree.IsNull() | tree.Not() | tree.And() | tree.Or():
            return {"IsNull": "is null", "Not": "not", "And": "and", "Or": "or"}[type(node).__name__]
    return None


def _columns(extra: Iterable[RawType]) -> dict[str, tuple[Kind, RawType]]:
    return _KINDS | {raw: _OTHER_KINDS[raw] for raw in extra}


def _schema(extra: Iterable[RawType]) -> Schema:
    return Schema([Column(name, kind) for name, (kind, _) in _columns(extra).items()])


@cache
def _checked(shown_by: str | tree.Node) -> Expression:
    return expression(shown_by, _schema(_OTHER_KINDS))


def _rows(schema: Schema, numbers: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """Rows in which every hard value of a column meets others of the other columns."""
    pools: dict[str, Sequence[Any]] = {
        **{
            "x": numbers,
            "y": numbers,
            "i": _INTEGERS,
            "j": _INTEGERS,
            "b": (True, False, None),
            "c": (False, None, True, True),
        },
        **{"s": _TEXTS, "t": _TEXTS, "float32": _SINGLES, "date": _DAYS, "timestamp": _MOMENTS, "decimal": _DECIMALS},
        "timestamptz": tuple(moment.replace(tzinfo=UTC) for moment in _MOMENTS),
    }
    turns = {"y": 7, "j": 5, "t": 3}
    for at in range(len(_TEXTS)):
        yield {KEY: at} | {
            name: pools[name][(at * turns.get(name, 1) + turns.get(name, 0)) % len(pools[name])]
            for name in schema.names
            if name != KEY
        }


def _written(dialect: str, schema: Schema, kinds: Mapping[str, RawType], run: Run) -> tuple[list[dict[str, Any]], str]:
    """The rows, and the statement that writes them, in brackets."""
    beyond = [value for value in _BEYOND if _can_write(dialect, value, run)]
    rows = list(_rows(schema, (*beyond, *_NUMBERS)))
    return rows, _table(dialect, tuple(schema.names), tuple(map(repr, beyond)))


@cache
def _table(dialect: str, names: tuple[str, ...], beyond: tuple[str, ...]) -> str:
    """The rows as text, written once: it depends on no database."""
    kinds = _columns(_OTHER_KINDS)
    rows = _rows(_schema(_OTHER_KINDS), (*map(float, beyond), *_NUMBERS))
    parts = (_row(dialect, {name: _literal(row[name], kinds[name][1]) for name in names}) for row in rows)
    return f"({' union all '.join(parts)}) holdfast_hard_rows"


@cache
def _values(
    dialect: str, extra: tuple[RawType, ...], table: str, others: frozenset[str], shown_by: tuple[str | tree.Node, ...]
) -> str:
    """A statement for some cases, written once."""
    schema, kinds = _schema(extra), {name: raw for name, (_, raw) in _columns(extra).items()}
    statements = Statements(dialect, schema, kinds, table, others=others)
    return statements.values([_checked(each) for each in shown_by], schema[KEY])


def _row(dialect: str, values: Mapping[str, Any]) -> str:
    import ibis

    getattr(ibis, dialect)
    first, *others = (value.name(name) for name, value in values.items())
    return str(ibis.to_sql(first.as_table().mutate(*others), dialect=dialect, pretty=False))


def _can_write(dialect: str, value: float, run: Run) -> bool:
    try:
        (row,) = run(_row(dialect, {"x": _literal(value, "float64")}))
        return python_rows.read(row[0], "number") is None and row[0] is not None
    except Exception:
        return False


def _literal(value: Any, raw: RawType) -> Any:
    import ibis

    if raw == "float32" and value is not None:
        return ibis.literal(repr(value)).cast(raw)
    types = {"timestamptz": "timestamp('UTC')", "decimal": "decimal(10, 2)"}
    type_ = types.get(raw, raw)
    if value is None:
        return ibis.null(type_)
    if isinstance(value, float) and math.isfinite(value):
        return ibis_columns.exact_number(value)
    return ibis.literal(value, type=type_)


def _wrong(statements: Statements, cases: Sequence[Case], rows: Sequence[Mapping[str, Any]], run: Run) -> list[Case]:
    """The cases that come out otherwise, or not at all."""
    if len(cases) > _AT_ONCE:
        parts = [cases[start : start + _AT_ONCE] for start in range(0, len(cases), _AT_ONCE)]
        return [case for part in parts for case in _wrong(statements, part, rows, run)]
    checked = [_checked(case.shown_by) for case in cases]
    try:
        extra = tuple(raw for raw in _OTHER_KINDS if raw in statements.schema)
        shown_by = tuple(case.shown_by for case in cases)
        written = _values(statements.dialect, extra, statements.name, statements.others, shown_by)
        found = sorted(run(written), key=lambda row: int(row[0]))
    except Exception:  # one of them, in words of its own: which one is found one by one
        return list(cases) if len(cases) == 1 else [c for case in cases for c in _wrong(statements, [case], rows, run)]
    if len(found) != len(rows):
        return list(cases)
    return [
        case
        for at, (case, each) in enumerate(zip(cases, checked, strict=True), 1)
        if not all(_same(got[at], python_rows.evaluate(each, row)) for got, row in zip(found, rows, strict=True))
    ]


def _same(got: Any, expected: python_rows.Value) -> bool:
    if expected is None or got is None:
        return expected is None and got is None
    if isinstance(expected, str):
        return isinstance(got, str) and got == expected
    try:
        return float(got) == float(expected)
    except (TypeError, ValueError):
        return False


def _check_statistics(statements: Statements, rows: Sequence[Mapping[str, Any]], run: Run) -> None:
    schema = statements.schema
    for what, statistic in _STATISTICS:
        plan, sums = statistic.plan(schema), Sums()
        try:
            for some in bundles(list(passes([plan], 1)), 1, statements.sets):
                gather(sums, some, run(statements.of(some)), len(rows))
            right = plan.finish(sums[plan]) == of_rows(statistic, rows, schema)
        except SampleUnavailable:
            right = False
        if not right:
            raise _refused(statements.dialect, what)


def _check_read(statements: Statements, rows: Sequence[Mapping[str, Any]], run: Run) -> None:
    """Refuse a database whose columns come here otherwise than they are: fingerprints are made of them."""
    names = statements.schema.names
    found = sorted(run(statements.rows(names)), key=lambda row: int(row[0]))
    for name, got in zip(names, zip(*found, strict=True), strict=True):
        raw = statements.types[name]
        expected = [_handed(row[name], raw) for row in rows]
        if len(got) != len(expected) or not all(map(_is_as_it_is, got, expected)):
            raise _refused(statements.dialect, f"a column of {raw} read as it is")


def _is_as_it_is(got: Any, expected: python_rows.Value) -> bool:
    if isinstance(got, float) and math.isnan(got):
        got = None
    if isinstance(expected, int) and not isinstance(expected, bool) and got is not None:  # to the last digit
        return int(got) == expected
    return _same(got, expected)


def _handed(value: Any, raw: RawType) -> python_rows.Value:
    """A value as it is handed over: see `sql_columns`."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if raw in ("timestamp", "timestamptz"):
        return int((value.replace(tzinfo=None) - datetime(1970, 1, 1)) // timedelta(microseconds=1))
    if raw == "date":
        return int((value - date(1970, 1, 1)).days)
    handed: python_rows.Value = float(value) if raw == "decimal" else value
    return handed


def _refused(dialect: str, what: str, shown_by: str = "") -> InvalidParameter:
    return InvalidParameter(
        f"source must be in a database that computes as Holdfast does, and {dialect} does {what!r} otherwise"
        f"{shown_by}; copy the rows to a Parquet file"
    )
