"""`holdfast guard` with the address of a server in the place of a ledger: the same words, the same exit status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import run
from tests.server.live import CHECK, Live, fresh_rows


@pytest.fixture(autouse=True)
def steward(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_TOKEN", live.steward_token)


def said(capsys: Any) -> Any:
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def people(live: Live, tmp_path: Path, capsys: Any) -> str:
    """A guard opened over the address, under a name of its own."""
    name = f"opened {tmp_path.name}"
    rows = tmp_path / "people.csv"
    rows.write_text(fresh_rows(name))
    words = ["guard", "open", live.url, str(rows), "--name", name, "--questions", "50", "--json"]
    assert run(words) == 0
    found = said(capsys)
    assert (found["name"], found["n"], found["policy"]["questions"]) == (name, 2000, 50)
    return name


def test_pause_resume_close_log_show_and_list(live: Live, people: str, capsys: Any) -> None:
    there = [live.url, "--dataset", people]
    assert run(["guard", "pause", *there, "--reason", "an audit", "--json"]) == 0
    assert said(capsys)["status"] == "paused"
    assert run(["guard", "pause", *there]) == 3
    assert "'paused' already" in capsys.readouterr().err
    assert run(["ask", "check", live.url, people, "age < 45", "--guess", "0.5"]) == 3
    assert run(["guard", "resume", *there]) == 0
    capsys.readouterr()
    assert run(["guard", "show", *there, "--json"]) == 0
    shown = said(capsys)
    assert run(["guard", "show", live.url, "--dataset", shown["id"], "--json"]) == 0
    assert said(capsys) == shown
    assert run(["guard", "list", live.url, "--json"]) == 0
    assert shown in said(capsys)["guards"]
    assert run(["guard", "list", live.url]) == 0
    assert people in capsys.readouterr().out
    assert run(["guard", "close", *there, "--yes", "--reason", "done"]) == 0
    assert run(["guard", "resume", *there]) == 3
    capsys.readouterr()
    assert run(["guard", "log", *there, "--last", "3", "--json"]) == 0
    assert [one["kind"] for one in said(capsys)["entries"]] == ["paused", "resumed", "closed"]
    assert run(["guard", "log", *there]) == 0
    assert "an audit" in capsys.readouterr().out


def test_override_over_an_address(live: Live, people: str, tmp_path: Path, capsys: Any) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text(json.dumps({"questions": 70}))
    words = ["guard", "override", live.url, "--dataset", people, "--policy", str(policy), "--json"]
    assert run([*words, "--reason", "the board agreed"]) == 0
    found = said(capsys)
    assert (found["overrides"], found["remaining"]["questions"]) == (1, 70)
    assert run([*words, "--reason", " "]) == 2


def test_an_analyst_may_look_and_not_touch(live: Live, people: str, capsys: Any, monkeypatch: Any) -> None:
    with live.client() as http:
        made = http.post("/api/v1/tokens", json={"role": "analyst", "name": f"ann {people}"}).json()
        guard = next(one for one in http.get("/api/v1/guards").json()["guards"] if one["name"] == people)
        for guess in (0.4, 0.5):  # somebody else's: the log of an analyst reaches past them
            http.post(f"/api/v1/guards/{guard['id']}/ask", json={"question": CHECK | {"guess": guess}})
    monkeypatch.setenv("HOLDFAST_TOKEN", made["token"])
    there = [live.url, "--dataset", people]
    assert run(["ask", "check", live.url, people, "age < 30", "--guess", "0.2"]) == 0
    capsys.readouterr()
    assert run(["guard", "log", *there, "--json", "--last", "5"]) == 0
    assert [one["analyst"] for one in said(capsys)["entries"]] == [f"ann {people}"]
    assert run(["guard", "show", *there]) == 0
    for act in (["pause"], ["resume"], ["close", "--yes"]):
        assert run(["guard", *act, *there]) == 1
        assert "steward" in capsys.readouterr().err


def test_what_goes_wrong(live: Live, people: str, tmp_path: Path, capsys: Any, monkeypatch: Any) -> None:
    assert run(["guard", "pause", live.url, "--dataset", "no such guard"]) == 2
    assert "must name a guard; the guards that this token may use" in capsys.readouterr().err
    rows = tmp_path / "other.csv"
    rows.write_text("x\n1\n2\n")
    words = ["guard", "open", live.url, str(rows), "--name", f"again {people}"]
    assert run(words) == 2  # no policy: nothing stays behind under that name
    assert run([*words, "--questions", "5"]) == 0
    assert run(["guard", "open", live.url, str(tmp_path / "no.csv"), "--questions", "5"]) == 1
    monkeypatch.delenv("HOLDFAST_TOKEN")
    assert run(["guard", "list", live.url]) == 2
    assert "HOLDFAST_TOKEN" in capsys.readouterr().err
    monkeypatch.setenv("HOLDFAST_TOKEN", "hf_wrong")
    assert run(["guard", "close", live.url, "--dataset", people]) == 1


def test_open_at_a_server_says_what_a_row_key_cannot_find(live: Live, tmp_path: Path, capsys: Any) -> None:
    """The same notes as with a ledger in reach: no row key, a running number, and a key that names people."""
    ages = [30 + (i * i) % 41 for i in range(300)]
    keys = {
        "none": None,
        "numbered": [10**8 + i for i in range(300)],
        "people": [10**9 + (i * 7919) % 10**6 for i in range(300)],  # no row of another test on this server
    }
    notes = {}
    for name, ids in keys.items():
        rows = tmp_path / f"{name}.csv"
        shift = 100 * len(notes)
        lines = [f"{age + shift}" if ids is None else f"{age + shift},{ids[i]}" for i, age in enumerate(ages)]
        rows.write_text("\n".join(["age" if ids is None else "age,id", *lines]) + "\n")
        words = [
            "guard",
            "open",
            live.url,
            str(rows),
            "--name",
            f"{name} {tmp_path.name}",
            "--questions",
            "50",
            "--json",
        ]
        assert run(words if ids is None else [*words, "--row-key", "id"]) == 0
        notes[name] = said(capsys).get("notes", [])
    assert [len(one) for one in notes.values()] == [1, 1, 0]
    assert notes["none"][0].startswith("No --row-key was given")
    assert notes["numbered"][0].startswith("The row key id is a running number")
