"""`holdfast serve` under load: durable answers against an empty Starlette route, batches, memory, what timing shows."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

from tests.server import timing_pairs
from tests.server.live import ROWS, Live, free_port, running, wait_until_up
from tests.services.postgres import running as postgres

from benchmarks.http_load import Load, drive, post
from benchmarks.timing import Row

GOALS: dict[str, tuple[float, float, float | None]] = {"SQLite": (0.5, 0.6, 0.2), "PostgreSQL": (0.35, 0.6, None)}
"""The shares of an empty route's rate that are the goal: at 50 clients of new answers, of those given before, and of
new answers at one client. They are not reached yet, and stand in each line."""
LEAST: dict[str, tuple[float | None, float | None, float | None]] = {
    "SQLite": (0.1, 0.2, 0.1),
    "PostgreSQL": (None, None, None),
}
"""The shares below which a change has made the server slower."""
CLIENTS, ANALYSTS = 50, 50
BATCH = 100
FLAT = 1.10
"""How much more memory a server may hold after all questions than after a fifth of them."""
QUESTIONS = int(os.environ.get("HOLDFAST_BENCH_QUESTIONS", "100000"))
PAIRS = int(os.environ.get("HOLDFAST_BENCH_PAIRS", "5000"))
PARTICIPANTS = int(os.environ.get("HOLDFAST_BENCH_PARTICIPANTS", "1000"))

_TRIES = 20
_ROUNDS = int(os.environ.get("HOLDFAST_BENCH_ROUNDS", "5"))
_EACH = int(os.environ.get("HOLDFAST_BENCH_EACH", "2000"))
_POLICY = {"privacy": {"kind": "pure-dp", "epsilon": 1000.0}, "spend": {"kind": "pure-dp", "epsilon": 0.0001}}
_EMPTY = """
import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

async def healthz(request):
    return JSONResponse({})

async def ask(request):
    await request.json()
    return JSONResponse({})

