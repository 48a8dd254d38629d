"""`holdfast plan`: one JSON object, a table for people, and honest exit statuses."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import holdfast as hf
from holdfast.cli.main import run
from holdfast.holdout.intervals.winner import winner_limits

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
    assert "The paper's Thresholdout gives no guarantee at this size: it would need 17 million rows for 0.1." in text
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
        ("", "give --n (the number of rows), --half-width (the half-width to reach), or both"),
        ("--n 100 --questions 5 --failures 6", "failures must be a whole number, at least 0 and at most 5"),
        ("--n 100 --confidence 2", "confidence must be a number in (0, 1), got 2"),
        ("--n 100 --guess 0.5 --no-guess", "--guess and --no-guess cannot be given together"),
        ("--n 100 --plot plan.pdf", "--plot must be a file that ends in .svg, .png, .html, .json"),
        ("--n 100 --plot nowhere/plan.svg", "--plot must be a file in a folder that exists"),
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


WORKFLOWS = ("fixed", "rounds", "checks", "contest", "pairs")


def _workflow(words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert run(["plan", "--workflow", *words.split(), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_has_the_json_of_the_contract(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = _workflow(f"{name} --n 10000", capsys)
    assert said["workflow"] == name
    assert 0 < said["half_width"] < 0.05
    assert set(said["alternative"]) == {"name", "half_width"}
    assert said["ratio"] == pytest.approx(said["half_width"] / said["alternative"]["half_width"])
    assert said["ratio"] <= 1
    assert said["policy"]["confidence"] == 0.95
    last = "contest_final" if name == "contest" else "final"
    assert said["verbs"][-1] == last
    assert run(["plan", "--workflow", name, "--n", "10000"]) == 0
    text = capsys.readouterr().out
    assert f"{said['half_width']:.4g}" in text
    assert f"{said['alternative']['half_width']:.4g}, by {said['alternative']['name']}" in " ".join(text.split())
    assert (last if name == "contest" else f'{last}(claims="{said["claims"]}")') in text
    assert said["says"] in " ".join(text.split())


def _column(n: int, mean: float = 0.85) -> list[bool]:
    return [place < round(mean * n) for place in range(n)]


def _half(ends: Any) -> float:
    return float(ends[1] - ends[0]) / 2


@pytest.mark.parametrize("candidates", [1, 2, 60])
def test_a_fixed_list_is_planned_as_it_comes_out(candidates: int, capsys: pytest.CaptureFixture[str]) -> None:
    """The winner's interval of a real final, and Bonferroni's for each candidate of the same list."""
    said = _workflow(f"fixed --n 3000 --candidates {candidates}", capsys)
    columns = {str(number): _column(3000) for number in range(candidates)}
    claims = said["claims"] if candidates > 1 else {"winner": 1}
    found = hf.ReusableHoldout(3000, **said["policy"]).final(columns, claims)
    assert said["half_width"] == pytest.approx(_half(found.winner_interval), rel=1e-6)
    each = hf.ReusableHoldout(3000, **said["policy"]).final(columns, "intervals").interval
    assert said["alternative"]["half_width"] == pytest.approx(_half(each["0"]), rel=1e-6)
    assert said["more"]["each_candidate"] == said["alternative"]["half_width"]
    assert said["ratio"] <= 1
    if candidates == 60:
        assert said["ratio"] <= 0.86
        twice = _workflow("fixed --n 3000 --candidates 120", capsys)
        assert said["more"]["with_twice_the_candidates"] == twice["half_width"] > said["half_width"]


@pytest.mark.parametrize("reserve", ["", "--reserve 0.5", "--reserve 0"])
def test_rounds_are_planned_as_they_come_out(reserve: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = _workflow(f"rounds --n 4000 --rounds 3 --candidates 8 {reserve}", capsys)
    assert said["verbs"] == ["best"] * 3 + ["final"]
    assert said["policy"]["reserve"] == ([] if reserve == "--reserve 0" else [0.5])
    holdout = hf.ReusableHoldout(4000, **said["policy"], seed=1)
    rows = np.ones(4000, dtype=bool)
    if said["policy"]["reserve"]:
        sides = np.frombuffer(bytes.fromhex(holdout.state()["reserve"]["sides"]), dtype=np.uint8)
        rows = sides == 1
    columns = np.zeros(4000, dtype=bool)
    columns[np.flatnonzero(rows)[: round(0.85 * rows.sum())]] = True
    if not said["policy"]["reserve"]:  # each winner is one of eight that could not be told apart
        parts = (math.log(part * 0.05) - 3 * math.log(8) for part in (0.9, 0.1))
        limits = winner_limits(3400, 4000, 3, *parts)
        assert said["half_width"] == pytest.approx((limits.high - limits.low) / 2, rel=1e-6)
        assert said["half_width"] == said["more"]["final_on_all_rows"]
        assert said["more"]["final_if_winners_were_expected"] < said["half_width"]
        assert said["more"]["on_all_rows_with_one_round_more"] > said["half_width"]
    else:
        found = holdout.final({str(number): columns for number in range(3)}, said["claims"])
        assert said["half_width"] == pytest.approx(_half(found.winner_interval), rel=1e-6)
        assert said["half_width"] == said["more"]["final_on_a_reserve"] < said["more"]["final_on_all_rows"]
        assert said["ratio"] <= 1


@pytest.mark.parametrize("failures", [0, 1])
@pytest.mark.parametrize("reserve", ["", "--reserve 0", "--reserve 0.4"])
def test_checks_are_planned_as_they_come_out(failures: int, reserve: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A hundred checks of which some fail by a little, then a final of one: the plan's half-width is the run's."""
    said = _workflow(f"checks --n 2000 --questions 100 --failures {failures} {reserve}", capsys)
    policy = said["policy"]
    assert policy["reserve"] == {"": [0.5] if failures else [], "--reserve 0": [], "--reserve 0.4": [0.4]}[reserve]
    holdout = hf.ReusableHoldout(2000, **policy, seed=1)
    rows = np.ones(2000, dtype=bool)
    if policy["reserve"]:
        sides = np.frombuffer(bytes.fromhex(holdout.state()["reserve"]["sides"]), dtype=np.uint8)
        rows = sides == 1
    column = np.zeros(2000, dtype=bool)
    for part in (rows, ~rows):
        column[np.flatnonzero(part)[: round(0.85 * part.sum())]] = True
    for _ in range(failures):
        off = 2.5 * holdout.least_tolerance(0.85, binary=True)
        answer = holdout.check(column, 0.85 - off, off)
        assert not answer.passed
    answers = holdout.check_batch([column] * (100 - failures), [0.85] * (100 - failures))
    assert all(answer.passed for answer in answers)
    found = holdout.final({"mine": column}, said["claims"])
    assert said["half_width"] == pytest.approx(_half(found.interval["mine"]), rel=1e-3)
    smallest = min(said["more"]["final_on_all_rows"], said["more"]["final_on_a_reserve"])
    if not reserve:
        assert said["half_width"] == smallest


