"""Leaderboards: who is where as far as intervals tell, and the form that submits predictions."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import Request, Response
from starlette.datastructures import FormData, UploadFile

from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.policy import SCORE
from holdfast.guard.questions import Score
from holdfast.guard.standing import Standing
from holdfast.server.answer_grid import on_grid
from holdfast.server.errors import Problem, problem_of
from holdfast.server.pages import advice, outlook
from holdfast.server.pages.board_view import METRICS, view
from holdfast.server.pages.policy_form import number_of
from holdfast.server.pages.rendering import field, form_of, go, member, page_router, show
from holdfast.server.pages.welcome import standing_of
from holdfast.server.roles import Caller
from holdfast.server.state import Server, server_of
from holdfast.server.submitted import read_on
from holdfast.server.views.boards import board_of, scored, scores_of, wanted
from holdfast.server.views.guards import described

router = page_router()
FORMATS = {".csv": "csv", ".parquet": "parquet", ".json": "json"}
"""What may be sent, by how the file's name ends."""
_FIELDS = ("board", "guess", "tolerance", "name")


@router.get("/guards/{guard}/board")
async def board_page(request: Request, guard: str) -> Response:
    """A leaderboard, `?board=`, or the only one."""
    session = await member(request)
    return await _page(request, guard, session.caller, {"board": request.query_params.get("board", "")})


@router.post("/guards/{guard}/submissions")
async def submit(request: Request, guard: str) -> Response:
    """Score a file of predictions. The form's key makes sending it twice the same submission."""
    session = await member(request)
    server, caller = server_of(request), session.caller
    form = await form_of(request, session)
    fields = {name: field(form, name) for name in _FIELDS}
    try:
        question = await _question(server, guard, caller, form, fields)
        key = field(form, "key")[:64] or None
        async with on_grid(server.settings.answer_grid):
            made = await server.work(scored, server, guard, caller, question, key)
    except (Problem, HoldfastError) as error:
        problem = error if isinstance(error, Problem) else problem_of(error)
        if problem.code == "not-found":
            raise
        return await _page(request, guard, caller, fields, problem)
    finally:
        await form.close()
    server.metrics.answer(Score.kind, made["repeated"])
    return go(f"/guards/{guard}/entries/{made['sequence']}" + ("?again" if made["repeated"] else ""))


async def _question(server: Server, guard: str, caller: Caller, form: FormData, fields: Mapping[str, str]) -> Score:
    board, schema, n = await server.work(wanted, server, guard, caller, fields["board"] or None)
    numbers = {name: number_of(name, fields[name]) if fields[name] else None for name in ("guess", "tolerance")}
    file = form.get("file")
    if not isinstance(file, UploadFile) or not file.size:
        raise InvalidParameter("choose a file with your predictions")
    format_ = FORMATS.get(Path(file.filename or "").suffix.lower())
    if format_ is None:
        raise InvalidParameter(f"the file's name must end in {', '.join(FORMATS)}")
    place = server.samples.fresh_file(format_)
    try:
        await server.work(_save, place, file.file)
        given = await read_on(server, place, format_, board, schema, n)
    finally:
        place.unlink(missing_ok=True)
    return Score(board.name, given, numbers["guess"], numbers["tolerance"], fields["name"])


def _heading(code: str) -> str:
    return "The form or the file does not fit." if code == "invalid-parameter" else advice.heading(code)


def _save(place: Path, source: Any) -> None:
    with place.open("xb") as file:
        place.chmod(0o600)
        while piece := source.read(1 << 20):
            file.write(piece)


async def _page(
    request: Request, guard: str, caller: Caller, fields: Mapping[str, str], problem: Problem | None = None
) -> Response:
    server = server_of(request)
    if problem is not None:
        request.state.code = problem.code

    def work() -> dict[str, Any]:
        ledger = server.guards.ledger(guard, caller)
        standing = ledger.look(Standing.of)
        named = [board.name for board in standing.policy.boards or ()]
        if not named:
            raise Problem("not-found", "this guard has no leaderboard")
        # A name that is none, or none among several, is no reason to show nothing.
        board = board_of(standing.policy, fields["board"] if fields.get("board") in named else named[0])
        facts = described(server, server.guards.row(guard), caller)
        # A score is a check of a share here, and as sharp.
        alike = board.rule == "intervals" and board.metric in ("accuracy", "brier")
        sharp = dict(outlook.sharpness(ledger)).get("A check") if alike else None
        return view(scores_of(server, ledger), ledger, board.name, caller) | {
            "guard": facts,
            "board": board,
            "boards": named,
            "sharp": sharp,
            "label_kind": standing.schema[board.label].kind,
            "takes": SCORE in (standing.policy.kinds or ()) and facts["status"] == "open",
            "standing": standing_of(facts, caller),
        }

    values = await server.work(work)
    said = None if problem is None else {"heading": _heading(problem.code), "why": problem.detail}
    return show(
        request,
        "board.html",
        200 if problem is None else problem.status,
        **values,
        metrics=METRICS,
        fields={name: fields.get(name, "") for name in _FIELDS},
        key=secrets.token_hex(16),
        refusal=said,
    )


__all__ = ["router"]
