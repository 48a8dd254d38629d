"""A ledger that an earlier version wrote: it verifies entry by entry, goes on, and its answers can be revealed.

`earlier_ledger.sql` is the dump of a ledger of the version before the error budget (commit dc6998e): checks, claims,
comparisons and a noisy mean of two analysts, two boards and a ladder, a batch, a pause. Shares were counted there by
numbers of failures and gaps.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.errors import BudgetExhausted, LedgerConflict, QuestionRefused
from holdfast.guard import Board, Guard, Policy, check, close, compare, final, mean, score
from holdfast.guard.coherence import coherence_of
from holdfast.guard.ledger import open_store
from holdfast.guard.ledger.verify import verify, verify_store
from holdfast.guard.replay import GuardReplay
from holdfast.guard.state import Accounts, GuardState
from tests.guard.questions.ends import adds_up

N = 1200
ROWS: dict[str, Any] = {
    "id": list(range(N)),
    "age": [18 + (i * i) % 61 for i in range(N)],
    "member": [i % 3 == 0 for i in range(N)],
    "income": [float((i * 37) % 100) for i in range(N)],
    "label": [(i * 7) % 5 < 2 for i in range(N)],
}
ANSWERS = 20
YOUNG = sum(age < 40 for age in ROWS["age"]) / N


@pytest.fixture
def place(tmp_path: Path) -> Path:
    path = tmp_path / "ledger.db"
    connection = sqlite3.connect(path)
    connection.executescript(Path(__file__).with_name("earlier_ledger.sql").read_text())
    connection.commit()
    connection.close()
    return path


@pytest.fixture
def opened(place: Path) -> Iterator[tuple[Any, Guard]]:
    with open_store(place, new_key=True) as store:  # the key of then is not kept with the tests
        yield store, Guard.open(store, hf.data.table(ROWS, engine="numpy"))


def predictions(every: int) -> dict[int, bool]:
    return {i: label if i % every else not label for i, label in enumerate(ROWS["label"])}


def test_it_verifies_as_it_is(place: Path) -> None:
    found = verify(place, replay=GuardReplay)
    assert found.ok, found.findings[:3]
    assert found.entries == ANSWERS + 3


@pytest.mark.parametrize(
    ("old", "new"), [('"shown":20', '"shown":2'), ('"passed":false', '"passed":true'), ('"place":', '"plac_":')]
)
def test_a_total_that_does_not_follow_is_still_found(place: Path, old: str, new: str) -> None:
    """Power: the replay of the version of then counts; without the chain's own check a changed entry is found by it."""
    from dataclasses import replace

    from holdfast.guard.ledger.verify import open_rows

    with open_rows(place) as rows:
        (head,) = rows.heads()
        entries = list(rows.entries(head.name))
    wrong, changed = GuardReplay(), 0
    said: list[str] = []
    for entry in entries:
        if old in entry.text and not changed and entry.kind == "answered":
            entry, changed = replace(entry, text=entry.text.replace(old, new)), 1
        said += list(wrong.feed(entry, entry.body, entry.states))
    if changed:
        assert said


def test_it_goes_on_and_adds_up(opened: tuple[Any, Guard], place: Path) -> None:
    store, guard = opened
    before = guard.describe()
    assert before["progress"]["answered"] == ANSWERS
    assert before["policy"]["final"] == 0.0, "nothing was kept for a final then"
    assert before["policy"]["histories"] == "together"
    assert guard.ask(check("age < 40", guess=0.36), analyst="ann", key="k1").repeated
    assert guard.ask(check("age<40", guess=0.9, default=0), analyst="ann").repeated, "in any spelling"
    words = {"kind": "compare", "b": "member", "a": "age < 40"}
    assert guard.ask(words, analyst="ann", key="cmp").repeated, "the words of then, under the key of then"
    assert guard.ask(score("climb", predictions(3)), analyst="ann").repeated
    assert guard.ask(mean("age < 40"), analyst="bob", key="m").repeated
    with pytest.raises(LedgerConflict):
        guard.ask(check("age < 41", guess=0.5, default=0), analyst="ann", key="k1")
    worse = guard.ask(score("climb", predictions(2) | {0: True}), analyst="ann")
    assert not worse.details["improved"], "the best place of then is the bar"
    better = guard.ask(score("climb", predictions(20)), analyst="ann")
    assert better.details["improved"]
    assert guard.ask(score("intervals", predictions(10), guess=0.9), analyst="bob").passed
    assert guard.ask(compare("age < 70", "age < 30", default=0), analyst="bob").passed
    assert guard.ask(check("age < 50", guess=0.97, default=0), analyst="bob").passed is False
    guard.ask(mean("member", default=0), analyst="bob")
    assert adds_up(store)
    assert guard.level(0.05) < 1e-6
    with pytest.raises(QuestionRefused):
        guard.ask(final({"a": "member"}, default=0))


