"""Submissions: predictions scored against hidden labels, and what was submitted so far.

`POST /guards/{id}/submissions?board=&guess=&tolerance=&name=` with the predictions as the body: CSV or Parquet with the
columns `<the board's key>` and `prediction`; or JSON, `{"keys": [...], "predictions": [...]}`. `board` may be left out
where the guard has one. It is answered with

    {"sequence": 7, "time": "...", "analyst": "ann", "board": "income", "metric": "accuracy", "rule": "intervals",
     "name": "forest", "predictions": "<sha256>", "count": 2000, "guess": 0.8, "tolerance": null,
     "value": 0.8, "interval": [0.76, 0.84], "passed": true, "improved": null, "confirmed": true, "certified": true,
     "cost": null, "remaining": {"yours": {...}, "total": {...}}, "guarantee": {...}, "details": {...},
     "repeated": false, "receipt": {...}}

`GET /guards/{id}/submissions?board=&first=&limit=` gives `{"submissions": [the same without repeated and receipt],
"next": number or null}`: an analyst's own, all of them for a steward.

On a board that takes models the body may also be an ONNX file (`application/onnx`), with `output=` and `entry=` to say
what of it is the prediction. It is evaluated on the hidden rows in a process of its own (docs/onnx.md).

The file is deleted as soon as it was read. The ledger keeps the digest of the predictions and not the predictions.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from typing import Annotated, Any

from fastapi import Query, Request, Response

from holdfast.errors import InvalidParameter
from holdfast.guard.ledger.entry import Entry
from holdfast.guard.questions.score import Score
from holdfast.guard.state import GuardState
from holdfast.server import shapes as shapes
from holdfast.server.auth.tokens import Anyone
from holdfast.server.http import Problem, StrictJSON
from holdfast.server.routes import answers
from holdfast.server.routes import router as make_router
from holdfast.server.routes.questions import Key
from holdfast.server.routes.samples import save
from holdfast.server.scheduling import at_multiples
from holdfast.server.shapes import NAME
from holdfast.server.state import server_of
from holdfast.server.submissions import FORMATS, MEDIA_TYPE, Submitted, answer_grid, read_model, read_on, turn
from holdfast.server.views import facts_of, page_of, scored, wanted

router = make_router("submissions")
_REFUSALS = ("budget-exhausted", "question-refused", "guarantee-unavailable")
_LARGEST = 2**62
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "One prediction per row key",
        "content": {
            "text/csv": {"schema": {"type": "string"}, "example": "id,prediction\n1,true\n2,false\n"},
            "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
            MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}},
            "application/json": {
                "schema": {"anyOf": [{"type": "object"}, {"type": "array", "items": {"type": "object"}}]},
                "example": {"keys": [1, 2], "predictions": [True, False]},
            },
        },
    }
}
BoardName = Annotated[
    str | None,
    Query(min_length=1, max_length=100, description="Which board; may be left out where there is one"),
]
_Guess = Annotated[float | None, Query(description="On a board of intervals: the score on rows of your own")]
_Tolerance = Annotated[float | None, Query(gt=0, description="A guess that passes is certified within this")]
_Output = Annotated[
    str | None, Query(min_length=1, max_length=200, description="Of a model: the output that is the prediction")
]
_Entry = Annotated[
    int | None, Query(ge=0, le=10_000, description="Of a model: which entry of that output, where it has several a row")
]
_Name = Annotated[
    str,
    Query(
        max_length=100,
        pattern=rf"^$|{NAME}",
        description="What the leaderboard calls it: letters, digits, spaces and _.@+()-",
        examples=["forest 2"],
    ),
]


@router.post("/guards/{guard}/submissions", responses=answers(shapes.ScoredSubmission, *_REFUSALS), openapi_extra=_BODY)
async def submit(
    request: Request,
    guard: str,
    caller: Anyone,
    board: BoardName = None,
    guess: _Guess = None,
    tolerance: _Tolerance = None,
    name: _Name = "",
    output: _Output = None,
    entry: _Entry = None,
    key: Key = None,
) -> Response:
    """Score predictions against the hidden labels. The same submission again is free."""
    server = server_of(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    chosen, schema, n = await server.work(wanted, server, guard, caller, board)
    if kind not in FORMATS and kind != MEDIA_TYPE:
        raise Problem("unsupported-media-type", f"send one of {', '.join((*FORMATS, MEDIA_TYPE))}")
    if kind != MEDIA_TYPE and (output is not None or entry is not None):
        raise InvalidParameter("output and entry must be left out unless a model is submitted")
    with turn(server.settings, chosen) if kind == MEDIA_TYPE else nullcontext() as place_in_line:
        place = server.samples.fresh_file(FORMATS.get(kind, "onnx"))
        try:
            await save(server, request, place)
            if place_in_line is not None:
                sent = Submitted(guard, caller, output, entry)
                given: Any = await server.work(place_in_line.during, read_model, server, place, sent)
            else:
                given = await read_on(server, place, FORMATS[kind], chosen, schema, n)
        finally:
            place.unlink(missing_ok=True)
        question = Score(chosen.name, given, guess, tolerance, name)
        score = partial(scored, server, guard, caller, question, key)
        if place_in_line is None:
            async with at_multiples(server.settings.answer_grid):
                facts = await server.work(score)
        else:
            async with at_multiples(answer_grid(server.settings, n)) as waiting:
                facts = await server.work(place_in_line.during, score)
                if facts["repeated"]:
                    waiting.lift()
    server.metrics.answer(Score.kind, facts["repeated"])
    return StrictJSON(facts)


@router.get("/guards/{guard}/submissions", responses=answers(shapes.Submissions))
async def submissions(
    request: Request,
    guard: str,
    caller: Anyone,
    board: BoardName = None,
    first: Annotated[int, Query(ge=1, le=_LARGEST, description="The number of the entry to begin with")] = 1,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many of the entries to look at")] = 1000,
) -> Response:
    """Submissions in order: all of them for a steward, an analyst's own for an analyst."""
    server = server_of(request)

    def work() -> dict[str, Any]:
        ledger = server.guards.ledger(guard, caller)
        if board is not None:
            ledger.look(GuardState.of).policy.board(board)
        submissions, following = page_of(ledger, caller, limit, first=first)
        state = ledger.look(GuardState.of)
        return {
            "submissions": [facts_of(entry, state) for entry in submissions if _is_of(entry, board)],
            "next": following,
        }

    return StrictJSON(await server.work(work))


def _is_of(entry: Entry, board: str | None) -> bool:
    question = entry.body["question"] if entry.kind == "answered" else {}
    return question.get("kind") == Score.kind and board in (None, question["board"])
