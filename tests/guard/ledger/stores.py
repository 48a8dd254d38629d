"""Stores for tests: one of each kind, and the little budget that shows whether a ledger keeps its word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from holdfast.errors import BudgetExhausted
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.store import Store
from holdfast.guard.ledger.transaction import Transaction

DATASET = "a" * 64
KINDS = ("memory", "sqlite", "postgres")


def spend(key: str, limit: int, analyst: str = "ann") -> Callable[[Transaction], int]:
    """A question of cost 1 under a budget of `limit`: the answer is how much was spent, and a repeat is free."""

    def work(transaction: Transaction) -> int:
        found = transaction.find_key(analyst, key)
        if found is not None:
            return int(found.body["answer"])
        spent = (transaction.account("whole") or {"spent": 0})["spent"]
        if spent >= limit:
            raise BudgetExhausted("nothing is left")
        hidden = (transaction.secret("state") or {"steps": 0})["steps"]
        transaction.put_account("whole", {"spent": spent + 1})
        transaction.put_secret("state", {"steps": hidden + 1})
        transaction.append("answered", {"answer": spent + 1}, analyst=analyst, key=key, question=f"q{key}")
        return int(spent + 1)

    return work


def spend_all(ledger: Ledger, name: str, limit: int) -> list[int]:
    """Ask until the budget is gone; what was released."""
    released = []
    for number in range(limit + 1):
        try:
            released.append(ledger.submit(spend(f"{name}-{number}", limit)))
        except BudgetExhausted:
            return released
    return released


def check_spent(store: Store, limit: int, released: list[int] | None = None) -> None:
    """The budget was spent to its limit and not past it, each unit once; chain, account and secret agree."""
    ledger = store.ledger(DATASET)
    state: Any = ledger.look(lambda view: (view.head, view.account("whole"), view.secret("state")))
    assert state[0].sequence == limit
    assert state[1:] == ({"spent": limit}, {"steps": limit})
    answers = [entry.body["answer"] for entry in ledger.entries()]
    assert answers == list(range(1, limit + 1))
    if released is not None:
        assert sorted(released) == answers


__all__ = ["DATASET", "KINDS", "check_spent", "open_store", "spend", "spend_all"]


def page_limit(engine: Any) -> Callable[[int | None], None]:
    """Sets how many pages a SQLite file may have, on every connection that is used from then on; None for as it is."""
    from sqlalchemy import event

    most: list[int] = []

    def limited(connection: Any, *_: Any) -> None:
        if most:
            connection.execute(f"PRAGMA max_page_count = {most[0]}").close()

    event.listen(engine, "checkout", limited)

    def set_limit(pages: int | None) -> None:
        if pages is None:
            with engine.connect() as connection:
                pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        most[:] = [pages or 1]

    return set_limit
