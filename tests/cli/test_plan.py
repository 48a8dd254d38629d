"""`holdfast plan`: one JSON object, a table for people, and honest exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.cli.main import run

ISSUE = "plan --n 10000 --questions 1000 --failures 10 --confidence 0.95"


def test_json_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*ISSUE.split(), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["recommended"] == "guess-and-check"
    rows = {row["name"]: row for row in said["methods"]}
    assert {"name", "half_width", "certified", "n_required"} <= set(said["methods"][0])
    assert rows["guess-and-check"]["before_failures"] <= 0.026
    assert rows["guess-and-check"]["half_width"] <= 0.075
    assert round(rows["non-adaptive"]["half_width"], 3) == 0.023
    assert rows["non-adaptive"]["certified"] is False


def test_table_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*ISSUE.split(), "--half-width", "0.1"]) == 0
    text = capsys.readouterr().out
    assert "10,000 rows, 1,000 questions, 10 failures" in text
    assert "The paper's Thresholdout says nothing at this size: it would need 17 million rows for 0.1." in text
    assert "recommended" in text


def test_no_is_status_3_and_says_what_would_work(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*ISSUE.split(), "--half-width", "0.01", "--json"]) == 3
    caught = capsys.readouterr()
    said = json.loads(caught.out)
    assert said["recommended"] is None
    assert said["feasible"] is False
    assert caught.err.startswith("holdfast: No certified method gives a half-width of 0.01 with 10,000 rows.")
    needed = next(row["n_required"] for row in said["methods"] if row["name"] == "guess-and-check")
    assert f"Guess-and-check would with {needed:,} rows" in caught.err
    assert caught.err.count("\n") == 1
    assert run("plan --n 10000 --half-width 0.1 --no-guess".split()) == 3


def test_rows_needed_without_n(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("plan --questions 1000 --failures 10 --half-width 0.1 --json".split()) == 0
    said = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row["n_required"] for row in said["methods"]}
    assert rows["thresholdout-paper"] == 17_341_106
    assert said["methods"][0]["n_required"] == min(v for k, v in rows.items() if k != "non-adaptive")


def test_guess_binary_and_range(capsys: pytest.CaptureFixture[str]) -> None:
    words = "plan --n 10000 --range -1 1 --guess 0.9 --binary --json".split()
    assert run(words) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["recommended"] == "guess-and-check-binary"
    assert (said["asked"]["low"], said["asked"]["high"]) == (-1.0, 1.0)


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_plot_is_written(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    path = tmp_path / f"plan.{suffix}"
    assert run(["plan", "--n", "5000", "--questions", "3", "--failures", "1", "--plot", str(path)]) == 0
    assert path.stat().st_size > 1000
    assert str(path) in capsys.readouterr().out.replace("\n", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--n 0", "n must be a whole number, at least 1"),
        ("", "give --n (how many rows), --half-width (what is wanted), or both"),
        ("--n 100 --questions 5 --failures 6", "failures must be a whole number, at least 0 and at most 5"),
        ("--n 100 --confidence 2", "confidence must be a number in (0, 1), got 2"),
        ("--n 100 --guess 0.5 --no-guess", "--guess and --no-guess exclude each other"),
        ("--n 100 --plot plan.pdf", "--plot must be a file that ends in .svg, .png, .html, .json"),
        ("--n 100 --plot nowhere/plan.svg", "--plot must be in a folder that exists"),
        ("--half-width 0.1 --plot plan.svg", "--plot needs --n"),
        ("--n ten", "Invalid value for '--n'"),
    ],
)
def test_wrong_usage_is_status_2(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", *words.split()]) == 2
    caught = capsys.readouterr()
    assert message in caught.err
    assert caught.err.count("\n") == 1
    assert caught.out == ""


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--help"]) == 0
    text = capsys.readouterr().out
    for option in ("--n", "--questions", "--failures", "--confidence", "--half-width", "--range", "--plot", "--json"):
        assert option in text
