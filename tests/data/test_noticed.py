"""Nothing is answered from other rows than those of the fingerprint: what happens to a source is noticed everywhere.

Spark's share of this is in `test_spark_sample.py`, stores and web servers are in `test_many_files.py`.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import ibis
import polars as pl
import psycopg
import pytest

import holdfast as hf
from holdfast.data import Sample
from holdfast.data.engines import duckdb_sample, ibis_sample
from holdfast.data.statistics import Count, FixedSum, Statistic
from holdfast.errors import SampleUnavailable

Rows = list[tuple[float, str]]
ROWS: Rows = [(float(at), "ab"[at % 2]) for at in range(4_000)]
OTHER: dict[str, Rows] = {
    "a changed row": [(x + (x == 7), s) for x, s in ROWS],
    "an appended row": [*ROWS, (1.0, "a")],
    "a dropped table": [],
    "a rewritten file with the old times": [(x, "ba"[int(x) % 2]) for x, _ in ROWS],
    "a truncated part": ROWS[:2_000],
}
ASKED: list[Statistic] = [Count("x > 10"), Count("s = 'a'"), FixedSum("x", 0, 4_000)]
KINDS: dict[str, Any] = {"x": "number null", "s": "text null"}
"""Declared to have missing values, so that an opening asks nothing of them."""


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """No opening knows what an earlier one found."""
    monkeypatch.setenv("HOLDFAST_CACHE", "")


@dataclass(frozen=True)
class Place:
    """Where rows are: what opens them, and what does one of `OTHER` to them."""

    open: Callable[[], Sample]
    change: Callable[[str], object]


def frame(made: Rows) -> pl.DataFrame:
    return pl.DataFrame(
        {"x": [x for x, _ in made], "s": [s for _, s in made]}, schema={"x": pl.Float64, "s": pl.String}
    )


def write_parquet(path: Path, made: Rows) -> None:
    frame(made).write_parquet(path)


def write_csv(path: Path, made: Rows) -> None:
    frame(made).write_csv(path)


def write_duckdb(path: Path, made: Rows) -> None:
    with duckdb.connect(str(path)) as connection:
        held = frame(made).to_arrow()
        connection.register("held", held)
        connection.execute("create table people as select * from held")
        connection.execute("create view seen as select * from people")


def write_sqlite(path: Path, made: Rows) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table people (x real, s text)")
        connection.executemany("insert into people values (?, ?)", made)
        connection.execute("create view seen as select * from people")
        connection.commit()


def of_file(path: Path, write: Callable[[Path, Rows], None], open_: Callable[[], Sample]) -> Place:
    """A file, over which another one is written in place, so that it stays the same inode."""

    def change(how: str) -> None:
        if how == "a dropped table":
            path.unlink()
            return
        before = path.stat()
        if how == "a truncated part":
            os.truncate(path, before.st_size // 2)
            return
        other = path.with_name(f"other{path.suffix}")
        write(other, OTHER[how])
        with path.open("r+b") as file:
            file.write(other.read_bytes())
            file.truncate()
        if how == "a rewritten file with the old times":
            os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    write(path, ROWS)
    return Place(open_, change)


def of_folder(folder: Path, open_: Callable[[], Sample]) -> Place:
    """A folder of two files, of which one changes."""
    folder.mkdir()
    write_parquet(folder / "a.parquet", ROWS[:100])
    part = of_file(folder / "b.parquet", write_parquet, open_)
    write_parquet(folder / "b.parquet", ROWS[100:])
    return part


STATEMENTS: dict[str, Sequence[str]] = {
    "a changed row": ["update people set x = x + 1 where x = 7"],
    "an appended row": ["insert into people values (1, 'a')"],
    "a dropped table": ["drop table people"],
    "a rewritten file with the old times": [
        "alter table people rename to before_people",
        "create table people as select x, case s when 'a' then 'b' else 'a' end as s from before_people",
    ],
    "a truncated part": ["delete from people where x >= 2000"],
}
"""The same in a database that others write to meanwhile: a table in the place of another has the same name and rows."""


OF_A_VIEW: dict[str, Sequence[str]] = STATEMENTS | {
    "a dropped table": ["drop view seen", "drop table people"],
    "a rewritten file with the old times": [
        "drop view seen",
        "create view seen as select x, case s when 'a' then 'b' else 'a' end as s from people",
    ],
}


def of_server(execute: Callable[[str], object], open_: Callable[[], Sample], table: str = "people") -> Place:
    """A table that others write to, or a view of it."""
    listed = ", ".join(f"({x}, '{s}')" for x, s in ROWS)
    execute("create table people (x double precision, s varchar(9))")
    execute(f"insert into people values {listed}")
    if table == "seen":
        execute("create view seen as select * from people")

    def change(how: str) -> None:
        for statement in (OF_A_VIEW if table == "seen" else STATEMENTS)[how]:
            execute(statement)

    return Place(open_, change)


def sqlite_by_others(path: Path) -> Callable[[str], object]:
    def execute(statement: str) -> None:
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(statement)
            connection.commit()

    return execute


def postgres_by_others(url: str) -> Callable[[str], object]:
    def execute(statement: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement)

    return execute


def opened(source: Any, **options: Any) -> Callable[[], Sample]:
    return lambda: hf.data.table(source, schema=KINDS, **options)


PLACES = (
    *("polars, Parquet", "polars, CSV", "polars, a folder", "duckdb, Parquet", "duckdb, CSV", "duckdb, a folder"),
    *("duckdb, a table", "duckdb, a view", "sqlite, a file", "sqlite, a table", "sqlite, a view", "sqlite, in memory"),
    *("duckdb by Ibis, a table", "duckdb by Ibis, a view", "mariadb, a table", "mariadb, a view"),
    *("postgres, a table", "postgres, a view"),
)


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    engine, _, what = request.param.partition(", ")
    table = "seen" if what == "a view" else "people"
    if what == "a folder":
        yield of_folder(tmp_path / "people", opened(tmp_path / "people", engine=engine))
    elif what in ("Parquet", "CSV"):
        path = tmp_path / f"people.{what.lower()}"
        yield of_file(path, write_parquet if what == "Parquet" else write_csv, opened(path, engine=engine))
    elif engine == "duckdb":
        path = tmp_path / "people.duckdb"
        yield of_file(path, write_duckdb, opened(path, table=table))
    elif request.param == "sqlite, a file":
        path = tmp_path / "people.sqlite"
        yield of_file(path, write_sqlite, opened(f"sqlite://{path}", table=table))
    elif request.param == "sqlite, in memory":
        con = ibis.sqlite.connect()
        yield of_server(con.con.execute, lambda: hf.data.table(con.table("people"), schema=KINDS))
        con.disconnect()
    elif engine == "sqlite":
        path = tmp_path / "people.sqlite"
        yield of_server(sqlite_by_others(path), opened(f"sqlite://{path}", table=table), table)
    elif engine == "duckdb by Ibis":
        con = ibis.duckdb.connect()
        yield of_server(con.con.execute, lambda: hf.data.table(con.table(table), schema=KINDS), table)
        con.disconnect()
    elif engine == "mariadb":
        server, name = request.getfixturevalue("mariadb"), request.getfixturevalue("mariadb_name")
        yield of_server(lambda one: server.execute(name, one), opened(server.url(name), table=table), table)
    else:
        url = request.getfixturevalue("postgres_url")
        yield of_server(postgres_by_others(url), opened(url, table=table), table)


def refuses(sample: Sample) -> None:
    for ask in (
        lambda: sample.measure(ASKED[:1]),
        lambda: sample.measure(ASKED[1:]),
        sample.fingerprint,
        lambda: sample.fold(["x"], int, lambda total, batch: total + 1),
    ):
        with pytest.raises(SampleUnavailable):
            ask()


@pytest.mark.parametrize("how", OTHER)
@pytest.mark.filterwarnings("ignore:fetch_arrow_table")  # which Ibis calls
def test_no_answer_is_from_other_rows_than_the_fingerprint(place: Place, how: str) -> None:
    with place.open() as sample, hf.data.table(frame(ROWS), schema=KINDS) as reference:
        assert sample.measure(ASKED) == reference.measure(ASKED)
        place.change(how)
        refuses(sample)


@pytest.mark.filterwarnings("ignore:fetch_arrow_table")
def test_what_stays_the_same_is_answered(place: Place) -> None:
    with place.open() as sample, hf.data.table(frame(ROWS), schema=KINDS) as reference:
        for _ in range(2):
            assert sample.fingerprint() == reference.fingerprint()
            assert sample.measure(ASKED) == reference.measure(ASKED)
            assert sample.fold(["x"], int, lambda total, batch: total + len(batch["x"][0])) == len(ROWS)


@pytest.mark.parametrize("kind", ["numpy", "polars", "pandas", "arrow", "lazy"])
def test_what_happens_to_rows_in_memory_does_not_reach_a_sample(kind: str) -> None:
    """They are copied when the sample is opened."""
    made = frame(ROWS)
    arrays = {"x": made["x"].to_numpy().copy(), "s": made["s"].to_numpy().copy()}
    source: Any = {"numpy": arrays, "polars": made, "pandas": made.to_pandas(), "arrow": made.to_arrow()}.get(kind)
    with (
        hf.data.table(made.lazy() if kind == "lazy" else source, engine="numpy" if kind == "numpy" else None) as sample,
        hf.data.table(frame(ROWS)) as reference,
    ):
        arrays["x"][:] = 0.0
        made[0, "x"] = 99.0
        if kind == "pandas":
            source["x"] = 0.0
        assert sample.fingerprint() == reference.fingerprint()
        assert sample.measure(ASKED) == reference.measure(ASKED)


class TestViews:
    """A view shows what it computes now: rows of the same unchanged file may be others with every question."""

    def view(self, engine: str, folder: Path, written: str) -> Callable[[], Sample]:
        path, made = folder / f"people.{engine}", f"create view odd as select {written} as x, s from people"
        if engine == "duckdb":
            write_duckdb(path, ROWS)
            with duckdb.connect(str(path)) as connection:
                connection.execute(made)
        else:
            write_sqlite(path, ROWS)
            sqlite_by_others(path)(made)
        return opened(self.source(engine, folder), table="odd")

    @pytest.mark.parametrize(
        ("engine", "written"),
        [
            ("duckdb", "random()"),
            ("duckdb", "x + epoch_us(now()) % 1000003"),
            ("sqlite", "abs(random()) % 100 + 0.5"),
            ("sqlite", "x + (julianday('now') * 86400000.0) % 1000003"),
        ],
    )
    def test_of_chance_and_time(self, tmp_path: Path, engine: str, written: str) -> None:
        open_ = self.view(engine, tmp_path, written)
        with open_() as sample:
            for ask in (lambda: sample.measure(ASKED[2:]), sample.fingerprint):
                with pytest.raises(SampleUnavailable, match="no longer has the rows"):
                    ask()
        with pytest.raises(
            SampleUnavailable, match="the rows changed while the data set was opened; a view or a frame must"
        ):
            hf.data.table(self.source(engine, tmp_path), table="odd")

    def source(self, engine: str, folder: Path) -> str:
        return str(folder / "people.duckdb") if engine == "duckdb" else f"sqlite://{folder}/people.sqlite"

    def test_columns_that_are_computed_when_they_are_read(self, tmp_path: Path) -> None:
        """DuckDB allows chance in them; SQLite and PostgreSQL do not."""
        path = tmp_path / "people.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute("create table people (s varchar, x double as (random()))")
            connection.execute("create table fixed (s varchar, y double, x double as (y + 1))")
            connection.execute("insert into people select 'a' from range(100)")
            connection.execute("insert into fixed select 'a', range from range(100)")
        with opened(path, table="people")() as sample, pytest.raises(SampleUnavailable, match="no longer has the rows"):
            sample.measure(ASKED[2:])
        with opened(path, table="fixed")() as sample:
            assert sample.measure(ASKED[:1]) == sample.measure(ASKED[:1]) == [(90,)]

    @pytest.mark.parametrize(("engine", "written"), [("duckdb", "random()"), ("sqlite", "abs(random()) % 100 + 0.5")])
    def test_without_a_digest_they_would_be_answered(
        self, tmp_path: Path, engine: str, written: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        open_ = self.view(engine, tmp_path, written)
        monkeypatch.setattr(duckdb_sample, "_holds", lambda *_: True)
        monkeypatch.setattr(ibis_sample, "_is_stored", lambda *_: True)
        with open_() as sample:
            assert sample.measure(ASKED[2:]) != sample.measure(ASKED[2:])


class TestDatabasesOfSQLite:
    """One connection of SQLite may hold many databases, in files and in memory."""

    @pytest.fixture
    def attached(self, tmp_path: Path) -> Iterator[Any]:
        for name in ("main", "other"):
            write_sqlite(tmp_path / f"{name}.sqlite", ROWS)
        con = ibis.sqlite.connect(tmp_path / "main.sqlite")
        con.attach("other", tmp_path / "other.sqlite")
        yield con
        con.disconnect()

    def test_an_attached_one_is_watched(self, attached: Any, tmp_path: Path) -> None:
        with hf.data.table(attached.table("people", database="other")) as sample:
            assert sample.measure(ASKED[:1]) == [(3_989,)]
            assert sample._statements.digest is None  # type: ignore[attr-defined]
            sqlite_by_others(tmp_path / "other.sqlite")("update people set x = x - 4000")
            refuses(sample)

    def test_a_temporary_table_in_front_of_another(self, attached: Any) -> None:
        with hf.data.table(attached.table("people")) as sample:
            assert sample.measure(ASKED[:1]) == [(3_989,)]
            attached.con.execute("create temp table people as select 1.0 as x, 'a' as s from main.people")
            refuses(sample)

    def test_expressions_may_say_something_else_each_time(self, attached: Any) -> None:
        people = attached.table("people")
        with hf.data.table(people.filter(people.x > 2_000)) as sample:
            assert sample.measure(ASKED[:1]) == [(1_999,)]
            assert sample.measure(ASKED[1:2]) == [(999,)]
        with pytest.raises(
            SampleUnavailable, match="the rows changed while the data set was opened; a view or a frame must"
        ):
            hf.data.table(people.mutate(x=ibis.random()))

    def test_what_was_not_committed_is_taken_back(self, attached: Any) -> None:
        people = attached.table("people")  # Ibis commits here
        attached.con.execute("update people set x = 0")
        with hf.data.table(people) as sample:
            assert sample.measure(ASKED[:1]) == [(0,)]
            attached.con.rollback()
            refuses(sample)

    def test_tables_that_take_the_place_of_each_other(self) -> None:
        con = ibis.sqlite.connect()
        for name, x in (("people", 1.0), ("others", 99.0)):
            con.con.execute(f"create table {name} (x real, s text)")
            con.con.execute(f"insert into {name} values ({x}, 'a')")
        con.con.commit()
        with hf.data.table(con.table("people")) as sample:
            assert sample.measure(ASKED[:1]) == [(0,)]
            con.con.execute("alter table people rename to before_people")
            con.con.execute("alter table others rename to people")
            refuses(sample)
        con.disconnect()
