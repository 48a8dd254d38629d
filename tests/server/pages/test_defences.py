"""Each defence of the pages by itself, in this process."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from holdfast.server import Settings, create_app
from holdfast.server.auth import session
from holdfast.server.records import TOKENS
from tests.server.live import CHECK
from tests.server.pages.visiting import MARK

ROWS = "age,income\n" + "".join(f"{20 + i % 50},{i % 90}\n" for i in range(1000))
BOLD = "<b>because</b>"


class Pages:
    """An application, a guard, and visitors."""

    def __init__(self, folder: Any, **more: Any) -> None:
        self.app = create_app(Settings(folder=folder, **{"rate": 1e6, "burst": 10**6} | more))
        self.server = self.app.state.server

    def token(self, role: Any, name: str, guards: list[str] | None = None) -> tuple[str, str]:
        from datetime import UTC, datetime, timedelta

        text, facts = self.server.tokens.issue(role, name, datetime.now(UTC) + timedelta(days=1), guards)
        return text, facts["id"]

    def visitor(self, token: str | None = None) -> TestClient:
        client = TestClient(self.app, follow_redirects=False, raise_server_exceptions=False)
        if token is not None:
            assert client.post("/sign-in", data={"token": token}).status_code == 303
        return client

    def guard(self, name: str, policy: dict[str, Any], rows: str = ROWS) -> str:
        place = self.server.samples.fresh_upload("csv")
        place.write_text(rows)
        sample = self.server.samples.add(name, "upload", str(place))
        return str(self.server.guards.create(name, sample["id"], policy)["id"])


def fill(who: TestClient, address: str, **fields: str) -> Any:
    found = MARK.search(who.get("/").text)
    assert found is not None
    return who.post(address, data={"csrf_token": found[1]} | fields)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    made = Pages(tmp_path_factory.mktemp("pages"))
    yield made
    made.server.close()


@pytest.fixture(scope="module")
def guard(pages: Pages) -> str:
    """A guard that ann and bob have asked."""
    made = pages.guard("people", {"questions": 50, "analysts": {"ann": 0.5, "bob": 0.5}})
    for name, guess in (("ann", 0.5), ("bob", 0.4)):
        pages.server.guards.opened(made).ask(CHECK | {"guess": guess}, analyst=name)
    return made


def test_a_session_ends_by_itself(pages: Pages, monkeypatch: pytest.MonkeyPatch) -> None:
    cookie = pages.visitor(pages.token("steward", "sam")[0]).cookies[session.COOKIE]
    visitor = pages.visitor()  # a browser forgets the cookie by itself; somebody who copied it does not
    copied = {"Cookie": f"{session.COOKIE}={cookie}"}
    later = time.time() + session.SECONDS - 300
    monkeypatch.setattr(session.time, "time", lambda: later)
    assert visitor.get("/tokens", headers=copied).status_code == 200
    monkeypatch.setattr(session.time, "time", lambda: later + 310)
    assert visitor.get("/tokens", headers=copied).status_code == 303


@pytest.mark.parametrize("column", ["revoked", "expires"])
def test_a_session_ends_with_its_token(pages: Pages, column: str) -> None:
    text, identity = pages.token("steward", "sam")
    visitor = pages.visitor(text)
    assert visitor.get("/tokens").status_code == 200
    pages.server.records.change(TOKENS, identity, **{column: "2020-01-01T00:00:00+00:00"})
    assert visitor.get("/tokens").status_code == 303


def test_a_session_reaches_what_its_token_reaches(pages: Pages, guard: str) -> None:
    near = pages.visitor(pages.token("analyst", "ann", [guard])[0])
    far = pages.visitor(pages.token("analyst", "ann", ["g_" + "0" * 16])[0])
    assert near.get(f"/guards/{guard}").status_code == 200
    assert far.get(f"/guards/{guard}").status_code == 404
    assert "people" not in far.get("/").text


def test_an_analyst_sees_no_other_analysts_questions(pages: Pages, guard: str) -> None:
    ann = pages.visitor(pages.token("analyst", "ann")[0])
    steward = pages.visitor(pages.token("steward", "sam")[0])
    entries = {one.analyst: one.sequence for one in pages.server.guards.opened(guard).ledger.entries(2)}
    page = ann.get(f"/guards/{guard}").text
    assert f"/entries/{entries['ann']}" in page
    assert f"/entries/{entries['bob']}" not in page
    for tail in ("", "/receipt"):
        assert ann.get(f"/guards/{guard}/entries/{entries['ann']}{tail}").status_code == 200
        assert ann.get(f"/guards/{guard}/entries/{entries['bob']}{tail}").status_code == 404
        assert steward.get(f"/guards/{guard}/entries/{entries['bob']}{tail}").status_code == 200
    assert ann.get(f"/guards/{guard}/entries/1").status_code == 404, "how it was opened is the steward's"


def test_pages_keep_to_the_rate_of_the_token(tmp_path: Any) -> None:
    made = Pages(tmp_path / "s", rate=0.01, burst=5)
    visitor = made.visitor(made.token("steward", "sam")[0])
    codes = [visitor.get("/tokens").status_code for _ in range(8)]
    assert codes == [200] * 5 + [429] * 3
    made.server.close()


@pytest.mark.parametrize(("public", "secure"), [(None, False), ("https://holdfast.example.org", True)])
def test_behind_tls_the_cookie_stays_there(tmp_path: Any, public: str | None, secure: bool) -> None:
    made = Pages(tmp_path / "s", public_url=public)
    said = made.visitor().post("/sign-in", data={"token": made.token("steward", "sam")[0]}).headers["set-cookie"]
    assert ("secure" in said.lower().split("; ")) is secure
    assert "httponly" in said.lower()
    made.server.close()


@pytest.mark.parametrize(
    ("headers", "let_in"),
    [
        ({}, True),
        ({"Origin": "http://testserver"}, True),
        ({"Origin": "http://testserver", "Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "none"}, True),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "http://testserver.evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": "http://testserver", "Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
    ],
)
def test_forms_of_other_sites(pages: Pages, headers: dict[str, str], let_in: bool) -> None:
    token = pages.token("steward", "sam")[0]
    done = pages.visitor().post("/sign-in", data={"token": token}, headers=headers)
    assert done.status_code == (303 if let_in else 403)
    assert ("set-cookie" in done.headers) is let_in


def test_reasons_are_shown_and_not_read(pages: Pages) -> None:
    guard = pages.guard("paused", {"questions": 5}, ROWS.replace("income", "pay"))
    steward = pages.visitor(pages.token("steward", "sam")[0])
    assert fill(steward, f"/guards/{guard}/pause", reason=BOLD).status_code == 303
    page = steward.get(f"/guards/{guard}").text
    assert BOLD not in page
    assert "&lt;b&gt;because&lt;/b&gt;" in page


def test_closing_takes_two_steps(pages: Pages) -> None:
    guard = pages.guard("closing", {"questions": 5}, ROWS.replace("income", "wage"))
    steward = pages.visitor(pages.token("steward", "sam")[0])
    status = lambda: pages.server.guards.opened(guard).describe()["status"]  # noqa: E731
    assert fill(steward, f"/guards/{guard}/close", reason="done").status_code == 422
    assert status() == "open"
    assert fill(steward, f"/guards/{guard}/close", reason="done", sure="yes").status_code == 303
    assert status() == "closed"
    asking = pages.visitor(pages.token("analyst", "ann")[0]).get(f"/guards/{guard}/ask").text
    assert "Closed for good. Earlier answers are shown below." in asking
    assert "asked now is accurate to" not in asking


def test_what_a_page_repeats_of_a_form_is_text(pages: Pages, guard: str) -> None:
    ann = pages.visitor(pages.token("analyst", "ann")[0])
    nasty = "'\"><script>alert(1)</script>"
    for kind in ("check", nasty):
        page = fill(ann, f"/guards/{guard}/ask", kind=kind, do="ask", expression=nasty, guess=nasty, tolerance=nasty)
        assert page.status_code == 422
        assert "<script>alert" not in page.text
    shown = ann.get(f"/guards/{guard}/ask", params={"kind": "check", "expression": nasty, "guess": nasty}).text
    assert "<script>alert" not in shown
    assert len(re.findall(r"<script", shown)) == 1, "our own, by its address"
