"""What is refused before any route is found: a page for people, `application/problem+json` for programs."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from fastapi import Request, Response
from starlette.types import Receive, Scope

from holdfast.server.errors import Problem
from holdfast.server.pages import rendering
from holdfast.server.responses import problem_response

_HOST = re.compile(rb"(?:[A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])?(?::[0-9]{0,5})?")


def check_host(scope: Scope) -> None:
    """Refuse a Host header that names none: addresses of pages are read against it.

    Examples
    --------
    >>> check_host({"headers": [(b"host", b"127.0.0.1:8321")]})
    >>> check_host({"headers": [(b"host", b"[::1")]})
    Traceback (most recent call last):
    ...
    holdfast.server.errors.Problem: ...
    """
    for name, value in scope["headers"]:
        if name == b"host" and not _is_host(value):
            # Without it an address is read against the server's own, so that the refusal can be a page.
            scope["headers"] = [one for one in scope["headers"] if one[0] != b"host"]
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
    """A problem as whoever asked can read it."""
    request = Request(scope, receive)
    if rendering.wants_page(request):
        return rendering.problem_page(request, problem)
    return problem_response(problem, number)


__all__ = ["check_host", "refusal"]
