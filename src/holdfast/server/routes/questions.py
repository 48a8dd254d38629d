"""Asking: estimates, single questions, batches, and streams that report as they go."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated, Any, TypeVar, get_type_hints

from fastapi import Header, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import StringConstraints, TypeAdapter, ValidationError
from starlette.responses import StreamingResponse
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.core.strict_json import to_json
from holdfast.errors import HoldfastError
from holdfast.guard.analyst import batch_keys
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.sql import assemble
from holdfast.server import shapes
from holdfast.server.auth.tokens import Anyone, Caller, caller_of
from holdfast.server.http import (
    Problem,
    StrictJSON,
    StrictRequest,
    StrictRoute,
    check_body,
    check_query,
    problem_of,
    problem_of_form,
)
from holdfast.server.routes import answers
from holdfast.server.routes import router as make_router
from holdfast.server.scheduling import at_multiples
from holdfast.server.state import Server, server_of

T = TypeVar("T")

NDJSON = "application/x-ndjson"
KEY = r"^[!-~]+$"
"""What a key is made of: printable ASCII without spaces."""
LONGEST_KEY = 180
KEY_HEADER = "Idempotency-Key"

Key = Annotated[
    str | None,
    Header(
        alias=KEY_HEADER,
        min_length=1,
        max_length=LONGEST_KEY,
        pattern=KEY,
        description="Makes a retry the same question: it is answered and paid once. Always send one.",
        examples=["6f1c2f0e-9a55-4a83-8c5b-4f8a0f2d8f3b"],
    ),
]
_REFUSALS = ("budget-exhausted", "question-refused", "guarantee-unavailable")
_key = TypeAdapter(Annotated[str, StringConstraints(min_length=1, max_length=LONGEST_KEY, pattern=KEY)]).validator


class QuestionRoute(StrictRoute):
    """A route that takes questions. It reads the request itself: FastAPI's general way costs as much as the answer.

    An endpoint takes the request, `guard` from the address, `body`, `caller` and, if it names one, `key`. Its signature
    makes the OpenAPI page; what is wrong with a request is said as FastAPI says it.
    """

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, endpoint, **options)
        hints = get_type_hints(endpoint)
        self._body, self._takes_key = TypeAdapter(hints["body"]).validator, "key" in hints
        self.app = self.respond

    async def respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request whose route is found."""
        request = StrictRequest(scope, receive)
        caller = caller_of(request)
        check_query(request)
        if not await check_body(request):
            raise RequestValidationError([{"type": "missing", "loc": ("body",), "msg": "Field required"}])
        given: dict[str, Any] = {}
        if self._takes_key:
            text = request.headers.get(KEY_HEADER)
            given["key"] = None if text is None else _valid(_key.validate_python, text, "header", KEY_HEADER)
        body = _valid(self._body.validate_python, await request.json(), "body")
        guard = scope["path_params"]["guard"]
        response = await self.endpoint(request=request, guard=guard, body=body, caller=caller, **given)
        await response(scope, receive, send)


class Direct:
    """ASGI middleware, innermost: what takes questions is found here, and not by the framework's own layers and routes.

    What is refused goes on to the outermost layer, which sends it as the framework's handlers would.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._routes = {route.path.rpartition("/")[2]: route for route in routes if isinstance(route, QuestionRoute)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a question, or hand the request on."""
        posted = scope["type"] == "http" and scope["method"] == "POST" and not scope["root_path"]
        route = self._routes.get(scope["path"].rpartition("/")[2]) if posted else None
        matched = None if route is None else route.path_regex.match(scope["path"])
        if route is None or matched is None:
            await self._app(scope, receive, send)
            return
        scope["route"], scope["path_params"] = route, matched.groupdict()
        try:
            await route.respond(scope, receive, send)
        except RequestValidationError as error:
            raise problem_of_form(error) from None


def _valid(validate: Callable[[Any], T], value: Any, *place: str) -> T:
    """A value of the right form; what is wrong with another, and where it stands in the request."""
    try:
        return validate(value)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_context=False)
        raise RequestValidationError([{**problem, "loc": (*place, *problem["loc"])} for problem in problems]) from None


router = make_router("questions", QuestionRoute)


