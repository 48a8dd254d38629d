"""Questions that were asked before: for whom they are free, who learns of it, and who is told that an answer is new."""

from __future__ import annotations

import json
import math
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.errors import BudgetExhausted
from holdfast.guard import Guard, Policy
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.ledger import faults
from holdfast.guard.ledger.verify import verify
from holdfast.guard.pipeline import MEASURED, Request
from holdfast.guard.replay import GuardReplay
from tests.guard.strangers import ask_each

CHECK = hf.guard.check("age < 45", guess=0.5)
WRONG = hf.guard.check("age < 40", guess=0.9)
MEAN = hf.mean("age < 30")


def sample() -> hf.data.Sample:
    return hf.data.table({"age": [20 + i % 50 for i in range(4000)]}, engine="numpy")


def mixed(**options: Any) -> Policy:
    return Policy(**({"privacy": PureDP(1.0), "spend": PureDP(0.1), "questions": 100} | options))


def test_a_repeat_is_free_for_who_asked_and_a_stranger_learns_nothing_from_it(tmp_path: Path) -> None:
    """Whatever Ann asked, everything that Bob sees is what he would see had she asked something else."""
    seen = []
    for turn, anns in enumerate((MEAN, hf.mean("age > 60"))):
        guard = Guard.open(tmp_path / f"{turn}.db", sample(), mixed())
        assert not guard.ask(anns, analyst="ann", key="k").repeated
        assert guard.ask(anns, analyst="ann").repeated
        assert guard.estimate(anns, analyst="ann").repeated
        estimate = guard.estimate(MEAN, analyst="bob")
        answer = guard.ask(MEAN, analyst="bob", key="k")
        seen.append((estimate.to_dict(), answer.repeated, answer.sequence, answer.remaining, answer.cost))
        assert guard.ask(MEAN, analyst="bob").sequence == answer.sequence, "his own is free for him"
        guard.shut()
        assert verify(tmp_path / f"{turn}.db", replay=GuardReplay).ok
    assert seen[0] == seen[1]
    assert not seen[0][1]
    assert seen[0][3]["total"]["epsilon"] == 0.8, "the same question of two analysts is paid for twice"


def test_every_kind_of_question_is_a_strangers_own() -> None:
    board = hf.guard.Board("b", key="id", label="old", metric="accuracy")
    rows = {"age": [20 + i % 50 for i in range(4000)], "old": [i % 2 == 0 for i in range(4000)]}
    guard = Guard.open(None, hf.data.table(rows | {"id": list(range(4000))}), mixed(boards=[board]))
    questions = [
        CHECK,
        MEAN,
        hf.guard.claim("age", at_least=10, low=0, high=100),
        hf.guard.compare("age < 60", "age < 40", margin=0.1),
        hf.guard.validate("age > 10", 0.5),
        hf.guard.histogram("old", categories=[True, False]),
        hf.guard.select({"a": "age < 30", "b": "age > 30"}),
        hf.guard.score("b", dict.fromkeys(range(4000), True), guess=0.5),
    ]
    for question in questions:
        first, other, again = (guard.ask(question, analyst=who) for who in ("ann", "bob", "ann"))
        assert (first.repeated, other.repeated, again.repeated) == (False, False, True), question.kind
        assert first.sequence == again.sequence != other.sequence


def test_a_strangers_noise_is_drawn_anew() -> None:
    guard = Guard.open(None, sample(), mixed(privacy=PureDP(10.0), questions=500))
    means = [guard.ask(MEAN, analyst=f"analyst {i}").value for i in range(40)]
    assert len(set(means)) > 20, "forty draws of a Laplace distribution on a grid of 2^-30 hardly meet"


def test_a_strangers_threshold_check_has_noise_and_an_overfit_of_its_own() -> None:
    """Thresholdout's state is one for all: what one analyst's overfit used up, others see in what is left."""
    policy = mixed(holdout="thresholdout", threshold=0.05, overfits=2, holdout_spend=PureDP(0.9))
    guard = Guard.open(None, sample(), policy)
    left = [guard.ask(WRONG, analyst=who).details["overfits_left"] for who in ("ann", "bob", "ann")]
    assert left == [1, 0, 1], "hers again is the stored one"
    with pytest.raises(BudgetExhausted, match="allows 2 overfits"):
        guard.ask(WRONG, analyst="eve")


