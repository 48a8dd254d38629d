"""Rows in many files, in folders that are called column=value, in stores, and in tables of files."""

from __future__ import annotations

import io
import os
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

import holdfast as hf
from holdfast.data.files import Files
from holdfast.data.statistics import Count, FixedSum
from holdfast.errors import InvalidParameter, SampleUnavailable
from tests.services.stores import Bucket

FRAME = pl.DataFrame({"x": [1.0, 2.5, None, 4.0], "s": ["a", "b", None, "a"], "year": [2023, 2023, 2024, 2024]})
ASKED = [Count("x > 2 and s = 'a'"), FixedSum("x", 0.0, 4.0, 0.0), Count("s is null")]
NAMED = [*ASKED, Count("year = 2024"), FixedSum("year", 2000, 2030)]


def parts() -> list[tuple[int, pl.DataFrame]]:
    return [(int(year[0]), part.drop("year")) for year, part in FRAME.group_by("year", maintain_order=True)]  # type: ignore[call-overload]


def parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()


def hive(root: Path) -> Path:
    for year, part in parts():
        folder = root / f"year={year}"
        folder.mkdir(parents=True)
        part.write_parquet(folder / "part.parquet")
    (root / "_SUCCESS").touch()
    return root


def plain(root: Path) -> Path:
    root.mkdir()
    for year, part in parts():
        part.write_parquet(root / f"{year}.parquet")
    return root


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_folder_a_pattern_and_a_list_are_the_same_rows(tmp_path: Path, engine: Any) -> None:
    root = plain(tmp_path / "plain")
    reference = hf.data.table(FRAME.drop("year"))
    ways: list[Any] = [
        root,
        f"{root}/*.parquet",
        f"{tmp_path}/**/*.parquet",
        f"{root}/202[34].parquet",
        sorted(root.iterdir()),
        [f"{root}/2024.parquet", f"{root}/2023*"],
    ]
    for source in ways:
        with hf.data.table(source, engine=engine) as sample:
            assert sample.fingerprint() == reference.fingerprint()
            assert sample.measure(ASKED) == reference.measure(ASKED)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_folders_hold_columns_in_their_names(tmp_path: Path, engine: Any) -> None:
    root = hive(tmp_path / "people")
    reference = hf.data.table(FRAME)
    ways: list[Any] = [root, f"{root}/*/*.parquet", f"{root}/**/*.parquet", sorted(root.glob("*/*.parquet"))]
    for source in ways:
        with hf.data.table(source, engine=engine) as sample:
            assert {c.name: c.kind for c in sample.schema} == {"x": "number", "s": "text", "year": "integer"}
            assert sample.fingerprint() == reference.fingerprint()
            assert sample.measure(NAMED) == reference.measure(NAMED)
    with hf.data.table(root, engine=engine, schema={"year": "text"}) as sample:
        assert sample.fingerprint() == hf.data.table({"year": ["2023", "2023", "2024", "2024"]}).fingerprint()


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_names_of_folders_are_texts_where_one_is_no_number(tmp_path: Path, engine: Any) -> None:
    for value in ("a%20b", "007", "__HIVE_DEFAULT_PARTITION__"):
        folder = tmp_path / f"town={value}"
        folder.mkdir()
        pl.DataFrame({"x": [1]}).write_parquet(folder / "part.parquet")
    with hf.data.table(tmp_path, engine=engine) as sample:
        assert sample.fingerprint() == hf.data.table({"x": [1, 1, 1], "town": ["a b", "007", None]}).fingerprint()


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_what_many_files_may_not_be(tmp_path: Path, engine: Any) -> None:
    uneven = tmp_path / "uneven"
    for folder in ("year=1", "year=2/month=3"):
        (uneven / folder).mkdir(parents=True)
        pl.DataFrame({"x": [1]}).write_parquet(uneven / folder / "part.parquet")
    with pytest.raises(InvalidParameter, match="source must have the same columns in the folder names of all files"):
        hf.data.table(uneven, engine=engine)
    twice = tmp_path / "twice" / "x=1"
    twice.mkdir(parents=True)
    pl.DataFrame({"x": [1]}).write_parquet(twice / "part.parquet")
    with pytest.raises(InvalidParameter, match="must have a different name for every column"):
        hf.data.table(twice.parent, engine=engine)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x\n1\n")
    with pytest.raises(InvalidParameter, match="source must be one CSV file on this machine, or Parquet files"):
        hf.data.table(f"{tmp_path}/*.csv", engine=engine)
    for source in (
        [f"{tmp_path}/none.parquet"],
        f"{tmp_path}/none*.parquet",
        [str(tmp_path / "a.csv"), "gone.parquet"],
    ):
        with pytest.raises(SampleUnavailable, match="there is no file"):
            hf.data.table(source, engine=engine)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_what_happens_to_one_of_many_files_is_noticed(tmp_path: Path, engine: Any) -> None:
    for change in ("added", "rewritten", "removed", "truncated"):
        root = hive(tmp_path / change)
        for source in (root, f"{root}/*/*.parquet"):
            with hf.data.table(source, engine=engine) as sample:
                assert sample.measure([Count("x > 0")]) == [(3,)]
                file = root / "year=2024" / "part.parquet"
                content, stat = file.read_bytes(), file.stat()
                if change == "added":
                    (root / "year=2024" / "more.parquet").write_bytes(content)
                elif change == "removed":
                    file.unlink()
                elif change == "truncated":
                    file.write_bytes(content[:-7])
                else:  # with the old size and times
                    pl.DataFrame({"x": [9.0, 4.0], "s": [None, "a"]}).write_parquet(file)
                    os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
                for ask in (lambda: sample.measure([Count("x > 0")]), sample.fingerprint):
                    with pytest.raises(SampleUnavailable, match="no longer has the rows"):
                        ask()
                file.write_bytes(content)
                (root / "year=2024" / "more.parquet").unlink(missing_ok=True)


