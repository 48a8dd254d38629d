"""An analyst's own history on a busy guard: complete, in full pages, and nobody else's."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

import holdfast as hf
from holdfast.cli.main import run
from holdfast.guard.ledger import Transaction, open_store
from tests.server.live import Live
from tests.server.pages.visiting import Visitor, links

MINE, OTHERS = 60, 2200
"""More of others than a page ever looked at."""


@pytest.fixture(scope="module")
def busy(live: Live) -> dict[str, Any]:
    """A guard that ann asked first; after that its ledger has many entries of others."""
    guard = live.guard("busy", {"questions": 5000})
    questions = [{"kind": "check", "expression": f"income < {1000 + i}", "guess": 0.5} for i in range(MINE)]
    with live.analyst("ann") as ann:
        done = ann.post(f"/api/v1/guards/{guard['id']}/batch", json={"questions": questions})
        assert done.status_code == 200, done.text

    def crowd(transaction: Transaction) -> None:
        body = transaction.entry(2).body  # type: ignore[union-attr]
        for _ in range(OTHERS):
            transaction.append("answered", body, analyst="crowd")

    with open_store(live.folder / "ledger.db") as store:
        store.ledger(guard["dataset"]).submit(crowd)
    return guard


def pages(client: httpx.Client, at: str, **query: Any) -> list[list[int]]:
    """The numbers of all entries, a list a page, along `next`."""
    found = []
    turn = "before" if "before" in query else "first"
    while True:
        page = client.get(f"{at}/entries", params=query).json()
        found.append([one["sequence"] for one in page["entries"]])
        if page["next"] is None:
            return found
        query[turn] = page["next"]


def test_pages_of_the_api_are_full(live: Live, busy: dict[str, Any]) -> None:
    at = f"/api/v1/guards/{busy['id']}"
    own = list(range(2, MINE + 2))
    with live.analyst("ann") as ann, live.client() as steward:
        assert pages(ann, at, limit=25) == [own[:25], own[25:50], own[50:]]
        assert pages(ann, at, limit=25, before=2**62) == [own[-25:], own[-50:-25], own[:-50]]
        assert pages(ann, at, limit=60) == [own]
        assert pages(ann, at, first=1000) == [[]]
        assert pages(ann, at, analyst="ann") == [own]
        refused = ann.get(f"{at}/entries", params={"analyst": "crowd"})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert pages(steward, at, analyst="ann", limit=30) == [own[:30], own[30:]]
        assert pages(steward, at, limit=1000, first=2)[0] == list(range(2, 1002))
        assert steward.get(f"{at}/entries", params={"before": 4, "limit": 2}).json()["next"] == 2


def test_the_page_shows_what_was_asked_long_ago(live: Live, busy: dict[str, Any]) -> None:
    with live.analyst("ann") as ann:
        token = ann.headers["authorization"].removeprefix("Bearer ")
    seen: list[int] = []
    with Visitor(live.url, token) as visitor:
        address = f"/guards/{busy['id']}"
        while address:
            text = visitor.get(address).text
            found = links(text)
            seen += sorted({int(one.split("/")[4]) for one in found if "/entries/" in one}, reverse=True)
            address = next((one for one in found if "before=" in one), "")
            assert len(seen) <= MINE
    assert seen == list(range(MINE + 1, 1, -1))


def test_client_and_command_line(live: Live, busy: dict[str, Any], capsys: Any, monkeypatch: Any) -> None:
    with live.analyst("ann") as http:
        token = http.headers["authorization"].removeprefix("Bearer ")
    with hf.connect(live.url, token, guard="busy") as ann:
        assert [one["sequence"] for one in ann.entries()] == list(range(2, MINE + 2))
        assert [one["sequence"] for one in ann.latest(7)] == list(range(MINE - 5, MINE + 2))
        assert len(ann.latest(5000)) == MINE
    with hf.connect(live.url, live.steward_token, guard="busy") as steward:
        assert {one["analyst"] for one in steward.entries(analyst="ann")} == {"ann"}
        assert [one["sequence"] for one in steward.latest(2, analyst="ann")] == [MINE, MINE + 1]
        assert len(steward.latest(600)) == 600
    monkeypatch.setenv("HOLDFAST_TOKEN", live.steward_token)
    assert run(["guard", "log", live.url, "--dataset", "busy", "--analyst", "ann", "--last", "3"]) == 0
    assert capsys.readouterr().out.count(" ann ") == 3


def test_an_ended_guard_says_so_on_the_page_and_over_http(live: Live) -> None:
    guard = live.guard("ended", {"questions": 10, "failures": 1})
    at = f"/api/v1/guards/{guard['id']}"
    with live.analyst("ann") as ann, live.client() as steward:
        for limit in (30, 40):
            question = {"kind": "check", "expression": f"age < {limit}", "guess": 0.9}
            assert ann.post(f"{at}/ask", json={"question": question}).json()["passed"] is False
        left = ann.get(f"{at}/remaining").json()
        assert (left["status"], left["total"]) == ("ended", {"questions": 0, "failures": 0})
        facts = steward.get(at).json()
        assert (facts["status"], facts["remaining"]["failures"]) == ("ended", 0)
        assert [one["status"] for one in ann.get("/api/v1/guards").json()["guards"] if one["name"] == "ended"] == [
            "ended"
        ]
        token = ann.headers["authorization"].removeprefix("Bearer ")
    with Visitor(live.url, token) as visitor:
        assert "one more check failed than the policy allows" in visitor.get(f"/guards/{guard['id']}").text
    with Visitor(live.url, live.steward_token) as visitor:
        text = visitor.get(f"/guards/{guard['id']}").text
        assert "one more check failed than the policy allows" in text
        assert "Override the policy" in text
