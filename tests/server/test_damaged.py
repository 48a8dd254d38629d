"""One damaged ledger among others: every list shows it, by name, and everything else works."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.cli.main import run
from holdfast.guard import Guard, Policy
from holdfast.guard.ledger import open_store
from holdfast.server.settings import Settings
from tests.server.live import CHECK, Live, running, started, wait_until_up
from tests.server.pages.visiting import Visitor
from tests.services.ports import free_port

DAMAGE = {
    "totals": "UPDATE accounts SET state = replace(state, '\"admitted\":0', '\"admitted\":1') WHERE name = 'whole'",
    "standing": "UPDATE accounts SET state = replace(state, '\"n\":2000', '\"n\":2001') WHERE name = 'guard'",
    "no text": "UPDATE accounts SET state = CAST(x'ff00ff' AS TEXT) WHERE name = 'whole'",
    "a blob": "UPDATE accounts SET state = x'ff00ff' WHERE name = 'whole'",
    "states": "UPDATE entries SET states = '[]' WHERE sequence = 1",
    "gone": "DELETE FROM accounts WHERE name = 'guard'",
    "head": "UPDATE heads SET hash = 'x'",
}


def damage(place: Path, dataset: str, statement: str) -> None:
    """Change one chain of a store by hand."""
    with sqlite3.connect(place) as file:
        (ledger,) = file.execute("SELECT ledger FROM heads WHERE dataset = ?", (dataset,)).fetchone()
        more = " AND" if " WHERE " in statement else " WHERE"
        assert file.execute(f"{statement}{more} ledger = {ledger}").rowcount == 1


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[Live, dict[str, dict[str, Any]]]]:
    """A server that was stopped, two of its ledgers damaged, and started again."""
    with running() as live:
        guards = {name: live.guard(name) for name in ("totals", "standing", "whole")}
        live.stop()
        for how in ("totals", "standing"):
            damage(live.folder / "ledger.db", guards[how]["dataset"], DAMAGE[how])
        settings = Settings(folder=live.folder, port=free_port(), rate=1e6, burst=10**6)
        with started(settings, live.log, live.folder / "another token", forked=True) as process:
            url = f"http://127.0.0.1:{settings.port}"
            again = Live(url, live.steward_token, process, live.folder, live.log, live.folder)
            wait_until_up(again)
            yield again, guards


def test_lists_name_them_and_the_others_answer(server: tuple[Live, dict[str, dict[str, Any]]]) -> None:
    live, guards = server
    whole = guards["whole"]
    with live.client() as steward:
        listed = {one["name"]: one for one in steward.get("/api/v1/guards").json()["guards"]}
        assert {name: one["status"] for name, one in listed.items()} == {
            "totals": "damaged",
            "standing": "damaged",
            "whole": "open",
        }
        for name in ("totals", "standing"):
            assert "differs from the state that the ledger's entry records; run `holdfast" in listed[name]["problem"]
            at = f"/api/v1/guards/{guards[name]['id']}"
            alone = steward.get(at)
            assert (alone.status_code, alone.json()["code"]) == (409, "ledger-conflict")
            assert not steward.post(f"{at}/verify").json()["ok"]
            assert steward.post(f"{at}/ask", json={"question": CHECK}).status_code == 409
        assert steward.post(f"/api/v1/guards/{whole['id']}/ask", json={"question": CHECK}).status_code == 200
    with Visitor(live.url, live.steward_token) as visitor:
        text = visitor.get("/").text
        assert text.count("Damaged: its ledger contradicts itself") == 2
        assert "<h2>totals</h2>" in text
        assert f"/guards/{whole['id']}" in text
    with hf.connect(live.url, live.steward_token) as connection:
        assert {guard.name for guard in connection.guards()} == set(guards)
        assert connection.guard("whole").describe()["status"] == "open"
        assert "damaged" in connection._repr_html_()


def test_an_analyst_sees_that_it_is_damaged_and_no_more(server: tuple[Live, dict[str, dict[str, Any]]]) -> None:
    live, guards = server
    with live.analyst("ann", guards=[one["id"] for one in guards.values()]) as ann:
        listed = {one["name"]: one for one in ann.get("/api/v1/guards").json()["guards"]}
        for name in ("totals", "standing"):
            assert listed[name]["status"] == "damaged"
            assert listed[name]["problem"] == "its ledger is damaged; tell the stewards of this server"
        assert ann.post(f"/api/v1/guards/{guards['whole']['id']}/ask", json={"question": CHECK}).status_code == 200
        token = ann.headers["authorization"].removeprefix("Bearer ")
    with Visitor(live.url, token) as visitor:
        assert visitor.get("/").status_code == 200
    with live.analyst("bob") as bob:  # where the policy cannot be read, whom it names is not known
        assert {one["name"] for one in bob.get("/api/v1/guards").json()["guards"]} == {"totals", "whole"}


def test_a_new_guard_is_opened_beside_them(server: tuple[Live, dict[str, dict[str, Any]]]) -> None:
    live, _ = server
    made = live.sample("new", "id,x\n" + "".join(f"{i},{i % 7}\n" for i in range(100_000, 100_500)), row_key="id")
    with live.client() as steward:
        body = {"name": "new", "sample": made["id"], "policy": {"questions": 10}}
        assert steward.post("/api/v1/guards", json=body).status_code == 201


@pytest.mark.parametrize("how", DAMAGE)
def test_the_command_line_lists_it(how: str, tmp_path: Path, capsys: Any) -> None:
    place = tmp_path / "ledger.db"
    with open_store(place) as store:
        names = [
            Guard.open(store, hf.data.table({"age": [20 + i % (50 + turn) for i in range(2000)]}), Policy()).dataset
            for turn in range(3)
        ]
        store.ledger("begun and never opened")
    damage(place, names[1], DAMAGE[how])
    assert run(["guard", "list", str(place), "--json"]) == 0
    found = {one["dataset"]: one["status"] for one in json.loads(capsys.readouterr().out)["guards"]}
    assert found == {names[0]: "open", names[1]: "damaged", names[2]: "open"}
    assert run(["guard", "list", str(place)]) == 0
    words = capsys.readouterr().out
    assert "damaged" in words
    assert names[1][:12] in words
    with open_store(place) as store:  # another guard is opened, and says what it was not compared with
        rows = {"id": list(range(500)), "x": [i % 7 for i in range(500)]}
        new = Guard.open(store, hf.data.table(rows, row_key="id"), Policy())
        unread = next(new.ledger.entries()).body.get("not_compared", [])
        assert unread == ([names[1]] if how in ("head", "states") else [])
