"""A guard as its steward sees it: gauges, the timeline of questions, acts, and whether the ledger is genuine."""

from __future__ import annotations

import re
from typing import Any

from fastapi import Request, Response

from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard import stewarding
from holdfast.guard.ledger.receipts import Receipt
from holdfast.guard.scoring import ladder
from holdfast.guard.state import GuardState
from holdfast.server import shapes
from holdfast.server.auth.tokens import Caller
from holdfast.server.http import Problem, StrictJSON
from holdfast.server.pages import pictures, policy_form, words
from holdfast.server.pages.asking import analyst_page
from holdfast.server.pages.rendering import field, form_of, go, member, noted, page_router, show, steward
from holdfast.server.pages.welcome import standing_of
from holdfast.server.state import Server, server_of
from holdfast.server.views import described, entry_for, verified

router = page_router()
_ACTS: dict[str, Any] = {"pause": "paused", "resume": "open", "close": "closed"}
_PARTS = {"standing": "part_outlook.html", "timeline": "part_timeline.html"}


@router.get("/guards/{guard}")
async def guard_page(request: Request, guard: str) -> Response:
    """The guard: a steward's overview, or an analyst's place to ask. `?part=` is a part that changes."""
    session = await member(request)
    if not session.caller.steward:
        return await analyst_page(request, guard, session.caller)
    template = _PARTS.get(request.query_params.get("part", ""), "guard.html")
    return await _page(request, guard, session.caller, template)


@router.get("/guards/{guard}/entries/{sequence}")
async def entry(request: Request, guard: str, sequence: str) -> Response:
    """One answer, drawn."""
    session = await member(request)
    server = server_of(request)

    def work() -> tuple[Any, dict[str, Any]]:
        facts, one = _entry(server, guard, sequence, session.caller)
        ledger = server.guards.chain(guard)
        beaten, state = ledger.look(lambda view: (ladder.beaten(view, one), GuardState.of(view)))
        return facts, words.item(one, state, beaten, own=not session.caller.steward)

    facts, item = await server.work(work)
    again = "again" in request.query_params
    return show(request, "answer.html", guard=facts, item=item, again=again, own=True)


@router.get("/guards/{guard}/entries/{sequence}/receipt")
async def receipt(request: Request, guard: str, sequence: str) -> Response:
    """The signed receipt, to be kept."""
    session = await member(request)
    server = server_of(request)

    def work() -> dict[str, Any]:
        key = server.guards.ledger(guard, session.caller).key
        item = _entry(server, guard, sequence, session.caller)[1]
        if key is None:
            raise Problem("not-found", "this ledger is not signed, so there are no receipts")
        return Receipt.of(item, key).to_dict()

    receipt = await server.work(work)
    name = f"receipt-{receipt['sequence']}.json"
    return StrictJSON(receipt, headers={"Content-Disposition": f'attachment; filename="{name}"'})


@router.post("/guards/{guard}/verify")
async def verify(request: Request, guard: str) -> Response:
    """Check the ledger from the first entry to the last."""
    session = await steward(request)
    server = server_of(request)
    await form_of(request, session)
    verification = await server.work(verified, server, guard, session.caller)
    return await _page(request, guard, session.caller, "guard.html", verification=verification)


@router.post("/guards/{guard}/override")
async def override(request: Request, guard: str) -> Response:
    """Put another policy in place: recorded, and no later answer is certified."""
    session = await steward(request)
    server = server_of(request)
    form = await form_of(request, session)
    fields = {name: field(form, name)[:20_000] for name in policy_form.FIELDS}

    def work() -> None:
        ledger = server.guards.ledger(guard, session.caller)
        policy = policy_form.overriding_policy(fields, stewarding.describe(ledger)["policy"])
        stewarding.override(ledger, policy, fields["reason"][:1000])

    try:
        await server.work(work)
    except HoldfastError as error:
        return await _page(request, guard, session.caller, "guard.html", error=error, fields=fields)
    return go(f"/guards/{guard}")


