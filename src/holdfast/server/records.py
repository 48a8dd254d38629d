"""The server's own records (tokens, samples, guards, reports), in tables next to the ledger's."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Engine,
    ForeignKey,
    MetaData,
    RowMapping,
    Select,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from holdfast.errors import LedgerConflict, LedgerUnavailable
from holdfast.guard.ledger.sql import Migrations, SQLStore, give_up, twice

# --- Tables -----------------------------------------------------------------------------------------------------------
# The server's own tables, next to the ledger's in the same database. Alembic makes them; a test keeps the two alike.

METADATA = MetaData()

#: Times are ISO texts in UTC, as the ledger's are: they sort, and both databases store them alike.
TOKENS = Table(
    "server_tokens",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("guards", Text),
    Column("hash", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("expires", Text, nullable=False),
    Column("revoked", Text),
)

SAMPLES = Table(
    "server_samples",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("origin", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("row_key", Text),
    Column("row_key_numbered", Boolean),
    Column("schema", Text, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("created", Text, nullable=False),
    Column("removed", Text),
)

GUARDS = Table(
    "server_guards",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("sample", Text, ForeignKey("server_samples.id"), nullable=False),
    Column("dataset", Text, nullable=False, unique=True),
    Column("created", Text, nullable=False),
)

REPORTS = Table(
    "server_reports",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("title", Text, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("partial", Boolean, nullable=False),
    Column("digest", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("uploader", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("published", Text),
)

INVITATIONS = Table(
    "server_invitations",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("guard", Text, ForeignKey("server_guards.id"), nullable=False),
    Column("name", Text),
    Column("digest", Text, nullable=False),
    Column("places", BigInteger, nullable=False),
    Column("used", BigInteger, nullable=False),
    Column("inviter", Text, nullable=False),
    Column("created", Text, nullable=False),
    Column("expires", Text, nullable=False),
    Column("revoked", Text),
)

#: Who signed up to a guard by an invitation: a name is somebody's once.
PARTICIPANTS = Table(
    "server_participants",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("guard", Text, ForeignKey("server_guards.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("created", Text, nullable=False),
    UniqueConstraint("guard", "name"),
)

#: What a report says, apart from what is listed of it: some have megabytes.
REPORT_CONTENTS = Table(
    "server_report_contents",
    METADATA,
    Column("id", Text, ForeignKey("server_reports.id"), primary_key=True),
    Column("content", Text, nullable=False),
)


# --- Records ----------------------------------------------------------------------------------------------------------
# The server's records (tokens, samples, guards, reports) in the database that holds the ledger.

RECORDS = Migrations("the server's", Path(__file__).parent / "migrations", "0004", "server_version")
"""Those of the records; a test keeps the version and the newest of `migrations/versions` alike."""

_SCHEMA_LOCK = 0x686F6C6473727672  # "holdsrvr"


def now() -> str:
    """Return the present moment as it is stored.

    Examples
    --------
    >>> now().endswith("+00:00")
    True
    """
    return datetime.now(UTC).isoformat()


IDENTITY = re.compile(r"[a-z]_[0-9a-f]{16}", re.ASCII)
"""The public id of a record. What looks otherwise is not looked up."""


class Taken(Exception):
    """A row with this name is there already."""


class Records:
    """Rows of the server's tables. Every call is one short transaction of its own.

    Where the connection turns out to be lost, a read is done again on another, once; a write is not begun.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._sqlite = engine.dialect.name == "sqlite"
        with self._connected() as connection:
            if RECORDS.stored_version(connection) != RECORDS.version:
                connection.rollback()
                self._lock_schema(connection)
                RECORDS.bring_up_to_date(connection)
                connection.commit()

    @classmethod
    def of_store(cls, store: Any) -> Records:
        """Return the records in the database of a ledger's store."""
        if not isinstance(store, SQLStore):
            raise LedgerConflict(
                "the ledger of a server must be in SQLite or PostgreSQL, because the server keeps its records next "
                "to it"
            )
        return cls(store.engine)

    def get(self, table: Table, **where: Any) -> dict[str, Any] | None:
        """Return the row with these values, or None."""
        return next(iter(self._rows(select(table).filter_by(**where).limit(1))), None)

    def all(self, table: Table, **where: Any) -> list[dict[str, Any]]:
        """Return rows with these values, oldest first."""
        return self._rows(select(table).filter_by(**where).order_by(table.c.created, table.c.id))

    def some(self, table: Table, identities: Collection[str]) -> list[dict[str, Any]]:
        """Return the rows with these ids, in any order."""
        return self._rows(_some(table), ids=list(identities))

    def _rows(self, statement: Select[Any], **values: Any) -> list[dict[str, Any]]:
        def read() -> list[dict[str, Any]]:
            with self._engine.connect() as connection:
                return [_plain(row) for row in connection.execute(statement, values).mappings()]

        with _explained():
            return twice(self._engine, read)

    def add(self, table: Table, **values: Any) -> None:
        """Store a row, durably; `Taken` if one of its unique values is in use."""
        with self.writing() as connection:
            connection.execute(insert(table).values(values))

    def change(self, table: Table, identity: str, **values: Any) -> bool:
        """Change a row; False if there is none."""
        with self.writing() as connection:
            return bool(connection.execute(update(table).where(table.c.id == identity).values(values)).rowcount)

    def probe(self) -> None:
        """Write something, durably, and read it again; `LedgerUnavailable` where that fails. Nothing is changed."""
        table = RECORDS.kept_in
        with self.writing() as connection:
            connection.execute(text(f"UPDATE {table} SET version_num = version_num"))
        with self._connected() as connection:
            if RECORDS.stored_version(connection) != RECORDS.version:
                raise LedgerUnavailable(
                    "the tables of the server's records do not have the version that this release needs; start the "
                    "server again"
                )

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that writes, committed at the end of the block and undone if the block raises."""
        with self._connected() as connection:
            try:
                if self._sqlite:
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                yield connection
                connection.commit()
            except IntegrityError:
                connection.rollback()
                raise Taken from None
            except BaseException:
                connection.rollback()
                raise

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        with _explained(), twice(self._engine, self._connect) as connection:
            yield connection

    def _connect(self) -> Connection:
        """A connection that answers. A file's cannot be lost, and is not tried."""
        connection = self._engine.connect()
        if not self._sqlite:
            try:
                connection.execute(select(1))
                connection.rollback()
            except BaseException:
                give_up(connection)
                raise
        return connection

    def _lock_schema(self, connection: Connection) -> None:
        if self._sqlite:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(text("SELECT pg_advisory_xact_lock(:name)"), {"name": _SCHEMA_LOCK})


@contextmanager
def _explained() -> Iterator[None]:
    """A database that fails is a ledger out of reach: the records are next to it."""
    try:
        yield
    except SQLAlchemyError as error:
        raise LedgerUnavailable(
            f"the server's records could not be reached ({type(error).__name__}); nothing was changed"
        ) from None


@cache
def _some(table: Table) -> Select[Any]:
    """Rows by their ids; kept, because tokens are looked up by it all the time."""
    return select(table).where(table.c.id.in_(bindparam("ids", expanding=True)))


def _plain(row: RowMapping) -> dict[str, Any]:
    return {str(name): value for name, value in row.items()}
