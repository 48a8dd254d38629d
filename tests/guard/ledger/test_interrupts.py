"""Who is interrupted while others ask takes nobody along: the ledger goes on, and what was not decided is not paid."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from holdfast.errors import LedgerUnavailable
from holdfast.guard.ledger import faults, open_store
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.transaction import Transaction
from tests.guard.ledger.stores import DATASET, check_spent, spend

Handler = Callable[[int, Any], None]


@pytest.fixture
def on_signal() -> Iterator[Callable[[Handler], object]]:
    """Puts a handler of SIGUSR1 in place, for one test."""
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda handler: signal.signal(signal.SIGUSR1, handler)
    signal.signal(signal.SIGUSR1, before)


def tell_main(until: Callable[[], bool]) -> None:
    """Send the signal until it has come: one that comes just before a wait is not seen before the wait ends."""
    main = threading.main_thread().ident
    assert main is not None
    while not until():
        signal.pthread_kill(main, signal.SIGUSR1)


def waiting(ledger: Ledger, many: int) -> None:
    """Return when so many wait in line, the first of them inside its wait."""
    while len(ledger._waiting) < many or not ledger._waiting[0].turn._cond._waiters:  # type: ignore[attr-defined]
        pass


def test_who_is_interrupted_in_line_leaves_it(on_signal: Callable[[Handler], object]) -> None:
    store, released = open_store(), list[int]()
    ledger = store.ledger(DATASET)
    begun, came = threading.Event(), threading.Event()

    def interrupted(number: int, frame: Any) -> None:
        if not came.is_set():
            came.set()
            raise KeyboardInterrupt

    on_signal(interrupted)

    def leads(transaction: Transaction) -> int:
        begun.set()
        waiting(ledger, 1)
        tell_main(until=came.is_set)
        while ledger._waiting:
            pass
        return spend("leader", 9)(transaction)

    leader = threading.Thread(target=lambda: released.append(ledger.submit(leads)))
    leader.start()
    assert begun.wait(30)
    with pytest.raises(KeyboardInterrupt):
        ledger.submit(spend("interrupted", 9))
    leader.join()
    check_spent(store, 1, released)
    assert ledger.submit(spend("interrupted", 9)) == 2


def test_who_is_interrupted_as_the_lead_comes_passes_it_on(on_signal: Callable[[Handler], object]) -> None:
    store, released = open_store(), list[int]()
    ledger = store.ledger(DATASET)
    begun, go = threading.Event(), threading.Event()

    def as_the_lead_comes(number: int, frame: Any) -> None:
        if go.is_set():
            return
        (mine, _) = ledger._waiting
        go.set()
        while not mine.lead:
            pass
        raise KeyboardInterrupt

    on_signal(as_the_lead_comes)

    def leads(transaction: Transaction) -> int:
        begun.set()
        assert go.wait(30)
        return spend("leader", 9)(transaction)

    def asks(work: Callable[[Transaction], int]) -> threading.Thread:
        return threading.Thread(target=lambda: released.append(ledger.submit(work)))

    def comes_behind() -> None:
        waiting(ledger, 1)
        behind.start()
        waiting(ledger, 2)
        tell_main(until=go.is_set)

    leader, behind, watcher = asks(leads), asks(spend("behind", 9)), threading.Thread(target=comes_behind)
    leader.start()
    assert begun.wait(30)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        ledger.submit(spend("interrupted", 9))
    for thread in (leader, watcher, behind):
        thread.join()
    check_spent(store, 2, released)
    assert ledger.submit(spend("interrupted", 9)) == 3


def test_an_unforeseen_error_while_writing_is_told_and_nothing_is_released() -> None:
    store = open_store()
    ledger = store.ledger(DATASET)
    ledger.submit(spend("k1", 9))

    def fails(reached: str) -> None:
        if reached == "ledger.written":
            raise ZeroDivisionError("a text that may hold a state")

    faults.set_hook(fails)
    try:
        with pytest.raises(LedgerUnavailable, match="an unforeseen ZeroDivisionError while the ledger was") as caught:
            ledger.submit(spend("k2", 9))
    finally:
        faults.set_hook(None)
    assert "a text" not in str(caught.value)
    assert "ask again with the same key" in str(caught.value)
    check_spent(store, 1)
    assert ledger.submit(spend("k2", 9)) == 2
