"""Asking: a form for each kind of question, an estimate before it is sent, and a way on where it is refused."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response

from holdfast.data.schema import Schema
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.guard import Guard, practice_guard
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Question
from holdfast.guard.questions.fields import NULLS, CostInput, Field, Group, Place
from holdfast.guard.state import GuardState
from holdfast.server.auth.tokens import Caller
from holdfast.server.http import Problem, problem_of
from holdfast.server.pages import words
from holdfast.server.pages.rendering import field, form_of, go, member, page_router, show
from holdfast.server.pages.welcome import standing_of
from holdfast.server.scheduling import at_multiples
from holdfast.server.state import server_of
from holdfast.server.views import described, entry_for

# --- Question form ----------------------------------------------------------------------------------------------------
# The form of a question, made from the declared fields of its kind. What the guard checks is left to the guard.

Fields = Mapping[str, str]
_SEPARATOR = ":"


@dataclass(frozen=True)
class Box:
    """One box of a form: what it is called, what it holds, and what is wrong with it."""

    name: str
    label: str
    help: str
    widget: str
    value: str
    required: bool
    placeholder: str
    choices: Mapping[str, str]
    trouble: str


def kinds() -> dict[str, type[Question]]:
    """Return the kinds that have a form here; predictions are submitted on the page of their board."""
    return {name: kind for name, kind in Question.kinds().items() if not kind.needs_board}


def box_names() -> list[str]:
    """Return the names of every box of every form."""
    return sorted({name for kind in kinds().values() for declared in _offered(kind) for name in _boxes(declared)})


def question_of(kind: str, fields: Fields, policy: Policy, schema: Schema | None = None) -> dict[str, Any]:
    """Return the question that a filled form asks.

    Examples
    --------
    >>> question_of("check", {"expression": "age < 40", "guess": "0.5", "tolerance": ""}, Policy())
    {'kind': 'check', 'expression': 'age < 40', 'guess': 0.5}
    >>> question_of("check", {"expression": "age < 40", "guess": "half"}, Policy())
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: guess must be a number, got 'half'
    """
    kind_class = _kind(kind)
    cost_kind = None if policy.privacy is None else policy.privacy.kind
    values: dict[str, Any] = {"kind": kind}
    for declared in _offered(kind_class):
        texts = [fields.get(name, "").strip() for name in _boxes(declared)]
        value = declared.input.read(texts, Place(declared.name, schema, values, _SEPARATOR, cost_kind))
        if value is None and declared.required:
            raise InvalidParameter(f"{declared.name} must be filled in")
        if value is not None and (declared.required or value != declared.default):
            values[declared.name] = value
    return values


def filled_with(question: Mapping[str, Any]) -> dict[str, str]:
    r"""Return the boxes of a form that asks this question.

    Examples
    --------
    >>> filled_with({"kind": "select", "candidates": {"young": "age < 30", "old": "age > 60"}})
    {'candidates': 'young: age < 30\nold: age > 60'}
    """
    filled = {}
    for declared in _offered(_kind(str(question.get("kind")))):
        if question.get(declared.name) is None:
            continue
        texts = declared.input.write(question[declared.name], _SEPARATOR)
        if isinstance(declared.input, CostInput):  # its kind is that of the policy
            texts = [texts[0].partition(":")[2]]
        if declared.input.boxes == 1:
            filled[declared.name] = "\n".join(texts)
        else:
            filled |= dict(zip(_boxes(declared), texts, strict=False))
    return filled


def form(kind: str, fields: Fields, trouble: str = "") -> list[tuple[Group | None, list[Box]]]:
    """Return the boxes of a kind, together by group. `trouble` stands next to the field that it names first."""
    kind_class = _kind(kind)
    wrong = named_field(kind, trouble)
    boxes: dict[Group | None, list[Box]] = {}
    for declared in _offered(kind_class):
        given = declared.input
        for at, name in enumerate(_boxes(declared)):
            default = "" if declared.default in (None, False) else str(declared.default)
            choices = getattr(given, "choices", {})
            box = Box(
                name,
                given.label if at == 0 else f"{given.label} ({at + 1})",
                given.help,
                given.widget,
                fields.get(name, "") or (default or next(iter(choices), "") if given.widget == "choice" else ""),
                declared.required and at == 0,
                given.placeholder or default,
                choices,
                trouble if at == 0 and wrong == declared.name else "",
            )
            boxes.setdefault(given.group, []).append(box)
    return list(boxes.items())


def named_field(kind: str, trouble: str) -> str:
    """Return the field of a kind that an error names first; empty where it names none."""
    first = trouble.split(" ")[0].rstrip(":")
    return first if kind in kinds() and first in {declared.name for declared in _offered(_kind(kind))} else ""


def _kind(kind: str) -> type[Question]:
    known = kinds()
    if kind not in known:
        raise InvalidParameter(f"kind must be one of {', '.join(known)}, got {kind[:60]!r}")
    return known[kind]


def _offered(kind: type[Question]) -> list[Field]:
    return [field for field in kind.fields() if field.input.offered]


def _boxes(field: Field) -> list[str]:
    return [field.name if at == 0 else f"{field.name}_{at + 1}" for at in range(field.input.boxes)]


# --- Asking -----------------------------------------------------------------------------------------------------------

router = page_router()


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
    fields = {name: field(form, name) for name in box_names()}
    part = field(form, "part") == "estimate"
    try:
        opened = await server.work(server.guards.guard, guard, caller)
        question = question_of(kind, fields, opened.policy, _schema(opened))
        if part or field(form, "do") == "estimate":
            estimate = await server.asking.estimate(guard, caller, question)
            if estimate.admitted:
                verdict = {"admitted": True, "words": words.promise(estimate), "why": ""}
            else:
                verdict = {"admitted": False, "words": "", "why": estimate.reason}
            if part:
                return show(request, "part_estimate.html", estimate=verdict)
            return await analyst_page(request, guard, caller, kind, fields, estimate=verdict)
        if field(form, "practice"):
            return await _practised(request, guard, caller, opened, question)
        keys = None if key is None else [key]
        async with at_multiples(server.settings.answer_grid):
            (answer,) = await server.asking.ask_all(guard, caller, [question], keys)
    except HoldfastError as error:
        problem = problem_of(error)
        if part:
            return show(request, "part_estimate.html", estimate={"admitted": False, "words": "", "why": problem.detail})
        return await _refused(request, guard, caller, kind, fields, problem)
    server.metrics.answer(kind, answer.repeated)
    return await _answered(request, guard, caller, opened, question, answer)


async def _answered(
    request: Request, guard: str, caller: Caller, opened: Guard, question: Mapping[str, Any], answer: GuardedAnswer
) -> Response:
    """See the entry; where somebody else's entry answers the question, see what it says."""
    server = server_of(request)

    def work() -> dict[str, Any] | None:
        entry = entry_for(opened.ledger, caller, answer.sequence)
        if entry is not None:
            return None
        (entry,) = opened.ledger.entries(answer.sequence, answer.sequence)
        standing = opened.ledger.look(GuardState.of)
        asked = Question.from_dict(question).bind(standing.schema, standing.explored, standing.policy).question
        return words.item_of(asked, answer.released(), answer.sequence, entry.time, None)

    stored = await server.work(work)
    if stored is None:
        return go(f"/guards/{guard}/entries/{answer.sequence}" + ("?again" if answer.repeated else ""))
    facts = await server.work(lambda: described(server, server.guards.row(guard), caller))
    return show(request, "answer.html", guard=facts, item=stored, again=True, own=False)