def test_goals_of_checks_hold(capsys: pytest.CaptureFixture[str]) -> None:
    """A thousand checks on 10,000 rows, then a final: the table of the specification."""
    goals = {0: 0.0091, 1: 0.0172, 3: 0.0264}
    for failures, goal in goals.items():
        said = _workflow(f"checks --n 10000 --questions 1000 --failures {failures} --reserve 0", capsys)
        assert said["half_width"] <= goal + 5e-5
        assert said["more"]["final_on_a_reserve"] <= 0.0114 + 5e-5


def test_a_contest_is_planned_as_it_comes_out(capsys: pytest.CaptureFixture[str]) -> None:
    said = _workflow("contest --n 809 --teams 43 --submissions 152 --guess 0.5", capsys)
    holdout = hf.ReusableHoldout(809, **said["policy"], seed=1)
    sides = np.frombuffer(bytes.fromhex(holdout.state()["reserve"]["sides"]), dtype=np.uint8)
    column = np.zeros(809, dtype=bool)
    column[np.flatnonzero(sides == 1)[: round(0.5 * (sides == 1).sum())]] = True
    found = holdout.final({str(team): column for team in range(43)}, {"ranks": 0.9, "intervals": 0.1})
    assert said["half_width"] == pytest.approx(_half(found.interval["0"]), rel=1e-6)
    assert said["more"]["rows_explored"] == (sides == 0).sum()
    # More submissions show more, so that a final on all rows is worth less and a reserve no less.
    more = _workflow("contest --n 809 --teams 43 --submissions 400 --guess 0.5", capsys)
    assert more["more"]["without_a_reserve"] > said["more"]["without_a_reserve"] > said["half_width"]
    assert more["half_width"] == said["half_width"]
    larger = _workflow("contest --n 809 --teams 43 --guess 0.5 --reserve 0.7", capsys)
    assert larger["half_width"] < said["half_width"]
    assert larger["more"]["gap_shown"] < said["more"]["gap_shown"]
    checked = _workflow("contest --n 809 --teams 43 --submissions 152 --guess 0.5 --rule checked", capsys)
    assert checked["policy"] == {"questions": 152, "final": 0.9, "reserve": [0.5], "confidence": 0.95}
    assert checked["half_width"] == pytest.approx(said["half_width"], rel=0.02), (
        "scores before the final cost it little"
    )
    shown = checked["more"]["the_same_score_after_the_end"], checked["more"]["after_one_failed_claim_of_each_team"]
    assert said["half_width"] < shown[0] < shown[1], "failed claims are what makes scores before the final wide"


