"""Kill -9 at every named step and at random moments; several processes on one budget. On SQLite and PostgreSQL.

After every restart: nothing was released unpaid, nothing was paid twice, the chain verifies, the secret state goes on.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.guard.ledger import faults
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.verify import verify
from tests.guard.forked import program
from tests.guard.ledger import processes
from tests.guard.ledger.stores import DATASET, check_spent

pytestmark = pytest.mark.parametrize("durable_where", ["sqlite", "postgres"], indirect=True)


@pytest.fixture(scope="module")
def run() -> Iterator[Any]:
    with program("tests.guard.ledger.processes") as asking:
        yield asking


def test_killed_at_every_named_step(run: Any, durable_where: str, tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    found = run("points", durable_where, key)
    names = [name for name in faults.POINTS if name.startswith("ledger.")]
    assert len(found) == 2 * len(names) >= 12
    whole = [[f"k{i}", i + 1] for i in range(processes.QUESTIONS)]
    with open_store(durable_where, key=key) as store:
        for case in found:
            assert case["killed"] == signal.SIGKILL, case
            assert case["before"] == whole[: case["turn"] - 1], case  # what was released before the kill, in order
            assert case["again"] == 0
            assert case["after"] == whole  # each key its own answer, paid once
            check_entries(store, case["dataset"])
    assert verify(durable_where).ok


def check_entries(store: Any, dataset: str) -> None:
    ledger = store.ledger(dataset)
    assert [(e.key, e.body["answer"]) for e in ledger.entries()] == [
        (f"k{i}", i + 1) for i in range(processes.QUESTIONS)
    ]
    assert ledger.look(lambda view: view.secret("state")) == {"steps": processes.QUESTIONS}


def test_killed_at_random_under_load(run: Any, durable_where: str, tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    released = run("load", durable_where, key)
    with open_store(durable_where, key=key) as store:
        ledger = store.ledger(DATASET)
        paid = {entry.key: entry.body["answer"] for entry in ledger.entries()}
        check_spent(store, len(paid))  # no key twice, account and secret state as the entries say
    assert len(released) > processes.KILLS / 4  # they did work before they were killed
    assert all(paid[name] == value for name, value in released)
    found = verify(durable_where)
    assert found.ok
    assert found.entries == len(paid)


def test_processes_spend_a_budget_to_exactly_its_limit(run: Any, durable_where: str, tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    released = run("limit", durable_where, key)
    with open_store(durable_where, key=key) as store:
        check_spent(store, processes.LIMIT, released)
        clients = {str(entry.key).rsplit("-", 1)[0] for entry in store.ledger(DATASET).entries()}
    if durable_where.startswith("postgresql"):  # both took part; SQLite may let one of them wait for the other
        assert len({client.split("-")[0] for client in clients}) == processes.PROCESSES


def test_a_ledger_survives_a_fork(run: Any, durable_where: str, tmp_path: Path) -> None:
    key = tmp_path / "key.pem"
    released = run("fork", durable_where, key)
    with open_store(durable_where, key=key) as store:
        check_spent(store, 21, released)


def test_a_new_store_opened_by_several_processes_at_once(run: Any, durable_where: str, tmp_path: Path) -> None:
    statuses = run("open", durable_where, tmp_path / "key.pem")
    assert len(statuses) == 4 * processes.OPENINGS
    assert set(statuses) == {0}
