"""More questions than there is room for: refused with a time to come back, and nothing is lost or left unpaid."""

from __future__ import annotations

import json
import socket
import sqlite3
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from benchmarks.http_load import post

from tests.server.live import Live, entries, running

CLIENTS, ROOM = 24, 6
CAP = 1000


@pytest.fixture(scope="module")
def small() -> Iterator[Live]:
    """A server with room for six requests, two of them at work."""
    with running(threads=2, queue=ROOM - 2) as live:
        yield live


def question(number: int) -> dict[str, Any]:
    """One of its own for each number."""
    return {"kind": "check", "expression": f"income < {1000 + number}", "guess": 0.02}


def test_what_finds_no_room_is_refused_and_what_finds_room_is_answered(small: Live) -> None:
    guard = small.guard("overload", {"questions": CAP})
    at = f"/api/v1/guards/{guard['id']}"
    with small.analyst("ann") as ann:
        token = ann.headers["authorization"]
        assert ann.post(at + "/ask", json={"question": question(900)}).status_code == 200  # everything is open

    def ask(number: int) -> httpx.Response:
        headers = {"Authorization": token, "Idempotency-Key": f"key-{number}"}
        with httpx.Client(base_url=small.url, timeout=60) as client:
            return client.post(at + "/ask", json={"question": question(number)}, headers=headers)

    # While somebody else holds the ledger's lock nothing is answered, so that the room fills for certain.
    held = sqlite3.connect(small.folder / "ledger.db", isolation_level=None, timeout=30)
    held.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(CLIENTS) as pool:
        asked = [pool.submit(ask, number) for number in range(CLIENTS)]
        until = time.monotonic() + 30
        while sum(one.done() for one in asked) < CLIENTS - ROOM and time.monotonic() < until:
            time.sleep(0.01)
        hung_up = _hang_up(small, at, token, 500)  # no room for it either
        held.execute("ROLLBACK")
        held.close()
        done = [one.result() for one in asked]
    answered = {number for number, one in enumerate(done) if one.status_code == 200}
    refused = [one for one in done if one.status_code != 200]
    assert len(answered) == ROOM, "who was inside when the lock was free again is answered"
    assert {(one.status_code, one.json()["code"]) for one in refused} == {(503, "overloaded")}
    assert all(int(one.headers["retry-after"]) >= 1 for one in refused)
    assert hung_up.startswith(b"HTTP/1.1 503 ")
    with small.client() as steward:
        paid = [one["key"] for one in entries(steward, at) if one["kind"] == "answered" and one["key"]]
        assert sorted(paid) == sorted(f"key-{number}" for number in answered), "paid are those answered, and no other"

    again = [ask(number) for number in range(CLIENTS)]  # with the same keys, one after the other
    assert {one.status_code for one in again} == {200}
    assert {number for number, one in enumerate(again) if one.json()["repeated"]} == answered
    with small.client() as steward:
        assert steward.get(at).json()["remaining"]["questions"] == CAP - CLIENTS - 1
        assert steward.post(at + "/verify").json()["ok"]


def test_who_hangs_up_has_paid_once_or_not_at_all(small: Live) -> None:
    guard = small.guard("hanging", {"questions": CAP})
    at = f"/api/v1/guards/{guard['id']}"
    with small.analyst("bob") as bob, small.client() as steward:
        token = bob.headers["authorization"]
        for number in range(40):
            _hang_up(small, at, token, number, wait=False)
        until = time.monotonic() + 60
        while steward.get(at).status_code != 200:  # until there is room again
            assert time.monotonic() < until
        before = {one["key"] for one in entries(steward, at) if one["kind"] == "answered"}
        for number in range(40):
            headers = {"Idempotency-Key": f"key-{number}"}
            while (
                done := bob.post(at + "/ask", json={"question": question(number)}, headers=headers)
            ).status_code != 200:
                assert done.status_code == 503
            assert done.json()["repeated"] or f"key-{number}" not in before
        paid = [one["key"] for one in entries(steward, at) if one["kind"] == "answered"]
        assert len(paid) == len(set(paid)) == 40
        assert steward.get(at).json()["remaining"]["questions"] == CAP - 40
        assert steward.post(at + "/verify").json()["ok"]


def test_who_asks_too_often_is_told_when_to_come_back_and_pays_nothing() -> None:
    with running(rate=0.01, burst=5) as live:  # five at once, and no other for 100 seconds
        guard = live.guard("hasty", {"questions": CAP})
        at = f"/api/v1/guards/{guard['id']}"
        with live.analyst("ann") as ann:
            done = [ann.post(at + "/ask", json={"question": question(i)}) for i in range(12)]
        refused = [one for one in done if one.status_code == 429]
        assert [one.status_code for one in done] == [200] * 5 + [429] * 7
        assert all(int(one.headers["retry-after"]) >= 1 for one in refused)
        with live.client() as steward:
            assert steward.get(at).json()["remaining"]["questions"] == CAP - (12 - len(refused))


def _hang_up(live: Live, at: str, token: str, number: int, wait: bool = True) -> bytes:
    """Ask, and go away: after the first bytes of the answer, or before any."""
    body = json.dumps({"question": question(number)}).encode()
    host, port = live.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=30) as line:
        line.sendall(post(at + "/ask", body, f"Authorization: {token}", f"Idempotency-Key: key-{number}"))
        return line.recv(64) if wait else b""