@router.post("/guards/{guard}/ask", responses=answers(shapes.AnswerFacts, *_REFUSALS))
async def ask(request: Request, guard: str, body: shapes.Ask, caller: Anyone, key: Key = None) -> Response:
    """Answer one question. Nothing is released that is not paid for, durably."""
    server = server_of(request)
    async with at_multiples(server.settings.answer_grid):
        answer = await server.asking.ask(guard, caller, body.question, key, body.epoch)
    _count(server, [body.question], [answer])
    return StrictJSON(answer.to_dict())


@router.post("/guards/{guard}/estimate", responses=answers(shapes.EstimateFacts, *_REFUSALS))
async def estimate(request: Request, guard: str, body: shapes.Ask, caller: Anyone) -> Response:
    """What a question would cost and how wide its answer would be. Spends nothing."""
    estimate = await server_of(request).asking.estimate(guard, caller, body.question, body.epoch or "latest")
    return StrictJSON(estimate.to_dict())


@router.post("/guards/{guard}/batch", responses=answers(shapes.Answers, *_REFUSALS))
async def batch(request: Request, guard: str, body: shapes.AskMany, caller: Anyone, key: Key = None) -> Response:
    """Answer questions that were chosen together: all of them, or none. One pass over the rows, one commit."""
    server = server_of(request)
    _check_number(server, body)
    async with at_multiples(server.settings.answer_grid):
        keys = batch_keys(key, len(body.questions))
        released = await server.asking.ask_all(guard, caller, body.questions, keys, body.epoch or "latest")
    _count(server, body.questions, released)
    return StrictJSON({"answers": [answer.to_dict() for answer in released]})


@router.post("/guards/{guard}/sql", responses=answers(shapes.SqlFacts, *_REFUSALS))
async def sql(request: Request, guard: str, body: shapes.Sql, caller: Anyone, key: Key = None) -> Response:
    """Answer a question in SQL: it becomes questions of the guard's kinds, asked together, and reaches no engine."""
    server = server_of(request)
    if body.explain:
        return StrictJSON(await server.asking.explain(guard, caller, body.statement, body.spend))
    if body.practice:
        return StrictJSON(await server.asking.practise_sql(guard, caller, body.statement, body.spend))
    async with at_multiples(server.settings.answer_grid):
        questions, released = await server.asking.sql(guard, caller, body.statement, body.spend, key)
    _count(server, list(questions.questions), released)
    return StrictJSON({"questions": list(questions.questions)} | assemble(questions, released).to_dict())


@router.post(
    "/guards/{guard}/stream",
    response_class=StreamingResponse,
    responses=answers(None, *_REFUSALS)
    | {
        200: {
            "description": "One JSON object per line: `started`, then for each question `answered` or `refused`, "
            "`done`",
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
    server.free.parts(body.questions)
    await server.work(server.guards.ledger, guard, caller)  # what is not there is a problem, not a line
    keys = batch_keys(key, len(body.questions))
    number = getattr(request.state, "request_id", None)
    return StreamingResponse(_lines(server, guard, caller, body, keys, number), media_type=NDJSON)


async def _lines(
    server: Server,
    guard: str,
    caller: Caller,
    body: shapes.AskMany,
    keys: list[str] | None,
    number: str | None,
) -> AsyncIterator[str]:
    answered, questions = 0, body.questions
    yield _line({"event": "started", "questions": len(questions)})
    for i, question in enumerate(questions):
        try:
            key = None if keys is None else [keys[i]]
            async with at_multiples(server.settings.answer_grid):
                (answer,) = await server.asking.ask_all(guard, caller, [question], key, body.epoch or "latest")
        except (HoldfastError, Problem) as error:
            problem = problem_of(error)
            yield _line({"event": "refused", "index": i, "problem": problem.to_dict(number)})
            if problem.status >= 500:  # the rows or the ledger are out of reach: the rest would fare no better
                break
            continue
        answered += 1
        _count(server, [question], [answer])
        yield _line({"event": "answered", "index": i, "answer": answer.to_dict()})
    yield _line({"event": "done", "answered": answered, "questions": len(questions)})


def _check_number(server: Server, body: shapes.AskMany) -> None:
    most = server.settings.max_questions
    if len(body.questions) > most:
        raise Problem("too-large", f"at most {most} questions go into one request")


def _count(server: Server, questions: list[dict[str, Any]], found: list[GuardedAnswer]) -> None:
    for question, answer in zip(questions, found, strict=True):
        server.metrics.answer(str(question["kind"]), answer.repeated)


def _line(event: dict[str, Any]) -> str:
    return to_json(event) + "\n"
