"""What a store does for one chain: lock it, read it, write it, and say for certain whether a commit took place."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager

from holdfast.guard.ledger.entry import Entry, Head
from holdfast.guard.ledger.transaction import Changes, Source

Keys = Collection[tuple[str | None, str]]
"""Analysts and their keys."""

NOTHING_WRITTEN = "nothing was written and nothing was released"
ASK_AGAIN = "ask again with the same key: it is paid for once, whether or not this attempt was written"


class Backend(ABC, Source):
    """One chain in one store. Between `begin` and `commit` or `rollback` no other process writes to it.

    Only one thread at a time calls these, except `reading` and `entries`. Every failure of the store itself is raised
    as `LedgerUnavailable`.
    """

    @abstractmethod
    def begin(self, keys: Keys = (), questions: Collection[str] = ()) -> Head:
        """Lock the chain against every other writer, and return where it ends.

        `keys` and `questions` are what will be looked up: a store far away fetches them with the head.
        """

    @abstractmethod
    def write(self, changes: Changes, signature: str | None) -> None:
        """Write, not yet durably. `signature` is over the new head."""

    @abstractmethod
    def commit(self, last: Entry) -> None:
        """Make it durable, and let go of the lock. If this returns, `last` is stored for good."""

    @abstractmethod
    def rollback(self) -> None:
        """Undo what was written since `begin`, and let go of the lock. Never raises."""

    @abstractmethod
    def reading(self) -> AbstractContextManager[tuple[Head, Source]]:
        """The head and a source of one moment, without a lock."""

    @abstractmethod
    def entries(self, first: int, last: int | None) -> Iterator[Entry]:
        """Entries in order; memory does not grow with their number."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections."""


__all__ = ["ASK_AGAIN", "NOTHING_WRITTEN", "Backend", "Keys"]
