"""Rates, queues, time and an orderly end. Each refusal says when to come back and changes nothing."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from holdfast.server.limits import Failures, Rates
from tests.server.live import Live, running


@pytest.fixture(scope="module")
def tight() -> Iterator[Live]:
    """A server with room for two requests, which may take longer than any test does."""
    with running(threads=1, queue=1, seconds=300, failures=3) as live:
        yield live


def test_a_token_that_asks_too_often_waits() -> None:
    with running(rate=1, burst=5) as live, live.analyst("hasty") as hasty, live.client() as steward:
        done = [hasty.get("/api/v1/me") for _ in range(40)]  # all 40 are answered only if they take 35 seconds
        refused = [one for one in done if one.status_code == 429]
        assert refused
        assert {one.status_code for one in done} == {200, 429}
        assert refused[0].json()["code"] == "rate-limited"
        wait = int(refused[0].headers["retry-after"])
        assert wait >= 1
        assert steward.get("/api/v1/me").status_code == 200, "others are not held up"
        time.sleep(wait)
        assert hasty.get("/api/v1/me").status_code == 200


def test_wrong_tokens_are_slowed_down_and_right_ones_are_not(tight: Live) -> None:
    with tight.client() as steward:
        assert steward.get("/api/v1/me").status_code == 200
        right = tight.steward_token
        wrong = [right[:-1] + digit for digit in "0123456789" if digit != right[-1]]  # whatever the right one ends in
        codes = [steward.get("/api/v1/me", headers={"Authorization": f"Bearer {one}"}).status_code for one in wrong[:8]]
        assert codes[0] == 401
        assert codes[-1] == 429
        assert steward.get("/api/v1/me").status_code == 200


def posted(live: Live, path: str, kind: str, token: str | None = None) -> socket.socket:
    """A connection with a request whose body never ends."""
    host, port = live.url.removeprefix("http://").split(":")
    line = socket.create_connection((host, int(port)), timeout=60)
    allowed = "" if token is None else f"Authorization: Bearer {token}\r\n"
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\n{allowed}Content-Type: {kind}\r\nContent-Length: 99\r\n"
    line.sendall(f"{head}Expect: 100-continue\r\n\r\n{{".encode())
    return line


def answered(line: socket.socket, words: str) -> str:
    """What comes until it has these words, or the end."""
    said = ""
    while words not in said and (more := line.recv(4096).decode()):
        said += more
    return said


API, FORM = ("/api/v1/tokens", "application/json"), ("/sign-in", "application/x-www-form-urlencoded")
READ_ON = "HTTP/1.1 100 Continue"
"""What a client is told whose request was let in: its body is read now."""


def test_a_full_queue_says_so(tight: Live) -> None:
    with ExitStack() as stack:
        for _ in range(2):
            line = stack.enter_context(posted(tight, *API, tight.steward_token))
            assert answered(line, "\r\n\r\n").startswith(READ_ON)
        with tight.client() as steward:
            full = steward.get("/api/v1/me")
            assert (full.status_code, full.json()["code"]) == (503, "overloaded")
            assert full.headers["retry-after"] == "1"
            assert steward.get("/healthz").status_code == 200, "whether it is well can be asked all the same"
    with tight.client() as steward:
        until_answered(steward, "/api/v1/me")


def test_slow_requests_end_and_leave_their_places() -> None:
    with running(threads=1, queue=1, seconds=0.5) as live, ExitStack() as stack, live.client() as steward:
        for place, token in ((API, live.steward_token), (FORM, None)):
            for _ in range(2):
                line = stack.enter_context(posted(live, *place, token))
                assert "HTTP/1.1 504 " in answered(line, "timed-out")
        for path in ("/api/v1/me", "/sign-in"):
            until_answered(steward, path)


def until_answered(client: httpx.Client, path: str) -> None:
    """Places of those who hung up are free as soon as the server has seen it."""
    end = time.monotonic() + 60
    while client.get(path).status_code != 200:
        assert time.monotonic() < end, "a place stays taken"
        time.sleep(0.01)


def test_nobody_without_a_token_takes_a_place_in_the_queue(tight: Live) -> None:
    """Bodies that never end: the API asks for a token before it reads one, and forms take places of the pages only."""
    with ExitStack() as stack, tight.client() as steward:
        for _ in range(4):
            line = stack.enter_context(posted(tight, *API))
            assert answered(line, "\r\n\r\n").startswith("HTTP/1.1 401 "), "answered before the body came"
        forms = [stack.enter_context(posted(tight, *FORM)) for _ in range(2)]
        assert [answered(line, "\r\n\r\n")[: len(READ_ON)] for line in forms] == [READ_ON] * 2
        assert steward.get("/api/v1/me").status_code == 200
        assert steward.get("/sign-in").status_code == 503, "which is why a reverse proxy reads forms first"
        for line in forms:
            line.close()
        until_answered(steward, "/sign-in")


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
        assert begun.wait(60)
        status = live.stop()
        asking.join(60)
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