@router.post("/guards/{guard}/extend")
async def extend(request: Request, guard: str) -> Response:
    """Open the next epoch over a registered sample of new rows."""
    session = await steward(request)
    server = server_of(request)
    form = await form_of(request, session)
    name, sample = field(form, "name")[:100], field(form, "sample")[:100]

    def work() -> str:
        server.guards.ledger(guard, session.caller)
        if not re.fullmatch(shapes.NAME, name):
            raise InvalidParameter("name must consist of letters, digits, spaces and the signs _.@+()-")
        return str(server.guards.extend(guard, name, sample, session.caller)["id"])

    try:
        opened = await server.work(work)
    except (HoldfastError, Problem) as error:
        return await _page(request, guard, session.caller, "guard.html", error=error)
    return go(f"/guards/{opened}")


@router.post("/guards/{guard}/{act}")
async def set_status(request: Request, guard: str, act: str) -> Response:
    """Pause, resume or close."""
    session = await steward(request)
    if act not in _ACTS:
        raise Problem("not-found", "there is nothing at this address")
    server = server_of(request)
    form = await form_of(request, session)
    if act == "close" and field(form, "sure") != "yes":
        return await _page(
            request,
            guard,
            session.caller,
            "guard.html",
            error=Problem("invalid-parameter", "tick the box to close it for good"),
        )
    try:
        ledger = await server.work(server.guards.ledger, guard, session.caller)
        await server.work(stewarding.set_status, ledger, _ACTS[act], field(form, "reason")[:1000])
    except HoldfastError as error:
        return await _page(request, guard, session.caller, "guard.html", error=error)
    return go(f"/guards/{guard}")


async def _page(
    request: Request,
    guard: str,
    caller: Caller,
    template: str,
    verification: dict[str, Any] | None = None,
    error: Problem | HoldfastError | None = None,
    fields: dict[str, str] | None = None,
) -> Response:
    server = server_of(request)
    before = request.query_params.get("before", "")
    problem = noted(request, error)

    def work() -> dict[str, Any]:
        ledger = server.guards.ledger(guard, caller)
        facts = described(server, server.guards.row(guard), caller)
        items, older = words.history(ledger, caller, words.place(before))
        policy = facts["policy"]
        people = []
        for name in sorted({*facts["analysts"], *(policy["analysts"] or {})}):
            share = 1.0 if policy["analysts"] is None else policy["analysts"].get(name, 0.0)
            seen = facts["analysts"].get(name)
            left = words.gauges(policy, _untouched(policy, share) if seen is None else seen, share)
            people.append({"name": name, "share": share, "gauges": left, "asked": seen is not None})
        sharp = words.sharpness(ledger)
        return {
            "guard": facts,
            "standing": standing_of(facts, caller, sharp),
            "sharpness": sharp,
            "items": items,
            "points": words.strip_points(items),
            "older": older,
            "people": people,
            "epoch_picture": pictures.epochs(facts["epochs"], facts["id"]),
            "samples": [sample for sample in server.samples.list() if sample["id"] != facts["sample"]]
            if caller.steward
            else [],
        }

    values = await server.work(work)
    status = 200 if problem is None else problem.status
    values |= {"overriding": fields is not None, "override": fields or policy_form.filled(values["guard"]["policy"])}
    return show(request, template, status, **values, verification=verification, problem=problem)


def _untouched(policy: dict[str, Any], share: float) -> dict[str, Any]:
    """What somebody has left who asked nothing yet."""
    untouched: dict[str, Any] = {"questions": int(round((policy["questions"] or 0) * share, 9))}
    cap = policy["privacy"] or {}
    return untouched | {name: cap[name] * share for name in ("epsilon", "rho") if cap.get(name) is not None}


def _entry(server: Server, guard: str, sequence: str, caller: Caller) -> tuple[dict[str, Any], Any]:
    ledger = server.guards.ledger(guard, caller)
    number = int(sequence) if sequence.isascii() and sequence.isdigit() and len(sequence) < 18 else 0
    ledger_entry = entry_for(ledger, caller, number) if number else None
    if ledger_entry is None or "answer" not in ledger_entry.body:
        raise Problem("not-found", "there is no answer of that number for this token")
    return described(server, server.guards.row(guard), caller), ledger_entry