def test_pairs_are_planned_by_what_their_tests_show(capsys: pytest.CaptureFixture[str]) -> None:
    """The gap that Bonferroni's sign test at its level shows in four of five runs, by exact binomial distributions."""
    said = _workflow("pairs --n 4000 --candidates 10", capsys)
    level, n, disagree = 0.05 / 90, 4000, 0.2
    gap = said["alternative"]["half_width"]
    differ = round(n * disagree)
    least = int(binom.isf(level, differ, 0.5)) + 1  # wins that reject
    power = binom.sf(least - 1, differ, 0.5 + gap / disagree / 2)
    assert 0.7 < power < 0.9
    assert said["half_width"] < gap
    assert _workflow("pairs --n 4000 --candidates 20", capsys)["half_width"] > said["half_width"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--workflow fixed", "--workflow needs --n"),
        ("--workflow search --n 100", "workflow must be one of fixed, rounds, checks, contest, pairs"),
        ("--workflow fixed --n 1", "n must be a whole number, at least 2"),
        ("--workflow fixed --n 100 --candidates 0", "candidates must be a whole number, at least 1"),
        ("--workflow pairs --n 100 --candidates 1", "candidates must be a whole number, at least 2"),
        ("--workflow rounds --n 100 --rounds 0", "rounds must be a whole number, at least 1"),
        ("--workflow contest --n 100 --rule closed", "rule must be one of open, ladder, checked"),
        ("--workflow pairs --n 100 --rule open", "rule must not be given for the workflow pairs"),
        ("--workflow contest --n 100 --teams 1", "teams must be a whole number, at least 2"),
        ("--workflow contest --n 100 --submissions 0", "submissions must be a whole number, at least 1"),
        ("--workflow contest --n 100 --reserve 0", "reserve must be above 0 for a contest"),
        ("--workflow checks --n 100 --reserve 1", "reserve must be a number"),
        (
            "--workflow checks --n 100 --questions 5 --failures 6",
            "failures must be at most the number of questions, 5, got 6",
        ),
        ("--workflow fixed --n 100 --guess 1.5", "guess must be a number"),
        ("--workflow fixed --n 100 --confidence 1", "confidence must be a number"),
        ("--workflow fixed --n 100 --questions 5", "questions must not be given for the workflow fixed"),
        ("--workflow fixed --n 100 --reserve 0.5", "reserve must not be given for the workflow fixed"),
        ("--workflow rounds --n 100 --teams 5", "teams must not be given for the workflow rounds"),
        ("--workflow checks --n 100 --rounds 5", "rounds must not be given for the workflow checks"),
        ("--workflow pairs --n 100 --failures 0", "failures must not be given for the workflow pairs"),
        ("--workflow fixed --n 100 --half-width 0.1", "--half-width must be left out with --workflow"),
        ("--workflow fixed --n 100 --binary", "--binary must be left out with --workflow"),
        ("--workflow fixed --n 100 --range 0 2", "--range must be left out with --workflow"),
        ("--n 100 --candidates 5", "--candidates must be given together with --workflow"),
        ("--n 100 --reserve 0.5", "--reserve must be given together with --workflow"),
    ],
)
def test_a_workflow_refuses_what_it_does_not_have(words: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", *words.split(), "--json"]) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert said in caught.err
    assert caught.err.count("\n") == 1


def test_a_workflow_follows_guess_and_confidence(capsys: pytest.CaptureFixture[str]) -> None:
    plain = _workflow("fixed --n 1000", capsys)["half_width"]
    assert _workflow("fixed --n 1000 --guess 0.5", capsys)["half_width"] > plain
    assert _workflow("fixed --n 1000 --confidence 0.99", capsys)["half_width"] > plain
    assert _workflow("fixed --n 1000 --guess 0", capsys)["half_width"] < plain


def test_the_page_shows_what_the_command_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    page = (Path(__file__).parents[2] / "docs" / "plan.md").read_text()
    blocks = page.split("```console\n")[1:]
    assert len(blocks) >= 2
    for block in blocks:
        command, _, shown = block.split("```")[0].partition("\n")
        assert run(command.removeprefix("$ holdfast ").split()) == 0
        assert capsys.readouterr().out.split() == shown.split(), command


STUDY = """
n = 20000
failures = 1
[columns.age]
low = 0
high = 120
[[questions]]
kind = "check"
expression = "age < 40"
guess = 0.4
count = 30
[[questions]]
kind = "mean"
expression = "age"
guess = 40
"""


def test_a_study_is_planned_and_its_policy_opens_a_guard(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, policy, rows = tmp_path / "plan.toml", tmp_path / "policy.json", tmp_path / "rows.csv"
    file.write_text(STUDY)
    rows.write_text("age\n" + "\n".join(str(20 + i % 60) for i in range(2000)) + "\n")
    assert run(["plan", "--study", str(file), "--save", str(policy)]) == 0
    said = capsys.readouterr().out
    assert "checks of guesses" in said
    assert "one wrong guess more" in said
    assert run(["plan", "--study", str(file), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [one["count"] for one in found["widths"]] == [30, 1]
    assert found["policy"] == json.loads(policy.read_text())
    assert run(["guard", "open", str(tmp_path / "ledger.db"), str(rows), "--policy", str(policy)]) == 0


def test_a_study_that_says_nothing_has_status_3_and_other_options_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(STUDY.replace("n = 20000", "n = 3"))
    assert run(["plan", "--study", str(file)]) == 3
    for words, said in (
        (["--study", str(file), "--n", "100"], "--n must be left out with --study"),
        (["--study", str(file), "--workflow", "fixed"], "--workflow must be left out with --study"),
        (["--study", str(file), "--save", str(tmp_path / "no" / "x")], "--save must be a file that can be written"),
        (["--n", "100", "--save", "policy.json"], "--save needs --study"),
    ):
        capsys.readouterr()
        assert run(["plan", *words]) == 2
        assert said in capsys.readouterr().err
