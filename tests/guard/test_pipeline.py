"""Questions that come at once: each is decided as if it were alone, and none bears another's error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.errors import (
    BudgetExhausted,
    InvalidParameter,
    LedgerConflict,
    LedgerUnavailable,
    QuestionRefused,
    SampleUnavailable,
)
from holdfast.guard import Guard, Policy, pipeline
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.ledger.transaction import Transaction
from holdfast.guard.ledger.verify import verify
from holdfast.guard.pipeline import Request
from holdfast.guard.replay import GuardReplay
from tests.guard.strangers import ask_each
from tests.services.postgres import Server


def sample() -> hf.data.Sample:
    return hf.data.table({"age": [20 + i % 50 for i in range(2000)]}, engine="numpy")


def check(number: int) -> dict[str, Any]:
    return {"kind": "check", "expression": f"age < {45 + number / 1024!r}", "guess": 0.5}


def test_each_is_answered_as_if_it_were_alone(tmp_path: Path) -> None:
    together = Guard.open(tmp_path / "together.db", sample(), Policy(questions=100))
    alone = Guard.open(tmp_path / "alone.db", sample(), Policy(questions=100))
    requests = [Request(check(i % 4), f"analyst {i % 3}", f"key {i}") for i in range(12)]
    requests += [Request(check(i % 4), f"analyst {i % 3}", f"again {i}") for i in range(6)]
    found = ask_each(together, requests)
    for request, answer in zip(requests, found, strict=True):
        assert isinstance(answer, GuardedAnswer)
        assert request.key is not None
        plain = alone.ask(request.question, analyst=request.analyst, key=request.key)
        same = ("value", "interval", "passed", "sequence", "repeated", "remaining")
        assert [getattr(answer, name) for name in same] == [getattr(plain, name) for name in same]
    for guard, place in ((together, "together.db"), (alone, "alone.db")):
        guard.shut()
        assert verify(tmp_path / place, replay=GuardReplay).ok


def test_a_ledger_out_of_reach_is_so_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its error is nobody's own: what one met would be taken for an answer to one, and others would go on without."""
    guard = Guard.open(None, sample(), Policy(questions=50))

    def gone(*_: Any) -> None:
        raise LedgerUnavailable("the connection was lost")

    monkeypatch.setattr(pipeline, "find_answer", gone)
    with pytest.raises(LedgerUnavailable, match="the connection was lost"):
        ask_each(guard, [Request(check(i), "ann", f"k{i}") for i in range(3)])


def test_a_database_that_hangs_up_while_questions_are_looked_up(
    postgres_server: Server, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are told to ask again, and do: the database's own error is no answer to anybody."""
    guard = Guard.open(postgres_url, sample(), Policy(questions=50), key=tmp_path / "key")
    known, many = pipeline.find_answer, iter(range(9))

    def hang_up(*given: Any) -> Any:
        if next(many) == 0:
            assert postgres_server.end_connections(postgres_url.rpartition("/")[2])
        return known(*given)

    requests = [Request(check(i), "ann", f"k{i}") for i in range(3)]
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "find_answer", hang_up)
        with pytest.raises(LedgerUnavailable, match="connection to the ledger's database was lost"):
            ask_each(guard, requests)
    assert [type(one) for one in ask_each(guard, requests)] == [GuardedAnswer] * 3
    guard.shut()


def test_an_error_is_its_own(tmp_path: Path) -> None:
    policy = Policy(questions=5, kinds=("check",), repeats="everyone")
    guard = Guard.open(tmp_path / "ledger.db", sample(), policy)
    guard.ask(check(0), analyst="ann", key="used")
    requests = [
        Request(check(1), "ann", "a"),
        Request({"kind": "check", "expression": "nobody < 1", "guess": 0.5}, "ann", "b"),
        Request({"kind": "validate", "condition": "age < 30", "at_least": 0.1}, "ann", "c"),
        Request(check(2), "ann", "used"),
        Request(check(0), "bob", "d"),
        Request("no question", "bob", "e"),  # type: ignore[arg-type]
        *(Request(check(10 + i), "bob", f"f{i}") for i in range(5)),
    ]
    found = ask_each(guard, requests)
    kinds = [type(one) for one in found[:6]]
    expected = [GuardedAnswer, InvalidParameter, QuestionRefused, LedgerConflict, GuardedAnswer, InvalidParameter]
    assert kinds == expected
    assert [type(one) for one in found[6:]] == [GuardedAnswer] * 3 + [BudgetExhausted] * 2, "the cap is exact"
    assert guard.remaining()["total"] == {"questions": 0}
    assert isinstance(found[4], GuardedAnswer)
    assert found[4].repeated


def test_rows_that_cannot_be_read_for_one_are_read_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    held = sample()
    guard = Guard.open(None, held, Policy(questions=50))
    measure = held.measure

    def fragile(statistics: Any) -> Any:
        if any("46.0)" in str(one) for one in statistics):
            raise SampleUnavailable("not this one")
        return measure(statistics)

    monkeypatch.setattr(held, "measure", fragile)
    found = ask_each(guard, [Request(check(i), "ann", f"k{i}") for i in (1023, 1024, 1025)])
    assert [type(one) for one in found] == [GuardedAnswer, SampleUnavailable, GuardedAnswer]
    assert guard.remaining()["total"] == {"questions": 48}


def test_slow_rows_are_paid_for_before_they_are_read(tmp_path: Path) -> None:
    guard = Guard.open(tmp_path / "ledger.db", sample(), Policy(questions=50))
    guard._rows.slow_seconds = -1.0
    requests = [Request(check(i), "ann", f"k{i}") for i in range(4)]
    first, again = ask_each(guard, requests), ask_each(guard, requests)
    assert all(isinstance(one, GuardedAnswer) and not one.repeated for one in first)
    assert all(isinstance(one, GuardedAnswer) and one.repeated for one in again)
    assert [entry.kind for entry in guard.ledger.entries()].count("reserved") == 4
    assert guard.remaining()["total"] == {"questions": 46}
    guard.shut()
    assert verify(tmp_path / "ledger.db", replay=GuardReplay).ok


def test_who_is_not_allowed_hears_nothing_else() -> None:
    guard = Guard.open(None, sample(), Policy(questions=50))

    def refuse(_: Policy) -> None:
        raise QuestionRefused("not you")

    eve = Request("no question", "eve", allowed=refuse)  # type: ignore[arg-type]
    found = ask_each(guard, [eve, Request(check(1), "ann")])
    assert str(found[0]) == "not you"
    assert isinstance(found[1], GuardedAnswer)


def test_functions_submitted_together_share_a_commit_and_keep_their_errors(tmp_path: Path) -> None:
    guard = Guard.open(tmp_path / "ledger.db", sample(), Policy(questions=50))

    def works(transaction: Transaction) -> int:
        return transaction.append("answered", {"answer": 1}).sequence

    def fails(transaction: Transaction) -> int:
        works(transaction)
        raise LookupError("mine")

    found = guard.ledger.submit_each([works, fails, works] * 30)  # more than share one commit
    numbers = [one for one in found if isinstance(one, int)]
    assert numbers == list(range(numbers[0], numbers[0] + 60))
    assert sum(isinstance(one, LookupError) for one in found) == 30
    assert guard.ledger.submit_each([]) == []
    guard.shut()
