"""What is computed once and kept for the next question: full after a while and then begun anew, under any threads."""

from __future__ import annotations

from typing import cast

import pytest

from holdfast.accounting import PureDP
from holdfast.data.schema import Schema
from holdfast.guard import Policy, guard_budget
from holdfast.guard.guard_budget import GuardBudget, budget_of
from holdfast.guard.state import GuardState


@pytest.fixture(autouse=True)
def nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_budget, "_budgets", {})


def standing(n: int) -> GuardState:
    return GuardState(Policy(questions=5), Schema({"x": "number"}), n)


def test_shares_are_kept_for_the_guards_that_are_asked_most_lately() -> None:
    first = budget_of(standing(1))
    assert budget_of(standing(1)) is first
    for n in range(2, 257):
        budget_of(standing(n))
    assert len(guard_budget._budgets) == 256
    assert budget_of(standing(257)) == GuardBudget(257, Policy(questions=5))
    assert len(guard_budget._budgets) == 1
    assert budget_of(standing(1)) == first


def test_p_values_are_kept_up_to_a_number() -> None:
    budget = GuardBudget(1000, Policy(questions=5, privacy=PureDP(0.01)))
    found = {p: budget._adjusted(0, p) for p in (i / 1000 for i in range(1, 258))}
    assert len(budget._p_values) == 1
    again = GuardBudget(1000, Policy(questions=5, privacy=PureDP(0.01)))
    assert all(again._adjusted(0, p) == found[p] >= p for p in (0.001, 0.1, 0.257))


class Fickle(str):
    """A name that another thread's clearing meets between each two lookups."""

    __slots__ = ()

    def __hash__(self) -> int:
        guard_budget._budgets.clear()
        return super().__hash__()

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)


def test_another_threads_clearing_takes_nothing_away_from_this_one() -> None:
    asked = standing(3)
    asked.__dict__["policy_name"] = cast(str, Fickle(asked.policy_name))
    assert budget_of(asked) == GuardBudget(3, Policy(questions=5))


class FickleNumber(float):
    """A p-value that another thread's clearing meets between each two lookups."""

    __slots__ = ("kept",)
    kept: dict[tuple[int, float], float]

    def __hash__(self) -> int:
        self.kept.clear()
        return super().__hash__()


def test_another_threads_clearing_takes_no_p_value_away() -> None:
    budget = GuardBudget(1000, Policy(questions=5, privacy=PureDP(0.01)))
    p = FickleNumber(0.25)
    p.kept = budget._p_values
    assert budget._adjusted(0, p) == budget._adjusted(0, 0.25) >= 0.25
