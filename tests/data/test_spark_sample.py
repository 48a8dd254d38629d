"""Samples behind Spark, on a cluster of two worker processes."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from holdfast.data import Schema, table
from holdfast.data.statistics import Count, FixedSum
from holdfast.errors import InvalidParameter, SampleUnavailable
from tests.data import kept
from tests.data.test_same_everywhere import HELD, agree

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: pyspark leaves sockets to be collected.
pytestmark = [
    pytest.mark.xdist_group("spark"),
    pytest.mark.filterwarnings(
        "ignore:unclosed <socket:ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
    ),
]


def test_two_hundred_questions_on_spark(spark_session: SparkSession, tmp_path: Path) -> None:
    sample = table(kept.parquet(tmp_path / "a.parquet", HELD), engine="spark", session=spark_session)
    assert sample.engine == "spark"
    agree(sample)


def test_a_data_frame_is_read_by_both_workers(spark_session: SparkSession, tmp_path: Path) -> None:
    rows = spark_session.read.parquet(str(kept.parquet(tmp_path / "a.parquet", HELD))).repartition(4)

    def workers(parts: Any) -> Any:
        import pyarrow as pa

        for _ in parts:
            yield pa.record_batch({"worker": pa.array([os.getppid()], pa.int64())})

    seen = {row[0] for row in rows.mapInArrow(workers, "worker bigint").collect()}
    assert len(seen - {os.getpid()}) == 2
    agree(table(rows), 10)


def test_fingerprint_and_sketch_are_made_by_the_workers(spark_session: SparkSession, tmp_path: Path) -> None:
    random = Random(3)
    schema = Schema({"id": "integer", "x": "number", "s": "text"})
    ids = random.sample(range(10**9), 20_000)
    rows = [{"id": i, "x": random.gauss(0, 1), "s": random.choice(["a", "b", None])} for i in ids]
    path = kept.parquet(tmp_path / "people.parquet", rows, schema)
    here, there = table(path, row_key="id"), table(path, engine="spark", row_key="id", session=spark_session)
    assert here.fingerprint() == there.fingerprint()
    assert here.key_sketch() == there.key_sketch()
    parts = list(there.batches(["id"]))
    assert sorted(int(i) for part in parts for i in part["id"][0]) == sorted(ids)  # type: ignore[union-attr]


def test_changes_under_a_running_sample(spark_session: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    asked = [FixedSum("x"), Count("x > 1")]

    def changed(frame: pl.DataFrame) -> str:
        pl.DataFrame({"x": [1.0, 2.0], "s": ["secret", "b"]}).write_parquet(path)
        sample = table(path, engine="spark", session=spark_session)
        sample.measure(asked)
        frame.write_parquet(path)
        with pytest.raises(SampleUnavailable) as error:
            sample.measure(asked)
        assert "secret" not in str(error.value)
        return str(error.value)

    assert "no longer has the rows" in changed(pl.DataFrame({"x": ["secret", "b"], "s": ["a", "b"]}))
    assert "no longer has the rows" in changed(pl.DataFrame({"s": ["a", "b"]}))
    assert "no longer has the rows" in changed(pl.DataFrame({"x": [1.0, 2.0, 3.0], "s": ["a", "b", "secret"]}))
    sample = table(path, engine="spark", session=spark_session)
    path.write_bytes(b"not a file of this sort")
    with pytest.raises(SampleUnavailable, match="could not read"):
        sample.measure(asked)
    path.unlink()
    with pytest.raises(SampleUnavailable, match="could not read"):
        sample.measure(asked)
    with pytest.raises(SampleUnavailable, match="could not read"):
        table(path, engine="spark", session=spark_session)


def test_kinds_of_columns(spark_session: SparkSession) -> None:
    frame = spark_session.sql(
        "select cast(1 as tinyint) a, cast(2.5 as float) b, date'2020-01-01' d, cast(1.5 as decimal(5, 2)) e, "
        "'x' collate utf8_lcase as f, 'y' as g"
    )
    assert table(frame).schema == Schema({"a": "integer", "b": "number", "g": "text"})
    with pytest.raises(InvalidParameter, match="which is a decimal"):
        table(frame, schema={"e": "number"})
    with pytest.raises(InvalidParameter, match="collate"):
        table(frame, schema={"f": "text"})
    with pytest.raises(InvalidParameter, match="engine must be spark"):
        table(frame, engine="polars")
