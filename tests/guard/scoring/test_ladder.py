"""The ladder's places: a public grid, and what a submission shows is a function of its place and the best one."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.guard import Board
from holdfast.guard.scoring.ladder import Rungs, climb
from holdfast.guard.scoring.metrics import metric_of

N = 500
METRICS: list[Any] = ["accuracy", "brier", "log-loss", "auc", "f1"]


def board(metric: Any, step: float) -> Board:
    return Board("b", key="id", label="y", metric=metric, rule="ladder", step=step)


def measured(metric: str, share: float) -> tuple[int, ...]:
    """Sums that rows could have."""
    if metric == "accuracy":
        return (round(share * N),)
    if metric in ("brier", "log-loss"):
        return (round(share * N * 2**30),)
    if metric == "f1":
        return 200, round(share * 200), 100
    half = N // 2
    ones = round(share * half)
    return half - ones // 2, ones // 2, half - ones, ones


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.sampled_from(METRICS), st.floats(0.005, 0.3), st.floats(0, 1), st.floats(0, 1), st.floats(-60, -2))
def test_a_climb(metric: Any, step: float, first: float, second: float, share: float) -> None:
    one = board(metric, step * board(metric, 0.1).range[1])
    rungs, scored = Rungs.of(one), metric_of(one, N)
    before, place = climb(rungs, None, scored, scored.read(measured(metric, first)), share)
    assert not before.passed  # the first submission is always shown
    assert place is not None
    assert before.interval is not None
    found = scored.read(measured(metric, second))
    outcome, reached = climb(rungs, place, scored, found, share)
    low, high = found.ends(share)
    if outcome.passed:
        assert reached is None
        assert outcome.value is None
        assert outcome.log_weight == 0
    else:
        assert reached is not None
        assert reached > place
        assert outcome.value is not None
        assert before.value is not None
        assert (outcome.value > before.value) == one.rising
        assert outcome.log_weight <= 0
    if outcome.interval is not None:  # what is shown holds the interval of the rows: it is a union over a cell
        assert outcome.interval[0] <= low + 1e-9
        assert outcome.interval[1] >= high - 1e-9 or outcome.passed
        if outcome.passed and one.rising:
            assert outcome.interval[1] >= high - 1e-9
    again, _ = climb(rungs, place, scored, scored.read(measured(metric, first)), share)
    assert again.passed  # nothing beats itself


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.sampled_from(["accuracy", "brier"]), st.floats(0.01, 0.5))
def test_a_ladder_ends(metric: Any, step: float) -> None:
    """However good submissions are, there are no more improvements than places; the next place is the cheapest."""
    one = board(metric, step)
    rungs, scored = Rungs.of(one), metric_of(one, N)
    best, moves, steps = None, 0, []
    for i in range(201):
        share = i / 200 if one.rising else 1 - i / 200
        outcome, place = climb(rungs, best, scored, scored.read(measured(metric, share)), -20.0)
        if not outcome.passed:
            assert place is not None
            if best is None:
                assert outcome.log_weight == pytest.approx(-math.log(rungs.count))
            else:
                steps.append(place - best)
                assert math.exp(outcome.log_weight) == pytest.approx(1 / (steps[-1] * (steps[-1] + 1)))
            best, moves = place, moves + 1
    assert moves <= rungs.count
    assert sum(steps) < rungs.count


def test_rungs_are_the_range_in_equal_steps() -> None:
    rungs = Rungs.of(board("accuracy", 0.3))
    assert rungs.count == 4  # the step is rounded down to a whole part of the range
    assert [rungs.shown(place) for place in range(4)] == [0.125, 0.375, 0.625, 0.875]
    falling = Rungs.of(board("brier", 0.25))
    assert [falling.shown(place) for place in range(4)] == [0.875, 0.625, 0.375, 0.125]
    assert falling.bar(0) == 0.75
    assert rungs.bar(1) == 0.5


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.sampled_from(["accuracy", "brier"]), st.integers(2, 200), st.integers(1, 2000), st.data())
def test_a_score_that_beats_the_best_by_a_step_is_always_shown(metric: Any, count: int, n: int, data: Any) -> None:
    """What the board's page says. The step is a whole part of the range, and scores are whole parts of it too."""
    one = board(metric, 1 / count)
    rungs, scored = Rungs.of(one), metric_of(one, n * count)
    unit = 1 if metric == "accuracy" else 2**30
    right = data.draw(st.integers(1, n * count - n))  # the worst possible score shares its place with the next
    better = data.draw(st.integers(right + n, n * count))
    first, second = (right, better) if one.rising else (n * count - right, n * count - better)
    _, place = climb(rungs, None, scored, scored.read((first * unit,)), -10.0)
    outcome, _ = climb(rungs, place, scored, scored.read((second * unit,)), -10.0)
    assert not outcome.passed
    assert outcome.interval is not None
    assert outcome.interval[0] <= second / (n * count) <= outcome.interval[1]


def test_an_improvement_by_more_than_a_step_is_shown_wherever_the_best_was_rounded_to() -> None:
    """It was told "not better": 0.7137 after 0.7001, which was shown as 0.705 and had to be beaten by 0.01."""
    one = board("accuracy", 0.01)
    rungs, scored = Rungs.of(one), metric_of(one, 10_000)
    first, place = climb(rungs, None, scored, scored.read((7001,)), -10.0)
    assert first.value == pytest.approx(0.705)
    second, reached = climb(rungs, place, scored, scored.read((7137,)), -10.0)
    assert (second.passed, reached) == (False, 71)
    below, _ = climb(rungs, place, scored, scored.read((7100,)), -10.0)
    assert below.passed
    assert below.interval is not None
    assert below.interval[1] < 0.76
