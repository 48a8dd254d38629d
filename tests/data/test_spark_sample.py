"""Samples behind Spark, on a cluster of two worker processes."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from holdfast.data import Schema, identity, table
from holdfast.data.engines.spark_sample import SparkSample
from holdfast.data.restricted import drawn
from holdfast.data.statistics import Count, FixedSum
from holdfast.errors import InvalidParameter, SampleUnavailable
from holdfast.guard import Board
from holdfast.guard.scoring.tally import tally
from tests.data import kept
from tests.data.test_many_files import PARTS
from tests.data.test_same_everywhere import HELD, differing

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
    assert differing(sample) == []


def test_a_data_frame_is_read_by_both_workers(spark_session: SparkSession, tmp_path: Path) -> None:
    rows = spark_session.read.parquet(str(kept.parquet(tmp_path / "a.parquet", HELD))).repartition(4)

    def workers(parts: Any) -> Any:
        import pyarrow as pa

        for _ in parts:
            yield pa.record_batch({"worker": pa.array([os.getppid()], pa.int64())})

    seen = {row[0] for row in rows.mapInArrow(workers, "worker bigint").collect()}
    assert len(seen - {os.getpid()}) == 2
    assert differing(table(rows), 10) == []


def test_fingerprint_and_sketch_are_made_by_the_workers(spark_session: SparkSession, tmp_path: Path) -> None:
    random = Random(3)
    schema = Schema({"id": "integer", "x": "number", "s": "text"})
    ids = random.sample(range(10**9), 20_000)
    rows = [{"id": i, "x": random.gauss(0, 1), "s": random.choice(["a", "b", None])} for i in ids]
    path = kept.parquet(tmp_path / "people.parquet", rows, schema)
    here, there = table(path, row_key="id"), table(path, engine="spark", row_key="id", session=spark_session)
    assert here.fingerprint() == there.fingerprint()
    assert here.key_sketch() == there.key_sketch()
    assert set(there.identity().column_digests) == {"id", "x"}
    assert here.identity().column_digests == there.identity().column_digests
    parts = list(there.batches(["id"]))
    assert sorted(int(i) for part in parts for i in part["id"][0]) == sorted(ids)  # type: ignore[union-attr]


def test_scores_are_added_up_by_the_workers(
    spark_session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all rows and of the explored ones; no row comes here."""
    random = Random(4)
    rows = [{"id": i, "rich": random.random() < 0.4, "pay": random.gauss(50, 20)} for i in range(2_000)]
    schema = Schema({"id": "integer not null", "rich": "boolean not null", "pay": "number not null"})
    path = kept.parquet(tmp_path / "people.parquet", rows, schema)
    here, there = table(path), table(path, engine="spark", session=spark_session)
    salt = "a" * 32
    pairs = [(here, there), (drawn(here, "id", salt, [0.3]), drawn(there, "id", salt, [0.3]))]
    monkeypatch.setattr(type(there), "batches", None)
    for board in (
        Board("accuracy", key="id", label="rich", metric="accuracy"),
        Board("auc", key="id", label="rich", metric="auc"),
        Board("mae", key="id", label="pay", metric="mae", low=0, high=100),
    ):
        values = [random.random() < 0.4 if board.metric == "accuracy" else random.random() for _ in range(1_500)]
        counted = tally(board, schema, dict(enumerate(values)))

        def add(before: Any, batch: Any, counted: Any = counted, label: str = board.label) -> Any:
            return counted.add(before, batch["id"], batch[label])

        for one, other in pairs:
            wanted = one.total(("id", board.label), counted.start, add).tolist()
            assert other.total(("id", board.label), counted.start, add).tolist() == wanted
            assert wanted[-1] == one.n


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
    with pytest.raises(SampleUnavailable, match="no longer has the rows"):
        sample.measure(asked)
    with pytest.raises(SampleUnavailable):
        table(path, engine="spark", session=spark_session)
    path.unlink()
    with pytest.raises(SampleUnavailable, match="no longer has the rows"):
        sample.measure(asked)
    with pytest.raises(SampleUnavailable, match="could not read"):
        table(path, engine="spark", session=spark_session)


