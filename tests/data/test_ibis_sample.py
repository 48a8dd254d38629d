"""Databases behind Ibis: the probe lets none answer otherwise, and changed rows are noticed."""

from __future__ import annotations

import math
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import ibis
import pytest

import holdfast as hf
from holdfast.data.engines import ibis_sample
from holdfast.data.engines import probe as probing
from holdfast.data.engines.ibis_sample import _made_ready
from holdfast.data.expressions import expression, ibis_columns
from holdfast.data.schema import Schema
from holdfast.data.statistics import Count, FixedSum, Histogram, Statistic
from holdfast.errors import InvalidParameter, NotInstalled, SampleUnavailable
from tests.data import kept
from tests.data.expressions.odd_rows import SCHEMA, rows
from tests.services.mariadb import MariaDB

Rows = list[dict[str, Any]]
SECRET = "hunter2"


def without_beyond(made: Rows) -> Rows:
    """The rows without the numbers that MariaDB cannot hold."""
    return [{n: None if isinstance(v, float) and not math.isfinite(v) else v for n, v in row.items()} for row in made]


def sqlite(path: Path, made: Rows, schema: Schema = SCHEMA, *, strict: bool = False) -> str:
    kinds = {
        "number": "REAL",
        "integer": "INTEGER",
        "boolean": "BOOLEAN",
        "text": "TEXT collate nocase",
        "date": "DATE",
    }
    columns = ", ".join(f'"{c.name}" {kinds[c.kind]}' for c in schema)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"create table people ({columns})")
        held = [[None if v != v else v for v in row.values()] for row in made]
        connection.executemany(f"insert into people values ({','.join('?' * len(schema))})", held)
        connection.commit()
    return f"sqlite://{path}"


def in_mariadb(server: MariaDB, name: str, made: Rows, schema: Schema = SCHEMA) -> str:
    kinds = {"number": "double", "integer": "bigint", "boolean": "boolean", "text": "text"}
    columns = ", ".join(f"`{c.name}` {kinds[c.kind]}" for c in schema)
    holes = ",".join(["%s"] * len(schema))
    server.execute(
        name,
        f"create table people ({columns})",
        f"insert into people values ({holes})",
        rows=[list(row.values()) for row in made],
    )
    return server.url(name)


def agree(sample: Any, reference: Any, random: Random, count: int) -> None:
    asked = kept.questions(random, count)
    assert sample.measure(asked) == reference.measure(asked)


def test_sqlite_says_what_the_others_say(tmp_path: Path) -> None:
    made = rows(Random(1), 300)
    with hf.data.table(sqlite(tmp_path / "a.sqlite", made), table="people", schema=SCHEMA) as sample:
        reference = hf.data.table(kept.arrow(made), schema=SCHEMA)
        assert (sample.engine, sample.n, sample.schema) == ("sqlite", 300, reference.schema)
        assert sample.quick
        assert not sample.reopens
        assert sample.fingerprint() == reference.fingerprint()
        assert sample.identity().column_digests == reference.identity().column_digests
        agree(sample, reference, Random(2), 60)


def test_mariadb_says_what_the_others_say(mariadb: MariaDB, mariadb_name: str) -> None:
    made = without_beyond(rows(Random(3), 300))
    address = in_mariadb(mariadb, mariadb_name, made)
    with hf.data.table(address, table="people", schema=SCHEMA) as sample:
        reference = hf.data.table(kept.arrow(made), schema=SCHEMA)
        assert (sample.engine, sample.n, sample.schema) == ("mysql", 300, reference.schema)
        assert sample.fingerprint() == reference.fingerprint()
        agree(sample, reference, Random(4), 60)
        assert mariadb.password not in repr(sample)


