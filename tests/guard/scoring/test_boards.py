"""Boards behind a guard: both rules, every engine, repeats, caps, overrides, and what the ledger keeps."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.data.schema import Kind
from holdfast.errors import BudgetExhausted, GuaranteeUnavailable, InvalidParameter, LedgerConflict, QuestionRefused
from holdfast.guard import Board, Policy, score
from holdfast.guard.leaderboard import leaderboard
from holdfast.guard.ledger.verify import verify_store
from holdfast.guard.questions.base import Question
from holdfast.guard.replay import GuardReplay

N = 3000
RNG = np.random.default_rng(5)
CHANCE = RNG.random(N)
ROWS = {
    "id": np.arange(N),
    "code": np.array([f"r{i}" for i in range(N)], dtype=object),
    "rich": RNG.random(N) < CHANCE,
    "pay": 100 * CHANCE + RNG.normal(0, 10, N),
}
BOARDS = [
    Board("accuracy", key="id", label="rich", metric="accuracy"),
    Board("log-loss", key="code", label="rich", metric="log-loss"),
    Board("brier", key="id", label="rich", metric="brier"),
    Board("mae", key="id", label="pay", metric="mae", low=0, high=100),
    Board("auc", key="id", label="rich", metric="auc"),
    Board("f1", key="id", label="rich", metric="f1"),
    Board("climb", key="id", label="rich", metric="accuracy", rule="ladder", step=0.02),
    Board("sink", key="id", label="rich", metric="brier", rule="ladder", step=0.01, best="board"),
    Board("curve", key="id", label="rich", metric="auc", rule="ladder", step=0.02),
]
POLICY = Policy(questions=200, boards=BOARDS, kinds=("score",))


def predicted(board: Board, values: Any = None) -> dict[Any, Any]:
    if values is None:
        values = CHANCE > 0.5 if board.metric in ("accuracy", "f1") else 100 * CHANCE
        values = CHANCE if board.metric in ("log-loss", "brier", "auc") else values
    return dict(zip(ROWS[board.key].tolist(), np.asarray(values).tolist(), strict=True))


def asked(board: Board, values: Any = None, **more: Any) -> Any:
    guesses = {"accuracy": 0.75, "log-loss": 0.5, "brier": 0.16, "mae": 9.0, "auc": 0.83, "f1": 0.75}
    guess = {} if board.rule == "ladder" else {"guess": guesses[board.metric]}  # a ladder's first may do without
    return score(board.name, predicted(board, values), **guess | more)


def opened(**changes: Any) -> hf.Guard:
    from dataclasses import replace

    return hf.Guard.open(None, hf.data.table(ROWS, engine="numpy"), replace(POLICY, **changes))


@pytest.fixture(params=["polars", "parquet", "csv", "duckdb", "postgres"])
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The same rows elsewhere."""
    import polars as pl

    frame = pl.DataFrame(ROWS).sample(fraction=1.0, shuffle=True, seed=3)
    match request.param:
        case "polars":
            return hf.data.table(frame)
        case "parquet":
            frame.write_parquet(tmp_path / "a.parquet")
            return hf.data.table(tmp_path / "a.parquet")
        case "csv":
            frame.write_csv(tmp_path / "a.csv")
            schema: dict[str, Kind] = {"id": "integer", "code": "text", "rich": "boolean", "pay": "number"}
            return hf.data.table(tmp_path / "a.csv", schema=schema)
        case "duckdb":
            frame.write_parquet(tmp_path / "b.parquet")
            return hf.data.table(tmp_path / "b.parquet", engine="duckdb")
    import psycopg

    url = request.getfixturevalue("postgres_url")
    with psycopg.connect(url) as connection:
        connection.execute("create table people (id bigint, code text, rich boolean, pay double precision)")
        with connection.cursor() as cursor, cursor.copy("copy people from stdin") as copy:
            for row in frame.rows():
                copy.write_row(row)
    return hf.data.table(url, table="people")


def test_the_same_submission_has_the_same_answer_on_every_engine(other: Any) -> None:
    here, there = opened(), hf.Guard.open(None, other, POLICY)
    for board in BOARDS:
        one, two = here.ask(asked(board)).released(), there.ask(asked(board)).released()
        assert one == two, board
    there.shut()


