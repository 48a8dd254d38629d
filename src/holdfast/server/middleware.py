"""The middleware that every request passes before a route is found, outermost first.

1. `RequestId` numbers and logs it, and turns every error into a problem.
2. `Limits` looks at what it says of itself, and ends it when it takes too long.
3. `Authentication` checks the token of a request to the API before anything is read.
4. `Bodies` reads its body, up to a limit.
5. `Slots` bounds how many requests are worked on at once.

What is refused here is a page for people and `application/problem+json` for programs.
"""

from __future__ import annotations

import asyncio
import logging
import random
import re
import time
from collections import OrderedDict
from urllib.parse import urlsplit

from fastapi import Request, Response
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.errors import HoldfastError
from holdfast.server import observability
from holdfast.server.http import (
    API,
    FREE,
    UPLOADS,
    Problem,
    address_of,
    part_of,
    problem_of,
    problem_response,
    retry_after,
    says_json,
    too_large,
)
from holdfast.server.pages import rendering
from holdfast.server.plain_requests import WHOLE
from holdfast.server.settings import Settings
from holdfast.server.state import Server

_ASKING = ("/ask", "/estimate", "/batch", "/stream")
"""How the paths end that take questions."""
_LONG = ("/batch", "/stream", "/verify", "/register", "/guards")
ONCE = frozenset((b"authorization", b"content-encoding", b"content-type", b"idempotency-key"))
"""Headers that a request has once or not at all; the transport sees to the host and the length."""
_OPEN = ("/api/v1/openapi.json", "/api/v1/join")
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]
_HUNG_UP = 499
"""The status in logs and counts of a request whose sender hung up before it was all there."""
UNFORESEEN = "an unforeseen error, which is a defect; nothing was released. The log has it under this request's number"
_HOST = re.compile(rb"(?:[A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])?(?::[0-9]{0,5})?")


class RequestId:
    """ASGI middleware, outermost: numbers, headers, the log, the counts, and an end to every error."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app, self._server = app, server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number = f"{random.getrandbits(64):016x}"
        state = scope.setdefault("state", {})
        state["request_id"] = number
        begun, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = [*message.get("headers", []), (b"x-request-id", number.encode())]
                named = {name.lower() for name, _ in headers}
                headers += [header for header in _HEADERS if header[0] not in named]
                if scope["path"].startswith(API) and b"cache-control" not in named:
                    headers.append((b"cache-control", b"no-store"))
                message = {**message, "headers": headers}
            await send(message)

        metrics = self._server.metrics
        metrics.inside += 1
        try:
            check_host(scope)
            await self._app(scope, receive, sending)
        except ClientDisconnect:  # nobody is there to be told
            status = status or _HUNG_UP
        except Exception as error:
            if isinstance(error, (Problem, HoldfastError)):
                problem = problem_of(error)
            else:
                problem = Problem("internal-error", UNFORESEEN)
                observability.say("unforeseen", logging.ERROR, request_id=number, **observability.where(error))
            state["code"] = problem.code
            if not status:
                if problem.delay:  # here no place is taken any more
                    await asyncio.sleep(problem.delay)
                await refusal(scope, receive, problem, number)(scope, receive, sending)
        finally:
            metrics.inside -= 1
            self._done(scope, status, time.perf_counter() - begun)

    def _done(self, scope: Scope, status: int, seconds: float) -> None:
        state = scope["state"]
        route = getattr(scope.get("route"), "path", None)
        code, caller = state.get("code"), state.get("caller")
        self._server.metrics.request(_method(scope), route or "none", status, seconds)
        if code is not None:
            self._server.metrics.problem(code)
        observability.say(
            "request",
            logging.ERROR if status >= 500 and code == "internal-error" else logging.INFO,
            request_id=state["request_id"],
            method=_method(scope),
            route=route,
            path=None if route else observability.hide(scope["path"])[:200],
            status=status,
            code=code,
            milliseconds=round(seconds * 1000, 1),
            address=address_of(scope),
            token=getattr(caller, "token", None),
            role=getattr(caller, "role", None),
        )


class Limits:
    """ASGI middleware, outermost but one: what requests say of themselves, and how long they may take."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] != "http" or scope["path"] in FREE:
            await self._app(scope, receive, send)
            return
        if scope["path"].endswith("\n"):  # the patterns of routes let one follow their end, and limits look at ends
            raise Problem("not-found", "there is nothing at this address")
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