def test_an_ibis_table_of_postgresql(postgres_url: str) -> None:
    made = rows(Random(5), 200)
    kept.postgres(postgres_url, made)
    con = ibis.connect(postgres_url)
    table = con.table("rows")
    some = [row for row in made if row["i"] is not None and row["i"] > 0]
    with hf.data.table(table.filter(table.i > 0), schema=SCHEMA) as sample:
        reference = hf.data.table(kept.arrow(some), schema=SCHEMA)
        assert sample.engine == "postgres"
        assert sample.fingerprint() == reference.fingerprint()
        agree(sample, reference, Random(6), 30)
        con.raw_sql("update rows set i = i + 1 where i = 7").close()
        with pytest.raises(SampleUnavailable, match="no longer has the rows"):
            sample.measure([Count("i > 5")])
    con.disconnect()


@pytest.mark.filterwarnings("ignore:fetch_arrow_table")  # which Ibis calls
def test_an_ibis_table_of_duckdb_and_one_in_memory() -> None:
    made = rows(Random(7), 200)
    con = ibis.duckdb.connect()
    con.con.register("held", kept.arrow(made))
    con.con.execute("create table people as select * from held")
    table = con.table("people")
    reference = hf.data.table(kept.arrow(made), schema=SCHEMA)
    for sample in (hf.data.table(table, schema=SCHEMA), hf.data.table(ibis.memtable(kept.arrow(made)), schema=SCHEMA)):
        assert sample.fingerprint() == reference.fingerprint()
        agree(sample, reference, Random(8), 30)
        sample.close()
    con.disconnect()


def test_times_and_decimals(mariadb: MariaDB, mariadb_name: str, tmp_path: Path) -> None:
    moments = [datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(2024, 2, 29, 12, 30), None]
    days = [date(1900, 3, 1), None, date(2024, 2, 29)]
    mariadb.execute(
        mariadb_name,
        "create table people (d date, t datetime(6), p decimal(10, 2))",
        "insert into people values (%s, %s, %s)",
        rows=list(zip(days, moments, ["12.34", "-0.10", None], strict=True)),
    )
    held = {"d": days, "t": moments, "p": [Decimal("12.34"), Decimal("-0.10"), None]}
    asked = [Count("year(d) = 1900"), FixedSum("p", -1, 20, 0), FixedSum("seconds(t)", -10, 2e9, 0)]
    with hf.data.table(mariadb.url(mariadb_name), table="people") as sample:
        reference = hf.data.table(held)
        assert sample.fingerprint() == reference.fingerprint()
        assert sample.measure(asked) == reference.measure(asked)
    address = sqlite(
        tmp_path / "a.sqlite", [{"d": None if d is None else d.isoformat()} for d in days], Schema({"d": "date"})
    )
    with hf.data.table(address, table="people") as sample:
        assert sample.fingerprint() == hf.data.table({"d": days}).fingerprint()


def test_single_precision_numbers_keep_all_digits(mariadb: MariaDB, mariadb_name: str) -> None:
    """MariaDB writes six digits of a FLOAT, whatever it computes with."""
    values = [16_777_216.0, 1.0000001192092896, 0.10000000149011612, 123456.7890625, None]
    listed = ", ".join("(null)" if value is None else f"({value!r})" for value in values)
    mariadb.execute(mariadb_name, "create table people (x float)", f"insert into people values {listed}")
    asked: list[Statistic] = [FixedSum("x", 0, 20_000_000, 0), Count("x > 1"), Count("x = 16777216")]
    with hf.data.table(mariadb.url(mariadb_name), table="people") as sample:
        reference = hf.data.table({"x": values})
        assert sample.fingerprint() == reference.fingerprint()
        assert sample.measure(asked) == reference.measure(asked)
        mariadb.execute(mariadb_name, "update people set x = 1 where x between 1 and 1.1")
        with pytest.raises(SampleUnavailable, match="no longer has the rows"):
            sample.measure(asked)
    with hf.data.table(mariadb.url(mariadb_name), table="people") as sample:
        assert sample.fingerprint() != reference.fingerprint()


