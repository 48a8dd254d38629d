"""Answerers of many means: under attack, at their limits, and what they say."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from holdfast.accounting.costs import GDP, PureDP
from holdfast.bounds import interval
from holdfast.errors import BudgetExhausted, InvalidParameter
from holdfast.inference import (
    FilteredAnswers,
    GaussianAnswers,
    LaplaceAnswers,
    LowSensitivityAnswers,
    MinimisationAnswers,
    SmallVarianceAnswers,
    SplitAnswers,
    answer_plan,
)
from holdfast.inference.answers.answerer import VALUE_ERROR
from holdfast.noise import Seeded
from tests.inference.answers.answerers import MEANS, K, Make, N

RUNS = 120
#: More failing runs than this have probability below 1e-6 when a run fails with probability 0.05.
MOST = int(binom.isf(1e-6, RUNS, 0.05))


def failures(make: Make, runs: int, seed: int) -> int:
    """Runs of the linear attack in which some interval misses: k - 1 fair features, then their signed majority."""
    rng = np.random.default_rng(seed)
    count = 0
    for run in range(runs):
        rows = rng.integers(0, 2, (N, K - 1), dtype=np.int8)
        answerer = make(Seeded(seed * 100_003 + run))
        answers = [answerer.mean(rows[:, j]) for j in range(K - 1)]
        signs = np.sign([answer.value - 0.5 for answer in answers])
        score = (2 * rows.astype(float) - 1) @ signs
        answers.append(answerer.mean(np.where(score == 0, 0.5, (score > 0).astype(float))))
        count += any(not answer.interval[0] <= 0.5 <= answer.interval[1] for answer in answers)
    return count


@pytest.mark.parametrize("name", ["gaussian", "constant", "filtered", "split", "small-variance"])
def test_intervals_hold_under_attack(name: str) -> None:
    assert failures(MEANS[name], RUNS, 1) <= MOST


class _Exact:
    """Plain means with the interval for questions fixed in advance: what the attack must refute."""

    def mean(self, values: Any) -> Any:
        half = interval.non_adaptive(N, K, 0.05).half_width
        mean = float(np.mean(values))
        return type("Told", (), {"value": mean, "interval": (mean - half, mean + half)})


def test_the_attack_refutes_plain_means() -> None:
    assert failures(lambda source: _Exact(), 60, 2) > MOST


def test_the_attack_refutes_a_third_of_the_interval() -> None:
    """Power against a wrong width: the same method with an interval a third as long."""

    class Narrow(GaussianAnswers):
        kind = ""

        @property
        def half_width(self) -> float:
            return super().half_width / 3

    assert failures(lambda source: Narrow(N, K, 0.95, source=source), RUNS, 3) > MOST


# A rare-event attack on SmallVarianceAnswers: features that are 1 with probability 0.05.


def test_small_variance_holds_for_rare_events_and_is_narrower() -> None:
    n, k, p, runs = 4000, 60, 0.05, 60
    plan = SmallVarianceAnswers(10**5, 1000, 0.95, 0.1, method="small-variance").plan
    assert plan.half_width(0.218) < 0.7 * interval.scheduled(10**5, 1000, 0.05).half_width
    rng = np.random.default_rng(9)
    missed = 0
    for run in range(runs):
        rows = rng.random((n, k - 1)) < p
        answers = SmallVarianceAnswers(n, 80, 0.95, 0.2, source=Seeded(run), method="small-variance")
        told = [answers.mean(rows[:, j]) for j in range(k - 1)]
        bad = any(not t.interval[0] <= p <= t.interval[1] for t in told)
        chosen = np.argsort([-t.value for t in told])[:8]
        last = answers.mean(rows[:, chosen].any(axis=1))
        truth = 1 - (1 - p) ** 8
        missed += bad or not last.interval[0] <= truth <= last.interval[1]
    assert missed <= int(binom.isf(1e-6, runs, 0.05))


def test_small_variance_charges_by_what_the_answer_leaves_possible() -> None:
    rare, even = np.arange(10_000) % 50 == 0, np.arange(10_000) % 2 == 0
    answers = SmallVarianceAnswers(10_000, 100, 0.95, 0.2, source=Seeded(1), method="small-variance")
    assert answers.remaining == {"questions": 100}
    answers.mean(rare)
    assert answers.remaining == {"questions": 99}
    answers.mean(even)
    assert answers.remaining["questions"] in (97, 98)  # 1/(4 0.2 0.8) = 1.56 questions
    answers = SmallVarianceAnswers(10_000, 100, 0.95, 0.2, source=Seeded(2), method="small-variance")
    for _ in range(100):
        answers.mean(rare)
    answers = SmallVarianceAnswers(10_000, 100, 0.95, 0.2, source=Seeded(3), method="small-variance")
    while answers.remaining["questions"] > 0:
        answers.mean(even)
    with pytest.raises(BudgetExhausted):
        answers.mean(even)
    assert 63 <= answers.asked <= 65
    assert answers.remaining == {"questions": 0}


# What answers say.


def test_answers_scale_with_the_range_and_stay_inside() -> None:
    values = np.linspace(0, 1, N)
    for name in ("gaussian", "laplace", "split", "small-variance"):
        plain, scaled = MEANS[name](Seeded(5)), MEANS[name](Seeded(5))
        one = plain.mean(values)
        other = scaled.mean(100 + 50 * values, low=100, high=150)
        assert other.value == pytest.approx(100 + 50 * one.value, abs=1e-6)
        assert other.interval == pytest.approx(tuple(100 + 50 * end for end in one.interval), abs=1e-6)
        assert 100 <= other.interval[0] <= other.value <= other.interval[1] <= 150


def test_many_means_at_once_are_the_same_answers() -> None:
    table = np.random.default_rng(6).integers(0, 2, (N, 5))
    one, other = (GaussianAnswers(N, K, 0.95, source=Seeded(8)) for _ in range(2))
    assert [one.mean(table[:, j]).to_dict() for j in range(5)] == [a.to_dict() for a in other.means(table)]
    with pytest.raises(BudgetExhausted):
        other.means(np.zeros((N, K), dtype=bool))
    assert other.asked == 5
    for wrong in (np.zeros(N), np.zeros((N + 1, 2)), np.full((N, 2), 2.0), [["a"]], [[1], [1, 2]]):
        with pytest.raises(InvalidParameter):
            other.means(wrong)


def test_noise_has_the_planned_scale() -> None:
    """5,000 answers to one question: their spread is the schedule's first scale; half of it would be refuted."""
    zeros = np.full(N, 0.5)
    plan = GaussianAnswers(N, K, 0.95)
    found = [GaussianAnswers.from_state(plan.state(), Seeded(j)).mean(zeros).value for j in range(3000)]
    assert np.std(found) == pytest.approx(plan.sigma(1), rel=0.1)
    assert abs(np.mean(found) - 0.5) < 6 * plan.sigma(1) / np.sqrt(3000)


