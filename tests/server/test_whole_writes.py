"""What is written in one step of the loop leaves as one, in order, and nothing is held at an end."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

from holdfast.server.running import Whole
from tests.server.live import Live


class Recording:
    """A transport that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def write(self, data: bytes) -> None:
        self.told.append(data)

    def close(self) -> None:
        self.told.append("closed")

    def get_extra_info(self, name: str) -> str:
        return name


def _told(steps: Callable[[Whole], None]) -> list[Any]:
    async def main() -> list[Any]:
        below = Recording()
        steps(Whole(below))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        return below.told

    return asyncio.run(main())


def test_one_step_is_one_write() -> None:
    def steps(whole: Whole) -> None:
        for part in (b"head", b"", b"body"):
            whole.write(part)
        assert whole.get_extra_info("peername") == "peername"

    assert _told(steps) == [b"headbody"]


def test_what_is_held_is_written_before_the_end() -> None:
    def steps(whole: Whole) -> None:
        whole.write(b"last")
        whole.close()

    assert _told(steps) == [b"last", "closed"]


def test_much_is_not_held() -> None:
    def steps(whole: Whole) -> None:
        whole.write(b"x" * 70_000)
        whole.write(b"y")

    assert _told(steps) == [b"x" * 70_000, b"y"]


def test_what_is_held_has_a_limit_and_is_counted_anew_after_each_write() -> None:
    def steps(whole: Whole) -> None:
        for _ in range(2):
            whole.write(b"a" * 30_000)
            whole.write(b"b" * 35_536)  # just what may be held
            whole.write(b"c")
        for part in (b"head", b"body"):
            whole.write(part)

    once = b"a" * 30_000 + b"b" * 35_536 + b"c"
    assert _told(steps) == [once, once, b"headbody"]


def test_a_later_step_is_a_later_write() -> None:
    async def main() -> list[Any]:
        below = Recording()
        whole = Whole(below)  # type: ignore[arg-type]
        for part in (b"first", b"second"):
            whole.write(part)
            await asyncio.sleep(0)
        whole.close()
        await asyncio.sleep(0)
        return below.told

    assert asyncio.run(main()) == [b"first", b"second", "closed"]


def test_a_response_is_one_piece(live: Live) -> None:
    host, _, port = live.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: " + f"{host}:{port}".encode() + b"\r\n\r\n")
        head, _, body = line.recv(65536).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        assert body, "head and body came together"
