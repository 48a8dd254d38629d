"""Free work as an attack: sixteen parallel requests that nobody pays for, and how long another analyst waits meanwhile.

Estimates of huge selections, levels of p-values that were never asked for before, and estimates of tests.

The attackers send their next request as soon as the last one is answered and heed no `Retry-After`. The other analyst
asks new questions one after the other, each durably answered, before, during and after the attack.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import socket
import sqlite3
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from multiprocessing.synchronize import Event
from typing import Any
from urllib.parse import urlsplit

from tests.server.live import Live, running

from benchmarks.http_load import post
from benchmarks.timing import LIMIT, Row

MOST = 5.0
"""How many times its quiet value another analyst's 99th percentile may be under attack."""
ATTACKERS = 16
ASKED = int(os.environ.get("HOLDFAST_BENCH_ATTACKED", "400"))
"""Questions of the other analyst before, during and after the attack."""
END = 5
"""Seconds in which a server will end."""
_SECONDS = 120.0
"""After which a phase ends, however many questions were answered."""
_POLICY = {
    "questions": 100_000,
    "privacy": {"kind": "pure-dp", "epsilon": 1000.0},
    "spend": {"kind": "pure-dp", "epsilon": 0.0001},
}
_ZCDP = {
    "questions": 1000,
    "privacy": {"kind": "zcdp", "rho": 0.001},
    "spend": {"kind": "zcdp", "rho": 1e-6},
}
_SPAWN = multiprocessing.get_context("spawn")
_numbers = itertools.count(1)


def rows() -> list[Row]:
    """The attack as it was found, and the same with requests that are just not too large to be taken."""
    with running(
        forked=False, rate=200.0, burst=400, free_work=0.2
    ) as live:  # as a server is started without further ado
        measured = [
            attacked(live, "estimates of 1000 candidates of 91 comparisons", [estimate(selection(1000, 91))]),
            attacked(live, "estimates of 52 candidates of 91 comparisons", [estimate(selection(52, 91))]),
            attacked(
                live, "adjusted p-values", [(f"/adjusted?p={0.001 + i * 1e-7!r}", b"") for i in range(2000)], _ZCDP
            ),
            attacked(live, "levels", [(f"/level?alpha={0.01 + i * 1e-7!r}", b"") for i in range(2000)], _ZCDP),
            attacked(
                live, "estimates of tests", [estimate(goodness_of_fit(0.01 + i * 1e-7)) for i in range(2000)], _ZCDP
            ),
        ]
    return [*measured, stopped(1), stopped(2)]


def estimate(question: dict[str, Any]) -> tuple[str, bytes]:
    """The address and the body of a request that asks what a question would give."""
    return "/estimate", json.dumps({"question": question}).encode()


def goodness_of_fit(alpha: float) -> dict[str, Any]:
    """A test at a level, whose price must be worked out."""
    categories = list(range(20, 60))
    p0 = [1 / len(categories)] * len(categories)
    return {"kind": "test", "name": "gof", "columns": ["age"], "categories": [categories], "p0": p0, "alpha": alpha}


def selection(candidates: int, comparisons: int) -> dict[str, Any]:
    """A question about many expressions, no two of them alike, which take the whole grammar to read."""
    made = {
        f"c{i}": "not(" + " or ".join(f"age<{(i * comparisons + j) % 977}" for j in range(comparisons)) + ")"
        for i in range(candidates)
    }
    return {"kind": "select", "candidates": made}


def attacked(live: Live, name: str, sent: list[tuple[str, bytes]], policy: dict[str, Any] | None = None) -> Row:
    """The 99th percentile of a question's time under attack, next to the quiet one.

    The attackers' guard is another one than that of the analyst who waits where a policy is given.
    """
    path = f"/api/v1/guards/{live.guard(name, _POLICY)['id']}"
    attacked = path if policy is None else f"/api/v1/guards/{live.guard(name + ' attacked', policy)['id']}"
    with live.analyst(f"attacker by {name}") as client:
        authorization = f"Authorization: {client.headers['authorization']}"
    requests = [_request(attacked + where, body, authorization) for where, body in sent]
    with live.analyst("other") as client:
        token = str(client.headers["authorization"])
    asked(live.url, path, token, 50)  # everything is open, every token was hashed
    quiet = asked(live.url, path, token, ASKED)
    with _attackers(live.url, requests) as told:
        time.sleep(0.5)
        health = [_seconds(live.url, "/healthz") for _ in range(20)]
        under = asked(live.url, path, token, ASKED)
    statuses = told.get()
    quiet += asked(live.url, path, token, ASKED)
    ratio = _p99(under) / _p99(quiet)
    shown = (
        f"p50 {_ms(statistics.median(quiet))} to {_ms(statistics.median(under))}, p99 {_ms(_p99(quiet))} to "
        f"{_ms(_p99(under))}, ratio {ratio:.1f}; /healthz at most {_ms(max(health))}; the attackers got {statuses}"
    )
    full = f"another analyst's p99, {ATTACKERS} parallel {name}"
    return Row(full, _p99(under), "without them", _p99(quiet), f"at most {MOST:g}x", ratio <= MOST, shown)


