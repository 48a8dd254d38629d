"""What every store must do, on all three."""

from __future__ import annotations

import math
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest

from holdfast.errors import HoldfastError, InvalidParameter, LedgerConflict, LedgerUnavailable
from holdfast.guard.ledger.entry import START, Entry
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.receipts import SigningKey
from holdfast.guard.ledger.store import Store
from holdfast.guard.ledger.transaction import Transaction, View
from tests.guard.ledger.conftest import Reopen
from tests.guard.ledger.stores import DATASET, check_spent, spend, spend_all


def test_an_empty_chain(store: Store) -> None:
    ledger = store.ledger(DATASET)
    assert ledger.head().sequence == 0
    assert ledger.head().hash == START
    assert list(ledger.entries()) == []

    def nothing(view: View) -> tuple[object, ...]:
        return view.account("x"), view.secret("x"), view.find_key(None, "k"), view.find_question("q"), view.entry(1)

    assert ledger.look(nothing) == (None,) * 5
    assert store.datasets() == [DATASET]


def test_what_was_submitted_is_there_when_opened_again(opened: Reopen) -> None:
    body = {"answer": [0.1, math.inf, -0.0, 10**30, "é\x00\u2028"], "nested": {"b": None, "a": True}}

    def work(transaction: Transaction) -> Entry:
        assert transaction.dataset == DATASET
        transaction.put_account("whole", {"spent": "0.1"})
        transaction.put_account('Åsa "the first"', {"spent": "0.1"})
        transaction.put_secret("tree", {"nodes": [1, 2]})
        return transaction.append("answered", body, analyst="Åsa", key="k-1", question="d1")

    made = opened().ledger(DATASET).submit(work)
    ledger = opened().ledger(DATASET)

    def read(view: View) -> tuple[object, ...]:
        return (
            view.account("whole"),
            view.secret("tree"),
            view.find_key("Åsa", "k-1"),
            view.find_question("d1"),
            view.entry(1),
        )

    assert ledger.look(lambda view: view.account('Åsa "the first"')) == {"spent": "0.1"}
    assert ledger.look(read) == ({"spent": "0.1"}, {"nodes": [1, 2]}, made, made, made)
    assert made.body == body
    assert made.hash == made.computed_hash()
    assert ledger.head().hash == made.hash
    assert ledger.look(lambda view: view.find_key("ann", "k-1")) is None
    assert set(made.states) == {"account:whole", 'account:Åsa "the first"', "secret:tree"}


def test_reads_see_the_writes_of_the_same_transaction(store: Store) -> None:
    ledger = store.ledger(DATASET)

    def work(transaction: Transaction) -> None:
        transaction.put_account("whole", {"n": 1})
        assert transaction.account("whole") == {"n": 1}
        first = transaction.append("reserved", {}, key="k", question="q")
        assert transaction.head.sequence == first.sequence
        transaction.put_secret("s", {"n": 2})
        assert transaction.secret("s") == {"n": 2}
        second = transaction.append("answered", {}, key="k", question="q")
        assert second.previous == first.hash
        assert transaction.find_key(None, "k") == second
        assert transaction.find_question("q") == second
        assert transaction.entry(first.sequence) == first
        assert transaction.entry(second.sequence + 1) is None

    ledger.submit(work)
    assert [e.kind for e in ledger.entries()] == ["reserved", "answered"]
    found = ledger.look(lambda view: view.find_key(None, "k"))
    assert found is not None
    assert found.kind == "answered"


def test_what_is_read_can_be_changed_without_changing_the_ledger(store: Store) -> None:
    ledger = store.ledger(DATASET)
    ledger.submit(spend("k", 9))

    def work(transaction: Transaction) -> None:
        state = transaction.account("whole")
        assert state is not None
        state["spent"] = 0

    ledger.submit(work)
    assert ledger.look(lambda view: view.account("whole")) == {"spent": 1}


def test_a_function_that_raises_leaves_nothing(store: Store) -> None:
    ledger = store.ledger(DATASET)
    ledger.submit(spend("k", 9))

    def work(transaction: Transaction) -> None:
        transaction.put_account("whole", {"spent": 7})
        transaction.put_secret("state", {"steps": 7})
        transaction.append("answered", {}, key="other")
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        ledger.submit(work)
    check_spent(store, 1)
    assert ledger.look(lambda view: view.find_key(None, "other")) is None
    assert ledger.submit(spend("k2", 9)) == 2


def test_one_failing_function_does_not_undo_those_it_shares_a_commit_with(store: Store) -> None:
    ledger = store.ledger(DATASET)
    started, go = threading.Event(), threading.Event()
    results: dict[str, object] = {}

    def first(transaction: Transaction) -> int:
        started.set()
        assert go.wait(30)
        return spend("first", 9)(transaction)

    def failing(transaction: Transaction) -> int:
        spend("failing", 9)(transaction)
        raise ValueError("mine alone")

    def run(name: str, work: object) -> None:
        try:
            results[name] = ledger.submit(work)  # type: ignore[arg-type]
        except ValueError as error:
            results[name] = str(error)

    threads = [threading.Thread(target=run, args=("first", first))]
    threads[0].start()
    assert started.wait(30)
    for name, work in (("a", spend("a", 9)), ("failing", failing), ("b", spend("b", 9))):
        threads.append(threading.Thread(target=run, args=(name, work)))
        threads[-1].start()
        while len(ledger._waiting) < len(threads) - 1:  # until it waits for the leader: one group for all three
            pass
    go.set()
    for thread in threads:
        thread.join()
    assert results == {"first": 1, "a": 2, "failing": "mine alone", "b": 3}
    check_spent(store, 3)