def test_a_store_holds_the_same_rows(bucket: Bucket) -> None:
    reference = hf.data.table(FRAME)
    addresses = [bucket.put(f"people/year={year}/a part.parquet", parquet(part)) for year, part in parts()]
    root = f"s3://{bucket.name}/people"
    for source in (root, f"{root}/", f"{root}/**/*.parquet", f"{root}/*/*.parquet", addresses):
        with hf.data.table(source) as sample:
            assert (sample.engine, sample.n) == ("polars", 4)
            assert sample.fingerprint() == reference.fingerprint()
            assert sample.measure(NAMED) == reference.measure(NAMED)
    one = bucket.put("one.parquet", parquet(FRAME))
    with hf.data.table(one) as sample:
        assert sample.fingerprint() == reference.fingerprint()
    for source in (f"{root}/none.parquet", f"{root}/none/", "s3://no-such-bucket-here/a.parquet"):
        with pytest.raises(SampleUnavailable, match="there is no file"):
            hf.data.table(source)
    with pytest.raises(InvalidParameter, match="engine must be polars or spark for this source, got 'duckdb'"):
        hf.data.table(one, engine="duckdb")
    with pytest.raises(InvalidParameter, match="source must be one CSV file on this machine"):
        hf.data.table(bucket.put("rows.csv", b"x\n1\n"))


@pytest.mark.parametrize("change", ["added", "rewritten", "removed", "truncated"])
def test_what_happens_in_a_store_is_noticed(bucket: Bucket, change: str) -> None:
    for year, part in parts():
        bucket.put(f"people/year={year}/part.parquet", parquet(part))
    with hf.data.table(f"s3://{bucket.name}/people/") as sample:
        assert sample.measure([Count("x > 0")]) == [(3,)]
        last = parts()[1][1]
        if change == "added":
            bucket.put("people/year=2024/more.parquet", parquet(last))
        elif change == "removed":
            bucket.remove("people/year=2024/part.parquet")
        else:
            content = parquet(last.with_columns(x=pl.lit(9.0)))
            bucket.put("people/year=2024/part.parquet", content[:-5] if change == "truncated" else content)
        for ask in (lambda: sample.measure([Count("x > 0")]), sample.fingerprint):
            with pytest.raises(SampleUnavailable, match="no longer has the rows"):
                ask()


