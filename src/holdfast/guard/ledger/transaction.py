"""What a function given to `Ledger.submit` can do: read one moment, and make changes that become durable together.

Changes are kept on the side until the whole group of a commit has been decided. A function that raises therefore leaves
no trace, whoever shares the commit with it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from holdfast.errors import InvalidParameter, LedgerConflict
from holdfast.guard.ledger.entry import Entry, Head, account_digest, canonical, check_name, secret_digest

Keys = Collection[tuple[str | None, str]]
"""Analysts and their keys."""
Questions = Collection[tuple[str | None, str]]
"""Whose entry is meant, anybody's with None, and the digest of the question."""


class Source(Protocol):
    """What a store answers about one chain at one moment. Texts are canonical JSON."""

    def expect(self, keys: Keys, questions: Questions) -> None:
        """Be told what is going to be looked up, so that it can be fetched at once."""

    def signature(self) -> str | None:
        """Return the signature of the head."""

    def account(self, name: str) -> str | None:
        """Return the state of an account."""

    def secret(self, name: str) -> tuple[str, str] | None:
        """Salt and state of a secret."""

    def by_key(self, analyst: str | None, key: str) -> Entry | None:
        """Return the latest entry with this key of this analyst."""

    def by_question(self, question: str, analyst: str | None = None) -> Entry | None:
        """Return the latest entry with the digest of this question. It is the entry of this analyst, or, if `analyst`
        is None, of any analyst.
        """

    def entry(self, sequence: int) -> Entry | None:
        """Return the entry with this number."""


@dataclass
class Changes:
    """Changes on top of what a source holds, or on top of other changes."""

    head: Head
    entries: list[Entry] = field(default_factory=list)
    accounts: dict[str, tuple[str, int]] = field(default_factory=dict)
    secrets: dict[str, tuple[str, str, int]] = field(default_factory=dict, repr=False)
    keys: dict[tuple[str | None, str], Entry] = field(default_factory=dict)
    questions: dict[tuple[str | None, str], Entry] = field(default_factory=dict)

    def take(self, later: Changes) -> None:
        """Add changes made on top of these."""
        self.head = later.head
        self.entries += later.entries
        self.accounts |= later.accounts
        self.secrets |= later.secrets
        self.keys |= later.keys
        self.questions |= later.questions


class View:
    """A read-only view of one ledger as it is at one moment.

    Examples
    --------
    >>> from holdfast.guard.ledger import open_store
    >>> open_store().ledger("fingerprint").look(lambda view: (view.dataset, view.head.sequence, view.account("whole")))
    ('fingerprint', 0, None)
    """

    def __init__(self, dataset: str, source: Source, *layers: Changes) -> None:
        self._dataset, self._source, self._layers = dataset, source, layers

    @property
    def dataset(self) -> str:
        """The name of the data set whose chain this is."""
        return self._dataset

    @property
    def head(self) -> Head:
        """The number and the hash of the last entry. The number is 0 if the chain is empty."""
        return self._layers[0].head

    def expect(self, keys: Keys, questions: Questions) -> None:
        """Announce which idempotency keys and questions will be looked up, so that one query can fetch all of them."""
        self._source.expect(keys, questions)

    def account(self, name: str) -> dict[str, Any] | None:
        """Return the state of an account of the ledger, or None if the account was never set."""
        text = self.account_text(name)
        return None if text is None else _read(text)

    def account_text(self, name: str) -> str | None:
        """Return the state of an account as the stored text, so that a caller can recognise a text that it has parsed
        before.
        """
        for layer in self._layers:
            if name in layer.accounts:
                return layer.accounts[name][0]
        return self._source.account(name)

    def secret(self, name: str) -> dict[str, Any] | None:
        """Return the state of a secret, or None if the secret was never set. Secrets are never exported."""
        for layer in self._layers:
            if name in layer.secrets:
                return _read(layer.secrets[name][1])
        secret = self._source.secret(name)
        return None if secret is None else _read(secret[1])

    def find_key(self, analyst: str | None, key: str) -> Entry | None:
        """Return the latest entry of `analyst` with this idempotency key, or None."""
        for layer in self._layers:
            if (analyst, key) in layer.keys:
                return layer.keys[analyst, key]
        return self._source.by_key(analyst, key)

    def find_question(self, question: str, analyst: str | None = None) -> Entry | None:
        """Return the latest entry with the digest of this question. It is the entry of this analyst, or, if `analyst`
        is None, of any analyst.
        """
        for layer in self._layers:
            if (analyst, question) in layer.questions:
                return layer.questions[analyst, question]
        return self._source.by_question(question, analyst)

    def entry(self, sequence: int) -> Entry | None:
        """Return the entry with this number."""
        for layer in self._layers:
            if layer.entries and layer.entries[0].sequence <= sequence <= layer.entries[-1].sequence:
                return layer.entries[sequence - layer.entries[0].sequence]
        return self._source.entry(sequence)