def test_what_was_announced_is_found_as_what_was_not(store: Store) -> None:
    ledger = store.ledger(DATASET)

    def work(transaction: Transaction) -> tuple[object, ...]:
        early = transaction.find_key("ann", "k0"), transaction.find_key("bob", "k0"), transaction.find_question("new")
        transaction.append("reserved", {}, analyst="ann", key="k0", question="new")
        last = transaction.append("answered", {}, analyst="bob", key="k0", question="new")
        assert transaction.find_question("new") == last
        assert transaction.find_key("bob", "k0") == last
        return early

    def look(view: View) -> tuple[object, ...]:
        own = view.find_question("new", "ann"), view.find_question("new", "bob"), view.find_question("new", "eve")
        return view.find_key("ann", "k0"), view.find_key("bob", "k0"), view.find_question("new"), *own

    ledger.submit(spend("k0", 9))
    first = next(ledger.entries())
    announced = {
        "keys": [("ann", "k0"), ("bob", "k0"), (None, "k0")],
        "questions": [(None, "new"), ("ann", "new"), (None, "qk0")],
    }
    assert ledger.submit(work, **announced) == (first, None, None)
    _, second, third = ledger.entries()
    assert ledger.look(look) == (second, third, third, second, third, None)
    # Several entries with one key or question: the latest, announced or not.
    assert ledger.submit(look, **announced) == ledger.submit(look) == ledger.look(look)


def test_the_entries_of_an_analyst_are_found_among_those_of_others(store: Store) -> None:
    ledger = store.ledger(DATASET)

    def several(transaction: Transaction) -> None:
        for number in range(300):
            who = "ann" if number % 50 == 7 else "bob"
            transaction.append("answered" if number % 2 else "reserved", {"number": number}, analyst=who)
        transaction.append("paused", {})

    ledger.submit(several)
    store.ledger("b" * 64).submit(several)  # another chain in the same store

    def numbers(limit: int, **options: Any) -> list[int]:
        return [entry.sequence for entry in ledger.page(limit, **options)]

    anns = [8, 58, 108, 158, 208, 258]
    assert numbers(100, analyst="ann") == anns
    assert numbers(2, analyst="ann") == anns[:2]
    assert numbers(2, analyst="ann", newest=True) == anns[-2:]
    assert numbers(3, analyst="ann", first=9, before=208) == anns[1:4]
    assert numbers(3, analyst="ann", before=208, newest=True) == anns[1:4]
    assert numbers(9, analyst="ann", kind="reserved") == []
    assert numbers(9, analyst="ann", kind="answered", newest=True) == anns
    assert numbers(9, analyst="eve") == []
    assert numbers(3) == [1, 2, 3]
    assert numbers(2, newest=True) == [300, 301]
    assert numbers(2, newest=True, kind="reserved") == [297, 299]
    assert numbers(9, before=1) == []
    for wrong in ({"limit": 0}, {"limit": 1, "first": 0}, {"limit": 1, "before": -1}):
        with pytest.raises(InvalidParameter):
            ledger.page(**wrong)


