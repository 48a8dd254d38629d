"""The timeline tells what became of questions: one that was paid for first and answered later is told once."""

from __future__ import annotations

import pytest

import holdfast as hf
from holdfast import guard as ask
from holdfast.accounting import PureDP
from holdfast.guard import Board, Guard, Policy
from holdfast.guard.ledger import faults
from holdfast.server.auth.tokens import Caller
from holdfast.server.pages import words

STEWARD = Caller("t", "steward", "sam")


class Crash(Exception):
    """The process ends here."""


def test_a_slow_question_is_shown_once_and_a_lost_one_as_paid_for() -> None:
    guard = Guard.open(None, hf.data.table({"age": list(range(20, 60)) * 50}), Policy(questions=100))
    guard._rows.slow_seconds = -1.0
    for age in range(21, 51):
        guard.ask(ask.check(f"age < {age}", guess=(age - 20) / 40))

    def end(name: str) -> None:
        if name == "guard.reserved":
            raise Crash

    faults.set_hook(end)
    try:
        with pytest.raises(Crash):
            guard.ask(ask.check("age < 51", guess=0.5), key="lost")
    finally:
        faults.set_hook(None)
    seen, before = [], None
    while True:
        items, before = words.history(guard.ledger, STEWARD, before)
        seen += [one["kind"] for one in items]
        if before is None:
            break
    assert seen == ["reserved", *["answered"] * 30, "opened"]
    guard.ask(ask.check("age < 51", guess=0.5), key="lost")
    items, _ = words.history(guard.ledger, STEWARD)
    assert {one["kind"] for one in items} == {"answered"}


def test_a_plain_score_has_a_stroke_at_its_place_and_no_noise() -> None:
    """An open board's scores and what is chosen of them have no noise; a noisy mean has."""
    rows = {"id": list(range(400)), "label": [i % 3 == 0 for i in range(400)]}
    board = Board("open", key="id", label="label", metric="accuracy", rule="open")
    guard = Guard.open(None, hf.data.table(rows), Policy(boards=[board], reserve=0.5, final=1.0))
    sent = guard.ask(ask.score("open", dict.fromkeys(range(400), False)), analyst="ann")
    guard.ask(ask.choose("open", [sent.sequence]), analyst="ann")
    items, _ = words.history(guard.ledger, Caller("t", "analyst", "ann"))
    assert [words.outcome(one["answer"]) for one in items] == [("•", "without noise")] * 2
    points = words.strip_points(items)
    assert [one["kind"] for one in points] == ["plain", "plain"]
    assert points[0]["low"] < sent.value < points[0]["high"]
    assert points[1]["low"] is None
    for policy in (Policy(privacy=PureDP(1.0), spend=PureDP(0.1)), Policy(answers="means", questions=5)):
        guard = Guard.open(None, hf.data.table(rows), policy)
        guard.ask(ask.mean("label"), analyst="ann")
        items, _ = words.history(guard.ledger, Caller("t", "analyst", "ann"))
        assert words.outcome(items[0]["answer"]) == ("≈", "with noise")
        assert words.strip_points(items)[0]["kind"] == "noisy"
