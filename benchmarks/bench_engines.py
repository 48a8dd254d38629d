"""Samples at their engines' best: questions against statements by hand, fingerprints against a scan, scores on Spark.

Each question has its counterpart as somebody would write it for that engine, and what is compared with is the fastest
of a few ways to put these into statements. Both are measured in turn.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl

from benchmarks.timing import LIMIT, Row, at_most, best_of
from holdfast.data import Sample, table
from holdfast.data.statistics import FixedSum

COUNTS = (100, 1_000)
ROWS = 1_000_000
FACTORS = {"polars": 1.3, "duckdb": 1.3, "postgres": 1.1, "spark": 1.5}
"""How many times the best time by hand a batch of questions may take."""
MOST_SCANS = 10
"""Statements for a thousand questions where a scan is what costs."""
COLUMNS, COLUMNS_ROWS, COLUMNS_FACTOR = 5_000, 2_000, 100.0
LARGE_ROWS = 20_000_000
SCAN_FACTOR, UNCHANGED_SECONDS = 3.0, 0.1
SCORED = (1_000_000, 10_000_000)
SCORED_GROWTH = 15.0
"""How many times longer ten times the rows may take to score."""

Run = Callable[[], object]


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, mock.patch.dict(os.environ, {"HOLDFAST_CACHE": f"{folder}/known"}):
        place = Path(folder)
        frame = rows_of(ROWS)
        path = place / "rows.parquet"
        frame.write_parquet(path)
        return [
            *_polars(frame),
            *_duckdb(path),
            *_postgres(frame),
            *_spark(path, place),
            *_wide(place),
            *_fingerprints(place),
        ]


# --- Questions --------------------------------------------------------------------------------------------------------


def rows_of(count: int) -> pl.DataFrame:
    """Eight columns of numbers and four of whole numbers."""
    random = np.random.default_rng(1)
    numbers = {f"x{at}": random.normal(size=count) for at in range(8)}
    return pl.DataFrame(numbers | {f"k{at}": random.integers(0, 100, count) for at in range(4)})


def questions(count: int) -> list[FixedSum]:
    """Half are means of truth values, half of clipped numbers."""
    return [
        FixedSum(f"{one} > {cut} and {key} < {low}") if at % 2 else FixedSum(f"{one} * {other} + {cut}", -3, 3)
        for at, (one, other, key, cut, low) in enumerate(_parts(count))
    ]


def by_hand(count: int) -> list[pl.Expr]:
    """The same in polars, as one would write them."""
    return [
        ((pl.col(one) > cut) & (pl.col(key) < low)).mean().alias(str(at))
        if at % 2
        else (pl.col(one) * pl.col(other) + cut).clip(-3, 3).mean().alias(str(at))
        for at, (one, other, key, cut, low) in enumerate(_parts(count))
    ]


def in_sql(count: int, double: str) -> list[str]:
    """The same in SQL; `double` is what the engine puts behind a number to make it a double."""
    return [
        f"avg(case when {one} > {cut}{double} and {key} < {low} then 1.0{double} else 0.0{double} end)"
        if at % 2
        else f"avg(least(greatest({one} * {other} + {cut}{double}, -3.0{double}), 3.0{double}))"
        for at, (one, other, key, cut, low) in enumerate(_parts(count))
    ]


def _parts(count: int) -> Iterator[tuple[str, str, str, float, int]]:
    for at in range(count):
        yield f"x{at % 8}", f"x{(3 * at + 1) % 8}", f"k{at % 4}", (at % 50) / 25 - 1, at % 90


def _compared(engine: str, count: int, ours: Run, theirs: dict[str, Run], rounds: int) -> Row:
    """A row: ours against the fastest of some ways by hand."""
    best, best_of_theirs = float("inf"), dict.fromkeys(theirs, float("inf"))
    for _ in range(rounds):
        best = min(best, best_of(ours, repeats=1))
        for way, run in theirs.items():
            best_of_theirs[way] = min(best_of_theirs[way], best_of(run, repeats=1))
    way = min(best_of_theirs, key=best_of_theirs.__getitem__)
    row = at_most(
        f"{count:,} questions, {ROWS:,} rows, {engine}", FACTORS[engine], best, "by hand", best_of_theirs[way]
    )
    return replace(row, detail=f"{best / best_of_theirs[way]:.2f} times {way}")


def _chunks(expressions: Sequence[str], size: int, source: str, run: Callable[[str], object]) -> Run:
    statements = [
        f"select {', '.join(expressions[start : start + size])} from {source}"
        for start in range(0, len(expressions), size)
    ]
    return lambda: [run(statement) for statement in statements]


# --- Engines ----------------------------------------------------------------------------------------------------------


def _polars(frame: pl.DataFrame) -> list[Row]:
    found = []
    with table(frame) as sample:
        for count in COUNTS:
            asked, hand = questions(count), by_hand(count)
            ways: dict[str, Run] = {
                "eager": lambda hand=hand: frame.select(hand),  # type: ignore[misc]
                "streaming": lambda hand=hand: frame.lazy().select(hand).collect(engine="streaming"),  # type: ignore[misc]
            }
            found.append(_compared("polars", count, lambda asked=asked: sample.measure(asked), ways, 3))  # type: ignore[misc]
    return found


def _duckdb(path: Path) -> list[Row]:
    import duckdb

    found = []
    with duckdb.connect() as connection, table(path, engine="duckdb") as sample:
        for count in COUNTS:
            asked, hand = questions(count), in_sql(count, "::double")

            def run(statement: str) -> object:
                return connection.execute(statement).fetchall()

            ways = {f"{size} at once": _chunks(hand, size, f"'{path}'", run) for size in (8, 64, 128) if size <= count}
            found.append(_compared("duckdb", count, lambda asked=asked: sample.measure(asked), ways, 2))  # type: ignore[misc]
    return found


def _postgres(frame: pl.DataFrame) -> list[Row]:
    import psycopg
    from tests.services.postgres import running

    kinds = {pl.Float64: "double precision", pl.Int64: "bigint"}
    columns = ", ".join(f"{name} {kinds[type(type_)]}" for name, type_ in frame.schema.items())
    found = []
    with (
        running() as server,
        psycopg.connect(server.url(), autocommit=True) as connection,
        connection.cursor() as cursor,
    ):
        cursor.execute(f"create table rows ({columns})")  # type: ignore[call-overload]
        with cursor.copy("copy rows from stdin (format csv)") as copy:
            copy.write(frame.write_csv(include_header=False))
        cursor.execute("vacuum analyze rows")
        with table(server.url(), table="rows") as sample:
            for count in COUNTS:
                asked, hand = questions(count), in_sql(count, "::float8")

                def as_it_comes(statement: str) -> object:
                    cursor.execute("set jit = on")
                    return cursor.execute(statement).fetchall()  # type: ignore[call-overload]

                def interpreted(statement: str) -> object:
                    cursor.execute("set jit = off")
                    return cursor.execute(statement).fetchall()  # type: ignore[call-overload]

                ways = {
                    "32 at once": _chunks(hand, 32, "rows", as_it_comes),
                    "100 at once, not compiled": _chunks(hand, 100, "rows", interpreted),
                }
                found.append(
                    _compared("postgres", count, lambda asked=asked: sample.measure(asked), ways, 1 + (count < 500))  # type: ignore[misc]
                )
    return found


@contextmanager
def _session(folder: Path) -> Iterator[Any]:
    """A session of Spark on this machine, with two threads."""
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder),
        "spark.ui.showConsoleProgress": "false",
    }
    builder = SparkSession.builder.master("local[2]").appName("holdfast-benchmarks")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        session.stop()


def _spark(path: Path, folder: Path) -> list[Row]:
    from holdfast.data.engines.spark_sample import SparkSample
    from holdfast.data.engines.sql_statements import bundles
    from holdfast.data.statistics.request import passes

    found = []
    with _session(folder) as session, table(path, engine="spark", session=session) as sample:
        session.read.parquet(str(path)).createOrReplaceTempView("rows")
        for count in COUNTS:
            asked, hand = questions(count), in_sql(count, "D")

            def run(statement: str) -> object:
                return session.sql(statement).collect()

            ways = {f"{size} at once": _chunks(hand, size, "rows", run) for size in (50, 100)}
            # Java compiles what has run often: the first rounds are slower, ours before theirs.
            found.append(
                _compared("spark", count, lambda asked=asked: sample.measure(asked), ways, 2 + 2 * (count < 500))  # type: ignore[misc]
            )
        work = list(passes([one.plan(sample.schema) for one in questions(1_000)], SparkSample.at_once))
        scans = len(list(bundles(work, SparkSample.at_once)))
        claim, ok = f"at most {MOST_SCANS} scans", scans <= MOST_SCANS
        found.append(Row("scans of Spark for 1,000 questions", float(scans), LIMIT, MOST_SCANS, claim, ok, f"{scans}"))
        return [*found, *_scores(session, folder)]


def _scores(session: Any, folder: Path) -> list[Row]:
    """A submission with a prediction for every row."""
    from holdfast.guard import Board
    from holdfast.guard.scoring.tally import tally

    board, seconds = Board("accuracy", key="id", label="right", metric="accuracy"), []
    for count in SCORED:
        random, path = np.random.default_rng(4), folder / f"labels-{count}.parquet"
        pl.DataFrame({"id": np.arange(count), "right": random.random(count) < 0.5}).write_parquet(
            path, row_group_size=1_000_000
        )
        given = {"keys": np.arange(count), "predictions": random.random(count) < 0.5}
        with table(path, engine="spark", session=session) as sample:
            counted = tally(board, sample.schema, given)

            def add(before: Any, batch: Any, counted: Any = counted) -> Any:
                return counted.add(before, batch["id"], batch["right"])

            def score(sample: Sample = sample, counted: Any = counted, add: Any = add) -> object:
                return sample.total(("id", "right"), counted.start, add)

            seconds.append(best_of(score, repeats=2))
    growth = seconds[1] / seconds[0]
    what = f"scoring {SCORED[1]:,} rows on Spark"
    return [
        Row(
            what,
            seconds[1],
            f"{SCORED[0]:,} rows",
            seconds[0],
            f"at most {SCORED_GROWTH:g} times as long",
            growth <= SCORED_GROWTH,
            f"{growth:.1f} times",
        )
    ]


# --- Columns and rows -------------------------------------------------------------------------------------------------


def _wide(folder: Path) -> list[Row]:
    """One question for each of thousands of columns."""
    random, path = np.random.default_rng(2), folder / "wide.parquet"
    pl.DataFrame({f"c{at}": random.random(COLUMNS_ROWS) for at in range(COLUMNS)}).write_parquet(path)
    asked = [FixedSum(f"c{at}") for at in range(COLUMNS)]

    def opened_and_asked(engine: Any) -> None:
        with table(path, engine=engine) as sample:
            sample.measure(asked)

    ours, theirs = (
        best_of(lambda engine=engine: opened_and_asked(engine), repeats=1) for engine in ("duckdb", "polars")
    )  # type: ignore[misc]
    return [at_most(f"{COLUMNS:,} columns opened and asked about, DuckDB", COLUMNS_FACTOR, ours, "polars", theirs)]


def write_mixed(path: Path, count: int) -> None:
    """Numbers, whole numbers, texts and truth values, a million rows at a time."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    random, towns = np.random.default_rng(3), np.array([f"town {at}" for at in range(50)])
    with ExitStack() as stack:
        writer: Any = None
        for start in range(0, count, 1_000_000):
            many = min(1_000_000, count - start)
            part = pa.table(
                {
                    "x": random.normal(size=many),
                    "y": random.random(many),
                    "id": random.integers(0, 10**9, many),
                    "age": random.integers(0, 100, many),
                    "town": towns[random.integers(0, 50, many)],
                    "rich": random.random(many) < 0.5,
                }
            )
            writer = writer or stack.enter_context(pq.ParquetWriter(path, part.schema))
            writer.write_table(part)


