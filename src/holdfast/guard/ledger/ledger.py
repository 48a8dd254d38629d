"""The chain of one data set, and the commit protocol: decide alone, commit durably, release.

Threads that submit at the same time share commits. One of them leads: it takes those that wait, locks the chain once,
decides one after the other, writes and commits once, and then hands each its result. If the commit fails nobody gets
one, not even an exception that a function raised: it may rest on a change that is not durable.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Generic, TypeVar

from holdfast import check
from holdfast.errors import HoldfastError, LedgerConflict, LedgerUnavailable
from holdfast.guard.ledger import faults
from holdfast.guard.ledger.backend import ASK_AGAIN, Backend, Keys
from holdfast.guard.ledger.entry import Entry, Head
from holdfast.guard.ledger.signing import SigningKey, head_message
from holdfast.guard.ledger.transaction import Changes, Transaction, View

T = TypeVar("T")

LARGEST_GROUP = 64
"""Questions that share a commit: enough to hide its cost, few enough that the first of them does not wait long."""


class _Request(Generic[T]):
    """One call of `submit`, waiting for a leader or for its result."""

    __slots__ = ("error", "keys", "lead", "questions", "served", "turn", "value", "work")

    def __init__(self, work: Callable[[Transaction], T], keys: Keys, questions: Collection[str]) -> None:
        self.work, self.keys, self.questions = work, keys, questions
        self.turn = threading.Event()
        self.lead = self.served = False
        self.value: T = None  # type: ignore[assignment]  # until it was decided
        self.error: Exception | None = None


class Ledger:
    """The ledger of one data set; made by `Store.ledger`. Threads may share it, and so may a process that forks.

    Examples
    --------
    >>> from holdfast.guard.ledger import open_store
    >>> ledger = open_store().ledger("fingerprint")
    >>> ledger.submit(lambda transaction: transaction.append("answered", {"answer": 3}, analyst="ann").sequence)
    1
    >>> [(entry.sequence, entry.analyst) for entry in ledger.entries()]
    [(1, 'ann')]
    """

    def __init__(self, dataset: str, backend: Backend, key: SigningKey | None, *, new_key: bool = False) -> None:
        self._dataset, self._backend, self._key, self._new_key = dataset, backend, key, new_key
        self._start()

    def _start(self) -> None:
        self._pid = os.getpid()
        self._mutex = threading.Lock()
        self._waiting: deque[_Request[Any]] = deque()
        self._busy = False
        self._leader: int | None = None

    @property
    def dataset(self) -> str:
        """The fingerprint of the data."""
        return self._dataset

    @property
    def key(self) -> SigningKey | None:
        """What signs receipts and heads; None where the ledger is not signed."""
        return self._key

    def submit(self, work: Callable[[Transaction], T], *, keys: Keys = (), questions: Collection[str] = ()) -> T:
        """Run `work` alone, make what it did durable, and only then return what it returned.

        No other thread or process changes the chain meanwhile. If `work` raises, what it did is dropped and the error
        is raised here; others that share the commit are not touched. `work` should be short, must not submit to the
        same ledger, and may run in another thread of this process.

        Parameters
        ----------
        work : callable
            Takes the `Transaction`.
        keys, questions : collections, optional
            The (analyst, key) pairs and the digests that `work` is going to look up. Those of all who share a commit
            are then looked up in one query, which saves a database far away two trips for each.

        Raises
        ------
        LedgerUnavailable
            The store could not be locked, written or committed. Nothing was released. Asking again with the same key
            is safe, because `work` can look the key up first.
        """
        (found,) = self.submit_each([work], keys=keys, questions=questions)
        if isinstance(found, Exception):
            raise found
        return found

    def submit_each(
        self, works: Sequence[Callable[[Transaction], T]], *, keys: Keys = (), questions: Collection[str] = ()
    ) -> list[T | Exception]:
        """Submit functions of people who asked at the same time: what each returned, or the error that it raised.

        Each is decided as if it had been submitted alone, in this order; they share commits.
        """
        if self._pid != os.getpid():  # a child process starts without its parent's waiting threads
            self._start()
        if self._leader == threading.get_ident():
            raise LedgerConflict("submit cannot be called from within submit on the same ledger")
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
        transaction = Transaction(self._dataset, self._backend, changes, signer)
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
                f"this ledger is signed with the key {head.signer[:16]}..., which was not given; "
                "open it with that key, or with new_key=True to go on under another, which is recorded"
            )
        return mine

    def look(self, work: Callable[[View], T]) -> T:
        """Run `work` on one moment of the chain, without a lock and without writing."""
        with self._backend.reading() as (head, source):
            return work(View(self._dataset, source, Changes(head)))

    def head(self) -> Head:
        """Where the chain ends."""
        return self.look(lambda view: view.head)

    def entries(self, first: int = 1, last: int | None = None) -> Iterator[Entry]:
        """Entries `first` to `last`, in order."""
        first = check.whole("first", first, at_least=1)
        return self._backend.entries(first, None if last is None else check.whole("last", last, at_least=0))

    def __repr__(self) -> str:
        return f"Ledger({self._dataset!r})"

    def __reduce__(self) -> Any:
        raise TypeError("a ledger cannot be pickled; open its store again where it is needed")


def _for_each(error: Exception) -> Exception:
    """An error of its own for each thread, so that their tracebacks do not mix."""
    if isinstance(error, HoldfastError):
        made = type(error)(*error.args)
    else:
        made = LedgerUnavailable(f"an unforeseen {type(error).__name__} while the ledger was written; {ASK_AGAIN}")
    made.__cause__ = error
    return made


__all__ = ["LARGEST_GROUP", "Ledger"]
