"""Rows in PostgreSQL: row keys are sketched there too, other encodings are refused, and an error shows no row."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import psycopg
import pytest

from holdfast.data import table
from holdfast.data.statistics import FixedSum
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
        assert there.column_digests() == here.column_digests() == {}  # a running number, and three values
        assert there.is_numbered("person")


def test_column_digests_are_the_same_as_in_memory(postgres_url: str) -> None:
    execute(
        postgres_url,
        "create table people (person bigint, x double precision)",
        "insert into people select i * i, i * i + 0.5 from generate_series(1, 500) i",
    )
    rows = {"other": [i * i for i in range(500, 0, -1)], "y": [i * i + 0.5 for i in range(500, 0, -1)]}
    with table(postgres_url, table="people") as there, table(rows) as here:
        assert sorted(there.column_digests().values()) == sorted(here.column_digests().values())
        assert set(there.column_digests()) == {"person", "x"}


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
