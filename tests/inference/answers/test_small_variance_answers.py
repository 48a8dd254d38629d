"""What SmallVarianceAnswers charges, against the words of Theorems C and D', for answers anywhere in the range."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from holdfast.accounting.costs import GDP
from holdfast.bounds.interval.rates import RatePlan
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.inference import GaussianAnswers, SmallVarianceAnswers
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
    answers = SmallVarianceAnswers(N, 50, 0.95, 0.05, source=Seeded(round(100 * p)), method="small-variance")
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
    answers = SmallVarianceAnswers(N, 50, 0.95, 0.05, source=Seeded(3), method="small-variance")
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
        answers = SmallVarianceAnswers(N, 12, 0.95, 0.05, source=Seeded(run), method="small-variance")
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


def test_the_plan_is_chosen_in_advance_and_is_the_shortest() -> None:
    """Which theorem wins follows from the size and the level; no other plan has a shorter interval at the level."""
    for n, level, theorem in [
        (10_000, 0.05, "interval.sign-comparison-rates"),
        (1000, 0.002, "interval.small-variance"),
        (1000, 0.5, "interval.sign-comparison"),
    ]:
        answers = SmallVarianceAnswers(n, 50, 0.95, level)
        assert answers.method == theorem
        methods = ("sign-comparison-rates", "small-variance", "noise")
        lengths = [SmallVarianceAnswers(n, 50, 0.95, level, method=m).plan.length(level) for m in methods]  # type: ignore[arg-type]
        assert answers.plan.length(level) == min(lengths)


def test_theorem_d_prime_answers_charge_what_they_leave_possible() -> None:
    answers = SmallVarianceAnswers(N, 30, 0.95, 0.05, method="sign-comparison-rates", source=Seeded(5))
    plan = answers.plan
    assert isinstance(plan, RatePlan)
    clock, step = Fraction(0), float(answers.grid.step) / 2
    for question in range(1, 31):
        p = 0.5 if question % 3 == 0 else 0.05
        answer = answers.mean(_rows(p), 0.0, 2.0 if question == 2 else 1.0)
        assert answer.interval is not None
        assert answer.value is not None
        scale = 2.0 if question == 2 else 1.0
        low, high, charge = plan.read(answer.value / scale, question, float(clock) * (1 + 1e-15), step)
        assert answer.interval[0] <= scale * low
        assert answer.interval[1] >= scale * high
        assert answer.interval[1] <= scale * high + 1e-6
        clock += Fraction(charge)
        assert float(Fraction(answers.state()["spent"])) == pytest.approx(float(clock), rel=1e-6)
        assert answer.cost == GDP(answer.cost.mu)
        assert answer.cost.mu == pytest.approx(1 / (N * plan.scale(question)), rel=1e-9)
    with pytest.raises(BudgetExhausted):
        answers.mean(_rows(0.5))
    assert answers.remaining == {"questions": 0}


def test_a_stored_plan_goes_on_and_one_of_before_theorem_d_prime_keeps_theorem_c() -> None:
    answers = SmallVarianceAnswers(N, 30, 0.95, 0.05, source=Seeded(5))
    answers.mean(_rows(0.05))
    again = SmallVarianceAnswers.from_state(answers.state())
    assert (again.plan, again.state()) == (answers.plan, answers.state())
    earlier = SmallVarianceAnswers(N, 30, 0.95, 0.05, method="small-variance").state()
    del earlier["method"]
    assert SmallVarianceAnswers.from_state(earlier).method == "interval.small-variance"
    with pytest.raises(InvalidParameter, match="method"):
        SmallVarianceAnswers(N, 30, 0.95, 0.05, method="rates")  # type: ignore[arg-type]


def test_an_even_plan_answers_as_gaussian_answers_do() -> None:
    """The same seed and plan: the same values, and intervals as long."""
    even = SmallVarianceAnswers(N, 20, 0.95, 0.5, method="noise", source=Seeded(6))
    plain = GaussianAnswers(N, 20, 0.95, source=Seeded(6))
    for _ in range(20):
        first, second = even.mean(_rows(0.4)), plain.mean(_rows(0.4))
        assert first.value == second.value
        assert first.half_width == pytest.approx(second.half_width, abs=1e-8)
    assert even.half_width == pytest.approx(plain.half_width, rel=1e-9)
