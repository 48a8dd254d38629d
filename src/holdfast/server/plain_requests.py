"""Requests of the usual form, read and answered without h11: a third less work for the event loop.

A plain request came whole in one piece of data: a GET or POST of HTTP/1.1 with headers of printable ASCII, each of
those that frame a message once at most, and a body of the length that they say. Everything else is for h11 to read or
to refuse: other methods and versions, pieces, chunks, several requests at once, and what could be read in two ways.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from uvicorn.protocols.http.h11_impl import STATUS_PHRASES, RequestResponseCycle

if TYPE_CHECKING:
    from uvicorn._types import ASGISendEvent

WHOLE = "whole"
"""Under which name a request's state says that its body is there already, so that nobody need wait for it."""
LONGEST = 1 << 16
"""Bytes beyond which a request is not plain."""
_HEAD = re.compile(rb"(GET|POST) (/[!-~]*) HTTP/1\.1\r\n((?:[A-Za-z0-9-]+:[ -~]*\r\n)+)\r\n")
_ODD = frozenset((b"connection", b"expect", b"http2-settings", b"te", b"trailer", b"transfer-encoding", b"upgrade"))
"""Headers about the connection or the framing: none is needed for a plain request, but `Connection: keep-alive`."""
_BODILESS = (204, 304)


class PlainRequest(NamedTuple):
    """The parts of a request."""

    method: str
    target: bytes
    headers: list[tuple[bytes, bytes]]
    body: bytes


def read(data: bytes) -> PlainRequest | None:
    r"""Return a plain request, or None where h11 is to look at the data.

    Examples
    --------
    >>> read(b"POST /ask HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\n{}")
    PlainRequest(method='POST', target=b'/ask', headers=[(b'host', b'here'), (b'content-length', b'2')], body=b'{}')
    >>> read(b"POST /ask HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\n{") is None
    True
    """
    head = _HEAD.match(data) if len(data) <= LONGEST else None
    if head is None:
        return None
    headers = []
    host = length = None
    for line in head[3].split(b"\r\n")[:-1]:
        name, _, value = line.partition(b":")
        name, value = name.lower(), value.strip(b" ")
        if name == b"host":
            if host is not None:
                return None
            host = value
        elif name == b"content-length":
            if length is not None or not value.isdigit() or len(value) > 9:
                return None
            length = int(value)
        elif name in _ODD and not (name == b"connection" and value.lower() == b"keep-alive"):
            return None
        headers.append((name, value))
    body = data[head.end() :]
    if host is None or len(body) != (length or 0):
        return None
    return PlainRequest(head[1].decode("ascii"), head[2], headers, body)


class PlainCycle(RequestResponseCycle):
    """Uvicorn's way from a request to its response, where the request is plain: it writes the response itself."""

    def __init__(self, body: bytes, **given: Any) -> None:
        super().__init__(message_event=asyncio.Event(), **given)
        self.body, self.more_body = bytearray(body), False
        self.message_event.set()
        self._left: int | None = None

    async def send(self, message: ASGISendEvent) -> None:
        """Write a part of the response."""
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if not self.response_started:
            if message["type"] != "http.response.start":
                raise RuntimeError(f"a response begins with its start, and not with {message['type']}")
            self.transport.write(self._head(message["status"], list(message.get("headers", []))))
            self.response_started = True
        elif message["type"] != "http.response.body" or self.response_complete:
            raise RuntimeError(f"a response that has begun takes no {message['type']}")
        else:
            self._write(message.get("body", b""), last=not message.get("more_body", False))

    def _head(self, status: int, given: list[tuple[bytes, bytes]]) -> bytes:
        headers = [*self.default_headers, *given]
        named = {name.lower(): value for name, value in headers}
        if b"content-length" in named:
            self._left = int(named[b"content-length"])
        elif status in _BODILESS:
            self._left = 0
        else:
            headers.append((b"transfer-encoding", b"chunked"))
        if named.get(b"connection", b"").lower() == b"close":
            self.keep_alive = False
        lines = [b"HTTP/1.1 %d %s" % (status, STATUS_PHRASES[status]), *(b"%s: %s" % header for header in headers)]
        head = b"\r\n".join([*lines, b"", b""])
        if not head.count(b"\n") == head.count(b"\r") == len(lines) + 1 or b"\0" in head:
            raise RuntimeError("a header of a response holds a line break")
        return head

    def _write(self, body: bytes, *, last: bool) -> None:
        if self._left is None:
            parts = [b"%x\r\n" % len(body), body, b"\r\n"] if body else []
            self.transport.write(b"".join([*parts, b"0\r\n\r\n"] if last else parts))
        else:
            self._left -= len(body)
            if self._left < 0 or (last and self._left):
                raise RuntimeError("a response has another length than its head says")
            self.transport.write(body)
        if last:
            self.response_complete = True
            self.message_event.set()
            if not self.keep_alive:
                self.transport.close()
            self.on_response()
