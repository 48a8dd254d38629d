"""A store in memory, for a single process: the same protocol, and nothing outlives it."""

from __future__ import annotations

import secrets
import threading
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

from holdfast.guard.ledger.entry import Entry, Head
from holdfast.guard.ledger.ledger import Backend, Page
from holdfast.guard.ledger.receipts import SigningKey
from holdfast.guard.ledger.store import HeadRow, Snapshot, StateKind, StateRow, Store
from holdfast.guard.ledger.transaction import Changes, Keys, Questions, Source


class _Chain(Backend):
    def __init__(self, whole: threading.Lock) -> None:
        self.lock = threading.RLock()
        self._whole, self._holds_whole = whole, False
        self.head = Head()
        self.mark: str | None = None
        self.rows: list[Entry] = []
        self.accounts: dict[str, StateRow] = {}
        self.secrets: dict[str, StateRow] = {}
        self.keys: dict[tuple[str | None, str], Entry] = {}
        self.questions: dict[tuple[str | None, str], Entry] = {}
        self.by_analyst: dict[str | None, list[Entry]] = {}
        self._next: tuple[Changes, str | None] | None = None

    def begin(self, keys: Keys = (), questions: Questions = ()) -> Head:
        return self.head  # a ledger has one leader, and a store in memory one ledger for a data set

    def expect(self, keys: Keys, questions: Questions) -> None:
        pass  # everything is at hand

    def signature(self) -> str | None:
        return self.mark

    def account(self, name: str) -> str | None:
        account = self.accounts.get(name)
        return None if account is None else account.text

    def secret(self, name: str) -> tuple[str, str] | None:
        secret = self.secrets.get(name)
        return None if secret is None else (secret.salt or "", secret.text)

    def by_key(self, analyst: str | None, key: str) -> Entry | None:
        return self.keys.get((analyst, key))

    def by_question(self, question: str, analyst: str | None = None) -> Entry | None:
        return self.questions.get((analyst, question))

    def entry(self, sequence: int) -> Entry | None:
        at = bisect_left(self.rows, sequence, key=lambda e: e.sequence)
        return self.rows[at] if at < len(self.rows) and self.rows[at].sequence == sequence else None

    def lock_store(self) -> None:
        if not self._holds_whole:
            self._holds_whole = self._whole.acquire()

    def _let_go(self) -> None:
        if self._holds_whole:
            self._holds_whole = False
            self._whole.release()

    def write(self, changes: Changes, signature: str | None) -> None:
        self._next = changes, signature

    def commit(self, last: Entry) -> None:
        if self._next is None:
            return
        (changes, signature), self._next = self._next, None
        with self.lock:
            self.head, self.mark = changes.head, signature
            self.rows += changes.entries
            for entry in changes.entries:
                self.by_analyst.setdefault(entry.analyst, []).append(entry)
            self.accounts |= {n: StateRow(n, None, text, at) for n, (text, at) in changes.accounts.items()}
            self.secrets |= {n: StateRow(n, salt, text, at) for n, (salt, text, at) in changes.secrets.items()}
            self.keys |= changes.keys
            self.questions |= changes.questions
        self._let_go()

    def rollback(self) -> None:
        self._next = None
        self._let_go()

    @contextmanager
    def reading(self) -> Iterator[tuple[Head, Source]]:
        with self.lock:
            yield self.head, self

    def entries(self, first: int, last: int | None) -> Iterator[Entry]:
        with self.lock:
            entries = [e for e in self.rows if first <= e.sequence and (last is None or e.sequence <= last)]
        return iter(entries)

    def hashes(self, first: int, last: int) -> list[str]:
        with self.lock:
            return [entry.hash for entry in self.rows[first - 1 : last]]

    def page(self, wanted: Page) -> list[Entry]:
        with self.lock:
            rows = self.rows if wanted.analyst is None else self.by_analyst.get(wanted.analyst, [])
            begin = bisect_left(rows, wanted.first, key=lambda e: e.sequence)
            end = bisect_left(rows, wanted.last + 1, key=lambda e: e.sequence)
            order = range(end - 1, begin - 1, -1) if wanted.newest else range(begin, end)
            fitting = (rows[at] for at in order if wanted.kind in (None, rows[at].kind))
            entries = list(islice(fitting, wanted.limit))
        return entries[::-1] if wanted.newest else entries

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

    def entries(self, name: Any, first: int = 1) -> Iterator[Entry]:
        return iter(self._entries[name][first - 1 :])

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
        self._whole = threading.Lock()

    def _salt(self) -> bytes:
        return self._salted

    def _backend(self, dataset: str) -> Backend:
        return self._chains.setdefault(dataset, _Chain(self._whole))

    def datasets(self) -> list[str]:
        """Return the names of all data sets that have a ledger in this store, in order."""
        return sorted(self._chains)

    def states(self, kind: StateKind, name: str, known: Mapping[str, int]) -> dict[str, StateRow]:
        """Return the account or secret of one name on every chain that has it and is not known."""
        chains = dict(self._chains)
        rows = {
            place: (chain.accounts if kind == "account" else chain.secrets).get(name) for place, chain in chains.items()
        }
        return {place: row for place, row in rows.items() if row is not None and known.get(place) != row.sequence}

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """All rows at one moment."""
        yield _Rows(dict(self._chains))

    def __repr__(self) -> str:
        return "MemoryStore()"
