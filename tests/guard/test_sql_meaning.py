"""SQL means in a guard what it means in a database: random statements, row by row, against DuckDB."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from functools import partial
from typing import Any

import duckdb
import pytest

from holdfast.accounting import PureDP
from holdfast.data.expressions import expression, python_rows
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.guard import Policy, sql_words
from holdfast.guard.sql import compile_sql

SCHEMA = Schema(
    {
        "a": "number null",
        "b": "number null",
        "m": "boolean null",
        "f": "boolean null",
        "s": "text null",
        "t": "text null",
        "d": "date null",
    }
)
POLICY = Policy(questions=50, privacy=PureDP(1.0), spend=PureDP(0.02))


def rows_of(draw: random.Random) -> list[dict[str, Any]]:
    """Rows in which values repeat and miss, so that a condition that is read otherwise is seen to be."""
    days = [None, dt.date(2020, 2, 29), dt.date(2021, 7, 1), dt.date(1999, 12, 31)]
    return [
        {
            "a": draw.choice([None, -2.0, 0.0, 1.0, 2.0, 3.0]),
            "b": draw.choice([None, -2.0, 0.0, 1.0, 2.0, 5.0]),
            "m": draw.choice([None, True, False]),
            "f": draw.choice([None, True, False]),
            "s": draw.choice([None, "a", "b", "ab", "ba"]),
            "t": draw.choice([None, "1", "2", "-7", "30"]),
            "d": draw.choice(days),
        }
        for _ in range(60)
    ]


class Statements:
    """Conditions of SQL as people write them, few of them in brackets."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)

    def condition(self, deep: int) -> str:
        one, two = partial(self.condition, deep - 1), partial(self.number, deep - 1)
        if deep <= 0:
            return self.draw.choice(["m", "f", "a > 1", "b = 2", "s = 'a'", "a is null", "m = f", "s like 'a%'"])
        match self.draw.randrange(20):
            case 0 | 1:
                return f"{one()} and {one()}"
            case 2 | 3:
                return f"{one()} or {one()}"
            case 4:
                return f"not {one()}"
            case 5:
                return f"({one()})"
            case 6 | 7:
                return f"{two()} {self.draw.choice(['=', '<>', '<', '<=', '>', '>='])} {two()}"
            case 8:
                return f"{two()} {self.draw.choice(['', 'not '])}between {two()} and {two()}"
            case 9:
                return f"{two()} {self.draw.choice(['', 'not '])}in (1, 2)"
            case 10:
                return f"{two()} is {self.draw.choice(['', 'not '])}distinct from {two()}"
            case 11:
                return f"{self.text(deep - 1)} is {self.draw.choice(['', 'not '])}distinct from {self.text(deep - 1)}"
            case 12:
                return f"{self.text(deep - 1)} {self.draw.choice(['=', '<>', '<'])} {self.text(deep - 1)}"
            case 13:
                return f"{self.text(deep - 1)} {self.draw.choice(['', 'not '])}like 'a%'"
            case 14:
                return f"nullif({one()}, {one()})"
            case 15:
                return f"case {one()} when {one()} then {one()} else {one()} end"
            case 16:
                return f"d {self.draw.choice(['<', '>=', '='])} date '2020-02-29'"
            case 17:
                return f"({one()}) is {self.draw.choice(['', 'not '])}null"
            case 18:
                return f"{self.draw.choice([one, two])()} is {self.draw.choice(['', 'not '])}null"
            case _:
                return f"{one()} = {one()}"

    def number(self, deep: int) -> str:
        one, two = partial(self.number, deep - 1), partial(self.condition, deep - 1)
        if deep <= 0:
            return self.draw.choice(["a", "b", "1", "2", "0", "a", "b"])
        match self.draw.randrange(12):
            case 0 | 1:
                return f"{one()} {self.draw.choice('+-*')} {one()}"
            case 2:
                return f"-{one()}"
            case 3 | 4:
                return f"nullif({one()}, {one()})"
            case 5:
                return f"case {one()} when {one()} then {one()} when {one()} then {one()} else {one()} end"
            case 6:
                return f"case {two()} when {two()} then {one()} end"
            case 7:
                return f"cast({two()} as int)"
            case 8:
                return f"({two()})::int"
            case 9:
                part = self.draw.choice(
                    ["extract(month from d)", "year(d)", "extract(day from d)", "date_part('year', d)"]
                )
                return str(part)
            case 10:
                return self.draw.choice(["cast(t as integer)", "t::double", "d - date '2020-02-29'"])
            case _:
                return f"coalesce({one()}, {one()})"

    def text(self, deep: int) -> str:
        one = partial(self.text, deep - 1)
        if deep <= 0:
            return self.draw.choice(["s", "'a'", "s", "t"])
        match self.draw.randrange(4):
            case 0:
                return f"{one()} || {one()}"
            case 1:
                return f"nullif({one()}, {one()})"
            case 2:
                return f"case {self.condition(deep - 1)} when {self.condition(deep - 1)} then {one()} else {one()} end"
            case _:
                return f"upper({one()})"


