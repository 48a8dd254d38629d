"""Invitations: sign-up by a link, and teams.

`POST /guards/{id}/invitations` with `{"places": 30, "days": 30, "team": null}` gives a `link` to send to participants.
A participant makes one for the mates of the own team. `POST /join` with `{"invitation": "hi_...", "name": "forest"}`
needs no token, and gives one.
"""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from holdfast.server import shapes
from holdfast.server.auth.tokens import Anyone
from holdfast.server.http import Problem, StrictJSON, address_of
from holdfast.server.routes import answers
from holdfast.server.routes import router as make_router
from holdfast.server.state import server_of

router = make_router("invitations")


def link_of(request: Request, text: str) -> str:
    """Where an invitation is used. What is behind the # is not sent, so no log has it."""
    base = server_of(request).settings.public_url or str(request.base_url)
    return f"{base.rstrip('/')}/join#{text}"


async def joined(request: Request, text: str, name: str | None) -> tuple[str, str, str]:
    """Let somebody in, on a thread that hashes; invitations that are wrong count against the address as tokens do."""
    server, address = server_of(request), address_of(request.scope)
    wait = server.failures.wait(address)
    if wait > 0:
        raise Problem("rate-limited", "too many wrong invitations from this address; try again later")
    try:
        return await server.hash(server.invitations.join, text, name, server.settings.token_days)
    except Problem as problem:
        if problem.code == "unauthenticated":
            server.failures.count(address)
        raise


@router.post("/guards/{guard}/invitations", status_code=201, responses=answers(shapes.IssuedInvitation, status=201))
async def invite(request: Request, guard: str, body: shapes.NewInvitation, caller: Anyone) -> Response:
    """Make an invitation. Its text is in this answer and nowhere else."""
    server = server_of(request)
    text, facts = await server.work(
        server.invitations.invite, guard, caller, places=body.places, days=body.days, team=body.team
    )
    return StrictJSON(facts | {"invitation": text, "link": link_of(request, text)}, 201)


@router.get("/guards/{guard}/invitations", responses=answers(shapes.Invitations))
async def invitations(request: Request, guard: str, caller: Anyone) -> Response:
    """Invitations without their texts: all for a steward, those to the own team for a participant."""
    server = server_of(request)

    def work() -> dict[str, Any]:
        listed = server.invitations.listed(guard, caller)
        people = server.invitations.participants(guard) if caller.stewards(guard) else []
        return {"invitations": listed, "participants": people}

    return StrictJSON(await server.work(work))


@router.delete("/invitations/{invitation}", responses=answers(shapes.InvitationFacts))
async def revoke(request: Request, invitation: str, caller: Anyone) -> Response:
    """End an invitation at once. Who joined by it stays."""
    server = server_of(request)
    facts = await server.work(server.invitations.revoke, invitation, caller)
    if facts is None:
        raise Problem("not-found", "there is no such invitation")
    return StrictJSON(facts)


@router.post("/join", status_code=201, responses=answers(shapes.Joined, status=201))
async def join(request: Request, body: shapes.Joining) -> Response:
    """Sign up by an invitation: no token is needed, and one is given."""
    token, name, guard = await joined(request, body.invitation, body.name)
    return StrictJSON({"token": token, "name": name, "guard": guard}, 201)