@pytest.mark.parametrize("durable_where", ["sqlite", "postgres"], indirect=True)
def test_a_page_of_an_analyst_is_read_through_an_index(durable_where: str, tmp_path: Path) -> None:
    from sqlalchemy import event, text

    from holdfast.guard.ledger.sql import SQLStore

    with open_store(durable_where, key=tmp_path / "key") as store:
        assert isinstance(store, SQLStore)
        ledger = store.ledger(DATASET)
        ledger.submit(spend("k", 9))
        seen: list[tuple[str, Any]] = []

        @event.listens_for(store.engine, "before_cursor_execute")
        def keep(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
            seen.append((statement, parameters))

        ledger.page(25, newest=True, analyst="ann", kind="answered")
        statement, values = next((one, given) for one, given in seen if "analyst =" in one)
        with store.engine.connect() as connection:
            if store.engine.dialect.name == "sqlite":
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", values).all()
            else:
                connection.execute(text("SET LOCAL enable_seqscan = off"))  # of one row a table is read as it is
                plan = connection.exec_driver_sql(f"EXPLAIN {statement}", values).all()
        assert "entries_by_analyst" in str(plan), plan
        assert "SCAN entries" not in str(plan)


def test_a_state_without_an_entry_is_refused(store: Store) -> None:
    ledger = store.ledger(DATASET)
    with pytest.raises(LedgerConflict, match="account:whole was changed after the last entry"):
        ledger.submit(lambda transaction: transaction.put_account("whole", {"spent": 0}))
    assert ledger.head().sequence == 0


def test_a_transaction_ends_with_its_function(store: Store) -> None:
    ledger = store.ledger(DATASET)
    kept = ledger.submit(lambda transaction: transaction)
    with pytest.raises(LedgerConflict, match="has ended"):
        kept.append("answered", {})


def test_submitting_inside_is_refused(store: Store) -> None:
    ledger = store.ledger(DATASET)
    with pytest.raises(LedgerConflict, match="submit must not be called again on the same ledger before an earlier"):
        ledger.submit(lambda transaction: ledger.submit(spend("k", 1)))
    assert ledger.submit(spend("k", 1)) == 1


@pytest.mark.parametrize(
    ("kind", "body", "options", "words"),
    [
        ("sold", {}, {}, "kind must be one of"),
        ("answered", [], {}, "body must be a mapping"),
        ("answered", {"x": math.nan}, {}, "without NaN"),
        ("answered", {"x": object()}, {}, "plain data"),
        ("answered", {}, {"analyst": ""}, "analyst must be a printable text"),
        ("answered", {}, {"key": "a\x00b"}, "key must be a printable text"),
        ("answered", {}, {"question": "x" * 201}, "question must be a printable text"),
        ("answered", {}, {"key": "\ud800"}, "key must be a printable text"),
    ],
)
def test_wrong_entries(store: Store, kind: str, body: object, options: dict[str, str], words: str) -> None:
    ledger = store.ledger(DATASET)
    with pytest.raises(InvalidParameter, match=words):
        ledger.submit(lambda transaction: transaction.append(kind, body, **options))  # type: ignore[arg-type]
    assert ledger.head().sequence == 0


def test_chains_of_data_sets_are_apart(store: Store) -> None:
    one, other = store.ledger(DATASET), store.ledger("b" * 64)
    one.submit(spend("k", 9))
    assert other.submit(spend("k", 9)) == 1
    assert other.submit(spend("k2", 9)) == 2
    assert one.head().sequence == 1
    assert store.ledger(DATASET) is one
    assert store.datasets() == [DATASET, "b" * 64]


def test_many_more_chains_than_connections_are_written_in_one_process(store: Store) -> None:
    chains = [store.ledger(f"{number:064x}") for number in range(40)]
    for turn in range(2):
        for number, chain in enumerate(chains):
            chain.submit(spend(f"{number}-{turn}", 10**6))
    assert [chain.head().sequence for chain in chains] == [2] * 40


def test_two_stores_on_one_ledger_see_each_other(opened: Reopen) -> None:
    first, second = opened().ledger(DATASET), opened().ledger(DATASET)
    for number in range(6):
        ledger = (first, second)[number % 2]
        assert ledger.submit(spend(str(number), 9)) == number + 1
    check_spent(opened(), 6)


def test_eight_threads_spend_a_budget_to_exactly_its_limit(store: Store) -> None:
    ledger, limit = store.ledger(DATASET), 120
    released: list[int] = []
    lock = threading.Lock()

    def client(name: str) -> None:
        mine = spend_all(ledger, name, limit)
        with lock:
            released.extend(mine)

    threads = [threading.Thread(target=client, args=(f"t{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check_spent(store, limit, released)


def test_entries_by_range(store: Store) -> None:
    ledger = store.ledger(DATASET)
    spend_all(ledger, "t", 7)
    assert [e.sequence for e in ledger.entries(3, 5)] == [3, 4, 5]
    assert [e.sequence for e in ledger.entries(6)] == [6, 7]
    assert list(ledger.entries(8)) == []
    with pytest.raises(InvalidParameter, match="first must be"):
        ledger.entries(0)


def test_another_key_is_refused_unless_it_is_meant(opened: Reopen, where: str | None) -> None:
    if where is None:
        return  # a store in memory is one object with one key
    opened().ledger(DATASET).submit(spend("k1", 9))
    other = SigningKey.generate()
    with pytest.raises(LedgerConflict, match="new_key=True"):
        opened(key=other).ledger(DATASET).submit(spend("k2", 9))
    opened(key=other, new_key=True).ledger(DATASET).submit(spend("k2", 9))
    first, second = opened(key=other).ledger(DATASET).entries()
    assert second.signer == other.public
    assert first.signer not in (None, other.public)


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    with pytest.raises(LedgerUnavailable, match="closed"):
        store.ledger(DATASET)


def test_nothing_secret_is_shown_or_pickled(store: Store) -> None:
    ledger = store.ledger(DATASET)
    ledger.submit(spend("k", 9))
    assert "steps" not in repr(ledger) + repr(store)
    with pytest.raises(TypeError, match="pickled"):
        pickle.dumps(ledger)
    with store.snapshot() as rows:
        assert "steps" not in repr(rows.secrets(rows.heads()[0].name))


def test_wrong_data_set(store: Store) -> None:
    with pytest.raises(HoldfastError, match="dataset must be"):
        store.ledger("")
