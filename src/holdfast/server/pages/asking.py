"""Asking: a form for each kind of question, an estimate before it is sent, and a way on where it is refused."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from fastapi import Request, Response

from holdfast.errors import HoldfastError
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.guard import Guard
from holdfast.guard.questions.base import Question
from holdfast.guard.standing import Standing
from holdfast.server.answer_grid import on_grid
from holdfast.server.asking import ask_all
from holdfast.server.errors import Problem, problem_of
from holdfast.server.pages import advice, outlook, words
from holdfast.server.pages.question_form import question_of
from holdfast.server.pages.rendering import field, form_of, go, member, page_router, show
from holdfast.server.pages.welcome import standing_of
from holdfast.server.roles import Caller
from holdfast.server.state import server_of
from holdfast.server.views.guards import described

router = page_router()
FIELDS = (
    "expression guess tolerance show low high default side bound other margin column cells cells_are candidates name "
    "column_2 categories categories_2 p0 alpha epsilon"
).split()
"""Every field of every form."""


@router.get("/guards/{guard}/ask")
async def ask_page(request: Request, guard: str) -> Response:
    """The form of one kind of question, `?kind=`; other parameters fill it in."""
    session = await member(request)
    return await analyst_page(request, guard, session.caller)


@router.post("/guards/{guard}/ask")
async def ask(request: Request, guard: str) -> Response:
    """Ask, or with the other button only estimate. The form's key makes sending it twice the same question."""
    session = await member(request)
    server, caller = server_of(request), session.caller
    form = await form_of(request, session)
    kind, key = field(form, "kind"), field(form, "key")[:64] or None
    fields = {name: field(form, name) for name in FIELDS}
    part = field(form, "part") == "estimate"
    try:
        opened = await server.work(server.guards.guard, guard, caller)
        question = question_of(kind, _with_kinds(fields, opened), opened.policy)
        if part or field(form, "do") == "estimate":
            estimate = await server.work(lambda: opened.estimate(question, analyst=caller.name))
            if estimate.admitted:
                said = {"admitted": True, "words": advice.promise(estimate), "why": ""}
            else:
                said = {"admitted": False, "words": "", "why": estimate.reason}
            if part:
                return show(request, "part_estimate.html", estimate=said)
            return await analyst_page(request, guard, caller, kind, fields, estimate=said)
        keys = None if key is None else [key]
        async with on_grid(server.settings.answer_grid):
            (answer,) = await server.work(ask_all, server.guards, guard, caller, [question], keys)
    except HoldfastError as error:
        problem = problem_of(error)
        if part:
            return show(request, "part_estimate.html", estimate={"admitted": False, "words": "", "why": problem.detail})
        return await _refused(request, guard, caller, kind, fields, problem)
    repeated = "yes" if answer.repeated else "no"
    server.metrics.add("holdfast_answers_total", kind=kind, repeated=repeated)
    return await _answered(request, guard, caller, opened, question, answer)


async def _answered(
    request: Request, guard: str, caller: Caller, opened: Guard, question: Mapping[str, Any], answer: GuardedAnswer
) -> Response:
    """See the entry; where somebody else's entry answers the question, see what it says."""
    server = server_of(request)

    def work() -> dict[str, Any] | None:
        entry = next(iter(opened.ledger.entries(answer.sequence, answer.sequence)))
        if caller.sees(entry.analyst):
            return None
        standing = opened.ledger.look(Standing.of)
        asked = Question.from_dict(question).bind(standing.schema, standing.n, standing.policy).question
        return outlook.item_of(asked, answer.released(), answer.sequence, entry.time, None)

    stored = await server.work(work)
    if stored is None:
        return go(f"/guards/{guard}/entries/{answer.sequence}" + ("?again" if answer.repeated else ""))
    facts = await server.work(lambda: described(server, server.guards.row(guard), caller))
    return show(request, "answer.html", guard=facts, item=stored, again=True, own=False)