def test_a_web_server_holds_the_same_rows(web_folder: tuple[Path, str]) -> None:
    folder, address = web_folder
    for year, part in parts():
        part.write_parquet(folder / f"{year}.parquet")
    reference = hf.data.table(FRAME.drop("year"))
    with hf.data.table([f"{address}/2023.parquet", f"{address}/2024.parquet"]) as sample:
        assert sample.fingerprint() == reference.fingerprint()
        assert sample.measure(ASKED) == reference.measure(ASKED)
        pl.DataFrame({"x": [9.0, 8.0], "s": ["a", "b"]}).write_parquet(folder / "2024.parquet")
        with pytest.raises(SampleUnavailable, match="no longer has the rows"):
            sample.measure(ASKED)
    for change in ("removed", "truncated"):
        with hf.data.table(f"{address}/2023.parquet") as sample:
            file = folder / "2023.parquet"
            content = file.read_bytes()
            file.unlink() if change == "removed" else file.write_bytes(content[:-7])
            for ask in (lambda: sample.measure(ASKED), sample.fingerprint):
                with pytest.raises(SampleUnavailable, match="no longer has the rows"):
                    ask()
            file.write_bytes(content)
    with pytest.raises(SampleUnavailable, match="there is no file"):
        hf.data.table(f"{address}/2025.parquet")


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_table_of_delta_lake_is_its_version_of_now(tmp_path: Path, engine: Any) -> None:
    import deltalake

    place = str(tmp_path / "people")
    deltalake.write_deltalake(place, FRAME.to_arrow(), partition_by=["year"])
    reference = hf.data.table(FRAME)
    with hf.data.table(place, engine=engine) as sample:
        assert sample.fingerprint() == reference.fingerprint()
        assert sample.measure(NAMED) == reference.measure(NAMED)
        more = pl.DataFrame({"x": [7.0], "s": ["new"], "year": [2024]})
        deltalake.write_deltalake(place, more.to_arrow(), mode="append")
        assert sample.measure(NAMED) == reference.measure(NAMED)  # the version that was opened
        assert sample.fingerprint() == reference.fingerprint()
        with hf.data.table(place, engine=engine) as later:
            assert later.fingerprint() == hf.data.table(pl.concat([FRAME, more])).fingerprint()


def test_a_table_of_delta_lake_without_its_files_is_noticed(tmp_path: Path) -> None:
    import deltalake

    place = str(tmp_path / "people")
    deltalake.write_deltalake(place, FRAME.drop("year").to_arrow())
    with hf.data.table(place) as sample:
        os.unlink(Files.at(place).names[0])
        with pytest.raises(SampleUnavailable, match="no longer has the rows"):
            sample.measure([Count("x > 0")])
    deltalake.write_deltalake(
        str(tmp_path / "odd"), FRAME.to_arrow(), configuration={"delta.enableDeletionVectors": "true"}
    )
    with pytest.raises(InvalidParameter, match="must not be a Delta Lake table with deletion vectors"):
        hf.data.table(str(tmp_path / "odd"))


def test_a_table_of_iceberg_is_its_snapshot_of_now(tmp_path: Path) -> None:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("local", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    catalog.create_namespace("census")
    held = FRAME.to_arrow()
    table = catalog.create_table("census.people", schema=held.schema)
    table.append(held)
    place = table.location().removeprefix("file://")
    reference = hf.data.table(FRAME)
    with hf.data.table(place) as sample:
        assert sample.fingerprint() == reference.fingerprint()
        assert sample.measure(NAMED) == reference.measure(NAMED)
        table.append(held)
        assert sample.measure(NAMED) == reference.measure(NAMED)
        with hf.data.table(place) as later:
            assert later.n == 8
        for name in Files.at(place).names:
            os.truncate(name, 40)
        with pytest.raises(SampleUnavailable, match="no longer has the rows"):
            sample.measure(NAMED)
    catalog.engine.dispose()


def iceberg(folder: Path) -> Any:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("local", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace("census")
    return catalog


@pytest.mark.parametrize("how", ["exchanged", "dropped and added again", "renamed"])
def test_columns_of_iceberg_are_what_their_numbers_say(tmp_path: Path, how: str) -> None:
    """The names of two columns may be exchanged: files keep the old ones, and tell columns apart by numbers."""
    from pyiceberg.types import DoubleType

    catalog = iceberg(tmp_path)
    held = pl.DataFrame({"x": [1.0, 2.0], "y": [30.0, 40.0]}).to_arrow()
    table = catalog.create_table("census.people", schema=held.schema)
    table.append(held)
    place = table.location().removeprefix("file://")
    with hf.data.table(place) as sample:
        assert sample.measure([Count("x > 5")]) == [(0,)]
    if how == "exchanged":
        for old, new in (("x", "between"), ("y", "x"), ("between", "y")):
            with table.update_schema() as update:
                update.rename_column(old, new)
    elif how == "renamed":
        with table.update_schema() as update:
            update.rename_column("x", "z")
    else:
        with table.update_schema() as update:
            update.delete_column("y")
        with table.update_schema() as update:
            update.add_column("y", DoubleType())
    with pytest.raises(
        InvalidParameter, match="were renamed, added or dropped; write the table anew, or copy its rows"
    ):
        hf.data.table(place)
    table.overwrite(table.scan().to_arrow())
    with hf.data.table(place) as sample:
        assert sample.fingerprint() == hf.data.table(table.scan().to_arrow()).fingerprint()
    catalog.engine.dispose()


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_table_of_iceberg_in_folders(tmp_path: Path, engine: Any) -> None:
    from pyiceberg.partitioning import PartitionField, PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.transforms import IdentityTransform
    from pyiceberg.types import LongType, NestedField

    catalog = iceberg(tmp_path)
    schema = Schema(NestedField(1, "x", LongType()), NestedField(2, "year", LongType()))
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "year"))
    table = catalog.create_table("census.people", schema=schema, partition_spec=spec)
    held = pl.DataFrame({"x": [1, 2, 3], "year": [2023, 2024, 2024]})
    table.append(held.to_arrow())
    with hf.data.table(table.location().removeprefix("file://"), engine=engine) as sample:
        assert sample.fingerprint() == hf.data.table(held).fingerprint()
    catalog.engine.dispose()


