"""What the SQLite and the PostgreSQL store share: one chain over one SQLAlchemy connection.

A question takes one lock, the reads it asks for, three writes and one commit, however long the chain is. States that
were read or written are remembered for as long as nobody else has moved the head: a chain that one process serves is
read from the database only once.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NoReturn, TypeVar

from sqlalchemy import Connection, Engine, Row, Select, Table, and_, bindparam, insert, select, union_all, update
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from holdfast.errors import LedgerConflict, LedgerUnavailable
from holdfast.guard.ledger.backend import ASK_AGAIN, NOTHING_WRITTEN, Backend
from holdfast.guard.ledger.entry import Entry, Head, account_digest, secret_digest
from holdfast.guard.ledger.tables import ACCOUNTS, ENTRIES, HEADS, SECRETS
from holdfast.guard.ledger.transaction import Changes, Source

T = TypeVar("T")

_CHUNK = 1000
_REMEMBERED = 4096
"""States kept in memory for one chain; beyond that all are forgotten and read again as they are needed."""

_E = ENTRIES.c
HEAD = select(HEADS.c.sequence, HEADS.c.hash, HEADS.c.signer).where(HEADS.c.ledger == bindparam("ledger"))
_SIGNATURE = select(HEADS.c.signature).where(HEADS.c.ledger == bindparam("ledger"))
_LATEST = select(ENTRIES).where(_E.ledger == bindparam("ledger")).order_by(_E.sequence.desc()).limit(1)
_BY_KEY = _LATEST.where(_E.key == bindparam("key"), _E.analyst == bindparam("analyst"))
_BY_KEY_OF_NOBODY = _LATEST.where(_E.key == bindparam("key"), _E.analyst.is_(None))
_BY_QUESTION = _LATEST.where(_E.question == bindparam("question"))
_ALL = union_all(
    select(ENTRIES).where(_E.ledger == bindparam("ledger"), _E.key.in_(bindparam("keys", expanding=True))),
    select(ENTRIES).where(_E.ledger == bindparam("ledger"), _E.question.in_(bindparam("questions", expanding=True))),
)
_ENTRY = select(ENTRIES).where(_E.ledger == bindparam("ledger"), _E.sequence == bindparam("sequence"))
_RANGE = (
    select(ENTRIES)
    .where(_E.ledger == bindparam("ledger"), _E.sequence.between(bindparam("first"), bindparam("last")))
    .order_by(_E.sequence)
)
# The entry that recorded a state comes with it, so that a state edited by hand is not believed.
_ACCOUNT = select(ACCOUNTS.c.state, _E.states).outerjoin_from(
    ACCOUNTS, ENTRIES, and_(_E.ledger == ACCOUNTS.c.ledger, _E.sequence == ACCOUNTS.c.sequence)
)
_ACCOUNT = _ACCOUNT.where(ACCOUNTS.c.ledger == bindparam("ledger"), ACCOUNTS.c.name == bindparam("name"))
_SECRET = select(SECRETS.c.salt, SECRETS.c.state, _E.states).outerjoin_from(
    SECRETS, ENTRIES, and_(_E.ledger == SECRETS.c.ledger, _E.sequence == SECRETS.c.sequence)
)
_SECRET = _SECRET.where(SECRETS.c.ledger == bindparam("ledger"), SECRETS.c.name == bindparam("name"))
_INSERT_ENTRY = insert(ENTRIES)
_MOVE_HEAD = (
    update(HEADS)
    .where(HEADS.c.ledger == bindparam("at"))
    .values({name: bindparam(f"new_{name}") for name in ("sequence", "hash", "signer", "signature")})
)


class Remembered:
    """States as they are at one head. It may gain states, and never has another head: a new head is a new object."""

    def __init__(
        self,
        head: Head | None = None,
        accounts: dict[str, str | None] | None = None,
        secrets: dict[str, tuple[str, str] | None] | None = None,
        keys: dict[tuple[str | None, str], Entry | None] | None = None,
        questions: dict[str, Entry | None] | None = None,
    ) -> None:
        self.head, self.accounts, self.secrets = head, accounts or {}, secrets or {}
        self.keys, self.questions = keys or {}, questions or {}

    def at(self, head: Head) -> Remembered:
        """What is remembered at `head`: this, or nothing."""
        return self if head == self.head else Remembered(head)

    def after(self, changes: Changes) -> Remembered:
        """What is remembered once `changes` are durable."""
        if len(self.accounts) + len(self.secrets) > _REMEMBERED:
            return Remembered(changes.head)
        accounts = self.accounts | {name: text for name, (text, _) in changes.accounts.items()}
        hidden = self.secrets | {name: (salt, text) for name, (salt, text, _) in changes.secrets.items()}
        return Remembered(changes.head, accounts, hidden)

    def learn(self, keys: Iterable[tuple[str | None, str]], questions: Iterable[str], found: Iterable[Entry]) -> None:
        """Remember what entries have these keys and questions: the latest of `found`, which are in order, or none."""
        self.keys, self.questions = dict.fromkeys(keys), dict.fromkeys(questions)
        for entry in found:
            if entry.key is not None and (entry.analyst, entry.key) in self.keys:
                self.keys[entry.analyst, entry.key] = entry
            if entry.question in self.questions:
                self.questions[entry.question] = entry


class SQLSource(Source):
    """Reads of one chain over one connection, which is in a transaction."""

    def __init__(self, connection: Connection, ledger: int, dataset: str, remembered: Remembered | None = None) -> None:
        self._connection, self._ledger, self._dataset = connection, ledger, dataset
        self.remembered = remembered or Remembered()

    def head(self, statement: Select[Any] = HEAD) -> Head:
        """Where the chain ends."""
        row = self._one(statement)
        if row is None:
            raise LedgerConflict("the head of this ledger is gone from its store; run `holdfast verify`")
        return Head(row.sequence, row.hash, row.signer)

    def signature(self) -> str | None:
        """The signature of the head."""
        row = self._one(_SIGNATURE)
        return None if row is None else row.signature

    def account(self, name: str) -> str | None:
        """The state of an account."""
        known = self.remembered.accounts
        if name not in known:
            row = self._one(_ACCOUNT, name=name)
            if row is not None:
                _check_recorded(f"account:{name}", account_digest(row.state), row.states)
            known[name] = None if row is None else row.state
        return known[name]

    def secret(self, name: str) -> tuple[str, str] | None:
        """Salt and state of a secret."""
        known = self.remembered.secrets
        if name not in known:
            row = self._one(_SECRET, name=name)
            if row is not None:
                _check_recorded(f"secret:{name}", secret_digest(row.salt, row.state), row.states)
            known[name] = None if row is None else (row.salt, row.state)
        return known[name]

    def by_key(self, analyst: str | None, key: str) -> Entry | None:
        """The latest entry with a key."""
        if (analyst, key) in self.remembered.keys:
            return self.remembered.keys[analyst, key]
        if analyst is None:
            return self._entry(self._one(_BY_KEY_OF_NOBODY, key=key))
        return self._entry(self._one(_BY_KEY, key=key, analyst=analyst))

    def by_question(self, question: str) -> Entry | None:
        """The latest entry with a question's digest."""
        if question in self.remembered.questions:
            return self.remembered.questions[question]
        return self._entry(self._one(_BY_QUESTION, question=question))

    def entry(self, sequence: int) -> Entry | None:
        """The entry with a number."""
        return self._entry(self._one(_ENTRY, sequence=sequence))

    def find_all(self, keys: Collection[tuple[str | None, str]], questions: Collection[str]) -> None:
        """Look all of these up at once and remember them, for as long as this transaction lasts."""
        if keys or questions:
            values = {"ledger": self._ledger, "keys": [key for _, key in keys], "questions": list(questions)}
            rows = self._connection.execute(_ALL, values)
            found = sorted((entry_of(self._dataset, row) for row in rows), key=lambda entry: entry.sequence)
            self.remembered.learn(keys, questions, found)

    def chunk(self, first: int, last: int) -> list[Entry]:
        """Entries in order."""
        rows = self._connection.execute(_RANGE, {"ledger": self._ledger, "first": first, "last": last})
        return [entry_of(self._dataset, row) for row in rows]

    def _one(self, statement: Select[Any], **values: Any) -> Row[Any] | None:
        return self._connection.execute(statement, {"ledger": self._ledger} | values).first()

    def _entry(self, row: Row[Any] | None) -> Entry | None:
        return None if row is None else entry_of(self._dataset, row)


