"""What is read without h11 is what h11 reads, and what is written is what h11 understands."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from typing import Any

import h11
import pytest
import uvicorn
from uvicorn.server import ServerState

from holdfast.server import plain_requests
from holdfast.server.plain_requests import PlainRequest, read
from holdfast.server.running import WholeWrites
from tests.server.live import Live

USUAL = (
    b"POST /api/v1/guards/g_1/ask?x=1 HTTP/1.1\r\nHost: here\r\nContent-Type: application/json\r\n"
    b"Content-Length: 8\r\nConnection: keep-alive\r\nAuthorization: Bearer hf_1 \r\n\r\n{'a': 1}"
)
ODD = (
    *(
        b"\r\n",
        b"\n",
        b"\t",
        b" ",
        b":",
        b"\0",
        b"\xe9",
        b"\x7f",
        b"*",
        b"+",
        b"0",
        b"9",
        b"GET ",
        b"HEAD ",
        b"HTTP/1.0",
    ),
    *(b"Content-Length: 8\r\n", b"content-length: 3\r\n", b"Transfer-Encoding: chunked\r\n", b"Host: there\r\n"),
    *(b"Connection: close\r\n", b"Connection: upgrade\r\n", b"Expect: 100-continue\r\n", b"Upgrade: h2c\r\n"),
    *(b" folded\r\n", b"X_Y: 1\r\n", b"X-Y:1\r\n", b"TE: trailers\r\n", b"HTTP/1.1", b"http://there/"),
    *(b"5\r\n12345\r\n0\r\n\r\n", b"GET / HTTP/1.1\r\nHost: b\r\n\r\n"),
)
"""What is put into usual requests, or in the place of some of their bytes."""


def by_h11(data: bytes) -> PlainRequest | None:
    """One whole request as h11 reads it; None where that is not all, or nothing."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(data)
    try:
        request, body = connection.next_event(), b""
        while isinstance(event := connection.next_event(), h11.Data):
            body += bytes(event.data)
    except h11.RemoteProtocolError:
        return None
    if not isinstance(request, h11.Request) or not isinstance(event, h11.EndOfMessage) or connection.trailing_data[0]:
        return None
    if connection.their_state is not h11.DONE:  # it ends the connection
        return None
    headers = [(bytes(name), bytes(value)) for name, value in request.headers]
    return PlainRequest(request.method.decode(), request.target, headers, body)


def mutated(count: int) -> Iterator[bytes]:
    random = Random(5)
    for _ in range(count):
        data = USUAL
        for _ in range(random.choice([1, 1, 2, 3])):
            lines = [0, *(i + 2 for i in range(len(data)) if data[i : i + 2] == b"\r\n")]
            at = random.choice(lines) if random.random() < 0.5 else random.randrange(len(data) + 1)
            data = data[:at] + random.choice(ODD) + data[at + random.choice([0, 0, 0, 1, 9]) :]
        yield data


def disagreements(count: int) -> tuple[int, int]:
    taken = wrong = 0
    for data in mutated(count):
        plain = read(data)
        if plain is not None:
            taken += 1
            wrong += plain != by_h11(data)
    return taken, wrong


def test_whatever_is_taken_is_read_as_h11_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(USUAL) == by_h11(USUAL) is not None
    taken, wrong = disagreements(20_000)
    assert taken > 1000
    assert wrong == 0
    monkeypatch.setattr(plain_requests, "_ODD", frozenset())  # one that looks at no framing is found out
    assert disagreements(5_000)[1] > 20


@pytest.mark.parametrize("end", range(0, len(USUAL), 7))
def test_pieces_are_for_h11(end: int) -> None:
    assert read(USUAL[:end]) is None
    assert read(USUAL + USUAL[:end]) is None or not end


def test_long_requests_are_for_h11() -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n"
    assert read(head % 60_000 + b"x" * 60_000) is not None
    assert read(head % 70_000 + b"x" * 70_000) is None


class Recording:
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written, self.closed, self.paused = b"", False, False

    def write(self, data: bytes) -> None:
        self.written += data

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


App = Callable[[Any, Any, Any], Awaitable[None]]