class Authentication:
    """ASGI middleware: whoever calls the API shows a token first, and keeps to its rate."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app, self._server = app, server
        self._at_door = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the token of a request to the API."""
        if scope["type"] == "http" and self._needs_token(scope["path"]):
            if self._at_door >= self._server.settings.threads + self._server.settings.queue:
                raise Problem("overloaded", "too many requests are waiting; try again shortly", headers=retry_after(1))
            self._at_door += 1
            try:
                await self._check(scope)
            finally:
                self._at_door -= 1
        await self._app(scope, receive, send)

    def _needs_token(self, path: str) -> bool:
        if path == "/metrics":
            return not self._server.settings.open_metrics
        return path.startswith(API) and path not in _OPEN

    async def _check(self, scope: Scope) -> None:
        server, address = self._server, address_of(scope)
        text = bearer(scope)
        if text is None:
            raise _without("send a token as `Authorization: Bearer hf_...`")
        try:
            caller = await server.caller(text, server.failures.wait(address))
        except Problem as problem:
            if problem.code == "unauthenticated":
                server.failures.count(address)
                raise _without(problem.detail) from None
            raise
        scope["state"]["caller"] = caller
        wait = server.rates.take(caller.token)
        if wait:
            raise Problem("rate-limited", "this token asks too often", headers=retry_after(wait))


class Unfinished:
    """Bodies that are on their way: so many from one sender and in all, and each for so many seconds.

    Where one more comes, the oldest of its sender has had its time and ends. So a sender who leaves bodies unfinished
    keeps nobody out, not even those who share its address: a body that comes without delay needs no place for long.
    """

    def __init__(self, settings: Settings) -> None:
        self._each, self._all, self._seconds = settings.unfinished, max(settings.queue, 1), settings.read_seconds
        self._reading: OrderedDict[asyncio.Timeout, str] = OrderedDict()

    async def whole(self, sender: str, receive: Receive, most: int) -> bytes:
        """All of a body, up to a limit."""
        deadline = asyncio.timeout(self._seconds)
        try:
            async with deadline:
                self._make_room(sender)
                self._reading[deadline] = sender
                try:
                    return await _whole(receive, most)
                finally:
                    self._reading.pop(deadline, None)
        except TimeoutError:
            if not deadline.expired():
                raise
            words = "the body did not come in time; send it again, without pauses"
            raise Problem("timed-out", words, headers={"Connection": "close"}) from None

    def _make_room(self, sender: str) -> None:
        own = [deadline for deadline, whose in self._reading.items() if whose == sender]
        for deadline in own[: max(0, len(own) - self._each + 1)]:
            self._end(deadline)
        while len(self._reading) >= self._all:
            self._end(next(iter(self._reading)))

    def _end(self, deadline: asyncio.Timeout) -> None:
        del self._reading[deadline]
        deadline.reschedule(asyncio.get_running_loop().time())


