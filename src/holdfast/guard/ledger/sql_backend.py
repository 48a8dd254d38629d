"""What the SQLite and the PostgreSQL store share: one chain over one SQLAlchemy connection.

A question takes one lock, the reads it asks for, three writes and one commit, however long the chain is.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

from sqlalchemy import Connection, Engine, Table, bindparam, insert, update
from sqlalchemy.exc import SQLAlchemyError

from holdfast.errors import LedgerConflict, LedgerUnavailable
from holdfast.guard.ledger.backend import ASK_AGAIN, NOTHING_WRITTEN, Backend, Keys
from holdfast.guard.ledger.entry import Entry, Head
from holdfast.guard.ledger.sql_connection import give_up, twice
from holdfast.guard.ledger.sql_source import Remembered, SQLSource
from holdfast.guard.ledger.sql_tables import ACCOUNTS, ENTRIES, HEADS, SECRETS
from holdfast.guard.ledger.transaction import Changes, Source

T = TypeVar("T")

_CHUNK = 1000

_PARENTS: list[Any] = []
"""Connections that a process has from its parent: kept, because to close one here could end the parent's."""

_INSERT_ENTRY = insert(ENTRIES)
_MOVE_HEAD = (
    update(HEADS)
    .where(HEADS.c.ledger == bindparam("at"))
    .values({name: bindparam(f"new_{name}") for name in ("sequence", "hash", "signer", "signature")})
)


