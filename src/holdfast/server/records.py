"""The server's records (tokens, samples, guards, reports) in the database that holds the ledger."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, RowMapping, Table, insert, select, text, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from holdfast.errors import LedgerConflict, LedgerUnavailable
from holdfast.guard.ledger.schema import Migrations
from holdfast.guard.ledger.sql_store import SQLStore

RECORDS = Migrations("the server's", Path(__file__).parent / "migrations", "0002", "server_version")
"""Those of the records; a test keeps the version and the newest of `migrations/versions` alike."""

_SCHEMA_LOCK = 0x686F6C6473727672  # "holdsrvr"


def now() -> str:
    """The present moment as it is stored.

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
    """Rows of the server's tables. Every call is one short transaction of its own."""

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
    def beside(cls, store: Any) -> Records:
        """The records in the database of a ledger's store."""
        if not isinstance(store, SQLStore):
            raise LedgerConflict("a server keeps its records beside the ledger, in SQLite or PostgreSQL")
        return cls(store.engine)

    def get(self, table: Table, **where: Any) -> dict[str, Any] | None:
        """The row with these values, or None."""
        with self._connected() as connection:
            row = connection.execute(select(table).filter_by(**where)).mappings().first()
        return None if row is None else _plain(row)

    def all(self, table: Table, **where: Any) -> list[dict[str, Any]]:
        """Rows with these values, oldest first."""
        statement = select(table).filter_by(**where).order_by(table.c.created, table.c.id)
        with self._connected() as connection:
            return [_plain(row) for row in connection.execute(statement).mappings()]

    def some(self, table: Table, identities: Collection[str]) -> list[dict[str, Any]]:
        """The rows with these ids, in any order."""
        statement = select(table).where(table.c.id.in_(identities))
        with self._connected() as connection:
            return [_plain(row) for row in connection.execute(statement).mappings()]

    def add(self, table: Table, **values: Any) -> None:
        """Store a row, durably; `Taken` if one of its unique values is in use."""
        with self.writing() as connection:
            connection.execute(insert(table).values(values))

    def change(self, table: Table, identity: str, **values: Any) -> bool:
        """Change a row; False if there is none."""
        with self.writing() as connection:
            return bool(connection.execute(update(table).where(table.c.id == identity).values(values)).rowcount)

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
        try:
            with self._engine.connect() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise LedgerUnavailable(
                f"the server's records could not be reached ({type(error).__name__}); nothing was changed"
            ) from None

    def _lock_schema(self, connection: Connection) -> None:
        if self._sqlite:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.execute(text("SELECT pg_advisory_xact_lock(:name)"), {"name": _SCHEMA_LOCK})


def _plain(row: RowMapping) -> dict[str, Any]:
    return {str(name): value for name, value in row.items()}


__all__ = ["IDENTITY", "RECORDS", "Records", "Taken", "now"]
