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
        assert outcome.shown == 1
    else:
        assert reached is not None
        assert reached > place
        assert outcome.value is not None
        assert before.value is not None
        assert (outcome.value > before.value) == one.rising
        assert outcome.shown >= 1
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
    """However good submissions are, there are no more improvements than places, and fewer could be shown each time."""
    one = board(metric, step)
    rungs, scored = Rungs.of(one), metric_of(one, N)
    best, moves, shown = None, 0, []
    for i in range(201):
        share = i / 200 if one.rising else 1 - i / 200
        outcome, place = climb(rungs, best, scored, scored.read(measured(metric, share)), -20.0)
        if not outcome.passed:
            best, moves = place, moves + 1
            shown.append(outcome.shown)
    assert moves <= rungs.count
    assert shown == sorted(shown, reverse=True)
    assert math.prod(shown) <= math.factorial(rungs.count)


def test_rungs_are_the_range_in_equal_steps() -> None:
    rungs = Rungs.of(board("accuracy", 0.3))
    assert rungs.count == 4  # the step is rounded down to a whole part of the range
    assert [rungs.shown(place) for place in range(4)] == [0.125, 0.375, 0.625, 0.875]
    falling = Rungs.of(board("brier", 0.25))
    assert [falling.shown(place) for place in range(4)] == [0.875, 0.625, 0.375, 0.125]
    assert falling.bar(0) == pytest.approx(0.625)
