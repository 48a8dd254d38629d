"""Deadlines with time zones, and quotas of submissions: what is refused, what stays free, and what a ledger shows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

import holdfast as hf
from holdfast.errors import BudgetExhausted, InvalidParameter, QuestionRefused
from holdfast.guard import Board, Guard, Policy, choose, contest_final, score
from holdfast.guard.ledger import open_store
from holdfast.guard.ledger.verify import verify_store
from holdfast.guard.replay import GuardReplay
from holdfast.guard.scoring import deadlines_and_quotas

ROWS = {"id": np.arange(400), "y": np.arange(400) % 3 == 0}


def board(**more: object) -> Board:
    return Board("b", key="id", label="y", metric="accuracy", **{"rule": "open", **more})  # type: ignore[arg-type]


def opened(where: Path | None = None, **more: object) -> Guard:
    policy = Policy(boards=[board(**more)], reserve=0.5, final=1.0)
    return Guard.open(where, hf.data.table(ROWS, engine="numpy"), policy)


def sent(guard: Guard, wrong: int, analyst: str = "ann") -> int:
    right = {i: bool(i % 3 == 0) ^ (i < wrong) for i in range(400)}
    return guard.ask(score("b", right), analyst=analyst).sequence


def test_each_participant_has_so_many_submissions_and_the_same_again_is_free(tmp_path: Path) -> None:
    guard = opened(tmp_path / "l.db", quota=2)
    first = sent(guard, 1)
    sent(guard, 2)
    with pytest.raises(BudgetExhausted, match="has made 2 submissions"):
        sent(guard, 3)
    assert sent(guard, 1) == first
    assert sent(guard, 3, "bob") > first
    assert guard.ask(choose("b", [first]), analyst="ann").value == [first]
    guard.ask(contest_final("b"), analyst="host")
    guard.shut()
    with open_store(tmp_path / "l.db") as store:
        assert verify_store(store, replay=GuardReplay).ok


def test_a_ledger_with_one_submission_too_many_does_not_verify(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: a guard that does not keep its quota is found out."""
    guard = opened(tmp_path / "l.db", quota=1)
    sent(guard, 1)
    monkeypatch.setattr(deadlines_and_quotas, "require_quota", lambda *_: None)
    sent(guard, 2)
    guard.shut()
    with open_store(tmp_path / "l.db") as store:
        found = verify_store(store, replay=GuardReplay)
    assert not found.ok
    assert "does not follow" in str(found.findings)


def test_a_day_has_its_own_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    guard = opened(daily=1)
    sent(guard, 1)
    with pytest.raises(BudgetExhausted, match="begins at 00:00 UTC"):
        sent(guard, 2)
    real, tomorrow = deadlines_and_quotas.counted, datetime.now(UTC) + timedelta(days=1)
    monkeypatch.setattr(deadlines_and_quotas, "counted", lambda before, now=None: real(before, now or tomorrow))
    sent(guard, 2)


def test_after_the_deadline_nothing_is_submitted_and_the_final_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    guard = opened(deadline=soon)
    entry = sent(guard, 1)
    guard.ask(choose("b", [entry]), analyst="ann", key="in time")
    monkeypatch.setattr(deadlines_and_quotas, "moment_of", lambda _: datetime.now(UTC) - timedelta(seconds=1))
    head = guard.ledger.head()
    with pytest.raises(QuestionRefused, match="were accepted until"):
        sent(guard, 2)
    assert guard.ledger.head() == head
    assert sent(guard, 1) == entry
    with pytest.raises(QuestionRefused, match="choices for the final of 'b' were accepted until"):
        guard.ask(choose("b", [entry]), analyst="ann")
    assert guard.ledger.head() == head
    assert guard.ask(choose("b", [entry]), analyst="ann", key="in time").repeated
    assert guard.ask(contest_final("b"), analyst="host").value


def test_each_phase_has_its_deadline() -> None:
    two = board(deadline=["2026-12-01T12:00", "2026-12-08T12:00"])
    assert Board.from_dict(two.to_dict()) == two
    after_first = datetime(2026, 12, 2, tzinfo=UTC)
    with pytest.raises(QuestionRefused, match="1 Dec 2026, 12:00 UTC"):
        deadlines_and_quotas.require_in_time(two, 1, after_first)
    deadlines_and_quotas.require_in_time(two, 2, after_first)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("tomorrow", "a time such as"),
        ("2026-12-01T23:59 Mars/Olympus", "time zone that this machine knows"),
        ("2026-13-01T23:59", "a time such as"),
        (["2026-12-02", "2026-12-01"], "later than the one before"),
        ("2030-03-31T02:30 Europe/Berlin", "skipped when clocks are put forward"),
        ("2030-03-31T02:30[Europe/Berlin]", "skipped when clocks are put forward"),
        ([], "one for each phase"),
        (3, "one for each phase"),
    ],
)
def test_a_wrong_deadline_is_told(given: object, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        board(deadline=given)


def test_times_around_a_change_of_clocks_are_taken() -> None:
    for given, stored in (
        ("2030-03-31T01:59 Europe/Berlin", "2030-03-31T01:59:00+01:00[Europe/Berlin]"),
        ("2030-03-31T03:00 Europe/Berlin", "2030-03-31T03:00:00+02:00[Europe/Berlin]"),
        ("2030-10-27T02:30 Europe/Berlin", "2030-10-27T02:30:00+02:00[Europe/Berlin]"),
        ("2030-03-31T01:30Z[Europe/Berlin]", "2030-03-31T03:30:00+02:00[Europe/Berlin]"),
    ):
        assert board(deadline=given).deadline == (stored,)


@pytest.mark.parametrize("name", ["quota", "daily"])
def test_a_quota_is_a_positive_number(name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        board(**{name: 0})
