"""What a steward, a program or a changed store hands to a guard wrongly is refused in words, and nothing changes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.data.schema import Schema
from holdfast.errors import GuaranteeUnavailable, InvalidParameter, LedgerConflict
from holdfast.guard import Guard, GuardedAnswer, Policy, stewarding
from holdfast.guard.guard_budget import GuardBudget, _amount
from holdfast.guard.ledger import open_store
from holdfast.guard.ledger.receipts import Receipt
from holdfast.guard.state import ACCOUNT, GuardState, Progress

POLICY = Policy(privacy=PureDP(1.0), spend=PureDP(0.1))


def sample(rows: int = 400) -> hf.data.Sample:
    return hf.data.table({"age": [20 + i % 50 for i in range(rows)], "person": list(range(rows))}, engine="numpy")


@pytest.fixture
def guard() -> Guard:
    return Guard.open(None, sample(), POLICY)


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda guard: guard.override(POLICY.to_dict(), "why"), "policy must be a Policy, got a dict"),
        (lambda guard: guard.override(None, "why"), "policy must be a Policy, got a NoneType"),
        (lambda guard: guard.override(POLICY, ""), "reason must be a text that is not empty"),
        (lambda guard: guard.override(POLICY, "  \n"), "reason must be a text"),
        (lambda guard: guard.override(POLICY, 7), "reason must be a text"),
        (lambda guard: guard.pause(7), "reason must be a text"),
        (lambda guard: guard.resume(None), "reason must be a text"),
        (lambda guard: guard.close(["done"]), "reason must be a text"),
        (
            lambda guard: guard.ask_all([hf.mean("age < 30"), hf.mean("age < 40")], keys=["one"]),
            "keys must have one entry per question, 2, got 1",
        ),
        (lambda guard: guard.ask_all([], keys=["one"]), "keys must have one entry per question, 0, got 1"),
    ],
)
def test_a_wrong_act_is_refused_and_not_recorded(guard: Guard, act: Callable[[Guard], object], said: str) -> None:
    guard.ask(hf.mean("age < 25"))
    before = guard.ledger.head(), guard.describe()
    with pytest.raises(InvalidParameter, match=said):
        act(guard)
    assert (guard.ledger.head(), guard.describe()) == before


@pytest.mark.parametrize("reason", ["", "   ", 7, True])
def test_an_overlap_is_allowed_for_a_reason_or_not_at_all(reason: Any) -> None:
    store = open_store()
    with pytest.raises(InvalidParameter, match="allow_overlap must be a text with the reason"):
        Guard.open(store, sample(), POLICY, allow_overlap=reason)
    assert store.datasets() == []


def test_a_guard_is_not_made_over_other_rows_than_its_ledger_was_opened_for(guard: Guard) -> None:
    with pytest.raises(LedgerConflict, match="does not have the number of rows with which this ledger was opened"):
        Guard(guard.ledger, sample(399))


@pytest.mark.parametrize(
    "act",
    [
        lambda ledger: Guard(ledger, sample()),
        stewarding.describe,
        lambda ledger: stewarding.set_status(ledger, "paused"),
        lambda ledger: stewarding.override(ledger, POLICY, "why"),
    ],
    ids=["guard", "describe", "pause", "override"],
)
def test_a_ledger_that_no_guard_opened_is_none_of_a_guard(act: Callable[[Any], object]) -> None:
    ledger = open_store().ledger("fingerprint")
    with pytest.raises(LedgerConflict, match="this ledger does not belong to a guard"):
        act(ledger)
    assert ledger.head().sequence == 0


def test_a_data_set_is_found_by_the_beginning_of_its_name() -> None:
    store = open_store()
    for wanted in (None, "a"):
        with pytest.raises(InvalidParameter, match="this ledger has no guard yet"):
            stewarding.find(store, wanted)
    guard = Guard.open(store, sample(), POLICY)
    assert stewarding.find(store, None).dataset == stewarding.find(store, guard.dataset[:8]).dataset == guard.dataset
    with pytest.raises(InvalidParameter, match=f"of exactly one data set, out of {guard.dataset[:12]}, got 'no such'"):
        stewarding.find(store, "no such")


@pytest.mark.parametrize("gone", ["policy", "schema", "n", "status", "overrides"])
def test_a_standing_that_no_guard_wrote_is_not_believed(gone: str) -> None:
    plain = GuardState(POLICY, Schema({"age": "integer"}), 400).to_dict()
    ledger = open_store().ledger("fingerprint")

    def opened(transaction: Any) -> None:
        transaction.put_account(ACCOUNT, {name: value for name, value in plain.items() if name != gone})
        transaction.append("opened", plain)

    ledger.submit(opened)
    with pytest.raises(InvalidParameter, match="a guard's stored state must have the fields that a guard writes"):
        ledger.look(GuardState.of)


@pytest.mark.parametrize("plain", [None, [], {}, {"answered": 3}, Progress().to_dict() | {"more": 1}])
def test_progress_is_read_whole_or_not_at_all(plain: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"stored progress must be a mapping with the fields .*answered"):
        Progress.from_dict(plain)


@pytest.mark.parametrize("name", list(Progress().to_dict()))
def test_progress_is_never_negative(name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        Progress.from_dict(Progress().to_dict() | {name: -1})


@pytest.mark.parametrize("plain", [None, 3, "policy", [], [("questions", 3)]])
def test_a_policy_is_read_from_a_mapping(plain: Any) -> None:
    with pytest.raises(
        InvalidParameter,
        match=f"a policy must be a mapping from names of fields to values, got a {type(plain).__name__}",
    ):
        Policy.from_dict(plain)


@pytest.mark.parametrize(
    "changed",
    [{"guarantee": None}, {"guarantee": {"theorem": "t", "colour": "red"}}, {"cost": ...}, {"details": ...}],
    ids=str,
)
def test_a_stored_answer_is_what_a_guard_released(guard: Guard, changed: dict[str, Any]) -> None:
    plain = {k: v for k, v in (guard.ask(hf.mean("age < 30")).released() | changed).items() if v is not ...}
    with pytest.raises(InvalidParameter, match="a stored answer must have the fields of an answer"):
        GuardedAnswer.stored(plain, 2, False)


def receipt_of(guard: Guard) -> dict[str, Any]:
    found = guard.ask(hf.mean("age < 30")).receipt
    assert found is not None
    return json.loads(json.dumps(dict(found)))  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"dataset": None}, "a receipt's dataset must be a text"),
        ({"hash": 7}, "a receipt's hash must be a text"),
        ({"public_key": []}, "a receipt's public_key must be a text"),
        ({"signature": None}, "a receipt's signature must be a text"),
        ({"sequence": "2"}, "a receipt's sequence must be a whole number, at least 1"),
        ({"sequence": True}, "a receipt's sequence must be a whole number, at least 1"),
        ({"sequence": 2.0}, "a receipt's sequence must be a whole number, at least 1"),
        ({"sequence": 0}, "a receipt's sequence must be a whole number, at least 1"),
        ({"more": 1}, "a receipt must be an object with"),
    ],
)
def test_a_receipt_of_the_wrong_shape_is_refused(guard: Guard, wrong: dict[str, Any], said: str) -> None:
    genuine = receipt_of(guard)
    assert Receipt.from_dict(genuine).is_signed()
    with pytest.raises(InvalidParameter, match=said):
        Receipt.from_dict(genuine | wrong)


@pytest.mark.parametrize(
    "answer",
    [{"value": "\ud800"}, {"value": {1, 2}}],
    ids=["must have texts in valid Unicode, without half of a surrogate pair", "a set"],
)
def test_a_receipt_that_has_no_text_is_not_signed(guard: Guard, answer: Any) -> None:
    assert not Receipt.from_dict(receipt_of(guard) | {"answer": answer}).is_signed()


def test_no_cap_is_read_where_there_is_none() -> None:
    with pytest.raises(GuaranteeUnavailable, match="the policy of this guard has no privacy budget"):
        GuardBudget(400, Policy(questions=5))._cap(0)
    for cost in (None, hf.accounting.Bits(3)):
        with pytest.raises(GuaranteeUnavailable, match="of the same kind of cost as the policy's privacy"):
            _amount(cost)
