"""Making a guard: a plan is picked, and what it buys is compared with the alternatives before it is fixed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi import Request, Response

from holdfast.data.schema import Schema
from holdfast.errors import HoldfastError
from holdfast.guard.opening import not_comparable
from holdfast.guard.study import StudyPlan, plan_study
from holdfast.server.http import Problem
from holdfast.server.pages import policy_form
from holdfast.server.pages.boards import METRICS
from holdfast.server.pages.rendering import field, form_of, go, noted, page_router, show, steward
from holdfast.server.pages.samples import name_of
from holdfast.server.state import Server, server_of

router = page_router()
_ROWS = 10_000
_FIELDS = ("name", "sample", "allow_overlap", *policy_form.DEFAULTS, *policy_form.BOARD_DEFAULTS)


@router.get("/guards/new")
async def new(request: Request) -> Response:
    """The picker; with `?part=compare` the comparison alone, which the page fetches while the form is filled."""
    await steward(request)
    fields = (
        policy_form.DEFAULTS
        | policy_form.BOARD_DEFAULTS
        | {k: v[:2000] for k, v in request.query_params.items() if k in _FIELDS}
    )
    if request.query_params.get("part") == "compare":
        return show(request, "part_compare.html", **await _compared(server_of(request), fields))
    return await _page(request, fields)


@router.post("/guards")
async def create(request: Request) -> Response:
    """Open the guard; or, with the other button, compare without a script."""
    session = await steward(request)
    server = server_of(request)
    form = await form_of(request, session)
    fields = {name: field(form, name) for name in _FIELDS}
    if field(form, "do") == "compare":
        return await _page(request, fields)
    if field(form, "do") == "study":
        return await _studied(request, fields)
    try:
        policy = policy_form.policy_of(fields)
        if fields["columns"]:
            policy["columns"] = policy_form.columns_of(fields["columns"], await server.work(_schema, server, fields))
        board = await server.work(_board, server, fields)
        if board is not None:
            policy |= {"boards": [board]} | policy_form.contest_of(fields)
        name, overlap = name_of(fields["name"]), fields["allow_overlap"] or None
        row = await server.work(server.guards.create, name, fields["sample"], policy, overlap, session.caller)
    except (Problem, HoldfastError) as error:
        return await _page(request, fields, error)
    return go(f"/guards/{row['id']}")


async def _studied(request: Request, fields: Mapping[str, str]) -> Response:
    """The form filled in with the policy that answers a list of questions best, and the widths of each."""
    server = server_of(request)

    def work() -> StudyPlan:
        schema = _schema(server, fields)
        return plan_study(policy_form.study_of(fields["study"], fields, schema, _rows(server, fields["sample"])))

    try:
        plan = await server.work(work)
    except (Problem, HoldfastError) as error:
        return await _page(request, fields, error)
    return await _page(request, dict(fields) | policy_form.filled_by(plan), planned=plan)


async def _page(
    request: Request,
    fields: Mapping[str, str],
    error: Problem | HoldfastError | None = None,
    planned: StudyPlan | None = None,
) -> Response:
    server = server_of(request)
    problem = noted(request, error)
    free, lacking = await server.work(_free_samples, server), await server.work(not_comparable, server.store)
    filled = {"name": "", "sample": free[0]["id"] if free else "", "allow_overlap": ""} | dict(fields)
    compared = await _compared(server, filled)
    values = compared | {"fields": filled, "samples": free, "shapes": policy_form.SHAPES, "problem": problem}
    values |= {"rules": policy_form.RULES, "metrics": METRICS, "not_compared": len(lacking), "planned": planned}
    return show(request, "making.html", 200 if problem is None else problem.status, **values)


async def _compared(server: Server, fields: Mapping[str, str]) -> dict[str, Any]:
    """The comparison, or why there is none."""

    def work() -> dict[str, Any]:
        n = _rows(server, fields.get("sample", ""))
        try:
            lines, failed = policy_form.comparison(n, fields)
            return {"lines": lines, "failed": failed, "n": n, "why": "", "offers": policy_form.offers(n, fields)}
        except HoldfastError as error:
            return {"lines": [], "failed": 0, "n": n, "why": str(error), "offers": []}

    return await server.work(work)


def _board(server: Server, fields: Mapping[str, str]) -> dict[str, Any] | None:
    schema = json.loads(server.samples.row(fields["sample"])["schema"])
    return policy_form.board_of(fields, {column["name"]: column["kind"] for column in schema["columns"]})


def _schema(server: Server, fields: Mapping[str, str]) -> Schema:
    return Schema.from_dict(json.loads(server.samples.row(fields["sample"])["schema"]))


def _rows(server: Server, sample: str) -> int:
    try:
        return int(server.samples.row(sample)["n"])
    except Problem:
        return _ROWS


def _free_samples(server: Server) -> list[dict[str, Any]]:
    guarded = {row["sample"] for row in server.guards.rows()}
    return [sample for sample in server.samples.list() if sample["id"] not in guarded]