def test_costs() -> None:
    gaussian = GaussianAnswers(N, K, 0.95)
    answer = gaussian.mean(np.zeros(N))
    assert answer.cost == GDP(gaussian.cost(1).mu)
    assert gaussian.cost(1).mu == pytest.approx(1 / (N * gaussian.sigma(1)))
    assert gaussian.cost(K).mu > gaussian.cost(1).mu  # the schedule's noise falls
    laplace = LaplaceAnswers(N, K, 0.95)
    assert isinstance(laplace.mean(np.zeros(N)).cost, PureDP)
    assert laplace.cost(1).epsilon == pytest.approx(1 / (N * laplace.width.sigma), rel=1e-6)
    assert SplitAnswers(N, K, 0.95).mean(np.zeros(N)).cost is None


def test_half_widths_are_the_theorems_and_a_little() -> None:
    for answers, width in (
        (GaussianAnswers(10**5, 1000, 0.95), interval.sign_comparison(10**5, 1000, 0.05)),
        (GaussianAnswers(10**5, 1000, 0.95, method="earlier"), interval.scheduled(10**5, 1000, 0.05)),
        (GaussianAnswers(10**5, 1000, 0.95, method="posterior-shift"), interval.posterior_shift(10**5, 1000, 0.05)),
        (LaplaceAnswers(10**5, 1000, 0.95), interval.jung(10**5, 1000, 0.05, "laplace")),
    ):
        assert width.half_width < answers.half_width < width.half_width * (1 + 1e-5)
    assert GaussianAnswers(10**5, 1000, 0.95).half_width < 0.0313


# Filter.


