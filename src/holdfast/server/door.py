"""The door: every request gets a number and a line in the log; those to the API need a token before they are read."""

from __future__ import annotations

import logging
import random
import time

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.errors import HoldfastError
from holdfast.server import logs
from holdfast.server.errors import Problem, problem_of, retry_after
from holdfast.server.limits import API, address_of
from holdfast.server.refusals import check_host, refusal
from holdfast.server.state import Server

_OPEN = ("/api/v1/openapi.json",)
_HEADERS = [
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
]
_HUNG_UP = 499
"""The status in logs and counts of a request whose sender hung up before it was all there."""
UNFORESEEN = "an unforeseen error, which is a defect; nothing was released. The log has it under this request's number"


class Numbered:
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
                headers += [one for one in _HEADERS if one[0] not in named]
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
                problem = error if isinstance(error, Problem) else problem_of(error)
            else:
                problem = Problem("internal-error", UNFORESEEN)
                logs.say("unforeseen", logging.ERROR, request_id=number, **logs.where(error))
            state["code"] = problem.code
            if not status:
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
        logs.say(
            "request",
            logging.ERROR if status >= 500 and code == "internal-error" else logging.INFO,
            request_id=state["request_id"],
            method=_method(scope),
            route=route,
            path=None if route else logs.hide(scope["path"])[:200],
            status=status,
            code=code,
            milliseconds=round(seconds * 1000, 1),
            address=address_of(scope),
            token=getattr(caller, "token", None),
            role=getattr(caller, "role", None),
        )


class Authenticated:
    """ASGI middleware: whoever calls the API shows a token first, and keeps to its rate."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app, self._server = app, server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the token of a request to the API."""
        if scope["type"] == "http" and self._needs_token(scope["path"]):
            await self._check(scope)
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


def bearer(scope: Scope) -> str | None:
    """The token that a request carries in its header."""
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


__all__ = ["Authenticated", "Numbered", "bearer"]
