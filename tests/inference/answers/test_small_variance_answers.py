"""What SmallVarianceAnswers charges, against Theorem C's own words, for answers anywhere in the range."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from holdfast.errors import BudgetExhausted
from holdfast.inference import SmallVarianceAnswers
from holdfast.inference.answers.answerer import VALUE_ERROR
from holdfast.noise import Seeded

N = 10_000


def _rows(p: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.arange(N) < p * N


def _largest_variance(answers: SmallVarianceAnswers, value: float) -> float:
    """The largest `p (1 - p)` over all p on a grid that the answer leaves possible, rounding of the answer included."""
    plan = answers.plan
    p = np.linspace(0, 1, 200_001)
    width = plan.noise + plan.shift**2 + 2 * plan.shift * np.sqrt(p * (1 - p)) + float(answers.grid.step) / 2
    return float(np.max((p * (1 - p))[np.abs(value - p) <= width]))


@pytest.mark.parametrize("p", [0.0, 0.02, 0.1, 0.3, 0.45, 0.5, 0.7, 0.9, 0.97, 1.0])
def test_the_charge_is_the_largest_that_the_answer_leaves_possible(p: float) -> None:
    answers = SmallVarianceAnswers(N, 50, 0.95, 0.05, source=Seeded(round(100 * p)))
    plan, before = answers.plan, Fraction(0)
    for _ in range(5):
        told = answers.mean(_rows(p))
        assert told.value is not None
        after = Fraction(answers.state()["spent"])
        deviation = max(math.sqrt(_largest_variance(answers, told.value)), plan.deviation)
        wanted = (deviation / (2 * N * plan.sigma)) ** 2
        assert wanted * (1 - 1e-9) <= float(after - before) <= wanted * (1 + 1e-3)
        before = after


@pytest.mark.parametrize("p", [0.01, 0.5, 0.99])
def test_the_interval_holds_every_mean_that_the_answer_leaves_possible(p: float) -> None:
    answers = SmallVarianceAnswers(N, 50, 0.95, 0.05, source=Seeded(3))
    plan = answers.plan
    told = answers.mean(_rows(p))
    assert told.value is not None
    assert told.interval is not None
    ends = plan.interval(told.value, float(answers.grid.step) / 2)
    assert told.interval[0] <= max(ends[0] - VALUE_ERROR, 0.0)
    assert told.interval[1] >= min(ends[1] + VALUE_ERROR, 1.0)


def test_a_question_is_admitted_only_with_room_for_its_worst_case() -> None:
    """The charge follows the answer, so the room must be there before it; spent never passes the horizon."""
    rng = np.random.default_rng(4)
    admitted = 0
    for run in range(20):
        answers = SmallVarianceAnswers(N, 12, 0.95, 0.05, source=Seeded(run))
        worst, horizon = Fraction(answers.plan.charge(0.5)), Fraction(answers.plan.horizon)
        while answers.asked < answers.questions:
            before = answers.state()
            try:
                answers.mean(_rows(float(rng.choice([0.02, 0.5]))))
            except BudgetExhausted:
                assert Fraction(before["spent"]) + worst > horizon
                assert answers.state() == before
                assert answers.remaining == {"questions": 0}
                break
            admitted += 1
            assert Fraction(before["spent"]) + worst <= horizon
            assert Fraction(answers.state()["spent"]) <= horizon
    assert 60 < admitted < 240
