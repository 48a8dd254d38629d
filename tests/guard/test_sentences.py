"""What an answer says of itself in words is true when it is printed: improvements, repeats, prices and the end."""

from __future__ import annotations

from typing import Any

import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.errors import BudgetExhausted
from holdfast.guard import Board, Guard, Policy, check, final, score
from holdfast.guard.guard_budget import GuardBudget
from holdfast.holdout.error_budget import Course

N = 1000
ROWS = {"id": list(range(N)), "y": [i % 2 for i in range(N)]}


def right_on(share: float) -> dict[int, int]:
    return {i: i % 2 if i < round(share * N) else 1 - i % 2 for i in range(N)}


def test_a_ladder_says_what_is_true_now_of_improvements_and_repeats() -> None:
    board = Board("b", key="id", label="y", metric="accuracy", rule="ladder", step=0.01)
    guard = Guard.open(None, hf.data.table(ROWS), Policy(questions=20, boards=[board]))
    first, second, worse, again = (guard.ask(score("b", right_on(share))) for share in (0.7, 0.7136, 0.705, 0.7))
    for better in (first, second):
        assert str(better).startswith("A new best: ")
        assert better.details["improved"] is True
        assert "later intervals are" in str(better)
    assert "it does not beat the best so far. Nothing more is shown." in str(worse)
    assert (again.repeated, again.details["improved"], again.details["beaten"]) == (True, False, True)
    assert str(again).startswith("A new best when it was first submitted: ")
    assert "It was beaten since." in str(again)
    assert "later intervals" not in str(again), "a repeat is free"
    assert not any("failed" in str(answer) for answer in (first, second, worse, again))


def test_the_failure_past_the_cap_ends_the_guard_and_prices_nothing_later() -> None:
    guard = Guard.open(None, hf.data.table(ROWS), Policy(questions=20, failures=1))
    planned = guard.ask(check("y = 1", guess=0.9))
    assert planned.widening is not None
    assert planned.widening > 0
    assert guard.remaining()["status"] == guard.describe()["status"] == "open"
    last = guard.ask(check("y = 1", guess=0.1))
    assert (last.value, last.interval, last.widening) == (None, None, None)
    assert "later intervals" not in str(last)
    assert guard.remaining()["status"] == guard.describe()["status"] == "ended"
    assert guard.remaining()["total"]["questions"] == 0
    with pytest.raises(BudgetExhausted, match="only `final` and `close`, which end the run, can still be asked"):
        guard.ask(check("y = 0", guess=0.5))
    assert guard.ask(check("y = 1", guess=0.9)).repeated, "what was answered stays free"
    ended = guard.ask(final({"y": "y = 1"}))
    assert ended.interval is not None, "the part of the failure probability that is kept for a final is still there"
    assert ended.interval["y"][0] < ended.value["y"] < ended.interval["y"][1]
    with pytest.raises(BudgetExhausted, match="has shown exact values"):
        guard.ask(check("y = 0", guess=0.5))


@pytest.mark.parametrize(("epsilon", "holm"), [(1e-5, 0.073), (1e-4, 0.065), (2e-4, 0.057)])
def test_holm_on_adjusted_p_values_errs_as_often_as_the_documentation_says(epsilon: float, holm: float) -> None:
    """Test a true null; if its adjusted p is at most alpha, choose an obviously false null next, else a true one."""
    alpha = 0.05
    budget = GuardBudget(10**6, Policy(privacy=PureDP(epsilon), kinds=("mean", "test")))

    def level(share: float) -> Any:
        return budget.level(share, Course())

    assert budget.adjusted(level(alpha), Course()) == pytest.approx(alpha, rel=1e-6)
    assert round(level(alpha) + (1 - level(alpha)) * level(alpha / 2), 3) == holm > alpha
    assert level(alpha / 2) * (2 - level(alpha / 2)) <= alpha, "levels fixed in advance keep alpha"
    assert "Holm's method" in (GuardBudget.adjusted.__doc__ or "")
