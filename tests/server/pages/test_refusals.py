"""What is refused before a route is found: pages for browsers, problems for programs, each time."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.server.live import Live, running, send
from tests.server.pages.visiting import Visitor

PERSON = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture(scope="module")
def small() -> Iterator[Live]:
    """A server that takes little."""
    with running(max_body=2048, max_upload=4096, failures=10_000) as server:
        yield server


def check(done: httpx.Response, person: bool, status: int, code: str, words: str) -> None:
    assert done.status_code == status, done.text
    assert done.headers["x-request-id"]
    assert done.headers["x-content-type-options"] == "nosniff"
    if person:
        assert done.headers["content-type"] == "text/html; charset=utf-8"
        assert "default-src 'none'" in done.headers["content-security-policy"]
        assert "<h1>" in done.text
        assert words in done.text
    else:
        assert done.headers["content-type"] == "application/problem+json"
        found = done.json()
        assert (found["code"], found["request_id"]) == (code, done.headers["x-request-id"])
        assert words.lower() in found["detail"].lower()


@pytest.mark.parametrize("person", [True, False])
def test_outside_the_api(small: Live, person: bool) -> None:
    headers = PERSON if person else {"Accept": "*/*"}
    ask: dict[str, Any] = {"headers": headers, "timeout": 30}
    check(send("GET", small.url + "/nothing", **ask), person, 404, "not-found", "There is nothing at this address")
    check(send("PUT", small.url + "/sign-in", **ask), person, 405, "method-not-allowed", "Not with this method")
    big = send("POST", small.url + "/sign-in", content=b"x" * 3000, **ask)
    check(big, person, 413, "too-large", "The body must have at most 2048 bytes")

    def drip() -> Iterator[bytes]:
        yield from [b"x" * 1000] * 4

    check(send("POST", small.url + "/sign-in", content=drip(), **ask), person, 413, "too-large", "at most 2048 bytes")
    packed = headers | {"Content-Encoding": "gzip"}
    done = send("POST", small.url + "/sign-in", content=b"x", headers=packed)
    check(done, person, 415, "unsupported-media-type", "without Content-Encoding")
    assert send("GET", small.url + "/sign-in", **ask).status_code == 200, "what is right is answered"


@pytest.mark.parametrize("person", [True, False])
@pytest.mark.parametrize("host", ["[::1", "[zz]:1", "a b", "a/b", "a\\b", "<b>", "a:999999", "a:70000", "é"])
def test_a_host_that_is_none(small: Live, person: bool, host: str) -> None:
    for path, page in (("/", person), ("/nothing", person), ("/api/v1/me", False), ("/healthz", False)):
        done = raw(small, path, host, PERSON["Accept"] if person else "*/*")
        check(done, page, 400, "malformed-request", "The Host header names no host")
        assert host not in done.headers.values(), "what was sent is not sent back"


@pytest.mark.parametrize("host", ["localhost", "[::1]:8321", "example.org:443", "127.0.0.1", ""])
def test_a_host_that_is_one(small: Live, host: str) -> None:
    assert raw(small, "/", host, PERSON["Accept"]).status_code == 200


def raw(live: Live, path: str, host: str, accept: str) -> httpx.Response:
    """A request with a Host header that no client would send."""
    where, port = live.url.removeprefix("http://").split(":")
    with socket.create_connection((where, int(port)), 30) as wire:
        said = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n"
        wire.sendall(said.encode())
        got = b""
        while piece := wire.recv(65536):
            got += piece
    head, _, body = got.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = [tuple(line.split(": ", 1)) for line in lines]
    if any(name.lower() == "transfer-encoding" for name, _ in headers):
        raise AssertionError("answers here have a length")
    return httpx.Response(int(first.split()[1]), headers=headers, content=body)  # type: ignore[arg-type]


def test_the_api_and_what_machines_read_never_answer_with_pages(small: Live) -> None:
    for path in ("/api/v1/nothing", "/api/v1/me", "/metrics"):
        done = send("GET", small.url + path, headers=PERSON)
        assert done.headers["content-type"] == "application/problem+json", path
        assert done.status_code in (401, 404)
    big = send("POST", small.url + "/api/v1/tokens", headers=PERSON, content=b"x" * 3000)
    assert big.headers["content-type"] == "application/problem+json"


def test_a_form_that_is_too_large_is_a_page_with_a_way_back(small: Live) -> None:
    with Visitor(small.url, small.steward_token) as steward:
        files = {"file": ("rows.csv", b"a,b\n" + b"1,2\n" * 2000)}
        data = {"csrf_token": steward.csrf_token, "name": "large"}
        done = steward.post("/samples", data=data, files=files, headers=PERSON)
        check(done, True, 413, "too-large", "The body must have at most 4096 bytes")
        assert 'href="/"' in done.text


def test_a_number_that_is_none_is_named_at_its_field(live: Live) -> None:
    guard = live.guard("fields", {"questions": 5})
    with live.client() as steward:
        token = steward.post("/api/v1/tokens", json={"role": "analyst", "name": "ann"}).json()["token"]
    with Visitor(live.url, token) as ann:
        form = {"kind": "check", "do": "ask", "expression": "age < 40", "guess": "abc"}
        page = ann.fill(f"/guards/{guard['id']}/ask", **form)
        assert page.status_code == 422
        assert "does not fit this data set" not in page.text
        assert 'href="#field-guess"' in page.text
        field = page.text[page.text.index('<input id="field-guess"') :]
        assert 'aria-invalid="true"' in field[: field.index(">")]
        assert "guess must be a number, got" in field[: field.index("</div>")]
        page = ann.fill(f"/guards/{guard['id']}/ask", **form | {"guess": "0.5", "expression": "hair = 3"})
        assert 'href="#field-expression"' in page.text
        field = page.text[page.text.index('id="field-expression"') :]
        assert 'aria-invalid="true"' in field[: field.index(">")]
        assert page.text.count('aria-invalid="true"') == 1
