"""A store in one SQLite file: write-ahead log, synchronised in full at every commit.

`BEGIN IMMEDIATE` lets one writer in at a time, threads and processes alike. A commit is durable when it returns, and
visible to others only after that.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import SQLAlchemyError

from holdfast.core import arguments
from holdfast.errors import InvalidParameter, LedgerUnavailable
from holdfast.guard.ledger.entry import Entry, Head
from holdfast.guard.ledger.receipts import SigningKey
from holdfast.guard.ledger.sql import SQLBackend, SQLSnapshot, SQLSource, SQLStore
from holdfast.guard.ledger.transaction import Changes, Keys, Questions

_MEANINGS = (
    ("disk is full", "the disk that holds the ledger is full, or the file has reached its limit"),
    ("locked", "another process has held the ledger's lock for too long"),
    ("readonly", "the ledger's file cannot be written"),
    ("unable to open", "the ledger's file cannot be opened"),
    ("not a database", "the ledger's file is no SQLite database"),
    ("malformed", "the ledger's file is damaged; restore a copy and run `holdfast verify`"),
    ("disk i/o error", "the disk that holds the ledger failed to read or write"),
    ("no such table", "the ledger's file has no ledger in it"),
)

_SIGNATURE = b"SQLite format 3\x00"
"""What every file of SQLite begins with; a new one is empty."""


class _Chain(SQLBackend):
    def __init__(self, store: SQLiteStore, engine: Engine, ledger: int, dataset: str) -> None:
        super().__init__(engine, ledger, dataset, insert)
        self._store = store

    def write(self, changes: Changes, signature: str | None) -> None:
        self._store.require_file()
        super().write(changes, signature)

    def _lock(self, connection: Connection, keys: Keys, questions: Questions) -> tuple[Head, list[Entry]]:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        source = SQLSource(connection, self._ledger, self._dataset)
        return source.head(), source.find_all(keys, questions)

    def _snapshot(self, connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    def _lock_whole(self, connection: Connection) -> None:
        """Nothing more: a file has one writer, whatever chain it writes to."""

    def explain(self, error: SQLAlchemyError) -> str:
        return _explain(error)


class _Rows(SQLSnapshot):
    def problems(self) -> list[str]:
        reported = self._connection.exec_driver_sql("PRAGMA integrity_check").scalars().all()
        damaged = [] if reported == ["ok"] else ["SQLite finds its file or an index damaged"]
        return damaged + super().problems()


class SQLiteStore(SQLStore):
    """A store in a file, with its key next to it; made by `open_store(path)`.

    `read_only` opens what is there and writes nothing at all, for verifying: no tables, no key.
    """

    def __init__(
        self,
        path: str | Path,
        key: SigningKey | None = None,
        new_key: bool = False,
        *,
        create: bool = True,
        read_only: bool = False,
        timeout: float = 30.0,
    ) -> None:
        self._path = Path(path)
        seconds = arguments.real("timeout", timeout, above=0)
        if not self._path.parent.is_dir():
            raise InvalidParameter(
                f"where must be a file in a folder that exists, and the folder {self._path.parent} does not"
            )
        if (read_only or not create) and not (self._path.is_file() and self._path.stat().st_size):
            raise LedgerUnavailable(f"there is no ledger at {self._path}")
        _require_database(self._path)
        engine = create_engine(_address(self._path, read_only), connect_args={"timeout": seconds}, hide_parameters=True)
        event.listen(engine, "connect", _read_only if read_only else _prepare)
        if key is None and not read_only:
            key = SigningKey.load_or_create(self._path.with_name(self._path.name + ".key"))
        super().__init__(engine, key, new_key, insert, read_only)
        self._file = _identity(self._path)

    def require_file(self) -> None:
        """Raise where the file is no longer the one that was opened: what is written would be lost with it."""
        if _identity(self._path) != self._file:
            raise LedgerUnavailable(
                "the ledger's file was moved or deleted after it was opened; put the file back. Nothing was written"
            )

    def _chain(self, ledger: int, dataset: str) -> SQLBackend:
        return _Chain(self, self._engine, ledger, dataset)

    def _lock_schema(self, connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def _begin_snapshot(self, connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    def _rows(self, connection: Connection) -> SQLSnapshot:
        return _Rows(connection)

    def _explain(self, error: SQLAlchemyError) -> str:
        return _explain(error)

    def __repr__(self) -> str:
        return f"SQLiteStore({str(self._path)!r})"


def _require_database(path: Path) -> None:
    """Raise where a file is of another kind, before a key is made for it."""
    if not path.is_file():
        return
    with path.open("rb") as file:
        first = file.read(len(_SIGNATURE))
    if first not in (b"", _SIGNATURE):
        raise LedgerUnavailable("the ledger's file is not an SQLite database; nothing was opened")


def _identity(path: Path) -> tuple[int, int] | None:
    """What file is at a path; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _address(path: Path, read_only: bool) -> URL:
    if not read_only:
        return URL.create("sqlite+pysqlite", database=str(path))
    return URL.create("sqlite+pysqlite", database=path.resolve().as_uri(), query={"mode": "ro", "uri": "true"})


def _prepare(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so, not where the driver guesses
    _write_ahead(connection)
    for setting in ("synchronous=FULL", "fullfsync=ON", "foreign_keys=ON", "trusted_schema=OFF"):
        connection.execute(f"PRAGMA {setting}").close()


def _write_ahead(connection: Any) -> None:
    """Turn the write-ahead log on, as patiently as any other statement.

    While another process does the same to a new file, SQLite refuses at once: it does not wait the connection's timeout
    for this one change.
    """
    patience = connection.execute("PRAGMA busy_timeout").fetchone()[0] / 1000
    until = time.monotonic() + patience
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").close()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= until:
                raise
        time.sleep(0.005)


def _read_only(connection: Any, _: Any) -> None:
    connection.isolation_level = None
    # Damaged text is to be found and named, so it must not stop the reading.
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    connection.execute("PRAGMA query_only=ON").close()


def _explain(error: SQLAlchemyError) -> str:
    text = str(getattr(error, "orig", error)).lower()
    for words, meaning in _MEANINGS:
        if words in text:
            return meaning
    return f"the ledger's file could not be used ({type(getattr(error, 'orig', error)).__name__})"
