"""Explore and finish over HTTP, in the client, on the pages, on the command line and for agents; separate histories."""

from __future__ import annotations

import difflib
import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

import holdfast as hf
from holdfast.cli.main import run
from holdfast.client import connect
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.guard import Policy
from holdfast.guard.ledger.verify import verify
from holdfast.guard.replay import GuardReplay
from holdfast.server.agents.tools import Tools
from tests.guard.questions.ends import CANDIDATES, csv_of, mean_of, opened
from tests.server.live import Live, fresh_rows
from tests.server.pages.visiting import Visitor

ENDS: dict[str, Any] = {"kind": "final", "candidates": {"young": "age < 40", "old": "age >= 60"}, "claims": "winner"}
CHECK: dict[str, Any] = {"kind": "check", "expression": "age < 45", "guess": 0.5}
VERBS: list[dict[str, Any]] = [
    CHECK,
    {"kind": "check", "expression": "age < 45", "guess": 0.9},
    {"kind": "compare", "b": "age < 60", "a": "age < 30"},
    {"kind": "claim", "expression": "age < 45", "at_least": 0.2},
    {"kind": "best", "candidates": ENDS["candidates"], "guesses": {"young": 0.4, "old": 0.2}},
]


def ask(who: httpx.Client, at: str, question: dict[str, Any], key: str | None = None) -> httpx.Response:
    return who.post(f"{at}/ask", json={"question": question}, headers={} if key is None else {"Idempotency-Key": key})


# --- HTTP and the client ----------------------------------------------------------------------------------------------


def test_every_verb_over_http_and_the_end_is_the_stewards(live: Live) -> None:
    made = live.guard("finish", {"questions": 20, "analysts": {"ann": 1.0}})
    at = f"/api/v1/guards/{made['id']}"
    with live.analyst("ann") as ann, live.client() as steward:
        for question in VERBS:
            assert ask(ann, at, question).status_code == 200, question
        left = ann.get(f"{at}/remaining").json()
        for ending in (ENDS, {"kind": "close"}):
            refused = ask(ann, at, ending)
            assert (refused.status_code, refused.json()["code"]) == (409, "question-refused"), refused.text
            assert "only a steward" in refused.json()["detail"]
            batch = ann.post(f"{at}/batch", json={"questions": [CHECK | {"guess": 0.4}, ending]})
            assert batch.json()["code"] == "question-refused"
        wrong = ask(steward, at, ENDS | {"claims": "all"})
        assert wrong.json()["code"] == "invalid-parameter"
        assert ann.get(f"{at}/remaining").json() == left
        done = ask(steward, at, ENDS, "end")
        assert done.status_code == 200, done.text
        answer = done.json()
        assert answer["value"]["young"] == 0.4
        assert answer["details"]["winner"] == "young"
        assert len(answer["details"]["revealed"]) == 4
        again = ask(steward, at, ENDS, "end").json()
        assert (again["repeated"], again["details"], again["sequence"]) == (True, answer["details"], answer["sequence"])
        assert ask(ann, at, CHECK).json()["repeated"]
        after = ask(ann, at, CHECK | {"guess": 0.3})
        assert after.json()["code"] == "budget-exhausted"
        assert ann.get(f"{at}/remaining").json()["status"] == "ended"
        assert ann.get(f"{at}/level").json()["code"] == "guarantee-unavailable"
        assert steward.post(f"{at}/verify", json={}).json()["ok"]


def test_the_client_ends_a_run(live: Live) -> None:
    made = live.guard("finish by client")
    with connect(live.url, live.steward_token, guard=made["name"]) as there:
        there.ask(hf.guard.check("age < 45", guess=0.5))
        with pytest.raises(InvalidParameter):
            there.ask(hf.guard.final({}))
        done = there.ask(hf.guard.close(), key="k")
        assert done.details["revealed"][0]["value"] == 0.5
        assert there.ask(hf.guard.close(), key="k").repeated
        with pytest.raises(BudgetExhausted):
            there.ask(hf.guard.check("age < 46", guess=0.5))


# --- Pages ------------------------------------------------------------------------------------------------------------


