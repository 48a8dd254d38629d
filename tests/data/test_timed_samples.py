"""Dates, timestamps, decimals and long whole numbers from every place that a sample can be opened from."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from holdfast.data import Sample, Schema, table
from holdfast.data.statistics import Count, FixedSum, Histogram, Present, Statistic, of_rows
from holdfast.errors import InvalidParameter, SampleUnavailable
from tests.data.expressions import engines, timed_rows
from tests.data.expressions.timed_rows import SCHEMA

HELD = timed_rows.rows(Random(12), 120)
ROWS = [{name: timed_rows.seen(name, value) for name, value in row.items()} for row in HELD]
ASKED: list[Statistic] = [
    Count("d >= date '2000-02-29' and d < date '2020-01-01'"),
    FixedSum("year(born)", 1900, 2100, 1900.0),
    FixedSum("d - born", -100_000, 100_000, 0.0),
    Histogram("month(t)", (1, 4, 7, 10, 12)),
    Histogram("hour(z)", (0, 6, 12, 18, 23)),
    Count("t - u > 3600"),
    FixedSum("price", -1000, 1000, 0.0),
    Count("tiny > 0.00000000000000000001"),
    Count("key = '9007199254740993'"),
    FixedSum("ln(abs(price))", -10, 40, 0.0),
    Count("s < 'a' or s ilike 'a%'"),
    Present("cast(s as date)"),
    Count("i % 3 = 1"),
]


def agree(sample: Sample, asked: list[Statistic] = ASKED) -> None:
    assert sample.schema == SCHEMA
    meant = [tuple(of_rows(one, ROWS, SCHEMA)) for one in asked]
    assert [tuple(one) for one in sample.measure(asked)] == meant
    held = {c.name: [row[c.name] for row in HELD] for c in SCHEMA}
    assert sample.fingerprint() == table(held, engine="numpy", schema=SCHEMA).fingerprint()
    assert sample.identity().column_digests == table(held, schema=SCHEMA).identity().column_digests


def arrow() -> pa.Table:
    return engines.arrow(HELD, SCHEMA).drop(["row"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("rows")
    pq.write_table(arrow(), made / "a.parquet", row_group_size=50)
    return made


@pytest.mark.parametrize("place", ["lists", "numpy", "arrow", "pandas", "parquet", "duckdb", "duckdb-table"])
def test_samples_agree(place: str, folder: Path) -> None:
    lists = {c.name: [row[c.name] for row in HELD] for c in SCHEMA}
    match place:
        case "lists" | "numpy":
            agree(table(lists, schema=SCHEMA, engine="numpy" if place == "numpy" else "polars"))
        case "arrow":
            agree(table(arrow(), schema=SCHEMA))
        case "pandas":
            import pandas as pd

            agree(table(arrow().to_pandas(types_mapper=pd.ArrowDtype), schema=SCHEMA))
        case "parquet":
            agree(table(folder / "a.parquet", schema=SCHEMA))
        case "duckdb":
            agree(table(folder / "a.parquet", schema=SCHEMA, engine="duckdb"))
        case _:
            import duckdb

            with duckdb.connect(str(folder / "a.duckdb")) as connection:
                connection.register("held", arrow())
                connection.execute("create table rows as select * from held")
            agree(table(folder / "a.duckdb", table="rows", schema=SCHEMA))


def test_csv_files_agree(folder: Path) -> None:
    """Without the column of texts, whose quotes are another matter."""
    import polars as pl

    frame = pl.DataFrame(pl.from_arrow(arrow())).drop("s", "odd name-%s")
    text = frame.with_columns(
        pl.col("z").dt.strftime("%Y-%m-%dT%H:%M:%S%.6f%:z"), pl.col("t", "u").dt.strftime("%Y-%m-%d %H:%M:%S%.6f")
    )
    text.write_csv(folder / "a.csv", float_scientific=None)
    schema = Schema([column for column in SCHEMA if column.name in frame.columns])
    asked = [one for one in ASKED if not {"s"} & set(one.plan(SCHEMA).columns)]
    meant = [tuple(of_rows(one, ROWS, SCHEMA)) for one in asked]
    held = table({c.name: [row[c.name] for row in HELD] for c in schema}, schema=schema)
    for engine in ("polars", "duckdb"):
        with table(folder / "a.csv", schema=schema, engine=engine) as sample:  # type: ignore[arg-type]
            assert [tuple(one) for one in sample.measure(asked)] == meant
            assert sample.fingerprint() == held.fingerprint()


@pytest.mark.parametrize(
    ("kind", "cell", "said"),
    [
        ("date", "2020-02-30", "a date such as 2020-12-31"),
        ("date", "31.12.2020", "a date such as 2020-12-31"),
        ("timestamp", "2020-12-31", "a timestamp such as 2020-12-31 23:59:59"),
        ("timestamp", "2020-12-31 10:00:00Z", "a timestamp such as"),
        ("timestamp", "2020-12-31 25:00:00", "a timestamp such as"),
        ("timestamptz", "2020-12-31 10:00:00", "a timestamp with its zone such as"),
    ],
)
def test_cells_of_another_form_are_refused(tmp_path: Path, kind: str, cell: str, said: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"a,b\n,1\n{cell},2\n")
    for engine in ("polars", "duckdb"):
        with pytest.raises(SampleUnavailable, match=f"line 3: column 'a' must hold {said}"):
            table(path, schema={"a": kind}, engine=engine)  # type: ignore[arg-type]
    assert table(path).schema["a"].kind == "text"


def test_postgres_agrees(postgres_url: str) -> None:
    engines.fill_postgres(postgres_url, HELD, SCHEMA)
    with table(postgres_url, table="rows", schema=SCHEMA) as sample:
        agree(sample)


def test_odd_values_of_postgres(postgres_url: str) -> None:
    """Infinite dates and numbers are NULL, enumerations are texts, and the zone of the session changes nothing."""
    import psycopg

    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create type mood as enum ('sad', 'glad')")
        connection.execute("create table odd (d date, t timestamp, z timestamptz, n numeric, e mood)")
        connection.execute("set time zone 'Asia/Kathmandu'")
        connection.execute(
            "insert into odd values ('infinity', '-infinity', 'infinity', 'NaN', 'sad'), "
            "('4000-01-01 BC', '4000-01-01 BC', '2020-01-01 00:00:00+00', 12.34, 'glad')"
        )
        name = postgres_url.rsplit("/", 1)[1]
        connection.execute(f"alter database {name} set time zone 'Asia/Kathmandu'")  # type: ignore[call-overload]
    with table(postgres_url, table="odd") as sample:
        kinds = {column.name: column.kind for column in sample.schema}
        assert kinds == {"d": "date", "t": "timestamp", "z": "timestamptz", "n": "number", "e": "text"}
        texts = ["d is null", "t is null", "z is null", "n is null", "hour(z) = 0", "n = 12.34", "e = 'glad'"]
        assert [next(iter(one)) for one in sample.measure([Count(text) for text in texts])] == [2, 2, 1, 1, 1, 1, 1]
        assert sample.fingerprint()


def test_odd_values_of_duckdb(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("create table odd (d date, t timestamp, m timestamp_ms, z timestamptz, n decimal(38, 2))")
        connection.execute(
            "insert into odd values ('infinity', '-infinity', null, 'infinity', 1.1), "
            "('4000-01-01 (BC)', '2020-01-01 01:00:00', '2020-01-01 02:00:00.5', '2020-01-01 00:00:00+00', 12.34)"
        )
    with table(tmp_path / "a.duckdb", table="odd") as sample:
        texts = ["d is null", "t is null", "z is null", "hour(m) = 2", "hour(z) = 0", "n = 12.34"]
        assert [next(iter(one)) for one in sample.measure([Count(text) for text in texts])] == [2, 1, 1, 1, 1, 1]


@pytest.mark.xdist_group("spark")
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_spark_agrees(spark_session: Any, folder: Path) -> None:
    spark_session.conf.set("spark.sql.codegen.wholeStage", "false")
    before = spark_session.conf.get("spark.sql.session.timeZone")
    try:
        spark_session.conf.set("spark.sql.session.timeZone", "America/New_York")  # it changes nothing
        with table(str(folder / "a.parquet"), engine="spark", session=spark_session, schema=SCHEMA) as sample:
            agree(sample, ASKED[:9])
    finally:
        spark_session.conf.set("spark.sql.session.timeZone", before)
        spark_session.conf.unset("spark.sql.codegen.wholeStage")


@pytest.mark.parametrize("engine", ["numpy", "polars"])
@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_a_declared_column_that_has_no_value_keeps_its_kind(engine: Any, kind: str) -> None:
    sample = table({"v": [None, None], "w": [1, 2]}, schema={"v": f"{kind} null", "w": "integer"}, engine=engine)
    assert sample.schema["v"].kind == kind
    assert sample.measure([Count("v is null")]) == [(2,)]


def test_parts_of_a_microsecond_are_dropped_and_gaps_are_missing() -> None:
    import numpy as np
    import pandas as pd

    stamps = np.array([-1, 1_999, "NaT"], dtype="datetime64[ns]")
    found = [
        table({"t": stamps}, engine="numpy"),
        table({"t": stamps}),
        table(pd.DataFrame({"t": stamps})),
        table({"t": stamps.astype("datetime64[ns]")}, schema={"t": "timestamp null"}),
    ]
    for sample in found:
        texts = ["t < timestamp '1970-01-01 00:00:00'", "t = timestamp '1970-01-01 00:00:00.000001'", "t is null"]
        assert [next(iter(one)) for one in sample.measure([Count(text) for text in texts])] == [1, 1, 1]
    assert len({sample.fingerprint() for sample in found}) == 1


def test_timestamps_with_and_without_a_zone_are_two_kinds() -> None:
    from datetime import UTC, datetime

    naive, zoned = datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)
    for engine in ("numpy", "polars"):
        with pytest.raises(
            InvalidParameter, match="must have either only timestamps with a time zone or only timestamps"
        ):
            table({"t": [naive, zoned]}, engine=engine)  # type: ignore[arg-type]
        declared = table({"t": [naive]}, schema={"t": "timestamptz"}, engine=engine)  # type: ignore[arg-type]
        assert declared.fingerprint() == table({"t": [zoned]}, engine=engine).fingerprint()  # type: ignore[arg-type]
        assert declared.fingerprint() != table({"t": [naive]}, engine=engine).fingerprint()  # type: ignore[arg-type]
