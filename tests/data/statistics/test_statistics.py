"""Requests: what engines are told to add gives what each request means, row by row."""

from __future__ import annotations

import math
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.data.expressions import expression, numpy_columns
from holdfast.data.schema import Column, Schema
from holdfast.data.statistics import (
    MOST_ROWS,
    UNIT,
    Contingency,
    Count,
    Exact,
    FixedSum,
    GroupBy,
    Histogram,
    Plan,
    PowerSum,
    QuantileCounts,
    Statistic,
    of_rows,
)
from holdfast.errors import InvalidParameter
from tests.data.expressions.odd_rows import SCHEMA, rows

ASKED: list[Any] = [
    FixedSum("x"),
    FixedSum("x", -3, 5),
    FixedSum("x / i", -1, 1, default=0.25),
    FixedSum("i", -(2.0**63), 2.0**63),
    FixedSum("x", 1e30, 1.0000001e30),
    FixedSum("b"),
    FixedSum("b", default=1),
    FixedSum("b", default=0.5),
    FixedSum("x > y", -1, 2),
    FixedSum("not (x > y)", 0, 2, default=1),
    FixedSum("x is null"),
    PowerSum(FixedSum("x", -3, 5), 2),
    PowerSum(FixedSum("x / i", -1, 1, default=0.25), 3),
    PowerSum(FixedSum("x", 0, 1), 4, FixedSum("b")),
    PowerSum(FixedSum("y", -3, 5), 3, FixedSum("x", -3, 5)),
    FixedSum("coalesce(7, x)", 0, 10),
    Count("x > y or b"),
    Count("true or b"),
    Histogram("x", (-1, 0, 0.5, 1, 1000)),
    Histogram("i * 0.5", (-1, 0)),
    QuantileCounts("y", (-1, 0, 0.1, 5)),
    QuantileCounts("y", (0,)),
    Contingency(("b", "c")),
    Contingency(("s",), (("a", "it's", "\\"),)),
    Contingency(("s", "i", "b"), (("a", ""), (0, 1, -1, 2**53 - 1), (True,))),
    GroupBy("s", ("a", "A"), FixedSum("x", -1, 1)),
    GroupBy("b", None, QuantileCounts("x", (0, 1))),
    GroupBy("i", (0, 1, 2), Histogram("x", (0, 1))),
    GroupBy("b", None, GroupBy("c", None, Count("x > 0"))),
    GroupBy("b", (False,), Contingency(("c",))),
    GroupBy("b", None, FixedSum("c")),
]


def _by_numpy(plan: Plan, held: list[dict[str, Any]]) -> Exact:
    """What an engine does: add whole numbers by cell."""
    n = len(held)
    columns = {}
    for c in SCHEMA:
        blank: Any = {"number": 0.0, "integer": 0, "boolean": False, "text": None}[c.kind]
        kind: Any = {"number": np.float64, "integer": np.int64, "boolean": np.bool_, "text": object}[c.kind]
        values = [row[c.name] for row in held]
        array = np.array([blank if value is None else value for value in values], dtype=kind)
        columns[c.name] = numpy_columns.read(c, array, [value is None for value in values])

    def whole(expression: Any, default: int) -> Any:
        if expression is None:
            return np.full(n, default)
        found = numpy_columns.evaluate(expression, columns, n)
        assert found.null is None or not found.null.any()
        assert np.array_equal(found.array, np.floor(found.array))
        return found.array.astype(np.int64)

    cell, added = whole(plan.cell, 0), whole(plan.added, 1)
    assert cell.min() >= 0
    assert cell.max() < plan.cells
    assert added.min() >= 0
    assert added.max() <= UNIT
    if plan.counted is not None:
        truth = numpy_columns.evaluate(plan.counted, columns, n)
        added = np.where(truth.array & ~(np.zeros(n, bool) if truth.null is None else truth.null), added, 0)
    return plan.finish([int(added[cell == at].sum()) for at in range(plan.cells)])


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: type(asked).__name__)
def test_plans_give_what_requests_mean(asked: Statistic) -> None:
    held = rows(Random(10), 400)
    wanted = of_rows(asked, held, SCHEMA)
    assert len(wanted) == asked.size(SCHEMA)
    assert _by_numpy(asked.plan(SCHEMA), held) == wanted
    assert hash(asked) == hash(asked)
    assert asked.to_dict()["statistic"]


def test_counts_add_up_to_all_rows() -> None:
    held = rows(Random(11), 200)
    for asked in ASKED:
        if isinstance(asked, (Histogram, Contingency)):
            assert sum(of_rows(asked, held, SCHEMA)) == 200
        if isinstance(asked, QuantileCounts):
            assert sum(of_rows(asked, held, SCHEMA)[-2:]) == 200


_ends = st.floats(-1e30, 1e30).filter(lambda x: x == 0 or abs(x) >= 2.0**-100)


