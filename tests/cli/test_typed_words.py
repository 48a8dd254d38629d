"""Command lines as people type them: other names, numbers, left-out ledgers and data, and one exit-status rule."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from holdfast import __version__
from holdfast.cli import typed_words
from holdfast.cli.main import run

CHECK = ("age < 40", "--guess", "0.5")


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    path.write_text("age,name\n" + "".join(f"{20 + i % 40},p{i}\n" for i in range(2000)))
    return path


def _json(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("words", [["version"], ["-V"], ["--version"]])
def test_version(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 0
    assert capsys.readouterr().out == f"holdfast {__version__}\n"


@pytest.mark.parametrize("words", ["plan", "guard open", "ask check", ""])
def test_help_is_a_command_too(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words.split(), "--help"]) == 0
    expected = capsys.readouterr().out
    assert run(["help", *words.split()]) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("guess", [["0.5"], ["--guess", "0.5"], ["--guess=0.5"]])
def test_the_guess_of_a_check_may_follow_its_expression(
    guess: list[str], rows: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = str(tmp_path / "ledger.db")
    assert run(["guard", "open", ledger, str(rows), "--questions", "9", "--failures", "1"]) == 0
    assert "9 questions, 1 failed check\n" in capsys.readouterr().out
    assert run(["ask", "check", ledger, "age < 40", *guess, "--estimate", "--json"]) == 0
    assert _json(capsys)["admitted"]
    assert run(["ask", "check", ledger, "age < 40"]) == 2
    assert "Missing option '--guess'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"), [("check", "ask check"), ("gof", "test gof"), ("open", "guard open"), ("show", "guard show")]
)
def test_a_command_of_a_group_is_suggested(words: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([words]) == 2
    assert f"Did you mean `holdfast {meant}`" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", ["10000 1000", "10,000 1e3", "--n 1e4 1000", "--rows 10_000 --questions 1,000", "--rows 1e4 -q 1000"]
)
def test_numbers_as_people_write_them(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--n", "10000", "--questions", "1000", "--json"]) == 0
    expected = _json(capsys)
    assert run(["plan", *words.split(), "--json"]) == 0
    assert _json(capsys) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            "10000 1000 --questions 5",
            "--questions must be left out if its value is given without the option too, as 1000",
        ),
        ("ten", "n must be a whole number, got 'ten'"),
        ("--n 1e4x", "got '1e4x'"),
        ("--n 2.5", "'2.5'"),
    ],
)
def test_what_is_no_number(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", *words.split()]) == 2
    assert message in capsys.readouterr().err


def test_lists_of_numbers_keep_their_commas(capsys: pytest.CaptureFixture[str]) -> None:
    """`--counts 520,150` looks like five hundred thousand; it is an option of text and stays as it is."""
    assert run("test gof --counts 520,150,170,160 --p0 1/2,1/6,1/6,1/6 --rho 0.01 --json".split()) == 0
    assert _json(capsys)


def test_a_bound_reads_them(capsys: pytest.CaptureFixture[str]) -> None:
    words = "bound max-information.pure-dp --epsilon 0.01 --beta 0.05 --json --n".split()
    assert run([*words, "100000"]) == 0
    expected = _json(capsys)["value"]
    for number in ("1e5", "100_000", "100,000"):
        assert run([*words, number]) == 0
        assert _json(capsys)["value"] == expected


def test_bound_lists_areas_and_searches(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bound"]) == 0
    listed = capsys.readouterr().out
    assert len(listed.splitlines()) < 60
    assert run(["bound", "--json"]) == 0
    theorems = _json(capsys)["theorems"]
    assert f"{len(theorems)} theorems in" in listed
    for area in {theorem["id"].split(".")[0] for theorem in theorems}:
        assert f" {area} " in listed
    assert run(["bound", "--search", "sparse", "vector", "--json"]) == 0
    ids = [theorem["id"] for theorem in _json(capsys)["theorems"]]
    assert "sparse-vector.epsilon" in ids
    assert len(ids) < 20
    assert run(["bound", "--search", "no such words"]) == 2
    assert run(["bound", "--search"]) == 2


def test_guard_create_and_status_are_understood(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = str(rows.with_name("l.db"))
    assert run(["guard", "create", ledger, str(rows), "--questions", "5", "--json"]) == 0
    opened = _json(capsys)
    assert run(["guard", "status", ledger, "--json"]) == 0
    assert _json(capsys)["dataset"] == opened["dataset"]
    assert run(["guard", "--help"]) == 0
    assert "create" not in capsys.readouterr().out


def test_a_policy_is_proposed_and_yes_takes_it(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["guard", "open", str(rows)]) == 2
    said = capsys.readouterr().err
    ledger = rows.with_suffix(".db")
    assert "Proposed: 1,000 questions and 10 failed checks" in said
    assert f"`holdfast guard open {ledger} {rows} --yes` accepts this policy" in said
    assert not ledger.exists()
    assert run(["guard", "open", str(rows), "--yes"]) == 0
    said = capsys.readouterr().out
    assert "a check that passes certifies its guess to its tolerance" in said
    assert f"The ledger is {ledger} and its signing key is {ledger}.key" in said
    first = re.search(r"`holdfast (ask check .*) EXPRESSION --guess GUESS`", said)
    assert first
    assert run([*first[1].split(), "age > 39", "--guess", "0.5"]) == 0, "the command that is named asks"
    capsys.readouterr()
    assert run(["guard", "open", str(rows), "--json"]) == 0
    policy = _json(capsys)["policy"]
    assert (policy["questions"], policy["failures"], policy["privacy"]) == (1000, 10, None)


def test_the_data_and_the_ledger_may_be_left_out(
    rows: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = str(rows.with_name("l.db"))
    assert run(["guard", "open", ledger, str(rows), "--questions", "5"]) == 0
    capsys.readouterr()
    assert run(["ask", "check", ledger, str(rows), *CHECK, "--json"]) == 0
    expected = _json(capsys)
    assert run(["ask", "check", ledger, *CHECK, "--json"]) == 0
    assert _json(capsys)["sequence"] == expected["sequence"]
    monkeypatch.setenv(typed_words.LEDGER_VARIABLE, ledger)
    for words in (CHECK, (str(rows), *CHECK), (ledger, *CHECK), (ledger, str(rows), *CHECK)):
        assert run(["ask", "check", *words, "--json"]) == 0
        assert _json(capsys)["sequence"] == expected["sequence"]
    assert run(["guard", "show", "--json"]) == 0
    assert _json(capsys)["progress"]["answered"] == 1
    assert run(["verify", "--json"]) == 0
    assert run(["guard", "log", "--last", "1e1"]) == 0
    monkeypatch.delenv(typed_words.LEDGER_VARIABLE)
    capsys.readouterr()
    assert run(["ask", "check", *CHECK]) == 2


def test_rows_in_the_place_of_the_ledger_are_recognised(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["ask", "check", str(rows), *CHECK], ["ask", "final", str(rows), "--candidate", "a=age < 40"]):
        assert run(words) == 2
        told = capsys.readouterr().err
        assert "LEDGER must be given before DATA" in told
        assert str(rows.with_suffix(".db")) in told


def test_rows_that_were_moved_are_asked_for(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger, moved = str(rows.with_name("l.db")), str(rows.with_name("moved.csv"))
    assert run(["guard", "open", ledger, str(rows), "--questions", "5"]) == 0
    rows.rename(moved)
    capsys.readouterr()
    assert run(["ask", "check", ledger, *CHECK]) == 2
    assert "DATA must be given after" in capsys.readouterr().err
    assert run(["ask", "check", ledger, moved, *CHECK]) == 0


@pytest.mark.parametrize(
    ("words", "asked"),
    [(("--n", "1.5"), "a whole number"), (("--n", "9", "--confidence", "x"), "a number")],
)
def test_numbers_are_asked_for_in_plain_words(
    words: tuple[str, ...], asked: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["plan", *words]) == 2
    told = capsys.readouterr().err
    assert f"it must be {asked}, got" in told
    assert "Input should" not in told


def test_predictions_are_not_taken_for_the_data(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger, predictions, policy = (str(rows.with_name(name)) for name in ("l.db", "predictions.csv", "policy.json"))
    board = {"name": "b", "key": "name", "label": "age", "metric": "accuracy", "rule": "intervals"}
    Path(policy).write_text(json.dumps({"questions": 9, "boards": [board]}))
    lines = rows.read_text().splitlines()[1:]
    Path(predictions).write_text("name,prediction\n" + "".join(f"{n},{a}\n" for a, n in (x.split(",") for x in lines)))
    assert run(["guard", "open", ledger, str(rows), "--policy", policy]) == 0
    capsys.readouterr()
    assert run(["submit", ledger, predictions, "--guess", "1", "--json"]) == 0
    assert _json(capsys)["passed"] is True


def test_open_ended_arguments_keep_their_words(rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`ask table age name` names columns; none of them is taken for a ledger or for data."""
    ledger = str(rows.with_name("l.db"))
    assert run(["guard", "open", ledger, str(rows), "--questions", "9"]) == 0
    monkeypatch.setenv(typed_words.LEDGER_VARIABLE, ledger)
    assert typed_words._is_ledger(["age", "name"], None) is False
    assert typed_words._is_ledger([ledger, "name"], None) is True


