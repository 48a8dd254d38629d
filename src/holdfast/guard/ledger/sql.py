"""What the SQLite and the PostgreSQL store have in common: tables, connections, one chain, and all chains of a store.

A question takes one lock, the reads it asks for, three writes and one commit, however long the chain is. States that
were read or written are remembered for as long as nobody else has moved the head: a chain that one process serves is
read from the database only once. Alembic makes the tables (`migrations/`); a test keeps the two alike.
"""

from __future__ import annotations

import json
import os
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Executable,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Row,
    Select,
    Table,
    Text,
    and_,
    bindparam,
    func,
    insert,
    inspect,
    select,
    text,
    union_all,
    update,
)
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from holdfast.errors import LedgerConflict, LedgerUnavailable
from holdfast.guard.ledger.entry import Entry, Head, account_digest, secret_digest
from holdfast.guard.ledger.ledger import ASK_AGAIN, NOTHING_WRITTEN, Backend, Page
from holdfast.guard.ledger.receipts import SigningKey
from holdfast.guard.ledger.store import HeadRow, Snapshot, StateKind, StateRow, Store
from holdfast.guard.ledger.transaction import Changes, Keys, Questions, Source

if TYPE_CHECKING:
    from sqlalchemy import Connection


# --- Schema -----------------------------------------------------------------------------------------------------------
# Brings tables up to date with Alembic, inside a transaction that their owner holds.
#
# Looking whether they are takes one small query; Alembic is imported only when they are not.

_ALEMBIC = threading.Lock()
"""Alembic keeps what it is doing in a module: one at a time in a process, whoever's the tables are."""


@dataclass(frozen=True)
class Migrations:
    """The steps that make somebody's tables: their folder, the newest version, and the table that keeps the stored one.

    Examples
    --------
    >>> LEDGER.version, LEDGER.kept_in
    ('0003', 'alembic_version')
    """

    whose: str
    folder: Path
    version: str
    kept_in: str

    def stored_version(self, connection: Connection) -> str | None:
        """Return the version of the tables, None where there are none."""
        if not inspect(connection).has_table(self.kept_in):
            return None
        versions = connection.execute(text(f"SELECT version_num FROM {self.kept_in}")).scalars().all()
        return str(versions[0]) if len(versions) == 1 else "several"

    def bring_up_to_date(self, connection: Connection) -> None:
        """Make or change the tables until they are of `version`; a version that is not known is refused."""
        version = self.stored_version(connection)
        if version == self.version:
            return
        from alembic import command
        from alembic.config import Config
        from alembic.util import CommandError

        settings = Config()
        settings.set_main_option("script_location", str(self.folder).replace("%", "%%"))
        settings.attributes["connection"] = connection
        settings.attributes["version_table"] = self.kept_in
        try:
            with _ALEMBIC:
                command.upgrade(settings, "head")
        except CommandError as error:
            raise LedgerConflict(
                f"{self.whose} tables are of version {version!r}, which this release does not know; use a newer release"
            ) from error


LEDGER = Migrations("the ledger's", Path(__file__).parent / "migrations", "0003", "alembic_version")
"""Those of a store; a test keeps the version and the newest of `migrations/versions` alike."""


# --- Sql --------------------------------------------------------------------------------------------------------------

T = TypeVar("T")

# --- Tables -----------------------------------------------------------------------------------------------------------

METADATA = MetaData()

#: A number that counts up by itself in both: SQLite does so for INTEGER only.
_NUMBER = BigInteger().with_variant(Integer(), "sqlite")

HEADS = Table(
    "heads",
    METADATA,
    Column("ledger", _NUMBER, primary_key=True, autoincrement=True),
    Column("dataset", Text, nullable=False, unique=True),
    Column("sequence", _NUMBER, nullable=False),
    Column("hash", Text, nullable=False),
    Column("signer", Text),
    Column("signature", Text),
)

