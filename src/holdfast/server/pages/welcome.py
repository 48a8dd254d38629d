"""The first page, signing in and out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fastapi import Request, Response

from holdfast.guard.stewarding import DAMAGED
from holdfast.server.auth.session import (
    SignedIn,
    clear_cookie,
    require_csrf_token,
    require_same_site,
    set_cookie,
    sign_in,
)
from holdfast.server.auth.tokens import Caller
from holdfast.server.http import Problem
from holdfast.server.pages import words
from holdfast.server.pages.rendering import field, go, member, page_router, show, visitor
from holdfast.server.pages.words import OUTCOMES
from holdfast.server.state import Server, server_of
from holdfast.server.views import listed

router = page_router()
_REPORTS = 3
"""How many of the newest are on the first page."""
_OURS = re.compile(r"/(?:[A-Za-z0-9_-]+/)*[A-Za-z0-9_-]*", re.ASCII)
"""Pages that somebody may be sent to after signing in; never another site. Each text fits in one way only: a pattern
that could share the letters out differently would take forever to say no."""


@router.get("/")
async def home(request: Request) -> Response:
    """Guards with their gauges; for a visitor, what this is and where to sign in."""
    session = await visitor(request)
    if session is None:
        return show(request, "welcome.html", next="/", problem=None)
    server = server_of(request)
    guards, samples = await server.work(_facts, server, session)
    reports = await server.work(server.reports.list, session.caller)
    more = len(reports) if len(reports) > _REPORTS else 0
    values: dict[str, Any] = {"reports": reports[:_REPORTS], "more_reports": more, "outcomes": OUTCOMES}
    return show(request, "home.html", guards=guards, samples=samples, **values)


@router.get("/sign-in")
async def sign_in_page(request: Request) -> Response:
    """The form, for those who came to a page that needs it, and for those who want to be somebody else."""
    await visitor(request)
    return show(request, "welcome.html", next=after_sign_in(request.query_params.get("next")), problem=None)


@router.post("/sign-in")
async def do_sign_in(request: Request) -> Response:
    """Take a token, give a cookie."""
    require_same_site(request)
    form = await request.form(max_files=0, max_fields=4)
    address = after_sign_in(field(form, "next"))
    try:
        cookie = await sign_in(request, field(form, "token"))
    except Problem as problem:
        request.state.code = problem.code
        page = show(request, "welcome.html", problem.status, next=address, problem=problem)
        page.headers.update(problem.headers)
        return page
    response = go(address)
    set_cookie(request, response, cookie)
    return response


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """Take the cookie back."""
    session = await member(request)
    require_same_site(request)
    require_csrf_token(session, field(await request.form(max_files=0, max_fields=4), "csrf_token"))
    response = go("/")
    clear_cookie(request, response)
    return response


def after_sign_in(address: str | None) -> str:
    """Return the page that somebody wanted, if it is one of ours; else the first one."""
    return address if address and len(address) < 200 and _OURS.fullmatch(address) else "/"


def _facts(server: Server, session: SignedIn) -> tuple[list[dict[str, Any]], int]:
    caller = session.caller
    found = [
        facts if facts["status"] == DAMAGED else facts | standing_of(facts, caller, _sharp(server, facts, caller))
        for facts in listed(server, caller)
    ]
    return found, len(server.samples.list()) if caller.steward else 0


def standing_of(
    facts: dict[str, Any], caller: Caller, sharp: Sequence[tuple[str, float]] | None = None
) -> dict[str, Any]:
    """Return the gauges of a guard: the whole's for a steward, an analyst's own for an analyst."""
    policy = facts["policy"]
    if caller.steward:
        left = words.gauges(policy, facts["remaining"])
    else:
        share = 1.0 if policy["analysts"] is None else policy["analysts"].get(caller.name, 0.0)
        fresh = {"questions": int(round((policy["questions"] or 0) * share, 9))}
        if policy["privacy"] is not None:
            fresh |= {k: v * share for k, v in policy["privacy"].items() if isinstance(v, (int, float))}
        own = facts["analysts"].get(caller.name, fresh)
        left = words.gauges(policy, _least(own, facts["remaining"]), share)
    capped = words.failures(policy, facts["progress"])
    left = left if capped is None else [*left, capped]
    refused = [] if sharp is None else words.refused(policy, sharp)
    verdict = words.verdict(left, facts["status"], sharp or (), refused)
    if sharp is not None and facts["status"] == "open" and policy["boards"] and policy["reserve"]:
        verdict = f"Submissions are taken. {verdict}"
    return {"gauges": left, "verdict": verdict}


def _sharp(server: Server, facts: dict[str, Any], caller: Caller) -> list[tuple[str, float]] | None:
    """What the next answer would be good to; not asked of a guard that answers nothing."""
    if facts["status"] != "open":
        return None
    ledger = server.guards.ledger(facts["id"], caller)
    return words.sharpness(ledger, None if caller.steward else caller.name)


def _least(own: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """An analyst cannot have more left than the whole has."""
    return {k: min(v, whole[k]) if isinstance(whole.get(k), (int, float)) else v for k, v in own.items()}
