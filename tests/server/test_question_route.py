"""One route takes a question: what it reads of a request, what it refuses, and that the OpenAPI page describes it."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from holdfast.server.app import create_app
from holdfast.server.routes.questions import LONGEST_KEY, QuestionRoute
from holdfast.server.settings import Settings
from tests.server.live import CHECK, Live

PLAIN = {"question": CHECK}
ADDRESS = "/api/v1/guards/{guard}/ask"
OTHERS = tuple(ADDRESS.replace("/ask", end) for end in ("/estimate", "/batch", "/stream"))


@pytest.fixture(scope="module")
def asking(live: Live) -> Any:
    """A client, and where it asks."""
    guard = live.guard("question route", {"questions": 1000})["id"]
    with live.analyst("route") as client:
        yield client, f"/api/v1/guards/{guard}/ask"


def code_of(done: httpx.Response) -> str:
    return str(done.json()["code"]) if done.status_code != 200 else "answered"


@pytest.mark.parametrize(
    ("guess", "headers"),
    [
        (0.501, {}),
        (0.502, {"Idempotency-Key": "k"}),
        (0.503, {"Idempotency-Key": "!~" * (LONGEST_KEY // 2)}),
        (0.504, {"Content-Type": "application/json; charset=utf-8"}),
        (0.505, {"Content-Type": "application/x+json"}),
    ],
)
def test_a_question_is_answered_under_its_key(asking: Any, guess: float, headers: dict[str, str]) -> None:
    client, address = asking
    done = client.post(address, json={"question": CHECK | {"guess": guess}}, headers=headers)
    assert done.status_code == 200, done.text
    assert done.json()["passed"] is True
    if "Idempotency-Key" in headers:
        other = client.post(address, json=PLAIN, headers=headers)
        assert code_of(other) == "ledger-conflict", "the key was read, and stands for the first question"


@pytest.mark.parametrize(
    ("odd", "code", "where"),
    [
        ({"method": "GET"}, "method-not-allowed", None),
        ({"method": "PUT"}, "method-not-allowed", None),
        ({"end": "/"}, "not-found", None),
        ({"end": "%0A"}, "not-found", None),
        ({"end": "?x=1"}, "invalid-parameter", None),
        ({"headers": {"content-type": "text/plain"}}, "unsupported-media-type", None),
        ({"headers": {"idempotency-key": ""}}, "invalid-parameter", "header.Idempotency-Key"),
        ({"headers": {"idempotency-key": "a b"}}, "invalid-parameter", "header.Idempotency-Key"),
        ({"headers": {"idempotency-key": b"\xe9"}}, "invalid-parameter", "header.Idempotency-Key"),
        ({"headers": {"idempotency-key": "k" * (LONGEST_KEY + 1)}}, "invalid-parameter", "header.Idempotency-Key"),
        ({"content": b""}, "invalid-parameter", "body"),
        ({"content": b"[]"}, "invalid-parameter", "body"),
        ({"content": b"{}"}, "invalid-parameter", "body.question"),
        ({"content": b'{"question": [1]}'}, "invalid-parameter", "body.question"),
        ({"content": b'{"question": null}'}, "invalid-parameter", "body.question"),
        ({"content": b'{"question": {}, "more": 1}'}, "invalid-parameter", "body.more"),
        ({"content": b'{"questions": {}}'}, "invalid-parameter", "body.question"),
        ({"content": b'{"question": {"guess": NaN}}'}, "malformed-request", None),
        ({"content": b'{"question": {}, "question": {}}'}, "malformed-request", None),
    ],
)
def test_what_is_wrong_is_refused_and_said(asking: Any, odd: dict[str, Any], code: str, where: str | None) -> None:
    client, address = asking
    headers = {"content-type": "application/json"} | odd.get("headers", {})
    content = odd.get("content", b'{"question": {"kind": "check", "expression": "age < 45", "guess": 0.5}}')
    done = client.request(odd.get("method", "POST"), address + odd.get("end", ""), content=content, headers=headers)
    assert code_of(done) == code, done.text
    assert where is None or where in [error["where"] for error in done.json()["errors"]]


def test_every_route_for_questions_reads_requests_in_this_way(asking: Any) -> None:
    client, address = asking
    for end, name in (("estimate", "question"), ("batch", "questions"), ("stream", "questions")):
        place = address.replace("/ask", f"/{end}")
        assert code_of(client.post(place, json={})) == "invalid-parameter"
        assert code_of(client.post(place + "?x=1", json=PLAIN)) == "invalid-parameter"
        right = {name: CHECK if name == "question" else [CHECK]}
        assert client.post(place, json=right).status_code == 200
        odd = client.post(place, json=right, headers={"Idempotency-Key": "a b"})
        assert (odd.status_code == 200) == (end == "estimate"), "an estimate takes no key"


def test_one_route_takes_a_question_and_the_openapi_page_has_it(tmp_path: Any) -> None:
    app = create_app(Settings(folder=tmp_path))
    app.state.server.close()
    routes = [route for route in app.routes if getattr(route, "path", "") in (ADDRESS, *OTHERS)]
    assert sorted(route.path for route in routes) == sorted((ADDRESS, *OTHERS)), "one for each address"  # type: ignore[attr-defined]
    assert all(isinstance(route, QuestionRoute) for route in routes)
    described = app.openapi()["paths"][ADDRESS]["post"]
    assert described["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/Ask")
    assert [one["name"] for one in described["parameters"]] == ["guard", "Idempotency-Key"]
    assert "200" in described["responses"]