app = Starlette(routes=[Route("/healthz", healthz), Route("/ask", ask, methods=["POST"])])
uvicorn.run(app, port=%d, log_config=None, access_log=False, server_header=False, timeout_keep_alive=15)
"""
_numbers = itertools.count(1)


def rows() -> list[Row]:
    """SQLite and PostgreSQL, each next to the empty route in the same run; then memory and timing on SQLite."""
    with empty_route() as empty:
        with running(forked=False) as live:
            measured = _rates("SQLite", live, empty)
        with postgres(durable=True) as server, running(forked=False, ledger=server.url(), signing_key=_key()) as live:
            measured += _rates("PostgreSQL", live, empty)
    _key().unlink(missing_ok=True)
    contest = [participants_row(PARTICIPANTS), submissions_row(PARTICIPANTS)]
    return [*measured, *contest, memory_row(QUESTIONS), timing_row(PAIRS)]


def _key() -> Path:
    return Path(os.environ.get("TMPDIR", "/tmp")) / f"holdfast-bench-{os.getpid()}.key"


@contextmanager
def empty_route() -> Iterator[tuple[str, int]]:
    """A bare Starlette application that reads the same bodies and does nothing: its address, and its process."""
    port = free_port()
    process = subprocess.Popen([sys.executable, "-c", _EMPTY % port])
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_up(Live(url, "", process, Path(), Path(os.devnull), Path()))
        yield url, process.pid
    finally:
        process.kill()
        process.wait()


def question() -> dict[str, Any]:
    """One that was never asked."""
    return {"kind": "check", "expression": f"age < {45 + next(_numbers) / 2**40!r}", "guess": 0.5}


def _rates(name: str, live: Live, empty: tuple[str, int]) -> list[Row]:
    """Medians of alternating rounds: what else the machine does hits both."""
    guard = live.guard("load", _POLICY)
    path = f"/api/v1/guards/{guard['id']}"
    tokens = itertools.cycle([_token(live, f"analyst {i}") for i in range(ANALYSTS)])
    kept = json.dumps({"question": question()}).encode()

    def single(address: str) -> Iterator[bytes]:
        for _ in range(_EACH):
            yield post(address, json.dumps({"question": question()}).encode(), next(tokens), _fresh())

    def repeated(address: str) -> Iterator[bytes]:
        for _ in range(_EACH):
            yield post(address, kept, next(tokens), _fresh())

    def batches(address: str) -> Iterator[bytes]:
        for _ in range(_EACH // BATCH):
            asked = [question() for _ in range(BATCH)]
            yield post(address, json.dumps({"questions": asked}).encode(), next(tokens), _fresh())

    found = []
    least, goals = LEAST[name], GOALS[name]
    for what, make, end, clients, many, claimed, goal in (
        ("a durable answer", single, "/ask", CLIENTS, 1, least[0], goals[0]),
        ("an answer given before", repeated, "/ask", CLIENTS, 1, least[1], goals[1]),
        ("a durable answer", single, "/ask", 1, 1, least[2], goals[2]),
        (f"an answer in a batch of {BATCH}", batches, "/batch", 4, BATCH, None, None),
    ):
        before = processor(live.process.pid), processor(empty[1])
        ours, theirs = _alternating(live.url, path + end, empty[0], make, clients)
        spent = processor(live.process.pid) - before[0], processor(empty[1]) - before[1]
        each = [1e3 * seconds / sum(len(load.latencies) for load in ours) / many for seconds in spent]
        cost = f"{each[0]:.2f} ms of processor ({each[1]:.2f})"
        found.append(
            _row(
                f"{name}: {what}, {clients} client{'s' if clients > 1 else ''}", cost, ours, theirs, many, claimed, goal
            )
        )
    return found


def _alternating(
    url: str, path: str, empty: str, make: Callable[[str], Iterator[bytes]], clients: int
) -> tuple[list[Load], list[Load]]:
    drive(url, itertools.islice(make(path), clients), clients)  # everything is open, every token was hashed
    ours, theirs = [], []
    for _ in range(_ROUNDS):
        theirs.append(drive(empty, make("/ask"), clients))
        ours.append(drive(url, make(path), clients))
        assert set(ours[-1].statuses) == {200}, ours[-1].statuses
    return ours, theirs


def _row(
    name: str,
    cost: str,
    ours: list[Load],
    theirs: list[Load],
    many: int,
    least: float | None,
    goal: float | None,
) -> Row:
    ratios = sorted(a.rate / b.rate for a, b in zip(ours, theirs, strict=True))
    middle = sorted(ours, key=lambda load: load.rate)[len(ours) // 2]
    peer = sorted(theirs, key=lambda load: load.rate)[len(theirs) // 2]
    shown = (
        f"{cost}, {middle.rate * many:.0f}/s, p50 {middle.quantile(0.5) * 1e3:.0f} ms, "
        f"p99 {middle.quantile(0.99) * 1e3:.0f} ms; ratio {ratios[len(ratios) // 2]:.2f} "
        f"({ratios[0]:.2f} to {ratios[-1]:.2f})"
    )
    claim = "none: shown only" if least is None else f"at least {least:g} of its rate"
    claim += "" if goal is None else f"; the goal is {goal:g}"
    holds = least is None or ratios[len(ratios) // 2] >= least
    return Row(name, 1 / middle.rate, "an empty Starlette route", 1 / peer.rate, claim, holds, shown)


def _token(live: Live, name: str) -> str:
    with live.analyst(name) as client:
        client.get("/api/v1/me").raise_for_status()
        return f"Authorization: {client.headers['authorization']}"


def _fresh() -> str:
    return f"Idempotency-Key: k{next(_numbers)}"


def memory_row(questions: int) -> Row:
    """What a server holds after a fifth of the questions, and after all: half of them alone, half in batches."""
    with running(forked=False) as live:
        guard = live.guard("memory", _POLICY)
        path = f"/api/v1/guards/{guard['id']}"
        token = _token(live, "ann")
        held = [_ask_many(live, path, token, questions // 5)]
        held += [_ask_many(live, path, token, questions // 5) for _ in range(4)]
        with live.client() as steward:
            answered = steward.get(path).json()["progress"]["answered"]
    assert answered == questions // 5 * 5
    shown = f"{held[-1] / 2**20:.0f} MiB after {answered:,}, {held[0] / 2**20:.0f} MiB after a fifth"
    flat = held[-1] <= FLAT * held[0]
    return Row("memory after all questions", held[-1], "after a fifth", held[0], f"at most {FLAT:g}x", flat, shown)


def participants_row(participants: int) -> Row:
    """So many participants ask at the same moment, each twice: whether anything is lost, and how long they wait."""
    with running(forked=False) as live:
        guard = live.guard("contest", _POLICY)
        path = f"/api/v1/guards/{guard['id']}"
        tokens = [_token(live, f"participant {i}") for i in range(participants)]
        asked = [
            post(path + "/ask", json.dumps({"question": question()}).encode(), token, _fresh()) for token in tokens * 2
        ]
        return _all_at_once(live, path, asked, participants, f"{participants:,} participants at once")


def submissions_row(participants: int) -> Row:
    """So many participants submit predictions for all rows of a board at the same moment, each others."""
    with running(forked=False) as live:
        board = {"name": "sex", "key": "id", "label": "sex", "metric": "accuracy"}
        policy = {"questions": 2 * participants, "boards": [board], "kinds": ["score"]}
        guard = live.guard("board", policy)
        path = f"/api/v1/guards/{guard['id']}"
        tokens = [_token(live, f"participant {i}") for i in range(participants)]
        sent = [
            post(path + "/submissions?guess=0.5", _predictions(i), token, _fresh()).replace(_JSON, b"text/csv", 1)
            for i, token in enumerate(tokens)
        ]
        return _all_at_once(live, path, sent, participants, f"{participants:,} submissions to a board at once")


_JSON = b"application/json"


def _predictions(number: int) -> bytes:
    """One for every row, other ones for each number."""
    random = Random(number)
    lines = (f"{row},{'female' if random.random() < 0.5 else 'male'}\n" for row in range(ROWS))
    return ("id,prediction\n" + "".join(lines)).encode()


def _all_at_once(live: Live, path: str, asked: list[bytes], clients: int, name: str) -> Row:
    """Send everything over so many connections, and again to whoever is told to come back, with the same keys."""
    first = drive(live.url, iter(asked), clients)
    again, answers = first, dict[int, bytes]()
    for _ in range(_TRIES):
        if set(again.statuses) == {200}:
            break
        assert set(again.statuses) <= {200, 503}, again.statuses
        again = drive(live.url, iter(asked), CLIENTS)
    drive(live.url, iter(asked), CLIENTS, lambda body, _: answers.update({json.loads(body)["sequence"]: body}))
    with live.client() as steward:
        answered = steward.get(path, timeout=300).json()["progress"]["answered"]
        genuine = steward.post(path + "/verify", json={}, timeout=300).json()["ok"]
    kept = len(answers) == answered == len(asked) and genuine
    shown = (
        f"{len(asked):,} answers, {answered:,} paid for, ledger {'genuine' if genuine else 'NOT genuine'}; "
        f"{first.rate:.0f}/s, p50 {first.quantile(0.5) * 1e3:.0f} ms, p99 {first.quantile(0.99) * 1e3:.0f} ms; "
        f"told to come back: {first.statuses[503]:,}"
    )
    return Row(name, 1 / first.rate, "none", 1 / first.rate, "each answered and paid once", kept, shown)


def _ask_many(live: Live, path: str, token: str, number: int) -> float:
    alone, together = number // 10, number - number // 10
    single = (post(path + "/ask", json.dumps({"question": question()}).encode(), token, _fresh()) for _ in range(alone))
    many = (
        post(path + "/batch", json.dumps({"questions": [question() for _ in range(size)]}).encode(), token, _fresh())
        for size in [500] * (together // 500) + [together % 500] * (together % 500 > 0)
    )
    for requests, clients in ((single, CLIENTS), (many, 2)):
        done = drive(live.url, requests, clients)
        assert set(done.statuses) == {200}, done.statuses
    return resident(live.process.pid)


def processor(process: int) -> float:
    """Seconds of processor time that a process has used."""
    used = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")


def resident(process: int) -> float:
    """Bytes of memory that a process holds."""
    return float(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def timing_row(pairs: int) -> Row:
    """Two samples that differ in hidden rows only, asked in turn: whether their response times can be told apart."""
    with running(forked=False) as live:
        found = timing_pairs.over_http(live, pairs)
    name, claim = "requests about hidden rows, none and all true", f"p >= {timing_pairs.ERROR:g}"
    shown = f"{2 * pairs:,} of them, median difference {found.median * 1e6:.0f} µs"
    return Row(name, found.first, "the other sample", found.second, claim, not found.separable, shown)


def main() -> None:
    """Each row as it is measured."""
    for row in rows():
        print(row, flush=True)


__all__ = ["empty_route", "memory_row", "participants_row", "resident", "rows", "submissions_row", "timing_row"]

if __name__ == "__main__":
    main()