def test_guesses_stand_and_fall() -> None:
    guard = opened()
    for board in BOARDS[:6]:
        found = guard.ask(asked(board))
        assert found.passed, board
        assert found.interval[0] <= found.value <= found.interval[1]
        low, high = board.range
        wrong = guard.ask(asked(board, guess=low if board.rising else high))
        assert not wrong.passed
        # What a failure shows is rounded and lies near what a pass showed.
        assert wrong.interval[0] <= found.interval[1]
        assert found.interval[0] <= wrong.interval[1]


@pytest.mark.parametrize("name", ["climb", "sink", "curve"])
def test_a_ladder_shows_improvements_only(name: str) -> None:
    guard, board = opened(), POLICY.board(name)
    bad = CHANCE > 2 if board.metric == "accuracy" else np.full(N, 0.5)
    first = guard.ask(asked(board, bad))
    assert first.details["improved"]
    assert first.value is not None
    same = ~(CHANCE > 2) if board.metric == "accuracy" else np.full(N, 0.4999)
    again = guard.ask(asked(board, same if board.metric != "accuracy" else CHANCE > 0.999))
    assert not again.details["improved"]
    assert again.value is None
    better = guard.ask(asked(board))
    assert better.details["improved"]
    assert (better.value > first.value) == board.rising
    steps = (better.value - first.value) / board.step
    assert abs(2 * steps - round(2 * steps)) < 1e-6  # on the grid
    worse = guard.ask(asked(board, 1 - CHANCE if board.metric != "accuracy" else CHANCE < 0.5))
    assert not worse.details["improved"]


@pytest.mark.parametrize("name", ["climb", "sink", "curve"])
def test_the_first_submission_to_a_ladder_is_a_check_of_the_score_it_claims(name: str) -> None:
    board = POLICY.board(name)
    right = {"climb": 0.75, "sink": 0.17, "curve": 0.83}[name]
    wrong = {"climb": 0.2, "sink": 0.9, "curve": 0.3}[name]
    for guess, passed in ((right, True), (wrong, False)):
        guard = opened()
        before = guard.level(0.05)
        first = guard.ask(asked(board, guess=guess))
        assert (first.passed, first.details["improved"], first.details["first"]) == (passed, True, True)
        assert (first.value == guess) is passed
        assert first.interval[0] <= first.value <= first.interval[1]
        said = Question.kinds()["score"].answer_words(_body(guard)["question"], first.to_dict())
        assert ("failed" not in said) is passed
        # A claim that passes costs next to nothing, where a place without a claim is one of many.
        assert (guard.level(0.05) > 0.9 * before) is passed
        again = guard.ask(asked(board))
        assert (again.repeated, again.value) == (True, first.value), "the same predictions, claimed or not"
        with pytest.raises(InvalidParameter, match="guess must be left out"):
            guard.ask(asked(board, CHANCE * 0.99 if board.metric != "accuracy" else CHANCE > 0.6, guess=right))
        worse = guard.ask(asked(board, 1 - CHANCE if board.metric != "accuracy" else CHANCE < 0.5))
        assert not worse.details["improved"]
        assert guard.leaderboard(name).submissions == 2
        assert guard.remaining()["total"]["questions"] == 198
    unclaimed = opened()
    unclaimed.ask(asked(board))
    assert unclaimed.level(0.05) < 0.03


def test_a_failed_claim_after_the_last_planned_failure_takes_no_place() -> None:
    guard, board = opened(failures=0), POLICY.board("climb")
    last = guard.ask(asked(board, guess=0.1))
    assert (last.value, last.interval, last.details["ended"], "place" in last.details) == (None, None, True, False)
    with pytest.raises(BudgetExhausted):
        guard.ask(asked(board, CHANCE > 0.4))


def _body(guard: hf.Guard) -> dict[str, Any]:
    return [entry.body for entry in guard.ledger.entries() if entry.kind == "answered"][-1]


