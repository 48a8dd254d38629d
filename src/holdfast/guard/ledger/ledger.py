"""The chain of one data set, and the commit protocol: decide alone, commit durably, release.

Threads that submit at the same time share commits. One of them leads: it takes those that wait, locks the chain once,
decides one after the other, writes and commits once, and then hands each its result. If the commit fails nobody gets
one, not even an exception that a function raised: it may depend on a change that is not durable.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from holdfast.core import arguments
from holdfast.core.copying import NoCopy
from holdfast.errors import HoldfastError, LedgerConflict, LedgerUnavailable
from holdfast.guard.ledger import faults
from holdfast.guard.ledger.entry import Entry, Head
from holdfast.guard.ledger.merkle_tree import Inclusion, Tree, TreeHead
from holdfast.guard.ledger.receipts import SigningKey, head_message
from holdfast.guard.ledger.transaction import Changes, Keys, Questions, Source, Transaction, View

# --- Backend ----------------------------------------------------------------------------------------------------------
# What a store does for one chain: lock it, read it, write it, and say for certain whether a commit took place.

NOTHING_WRITTEN = "nothing was written and nothing was released"
ASK_AGAIN = "ask again with the same key: it is paid for once, whether or not this attempt was written"


@dataclass(frozen=True)
class Page:
    """Which entries to read: at most `limit` between `first` and `last`, from one end of them.

    `newest` takes those that come last. `analyst` takes those of one analyst, `kind` those of one kind; None takes all.
    """

    first: int
    last: int
    limit: int
    newest: bool = False
    analyst: str | None = None
    kind: str | None = None


class Backend(ABC, Source):
    """One chain in one store. Between `begin` and `commit` or `rollback` no other process writes to it.

    Only one thread at a time calls these, except `reading` and `entries`. Every failure of the store itself is raised
    as `LedgerUnavailable`.
    """

    @abstractmethod
    def begin(self, keys: Keys = (), questions: Questions = ()) -> Head:
        """Lock the chain against every other writer, and return where it ends.

        `keys` and `questions` are what will be looked up: a store far away fetches them with the head.
        """

    @abstractmethod
    def lock_store(self) -> None:
        """Until `commit` or `rollback`, wait for and keep out every other transaction of the store that calls this.

        It does not keep out questions: they go by their own chain's lock.
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
        """Return the head and a source of one moment, without a lock."""

    @abstractmethod
    def entries(self, first: int, last: int | None) -> Iterator[Entry]:
        """Entries in order; memory does not grow with their number."""

    @abstractmethod
    def hashes(self, first: int, last: int) -> list[str]:
        """Return the hashes of entries in order, and nothing else of them."""

    @abstractmethod
    def page(self, wanted: Page) -> list[Entry]:
        """Some entries in order, read through an index: the time does not grow with the chain."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections."""


# --- Ledger -----------------------------------------------------------------------------------------------------------

T = TypeVar("T")

LARGEST_GROUP = 64
"""Questions that share a commit: enough to hide its cost, few enough that the first of them does not wait long."""


class _Request(Generic[T]):
    """One call of `submit`, waiting for a leader or for its result."""

    __slots__ = ("error", "keys", "lead", "questions", "served", "turn", "value", "work")

    def __init__(self, work: Callable[[Transaction], T], keys: Keys, questions: Questions) -> None:
        self.work, self.keys, self.questions = work, keys, questions
        self.turn = threading.Event()
        self.lead = self.served = False
        self.value: T = None  # type: ignore[assignment]  # until it was decided
        self.error: Exception | None = None


