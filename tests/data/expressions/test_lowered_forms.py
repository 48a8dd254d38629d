"""Dates, remainders, roundings, logarithms, patterns and casts one by one: their meaning, refusals and NULL."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, localcontext
from random import Random
from typing import Any

import pytest

from holdfast.data.expressions import (
    checked,
    expression,
    from_json,
    lowering,
    parse,
    python_rows,
    to_json,
    to_text,
    tree,
)
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from tests.data.expressions import engines, timed_rows
from tests.data.expressions.test_agreement import _differences

KINDS = {
    "d": "date",
    "t": "timestamp",
    "z": "timestamptz",
    "x": "number",
    "i": "integer",
    "s": "text",
    "r": "text",
    "b": "boolean",
}
SCHEMA = Schema(KINDS)


def value(text: str, **row: Any) -> Any:
    return python_rows.evaluate(expression(text, SCHEMA), {**dict.fromkeys(KINDS), **row})


@pytest.mark.parametrize(
    ("text", "row", "wanted"),
    [
        ("d - date '2020-02-28'", {"d": date(2020, 3, 1)}, 2.0),
        ("d >= date '2020-02-28' and d < date '2021-01-01'", {"d": date(2020, 12, 31)}, True),
        ("weekday(d)", {"d": date(2024, 2, 29)}, 4.0),
        ("quarter(d)", {"d": date(2024, 10, 1)}, 4.0),
        ("t - timestamp '2020-01-01 00:00:00'", {"t": datetime(2020, 1, 1, 0, 0, 1, 500_000)}, 1.5),
        ("hour(z)", {"z": datetime(2020, 1, 1, 5, tzinfo=UTC)}, 5.0),
        ("z = timestamptz '2020-01-01 06:00:00+01:00'", {"z": datetime(2020, 1, 1, 5, tzinfo=UTC)}, True),
        ("date(t) = date '2020-01-01'", {"t": datetime(2020, 1, 1, 23)}, True),
        ("year(least(d, date '2000-06-01'))", {"d": date(2024, 1, 1)}, 2000.0),
        ("i % 7", {"i": -8}, -1.0),
        ("i % -7", {"i": 8}, 1.0),
        ("i % 0", {"i": 8}, None),
        ("i % 7", {"i": 2**60}, None),
        ("2 * i % 7 + 1", {"i": 4}, 2.0),
        ("round(x)", {"x": 2.5}, 3.0),
        ("round(x)", {"x": -2.5}, -3.0),
        ("round(x)", {"x": 0.49999999999999994}, 0.0),
        ("round(x, 2)", {"x": 12.345}, 12.35),
        ("ln(x)", {"x": 0.0}, None),
        ("ln(x)", {"x": -1.0}, None),
        ("sqrt(x)", {"x": -1.0}, None),
        ("s like 'a\\_%'", {"s": "a_\n"}, True),
        ("s like 'a_'", {"s": "a"}, False),
        ("s not like 'a%'", {"s": "ba"}, True),
        ("s ilike 'Ä%'", {"s": "ä"}, False),
        ("s ilike 'A%'", {"s": "abc"}, True),
        ("substring(s, 2, 2)", {"s": "a\U0001f600bc"}, "\U0001f600b"),
        ("trim(s)", {"s": "  a\t "}, "a\t"),
        ("concat(s, '-', r)", {"s": "a", "r": "b"}, "a-b"),
        ("concat(s, r)", {"s": "a"}, None),
        ("s < r", {"s": "Z", "r": "a"}, True),
        ("s < r", {"s": "\uffff", "r": "\U00010000"}, True),
        ("cast(s as integer)", {"s": "12"}, 12.0),
        ("cast(s as integer)", {"s": "12.5"}, None),
        ("cast(s as number)", {"s": "1e5"}, None),
        ("cast(s as date) = date '2020-02-29'", {"s": "2020-02-29"}, True),
        ("cast(s as date)", {"s": "2021-02-29"}, None),
        ("cast(b as number)", {"b": True}, 1.0),
        ("cast(d as timestamp) = timestamp '2020-01-01 00:00:00'", {"d": date(2020, 1, 1)}, True),
        ("days(d)", {"d": date(1970, 1, 31)}, 30.0),
        ("seconds(t)", {"t": datetime(1970, 1, 1, 0, 1)}, 60.0),
    ],
)
def test_means(text: str, row: dict[str, Any], wanted: Any) -> None:
    assert value(text, **row) == wanted
    assert parse(to_text(parse(text))) == parse(text)
    assert from_json(to_json(parse(text))) == parse(text)


def test_words_of_the_new_forms_are_still_names() -> None:
    names = ["date", "timestamp", "cast", "as", "like", "year", "ln"]
    for name in names:
        node = tree.Comparison(">", tree.Name(name), tree.Call("cast", (tree.Name(name), tree.Text("number"))))
        assert parse(to_text(node)) == node
    assert parse("date = 1 and cast > 2") == tree.And(
        (
            tree.Comparison("=", tree.Name("date"), tree.Number(1)),
            tree.Comparison(">", tree.Name("cast"), tree.Number(2)),
        )
    )


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("d + 7 > d", "except for the difference of two dates or of two timestamps, as in d"),
        ("d - interval '7 days' > d", "compare a difference in days"),
        ("d < '2020-01-01'", "write date '2020-12-31'"),
        ("t < '2020-01-01'", "write timestamp '2020-12-31 23:59:59'"),
        ("t < z", "of the same kind, got timestamp < timestamptz"),
        ("d = t", "write date(t)"),
        ("d = date '2021-02-29'", "expression must have a date in the form date '2020-12-31', got"),
        ("t = timestamp '2020-01-01 00:00:00Z'", "a timestamp in the form timestamp '2020-12-31 23:59:59'"),
        ("z = timestamptz '2020-01-01 00:00:00'", "a timestamptz in the form timestamptz '2020-12-31 23:59:59+00:00'"),
        ("d between '2020-01-01' and '2020-12-31'", "write date '2020-12-31'"),
        ("d in ('2020-01-01')", "write d = date '2020-12-31' or d ="),
        ("extract(year from d)", "write year(d)"),
        ("date_part('year', d)", "write year(d)"),
        ("date_trunc('month', d)", "write year(d)"),
        ("datediff(d, d)", "write a - b"),
        ("now()", "date '2020-12-31'"),
        ("hour(d)", "call hour with a timestamp"),
        ("t at time zone 'utc'", "those of UTC"),
        ("x % 2", "floor(x) % 7"),
        ("mod(i, 2)", "write a % b"),
        ("log(x)", "ln(x), log2(x) or log10(x)"),
        ("power(x, 2)", "write x * x"),
        ("round(x, -1)", "from 0 to 12"),
        ("round(x, i)", "a written number"),
        ("s like r", "a written text"),
        ("s like 'a' escape '!'", r"write \% and \_"),
        (r"s like '\a'", r"%, _ or \ after a \ "),
        ("s like '%a%b%c%d%e%f'", "at most 5 % signs"),
        (f"s like '{'a' * 101}'", "at most 100 characters"),
        ("s similar to 'a'", "write s like"),
        ("case s when 'a' then 1 else 0 end = 1", "case when x = 1 then 0 end"),
        ("s = 'a' is true", "write the condition itself"),
        ("n > 50_000", "without underscores"),
        ("regexp_like(s, 'a')", "write s like"),
        ("s ~ 'a'", "write s like"),
        ("substr(s, 1, 2)", "write substring"),
        ("substring(s from 1 for 2)", "write substring(s, 1, 3)"),
        ("substring(s, 0, 2)", "from 1 on"),
        ("substring(s, 1.5, 2)", "from 1 on"),
        ("ltrim(s)", "write trim(s)"),
        ("s || r", "concat(a, b)"),
        ("concat(" + ", ".join(["s"] * 17) + ")", "at most 16 columns"),
        ("cast(x as integer)", "write round(x), floor(x) or ceil(x)"),
        ("cast(x as text)", "declare the column as text"),
        ("cast(d as number)", "write days(d)"),
        ("cast(s as varchar)", "write cast(... as text)"),
        ("cast(s as decimal)", "write cast(... as number)"),
        ("s::date", "write cast(x as number)"),
        ("try_cast(s as date)", "write cast(s as number), integer or date"),
        ("'a' < 'b'", "write the result of the comparison instead, or compare a column with"),
        ("s = 1", "write number(s)"),
    ],
)
def test_refusals_name_the_nearest_form(text: str, hint: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        expression(text, SCHEMA)
    assert hint in str(caught.value)


def test_every_day_has_the_parts_that_the_calendar_gives_it() -> None:
    """All days of 400 years, and the ends, by the arithmetic that engines get."""
    span = [date(1900, 1, 1) + timedelta(days=at) for at in range(0, 146_097, 3)]
    days = [date(1, 1, 1), date(4, 2, 29), *span, date(9999, 12, 31)]
    nodes = [checked(parse(f"{part}(d)"), SCHEMA) for part in ("year", "quarter", "month", "day", "weekday")]
    for one, meant in zip(nodes, engines.by_numpy_dates(days, nodes), strict=True):
        assert meant == [python_rows.evaluate(one, {"d": day}) for day in days]


@pytest.mark.parametrize("name", ["ln", "log2", "log10"])
def test_logarithms_are_near_and_exact_at_powers(name: str) -> None:
    random = Random(4)
    one = expression(f"{name}(x)", SCHEMA)
    numbers = [2.0**100, 2.0**-100, 1.0, math.e, math.nextafter(1.0, 2.0), 0.1, 1e30]
    numbers += [random.uniform(0.5, 2.0) * 2.0 ** random.randint(-98, 98) for _ in range(300)]
    with localcontext() as context:
        context.prec = 40
        base = {"ln": Decimal(1), "log2": Decimal(2).ln(), "log10": Decimal(10).ln()}[name]
        for number in numbers:
            found: Any = python_rows.evaluate(one, {"x": number})
            assert abs(Decimal(found) - Decimal(number).ln() / base) < Decimal("1e-12")
    powers = {"log2": [(2.0**k, k) for k in range(-100, 101)], "log10": [(10.0**k, k) for k in range(31)]}
    for number, exponent in powers.get(name, [(1.0, 0)]):
        assert python_rows.evaluate(one, {"x": number}) == exponent


NEVER = ["d2 - date '2020-01-01'", "year(d2)", "round(x2, 2)", "x2 > 0", "s2 like 'a%'", "concat(s2, 'a')", "s2 < 'a'"]
NEVER += ["days(date(t2))", "cast(x2 as number)", "sqrt(abs(x2))", "coalesce(ln(x2), 0)", "trim(substring(s2, 1, 3))"]
SOMETIMES = ["year(d)", "ln(x2)", "i2 % 7", "cast(s2 as date)", "cast(s2 as integer)", "s like 'a'", "sqrt(x2)"]


@pytest.mark.parametrize("text", NEVER)
def test_never_null(text: str) -> None:
    whole = {f"{name}2": f"{kind} not null" for name, kind in KINDS.items()}
    assert not expression(text, Schema(KINDS | whole)).nullable


@pytest.mark.parametrize("text", SOMETIMES)
def test_sometimes_null(text: str) -> None:
    whole = {f"{name}2": f"{kind} not null" for name, kind in KINDS.items()}
    assert expression(text, Schema(KINDS | whole)).nullable


def test_what_cannot_be_null_never_is_and_no_value_leaves_its_size() -> None:
    random = Random(5)
    held = timed_rows.rows(random, 60)
    rows = [{name: timed_rows.seen(name, one) for name, one in row.items()} for row in held]
    seen = 0
    for one in timed_rows.expressions(random, 200):
        facts = one.facts[one.node]
        for row in rows:
            found = python_rows.evaluate(one, row)
            assert found is not None or one.nullable
            if isinstance(found, float) and found != 0.0:
                assert facts.size is not None
                assert 2.0**facts.size.least <= abs(found) <= 2.0**facts.size.top
                seen += 1
    assert seen > 1_000


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        ("_weekday", lambda day: lowering._plus(day, lowering._n(4))),
        ("_of_day", lambda node: lowering.plain(node)),
        ("remainder", lambda left, right: tree.Arithmetic("-", left, left)),
        ("rounded", lambda operand, digits: tree.Call("floor", (operand,))),
    ],
)
def test_a_wrong_rule_is_caught(rule: str, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(20)
    held = timed_rows.rows(random, 80)
    monkeypatch.setattr(lowering, rule, wrong)
    monkeypatch.setitem(lowering._DATE_PARTS, "weekday", lowering._weekday)
    asked = [
        checked(parse(text), timed_rows.SCHEMA) for text in ("weekday(d)", "hour(t)", "i % 7", "round(x)", "second(z)")
    ]
    wanted = engines.by_python(held, asked, timed_rows.SCHEMA)
    assert _differences(asked, wanted, engines.by_polars(held, asked, schema=timed_rows.SCHEMA)) != []
