"""SQL: what a statement becomes, what is refused and how, tables of answers, and mutated statements."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.sql_fuzz import COLUMNS, POLICY, SCHEMA, asked, fuzzed

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.data.engines.duckdb_sample import DuckDBSample
from holdfast.data.expressions import expression
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.errors import BudgetExhausted, InvalidParameter, QuestionRefused
from holdfast.guard import Guard, Policy
from holdfast.guard.columns import DeclaredColumn, bounds_of
from holdfast.guard.sql import LONGEST, Statement, compile_sql, total_cost

ONE = PureDP(1.0)


def made(text: str, policy: Policy = POLICY) -> Statement:
    return compile_sql(text, SCHEMA, policy, 1000)


# What a statement becomes


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        ("select count(*) from t", []),
        ("select avg(income) from t", [{"kind": "mean", "expression": "income", "low": 0, "high": 100}]),
        ("select avg(t.income) from people as t", [{"kind": "mean", "expression": "income", "low": 0, "high": 100}]),
        ("select avg(age < 40) from t", [{"kind": "mean", "expression": "age < 40"}]),
        (
            "select avg(income) from t where age >= 18 and sex <> 'f'",
            [{"kind": "mean", "expression": "income", "low": 0, "high": 100, "where": "age >= 18 AND sex <> 'f'"}],
        ),
        ("select count(*) from t where age < 40", [{"kind": "mean", "expression": "age < 40", "default": 0}]),
        ("select count(income) from t", []),
        ("select count(gap) from t", [{"kind": "mean", "expression": "(gap) is not null", "default": 0}]),
        ("select avg(gap / 2 + 1) from t", [{"kind": "mean", "expression": "gap / 2 + 1", "low": 1, "high": 6}]),
        (
            "select avg(clip(free, -5, 5)) from t",
            [{"kind": "mean", "expression": "CLIP(free, -5, 5)", "low": -5, "high": 5}],
        ),
        (
            "select median(income) from t",
            [{"kind": "quantile", "q": 0.5, "expression": "income", "low": 0, "high": 100}],
        ),
        (
            "select percentile_cont(.9) within group (order by income desc) from t",
            [{"kind": "quantile", "q": 0.1, "expression": "income", "low": 0, "high": 100}],
        ),
        (
            "select quantile(income, 0.25), quantile_cont(income, 0.25) from t",
            [{"kind": "quantile", "q": 0.25, "expression": "income", "low": 0, "high": 100}],
        ),
        (
            "select corr(age, income) from t",
            [
                {
                    "kind": "correlation",
                    "first": "age",
                    "second": "income",
                    "first_low": 0,
                    "first_high": 120,
                    "second_low": 0,
                    "second_high": 100,
                }
            ],
        ),
        (
            "select corr(age, gap) from t where member",
            [
                {
                    "kind": "correlation",
                    "first": "age",
                    "second": "gap",
                    "first_low": 0,
                    "first_high": 120,
                    "second_low": 0,
                    "second_high": 10,
                    "where": "member",
                }
            ],
        ),
        ("select sum(income), avg(income) from t", [{"kind": "mean", "expression": "income", "low": 0, "high": 100}]),
        (
            "select sum(gap) from t",
            [
                {
                    "kind": "mean",
                    "expression": "case when (gap) is not null then gap else 0 end",
                    "low": 0,
                    "high": 10,
                }
            ],
        ),
        (
            "select sum(income + 5) filter (where member) from t where age < 40 or age > 60",
            [
                {
                    "kind": "mean",
                    "expression": "case when (age < 40 OR age > 60) and (member) then income + 5 else 0 end",
                    "low": 0,
                    "high": 105,
                }
            ],
        ),
        ("select sum(member) from t", [{"kind": "mean", "expression": "member"}]),
        ("select sex, count(*) from t group by sex", [{"kind": "table", "by": ["sex"]}]),
        ("select sex, member, count(*) from t group by 1, 2", [{"kind": "table", "by": ["sex", "member"]}]),
        (
            "select count(*), sex, avg(income) from t where member group by sex",
            [{"kind": "table", "by": ["sex"], "expression": "income", "low": 0, "high": 100, "where": "member"}],
        ),
        (
            "select sex, count(*), avg(gap) from t group by sex",
            [
                {"kind": "table", "by": ["sex"], "expression": "gap", "low": 0, "high": 10},
                {"kind": "table", "by": ["sex"]},
            ],
        ),
        (
            "select sex, median(income) filter (where age < 40) from t group by sex",
            [
                {
                    "kind": "table",
                    "by": ["sex"],
                    "q": 0.5,
                    "expression": "income",
                    "low": 0,
                    "high": 100,
                    "where": "age < 40",
                }
            ],
        ),
    ],
)
def test_a_statement_becomes_questions_of_the_guards_kinds(text: str, questions: list[dict[str, Any]]) -> None:
    found = [{name: value for name, value in one.items() if name != "where_present"} for one in made(text).questions]
    assert found == questions


@pytest.mark.parametrize(
    ("condition", "read"),
    [
        ("seen > timestamp '2020-12-31 23:59:59'", "seen > timestamp '2020-12-31 23:59:59'"),
        ("born >= date '2000-01-01'", "born >= date '2000-01-01'"),
        ("at < timestamptz '2020-12-31 00:00:00+01:00'", "at < timestamptz '2020-12-31 00:00:00+01:00'"),
        ("extract(month from seen) = 3", "MONTH(seen) = 3"),
        ("date_part('isodow', born) = 1", "WEEKDAY(born) = 1"),
        ("cast(code as integer) = 3", "cast(code as integer) = 3"),
        ("code::double precision > 3.5", "cast(code as number) > 3.5"),
        ("log2(pay) > 3 and log10(pay) > 1", "log2(pay) > 3 AND log10(pay) > 1"),
        ("code || 'x' = 'ax'", "CONCAT(code, 'x') = 'ax'"),
        ("nullif(pay, 0) > 3", "CASE WHEN pay = 0 THEN NULL ELSE pay END > 3"),
        ("PAY > 3 and p.Code = 'a'", "pay > 3 AND code = 'a'"),
        ('"Two Words" > 3', '"Two Words" > 3'),
        ("substr(code, 1, 2) = 'ab'", "SUBSTRING(code, 1, 2) = 'ab'"),
        ("trim(lower(code)) ilike 'a%'", "TRIM(LOWER(code)) ILIKE 'a%'"),
        ("pay % 2 = 1 or mod(year(born), 4) = 0", "pay % 2 = 1 OR YEAR(born) % 4 = 0"),
        (
            "case code when 'a' then pay > 3 else pay > 5 end",
            "CASE WHEN (code) = 'a' THEN pay > 3 ELSE pay > 5 END",
        ),
    ],
)
def test_what_the_row_language_has_can_be_asked_in_sql(condition: str, read: str) -> None:
    """sqlglot writes dates as casts, `log2` as a log with a base, and `integer` as an int, which rows do not know."""
    schema = Schema(
        {
            "seen": "timestamp not null",
            "born": "date not null",
            "at": "timestamptz not null",
            "code": "text not null",
            "pay": "integer not null",
            "Two Words": "number not null",
        }
    )
    found = compile_sql(
        f"select count(*) from people p where {condition}", schema, Policy(privacy=ONE, spend=ONE), 1000
    )
    assert found.questions[0]["expression"] == read
    assert expression(read, schema).kind == "boolean"


@pytest.mark.parametrize("always", ["1 = 1", "true", "'a' = 'a' and not false"])
def test_a_condition_that_every_row_meets_is_none(always: str) -> None:
    assert made(f"select avg(income) from t where {always}").questions == made("select avg(income) from t").questions
    both = made(f"select avg(income) filter (where {always}) from t where age < 40")
    assert both.questions == made("select avg(income) from t where age < 40").questions
    assert made(f"select count(*) from t where {always}").questions == ()


def test_dates_of_a_file_of_plain_text_are_declared(tmp_path: Path) -> None:
    """What the error names: such a file does not say what its columns are."""
    file = tmp_path / "days.csv"
    file.write_text("day,x\n" + "".join(f"2021-{1 + at % 12:02d}-03,{at % 9}\n" for at in range(400)))
    text = "select count(*) from t where month(day) = 3"
    policy = Policy(questions=5, privacy=ONE, spend=ONE, columns={"x": {"low": 0, "high": 9}})
    with pytest.raises(InvalidParameter, match=r"schema=\{'day': 'date'"):
        Guard.open(None, hf.data.table(file), policy).explain(text)
    declared = hf.data.table(file, schema={"day": "date not null", "x": "number not null"})
    assert Guard.open(None, declared, policy).explain(text).admitted


def test_parts_of_dates_have_ranges_of_their_own() -> None:
    schema = Schema({"seen": "timestamp not null", "pay": "number not null"})
    policy = Policy(privacy=ONE, spend=ONE, columns={"pay": {"low": 0.5, "high": 9.5}})
    text = "select avg(month(seen)), avg(round(pay)), avg(least(pay, 3)), median(hour(seen)) from t"
    found = compile_sql(text, schema, policy, 1000)
    assert [(one["low"], one["high"]) for one in found.questions] == [(1, 12), (0, 10), (0.5, 3), (0, 23)]
    with pytest.raises(InvalidParameter, match="no range is declared"):
        compile_sql("select avg(year(seen)) from t", schema, policy, 1000)


def test_conditions_that_are_cast_roots_and_logarithms_have_ranges() -> None:
    schema = Schema({"member": "boolean not null", "pay": "number not null"})
    policy = Policy(privacy=ONE, spend=ONE, columns={"pay": {"low": 1, "high": 100}})
    text = "select avg(member::int), avg(100 * cast(pay > 3 as integer)), avg(sqrt(pay)), avg(log10(pay)) from t"
    found = compile_sql(text, schema, policy, 1000)
    assert [(one["low"], one["high"]) for one in found.questions] == [(0, 1), (0, 100), (1, 10), (0, 2)]
    with pytest.raises(InvalidParameter, match="no range is declared"):
        compile_sql("select avg(ln(pay - 1)) from t", schema, policy, 1000)


def test_a_column_without_an_alias_keeps_the_letters_of_texts_and_quoted_names() -> None:
    schema = Schema({"Two Words": "number not null", "town": "text not null"})
    policy = Policy(privacy=ONE, spend=ONE, columns={"Two Words": {"low": 0, "high": 1}})
    text = """select AVG("Two Words"), Avg(town = 'Bern') from t"""
    found = compile_sql(text, schema, policy, 1000)
    assert [one.name for one in found.outputs] == ['avg("Two Words")', "avg(town = 'Bern')"]


@pytest.mark.parametrize(
    ("clause", "order", "limit"),
    [
        ("order by avg(income) desc limit 1", ((1, True),), 1),
        ("order by M fetch first 2 rows only", ((1, False),), 2),
        ("order by p.sex fetch next row only", ((0, False),), 1),
        ('order by "m", 1', ((1, False), (0, False)), None),
        ("order by sex", ((0, False),), None),
    ],
)
def test_groups_are_ordered_by_what_is_selected(clause: str, order: Any, limit: int | None) -> None:
    found = made(f"select sex as s, avg(income) as m from people p group by p.sex {clause}")
    assert (found.order, found.limit) == (order, limit)


def test_what_is_in_no_group_is_said() -> None:
    assert made("select member, count(*) from t group by member").note == ""
    assert made("select sex, count(*) from t group by sex").note == (
        "Rows without a declared value of sex are in no group."
    )
    assert made("select sex, race, count(*) from t group by sex, race").note == (
        "Rows without a declared value of sex or race are in no group; count(*) where race is null counts those "
        "without a value."
    )


def test_groups_may_be_named_by_their_alias_and_in_any_case() -> None:
    found = made("SELECT Sex AS s, count(*) FROM people GROUP BY s")
    assert found.questions == ({"kind": "table", "by": ["sex"]},)
    assert [one.name for one in found.outputs] == ["s", "count(*)"]


def test_nothing_of_a_statement_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """sqlglot warns about commands with the text of the statement."""
    for text in ("explain select avg(income) from t", "call f('secret')", "select avg(income) from t; show 'secret'"):
        with pytest.raises(InvalidParameter):
            made(text)
    assert not caplog.records


def test_what_is_selected_twice_is_asked_once() -> None:
    assert len(made("select avg(income), avg(income) as m, avg( income ) from t").questions) == 1


def test_a_cost_of_its_own() -> None:
    found = compile_sql("select avg(income) from t", SCHEMA, POLICY, 1000, PureDP(0.5))
    assert found.questions[0]["spend"] == {"kind": "pure-dp", "epsilon": 0.5}


@pytest.mark.parametrize(
    ("costs", "total"),
    [
        ([], None),
        ([None], None),
        ([PureDP(0.1), PureDP(0.2)], PureDP(0.3)),
        ([ZCDP(0.1), None, ZCDP(0.2)], ZCDP(0.3)),
        ([ZCDP(0.1), PureDP(0.2)], None),
    ],
)
def test_costs_add_up(costs: Any, total: Any) -> None:
    assert total_cost(costs) == total


# What is refused, with the reason and the nearest question


@pytest.mark.parametrize(
    ("text", "reason", "nearest"),
    [
        ("select * from t", "single rows", r"count\(\*\)"),
        ("select income from t", "single rows", r"avg\(income\)"),
        ("select sex from t group by sex", "single rows", r"count\(\*\)"),
        ("select distinct sex from t", "distinct", "group by"),
        ("select avg(income) from t join u on t.a = u.a", "joins", "join the tables"),
        ("select avg(income) from t, u", "joins", "join the tables"),
        ("select avg(income) from (select * from t) as u", "subqueries", "one select"),
        ("select avg(income) from t where age in (select age from t)", "subqueries", "one select"),
        ("select avg(income) from t where age = (select max(age) from t)", "subqueries", "one select"),
        ("with u as (select * from t) select avg(income) from u", "subqueries", "one select"),
        ("select avg(income) from t union select avg(age) from t", "union", "one select"),
        ("select avg(free) from t", "no range is declared", r"clip\(free"),
        ("select median(free) from t", "no range is declared", "Policy.columns"),
        ("select avg(sex) from t", "text", r"count\(\*\)"),
        ("select age, count(*) from t group by age", "declared categories", "declared are sex, race, member"),
        ("select age > 3, count(*) from t group by age > 3", "not computed", "declared categories"),
        ("select max(income) from t", "single rows", r"quantile\(income, 0.99\)"),
        ("select min(income) from t", "single rows", r"quantile\(income, 0.01\)"),
        ("select stddev(income) from t", "deviation", "quantile"),
        ("select count(distinct sex) from t", "distinct values", "declared column"),
        ("select sex, avg(income) from t group by sex having count(*) > 5", "having", "without"),
        ("select avg(income) over (partition by sex) from t", "window", "group by"),
        ("select avg(income) from t limit 5 offset 3", "offset", "limit"),
        ("select string_agg(sex, ',') from t", "not one of avg", "one of these"),
        ("select regr_slope(income, age) from t", "regression coefficient", r"corr\(x, y\), a private `test`"),
        ("select mean(income) from t", "written avg", r"avg\(x\)"),
        ("select mode(sex) from t", "most frequent", "`top`"),
        ("select kaplan_meier(age) from t", "survival curve", r"avg\(days > 365\)"),
        ("select covar_pop(income, age) from t", "covariance", "corr"),
        ("select approx_count_distinct(sex) from t", "not answered", "declared column"),
        ("select round(avg(income), 2) from t", "worked out afterwards", r"nearest: avg\(income\)"),
        ("select avg(income) / avg(age) from t", "worked out afterwards", r"avg\(income\), avg\(age\)"),
        ("select age + 1 from t", "single rows", r"avg\(age \+ 1\)"),
        ("select avg(log(age)) from t", "got 'log'", r"write ln\(x\), log2\(x\) or log10\(x\)"),
        ("select avg(incme) from t", "columns of the schema", "there is 'income'"),
        ("explain select avg(income) from t", "begin with select", r"explain\(statement\)"),
        ("select avg(income) from t; select avg(age) from t", "got several", "one by one"),
        (
            "select sex, corr(age, income) from t group by sex",
            "cannot have a correlation as a column",
            "`where` for each group",
        ),
        ("select avg(income) + 1 from t", "aggregate", "avg"),
        ("select 1 from t", "aggregate", "avg"),
        ("select avg(income)", "no table", "from"),
        ("select avg(income) from read_csv('x.csv')", "plain name", "from people"),
        ("select avg(income) from a.t", "plain name", "from t"),
        ("select avg(income) from public.people", "plain name", "select ... from people"),
        ("select count(*) from t where member = 1", "boolean = number", "`member` or `not member`"),
        ("select avg(member + 1) from t", "got a boolean", r"cast\(member as integer\)"),
        ("select count(*) from t where not age", "got a number", "x <> 0"),
        ("select count(*) from t where age and member", "got a number", "x <> 0"),
        ("select count(*) from t where concat(sex, age) = 'f3'", "got a number", "declare the column as text"),
        ("select count(*) from t where substring(sex, 2) = 'a'", "3 arguments", r"substring\(s, 2, 1000\)"),
        ("select count(*) from t where born in (date '2020-01-01')", "list", "d = date '2020-12-31' or d = date"),
        ("select count(*) from t where (sex, race) in (('f', 'a'))", "tuple", "sex = 'f' and town = 'Bern'"),
        ("select count(*) from t where member xor member", "does not read as one", "a <> b"),
        ("select count(*) from t where isnan(income)", "is_nan", "x is null"),
        ("select count(*) from t where sex like any ('a%', 'b%')", "any", "s like 'a%' or s like 'b%'"),
        ("select count(*) from t where right(sex, 2) = 'ab'", "right", "s like '%ab'"),
        ("select count(*) from t where replace(sex, 'a', 'b') = 'b'", "replace", "whole texts"),
        ("select count(*) from t where age > ?", "near", "the value itself, as age > 30"),
        ("select count(*) from t where age div 10 = 3", "dividing whole numbers", r"floor\(a / b\)"),
        ("select count(*) from t where 1 = 0", "is not true in any row", "a condition about columns"),
        ("select count(*) from t where year(sex) = 2020", "got a text", r"schema=\{'sex': 'date'.*--schema 'sex date"),
        (
            "select count(*) from t where year(cast(sex as date)) = 2020",
            "at most 2000 parts",
            r"schema=\{'sex': 'date'.*--schema 'sex date",
        ),
        ("select avg(income) from t order by age", "order by", "its name"),
        ("select sex, count(*) from t group by rollup (sex)", "rollup", "one statement"),
        ("select avg(u.income) from t", "as a table, which is not its table", "name of the column"),
        (
            "select avg(distinct income) from t",
            "an average of the distinct values needs the values of single rows",
            r"avg\(income\)",
        ),
        ("select avg(case when age > 65 then 1 end) from t", "is 1 in every row", "`else 0`"),
        ("select sex, sum(income) from t group by sex", "no sums", r"sum\(income\) filter \(where sex = 'f'\)"),
        (
            "select sum(distinct income) from t",
            "a sum of the distinct values needs the values of single rows, which a",
            r"sum\(x\)",
        ),
        ("select sum(2) from t", "the same value in every row", r"count\(\*\)"),
        ("select sum(free) from t", "no range is declared", r"clip\(free"),
        ("select sum(income) + 1 from t", "worked out afterwards", r"nearest: sum\(income\);"),
        ("select sum(income) / count(*) from t", "worked out afterwards", r"nearest: avg\(income\), count\(\*\);"),
        (
            "select avg(income) filter (where sex = 'f') - avg(income) filter (where sex = 'm') from t",
            "worked out afterwards",
            "question `difference`",
        ),
        ("select mode() within group (order by sex) from t", "most frequent", "`top`"),
        ("select avg([two words]) from t", "does not read as one", "in double quotes"),
        ("select avg(`two words`) from t", "does not read as one", "in double quotes"),
        ("select top 3 sex, count(*) from t group by sex", "does not read as one", "limit 3"),
        ("select avg(income) from t where sex ~ 'f'", "does not read as one", "s like 'a%'"),
        ("select avg(income) from t where income > 50_000", "does not read as one", "no underscores"),
        ('select avg(income) from t where sex = "f"', "columns of the schema", "single quotes"),
        (
            "select avg(income) from t where member is true",
            "expression must have `null` or `not null` after `is`; instead of `is",
            r"coalesce\(condition, false\)",
        ),
        ("select avg(income) from t tablesample (10 percent)", "all of its rows", "the table alone"),
        ("select avg(income) from t as t(age, income)", "plain name", "from t"),
        ("select sex, count(*) from t group by sex fetch first 2 rows with ties", "ties", "`limit 3`"),
        (
            "select year(born), count(*) from t group by year(born)",
            "not computed",
            r"filter \(where year\(seen\) = 2024\)",
        ),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_nearest_question(text: str, reason: str, nearest: str) -> None:
    with pytest.raises(InvalidParameter, match=reason) as refused:
        made(text)
    assert refused.match(nearest)
    assert str(refused.value).endswith("nothing was spent")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "foo",
        "select",
        "drop table t",
        "insert into t values (1)",
        "update t set income = 0",
        "delete from t",
        "copy t to 'x.csv'",
        "attach 'x.db'",
        "pragma x",
        "explain select avg(income) from t",
        "select avg(income) from t; drop table t",
        "select avg(income) from t; select avg(age) from t",
        "select avg(height) from t",
        "select avg(income) from t where height > 3",
        "select avg(income) from t where income",
        "select avg(income) from t where read_text('/etc/passwd') = 'x'",
        "select avg(income) from t group by 7",
        "select avg(income) from t limit -1",
        "select sex, count(*) from t group by sex limit 2 by 3",
        "select avg(income) from t limit (select 1)",
        "select quantile(income, 1.5) from t",
        "select quantile(income, age) from t",
        "(" * 5000 + "select 1" + ")" * 5000,
        "select avg(" + "(" * 3000 + "income" + ")" * 3000 + ") from t",
        "select avg(" + "-" * 3000 + "income) from t",
        "select avg(income) from t where " + "not " * 3000 + "member",
        "select " + ", ".join(["avg(income)"] * 60) + " from t",
        "select avg(income) from t where sex = '" + "x" * LONGEST + "'",
        "select avg(income) from t where sex = 'f\0'",
        "select avg(income) from t where sex = 'f",
        "select avg(income) /* from t",
        "🐘" * 50,
    ],
)
def test_anything_else_is_an_error_of_the_statement(text: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        made(text)
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("text", [None, 3, b"select 1", ["select"]])
def test_a_statement_is_a_text(text: Any) -> None:
    with pytest.raises(InvalidParameter, match="statement must be a text"):
        made(text)


def test_without_a_privacy_budget_the_nearest_is_a_check() -> None:
    with pytest.raises(QuestionRefused, match="check a guess"):
        made("select avg(income) from t", Policy(questions=5, columns=COLUMNS))


# Answers


def people(n: int = 40_000) -> tuple[Sample, dict[str, Any]]:
    rng = np.random.default_rng(2)
    sex, age = rng.choice(["f", "m"], n, p=[0.4, 0.6]), rng.integers(18, 80, n)
    income = np.clip(rng.normal(40 + 10 * (sex == "m"), 15), 0, 100)
    columns = {"sex": sex, "age": age, "income": income}
    return hf.data.table({name: values.tolist() for name, values in columns.items()}), columns


SURE = 1 - 1e-9
"""So that what a noisy count decides is decided wrongly less often than 1e-6."""
DECLARED = {name: COLUMNS[name] for name in ("sex", "age", "income")}


def opened(epsilon: float = 0.2, spend: float = 0.1) -> tuple[Guard, dict[str, Any]]:
    sample, columns = people()
    policy = Policy(questions=20, privacy=PureDP(epsilon), spend=PureDP(spend), columns=DECLARED)
    return Guard.open(None, sample, policy), columns


def test_a_table_by_groups() -> None:
    guard, columns = opened()
    text = (
        "select sex, avg(income) as mean, count(*) from people where age < 60 group by sex order by mean desc limit 2"
    )
    priced = guard.explain(text)
    assert (priced.admitted, priced.cost, len(priced.questions)) == (True, PureDP(0.1), 1)
    answer = guard.sql(text, key="first")
    assert answer.columns == ("sex", "mean", "count(*)")
    assert [row["sex"] for row in answer.rows] == ["m", "f"]
    for row, ends in zip(answer.rows, answer.intervals, strict=True):
        own = (columns["sex"] == row["sex"]) & (columns["age"] < 60)
        assert ends["mean"][0] < columns["income"][own].mean() < ends["mean"][1]
        assert ends["count(*)"][0] < own.sum() < ends["count(*)"][1]
        assert abs(row["count(*)"] - own.sum()) < 800
    assert answer.cost == PureDP(0.1)
    again = guard.sql(text)
    assert again.cost is None
    assert again.rows == answer.rows
    assert guard.remaining()["total"]["epsilon"] == pytest.approx(0.1)
    assert str(answer).splitlines()[0] == "sex | mean | count(*)"


def test_one_row_and_public_counts() -> None:
    guard, columns = opened()
    answer = guard.sql("select count(*), avg(income) from people")
    assert answer.rows[0]["count(*)"] == 40_000
    assert answer.intervals[0]["count(*)"] == [40_000, 40_000]
    low, high = answer.intervals[0]["avg(income)"]
    assert low < columns["income"].mean() < high
    free = guard.sql("select count(*) from people")
    assert free.cost is None
    assert free.answers == []


def test_a_sum_is_the_mean_of_all_rows_times_their_number() -> None:
    """Both intervals are those of the mean, scaled by the number of rows, which is public."""
    sample, columns = people()
    policy = Policy(SURE, questions=20, privacy=PureDP(0.2), spend=PureDP(0.1), columns=DECLARED)
    guard, n = Guard.open(None, sample, policy), sample.n
    text = "select sum(income) as s, avg(income) as m from people"
    (total,), half = guard.explain(text).totals, guard.estimate(hf.mean("income")).half_width
    assert half is not None
    assert total == n * half
    assert "in all rows within" in str(guard.explain(text))
    answer = guard.sql(text)
    assert answer.cost == PureDP(0.1), "the average is the same question"
    (row,), (ends,), (about,) = answer.rows, answer.intervals, answer.about_rows
    assert (row["s"], ends["s"], about["s"]) == (
        row["m"] * n,
        [n * end for end in ends["m"]],
        [n * e for e in about["m"]],
    )
    exact = columns["income"].sum()
    assert about["s"][0] < exact < about["s"][1]
    assert about["s"][1] - about["s"][0] < 0.05 * exact
    men = guard.sql("select sum(income) from people where sex = 'm' and age < 40")
    near = men.about_rows[0]["sum(income)"]
    own = columns["income"][(columns["sex"] == "m") & (columns["age"] < 40)].sum()
    assert near[0] < own < near[1], "a mean of these rows alone times all rows would be five times that"
    assert near[1] < 2 * own


def test_all_questions_of_a_statement_or_none() -> None:
    guard, _ = opened(0.1, 0.1)
    text = "select avg(income), median(income) from people"
    priced = guard.explain(text)
    assert not priced.admitted
    assert priced.cost == PureDP(0.2)
    with pytest.raises(BudgetExhausted):
        guard.sql(text)
    assert guard.remaining()["total"]["epsilon"] == 0.1
    assert guard.sql("select avg(income) from people").cost == PureDP(0.1)


def test_small_groups_are_named() -> None:
    sample = hf.data.table({"sex": ["f"] * 20_000 + ["m"] * 3, "income": [50.0] * 20_003})
    columns = {"sex": COLUMNS["sex"], "income": COLUMNS["income"]}
    policy = Policy(questions=5, privacy=PureDP(0.5), spend=PureDP(0.5), columns=columns)
    answer = Guard.open(None, sample, policy).sql("select sex, avg(income) from people group by sex")
    assert answer.rows[1]["avg(income)"] is None
    assert "too few rows" in str(answer)


@pytest.mark.parametrize("direction", ["", "desc"])
def test_groups_that_are_not_reported_come_last(direction: str) -> None:
    sample = hf.data.table({"sex": ["f"] * 3 + ["m"] * 20_000, "income": [50.0] * 20_003})
    columns = {"sex": COLUMNS["sex"], "income": COLUMNS["income"]}
    policy = Policy(SURE, questions=5, privacy=PureDP(0.5), spend=PureDP(0.5), columns=columns)
    guard = Guard.open(None, sample, policy)
    answer = guard.sql(f"select sex, avg(income) as m from people group by sex order by m {direction}")
    assert [row["sex"] for row in answer.rows] == ["m", "f"]


@pytest.mark.parametrize("what", ["avg(income)", "median(income)", "corr(age, income)"])
def test_a_number_about_hardly_any_rows_is_not_reported(what: str) -> None:
    """`sex = 'F'` meets no row where the letters are small: the quotient of two noises is not shown as a mean."""
    sample, _ = people()
    policy = Policy(SURE, questions=20, privacy=PureDP(0.2), spend=PureDP(0.1), columns=DECLARED)
    answer = Guard.open(None, sample, policy).sql(f"select {what} as x, count(*) from people where sex = 'F'")
    assert answer.rows[0]["x"] is None
    low, high = answer.intervals[0]["x"]
    assert low < high
    assert "too few rows" in str(answer)


def test_a_count_next_to_an_average_has_both_intervals() -> None:
    guard, _ = opened()
    answer = guard.sql("select sex, avg(income), count(*) from people group by sex")
    for row, ends, about in zip(answer.rows, answer.intervals, answer.about_rows, strict=True):
        value, near, population = row["count(*)"], about["count(*)"], ends["count(*)"]
        assert population[0] < near[0] < value < near[1] < population[1]


# Mutated statements


def test_mutated_statements_are_read_or_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """`benchmarks/sql_fuzz.py` does the same with 100,000."""

    def reached(*_: Any, **__: Any) -> None:
        raise AssertionError("a statement reached an engine")

    monkeypatch.setattr(Sample, "add_up", reached)
    monkeypatch.setattr(DuckDBSample, "_add_up", reached)
    read = fuzzed(600, 1)
    assert 60 < read < 540


def test_what_is_said_of_a_statement_does_not_depend_on_rows() -> None:
    """The same statements at two guards of other rows: answered or refused alike, in the same words."""
    assert 60 < asked(600, 7) < 540


@pytest.mark.parametrize(("first", "second"), [((0, 5), 7), ((-9, 4), 3), ((0, 120), -7), ((3, 8), 2)])
def test_the_range_of_a_remainder_holds_every_remainder(first: tuple[int, int], second: int) -> None:
    """It was that of the quotient, to which values were clipped: the mean of `x % 7` over 0 to 5 came out as 0.6."""
    schema, columns = Schema({"x": "integer not null"}), {"x": DeclaredColumn(*first)}
    low, high = bounds_of(expression(f"x % {second}", schema), columns) or (0.0, 0.0)
    values = [math.fmod(value, second) for value in range(first[0], first[1] + 1)]
    assert low <= min(values)
    assert max(values) <= high
    assert max(-low, high) < abs(second)


def test_a_remainder_by_nothing_is_refused_and_not_divided() -> None:
    with pytest.raises(InvalidParameter, match="no range is declared"):
        compile_sql("select avg(age % 0) from people", SCHEMA, POLICY, 1000)
