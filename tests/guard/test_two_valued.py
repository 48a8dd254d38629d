"""Numbers with two values: their mean is a share of rows, and its private interval is the exact binomial one."""

from __future__ import annotations

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.data.expressions import expression, python_rows
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT, FixedSum
from holdfast.guard import Guard, Policy
from holdfast.guard.columns import is_two_valued

SCHEMA = Schema(
    {"pay": "number not null", "left": "integer not null", "paid": "boolean not null", "age": "integer null"}
)
TWO = [
    ("left", 0, 1),
    ("left", 1, 2),
    ("left % 2", 0, 1),
    ("cast(pay > 3 as integer)", 0, 1),
    ("100 * cast(pay > 3 as number)", 0, 100),
    ("case when pay > 3 then 1 else 0 end", 0, 1),
    ("case when pay > 3 then 7 when paid then -2 else 0 end", 0, 1),
    ("coalesce(case when paid then 1 end, 0)", 0, 1),
    ("age", 17, 18),
]
MORE = [
    ("pay", 0, 1),
    ("left", 0, 2),
    ("left", 0.5, 1.5),
    ("left / 2", 0, 1),
    ("case when pay > 3 then 1 when paid then 0.5 else 0 end", 0, 1),
    ("cast(pay > 3 as integer)", 0, 2),
    ("case when pay > 3 then pay else 0 end", 0, 1),
]


@pytest.mark.parametrize(("text", "low", "high"), TWO)
def test_every_row_adds_all_or_nothing(text: str, low: float, high: float) -> None:
    parsed = expression(text, SCHEMA)
    assert is_two_valued(parsed, low, high)
    wanted, found = FixedSum(text, low, high), set()
    for pay in (-1e30, -1.0, 0.0, 0.3, 3.0, 3.5, 1e30):
        for left in (-(2**62), -1, 0, 1, 2, 2**53 + 1):
            for paid in (True, False):
                row = {"pay": pay, "left": left, "paid": paid, "age": left}
                value = python_rows.evaluate(parsed, row)
                assert value is None or isinstance(value, float)
                found.add(wanted.steps(value))
    assert found == {0, UNIT}


@pytest.mark.parametrize(("text", "low", "high"), MORE)
def test_other_numbers_are_not_taken_for_two_valued(text: str, low: float, high: float) -> None:
    assert not is_two_valued(expression(text, SCHEMA), low, high)


def test_a_private_mean_of_two_values_has_the_interval_of_a_condition() -> None:
    """The width was that of Chernoff's bound, and among cast conditions that of a mean of some rows: a third more."""
    rng = np.random.default_rng(0)
    rows = hf.data.table({"pay": rng.random(5000) * 9, "z": rng.integers(0, 2, 5000), "g": ["a", "b"] * 2500})
    columns = {"z": {"low": 0, "high": 1}, "g": {"categories": ["a", "b"]}}
    guard = Guard.open(None, rows, Policy(questions=40, privacy=PureDP(0.4), spend=PureDP(0.02), columns=columns))
    condition = guard.estimate(hf.mean("z = 1")).half_width
    for text in ("z", "cast(pay > 3 as integer)", "case when pay > 3 then 1 else 0 end"):
        question = hf.mean(text, low=0, high=1)
        assert guard.estimate(question).half_width == condition
        assert guard.ask(question).guarantee.parameters["interval"] == "clopper-pearson"
    wide = guard.estimate(hf.mean("case when pay > 3 then 1 when pay > 1 then 0.5 else 0 end", low=0, high=1))
    assert condition is not None
    assert wide.half_width is not None
    assert condition < wide.half_width
    table = guard.ask(hf.guard.table(["g"], "z"))
    assert table.guarantee.parameters["interval"] == "clopper-pearson, rows of a group"