def test_what_was_spent_and_shown_then_counts_now(opened: tuple[Any, Guard]) -> None:
    """Question `t` has spent its turn, each failure has its weight, and what failures showed is weighed as then."""
    _, guard = opened
    state = guard.ledger.look(GuardState.of)
    progress = guard.ledger.look(lambda view: Accounts.of(view, state.policy, "ann")).whole.progress
    course = progress.course
    failed = [
        entry.body
        for entry in guard.ledger.entries()
        if entry.kind == "answered" and entry.body["answer"]["passed"] is False and entry.body["shown"]
    ]
    assert (course.asked, course.failed) == (ANSWERS, len(failed))
    assert course.log_shown == pytest.approx(-sum(math.log(body["shown"]) for body in failed))
    answer = guard.ask(check("age < 45", guess=0.5, default=0), analyst="bob")
    budget = state.policy.error_budget()
    theorem = budget.log_beta - math.log(60) + budget.log_prior(course)
    assert answer.guarantee.parameters["log_share"] < theorem + math.log(0.9)
    assert coherence_of(guard.ledger, 0.05, 10).spent.bits > 0


def test_its_answers_can_be_revealed_by_the_procedures_of_then(opened: tuple[Any, Guard]) -> None:
    store, guard = opened
    late = guard.ask(compare("age < 70", "age < 30", default=0), analyst="bob")
    done = guard.ask(close(), analyst="sue")
    lines = {line["sequence"]: line for line in done.details["revealed"]}
    stored = {entry.sequence: entry for entry in guard.ledger.entries() if entry.kind == "answered"}
    compared = scored = 0
    for sequence, line in lines.items():
        answer, question = stored[sequence].body["answer"], stored[sequence].body["question"]
        if question["kind"] == "compare" and sequence != late.sequence:
            # Decided by another interval then: the share paid for that one alone, so it stays as it was shown.
            assert (line["value"], line["interval"]) == (answer["value"], answer["interval"])
            compared += 1
        elif question["kind"] == "score":
            assert (line["value"], line["interval"]) == (answer["value"], answer["interval"]), "its rows are not kept"
            scored += 1
        elif question["kind"] == "check" and question["rows"][0]["expression"] == {"<": [{"column": "age"}, 40.0]}:
            assert line["value"] == YOUNG
            assert answer["interval"][0] - 1e-9 <= line["interval"][0] <= YOUNG <= line["interval"][1]
    assert (compared, scored) == (3, 7)
    assert lines[late.sequence]["value"] > 0.3
    with pytest.raises(BudgetExhausted):
        guard.ask(check("age < 45", guess=0.5, default=0), analyst="bob")
    assert adds_up(store)


def test_opening_it_with_its_policy_of_then(place: Path) -> None:
    boards = [
        Board("intervals", key="id", label="label", metric="accuracy"),
        Board("climb", key="id", label="label", metric="accuracy", rule="ladder", step=0.05),
        Board("auc", key="id", label="label", metric="auc"),
    ]
    policy: dict[str, Any] = {"questions": 60, "failures": 20, "boards": boards, "analysts": {"ann": 0.5, "bob": 1.0}}
    policy |= {"privacy": hf.accounting.PureDP(0.05), "spend": hf.accounting.PureDP(0.01)}
    with open_store(place, new_key=True) as store:
        guard = Guard.open(store, hf.data.table(ROWS, engine="numpy"), Policy(**policy))
        assert guard.policy.final == 0.0
        with pytest.raises(LedgerConflict):
            Guard.open(store, hf.data.table(ROWS, engine="numpy"), Policy(**policy | {"questions": 61}))
        assert verify_store(store, replay=GuardReplay).ok


def test_an_override_carries_it_over(opened: tuple[Any, Guard]) -> None:
    from dataclasses import replace

    store, guard = opened
    guard.override(replace(guard.policy, questions=80), "more")
    assert not guard.ask(check("age < 45", guess=0.5, default=0), analyst="bob").guarantee.certified
    assert adds_up(store)