def test_failed_checks_of_two_analysts_count_twice() -> None:
    guard = Guard.open(None, sample(), Policy(questions=100))
    first, other = (guard.ask(WRONG, analyst=who) for who in ("ann", "bob"))
    assert (first.passed, other.passed) == (False, False)
    assert guard.describe()["progress"]["failed"] == 2
    assert guard.ask(WRONG, analyst="bob").sequence == other.sequence


def test_strangers_who_ask_the_same_at_once_pay_each(tmp_path: Path) -> None:
    for slow in (False, True):
        guard = Guard.open(tmp_path / f"{slow}.db", sample(), mixed())
        guard._rows.slow_seconds = -1.0 if slow else math.inf
        found = ask_each(guard, [Request(MEAN, who) for who in ("ann", "bob", "ann")])
        assert [one.repeated for one in found if isinstance(one, GuardedAnswer)] == [False, False, True]
        assert guard.remaining()["total"]["epsilon"] == 0.8
        guard.shut()
        assert verify(tmp_path / f"{slow}.db", replay=GuardReplay).ok


def test_a_ledger_of_before_keeps_sharing_and_verifies(tmp_path: Path) -> None:
    """Its policy says nothing about repeats; it is opened under the same words as ever."""
    policy = mixed(repeats="everyone")
    place = tmp_path / "old.db"
    old = {name: value for name, value in policy.to_dict().items() if name != "repeats"}

    written = Policy.to_dict
    try:
        Policy.to_dict = lambda self: {k: v for k, v in written(self).items() if k != "repeats"}  # type: ignore[method-assign]
        guard = Guard.open(place, sample(), policy)
        first = guard.ask(MEAN, analyst="ann")
        guard.shut()
    finally:
        Policy.to_dict = written  # type: ignore[method-assign]
    with sqlite3.connect(place) as file:
        (text,) = file.execute("SELECT body FROM entries WHERE sequence = 1").fetchone()
    assert json.loads(text)["policy"] == old
    for given in (None, mixed(), mixed(repeats="everyone")):
        guard = Guard.open(place, sample(), given)
        again = guard.ask(MEAN, analyst="bob")
        assert (again.repeated, again.sequence) == (True, first.sequence)
        guard.pause()
        guard.resume()
        assert guard.policy.repeats == "everyone"
        guard.shut()
    assert verify(place, replay=GuardReplay).ok


@pytest.fixture
def hooked() -> Iterator[None]:
    yield
    faults.set_hook(None)


@pytest.mark.usefixtures("hooked")
@pytest.mark.parametrize("alone", [True, False])
def test_of_two_answers_to_one_key_one_is_new(tmp_path: Path, alone: bool) -> None:
    """Both have looked the key up, found nothing and read the rows, when the first of them comes to the ledger."""
    guard = Guard.open(tmp_path / "ledger.db", sample(), mixed())
    both = threading.Barrier(2)
    faults.set_hook(lambda name: both.wait(30) and None if name == MEASURED else None)
    found: list[Any] = []

    def ask() -> None:
        found.append(guard.ask(MEAN, key="k") if alone else ask_each(guard, [Request(MEAN, "analyst", "k")])[0])

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.repeated for answer in found) == [False, True]
    assert found[0].sequence == found[1].sequence
    assert guard.remaining()["total"]["epsilon"] == 0.9
    guard.shut()


def test_of_many_answers_to_one_key_one_is_new(tmp_path: Path) -> None:
    guard = Guard.open(tmp_path / "ledger.db", sample(), mixed(questions=1000))
    for turn in range(20):
        start = threading.Barrier(4)
        found: list[bool] = []

        def ask(turn: int = turn, start: threading.Barrier = start, found: list[bool] = found) -> None:
            start.wait(30)
            found.append(guard.ask(hf.guard.check(f"age < {30 + turn}", guess=0.5), key=f"k{turn}").repeated)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == [False, True, True, True]
    guard.shut()


def test_the_same_question_twice_in_a_batch_is_new_once() -> None:
    guard = Guard.open(None, sample(), mixed())
    answers = guard.ask_all([CHECK, MEAN, CHECK, CHECK.to_dict()], keys=["a", "b", "c", "d"])
    assert [answer.repeated for answer in answers] == [False, False, True, True]
    assert guard.remaining()["total"]["questions"] == 98
