"""A light load client: some connections that are kept open, each sending its next request when the last is answered.

It speaks as much HTTP/1.1 as it needs and parses as little as it can: what is measured is the server.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from urllib.parse import urlsplit

Send = Callable[[bytes, int], None]
"""What is told of each answer: its body, and its status."""


@dataclass
class Load:
    """What a load did: seconds in all, seconds of each request, how many answers of each status."""

    seconds: float
    latencies: list[float] = field(repr=False)
    statuses: Counter[int]

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.latencies) / self.seconds

    def quantile(self, share: float) -> float:
        """The latency that this share of requests stayed below."""
        return statistics.quantiles(self.latencies, n=1000, method="inclusive")[round(share * 1000) - 1]


def post(path: str, body: bytes, *headers: str) -> bytes:
    """The bytes of one request."""
    lines = [f"POST {path} HTTP/1.1", "Host: load", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode() + body


def drive(url: str, requests: Iterator[bytes], connections: int, seen: Send | None = None) -> Load:
    """Send all requests over so many connections and wait for every answer."""
    return asyncio.run(_drive(url, requests, connections, seen))


async def _drive(url: str, requests: Iterator[bytes], connections: int, seen: Send | None) -> Load:
    parts = urlsplit(url)
    load = Load(0.0, [], Counter())
    loop = asyncio.get_running_loop()
    lines = [_Line(requests, load, loop.create_future(), seen) for _ in range(connections)]
    for line in lines:
        await loop.create_connection(lambda line=line: line, parts.hostname or "", parts.port or 80)  # type: ignore[misc]
    begun = time.perf_counter()
    for line in lines:
        line.next()
    await asyncio.gather(*(line.done for line in lines))
    load.seconds = time.perf_counter() - begun
    return load


class _Line(asyncio.Protocol):
    """One connection."""

    def __init__(self, requests: Iterator[bytes], load: Load, done: asyncio.Future[None], seen: Send | None) -> None:
        self._requests, self._load, self.done, self._seen = requests, load, done, seen
        self._held, self._needed, self._body = b"", 0, 0
        self._begun = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def next(self) -> None:
        """Send the next request, or hang up."""
        request = next(self._requests, None)
        if request is None:
            self._transport.close()
            if not self.done.done():
                self.done.set_result(None)
            return
        self._begun = time.perf_counter()
        self._transport.write(request)  # type: ignore[attr-defined]

    def data_received(self, data: bytes) -> None:
        self._held += data
        if not self._needed:
            end = self._held.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self._held[:end].lower()
            place = head.index(b"content-length:") + 15
            self._body = end + 4
            self._needed = self._body + int(head[place : head.find(b"\r", place) if b"\r" in head[place:] else None])
        if len(self._held) < self._needed:
            return
        self._load.latencies.append(time.perf_counter() - self._begun)
        status = int(self._held[9:12])
        self._load.statuses[status] += 1
        if self._seen is not None:
            self._seen(self._held[self._body : self._needed], status)
        self._held, self._needed = self._held[self._needed :], 0
        self.next()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(error or ConnectionError("the server hung up"))