class SQLBackend(Backend):
    """One chain in an SQL database. A subclass says how its database locks a chain and puts a state."""

    def __init__(self, engine: Engine, ledger: int, dataset: str, upsert: Callable[..., Any]) -> None:
        self._engine, self._ledger, self._dataset = engine, ledger, dataset
        self._connection: Connection | None = None
        self._pid = os.getpid()
        self._remembered = Remembered()
        self._coming: Changes | None = None
        self._put_account = _upsert(upsert, ACCOUNTS, ("state", "sequence"))
        self._put_secret = _upsert(upsert, SECRETS, ("salt", "state", "sequence"))

    @abstractmethod
    def _lock(self, connection: Connection, keys: Keys, questions: Collection[str]) -> tuple[Head, list[Entry]]:
        """Begin a transaction that no other writer of this chain runs beside; the head, and entries looked up."""

    @abstractmethod
    def _snapshot(self, connection: Connection) -> None:
        """Begin a transaction that only reads, and sees one moment."""

    def _execute(self, connection: Connection, writes: list[tuple[Any, list[dict[str, Any]]]]) -> None:
        """Execute each statement with each of its rows."""
        for statement, rows in writes:
            connection.execute(statement, rows)

    @abstractmethod
    def explain(self, error: SQLAlchemyError) -> str:
        """What went wrong, in words for whoever asked."""

    # -- writing -------------------------------------------------------------------------------------------------

    def begin(self, keys: Keys = (), questions: Collection[str] = ()) -> Head:
        """Lock the chain; a connection that was lost since the last question is opened again, once."""
        if self._pid != os.getpid():  # a connection belongs to the process that made it
            _PARENTS.append((self._connection, self._engine.pool))
            self._engine.dispose(close=False)
            self._connection, self._pid = None, os.getpid()
        try:
            head, found = twice(self._engine, lambda: self._locked(keys, questions))
        except SQLAlchemyError as error:
            self._fail(error, NOTHING_WRITTEN)
        except LedgerConflict:
            self.rollback()
            raise
        self._remembered = self._remembered.at(head).learned(keys, questions, found)
        return head

    def _locked(self, keys: Keys, questions: Collection[str]) -> tuple[Head, list[Entry]]:
        if self._connection is None:
            self._connection = self._engine.connect()
        try:
            return self._lock(self._connection, keys, questions)
        except SQLAlchemyError:
            self._drop()
            raise

    def write(self, changes: Changes, signature: str | None) -> None:
        """Insert the entries, put the states, move the head."""
        entries = [
            {
                "ledger": self._ledger,
                "sequence": e.sequence,
                "time": e.time,
                "kind": e.kind,
                "analyst": e.analyst,
                "key": e.key,
                "question": e.question,
                "body": e.text,
                "states": e.states_text,
                "signer": e.signer,
                "previous": e.previous,
                "hash": e.hash,
            }
            for e in changes.entries
        ]
        accounts = [
            {"ledger": self._ledger, "name": name, "state": text, "sequence": at}
            for name, (text, at) in changes.accounts.items()
        ]
        hidden = [
            {"ledger": self._ledger, "name": name, "salt": salt, "state": text, "sequence": at}
            for name, (salt, text, at) in changes.secrets.items()
        ]
        head = changes.head
        moved = {
            "at": self._ledger,
            "new_sequence": head.sequence,
            "new_hash": head.hash,
            "new_signer": head.signer,
            "new_signature": signature,
        }
        writes: list[tuple[Any, list[dict[str, Any]]]] = [
            (_INSERT_ENTRY, entries),
            (self._put_account, accounts),
            (self._put_secret, hidden),
            (_MOVE_HEAD, [moved]),
        ]
        try:
            self._execute(self._inside(), [(statement, rows) for statement, rows in writes if rows])
        except SQLAlchemyError as error:
            self._fail(error, NOTHING_WRITTEN)
        self._coming = changes

    def commit(self, last: Entry) -> None:
        """Commit; where the connection is lost meanwhile, find out on a new one whether it took place."""
        try:
            self._inside().commit()
        except SQLAlchemyError as error:
            self._drop()
            if not self._took_place(last):
                self._fail(error, ASK_AGAIN)
        self._give_back()
        if self._coming is not None:
            self._remembered, self._coming = self._remembered.after(self._coming), None

    def _took_place(self, last: Entry) -> bool:
        """Whether a commit whose outcome is not known has stored `last`.

        Locking the chain again waits for the old transaction, should the server still be busy with it. After that its
        entry is there for good or never will be.
        """
        try:
            with self._engine.connect() as connection:
                self._lock(connection, (), ())
                found = SQLSource(connection, self._ledger, self._dataset).entry(last.sequence)
                connection.rollback()
        except (SQLAlchemyError, LedgerConflict):
            return False
        return found is not None and found.hash == last.hash

    def rollback(self) -> None:
        """Undo; a connection that cannot even do that is dropped, which undoes it too."""
        self._coming = None
        if self._connection is None:
            return
        try:
            self._connection.rollback()
        except SQLAlchemyError:
            self._drop()
        self._give_back()

    # -- reading -------------------------------------------------------------------------------------------------

    def expect(self, keys: Keys, questions: Collection[str]) -> None:
        """Nothing more: `begin` was told, and has fetched them."""

    def signature(self) -> str | None:
        """The signature of the head, inside the lock."""
        return self._ask(lambda source: source.signature())

    def account(self, name: str) -> str | None:
        """The state of an account, inside the lock."""
        return self._ask(lambda source: source.account(name))

    def secret(self, name: str) -> tuple[str, str] | None:
        """Salt and state of a secret, inside the lock."""
        return self._ask(lambda source: source.secret(name))

    def by_key(self, analyst: str | None, key: str) -> Entry | None:
        """The latest entry with a key, inside the lock."""
        return self._ask(lambda source: source.by_key(analyst, key))

    def by_question(self, question: str) -> Entry | None:
        """The latest entry with a question, inside the lock."""
        return self._ask(lambda source: source.by_question(question))

    def entry(self, sequence: int) -> Entry | None:
        """The entry with a number, inside the lock."""
        return self._ask(lambda source: source.entry(sequence))

    def _ask(self, question: Callable[[SQLSource], T]) -> T:
        try:
            return question(SQLSource(self._inside(), self._ledger, self._dataset, self._remembered))
        except SQLAlchemyError as error:
            self._fail(error, NOTHING_WRITTEN)

    @contextmanager
    def reading(self) -> Iterator[tuple[Head, Source]]:
        """A snapshot on a connection of its own."""
        try:
            connection, head = twice(self._engine, self._glance)
            with connection:
                yield head, SQLSource(connection, self._ledger, self._dataset, self._remembered.at(head))
        except SQLAlchemyError as error:
            self._fail(error, "nothing was read")

    def _glance(self) -> tuple[Connection, Head]:
        connection = self._engine.connect()
        try:
            self._snapshot(connection)
            return connection, SQLSource(connection, self._ledger, self._dataset).head()
        except BaseException:
            give_up(connection)
            raise

    def entries(self, first: int, last: int | None) -> Iterator[Entry]:
        """Entries in order, some at a time: an entry never changes, so that no transaction has to span them."""
        with self.reading() as (head, _):
            end = head.sequence if last is None else min(last, head.sequence)
        while first <= end:
            with self.reading() as (_, source):
                rows = source.chunk(first, min(end, first + _CHUNK - 1))  # type: ignore[attr-defined]
            yield from rows
            first += _CHUNK

    # -- the connection ------------------------------------------------------------------------------------------

    def _inside(self) -> Connection:
        if self._connection is None:
            raise LedgerUnavailable(f"the connection to the ledger was lost; {NOTHING_WRITTEN}")
        return self._connection

    def _give_back(self) -> None:
        """Let other chains of the store have the connection: there may be more chains than connections."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._remembered = Remembered()
        if connection is not None:
            give_up(connection)

    def _fail(self, error: SQLAlchemyError, outcome: str) -> NoReturn:
        # The error's own text may hold stored states: only what it means is passed on.
        raise LedgerUnavailable(f"{self.explain(error)}; {outcome}") from None

    def close(self) -> None:
        """Let go of the connection."""
        self._drop()


def _upsert(make: Callable[..., Any], table: Table, columns: tuple[str, ...]) -> Any:
    statement = make(table)
    return statement.on_conflict_do_update(
        index_elements=["ledger", "name"], set_={name: getattr(statement.excluded, name) for name in columns}
    )


__all__ = ["SQLBackend"]