def test_columns_in_words_of_ibis_are_those_in_our_own(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """How columns of databases are handed over that no words of their own are written for."""
    import psycopg

    from holdfast.data.engines import sql_statements

    monkeypatch.setattr(sql_statements, "OWN_WORDS", ())
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create table people (d date, t timestamp, z timestamptz, p numeric(10, 2), x float8)")
        connection.execute(
            "insert into people values ('1900-03-01', '1969-12-31 23:59:59.999999', '2024-02-29 12:00+01', 12.34, 0.1),"
            " ('2000-02-29', '2001-09-09 01:46:40', null, -0.1, null)"
        )
    con = ibis.connect(postgres_url)
    with hf.data.table(con.table("people")) as sample, hf.data.table(postgres_url, table="people") as plain:
        assert sample.fingerprint() == plain.fingerprint()
        asked = [Count("year(d) = 1900"), FixedSum("p", -1, 20, 0), FixedSum("seconds(t)", -10, 2e9, 0)]
        assert sample.measure(asked) == plain.measure(asked)
    con.disconnect()


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("number", (1, 2.5, None, 2**53 + 1, -(2**63)), [1.0, 2.5, None, 2.0**53, -(2.0**63)]),
        ("number", (Decimal("0.1"), None), [0.1, None]),
        ("number", (math.inf, -0.0, 5e-324), [math.inf, -0.0, 5e-324]),
        ("integer", (2**63 - 1, None, Decimal(2**53 + 1), True), [2**63 - 1, None, 2**53 + 1, 1]),
        ("boolean", (1, 0, None), [True, False, None]),
        ("text", ("é", None, ""), ["é", None, ""]),
    ],
)
def test_what_drivers_give_is_exact(kind: Any, values: tuple[Any, ...], expected: list[Any]) -> None:
    assert ibis_sample._array(values, kind).to_pylist() == expected
    assert ibis_sample._array(values[:1], kind).to_pylist() == expected[:1]