def test_an_improvement_is_no_failure_and_a_beaten_one_no_improvement() -> None:
    """In words and in fields; the ledger keeps what was true when it was scored."""
    guard, board = opened(), POLICY.board("climb")
    first = guard.ask(asked(board, CHANCE > 2), key="first")
    assert str(first).startswith("A new best: 0.")
    retried = guard.ask(asked(board, CHANCE > 2), key="first")
    assert retried.repeated
    assert retried.details["improved"], "a retry whose first answer was lost learns that it took the lead"
    worse = guard.ask(asked(board, CHANCE > 0.999))
    assert "it does not beat the best so far. Nothing more is shown." in str(worse)
    best = guard.ask(asked(board))
    assert best.details["improved"]
    again = guard.ask(asked(board, CHANCE > 2))
    assert (again.repeated, again.details["improved"], again.details["beaten"]) == (True, False, True)
    assert again.value == first.value
    assert str(again).startswith("A new best when it was first submitted: 0.")
    assert again.released() == first.released()
    assert guard.ask(asked(board)).details["improved"]
    assert all("failed" not in str(one) for one in (first, retried, worse, best, again))


def test_the_best_is_each_analysts_or_the_boards() -> None:
    guard = opened()
    own, shared = POLICY.board("climb"), POLICY.board("sink")
    for board, expected in ((own, True), (shared, False)):
        assert guard.ask(asked(board), analyst="ann").details["improved"]
        worse = CHANCE > 0.9 if board is own else np.full(N, 0.5)
        assert guard.ask(asked(board, worse), analyst="bob").details["improved"] is expected


def test_a_repeated_submission_is_free_under_any_name() -> None:
    guard, board = opened(), BOARDS[0]
    first = guard.ask(asked(board, name="one"), key="k")
    left = guard.remaining()["total"]["questions"]
    for again in (guard.ask(asked(board, name="two")), guard.ask(asked(board, name="one"), key="k")):
        assert again.repeated
        assert again.sequence == first.sequence
    assert guard.remaining()["total"]["questions"] == left
    other = guard.ask(asked(board), analyst="bob")
    assert not other.repeated  # another analyst's submission is another submission
    with pytest.raises(LedgerConflict):
        guard.ask(asked(board, CHANCE > 0.4), key="k")


def test_refusals_come_before_anything_is_spent() -> None:
    guard = opened()
    for wrong, error in (
        (score("nothing", {1: True}, 0.5), InvalidParameter),
        (score("accuracy", {1: True}), InvalidParameter),
        (score("climb", {1: True}, 1.5), InvalidParameter),
        (score("climb", {1: True}, tolerance=0.2), InvalidParameter),
        (score("accuracy", {1: True}, 1.5), InvalidParameter),
        (score("accuracy", {1: True}, 0.5, name="a\nb"), InvalidParameter),
        (score("accuracy", {1: True}, 0.5, tolerance=1e-6), InvalidParameter),
        (hf.guard.check("pay > 3", guess=0.5), QuestionRefused),
    ):
        with pytest.raises(error):
            guard.ask(wrong)
    assert guard.remaining()["total"]["questions"] == 200
    few = {name: values[:12] for name, values in ROWS.items()}
    small = hf.Guard.open(None, hf.data.table(few, engine="numpy"), POLICY)
    with pytest.raises(GuaranteeUnavailable, match="12 rows"):
        small.ask(score("auc", {1: 0.5}, 0.5))
    assert small.remaining()["total"]["questions"] == 200


def test_without_boards_nothing_is_scored() -> None:
    guard = hf.Guard.open(None, hf.data.table(ROWS, engine="numpy"), Policy())
    with pytest.raises(QuestionRefused, match="score"):
        guard.ask(score("accuracy", {1: True}, 0.5))
    with pytest.raises(InvalidParameter, match="confidence"):
        Policy(confidence=0.5, boards=BOARDS)
    with pytest.raises(InvalidParameter, match="kinds"):
        Policy(kinds=("score",))
    with pytest.raises(InvalidParameter, match="different names"):
        Policy(boards=[BOARDS[0], BOARDS[0]])