ENTRIES = Table(
    "entries",
    METADATA,
    Column("ledger", _NUMBER, ForeignKey("heads.ledger"), nullable=False),
    Column("sequence", _NUMBER, nullable=False),
    Column("time", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("analyst", Text),
    Column("key", Text),
    Column("question", Text),
    Column("body", Text, nullable=False),
    Column("states", Text, nullable=False),
    Column("signer", Text),
    Column("previous", Text, nullable=False),
    Column("hash", Text, nullable=False),
    PrimaryKeyConstraint("ledger", "sequence"),
)
_WITH_KEY, _WITH_QUESTION = ENTRIES.c.key.is_not(None), ENTRIES.c.question.is_not(None)
_WITH_ANALYST = ENTRIES.c.analyst.is_not(None)
Index(
    "entries_by_key",
    ENTRIES.c.ledger,
    ENTRIES.c.key,
    ENTRIES.c.analyst,
    ENTRIES.c.sequence,
    sqlite_where=_WITH_KEY,
    postgresql_where=_WITH_KEY,
)
Index(
    "entries_by_own_question",
    ENTRIES.c.ledger,
    ENTRIES.c.question,
    ENTRIES.c.analyst,
    ENTRIES.c.sequence,
    sqlite_where=_WITH_QUESTION,
    postgresql_where=_WITH_QUESTION,
)
Index(
    "entries_by_analyst",
    ENTRIES.c.ledger,
    ENTRIES.c.analyst,
    ENTRIES.c.sequence,
    sqlite_where=_WITH_ANALYST,
    postgresql_where=_WITH_ANALYST,
)

ACCOUNTS = Table(
    "accounts",
    METADATA,
    Column("ledger", _NUMBER, ForeignKey("heads.ledger"), nullable=False),
    Column("name", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("sequence", _NUMBER, nullable=False),
    PrimaryKeyConstraint("ledger", "name"),
)

SECRETS = Table(
    "secrets",
    METADATA,
    Column("ledger", _NUMBER, ForeignKey("heads.ledger"), nullable=False),
    Column("name", Text, nullable=False),
    Column("salt", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("sequence", _NUMBER, nullable=False),
    PrimaryKeyConstraint("ledger", "name"),
)

SALTS = Table("salts", METADATA, Column("name", Text, primary_key=True), Column("salt", Text, nullable=False))


# --- Connections that may be lost -------------------------------------------------------------------------------------


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


# --- Reads of one chain over one connection, and what of them is remembered -------------------------------------------

_REMEMBERED = 4096
"""States kept in memory for one chain; beyond that all are forgotten and read again as they are needed."""

_E = ENTRIES.c
HEAD = select(HEADS.c.sequence, HEADS.c.hash, HEADS.c.signer).where(HEADS.c.ledger == bindparam("ledger"))
_SIGNATURE = select(HEADS.c.signature).where(HEADS.c.ledger == bindparam("ledger"))
_LATEST = select(ENTRIES).where(_E.ledger == bindparam("ledger")).order_by(_E.sequence.desc()).limit(1)
_BY_KEY = _LATEST.where(_E.key == bindparam("key"), _E.analyst == bindparam("analyst"))
_BY_KEY_OF_NOBODY = _LATEST.where(_E.key == bindparam("key"), _E.analyst.is_(None))
_BY_QUESTION = _LATEST.where(_E.question == bindparam("question"))
_BY_OWN_QUESTION = _BY_QUESTION.where(_E.analyst == bindparam("analyst"))
_OF_LEDGER = select(ENTRIES).where(_E.ledger == bindparam("ledger"))
# Three queries in one: for an OR of them, SQLite would read the whole chain.
_ALL = union_all(
    _OF_LEDGER.where(_E.key.in_(bindparam("keys", expanding=True))),
    _OF_LEDGER.where(_E.question.in_(bindparam("anybodys", expanding=True))),
    _OF_LEDGER.where(
        _E.question.in_(bindparam("own", expanding=True)), _E.analyst.in_(bindparam("owners", expanding=True))
    ),
)
_ENTRY = select(ENTRIES).where(_E.ledger == bindparam("ledger"), _E.sequence == bindparam("sequence"))
_BETWEEN = _OF_LEDGER.where(_E.sequence.between(bindparam("first"), bindparam("last")))
_RANGE = _BETWEEN.order_by(_E.sequence)
_HASHES = _RANGE.with_only_columns(_E.hash)
# The entry that recorded a state comes with it, so that a state edited by hand is not believed.
_ACCOUNT = select(ACCOUNTS.c.state, _E.states).outerjoin_from(
    ACCOUNTS, ENTRIES, and_(_E.ledger == ACCOUNTS.c.ledger, _E.sequence == ACCOUNTS.c.sequence)
)
_ACCOUNT = _ACCOUNT.where(ACCOUNTS.c.ledger == bindparam("ledger"), ACCOUNTS.c.name == bindparam("name"))
_SECRET = select(SECRETS.c.salt, SECRETS.c.state, _E.states).outerjoin_from(
    SECRETS, ENTRIES, and_(_E.ledger == SECRETS.c.ledger, _E.sequence == SECRETS.c.sequence)
)
_SECRET = _SECRET.where(SECRETS.c.ledger == bindparam("ledger"), SECRETS.c.name == bindparam("name"))


class Remembered:
    """States as they are at one head. It may gain states, and never has another head: a new head is a new object.

    Threads that look share it with the one that writes. So what entries it knows is never changed under them: who
    learns more gets an object of their own.
    """

    def __init__(
        self,
        head: Head | None = None,
        accounts: dict[str, str | None] | None = None,
        secrets: dict[str, tuple[str, str] | None] | None = None,
        keys: dict[tuple[str | None, str], Entry | None] | None = None,
        questions: dict[tuple[str | None, str], Entry | None] | None = None,
    ) -> None:
        self.head, self.accounts, self.secrets = head, accounts or {}, secrets or {}
        self.keys, self.questions = keys or {}, questions or {}

    def at(self, head: Head) -> Remembered:
        """Return what is remembered at `head`: this, or nothing."""
        return self if head == self.head else Remembered(head)

    def after(self, changes: Changes) -> Remembered:
        """Return what is remembered once `changes` are durable."""
        if len(self.accounts) + len(self.secrets) > _REMEMBERED:
            return Remembered(changes.head)
        accounts = self.accounts | {name: text for name, (text, _) in changes.accounts.items()}
        hidden = self.secrets | {name: (salt, text) for name, (salt, text, _) in changes.secrets.items()}
        return Remembered(changes.head, accounts, hidden)

    def learned(self, keys: Keys, questions: Questions, found: Iterable[Entry]) -> Remembered:
        """Return the same states, with what entries have these keys and questions: the latest of `found`, or none."""
        by_key: dict[tuple[str | None, str], Entry | None] = dict.fromkeys(keys)
        by_question: dict[tuple[str | None, str], Entry | None] = dict.fromkeys(questions)
        for entry in sorted(found, key=lambda entry: entry.sequence):
            if entry.key is not None and (entry.analyst, entry.key) in by_key:
                by_key[entry.analyst, entry.key] = entry
            for whose in (None, entry.analyst):
                if entry.question is not None and (whose, entry.question) in by_question:
                    by_question[whose, entry.question] = entry
        remembered = Remembered(self.head, None, None, by_key, by_question)
        remembered.accounts, remembered.secrets = self.accounts, self.secrets
        return remembered


class SQLSource(Source):
    """Reads of one chain over one connection, which is in a transaction.

    Where the database fails, `fail` raises what it means: whoever looks may go on after an error of their own, and
    must not take the database's for one.
    """

    def __init__(
        self,
        connection: Connection,
        ledger: int,
        dataset: str,
        remembered: Remembered | None = None,
        fail: Callable[[SQLAlchemyError], NoReturn] | None = None,
    ) -> None:
        self._connection, self._ledger, self._dataset, self._fail = connection, ledger, dataset, fail
        self.remembered = remembered or Remembered()

    def head(self) -> Head:
        """Return the end of the chain: the number and the hash of its last entry."""
        return head_of(self._rows(HEAD))

    def expect(self, keys: Keys, questions: Questions) -> None:
        """Fetch what is going to be looked up, for this source alone: what others remember is not touched."""
        self.remembered = self.remembered.learned(keys, questions, self.find_all(keys, questions))

    def signature(self) -> str | None:
        """Return the signature of the head."""
        row = self._one(_SIGNATURE)
        return None if row is None else row.signature

    def account(self, name: str) -> str | None:
        """Return the state of an account."""
        known = self.remembered.accounts
        if name not in known:
            row = self._one(_ACCOUNT, name=name)
            if row is not None:
                _check_recorded(f"account:{name}", lambda: account_digest(row.state), row.states)
            known[name] = None if row is None else row.state
        return known[name]

    def secret(self, name: str) -> tuple[str, str] | None:
        """Salt and state of a secret."""
        known = self.remembered.secrets
        if name not in known:
            row = self._one(_SECRET, name=name)
            if row is not None:
                _check_recorded(f"secret:{name}", lambda: secret_digest(row.salt, row.state), row.states)
            known[name] = None if row is None else (row.salt, row.state)
        return known[name]

    def by_key(self, analyst: str | None, key: str) -> Entry | None:
        """Return the latest entry with a key."""
        if (analyst, key) in self.remembered.keys:
            return self.remembered.keys[analyst, key]
        if analyst is None:
            return self._entry(self._one(_BY_KEY_OF_NOBODY, key=key))
        return self._entry(self._one(_BY_KEY, key=key, analyst=analyst))

    def by_question(self, question: str, analyst: str | None = None) -> Entry | None:
        """Return the latest entry with a question's digest: this analyst's, or with None anybody's."""
        if (analyst, question) in self.remembered.questions:
            return self.remembered.questions[analyst, question]
        if analyst is None:
            return self._entry(self._one(_BY_QUESTION, question=question))
        return self._entry(self._one(_BY_OWN_QUESTION, question=question, analyst=analyst))

    def entry(self, sequence: int) -> Entry | None:
        """Return the entry with a number."""
        return self._entry(self._one(_ENTRY, sequence=sequence))

    def find_all(self, keys: Keys, questions: Questions) -> list[Entry]:
        """Return the entries with any of these keys, whosever, and with any of these questions."""
        if not keys and not questions:
            return []
        return [entry_of(self._dataset, row) for row in self._rows(_ALL, **wanted(keys, questions))]

    def chunk(self, first: int, last: int) -> list[Entry]:
        """Entries in order."""
        return [entry_of(self._dataset, row) for row in self._rows(_RANGE, first=first, last=last)]

    def hashes(self, first: int, last: int) -> list[str]:
        """Hashes in order."""
        return [row.hash for row in self._rows(_HASHES, first=first, last=last)]

    def page(self, wanted: Page) -> list[Entry]:
        """Some entries in order, through the index of an analyst's or of all."""
        order = _E.sequence.desc() if wanted.newest else _E.sequence
        statement = _BETWEEN.order_by(order).limit(bindparam("limit"))
        if wanted.analyst is not None:
            statement = statement.where(_E.analyst == bindparam("analyst"))
        if wanted.kind is not None:
            statement = statement.where(_E.kind == bindparam("kind"))
        values = {name: value for name, value in vars(wanted).items() if name != "newest" and value is not None}
        entries = [entry_of(self._dataset, row) for row in self._rows(statement, **values)]
        return entries[::-1] if wanted.newest else entries

    def _one(self, statement: Select[Any], **values: Any) -> Row[Any] | None:
        return next(iter(self._rows(statement, **values)), None)

    def _rows(self, statement: Executable, **values: Any) -> Sequence[Row[Any]]:
        try:
            return self._connection.execute(statement, {"ledger": self._ledger} | values).all()
        except SQLAlchemyError as error:
            if self._fail is not None:
                self._fail(error)
            raise

    def _entry(self, row: Row[Any] | None) -> Entry | None:
        return None if row is None else entry_of(self._dataset, row)


def head_of(rows: Sequence[Any]) -> Head:
    """Return a head from its row, which must be there."""
    if not rows:
        raise LedgerConflict(
            "the head (the last entry and its hash) of this ledger is missing from its store; run `holdfast verify`"
        )
    return Head(rows[0].sequence, rows[0].hash, rows[0].signer)


def entry_of(dataset: str, row: Any) -> Entry:
    """Return an entry from its row, unchecked."""
    _, sequence, time, kind, analyst, key, question, body, *rest = row  # the columns of ENTRIES
    return Entry(dataset, sequence, time, kind, body, analyst, key, question, *rest)


def wanted(keys: Keys, questions: Questions) -> dict[str, list[str]]:
    """Return what a query for all of these is given."""
    own = [(whose, question) for whose, question in questions if whose is not None]
    return {
        "keys": [key for _, key in keys],
        "anybodys": [question for whose, question in questions if whose is None],
        "own": list({question for _, question in own}),
        "owners": list({whose for whose, _ in own}),
    }


def _check_recorded(name: str, digest: Callable[[], str], states: Any) -> None:
    """Compare a state with what its entry records; either may be anything where somebody has changed it by hand."""
    try:
        recorded = states is not None and json.loads(states).get(name) == digest()
    except (AttributeError, TypeError, ValueError):
        recorded = False
    if not recorded:
        raise LedgerConflict(
            f"the stored state of {name} differs from the state that the ledger's entry records; run `holdfast verify`"
        )


# --- One chain --------------------------------------------------------------------------------------------------------

_ENTRIES_AT_ONCE = 1000

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
    def _lock(self, connection: Connection, keys: Keys, questions: Questions) -> tuple[Head, list[Entry]]:
        """Begin a transaction that no other writer of this chain runs next to; the head, and entries looked up."""

    @abstractmethod
    def _snapshot(self, connection: Connection) -> None:
        """Begin a transaction that only reads, and sees one moment."""

    def _execute(self, connection: Connection, writes: list[tuple[Any, list[dict[str, Any]]]]) -> None:
        """Execute each statement with each of its rows."""
        for statement, rows in writes:
            connection.execute(statement, rows)

    @abstractmethod
    def _lock_whole(self, connection: Connection) -> None:
        """Keep out other transactions of the store that call this, until the transaction ends."""

    @abstractmethod
    def explain(self, error: SQLAlchemyError) -> str:
        """Return what went wrong, in words for whoever asked."""

    # -- writing -------------------------------------------------------------------------------------------------

    def begin(self, keys: Keys = (), questions: Questions = ()) -> Head:
        """Lock the chain; a connection that was lost since the last question is opened again, once."""
        if self._pid != os.getpid():  # a connection belongs to the process that made it
            _PARENTS.append((self._connection, self._engine.pool))
            self._engine.dispose(close=False)
            self._connection, self._pid = None, os.getpid()
        try:
            head, answered = twice(self._engine, lambda: self._locked(keys, questions))
        except SQLAlchemyError as error:
            self._fail(error, NOTHING_WRITTEN)
        except LedgerConflict:
            self.rollback()
            raise
        self._remembered = self._remembered.at(head).learned(keys, questions, answered)
        return head

    def _locked(self, keys: Keys, questions: Questions) -> tuple[Head, list[Entry]]:
        if self._connection is None:
            self._connection = self._engine.connect()
        try:
            return self._lock(self._connection, keys, questions)
        except SQLAlchemyError:
            self._drop()
            raise

    def lock_store(self) -> None:
        """Wait for every other transaction of the store that calls this, and keep it out."""
        try:
            self._lock_whole(self._inside())
        except SQLAlchemyError as error:
            self._fail(error, NOTHING_WRITTEN)

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
                stored = SQLSource(connection, self._ledger, self._dataset).entry(last.sequence)
                connection.rollback()
        except (SQLAlchemyError, LedgerConflict):
            return False
        return stored is not None and stored.hash == last.hash

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

    def expect(self, keys: Keys, questions: Questions) -> None:
        """Nothing more: `begin` was told, and has fetched them."""

    def signature(self) -> str | None:
        """Return the signature of the head, inside the lock."""
        return self._source().signature()

    def account(self, name: str) -> str | None:
        """Return the state of an account, inside the lock."""
        return self._source().account(name)

    def secret(self, name: str) -> tuple[str, str] | None:
        """Salt and state of a secret, inside the lock."""
        return self._source().secret(name)

    def by_key(self, analyst: str | None, key: str) -> Entry | None:
        """Return the latest entry with a key, inside the lock."""
        return self._source().by_key(analyst, key)

    def by_question(self, question: str, analyst: str | None = None) -> Entry | None:
        """Return the latest entry with a question, inside the lock."""
        return self._source().by_question(question, analyst)

    def entry(self, sequence: int) -> Entry | None:
        """Return the entry with a number, inside the lock."""
        return self._source().entry(sequence)

    def _source(self) -> SQLSource:
        failed = partial(self._fail, outcome=NOTHING_WRITTEN)
        return SQLSource(self._inside(), self._ledger, self._dataset, self._remembered, failed)

    @contextmanager
    def reading(self) -> Iterator[tuple[Head, Source]]:
        """A snapshot on a connection of its own."""
        try:
            connection, head = twice(self._engine, self._glance)
            with connection:
                remembered = self._remembered.at(head)
                yield head, SQLSource(connection, self._ledger, self._dataset, remembered, self._unread)
        except SQLAlchemyError as error:
            self._unread(error)

    def _unread(self, error: SQLAlchemyError) -> NoReturn:
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
                rows = source.chunk(first, min(end, first + _ENTRIES_AT_ONCE - 1))  # type: ignore[attr-defined]
            yield from rows
            first += _ENTRIES_AT_ONCE

    def hashes(self, first: int, last: int) -> list[str]:
        """Hashes in order, by one query."""
        with self.reading() as (_, source):
            return source.hashes(first, last)  # type: ignore[attr-defined, no-any-return]

    def page(self, wanted: Page) -> list[Entry]:
        """Some entries in order, by one query."""
        with self.reading() as (_, source):
            return source.page(wanted)  # type: ignore[attr-defined, no-any-return]

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
        if "could not decode" in str(getattr(error, "orig", error)).lower():  # bytes in a row that are no text
            raise LedgerConflict("a row of this ledger cannot be read; run `holdfast verify`") from None
        raise LedgerUnavailable(f"{self.explain(error)}; {outcome}") from None

    def close(self) -> None:
        """Let go of the connection."""
        self._drop()


def _upsert(make: Callable[..., Any], table: Table, columns: tuple[str, ...]) -> Any:
    statement = make(table)
    return statement.on_conflict_do_update(
        index_elements=["ledger", "name"], set_={name: getattr(statement.excluded, name) for name in columns}
    )


# --- All chains of a store --------------------------------------------------------------------------------------------

_ROWS_AT_ONCE = 5000
_LEDGERS_AT_ONCE = 200
_ADDED = {"0001": "entries", "0002": "salts", "0003": "entries_by_analyst"}
"""A table or an index that each version of the tables brought: a stored version that was changed by hand is found."""


class SQLStore(Store):
    """A store in an SQL database. A subclass says how to connect, lock, and read one moment."""

    def __init__(
        self, engine: Engine, key: SigningKey | None, new_key: bool, upsert: Callable[..., Any], read_only: bool
    ) -> None:
        super().__init__(key, new_key)
        self._engine, self._upsert = engine, upsert
        self._salted: bytes | None = None
        with self._connected("nothing was opened") as connection:
            version = LEDGER.stored_version(connection)
            if read_only and version is None:
                raise LedgerUnavailable("the database has no ledgers")
            if not read_only and version != LEDGER.version:
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
        """Begin a transaction that no other process changes the tables next to."""

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
        """Return the names of all data sets that have a ledger in this store, in order."""
        with self._connected("nothing was read") as connection:
            return sorted(connection.execute(select(HEADS.c.dataset)).scalars())

    def states(self, kind: StateKind, name: str, known: Mapping[str, int]) -> dict[str, StateRow]:
        """Return the account or secret of one name on every chain that has it and is not known."""
        table = ACCOUNTS if kind == "account" else SECRETS
        listed = select(HEADS.c.dataset, table.c.ledger, table.c.sequence).join_from(HEADS, table)
        with self._connected("nothing was read") as connection:
            rows = connection.execute(listed.where(table.c.name == name)).all()
            wanted = {row.ledger: row.dataset for row in rows if known.get(row.dataset) != row.sequence}
            states = {}
            for start in range(0, len(wanted), _LEDGERS_AT_ONCE):
                some = list(wanted)[start : start + _LEDGERS_AT_ONCE]
                for row in connection.execute(select(table).where(table.c.name == name, table.c.ledger.in_(some))):
                    states[wanted[row.ledger]] = StateRow(row.name, getattr(row, "salt", None), row.state, row.sequence)
            return states

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
        """Return what is wrong with the form of the store: its version, rows that belong to no chain."""
        problems = []
        version = LEDGER.stored_version(self._connection)
        if not self._is_of(version):
            problems.append(f"the tables are of version {version!r}, not {LEDGER.version!r}")
        known = select(HEADS.c.ledger)
        for table in (ENTRIES, ACCOUNTS, SECRETS):
            count = select(func.count()).select_from(table).where(table.c.ledger.not_in(known))
            if lost := self._connection.execute(count).scalar_one():
                problems.append(f"{lost} rows of {table.name} belong to no ledger")
        return problems

    def _is_of(self, version: str | None) -> bool:
        """Whether the tables are of this version, the newest or an earlier one: they are read alike."""
        known = inspect(self._connection)
        there = {*known.get_table_names(), *(index["name"] for index in known.get_indexes(ENTRIES.name))}
        steps = [(name in there) == (version is not None and step <= version) for step, name in _ADDED.items()]
        return version is not None and version <= LEDGER.version and all(steps)

    def heads(self) -> list[HeadRow]:
        """Return every chain."""
        rows = self._connection.execute(select(HEADS).order_by(HEADS.c.dataset))
        return [HeadRow(r.ledger, r.dataset, Head(r.sequence, r.hash, r.signer), r.signature) for r in rows]

    def entries(self, name: Any, first: int = 1) -> Iterator[Entry]:
        """The entries of a chain in order of their numbers."""
        dataset = self._connection.execute(select(HEADS.c.dataset).where(HEADS.c.ledger == name)).scalar_one()
        statement = select(ENTRIES).where(ENTRIES.c.ledger == name).order_by(ENTRIES.c.sequence).limit(_ROWS_AT_ONCE)
        begun = statement if first == 1 else statement.where(ENTRIES.c.sequence >= first)
        rows = self._connection.execute(begun).all()
        while rows:
            yield from (entry_of(dataset, row) for row in rows)
            rows = self._connection.execute(statement.where(ENTRIES.c.sequence > rows[-1].sequence)).all()

    def accounts(self, name: Any) -> list[StateRow]:
        """Return the accounts of a chain."""
        statement = select(ACCOUNTS).where(ACCOUNTS.c.ledger == name).order_by(ACCOUNTS.c.name)
        return [StateRow(r.name, None, r.state, r.sequence) for r in self._connection.execute(statement)]

    def secrets(self, name: Any) -> list[StateRow]:
        """Return the secrets of a chain."""
        statement = select(SECRETS).where(SECRETS.c.ledger == name).order_by(SECRETS.c.name)
        return [StateRow(r.name, r.salt, r.state, r.sequence) for r in self._connection.execute(statement)]