class TestProbe:
    """A database that answers otherwise is found, by the name of what it does."""

    def run(self) -> probing.Run:
        con = ibis.duckdb.connect()
        return lambda statement: con.con.execute(statement).fetchall()

    @pytest.mark.parametrize("named", ["float32", "int64", "string", "date", "timestamp"])
    def test_columns_that_are_read_otherwise_refuse_the_database(self, named: str) -> None:
        """As a driver does that writes few digits, small letters or another day: questions do not show it."""
        run = self.run()
        lost: dict[str, Callable[[Any], Any]] = {
            "float32": lambda value: float(f"{value:.6g}"),
            "int64": lambda value: int(float(value)) if abs(value) > 2**53 else value,
            "string": str.lower,
            "date": lambda value: value + 1,
            "timestamp": lambda value: value // 1_000 * 1_000,
        }
        at = {"int64": 3, "string": 7}.get(named, 9)

        def read(statement: str) -> Any:
            rows = run(statement)
            if not statement.startswith("select"):
                return rows
            return [
                tuple(lost[named](v) if i == at and v is not None else v for i, v in enumerate(row)) for row in rows
            ]

        with pytest.raises(InvalidParameter, match=f"duckdb does 'a column of {named} read as it is' otherwise"):
            probing.probe("duckdb", [named], read)  # type: ignore[list-item]

    def test_a_right_one_is_admitted(self) -> None:
        found = probing.probe(
            "duckdb", ["float32", "float64", "date", "timestamp", "timestamptz", "decimal"], self.run()
        )
        assert found == probing.Probed(frozenset(), {})

    @pytest.mark.parametrize(
        ("right", "wrong", "said"),
        [
            (" / ", " * ", "a column of numbers.*"),
            ("FLOOR(", "CEIL(", "rounding down"),
            ("SQRT(", "ABS(", "a square root"),
            ("ABS(", "(", "a column of numbers.*"),
            ("NULLIF(", "COALESCE(", "a quotient of doubles, NULL by zero|a quotient of whole numbers"),
        ],
    )
    def test_arithmetic_that_differs_refuses_the_database(self, right: str, wrong: str, said: str) -> None:
        run = self.run()
        with pytest.raises(InvalidParameter, match=f"computes as Holdfast does, and duckdb does '({said})"):
            probing.probe("duckdb", [], lambda statement: run(statement.replace(right, wrong)))

    @pytest.mark.parametrize(
        ("right", "wrong", "form"),
        [
            ("collate posix", "collate nocase", "= of texts"),
            ("LENGTH(", "STRLEN(", "length"),
            ("MD5(", "SHA256(", "bucket"),
            ("SUBSTR", "BROKEN", "substring"),
        ],
    )
    def test_a_form_of_texts_that_differs_is_refused_by_name(self, right: str, wrong: str, form: str) -> None:
        run = self.run()
        found = probing.probe("duckdb", [], lambda statement: run(statement.replace(right, wrong)))
        assert form in found.refused
        shown = {"= of texts": "s = 'a'", "length": "length(s) > 1", "substring": "substring(s, 1, 1) = 'a'"}
        if form in shown:
            with pytest.raises(InvalidParameter, match="because this database computes it"):
                found.check([expression(shown[form], Schema({"s": "text"}))])

    @pytest.mark.parametrize("form", ibis_columns.OTHER_WAYS)
    def test_the_other_way_means_the_same(self, form: str) -> None:
        """Each form in its other way alone, on the hard rows."""
        con = ibis.sqlite.connect()
        _made_ready(con)

        def run(statement: str) -> Any:
            return con.con.execute(statement).fetchall()

        schema, kinds = probing._schema([]), {name: raw for name, (_, raw) in probing._columns([]).items()}
        hard, table = probing._written("sqlite", schema, kinds, run)
        statements = probing.Statements("sqlite", schema, kinds, table, others=frozenset({form}))
        same = {"number literal": "+"}.get(form, form)
        cases = [case for case in probing.CASES if case.form == same]
        assert cases
        assert probing._wrong(statements, cases, hard, run) == []

    def test_a_wrong_way_is_left_for_the_other(self) -> None:
        run = self.run()
        found = probing.probe("duckdb", [], lambda statement: run(statement.replace("TRANSLATE(", "BROKEN(")))
        assert (found.others, dict(found.refused)) == (frozenset({"lower", "upper"}), {})

    def test_a_database_that_cannot_be_reached_is_none_that_differs(self) -> None:
        def run(statement: str) -> Any:
            raise SampleUnavailable("gone")

        with pytest.raises(SampleUnavailable, match="gone"):
            probing.probe("duckdb", [], run)


def test_what_sqlite_cannot_do_is_refused_before_anything_is_paid(tmp_path: Path) -> None:
    from holdfast.guard import Guard, Policy

    address = sqlite(tmp_path / "a.sqlite", [{"x": float(at)} for at in range(500)], Schema({"x": "number"}))
    sample = hf.data.table(address, table="people")
    guard = Guard.open(str(tmp_path / "ledger.db"), sample, Policy(questions=5))
    try:
        before = guard.describe()
        with pytest.raises(InvalidParameter, match="because this database computes it"):
            guard.for_analyst("ann").ask(
                {"kind": "check", "expression": "coalesce(ln(x + 1), 0)", "low": 0, "high": 10, "guess": 5}
            )
        assert guard.describe() == before
        answer = guard.for_analyst("ann").ask({"kind": "check", "expression": "x", "low": 0, "high": 499, "guess": 250})
        low, high = answer.interval
        assert low <= 249.5 <= high
    finally:
        guard.shut()


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        ("integer", "'abc'", "must have values of its declared type in every row, and some rows have"),
        ("integer", "2.5", "must have values of its declared type in every row, and some rows have"),
        ("number", "'1e5x'", "must have values of its declared type in every row, and some rows have"),
        ("boolean", "2", "must have values of its declared type in every row, and some rows have"),
        ("text", "x'ff'", "must have values of its declared type in every row, and some rows have"),
        ("date", "'2021-02-30'", "must have values of its declared type in every row, and some rows have"),
    ],
)
def test_sqlite_columns_hold_what_they_declare(tmp_path: Path, kind: Any, value: str, said: str) -> None:
    address = sqlite(tmp_path / "a.sqlite", [], Schema({"x": kind}))
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as connection:
        connection.execute(f"insert into people values ({value})")
        connection.commit()
    with pytest.raises(SampleUnavailable, match=said):
        hf.data.table(address, table="people")


