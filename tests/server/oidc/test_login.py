"""Signing in with a provider, without a browser: the whole way, and everything that can be done wrong on it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from starlette.responses import JSONResponse, RedirectResponse, Response

from holdfast.server.auth.oidc.sign_in import CALLBACK
from holdfast.server.auth.session import COOKIE as SESSION
from holdfast.server.pages.oidc import COOKIE
from tests.server.live import Live
from tests.server.oidc.provider import CLIENT, SECRET, OpenID
from tests.server.pages.visiting import Visitor

START = "/sign-in/oidc"


@pytest.fixture(scope="module", autouse=True)
def nothing_secret_was_logged(shared_provider: OpenID, signing_in: Live) -> Iterator[None]:
    """Codes, verifiers, tokens and the client's secret: over everything that this file did."""
    yield
    require_absent([*shared_provider.handed, SECRET], signing_in.logged())


def require_absent(secrets: list[str], text: str) -> None:
    for one in secrets:
        for piece in one.split("."):
            assert len(piece) < 8 or piece not in text, "a secret was written down"


@pytest.fixture
def visitor(signing_in: Live) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=signing_in.url, timeout=30) as client:
        yield client


def begun(visitor: httpx.Client, address: str = "/") -> dict[str, str]:
    """Go to the provider: what the browser was sent there with."""
    done = visitor.get(START, params={"next": address})
    assert done.status_code == 303, done.text
    return {name: values[0] for name, values in parse_qs(urlsplit(done.headers["location"]).query).items()}


def chosen(provider: OpenID, query: dict[str, str], who: str = "ann") -> str:
    """Be somebody there: the address that the browser is sent back to."""
    return httpx.get(provider.url + "/choose", params=query | {"who": who}).headers["location"]


def refused(done: httpx.Response, status: int = 403) -> str:
    assert done.status_code == status, done.text
    assert SESSION not in done.headers.get("set-cookie", "")
    return done.text


def test_the_whole_way(visitor: httpx.Client, provider: OpenID, signing_in: Live) -> None:
    assert "Sign in with Example" in visitor.get("/").text
    page = visitor.get("/sign-in", params={"next": "/tokens"}).text
    assert f'href="{START}?next=/tokens"' in page
    first = visitor.get(START, params={"next": "/tokens"})
    assert urlsplit(first.headers["location"])._replace(query="").geturl() == provider.url + "/authorize"
    said = first.headers["set-cookie"]
    assert "HttpOnly" in said
    assert "SameSite=lax" in said
    assert f"Path={START}" in said
    query = {name: values[0] for name, values in parse_qs(urlsplit(first.headers["location"]).query).items()}
    assert query["redirect_uri"] == signing_in.url + CALLBACK
    assert (query["response_type"], query["code_challenge_method"]) == ("code", "S256")
    assert query["scope"].split() == ["openid", "email"]
    assert min(len(query[name]) for name in ("state", "nonce", "code_challenge")) >= 43
    done = visitor.get(chosen(provider, query, "sam"))
    assert done.status_code == 200
    assert 'content="0; url=/tokens"' in done.text
    assert "SameSite=strict" in done.headers["set-cookie"]
    assert COOKIE not in visitor.cookies, "what was taken along is taken back"
    page = visitor.get("/tokens").text
    assert "oidc:u-1002" in page
    assert "comes by Example" in page


def test_a_role_follows_the_last_sign_in(visitor: httpx.Client, provider: OpenID) -> None:
    visitor.get(chosen(provider, begun(visitor), "ann"))
    assert visitor.get("/tokens").status_code == 403
    provider.faults["claims"] = {"groups": ["stewards"]}
    visitor.get(chosen(provider, begun(visitor), "ann"))
    assert visitor.get("/tokens").status_code == 200
    provider.faults.clear()
    visitor.get(chosen(provider, begun(visitor), "ann"))
    assert visitor.get("/tokens").status_code == 403


def test_an_answer_is_taken_once_and_by_who_began(visitor: httpx.Client, provider: OpenID, signing_in: Live) -> None:
    query = begun(visitor)
    cookie = visitor.cookies[COOKIE]
    back = chosen(provider, query)
    with httpx.Client(base_url=signing_in.url) as other:
        refused(other.get(back))
        begun(other)
        refused(other.get(back))
    assert visitor.get(back).status_code == 200
    refused(visitor.get(back))
    again = {"Cookie": f"{COOKIE}={cookie}"}
    refused(httpx.get(back, headers=again)), "not with a copy of the cookie either"
    fresh = chosen(provider, query)  # a new code for a state that was used
    refused(httpx.get(fresh, headers=again))


@pytest.mark.parametrize(
    "changed",
    [
        {"state": "x"},
        {"state": ""},
        {"iss": "https://evil.example"},
        {"iss": None},
        {"code": "made-up"},
        {"code": ""},
        {"code": None},
        {"code": "x" * 5000},
        {"error": "access_denied", "error_description": "<script>alert(1)</script>"},
    ],
)
def test_a_changed_answer_is_refused(visitor: httpx.Client, provider: OpenID, changed: dict[str, Any]) -> None:
    parts = urlsplit(chosen(provider, begun(visitor)))
    query = {name: values[0] for name, values in parse_qs(parts.query).items()} | changed
    text = refused(visitor.get(CALLBACK, params={name: value for name, value in query.items() if value is not None}))
    assert "<script>alert" not in text
    assert visitor.get("/tokens").status_code == 303, "nobody is signed in"


