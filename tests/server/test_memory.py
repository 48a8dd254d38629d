"""A server that has answered more questions does not hold more memory. `python -m benchmarks server` asks 100,000."""

from __future__ import annotations

import json
from collections.abc import Iterator

from benchmarks.bench_server import resident
from benchmarks.http_load import drive, post

from tests.server.live import Live, running

ROUND = 1500
ROOM = 12 * 2**20
"""Bytes by which an allocator may differ after the first round; a leak of 4 KiB a question would be found."""


def _asked(path: str, token: str, begin: int) -> Iterator[bytes]:
    for number in range(begin, begin + ROUND, 100):
        asked = [_question(i) for i in range(number, number + 100)]
        body = json.dumps({"questions": asked}).encode()
        yield post(path + "/batch", body, token, f"Idempotency-Key: batch-{number}")


def _question(number: int) -> dict[str, object]:
    return {"kind": "check", "expression": f"age < {45 + number / 2**30!r}", "guess": 0.5}


def _held(live: Live, path: str, token: str, begin: int) -> float:
    done = drive(live.url, _asked(path, token, begin), 2)
    assert set(done.statuses) == {200}
    return resident(live.process.pid)


def test_memory_does_not_grow_with_what_was_answered() -> None:
    with running() as live:
        path = f"/api/v1/guards/{live.guard('memory', {'questions': 10**6})['id']}"
        with live.analyst("ann") as ann:
            token = f"Authorization: {ann.headers['authorization']}"
        held = [_held(live, path, token, number * ROUND) for number in range(4)]
    assert held[-1] - held[1] < ROOM, [f"{one / 2**20:.1f} MiB" for one in held]
