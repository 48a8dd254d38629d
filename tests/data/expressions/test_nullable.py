"""Whether an expression can be null is decided before any row is read, and never wrongly denied."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from holdfast.data.expressions import checked, expression, python_rows
from holdfast.data.schema import Schema
from tests.data.expressions.odd_rows import SCHEMA, expressions, rows

PEOPLE = Schema({"age": "integer null", "pay": "number not null", "town": "text null", "paid": "boolean not null"})

NEVER = [
    "pay",
    "pay / 2",
    "pay > 1 and paid",
    "age is null",
    "coalesce(age, 0)",
    "coalesce(age, pay)",
    "age is not null and age < 30",
    "age is null or age < 30",
    "town is not null and age is not null and age > length(town)",
    "case when age is null then 0 else age end",
    "case when age is not null then age else 0 end",
    "case when age > 30 then age else 0 end",
    "case when age between 1 and 3 then age when town = 'x' then length(town) else 0 end",
    "case when paid then 1 else 0 end",
    "clip(pay, 0, 1) + least(pay, 2)",
    "cast(paid as integer)",
    "100 * cast(pay > 3 as number)",
    "clip(round(pay), 0, 120) % 7",
    "length(coalesce(town, '')) % 2",
    "ln(abs(pay) + 1)",
    "log2(clip(pay, 1, 1024))",
    "log10(pay * pay + 1)",
]
SOMETIMES = [
    "age",
    "age < 30",
    "not (age < 30)",
    "paid and age < 30",
    "pay / pay",
    "pay / 0",
    "sqrt(pay)",
    "number(coalesce(town, '1'))",
    "case when paid then 1 end",
    "case when age is null then age else 1 end",
    "case when age < 30 then 1 else age end",
    "case when not (age < 30) or age is null then age else 1 end",
    "town is not null and age < 30",
    "coalesce(age, age + 1)",
    "age in (1, 2)",
    "least(pay, age)",
    "cast(age < 30 as integer)",
    "round(pay) % 7",
    "clip(round(pay), 0, 120) % 0",
    "clip(round(pay), 0, 120) % clip(round(pay), 0, 7)",
    "ln(abs(pay))",
    "ln(pay + 1)",
    "ln(abs(age) + 1)",
]


@pytest.mark.parametrize("text", NEVER)
def test_never_null(text: str) -> None:
    assert not expression(text, PEOPLE).nullable


@pytest.mark.parametrize("text", SOMETIMES)
def test_sometimes_null(text: str) -> None:
    assert expression(text, PEOPLE).nullable


@pytest.mark.parametrize("text", NEVER)
def test_never_null_on_odd_rows(text: str) -> None:
    """The row-by-row interpreter, on numbers at the ends of every range."""
    parsed = expression(text, PEOPLE)
    odd = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0**53, -(2.0**53) - 2, 2.0**100, -(2.0**100), 2.0**-100, -1e-300]
    for pay in odd:
        for paid in (True, False):
            for age, town in ((None, None), (0, ""), (2**62, "x")):
                row = {"pay": pay, "paid": paid, "age": age, "town": town}
                assert python_rows.evaluate(parsed, row) is not None


def test_what_cannot_be_null_never_is() -> None:
    """Random expressions over columns of which some are declared without nulls, on odd rows that keep to it."""
    random = Random(3)
    held, never = rows(random, 60), 0
    for one in expressions(random, 1500, depth=3):
        whole = {name for name in SCHEMA.names if random.random() < 0.5}
        schema = Schema([replace(column, nullable=column.name not in whole) for column in SCHEMA])
        sharp = checked(one.node, schema)
        if sharp.nullable:
            continue
        never += 1
        fitting = [row for row in held if all(_has(row, name) for name in whole & set(one.columns))]
        assert all(python_rows.evaluate(sharp, row) is not None for row in fitting)
    assert never > 300


def _has(row: dict[str, object], name: str) -> bool:
    return python_rows.read(row[name], SCHEMA[name].kind) is not None