def test_a_changed_cookie_is_refused(visitor: httpx.Client, provider: OpenID) -> None:
    back = chosen(provider, begun(visitor))
    cookie = visitor.cookies[COOKIE]
    said, _, seal = cookie.rpartition(".")
    for forged in (f"{said}x.{seal}", f"{said}.{'0' * 64}", "x", ".", f"x{cookie}", "", "a" * 4000):
        refused(httpx.get(back, headers={"Cookie": f"{COOKIE}={forged}"}))


def test_a_code_of_another_sign_in_is_refused(visitor: httpx.Client, provider: OpenID, signing_in: Live) -> None:
    """A stolen code is nothing without the verifier that stayed with its owner; nor is one's own put upon another."""
    with httpx.Client(base_url=signing_in.url) as thief:
        stolen = parse_qs(urlsplit(chosen(provider, begun(visitor), "sam")).query)["code"][0]
        mine = begun(thief)
        answer = {"code": stolen, "state": mine["state"], "iss": provider.url}
        refused(thief.get(CALLBACK, params=answer))
        assert thief.get("/tokens").status_code == 303


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"aud": [CLIENT, "another"]},
        {"aud": [CLIENT, "another"], "azp": "another"},
        {"azp": "another"},
        {"iss": "https://evil.example"},
        {"exp": 1000},
        {"iat": 1000},
        {"sub": None},
    ],
)
def test_an_id_token_of_something_else_is_refused(
    visitor: httpx.Client, provider: OpenID, claims: dict[str, Any]
) -> None:
    query = begun(visitor)
    provider.faults["claims"] = claims
    done = visitor.get(chosen(provider, query))
    assert done.status_code in (401, 403)
    refused(done, done.status_code)
    assert visitor.get("/tokens").status_code == 303


@pytest.mark.parametrize(
    "answer",
    [
        lambda: Response("down", 500),
        lambda: Response("x" * 10**6),
        lambda: JSONResponse({"access_token": "a", "token_type": "Bearer"}),
        lambda: JSONResponse({"id_token": 7, "access_token": "a", "token_type": "Bearer"}),
        lambda: JSONResponse([1]),
        lambda: RedirectResponse("https://evil.example/token", 307),
    ],
)
def test_a_token_endpoint_that_fails_lets_nobody_in(visitor: httpx.Client, provider: OpenID, answer: Any) -> None:
    query = begun(visitor)
    provider.faults["token"] = answer
    refused(visitor.get(chosen(provider, query)), 503)


def test_no_page_of_another_site_is_gone_to(visitor: httpx.Client, provider: OpenID) -> None:
    for address in (
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "/x\r\nLocation: //evil",
        "javascript:1",
    ):
        done = visitor.get(chosen(provider, begun(visitor, address)))
        assert 'content="0; url=/"' in done.text, address
        assert "evil" not in done.text
    for host in ("evil.example", "127.0.0.1:1"):
        done = visitor.get(START, headers={"Host": host, "X-Forwarded-Host": host, "X-Forwarded-Proto": "https"})
        assert "evil" not in done.headers["location"], "where to come back to is no request's to say"
        visitor.cookies.clear()


def test_a_blocked_subject_is_out_at_once(visitor: httpx.Client, provider: OpenID, signing_in: Live) -> None:
    visitor.get(chosen(provider, begun(visitor), "eve"))
    assert "oidc:u-1003" in visitor.get("/").text
    with Visitor(signing_in.url, signing_in.steward_token) as steward:
        page = steward.get("/tokens").text
        shown = re.search(r"<strong>oidc:u-1003</strong>.*?/tokens/([0-9a-f]{16})/revoke.*?>Block<", page, re.S)
        assert shown is not None
        steward.fill(f"/tokens/{shown[1]}/revoke")
        assert "Sign out" not in visitor.get("/").text
        text = refused(visitor.get(chosen(provider, begun(visitor), "eve")), 401)
        assert "blocked" in text
        assert "Let in again" in steward.get("/tokens").text
        steward.fill(f"/tokens/{shown[1]}/restore")
        assert "Sign out" not in visitor.get("/").text, "sessions from before stay ended"
        assert visitor.get(chosen(provider, begun(visitor), "eve")).status_code == 200
        assert steward.fill("/tokens/0000000000000000/restore").status_code == 404


def test_secrets_are_in_no_log_and_no_page(visitor: httpx.Client, provider: OpenID, signing_in: Live) -> None:
    """Codes, verifiers, states, tokens and the client's secret."""
    said: list[str] = []
    visitor.event_hooks["response"] = [lambda response: said.append(response.read().decode())]
    query = begun(visitor)
    visitor.get(chosen(provider, query, "sam"))
    visitor.get("/tokens")
    token = provider.token("sam")
    with signing_in.client(token) as client:
        assert client.get("/api/v1/me").json()["name"] == "oidc:u-1002"
        client.get(f"/nothing/{token}")
        client.get(f"/api/v1/guards/{token}")
        client.get("/api/v1/me", headers={"Authorization": f"Bearer {token}x"})
    provider.faults["token"] = lambda: Response(f"odd {token}", 500)
    visitor.get(chosen(provider, begun(visitor)))
    logged = signing_in.logged()
    assert "signed-in" in logged
    known = (query["state"], query["nonce"], query["code_challenge"], visitor.cookies[SESSION].split(".", 2)[2])
    secret = [*provider.handed, SECRET, *known]
    assert len(secret) > 10
    require_absent(secret, logged)
    require_absent(secret, "".join(said))
    for claim in ("ann@example.org", "u-1001"):
        assert claim not in logged, "nor are names"
