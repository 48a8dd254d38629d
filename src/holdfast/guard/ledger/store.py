"""A store holds the chains of any number of data sets; `open_store` finds the right one for an address."""

from __future__ import annotations

import hmac
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from holdfast.errors import InvalidParameter, LedgerConflict, LedgerUnavailable
from holdfast.extras import named_extras
from holdfast.guard.ledger.backend import Backend
from holdfast.guard.ledger.entry import Entry, Head, check_name
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.signing import SigningKey, head_message, is_signed


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


class Snapshot(Protocol):
    """All rows of a store at one moment, as they are stored: for verifying and exporting."""

    def problems(self) -> list[str]:
        """What is wrong with the form of the store itself: its version, rows that belong to no chain."""

    def heads(self) -> list[HeadRow]:
        """Every chain."""

    def entries(self, name: Any) -> Iterator[Entry]:
        """The entries of a chain in order of their numbers; memory does not grow with them."""

    def accounts(self, name: Any) -> list[StateRow]:
        """The accounts of a chain."""

    def secrets(self, name: Any) -> list[StateRow] | None:
        """The secrets of a chain; None where they are not at hand."""


class Store(ABC):
    """Base of the stores in memory, in a SQLite file and in a PostgreSQL database."""

    def __init__(self, key: SigningKey | None, new_key: bool) -> None:
        self._key, self._new_key = key, new_key
        self._ledgers: dict[str, Ledger] = {}
        self._opening = threading.Lock()
        self._closed = False

    @property
    def key(self) -> SigningKey | None:
        """What signs; None where the store is not signed."""
        return self._key

    def name_of(self, fingerprint: str) -> str:
        """The name of the chain of a sample here: the same for the same rows, and another in every store.

        The fingerprint itself would tell about the rows. It is a function of them that everybody can compute, and the
        name is on every answer: who knows all rows but one could try candidates for the last until it fitted. The name
        is a keyed hash, under a salt that does not leave the store.

        Examples
        --------
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
        """The ledger of a data set, begun if there is none. Constant time, however long the chain.

        Its last entry and the signature of its head are checked, the whole chain is not: `holdfast verify` does that.
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
        """Every data set that has a chain here, in order."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Snapshot]:
        """All rows at one moment."""

    def close(self) -> None:
        """Let go of files and connections. What was submitted is safe without it."""
        with self._opening:
            self._closed = True
            for ledger in self._ledgers.values():
                ledger._backend.close()
            self._ledgers.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise LedgerUnavailable("this store was closed; open it again")

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
        raise LedgerConflict("the end of this ledger does not fit its head or its signature; run `holdfast verify`")


@named_extras()
def open_store(
    where: str | Path | None = None,
    *,
    key: SigningKey | str | Path | None = None,
    new_key: bool = False,
    create: bool = True,
    timeout: float = 30.0,
) -> Store:
    """Open a store of ledgers; its tables are made or brought up to date.

    Parameters
    ----------
    where : str or path, optional
        A file (SQLite), a `postgresql://` address, or None for memory, which ends with the process.
    key : SigningKey or path, optional
        What signs heads and receipts. By default a SQLite store has a key file of the same name plus `.key` beside it,
        made on first use and readable by its owner only; a memory store makes a key; a PostgreSQL store without a key
        is not signed, because servers that share it must share the key.
    new_key : bool
        Go on under another key than the one that has signed so far. The change is recorded in the chain.
    create : bool
        Whether a file that is not there may be made.
    timeout : float
        Seconds to wait for other processes that hold the lock, or for a server to answer.

    Examples
    --------
    >>> store = open_store()
    >>> ledger = store.ledger("fingerprint")
    >>> def work(transaction):
    ...     transaction.put_account("whole", {"spent": "0.1"})
    ...     return transaction.append("answered", {"answer": 3}, analyst="ann", key="k1")
    >>> ledger.submit(work).sequence
    1
    >>> ledger.look(lambda view: view.find_key("ann", "k1").body)
    {'answer': 3}
    """
    signing = key if isinstance(key, SigningKey) or key is None else SigningKey.load_or_create(key)
    text = None if where is None else str(where)
    if text is None or text == ":memory:":
        from holdfast.guard.ledger.memory import MemoryStore

        return MemoryStore(signing, new_key)
    if text.startswith(("postgresql:", "postgresql+psycopg:", "postgres:")):
        from holdfast.guard.ledger.postgres import PostgresStore

        return PostgresStore(text, signing, new_key, timeout=timeout)
    if "://" in text and not text.startswith("sqlite:///"):
        raise InvalidParameter("where must be a file, a postgresql:// address, or None for memory")
    from holdfast.guard.ledger.sqlite import SQLiteStore

    return SQLiteStore(text.removeprefix("sqlite:///"), signing, new_key, create=create, timeout=timeout)


__all__ = ["HeadRow", "Snapshot", "StateRow", "Store", "open_store"]
