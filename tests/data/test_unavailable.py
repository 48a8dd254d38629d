"""What happens to files, tables and connections under a running sample: one clear error, and nothing about rows."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psycopg
import pytest

from holdfast.data import Sample, Schema, table
from holdfast.data.statistics import Count, FixedSum, GroupBy
from holdfast.errors import InvalidParameter, SampleUnavailable
from tests.services.postgres import Server

ASKED = [FixedSum("x"), Count("s = 'b'"), GroupBy("s", ("a",), Count("x > 1"))]
FRAME = pl.DataFrame({"x": [1.0, 2.0, 3.0] * 400, "s": ["secret", "b", None] * 400})
KINDS: dict[str, Any] = {"x": "number", "s": "text"}
ENGINES = ("polars", "duckdb")


def refused(work: Callable[[], Any]) -> str:
    with pytest.raises(SampleUnavailable) as error:
        work()
    said = str(error.value)
    assert "secret" not in said
    assert error.value.__context__ is None or error.value.__suppress_context__
    return said


def written(path: Path, frame: pl.DataFrame = FRAME) -> Path:
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)
    return path


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
class TestFiles:
    def sample(self, folder: Path, suffix: str, engine: Any) -> tuple[Sample, Path]:
        path = written(folder / f"people{suffix}")
        sample = table(path, engine=engine, schema=KINDS)
        assert tuple(sample.measure(ASKED)[1]) == (400,)
        return sample, path

    @pytest.mark.parametrize(
        "other",
        [
            FRAME.with_columns(x=pl.lit("secret")),
            FRAME.select("s"),
            pl.concat([FRAME, FRAME]),
            FRAME.with_columns(s=pl.col("s").reverse()),
        ],
        ids=["type", "column", "rows", "content"],
    )
    def test_another_file_in_its_place(self, tmp_path: Path, suffix: str, engine: Any, other: pl.DataFrame) -> None:
        sample, path = self.sample(tmp_path, suffix, engine)
        written(path, other)
        assert "open it again" in refused(lambda: sample.measure(ASKED))
        assert "open it again" in refused(sample.fingerprint)

    def test_removed(self, tmp_path: Path, suffix: str, engine: Any) -> None:
        sample, path = self.sample(tmp_path, suffix, engine)
        path.unlink()
        refused(lambda: sample.measure(ASKED))
        assert "no file people" in refused(lambda: table(path, engine=engine, schema=KINDS))

    def test_cut_off_and_overwritten(self, tmp_path: Path, suffix: str, engine: Any) -> None:
        sample, path = self.sample(tmp_path, suffix, engine)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        refused(lambda: sample.measure(ASKED))
        noise = np.random.default_rng(1).bytes(len(whole))
        path.write_bytes(noise)
        refused(lambda: sample.measure(ASKED))
        # Noise has no columns of these names, which can be said of it.
        with pytest.raises((SampleUnavailable, InvalidParameter)):
            table(path, engine=engine, schema=KINDS)

    def test_a_file_that_is_written_back_is_as_good_as_new(self, tmp_path: Path, suffix: str, engine: Any) -> None:
        sample, path = self.sample(tmp_path, suffix, engine)
        known = sample.fingerprint()
        moved = path.rename(path.with_name(f"renamed{suffix}"))
        refused(lambda: sample.measure(ASKED))
        assert table(moved, engine=engine, schema=KINDS).fingerprint() == known


@pytest.mark.parametrize("engine", ENGINES)
def test_damage_inside_a_parquet_file(tmp_path: Path, engine: Any) -> None:
    """Bytes anywhere are damaged. A changed number is a number still; what cannot be read is refused as one thing."""
    random = np.random.default_rng(4)
    path = written(
        tmp_path / "a.parquet", pl.DataFrame({"x": random.normal(size=300), "s": ["secret", "b", "c"] * 100})
    )
    whole, said = bytearray(path.read_bytes()), []
    for _ in range(20):
        damaged = whole.copy()
        at = int(random.integers(0, len(whole) - 20))
        damaged[at : at + 20] = random.bytes(20)
        path.write_bytes(damaged)
        try:
            table(path, engine=engine, schema=KINDS).measure(ASKED)
        except SampleUnavailable as error:
            said.append(str(error))
        except InvalidParameter as error:  # the names or types of columns were hit
            said.append(str(error))
    assert len(said) > 3
    assert all("could not be read" in one or one.startswith("schema must") for one in said)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_csv_cell_that_is_not_of_its_kind_is_found_on_opening(tmp_path: Path, engine: Any) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,s\n" + "1.5,a\n" * 50 + "secret,b\n")
    refused(lambda: table(path, engine=engine, schema=KINDS))
    with pytest.raises(InvalidParameter, match="schema must name columns"):
        table(path, engine=engine, schema={"y": "number"})


def test_closed() -> None:
    for engine in ("numpy", "polars"):
        with table({"x": [1.0], "s": ["a"]}, engine=engine) as sample:  # type: ignore[arg-type]
            sample.measure(ASKED)
        assert refused(lambda one=sample: one.measure(ASKED)) == "the sample is closed"  # type: ignore[misc]
        refused(sample.fingerprint)
        refused(sample.key_sketch)


def test_arrays_that_change_do_not_change_the_sample() -> None:
    for engine in ("numpy", "polars"):
        x = np.array([0.25, 0.5])
        sample = table({"x": x, "s": ["a", "b"]}, engine=engine)  # type: ignore[arg-type]
        before, known = tuple(sample.measure(ASKED)[0]), sample.fingerprint()
        x[:] = 1.0
        assert tuple(sample.measure(ASKED)[0]) == before
        sample._identity = None
        assert sample.fingerprint() == known
    import pandas as pd

    frame = pd.DataFrame({"x": [0.25, 0.5], "s": ["a", "b"]})
    sample = table(frame)
    before = tuple(sample.measure(ASKED)[0])
    frame.loc[0, "x"] = 1.0
    assert tuple(sample.measure(ASKED)[0]) == before


def test_a_duckdb_database_in_use_is_refused_and_can_only_be_read(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "a.duckdb"
    with duckdb.connect(str(path)) as writer:
        writer.execute("create table people as select 1.5 :: double as x, 'Secret' as s")
        writer.execute("create table odd as select interval 1 day as d, time '10:00' as e, 7 :: hugeint as h")
        refused(lambda: table(path, table="people"))
    with table(path, table="people") as sample:
        assert tuple(sample.measure([FixedSum("x", 0, 3)])[0]) == (2**29,)
        for statement in ("read_text('/etc/hostname')", "'/etc/hostname'", "glob('/*')"):
            with pytest.raises(duckdb.Error):
                sample._connection.execute(f"select * from {statement}")  # type: ignore[attr-defined]
        with pytest.raises(duckdb.Error):
            sample._connection.execute("drop table holdfast_source.main.people")  # type: ignore[attr-defined]
    refused(lambda: table(path, table="nobody"))
    with pytest.raises(InvalidParameter, match="has none"):
        table(path, table="odd")
    with pytest.raises(InvalidParameter, match="'e', whose type TIME"):
        table(path, table="odd", schema={"e": "number"})
    with pytest.raises(InvalidParameter, match="without quotes"):
        table(path, table='people" union select 1; --')
    with pytest.raises(InvalidParameter, match="table must be the name of the table with the rows in the database"):
        table(path)
    refused(lambda: table(tmp_path / "none.duckdb", table="t"))


def test_a_duckdb_database_has_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import duckdb

    (tmp_path / "a b").mkdir()
    with duckdb.connect(str(tmp_path / "a b" / "census.db")) as writer:
        writer.execute("create table people as select 1.5 :: double as x")
    monkeypatch.chdir(tmp_path)
    for address in (f"duckdb://{tmp_path}/a%20b/census.db", "duckdb://a b/census.db"):
        with table(address, table="people") as sample:
            assert (sample.engine, sample.measure([Count("x > 1")])) == ("duckdb", [(1,)])
    with pytest.raises(InvalidParameter, match="table must be the name of the table with the rows in the database"):
        table("duckdb://a b/census.db")
    assert "the database file none.db does not exist" in refused(lambda: table("duckdb://none.db", table="people"))


@pytest.mark.parametrize("how", ["over", "replaced", "removed", "cut off"])
def test_a_duckdb_database_that_was_exchanged_is_noticed(tmp_path: Path, how: str) -> None:
    """Its engine keeps what it has read, and would go on to read what it has not from the other content."""
    import duckdb

    path, other = tmp_path / "a.duckdb", tmp_path / "b.duckdb"
    for place, share in ((path, 2), (other, 3)):
        with duckdb.connect(str(place)) as writer:
            writer.execute(f"create table people as select i % {share} = 0 as b from range(5000) t(i)")
    with table(path, table="people") as sample:
        assert sample.measure([Count("b")]) == [(2500,)]
        if how == "over":
            times = path.stat()
            path.write_bytes(other.read_bytes())
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        elif how == "replaced":
            other.replace(path)
        elif how == "removed":
            path.unlink()
        else:
            os.truncate(path, path.stat().st_size // 2)
        for ask in (lambda: sample.measure([Count("b")]), sample.fingerprint):
            assert "open it again" in refused(ask)


def test_duckdb_compares_text_letter_by_letter_whatever_the_collation(tmp_path: Path) -> None:
    import duckdb

    with duckdb.connect(str(tmp_path / "a.duckdb")) as writer:
        writer.execute("create table people (x double, s varchar collate nocase, e enum ('a', 'b'))")
        writer.execute("insert into people values (1, 'B', 'a'), (2, 'b', 'b')")
    sample = table(tmp_path / "a.duckdb", table="people")
    found = sample.measure([Count("s = 'b'"), Count("s in ('b', 'c')"), Count("e = 'b'"), Count("starts_with(s, 'b')")])
    assert [tuple(one) for one in found] == [(1,)] * 4


def test_duckdb_sees_nan_in_parquet_files(tmp_path: Path) -> None:
    """Statistics of a Parquet file leave NaN out; DuckDB 2.0 takes a range that they promise to hold for every row."""
    path = written(tmp_path / "a.parquet", pl.DataFrame({"x": [1.5, float("nan"), 2.0]}))
    asked = [FixedSum("x", 0, 4), Count("x is null")]
    assert [tuple(one) for one in table(path, engine="duckdb").measure(asked)] == [(2**30 * 7 // 8,), (1,)]


class TestPostgres:
    @pytest.fixture
    def rows(self, postgres_url: str) -> str:
        self.execute(postgres_url, "create table people (x double precision, s text)")
        self.execute(postgres_url, "insert into people select i % 3, 'secret' from generate_series(1, 1200) i")
        return postgres_url

    @staticmethod
    def execute(url: str, statement: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement)  # type: ignore[call-overload]

    @pytest.mark.parametrize(
        "change",
        [
            "alter table people alter x type text",
            "alter table people drop x",
            "drop table people",
            "delete from people where x = 0",
            "insert into people values (1, 'secret')",
            "drop table people; create table people (x double precision, s text)",
        ],
    )
    def test_changes(self, rows: str, change: str) -> None:
        sample = table(rows, table="people")
        sample.measure(ASKED)
        self.execute(rows, change)
        assert "open it again" in refused(lambda: sample.measure(ASKED))

    def test_a_lost_connection_is_opened_again_once(self, rows: str, postgres_server: Server) -> None:
        sample = table(rows, table="people")
        before, name = sample.measure(ASKED), rows.rsplit("/", 1)[1]
        assert postgres_server.end_connections(name) == 1
        assert sample.measure(ASKED) == before
        assert postgres_server.end_connections(name) == 1
        assert sample.fingerprint()
        postgres_server.execute(f"alter database {name} allow_connections false")
        postgres_server.end_connections(name)
        assert "could not be reached" in refused(lambda: sample.measure(ASKED))
        postgres_server.execute(f"alter database {name} allow_connections true")
        assert sample.measure(ASKED) == before
        sample.close()

    def test_lost_in_the_middle_of_a_question(self, rows: str, postgres_server: Server) -> None:
        """The table is a view that sleeps; the connection is ended while it does, twice."""
        self.execute(rows, "create view slow as select x, s, '' :: text as t from people")
        name, sample = rows.rsplit("/", 1)[1], table(rows, table="slow", schema=KINDS | {"t": "text"})
        self.execute(rows, "create or replace view slow as select x, s, pg_sleep(0.01) :: text as t from people")
        ended: set[Any] = set()  # each once: one that was told to end is there for a moment more
        busy = "datname = %s and state = 'active' and query ilike '%%sum(%%'"

        def end() -> None:
            until = time.monotonic() + 60
            while len(ended) < 2 and time.monotonic() < until:
                time.sleep(0.02)
                statement = f"select pid, pg_terminate_backend(pid) from pg_stat_activity where {busy}"
                ended.update(pid for pid, _ in postgres_server.execute(statement, parameters=(name,)))

        killer = threading.Thread(target=end)
        killer.start()
        try:
            assert "could not be reached" in refused(lambda: sample.measure([FixedSum("length(t) + x", 0, 9)]))
        finally:
            killer.join()
        assert len(ended) == 2

    def test_too_long(self, rows: str) -> None:
        self.execute(rows, "create view slow as select x, s, '' :: text as t from people")
        sample = table(rows, table="slow", schema=KINDS | {"t": "text"}, timeout=2)
        self.execute(rows, "create or replace view slow as select x, s, pg_sleep(0.01) :: text as t from people")
        assert "longer than the allowed 2 seconds" in refused(lambda: sample.measure([FixedSum("length(t)", 0, 9)]))
        assert sample.n == 1200

    def test_it_can_only_read(self, rows: str) -> None:
        sample = table(rows, table="people")
        with sample._link.connected() as connection:  # type: ignore[attr-defined]
            for statement in ("delete from people", "create table mine (a int)"):
                with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                    connection.execute(statement)
        assert "@" not in repr(sample)

    def test_functions_of_others_are_not_found(self, rows: str) -> None:
        """Neither one that the path puts before the system's, nor one that would fit a column's type better."""
        self.execute(rows, "alter table people add v varchar; update people set v = s")
        asked = [FixedSum("abs(x) + length(v)", 0, 9), Count("starts_with(v, 'sec')"), Count("upper(v) = 'SECRET'")]
        with table(rows, table="people") as sample:
            before = sample.measure(asked)
        kind = "returns {} language sql immutable as $$ select {} $$"
        self.execute(rows, "create function abs(double precision) " + kind.format("double precision", "7 :: float8"))
        self.execute(rows, "create function length(varchar) " + kind.format("int", "7"))
        self.execute(rows, "create function starts_with(varchar, text) " + kind.format("boolean", "false"))
        self.execute(rows, "create function translate(varchar, text, text) " + kind.format("text", "'mine'"))
        self.execute(rows, f"alter database {rows.rsplit('/', 1)[1]} set search_path = public, pg_catalog")
        with table(rows, table="people") as sample:
            assert sample.measure(asked) == before
            assert sample.fingerprint()

    def test_what_it_refuses(self, rows: str) -> None:
        assert "no table nobody" in refused(lambda: table(rows, table="nobody"))
        refused(lambda: table("postgresql://nobody:hidden-word@127.0.0.1:9/none", table="people"))
        self.execute(rows, "create table dates (d interval, n time, c char(3), y text)")
        self.execute(rows, "insert into dates values ('1 day', '10:00', 'a', 'b')")
        assert table(rows, table="public.dates").schema == Schema({"y": "text not null"})
        for name in "dnc":
            with pytest.raises(InvalidParameter, match="schema must not have column"):
                table(rows, table="dates", schema={name: "text"})
        self.execute(rows, "create collation loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        self.execute(rows, "alter table dates alter y type text collate loose")
        with pytest.raises(InvalidParameter, match="collation of its own"):
            table(rows, table="dates", schema={"y": "text"})
        self.execute(rows, "create role reader login password 'p'")
        try:
            address = rows.replace(rows.split("//")[1].split("@")[0], "reader:p")
            assert "the database user has no permission to read the table" in refused(
                lambda: table(address, table="people")
            )
        finally:
            self.execute(rows, "drop role reader")
        with pytest.raises(InvalidParameter, match="table must be the name of the table with the rows in the database"):
            table(rows)

    def test_threads_take_turns(self, rows: str) -> None:
        sample, wrong = table(rows, table="people"), []
        wanted = sample.measure(ASKED)

        def ask() -> None:
            for _ in range(5):
                if sample.measure(ASKED) != wanted:
                    wrong.append(1)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert not wrong


def test_the_time_of_a_file_is_looked_at_before_and_after(tmp_path: Path) -> None:
    path = written(tmp_path / "a.parquet")
    sample = table(path)
    assert len(sample.measure(ASKED)) == len(ASKED)
    os.utime(path, ns=(1, 1))
    assert "no longer has the rows" in refused(lambda: sample.measure(ASKED))
