"""Rows in PostgreSQL: row keys are sketched there too, other encodings are refused, and an error shows no row."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from holdfast.data import table
from holdfast.data.engines.postgres_sample import PostgresSample
from holdfast.data.statistics import Count, FixedSum
from holdfast.errors import InvalidParameter, SampleUnavailable
from tests.services.postgres import Server


def execute(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[call-overload]


def test_row_keys_are_the_same_as_in_memory_and_after_a_lost_connection(
    postgres_server: Server, postgres_url: str
) -> None:
    execute(
        postgres_url,
        "create table people (person bigint, x double precision)",
        "insert into people select i, i % 3 from generate_series(1, 500) i",
    )
    rows = {"person": list(range(1, 501)), "x": [float(i % 3) for i in range(1, 501)]}
    with table(postgres_url, table="people", row_key="person") as there, table(rows, row_key="person") as here:
        assert postgres_server.end_connections(urlsplit(postgres_url).path[1:]) == 1
        found, wanted = there.key_sketch(), here.key_sketch()
        assert found is not None
        assert wanted is not None
        assert found.to_dict() == wanted.to_dict()
        assert found.overlaps(wanted)
        assert (
            there.identity().column_digests == here.identity().column_digests == {}
        )  # a running number, and three values
        assert "person" in there.identity().numbered


def test_column_digests_are_the_same_as_in_memory(postgres_url: str) -> None:
    execute(
        postgres_url,
        "create table people (person bigint, x double precision)",
        "insert into people select i * i, i * i + 0.5 from generate_series(1, 500) i",
    )
    rows = {"other": [i * i for i in range(500, 0, -1)], "y": [i * i + 0.5 for i in range(500, 0, -1)]}
    with table(postgres_url, table="people") as there, table(rows) as here:
        assert sorted(there.identity().column_digests.values()) == sorted(here.identity().column_digests.values())
        assert set(there.identity().column_digests) == {"person", "x"}


@pytest.fixture
def latin(postgres_server: Server) -> Iterator[str]:
    """A database whose texts have another length."""
    name = "t_latin"
    postgres_server.execute(f"create database {name} encoding 'LATIN1' locale 'C' template template0")
    yield postgres_server.url(name)
    postgres_server.drop_database(name)


def test_another_encoding_is_refused(latin: str) -> None:
    execute(latin, "create table people (x double precision)", "insert into people values (1)")
    with pytest.raises(InvalidParameter, match="the database must have the encoding UTF8"):
        table(latin, table="people")


def test_an_error_in_the_middle_of_the_rows_shows_none_of_them(postgres_url: str) -> None:
    execute(
        postgres_url,
        "create table people (x double precision, s text)",
        "insert into people select 1, '77secret' from generate_series(1, 100) i",
        "create view seen as select x, 1.0 :: double precision as y from people",
    )
    with table(postgres_url, table="seen") as sample:
        asked = [FixedSum("x + y", 0.0, 4.0)]
        assert [tuple(one) for one in sample.measure(asked)] == [(100 * 2**29,)]
        execute(postgres_url, "create or replace view seen as select x, s :: double precision as y from people")
        with pytest.raises(SampleUnavailable, match="the database could not read the rows") as caught:
            sample.measure(asked)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None


ROWS = "select i as person, (i * i % 101)::double precision as x, 'v' || i % 3 as s from generate_series(1, 300) i"


@pytest.mark.parametrize(
    "change",
    [
        "update {table} set x = x + 1 where person = 7",
        "update {table} set x = 5 where person = 7; update {table} set x = 49 where person = 7",
        "delete from {table} where person = 7; insert into {table} values (7, 49, 'v1')",
        "insert into {table} values (301, 1, 'v1')",
        "delete from {table} where person = 7",
        "create table other as select * from {table}; truncate {table}; insert into {table} select * from other",
        "alter table {table} alter column x type double precision using x + 1",
    ],
    ids=["changed", "changed back", "exchanged", "appended", "removed", "written again", "rewritten"],
)
@pytest.mark.parametrize("partitioned", [False, True], ids=["table", "partitioned"])
def test_changed_rows_of_a_table_are_found(postgres_url: str, change: str, partitioned: bool) -> None:
    if partitioned:
        columns = "(person bigint, x double precision, s text)"
        execute(
            postgres_url,
            f"create table people {columns} partition by range (person)",
            "create table young partition of people for values from (0) to (100)",
            "create table old partition of people for values from (100) to (1000)",
            f"insert into people {ROWS}",
        )
    else:
        execute(postgres_url, f"create table people as {ROWS}")
    with table(postgres_url, table="people") as sample:
        before = sample.measure([FixedSum("x", 0, 100)])
        execute(postgres_url, "create table elsewhere (x int)")  # a transaction that does not touch the rows
        assert sample.measure([FixedSum("x", 0, 100)]) == before
        execute(postgres_url, change.format(table="people"))
        for _ in range(2):
            with pytest.raises(SampleUnavailable, match="no longer has the rows"):
                sample.measure([FixedSum("x", 0, 100)])
            with pytest.raises(SampleUnavailable, match="no longer has the rows"):
                sample.fingerprint()


MOODS = f"""
create type mood as enum ('good', 'bad');
create table people as select person, x, person::double precision as y, 'good'::mood as m from ({ROWS}) rows
"""


@pytest.mark.parametrize(
    "change",
    [
        "alter table people drop x; alter table people add x double precision default 5",
        "alter table people drop x; alter table people rename y to x",
        "alter table people rename x to z; alter table people rename y to x; alter table people rename z to y",
        "alter type mood rename value 'good' to 'fine'",
    ],
    ids=["made anew", "another's name", "exchanged", "another word"],
)
def test_columns_that_read_the_same_rows_in_another_way_are_found(postgres_url: str, change: str) -> None:
    """No row is written, so no transaction tells: what the table says of its columns does."""
    execute(postgres_url, MOODS)
    asked = [FixedSum("x", 0, 100), Count("m = 'good'")]
    with table(postgres_url, table="people") as sample:
        before = sample.measure(asked)
        execute(
            postgres_url, "alter type mood add value 'dull'; alter table people add w int"
        )  # not what is asked about
        assert sample.measure(asked) == before
        execute(postgres_url, change)
        for read in (lambda: sample.measure(asked), sample.fingerprint):
            with pytest.raises(SampleUnavailable, match="no longer has the rows"):
                read()


def test_a_part_that_was_exchanged_for_one_of_the_same_transaction_is_found(postgres_url: str) -> None:
    execute(
        postgres_url,
        "begin; create table people (x double precision, part int) partition by list (part);"
        "create table one partition of people for values in (1); create table other (x double precision, part int);"
        "insert into one select i, 1 from generate_series(1, 50) i;"
        "insert into other select i + 1, 1 from generate_series(1, 50) i; commit",
    )
    with table(postgres_url, table="people") as sample:
        assert sample.measure([Count("x > 10")]) == [(40,)]
        execute(postgres_url, "alter table people detach partition one")
        execute(postgres_url, "alter table people attach partition other for values in (1)")
        with pytest.raises(SampleUnavailable, match="no longer has the rows"):
            sample.measure([Count("x > 10")])


def test_other_rows_that_a_rule_of_row_security_shows_are_found(postgres_server: Server, postgres_url: str) -> None:
    execute(
        postgres_url,
        f"create table people as {ROWS}",
        "alter table people enable row level security; create policy half on people using (person <= 150)",
        "create role reader login password 'p'; grant select on people to reader",
    )
    try:
        with table(postgres_url.replace(postgres_url.split("//")[1].split("@")[0], "reader:p"), table="people") as half:
            assert half.measure([Count("person < 10")]) == [(9,)]
            assert half.n == 150
            execute(postgres_url, "drop policy half on people; create policy half on people using (person > 150)")
            with pytest.raises(SampleUnavailable, match="no longer has the rows"):
                half.measure([Count("person < 10")])
    finally:
        execute(postgres_url, "drop owned by reader; drop role reader")


def test_a_table_is_read_through_once_while_its_rows_are_the_same(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was found is remembered for the transactions that wrote the rows, until the server is started again."""
    monkeypatch.setenv("HOLDFAST_CACHE", str(tmp_path / "remembered"))
    execute(postgres_url, f"create table people as {ROWS}", "create view seen as select * from people")

    def facts() -> tuple[object, ...]:
        with table(postgres_url, table="people", row_key="person") as sample:
            return sample.schema, sample.identity(), sample.key_sketch(), sample.measure([Count("x > 9")])

    first = facts()
    with monkeypatch.context() as patch:
        patch.setattr(PostgresSample, "batches", None)
        assert facts() == first
    for statement in (
        "update people set x = x + 1 where person = 7",
        "alter table people rename s to t; alter table people add s text default 'v1'",
    ):
        execute(postgres_url, statement)
        assert facts()[1] != first[1]
    entries = list((tmp_path / "remembered").iterdir())
    assert len(entries) == 3
    with table(postgres_url, table="seen") as sample:  # whose rows do not say who wrote them
        sample.fingerprint()
    assert list((tmp_path / "remembered").iterdir()) == entries


