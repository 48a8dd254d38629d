"""A whole contest over HTTP and on the pages: submissions, a choice, the host's final, and the signed result."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from holdfast.cli.main import run
from holdfast.guard.ledger.receipts import Receipt
from tests.server.live import Live
from tests.server.pages.test_session import issue
from tests.server.pages.visiting import Visitor, values

N = 2000
ROWS = "id,rich,score\n" + "".join(f"{i},{str(i % 4 == 0).lower()},{i % 97}\n" for i in range(N))
BOARD = {"name": "income", "key": "id", "label": "rich", "metric": "accuracy", "rule": "open"}


def predictions(wrong: int) -> str:
    """Predictions of which one in so many is wrong."""
    lines = (f"{i},{str((i % 4 == 0) != (i % wrong == 0)).lower()}" for i in range(N))
    return "id,prediction\n" + "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def guard(live: Live) -> dict[str, Any]:
    return live.guard("contest of pages", {"boards": [BOARD], "reserve": 0.5, "final": 1.0}, ROWS)


@pytest.fixture(scope="module")
def host(live: Live) -> Iterator[Visitor]:
    visitor = Visitor(live.url, live.steward_token)
    yield visitor
    visitor.close()


def sent(client: httpx.Client, guard: dict[str, Any], wrong: int, name: str) -> dict[str, Any]:
    done = client.post(
        f"/api/v1/guards/{guard['id']}/submissions",
        params={"name": name},
        content=predictions(wrong),
        headers={"Content-Type": "text/csv"},
    )
    assert done.status_code == 200, done.text
    return dict(done.json())


def test_a_contest_from_submissions_to_the_signed_result(live: Live, guard: dict[str, Any], host: Visitor) -> None:
    at, board = f"/api/v1/guards/{guard['id']}", f"/guards/{guard['id']}/board"
    assert "The contest is open" in host.get(board).text
    assert "Hold the final of" not in host.get(board).text, "nobody takes part yet"
    with live.analyst("ann") as ann, live.analyst("bob") as bob:
        first = sent(ann, guard, 50, "good")
        sent(ann, guard, 3, "bad")
        assert first["value"] is not None
        assert (first["interval"], first["certified"]) == (None, False)
        sent(bob, guard, 4, "of bob")
        choice = {"kind": "choose", "board": "income", "submissions": [first["sequence"]]}
        assert ann.post(f"{at}/ask", json={"question": choice}).json()["value"] == [first["sequence"]]
        assert bob.post(f"{at}/ask", json={"question": choice}).status_code == 422
        refused = ann.post(f"{at}/ask", json={"question": {"kind": "contest_final", "board": "income"}})
        assert refused.status_code == 403 or refused.json()["code"] == "question-refused"
        state = ann.get(f"{at}/contest").json()
        assert (state["submissions"], state["participants"], state["warnings"]) == (3, 2, [])
        assert state["finalists"] == ["ann", "bob"]
        visitor = Visitor(live.url, issue(live, "ann")["token"])
        seen = visitor.get(board).text
        assert "Plain scores certify nothing" in seen
        assert "Hold the final" not in seen
        assert visitor.get(f"/guards/{guard['id']}/result").status_code == 404
        form = {"board": "income", "phase": "1", "default": "best"}
        assert (
            visitor.post(f"/guards/{guard['id']}/final", data=form | {"csrf_token": visitor.csrf_token}).status_code
            == 403
        )
        form["csrf_token"] = host.csrf_token
        unsure = host.post(f"/guards/{guard['id']}/final", data=form)
        assert "The final was not held." in unsure.text
        held = host.post(f"/guards/{guard['id']}/final", data=form | {"sure": "yes"})
        assert "The contest has ended" in held.text, held.text[:2000]
        assert "certainly better than all others" in held.text
        again = host.post(f"/guards/{guard['id']}/final", data=form | {"sure": "yes", "phase": "2"})
        assert "phase must be" in again.text.lower()
        (result,) = bob.get(f"{at}/contest").json()["results"]
        assert [(one["label"], one["rank"]) for one in result["places"]] == [("ann", [1, 1]), ("bob", [2, 2])]
        assert '"revealed"' not in bob.get(f"{at}/contest").text
        assert bob.get(f"{at}/contest/revealed").status_code == 403
        with live.client(live.steward_token) as steward:
            assert steward.get(f"{at}/contest/revealed").json() == {"revealed": []}, "plain scores hide nothing"
        receipt = Receipt.from_dict(result["receipt"])
        assert receipt.is_signed()
        assert receipt.answer["details"]["better"] == [["ann", "bob"]]
        page = visitor.get(f"/guards/{guard['id']}/result", params={"board": "income"})
        assert page.headers["content-security-policy"].startswith("default-src 'none'")
        assert "Who is certainly better than whom" in page.text
        exported = visitor.get(f"/guards/{guard['id']}/result", params={"board": "income", "as": "json"})
        assert json.loads(exported.text)["hash"] == result["hash"]
        visitor.close()


def test_a_public_result_is_verified_with_the_public_head_and_proof(live: Live, tmp_path: Path) -> None:
    rows = "".join(f"{line}\n" for line in ROWS.replace("score", "open").splitlines()[:-300])
    policy = {"boards": [BOARD | {"public": True}], "reserve": 0.5, "final": 1.0}
    made = live.guard("public contest", policy, rows)
    at = f"/public/{made['id']}"
    with live.analyst("dee") as dee, live.client() as steward:
        sent(dee, made, 5, "one")
        question = {"kind": "contest_final", "board": "income"}
        assert steward.post(f"/api/v1/guards/{made['id']}/ask", json={"question": question}).status_code == 200
    with httpx.Client(base_url=live.url, timeout=30) as anybody:
        for name, address in (("result", "/result?as=json"), ("head", "/head"), ("proof", "/proof")):
            (tmp_path / f"{name}.json").write_text(anybody.get(at + address).raise_for_status().text)
        (tmp_path / "result.html").write_text(anybody.get(f"{at}/result").text)
        assert anybody.get(f"{at}/proof?size=x").status_code == 422
        assert anybody.get(f"{at}/proof?phase=2").status_code == 404
        assert "signed head" in anybody.get(at).text
        nothing = anybody.get(f"{at}?board=none", headers={"Accept": "text/html"})
        assert (nothing.status_code, "token" in nothing.text) == (404, False)
    result, head, proof = (str(tmp_path / f"{name}.json") for name in ("result", "head", "proof"))
    assert run(["verify", result]) == 0
    assert run(["verify", str(tmp_path / "result.html")]) == 0
    assert run(["verify", result, "--head", head, "--proof", proof]) == 0


def test_a_full_budget_is_told_to_the_host_and_takes_submissions(live: Live, host: Visitor) -> None:
    checked = BOARD | {"rule": "checked", "baseline": 0.75}
    policy = {"boards": [checked], "reserve": 0.5, "questions": 4, "failures": 2}
    rows = ROWS.replace("score", "points")
    made = live.guard("contest with caps", policy, "".join(f"{line}\n" for line in rows.splitlines()[:-100]))
    at = f"/api/v1/guards/{made['id']}"
    with live.analyst("cy") as cy:
        for wrong in (2,):
            sent(cy, made, wrong, f"one in {wrong}")
        warned = host.get(f"/guards/{made['id']}/board").text
        assert "1 of 2 failed claims are left" in warned
        for wrong in (1, 3, 7, 9):
            last = sent(cy, made, wrong, f"one in {wrong}")
        assert (last["value"], last["details"]["shown"]) == (None, False)
        assert cy.get(f"{at}/contest").json()["without_score"] >= 1
    page = host.get(f"/guards/{made['id']}/board").text
    assert "Scores are not shown any more" in page
    assert "Hold the final of 1 submission now" in page


def test_the_form_makes_a_contest(live: Live, host: Visitor) -> None:
    rows = "".join(f"{line}\n" for line in ROWS.replace("score", "more").splitlines()[:-200])
    sample = live.sample("rows of a form", rows)["id"]
    assert "Part of the rows for a final" in host.get("/guards/new").text
    fields = {"board": "formed", "board_key": "id", "board_label": "rich", "board_rule": "open", "board_reserve": "0.3"}
    made = host.fill("/guards", **values(name="formed", sample=sample, **fields))
    assert made.status_code == 200, made.text
    assert "The contest is open" in host.get(f"{made.url.path}/board").text
