"""Rates, queues, time and an orderly end. Each refusal says when to come back and changes nothing."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator

import httpx
import pytest

from holdfast.server.limits import Failures, Rates
from tests.server.live import Live, running


@pytest.fixture(scope="module")
def tight() -> Iterator[Live]:
    """A server with room for two requests, two seconds each."""
    with running(rate=20, burst=25, threads=1, queue=1, seconds=2, failures=3) as live:
        yield live


def test_a_token_that_asks_too_often_waits(tight: Live) -> None:
    with tight.analyst("hasty") as hasty, tight.client() as steward:
        done = [hasty.get("/api/v1/me") for _ in range(60)]
        refused = [one for one in done if one.status_code == 429]
        assert refused
        assert {one.status_code for one in done} == {200, 429}
        assert refused[0].json()["code"] == "rate-limited"
        assert int(refused[0].headers["retry-after"]) >= 1
        assert steward.get("/api/v1/me").status_code == 200, "others are not held up"
        time.sleep(0.2)
        assert hasty.get("/api/v1/me").status_code == 200


def test_wrong_tokens_are_slowed_down_and_right_ones_are_not(tight: Live) -> None:
    with tight.client() as steward:
        assert steward.get("/api/v1/me").status_code == 200
        right = tight.steward_token
        codes = []
        for i in range(8):
            wrong = right[:-4] + f"{i:04x}"
            codes.append(steward.get("/api/v1/me", headers={"Authorization": f"Bearer {wrong}"}).status_code)
        assert codes[0] == 401
        assert codes[-1] == 429
        assert steward.get("/api/v1/me").status_code == 200


def test_a_full_queue_says_so_and_slow_requests_end(tight: Live) -> None:
    host, port = tight.url.removeprefix("http://").split(":")
    head = (
        f"POST /api/v1/tokens HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {tight.steward_token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    )
    lines = [socket.create_connection((host, int(port)), timeout=10) for _ in range(2)]
    try:
        for line in lines:
            line.sendall(head.encode())
        time.sleep(0.5)
        with tight.client() as steward:
            full = steward.get("/api/v1/me")
            assert (full.status_code, full.json()["code"]) == (503, "overloaded")
            assert full.headers["retry-after"] == "1"
            assert steward.get("/healthz").status_code == 200, "whether it is well can be asked all the same"
            for line in lines:
                line.settimeout(10)
                answer = line.recv(4096).decode()
                while "\r\n\r\n{" not in answer:  # head and body may come apart
                    more = line.recv(4096).decode()
                    assert more, answer
                    answer += more
                assert answer.startswith("HTTP/1.1 504 ")
                assert "timed-out" in answer
            assert steward.get("/api/v1/me").status_code == 200
    finally:
        for line in lines:
            line.close()


def test_nobody_without_a_token_takes_a_place_in_the_queue(tight: Live) -> None:
    """Bodies that never end: the API asks for a token before it reads one, and forms take places of the pages only."""
    host, port = tight.url.removeprefix("http://").split(":")
    lines = []
    try:
        for path, kind in (("/api/v1/tokens", "application/json"), ("/sign-in", "application/x-www-form-urlencoded")):
            for _ in range(4):
                line = socket.create_connection((host, int(port)), timeout=10)
                head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\nContent-Length: 99\r\n\r\n"
                line.sendall(f"{head}{{".encode())
                lines.append(line)
        for line in lines[:4]:
            assert line.recv(4096).decode().startswith("HTTP/1.1 401 "), "answered before the body came"
        time.sleep(0.3)
        with tight.client() as steward:
            assert steward.get("/api/v1/me").status_code == 200
            assert steward.get("/sign-in").status_code == 503, "which is why a reverse proxy reads forms first"
            time.sleep(2.5)
            assert steward.get("/sign-in").status_code == 200
    finally:
        for line in lines:
            line.close()


def test_a_server_that_is_told_to_stop_ends_what_it_began() -> None:
    with running() as live:
        guard = live.guard("stop", {"questions": 10_000})
        questions = [{"kind": "check", "expression": f"income < {i}", "guess": 0.5} for i in range(1000, 1080)]
        lines: list[dict[str, object]] = []
        begun = threading.Event()

        def ask() -> None:
            at = f"/api/v1/guards/{guard['id']}/stream"
            with live.client() as client, client.stream("POST", at, json={"questions": questions}) as stream:
                for line in stream.iter_lines():
                    lines.append(json.loads(line))
                    begun.set()

        asking = threading.Thread(target=ask)
        asking.start()
        assert begun.wait(20)
        status = live.stop()
        asking.join(20)
        assert status == 0
        assert lines[-1] == {"event": "done", "answered": 80, "questions": 80}
        logged = [json.loads(line) for line in live.logged().splitlines()]
        assert "stopped" in [line["event"] for line in logged]
        assert not [line for line in logged if line["level"] == "error"]
        with pytest.raises(httpx.TransportError):
            httpx.get(live.url + "/healthz", timeout=5)


def test_buckets_fill_again_and_forget_the_oldest() -> None:
    rates = Rates(rate=10.0, burst=2)
    assert [rates.take("a", 0.0) for _ in range(3)] == [0.0, 0.0, 0.1]
    assert rates.take("b", 0.0) == 0.0
    assert rates.take("a", 0.1) == 0.0
    failures = Failures(2)
    for _ in range(2):
        assert failures.wait("x") == 0
        failures.count("x")
    failures.count("x")
    assert failures.wait("x") > 20
