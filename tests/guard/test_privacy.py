"""What a private question costs is what its noise is worth: the largest change that one replaced row makes is measured
on real samples, and set against the noise that is drawn. Wrong sensitivities, shares that are not split and noise of
the wrong turn show here."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.data.statistics import UNIT
from holdfast.guard import Policy, histogram, mean, select, test
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.questions import Situation
from holdfast.guard.questions.test import _folded
from holdfast.guard.state import Progress
from holdfast.holdout.error_budget import Message
from holdfast.inference import GaussianAnswers
from holdfast.noise import Seeded

N = 5
VALUES = ("a", "b", "z", None)


def neighbours(question: Any, policy: Policy) -> tuple[Any, np.ndarray]:
    """The bound question, and by how much one replaced row changes its exact statistics, for every replacement."""
    bound, changes = None, []
    for old, new in product(VALUES, repeat=2):
        found = []
        for first in (old, new):
            rows = {"c": [first, "a", "b", "b", "z"], "x": [0.0, 1.0, 1.0, 0.0, 0.0]}
            sample = hf.data.table(rows, schema={"c": "text null", "x": "number not null"})
            bound = question.bind(sample.schema, N, policy)
            found.append(np.concatenate([np.array(one, dtype=np.int64) for one in sample.measure(bound.statistics)]))
        changes.append(found[1] - found[0])
    return bound, np.array(changes)


@pytest.mark.parametrize("spend", [PureDP(0.5), ZCDP(0.1)])
def test_a_mean_costs_what_it_says(spend: Any) -> None:
    bound, changes = neighbours(mean("c = 'a'", default=0, spend=spend), Policy(privacy=spend))
    law = bound._noise.law
    steps = math.ceil(Fraction(int(abs(changes).max()), N * UNIT) / law.grid.step)
    worth = (
        Fraction(steps, law.scale_steps) if isinstance(spend, PureDP) else Fraction(steps**2, 2 * law.sigma_steps**2)
    )
    stated = spend.epsilon if isinstance(spend, PureDP) else spend.rho
    assert 0.98 * stated < worth <= Fraction(str(stated))


@pytest.mark.parametrize("spend", [PureDP(0.5), ZCDP(0.1)])
def test_a_mean_among_present_rows_costs_what_it_says(spend: Any) -> None:
    """What is released are the sums of the values and of what they lack to the top, over rows with a value."""
    bound, changes = neighbours(mean("c = 'a'", where_present=True, spend=spend), Policy(privacy=spend))
    sums = np.stack([changes[:, 0], changes[:, 1] * UNIT - changes[:, 0]], axis=1)
    law = bound._noise.law
    steps = [[math.ceil(Fraction(int(abs(one)), N * UNIT) / law.grid.step) for one in pair] for pair in sums]
    if isinstance(spend, PureDP):
        worth, stated = max(Fraction(sum(pair), law.scale_steps) for pair in steps), spend.epsilon
    else:
        worth, stated = max(Fraction(sum(s**2 for s in pair), 2 * law.sigma_steps**2) for pair in steps), spend.rho
    assert 0.98 * stated < worth <= Fraction(str(stated))


HOW = [{"null_as": "other"}, {"null_as": "b"}, {"where_present": True}]


@pytest.mark.parametrize("how", HOW, ids=str)
@pytest.mark.parametrize("spend", [PureDP(0.01), ZCDP(0.0001)])
def test_a_histogram_costs_what_it_says_and_shares_its_misses(spend: Any, how: dict[str, Any]) -> None:
    policy = Policy(privacy=spend, questions=10)
    bound, changes = neighbours(histogram("c", categories=["a", "b"], spend=spend, **how), policy)
    law = bound._noise.law
    if isinstance(spend, PureDP):
        worth, stated = Fraction(int(abs(changes).sum(axis=1).max()), law.scale_steps), spend.epsilon
    else:
        worth, stated = Fraction(int((changes**2).sum(axis=1).max()), 2 * law.sigma_steps**2), spend.rho
    assert 0.9 * stated < worth <= Fraction(str(stated))  # and it is no more expensive with more cells
    assert (
        histogram("c", categories=[str(i) for i in range(300)], spend=spend)
        .bind(hf.data.Schema({"c": "text not null"}), N, policy)
        ._noise.law
        == law
    )  # type: ignore[attr-defined]
    situation = Situation(GuardBudget(N, policy), Progress())
    share, off = bound._parts(situation)
    assert share == pytest.approx(situation.log_share - math.log(3), abs=1e-9)
    assert off == bound._noise.half_width(situation.noise_share, 3) > bound._noise.half_width(situation.noise_share)


def test_a_selection_costs_what_it_says() -> None:
    """A replaced row can move one score up and another down; 20,000 draws, error below 1e-6 by Hoeffding.

    With half of the noise the second would come less often than epsilon allows by far.
    """
    bound, changes = neighbours(
        select({"a": "c = 'a'", "b": "c = 'b'"}, default=0, spend=PureDP(1.0)), Policy(privacy=PureDP(1.0))
    )
    assert abs(changes).max() == UNIT == bound._choice.sensitivity
    situation, draws = Situation(GuardBudget(N, Policy(privacy=PureDP(1.0))), Progress(), None, Seeded(5)), 20_000
    ahead = sum(bound.settle([(3 * UNIT,), (UNIT,)], situation).value == "b" for _ in range(draws))
    even = sum(bound.settle([(2 * UNIT,), (2 * UNIT,)], situation).value == "b" for _ in range(draws))
    slack = math.sqrt(math.log(2e6) / (2 * draws))
    assert even / draws == pytest.approx(0.5, abs=slack)
    assert ahead / draws + slack >= math.exp(-1.0) * (even / draws - slack)


def test_a_test_sees_every_row_once_and_its_p_value_pays_for_the_run() -> None:
    assert _folded(range(12), (2, 3)).tolist() == [[0, 1, 2 + 3], [4 + 8, 5 + 9, 6 + 7 + 10 + 11]]
    policy = Policy(privacy=PureDP(0.5), questions=10)
    bound, changes = neighbours(
        test("gof", ["c"], [["a", "b"]], p0=[0.5, 0.5], spend=PureDP(0.5), null_as=["a"]), policy
    )
    assert abs(changes).sum(axis=1).max() == 2
    budget = GuardBudget(N, policy)
    after = Progress().settle(budget.budget, Message(False, -math.log(7)))
    found = bound.prepare([(5, 0, 0)], N, Seeded(2))
    settled = bound.settle(found, Situation(budget, after))
    # A failure has prior weight 1/10 as the first of ten planned questions, and showed one of seven things.
    assert settled.value == budget.adjusted(found.p_value, after.course) >= min(1.0, 70 * found.p_value)


def test_a_planned_mean_has_the_noise_of_its_turn() -> None:
    policy = Policy(answers="means", questions=20)
    bound = mean("x > 0").bind(hf.data.Schema({"x": "number not null"}), 10_000, policy)
    plan, budget = GaussianAnswers(10_000, 20, 0.95), GuardBudget(10_000, policy)
    for turn in (1, 5, 20):
        settled = bound.settle([(5_000 * UNIT,)], Situation(budget, Progress(turn, turn - 1), None, Seeded(1)))
        assert settled.details["privacy"] == plan.cost(turn).to_dict()
    assert plan.cost(1) != plan.cost(20)
