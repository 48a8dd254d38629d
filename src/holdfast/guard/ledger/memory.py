"""A store in memory, for a single process: the same protocol, and nothing outlives it."""

from __future__ import annotations

import secrets
import threading
from bisect import bisect_left
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from holdfast.guard.ledger.backend import Backend, Keys
from holdfast.guard.ledger.entry import Entry, Head
from holdfast.guard.ledger.signing import SigningKey
from holdfast.guard.ledger.store import HeadRow, Snapshot, StateRow, Store
from holdfast.guard.ledger.transaction import Changes, Source


class _Chain(Backend):
    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.head = Head()
        self.mark: str | None = None
        self.rows: list[Entry] = []
        self.accounts: dict[str, StateRow] = {}
        self.secrets: dict[str, StateRow] = {}
        self.keys: dict[tuple[str | None, str], Entry] = {}
        self.questions: dict[str, Entry] = {}
        self._next: tuple[Changes, str | None] | None = None

    def begin(self, keys: Keys = (), questions: Collection[str] = ()) -> Head:
        return self.head  # a ledger has one leader, and a store in memory one ledger for a data set

    def expect(self, keys: Keys, questions: Collection[str]) -> None:
        pass  # everything is at hand

    def signature(self) -> str | None:
        return self.mark

    def account(self, name: str) -> str | None:
        found = self.accounts.get(name)
        return None if found is None else found.text

    def secret(self, name: str) -> tuple[str, str] | None:
        found = self.secrets.get(name)
        return None if found is None else (found.salt or "", found.text)

    def by_key(self, analyst: str | None, key: str) -> Entry | None:
        return self.keys.get((analyst, key))

    def by_question(self, question: str) -> Entry | None:
        return self.questions.get(question)

    def entry(self, sequence: int) -> Entry | None:
        at = bisect_left(self.rows, sequence, key=lambda e: e.sequence)
        return self.rows[at] if at < len(self.rows) and self.rows[at].sequence == sequence else None

    def write(self, changes: Changes, signature: str | None) -> None:
        self._next = changes, signature

    def commit(self, last: Entry) -> None:
        if self._next is None:
            return
        (changes, signature), self._next = self._next, None
        with self.lock:
            self.head, self.mark = changes.head, signature
            self.rows += changes.entries
            self.accounts |= {n: StateRow(n, None, text, at) for n, (text, at) in changes.accounts.items()}
            self.secrets |= {n: StateRow(n, salt, text, at) for n, (salt, text, at) in changes.secrets.items()}
            self.keys |= changes.keys
            self.questions |= changes.questions

    def rollback(self) -> None:
        self._next = None

    @contextmanager
    def reading(self) -> Iterator[tuple[Head, Source]]:
        with self.lock:
            yield self.head, self

    def entries(self, first: int, last: int | None) -> Iterator[Entry]:
        with self.lock:
            found = [e for e in self.rows if first <= e.sequence and (last is None or e.sequence <= last)]
        return iter(found)

    def close(self) -> None:
        pass


class _Rows:
    """A copy of all rows."""

    def __init__(self, chains: dict[str, _Chain]) -> None:
        self._heads: list[HeadRow] = []
        self._entries: dict[str, list[Entry]] = {}
        self._accounts: dict[str, list[StateRow]] = {}
        self._secrets: dict[str, list[StateRow]] = {}
        for dataset, chain in sorted(chains.items()):
            with chain.lock:
                self._heads.append(HeadRow(dataset, dataset, chain.head, chain.mark))
                self._entries[dataset] = list(chain.rows)
                self._accounts[dataset] = [row for _, row in sorted(chain.accounts.items())]
                self._secrets[dataset] = [row for _, row in sorted(chain.secrets.items())]

    def problems(self) -> list[str]:
        return []

    def heads(self) -> list[HeadRow]:
        return self._heads

    def entries(self, name: Any) -> Iterator[Entry]:
        return iter(self._entries[name])

    def accounts(self, name: Any) -> list[StateRow]:
        return self._accounts[name]

    def secrets(self, name: Any) -> list[StateRow]:
        return self._secrets[name]


class MemoryStore(Store):
    """Chains in memory; made by `open_store(None)`."""

    def __init__(self, key: SigningKey | None = None, new_key: bool = False) -> None:
        super().__init__(key or SigningKey.generate(), new_key)
        self._chains: dict[str, _Chain] = {}
        self._salted = secrets.token_bytes(32)

    def _salt(self) -> bytes:
        return self._salted

    def _backend(self, dataset: str) -> Backend:
        return self._chains.setdefault(dataset, _Chain())

    def datasets(self) -> list[str]:
        """Every data set that has a chain here, in order."""
        return sorted(self._chains)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """All rows at one moment."""
        yield _Rows(dict(self._chains))

    def __repr__(self) -> str:
        return "MemoryStore()"


__all__ = ["MemoryStore"]