def compared(statements: int, seed: int) -> Counter[str]:
    """How many random conditions DuckDB and the guard read alike, which are refused, and which are read otherwise."""
    made, rows = Statements(seed), rows_of(random.Random(seed))
    found: Counter[str] = Counter()
    with duckdb.connect() as database:
        database.execute("create table p (i int, a double, b double, m boolean, f boolean, s text, t text, d date)")
        database.executemany(
            "insert into p values (?, ?, ?, ?, ?, ?, ?, ?)", [[i, *r.values()] for i, r in enumerate(rows)]
        )
        for _ in range(statements):
            text = made.condition(made.draw.choice([1, 2, 2, 3]))
            try:
                wanted = [one for (one,) in database.execute(f"select ({text}) from p order by i").fetchall()]
            except duckdb.Error:
                found["no statement of DuckDB"] += 1
                continue
            try:
                questions = compile_sql(f"select count(*) from p where {text}", SCHEMA, POLICY, 1000).questions
            except InvalidParameter:
                found["refused"] += 1
                continue
            # A condition that every row meets asks nothing.
            parsed = expression(questions[0]["expression"] if questions else "true", SCHEMA)
            same = [python_rows.evaluate(parsed, row) for row in rows] == wanted
            found["same" if same else "other"] += 1
            if not same:
                found[text] += 1
    return found


def test_a_condition_means_what_it_means_in_duckdb() -> None:
    """Eleven of these were read otherwise while `nullif`, the simple `case` and `is null` lost their brackets."""
    found = compared(500, 20)
    assert found["other"] == 0, found
    assert found["same"] > 400


@pytest.mark.parametrize("function", ["nullif", "case"])
def test_the_comparison_sees_operands_without_brackets(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever writes operands next to a sign without brackets is found out."""
    from sqlglot import exp

    made = sql_words._generator()

    class Torn(made().__class__):  # type: ignore[misc]
        def case(self, node: Any) -> str:
            tests = [
                f"{self.sql(node.this)} = {self.sql(one.this)}" if node.this else self.sql(one.this)
                for one in node.args["ifs"]
            ]
            parts = " ".join(
                f"WHEN {test} THEN {self.sql(one.args['true'])}"
                for test, one in zip(tests, node.args["ifs"], strict=True)
            )
            last = node.args.get("default")
            return f"CASE {parts}{'' if last is None else f' ELSE {self.sql(last)}'} END"

        def nullif(self, node: Any) -> str:
            one, two = self.sql(node.this), self.sql(node.expression)
            return f"CASE WHEN {one} = {two} THEN NULL ELSE {one} END"

        TRANSFORMS = made().TRANSFORMS | ({exp.Nullif: nullif} if function == "nullif" else {exp.Case: case})

    monkeypatch.setattr(sql_words, "_generator", lambda: lambda: Torn(comments=False))
    assert compared(300, 20)["other"] > 0


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("nullif(m or f, m)", "CASE WHEN (m OR f) = m THEN NULL ELSE (m OR f) END"),
        ("case m when f and m then f else m end", "CASE WHEN (m) = (f AND m) THEN f ELSE m END"),
        ("a is distinct from b", "(NOT COALESCE(a = b, a IS NULL AND b IS NULL))"),
        ("a is not distinct from 2", "COALESCE(a = 2, FALSE)"),
        ("s is not distinct from null", "(s IS NULL)"),
    ],
)
def test_operands_keep_their_brackets(text: str, read: str) -> None:
    found = compile_sql(f"select count(*) from p where {text}", SCHEMA, POLICY, 1000)
    assert found.questions[0]["expression"] == read


@pytest.mark.parametrize(
    "text", ["m = f is null", "m <> f is not null", "m = f is distinct from m", "m is distinct from f = m"]
)
def test_what_databases_read_otherwise_needs_brackets(text: str) -> None:
    with pytest.raises(InvalidParameter, match="brackets") as refused:
        compile_sql(f"select count(*) from p where {text}", SCHEMA, POLICY, 1000)
    assert str(refused.value).endswith("nothing was spent")