def _fingerprints(folder: Path) -> list[Row]:
    """A fingerprint of many rows, and one of files that were read before."""
    path = folder / "mixed.parquet"
    write_mixed(path, LARGE_ROWS)
    long_ago = path.stat().st_mtime_ns - 10**12
    os.utime(path, ns=(long_ago, long_ago))

    def scan() -> object:
        return pl.scan_parquet(path).select(pl.all().max()).collect(engine="streaming")

    ours = theirs = float("inf")
    for _ in range(2):
        with mock.patch.dict(os.environ, {"HOLDFAST_CACHE": ""}), table(path) as sample:
            ours = min(ours, best_of(sample.fingerprint, repeats=1))
        theirs = min(theirs, best_of(scan, repeats=1))
    with mock.patch("holdfast.data.identity.SETTLED", -1.0):
        table(path).fingerprint()
        again = best_of(lambda: table(path).fingerprint(), repeats=3)
    first = at_most(f"fingerprint of {LARGE_ROWS:,} rows", SCAN_FACTOR, ours, "a scan of the same columns", theirs)
    claim = f"within {UNCHANGED_SECONDS:g} s"
    known = Row("the same where nothing changed", again, LIMIT, UNCHANGED_SECONDS, claim, again <= UNCHANGED_SECONDS)
    return [replace(first, detail=f"{ours / theirs:.2f} times"), known]