class Ledger(NoCopy):
    """The ledger of one data set. `Store.ledger` makes it. Several threads, and forked processes, may use the same
    object.

    Examples
    --------
    >>> from holdfast.guard.ledger import open_store
    >>> ledger = open_store().ledger("fingerprint")
    >>> ledger.submit(lambda transaction: transaction.append("answered", {"answer": 3}, analyst="ann").sequence)
    1
    >>> [(entry.sequence, entry.analyst) for entry in ledger.entries()]
    [(1, 'ann')]
    """

    _not_copied = "a ledger cannot be pickled; open its store again where it is needed"

    def __init__(self, dataset: str, backend: Backend, key: SigningKey | None, *, new_key: bool = False) -> None:
        self._dataset, self._backend, self._key, self._new_key = dataset, backend, key, new_key
        self._tree = Tree(backend.hashes)
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._mutex = threading.Lock()
        self._waiting: deque[_Request[Any]] = deque()
        self._busy = False
        self._leader: int | None = None

    @property
    def dataset(self) -> str:
        """The name of the data set whose ledger this is."""
        return self._dataset

    @property
    def key(self) -> SigningKey | None:
        """The key with which receipts and heads are signed. None if the ledger is not signed."""
        return self._key

    def submit(self, work: Callable[[Transaction], T], *, keys: Keys = (), questions: Questions = ()) -> T:
        """Run the function `work` in a transaction, store its effects durably, and only then return its result.

        No other thread or process changes the chain at the same time. If `work` raises an error, its effects are
        dropped and the error is raised here; other functions that share the commit are not affected. `work` should be
        short, must not call `submit` on the same ledger, and may run in another thread of this process.

        Parameters
        ----------
        work : callable
            Takes the `Transaction`.
        keys, questions : collections, optional
            The (analyst, key) and (analyst or None, digest) pairs that `work` is going to look up. Those of all who
            share a commit are then looked up in one query, which saves a database far away two trips for each.

        Raises
        ------
        LedgerUnavailable
            The store could not be locked, written or committed. Nothing was released. Asking again with the same key
            is safe, because `work` can look the key up first.
        """
        (entry,) = self.submit_each([work], keys=keys, questions=questions)
        if isinstance(entry, Exception):
            raise entry
        return entry

    def submit_each(
        self, works: Sequence[Callable[[Transaction], T]], *, keys: Keys = (), questions: Questions = ()
    ) -> list[T | Exception]:
        """Submit the functions of several requests at once. For each, return its result or the error that it raised.

        The result is as if each function had been submitted alone, in this order, but they share commits.
        """
        if self._pid != os.getpid():  # a child process starts without its parent's waiting threads
            self._start()
        if self._leader == threading.get_ident():
            raise LedgerConflict(
                "submit must not be called again on the same ledger before an earlier call has returned"
            )
        # What all look up is fetched for the first of them, and serves those that share its commit.
        requests = [_Request(work, () if i else keys, () if i else questions) for i, work in enumerate(works)]
        if not requests:
            return []
        with self._mutex:
            self._waiting += requests
            requests[0].lead, self._busy = not self._busy, True
        for i, request in enumerate(requests):
            try:
                if not request.lead:
                    request.turn.wait()
                if request.lead:
                    self._serve()
            except BaseException:  # an interrupt: nobody must wait for these, or be led by one of them
                self._leave(requests[i:])
                raise
        return [request.value if request.error is None else request.error for request in requests]

    def _leave(self, requests: Sequence[_Request[Any]]) -> None:
        with self._mutex:
            leads = any(request.lead and not request.served for request in requests)
            for request in requests:
                if request in self._waiting:
                    self._waiting.remove(request)
            if leads:
                self._pass_on()

    def _serve(self) -> None:
        """Lead one group, which this thread's own request is in, and pass the lead on."""
        with self._mutex:
            group = [self._waiting.popleft() for _ in range(min(LARGEST_GROUP, len(self._waiting)))]
            for request in group:
                request.served = True
        self._leader = threading.get_ident()
        try:
            self._commit(group)
        except Exception as error:
            for request in group:
                request.error = _for_each(error)
        except BaseException:  # an interrupt of this thread, at any point of the commit
            for request in group:
                request.error = LedgerUnavailable(f"the process was interrupted while it wrote; {ASK_AGAIN}")
            raise
        finally:
            self._leader = None
            with self._mutex:
                self._pass_on()
            for request in group:
                if not request.lead:
                    request.turn.set()
            faults.reach(faults.RELEASED)

    def _pass_on(self) -> None:
        self._busy = bool(self._waiting)
        if self._waiting:
            self._waiting[0].lead = True
            self._waiting[0].turn.set()

    def _commit(self, group: list[_Request[Any]]) -> None:
        faults.reach(faults.BEGIN)
        keys = {key for request in group for key in request.keys}
        questions = {question for request in group for question in request.questions}
        backend, head = self._backend, self._backend.begin(keys, questions)
        try:
            signer = self._signer(head)
            changes = Changes(head)
            faults.reach(faults.LOCKED)
            for request in group:
                self._decide(request, changes, signer)
            if not changes.entries:
                backend.rollback()
                return
            signature = None if self._key is None else self._key.sign(head_message(self._dataset, changes.head))
            backend.write(changes, signature)
            faults.reach(faults.WRITTEN)
            backend.commit(changes.entries[-1])
            faults.reach(faults.COMMITTED)
        except BaseException:
            backend.rollback()
            raise

    def _decide(self, request: _Request[Any], changes: Changes, signer: str | None) -> None:
        transaction = Transaction(self._dataset, self._backend, changes, signer, self._backend.lock_store)
        try:
            request.value = request.work(transaction)
            changes.take(transaction._finish())
        except LedgerUnavailable:  # the store itself failed: the whole group fails
            raise
        except Exception as error:
            request.error = error
        finally:
            transaction._open = False
        faults.reach(faults.WORKED)

    def _signer(self, head: Head) -> str | None:
        mine = None if self._key is None else self._key.public
        if head.signer is not None and mine != head.signer and not self._new_key:
            raise LedgerConflict(
                f"this ledger is signed with the key {head.signer[:16]}..., which was not given; open it with that "
                "key, or with new_key=True to continue with another key, which the ledger records"
            )
        return mine

    def look(self, work: Callable[[View], T]) -> T:
        """Run the function `work` on a consistent view of the chain. It takes no lock and writes nothing."""
        with self._backend.reading() as (head, source):
            return work(View(self._dataset, source, Changes(head)))

    def head(self) -> Head:
        """Return the end of the chain: the number and the hash of its last entry."""
        return self.look(lambda view: view.head)

    def entries(self, first: int = 1, last: int | None = None) -> Iterator[Entry]:
        """Yield the entries with the numbers `first` to `last`, in order."""
        first = arguments.whole("first", first, at_least=1)
        return self._backend.entries(first, None if last is None else arguments.whole("last", last, at_least=0))

    def tree_head(self) -> TreeHead:
        """Return a signed statement of the number of entries and of the root of the hash tree over them, which can be
        published.
        """
        if self._key is None:
            raise LedgerUnavailable(
                "this ledger was opened without its key, so nothing can be signed; open it with its key"
            )
        sequence = self.head().sequence
        return TreeHead.of(self._dataset, sequence, self._tree.root(sequence), self._key)

    def inclusion(self, sequence: int, size: int | None = None) -> Inclusion:
        """Return the path in the hash tree from an entry to the root over the first `size` entries (default: over all
        entries).
        """
        end = self.head().sequence
        size = end if size is None else arguments.whole("size", size, at_least=1, at_most=end)
        sequence = arguments.whole("sequence", sequence, at_least=1, at_most=size)
        path = tuple(node.hex() for node in self._tree.path(sequence, size))
        return Inclusion(self._dataset, sequence, size, path)

    def page(
        self,
        limit: int,
        *,
        first: int = 1,
        before: int | None = None,
        newest: bool = False,
        analyst: str | None = None,
        kind: str | None = None,
    ) -> list[Entry]:
        """Return at most `limit` entries in order, of all analysts or of one. They are found with an index.

        Parameters
        ----------
        limit : int
            How many.
        first, before : int
            Only entries from this number on, and only those before this number.
        newest : bool
            The last ones of them, and not the first ones.
        analyst, kind : str, optional
            Only what this analyst wrote, and only entries of this kind.

        Examples
        --------
        >>> from holdfast.guard.ledger import open_store
        >>> ledger = open_store().ledger("fingerprint")
        >>> for name in ("ann", "bob", "ann"):
        ...     _ = ledger.submit(lambda transaction, name=name: transaction.append("answered", {}, analyst=name))
        >>> [entry.sequence for entry in ledger.page(10, analyst="ann")]
        [1, 3]
        >>> [entry.sequence for entry in ledger.page(1, before=3, newest=True)]
        [2]
        """
        first = arguments.whole("first", first, at_least=1)
        last = (2**62 if before is None else arguments.whole("before", before, at_least=0)) - 1
        wanted = Page(first, last, arguments.whole("limit", limit, at_least=1), newest, analyst, kind)
        return self._backend.page(wanted)

    def __repr__(self) -> str:
        return f"Ledger({self._dataset!r})"


def _for_each(error: Exception) -> Exception:
    """An error of its own for each thread, so that their tracebacks do not mix."""
    if isinstance(error, HoldfastError):
        raised = type(error)(*error.args)
    else:
        raised = LedgerUnavailable(f"an unforeseen {type(error).__name__} while the ledger was written; {ASK_AGAIN}")
    raised.__cause__ = error
    return raised
