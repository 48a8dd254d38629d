"""`holdfast simulate`: what it prints, and what its exit status says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.cli.main import run
from holdfast.simulation.answerers import answerer
from holdfast.simulation.answerers import registry as answerer_registry
from holdfast.simulation.answerers.registry import Entry

SMALL = "--n 400 --questions 120 --failures 5 --runs 6".split()


def _json(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert run(["simulate", *SMALL, *words, "--json"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    found: dict[str, Any] = json.loads(said.out)
    return found


def test_a_table_beside_the_naive_answerer(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--analyst", "adversarial", *SMALL]) == 0
    said = capsys.readouterr().out
    assert "6 analyses by the adversarial analyst: 120 questions about 400 rows" in said
    assert "naive" in said
    assert "reusable-holdout" in said
    assert "Too few runs to tell the coverage of reusable-holdout" in said


def test_numbers_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    found = _json(capsys, "--analyst", "adversarial", "--against", "gaussian", "--seed", "5")
    assert (found["analyst"], found["against"], found["n"], found["seed"]) == ("adversarial", "gaussian", 400, 5)
    naive, gaussian = found["answerers"]
    assert naive["answerer"] == "naive"
    assert naive["coverage"] == 0.0
    assert naive["coverage_high"] < 0.95
    assert gaussian["coverage"] == 1.0
    assert 0 < gaussian["coverage_low"] < 1
    assert gaussian["certified"] is True
    assert {"half_width", "mean_error", "worst_error", "largest_error", "failures", "refused"} <= set(gaussian)


def test_the_same_seed_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--analyst", "greedy", "--against", "gaussian")
    assert _json(capsys, *words) == _json(capsys, *words)
    assert _json(capsys, *words) != _json(capsys, *words, "--seed", "2")


def test_naive_against_itself_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert [s["answerer"] for s in _json(capsys, "--against", "naive")["answerers"]] == ["naive"]


def test_all_answerers_in_one_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")  # narrower tables break between words
    found = _json(capsys, "--analyst", "adversarial-probe", "--against", "all", "--runs", "2")
    names = {s["answerer"] for s in found["answerers"]}
    assert {"naive", "reusable-holdout", "gaussian", "splitting", "ladder", "gaussian-thresholdout"} <= names
    assert set(found["left_out"]) == {"thresholdout-certified"}
    without = next(s for s in found["answerers"] if s["answerer"] == "gaussian-thresholdout")
    assert without["coverage"] is None
    assert run(["simulate", *SMALL, "--against", "all", "--runs", "1"]) == 0
    said = capsys.readouterr().out
    assert "no interval" in said
    assert "thresholdout-certified left out" in said


def test_every_analyst_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("honest", "greedy", "adversarial", "freedman", "bit-recovery"):
        assert run(["simulate", "--analyst", name, *SMALL, "--runs", "1"]) == 0
    assert "recovered" in capsys.readouterr().out


def test_names_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--list"]) == 0
    said = capsys.readouterr().out
    assert "bit-recovery" in said
    assert "sparse-validate" in said
    assert run(["simulate", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {"honest", "greedy", "adversarial", "freedman", "bit-recovery"} <= {e["name"] for e in listed["analysts"]}
    assert all({"name", "title", "certified", "needs_guess"} <= set(e) for e in listed["answerers"])


def test_a_promise_kept_and_a_promise_broken_are_said_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    words = "--analyst adversarial --against gaussian --n 200 --questions 100 --runs 80".split()
    assert run(["simulate", *words]) == 0
    said = capsys.readouterr().out
    assert "gaussian: every interval held in at least" in said
    assert "naive: every interval held in at most" in said


def test_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "attack.svg"
    assert run(["simulate", *SMALL, "--runs", "1", "--plot", str(path)]) == 0
    assert str(path) in capsys.readouterr().out
    assert "<svg" in path.read_text()


WRONG = {
    "analyst": ("--analyst nobody", "analyst must be one of"),
    "answerer": ("--against nobody", "against must be one of"),
    "rows": ("--n 1", "n must be"),
    "questions": ("--questions 1", "questions must be"),
    "failures": ("--failures 0", "failures must be"),
    "more failures than questions": ("--questions 5 --failures 6", "failures must be"),
    "confidence": ("--confidence 1", "confidence must be"),
    "runs": ("--runs 0", "runs must be"),
    "seed": ("--seed -1", "seed must be"),
    "workers": ("--workers -1", "workers must be"),
    "picture": ("--plot picture.gif", "--plot must be"),
    "folder": ("--plot no/such/folder.svg", "--plot must be"),
    "a word": ("--n many", "--n"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_usage_is_one_line_and_status_two(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    words, named = WRONG[case]
    assert run(["simulate", *words.split()]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert named in said.err


def test_no_guarantee_is_an_honest_no(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", "--against", "thresholdout-certified", *SMALL]) == 3
    assert "certifies nothing" in capsys.readouterr().err


def test_a_certified_answerer_that_lies_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    liar = Entry("liar", "exact means, called certified", True, False, answerer("naive").make)
    monkeypatch.setitem(answerer_registry._REGISTRY, "liar", liar)
    words = "--analyst adversarial --against liar --n 400 --questions 200 --runs 20".split()
    assert run(["simulate", *words]) == 1
    said = capsys.readouterr()
    assert "liar" in said.out
    assert "lower coverage than it guarantees" in said.err