def stopped(workers: int) -> Row:
    """How long a server takes to end that is told to under attack, while a thread of it waits for a lock."""
    with running(forked=False, shutdown_seconds=END, workers=workers) as live:
        guard = live.guard("stopped", _POLICY)
        path = f"/api/v1/guards/{guard['id']}"
        with live.analyst("attacker") as client:
            authorization = f"Authorization: {client.headers['authorization']}"
        bodies = [json.dumps({"question": question}).encode() for question in (selection(52, 91), _new())]
        large, new = post(path + "/estimate", bodies[0], authorization), post(path + "/ask", bodies[1], authorization)
        with closing(sqlite3.connect(live.folder / "ledger.db", isolation_level=None, timeout=30)) as held:
            held.execute("BEGIN IMMEDIATE")
            with _attackers(live.url, [large]), _attackers(live.url, [new]):
                time.sleep(2)
                begun = time.perf_counter()
                live.stop()
                seconds = time.perf_counter() - begun
            held.execute("ROLLBACK")
    name = f"SIGTERM under attack, {workers} workers, threads that wait for a lock"
    holds = seconds <= END + 1
    return Row(name, seconds, LIMIT, END, "within shutdown_seconds, and one", holds, f"{seconds:.1f} of {END} s")


def _request(path: str, body: bytes, authorization: str) -> bytes:
    """A request as it is sent: a GET where there is no body."""
    if body:
        return post(path, body, authorization)
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{authorization}\r\n\r\n".encode()


def _new() -> dict[str, Any]:
    """A question that was never asked."""
    return {"kind": "check", "expression": f"age < {45 + next(_numbers) / 2**40!r}", "guess": 0.5}


@contextmanager
def _attackers(url: str, requests: list[bytes]) -> Iterator[Any]:
    """So many lines that send requests again and again, from a process of their own, until the block ends."""
    begun, stop, told = _SPAWN.Event(), _SPAWN.Event(), _SPAWN.SimpleQueue()
    attack = _SPAWN.Process(target=_attack, args=(url, requests, begun, stop, told), daemon=True)
    attack.start()
    try:
        assert begun.wait(60)
        yield told
    finally:
        stop.set()
        attack.join(10)
        attack.kill()


def asked(url: str, path: str, token: str, number: int) -> list[float]:
    """Seconds that each of so many new questions took."""
    parts = urlsplit(url)
    line = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    taken: list[float] = []
    end = time.monotonic() + _SECONDS
    while len(taken) < number and time.monotonic() < end:
        body = json.dumps({"question": _new()})
        begun = time.perf_counter()
        line.request("POST", path + "/ask", body, {"Authorization": token, "Content-Type": "application/json"})
        answer = line.getresponse()
        said = answer.read()
        taken.append(time.perf_counter() - begun)
        if answer.status in (503, 504):
            print(f"asked: {answer.status}", flush=True)
            line.close()
        else:
            assert answer.status == 200, said
    line.close()
    return taken


def _p99(taken: list[float]) -> float:
    return statistics.quantiles(taken, n=100, method="inclusive")[98] if len(taken) > 1 else taken[0]


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def _seconds(url: str, path: str) -> float:
    parts = urlsplit(url)
    begun = time.perf_counter()
    line = HTTPConnection(parts.hostname or "", parts.port, timeout=60)
    line.request("GET", path)
    line.getresponse().read()
    line.close()
    return time.perf_counter() - begun


def _attack(url: str, requests: list[bytes], begun: Event, stop: Event, told: Any) -> None:
    """In a process of its own: so many lines, each sending the requests in turn; how often which status came."""
    statuses: Counter[str] = Counter()
    turns = itertools.cycle(requests)
    for _ in range(ATTACKERS):
        threading.Thread(target=_send, args=(url, turns, begun, stop, statuses), daemon=True).start()
    stop.wait()
    told.put(dict(statuses))


def _send(url: str, requests: Iterator[bytes], begun: Event, stop: Event, statuses: Counter[str]) -> None:
    parts = urlsplit(url)
    while not stop.is_set():
        with suppress(OSError, HTTPException), socket.create_connection((parts.hostname, parts.port), 60) as line:
            while not stop.is_set():
                begun.set()
                line.sendall(next(requests))
                head = b""
                while b"\r\n\r\n" not in head:
                    head += _some(line)
                head, _, body = head.partition(b"\r\n\r\n")
                statuses[head[9:12].decode()] += 1
                said = [one for one in head.lower().split(b"\r\n") if one.startswith(b"content-length:")]
                while len(body) < int(said[0][15:] if said else 0):
                    body += _some(line)


def _some(line: socket.socket) -> bytes:
    data = line.recv(65536)
    if not data:
        raise ConnectionResetError
    return data


__all__ = ["attacked", "rows", "selection"]

if __name__ == "__main__":
    for row in rows():
        print(row, flush=True)