async def _refused(
    request: Request, guard: str, caller: Caller, kind: str, fields: Mapping[str, str], problem: Problem
) -> Response:
    """The form again, with why it was refused and what would be admitted."""
    server = server_of(request)

    def work() -> tuple[str, list[advice.Alternative]]:
        try:
            opened = server.guards.guard(guard, caller)
            question = question_of(kind, _with_kinds(fields, opened), opened.policy)
            exhausted = problem.code == "budget-exhausted"
            why = advice.plain(opened, question, caller.name) if exhausted else ""
            return why, advice.alternatives(opened, question, caller.name)
        except HoldfastError:
            return "", []

    why, found = await server.work(work)
    request.state.code = problem.code
    said = {"heading": advice.heading(problem.code), "why": problem.detail, "plain": why, "code": problem.code}
    refusal = said | {"alternatives": [(one, _address(guard, one.question)) for one in found]}
    return await analyst_page(request, guard, caller, kind, fields, refusal=refusal, status=problem.status)


async def analyst_page(
    request: Request,
    guard: str,
    caller: Caller,
    kind: str | None = None,
    fields: Mapping[str, str] | None = None,
    *,
    estimate: Mapping[str, Any] | None = None,
    refusal: Mapping[str, Any] | None = None,
    status: int = 200,
) -> Response:
    """What an analyst works on: gauges, the form, and what they asked before."""
    server = server_of(request)
    query = request.query_params
    before = query.get("before", "")

    def work() -> dict[str, Any]:
        ledger = server.guards.ledger(guard, caller)
        facts = described(server, server.guards.row(guard), caller)
        items, older = outlook.history(ledger, caller, outlook.place(before))
        return {
            "guard": facts,
            "standing": standing_of(facts, caller),
            "sharpness": outlook.sharpness(ledger),
            "items": [one for one in items if one["answer"] is not None and one["analyst"] == caller.name],
            "older": older,
        }

    values = await server.work(work)
    allowed = [one for one in words.KINDS if one in values["guard"]["policy"]["kinds"]]
    wanted = kind or query.get("kind", "")
    filled = {name: query.get(name, "")[:20_000] for name in FIELDS} if fields is None else dict(fields)
    return show(
        request,
        "ask.html",
        status,
        **values,
        kinds={one: words.KINDS[one] for one in allowed},
        kind=wanted if wanted in allowed or refusal else (allowed[0] if allowed else ""),
        fields=filled,
        key=secrets.token_hex(16),
        estimate=estimate,
        refusal=refusal,
    )


def _with_kinds(fields: Mapping[str, str], guard: Guard) -> dict[str, str]:
    """The fields, with the kinds of the columns that they name: categories are read by them."""
    schema = guard.ledger.look(Standing.of).schema
    known = {column.name: column.kind for column in schema}
    made = dict(fields)
    for name, column in (("column_kind", "column"), ("categories_kind", "column"), ("categories_2_kind", "column_2")):
        made[name] = known.get(fields.get(column, ""), "text")
    return made


def _address(guard: str, question: Mapping[str, Any]) -> str:
    """The form, filled in with a question."""
    from urllib.parse import urlencode

    fields = {k: v for k, v in question.items() if k in FIELDS and isinstance(v, (str, int, float))}
    spend = question.get("spend")
    if spend is not None:
        fields["epsilon"] = spend.get("epsilon", spend.get("rho"))
    if isinstance(question.get("candidates"), Mapping):
        fields["candidates"] = "\n".join(f"{label}: {one}" for label, one in question["candidates"].items())
    if question["kind"] == "histogram":
        cells = question.get("edges") or question.get("categories") or ()
        fields |= {"cells": ", ".join(map(str, cells)), "cells_are": "edges" if "edges" in question else "categories"}
    if question["kind"] == "test":
        columns = [*question["columns"], ""]
        listed = [", ".join(map(str, one or ())) for one in question.get("categories") or ()] + ["", ""]
        fields |= {"column": columns[0], "column_2": columns[1], "categories": listed[0], "categories_2": listed[1]}
        fields["p0"] = ", ".join(map(str, question.get("p0") or ()))
    return f"/guards/{guard}/ask?" + urlencode({"kind": question["kind"]} | fields)


__all__ = ["FIELDS", "analyst_page", "router"]
