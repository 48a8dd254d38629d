"""`holdfast verify` adds a guard's ledger up again: what a guard that broke its own rules would write is found."""

from __future__ import annotations

import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.guard import Guard, Policy, settling
from holdfast.guard.ledger import Store, open_store
from holdfast.guard.ledger.verify import verify_store
from holdfast.guard.replay import GuardReplay
from holdfast.guard.settling import Asked
from holdfast.guard.standing import Standing

QUESTION = hf.mean("x > 1")


@pytest.fixture
def opened() -> tuple[Store, Guard]:
    store = open_store()
    sample = hf.data.table({"x": [0.0, 1.0, 2.0, 3.0] * 25})
    return store, Guard.open(store, sample, Policy(privacy=PureDP(1.0), spend=PureDP(0.1)))


def found(store: Store) -> list[str]:
    return [finding.what for finding in verify_store(store, replay=GuardReplay).findings]


def test_an_answer_of_a_paused_guard(opened: tuple[Store, Guard], monkeypatch: pytest.MonkeyPatch) -> None:
    store, guard = opened
    guard.pause()
    monkeypatch.setattr(Standing, "require_open", lambda self: None)
    guard.ask(QUESTION)
    assert found(store) == ["it was asked while the guard was paused"]


def test_a_reservation_that_pays_twice(opened: tuple[Store, Guard], monkeypatch: pytest.MonkeyPatch) -> None:
    store, guard = opened
    standing = guard.ledger.look(Standing.of)
    asked = Asked(QUESTION.bind(standing.schema, standing.n, standing.policy), "ann", "k")
    sums = guard._sample.measure(asked.bound.statistics)
    paid = guard.ledger.submit(lambda transaction: settling.reserve(transaction, asked))
    guard.ledger.submit(lambda transaction: settling.settle(transaction, asked, sums))
    assert found(store) == []
    assert guard.remaining("ann")["whole"]["epsilon"] == 0.9
    monkeypatch.setattr(settling, "known", lambda view, one: None)
    guard.ledger.submit(lambda transaction: settling.settle(transaction, asked, sums, paid))
    assert found(store) == ["no open reservation of this question has paid for it"]