def said(app: App, *pieces: bytes) -> Recording:
    """What a connection answers to these pieces, each of which comes in a step of the loop of its own."""

    async def main() -> Recording:
        config = uvicorn.Config(app, log_config=None, lifespan="off", access_log=False)
        config.load()
        line, transport = WholeWrites(config, ServerState(), {"read_seconds": 60.0}), Recording()
        line.connection_made(transport)  # type: ignore[arg-type]
        for piece in pieces:
            line.data_received(piece)
            await asyncio.sleep(0)
        for _ in range(50):
            await asyncio.sleep(0)
        assert not transport.paused or transport.closed
        closed = transport.closed
        line.connection_lost(None)
        transport.closed = closed
        return transport

    return asyncio.run(main())


def responses(written: bytes, count: int) -> list[tuple[int, bytes]]:
    """Responses as a client reads them."""
    connection, found = h11.Connection(h11.CLIENT), []
    connection.receive_data(written)
    for _ in range(count):
        connection.send(h11.Request(method="GET", target="/", headers=[("Host", "a")]))
        connection.send(h11.EndOfMessage())
        response, body = connection.next_event(), b""
        assert isinstance(response, h11.Response)
        while isinstance(event := connection.next_event(), h11.Data):
            body += bytes(event.data)
        assert isinstance(event, h11.EndOfMessage)
        found.append((response.status_code, body))
        if len(found) < count:
            connection.start_next_cycle()
    assert not connection.trailing_data[0]
    return found


def answering(status: int, headers: list[tuple[bytes, bytes]], *parts: bytes) -> App:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        asked = (await receive())["body"]
        await asyncio.sleep(0)
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for part in parts:
            await send({"type": "http.response.body", "body": part or asked, "more_body": True})
        await send({"type": "http.response.body"})

    return app


def test_responses_are_framed() -> None:
    whole, closing = (b"Content-Length", b"8"), (b"Connection", b"close")
    assert responses(said(answering(200, [whole], b""), USUAL).written, 1) == [(200, b"{'a': 1}")]
    assert responses(said(answering(201, [], b"", b"more"), USUAL).written, 1) == [(201, b"{'a': 1}more")]
    assert responses(said(answering(204, []), USUAL).written, 1) == [(204, b"")]
    ended = said(answering(200, [whole, closing], b""), USUAL)
    assert ended.closed
    assert responses(ended.written, 1) == [(200, b"{'a': 1}")]
    assert not said(answering(200, [whole], b""), USUAL).closed


def test_a_response_that_is_wrong_goes_no_further() -> None:
    split = said(answering(200, [(b"location", b"/a\r\nset-cookie: b")]), USUAL)
    assert b"set-cookie" not in split.written
    assert split.closed
    assert responses(split.written, 1)[0][0] == 500
    for length in (b"7", b"9"):
        assert said(answering(200, [(b"content-length", length)], b""), USUAL).closed


def test_requests_that_do_not_wait_are_answered_in_order() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = scope["path"].encode() + (await receive())["body"]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        head = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": body})

    def asked(path: str, *headers: str, body: str = "") -> bytes:
        return "\r\n".join([f"GET {path} HTTP/1.1", "Host: a", *headers, "", body]).encode()

    chunked = asked("/c", "Transfer-Encoding: chunked", body="2\r\nxy\r\n0\r\n\r\n")
    pieces = [asked("/a"), asked("/b"), chunked[:30], chunked[30:], asked("/d") + asked("/e"), asked("/%66")]
    told = responses(said(app, *pieces).written, 6)
    assert told == [(200, text) for text in (b"/a", b"/b", b"/cxy", b"/d", b"/e", b"/f")]


def test_a_server_takes_both_on_one_connection(live: Live) -> None:
    host, _, port = live.url.removeprefix("http://").partition(":")
    plain = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"
    pieces = b"GET /healthz HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", b"0\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=20) as line:
        for sent in ((plain,), pieces, (plain,), (plain + plain,)):
            for piece in sent:
                line.sendall(piece)
            wanted, got = len(sent[0]) // len(plain) if sent[0] != pieces[0] else 1, b""
            while got.count(b"HTTP/1.1 200") < wanted or not got.endswith(b"}"):
                got += line.recv(65536)
