"""What is remembered of files, so that they are read through once: never anything of files that changed."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import polars as pl
import pytest

from holdfast.data import Sample, identity, table
from holdfast.data.statistics import Count
from holdfast.errors import SampleUnavailable

Reader = Callable[..., Any]


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

    def never(*_: object, **__: object) -> Any:
        raise AssertionError("the rows were read")

    with monkeypatch.context() as patch:
        for place in ("polars_sample.PolarsSample.batches", "duckdb_sample.DuckDBSample.batches"):
            patch.setattr(f"holdfast.data.engines.{place}", never)
        for place in ("polars_sample.check_texts", "duckdb_sample.check_texts", "csv_files.examine"):
            prefix = "holdfast.data." if place.startswith("csv") else "holdfast.data.engines."
            patch.setattr(prefix + place, never)
        with table(path, engine=engine, row_key="id") as again:
            assert facts(again) == first


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