class Transaction(View):
    """The reads and writes that belong to one question. Either all of its writes are stored, or none is.

    Put the changed accounts and secrets first, then append the entry that records the reason. The entry contains
    digests of all accounts and secrets that were put since the entry before it. A change without an entry is refused.

    Examples
    --------
    >>> from holdfast.guard.ledger import open_store
    >>> ledger = open_store().ledger("fingerprint")
    >>> def pay(transaction):
    ...     spent = (transaction.account("whole") or {"spent": 0})["spent"]
    ...     transaction.put_account("whole", {"spent": spent + 1})
    ...     transaction.append("answered", {"answer": 3}, analyst="ann")
    >>> ledger.submit(pay), ledger.submit(pay), ledger.look(lambda view: view.account("whole"))
    (None, None, {'spent': 2})
    """

    def __init__(
        self, dataset: str, source: Source, group: Changes, signer: str | None, lock_store: Callable[[], None]
    ) -> None:
        self._own = Changes(group.head)
        self._signer, self._lock_store = signer, lock_store
        self._states: dict[str, str] = {}
        self._open = True
        super().__init__(dataset, source, self._own, group)

    def lock_store(self) -> None:
        """Wait until no other transaction of the store holds this lock, and hold it until this transaction is stored or
        dropped.

        It is for decisions that depend on other ledgers of the store, which can be read in this transaction, but not
        written.
        """
        self._check_open()
        self._lock_store()

    def put_account(self, name: str, state: Mapping[str, Any]) -> str:
        """Set the state of an account, such as the exact totals of a budget. It should be small, and exports contain
        it. Returns its text.
        """
        self._check_open()
        return self.put_account_text(name, _state(name, state))

    def put_account_text(self, name: str, text: str) -> str:
        """Set the state of an account that is given as canonical JSON already. Returns the text."""
        self._check_open()
        self._own.accounts[check_name("account", name)] = (text, self.head.sequence + 1)
        self._states[f"account:{name}"] = account_digest(text)
        return text

    def put_secret(self, name: str, state: Mapping[str, Any]) -> None:
        """Set a secret, which is a state that must never be shown. The entry contains only a salted digest of it."""
        self._check_open()
        text = _state(check_name("secret", name), state)
        salt = secrets.token_hex(16)
        self._own.secrets[name] = (salt, text, self.head.sequence + 1)
        self._states[f"secret:{name}"] = secret_digest(salt, text)

    def append(
        self,
        kind: str,
        body: Mapping[str, Any],
        *,
        analyst: str | None = None,
        key: str | None = None,
        question: str | None = None,
    ) -> Entry:
        """Append an entry to the chain and return it. It is stored durably when `Ledger.submit` returns, and not
        before.
        """
        self._check_open()
        head = self.head
        entry = Entry.following(
            head,
            dataset=self._dataset,
            time=datetime.now(UTC).isoformat(timespec="microseconds"),
            kind=kind,
            body=body,
            analyst=analyst,
            key=key,
            question=question,
            states=self._states,
            signer=self._signer if self._signer != head.signer else None,
        )
        self._states = {}
        self._own.entries.append(entry)
        self._own.head = Head(entry.sequence, entry.hash, self._signer)
        if key is not None:
            self._own.keys[analyst, key] = entry
        if question is not None:
            self._own.questions[None, question] = self._own.questions[analyst, question] = entry
        return entry

    def _finish(self) -> Changes:
        """The changes, complete; nothing can be added any more."""
        self._open = False
        if self._states:
            names = ", ".join(sorted(self._states))
            raise LedgerConflict(
                f"{names} was changed after the last entry was appended; change it first, then append the entry that "
                "records why"
            )
        return self._own

    def _check_open(self) -> None:
        if not self._open:
            raise LedgerConflict("this transaction of the ledger has ended; nothing can be added to it")


def _read(text: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(text)
    return read


def _state(name: str, state: Any) -> str:
    if not isinstance(state, Mapping):
        raise InvalidParameter(f"the state of {name} must be a mapping, got a {type(state).__name__}")
    return canonical(f"the state of {name}", state)
