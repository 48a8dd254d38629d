"""The page that asks in SQL: a box for a statement, what it would cost, and the table that it gave."""

from __future__ import annotations

import secrets
from typing import Any

from fastapi import Request, Response

from holdfast.errors import HoldfastError
from holdfast.guard.sql import assemble
from holdfast.server.auth.tokens import Caller
from holdfast.server.http import problem_of
from holdfast.server.pages.rendering import field, form_of, member, page_router, show
from holdfast.server.scheduling import at_multiples
from holdfast.server.state import server_of
from holdfast.server.views import described

router = page_router()


@router.get("/guards/{guard}/sql")
async def sql_page(request: Request, guard: str) -> Response:
    """The empty box."""
    session = await member(request)
    return await _page(request, guard, session.caller, "")


@router.post("/guards/{guard}/sql")
async def sql(request: Request, guard: str) -> Response:
    """Ask a statement, or with the other button only say what it would cost."""
    session = await member(request)
    server, caller = server_of(request), session.caller
    form = await form_of(request, session)
    statement, key = field(form, "statement"), field(form, "key")[:64] or None
    try:
        if field(form, "do") == "explain":
            priced = await server.asking.explain(guard, caller, statement, None)
            return await _page(request, guard, caller, statement, priced=priced)
        if field(form, "practice"):
            practised = await server.asking.practise_sql(guard, caller, statement, None)
            return await _page(request, guard, caller, statement, answer=practised, practice=True)
        async with at_multiples(server.settings.answer_grid):
            compiled, answers = await server.asking.sql(guard, caller, statement, None, key)
    except HoldfastError as error:
        problem = problem_of(error)
        request.state.code = problem.code
        return await _page(request, guard, caller, statement, refusal=problem.detail, status=problem.status)
    for question, answer in zip(compiled.questions, answers, strict=True):
        server.metrics.answer(str(question["kind"]), answer.repeated)
    return await _page(request, guard, caller, statement, answer=assemble(compiled, answers).to_dict())


async def _page(
    request: Request, guard: str, caller: Caller, statement: str, status: int = 200, **shown: Any
) -> Response:
    server = server_of(request)

    def work() -> dict[str, Any]:
        server.guards.ledger(guard, caller)
        return described(server, server.guards.row(guard), caller)

    facts = await server.work(work)
    values = {"answer": None, "priced": None, "refusal": "", "practice": False} | shown
    return show(request, "sql.html", status, guard=facts, statement=statement, key=secrets.token_hex(16), **values)