def entry_of(dataset: str, row: Row[Any]) -> Entry:
    """An entry from its row, unchecked."""
    return Entry(
        dataset=dataset,
        sequence=row.sequence,
        time=row.time,
        kind=row.kind,
        text=row.body,
        analyst=row.analyst,
        key=row.key,
        question=row.question,
        states_text=row.states,
        signer=row.signer,
        previous=row.previous,
        hash=row.hash,
    )


def _check_recorded(name: str, digest: str, states: str | None) -> None:
    if states is None or f'"{name}":"{digest}"' not in states:
        raise LedgerConflict(f"the stored state of {name} is not the one that its entry records; run `holdfast verify`")


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
    def _lock(self, connection: Connection) -> Head:
        """Begin a transaction that no other writer of this chain runs beside; return the head."""

    @abstractmethod
    def _snapshot(self, connection: Connection) -> None:
        """Begin a transaction that only reads, and sees one moment."""

    def _together(self, connection: Connection) -> AbstractContextManager[Any]:
        """Writes inside may travel to the server together; an error of theirs may come at the end."""
        return nullcontext()

    @abstractmethod
    def explain(self, error: SQLAlchemyError) -> str:
        """What went wrong, in words for whoever asked."""

    # -- writing -------------------------------------------------------------------------------------------------

    def begin(self) -> Head:
        """Lock the chain; a connection that was lost since the last question is opened again, once."""
        if self._pid != os.getpid():  # a connection belongs to the process that made it
            self._engine.dispose(close=False)
            self._connection, self._pid = None, os.getpid()
        try:
            head = twice(self._engine, self._locked)
        except SQLAlchemyError as error:
            self._fail(error, NOTHING_WRITTEN)
        except LedgerConflict:
            self.rollback()
            raise
        self._remembered = self._remembered.at(head)
        return head

    def _locked(self) -> Head:
        if self._connection is None:
            self._connection = self._engine.connect()
        try:
            return self._lock(self._connection)
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
        moved = {"new_sequence": head.sequence, "new_hash": head.hash, "new_signer": head.signer}
        connection = self._inside()
        try:
            with self._together(connection):
                connection.execute(_INSERT_ENTRY, entries)
                if accounts:
                    connection.execute(self._put_account, accounts)
                if hidden:
                    connection.execute(self._put_secret, hidden)
                connection.execute(_MOVE_HEAD, moved | {"at": self._ledger, "new_signature": signature})
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
        if self._coming is not None:
            self._remembered, self._coming = self._remembered.after(self._coming), None

    def _took_place(self, last: Entry) -> bool:
        """Whether a commit whose outcome is not known has stored `last`.

        Locking the chain again waits for the old transaction, should the server still be busy with it. After that its
        entry is there for good or never will be.
        """
        try:
            with self._engine.connect() as connection:
                self._lock(connection)
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

    # -- reading -------------------------------------------------------------------------------------------------

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

    def find_all(self, keys: Collection[tuple[str | None, str]], questions: Collection[str]) -> None:
        """Look all of these up at once, inside the lock."""
        self._ask(lambda source: source.find_all(keys, questions))

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


