"""Attacks on the promise: an analyst who learns the rows through noise and looks, and then asks what overfits most.

Every test states the probability with which a correct guard would fail it: at most 1e-6.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from holdfast.accounting import PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT
from holdfast.errors import InvalidParameter
from holdfast.guard import Policy, check, mean
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.questions import Situation
from holdfast.guard.state import Progress
from holdfast.holdout.error_budget import Course
from holdfast.noise import Seeded

ROWS, FEATURES = 400, 150
SCHEMA = Schema({"x": "number not null"})


class Run:
    """Questions about values that the test computes itself, answered by the guard's own questions without a ledger."""

    def __init__(self, policy: Policy, believed: Policy, seed: int) -> None:
        self.policy, self.budget, self.progress = policy, GuardBudget(ROWS, believed), Progress()
        self.source = Seeded(seed)

    def ask(self, question: Any, ones: int) -> Any:
        bound = question.bind(SCHEMA, ROWS, self.policy)
        situation = Situation(self.budget, self.progress, None, self.source)
        found = bound.settle([(ones * UNIT,)], situation)
        self.progress = self.progress.admit().settle(self.budget.budget, found.message, found.asked, found.extra)
        return found


def attacked(seed: int, believed: Policy) -> bool:
    """One run in which nothing depends on anything: whether the last interval misses the truth, one half."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, ROWS)
    features = rng.integers(0, 2, (FEATURES, ROWS))
    spend = PureDP(1.0)
    policy = Policy(privacy=PureDP(1.0 * (FEATURES + 1)), questions=2 * FEATURES + 2)
    run = Run(policy, believed, seed)
    signs = np.zeros(FEATURES)
    for j, feature in enumerate(features):
        agree = int((feature == label).sum())
        noisy = run.ask(mean(f"x > {j}", spend=spend), agree)
        signs[j] = noisy.value - 0.5
        try:  # a look next to the noise; a guard that has nothing left to certify refuses it
            if not run.ask(check(f"x > {j}", guess=0.5, tolerance=0.3), agree).passed:
                signs[j] *= 2
        except InvalidParameter:
            pass
    votes = (np.where(features == 1, 1, -1) * np.sign(signs)[:, None]).sum(axis=0) > 0
    correct = int((votes == (label == 1)).sum())
    last = run.ask(mean("x > 100", spend=spend), correct)
    return not last.interval[0] <= 0.5 <= last.interval[1]


def whole_cap() -> Policy:
    return Policy(privacy=PureDP(1.0 * (FEATURES + 1)), questions=2 * FEATURES + 2)


def test_an_analyst_who_learns_through_noise_does_not_break_the_interval() -> None:
    """30 runs; a guard that fails one run in twenty at most fails this test with probability below 1e-6."""
    misses = sum(attacked(seed, whole_cap()) for seed in range(30))
    assert misses <= binom.isf(1e-6, 30, 0.05)


def test_the_attack_breaks_a_guard_that_forgets_what_the_noise_told() -> None:
    """The same attack on intervals that pay for looks and not for the private questions: most of them are wrong.

    A guard that kept its promise would miss more than 8 times in 12 with probability below 1e-9.
    """
    forgetful = Policy(privacy=PureDP(1e-9), questions=2 * FEATURES + 2)
    assert sum(attacked(seed, forgetful) for seed in range(12)) > 8


@pytest.mark.parametrize("spend", [PureDP(0.1), ZCDP(0.001)])
def test_noise_leaves_its_tails_as_seldom_as_it_may(spend: Any) -> None:
    """20,000 answers to one question each; error 1e-6. A quantile at twice the share is rejected, so there is power."""
    policy = Policy(confidence=0.5, privacy=spend, questions=1)
    bound = mean("x > 0", spend=spend).bind(SCHEMA, 10_000, policy)
    budget = GuardBudget(10_000, policy)
    share = budget.noise_share(Course())
    exact = Fraction(1, 2)
    noise, source = bound._noise, Seeded(3)  # type: ignore[attr-defined]
    draws = np.array([noise.release(exact, source) for _ in range(20_000)])
    most = binom.isf(1e-6, draws.size, share)
    assert (abs(draws - 0.5) > noise.half_width(share)).sum() <= most
    assert (abs(draws - 0.5) > noise.half_width(2 * share)).sum() > most


def test_an_interval_is_a_function_of_the_noisy_value() -> None:
    """Two samples that give the same noisy value give the same interval: nothing exact reaches it."""
    policy = Policy(privacy=PureDP(1.0), questions=5)
    bound = mean("x > 0", spend=PureDP(0.5)).bind(SCHEMA, ROWS, policy)
    budget = GuardBudget(ROWS, policy)
    found: dict[float, set[tuple[float, ...]]] = {}
    for ones in (100, 101, 300):
        for seed in range(40):
            settled = bound.settle([(ones * UNIT,)], Situation(budget, Progress(), None, Seeded(seed)))
            found.setdefault(settled.value, set()).add(tuple(settled.interval))
    inner = [intervals for value, intervals in found.items() if 0 < value < 1]
    assert inner
    assert all(len(intervals) == 1 for intervals in inner)


@pytest.mark.parametrize("ones", [0, ROWS])
@pytest.mark.parametrize("spend", [PureDP(0.001), ZCDP(1e-7)])
def test_noise_far_beyond_the_range_is_an_answer_and_not_an_error(ones: int, spend: Any) -> None:
    """An error would show which side the noisy value fell on, and show it unpaid."""
    policy = Policy(confidence=0.5, privacy=spend, questions=1)
    bound = mean("x > 0", spend=spend).bind(SCHEMA, ROWS, policy)
    budget = GuardBudget(ROWS, policy)
    for seed in range(300):
        found = bound.settle([(ones * UNIT,)], Situation(budget, Progress(), None, Seeded(seed)))
        assert 0 <= found.interval[0] <= found.value <= found.interval[1] <= 1
