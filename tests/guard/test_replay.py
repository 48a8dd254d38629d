"""`holdfast verify` adds a guard's ledger up again: what a guard that broke its own rules would write is found."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.guard import Board, Guard, Policy, pipeline
from holdfast.guard.ledger import Store, open_store
from holdfast.guard.ledger.transaction import Transaction
from holdfast.guard.ledger.verify import verify_store
from holdfast.guard.pipeline import BoundRequest
from holdfast.guard.replay import GuardReplay
from holdfast.guard.scoring import ladder
from holdfast.guard.state import FORMAT, WHOLE, Account, GuardState, account_of
from holdfast.holdout.error_budget import Message

QUESTION = hf.mean("x > 1")
CHECK = {"kind": "check"}
BOARD = Board("income", key="id", label="rich", metric="accuracy", rule="ladder", step=0.1)
LADDER = ladder.account(BOARD, "ann")


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
    monkeypatch.setattr(GuardState, "require_open", lambda self: None)
    guard.ask(QUESTION)
    assert found(store) == ["it was asked while the guard was paused"]


def test_a_reservation_that_pays_twice(opened: tuple[Store, Guard], monkeypatch: pytest.MonkeyPatch) -> None:
    store, guard = opened
    standing = guard.ledger.look(GuardState.of)
    asked = BoundRequest(QUESTION.bind(standing.schema, standing.n, standing.policy), "ann", "k")
    sums = guard._rows.sample.measure(asked.bound.statistics)
    paid = guard.ledger.submit(lambda transaction: pipeline.prepay(transaction, asked))
    guard.ledger.submit(lambda transaction: pipeline.settle(transaction, asked, sums))
    assert found(store) == []
    assert guard.remaining("ann")["total"]["epsilon"] == 0.9
    monkeypatch.setattr(pipeline, "find_answer", lambda view, one: None)
    guard.ledger.submit(lambda transaction: pipeline.settle(transaction, asked, sums, paid))
    assert found(store) == ["no open reservation of this question has paid for it"]


class Crooked:
    """A guard that keeps its totals and writes its entries, and may leave out or change what an entry moves."""

    def __init__(self) -> None:
        self.store, self.policy = open_store(), Policy(questions=50, boards=[BOARD])
        self._ledger = self.store.ledger("fingerprint")
        self._accounts = {WHOLE: Account.fresh(self.policy), account_of("ann"): Account.fresh(self.policy, "ann")}

        def opened(transaction: Transaction) -> None:
            transaction.put_account(WHOLE, self._accounts[WHOLE].to_dict())
            transaction.append("opened", {"policy": self.policy.to_dict()})

        self._ledger.submit(opened)

    def answer(
        self,
        question: dict[str, Any],
        details: dict[str, Any],
        *,
        keeps: tuple[str, ...] = (WHOLE, account_of("ann")),
        place: int | None = None,
        analyst: str | None = "ann",
    ) -> None:
        def work(transaction: Transaction) -> None:
            for name, account in self._accounts.items():
                settled = account.charge(None, 50, name).settle(self.policy.error_budget(), Message(True))
                self._accounts[name] = settled
            for name in keeps:
                transaction.put_account(name, self._accounts[name].to_dict())
            if place is not None:
                transaction.put_account(LADDER, {"place": place})
            body = {"accounts": list(self._accounts), "digest": "d", "cost": None, "question": question}
            answer = {"passed": True, "details": details}
            message = {"asked": 1, "extra": 0.0, "finishes": False, "log_share": -9.0}
            message |= {"passed": True, "log_weight": 0.0, "risk": None}
            body |= {"answer": answer, "message": message, "format": FORMAT}
            transaction.append("answered", body, analyst=analyst)

        self._ledger.submit(work)

    def climb(self, shown: int | None, place: int | None) -> None:
        details = {} if shown is None else {"place": shown}
        self.answer({"kind": "score", "rule": "ladder", "board": "income"}, details, place=place)


def test_a_chain_that_no_guard_opened_has_no_totals() -> None:
    store = open_store()
    store.ledger("fingerprint").submit(lambda transaction: transaction.append("opened", {"policy": None}))
    store.ledger("fingerprint").submit(lambda transaction: transaction.append("answered", {"answer": 1}, analyst="a"))
    assert found(store) == []


def test_an_honest_climb_adds_up() -> None:
    guard = Crooked()
    guard.answer(CHECK, {})
    guard.climb(None, None)
    guard.climb(3, 3)
    guard.climb(None, None)
    guard.climb(7, 7)
    assert found(guard.store) == []


@pytest.mark.parametrize(("shown", "place"), [(5, None), (None, 5), (3, 3), (2, 2)])
def test_a_best_place_moves_upwards_with_what_is_shown(shown: int | None, place: int | None) -> None:
    guard = Crooked()
    guard.climb(3, 3)
    guard.climb(shown, place)
    assert found(guard.store) == ["the best place of board income does not follow from it"]


def test_a_best_place_is_the_one_that_is_shown() -> None:
    guard = Crooked()
    guard.climb(3, 4)
    assert found(guard.store) == ["the best place of board income after it is not the one that it shows"]


def test_a_best_place_moves_with_a_score_alone() -> None:
    guard = Crooked()
    guard.climb(3, 3)
    guard.answer(CHECK, {}, place=9)
    assert found(guard.store) == [f"the stored place of {LADDER} is not what the entries add up to"]


@pytest.mark.parametrize("forgotten", [WHOLE, account_of("ann")])
def test_an_answer_that_is_not_counted(forgotten: str) -> None:
    guard = Crooked()
    guard.answer(CHECK, {})
    guard.answer(CHECK, {}, keeps=tuple({WHOLE, account_of("ann")} - {forgotten}))
    assert found(guard.store) == [f"the stored totals of {forgotten} are not what the entries add up to"]


def test_an_answer_for_nobody() -> None:
    guard = Crooked()
    guard.answer(CHECK, {}, keeps=(), analyst=None)
    assert found(guard.store) == ["it names no analyst"]