def test_a_steward_fills_in_the_form_of_a_final(live: Live) -> None:
    made = live.guard("finish by form", {"questions": 20})
    at = f"/guards/{made['id']}"
    with live.client() as steward:
        token = steward.post("/api/v1/tokens", json={"role": "analyst", "name": "ann"}).json()["token"]
    with Visitor(live.url, token) as ann, Visitor(live.url, live.steward_token) as sue:
        passed = ann.fill(f"{at}/ask", kind="check", expression="age < 45", guess="0.5")
        assert "passed" in passed.text
        for kind in ("best", "final", "close", "compare"):
            assert f'value="{kind}"' in ann.get(f"{at}/ask?kind={kind}").text
        found = ann.fill(f"{at}/ask", kind="best", candidates="young: age < 40\nold: age >= 60", show="name")
        assert "“young” is best on the rows. Nothing is claimed about its value." in found.text
        refused = ann.fill(f"{at}/ask", kind="final", candidates="young: age < 40", claims="intervals")
        assert "Only a steward" in refused.text
        wrong = sue.fill(f"{at}/ask", kind="final", candidates="young: nobody < 40", claims="intervals")
        assert wrong.status_code == 422
        done = sue.fill(
            f"{at}/ask", kind="final", candidates="young: age < 40\nold: age >= 60", claims="winner", key="k" * 32
        )
        assert done.status_code == 200
        assert "“young” is best with 0.4." in done.text
        assert "1 earlier answer is shown with exact values." in done.text
        assert ann.fill(f"{at}/ask", kind="check", expression="age < 30", guess="0.2").status_code == 409
        assert sue.get(at).status_code == ann.get(at).status_code == 200