async def _practised(
    request: Request, guard: str, caller: Caller, opened: Guard, question: Mapping[str, Any]
) -> Response:
    """The answer on practice rows, made from the declared schema alone: marked, kept nowhere, and at no cost."""
    server = server_of(request)

    def work() -> dict[str, Any]:
        standing = opened.ledger.look(GuardState.of)
        practice = practice_guard(standing.schema, standing.policy, standing.explored)
        answer = practice.ask(question, analyst=caller.name)
        asked = Question.from_dict(question).bind(standing.schema, standing.explored, standing.policy).question
        (entry,) = practice.ledger.entries(answer.sequence, answer.sequence)
        return words.item_of(asked, answer.to_dict(), answer.sequence, entry.time, None)

    item, _ = await server.free.run(caller.name, False, work)
    facts = await server.work(lambda: described(server, server.guards.row(guard), caller))
    return show(request, "answer.html", guard=facts, item=item, again=False, own=False)


async def _refused(
    request: Request, guard: str, caller: Caller, kind: str, fields: Mapping[str, str], problem: Problem
) -> Response:
    """The form again, with why it was refused and what would be admitted."""
    server = server_of(request)

    def work() -> tuple[str, list[words.Alternative]]:
        try:
            opened = server.guards.guard(guard, caller)
            question = question_of(kind, fields, opened.policy, _schema(opened))
            exhausted = problem.code == "budget-exhausted"
            why = words.plain(opened, question, caller.name) if exhausted else ""
            return why, words.alternatives(opened, question, caller.name)
        except HoldfastError:
            return "", []

    light = server.free.is_light([{"kind": kind, **fields}])
    (why, offered), _ = await server.free.run(caller.name, light, work)
    request.state.code = problem.code
    wrong = named_field(kind, problem.detail) if problem.code == "invalid-parameter" else ""
    heading = words.WRONG_FIELD if wrong else words.heading(problem.code)
    refused_words = {"heading": heading, "why": problem.detail, "plain": why, "code": problem.code, "field": wrong}
    refusal = refused_words | {
        "alternatives": [(alternative, _address(guard, alternative.question)) for alternative in offered]
    }
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
        items, older = words.answers(ledger, caller.name, words.place(before))
        sharp = words.sharpness(ledger, caller.name)
        return {
            "guard": facts,
            "standing": standing_of(facts, caller, sharp),
            "sharpness": sharp,
            "items": items,
            "older": older,
        }

    values = await server.work(work)
    allowed = {name: kind_class for name, kind_class in kinds().items() if name in values["guard"]["policy"]["kinds"]}
    wanted = kind or query.get("kind", "")
    boxes = box_names()
    filled = {name: query.get(name, "")[:20_000] for name in boxes} if fields is None else dict(fields)
    chosen = wanted if wanted in allowed or refusal else next(iter(allowed), "")
    trouble = refusal["why"] if refusal and refusal["code"] == "invalid-parameter" else ""
    return show(
        request,
        "ask.html",
        status,
        **values,
        kinds=allowed,
        kind=chosen,
        form=form(chosen, filled, trouble) if chosen in allowed else [],
        nulls=NULLS,
        gaps=any(column.get("nullable") is not False for column in values["guard"]["schema"]["columns"]),
        key=secrets.token_hex(16),
        estimate=estimate,
        refusal=refusal,
    )


def _schema(guard: Guard) -> Schema:
    """The columns of a guard: categories are read in the kind of theirs."""
    return guard.ledger.look(GuardState.of).schema


def _address(guard: str, question: Mapping[str, Any]) -> str:
    """The form, filled in with a question."""
    return f"/guards/{guard}/ask?" + urlencode({"kind": question["kind"]} | filled_with(question))
