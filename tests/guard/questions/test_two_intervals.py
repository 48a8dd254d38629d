"""Two intervals of a private answer: about the population after everything asked, and about these rows alone.

The interval about the rows is compared with the exact value over many draws of the noise: it misses in at most the
declared part of them plus `sqrt(runs ln(10**6) / 2)`, and a version of an eighth of the width is caught.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT
from holdfast.guard import Guard, Policy
from holdfast.guard.guard_budget import GuardBudget
from holdfast.guard.questions.base import Question, Situation
from holdfast.guard.questions.noisy import count_interval, unit_interval
from holdfast.guard.state import Progress
from holdfast.holdout.intervals.conditional import conditional_counts, conditional_interval
from holdfast.noise.entropy import Seeded

N = 5000
SCHEMA = Schema({"age": "integer not null", "gap": "number null", "sex": "text not null"})
COLUMNS: dict[str, Any] = {"age": {"low": 0, "high": 100}, "sex": {"categories": ["f", "m"]}}
RUNS = 1500


def most_misses(runs: int, share: float) -> float:
    """More runs than this miss with probability at most 1e-6 if each does with probability at most `share`."""
    return runs * share + math.sqrt(runs * math.log(1e6) / 2)


def policy(cost: Any) -> Policy:
    return Policy(confidence=0.8, questions=3, privacy=cost, spend=cost, columns=COLUMNS)


def inside(value: Any, ends: Any) -> bool:
    if isinstance(value, dict):
        return all(ends[label][0] <= one <= ends[label][1] for label, one in value.items())
    return bool(ends[0] <= value <= ends[1])


def narrowed(ends: Any) -> Any:
    """An eighth as wide: wrong on purpose."""
    if isinstance(ends, dict):
        return {label: narrowed(pair) for label, pair in ends.items()}
    middle, half = (ends[0] + ends[1]) / 2, (ends[1] - ends[0]) / 16
    return [middle - half, middle + half]


CASES: list[tuple[Question, list[Any], Any]] = [
    (hf.guard.mean("age"), [(2500 * UNIT,)], 50.0),
    (hf.guard.mean("age < 30"), [(1000 * UNIT,)], 0.2),
    (hf.guard.mean("age", where="sex = 'f'"), [(1200 * UNIT,), (2000,)], 60.0),
    (hf.guard.histogram("sex", categories=["f", "m"]), [(3000, 1900, 100)], {"f": 3000, "m": 1900, "other": 100}),
    (hf.guard.table("sex"), [(3000, 1900, 100)], {"f": 3000, "m": 1900}),
    (
        hf.guard.table("sex", "age"),
        [(1500 * UNIT, 1900 * UNIT // 4, 0), (3000, 1900, 100)],
        {"f": 50.0, "m": 25.0},
    ),
    (hf.guard.difference("age", "sex", ["f", "m"]), [(1500 * UNIT, 475 * UNIT, 0), (3000, 1900, 100)], 25.0),
]


@pytest.mark.parametrize("cost", [PureDP(0.3), ZCDP(0.02)])
@pytest.mark.parametrize(("asked", "measured", "truth"), CASES, ids=lambda one: getattr(one, "kind", None))
def test_the_interval_about_the_rows_holds_the_exact_value(
    asked: Question, measured: list[Any], truth: Any, cost: Any
) -> None:
    allowed = policy(cost)
    bound = asked.bind(SCHEMA, N, allowed)
    situation = Situation(GuardBudget(N, allowed), Progress(), source=Seeded(1))
    situation.budget.log_share(situation.course)
    missed = caught = 0
    for _ in range(RUNS):
        settled = bound.settle(measured, situation)
        about = settled.details["about_rows"]
        assert about["confidence"] == 0.8
        missed += not inside(truth, about["interval"])
        caught += not inside(truth, narrowed(about["interval"]))
    assert missed <= most_misses(RUNS, 0.2)
    assert caught > most_misses(RUNS, 0.2)


def test_quantiles_of_the_rows() -> None:
    ages = np.random.default_rng(3).integers(0, 100, N)
    guard = Guard.open(None, hf.data.table({"age": ages.tolist()}), Policy(questions=40, privacy=PureDP(40.0)))
    for k in range(40):
        asked = hf.guard.quantile("age", 0.02 + 0.024 * k, low=0, high=100, spend=PureDP(1.0))
        low, high = guard.ask(asked).details["about_rows"]["interval"]
        assert low <= np.quantile(ages, asked.q, method="inverted_cdf") <= high
        assert high - low < 60


def test_a_plan_of_means_has_both() -> None:
    ages = [20, 40, 60, 80] * (N // 4)
    sure = Policy(1 - 1e-7, questions=5, answers="means")  # at 95% the interval about the rows misses in one of 20
    guard = Guard.open(None, hf.data.table({"age": ages}), sure)
    answer = guard.ask(hf.guard.mean("age", low=0, high=100))
    low, high = answer.details["about_rows"]["interval"]
    assert answer.interval[0] < low < 50 < high < answer.interval[1]


# Exact binomial tails


@pytest.mark.parametrize("share", [-3.0, -20.0, -150.0])
@pytest.mark.parametrize("mean", [0.0, 0.01, 0.3, 0.5, 0.97])
def test_a_condition_has_exact_tails_which_are_never_wider(share: float, mean: float) -> None:
    off = 0.004
    exact, kl = (one(N).over(mean - off, mean + off, share) for one in (count_interval, unit_interval))
    assert kl[0] <= exact[0] + 1e-12
    assert exact[1] <= kl[1] + 1e-12
    assert exact[1] - exact[0] < kl[1] - kl[0]


def test_exact_tails_among_some_rows_hold_those_of_every_count_in_the_box() -> None:
    rng = np.random.default_rng(4)
    for _ in range(60):
        ones, zeros = sorted(map(int, rng.integers(0, 40, 2))), sorted(map(int, rng.integers(0, 40, 2)))
        box = conditional_counts((ones[0], ones[1]), (zeros[0], zeros[1]), 100, -3.0)
        wide = conditional_interval((ones[0], ones[1]), (zeros[0], zeros[1]), 100, -3.0)
        assert wide.low <= box.low + 1e-12
        assert box.high <= wide.high + 1e-12
        for k in {*ones, int(rng.integers(ones[0], ones[1] + 1))}:
            for z in {*zeros, int(rng.integers(zeros[0], zeros[1] + 1))}:
                one = conditional_counts((k, k), (z, z), 100, -3.0)
                assert box.low <= one.low + 1e-12
                assert one.high <= box.high + 1e-12


def test_the_answer_says_which_tails_it_has() -> None:
    guard = Guard.open(None, hf.data.table({"age": [20, 60] * N}), Policy(questions=5, privacy=PureDP(0.1)))
    share = guard.ask(hf.guard.mean("age < 40", spend=PureDP(0.05)))
    assert share.guarantee.parameters["interval"] == "clopper-pearson"
    mean = guard.ask(hf.guard.mean("age", low=0, high=100, spend=PureDP(0.05)))
    assert mean.guarantee.parameters["interval"] == "kl"
