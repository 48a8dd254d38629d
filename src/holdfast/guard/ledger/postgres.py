"""A store in a PostgreSQL database, shared by any number of servers.

The row that holds a chain's head is its lock: `SELECT ... FOR UPDATE` lets one writer in at a time, and a lost
connection lets go of it. Commits wait for the disk, whatever the server's default says.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache
from typing import Any

import psycopg
from psycopg.rows import namedtuple_row
from sqlalchemy import URL, Connection, Text, any_, bindparam, create_engine, event, make_url, select, text, union_all
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.dialects.postgresql.psycopg import dialect
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.guard.ledger.entry import Entry, Head
from holdfast.guard.ledger.receipts import SigningKey
from holdfast.guard.ledger.sql import ENTRIES, HEAD, SQLBackend, SQLStore, entry_of, head_of, is_lost, wanted
from holdfast.guard.ledger.transaction import Keys, Questions

Statement = tuple[Any, list[dict[str, Any]]]
"""A statement and the rows of values to execute it with."""

_DIALECT = dialect()  # type: ignore[no-untyped-call]
_LOCKING_HEAD = HEAD.with_for_update()
_OF_LEDGER = select(ENTRIES).where(ENTRIES.c.ledger == bindparam("ledger"))
_KEYS, _ANYBODYS, _OWN, _OWNERS = (
    any_(bindparam(name, type_=ARRAY(Text))) for name in ("keys", "anybodys", "own", "owners")
)
_FIND_ALL = union_all(
    _OF_LEDGER.where(ENTRIES.c.key == _KEYS),
    _OF_LEDGER.where(ENTRIES.c.question == _ANYBODYS),
    _OF_LEDGER.where(ENTRIES.c.question == _OWN, ENTRIES.c.analyst == _OWNERS),
)
_SCHEMA_LOCK = 0x686F6C6466617374  # "holdfast"
_OPENING_LOCK = _SCHEMA_LOCK + 1
_MEANINGS = {
    "53100": "the disk that holds the ledger's database is full",
    "55P03": "another process has held the ledger's lock for too long",
    "42501": "the ledger's database does not let this user write",
    "25006": "the ledger's database takes no writes (is it a standby?)",
    "28P01": "the ledger's database refused the password",
    "3D000": "there is no such database for the ledger",
}


class _Chain(SQLBackend):
    """One chain. Its lock and its writes go to the driver in one trip each, which SQLAlchemy cannot do."""

    def _lock(self, connection: Connection, keys: Keys, questions: Questions) -> tuple[Head, list[Entry]]:
        connection.begin()  # the driver sends BEGIN together with the first statement
        this = {"ledger": self._ledger}
        statements: list[Statement] = [(_LOCKING_HEAD, [this])]
        if keys or questions:
            statements.append((_FIND_ALL, [this | wanted(keys, questions)]))
        results = _send(connection, statements)
        # The second statement sees what was committed while the first waited: each sees its own moment.
        return head_of(results[0]), [entry_of(self._dataset, row) for rows in results[1:] for row in rows]

    def _execute(self, connection: Connection, writes: list[Statement]) -> None:
        _send(connection, writes)

    def _lock_whole(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:name)"), {"name": _OPENING_LOCK})

    def _snapshot(self, connection: Connection) -> None:
        _read_one_moment(connection)

    def explain(self, error: SQLAlchemyError) -> str:
        return _explain(error)


def _send(connection: Connection, statements: list[Statement]) -> list[list[Any]]:
    """Send statements in one trip and return the rows of each; an error of any is raised at the end."""
    driver: Any = connection.connection.driver_connection
    together = driver.pipeline() if psycopg.Pipeline.is_supported() else nullcontext()
    cursors = []
    try:
        with together:
            for statement, rows in statements:
                for row in rows:
                    cursors.append(driver.cursor(row_factory=namedtuple_row))
                    cursors[-1].execute(_text(statement), row)
        return [cursor.fetchall() if cursor.description else [] for cursor in cursors]
    except psycopg.Error as error:
        raise DBAPIError(None, None, error, hide_parameters=True, connection_invalidated=driver.closed) from None


@cache
def _text(statement: Any) -> str:
    """The statement as the driver takes it."""
    return str(statement.compile(dialect=_DIALECT))


class PostgresStore(SQLStore):
    """A store in a PostgreSQL database; made by `open_store("postgresql://...")`."""

    def __init__(
        self,
        address: str,
        key: SigningKey | None = None,
        new_key: bool = False,
        *,
        read_only: bool = False,
        timeout: float = 30.0,
    ) -> None:
        seconds = arguments.real("timeout", timeout, above=0)
        url = _address(address)
        milliseconds = max(1, round(seconds * 1000))
        engine = create_engine(
            url,
            hide_parameters=True,
            isolation_level="READ COMMITTED",
            connect_args={
                "connect_timeout": max(2, round(seconds)),
                "tcp_user_timeout": milliseconds,
                "options": f"-c lock_timeout={milliseconds}",
                "application_name": "holdfast",
            },
        )
        event.listen(engine, "connect", _prepare)
        self._shown = url.render_as_string(hide_password=True)
        super().__init__(engine, key, new_key, insert, read_only)

    def _chain(self, ledger: int, dataset: str) -> SQLBackend:
        return _Chain(self._engine, ledger, dataset, insert)

    def _lock_schema(self, connection: Connection) -> None:
        connection.execute(text("SELECT pg_advisory_xact_lock(:name)"), {"name": _SCHEMA_LOCK})

    def _begin_snapshot(self, connection: Connection) -> None:
        _read_one_moment(connection)

    def _explain(self, error: SQLAlchemyError) -> str:
        return _explain(error)

    def __repr__(self) -> str:
        return f"PostgresStore({self._shown!r})"


def _address(address: str) -> URL:
    if address.startswith("postgres:"):
        address = address.replace("postgres:", "postgresql:", 1)
    try:
        return make_url(address).set(drivername="postgresql+psycopg")
    except (ArgumentError, ValueError):
        raise InvalidParameter("where must be an address like postgresql://user@host/database") from None


def _prepare(connection: Any, _: Any) -> None:
    # A stricter setting than "on" is the steward's choice and stays.
    connection.execute(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
    )
    connection.commit()


def _read_one_moment(connection: Connection) -> None:
    connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def _explain(error: SQLAlchemyError) -> str:
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    if state in _MEANINGS:
        return _MEANINGS[state]
    if is_lost(error) or (isinstance(error, DBAPIError) and state is None):
        return "the connection to the ledger's database was lost, or could not be made"
    return f"the ledger's database could not be used ({state or type(error).__name__})"
