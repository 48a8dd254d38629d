"""The way of single questions past FastAPI's general machinery, which costs more than most of the answer does."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Literal

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from holdfast.server.responses import strict_loads
from holdfast.server.roles import Caller
from holdfast.server.state import Server

KEY = r"^[!-~]+$"
"""What a key is made of: printable ASCII without spaces."""
LONGEST_KEY = 180
ADDRESS = "/api/v1/guards/{guard}/ask"

_ADDRESS = re.compile(ADDRESS.replace("{guard}", "([^/]+)"))
_KEY = re.compile(KEY, re.ASCII)
Answered = Callable[[Server, str, Caller, dict[str, Any], str | None], Awaitable[Response]]
"""Takes the worker's state, a guard, whoever asks, the question and its key."""


@dataclass(frozen=True)
class _Route:
    """What logs and counts know of a route."""

    path: str


class QuickQuestions:
    """ASGI middleware, innermost: hands requests in plain order to `answered`; all others go on, and are refused there.

    Both ways read JSON strictly and mean the same. The route of the same address still makes the OpenAPI page.
    """

    def __init__(self, app: ASGIApp, server: Server, answered: Answered) -> None:
        self._app, self._server, self._answered = app, server, answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a question, or hand the request on as it came."""
        place = None if scope["type"] != "http" or scope["method"] != "POST" else _ADDRESS.fullmatch(scope["path"])
        key = False if place is None else _key(scope)
        if place is None or key is False or scope["query_string"] or not _says_json(scope):
            await self._app(scope, receive, send)
            return
        scope["route"] = _Route(ADDRESS)  # from here on, so that a body that cannot be read is counted with it
        message = await receive()
        body = message.get("body")
        question = _question(strict_loads(body)) if body else None
        if question is None:
            await self._app(scope, _with(message, receive), send)
            return
        response = await self._answered(self._server, place[1], scope["state"]["caller"], question, key or None)
        await response(scope, receive, send)


def _key(scope: Scope) -> str | Literal[False] | None:
    """The key, None without one, False for one that is not in order."""
    found = [value for name, value in scope["headers"] if name == b"idempotency-key"]
    if not found:
        return None
    text = found[0].decode("latin-1")
    return text if len(found) == 1 and len(text) <= LONGEST_KEY and _KEY.fullmatch(text) else False


def _says_json(scope: Scope) -> bool:
    return [value for name, value in scope["headers"] if name == b"content-type"] == [b"application/json"]


def _question(body: Any) -> dict[str, Any] | None:
    question = body.get("question") if type(body) is dict and len(body) == 1 else None
    return question if type(question) is dict else None


def _with(message: Message, receive: Receive) -> Receive:
    """What was read already, and then whatever comes."""
    held = [message]

    async def again() -> Message:
        return held.pop() if held else await receive()

    return again


__all__ = ["ADDRESS", "KEY", "LONGEST_KEY", "QuickQuestions"]