@pytest.mark.parametrize(
    "change",
    [
        "update people set x = x + 1 where i = 3",
        "update people set x = case i when 3 then 4 when 4 then 3 else x end",
        "delete from people where i = 3; insert into people values (3, 3, 'other')",
    ],
)
def test_changed_rows_behind_a_view_are_found(postgres_url: str, change: str) -> None:
    """Also where the values of a column are only exchanged between rows."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("create table people (i int, x double precision, s text)")
        connection.execute("insert into people select i, i, 'a' from generate_series(1, 50) i")
        connection.execute("create view seen as select i, x, s from people")
        with table(postgres_url, table="seen") as sample:
            assert sample.measure([Count("x > 3 and i = 4")]) == [(1,)]
            fingerprint = sample.fingerprint()
            connection.execute(change)  # type: ignore[call-overload]
            with pytest.raises(SampleUnavailable, match="no longer has the rows"):
                sample.measure([Count("x > 3 and i = 4")])
        with table(postgres_url, table="seen") as sample:
            assert sample.fingerprint() != fingerprint


def test_a_transaction_that_began_before_and_ended_after_the_opening_is_found(postgres_url: str) -> None:
    execute(postgres_url, f"create table people as {ROWS}")
    with psycopg.connect(postgres_url) as early:
        early.execute("update people set x = x + 1 where person = 7")
        execute(postgres_url, "update people set s = s where person = 9")  # a later transaction that ended earlier
        with table(postgres_url, table="people") as sample:
            sample.measure([FixedSum("x", 0, 100)])
            early.commit()
            with pytest.raises(SampleUnavailable, match="no longer has the rows"):
                sample.measure([FixedSum("x", 0, 100)])


def test_rows_that_are_only_moved_are_the_same(postgres_url: str) -> None:
    execute(postgres_url, f"create table people as {ROWS}")
    with table(postgres_url, table="people") as sample:
        before = sample.measure([FixedSum("x", 0, 100)])
        for statement in ("vacuum full freeze people", "analyze people", "create index on people (x)"):
            execute(postgres_url, statement)
            assert sample.measure([FixedSum("x", 0, 100)]) == before


def test_values_that_are_hard_to_write_are_read_as_they_are(postgres_url: str) -> None:
    texts = [
        "",
        "null",
        "NULL",
        "a,b",
        'say "x"',
        "two\nlines",
        "\\N",
        "\\.",
        " x ",
        "Zürich",
        "é\u0301",
        "t",
        "1e3",
        "\r\n",
    ]
    numbers = [0.1, -0.0, 5e-324, 1.7976931348623157e308, float("inf"), float("-inf"), float("nan"), 1 / 3]
    count = len(texts)
    rows = {
        "s": [*texts, None],
        "x": [*(numbers * 2)[:count], None],
        "b": [*[at % 2 == 0 for at in range(count)], None],
        "i": [*[(-1) ** at * (2**53 + at) for at in range(count)], None],
    }
    execute(postgres_url, "create table hard (s text, x double precision, b boolean, i bigint)")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.cursor().executemany("insert into hard values (%s, %s, %s, %s)", zip(*rows.values(), strict=True))
    with table(postgres_url, table="hard") as there, table(rows) as here:
        assert there.fingerprint() == here.fingerprint()
