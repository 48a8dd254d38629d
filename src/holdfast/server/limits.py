"""Limits that hold before anything is read or asked: rates, sizes, time, and how many may wait.

Refusals say when to come back (`Retry-After`) and change nothing: no question was asked, no budget spent.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.server.errors import Problem, retry_after
from holdfast.server.settings import Settings

UPLOADS = ("/samples", "/submissions", "/reports")
"""How the paths end that take files: their routes read the body piece by piece, up to `max_upload`."""
_LONG = ("/batch", "/stream", "/verify", "/register", "/guards")
FREE = ("/healthz", "/metrics")
"""What machines read, whatever else is under way."""
_KEPT = 10_000
ONCE = frozenset((b"authorization", b"content-encoding", b"content-type", b"idempotency-key"))
"""Headers that a request has once or not at all; the transport sees to the host and the length."""
API = "/api/"


class Rates:
    """A token bucket for each token: `burst` at once, `rate` a second after that."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, float(burst)
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._mutex = threading.Lock()

    def take(self, name: str, now: float | None = None) -> float:
        """Take one; 0 if there was one, else the seconds until there is.

        Examples
        --------
        >>> rates = Rates(rate=2.0, burst=1)
        >>> rates.take("ann", now=0.0), rates.take("ann", now=0.0), rates.take("ann", now=0.5)
        (0.0, 0.5, 0.0)
        """
        moment = time.monotonic() if now is None else now
        with self._mutex:
            level, before = self._buckets.pop(name, (self._burst, moment))
            level = min(self._burst, level + (moment - before) * self._rate)
            wait = 0.0 if level >= 1 else (1 - level) / self._rate
            self._buckets[name] = (level - 1 if not wait else level, moment)
            while len(self._buckets) > _KEPT:
                self._buckets.popitem(last=False)
        return wait


class Failures:
    """Wrong tokens by address: beyond so many a minute an address has to wait, and no hash is computed for it."""

    def __init__(self, most: int) -> None:
        self._rates = Rates(most / 60.0, most)
        self._blocked: OrderedDict[str, float] = OrderedDict()

    def wait(self, address: str) -> float:
        """Seconds that an address still has to wait."""
        return max(0.0, self._blocked.get(address, 0.0) - time.monotonic())

    def count(self, address: str) -> None:
        """One more wrong token."""
        wait = self._rates.take(address)
        if wait:
            self._blocked[address] = time.monotonic() + wait
            self._blocked.move_to_end(address)
            while len(self._blocked) > _KEPT:
                self._blocked.popitem(last=False)


class Limits:
    """ASGI middleware: how many requests are inside, how large they say they are, and how long they may take.

    Pages and the API are counted apart: anybody may send a form, slowly, and that shall keep no token waiting.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._inside = {"api": 0, "pages": 0}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] != "http" or scope["path"] in FREE:
            await self._app(scope, receive, send)
            return
        if scope["path"].endswith("\n"):  # the patterns of routes let one follow their end, and limits look at ends
            raise Problem("not-found", "there is nothing at this address")
        part = "api" if scope["path"].startswith(API) else "pages"
        if self._inside[part] >= self._settings.threads + self._settings.queue:
            raise Problem("overloaded", "too many requests are waiting; try again shortly", headers=retry_after(1))
        self._inside[part] += 1
        try:
            await self._bounded(scope, receive, send)
        finally:
            self._inside[part] -= 1

    async def _bounded(self, scope: Scope, receive: Receive, send: Send) -> None:
        settings, upload = self._settings, _is_upload(scope)
        long = upload or scope["path"].endswith(_LONG)
        check_headers(scope, settings.max_upload if upload else settings.max_body)
        deadline = asyncio.timeout(settings.upload_seconds if long else settings.seconds)
        try:
            async with deadline:
                await self._app(scope, receive, send)
        except TimeoutError:
            if not deadline.expired():
                raise
            raise Problem(
                "timed-out", "the request took too long; what it paid for is kept: ask again with the same key"
            ) from None


class Bodies:
    """ASGI middleware, inside of the check of tokens: bodies up to a limit, read whole unless they are files."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, or have it counted as it is read."""
        if scope["type"] == "http" and scope["path"] not in FREE:
            if _is_upload(scope):
                receive = _counted(receive, self._settings.max_upload)
            else:
                receive = await _whole(receive, self._settings.max_body)
        await self._app(scope, receive, send)


def _is_upload(scope: Scope) -> bool:
    return bool(scope["method"] == "POST" and scope["path"].endswith(UPLOADS))


def check_headers(scope: Scope, most: int) -> None:
    """Refuse bodies that say they are too large, and packed ones, which could unfold into anything."""
    headers = dict(scope["headers"])
    named = [name for name, _ in scope["headers"] if name in ONCE]
    if len(named) > len(set(named)):  # which of two is meant, readers would not agree on
        raise Problem("malformed-request", "a header that says one thing is there twice")
    length = headers.get(b"content-length")
    if length is not None and (not length.isdigit() or int(length[:20]) > most):
        raise too_large(most)
    if headers.get(b"content-encoding", b"identity").lower() not in (b"identity", b""):
        raise Problem("unsupported-media-type", "send the body as it is, without Content-Encoding")


def too_large(most: int) -> Problem:
    """The refusal of a body."""
    return Problem("too-large", f"the body must have at most {most} bytes", headers={"Connection": "close"})


def _counted(receive: Receive, most: int) -> Receive:
    """The body piece by piece, up to a limit."""
    size = 0

    async def counting() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > most:
            raise too_large(most)
        return message

    return counting


async def _whole(receive: Receive, most: int) -> Receive:
    """The body, read once up to a limit, to be handed over again."""
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            parts, more = [], False
            break
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise too_large(most)
        more = message.get("more_body", False)
    held: list[Message] = [{"type": "http.request", "body": b"".join(parts), "more_body": False}]

    async def again() -> Message:
        return held.pop() if held else await receive()

    return again


def address_of(scope: Scope) -> str:
    """Where a request came from, as far as the transport knows."""
    client: Any = scope.get("client")
    return str(client[0]) if client else "unknown"


__all__ = [
    "API",
    "FREE",
    "UPLOADS",
    "Bodies",
    "Failures",
    "Limits",
    "Rates",
    "address_of",
    "check_headers",
    "too_large",
]
