"""One suite for every `AnalystGuard`: a guard of this process, and the client of a real server over the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.client import Connection, RemoteGuard
from holdfast.errors import BudgetExhausted, InvalidParameter, LedgerConflict, QuestionRefused
from holdfast.guard.analyst import AnalystGuard
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.estimates import Estimate
from holdfast.guard.guard import Guard, LocalAnalystGuard
from tests.server.live import Live, running

N = 2000
BOARD = hf.guard.Board("rich", key="id", label="rich", metric="accuracy")
CHECK = {"kind": "check", "expression": "age < 45", "guess": 0.5}
NOBODY = dict.fromkeys(range(N), False)
ANSWER_MEMBERS = [field.name for field in fields(GuardedAnswer)] + ["half_width", "to_dict"]
ESTIMATE_MEMBERS = [field.name for field in fields(Estimate)] + ["to_dict"]


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    """A server of its own: the row keys of these guards would overlap with those of other tests."""
    with running() as server:
        yield server


def test_every_guard_of_an_analyst_has_the_type(live: Live) -> None:
    """The type checker reads this: each of the three is assigned to the protocol."""

    def accepted(local: LocalAnalystGuard, remote: RemoteGuard, connection: Connection) -> list[AnalystGuard]:
        return [local, remote, connection]

    with _on_server(live, "typed", "ann") as connection:
        local = _guard("typed").for_analyst("ann")
        verbs = [name for name in vars(AnalystGuard) if not name.startswith("_")]
        assert len(verbs) == 14
        for guard in accepted(local, connection.guard(), connection):
            assert [name for name in verbs if not hasattr(type(guard), name)] == []


def _rows(tag: str) -> dict[str, list[Any]]:
    return {
        "id": list(range(N)),
        "age": [20 + i % 50 for i in range(N)],
        "rich": [i % 4 == 0 for i in range(N)],
        "tag": [tag] * N,
    }


def _policy() -> hf.guard.Policy:
    return hf.guard.Policy(questions=16, analysts={"ann": 0.5, "bo": 0.25}, boards=[BOARD])


def _guard(tag: str) -> Guard:
    return hf.Guard.open(None, hf.data.table(_rows(tag)), _policy())


@contextmanager
def _on_server(live: Live, tag: str, analyst: str) -> Iterator[Connection]:
    columns = _rows(tag)
    lines = [",".join(str(value).lower() for value in row) for row in zip(*columns.values(), strict=True)]
    made = live.guard(tag, _policy().to_dict(), "\n".join([",".join(columns), *lines]) + "\n")
    with hf.connect(live.url, live.steward_token) as steward:
        token = steward.issue_token("analyst", analyst, guards=[made["id"]])["token"]
    with hf.connect(live.url, token, guard=tag) as connection:
        yield connection


@pytest.fixture(params=["local", "remote guard", "connection"])
def guard(request: pytest.FixtureRequest, live: Live) -> Iterator[AnalystGuard]:
    """A fresh guard of the analyst ann."""
    tag = f"{request.function.__name__} {request.param}"
    if request.param == "local":
        yield _guard(tag).for_analyst("ann")
        return
    with _on_server(live, tag, "ann") as connection:
        yield connection if request.param == "connection" else connection.guard()


def test_an_analyst_sees_the_own_share_alone(guard: AnalystGuard) -> None:
    facts = guard.describe()
    assert facts["n"] == N
    assert [column["name"] for column in facts["schema"]["columns"]] == ["id", "age", "rich", "tag"]
    assert facts["status"] == "open"
    assert facts["dataset"] == guard.dataset
    assert facts["policy"]["analysts"] == {"ann": 0.5}
    assert set(facts["analysts"]) <= {"ann"}
    assert guard.policy.analysts == {"ann": 0.5}
    assert guard.policy.board("rich") == BOARD


def test_an_answer_has_the_same_fields(guard: AnalystGuard) -> None:
    answer = guard.ask(CHECK)
    assert [name for name in ANSWER_MEMBERS if not hasattr(answer, name)] == []
    assert (answer.passed, answer.value, answer.repeated, answer.cost, answer.sequence) == (True, 0.5, False, None, 2)
    assert list(answer.interval) == pytest.approx([0.5 - (answer.half_width or 0), 0.5 + (answer.half_width or 0)])
    assert answer.half_width is not None
    assert 0 < answer.half_width < 0.2
    assert answer.guarantee.certified
    assert answer.remaining["yours"] == {"questions": 7}
    assert answer.to_dict() | {"receipt": None, "repeated": True} == guard.ask(CHECK).to_dict() | {"receipt": None}
    assert guard.ask(hf.guard.check("age<45", guess=0.5)).repeated


def test_a_key_is_answered_once(guard: AnalystGuard) -> None:
    assert guard.ask(CHECK, key="k").sequence == guard.ask(CHECK, key="k").sequence
    with pytest.raises(LedgerConflict, match="was already used for another question"):
        guard.ask(CHECK | {"guess": 0.4}, key="k")


def test_a_batch_has_one_key(guard: AnalystGuard) -> None:
    questions = [CHECK, hf.guard.claim("age < 60", at_least=0.5)]
    first = guard.ask_all(questions, key="batch")
    assert [answer.passed for answer in first] == [True, True]
    again = guard.ask_all(questions, key="batch")
    assert [answer.sequence for answer in again] == [answer.sequence for answer in first]
    assert guard.remaining()["yours"] == {"questions": 6}
    with pytest.raises(LedgerConflict, match="key 'batch/1' was already used for another question"):
        guard.ask(CHECK | {"guess": 0.4}, key="batch/1")
    assert list(guard.ask_all([])) == []


def test_looking_spends_nothing(guard: AnalystGuard) -> None:
    estimate = guard.estimate(CHECK)
    assert [name for name in ESTIMATE_MEMBERS if not hasattr(estimate, name)] == []
    assert estimate.admitted
    assert not estimate.repeated
    level, adjusted = guard.level(0.1), guard.adjusted(0.01)
    assert 0 < level <= 0.1
    assert 0.01 <= adjusted <= 1
    assert guard.remaining() == {"status": "open"} | guard.remaining()
    assert guard.remaining()["yours"] == {"questions": 8}
    answer = guard.ask(CHECK)
    assert answer.half_width == pytest.approx(estimate.half_width, rel=1e-12)
    assert guard.level(0.1) <= level


def test_predictions_in_every_form_are_one_submission(guard: AnalystGuard, tmp_path: Path) -> None:
    first = guard.submit(NOBODY, guess=0.75, name="nobody")
    assert (first.passed, first.value, first.details["metric"]) == (True, 0.75, "accuracy")
    file = tmp_path / "nobody.csv"
    file.write_text("id,prediction\n" + "".join(f"{i},false\n" for i in range(N)))
    forms: list[tuple[Any, Any]] = [
        ([False] * N, range(N)),
        ({"keys": list(range(N)), "predictions": [False] * N}, None),
        (file, None),
        (str(file), None),
    ]
    for given, keys in forms:
        again = guard.submit(given, keys=keys, board="rich", guess=0.75)
        assert (again.repeated, again.sequence) == (True, first.sequence)
    board = guard.leaderboard()
    assert board.board == BOARD
    assert [(place.analyst, place.name, place.value) for place in board.places] == [("ann", "nobody", 0.75)]
    assert guard.leaderboard("rich").to_dict() == board.to_dict()


def test_wrong_input_is_refused_alike(guard: AnalystGuard, tmp_path: Path) -> None:
    file = tmp_path / "model.txt"
    file.write_text("1,true\n")
    for wrong, message in (
        (lambda: guard.ask("how old are they?"), "a question must be"),  # type: ignore[arg-type]
        (lambda: guard.ask({"kind": "check", "expression": "income > 3", "guess": 0.5}), "columns of the schema"),
        (lambda: guard.submit([True, False]), "predictions must be"),
        (lambda: guard.submit({1: "yes"}, guess=0.5), "predictions must be true or false"),
        (lambda: guard.submit(NOBODY), "guess must be given"),
        (lambda: guard.submit(NOBODY, board="none", guess=0.5), "board must name one of the guard's boards: rich"),
        (lambda: guard.submit(NOBODY, guess=0.5, output="y"), "unless a model is submitted"),
        (lambda: guard.submit(NOBODY, guess=0.5, entry=1), "unless a model is submitted"),
        (lambda: guard.submit(file, guess=0.5), "the file must end in"),
        (lambda: guard.leaderboard("none"), "board must name one of the guard's boards: rich"),
    ):
        with pytest.raises(InvalidParameter, match=message):
            wrong()
    with pytest.raises(QuestionRefused, match="does not allow a mean"):
        guard.ask(hf.mean("age < 45"))
    assert guard.remaining()["yours"] == {"questions": 8}


def test_a_share_ends(guard: AnalystGuard) -> None:
    for guess in range(8):
        guard.ask(CHECK | {"guess": 0.5 + guess / 1000})
    assert guard.remaining()["yours"] == {"questions": 0}
    with pytest.raises(BudgetExhausted):
        guard.ask(CHECK | {"guess": 0.4})
    assert not guard.estimate(CHECK | {"guess": 0.4}).admitted
    assert guard.ask(CHECK).repeated


def test_both_answer_the_same(live: Live) -> None:
    """What is answered without noise is the same number, whoever carries it."""
    local = _guard("same").for_analyst("ann")
    with _on_server(live, "same", "ann") as connection:
        for question in (CHECK, CHECK | {"guess": 0.9}, hf.guard.claim("age < 60", at_least=0.5).to_dict()):
            here, there = local.ask(question), connection.ask(question)
            assert here.released() == there.released()
        here, there = local.submit(NOBODY, guess=0.9), connection.submit(NOBODY, guess=0.9)
        assert here.released() == there.released()
        assert local.remaining() == connection.remaining()
        assert local.level() == connection.level()


def test_a_name_that_the_policy_does_not_know_has_no_guard() -> None:
    with pytest.raises(InvalidParameter, match="analyst must be a name that the policy lists, got 'eve'"):
        _guard("names").for_analyst("eve")
    assert _guard("names").for_analyst("bo").describe()["policy"]["analysts"] == {"bo": 0.25}
