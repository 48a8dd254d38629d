"""Models sent to a real server: scored, refused with words, and never an error that tells about rows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

import holdfast as hf
from holdfast.cli.main import run
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.server.http import Problem
from holdfast.server.settings import Settings
from holdfast.server.submissions import answer_grid, turn
from tests.guard.scoring.onnx import models
from tests.guard.scoring.onnx.models import linear, model, node
from tests.server.live import Live, running

N = 1500
SECONDS = 6.0
"""For a model, whose process alone takes a good second where four start at once on two cores."""
AT_ONCE = 4
ROWS = "id,a,b,y\n" + "".join(f"{i},{(i % 7) / 10},{i % 3},{str(i % 7 > 3).lower()}\n" for i in range(N))
BOARDS = [
    {"name": "brier", "key": "id", "label": "y", "metric": "brier", "models": True},
    {"name": "hits", "key": "id", "label": "y", "metric": "accuracy", "models": True},
    {"name": "files", "key": "id", "label": "y", "metric": "accuracy"},
]
SHARES = {i: float(np.float32((i % 7) / 10) + np.float32(0.1)) for i in range(N)}
TRUTH = sum((share - (i % 7 > 3)) ** 2 for i, share in SHARES.items()) / N
TRUTH_OF_TWO = sum(((i % 7) / 10 - (i % 7 > 3)) ** 2 for i in range(N)) / N
FAILING = sum(i % 7 == 6 for i in range(N)) / N  # rows that fail count as the worst
LINE = linear((1.0, 0.0), 0.1)
TWO = model([node("Concat", ["x", "x"], axis=1)])
TABLE = model(
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


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    with running(model_seconds=SECONDS, max_model=1 << 20, models_at_once=AT_ONCE) as server:
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


@dataclass
class Sent:
    """What became of as many models as the server takes at once, of one too many, and of that one a second time."""

    took: dict[str, float] = field(default_factory=dict)
    answers: dict[str, Any] = field(default_factory=dict)
    refused: httpx.Response | None = None
    busy: httpx.Response | None = None
    beside: httpx.Response | None = None
    again: Any = None
    spent: int = 0


@pytest.fixture(scope="module")
def sent(live: Live, guard: hf.client.RemoteGuard, tmp_path_factory: pytest.TempPathFactory) -> Sent:
    """Every model takes seconds by the clock and nearly none of the processor: they are sent at once."""
    found, left = Sent(), guard.remaining()["yours"]["questions"]

    def timed(name: str, send: Callable[[], Any]) -> Any:
        begun = time.monotonic()
        answer = send()
        found.took[name] = time.monotonic() - begun
        return answer

    def submit(name: str, content: bytes, guess: float, **more: Any) -> None:
        file = written(tmp_path_factory.mktemp("model"), content)
        answer = timed(name, lambda: guard.submit(file, board="brier", guess=guess, name=name, **more))
        found.answers[name] = answer

    with live.client() as steward, ThreadPoolExecutor(AT_ONCE) as pool:

        def post(board: str, guess: float, content: bytes) -> httpx.Response:
            address, kind = f"/api/v1/guards/{guard.id}/submissions", {"Content-Type": "application/onnx"}
            return steward.post(address, params={"board": board, "guess": guess}, headers=kind, content=content)

        working = [
            pool.submit(submit, "line", LINE, TRUTH),
            pool.submit(submit, "table", TABLE, FAILING),
            pool.submit(submit, "two", TWO, TRUTH_OF_TWO, entry=0, output="y"),
            pool.submit(timed, "refused", lambda: post("hits", 2.0, linear((0.45, 0.0)))),
        ]
        until = time.monotonic() + 60
        while live.logged().count('"event": "model"') < AT_ONCE:  # each was tried, and works for seconds now
            assert time.monotonic() < until, live.logged()[-2000:]
            time.sleep(0.02)
        found.busy = post("hits", 0.5, linear((0.4, 0.0)))
        found.beside = steward.get(f"/api/v1/guards/{guard.id}")
        # A client waits and comes again by itself; there is room when the others are done, and one of them was its own.
        found.again = guard.submit(written(tmp_path_factory.mktemp("model"), LINE), board="brier", guess=TRUTH)
        found.refused = working[-1].result()
        for one in working:
            one.result()
    found.spent = left - guard.remaining()["yours"]["questions"]
    return found


def test_a_model_is_scored_as_its_predictions_would_be(
    sent: Sent, guard: hf.client.RemoteGuard, tmp_path: Path
) -> None:
    assert all(one.confirmed for one in sent.answers.values()), sent.answers
    answer, by_hand = sent.answers["line"], guard.submit(SHARES, board="brier", guess=TRUTH)
    assert by_hand.confirmed
    assert answer.interval == pytest.approx(by_hand.interval, abs=2e-3)
    assert answer.count == N
    assert answer.predictions != by_hand.predictions
    begun = time.monotonic()
    again = guard.submit(written(tmp_path, LINE), board="brier", guess=TRUTH)
    assert again.repeated
    assert time.monotonic() - begun < SECONDS
    (place,) = guard.leaderboard("brier").places
    assert place.analyst == "ann"


def test_what_a_model_does_on_rows_is_told_by_its_score_alone(sent: Sent) -> None:
    """Models that are alike on made-up rows, and of which one fails on hidden ones: both are answered, in one time."""
    took = [sent.took["table"], sent.took["line"]]
    assert all(SECONDS < one < 2 * SECONDS + 2 for one in took), took

    low, high = sent.answers["table"].interval
    assert low <= FAILING <= high
    assert sent.spent == 3, "each that was answered, and none that was refused"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"junk", "must be an ONNX file"),
        (models.looping(), "'Loop'"),
        (models.external("/etc/passwd"), "external data"),
        (linear((1.0, 2.0, 3.0)), "its input has 3"),
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
    with pytest.raises(QuestionRefused, match="does not accept models"):
        guard.submit(file, board="files", guess=0.5)
    board = hf.guard.Board.from_dict(BOARDS[0])
    with (
        pytest.raises(QuestionRefused, match="this server does not evaluate models; submit predictions instead"),
        turn(Settings(models_at_once=0), board),
    ):
        raise AssertionError("it was let in")


def test_as_many_as_there_is_room_for_and_the_next_is_told_when(sent: Sent) -> None:
    assert sent.busy is not None
    assert (sent.busy.status_code, sent.busy.json()["code"]) == (503, "overloaded")
    assert int(sent.busy.headers["retry-after"]) >= 1
    assert sent.beside is not None
    assert sent.beside.status_code == 200, "and nobody else waits"
    assert sent.again.sequence == sent.answers["line"].sequence


def test_a_model_from_the_terminal_and_no_file_stays(
    live: Live, guard: hf.client.RemoteGuard, sent: Sent, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOLDFAST_TOKEN", guard._wire._http.headers["authorization"].removeprefix("Bearer "))
    file, guess = str(written(tmp_path, TWO)), str(TRUTH_OF_TWO)
    words = ["submit", live.url, guard.name, file, "--board", "brier", "--guess", guess]
    assert run(words) == 2
    assert "has 4; give entry" in capsys.readouterr().err
    assert run([*words, "--entry", "0", "--output", "y", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["count"], said["sequence"]) == (N, sent.answers["two"].sequence)
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


def test_the_clock_does_not_tell_how_many_rows_a_model_answered(sent: Sent) -> None:
    """All rows, none, or a process that died: the answer leaves at the same moment after the evaluation began."""
    settings = Settings(model_seconds=7.0)
    assert answer_grid(settings, 0) == 8.0
    assert answer_grid(settings, 500_000) == 13.0
    assert answer_grid(Settings(model_seconds=1.0, answer_grid=9.0), 5) == 9.0
    assert sent.refused is not None
    assert sent.refused.status_code == 422, sent.refused.text  # before any row is read, which takes no time at all
    assert sent.took["refused"] > answer_grid(Settings(model_seconds=SECONDS), N)