def test_the_failure_after_the_last_planned_one_shows_nothing() -> None:
    guard, board = opened(failures=1), POLICY.board("climb")
    assert guard.ask(asked(board, CHANCE > 0.95)).value is not None  # the first without a claim is no failure
    assert guard.ask(asked(board, CHANCE > 0.8)).value is not None
    last = guard.ask(asked(board))
    assert (last.value, last.interval, last.details["ended"]) == (None, None, True)
    with pytest.raises(BudgetExhausted):
        guard.ask(asked(board, CHANCE > 0.4))
    assert leaderboard(guard.ledger, "climb").places[0].value is not None


def test_an_override_keeps_the_boards_and_says_that_nothing_is_certified() -> None:
    guard = opened()
    guard.ask(asked(BOARDS[0]))
    with pytest.raises(InvalidParameter, match="boards"):
        guard.override(Policy(boards=BOARDS[1:]), "fewer boards")
    more = Board("more", key="id", label="rich", metric="f1")
    guard.override(Policy(questions=300, boards=[*BOARDS, more]), "one more board")
    assert not guard.ask(asked(more)).guarantee.certified
    assert [place.certified for place in leaderboard(guard.ledger, "accuracy").places] == [True]
    assert [place.certified for place in leaderboard(guard.ledger, "more").places] == [False]


def test_the_ledger_verifies_and_holds_no_prediction_and_no_exact_score(tmp_path: Path) -> None:
    from holdfast.guard.ledger.opening import open_store

    store = open_store(tmp_path / "ledger.db")
    guard = hf.Guard.open(store, hf.data.table(ROWS, engine="numpy"), POLICY)
    for board in BOARDS:
        guard.ask(asked(board))
        guard.ask(asked(board, None, **({} if board.rule == "ladder" else {"guess": board.range[0]})))
    checked = verify_store(store, replay=GuardReplay)
    assert checked.ok, checked.findings
    kept = json.dumps([entry.to_dict() for entry in guard.ledger.entries()])
    exact = np.mean((CHANCE > 0.5) == ROWS["rich"]), np.mean((CHANCE - ROWS["rich"]) ** 2)
    for number in (*exact, CHANCE[0], CHANCE[1]):
        assert f"{number:.9f}"[:-2] not in kept
    account = "board:sink"
    stored = guard.ledger.look(lambda view: view.account(account))
    assert set(stored or {}) == {"place"}
    store.close()


def test_a_replay_finds_a_place_that_was_moved(tmp_path: Path) -> None:
    import sqlite3

    from holdfast.guard.ledger.opening import open_store

    store = open_store(tmp_path / "ledger.db")
    guard = hf.Guard.open(store, hf.data.table(ROWS, engine="numpy"), POLICY)
    guard.ask(asked(POLICY.board("sink")))
    store.close()
    with sqlite3.connect(tmp_path / "ledger.db") as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        name = next(one for one in tables if "account" in one)
        columns = [row[1] for row in connection.execute(f"pragma table_info({name})")]
        text = next(one for one in columns if one in ("text", "state", "body"))
        done = connection.execute(f"update {name} set {text} = '{{\"place\":0}}' where name = 'board:sink'")
        assert done.rowcount == 1
    store = open_store(tmp_path / "ledger.db")
    assert not verify_store(store, replay=GuardReplay).ok
    store.close()


def test_threads_that_submit_the_same_pay_once(tmp_path: Path) -> None:
    guard = hf.Guard.open(tmp_path / "ledger.db", hf.data.table(ROWS, engine="numpy"), POLICY)
    question, found = asked(BOARDS[0]), []

    def work(key: str) -> None:
        found.append(guard.ask(question, key=key).sequence)

    threads = [threading.Thread(target=work, args=(f"k{i % 3}",)) for i in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 12
    assert len(set(found)) == 1
    assert guard.remaining()["total"]["questions"] == 199
    guard.shut()


def test_threads_on_a_ladder_move_it_once_for_each_step(tmp_path: Path) -> None:
    """Whoever comes first is shown; a later submission that is no better than what is shown by then is not."""
    guard = hf.Guard.open(tmp_path / "ledger.db", hf.data.table(ROWS, engine="numpy"), POLICY)
    board, found = POLICY.board("sink"), []

    def work(i: int) -> None:
        found.append(guard.ask(asked(board, np.clip(CHANCE + 1e-6 * i, 0, 1)), analyst=f"a{i}").details["improved"])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(found) == 1
    guard.shut()