def twice(engine: Engine, begin: Callable[[], T]) -> T:
    """Begin, and once more if the connection turns out to be lost: it had nothing in hand yet."""
    try:
        return begin()
    except DBAPIError as error:
        if not is_lost(error):
            raise
    engine.dispose()  # what took this connection is likely to have taken those in the pool
    return begin()


def is_lost(error: SQLAlchemyError) -> bool:
    """Whether an error means that the connection is gone, or on its way: the server may say so before it hangs up."""
    state = getattr(getattr(error, "orig", None), "sqlstate", None)
    hung_up = isinstance(error, DBAPIError) and error.connection_invalidated
    return hung_up or (isinstance(state, str) and state.startswith(("08", "57P")))


def give_up(connection: Connection) -> None:
    """Close a connection for good, so that the pool does not hand it out again."""
    with suppress(SQLAlchemyError):
        connection.invalidate()
    with suppress(SQLAlchemyError):
        connection.close()


def _upsert(make: Callable[..., Any], table: Table, columns: tuple[str, ...]) -> Any:
    statement = make(table)
    return statement.on_conflict_do_update(
        index_elements=["ledger", "name"], set_={name: getattr(statement.excluded, name) for name in columns}
    )


__all__ = ["HEAD", "SQLBackend", "SQLSource", "entry_of", "give_up", "is_lost", "twice"]
