"""Scores that harnesses report: what is shown, what it costs, who shares a budget, and that noise is not believed."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.cli.main import run
from holdfast.data.values import ValuesRefused
from holdfast.errors import InvalidParameter, LedgerConflict
from holdfast.holdout import ReusableHoldout
from holdfast.integrations.reported_scores import TRUSTED, GuardedScores, answer_sheet, boards
from tests.integrations.noise_models import ALARM, MODELS, TRUE, NoiseModels, plain_interval

N = 1000
IDS = [f"item {i}" for i in range(N)]
RIGHT = [i % 4 > 0 for i in range(N)]

Opened = Callable[..., GuardedScores]


def in_process(**rest: Any) -> GuardedScores:
    plan = {name: rest.pop(name) for name in ("questions", "failures", "confidence") if name in rest}
    return GuardedScores(ReusableHoldout(N, **plan), **rest)


def on_a_ledger(**rest: Any) -> GuardedScores:
    return GuardedScores.open(None, "test", IDS, **rest)


def graded(**rest: Any) -> GuardedScores:
    return GuardedScores.open(None, "test", IDS, graded=True, **rest)


EVERY = pytest.mark.parametrize("opened", [in_process, on_a_ledger, graded])


@EVERY
def test_a_good_guess_is_confirmed_and_a_bad_one_corrected(opened: Opened) -> None:
    scores = opened(questions=100)
    good = scores.report(IDS, RIGHT, guess=0.77)
    assert (good.value, good.confirmed, good.left) == (0.77, True, 99)
    assert good.low < 0.75 < good.high
    bad = scores.report(IDS, RIGHT, guess=0.95)
    assert bad.confirmed is False
    assert abs(bad.value - 0.75) < 0.08
    assert bad.low < 0.75 < bad.high < 0.95
    assert bad.guarantee["parameters"]["confidence"] == 0.95


@EVERY
@pytest.mark.parametrize("guess", [0.77, None])
def test_the_same_again_is_free_in_any_order(opened: Opened, guess: float | None) -> None:
    scores = opened(questions=100)
    first = scores.report(IDS, RIGHT, guess)
    again = scores.report(IDS[::-1], [float(one) for one in RIGHT[::-1]], guess)
    assert again == first
    assert scores.report(IDS, [not one for one in RIGHT], guess).left == 98


@EVERY
def test_wrong_input_is_one_clear_error_and_costs_nothing(opened: Opened) -> None:
    scores = opened(questions=100)
    before = scores.report(IDS, RIGHT, guess=0.77).left
    wrong: list[tuple[Any, Any, Any, str]] = [
        (IDS[:10], RIGHT[:10], 0.7, "one entry for each of 1000 items, .*, got 10 and 10"),
        (IDS, RIGHT[:10], 0.7, "got 1000 and 10"),
        ([*IDS[:-1], "another"], RIGHT, 0.7, "ids must be those of the benchmark"),
        ([*IDS[:-1], IDS[0]], RIGHT, 0.7, "some occur twice"),
        (IDS, ["C"] * N, 0.7, "array of numbers"),
        (IDS, RIGHT, 1.7, "guess must be"),
    ]
    for ids, values, guess, message in wrong:
        with pytest.raises(InvalidParameter, match=message):
            scores.report(ids, values, guess)
    assert scores.report(IDS, RIGHT, guess=0.76).left == before - 1


@pytest.mark.parametrize("bad", [2.0, math.nan, None])
@pytest.mark.parametrize("guess", [0.7, None])
def test_an_item_without_a_value_is_charged_by_a_holdout_and_wrong_to_a_guard(bad: Any, guess: float | None) -> None:
    """Neither shows for nothing which items there are."""
    values = [1.0 * one for one in RIGHT]
    first = RIGHT.index(True)
    values[first] = bad
    holdout = ReusableHoldout(N, questions=100)
    with pytest.raises(ValuesRefused, match=r"lie in \[0, 1\].* costs 20\.8 nats"):
        GuardedScores(holdout).report(IDS, values, guess)
    assert holdout.asked == 1
    values[first] = 0.0
    for kept in (on_a_ledger, graded):
        twin = kept().report(IDS, values, guess)
        values[first] = bad
        assert kept().report(IDS, values, guess).value == twin.value
        values[first] = 0.0


def test_half_marks_need_a_graded_benchmark() -> None:
    """Where items are right or wrong, only a whole mark is right."""
    half = [0.5 * one for one in RIGHT]
    assert on_a_ledger().report(IDS, half).high < 0.02
    score = graded().report(IDS, half, guess=0.38)
    assert score.confirmed
    assert score.low < 0.375 < score.high


def test_without_a_guess_a_holdout_is_asked_about_the_best_so_far() -> None:
    scores = in_process(questions=100)
    first = scores.report(IDS, RIGHT)
    assert first.confirmed is False
    second = scores.report(IDS, RIGHT[::-1])
    assert (second.value, second.confirmed) == (first.value, True)


def test_without_a_guess_a_guard_shows_improvements_only() -> None:
    scores = on_a_ledger(questions=100, step=0.05)
    first = scores.report(IDS, RIGHT)
    assert first.improved
    assert first.low < 0.75 < first.high
    worse = scores.report(IDS, [i % 2 > 0 for i in range(N)])
    assert (worse.improved, worse.confirmed) == (False, None)
    assert math.isnan(worse.value)
    assert worse.high > 0.5
    assert worse.numbers("acc")["acc_improved"] == 0
    assert worse.to_dict()["value"] is None


@EVERY
def test_a_budget_that_is_used_up_gives_no_number_and_says_why(opened: Opened) -> None:
    scores = opened(questions=1)
    scores.report(IDS, RIGHT, guess=0.75)
    refused = scores.report(IDS, RIGHT, guess=0.7)
    assert math.isnan(refused.value)
    assert refused.refused.startswith("BudgetExhausted: ")
    assert scores.report(IDS, RIGHT, guess=0.75).value == 0.75


@pytest.mark.parametrize("opened", [in_process, on_a_ledger])
@pytest.mark.parametrize("guess", [None, TRUE])
def test_noise_picked_greedily_is_not_believed(opened: Opened, guess: float | None) -> None:
    """All intervals hold one half with probability 1 - ALARM; who believes plain scores of such models is wrong."""
    scores = opened(questions=MODELS + 1, confidence=1 - ALARM)

    def reported(right: Any) -> float:
        score = scores.report(IDS, right, guess)
        assert score.low <= TRUE <= score.high
        return score.value

    reported(NoiseModels(N).greedy(reported))
    fooled = NoiseModels(N).greedy(lambda right: float(np.mean(right)))
    believed = float(np.mean(fooled))
    assert believed > 0.6
    assert not plain_interval(believed, N)[0] <= TRUE


def test_a_ledger_is_shared_by_processes_and_found_again(tmp_path: Path) -> None:
    path = tmp_path / "scores.db"
    code = f"""