@pytest.mark.parametrize("place", ["a.parquet", "folder/a.parquet", "folder/day=1/a.parquet"])
def test_a_file_that_is_rewritten_with_its_old_time_is_noticed(
    spark_session: SparkSession, tmp_path: Path, place: str
) -> None:
    """The same number of rows of the same types, and the time of the last change restored."""
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"x": [1.0, 2.0]}).write_parquet(path)
    source = path if place == "a.parquet" else tmp_path / "folder"
    with table(source, engine="spark", session=spark_session, row_key="x") as sample:
        assert sample.measure([Count("x > 1")]) == [(1,)]
        before = path.stat()
        pl.DataFrame({"x": [3.0, 4.0]}).write_parquet(path)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert path.stat().st_mtime_ns == before.st_mtime_ns
        for read in (
            lambda: sample.measure([Count("x > 1")]),
            lambda: list(sample.batches(["x"])),
            sample.fingerprint,
            sample.key_sketch,
        ):
            with pytest.raises(SampleUnavailable, match="no longer has the rows"):
                read()


@pytest.mark.parametrize("change", ["added", "removed", "truncated"])
def test_what_happens_to_one_of_many_files_is_noticed(spark_session: SparkSession, tmp_path: Path, change: str) -> None:
    for at in range(2):
        pl.DataFrame({"x": [1.0, 2.0 + at]}).write_parquet(tmp_path / f"{at}.parquet")
    part = tmp_path / "1.parquet"
    with table(tmp_path, engine="spark", session=spark_session) as sample:
        assert sample.measure([Count("x > 1")]) == [(2,)]
        if change == "added":
            (tmp_path / "2.parquet").write_bytes(part.read_bytes())
        elif change == "removed":
            part.unlink()
        else:
            os.truncate(part, part.stat().st_size - 7)
        for ask in (lambda: sample.measure([Count("x > 1")]), sample.fingerprint):
            with pytest.raises(SampleUnavailable, match="no longer has the rows"):
                ask()


def test_files_that_are_known_are_not_read_through_again(
    spark_session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "remembered"))
    monkeypatch.setattr(identity, "SETTLED", -3600.0)
    path = kept.parquet(tmp_path / "people.parquet", HELD)

    def facts() -> tuple[object, ...]:
        with table(path, engine="spark", session=spark_session, row_key="i") as sample:
            return sample.schema, sample.n, sample.identity(), sample.key_sketch()

    first = facts()
    monkeypatch.setattr(SparkSample, "_handed", None)
    assert facts() == first


def test_kinds_of_columns(spark_session: SparkSession) -> None:
    frame = spark_session.sql(
        "select cast(1 as tinyint) a, cast(2.5 as float) b, date'2020-01-01' d, cast(1.5 as decimal(5, 2)) e, "
        "'x' collate utf8_lcase as f, 'y' as g, interval 1 day as h"
    )
    kinds = {"a": "integer", "b": "number", "d": "date", "e": "number", "g": "text"}
    assert table(frame).schema == Schema({name: f"{kind} not null" for name, kind in kinds.items()})
    with pytest.raises(InvalidParameter, match="whose type interval day cannot be read"):
        table(frame, schema={"h": "number"})
    with pytest.raises(InvalidParameter, match="collate"):
        table(frame, schema={"f": "text"})
    with pytest.raises(InvalidParameter, match="engine must be spark"):
        table(frame, engine="polars")


def test_parquet_files_of_different_forms_are_refused(spark_session: SparkSession, tmp_path: Path) -> None:
    """In the words of the other engines where the files are here, and in those of Spark in folders of folders."""
    for held in (tmp_path / "here", tmp_path / "there"):
        inner = held if held.name == "here" else held / "day=1"
        inner.mkdir(parents=True)
        for at, other in enumerate(({"x": [1, 2]}, {"x": [2.5, 3.5]})):
            pl.DataFrame(other).write_parquet(inner / f"{at}.parquet")
        with pytest.raises(InvalidParameter, match="must have the same columns of the same types, and column 'x' is"):
            table(held, engine="spark", session=spark_session)
        pl.DataFrame({"x": [3, 4], "y": [1, 1]}).write_parquet(inner / "1.parquet")
        with pytest.raises(
            InvalidParameter, match=r"and column 'y' is not there and|and column 'y' is .* and not there"
        ):
            table(held, engine="spark", session=spark_session)
        pl.DataFrame({"x": [3, 4]}).write_parquet(inner / "1.parquet")
        assert table(held, engine="spark", session=spark_session).n == 4


def test_a_folder_has_the_rows_that_it_has_for_the_others(spark_session: SparkSession, tmp_path: Path) -> None:
    pl.DataFrame({"x": [1, 2]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"x": [3]}).write_parquet(tmp_path / "b.pq")
    (tmp_path / "README").write_text("not rows")
    here, there = table(tmp_path), table(tmp_path, engine="spark", session=spark_session)
    assert (there.n, there.fingerprint()) == (here.n, here.fingerprint())


