"""Codabench and EvalAI by their documented contracts: folders and files in, scores out, refusals in words."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import holdfast as hf
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.guard import Board, Guard, Policy
from holdfast.guard.ledger import open_store
from holdfast.integrations.contest_platforms import evaluate, main, score_folder
from holdfast.server.in_thread import server_in_thread

N = 2000


def predictions(wrong: int) -> str:
    lines = (f"{i},{str((i % 4 == 0) != (i % wrong == 0)).lower()}" for i in range(N))
    return "id,prediction\n" + "\n".join(lines) + "\n"


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """The reference folder of a host: hidden rows, a ledger that was opened, and the settings."""
    folder = tmp_path / "input" / "ref"
    folder.mkdir(parents=True)
    rows = "id,rich\n" + "".join(f"{i},{str(i % 4 == 0).lower()}\n" for i in range(N))
    (folder / "rows.csv").write_text(rows)
    boards = [
        Board("checked", key="id", label="rich", metric="accuracy", baseline=0.75),
        Board("climb", key="id", label="rich", metric="accuracy", rule="ladder"),
    ]
    with open_store(folder / "ledger.db") as store:
        Guard.open(store, hf.data.table(folder / "rows.csv"), Policy(boards=boards, questions=20))
    settings: dict[str, Any] = {"ledger": "ledger.db", "rows": "rows.csv", "board": "checked"}
    (folder / "holdfast.json").write_text(json.dumps(settings))
    return folder


def send(host: Path, text: str, claim: dict[str, Any] | None = None) -> Path:
    sent = host.parent / "res"
    sent.mkdir(exist_ok=True)
    (sent / "predictions.csv").write_text(text)
    if claim is not None:
        (sent / "claim.json").write_text(json.dumps(claim))
    return host.parent


def test_codabench_writes_scores_of_what_the_guard_shows(host: Path, tmp_path: Path) -> None:
    out = tmp_path / "output"
    scores = score_folder(send(host, predictions(10), {"guess": 0.9, "name": "forest"}), out)
    assert json.loads((out / "scores.json").read_text()) == scores
    assert (scores["score"], scores["certified"]) == (0.9, 1)
    assert scores["low"] < 0.9 < scores["high"]
    assert "passed" in (out / "detailed_results.html").read_text()


def test_the_program_runs_as_the_platform_runs_it(host: Path, tmp_path: Path) -> None:
    program = [sys.executable, "-m", "holdfast.integrations.contest_platforms"]
    given, out = send(host, predictions(10), {"guess": 0.9}), tmp_path / "output"
    done = subprocess.run([*program, given, out], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((out / "scores.json").read_text())["score"] == 0.9
    (host.parent / "res" / "second.csv").write_text("id,prediction\n1,true\n")
    refused = subprocess.run([*program, given, out], capture_output=True, text=True, timeout=120, check=False)
    assert refused.returncode == 1
    assert refused.stderr == "the submission must have one file of predictions (.csv, .parquet, .json), got 2\n"
    assert main([]) == 2


def test_evalai_gets_one_entry_for_its_split(host: Path, tmp_path: Path) -> None:
    settings = json.loads((host / "holdfast.json").read_text()) | {"boards": {"dev": "climb"}, "split": "test"}
    (host / "holdfast.json").write_text(json.dumps(settings))
    sent = tmp_path / "user.csv"
    sent.write_text(predictions(5))
    told = evaluate(
        str(host / "holdfast.json"), str(sent), "dev", submission_metadata={"participant_team": 7, "status": "running"}
    )
    (entry,) = told["result"]
    assert entry["test"]["Score"] == pytest.approx(0.8, abs=0.05)
    assert entry["test"]["Certified"] == 1.0
    other = evaluate(str(host / "holdfast.json"), str(sent), "final_phase")
    assert other["result"][0]["test"]["Certified"] == 1.0
    with open_store(host / "ledger.db") as store:
        (dataset,) = store.datasets()
        askers = [entry.analyst for entry in store.ledger(dataset).entries(2)]
    assert askers == ["team 7", "evalai"]


def test_what_is_wrong_is_said_and_spends_nothing(host: Path, tmp_path: Path) -> None:
    given = send(host, "id,prediction\n1,perhaps\n")
    with pytest.raises(InvalidParameter):
        score_folder(given, tmp_path / "output")
    with pytest.raises(InvalidParameter, match="must be next to the reference data"):
        evaluate(str(tmp_path / "nothing.json"), "x", "dev")
    for wrong in ({"board": "b"}, {"ledger": "l", "rows": "r", "other": 1}, []):
        (host / "holdfast.json").write_text(json.dumps(wrong))
        with pytest.raises(InvalidParameter, match="must"):
            score_folder(given, tmp_path / "output")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    """A server with a contest of one submission each, and the tokens of two teams."""
    with server_in_thread(folder=tmp_path_factory.mktemp("server")) as server:
        steward = httpx.Client(
            base_url=server.url + "/api/v1", headers={"Authorization": f"Bearer {server.token}"}, timeout=60
        )
        rows = "id,rich\n" + "".join(f"{i},{str(i % 4 == 0).lower()}\n" for i in range(N))
        kind = {"Content-Type": "text/csv"}
        sample = steward.post("/samples", params={"name": "rows"}, content=rows, headers=kind).json()["id"]
        board = {"name": "b", "key": "id", "label": "rich", "metric": "accuracy", "rule": "open", "quota": 1}
        policy = {"boards": [board], "reserve": 0.5, "final": 1.0}
        made = steward.post("/guards", json={"name": "contest", "sample": sample, "policy": policy}).json()["id"]
        tokens = {
            team: steward.post("/tokens", json={"role": "analyst", "name": team, "guards": [made]}).json()["token"]
            for team in ("ann", "bob", "cy", "everybody")
        }
        yield server.url, tokens
        steward.close()


def test_every_team_of_a_platform_is_a_participant_of_a_server(
    served: tuple[str, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one token for all, the first team would use up the quota of everybody and have their place."""
    url, tokens = served
    monkeypatch.setenv("HOLDFAST_TOKEN", tokens["everybody"])
    settings: dict[str, Any] = {"server": url, "guard": "contest", "board": "b"}
    annotation, sent = tmp_path / "annotation.json", tmp_path / "p.csv"

    def submitted(wrong: int, team: int, name: str = "") -> dict[str, Any]:
        sent.write_text(predictions(wrong))
        about = {"participant_team": team, "participant_team_name": name}
        return evaluate(str(annotation), str(sent), "dev", submission_metadata=about)

    annotation.write_text(json.dumps(settings))
    with pytest.raises(InvalidParameter, match="so it must say who submits"):
        submitted(5, 1)
    annotation.write_text(json.dumps(settings | {"tokens": {"1": tokens["ann"], "The Bobs": tokens["bob"]}}))
    submitted(5, 1)
    submitted(6, 2, "The Bobs")
    with pytest.raises(BudgetExhausted, match="'ann' has made 1"):
        submitted(7, 1)
    with pytest.raises(InvalidParameter, match="so it must say who submits"):
        submitted(5, 3, "unknown")
    host = tmp_path / "input" / "ref"
    host.mkdir(parents=True)
    (host / "holdfast.json").write_text(json.dumps(settings))
    with pytest.raises(InvalidParameter, match="so it must say who submits"):
        score_folder(send(host, predictions(8)), tmp_path / "output")
    score_folder(send(host, predictions(8), {"token": tokens["cy"]}), tmp_path / "output")
    with hf.connect(url, tokens["ann"]) as connection:
        assert connection.guard().contest().finalists == ("ann", "bob", "cy")
    (host / "holdfast.json").write_text(json.dumps(settings | {"one_participant": True}))
    (host.parent / "res" / "claim.json").unlink()
    score_folder(send(host, predictions(9)), tmp_path / "output")
    with hf.connect(url, tokens["ann"]) as connection:
        assert connection.guard().contest().participants == 4