from holdfast.integrations.reported_scores import GuardedScores
scores = GuardedScores.open({str(path)!r}, "test", range(1000), questions=50)
for k in range(5):
    score = scores.report(range(1000), [(i + k) % 4 > 0 for i in range(1000)], guess=0.75)
    assert score.confirmed, score
"""
    started = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [one.wait(timeout=60) for one in started] == [0, 0]
    scores = GuardedScores.open(path, "test", range(1000), questions=50)
    assert scores.report(range(1000), RIGHT, guess=0.75).left >= 46  # the answer of one of the processes
    new = scores.report(range(1000), [not one for one in RIGHT], guess=0.25)
    assert new.left == 45  # after four different vectors, each paid once
    with pytest.raises(LedgerConflict, match="another policy"):
        GuardedScores.open(path, "test", range(1000), questions=60)
    with pytest.raises(LedgerConflict, match="shares rows"):
        GuardedScores.open(path, "test", range(500), questions=50)
    assert GuardedScores.open(path, "other", range(500), questions=50).n == 500
    assert scores.report(range(1000), RIGHT).improved
    assert run(["verify", str(path)]) == 0


def test_a_guard_with_the_labels_grades_answers_itself() -> None:
    rows = {"id": IDS, "answer": [("A", "B", "C", "D")[i % 4] for i in range(N)]}
    board = hf.guard.Board("exam", key="id", label="answer", metric="accuracy")
    guard = hf.Guard.open(None, hf.data.table(rows), hf.guard.Policy(questions=10, boards=[board]))
    scores = GuardedScores(guard.for_analyst("ann"), board="exam", answers=True)
    said = ["A" if i % 4 == 3 else rows["answer"][i] for i in range(N)]
    score = scores.report(IDS, said, guess=0.76)
    assert (score.value, score.confirmed, score.left) == (0.76, True, 9)
    with pytest.raises(InvalidParameter, match="guess must be given"):
        scores.report(IDS, said)
    with pytest.raises(InvalidParameter, match="one entry for each of 1000 items"):
        scores.report(IDS[:3], said[:3], guess=0.5)


def test_boards_and_sheets_can_be_registered_by_a_steward() -> None:
    sheet = answer_sheet(IDS, "test/")
    guard = hf.Guard.open(None, hf.data.table(sheet), hf.guard.Policy(questions=10, boards=boards())).for_analyst()
    scores = GuardedScores(guard, ids=IDS, prefix="test/")
    assert scores.report(IDS, RIGHT, guess=0.75).confirmed
    with pytest.raises(InvalidParameter, match="ids must be those of the benchmark"):
        GuardedScores(guard, ids=IDS).report([f"other {one}" for one in IDS], RIGHT, guess=0.75)
    with pytest.raises(InvalidParameter, match="ids must name all 1000 items, got 3"):
        GuardedScores(guard, ids=IDS[:3])


def test_a_board_of_another_metric_cannot_be_told_how_right_answers_were() -> None:
    rows = {"id": IDS, "answer": [i % 2 for i in range(N)]}
    board = hf.guard.Board("exam", key="id", label="answer", metric="f1")
    guard = hf.Guard.open(None, hf.data.table(rows), hf.guard.Policy(questions=10, boards=[board]))
    with pytest.raises(InvalidParameter, match=r"board must be accuracy or mae .*, got 'exam'"):
        GuardedScores(guard.for_analyst(), board="exam")


def test_only_a_holdout_or_a_guard_keeps_a_budget() -> None:
    rows = hf.data.table(answer_sheet(IDS))
    guard = hf.Guard.open(None, rows, hf.guard.Policy(questions=10, boards=boards()))
    for keeper, name in (("scores.db", "str"), (guard, "Guard")):
        with pytest.raises(InvalidParameter, match=rf"keeper must be .*for_analyst.* got a {name}$"):
            GuardedScores(keeper)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="answers and prefix must be left out"):
        GuardedScores(ReusableHoldout(N), answers=True)
    with pytest.raises(InvalidParameter, match="benchmark must be"):
        GuardedScores.open(None, "", IDS)


def test_scores_are_one_budget() -> None:
    scores = in_process()
    assert copy.deepcopy(scores) is scores
    assert copy.copy(scores) is scores
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(scores)
    assert repr(scores) == "GuardedScores(n=1000)"


def test_what_a_score_rests_on_is_said() -> None:
    """Where the harness is trusted it says so; where the guard has the labels, what the guard says of its boards."""
    trusted = GuardedScores.open(None, "sums", range(100), questions=10)
    assert trusted.report(range(100), [True] * 100, guess=1.0).guarantee["assumption"] == TRUSTED
    board = hf.guard.Board("exam", key="id", label="answer", metric="accuracy")
    rows = hf.data.table({"id": [str(i) for i in range(100)], "answer": ["A"] * 100})
    guard = hf.Guard.open(None, rows, hf.guard.Policy(questions=10, boards=[board]))
    graded_there = GuardedScores(guard.for_analyst(), board="exam", answers=True)
    said = graded_there.report(range(100), ["A"] * 100, guess=1.0).guarantee["assumption"]
    assert said.startswith("labels independent")