CHANGES = {
    "changed": "update people set x = x + 1 where x = 3",
    "appended": "insert into people values (7, 'new')",
    "removed": "delete from people where x = 3",
    "dropped": "drop table people",
    "one letter": "update people set s = 'A' where x = 3",
    "exchanged": "update people set x = case x when 3 then 4 when 4 then 3 else x end",
}


@pytest.mark.parametrize("how", ["over", "replaced", "removed", "cut off"])
def test_a_file_of_sqlite_that_was_exchanged_is_noticed(tmp_path: Path, how: str) -> None:
    """Its engine asks a counter in the file alone, which the other file has too."""
    schema = Schema({"x": "number"})
    paths = [tmp_path / name for name in ("a.sqlite", "b.sqlite")]
    for at, path in enumerate(paths):
        sqlite(path, [{"x": float(at + row)} for row in range(5_000)], schema)
    path, other = paths
    with hf.data.table(f"sqlite://{path}", table="people") as sample:
        assert sample.measure([Count("x > 3")]) == [(4996,)]
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
        for ask in (lambda: sample.measure([Count("x > 3")]), sample.fingerprint):
            with pytest.raises(SampleUnavailable, match=r"no longer has the rows|gone or changed"):
                ask()


def people(
    engine: str, made: Rows, schema: Schema, folder: Path, request: pytest.FixtureRequest
) -> tuple[Any, Callable[[str], Any]]:
    """A table of numbers and texts, by address or as a table of Ibis, and what changes it."""
    if engine == "mysql":
        server, name = request.getfixturevalue("mariadb"), request.getfixturevalue("mariadb_name")
        return in_mariadb(server, name, made, schema), lambda statement: server.execute(name, statement)
    if engine == "sqlite":
        address = sqlite(folder / "a.sqlite", made, schema)

        def execute(statement: str) -> None:
            with closing(sqlite3.connect(folder / "a.sqlite")) as connection:
                connection.execute(statement)
                connection.commit()

        return address, execute
    con = ibis.duckdb.connect() if engine == "duckdb" else ibis.connect(request.getfixturevalue("postgres_url"))
    request.addfinalizer(con.disconnect)
    con.create_table("people", schema=ibis.schema({"x": "float64", "s": "string"}))
    listed = ", ".join(f"({row['x']}, '{row['s']}')" for row in made)
    run: Callable[[str], Any] = con.raw_sql if engine == "duckdb" else lambda statement: con.raw_sql(statement).close()
    run(f"insert into people values {listed}")
    return con.table("people"), run


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.filterwarnings("ignore:fetch_arrow_table")  # which Ibis calls
@pytest.mark.parametrize("engine", ["sqlite", "mysql", "duckdb", "postgres"])
def test_changes_are_noticed(engine: str, change: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    schema, made = Schema({"x": "number", "s": "text"}), [{"x": float(at), "s": "ab"[at == 3]} for at in range(40)]
    source, execute = people(engine, made, schema, tmp_path, request)
    with hf.data.table(source, table="people" if isinstance(source, str) else None) as sample:
        assert sample.measure([Count("x > 3 and s = 'a'")]) == [(36,)]
        assert sample.measure([Histogram("x", (0, 20, 40)), Histogram("x", (0, 9)), Count("x > 3")])[2] == (36,)
        execute(CHANGES[change])
        for asked in (lambda: sample.measure([Count("x > 3 and s = 'a'")]), sample.fingerprint):
            with pytest.raises(SampleUnavailable) as caught:
                asked()
            assert "no longer has the rows" in str(caught.value) or "gone or changed" in str(caught.value)


def test_a_lost_connection_is_opened_again(mariadb: MariaDB, mariadb_name: str) -> None:
    address = in_mariadb(mariadb, mariadb_name, [{"x": 1.0}, {"x": 2.0}], Schema({"x": "number"}))
    with hf.data.table(address, table="people") as sample:
        for (thread,) in mariadb.execute(
            None, f"select id from information_schema.processlist where db = '{mariadb_name}'"
        ):
            mariadb.execute(None, f"kill {thread}")
        assert sample.measure([Count("x > 1")]) == [(1,)]


def test_what_cannot_be_opened_is_said_without_the_address(mariadb: MariaDB, mariadb_name: str, tmp_path: Path) -> None:
    refusals: list[tuple[str, Any, type[Exception], str]] = [
        (f"mysql://tester:{SECRET}@127.0.0.1:{mariadb.port}/none", "people", SampleUnavailable, "could not be reached"),
        (mariadb.url(mariadb_name), "people", SampleUnavailable, "or it has no table people"),
        (
            mariadb.url(mariadb_name),
            None,
            InvalidParameter,
            "table must be the name of the table with the rows in the database",
        ),
        (
            f"sqlite://{tmp_path}/none.sqlite",
            "people",
            SampleUnavailable,
            "the database file none.sqlite does not exist",
        ),
        (f"snowflake://ann:{SECRET}@there/db", "people", NotInstalled, "pip install 'ibis-framework.snowflake.'"),
        (f"bigquery://{SECRET}", "people", NotInstalled, "pip install 'ibis-framework.bigquery.'"),
        (f"trino://ann:{SECRET}@there/db", "people", NotInstalled, "pip install 'ibis-framework.trino.'"),
        (f"databricks://ann:{SECRET}@there/db", "people", NotInstalled, "pip install 'ibis-framework.databricks.'"),
    ]
    for address, table, error, said in refusals:
        with pytest.raises(error, match=said) as caught:
            hf.data.table(address, table=table)
        assert SECRET not in str(caught.value)
        assert mariadb.password not in str(caught.value)


def test_a_backend_without_sql_is_named() -> None:
    con = ibis.polars.connect({"people": kept.arrow([])})
    with pytest.raises(
        InvalidParameter, match=r"database that reads SQL, and polars does not; give the rows as a data frame"
    ):
        hf.data.table(con.table("people"))


def test_an_address_may_say_mariadb(mariadb: MariaDB, mariadb_name: str) -> None:
    address = in_mariadb(mariadb, mariadb_name, [{"x": 1.0}, {"x": 2.0}], Schema({"x": "number"}))
    with hf.data.table(address.replace("mysql://", "mariadb://"), table="people") as sample:
        assert (sample.engine, sample.measure([Count("x > 1")])) == ("mysql", [(1,)])


def test_truth_values_of_mariadb_are_declared(mariadb: MariaDB, mariadb_name: str) -> None:
    address = in_mariadb(mariadb, mariadb_name, [{"b": True}, {"b": None}, {"b": False}], Schema({"b": "boolean"}))
    with hf.data.table(address, table="people") as sample:
        assert sample.schema["b"].kind == "integer"
    with hf.data.table(address, table="people", schema={"b": "boolean"}) as sample:
        assert sample.fingerprint() == hf.data.table({"b": [True, None, False]}).fingerprint()
    mariadb.execute(mariadb_name, "insert into people values (2)")
    with pytest.raises(
        SampleUnavailable, match="must have values of its declared type in every row, and some rows have"
    ):
        hf.data.table(address, table="people", schema={"b": "boolean"})
