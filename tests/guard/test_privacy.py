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
from holdfast.guard.belief import Belief
from holdfast.guard.progress import Progress
from holdfast.guard.questions import Situation
from holdfast.guard.questions.private_test import _folded
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
            sample = hf.data.table({"c": [first, "a", "b", "b", "z"], "x": [0.0, 1.0, 1.0, 0.0, 0.0]})
            bound = question.bind(sample.schema, N, policy)
            found.append(np.concatenate([np.array(one, dtype=np.int64) for one in sample.measure(bound.statistics)]))
        changes.append(found[1] - found[0])
    return bound, np.array(changes)


@pytest.mark.parametrize("spend", [PureDP(0.5), ZCDP(0.1)])
def test_a_mean_costs_what_it_says(spend: Any) -> None:
    bound, changes = neighbours(mean("c = 'a'", spend=spend), Policy(privacy=spend))
    law = bound._noise.law
    steps = math.ceil(Fraction(int(abs(changes).max()), N * UNIT) / law.grid.step)
    worth = (
        Fraction(steps, law.scale_steps) if isinstance(spend, PureDP) else Fraction(steps**2, 2 * law.sigma_steps**2)
    )
    stated = spend.epsilon if isinstance(spend, PureDP) else spend.rho
    assert 0.98 * stated < worth <= Fraction(str(stated))


@pytest.mark.parametrize("spend", [PureDP(0.01), ZCDP(0.0001)])
def test_a_histogram_costs_what_it_says_and_shares_its_misses(spend: Any) -> None:
    policy = Policy(privacy=spend, questions=10)
    bound, changes = neighbours(histogram("c", categories=["a", "b"], spend=spend), policy)
    law = bound._noise.law
    if isinstance(spend, PureDP):
        worth, stated = Fraction(int(abs(changes).sum(axis=1).max()), law.scale_steps), spend.epsilon
    else:
        worth, stated = Fraction(int((changes**2).sum(axis=1).max()), 2 * law.sigma_steps**2), spend.rho
    assert 0.9 * stated < worth <= Fraction(str(stated))  # and it is no dearer with more cells
    assert (
        histogram("c", categories=[str(i) for i in range(300)], spend=spend)
        .bind(hf.data.Schema({"c": "text"}), N, policy)
        ._noise.law
        == law
    )  # type: ignore[attr-defined]
    situation = Situation(Belief(N, policy), Progress())
    share, off = bound._parts(situation)
    assert share == pytest.approx(situation.log_share - math.log(3), abs=1e-9)
    assert off == bound._noise.half_width(situation.noise_share, 3) > bound._noise.half_width(situation.noise_share)


def test_a_selection_costs_what_it_says() -> None:
    """A replaced row can move one score up and another down; 20,000 draws, error below 1e-6 by Hoeffding.

    With half of the noise the second would come less often than epsilon allows by far.
    """
    bound, changes = neighbours(
        select({"a": "c = 'a'", "b": "c = 'b'"}, spend=PureDP(1.0)), Policy(privacy=PureDP(1.0))
    )
    assert abs(changes).max() == UNIT == bound._choice.sensitivity
    situation, draws = Situation(Belief(N, Policy(privacy=PureDP(1.0))), Progress(), None, Seeded(5)), 20_000
    ahead = sum(bound.settle([(3 * UNIT,), (UNIT,)], situation).value == "b" for _ in range(draws))
    even = sum(bound.settle([(2 * UNIT,), (2 * UNIT,)], situation).value == "b" for _ in range(draws))
    slack = math.sqrt(math.log(2e6) / (2 * draws))
    assert even / draws == pytest.approx(0.5, abs=slack)
    assert ahead / draws + slack >= math.exp(-1.0) * (even / draws - slack)


def test_a_test_sees_every_row_once_and_its_p_value_pays_for_the_run() -> None:
    assert _folded(range(12), (2, 3)).tolist() == [[0, 1, 2 + 3], [4 + 8, 5 + 9, 6 + 7 + 10 + 11]]
    policy = Policy(privacy=PureDP(0.5), questions=10)
    bound, changes = neighbours(test("gof", ["c"], [["a", "b"]], p0=[0.5, 0.5], spend=PureDP(0.5)), policy)
    assert abs(changes).sum(axis=1).max() == 2
    after = Progress().settle(False, 7)
    belief = Belief(N, policy)
    found = bound.prepare([(5, 0, 0)], N, Seeded(2))
    settled = bound.settle(found, Situation(belief, after))
    assert settled.value == belief.adjusted(found.p_value, after) >= min(1.0, 7 * found.p_value)


def test_a_planned_mean_has_the_noise_of_its_turn() -> None:
    policy = Policy(answers="means", questions=20)
    bound = mean("x > 0").bind(hf.data.Schema({"x": "number"}), 10_000, policy)
    plan, belief = GaussianAnswers(10_000, 20, 0.95), Belief(10_000, policy)
    for turn in (1, 5, 20):
        settled = bound.settle([(5_000 * UNIT,)], Situation(belief, Progress(turn, turn - 1), None, Seeded(1)))
        assert settled.details["privacy"] == plan.cost(turn).to_dict()
    assert plan.cost(1) != plan.cost(20)