def test_filter_charges_narrow_and_precise_questions() -> None:
    answers = FilteredAnswers(10_000, 1000, 0.95, full=10)
    assert answers.charge(0.1) == pytest.approx(answers.charge(1.0) / 100)
    assert answers.charge(1.0, answers.largest_sigma / 2) == pytest.approx(4 * answers.charge(1.0))
    for _ in range(100):
        answers.mean(np.full(10_000, 0.33), low=0.3, high=0.4)
    assert answers.remaining["full_questions"] == pytest.approx(9)
    answers.mean(np.zeros(10_000), sigma=answers.largest_sigma / 2.99)  # nearly nine at once
    before = answers.state()
    with pytest.raises(BudgetExhausted, match="charge"):
        answers.mean(np.zeros(10_000))
    assert answers.state() == before
    with pytest.raises(InvalidParameter, match="sigma"):
        answers.mean(np.zeros(10_000), sigma=2 * answers.largest_sigma)
    with pytest.raises(InvalidParameter, match="high"):
        answers.mean(np.zeros(10_000), high=2.0)
    width = interval.filtered_width(1000, 0.05, answers.largest_sigma, answers.horizon)
    assert answers.half_width == pytest.approx(width, rel=1e-6)
    assert answers.half_width > width


def test_filter_with_equal_questions_is_theorem_a() -> None:
    width = interval.posterior_shift(5000, 50, 0.05)
    answers = FilteredAnswers(5000, 50, 0.95)
    assert answers.half_width == pytest.approx(width.half_width, rel=1e-6)
    for _ in range(50):
        answers.mean(np.zeros(5000))


# Other statistics and selections.


def test_statistics_of_low_sensitivity_hold_under_reuse() -> None:
    """A median-like statistic asked again and again; the truth is its mean on fresh rows."""
    n, k, runs = 200, 20, 150
    rng = np.random.default_rng(11)

    def smooth(rows: Any) -> float:  # the share above 1/2, pushed to the sides: not a mean, sensitivity 2/n
        return float(abs(rows.mean() - 0.5) * 2)

    truth = float(np.mean([smooth(rng.integers(0, 2, n)) for _ in range(4000)]))
    missed = 0
    for run in range(runs):
        rows = rng.integers(0, 2, n)
        answers = LowSensitivityAnswers(n, k, 0.95, 2 / n, source=Seeded(run))
        told = [answers.statistic(smooth(rows)) for _ in range(k)]
        missed += any(not t.interval[0] - 0.01 <= truth <= t.interval[1] + 0.01 for t in told if t.interval)
    assert missed <= int(binom.isf(1e-6, runs, 0.05))


def test_minimisation_chooses_well() -> None:
    answers = MinimisationAnswers(100_000, 20, 4, 0.95, source=Seeded(1))
    losses = [0.9, 0.5 - 2 * answers.excess, 0.5, 0.8]
    chosen = [answers.minimise(losses) for _ in range(20)]
    assert {choice.choice for choice in chosen} == {1}
    assert chosen[0].to_dict()["excess"] == answers.excess
    assert chosen[0].value is None
    answers = MinimisationAnswers(100_000, 20, 4, 0.95)
    for wrong in ([], [0.1] * 5, [np.nan, 0.1], ["a"], [[0.1]], None):
        with pytest.raises(InvalidParameter):
            answers.minimise(wrong)  # type: ignore[arg-type]
    assert answers.asked == 0


# Planning.


def test_plan_recommends_what_is_smallest() -> None:
    plan = answer_plan(N, K, 0.95)
    widths = [option.half_width for option in plan.options]
    assert widths == sorted(widths)
    assert all(option.width.certified for option in plan.options)
    assert plan.recommended.half_width == pytest.approx(interval.best(N, K, 0.05).half_width)
    assert isinstance(plan.make(source=Seeded(1)), GaussianAnswers)
    assert isinstance(plan.make("splitting"), SplitAnswers)
    assert isinstance(plan.make("jung-laplace"), LaplaceAnswers)
    for name in ("jung", "russo-zou-kl"):
        assert plan.make(name).half_width == pytest.approx(
            next(option.half_width for option in plan.options if option.name == name), rel=1e-5
        )
    with pytest.raises(InvalidParameter, match="name"):
        plan.make("nothing")
    with pytest.raises(InvalidParameter, match="confidence"):
        answer_plan(N, K, 95)
    with pytest.raises(InvalidParameter, match="questions"):
        answer_plan(N, 0, 0.95)
    assert json.loads(json.dumps(plan.to_dict()))["recommended"] == plan.recommended.name
    assert "splitting" not in [option.name for option in answer_plan(5, 6, 0.95).options]


