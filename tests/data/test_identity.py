"""What is remembered of files, so that they are read through once: never anything of files that changed."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest

from holdfast.data import Sample, identity, table
from holdfast.data.engines.duckdb_sample import DuckDBSample
from holdfast.data.engines.ibis_sample import IbisSample
from holdfast.data.files import Files, FileState
from holdfast.data.statistics import Count
from holdfast.errors import SampleUnavailable
from tests.services.stores import Bucket


@pytest.fixture
def remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for what is remembered, at once: nobody writes into the files of these tests in the same moment."""
    folder = tmp_path / "remembered"
    monkeypatch.setenv("HOLDFAST_CACHE", str(folder))
    monkeypatch.setattr(identity, "SETTLED", -3600.0)
    return folder


def rows(count: int = 60, shift: int = 0) -> pl.DataFrame:
    """Rows with a running number, an informative column, a text and missing values."""
    return pl.DataFrame(
        {
            "id": range(count),
            "x": [float((at * at + shift) % 101) for at in range(count)],
            "s": ["ab"[at % 2] for at in range(count)],
            "gap": [None if at % 7 == 0 else at for at in range(count)],
        }
    )


def written(path: Path, frame: pl.DataFrame) -> Path:
    """A file of rows."""
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return path


def facts(sample: Sample) -> tuple[object, ...]:
    """Everything that may be remembered."""
    found = sample.identity()
    sketch = sample.key_sketch()
    return sample.schema.to_dict(), sample.n, found, sketch, sample.measure([Count("x > 20"), Count("gap is null")])


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_files_that_are_known_are_the_same_sample_without_being_read(
    tmp_path: Path,
    remembered: Path,
    engine: Literal["polars", "duckdb"],
    format: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = written(tmp_path / f"rows.{format}", rows())
    with table(path, engine=engine, row_key="id") as sample:
        first = facts(sample)
    assert stat.S_IMODE(remembered.stat().st_mode) == 0o700
    assert [stat.S_IMODE(entry.stat().st_mode) for entry in remembered.iterdir()] == [0o600]

    with monkeypatch.context() as patch:
        for place in ("polars_sample.PolarsSample.batches", "duckdb_sample.DuckDBSample.batches"):
            patch.setattr(f"holdfast.data.engines.{place}", never)
        for place in ("polars_sample.check_texts", "duckdb_sample.check_texts", "csv_files.examine"):
            prefix = "holdfast.data." if place.startswith("csv") else "holdfast.data.engines."
            patch.setattr(prefix + place, never)
        with table(path, engine=engine, row_key="id") as again:
            assert facts(again) == first


def never(*_: object, **__: object) -> Any:
    """What reads rows, where none may be read."""
    raise AssertionError("the rows were read")


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_tables_of_files_that_are_databases_are_remembered_and_their_views_are_not(
    tmp_path: Path, remembered: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    import duckdb

    path = tmp_path / f"rows.{kind}"
    held = rows()[["id", "x"]]
    for_reading = str(path) if kind == "duckdb" else f"sqlite://{path}"
    connect: Callable[[str], Any] = duckdb.connect if kind == "duckdb" else sqlite3.connect

    def execute(*statements: str) -> None:
        with closing(connect(str(path))) as connection:
            for statement in statements:
                connection.execute(statement)
            connection.commit()

    listed = ", ".join(f"({id_}, {x})" for id_, x in held.iter_rows())
    execute(
        "create table people (id bigint, x double)",
        f"insert into people values {listed}",
        "create view seen as select * from people",
        "create table other as select * from people where x > 20",
    )

    def facts(name: str) -> tuple[object, ...]:
        with table(for_reading, table=name, row_key="id") as sample:
            return sample.schema.to_dict(), sample.n, sample.identity(), sample.key_sketch()

    first, other, view = facts("people"), facts("other"), facts("seen")
    assert view == first != other
    assert len(list(remembered.iterdir())) == 2
    with monkeypatch.context() as patch:
        patch.setattr(DuckDBSample if kind == "duckdb" else IbisSample, "batches", never)
        assert (facts("people"), facts("other")) == (first, other)
        with pytest.raises(AssertionError, match="the rows were read"):
            facts("seen")
    execute("update people set x = x + 1 where id = 3")
    assert facts("people")[2] != first[2]
    with monkeypatch.context() as patch:  # the latest changes would be next to the file
        patch.setattr(DuckDBSample if kind == "duckdb" else IbisSample, "batches", never)
        patch.setattr(Files, "is_told_apart", False)
        with pytest.raises(AssertionError, match="the rows were read"):
            facts("people")


def test_files_in_a_store_are_remembered_by_a_tag_that_no_other_content_has(
    bucket: Bucket, remembered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put(frame: pl.DataFrame) -> str:
        buffer = io.BytesIO()
        frame.write_parquet(buffer)
        return bucket.put("rows.parquet", buffer.getvalue())

    address = put(rows())
    with table(address, row_key="id") as sample:
        first = facts(sample)
    assert not remembered.exists()  # it is not a minute old
    monkeypatch.setattr(identity, "SETTLED_ELSEWHERE", -3600.0)
    for weak in (True, False):
        with monkeypatch.context() as patch:
            if weak:
                patch.setattr(Files, "is_told_apart", False)
            with table(address, row_key="id") as sample:
                assert facts(sample) == first
            assert remembered.exists() is not weak
    with monkeypatch.context() as patch:
        patch.setattr("holdfast.data.engines.polars_sample.PolarsSample.batches", never)
        with table(address, row_key="id") as sample:
            assert facts(sample) == first
    put(rows(shift=1))
    with table(address, row_key="id") as sample:
        assert facts(sample)[2] != first[2]


@pytest.mark.parametrize(
    ("tag", "told"), [('"a1" None', True), ('W/"a1" None', False), ("None None", False), ("None v7", False)]
)
def test_a_tag_that_tells_one_content_from_another(tag: str, told: bool) -> None:
    assert (
        Files(("s3://b/a.parquet",), "parquet", (("s3://b/a.parquet", FileState(1, 1, tag=tag)),)).is_told_apart is told
    )


def test_a_database_with_changes_in_a_file_next_to_it_is_not_remembered(tmp_path: Path) -> None:
    for end in (".wal", "-wal", "-journal"):
        path = tmp_path / f"a{end}.db"
        path.write_bytes(b"rows")
        assert Files.database(path).is_told_apart
        path.with_name(path.name + end).write_bytes(b"more")
        assert not Files.database(path).is_told_apart


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_file_that_was_rewritten_with_its_old_time_is_read_again(
    tmp_path: Path, remembered: Path, engine: Literal["polars", "duckdb"]
) -> None:
    path = written(tmp_path / "rows.csv", rows())
    with table(path, engine=engine) as sample:
        before = sample.fingerprint()
    text, old = path.read_text(), path.stat()
    path.write_text(text.replace(",a,", ",b,", 1))
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns, path.stat().st_ino) == (
        old.st_size,
        old.st_mtime_ns,
        old.st_ino,
    )
    with table(path, engine=engine) as sample:
        assert sample.fingerprint() != before
    assert len(list(remembered.iterdir())) == 2


def test_what_is_declared_and_a_new_row_key_are_kept_apart(tmp_path: Path, remembered: Path) -> None:
    path = written(tmp_path / "rows.parquet", rows())
    with table(path) as everything, table(path, schema={"x": "number"}) as declared:
        assert everything.fingerprint() != declared.fingerprint()
    with table(path, schema={"x": "number"}) as declared:
        assert declared.schema.names == ("x",)
    with table(path, row_key="id") as keyed:
        by_id = keyed.key_sketch()
    with table(path, row_key="x") as keyed:
        assert keyed.key_sketch() != by_id
    for key in ("id", "x"):  # both are remembered
        with table(path, row_key=key) as keyed:
            assert (keyed.key_sketch() == by_id) is (key == "id")
    assert len(list(remembered.iterdir())) == 2


def test_a_part_of_a_folder_that_grew_or_was_cut_off_is_another_sample(tmp_path: Path, remembered: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    written(folder / "a.parquet", rows(40))
    with table(folder) as sample:
        before = sample.fingerprint()
    written(folder / "b.parquet", rows(20))
    with table(folder) as sample:
        assert (sample.n, sample.fingerprint() == before) == (60, False)
    (folder / "b.parquet").write_bytes((folder / "b.parquet").read_bytes()[:-40])
    with pytest.raises(SampleUnavailable):
        table(folder).fingerprint()


@pytest.mark.parametrize("damage", ["", "{", "[]", "null", '{"schema": {}}', '{"n": 1}'])
def test_a_damaged_entry_is_read_anew(tmp_path: Path, remembered: Path, damage: str) -> None:
    path = written(tmp_path / "rows.parquet", rows())
    with table(path) as sample:
        wanted = sample.fingerprint()
    (entry,) = remembered.iterdir()
    whole = entry.read_text()
    entry.write_text(damage)
    with table(path) as sample:
        assert sample.fingerprint() == wanted
    assert json.loads(entry.read_text()) == json.loads(whole)


def test_files_of_the_last_moments_are_not_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change could follow within the same tick of the file system's clock."""
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "remembered"))
    path = written(tmp_path / "rows.parquet", rows())
    table(path).fingerprint()
    assert not (tmp_path / "remembered").exists()


def test_nothing_is_kept_where_nothing_shall_or_can_be(
    tmp_path: Path, remembered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "rows.parquet", rows())
    monkeypatch.setenv("HOLDFAST_CACHE", "")
    wanted = table(path).fingerprint()
    remembered.write_text("a file where the folder would be")
    monkeypatch.setenv("HOLDFAST_CACHE", str(remembered))
    assert table(path).fingerprint() == wanted
    assert remembered.is_file()


def test_the_folder_does_not_grow_without_end(
    tmp_path: Path, remembered: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "MOST_ENTRIES", 3)
    for at in range(5):
        table(written(tmp_path / f"{at}.parquet", rows(shift=at))).fingerprint()
    assert len(list(remembered.iterdir())) == 3


def test_secrets_of_an_identity_are_not_shown(tmp_path: Path, remembered: Path) -> None:
    path = written(tmp_path / "rows.parquet", rows())
    with table(path) as sample:
        digests = sample.identity().column_digests
        assert "x" in digests
        assert not any(digest in repr(sample.identity()) for digest in digests.values())
