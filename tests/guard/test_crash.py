"""Kill -9 at every named step of a question and at random under load; several processes on one budget, to its limit.

After every restart: nothing was released unpaid, nothing was paid twice, and the ledger adds up again entry by entry.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.accounting import Filter
from holdfast.guard.ledger.entry import Entry
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.opening import open_store
from holdfast.guard.ledger.verify import verify
from holdfast.guard.replay import GuardReplay
from tests.guard import crashing
from tests.guard.forked import program

pytestmark = pytest.mark.parametrize("where", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else request.getfixturevalue("postgres_url")


@pytest.fixture(scope="module")
def run() -> Iterator[Any]:
    with program("tests.guard.crashing") as asking:
        yield asking


def answered(ledger: Ledger) -> list[Entry]:
    return [entry for entry in ledger.entries() if entry.kind == "answered"]


def check_paid(ledger: Ledger, questions_paid: int) -> None:
    """Every answer was paid for once: by itself, or by one reservation of the same question that nothing else used.

    The budget is spent by exactly that, and the secret threshold has gone through exactly the checks that were
    answered.
    """
    reserved = {entry.sequence: entry for entry in ledger.entries() if entry.kind == "reserved"}
    for entry in answered(ledger):
        if "paid" in entry.body:
            paid = reserved.pop(entry.body["paid"])
            assert (paid.analyst, paid.key, paid.body["cost"]) == (entry.analyst, entry.key, entry.body["cost"])
    questions = [entry.question for entry in answered(ledger)]
    assert len(questions) == len(set(questions))
    account, secret = ledger.look(lambda view: (view.account("whole"), view.secret("thresholdout")))
    assert account is not None
    spent = round(Filter.from_dict(account["filter"]).spent()["epsilon"], 9)
    assert spent == round(questions_paid * crashing.EACH + crashing.RUN, 9)
    checks = [entry.body["answer"]["passed"] for entry in answered(ledger) if entry.body["question"]["kind"] == "check"]
    assert secret is not None
    assert (secret["asked"], secret["left"]) == (len(checks), crashing.OVERFITS - checks.count(False))


def test_killed_at_every_named_step(run: Any, where: str, tmp_path: Path) -> None:
    found = run("points", where, tmp_path / "key.pem")
    assert {case["point"] for case in found} == set(crashing.ASKING)
    assert len(found) == 3 * len(crashing.ASKING) - 1
    names = [f"k{number}" for number in range(crashing.QUESTIONS)]
    with open_store(where, key=tmp_path / "key.pem") as store:
        for case in found:
            assert case["killed"] == signal.SIGKILL, case
            assert case["again"] == 0, case
            assert [name for name, _, _ in case["after"]] == [*names, "look"]
            assert case["after"][: len(case["before"])] == case["before"], case  # what was released stands
            ledger = store.ledger(store.name_of(crashing.sample(case["seed"]).fingerprint()))
            stored = {entry.key: entry for entry in answered(ledger)}
            for name, sequence, value in case["after"]:
                assert (stored[name].sequence, stored[name].body["answer"]["value"]) == (sequence, value)
            check_paid(ledger, crashing.QUESTIONS)
    verified = verify(where, replay=GuardReplay)
    assert verified.ok, verified.findings[:3]


def test_killed_at_random_under_load(run: Any, where: str, tmp_path: Path) -> None:
    found = run("load", where, tmp_path / "key.pem")
    released = dict(found["released"])
    with open_store(where, key=tmp_path / "key.pem") as store:
        ledger = store.ledger(store.name_of(crashing.sample().fingerprint()))
        stored = {entry.key: entry.body["answer"]["value"] for entry in answered(ledger)}
        assert len(released) > crashing.KILLS / 4  # they did work before they were killed
        assert {name: stored[name] for name in released} == released
        assert len(found["released"]) == len(released)
        assert set(stored) == set(released)  # every question that was begun was asked again, and paid once
        private = [name for name in stored if int(name[1:]) % 4]
        check_paid(ledger, len(private))
    verified = verify(where, replay=GuardReplay)
    assert verified.ok, verified.findings[:3]


@pytest.mark.parametrize("mode", ["limit", "slow-limit"])
def test_sixteen_clients_on_two_processes_spend_a_budget_to_exactly_its_limit(
    run: Any, where: str, tmp_path: Path, mode: str
) -> None:
    released = run(mode, where, tmp_path / "key.pem")
    with open_store(where, key=tmp_path / "key.pem") as store:
        ledger = store.ledger(store.name_of(crashing.sample().fingerprint()))
        stored = {entry.key: entry.body["answer"]["value"] for entry in answered(ledger)}
        assert len(released) == crashing.LIMIT
        assert stored == dict(released)
        assert len({name.split("-")[0] for name in stored}) == crashing.PROCESSES  # both took part
        check_paid(ledger, crashing.LIMIT)
    assert verify(where, replay=GuardReplay).ok
