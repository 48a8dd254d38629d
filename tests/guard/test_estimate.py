"""An estimate is kept: what an answer turns out to be is what was said before it was asked."""

from __future__ import annotations

import numpy as np
import pytest

import holdfast as hf
from holdfast import guard as ask
from holdfast.accounting import PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.errors import InvalidParameter
from holdfast.guard import Board, Guard, Policy

N = 4000
BOARDS = [
    Board("acc", key="id", label="y", metric="accuracy"),
    Board("auc", key="id", label="y", metric="auc"),
    Board("climb", key="id", label="y", metric="accuracy", rule="ladder"),
]


@pytest.fixture
def guard() -> Guard:
    labels = np.arange(N) % 2
    rows = {"id": np.arange(N), "y": labels == 1, "x": np.arange(N) % 100}
    return Guard.open(None, hf.data.table(rows), Policy(questions=50, boards=BOARDS))


def test_a_guess_that_stands_is_as_near_as_the_estimate_said(guard: Guard) -> None:
    predictions = {i: bool(i % 2) for i in range(N)}
    half = {i: float(i % 2) if i % 4 < 2 else 0.5 for i in range(N)}
    questions = [
        ask.check("x < 50", guess=0.5),
        ask.check("x < 30", guess=0.31, tolerance=0.08),
        ask.check("x", guess=50, low=0, high=100),
        ask.compare("x < 50", "x < 40", guess=0.1),
        ask.score("acc", {i: p if i % 3 else not p for i, p in predictions.items()}, guess=0.66),
        ask.score("auc", half, guess=0.87),
    ]
    for question in questions:
        said = guard.estimate(question)
        answer = guard.ask(question)
        assert answer.passed, question
        assert said.half_width is not None
        assert said.least_tolerance is not None
        low, high = answer.interval
        assert max(answer.value - low, high - answer.value) == pytest.approx(said.half_width)  # one may be cut off
        assert 0 < said.least_tolerance <= said.half_width
        stored = guard.estimate(question)
        assert stored.repeated
        assert stored.half_width == answer.half_width


def test_the_least_tolerance_is_one_that_some_rows_pass_with_and_below_it_the_estimate_says_no(guard: Guard) -> None:
    least = guard.estimate(ask.check("x < 50", guess=0.5)).least_tolerance
    assert least is not None
    small = ask.check("x < 50", guess=0.5, tolerance=least * 0.99)
    said = guard.estimate(small)
    assert not said.admitted
    assert "tolerance must be at least" in said.reason
    with pytest.raises(InvalidParameter, match="tolerance must be at least"):
        guard.ask(small)
    enough = ask.check("x < 50", guess=0.5, tolerance=least)
    assert guard.estimate(enough).half_width == least
    assert guard.ask(enough).passed


def test_kinds_without_a_guess_name_no_tolerance(guard: Guard) -> None:
    for question in (ask.claim("x < 50", at_least=0.4), ask.score("climb", {0: True})):
        said = guard.estimate(question)
        assert said.admitted
        assert said.least_tolerance is None


def test_a_final_that_a_privacy_budget_makes_wide_comes_with_a_recommendation_that_is_true() -> None:
    """Before, nothing said so. The width that is named is that of the final on a reserve."""
    rows = {"id": [f"a{i}" for i in range(N)], "x": [i % 2 == 0 for i in range(N)]}
    sample = hf.data.table(rows, row_key="id")
    final = ask.final({"x": "x"}, claims="intervals")
    said = Guard.open(None, sample, Policy(questions=50, privacy=ZCDP(0.005))).estimate(final)
    assert said.half_width is not None
    assert said.half_width > 0.2
    assert "Reserve rows when a guard is opened (reserve=0.5)" in said.advice
    assert said.advice in str(said)
    assert said.to_dict()["advice"] == said.advice
    named = float(said.advice.split("within about ")[1].split(":")[0])
    reserved = Guard.open(None, sample, Policy(questions=50, privacy=ZCDP(0.005), reserve=0.5))
    assert reserved.estimate(final).advice == ""
    low, high = reserved.ask(final).interval["x"]
    assert (high - low) / 2 == pytest.approx(named, rel=0.1)
    for policy in (Policy(questions=50), Policy(questions=50, privacy=PureDP(0.01))):
        assert Guard.open(None, sample, policy).estimate(final).advice == ""
    assert (
        Guard.open(None, sample, Policy(questions=50, privacy=ZCDP(0.005))).estimate(ask.check("x", guess=0.5)).advice
        == ""
    )
