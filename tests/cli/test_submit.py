"""`holdfast submit` and `holdfast leaderboard` over a ledger file: exit status, words and JSON."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from holdfast.cli.main import run
from holdfast.guard.scoring.files import SMALL
from tests.server.live import free_port

N = 3000
BOARDS = [
    {"name": "income", "key": "id", "label": "rich", "metric": "accuracy"},
    {"name": "climb", "key": "id", "label": "rich", "metric": "brier", "rule": "ladder", "step": 0.02},
]


@pytest.fixture
def place(tmp_path: Path, capsys: Any) -> list[str]:
    """A ledger with two boards, and its rows."""
    rows, policy = tmp_path / "people.parquet", tmp_path / "policy.json"
    pl.DataFrame({"id": range(N), "rich": [i % 4 == 0 for i in range(N)]}).write_parquet(rows)
    policy.write_text(json.dumps({"questions": 50, "boards": BOARDS}))
    ledger = str(tmp_path / "ledger.db")
    assert run(["guard", "open", ledger, str(rows), "--policy", str(policy)]) == 0
    capsys.readouterr()
    return [ledger, str(rows)]


@pytest.fixture
def nobody(tmp_path: Path) -> dict[str, str]:
    """The same predictions in every kind of file."""
    frame = pl.DataFrame({"id": range(N), "prediction": [False] * N})
    frame.write_csv(tmp_path / "p.csv")
    frame.write_parquet(tmp_path / "p.parquet")
    (tmp_path / "p.json").write_text(json.dumps({str(i): False for i in range(N)}))
    return {kind: str(tmp_path / f"p.{kind}") for kind in ("csv", "parquet", "json")}


def said(capsys: Any) -> Any:
    return json.loads(capsys.readouterr().out)


def test_a_file_is_scored_and_placed(place: list[str], nobody: dict[str, str], capsys: Any) -> None:
    how = ["--board", "income", "--guess", "0.75", "--name", "nobody", "--analyst", "ann"]
    assert run(["submit", *place, nobody["csv"], *how, "--json"]) == 0
    first = said(capsys)
    assert (first["value"], first["passed"], first["repeated"]) == (0.75, True, False)
    for kind in ("parquet", "json"):
        assert run(["submit", *place, nobody[kind], *how, "--json"]) == 0
        again = said(capsys)
        assert (again["repeated"], again["sequence"]) == (True, first["sequence"])
    assert run(["submit", *place, nobody["csv"], "--board", "income", "--guess", "0.5", "--analyst", "bo"]) == 0
    shown = capsys.readouterr().out
    assert "Your score of 0.5 failed: it is between 0." in shown
    assert "Scored: income" in shown
    assert run(["leaderboard", place[0], "--board", "income", "--json"]) == 0
    board = said(capsys)
    assert [one["analyst"] for one in board["places"]] == ["ann", "bo"]
    assert board["places"][0]["tied"] == [board["places"][1]["sequence"]]
    assert run(["leaderboard", place[0], "--board", "income", "--every"]) == 0
    shown = capsys.readouterr().out
    assert "1–2" in shown
    assert "nobody" in shown


def test_a_file_means_what_it_means_to_a_server(place: list[str], tmp_path: Path, capsys: Any) -> None:
    """Small texts, large texts and lists of objects: one submission in every spelling."""
    words = ["false", "False", "0"]
    spelt = {
        "small.csv": "id,prediction\n" + "".join(f"{i},{words[i % 3]}\n" for i in range(N)),
        "large.csv": "id,prediction,note\n" + "".join(f"{i},false,{'x' * 600}\n" for i in range(N)),
        "list.json": json.dumps([{"id": i, "prediction": False} for i in range(N)]),
    }
    assert len(spelt["large.csv"]) > SMALL > len(spelt["small.csv"])
    seen = set()
    for name, text in spelt.items():
        (tmp_path / name).write_text(text)
        assert run(["submit", *place, str(tmp_path / name), "--board", "income", "--guess", "0.75", "--json"]) == 0
        seen.add(said(capsys)["sequence"])
    assert len(seen) == 1


def test_a_ladder(place: list[str], tmp_path: Path, capsys: Any) -> None:
    for share, words in ((0.25, "A new best: 0.19"), (0.9, "does not beat the best so far")):
        file = tmp_path / f"{share}.csv"
        file.write_text("id,prediction\n" + "".join(f"{i},{share}\n" for i in range(N)))
        assert run(["submit", *place, str(file), "--board", "climb"]) == 0
        assert words in " ".join(capsys.readouterr().out.split())
    file.write_text("id,prediction\n" + "".join(f"{i},{int(i % 4 == 0)}\n" for i in range(N)))
    assert run(["submit", *place, str(file), "--board", "climb"]) == 0
    capsys.readouterr()
    assert run(["submit", *place, str(tmp_path / "0.25.csv"), "--board", "climb"]) == 0
    words = " ".join(capsys.readouterr().out.split())  # a table breaks lines where its column ends
    assert "A new best when it was first submitted: 0.19" in words
    assert "It was beaten since." in words


def test_what_goes_wrong_spends_nothing(place: list[str], nobody: dict[str, str], tmp_path: Path, capsys: Any) -> None:
    odd = {name: tmp_path / name for name in ("odd.csv", "list.json", "no.json", "words.txt", "twice.csv", "half.csv")}
    odd["odd.csv"].write_text("id,guess\n1,true\n")
    odd["list.json"].write_text("[1, 2]")
    odd["no.json"].write_text("{")
    odd["words.txt"].write_text("id,prediction\n1,true\n")
    odd["half.csv"].write_text("id,prediction\n1,0.5\n")
    odd["twice.csv"].write_text("id,prediction\n1,true\n1,false\n")
    income = ["--board", "income", "--guess", "0.5"]
    for file, how, status, words in (
        (nobody["csv"], ["--guess", "0.5"], 2, "income, climb"),
        (nobody["csv"], ["--board", "none", "--guess", "0.5"], 2, "income, climb"),
        (nobody["csv"], ["--board", "income"], 2, "guess must be given"),
        (nobody["csv"], [*income, "--output", "y"], 2, "unless a model"),
        (nobody["csv"], ["--board", "climb"], 2, "of the kinds that the board takes"),
        (str(odd["half.csv"]), ["--board", "climb", "--guess", "1.5"], 2, "guess must be"),
        (str(odd["odd.csv"]), income, 2, "'id' and 'prediction'"),
        (str(odd["list.json"]), income, 2, "list.json: the predictions must be {"),
        (str(odd["no.json"]), income, 2, "not JSON in UTF-8"),
        (str(odd["words.txt"]), income, 2, "must end in"),
        (str(odd["twice.csv"]), income, 2, "occur twice"),
        (str(tmp_path / "none.csv"), income, 1, "none.csv"),
    ):
        assert run(["submit", *place, file, *how]) == status, (file, how)
        assert words in capsys.readouterr().err
    assert run(["submit", str(tmp_path / "none.db"), place[1], nobody["csv"], *income]) == 1
    assert "`holdfast guard open LEDGER DATA` makes a new ledger" in capsys.readouterr().err
    assert run(["guard", "show", place[0], "--json"]) == 0
    assert said(capsys)["remaining"]["questions"] == 50
    assert run(["leaderboard", place[0]]) == 2
    assert run(["leaderboard", place[0], "--board", "climb"]) == 0


@pytest.mark.parametrize("command", ["submit", "leaderboard"])
def test_help(command: str, capsys: Any) -> None:
    assert run([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert "LEDGER" in shown.splitlines()[0]
    assert "--json" in shown


def test_a_comment_for_a_pull_request(
    place: list[str], nobody: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    how, comment = ["--board", "income", "--guess", "0.75"], tmp_path / "comment.md"
    assert run(["submit", *place, nobody["csv"], *how, "--analyst", "ann", "--name", "<b>|x| @all"]) == 0
    assert run(["submit", *place, nobody["csv"], *how, "--analyst", "bo", "--comment-file", str(comment)]) == 0
    capsys.readouterr()
    text = comment.read_text()
    assert text.startswith("### income")
    assert "| accuracy | 0.75 |" in text
    (own,) = [line for line in text.splitlines() if "this submission" in line]
    assert "| bo |" in own
    assert "<b>" not in text, "names come from others, and must not become markup"
    assert "@all" not in text
    rows = [line for line in text.splitlines() if line.startswith("| 1")]
    assert all(line.count("|") == 7 for line in rows), rows
    assert run(["submit", *place, nobody["csv"], *how, "--comment-file", str(tmp_path / "none" / "c.md")]) == 2
    assert "--comment-file" in capsys.readouterr().err
    assert "Intervals hold together with 95% confidence" in text
    assert run(["submit", *place, nobody["csv"], *how, "--wait", "5"]) == 0, "there is nothing to wait for"
    wrong = ["--board", "income", "--comment-file", str(comment)]
    assert run(["submit", *place, nobody["csv"], *wrong]) == 2
    assert comment.read_text().startswith("### Not scored\n\nguess must be given")


def test_a_comment_on_an_open_board_claims_no_intervals(
    nobody: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, policy, comment = (tmp_path / name for name in ("rows.csv", "policy.json", "comment.md"))
    rows.write_text("id,rich\n" + "".join(f"{i},{str(i % 4 == 0).lower()}\n" for i in range(N)))
    board = {"name": "plain", "key": "id", "label": "rich", "metric": "accuracy", "rule": "open"}
    policy.write_text(json.dumps({"boards": [board], "reserve": 0.5, "final": 1.0}))
    ledger = str(tmp_path / "open.db")
    assert run(["guard", "open", ledger, str(rows), "--policy", str(policy)]) == 0
    assert run(["submit", ledger, str(rows), nobody["csv"], "--comment-file", str(comment)]) == 0
    text = comment.read_text()
    assert "Plain scores certify nothing: the final on reserved rows decides." in text
    assert "hold together" not in text


def test_how_long_to_wait_for_a_server(
    nobody: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody listens at this address: without waiting that is said at once, and not after two minutes."""
    monkeypatch.setenv("HOLDFAST_TOKEN", "hf_" + "0" * 16 + "_" + "0" * 64)
    begun = time.monotonic()
    assert run(["submit", f"http://127.0.0.1:{free_port()}", "people", nobody["csv"], "--wait", "0"]) != 0
    assert time.monotonic() - begun < 60
    assert capsys.readouterr().err
