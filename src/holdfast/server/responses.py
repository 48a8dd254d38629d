"""Strict JSON both ways: what comes in is refused where parsers differ, what goes out is what every parser reads."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.responses import JSONResponse

from holdfast.errors import InvalidParameter
from holdfast.server.errors import MEDIA_TYPE, Problem
from holdfast.strict_json import read_json, to_json


class StrictJSON(JSONResponse):
    """A response in strict JSON; an infinite number is written `1e999`, as everywhere in Holdfast."""

    def render(self, content: Any) -> bytes:
        """The bytes."""
        return to_json(content).encode()


def problem_response(problem: Problem, request_id: str | None = None) -> StrictJSON:
    """A problem as a response."""
    return StrictJSON(problem.to_dict(request_id), problem.status, headers=dict(problem.headers), media_type=MEDIA_TYPE)


class StrictRequest(Request):
    """A request whose JSON has no NaN, no name twice, no half characters and no NUL, which databases refuse."""

    async def json(self) -> Any:
        """The body, read once."""
        if not hasattr(self, "_read"):
            self._read = strict_loads(await self.body())
        return self._read


def strict_loads(body: bytes) -> Any:
    """Parse JSON that means the same to everybody; `Problem` otherwise.

    Examples
    --------
    >>> strict_loads(b'{"a": 1}')
    {'a': 1}
    >>> strict_loads(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    holdfast.server.errors.Problem: ...
    """
    try:
        return read_json(body)
    except InvalidParameter as error:
        raise Problem("malformed-request", f"the body cannot be read: {error}") from None


class StrictRoute(APIRoute):
    """A route that reads JSON strictly, and takes nothing else where it wants JSON; a mistyped parameter is refused."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the route's own handler."""
        inner, wants_body = super().get_route_handler(), self.body_field is not None
        known = frozenset(_query_names(self.dependant))

        async def handle(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            if not known.issuperset(strict.query_params):
                names = ", ".join(sorted(known)) or "none"
                raise Problem(
                    "invalid-parameter", f"the address has a parameter that is not known here; known: {names}"
                )
            if wants_body:
                await _check_body(strict)
            return await inner(strict)

        return handle


def _query_names(dependant: Any) -> Iterator[str]:
    """The parameters that a route and what it depends on take from the address."""
    yield from (one.alias for one in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _query_names(inner)


async def _check_body(request: StrictRequest) -> None:
    if await request.body():
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" and not kind.endswith("+json"):
            raise Problem("unsupported-media-type", "send application/json")
        await request.json()


__all__ = ["StrictJSON", "StrictRequest", "StrictRoute", "problem_response", "strict_loads"]
