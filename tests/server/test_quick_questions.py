"""Which requests take the quick way, and what the others find when they are handed on."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from holdfast.server.errors import Problem
from holdfast.server.quick_questions import ADDRESS, LONGEST_KEY, QuickQuestions
from holdfast.server.roles import Caller

ANN = Caller("1", "analyst", "ann")
QUESTION = {"kind": "check", "expression": "age < 45", "guess": 0.5}
PLACE = "/api/v1/guards/g_1/ask"
JSON = (b"content-type", b"application/json")


def key(text: str) -> tuple[bytes, bytes]:
    return b"idempotency-key", text.encode("latin-1")


class Inside:
    """Both ways, and what came to each."""

    def __init__(self) -> None:
        self.quick: list[Any] = []
        self.general: list[Any] = []

    async def answered(self, server: Any, guard: str, caller: Caller, question: dict[str, Any], key: Any) -> Response:
        self.quick.append((server, guard, caller, question, key))
        return Response("quick")

    async def app(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.general += [await receive(), await receive()] if scope["type"] == "http" else [scope["type"]]


def asked(body: bytes, message: Message | None = None, **scope: Any) -> tuple[Inside, Scope, list[Message]]:
    inside, sent = Inside(), []
    whole = {
        "type": "http",
        "method": "POST",
        "path": PLACE,
        "query_string": b"",
        "headers": [JSON],
        "state": {"caller": ANN},
    } | scope
    coming = [message or {"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return coming.pop() if coming else {"type": "http.disconnect"}

    async def send(one: Message) -> None:
        sent.append(one)

    asyncio.run(QuickQuestions(inside.app, "server", inside.answered)(whole, receive, send))  # type: ignore[arg-type]
    return inside, whole, sent


PLAIN = json.dumps({"question": QUESTION}).encode()


@pytest.mark.parametrize(
    ("headers", "wanted"),
    [
        ([JSON], None),
        ([key("k"), (b"x-other", b"1"), JSON], "k"),
        ([JSON, key("!~" * (LONGEST_KEY // 2))], "!~" * (LONGEST_KEY // 2)),
    ],
)
def test_a_request_in_plain_order_is_answered_at_once(headers: list[Any], wanted: str | None) -> None:
    inside, scope, sent = asked(PLAIN, headers=headers)
    assert inside.quick == [("server", "g_1", ANN, QUESTION, wanted)]
    assert inside.general == []
    assert scope["route"].path == ADDRESS
    assert [one["type"] for one in sent] == ["http.response.start", "http.response.body"]


@pytest.mark.parametrize(
    "odd",
    [
        {"method": "GET"},
        {"method": "PUT"},
        {"path": PLACE + "/"},
        {"path": PLACE + "\n"},
        {"path": "/x" + PLACE},
        {"path": "/api/v1/guards/a/b/ask"},
        {"path": "/api/v1/guards//ask"},
        {"path": PLACE.replace("ask", "batch")},
        {"query_string": b"x=1"},
        {"headers": []},
        {"headers": [JSON, JSON]},
        {"headers": [(b"content-type", b"application/json; charset=utf-8")]},
        {"headers": [(b"content-type", b"text/plain")]},
        {"headers": [JSON, key("")]},
        {"headers": [JSON, key("k"), key("k")]},
        {"headers": [JSON, key("a b")]},
        {"headers": [JSON, key("k\n")]},
        {"headers": [JSON, key("\xe9")]},
        {"headers": [JSON, key("k" * (LONGEST_KEY + 1))]},
        {"body": b""},
        {"body": b"[]"},
        {"body": b"{}"},
        {"body": b'{"question": [1]}'},
        {"body": b'{"question": null}'},
        {"body": b'{"question": {}, "more": 1}'},
        {"body": b'{"questions": {}}'},
    ],
)
def test_all_others_are_handed_on_as_they_came(odd: dict[str, Any]) -> None:
    body = odd.pop("body", PLAIN)
    inside, _, sent = asked(body, **odd)
    assert inside.quick == sent == []
    assert inside.general == [
        {"type": "http.request", "body": body, "more_body": False},
        {"type": "http.disconnect"},
    ], "the body once, and then what the connection says"


def test_who_hung_up_and_what_is_no_request_are_handed_on() -> None:
    inside, _, _ = asked(b"", {"type": "http.disconnect"})
    assert inside.quick == []
    assert inside.general[0] == {"type": "http.disconnect"}
    inside, _, _ = asked(b"", type="lifespan")
    assert inside.general == ["lifespan"]


def test_a_body_that_cannot_be_read_is_refused_under_its_route() -> None:
    scope = {"type": "http", "method": "POST", "path": PLACE, "query_string": b"", "headers": [JSON], "state": {}}

    async def receive() -> Message:
        return {"type": "http.request", "body": b'{"question": {"guess": NaN}}', "more_body": False}

    async def nothing(*_: Any) -> None:
        raise AssertionError("nobody is asked")

    with pytest.raises(Problem, match="malformed-request"):
        asyncio.run(QuickQuestions(nothing, None, nothing)(scope, receive, nothing))  # type: ignore[arg-type]
    assert scope["route"].path == ADDRESS  # type: ignore[attr-defined]
