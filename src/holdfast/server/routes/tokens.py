"""Tokens: who I am; making, listing and revoking them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import Request, Response

from holdfast import __version__
from holdfast.server import shapes
from holdfast.server.auth.tokens import Anyone, Caller, Steward
from holdfast.server.http import Problem, StrictJSON
from holdfast.server.routes import answers
from holdfast.server.routes import router as make_router
from holdfast.server.state import Server, server_of

router = make_router("tokens")


@router.get("/me", responses=answers(shapes.Me))
async def me(request: Request, caller: Anyone) -> Response:
    """What the token in use is, and the key that signs receipts here."""
    key = server_of(request).store.key
    return StrictJSON(
        {
            "id": caller.token,
            "role": caller.role,
            "name": caller.name,
            "guards": None if caller.guards is None else sorted(caller.guards),
            "expires": caller.expires,
            "version": __version__,
            "public_key": None if key is None else key.public,
        }
    )


@router.post("/tokens", status_code=201, responses=answers(shapes.IssuedToken, status=201))
async def issue(request: Request, body: shapes.NewToken, caller: Steward) -> Response:
    """Make a token. Its text is in this answer and nowhere else."""
    server = server_of(request)
    return StrictJSON(await server.work(_issue, server, body, caller), 201)


@router.get("/tokens", responses=answers(shapes.Tokens))
async def tokens(request: Request, caller: Steward) -> Response:
    """Every token that this one may manage, without secrets."""
    server = server_of(request)
    return StrictJSON({"tokens": await server.work(server.tokens.list, caller)})


@router.delete("/tokens/{token}", responses=answers(shapes.TokenFacts))
async def revoke(request: Request, token: str, caller: Steward) -> Response:
    """End a token with the next request, on every worker. Revoking it again changes nothing."""
    server = server_of(request)
    revoked = await server.work(server.tokens.revoke, token, caller)
    if revoked is None:
        raise Problem("not-found", "there is no such token")
    return StrictJSON(revoked)


@router.post("/tokens/{token}/restore", responses=answers(shapes.TokenFacts))
async def restore(request: Request, token: str, caller: Steward) -> Response:
    """Let a blocked subject of the identity provider in again. A token that was handed out stays revoked."""
    server = server_of(request)
    if not await server.work(server.tokens.restore, token, caller):
        raise Problem("not-found", "there is no such subject of an identity provider")
    return StrictJSON(await server.work(server.tokens.get, token))


def _issue(server: Server, body: shapes.NewToken, caller: Caller) -> dict[str, Any]:
    caller.require_manages(body.guards)
    expires = body.expires or datetime.now(UTC) + timedelta(days=server.settings.token_days)
    if expires.tzinfo is None:
        expires = expires.replace(tzinfo=UTC)
    for guard in body.guards or ():
        server.guards.row(guard)
    text, facts = server.tokens.issue(body.role, body.name, expires, body.guards)
    return facts | {"token": text}