class Bodies:
    """ASGI middleware, inside of the check of tokens: bodies up to a limit, read whole unless they are files.

    What is on its way takes no place of what is worked on. Pages, where anybody may send a form, and the API are
    counted apart.
    """

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app, self._server = app, server
        self._unfinished = {"api": Unfinished(server.settings), "pages": Unfinished(server.settings)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, or have it counted as it is read."""
        if scope["type"] == "http" and scope["path"] not in FREE:
            settings = self._server.settings
            if _is_upload(scope):
                receive = _counted(receive, settings.max_upload)
            elif _has_body(scope):
                body = await self._read(scope, receive, settings.max_body)
                receive = _again(body, receive)
        await self._app(scope, receive, send)

    async def _read(self, scope: Scope, receive: Receive, most: int) -> bytes:
        caller, free, part = scope["state"].get("caller"), self._server.free, part_of(scope)
        if caller is None:
            return await self._unfinished[part].whole(address_of(scope), receive, most)
        headers = dict(scope["headers"])
        length = headers.get(b"content-length")
        if length is None or int(length) > free.LARGE:
            free.require(caller.name)  # whose allowance is used up need not send all of it
        if scope["state"].get(WHOLE):  # it is not on its way any more, and as long as its headers say
            return await _whole(receive, most)
        body = await self._unfinished[part].whole(caller.token, receive, most)
        if len(body) > free.LARGE and says_json(headers.get(b"content-type", b"").decode("latin-1")):
            scope["state"]["json"] = await free.read(caller.name, body, scope["path"].endswith(_ASKING))
        return body


class Slots:
    """ASGI middleware, inside of the reading of bodies: how many requests are worked on or wait for that.

    Pages, the API and uploads are counted apart; a sender has few uploads at once, because they take long to come.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._inside: dict[str, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Give a request a place, or refuse it."""
        if scope["type"] != "http" or scope["path"] in FREE:
            await self._app(scope, receive, send)
            return
        inside, upload = self._inside, _is_upload(scope)
        part = "uploads" if upload else part_of(scope)
        places = {part: self._settings.threads + self._settings.queue}
        if upload:
            caller = scope["state"].get("caller")
            places[f"uploads of {address_of(scope) if caller is None else caller.token}"] = self._settings.unfinished
        if any(inside.get(name, 0) >= most for name, most in places.items()):
            raise Problem("overloaded", "too many requests are waiting; try again shortly", headers=retry_after(1))
        for name in places:
            inside[name] = inside.get(name, 0) + 1
        try:
            await self._app(scope, receive, send)
        finally:
            for name in places:
                inside[name] -= 1
                if not inside[name]:
                    del inside[name]


def check_host(scope: Scope) -> None:
    """Refuse a Host header that names none: addresses of pages are read against it.

    Examples
    --------
    >>> check_host({"headers": [(b"host", b"127.0.0.1:8321")]})
    >>> check_host({"headers": [(b"host", b"[::1")]})
    Traceback (most recent call last):
    ...
    holdfast.server.http.Problem: ...
    """
    for name, value in scope["headers"]:
        if name == b"host" and not _is_host(value):
            # Without it an address is read against the server's own, so that the refusal can be a page.
            scope["headers"] = [header for header in scope["headers"] if header[0] != b"host"]
            raise Problem("malformed-request", "the Host header names no host")


def _is_host(value: bytes) -> bool:
    if not _HOST.fullmatch(value):
        return False
    try:
        urlsplit(f"http://{value.decode()}/").port  # noqa: B018 (reading it checks it)
    except ValueError:  # brackets around what is no address, or a port beyond all ports
        return False
    return True


def refusal(scope: Scope, receive: Receive, problem: Problem, number: str) -> Response:
    """Return a problem as whoever asked can read it."""
    request = Request(scope, receive)
    if rendering.wants_page(request):
        return rendering.problem_page(request, problem)
    return problem_response(problem, number)


def bearer(scope: Scope) -> str | None:
    """Return the token that a request carries in its header."""
    for name, value in scope["headers"]:
        if name == b"authorization":
            kind, _, text = value.decode("latin-1").strip().partition(" ")
            return text.strip() if kind.lower() == "bearer" else None
    return None


def _without(detail: str) -> Problem:
    return Problem("unauthenticated", detail, headers={"WWW-Authenticate": "Bearer"})


def _method(scope: Scope) -> str:
    known = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
    return scope["method"] if scope["method"] in known else "other"


def _has_body(scope: Scope) -> bool:
    headers = dict(scope["headers"])
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0").strip(b"0") != b""


def _is_upload(scope: Scope) -> bool:
    return bool(scope["method"] == "POST" and scope["path"].endswith(UPLOADS))


def check_headers(scope: Scope, most: int) -> None:
    """Refuse bodies that say they are too large, and compressed ones, which could expand into anything."""
    headers = dict(scope["headers"])
    named = [name for name, _ in scope["headers"] if name in ONCE]
    if len(named) > len(set(named)):  # which of two is meant, readers would not agree on
        raise Problem("malformed-request", "a header that says one thing is there twice")
    length = headers.get(b"content-length")
    if length is not None and (not length.isdigit() or int(length[:20]) > most):
        raise too_large(most)
    if headers.get(b"content-encoding", b"identity").lower() not in (b"identity", b""):
        raise Problem("unsupported-media-type", "send the body as it is, without Content-Encoding")


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


async def _whole(receive: Receive, most: int) -> bytes:
    """The body, read up to a limit; nothing of one whose sender hangs up."""
    parts: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            return b""
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise too_large(most)
        more = message.get("more_body", False)
    return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """A body that was read, to be handed over once more."""
    held: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Message:
        return held.pop() if held else await receive()

    return again
