"""Models sent to a real server: scored, refused with words, and never an error that tells about rows."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.cli.main import run
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.server.errors import Problem
from holdfast.server.models import answer_grid, turn
from holdfast.server.settings import Settings
from tests.guard.scoring.onnx import models
from tests.guard.scoring.onnx.models import linear, model, node
from tests.server.live import Live, running

N = 1500
SECONDS = 6.0
ROWS = "id,a,b,y\n" + "".join(f"{i},{(i % 7) / 10},{i % 3},{str(i % 7 > 3).lower()}\n" for i in range(N))
BOARDS = [
    {"name": "brier", "key": "id", "label": "y", "metric": "brier", "models": True},
    {"name": "hits", "key": "id", "label": "y", "metric": "accuracy", "models": True},
    {"name": "files", "key": "id", "label": "y", "metric": "accuracy"},
]


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    with running(model_seconds=SECONDS, max_model=1 << 20) as server:
        yield server


@pytest.fixture(scope="module")
def guard(live: Live) -> Iterator[hf.client.RemoteGuard]:
    made = live.guard("models", {"questions": 100, "boards": BOARDS}, ROWS)
    with live.client() as steward:
        token = steward.post("/api/v1/tokens", json={"role": "analyst", "name": "ann"}).json()["token"]
    with hf.connect(live.url, token, guard=made["id"]) as connection:
        yield connection.guard()


def written(folder: Path, content: bytes) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(content)
    return path


def test_a_model_is_scored_as_its_predictions_would_be(guard: hf.client.RemoteGuard, tmp_path: Path) -> None:
    file = written(tmp_path, linear((1.0, 0.0), 0.1))
    shares = {i: float(np.float32((i % 7) / 10) + np.float32(0.1)) for i in range(N)}
    truth = sum((share - (i % 7 > 3)) ** 2 for i, share in shares.items()) / N
    answer = guard.submit(file, board="brier", guess=truth, name="line")
    by_hand = guard.submit(shares, board="brier", guess=truth)
    assert answer.confirmed
    assert by_hand.confirmed
    assert answer.interval == pytest.approx(by_hand.interval, abs=2e-3)
    assert answer.count == N
    assert answer.predictions != by_hand.predictions
    begun = time.monotonic()
    again = guard.submit(file, board="brier", guess=truth)
    assert again.repeated
    assert time.monotonic() - begun < SECONDS
    (place,) = guard.leaderboard("brier").places
    assert place.analyst == "ann"


def test_what_a_model_does_on_rows_is_told_by_its_score_alone(guard: hf.client.RemoteGuard, tmp_path: Path) -> None:
    """Models that are alike on made-up rows, and of which one fails on hidden ones: both are answered, in one time."""
    left = guard.remaining()["yours"]["questions"]
    table = model(
        [
            node("Gather", ["x", "first"], ["a"], axis=1),
            node("Mul", ["a", "ten"], ["t"]),
            node("Cast", ["t"], ["i"], to=7),
            node("Gather", ["w", "i"]),
        ],
        weights={
            "first": np.array([0], np.int64),
            "ten": np.array([10.001], np.float32),
            "w": np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1.0], np.float32),  # the sixth tenth is out of bounds
        },
    )
    took, values = [], []
    for content in (table, linear((0.0, 0.0), 0.5)):
        begun = time.monotonic()
        answer = guard.submit(written(tmp_path, content), board="brier", guess=0.1)
        took.append(time.monotonic() - begun)
        values.append(answer)
    assert all(SECONDS < one < SECONDS + 6 for one in took), took
    share = sum(i % 7 == 6 for i in range(N)) / N  # rows that fail count as the worst
    low, high = values[0].interval
    assert low <= share <= high
    assert guard.remaining()["yours"]["questions"] == left - 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"junk", "must be an ONNX file"),
        (models.looping(), "'Loop'"),
        (models.external("/etc/passwd"), "external data"),
        (linear((1.0, 2.0, 3.0)), "takes 3"),
        (b"x" * ((1 << 20) + 1), "at most 1048576 bytes"),
    ],
    ids=["junk", "loop", "external", "wide", "large"],
)
def test_what_is_wrong_with_a_model_is_told_and_nothing_spent(
    guard: hf.client.RemoteGuard, tmp_path: Path, content: bytes, words: str
) -> None:
    left = guard.remaining()["yours"]["questions"]
    with pytest.raises(InvalidParameter, match=words):
        guard.submit(written(tmp_path, content), board="brier", guess=0.5)
    assert guard.remaining()["yours"]["questions"] == left


def test_boards_and_servers_that_take_no_models(guard: hf.client.RemoteGuard, tmp_path: Path) -> None:
    file = written(tmp_path, linear())
    with pytest.raises(QuestionRefused, match="may not be submitted to the board 'files'"):
        guard.submit(file, board="files", guess=0.5)
    board = hf.guard.Board.from_dict(BOARDS[0])
    with pytest.raises(QuestionRefused, match="evaluates no models"), turn(Settings(models_at_once=0), board):
        raise AssertionError("it was let in")


def test_one_at_a_time_and_the_next_is_told_when(live: Live, guard: hf.client.RemoteGuard, tmp_path: Path) -> None:
    import threading

    with live.client() as steward:
        address = f"/api/v1/guards/{guard.id}/submissions"
        how: dict[str, Any] = {
            "params": {"board": "hits", "guess": 0.5},
            "headers": {"Content-Type": "application/onnx"},
        }
        first = threading.Thread(target=lambda: steward.post(address, content=linear((0.3, 0.0)), **how))
        first.start()
        time.sleep(1.0)
        with live.client() as other:
            busy = other.post(address, content=linear((0.4, 0.0)), **how)
            assert busy.status_code == 503
            assert int(busy.headers["retry-after"]) >= 1
            assert other.get(f"/api/v1/guards/{guard.id}").status_code == 200  # and nobody else waits
        first.join(30)
    # A client waits and comes again by itself.
    assert guard.submit(written(tmp_path, linear((0.4, 0.0))), board="hits", guess=0.5).sequence


def test_a_model_from_the_terminal_and_no_file_stays(
    live: Live, guard: hf.client.RemoteGuard, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_TOKEN", live.steward_token)
    two = model([node("Concat", ["x", "x"], axis=1)])
    words = ["submit", live.url, guard.name, str(written(tmp_path, two)), "--board", "brier", "--guess", "0.5"]
    assert run(words) == 2
    assert "has 4; entry says which" in capsys.readouterr().err
    assert run([*words, "--entry", "0", "--output", "y", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["count"] == N
    assert not list((live.folder / "uploads").glob("*.onnx"))
    assert "model" in live.logged()


def test_a_place_is_taken_until_the_thread_has_ended_that_the_request_left_behind() -> None:
    """Else who lets requests run out of time has as many models at work as there are threads."""
    import threading

    settings, board = Settings(models_at_once=1), hf.guard.Board.from_dict(BOARDS[0])
    inside, go = threading.Event(), threading.Event()

    def slow() -> bool:
        inside.set()
        return go.wait(20)

    with turn(settings, board) as taken:
        thread = threading.Thread(target=taken.during, args=(slow,))
        thread.start()
        assert inside.wait(20)
    with pytest.raises(Problem, match="overloaded"), turn(settings, board):
        raise AssertionError("it was let in")
    go.set()
    thread.join()
    with turn(settings, board) as taken:
        assert taken.during(lambda: 7) == 7
        with pytest.raises(Problem, match="overloaded"), turn(settings, board):
            raise AssertionError("it was let in")


def test_the_clock_does_not_tell_how_many_rows_a_model_answered(live: Live, guard: hf.client.RemoteGuard) -> None:
    """All rows, none, or a process that died: the answer leaves at the same moment after the evaluation began."""
    settings = Settings(model_seconds=7.0)
    assert answer_grid(settings, 0) == 8.0
    assert answer_grid(settings, 500_000) == 13.0
    assert answer_grid(Settings(model_seconds=1.0, answer_grid=9.0), 5) == 9.0
    with live.client() as steward:
        begun = time.monotonic()
        done = steward.post(
            f"/api/v1/guards/{guard.id}/submissions",
            params={"board": "hits", "guess": 2.0},  # refused before any row is read, which takes no time at all
            headers={"Content-Type": "application/onnx"},
            content=linear((0.45, 0.0)),
        )
        assert done.status_code == 422, done.text
        assert time.monotonic() - begun > answer_grid(Settings(model_seconds=SECONDS), N)
