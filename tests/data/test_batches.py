"""How many questions one statement answers, and that it adds them up exactly in every way."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import holdfast as hf
from holdfast.data.engines.ibis_sample import IbisSample
from holdfast.data.engines.polars_sample import PolarsSample
from holdfast.data.engines.postgres_sample import PostgresSample
from holdfast.data.engines.spark_sample import MOST_GROUPINGS, SparkSample
from holdfast.data.engines.sql_statements import Statements, bundles
from holdfast.data.schema import Schema
from holdfast.data.statistics import Count, FixedSum, GroupBy, Histogram, of_rows
from holdfast.data.statistics.request import Pass, passes
from tests.data import kept
from tests.data.expressions.odd_rows import SCHEMA, rows

NUMBERS = Schema({"x": "number not null", "s": "text not null"})


@pytest.mark.parametrize("engine", [PolarsSample, PostgresSample, SparkSample, IbisSample])
def test_a_thousand_questions_are_at_most_ten_scans_where_a_scan_is_what_costs(engine: Any) -> None:
    asked = [FixedSum(f"x + {at}", 0, 1000) if at % 2 else Count(f"x > {at}") for at in range(1_000)]
    work = list(passes([one.plan(NUMBERS) for one in asked], engine.at_once))
    assert len(list(bundles(work, engine.at_once))) <= 10


@pytest.mark.parametrize(
    ("engine", "groupings", "scans"),
    [(PostgresSample, None, 10), (IbisSample, None, 10), (SparkSample, MOST_GROUPINGS, 16)],
)
def test_a_thousand_groupings_share_scans_too(engine: Any, groupings: int | None, scans: int) -> None:
    asked = [Histogram("x", (0, at + 1)) for at in range(999)] + [GroupBy("s", ("a",), Count("x > 1"))]
    work = list(passes([one.plan(NUMBERS) for one in asked], engine.at_once))
    bundled = list(bundles(work, engine.at_once, groupings=groupings))
    assert len(bundled) == scans
    assert groupings is None or all(len(some) <= groupings for some in bundled)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_few_rows_are_added_up_as_doubles_and_many_as_whole_numbers(dialect: str) -> None:
    plan = FixedSum("x", 0, 1).plan(NUMBERS)
    kinds: Any = {"x": "float64", "s": "string"}
    few, many = (
        Statements(dialect, NUMBERS, kinds, "people", n=n).of([Pass(None, (plan,))]) for n in (2**22, 2**22 + 1)
    )
    assert "BIGINT" not in few
    assert "BIGINT" in many


@pytest.mark.parametrize("n", [None, 300])
def test_both_ways_are_exact(tmp_path: Path, n: int | None) -> None:
    asked = [
        FixedSum("x * 3 + i", -7, 11),
        FixedSum("x > i", -1, 1, 0.5),
        Histogram("x", (-1, 0, 1)),
        GroupBy("s", ("a", "b"), FixedSum("x / 3", -1, 1)),
    ]
    listed = rows(Random(7), 300)
    with hf.data.table(kept.parquet(tmp_path / "rows.parquet", listed), engine="duckdb") as sample:
        sample._statements = replace(sample._statements, n=n)  # type: ignore[attr-defined]
        assert sample.measure(asked) == [of_rows(one, listed, SCHEMA) for one in asked]
