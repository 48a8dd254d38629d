"""Asking: estimates, single questions, batches, and streams that report as they go."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Header, Request, Response
from starlette.responses import StreamingResponse

from holdfast.errors import HoldfastError
from holdfast.guard.answer import GuardedAnswer
from holdfast.server import shapes
from holdfast.server.answer_grid import on_grid
from holdfast.server.asking import Asked, ask_all
from holdfast.server.errors import Problem, problem_of
from holdfast.server.quick_questions import KEY, LONGEST_KEY
from holdfast.server.responses import StrictJSON
from holdfast.server.roles import Anyone, Caller
from holdfast.server.routes import answers
from holdfast.server.routes import router as make_router
from holdfast.server.state import Server, server_of
from holdfast.strict_json import to_json

router = make_router("questions")
NDJSON = "application/x-ndjson"

Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=LONGEST_KEY,
        pattern=KEY,
        description="Makes a retry the same question: it is answered and paid once. Always send one.",
        examples=["6f1c2f0e-9a55-4a83-8c5b-4f8a0f2d8f3b"],
    ),
]
_REFUSALS = ("budget-exhausted", "question-refused", "guarantee-unavailable")


async def answered(server: Server, guard: str, caller: Caller, question: dict[str, Any], key: str | None) -> Response:
    """The answer to one question, as a response."""
    async with on_grid(server.settings.answer_grid):
        answer = await server.asking.ask(guard, Asked.by(caller, question, key))
    _count(server, [question], [answer])
    return StrictJSON(answer.to_dict())


@router.post("/guards/{guard}/ask", responses=answers(shapes.AnswerFacts, *_REFUSALS))
async def ask(request: Request, guard: str, body: shapes.Ask, caller: Anyone, key: Key = None) -> Response:
    """Answer one question. Nothing is released that is not paid for, durably."""
    return await answered(server_of(request), guard, caller, body.question, key)


@router.post("/guards/{guard}/estimate", responses=answers(shapes.EstimateFacts, *_REFUSALS))
async def estimate(request: Request, guard: str, body: shapes.Ask, caller: Anyone) -> Response:
    """What a question would cost and how wide its answer would be. Spends nothing."""
    server = server_of(request)

    def work() -> dict[str, Any]:
        return server.guards.guard(guard, caller).estimate(body.question, analyst=caller.name).to_dict()

    return StrictJSON(await server.work(work))


@router.post("/guards/{guard}/batch", responses=answers(shapes.Answers, *_REFUSALS))
async def batch(request: Request, guard: str, body: shapes.AskMany, caller: Anyone, key: Key = None) -> Response:
    """Answer questions that were chosen together: all of them, or none. One pass over the rows, one commit."""
    server = server_of(request)
    _check_number(server, body)
    async with on_grid(server.settings.answer_grid):
        keys = keys_of(key, len(body.questions))
        found = await server.work(ask_all, server.guards, guard, caller, body.questions, keys)
    _count(server, body.questions, found)
    return StrictJSON({"answers": [answer.to_dict() for answer in found]})


@router.post(
    "/guards/{guard}/stream",
    response_class=StreamingResponse,
    responses=answers(None, *_REFUSALS)
    | {
        200: {
            "description": "One JSON object a line: `started`, then for each question `answered` or `refused`, `done`",
            "content": {NDJSON: {"schema": {"type": "string"}}},
        }
    },
)
async def stream(request: Request, guard: str, body: shapes.AskMany, caller: Anyone, key: Key = None) -> Response:
    """Answer questions one after the other, and send each answer as soon as it is durable.

    A refused question does not stop those after it. A stream that breaks off is repeated with the same key: what was
    answered comes back as it was, free.
    """
    server = server_of(request)
    _check_number(server, body)
    await server.work(server.guards.ledger, guard, caller)  # what is not there is a problem, not a line
    keys = keys_of(key, len(body.questions))
    number = getattr(request.state, "request_id", None)
    return StreamingResponse(_lines(server, guard, caller, body.questions, keys, number), media_type=NDJSON)


async def _lines(
    server: Server,
    guard: str,
    caller: Caller,
    questions: list[dict[str, Any]],
    keys: list[str] | None,
    number: str | None,
) -> AsyncIterator[str]:
    answered = 0
    yield _line({"event": "started", "questions": len(questions)})
    for i, question in enumerate(questions):
        try:
            one = None if keys is None else [keys[i]]
            async with on_grid(server.settings.answer_grid):
                (answer,) = await server.work(ask_all, server.guards, guard, caller, [question], one)
        except (HoldfastError, Problem) as error:
            problem = error if isinstance(error, Problem) else problem_of(error)
            yield _line({"event": "refused", "index": i, "problem": problem.to_dict(number)})
            if problem.status >= 500:  # the rows or the ledger are out of reach: the rest would fare no better
                break
            continue
        answered += 1
        _count(server, [question], [answer])
        yield _line({"event": "answered", "index": i, "answer": answer.to_dict()})
    yield _line({"event": "done", "answered": answered, "questions": len(questions)})


def keys_of(key: str | None, number: int) -> list[str] | None:
    """A key for each question of a batch.

    Examples
    --------
    >>> keys_of("k", 2)
    ['k/0', 'k/1']
    """
    return None if key is None else [f"{key}/{i}" for i in range(number)]


def _check_number(server: Server, body: shapes.AskMany) -> None:
    most = server.settings.max_questions
    if len(body.questions) > most:
        raise Problem("too-large", f"at most {most} questions go into one request")


def _count(server: Server, questions: list[dict[str, Any]], found: list[GuardedAnswer]) -> None:
    for question, answer in zip(questions, found, strict=True):
        server.metrics.answer(str(question["kind"]), answer.repeated)


def _line(event: dict[str, Any]) -> str:
    return to_json(event) + "\n"


__all__ = ["answered", "keys_of", "router"]