def test_a_plan_names_what_its_winner_assumes_of_the_rows() -> None:
    alike, other = answer_plan(10_000, 20, 0.95), answer_plan(10_000, 20, 0.95, rows="independent")
    assert "identically distributed" in alike.to_dict()["options"][0]["assumption"]
    assert "rows independent and identically distributed" in str(alike)
    for option in other.options:
        assert "identically distributed" not in option.assumption
        assert "i.i.d." not in option.assumption
    assert not {"splitting", "jung", "bns-laplace"} & {option.name for option in other.options}
    assert alike.recommended.half_width < other.recommended.half_width < 1.2 * alike.recommended.half_width
    made = other.make(source=Seeded(1))
    assert isinstance(made, GaussianAnswers)
    assert made.rows == "independent"
    assert made.width == other.recommended.width
    with pytest.raises(InvalidParameter, match="rows"):
        answer_plan(N, K, 0.95, rows="sorted")  # type: ignore[arg-type]


@pytest.mark.parametrize(("rounds", "name"), [(2, "splitting-rounds"), (20, "sign-comparison-rounds")])
def test_a_plan_in_rounds(rounds: int, name: str) -> None:
    plan = answer_plan(10_000, 40, 0.95, rounds=rounds)
    named = {option.name: option for option in plan.options}
    assert plan.recommended.name == name
    assert plan.recommended.half_width == interval.best_rounds(10_000, 40, plan.recommended.width.beta, rounds).value
    assert {"splitting-rounds", "sign-comparison-rounds", "winner-only", "sign-comparison"} <= set(named)
    assert (plan.options[0].name == "winner-only") == (rounds == 2)  # the narrowest in few rounds, for less shown
    assert named["winner-only"].condition is not None
    assert named["winner-only"].condition in str(plan)
    for kind in ("splitting-rounds", "sign-comparison-rounds"):
        made = plan.make(kind, source=Seeded(1))
        assert (made.parameters()["rounds"], made.width.half_width) == (rounds, named[kind].half_width)
    assert "rounds" not in plan.make("scheduled").parameters()
    with pytest.raises(InvalidParameter, match="winner"):
        plan.make("winner-only")
    with pytest.raises(InvalidParameter, match="rounds"):
        answer_plan(10_000, 40, 0.95, rounds=41)


def test_half_widths_hold_what_rounding_adds() -> None:
    """Half a step of the answer's grid and the error of values put on theirs, as rationals; noise has the same grid."""
    for made in (GaussianAnswers(N, K, 0.95), GaussianAnswers(N, K, 0.95, method="jung")):
        added = Fraction(made.half_width) - Fraction(made.width.half_width)
        assert added >= made.grid.step / 2 + Fraction(VALUE_ERROR)
    law = LaplaceAnswers(N, K, 0.95)
    assert Fraction(law.half_width) - Fraction(law.width.half_width) >= law.grid.step * 3 / 2 + Fraction(VALUE_ERROR)
    other = LowSensitivityAnswers(N, K, 0.95, 1 / N)
    assert Fraction(other.half_width) - Fraction(other.width.half_width) >= other.grid.step / 2
    small = SmallVarianceAnswers(N, K, 0.95, 0.2, method="small-variance")
    ideal = small.plan.half_width(small.plan.deviation)
    assert Fraction(small.half_width) - Fraction(ideal) >= small.grid.step / 2 + Fraction(VALUE_ERROR)


def test_a_cap_on_privacy_is_a_ceiling_and_goes_with_the_state() -> None:
    capped = GaussianAnswers(10_000, 20, 0.95, privacy=GDP(0.05), source=Seeded(1))
    free = GaussianAnswers(10_000, 20, 0.95)
    wide = GaussianAnswers(10_000, 20, 0.95, privacy=GDP(5.0))
    assert capped.mu <= 0.05 < free.mu
    assert capped.half_width > free.half_width
    assert (wide.mu, wide.half_width) == (free.mu, free.half_width)
    again = GaussianAnswers.from_state(capped.state())
    assert (again.privacy, again.width) == (GDP(0.05), capped.width)
    total = math.sqrt(math.fsum(capped.cost(question).mu ** 2 for question in range(1, 21)))
    assert total <= 0.05 * (1 + 1e-9)
    with pytest.raises(InvalidParameter, match="privacy must be a GDP cost with mu above 0"):
        GaussianAnswers(10_000, 20, 0.95, privacy=PureDP(0.1))  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="privacy needs method='best'"):
        GaussianAnswers(10_000, 20, 0.95, privacy=GDP(0.05), method="scheduled")
