"""What the SQLite and the PostgreSQL store share beyond one chain: opening, listing, and all rows at one moment."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import SQLAlchemyError

from holdfast.errors import LedgerUnavailable
from holdfast.guard.ledger.entry import Entry, Head
from holdfast.guard.ledger.schema import LEDGER
from holdfast.guard.ledger.signing import SigningKey
from holdfast.guard.ledger.sql_backend import SQLBackend
from holdfast.guard.ledger.sql_connection import give_up, twice
from holdfast.guard.ledger.sql_source import entry_of
from holdfast.guard.ledger.sql_tables import ACCOUNTS, ENTRIES, HEADS, SALTS, SECRETS
from holdfast.guard.ledger.store import HeadRow, Snapshot, StateRow, Store

_CHUNK = 5000


class SQLStore(Store):
    """A store in an SQL database. A subclass says how to connect, lock, and read one moment."""

    def __init__(
        self, engine: Engine, key: SigningKey | None, new_key: bool, upsert: Callable[..., Any], read_only: bool
    ) -> None:
        super().__init__(key, new_key)
        self._engine, self._upsert = engine, upsert
        self._salted: bytes | None = None
        with self._connected("nothing was opened") as connection:
            found = LEDGER.stored_version(connection)
            if read_only and found is None:
                raise LedgerUnavailable("there are no ledgers there")
            if not read_only and found != LEDGER.version:
                connection.rollback()
                self._lock_schema(connection)
                LEDGER.bring_up_to_date(connection)
                connection.commit()

    def _salt(self) -> bytes:
        if self._salted is None:
            with self._connected("nothing was opened") as connection:
                self._salted = bytes.fromhex(connection.execute(select(SALTS.c.salt)).scalar_one())
        return self._salted

    @property
    def engine(self) -> Engine:
        """The SQLAlchemy engine."""
        return self._engine

    @abstractmethod
    def _chain(self, ledger: int, dataset: str) -> SQLBackend:
        """One chain."""

    @abstractmethod
    def _lock_schema(self, connection: Connection) -> None:
        """Begin a transaction that no other process changes the tables beside."""

    @abstractmethod
    def _begin_snapshot(self, connection: Connection) -> None:
        """Begin a transaction that only reads, and sees one moment."""

    @abstractmethod
    def _explain(self, error: SQLAlchemyError) -> str:
        """What went wrong, in words."""

    @contextmanager
    def _connected(self, outcome: str) -> Iterator[Connection]:
        try:
            with twice(self._engine, self._connect) as connection:
                yield connection
        except SQLAlchemyError as error:
            raise LedgerUnavailable(f"{self._explain(error)}; {outcome}") from None
        except UnicodeDecodeError:  # a name in a damaged catalogue
            raise LedgerUnavailable(f"the tables of the ledger are damaged; {outcome}") from None

    def _connect(self) -> Connection:
        """A connection that answers; one from the pool may have been lost since it was used."""
        connection = self._engine.connect()
        try:
            connection.execute(select(1))
            connection.rollback()
        except BaseException:
            give_up(connection)
            raise
        return connection

    def _backend(self, dataset: str) -> SQLBackend:
        find = select(HEADS.c.ledger).where(HEADS.c.dataset == dataset)
        with self._connected("nothing was opened") as connection:
            ledger = connection.execute(find).scalar()
            if ledger is None:
                start = Head()
                values = {"dataset": dataset, "sequence": start.sequence, "hash": start.hash}
                connection.execute(self._upsert(HEADS).values(values).on_conflict_do_nothing())
                ledger = connection.execute(find).scalar_one()
                connection.commit()
        return self._chain(int(ledger), dataset)

    def datasets(self) -> list[str]:
        """Every data set that has a chain here, in order."""
        with self._connected("nothing was read") as connection:
            return sorted(connection.execute(select(HEADS.c.dataset)).scalars())

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """All rows at one moment."""
        with self._connected("nothing was read") as connection:
            self._begin_snapshot(connection)
            yield self._rows(connection)

    def _rows(self, connection: Connection) -> SQLSnapshot:
        return SQLSnapshot(connection)

    def close(self) -> None:
        """Close every connection."""
        super().close()
        self._engine.dispose()


class SQLSnapshot:
    """All rows over one connection, which is in a transaction that sees one moment."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def problems(self) -> list[str]:
        """What is wrong with the form of the store: its version, rows that belong to no chain."""
        found = []
        version = LEDGER.stored_version(self._connection)
        if version != LEDGER.version:
            found.append(f"the tables are of version {version!r}, not {LEDGER.version!r}")
        known = select(HEADS.c.ledger)
        for table in (ENTRIES, ACCOUNTS, SECRETS):
            count = select(func.count()).select_from(table).where(table.c.ledger.not_in(known))
            if lost := self._connection.execute(count).scalar_one():
                found.append(f"{lost} rows of {table.name} belong to no ledger")
        return found

    def heads(self) -> list[HeadRow]:
        """Every chain."""
        rows = self._connection.execute(select(HEADS).order_by(HEADS.c.dataset))
        return [HeadRow(r.ledger, r.dataset, Head(r.sequence, r.hash, r.signer), r.signature) for r in rows]

    def entries(self, name: Any) -> Iterator[Entry]:
        """The entries of a chain in order of their numbers."""
        dataset = self._connection.execute(select(HEADS.c.dataset).where(HEADS.c.ledger == name)).scalar_one()
        statement = select(ENTRIES).where(ENTRIES.c.ledger == name).order_by(ENTRIES.c.sequence).limit(_CHUNK)
        rows = self._connection.execute(statement).all()
        while rows:
            yield from (entry_of(dataset, row) for row in rows)
            rows = self._connection.execute(statement.where(ENTRIES.c.sequence > rows[-1].sequence)).all()

    def accounts(self, name: Any) -> list[StateRow]:
        """The accounts of a chain."""
        found = select(ACCOUNTS).where(ACCOUNTS.c.ledger == name).order_by(ACCOUNTS.c.name)
        return [StateRow(r.name, None, r.state, r.sequence) for r in self._connection.execute(found)]

    def secrets(self, name: Any) -> list[StateRow]:
        """The secrets of a chain."""
        found = select(SECRETS).where(SECRETS.c.ledger == name).order_by(SECRETS.c.name)
        return [StateRow(r.name, r.salt, r.state, r.sequence) for r in self._connection.execute(found)]


__all__ = ["SQLSnapshot", "SQLStore"]