# --- Command line and agents ------------------------------------------------------------------------------------------


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows, ledger = str(csv_of(tmp_path)), str(tmp_path / "ledger.db")
    assert run(["guard", "open", ledger, rows, "--questions", "20"]) == 0
    place = [ledger, rows]
    for words in (
        ["check", *place, "good", "--guess", "0.7"],
        ["compare", *place, "best", "weak"],
        ["claim", *place, "best", "--at-least", "0.5"],
        ["best", *place, *[word for name in CANDIDATES for word in ("--candidate", f"{name}={name}")]],
    ):
        assert run(["ask", *words]) == 0, words
    capsys.readouterr()
    assert run(["ask", "final", *place, "--candidate", "a=nobody"]) == 2
    capsys.readouterr()
    finalists = [word for name in CANDIDATES for word in ("--candidate", f"{name}={name}")]
    words = ["ask", "final", *place, *finalists, "--claims", "winner", "--key", "end"]
    assert run([*words, "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["details"]["winner"] == "best"
    assert done["value"]["best"] == mean_of("best")
    assert len(done["details"]["revealed"]) == 3
    assert run(words) == 0
    capsys.readouterr()
    assert run(["ask", "close", *place]) == 3
    assert run(["ask", "check", *place, "weak", "--guess", "0.6"]) == 3
    capsys.readouterr()
    assert run(["verify", ledger]) == 0
    assert verify(Path(ledger), replay=GuardReplay).ok


def test_an_agent_explores_and_does_not_end_the_run_of_all() -> None:
    guard = opened(Policy(questions=20))
    tools = Tools(guard.for_analyst("agent"))
    kinds = json.dumps([tool.schema for tool in tools.list()])
    assert all(f'"{kind}"' in kinds for kind in ("best", "compare", "final"))
    told = tools.call("ask", {"question": {"kind": "best", "candidates": CANDIDATES}})
    assert "best" in told.words
    tools.call("ask", {"question": {"kind": "check", "expression": "good", "guess": 0.7}})
    for ending in ({"kind": "final", "candidates": CANDIDATES}, {"kind": "close"}):
        reply = tools.call("ask", {"question": ending})
        assert reply.refused
        assert "only a steward" in reply.words
    assert guard.remaining("agent")["status"] == "open"
    own = opened(Policy(questions=20, histories="separate", analysts={"agent": 0.5, "ann": 0.5}))
    ended = Tools(own.for_analyst("agent")).call("ask", {"question": {"kind": "final", "candidates": CANDIDATES}})
    assert ended.data["details"]["winner"] == "best"
    assert own.remaining("ann")["status"] == "open"


# --- Separate histories -----------------------------------------------------------------------------------------------

SEPARATE = {"questions": 40, "failures": 4, "histories": "separate", "analysts": {"ann": 0.5, "bob": 0.5}}


def _scrubbed(text: str, made: dict[str, Any]) -> str:
    """Without what differs between two guards, and between two moments: names, hashes, times, marks of forms."""
    text = text.replace(made["id"], "GUARD").replace(made["dataset"], "DATASET").replace(made["name"], "NAME")
    text = re.sub(r"\b[0-9a-f]{16,128}\b", "HASH", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[T ][0-9:.]+(\+00:00)?( UTC)?", "TIME", text)
    return re.sub(r"(a moment|\d+ (second|minute)s?) ago|just now|today, [0-9:]+|\b\d\d:\d\d(:\d\d)?\b", "TIME", text)


def _got(who: httpx.Client, address: str, status: int | None = None) -> str:
    """What an address answers; never that the server has failed."""
    answer = who.get(address)
    assert answer.status_code == status if status is not None else answer.status_code < 500, answer.text
    return answer.text


def _seen(live: Live, made: dict[str, Any], with_bob: bool) -> list[str]:
    """Everything that ann sees of a guard over HTTP and on the pages, while bob does what he can, or nothing."""
    at, page = f"/api/v1/guards/{made['id']}", f"/guards/{made['id']}"
    seen: list[str] = []
    with live.client() as steward:
        token = steward.post("/api/v1/tokens", json={"role": "analyst", "name": "ann"}).json()["token"]
    with live.client(token) as ann, live.analyst("bob") as bob, Visitor(live.url, token) as visitor:

        def others() -> None:
            for guess in (0.9, 0.1, 0.05, 0.95, 0.5) if with_bob else ():
                ask(bob, at, CHECK | {"guess": guess, "expression": "age < 44"})

        def look() -> None:
            for address in (at, f"{at}/remaining", f"{at}/entries", f"{at}/entries?before=3&limit=1"):
                seen.append(_scrubbed(ann.get(address).text, made))
            for address in (
                f"{at}/level",
                f"{at}/adjusted?p=0.001",
                f"{at}/entries/2/receipt",
                f"{at}/entries/9/receipt",
            ):
                seen.append(_scrubbed(ann.get(address).text, made))
            seen.append(_scrubbed(ann.post(f"{at}/estimate", json={"question": CHECK | {"guess": 0.42}}).text, made))
            listed = [one for one in ann.get("/api/v1/guards").json()["guards"] if one["id"] == made["id"]]
            seen.append(_scrubbed(json.dumps(listed), made))
            seen.append(_scrubbed(_got(visitor, page, 200), made))
            for address in (f"{page}/entries/1", f"{page}/entries/7"):
                seen.append(_scrubbed(_got(visitor, address), made))

        for number, question in enumerate((VERBS[0], VERBS[1], VERBS[4])):
            others()
            seen.append(_scrubbed(ask(ann, at, question, f"k{number}").text, made))
            look()
        others()
        if with_bob:
            assert ask(bob, at, {"kind": "close"}).status_code in (200, 409)
        seen.append(_scrubbed(ask(ann, at, ENDS).text, made))
        look()
    return seen


@pytest.mark.parametrize("histories", ["separate", "together"])
def test_nothing_on_the_server_depends_on_another_analyst(live: Live, histories: str) -> None:
    policy = SEPARATE | {"histories": histories}
    found = []
    for number, with_bob in enumerate((False, True)):
        made = live.guard(f"apart {histories} {number}", policy, fresh_rows(f"{histories}{number}"))
        found.append(_seen(live, made, with_bob))
    different = [(one, two) for one, two in zip(*found, strict=True) if one != two]
    lines = [line for one, two in different for line in difflib.unified_diff(one.split("\n"), two.split("\n"), n=0)]
    assert (not different) is (histories == "separate"), "\n".join(lines)[:2000]


def test_a_steward_asks_nothing_where_histories_are_separate(live: Live) -> None:
    made = live.guard("apart steward", SEPARATE)
    at = f"/api/v1/guards/{made['id']}"
    with live.client() as steward, live.analyst("ann") as ann:
        assert ask(ann, at, CHECK).status_code == 200
        for question in (CHECK, ENDS, {"kind": "close"}):
            refused = ask(steward, at, question)
            assert refused.json()["code"] == "question-refused", refused.text
            assert "cannot ask questions" in refused.json()["detail"]
        assert steward.get(f"{at}/level").json()["code"] == "guarantee-unavailable"
        assert [one["sequence"] for one in steward.get(f"{at}/entries").json()["entries"]] == [1, 2]
        assert [one["sequence"] for one in ann.get(f"{at}/entries").json()["entries"]] == [1]
        assert ann.get("/metrics").status_code == 403, "counts of all are for stewards"
        assert ann.post(f"{at}/verify", json={}).status_code == 403
        receipt = ask(ann, at, CHECK).json()["receipt"]
        assert (receipt["seat"], receipt["sequence"]) == ("ann", 1)
        assert steward.post(f"{at}/verify", json={}).json()["ok"]
    hf.client.check_receipt(receipt, receipt["public_key"])
