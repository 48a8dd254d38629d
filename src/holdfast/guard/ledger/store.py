"""A store holds the chains of any number of data sets: what the stores in memory and in databases have in common."""

from __future__ import annotations

import hmac
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Literal, NamedTuple, Protocol, Self

from holdfast.errors import LedgerConflict, LedgerUnavailable
from holdfast.guard.ledger.entry import Entry, Head, check_name
from holdfast.guard.ledger.ledger import Backend, Ledger
from holdfast.guard.ledger.receipts import SigningKey, head_message, is_signed


class HeadRow(NamedTuple):
    """A stored head: `name` is how other rows refer to the chain."""

    name: Any
    dataset: str
    head: Head
    signature: str | None


class StateRow(NamedTuple):
    """A stored account (without a salt) or secret, and the entry that recorded it."""

    name: str
    salt: str | None
    text: str
    sequence: int

    def __repr__(self) -> str:
        return f"StateRow({self.name!r})"  # the text may be a secret


StateKind = Literal["account", "secret"]


class Snapshot(Protocol):
    """All rows of a store at one moment, as they are stored: for verifying and exporting."""

    def problems(self) -> list[str]:
        """Return what is wrong with the form of the store itself: its version, rows that belong to no chain."""

    def heads(self) -> list[HeadRow]:
        """Return every chain."""

    def entries(self, name: Any, first: int = 1) -> Iterator[Entry]:
        """The entries of a chain in order of their numbers, from `first` on; memory does not grow with them.

        With 1, all of them, whatever numbers they claim.
        """

    def accounts(self, name: Any) -> list[StateRow]:
        """Return the accounts of a chain."""

    def secrets(self, name: Any) -> list[StateRow] | None:
        """Return the secrets of a chain; None where they are not at hand."""


class Store(ABC):
    """A store of ledgers: the base class of stores in memory, in an SQLite file and in a PostgreSQL database."""

    def __init__(self, key: SigningKey | None, new_key: bool) -> None:
        self._key, self._new_key = key, new_key
        self._ledgers: dict[str, Ledger] = {}
        self._opening = threading.Lock()
        self._closed = False

    @property
    def key(self) -> SigningKey | None:
        """The key with which the ledgers of this store are signed. None if they are not signed."""
        return self._key

    def name_of(self, fingerprint: str) -> str:
        """Return the name under which this store keeps the ledger of a data set. It is the same for the same rows, and
        different in every store.

        The fingerprint itself cannot be the name, because it would reveal something about the rows: the name is part of
        every answer, and anybody can compute the fingerprint of given rows. Somebody who knows all rows but one could
        try candidates for that row until the fingerprint fits. The name is therefore a keyed hash of the fingerprint,
        with a salt that never leaves the store.

        Examples
        --------
        >>> from holdfast.guard.ledger import open_store
        >>> store = open_store(None)
        >>> store.name_of("fingerprint") == store.name_of("fingerprint") != open_store(None).name_of("fingerprint")
        True
        """
        salt = self._salt()
        return hmac.digest(salt, fingerprint.encode("utf-8"), "sha256").hex() if salt else fingerprint

    @abstractmethod
    def _salt(self) -> bytes:
        """What names are hashed with; nothing in a store that was begun when they were not."""

    def ledger(self, dataset: str) -> Ledger:
        """Return the ledger of a data set. If there is none, an empty ledger is made. It takes constant time, however
        long the chain is.

        Only its last entry and the signature of its head are checked. `holdfast verify` checks the whole chain.
        """
        check_name("dataset", dataset)
        with self._opening:
            self._check_open()
            if dataset not in self._ledgers:
                backend = self._backend(dataset)
                _check_tail(dataset, backend)
                self._ledgers[dataset] = Ledger(dataset, backend, self._key, new_key=self._new_key)
            return self._ledgers[dataset]

    @abstractmethod
    def _backend(self, dataset: str) -> Backend:
        """The chain of a data set in this store, begun if there is none."""

    @abstractmethod
    def datasets(self) -> list[str]:
        """Return the names of all data sets that have a ledger in this store, in order."""

    @abstractmethod
    def states(self, kind: StateKind, name: str, known: Mapping[str, int]) -> dict[str, StateRow]:
        """Return the account or secret with one name from all ledgers that have it, as a mapping from data sets. It
        takes two queries for all ledgers.

        Accounts whose entry has the number given in `known` are left out. Nothing is checked here; `holdfast verify`
        does that.
        """

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """Return all rows of the store's tables, as they are at one moment."""

    def require_file(self) -> None:  # noqa: B027  (only a store in a file can lose it)
        """Raise `LedgerUnavailable` if the file that was opened has been moved or deleted."""

    def close(self) -> None:
        """Close files and connections. Submitted entries are stored durably even without this call."""
        with self._opening:
            self._closed = True
            for ledger in self._ledgers.values():
                ledger._backend.close()
            self._ledgers.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise LedgerUnavailable("this ledger store was closed; open it again")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_tail(dataset: str, backend: Backend) -> None:
    with backend.reading() as (head, source):
        last = source.entry(head.sequence) if head.sequence else None
        signature = source.signature()
    broken = head.sequence > 0 and (last is None or last.hash != head.hash or last.computed_hash() != head.hash)
    if not broken and head.signer is not None:
        broken = not is_signed(head.signer, head_message(dataset, head), signature or "")
    if broken:
        raise LedgerConflict(
            "the last entry of this ledger does not agree with the ledger's head or with its signature; run "
            "`holdfast verify`"
        )
