"""Reads of one chain over one SQL connection, and what of them is remembered.

States that were read or written are remembered for as long as nobody else has moved the head: a chain that one process
serves is read from the database only once.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, Row, Select, and_, bindparam, select, union_all

from holdfast.errors import LedgerConflict
from holdfast.guard.ledger.backend import Keys
from holdfast.guard.ledger.entry import Entry, Head, account_digest, secret_digest
from holdfast.guard.ledger.sql_tables import ACCOUNTS, ENTRIES, HEADS, SECRETS
from holdfast.guard.ledger.transaction import Changes, Source

_REMEMBERED = 4096
"""States kept in memory for one chain; beyond that all are forgotten and read again as they are needed."""

_E = ENTRIES.c
HEAD = select(HEADS.c.sequence, HEADS.c.hash, HEADS.c.signer).where(HEADS.c.ledger == bindparam("ledger"))
_SIGNATURE = select(HEADS.c.signature).where(HEADS.c.ledger == bindparam("ledger"))
_LATEST = select(ENTRIES).where(_E.ledger == bindparam("ledger")).order_by(_E.sequence.desc()).limit(1)
_BY_KEY = _LATEST.where(_E.key == bindparam("key"), _E.analyst == bindparam("analyst"))
_BY_KEY_OF_NOBODY = _LATEST.where(_E.key == bindparam("key"), _E.analyst.is_(None))
_BY_QUESTION = _LATEST.where(_E.question == bindparam("question"))
# Two queries in one: for an OR of the two, SQLite would read the whole chain.
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

    def learned(self, keys: Keys, questions: Collection[str], found: Iterable[Entry]) -> Remembered:
        """The same states, with what entries have these keys and questions: the latest of `found`, or none."""
        by_key: dict[tuple[str | None, str], Entry | None] = dict.fromkeys(keys)
        by_question: dict[str, Entry | None] = dict.fromkeys(questions)
        for entry in sorted(found, key=lambda entry: entry.sequence):
            if entry.key is not None and (entry.analyst, entry.key) in by_key:
                by_key[entry.analyst, entry.key] = entry
            if entry.question in by_question:
                by_question[entry.question] = entry
        made = Remembered(self.head, None, None, by_key, by_question)
        made.accounts, made.secrets = self.accounts, self.secrets
        return made


class SQLSource(Source):
    """Reads of one chain over one connection, which is in a transaction."""

    def __init__(self, connection: Connection, ledger: int, dataset: str, remembered: Remembered | None = None) -> None:
        self._connection, self._ledger, self._dataset = connection, ledger, dataset
        self.remembered = remembered or Remembered()

    def head(self) -> Head:
        """Where the chain ends."""
        return head_of(self._connection.execute(HEAD, {"ledger": self._ledger}).all())

    def expect(self, keys: Keys, questions: Collection[str]) -> None:
        """Fetch what is going to be looked up, for this source alone: what others remember is not touched."""
        self.remembered = self.remembered.learned(keys, questions, self.find_all(keys, questions))

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

    def find_all(self, keys: Keys, questions: Collection[str]) -> list[Entry]:
        """The entries with any of these keys, whosever, and with any of these questions."""
        if not keys and not questions:
            return []
        values = {"ledger": self._ledger, "keys": [key for _, key in keys], "questions": list(questions)}
        return [entry_of(self._dataset, row) for row in self._connection.execute(_ALL, values)]

    def chunk(self, first: int, last: int) -> list[Entry]:
        """Entries in order."""
        rows = self._connection.execute(_RANGE, {"ledger": self._ledger, "first": first, "last": last})
        return [entry_of(self._dataset, row) for row in rows]

    def _one(self, statement: Select[Any], **values: Any) -> Row[Any] | None:
        return self._connection.execute(statement, {"ledger": self._ledger} | values).first()

    def _entry(self, row: Row[Any] | None) -> Entry | None:
        return None if row is None else entry_of(self._dataset, row)


def head_of(rows: Sequence[Any]) -> Head:
    """A head from its row, which must be there."""
    if not rows:
        raise LedgerConflict("the head of this ledger is gone from its store; run `holdfast verify`")
    return Head(rows[0].sequence, rows[0].hash, rows[0].signer)


def entry_of(dataset: str, row: Any) -> Entry:
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
    if states is None or json.loads(states).get(name) != digest:
        raise LedgerConflict(f"the stored state of {name} is not the one that its entry records; run `holdfast verify`")


__all__ = ["HEAD", "Remembered", "SQLSource", "entry_of", "head_of"]
