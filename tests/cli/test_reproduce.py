"""`holdfast reproduce` as a person runs it."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from holdfast.cli import main
from holdfast.cli import reproduce as command
from holdfast.cli.main import run
from holdfast.errors import NotInstalled
from holdfast_papers import registry
from holdfast_papers.command import reproduce
from holdfast_papers.registry import Check, Experiment, Outcome, Settings, Table

NAMES = ["filter-comparison", "max-information-lower-bound", "odometer-attack"]


def _made(name: str, passed: bool, seen: list[Settings]) -> Experiment:
    def play(settings: Settings) -> Outcome:
        seen.append(settings)
        settings.progress(0.5, "half way")
        table = Table("t", "A [table]", ("what", "number"), ({"what": "x", "number": 0.25}, {"what": None}))
        return Outcome((table,), (Check("the claim", passed, "it was 3"),), "We found [it].")

    return Experiment(name, "Made up", "nowhere", play)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[Settings]:
    settings: list[Settings] = []
    made = {"good": _made("good", True, settings), "bad": _made("bad", False, settings)}
    monkeypatch.setattr(registry, "experiments", lambda: made)
    return settings


def test_listing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in NAMES)
    assert run(["reproduce", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["experiments"]
    names = [entry["name"] for entry in listed]
    assert names == sorted(names)
    assert set(NAMES) <= set(names)
    assert all(entry["title"] and entry["source"] for entry in listed)


def test_run_prints_tables_finding_and_files(
    tmp_path: Path, seen: list[Settings], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", "good", "--quick", "--seed", "5", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "A [table]" in said.out
    assert "We found [it]." in said.out
    assert "Checks: 1 of 1 passed." in said.out
    assert "table.csv, result.json" in said.out
    assert said.err == ""
    assert (seen[0].quick, seen[0].seed) == (True, 5)
    with (tmp_path / "good" / "table.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["what", "number"], ["x", "0.25"], ["", ""]]


def test_run_as_json_is_one_object(tmp_path: Path, seen: list[Settings], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "all", "--json", "--workers", "1", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr()
    result = json.loads(said.out)
    assert result["passed"] is False
    assert [entry["name"] for entry in result["experiments"]] == ["good", "bad"]
    assert [entry["passed"] for entry in result["experiments"]] == [True, False]
    assert all(Path(path).exists() for entry in result["experiments"] for path in entry["files"])
    assert len(seen) == 2


def test_failed_check_exits_1_with_one_line(
    tmp_path: Path, seen: list[Settings], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", "bad", "--out", str(tmp_path)]) == 1
    said = capsys.readouterr()
    assert "FAILED: the claim: it was 3" in said.out
    assert said.err.count("\n") == 1
    assert "bad: the claim (it was 3)" in said.err
    assert (tmp_path / "bad" / "result.json").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nope"], "no experiment is called 'nope'; there are good, bad and all"),
        (["good", "nope"], "no experiment is called 'nope'"),
        (["good", "--seed", "-1"], "seed must be a whole number, at least 0"),
        (["good", "--seed", "x"], "a whole number"),
        (["good", "--colour"], "No such option"),
    ],
)
def test_wrong_usage_is_one_line_and_runs_nothing(
    words: list[str], message: str, tmp_path: Path, seen: list[Settings], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", *words, "--out", str(tmp_path / "new")]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""
    assert seen == []
    assert not (tmp_path / "new").exists()


def test_out_must_be_a_folder(tmp_path: Path, seen: list[Settings], capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("taken")
    for out in (tmp_path / "file", tmp_path / "file" / "below"):
        assert run(["reproduce", "good", "--out", str(out)]) == 2
        assert "--out must be a folder" in capsys.readouterr().err
    assert seen == []


def test_as_a_process(tmp_path: Path) -> None:
    words = ["reproduce", "max-information-lower-bound", "--quick", "--json", "--out", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "holdfast.cli.main", *words], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    result = json.loads(done.stdout)["experiments"][0]
    assert result["passed"]
    assert {Path(path).name for path in result["files"]} >= {"table.csv", "result.json", "plot.svg", "plot.png"}


def test_progress_on_a_terminal(
    tmp_path: Path, seen: list[Settings], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    assert run(["reproduce", "good", "--out", str(tmp_path)]) == 0
    assert "good" in capsys.readouterr().err
    assert seen[0].progress is not registry.silent
    assert run(["reproduce", "good", "--json", "--out", str(tmp_path)]) == 0
    assert capsys.readouterr().err == ""


def test_without_the_papers_it_says_how_to_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert not command.installed()
    with pytest.raises(NotInstalled, match=r"pip install \./papers"):
        command._command()(["all"])


@pytest.mark.parametrize("left_behind", [False, True])
def test_without_the_papers_every_option_is_answered_by_how_to_install_them(
    left_behind: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where the distribution is missing, and where only its metadata were left, without the entry point."""

    class Emptied(metadata.Distribution):
        def read_text(self, filename: str) -> str | None:
            return None

        def locate_file(self, path: object) -> Path:
            return Path()

    def found(name: str) -> metadata.Distribution:
        if left_behind:
            return Emptied()
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", found)
    monkeypatch.setattr(main, "_command", main._command.__wrapped__)  # made once otherwise
    assert run(["reproduce", "dwork-figure-2", "--quick", "--seed", "5"]) == 1
    assert "pip install ./papers" in capsys.readouterr().err


def test_an_entry_point_names_the_command() -> None:
    assert command.installed()
    assert command._command() is reproduce
