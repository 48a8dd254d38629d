"""Signing in, cookies and forms: what is sealed, what ends, and what another site cannot do."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from holdfast.server.auth.session import COOKIE, SECONDS
from tests.server.live import CHECK, Live, send
from tests.server.pages.visiting import Visitor, values

OPEN = {"/", "/sign-in", "/join", "/assets/holdfast.css", "/assets/holdfast.js", "/assets/icon.svg"}


@pytest.fixture(scope="module")
def guard(live: Live) -> dict[str, Any]:
    return live.guard("sessions", {"questions": 50, "analysts": {"ann": 1.0}})


def issue(live: Live, name: str, role: str = "analyst") -> dict[str, Any]:
    with live.client() as steward:
        return dict(steward.post("/api/v1/tokens", json={"role": role, "name": name}).json())


@pytest.fixture(scope="module")
def ann(live: Live) -> Iterator[Visitor]:
    with Visitor(live.url, issue(live, "ann")["token"]) as visitor:
        yield visitor


@pytest.fixture(scope="module")
def steward(live: Live) -> Iterator[Visitor]:
    with Visitor(live.url, live.steward_token) as visitor:
        yield visitor


def test_the_cookie_is_sealed_and_holds_no_token(live: Live) -> None:
    with httpx.Client(base_url=live.url, timeout=60) as visitor:
        done = visitor.post("/sign-in", data={"token": f"  {live.steward_token}\n", "next": "/tokens"})
        assert (done.status_code, done.headers["location"]) == (303, "/tokens")
        said = done.headers["set-cookie"]
        assert "HttpOnly" in said
        assert "SameSite=strict" in said
        assert f"Max-Age={SECONDS}" in said
        assert live.steward_token.split("_")[2] not in said
        cookie = visitor.cookies[COOKIE]
        identity, begun, nonce, seal = cookie.split(".")
        old = f"{identity}.{int(begun) - 1}.{nonce}.{seal}"
        other = issue(live, "other", "steward")["id"]
        stolen = f"{other}.{begun}.{nonce}.{seal}"
        for forged in (old, stolen, cookie[:-1] + ("0" if cookie[-1] != "0" else "1"), "x", cookie + ".x", ""):
            answer = send("GET", live.url + "/tokens", cookies={COOKIE: forged})
            assert (answer.status_code, answer.headers["location"]) == (303, "/sign-in?next=/tokens"), forged
        assert send("GET", live.url + "/tokens", cookies={COOKIE: cookie}).status_code == 200


def test_a_session_ends_with_its_token(live: Live) -> None:
    token = issue(live, "brief")
    with Visitor(live.url, token["token"]) as visitor, live.client() as steward:
        assert "Sign out" in visitor.get("/").text
        steward.delete(f"/api/v1/tokens/{token['id']}")
        assert "Your token" in visitor.get("/").text
        assert visitor.post("/sign-in", data={"token": token["token"]}).status_code == 401
    expired = issue(live, "late")
    with Visitor(live.url, expired["token"]) as visitor:
        database = sqlite3.connect(live.folder / "ledger.db")
        with database:
            database.execute(
                "UPDATE server_tokens SET expires = '2020-01-01T00:00:00+00:00' WHERE id = ?", (expired["id"],)
            )
        database.close()
        assert "Your token" in visitor.get("/").text


def test_signing_out(live: Live) -> None:
    with Visitor(live.url, issue(live, "leaver")["token"]) as visitor:
        assert visitor.post("/sign-out", data={"csrf_token": "0" * 64}).status_code == 403
        assert "Sign out" in visitor.get("/").text
        assert "Your token" in visitor.fill("/sign-out").text
        assert COOKIE not in visitor.cookies


@pytest.mark.parametrize(
    "address", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_signing_in_leads_nowhere_else(live: Live, address: str) -> None:
    done = send("POST", live.url + "/sign-in", data={"token": live.steward_token, "next": address})
    assert (done.status_code, done.headers["location"]) == (303, "/")


def test_forms_of_other_sites_change_nothing(live: Live, steward: Visitor, guard: dict[str, Any]) -> None:
    pause = f"/guards/{guard['id']}/pause"
    for headers in (
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://evil.example"},
    ):
        assert steward.post(pause, data={"csrf_token": steward.csrf_token}, headers=headers).status_code == 403
        assert (
            send("POST", live.url + "/sign-in", data={"token": live.steward_token}, headers=headers).status_code == 403
        )
    with Visitor(live.url, issue(live, "x", "steward")["token"]) as another:
        marks = ("", "0" * 64, "ü", another.csrf_token)
    for mark in marks:
        assert steward.post(pause, data={"csrf_token": mark}).status_code == 403
    assert steward.post(pause).status_code == 403
    with live.client() as api:
        assert api.get(f"/api/v1/guards/{guard['id']}").json()["status"] == "open"
        # A cookie is no way into the API, and a token's header no way into pages.
        assert send("GET", live.url + "/api/v1/me", cookies=dict(steward.cookies)).status_code == 401
        assert api.get("/tokens", follow_redirects=False).status_code == 303


def test_every_page_keeps_its_roles(live: Live, ann: Visitor, guard: dict[str, Any]) -> None:
    """Each address of the pages, as somebody without a token, as the wrong analyst, and as one without the role."""
    names = {"guard": guard["id"], "sample": guard["sample"], "token": "0" * 16, "sequence": "2", "act": "pause"}
    with live.client() as steward:
        steward.post(f"/api/v1/guards/{guard['id']}/ask", json={"question": CHECK})
    routes = page_routes()
    assert len(routes) > 20
    bob = Visitor(live.url, issue(live, "bob")["token"])
    only_steward = {"/samples", "/tokens", "/guards", "/guards/new"}
    for method, path in routes:
        address = re.sub(r"{(\w+)}", lambda found: names.get(found[1], "holdfast.css"), path)
        visitor = send(method, live.url + address)
        if address in OPEN:
            assert visitor.status_code in (200, 401), address
            continue
        if path.startswith("/public/"):  # without a token, but only what a host made public
            assert visitor.status_code == 404, address
            continue
        assert visitor.status_code == (303 if method == "GET" else 401), address
        stewards = path in only_steward or path.startswith(("/samples", "/tokens/"))
        stewards = stewards or path.endswith(("/verify", "/override", "/extend", "/final", "/{act}"))
        stewards = stewards or (method, path) == ("POST", "/reports")
        if path == "/sign-out":  # anybody may
            continue
        for who in (ann, bob):
            done = who.get(address) if method == "GET" else who.fill(address)
            if stewards:
                assert done.status_code == 403, (method, address)
            elif "{guard}" in path and who is bob:
                assert done.status_code == 404, (method, address)
    bob.close()


def page_routes() -> list[tuple[str, str]]:
    """What the application serves outside the API."""
    import importlib

    from holdfast.server.pages import PARTS

    found = []
    for part in PARTS:
        for route in importlib.import_module(f"holdfast.server.pages.{part}").router.routes:
            found += [(method, route.path) for method in route.methods]
    return found


def test_pages_come_with_strict_headers(live: Live, ann: Visitor) -> None:
    for address in ("/", "/guards/g_0000000000000000", "/tokens"):
        headers = ann.get(address).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    page = ann.get("/").text
    assert " style=" not in page
    assert "<style" not in page
    assert "<script>" not in page
    assert set(re.findall(r'(?:src|href)="(\w+:)', page)) == set()
    style = re.search(r"/assets/holdfast\.css\?\w+", page)
    assert style is not None
    kept = ann.get(style[0])
    assert "immutable" in kept.headers["cache-control"]
    assert ann.get(style[0], headers={"If-None-Match": kept.headers["etag"]}).status_code == 304
    for name in ("..%2Fsession.py", "holdfast.css%00", "templates"):
        assert ann.get(f"/assets/{name}").status_code == 404


def test_an_address_that_is_not_there_is_a_page_for_people(live: Live, ann: Visitor) -> None:
    person = {"Accept": "text/html,application/xhtml+xml"}
    page = ann.get("/nothing/<b>", headers=person)
    assert page.status_code == 404
    assert "There is nothing at this address." in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    assert send("GET", live.url + "/nothing").json()["code"] == "not-found"
    assert (
        send("GET", live.url + "/api/v1/nothing", headers=person).headers["content-type"] == "application/problem+json"
    )


def test_wrong_tokens_are_counted_here_too(live: Live) -> None:
    from tests.server.live import running

    with running(failures=3) as server:
        wrong = "hf_" + "0" * 16 + "_" + "0" * 63
        codes = [send("POST", server.url + "/sign-in", data={"token": f"{wrong}{i}"}).status_code for i in range(6)]
        assert codes[:3] == [401] * 3
        ident = server.steward_token.split("_")[1]
        guess = f"hf_{ident}_" + "1" * 64
        assert send("POST", server.url + "/sign-in", data={"token": guess}).status_code == 429
        assert wrong not in server.logged()
        # A page that needs nothing is still there, and its log line has no token.
        assert send("GET", server.url + "/").status_code == 200
        assert all("token" not in json.loads(line) for line in server.logged().splitlines() if '"/sign-in"' in line)


def test_sending_a_form_twice_asks_once(ann: Visitor, guard: dict[str, Any]) -> None:
    at = f"/guards/{guard['id']}"
    fields = {"kind": "check", "expression": "age < 33", "guess": "0.3", "key": "k" * 32, "do": "ask"}
    first, second = ann.fill(f"{at}/ask", **fields), ann.fill(f"{at}/ask", **fields)
    assert first.url.path == second.url.path
    assert "one question, no privacy" in first.text
    assert "nothing: this question was answered before" in second.text


def test_wrong_input_is_said_on_the_page(steward: Visitor, ann: Visitor, guard: dict[str, Any], live: Live) -> None:
    at = f"/guards/{guard['id']}/ask"
    for fields, words in (
        ({"kind": "check", "expression": "nothing < 1", "guess": "0.5"}, "column"),
        ({"kind": "check", "expression": "age < 1", "guess": "half"}, "guess must be a number"),
        ({"kind": "check", "expression": "", "guess": "0.5"}, "expression must be filled in"),
        ({"kind": "nonsense"}, "kind must be one of"),
        ({"kind": "mean", "expression": "age"}, "does not allow a mean"),
        ({"kind": "check", "expression": "age; drop table entries", "guess": "0.5"}, "expression must be one"),
    ):
        done = ann.fill(at, do="ask", **fields)
        assert done.status_code in (409, 422), (fields, done.status_code)
        assert words.lower() in done.text.lower(), (fields, words)
        part = ann.fill(at, part="estimate", **fields)
        assert part.status_code == 200
        assert "Not like this." in part.text
    sample = live.sample("wrong input", "a,b\n1,2\n2,1\n")["id"]
    for change, words in (
        ({"name": "<script>alert(1)</script>"}, "name must begin"),
        ({"confidence": "2"}, "confidence must"),
        ({"questions": "1e99"}, "questions must"),
        ({"analysts": "ann"}, "analysts must be given in lines with a name and a quota each, such as"),
        ({"shape": "nothing"}, "plan must be one of"),
        ({"sample": "s_0000000000000000"}, "no such sample"),
    ):
        done = steward.fill("/guards", **values(name="wrong", sample=sample) | change)
        assert done.status_code in (404, 422), change
        assert words in done.text.replace("&#39;", "'").lower(), (change, words)
        assert "<script>alert" not in done.text
    for days in ("0", "-1", "1e9", "nan", "x"):
        assert steward.fill("/tokens", name="n", role="analyst", days=days).status_code == 422, days
    assert steward.fill("/tokens", name="n", role="king").status_code == 422
    assert (
        steward.post("/samples", content=b"\xff\xfe", headers={"Content-Type": "multipart/form-data"}).status_code
        == 400
    )
    files = {"file": ("../../evil.csv", b"a,b\n1,2\n")}
    up = steward.post("/samples", data={"csrf_token": steward.csrf_token, "name": "up"}, files=files)
    assert up.status_code == 200
    assert not (live.folder.parent / "evil.csv").exists()
    for name, content in (("x.exe", b"a\n1\n"), ("x.csv", b""), ("x.parquet", b"PAR1")):
        bad = steward.post(
            "/samples", data={"csrf_token": steward.csrf_token, "name": f"bad {name}"}, files={"file": (name, content)}
        )
        assert bad.status_code == 422, name