def test_the_place_of_the_data_is_a_secret_of_the_ledger(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from holdfast.guard.ledger import open_store
    from holdfast.guard.ledger.export import to_json

    ledger = str(rows.with_name("l.db"))
    assert run(["guard", "open", ledger, str(rows), "--questions", "5"]) == 0
    assert run(["guard", "show", ledger, "--json"]) == 0
    assert run(["guard", "log", ledger, "--json"]) == 0
    assert str(rows) not in capsys.readouterr().out
    with open_store(ledger) as store, store.snapshot() as snapshot:
        assert rows.name not in "".join(to_json(snapshot))


def test_an_answer_says_what_it_did_to_later_intervals(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = str(rows.with_name("l.db"))
    assert run(["guard", "open", ledger, str(rows), "--questions", "50"]) == 0
    capsys.readouterr()
    assert run(["ask", "check", ledger, *CHECK]) == 0
    passed = capsys.readouterr().out
    assert re.search(r"Your guess of 0\.5 passed: the truth is between 0\.\d+ and\s+0\.\d+\.", passed), passed
    assert "log_share" not in passed
    assert run(["ask", "check", ledger, "age < 41", "--guess", "0.9", "--verbose"]) == 0
    failed = capsys.readouterr().out
    words = " ".join(failed.split())
    assert re.search(r"\d+% wider, a final's \d+%, because this check failed and its value was released", words)
    assert "log_share" in failed


def test_json_has_the_guarantee_once_and_its_receipt_still_verifies(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, answer = str(rows.with_name("l.db")), rows.with_name("answer.json")
    assert run(["guard", "open", ledger, str(rows), "--questions", "50"]) == 0
    capsys.readouterr()
    assert run(["ask", "check", ledger, *CHECK, "--json"]) == 0
    text = capsys.readouterr().out
    assert text.count('"guarantee"') == 1
    answer.write_text(text)
    assert run(["verify", ledger, "--receipt", str(answer)]) == 0
    assert run(["ask", "check", ledger, *CHECK, "--json", "--verbose"]) == 0
    capsys.readouterr()
    changed = json.loads(text) | {"value": 0.6}
    answer.write_text(json.dumps(changed))
    assert run(["verify", ledger, "--receipt", str(answer)]) == 1


def test_tab_completion_is_on() -> None:
    environment = {"_HOLDFAST_COMPLETE": "complete_bash", "COMP_WORDS": "holdfast pl", "COMP_CWORD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", "from holdfast.cli.main import main; main()"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["plan"]


def test_the_audit_groups_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    from holdfast.cli.audit import _GROUPS

    assert run(["audit", "--help"]) == 0
    said = capsys.readouterr().out
    assert all(f"\n{heading}:\n" in said for heading in _GROUPS)
    assert "--by" not in said.partition("Options:")[2].partition("Example")[0]
