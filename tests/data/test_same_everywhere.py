"""The same questions on every engine: the same whole numbers as the interpreter gets row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest

from holdfast.data import Sample, Schema, table
from holdfast.data.engines import polars_sample
from holdfast.data.engines.polars_sample import PolarsSample
from holdfast.data.expressions import expression
from holdfast.data.restricted import Restricted
from holdfast.data.sample import Sums
from holdfast.data.statistics import Statistic, of_rows
from holdfast.data.statistics.request import Pass
from holdfast.errors import InvalidParameter
from tests.data import kept
from tests.data.expressions.odd_rows import SCHEMA
from tests.data.expressions.odd_rows import rows as odd_rows

QUESTIONS, ROWS = 200, 300
RANDOM = Random(8)
HELD = odd_rows(RANDOM, ROWS)
ASKED: list[Statistic] = kept.questions(RANDOM, QUESTIONS)


@cache
def meant() -> list[tuple[int, ...]]:
    return [tuple(of_rows(asked, HELD, SCHEMA)) for asked in ASKED]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rows")


@pytest.fixture(params=["numpy", "polars", "arrow", "pandas", "parquet", "csv", "duckdb", "duckdb-csv", "duckdb-table"])
def sample(request: pytest.FixtureRequest, folder: Path) -> Any:
    match request.param:
        case "numpy":
            return table(kept.arrays(HELD), engine="numpy")
        case "polars":
            import polars as pl

            return table(pl.from_arrow(kept.arrow(HELD)))
        case "arrow":
            return table(kept.arrow(HELD))
        case "pandas":
            return table(kept.arrow(HELD).to_pandas(types_mapper=_pandas_types().get), schema=SCHEMA)
        case "parquet":
            return table(kept.parquet(folder / "a.parquet", HELD))
        case "csv":
            return table(kept.csv(folder / "a.csv", HELD), schema=SCHEMA)
        case "duckdb":
            return table(kept.parquet(folder / "b.parquet", HELD), engine="duckdb")
        case "duckdb-csv":
            return table(kept.csv(folder / "b.csv", HELD), engine="duckdb", schema=SCHEMA)
        case _:
            return table(kept.duckdb(folder / "c.duckdb", HELD), table="rows")


def _pandas_types() -> dict[Any, Any]:
    import pandas as pd
    import pyarrow as pa

    return {pa.int64(): pd.Int64Dtype(), pa.bool_(): pd.BooleanDtype(), pa.string(): pd.StringDtype("pyarrow")}


def differing(sample: Sample, count: int = QUESTIONS) -> list[object]:
    """The questions whose answers are not those of the oracle, of a sample with the same schema and fingerprint."""
    assert sample.schema == SCHEMA
    assert sample.fingerprint() == table(kept.arrow(HELD)).fingerprint()
    answers = [tuple(answer) for answer in sample.measure(ASKED[:count])]
    assert len(answers) == count
    return [asked for asked, answer, right in zip(ASKED, answers, meant(), strict=False) if answer != right]


def test_columns_without_missing_values_are_found_and_asked_about(folder: Path) -> None:
    """Expressions that cannot be null are compiled otherwise, and mean the same."""
    whole = [{c.name: _filled(c.kind, row[c.name]) for c in SCHEMA} for row in HELD]
    right = [tuple(of_rows(asked, whole, SCHEMA)) for asked in ASKED[:60]]
    path = kept.parquet(folder / "whole.parquet", whole)
    for sample in (table(kept.arrays(whole), engine="numpy"), table(path), table(path, engine="duckdb")):
        assert [column.nullable for column in sample.schema] == [False] * len(SCHEMA)
        assert [tuple(one) for one in sample.measure(ASKED[:60])] == right
        assert all(declared_without_nulls_is_refused(sample.engine, folder, column.name) for column in SCHEMA)


def _filled(kind: str, value: Any) -> Any:
    if value is None or (kind == "number" and not abs(value) <= 2.0**100):
        return {"number": 0.5, "integer": 3, "boolean": True, "text": "a"}[kind]
    return value


def declared_without_nulls_is_refused(engine: str, folder: Path, name: str) -> bool:
    """Whether the rows with gaps are refused where this column is declared to have none."""
    path = folder / "gaps.parquet"
    source: Any = kept.arrays(HELD) if engine == "numpy" else path if path.exists() else kept.parquet(path, HELD)
    declared = Schema([replace(column, nullable=column.name != name) for column in SCHEMA])
    with pytest.raises(InvalidParameter, match=f"schema must not declare {name!r} to be `not null`"):
        table(source, engine=engine, schema=declared)  # type: ignore[arg-type]
    return True


def test_two_hundred_questions(sample: Sample, request: pytest.FixtureRequest) -> None:
    # The other two ways into DuckDB run the same statements, so some of the questions show that they read the same.
    short = request.node.callspec.params["sample"] in ("duckdb-csv", "duckdb-table")
    assert differing(sample, 30 if short else QUESTIONS) == []


def test_numbers_and_truth_values_of_few_rows_are_added_up_as_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked one by one, so that questions about texts do not take the others to polars; and all of them by polars."""
    collected: list[object] = []
    ours = PolarsSample._collected

    def counting(self: PolarsSample, work: Sequence[Pass]) -> Sums:
        collected.append(work)
        return ours(self, work)

    monkeypatch.setattr(PolarsSample, "_collected", counting)
    sample = table(kept.arrow(HELD))
    assert [tuple(sample.measure([asked])[0]) for asked in ASKED] == meant()
    assert len(ASKED) / 10 < len(collected) < len(ASKED) * 9 / 10
    collected.clear()
    monkeypatch.setattr(polars_sample, "ARRAYS", ROWS - 1)
    sample = table(kept.arrow(HELD))
    assert [tuple(sample.measure([asked])[0]) for asked in ASKED] == meant()
    assert len(collected) >= len(ASKED)


@pytest.mark.parametrize("engine", ["numpy", "polars", "duckdb"])
def test_a_sample_says_how_its_rows_are_read(engine: Any, tmp_path: Path) -> None:
    held = kept.arrays(HELD) if engine == "numpy" else kept.parquet(tmp_path / "a.parquet", HELD)
    sample = table(held, engine=engine)
    assert sample.quick
    assert sample.reopens == (engine != "numpy")
    part = Restricted(sample, expression("1 = 1", SCHEMA).node, sample.n, "key", "salt", (0, 1))
    assert (part.quick, part.reopens) == (sample.quick, sample.reopens)
    assert not Sample.quick, "an engine that says nothing is paid for before it reads"


def test_two_hundred_questions_on_postgres(postgres_url: str) -> None:
    kept.postgres(postgres_url, HELD)
    with table(postgres_url, table="rows") as sample:
        assert sample.engine == "postgres"
        assert differing(sample) == []


def test_the_questions_are_of_every_sort() -> None:
    sorts = {type(asked).__name__ for asked in ASKED}
    counted = {"Count", "Present", "Histogram", "QuantileCounts", "Contingency", "GroupBy"}
    assert sorts == counted | {"FixedSum", "PowerSum"}
    assert sum(len(set(right)) > 1 or right[0] not in (0, ROWS) for right in meant()) > QUESTIONS / 2
