"""Rates, queues, time and an orderly end. Each refusal says when to come back and changes nothing."""

from __future__ import annotations

import json
import socket
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress

import httpx
import pytest

from holdfast.server.http import Failures, Rates
from tests.server.live import CHECK, Live, running, send


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
    with tight.client() as steward, ThreadPoolExecutor(2) as pool:
        # While somebody else holds the ledger's lock no token is made, so that both places stay taken.
        with closing(sqlite3.connect(tight.folder / "ledger.db", isolation_level=None, timeout=30)) as held:
            held.execute("BEGIN IMMEDIATE")

            def insist() -> httpx.Response:
                """Ask until it is let in: whoever looks at the counts below has one of the two places for a moment."""
                while True:
                    new = {"role": "analyst", "name": "ann"}
                    done = send("POST", tight.url + API[0], json=new, headers=steward.headers)
                    if done.status_code != 503:
                        return done

            asked = [pool.submit(insist) for _ in range(2)]
            end = time.monotonic() + 60
            while "holdfast_requests_inside 3\n" not in steward.get("/metrics").text:  # with the one that asks
                assert time.monotonic() < end
            full = steward.get("/api/v1/me")
            assert (full.status_code, full.json()["code"]) == (503, "overloaded")
            assert full.headers["retry-after"] == "1"
            assert steward.get("/healthz").status_code == 200, "whether it is up can be asked all the same"
            held.execute("ROLLBACK")
        assert [one.result().status_code for one in asked] == [201, 201]
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
    """Bodies that never end: the API asks for a token before it reads one, and what is on its way takes no place."""
    with ExitStack() as stack, tight.client() as steward:
        for _ in range(4):
            line = stack.enter_context(posted(tight, *API))
            assert answered(line, "\r\n\r\n").startswith("HTTP/1.1 401 "), "answered before the body came"
        forms = [stack.enter_context(posted(tight, *FORM)) for _ in range(4)]
        assert [answered(line, "\r\n\r\n")[: len(READ_ON)] for line in forms] == [READ_ON] * 4
        for _ in range(4):  # one after the other: two at once may be at the door
            line = stack.enter_context(posted(tight, *API, tight.steward_token))
            assert answered(line, "\r\n\r\n").startswith(READ_ON)
        assert steward.get("/api/v1/me").status_code == 200
        assert steward.get("/sign-in").status_code == 200


def test_three_hundred_unfinished_forms_stop_no_page() -> None:
    with running() as live, ExitStack() as stack, live.client() as steward:
        forms = [stack.enter_context(posted(live, *FORM)) for _ in range(300)]
        assert answered(forms[0], "timed-out").count("HTTP/1.1 504 ") == 1, "the oldest of an address made room"
        for path in ("/sign-in", "/", "/api/v1/me"):
            assert steward.get(path, follow_redirects=True).status_code == 200
        with httpx.Client(base_url=live.url, timeout=30) as person:  # from the same address as all those forms
            assert person.post("/sign-in", data={"token": live.steward_token}).status_code == 303
        assert answered(forms[-1], "\r\n\r\n").startswith(READ_ON), "the last one may still be finished"


def test_headers_that_do_not_come_end_their_connection() -> None:
    with running(read_seconds=0.6) as live:
        host, port = live.url.removeprefix("http://").split(":")
        head = f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n"
        begun = time.monotonic()
        with ExitStack() as stack:
            lines = [stack.enter_context(socket.create_connection((host, int(port)), timeout=60)) for _ in range(4)]
            silent, half, dripping, second = lines
            half.sendall(head.encode())
            second.sendall(f"{head}\r\n".encode())
            assert answered(second, "ok").startswith("HTTP/1.1 200 ")
            second.sendall(head[:20].encode())  # the next request over a connection that is kept
            with suppress(OSError):  # a byte now and then gains no time
                for letter in head * 100:
                    dripping.sendall(letter.encode())
                    time.sleep(0.05)
                    if time.monotonic() > begun + 20:
                        break
            assert time.monotonic() < begun + 20, "a connection that drips was kept open"
            for line in (silent, half, second):
                assert line.recv(100) == b""
        assert send("GET", live.url + "/healthz").status_code == 200


def test_a_server_that_is_told_to_stop_ends_in_time_whatever_a_thread_does() -> None:
    """A thread that waits for a lock for half a minute holds up the end no longer than `shutdown_seconds`."""
    with running(shutdown_seconds=2) as live:
        guard = live.guard("stuck", {"questions": 10})
        at = f"/api/v1/guards/{guard['id']}"
        with live.client() as steward, ThreadPoolExecutor(1) as pool:
            with closing(sqlite3.connect(live.folder / "ledger.db", isolation_level=None, timeout=30)) as held:
                held.execute("BEGIN IMMEDIATE")
                asked = pool.submit(steward.post, at + "/ask", json={"question": CHECK})
                end = time.monotonic() + 60
                while (
                    "holdfast_requests_inside 2\n"
                    not in send("GET", live.url + "/metrics", headers=steward.headers).text
                ):
                    assert time.monotonic() < end
                time.sleep(0.3)  # until its thread has come to the lock
                begun = time.monotonic()
                assert live.stop() == 0
                assert time.monotonic() - begun < 8, "two seconds, and some for a busy machine"
                held.execute("ROLLBACK")
            with suppress(httpx.TransportError):
                assert asked.result().status_code >= 500


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
