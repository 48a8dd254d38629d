"""Tokens: making one, which is shown once, and ending one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import Request, Response

from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.server.auth.oidc.settings import PREFIX
from holdfast.server.auth.tokens import Caller
from holdfast.server.http import Problem
from holdfast.server.pages.rendering import field, form_of, go, noted, page_router, show, steward
from holdfast.server.pages.samples import name_of
from holdfast.server.records import now
from holdfast.server.state import Server, server_of

router = page_router()


@router.get("/tokens")
async def tokens(request: Request) -> Response:
    """Every token without its secret, and the form for another."""
    session = await steward(request)
    return await _page(request, session.caller)


@router.post("/tokens")
async def issue(request: Request) -> Response:
    """Make a token. Its text is on this one page, which no browser keeps."""
    session = await steward(request)
    server = server_of(request)
    form = await form_of(request, session)
    try:
        role: Any = field(form, "role")
        name, days, guard = name_of(field(form, "name")), field(form, "days"), field(form, "guard")
        text = await server.work(_issue, server, session.caller, role, name, days, guard)
    except (Problem, HoldfastError) as error:
        return await _page(request, session.caller, error)
    return await _page(request, session.caller, made=(name, text))


@router.post("/tokens/{token}/revoke")
async def revoke(request: Request, token: str) -> Response:
    """End a token with the next request."""
    session = await steward(request)
    server = server_of(request)
    await form_of(request, session)
    if await server.work(server.tokens.revoke, token, session.caller) is None:
        raise Problem("not-found", "there is no such token")
    return go("/tokens")


@router.post("/tokens/{token}/restore")
async def restore(request: Request, token: str) -> Response:
    """Let a blocked subject of the identity provider in again."""
    session = await steward(request)
    server = server_of(request)
    await form_of(request, session)
    if not await server.work(server.tokens.restore, token, session.caller):
        raise Problem("not-found", "there is no such subject of an identity provider")
    return go("/tokens")


def _issue(server: Server, caller: Caller, role: Any, name: str, days: str, guard: str) -> str:
    caller.require_manages([guard] if guard else None)
    try:
        life = float(days) if days else server.settings.token_days
        expires = datetime.now(UTC) + timedelta(days=life)
    except (ValueError, OverflowError):
        raise InvalidParameter("days must be a number, at most 3650") from None
    if not 0 < life <= 3650:
        raise InvalidParameter("days must be a number above 0, at most 3650")
    if guard:
        server.guards.row(guard)
    return server.tokens.issue(role, name, expires, [guard] if guard else None)[0]


async def _page(
    request: Request, caller: Caller, error: Problem | HoldfastError | None = None, made: tuple[str, str] | None = None
) -> Response:
    server = server_of(request)
    problem = noted(request, error)
    guards = {row["id"]: row["name"] for row in await server.work(server.guards.rows) if caller.reaches(row["id"])}
    listed = await server.work(server.tokens.list, caller)
    moment = now()
    for one in listed:
        one["foreign"] = one["name"].startswith(PREFIX)
        one["state"] = "revoked" if one["revoked"] else "expired" if one["expires"] <= moment else "good"
    listed.sort(key=lambda one: (one["state"] != "good", one["name"]))
    return show(
        request,
        "tokens.html",
        200 if problem is None else problem.status,
        tokens=listed,
        guards=guards,
        made=made,
        problem=problem,
        days=server.settings.token_days,
    )
