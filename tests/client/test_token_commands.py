"""`holdfast token`: a steward's tokens from the terminal."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from holdfast.cli.main import run
from tests.server.live import Live


@pytest.fixture(autouse=True)
def steward(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_TOKEN", live.steward_token)


def me(live: Live, token: str) -> httpx.Response:
    return httpx.get(f"{live.url}/api/v1/me", headers={"Authorization": f"Bearer {token}"})


def test_a_token_is_made_shown_once_listed_and_ended(live: Live, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "1000")  # one line for a token, however many guards those of other tests reach
    guard = live.guard("token commands")
    end = (datetime.now(UTC) + timedelta(days=70)).strftime("%Y-%m-%dT%H:%MZ")
    words = ["token", "issue", live.url, "tess", "--guard", guard["name"], "--expires", end, "--json"]
    assert run(words) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["role"], made["guards"], made["expires"][:16]) == ("analyst", [guard["id"]], end[:16])
    assert me(live, made["token"]).json()["name"] == "tess"

    assert run(["token", "list", live.url]) == 0
    shown = capsys.readouterr().out
    (line,) = [line for line in shown.splitlines() if "tess" in line]
    assert guard["name"] in line  # and not its id, which nobody typed
    assert made["id"] in line
    assert made["token"].split("_")[2] not in shown
    assert run(["token", "list", live.url, "--json"]) == 0
    assert made["id"] in [one["id"] for one in json.loads(capsys.readouterr().out)["tokens"]]

    assert run(["token", "revoke", live.url, made["id"]]) == 0
    shown = capsys.readouterr().out
    assert "revoked" in shown
    assert guard["name"] in shown
    assert me(live, made["token"]).status_code == 401


@pytest.mark.parametrize("columns", ["40", "200"])
def test_without_options_it_is_an_analysts_for_every_guard(
    live: Live, capsys: Any, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert run(["token", "issue", live.url, "uma"]) == 0
    shown = capsys.readouterr().out
    assert "shown once" in shown
    assert "every guard its name may ask" in " ".join(shown.split())
    (text,) = [word for word in shown.split() if word.startswith("hf_")]
    assert me(live, text).json()["role"] == "analyst"


def test_what_is_wrong_is_said(live: Live, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["token", "list", "ledger.db"]) == 2
    assert "SERVER must be an address such as https://holdfast.example.org, got" in capsys.readouterr().err
    assert run(["token", "issue", live.url, "vic", "--guard", "no such"]) == 2
    assert "guard must name a guard" in capsys.readouterr().err
    for words, said in (
        (["vic", "--role", "king"], "--role must be one of"),
        (["vic", "--expires", "yesterday"], "--expires must be a time such as 2030-01-31T12:00Z, got 'yesterday'"),
        (["vic", "--expires", "2020-01-31"], "expires must be a time in the future, at most"),
        (["<b>vic"], "must be letters, digits, spaces and _.@+()-, beginning with a letter or digit"),
    ):
        assert run(["token", "issue", live.url, *words]) == 2
        assert said in capsys.readouterr().err
    with live.analyst("wes") as wes:
        monkeypatch.setenv("HOLDFAST_TOKEN", wes.headers["authorization"].split()[1])
    capsys.readouterr()
    assert run(["token", "issue", live.url, "vic"]) == 1
    assert "steward's token" in capsys.readouterr().err