def test_tables_without_rows_are_refused(tmp_path: Path) -> None:
    import deltalake

    catalog = iceberg(tmp_path)
    table = catalog.create_table("census.people", schema=FRAME.to_arrow().schema)
    with pytest.raises(InvalidParameter, match="source must have at least one row, and the Iceberg table people"):
        hf.data.table(table.location().removeprefix("file://"))
    catalog.engine.dispose()
    place = str(tmp_path / "towns")
    deltalake.write_deltalake(place, FRAME.to_arrow())
    deltalake.DeltaTable(place).delete()
    with pytest.raises(InvalidParameter, match="source must have at least one row, and the Delta Lake table towns"):
        hf.data.table(place)


PARTS: dict[str, list[Any]] = {
    "zip": ["100", "007", None],
    "town": ["a b", "c/d", "é%20"],
    "day": [date(2024, 1, 1), None, date(1969, 12, 31)],
    "share": [0.1, float("nan"), 1e-7],
    "yes": [True, False, None],
    "price": [Decimal("1.10"), None, Decimal("3.25")],
    "whole": [1, None, -5],
    "moment": [datetime(2024, 1, 1, 1, 2, 3, 4, tzinfo=UTC), None, datetime(1999, 12, 31, tzinfo=UTC)],
    "clock": [datetime(2024, 1, 1, 1, 2, 3, 4), None, datetime(1999, 12, 31)],
}
KINDS = {"zip": "text", "town": "text", "day": "date", "share": "number", "yes": "boolean", "price": "number"}


@pytest.mark.parametrize("column", PARTS)
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_folders_of_delta_lake_hold_what_its_schema_says(tmp_path: Path, engine: Any, column: str) -> None:
    """Texts of digits stay texts, and values with spaces and strokes, which folders write in another way, are found."""
    import deltalake

    place = str(tmp_path / "people")
    held = pl.DataFrame({"x": [1, 2, 3], column: PARTS[column]}).to_arrow(compat_level=pl.CompatLevel.oldest())
    if column == "price":
        held = held.set_column(1, column, held.column(1).cast(pa.decimal128(10, 2)))
    deltalake.write_deltalake(place, held, partition_by=[column])
    truth = deltalake.DeltaTable(place).to_pyarrow_table()
    with hf.data.table(place, engine=engine) as sample, hf.data.table(truth) as reference:
        kinds = {"whole": "integer", "moment": "timestamptz", "clock": "timestamp"} | KINDS
        assert sample.schema[column].kind == kinds[column]
        assert sample.schema == reference.schema
        assert sample.fingerprint() == reference.fingerprint()
        asked = [FixedSum(f"case when {column} is null then 0 else x end", 0, 3), Count("x > 1")]
        assert sample.measure(asked) == reference.measure(asked)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
@pytest.mark.parametrize(
    "left", ["_temporary/0/year=2024", ".hidden/year=2024", "year=2024/_staging", "year=2024/.tmp"]
)
def test_what_writers_leave_in_hidden_folders_is_no_row(tmp_path: Path, engine: Any, left: str) -> None:
    root = hive(tmp_path / "_people")  # what is named may be called so
    (root / left).mkdir(parents=True, exist_ok=True)
    parts()[1][1].write_parquet(root / left / "part-0.parquet")
    (root / "_left.parquet").touch()
    reference = hf.data.table(FRAME)
    for source in (root, f"{root}/**/*.parquet", [f"{root}/**/*.parquet"]):
        with hf.data.table(source, engine=engine) as sample:
            assert sample.fingerprint() == reference.fingerprint()


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_column_may_begin_with_a_line(tmp_path: Path, engine: Any) -> None:
    (tmp_path / "_year=2024").mkdir()
    pl.DataFrame({"x": [1, 2]}).write_parquet(tmp_path / "_year=2024" / "part.parquet")
    with hf.data.table(tmp_path, engine=engine) as sample:
        assert sample.fingerprint() == hf.data.table({"x": [1, 2], "_year": [2024, 2024]}).fingerprint()


