"""The timeline tells what became of questions: one that was paid for first and answered later is told once."""

from __future__ import annotations

import pytest

import holdfast as hf
from holdfast import guard as ask
from holdfast.guard import Guard, Policy
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