def test_what_the_other_engines_refuse_is_not_read_in_another_way(spark_session: SparkSession, tmp_path: Path) -> None:
    """Spark would read every Parquet file below a folder: those of deleted rows and of earlier versions too."""
    import deltalake

    rows = pl.DataFrame({"x": [1, 2, 3]})
    deleted, emptied, linked, uneven = (tmp_path / name for name in ("deleted", "emptied", "linked", "uneven"))
    deltalake.write_deltalake(str(deleted), rows.to_arrow(), configuration={"delta.enableDeletionVectors": "true"})
    deltalake.write_deltalake(str(emptied), rows.to_arrow())
    deltalake.DeltaTable(str(emptied)).delete()
    for folder in (linked, uneven / "year=1", uneven / "year=2" / "month=3"):
        folder.mkdir(parents=True)
        rows.write_parquet(folder / "a.parquet")
    noted = tmp_path / "noted"
    (noted / "metadata").mkdir(parents=True)
    (noted / "metadata" / "v1.metadata.json").write_text("{}")
    rows.write_parquet(noted / "a.parquet")
    os.link(linked / "a.parquet", linked / "b.parquet")
    for place, said in (
        (deleted, "must not be a Delta Lake table with deletion vectors"),
        (emptied, "must have at least one row"),
        (linked, "must name each file once"),
        (uneven, "source must have the same columns in the folder names of all files"),
        (f"file://{emptied}", "must not be the folder of a table of delta"),  # as one of a store that Spark alone knows
        (f"file://{noted}", "must not be the folder of a table of iceberg"),
    ):
        with pytest.raises(InvalidParameter, match=said):
            table(place, engine="spark", session=spark_session)
    with table(f"file://{uneven / 'year=1'}", engine="spark", session=spark_session) as sample:
        assert sample.measure([Count("x > 1")]) == [(2,)]


def test_columns_that_folders_hold_are_those_of_the_other_engines(spark_session: SparkSession, tmp_path: Path) -> None:
    """In all the types of the schema of Delta Lake, missing values and what folders write in another way among them."""
    import deltalake
    import pyarrow as pa

    held = pl.DataFrame({"x": [1, 2, 3], **PARTS}).to_arrow(compat_level=pl.CompatLevel.oldest())
    at = held.column_names.index("price")
    held = held.set_column(at, "price", held.column("price").cast(pa.decimal128(10, 2)))
    place = tmp_path / "people"
    deltalake.write_deltalake(str(place), held, partition_by=list(PARTS))
    truth = table(deltalake.DeltaTable(str(place)).to_pyarrow_table())
    asked = [Count(f"{name} is null") for name in PARTS] + [Count("town = 'c/d'"), Count("zip = '007'")]
    for engine in ("polars", "duckdb", "spark"):
        session = spark_session if engine == "spark" else None
        with table(place, engine=engine, session=session) as sample:  # type: ignore[arg-type]
            assert sample.schema == truth.schema
            assert sample.fingerprint() == truth.fingerprint()
            assert sample.measure(asked) == truth.measure(asked)


def test_kinds_of_parquet_columns_are_those_of_the_other_engines(spark_session: SparkSession, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "a.parquet"
    held = {
        "i": pa.array([1], pa.uint32()),
        "span": pa.array([1], pa.duration("us")),
        "big": pa.array([1], pa.uint64()),
    }
    pq.write_table(pa.table(held), path)
    assert table(path, engine="spark", session=spark_session).schema == table(path).schema
    assert table(path).schema.names == ("i",)
    broken = pa.Array.from_buffers(pa.string(), 2, pa.array([b"a", b"\xff\xfe"], pa.binary()).buffers())
    pq.write_table(pa.table({"x": [1, 2], "s": broken}), path)
    with pytest.raises(SampleUnavailable, match="must have texts in UTF-8, and some are not"):
        table(path, engine="spark", session=spark_session)


def test_workers_without_holdfast_are_named(spark_session: SparkSession) -> None:
    """What Spark says of a program that is not there has its path in it; ours says what to set."""
    from pyspark.errors import PySparkException

    from holdfast.data.engines.spark_sample import _reading

    for words in ('Cannot run program "python9"', "[PYTHON_VERSION_MISMATCH] secret", "ModuleNotFoundError: holdfast"):
        with pytest.raises(SampleUnavailable, match=r"could not run Holdfast; .* and set PYSPARK_PYTHON"), _reading():
            raise PySparkException(words)
