"""Answerers of many means: under attack, at their limits, and with wrong input."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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
from holdfast.inference.answerer import Answerer
from holdfast.inference.exact_mean import VALUE_ERROR, exact_mean, exact_means
from holdfast.noise import Seeded, Source

N, K, RUNS = 400, 40, 250
#: More failing runs than this have probability below 1e-6 when a run fails with probability 0.05.
MOST = int(binom.isf(1e-6, RUNS, 0.05))

Make = Callable[[Source], Any]
MEANS: dict[str, Make] = {
    "gaussian": lambda source: GaussianAnswers(N, K, 0.95, source=source),
    "constant": lambda source: GaussianAnswers(N, K, 0.95, method="posterior-shift", source=source),
    "laplace": lambda source: LaplaceAnswers(N, K, 0.95, source=source),
    "filtered": lambda source: FilteredAnswers(N, K, 0.95, source=source),
    "split": lambda source: SplitAnswers(N, K, 0.95, source=source),
    "small-variance": lambda source: SmallVarianceAnswers(N, K, 0.95, 0.5, source=source),
}
ALL: dict[str, Make] = MEANS | {
    "low-sensitivity": lambda source: LowSensitivityAnswers(N, K, 0.95, 1 / N, source=source),
    "minimisation": lambda source: MinimisationAnswers(N, K, 5, 0.95, source=source),
}


def ask(answerer: Any, values: Any = None) -> Any:
    """One question of whatever kind."""
    if isinstance(answerer, LowSensitivityAnswers):
        return answerer.statistic(0.25)
    if isinstance(answerer, MinimisationAnswers):
        return answerer.minimise([0.5, 0.1])
    return answerer.mean(np.arange(N) % 4 == 0 if values is None else values)


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
    """Power against a wrong width: the same answerer with an interval a third as long."""

    class Narrow(GaussianAnswers):
        kind = ""

        @property
        def half_width(self) -> float:
            return super().half_width / 3

    assert failures(lambda source: Narrow(N, K, 0.95, source=source), RUNS, 3) > MOST


# A rare-event attack on SmallVarianceAnswers: features that are 1 with probability 0.05.


def test_small_variance_holds_for_rare_events_and_is_narrower() -> None:
    n, k, p, runs = 4000, 60, 0.05, 60
    plan = SmallVarianceAnswers(10**5, 1000, 0.95, 0.1).plan
    assert plan.half_width(0.218) < 0.7 * interval.best(10**5, 1000, 0.05).half_width
    rng = np.random.default_rng(9)
    missed = 0
    for run in range(runs):
        rows = rng.random((n, k - 1)) < p
        answers = SmallVarianceAnswers(n, 80, 0.95, 0.2, source=Seeded(run))
        told = [answers.mean(rows[:, j]) for j in range(k - 1)]
        bad = any(not t.interval[0] <= p <= t.interval[1] for t in told)
        chosen = np.argsort([-t.value for t in told])[:8]
        last = answers.mean(rows[:, chosen].any(axis=1))
        truth = 1 - (1 - p) ** 8
        missed += bad or not last.interval[0] <= truth <= last.interval[1]
    assert missed <= int(binom.isf(1e-6, runs, 0.05))


def test_small_variance_charges_by_what_the_answer_leaves_possible() -> None:
    rare, even = np.arange(10_000) % 50 == 0, np.arange(10_000) % 2 == 0
    answers = SmallVarianceAnswers(10_000, 100, 0.95, 0.2, source=Seeded(1))
    assert answers.remaining == {"questions": 100}
    answers.mean(rare)
    assert answers.remaining == {"questions": 99}
    answers.mean(even)
    assert answers.remaining["questions"] in (97, 98)  # 1/(4 0.2 0.8) = 1.56 questions
    answers = SmallVarianceAnswers(10_000, 100, 0.95, 0.2, source=Seeded(2))
    for _ in range(100):
        answers.mean(rare)
    answers = SmallVarianceAnswers(10_000, 100, 0.95, 0.2, source=Seeded(3))
    while answers.remaining["questions"] > 0:
        answers.mean(even)
    with pytest.raises(BudgetExhausted):
        answers.mean(even)
    assert 63 <= answers.asked <= 65
    assert answers.remaining == {"questions": 0}


@pytest.mark.parametrize("name", ALL)
def test_one_question_too_many_is_refused_and_changes_nothing(name: str) -> None:
    answerer = ALL[name](Seeded(1))
    for j in range(K):
        assert answerer.remaining["questions"] == K - j
        ask(answerer)
    before = answerer.state()
    with pytest.raises(BudgetExhausted):
        ask(answerer)
    assert answerer.state() == before
    assert answerer.asked == K


@pytest.mark.parametrize("name", ALL)
def test_state_round_trips_and_pickle_is_refused(name: str) -> None:
    answerer = ALL[name](Seeded(1))
    ask(answerer)
    ask(answerer)
    state = json.loads(json.dumps(answerer.state()))
    for restored in (Answerer.from_state(state, Seeded(4)), type(answerer).from_state(state, Seeded(4))):
        assert type(restored) is type(answerer)
        assert restored.state() == answerer.state()
        assert restored.remaining == answerer.remaining
        ask(restored)
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="from_state"):
            copied(answerer)
    assert "simulated" in repr(answerer) or name == "split"
    assert "Seeded" not in repr(answerer)


@pytest.mark.parametrize(
    "state", [None, {}, {"kind": "nothing"}, {"kind": "gaussian"}, {"kind": "gaussian", "asked": 0}]
)
def test_wrong_state(state: Any) -> None:
    with pytest.raises(InvalidParameter):
        Answerer.from_state(state)


def test_state_of_another_kind_or_too_far_is_refused() -> None:
    state = GaussianAnswers(N, K, 0.95).state()
    with pytest.raises(InvalidParameter):
        SplitAnswers.from_state(state)
    with pytest.raises(InvalidParameter, match="asked"):
        GaussianAnswers.from_state(state | {"asked": K + 1})
    filtered = FilteredAnswers(N, K, 0.95).state()
    for spent in ("9", "-1", "x", None):
        with pytest.raises(InvalidParameter, match="state"):
            FilteredAnswers.from_state(filtered | {"spent": spent})


@pytest.mark.parametrize("name", MEANS)
@pytest.mark.parametrize(
    "values",
    [np.full(N, 1.5), np.full(N, np.nan), np.zeros(N - 1), np.zeros((N, 1)), ["a"] * N, np.full(N, -0.1), None, "abc"],
)
def test_wrong_values_spend_nothing(name: str, values: Any) -> None:
    answerer = MEANS[name](Seeded(1))
    with pytest.raises(InvalidParameter) as caught:
        answerer.mean(values)
    assert "1.5" not in str(caught.value)
    assert answerer.asked == 0


@pytest.mark.parametrize("name", MEANS)
@pytest.mark.parametrize(("low", "high"), [(1.0, 0.0), (0.5, 0.5), (np.nan, 1.0), (0.0, np.inf), ("a", 1.0)])
def test_wrong_ranges_spend_nothing(name: str, low: Any, high: Any) -> None:
    answerer = MEANS[name](Seeded(1))
    with pytest.raises(InvalidParameter):
        answerer.mean(np.zeros(N), low=low, high=high)
    assert answerer.asked == 0


@pytest.mark.parametrize("make", [GaussianAnswers, LaplaceAnswers, FilteredAnswers, SplitAnswers])
@pytest.mark.parametrize(
    "bad",
    [
        {"n": 0},
        {"n": 2.5},
        {"questions": 0},
        {"questions": -3},
        {"confidence": 0},
        {"confidence": 1},
        {"confidence": 95},
        {"confidence": float("nan")},
        {"source": 3},
    ],
)
def test_wrong_plans(make: Any, bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter, match=next(iter(bad))):
        make(**({"n": 100, "questions": 10, "confidence": 0.95} | bad))


def test_wrong_choices() -> None:
    for make in (
        lambda: GaussianAnswers(N, K, 0.95, method="splitting"),  # type: ignore[arg-type]
        lambda: LaplaceAnswers(N, K, 0.95, method="scheduled"),  # type: ignore[arg-type]
        lambda: SplitAnswers(N, K, 0.95, family="normal"),  # type: ignore[arg-type]
        lambda: SplitAnswers(10, 11, 0.95),
        lambda: SmallVarianceAnswers(N, K, 0.95, 0.6),
        lambda: FilteredAnswers(N, K, 0.95, largest_sigma=-1.0),
        lambda: LowSensitivityAnswers(N, K, 0.95, 0.0),
        lambda: MinimisationAnswers(N, K, 1, 0.95),
    ):
        with pytest.raises(InvalidParameter):
            make()


# Exactness of the mean.


def test_exact_mean_streams_and_rounds_row_by_row() -> None:
    rng = np.random.default_rng(3)
    values = rng.random(10_001)
    whole = exact_mean(values, 10_001)
    assert exact_mean(iter(np.array_split(values, 7)), 10_001) == whole
    assert exact_means(np.stack([values, 1 - values]).T, 10_001)[0] == whole
    truth = sum((Fraction(v) for v in values), Fraction(0)) / 10_001
    assert abs(whole - truth) <= VALUE_ERROR
    assert exact_mean(values > 0.5, 10_001) == Fraction(int((values > 0.5).sum()), 10_001)
    assert exact_mean((values > 0.5).astype(np.uint8), 10_001) == exact_mean((values > 0.5).astype(float), 10_001)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    values=st.lists(st.floats(-1000, 1000), min_size=1, max_size=20),
    low=st.floats(-2000, -1000),
    high=st.floats(1000, 2000),
)
def test_exact_mean_of_any_range(values: list[float], low: float, high: float) -> None:
    found = exact_mean(np.array(values), len(values), low, high)
    truth = sum((Fraction(v) for v in values), Fraction(0)) / len(values)
    length = Fraction(high) - Fraction(low)
    assert 0 <= found <= 1
    assert abs(Fraction(low) + length * found - truth) <= length * Fraction(VALUE_ERROR)


def test_changing_a_row_moves_the_exact_mean_by_at_most_its_share() -> None:
    """The sensitivity that the costs and the theorem rest on, after rounding row by row."""
    values = np.random.default_rng(4).random(997)
    moved = values.copy()
    values[500], moved[500] = 0.0, 1.0
    assert exact_mean(moved, 997) - exact_mean(values, 997) == Fraction(1, 997)


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
        (GaussianAnswers(10**5, 1000, 0.95), interval.scheduled(10**5, 1000, 0.05)),
        (GaussianAnswers(10**5, 1000, 0.95, method="posterior-shift"), interval.posterior_shift(10**5, 1000, 0.05)),
        (LaplaceAnswers(10**5, 1000, 0.95), interval.jung(10**5, 1000, 0.05, "laplace")),
    ):
        assert width.half_width < answers.half_width < width.half_width * (1 + 1e-5)
    assert GaussianAnswers(10**5, 1000, 0.95).half_width < 0.0498


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


# Splitting.


def test_split_looks_at_its_own_part_only() -> None:
    values = np.linspace(0, 1, N)
    answers, seen = SplitAnswers(N, K, 0.95), np.zeros(N, dtype=int)
    for _ in range(K):
        rows = answers.rows
        seen[rows] += 1
        bad = np.full(N, np.nan)  # rows of other parts are not looked at, not even to check them
        bad[rows] = values[rows]
        assert answers.mean(bad).value == pytest.approx(values[rows].mean())
    assert (seen == 1).all()
    assert answers.rows.size == 0
    answers = SplitAnswers(N, K, 0.95)
    assert answers.mean(values[answers.rows]).interval is not None


def test_split_parts_are_restored_and_differ_between_plans() -> None:
    answers, other = SplitAnswers(N, K, 0.95), SplitAnswers(N, K, 0.95)
    assert (answers.rows.tolist() == other.rows.tolist()) is False
    assert SplitAnswers(N, K, 0.95, source=Seeded(3)).rows.tolist() == [23, 48, 137, 183, 242, 270, 272, 274, 296, 308]
    answers.mean(np.zeros(N))
    state = json.loads(json.dumps(answers.state()))
    again = SplitAnswers.from_state(state)
    assert again.rows.tolist() == answers.rows.tolist()
    for order in (None, 7, "7", "g" * 32, state["order"] + "0"):
        with pytest.raises(InvalidParameter, match="order"):
            SplitAnswers.from_state(state | {"order": order})


def test_split_holds_on_a_sorted_file_and_parts_in_file_order_do_not() -> None:
    runs, n, k = 200, 2000, 10
    rng = np.random.default_rng(5)
    missed = in_file_order = 0
    for run in range(runs):
        values = np.sort(rng.random(n) < 0.3)
        answers = SplitAnswers(n, k, 0.95, source=Seeded(run))
        held = True
        for j in range(k):
            low, high = answers.mean(values).interval or (0.0, 1.0)
            held &= low <= 0.3 <= high
            in_file_order += j == 0 and not values[: n // k].mean() >= 0.3 - answers.half_width
        missed += not held
    assert missed <= binom.isf(1e-6, runs, 0.05)
    assert in_file_order == runs


def test_split_families() -> None:
    kl, hoeffding = (SplitAnswers(4000, 4, 0.95, family=f) for f in ("kl", "hoeffding"))  # type: ignore[arg-type]
    values = np.arange(1000) % 20 == 0  # of the part alone
    first, second = kl.mean(values), hoeffding.mean(values)
    assert second.half_width is not None
    assert first.half_width is not None
    assert first.half_width < 0.6 * second.half_width
    assert second.interval == pytest.approx((max(0.05 - hoeffding.half_width, 0), 0.05 + hoeffding.half_width))


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


def test_statistic_input() -> None:
    answers = LowSensitivityAnswers(N, K, 0.95, 1 / N)
    for wrong in (np.nan, "0.123", None, 2.0):
        with pytest.raises(InvalidParameter) as caught:
            answers.statistic(wrong, low=0, high=1)  # type: ignore[arg-type]
        assert "0.123" not in str(caught.value)
    with pytest.raises(InvalidParameter, match="low"):
        answers.statistic(0.5, low=1, high=0)
    assert answers.asked == 0
    answer = answers.statistic(0.999, low=0, high=1)
    assert answer.interval is not None
    assert answer.interval[1] <= 1
    assert LowSensitivityAnswers(N, K, 0.95, 1 / N, method="posterior-shift").statistic(3.0).cost is not None


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


def test_large_whole_numbers_and_long_floats_are_exact_or_refused() -> None:
    """As doubles, whole numbers beyond 2**53 and long floats lose digits that may be a large part of the range."""
    far = 2.0**60
    with pytest.raises(InvalidParameter, match="low and high"):
        exact_mean(np.array([2**60, 2**60 + 100, 2**60 + 200]), 3, far, far + 256)
    assert exact_mean(np.array([2**52, 2**52 + 1]), 2, 2.0**52, 2.0**52 + 1) == Fraction(1, 2)
    if np.finfo(np.longdouble).eps < 2.0**-60:
        long = np.longdouble(2.0**40) + np.array([0.3, 0.7], dtype=np.longdouble) * np.longdouble(2.0**-12)
        found = exact_mean(long, 2, 2.0**40, 2.0**40 + 2.0**-12)
        assert abs(float(found) - 0.5) < 1e-6


def test_a_masked_table_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="masked"):
        exact_means(np.ma.masked_array([[0.1], [0.2]], mask=[[True], [False]]), 2)


def test_blocks_of_a_long_column_cannot_overflow() -> None:
    """Sums are of numbers up to 2**40, so more than 2**23 of them would not fit 64 bits; a block holds fewer."""
    from holdfast.inference import exact_mean as module

    assert module._AT_ONCE << module.VALUE_BITS < 2**63


def test_half_widths_hold_what_rounding_adds() -> None:
    """Half a step of the answer's grid and the error of values put on theirs, as rationals; noise has the same grid."""
    for made in (GaussianAnswers(N, K, 0.95), GaussianAnswers(N, K, 0.95, method="jung")):
        added = Fraction(made.half_width) - Fraction(made.width.half_width)
        assert added >= made.grid.step / 2 + Fraction(VALUE_ERROR)
    law = LaplaceAnswers(N, K, 0.95)
    assert Fraction(law.half_width) - Fraction(law.width.half_width) >= law.grid.step * 3 / 2 + Fraction(VALUE_ERROR)
    other = LowSensitivityAnswers(N, K, 0.95, 1 / N)
    assert Fraction(other.half_width) - Fraction(other.width.half_width) >= other.grid.step / 2
    small = SmallVarianceAnswers(N, K, 0.95, 0.2)
    ideal = small.plan.half_width(small.plan.deviation)
    assert Fraction(small.half_width) - Fraction(ideal) >= small.grid.step / 2 + Fraction(VALUE_ERROR)


def test_what_does_not_fit_is_said_in_whole_sentences() -> None:
    answers = GaussianAnswers(N, 3, 0.95)
    for _ in range(3):
        answers.mean(np.zeros(N))
    with pytest.raises(BudgetExhausted, match="1 more question does not fit: 0 of 3 planned left"):
        answers.mean(np.zeros(N))
    with pytest.raises(InvalidParameter, match="1 to 5 numbers, got 6 of type float64"):
        MinimisationAnswers(N, K, 5, 0.95).minimise(np.zeros(6))