@settings(deadline=None, derandomize=True, max_examples=400)
@given(_ends, _ends, st.floats(allow_nan=False, allow_infinity=False))
def test_steps_stay_in_range_and_close_to_the_value(one: float, other: float, value: float) -> None:
    low, high = sorted((one, other))
    if not (low < high and UNIT / (high - low) <= 2.0**100):
        return
    asked = FixedSum("x", low, high)
    steps = asked.steps(value)
    assert 0 <= steps <= UNIT
    clipped = Fraction(min(max(value, low), high))
    short = (clipped - asked.mean(steps, 1)) / Fraction(asked.width)
    assert -Fraction(1, 2**50) <= short <= Fraction(1, 2**30) * (1 + Fraction(1, 2**20)) + Fraction(1, 2**50)
    assert asked.steps(low) == 0
    assert asked.steps(high) >= UNIT - 1


def test_sums_fit_in_64_bits() -> None:
    assert MOST_ROWS * UNIT < 2**63


@pytest.mark.parametrize(
    "make",
    [
        lambda: FixedSum("x", 1, 0),
        lambda: FixedSum("x", 0, math.inf),
        lambda: FixedSum("x", 0, math.nan),
        lambda: FixedSum("x", 0, 1e31),
        lambda: FixedSum("x", 0, 1e-25),
        lambda: FixedSum("x", 0, 1, default=2),
        lambda: FixedSum("x", 0, 1, default=math.nan),
        lambda: PowerSum(FixedSum("x"), 1),
        lambda: FixedSum("s").plan(SCHEMA),
        lambda: FixedSum("missing").plan(SCHEMA),
        lambda: Count("x").plan(SCHEMA),
        lambda: Count("true").plan(SCHEMA),
        lambda: FixedSum("7", 0, 10).plan(SCHEMA),
        lambda: Histogram("x", (1,)),
        lambda: Histogram("x", (1, 1)),
        lambda: Histogram("x", (2, 1)),
        lambda: Histogram("x", tuple(range(501))),
        lambda: Histogram("b", (0, 1)).plan(SCHEMA),
        lambda: QuantileCounts("x", ()),
        lambda: QuantileCounts("s", (1,)).plan(SCHEMA),
        lambda: Contingency(()),
        lambda: Contingency("b"),  # type: ignore[arg-type]
        lambda: Contingency(("b", "b")),
        lambda: Contingency(("b",), ()),
        lambda: Contingency(("x",)).plan(SCHEMA),
        lambda: Contingency(("s",)).plan(SCHEMA),
        lambda: Contingency(("s",), (("a", "a"),)).plan(SCHEMA),
        lambda: Contingency(("s",), ((1,),)).plan(SCHEMA),
        lambda: Contingency(("i",), ((2**53,),)).plan(SCHEMA),
        lambda: Contingency(("nothing",)).plan(SCHEMA),
        lambda: Contingency(("i", "j"), (tuple(range(400)), tuple(range(400)))).plan(SCHEMA),
        lambda: GroupBy("s", ("a",), "x"),  # type: ignore[arg-type]
        lambda: GroupBy("s", (), Count("b")).plan(SCHEMA),
        lambda: GroupBy("x", (1,), Count("b")).plan(SCHEMA),
        lambda: Plan(cells=2).finish([1]),
    ],
)
def test_wrong_requests_are_refused_before_rows_are_read(make: Any) -> None:
    with pytest.raises(InvalidParameter):
        make()


def test_declared_values_of_the_schema_are_the_keys() -> None:
    schema = Schema([Column("sex", "text", ("f", "m"))])
    assert of_rows(Contingency(("sex",)), [{"sex": "m"}, {"sex": "x"}], schema) == (0, 1, 1)


def test_large_histograms_and_tables_compile() -> None:
    edges = tuple(range(500))
    assert Histogram("x + y", edges).plan(SCHEMA).cells == 500
    assert Contingency(("i", "j"), (tuple(range(300)), tuple(range(300)))).plan(SCHEMA).cells == 301 * 301


def test_results_hide_themselves() -> None:
    result = Exact([123456789])
    assert "123456789" not in f"{result!r} {result} {[result]}"


def test_a_checked_expression_is_checked_again_for_a_schema_that_it_does_not_fit() -> None:
    """What was checked and planned for one schema is believed for its columns alone: kinds and missing values."""
    whole, gaps = Schema({"age": "integer not null"}), Schema({"age": "integer null", "x": "text"})
    wanted = FixedSum(expression("age", whole), 0, 100, 50)
    assert wanted == FixedSum("age", 0, 100, 50)
    for schema in (whole, gaps, Schema({"x": "text", "age": "integer not null"}), whole):
        assert wanted.plan(schema) == FixedSum("age", 0, 100, 50).plan(schema)
    added = [wanted.plan(schema).added for schema in (whole, gaps)]
    assert added[0] != added[1], "a value that can be missing has a default"
    assert of_rows(wanted, [{"age": None}], gaps)[0] == UNIT // 2
    for schema in (Schema({"age": "text"}), Schema({"x": "integer"})):
        with pytest.raises(InvalidParameter):
            wanted.plan(schema)
