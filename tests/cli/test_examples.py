"""Help that helps: every command has an example, and every example does what it says."""

from __future__ import annotations

import csv
import json
import random
import re
import shlex
from pathlib import Path

import pytest

from holdfast.cli.examples import EXAMPLES, examples
from holdfast.cli.main import _command, run
from holdfast_papers.registry import select

ROOT = Path(__file__).parent.parent.parent
ELSEWHERE = {"demo", "mcp", "reproduce", "serve"}
"""They run until they are stopped, or for long; tests of their own run them."""
ENDS = {"ask close": "close.db", "ask final": "final.db", "guard extend": "extend.db"}
"""They end a run, or its latest epoch: each has a ledger of its own here."""


def _every() -> dict[str, object]:
    """Every command that does something, by the words that call it."""
    found, waiting = {}, [("", _command())]
    while waiting:
        words, command = waiting.pop()
        below = getattr(command, "commands", {})
        waiting += [(f"{words} {name}".strip(), one) for name, one in below.items() if not one.hidden]
        if not below:
            found[words] = command
    return found


def test_every_command_has_an_example_and_every_example_a_command() -> None:
    assert set(EXAMPLES) - {""} <= set(_every())
    for words in _every():
        assert examples(words), words
        assert all(line == words or line.startswith(words + " ") for line in examples(words)), words


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the examples name."""
    draw = random.Random(1)
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "age", "income", "arm", "y"])
        for i in range(3000):
            rows.writerow([i, draw.randint(18, 89), draw.randint(0, 99_999), draw.choice(["drug", "none"]), i % 2])
    with (tmp_path / "december.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "age", "income", "arm", "y"])
        for i in range(3000, 4000):
            rows.writerow([i, draw.randint(18, 89), draw.randint(0, 99_999), draw.choice(["drug", "none"]), i % 2])
    with (tmp_path / "predictions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "prediction"], *([i, i % 2] for i in range(3000))])
    with (tmp_path / "people.csv").open("w", newline="") as file:
        people = csv.writer(file)
        people.writerow(["town", "sex", "ill"])
        people.writerows([draw.randrange(100), draw.choice("fm"), draw.randrange(2)] for _ in range(400))
    (tmp_path / "generator.py").write_text("import shutil, sys\nshutil.copy(*sys.argv[1:])\n")
    (tmp_path / "question.json").write_text(json.dumps({"kind": "check", "expression": "age < 50", "guess": 0.4}))
    privacy = {"kind": "pure-dp", "epsilon": 2.0}
    (tmp_path / "policy.json").write_text(json.dumps({"questions": 1000, "privacy": privacy}))
    (tmp_path / "categories.json").write_text(json.dumps({"arm": ["drug", "none"], "y": ["0", "1"]}))
    board = {"name": "final", "key": "id", "label": "y", "metric": "accuracy"}
    (tmp_path / "board.json").write_text(json.dumps({"questions": 100, "failures": 9, "boards": [board]}))
    climb = board | {"name": "climb", "rule": "open"}
    (tmp_path / "contest.json").write_text(json.dumps({"boards": [climb], "reserve": 0.5}))
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_examples_run(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One after the other on one desk: what opens a guard first, what closes it last."""
    assert (
        run(shlex.split("guard open ledger.db rows.csv --questions 500 --privacy pure-dp:0.05 --spend pure-dp:0.005"))
        == 0
    )
    for ledger in ENDS.values():
        assert run(shlex.split(f"guard open {ledger} rows.csv --questions 500")) == 0
        assert run(shlex.split(f'ask check {ledger} rows.csv "age < 50" --guess 0.4')) == 0
    assert run(shlex.split("guard open board.db rows.csv --policy board.json")) == 0
    assert run(shlex.split("submit board.db rows.csv predictions.csv --guess 1")) == 0
    assert run(shlex.split("guard open contest.db rows.csv --policy contest.json")) == 0
    assert run(shlex.split("submit contest.db rows.csv predictions.csv")) == 0
    last = ["guard pause", "guard resume", "guard override", "guard close"]
    order = [words for words in sorted(_every()) if words not in last] + last
    for words in order:
        for place, line in enumerate(examples(words)):
            if not words or words in ELSEWHERE or "https://" in line:
                continue
            typed = line.replace("$PWD", str(desk)).replace("--runs 10", "--runs 1")
            typed += " --splits 5" if words == "audit" else ""
            if words == "guard open":  # each as the first of its ledger
                typed = typed.replace("ledger.db", f"ledger-{place}.db")
            typed = typed.replace("ledger.db", ENDS.get(words, "ledger.db"))
            status = run(shlex.split(typed))
            told = capsys.readouterr()
            assert status in ((0, 1, 2, 3) if words == "audit" else (0,)), (line, told.err)
            assert told.out, line
            assert "PARTIAL" not in told.out, line


def test_examples_of_what_runs_elsewhere_name_what_is_there() -> None:
    for line in EXAMPLES["reproduce"]:
        names = [word for word in line.split()[1:] if not word.startswith("--") and word != "all"]
        assert [one.name for one in select(names)] == names if names else True


@pytest.mark.parametrize("words", ["", "ask", "guard", "report", "test", *_every()])
def test_help_shows_whole_sentences_examples_and_no_type_of_the_code(
    words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*words.split(), "--help"]) == 0
    told = capsys.readouterr().out
    assert not re.search(r"--[a-z-]+ <list\[", told)
    commands = told.partition("Commands:")[2].partition("Example")[0]
    assert "..." not in commands, "a list of commands says whole clauses"
    assert all(line in told for line in examples(words))


def test_root_help_lists_commands_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    run(["--help"])
    listed = re.findall(r"^  ([a-z]+)  ", capsys.readouterr().out.partition("Commands:")[2], flags=re.MULTILINE)
    assert listed == sorted(listed)
    assert len(listed) > 15
