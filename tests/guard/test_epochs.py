"""Epochs of a guard: new rows under a fresh budget, one linked history, and questions about all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.errors import (
    BudgetExhausted,
    HoldfastError,
    InvalidParameter,
    LedgerConflict,
    QuestionRefused,
    SampleUnavailable,
)
from holdfast.guard import Guard, Policy, epochs, pipeline
from holdfast.guard.ledger import Store, open_store
from holdfast.guard.ledger.verify import verify_store
from holdfast.guard.replay import GuardReplay
from holdfast.guard.state import GuardState, PooledState

ROWS = 400
CHECK = {"kind": "check", "expression": "right", "guess": 0.75}


def month(number: int, rows: int = ROWS, share: float = 0.75, **more: Any) -> hf.data.Sample:
    """The rows of a month: none of them is in another."""
    drawn = np.random.default_rng(number).random(rows) < share
    item = [f"item {number * 10_000 + i}" for i in range(rows)]
    return hf.data.table({"right": drawn.tolist(), "item": item, **more}, row_key="item")


def guard_of(months: int, policy: Policy | None = None, store: Store | None = None) -> Guard:
    guard = Guard.open(store or open_store(), month(0), policy or Policy(questions=20))
    for number in range(1, months):
        guard.extend(month(number))
    return guard


def findings(store: Store) -> tuple[list[str], list[str]]:
    found = verify_store(store, replay=GuardReplay)
    return [one.what for one in found.findings], [one.what for one in found.notes]


def test_an_epoch_has_the_policy_a_fresh_budget_and_a_place_in_one_history(tmp_path: Path) -> None:
    with open_store(tmp_path / "ledger.db", key=tmp_path / "key.pem") as store:
        guard = Guard.open(store, month(0), Policy(questions=20))
        head = guard.ledger.head()
        guard.ask(CHECK)
        guard.extend(month(1))
        assert guard.remaining()["total"] == {"questions": 20}
        assert guard.at(1).remaining()["total"] == {"questions": 19}
        assert guard.policy == guard.at(1).policy
        assert [(one.number, one.n, one.status) for one in guard.epochs()] == [(1, ROWS, "open"), (2, ROWS, "open")]
        link = guard.ledger.look(GuardState.of).epoch
        assert link is not None
        assert (link.first, link.previous, link.sequence) == (guard.at(1).dataset,) * 2 + (head.sequence + 1,)
        assert guard.at(1).ledger.look(GuardState.of).successor == guard.dataset
        assert not guard.ask(CHECK).repeated
        assert guard.ask(CHECK, epoch=1).repeated
        assert findings(store) == ([], [])
    with open_store(tmp_path / "ledger.db", key=tmp_path / "key.pem") as store:
        again = Guard.open(store, [month(1), month(0)])
        assert again.dataset == guard.dataset
        assert again.ask(CHECK, epoch=2).repeated


def test_rows_that_an_earlier_epoch_has_are_refused_by_their_keys_and_named() -> None:
    guard = guard_of(2)
    mixed = hf.data.table({"right": [True] * 3, "item": ["item 7", "item 90001", "item 10005"]}, row_key="item")
    with pytest.raises(LedgerConflict, match=r"1 of their row keys \(item\) is in epoch 1 already: item 7; leave"):
        guard.extend(mixed)
    with pytest.raises(LedgerConflict, match=r"400 of .* epoch 2 already: item 10000, .*, \.\.\.; leave"):
        guard.extend(
            hf.data.table(
                {"right": [False] * ROWS, "item": [f"item {10_000 + i}" for i in range(ROWS)]}, row_key="item"
            )
        )
    with pytest.raises(LedgerConflict, match="these are the rows of epoch 1"):
        guard.extend(month(0))
    assert len(guard.epochs()) == 2
    # Equal content under new keys is new: people may have the same values.
    right = (np.random.default_rng(0).random(ROWS) < 0.75).tolist()
    guard.extend(hf.data.table({"right": right, "item": [f"new {i}" for i in range(ROWS)]}, row_key="item"))
    assert len(guard.epochs()) == 3


def test_keys_that_are_numbers_are_named_and_rows_of_epochs_out_of_reach_are_compared_by_sketches() -> None:
    store = open_store()
    rows = hf.data.table({"right": [True, False] * 50, "id": [5.0 * i for i in range(100)]}, row_key="id")
    Guard.open(store, rows, Policy(questions=5)).extend(
        hf.data.table({"right": [True, False] * 50, "id": [5.0 * i + 1 for i in range(100)]}, row_key="id")
    )
    late = Guard.open(
        store, hf.data.table({"right": [True, False] * 50, "id": [5.0 * i + 1 for i in range(100)]}, row_key="id")
    )
    with pytest.raises(LedgerConflict, match=r"1 of their row keys \(id\) is in epoch 1 already: 15\.0"):
        late.extend(hf.data.table({"right": [True, False], "id": [15.0, 2.5]}, row_key="id"))


def test_without_a_row_key_digests_find_the_same_rows() -> None:
    values = np.random.default_rng(1).random(300).tolist()
    guard = Guard.open(None, hf.data.table({"x": values, "y": [0.0, 1.0] * 150}), Policy(questions=5))
    with pytest.raises(LedgerConflict, match="shares rows"):
        guard.extend(hf.data.table({"x": values, "y": [1.0] * 300}))
    guard.extend(hf.data.table({"x": np.random.default_rng(2).random(300).tolist(), "y": [0.0, 1.0] * 150}))
    assert len(guard.epochs()) == 2


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (
            hf.data.table({"item": ["a"]}, row_key="item"),
            "new_rows must have all columns of the guard, and column",
        ),
        (
            hf.data.table({"right": [True], "wrong": [1], "item": ["a"]}, row_key="item"),
            "no others, and the guard has no column 'wrong'",
        ),
        (
            hf.data.table({"right": ["yes"], "item": ["a"]}, row_key="item"),
            "column 'right' is of kind boolean in the guard, and of kind text in new_rows",
        ),
        (hf.data.table({"right": [True, None], "item": ["a", "b"]}, row_key="item"), "every row of column 'right'"),
        (hf.data.table({"right": [True], "item": ["a"]}), "new_rows must be opened with a row_key"),
    ],
)
def test_rows_that_do_not_fit_change_nothing(rows: hf.data.Sample, words: str) -> None:
    store = open_store()
    guard = guard_of(1, store=store)
    head = guard.ledger.head()
    with pytest.raises(InvalidParameter, match=words):
        guard.extend(rows)
    assert guard.ledger.head() == head
    assert len(guard.epochs()) == 1


def test_a_refused_extension_leaves_nothing_behind_and_the_next_one_opens(tmp_path: Path) -> None:
    """Before, it left a chain without entries, and no later extension found the guard."""
    with open_store(tmp_path / "ledger.db", key=tmp_path / "key.pem") as store:
        guard = guard_of(1, store=store)
        known = store.datasets()
        repeated = hf.data.table({"right": [True], "item": ["item 7"]}, row_key="item")
        with pytest.raises(LedgerConflict, match="item 7"):
            epochs.extend(store, epochs.latest(store), repeated, guard.samples)
        with pytest.raises(InvalidParameter, match="sample must be rows that this ledger"):
            Guard.open(store, month(5))
        assert store.datasets() == known
        store.ledger("0" * 64).head()  # as an earlier version left it
        assert epochs.latest(store).dataset == guard.dataset
        epochs.extend(store, epochs.latest(store), month(1), guard.samples)
        assert len(guard.epochs()) == 2
        assert epochs.latest(store).look(GuardState.of).number == 2


def test_columns_are_those_of_the_guard_in_any_order() -> None:
    guard = guard_of(1)
    plain = {"item": [f"new {i}" for i in range(ROWS)], "right": [True, True, True, False] * (ROWS // 4)}
    guard.extend(hf.data.table(plain, row_key="item"))
    assert guard.ask(CHECK).passed
    assert guard.ask(CHECK, epoch="all").details["rows"] == [ROWS, ROWS]


def test_a_sketch_finds_some_keys_and_says_that_there_may_be_more() -> None:
    """Before, an error named the keys of the sketch as if they were all, and said to leave them out."""

    def rows(first: int, last: int) -> hf.data.Sample:
        right = (np.random.default_rng(first).random(last - first) < 0.5).tolist()
        return hf.data.table({"right": right, "item": [f"k{i}" for i in range(first, last)]}, row_key="item")

    store, january, february = open_store(), rows(0, 12_000), rows(11_990, 20_000)
    first = Guard.open(store, january, Policy(questions=5)).ledger
    with pytest.raises(
        LedgerConflict, match=r"at least \d of .* give these rows too \(`--rows`\).*No epoch was opened"
    ):
        epochs.extend(store, first, february)
    with pytest.raises(LedgerConflict, match=r"10 of .* \.\.\.; leave these rows out"):
        epochs.extend(store, first, february, [january])
    second = epochs.extend(store, first, rows(12_000, 20_000))
    assert epochs.compared_in_part(store, second, []) == [1]
    assert epochs.compared_in_part(store, second, [january]) == []
    assert epochs.compared_in_part(store, first, []) == []
    small = open_store()
    guard_of(1, store=small)
    assert epochs.compared_in_part(small, epochs.extend(small, epochs.latest(small), month(1)), []) == []


def test_rows_with_a_guard_of_their_own_are_no_epoch() -> None:
    store = open_store()
    guard = guard_of(1, store=store)
    Guard.open(store, month(5), Policy(questions=5))
    with pytest.raises(LedgerConflict, match="have a guard of their own"):
        guard.extend(month(5))
    with pytest.raises(LedgerConflict, match="sample must be a list of data sets that are epochs of one guard"):
        Guard.open(store, [month(0), month(5)])


def test_a_question_about_all_epochs_is_about_their_weighted_mean_and_costs_each_of_them() -> None:
    store = open_store()
    guard = Guard.open(store, month(0, share=0.6), Policy(questions=20))
    guard.extend(month(1, rows=1200, share=0.8))
    answer = guard.ask({**CHECK, "guess": 0.2}, epoch="all")
    drawn = [np.random.default_rng(0).random(400) < 0.6, np.random.default_rng(1).random(1200) < 0.8]
    truth = (400 * 0.6 + 1200 * 0.8) / 1600
    assert answer.passed is False
    assert answer.interval[0] < np.concatenate(drawn).mean() < answer.interval[1]
    assert answer.interval[0] < truth < answer.interval[1]
    assert answer.details["epochs"] == 2
    assert answer.details["rows"] == [400, 1200]
    assert "all answers over several epochs together" in answer.guarantee.assumption
    assert answer.guarantee.certified
    for epoch in (1, 2):
        assert guard.at(epoch).remaining()["total"] == {"questions": 19}
        assert guard.at(epoch).describe()["progress"]["failed"] == 1
    assert guard.ask({**CHECK, "guess": 0.2}, epoch="all").repeated
    assert not guard.ask({**CHECK, "guess": 0.2}).repeated  # about one epoch: another question
    assert findings(store) == ([], [])


def test_all_epochs_are_narrower_than_one_and_their_histories_all_count() -> None:
    guard = guard_of(4)
    one, all_ = guard.estimate(CHECK), guard.estimate(CHECK, epoch="all")
    assert one.half_width is not None
    assert all_.half_width is not None
    assert 1.9 < one.half_width / all_.half_width < 2.1  # four times the rows
    for epoch in range(1, 5):
        before = guard.estimate(CHECK, epoch="all").half_width
        own = guard.estimate(CHECK, epoch=epoch).half_width
        guard.ask({**CHECK, "guess": 0.1}, epoch=epoch)
        after = guard.estimate(CHECK, epoch="all").half_width
        assert before is not None
        assert after is not None
        assert after > before * 1.1
        assert guard.estimate(CHECK, epoch=epoch).half_width > own  # type: ignore[operator]


def test_what_was_asked_before_costs_a_new_epoch_nothing() -> None:
    guard = guard_of(1)
    fresh = guard.estimate(CHECK).half_width
    for guess in (0.1, 0.2, 0.3):
        guard.ask({**CHECK, "guess": guess})
    assert guard.estimate(CHECK).half_width > fresh * 1.2  # type: ignore[operator]
    guard.extend(month(1))
    assert guard.estimate(CHECK).half_width == fresh


def test_one_epoch_is_all_epochs() -> None:
    guard = guard_of(1)
    assert guard.ask(CHECK, epoch="all").details == {}
    assert guard.ask(CHECK, epoch=1).repeated


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ({"kind": "compare", "b": "right", "a": "not right"}, "this compare cannot be asked about all epochs"),
        (
            {"kind": "check", "expression": "right", "guess": 0.5, "where": "item = 'a'"},
            "cannot be asked about all epochs",
        ),
        ({"kind": "final", "candidates": {"a": "right"}}, "this final cannot be asked about all epochs"),
        ({"kind": "close"}, "this close cannot be asked about all epochs"),
    ],
)
def test_what_cannot_be_about_all_epochs_is_refused_for_nothing(question: dict[str, Any], words: str) -> None:
    guard = guard_of(2)
    with pytest.raises(QuestionRefused, match=words):
        guard.ask(question, epoch="all")
    assert [guard.at(epoch).remaining()["total"]["questions"] for epoch in (1, 2)] == [20, 20]


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (Policy(questions=20, histories="separate", analysts={"ann": 0.5, "analyst": 0.5}), "a separate history"),
        (
            Policy(questions=20, privacy=PureDP(1.0), accounting="odometer"),
            "counts privacy with an odometer, without a limit",
        ),
    ],
)
def test_policies_that_do_not_allow_it_say_so_and_answer_each_epoch(policy: Policy, words: str) -> None:
    guard = guard_of(2, policy)
    with pytest.raises(QuestionRefused, match=words):
        guard.ask(CHECK, epoch="all")
    assert guard.ask(CHECK, epoch=1).sequence
    assert guard.ask(CHECK, epoch=2).sequence


def test_a_privacy_cap_holds_over_all_rows() -> None:
    guard = guard_of(2, Policy(questions=20, privacy=PureDP(0.02), spend=PureDP(0.01)))
    guard.ask(hf.mean("right"))
    answer = guard.ask({**CHECK, "guess": 0.75, "tolerance": 0.3}, epoch="all")
    assert answer.guarantee.parameters["privacy"] == {"kind": "pure-dp", "epsilon": 0.02}
    with pytest.raises(QuestionRefused, match="mean cannot be asked about all epochs"):
        guard.ask(hf.mean("right"), epoch="all")


def test_each_epoch_must_admit_a_question_about_all_and_nothing_is_paid_where_one_does_not() -> None:
    guard = guard_of(3, Policy(questions=2))
    for guess in (0.7, 0.75):
        guard.ask({**CHECK, "guess": guess}, epoch=2)
    assert not guard.estimate(CHECK, epoch="all").admitted
    with pytest.raises(BudgetExhausted, match="epoch 2: all analysts together may ask 2 questions"):
        guard.ask(CHECK, epoch="all")
    assert guard.at(3).remaining()["total"]["questions"] == 2
    with pytest.raises(InvalidParameter, match="one at a time if epoch is 'all'"):
        guard.ask_all([CHECK, {**CHECK, "guess": 0.5}], epoch="all")


def test_a_final_ends_its_epoch_alone() -> None:
    guard = guard_of(2)
    guard.ask(CHECK, epoch="all")
    assert guard.at(1).ask({"kind": "final", "candidates": {"a": "right"}}).details["revealed"]
    with pytest.raises(BudgetExhausted, match="has shown exact values"):
        guard.ask({**CHECK, "guess": 0.7}, epoch="all")
    assert guard.ask({**CHECK, "guess": 0.7}).passed is not None


def test_reserved_rows_are_drawn_in_each_epoch() -> None:
    guard = guard_of(2, Policy(questions=20, reserve=0.5, reserve_by="item"))
    answer = guard.ask(CHECK, epoch="all")
    assert sum(answer.details["rows"]) < 2 * ROWS
    assert answer.details["rows"][1] == guard.ledger.look(GuardState.of).explored


def test_rows_out_of_reach_leave_stored_answers_and_say_what_is_missing() -> None:
    store = open_store()
    guard_of(2, store=store).ask(CHECK, epoch="all")
    old = Guard.open(store, month(0))
    assert old.ask(CHECK, epoch="all").repeated
    with pytest.raises(SampleUnavailable, match="does not have the rows of epoch 2"):
        old.ask({**CHECK, "guess": 0.7}, epoch="all")
    with pytest.raises(SampleUnavailable, match="epoch 2 of this guard was opened"):
        old.ask(CHECK)
    assert not old.ask(CHECK, epoch=1).repeated


@pytest.mark.parametrize("epoch", [0, -1, 1.5, True, "latest", "x", [1]])
def test_the_name_of_an_epoch(epoch: Any) -> None:
    with pytest.raises(InvalidParameter, match="epoch must be a whole number from 1, or 'all'"):
        guard_of(1).ask(CHECK, epoch=epoch)


def test_a_number_beyond_the_last_epoch() -> None:
    with pytest.raises(
        InvalidParameter, match="epoch must be at most 2, because there are 2 epochs of this guard, got 3"
    ):
        guard_of(2).ask(CHECK, epoch=3)


# --- Crashes, races and what `verify` finds ---------------------------------------------------------------------------


class Killed(BaseException):
    """Stands for the end of the process."""


def test_an_extension_that_was_interrupted_is_noted_and_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store()
    guard = guard_of(1, store=store)
    monkeypatch.setattr(epochs, "_announce", lambda *of: (_ for _ in ()).throw(Killed))
    with pytest.raises(Killed):
        guard.extend(month(1))
    monkeypatch.undo()
    assert findings(store) == ([], ["epoch 2 was opened, and the epoch before does not say so yet: extend it again"])
    guard = Guard.open(store, month(0))
    guard.extend(month(1))
    assert findings(store) == ([], [])
    assert [one.number for one in guard.epochs()] == [1, 2]


def test_of_two_that_extend_at_once_one_is_told_to_try_again(monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store()
    guard, other = guard_of(1, store=store), Guard.open(store, month(0))
    real = epochs._require_new

    def raced(*given: Any) -> None:
        monkeypatch.undo()
        other.extend(month(2))
        real(*given)

    monkeypatch.setattr(epochs, "_require_new", raced)
    with pytest.raises(LedgerConflict, match="somebody else has just opened epoch 2"):
        guard.extend(month(1))
    guard.extend(month(1))
    assert [one.number for one in guard.epochs()] == [1, 2, 3]
    assert findings(store) == ([], [])


def test_an_answer_that_a_crash_kept_from_the_other_epochs_is_counted_there_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = open_store()
    guard = guard_of(2, store=store)
    width = guard.estimate(CHECK).half_width
    monkeypatch.setattr(pipeline, "_record_shared", lambda *of, **more: (_ for _ in ()).throw(Killed))
    with pytest.raises(Killed):
        guard.ask({**CHECK, "guess": 0.1}, epoch="all")
    monkeypatch.undo()
    assert guard.at(2).describe()["progress"]["failed"] == 0
    assert not guard.ask({**CHECK, "guess": 0.72}).repeated  # the next question of epoch 2 finds it
    assert guard.at(2).describe()["progress"]["failed"] == 1
    assert guard.estimate(CHECK).half_width > width * 1.2  # type: ignore[operator]
    assert guard.ask({**CHECK, "guess": 0.1}, epoch="all").repeated
    assert guard.at(2).remaining()["total"]["questions"] == 18
    assert findings(store) == ([], [])


def test_a_crash_before_the_answer_is_paid_once(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = guard_of(2)
    monkeypatch.setattr(pipeline.SeveralRows, "measure", lambda *of: (_ for _ in ()).throw(Killed))
    with pytest.raises(Killed):
        guard.ask(CHECK, epoch="all")
    monkeypatch.undo()
    assert not guard.ask(CHECK, epoch="all").repeated
    assert [guard.at(epoch).remaining()["total"]["questions"] for epoch in (1, 2)] == [19, 19]


def test_verify_finds_an_epoch_that_was_taken_away_or_put_elsewhere(tmp_path: Path) -> None:
    import sqlite3

    with open_store(tmp_path / "ledger.db") as store:
        guard = guard_of(3, store=store)
        names = [one.dataset for one in guard.epochs()]
    for removed in (1, 2):
        copy = tmp_path / f"without-{removed}.db"
        copy.write_bytes((tmp_path / "ledger.db").read_bytes())
        with sqlite3.connect(copy) as rows:
            (ledger,) = rows.execute("SELECT ledger FROM heads WHERE dataset = ?", [names[removed]]).fetchone()
            for table in ("entries", "accounts", "secrets", "heads"):
                rows.execute(f"DELETE FROM {table} WHERE ledger = ?", [ledger])
        with open_store(copy) as store:
            assert "the ledger of the next epoch, which it names, does not follow it" in findings(store)[0]


def test_verify_finds_an_answer_about_all_epochs_that_the_first_does_not_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = open_store()
    guard = guard_of(2, store=store)
    real = pipeline._record_shared

    def altered(transaction: Any, entry: Any) -> None:
        real(transaction, entry.__class__(**{**entry.__dict__, "hash": "0" * 64}))

    monkeypatch.setattr(pipeline, "_record_shared", altered)
    guard.ask(CHECK, epoch="all")
    assert findings(store)[0] == ["the answer about all epochs that it records is not there"]


def test_an_override_of_one_epoch_separates_it() -> None:
    guard = guard_of(2)
    guard.override(Policy(questions=30), "more questions")
    with pytest.raises(QuestionRefused, match="policies of the epochs differ"):
        guard.ask(CHECK, epoch="all")
    guard.at(1).override(Policy(questions=30), "more questions")
    assert not guard.ask(CHECK, epoch="all").guarantee.certified


def test_the_pooled_state_is_that_of_one_sample() -> None:
    guard = guard_of(3)
    first, *others = epochs.ledgers(guard._require_home(), guard.ledger)
    state = first.look(lambda view: pipeline.state_of(view, tuple(others)))
    assert isinstance(state, PooledState)
    assert (state.explored, state.n, state.rows) == (3 * ROWS, 3 * ROWS, (ROWS,) * 3)


def test_a_guard_without_a_store_has_no_epochs() -> None:
    guard = guard_of(1)
    with pytest.raises(HoldfastError, match=r"opened with `Guard.open`"):
        Guard(guard.ledger, month(0)).extend(month(1))


def test_a_practice_guard_has_one_epoch() -> None:
    guard = guard_of(2)
    assert guard.practice().ask(CHECK, epoch="all").details["practice"]
    with pytest.raises(InvalidParameter, match="epoch must be at most 1"):
        guard.practice().ask(CHECK, epoch=2)


def test_an_analyst_names_epochs_too() -> None:
    ann = guard_of(2).for_analyst("ann")
    assert ann.ask(CHECK, epoch=1).sequence == 3
    assert ann.estimate(CHECK, epoch="all").admitted
    assert len(ann.ask_all([CHECK], key="k", epoch="all")) == 1
