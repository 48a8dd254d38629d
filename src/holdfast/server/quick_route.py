"""The route of single questions without FastAPI's general machinery, which costs more than most of the answer does."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Literal

from fastapi import Request, Response
from starlette.types import Message

from holdfast.server.responses import StrictRoute, strict_loads

KEY = r"^[!-~]+$"
"""What a key is made of: printable ASCII without spaces."""
LONGEST_KEY = 180

_KEY = re.compile(KEY, re.ASCII)
_NAME = b"idempotency-key"
Quick = Callable[[Request, dict[str, Any], str | None], Awaitable[Response]]
"""Takes a request, the question in its body, and its key."""


def quick_route(answer: Quick) -> type[StrictRoute]:
    """A route that hands requests in plain order to `answer`; all others go through FastAPI, which refuses them.

    Both ways read JSON strictly and mean the same. The declared parameters of the route still make the OpenAPI page.
    """

    class QuickRoute(StrictRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            general = super().get_route_handler()

            async def handle(request: Request) -> Response:
                key = _key(request)
                if request.scope["query_string"] or key is False or not _says_json(request):
                    return await general(request)
                body = await request.body()
                question = _question(strict_loads(body)) if body else None
                if question is None:
                    return await general(Request(request.scope, _again(body)))
                return await answer(request, question, key or None)

            return handle

    return QuickRoute


def _key(request: Request) -> str | Literal[False] | None:
    """The key, None without one, False for one that is not in order."""
    found = [value for name, value in request.scope["headers"] if name == _NAME]
    if not found:
        return None
    text = found[0].decode("latin-1")
    return text if len(found) == 1 and len(text) <= LONGEST_KEY and _KEY.fullmatch(text) else False


def _says_json(request: Request) -> bool:
    return [value for name, value in request.scope["headers"] if name == b"content-type"] == [b"application/json"]


def _question(body: Any) -> dict[str, Any] | None:
    question = body.get("question") if type(body) is dict and len(body) == 1 else None
    return question if type(question) is dict else None


def _again(body: bytes) -> Callable[[], Awaitable[Message]]:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


__all__ = ["KEY", "LONGEST_KEY", "quick_route"]