def test_what_writers_leave_in_a_store_is_no_row(bucket: Bucket) -> None:
    for year, part in parts():
        bucket.put(f"_people/year={year}/part.parquet", parquet(part))
        bucket.put(f"_people/_temporary/0/year={year}/part.parquet", parquet(part))
        bucket.put(f"_people/year={year}/.staging/part.parquet", parquet(part))
    for source in (f"s3://{bucket.name}/_people", f"s3://{bucket.name}/_people/**/*.parquet"):
        with hf.data.table(source) as sample:
            assert sample.fingerprint() == hf.data.table(FRAME).fingerprint()


def test_names_in_a_store_that_are_written_in_another_way(bucket: Bucket) -> None:
    for town in ("a%20b", "c%2Fd", "é"):
        bucket.put(f"people/town={town}/part.parquet", parquet(pl.DataFrame({"x": [1]})))
    with hf.data.table(f"s3://{bucket.name}/people") as sample:
        assert sample.fingerprint() == hf.data.table({"x": [1, 1, 1], "town": ["a b", "c/d", "é"]}).fingerprint()
        assert sample.measure([Count("town = 'c/d'")]) == [(1,)]


def test_a_file_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However it is called; a second name that cannot be seen to be one is refused."""
    root = plain(tmp_path / "people")
    file = root / "2023.parquet"
    monkeypatch.chdir(root)
    n = hf.data.table(file).n
    for same in (["2023.parquet", "./2023.parquet"], ["2023.parquet", file], [f"{root}/*23*", "2023*", file, file]):
        assert hf.data.table(same).n == n
    (tmp_path / "link").symlink_to(root)
    for twice in (
        [file, root / ".." / "people" / "2023.parquet"],
        [file, tmp_path / "link" / "2023.parquet"],
    ):
        with pytest.raises(InvalidParameter, match=r"each file once, and 2023.parquet and 2023.parquet are two names"):
            hf.data.table(twice)
    os.link(file, root / "again.parquet")
    for source in (root, f"{root}/*.parquet", "."):
        with pytest.raises(InvalidParameter, match=r"each file once, and 2023.parquet and again.parquet are two names"):
            hf.data.table(source)


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_relative_path_means_the_same_from_everywhere(
    tmp_path: Path, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hive(tmp_path / "people")
    FRAME.write_csv(tmp_path / "rows.csv")
    FRAME.write_parquet(tmp_path / "rows.parquet")
    reference = hf.data.table(FRAME)
    monkeypatch.chdir(tmp_path)
    ways: list[Any] = ["rows.csv", "rows.parquet", "people", "people/**/*.parquet", sorted(Path("people").glob("*/*"))]
    samples = [hf.data.table(source, engine=engine) for source in ways]
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for sample in samples:
        assert sample.measure(NAMED) == reference.measure(NAMED)
        assert sample.fingerprint() == reference.fingerprint()
        sample.close()


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_capital_letters_at_the_end_of_a_name(tmp_path: Path, engine: Any) -> None:
    for folder in (tmp_path / "plain", tmp_path / "named" / "year=1"):
        folder.mkdir(parents=True)
        pl.DataFrame({"x": [1]}).write_parquet(folder / "A.PARQUET")
        pl.DataFrame({"x": [2, 3]}).write_parquet(folder / "b.parquet")
    for source in (tmp_path / "plain", f"{tmp_path}/plain/*", tmp_path / "named"):
        with hf.data.table(source, engine=engine) as sample:
            assert sample.n == 3


def test_files_of_a_list_share_the_folders_that_they_begin_with(tmp_path: Path) -> None:
    """Not those further down that happen to be called alike."""
    for year in (1, 2):
        folder = tmp_path / "town=Ur" / f"year={year}" / "month=7"
        folder.mkdir(parents=True)
        pl.DataFrame({"x": [year]}).write_parquet(folder / "part.parquet")
    with hf.data.table(sorted(tmp_path.glob("*/*/*/*.parquet"))) as sample:
        assert sample.fingerprint() == hf.data.table({"x": [1, 2], "year": [1, 2], "month": [7, 7]}).fingerprint()


def test_an_address_that_was_signed_in_advance_is_refused_without_its_signature(web_folder: tuple[Path, str]) -> None:
    folder, address = web_folder
    FRAME.write_parquet(folder / "people.parquet")
    with pytest.raises(InvalidParameter, match=r"the address of people\.parquet has one") as caught:
        hf.data.table(f"{address}/people.parquet?sig=hunter2")
    assert "hunter2" not in str(caught.value)
