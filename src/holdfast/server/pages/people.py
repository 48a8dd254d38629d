"""Who takes part in a guard: invitations by link, teams, and the page on which people sign up."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response

from holdfast.errors import HoldfastError
from holdfast.guard.state import GuardState
from holdfast.server.auth.session import require_same_site, sessions_of, set_cookie
from holdfast.server.auth.tokens import TOKEN, Caller
from holdfast.server.http import Problem, problem_of
from holdfast.server.pages.policy_form import number_of
from holdfast.server.pages.rendering import field, form_of, go, member, noted, page_router, show, visitor
from holdfast.server.pages.samples import name_of
from holdfast.server.records import now
from holdfast.server.routes.invitations import joined, link_of
from holdfast.server.state import server_of

router = page_router()


@router.get("/guards/{guard}/people")
async def people(request: Request, guard: str) -> Response:
    """For the steward: who signed up, and every invitation. For a participant: the own team's."""
    session = await member(request)
    return await _page(request, guard, session.caller)


@router.post("/guards/{guard}/invitations")
async def invite(request: Request, guard: str) -> Response:
    """Make an invitation. Its link is on this one page, which no browser keeps."""
    session = await member(request)
    form = await form_of(request, session)
    server, caller = server_of(request), session.caller
    try:
        places: Any = number_of("places", field(form, "places")) if field(form, "places") else None
        days = number_of("days", field(form, "days") or "30")
        team = name_of(field(form, "team")) if field(form, "team") else None
        text, _ = await server.work(server.invitations.invite, guard, caller, places=places, days=days, team=team)
    except (Problem, HoldfastError) as error:
        return await _page(request, guard, caller, error)
    return await _page(request, guard, caller, link=link_of(request, text))


@router.post("/guards/{guard}/invitations/{invitation}/end")
async def end(request: Request, guard: str, invitation: str) -> Response:
    """End an invitation; who joined by it stays."""
    session = await member(request)
    await form_of(request, session)
    server = server_of(request)
    if await server.work(server.invitations.revoke, invitation, session.caller) is None:
        raise Problem("not-found", "there is no such invitation")
    return go(f"/guards/{guard}/people")


@router.get("/join")
async def join_page(request: Request) -> Response:
    """The form of those who were sent a link: what is behind its # fills the first field."""
    await visitor(request)
    return show(request, "join.html", fields={"invitation": "", "name": ""}, problem=None)


@router.post("/join")
async def join(request: Request) -> Response:
    """Sign up: a token, which is shown once, and a session at once."""
    require_same_site(request)
    form = await request.form(max_files=0, max_fields=4)
    fields = {name: field(form, name)[:500] for name in ("invitation", "name")}
    server = server_of(request)
    try:
        name = name_of(fields["name"]) if fields["name"] else None
        token, whose, guard = await joined(request, fields["invitation"], name)
        policy = (await server.work(server.guards.chain, guard)).look(GuardState.of).policy
    except (Problem, HoldfastError) as error:
        problem = problem_of(error)
        request.state.code = problem.code
        page = show(request, "join.html", problem.status, fields=fields, problem=problem)
        page.headers.update(problem.headers)
        return page
    named = server.guards.row(guard)["name"]
    page = show(
        request,
        "joined.html",
        token=token,
        name=whose,
        guard={"id": guard, "name": named},
        has_board=bool(policy.boards),
    )
    link = TOKEN.fullmatch(token)
    assert link is not None
    set_cookie(request, page, await server.work(sessions_of(request).begin_for, link[1]))
    return page


async def _page(
    request: Request,
    guard: str,
    caller: Caller,
    error: Problem | HoldfastError | None = None,
    link: str | None = None,
) -> Response:
    server = server_of(request)
    problem = noted(request, error)

    def work() -> dict[str, Any]:
        listed = server.invitations.listed(guard, caller)  # refuses who does not reach the guard
        moment = now()
        for one in listed:
            spent = one["used"] >= one["places"]
            ended = "ended" if one["revoked"] else "too old" if one["expires"] <= moment else "all places taken"
            one["state"] = ended if one["revoked"] or one["expires"] <= moment or spent else "open"
        hosts = caller.stewards(guard)
        return {
            "guard": server.guards.row(guard),
            "invitations": sorted(listed, key=lambda one: (one["state"] != "open", one["created"])),
            "participants": server.invitations.participants(guard) if hosts else [],
            "hosts": hosts,
        }

    values = await server.work(work)
    status = 200 if problem is None else problem.status
    return show(request, "people.html", status, **values, problem=problem, link=link)
