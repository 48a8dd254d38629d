from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from holdfast.bounds import interval
from holdfast.bounds.holdout import gaussian_threshold_accuracy, theorem25_parameters, theorem25_size
from holdfast.bounds.holdout.thresholdout import thresholdout_failure
from holdfast.errors import BudgetExhausted, GuaranteeUnavailable, InvalidParameter
from holdfast.holdout import Claim, GaussianThresholdout, Thresholdout, thresholdout
from holdfast.holdout.thresholdout import METHODS, ThresholdRules, planned
from holdfast.noise import Grid, Seeded, discrete_laplace_tail


class TestPlan:
    def test_certifies_every_answer_up_to_the_questions(self) -> None:
        holdout = Thresholdout.plan(0.3, 3, 1, source=Seeded(1))
        assert holdout.certified
        answers = [holdout.query_means(0.5, 0.5) for _ in range(4)]
        assert [a.guarantee.certified for a in answers] == [True, True, True, False]
        assert answers[0].interval == pytest.approx((0.2, 0.8))
        assert answers[0].guarantee.theorem == "holdout.thresholdout-failure"
        assert answers[2].remaining == {"overfits": 1, "questions": 0}
        assert answers[3].interval is None
        spoke = Thresholdout.plan(0.3, 3, 1, source=Seeded(1)).query_means(1.0, 0.0)
        assert spoke.value is not None
        assert spoke.interval is not None
        assert spoke.interval[0] == 0.0

    def test_one_sided_intervals(self) -> None:
        above = Thresholdout.plan(0.3, 3, 1, side="holdout_above", source=Seeded(2)).query_means(0.5, 0.5)
        below = Thresholdout.plan(0.3, 3, 1, side="train_above", source=Seeded(2)).query_means(0.5, 0.5)
        assert above.interval == (0.0, 0.8)
        assert below.interval == (0.2, 1.0)

    def test_ranges(self) -> None:
        unit, wide = Thresholdout.plan(0.3, 3, 1), Thresholdout.plan(3.0, 3, 1, low=-5, high=5)
        assert (wide.n, wide.certified) == (unit.n, True)
        assert wide.threshold == pytest.approx(10 * unit.threshold)
        assert wide.query_means(4.0, 4.0).interval == (1.0, 5.0)

    @pytest.mark.parametrize("method", ["best", "single-threshold", "theorem-25", "paper"])
    def test_methods(self, method: str) -> None:
        holdout = Thresholdout.plan(0.1, 1000, 10, method=method)  # type: ignore[arg-type]
        assert holdout.certified
        if method == "single-threshold":
            assert holdout.n < 600_000
            assert not holdout.scales_on_grid.refresh
        elif method != "best":
            assert holdout.n == math.ceil(theorem25_size(0.1, 0.05, 1000, 10))
            assert (holdout.threshold, holdout.sigma) == theorem25_parameters(0.1, 0.05, 1000)

    def test_budget_from_rows(self) -> None:
        budgets = []
        for method in ("best", "single-threshold"):
            holdout = Thresholdout.plan(0.1, 1000, n=3_000_000, method=method)  # type: ignore[arg-type]
            assert holdout.certified
            assert holdout.n == 3_000_000
            with pytest.raises(GuaranteeUnavailable):
                Thresholdout.plan(0.1, 1000, holdout.budget + 1, n=3_000_000, method=method)  # type: ignore[arg-type]
            budgets.append(holdout.budget)
        assert 10 < budgets[0] < budgets[1]
        assert Thresholdout.plan(0.9, 2, confidence=0.5, n=10**6).budget == 2  # never more than the questions

    def test_too_few_rows_are_said_in_plain_words(self) -> None:
        for budget in (None, 10):
            with pytest.raises(GuaranteeUnavailable, match=r"10000 rows are too few .* Splitting the rows needs"):
                Thresholdout.plan(0.1, 1000, budget, n=10_000)
        with pytest.raises(InvalidParameter, match="neither budget nor n"):
            Thresholdout.plan(0.1, 1000)
        with pytest.raises(InvalidParameter, match="tau"):
            Thresholdout.plan(-0.1, 1000, 1)

    def test_the_grid_never_takes_a_plan_away(self) -> None:
        for tau, sure, m, b in ((0.9, 0.5, 1, 1), (0.5, 0.99, 10, 5), (0.02, 0.95, 10**6, 3), (0.2, 0.999999, 100, 50)):
            assert Thresholdout.plan(tau, m, b, confidence=sure).certified
            assert Thresholdout.plan(tau, m, b, confidence=sure, method="single-threshold").certified

    def test_the_approximate_branch_of_theorem_25(self) -> None:
        # budgets of many thousands: the pure analysis needs more rows than the approximate one
        tau, beta, m, b = 0.1, 0.05, 10**6, 500_000
        n = math.ceil(theorem25_size(tau, beta, m, b, "exact"))
        assert n < theorem25_size(tau, beta, m, b, "pure")
        threshold, sigma = theorem25_parameters(tau, beta, m)
        assert Thresholdout(n, threshold, sigma, b, claim=Claim(tau, beta, m)).certified
        assert not Thresholdout(n // 3, threshold, sigma, b, claim=Claim(tau, beta, m)).certified


class TestClaim:
    def test_is_believed_only_with_a_proof(self) -> None:
        claim = Claim(0.1, 0.05, 1000)
        assert not Thresholdout(10_000, 0.075, 0.0002, 10, claim=claim).certified
        assert not Thresholdout(10**7, 0.2, 0.0002, 10, claim=claim).certified
        assert not Thresholdout(10**7, 0.075, 0.01, 10, claim=claim).certified
        assert Thresholdout(10**7, 0.075, 0.0002, 10, claim=claim).certified
        assert not Thresholdout(10**7, 0.075, 0.0002, 10, claim=Claim(0.1, 0.05, 1000, certified=False)).certified
        answer = Thresholdout(10_000, 0.075, 0.0002, 10, claim=claim).query_means(0.5, 0.5)
        assert not answer.guarantee.certified
        assert answer.interval is None

    def test_injected_noise_certifies_nothing(self) -> None:
        with pytest.raises(InvalidParameter, match="given by hand"):
            Thresholdout(10**7, 0.075, 0.0002, 10, claim=Claim(0.1, 0.05, 1000), draws=lambda *_: 0)

    @pytest.mark.parametrize("scale", [1, 3, 2048, 10**6])
    def test_a_step_covers_what_the_grid_does_to_laplace_noise(self, scale: int) -> None:
        # P[|discrete| >= j] = 2 q^j/(1 + q) <= q^(j-1) = P[|continuous| + 1 >= j], q = exp(-1/scale), for whole j >= 1
        q = math.exp(-1 / scale)
        for j in (1, 2, 3, 10, scale, 20 * scale):
            discrete = 2 * q**j / (1 + q)
            assert discrete == pytest.approx(discrete_laplace_tail(scale, j), rel=1e-9)
            assert discrete <= q ** (j - 1) * (1 + 1e-12)

    def test_wrong_input(self) -> None:
        for wrong in ((0, 0.05, 10), (0.1, 0, 10), (0.1, 1, 10), (0.1, 0.05, 0)):
            with pytest.raises(InvalidParameter):
                Claim(*wrong)
        with pytest.raises(InvalidParameter, match="certified"):
            Claim(0.1, 0.05, 10, 1)  # type: ignore[arg-type]


class TestGaussian:
    def test_says_that_nothing_is_certified(self) -> None:
        holdout = GaussianThresholdout(10_000, source=Seeded(1))
        answers = [
            holdout.query([0.7, 0.7], [0.71] * 10_000),
            holdout.query_values(-3.0, [12.0] * 10_000),
            holdout.query_means(0.5, 0.5),
            *holdout.query_batch([0.5], [0.9]),
        ]
        assert not any(a.guarantee.certified for a in answers)
        assert all(a.interval is None for a in answers)
        assert answers[1].value == pytest.approx(12, abs=0.1)
        assert (holdout.asked, holdout.overfits) == (4, 2)
        assert "not certified" in str(answers[0])
        assert "certified=False" in repr(holdout)

    def test_state_and_wrong_input(self) -> None:
        one, other = GaussianThresholdout(100, source=Seeded(3)), GaussianThresholdout(100, source=Seeded(3))
        other = GaussianThresholdout.from_state(other.state())
        assert [one.query_means(0.1, x / 9).value for x in range(9)] == [
            other.query_means(0.1, x / 9).value for x in range(9)
        ]
        before = one.state()
        for ask in (
            lambda: one.query_means(float("nan"), 0.1),
            lambda: one.query_means(0.1, float("inf")),
            lambda: one.query_values(0.1, [0.1] * 99),
            lambda: one.query_batch([0.1], [0.1, 0.2]),
            lambda: one.query_batch(["x"], [0.1]),
            lambda: GaussianThresholdout(100, mode="certified"),  # type: ignore[arg-type]
        ):
            with pytest.raises(InvalidParameter):
                ask()
        assert one.state() == before


class TestGaussianPlan:
    """A planned run of the experiment's Thresholdout, compared with an analyst of noisy means."""

    def test_two_decisions_differ_as_rarely_as_the_coupling_says(self) -> None:
        """The two chances of an overfit at every distance; half of what is set aside would not do."""
        threshold, noise = 0.04, 0.01
        distance = np.linspace(0, 0.2, 2001)
        drawn = ndtr((distance - threshold) / noise)
        compared = ndtr((distance - threshold) / noise) + ndtr((-distance - threshold) / noise)
        apart = np.abs(drawn - compared).max()
        assert apart <= ndtr(-threshold / noise) * (1 + 1e-9)
        assert apart > 0.5 * ndtr(-threshold / noise)

    def test_the_accuracy_at_the_published_parameters(self) -> None:
        """10,000 rows, 1,000 questions, 10 overfits; the parts are those of `k + B` noisy means of constant noise."""
        holdout = GaussianThresholdout(10_000, questions=1000, overfits=10)
        accuracy = gaussian_threshold_accuracy(10_000, 1000, 10, 0.05, 0.04, 0.01)
        assert accuracy <= holdout.accuracy <= accuracy + 1e-6  # type: ignore[operator]
        assert round(accuracy, 3) == 0.171
        left = 0.05 - 1000 * float(ndtr(-4.0))
        means = interval.sign_comparison(10_000, 1010, left, parameters=(1.0, 1.0, 0.0)).half_width
        assert accuracy == pytest.approx(means + 0.04, rel=1e-6)
        # neither fewer noisy means nor the whole failure probability is what was proved
        assert accuracy > interval.sign_comparison(10_000, 1000, left, parameters=(1.0, 1.0, 0.0)).half_width + 0.04
        assert gaussian_threshold_accuracy(10_000, 2000, 10, 0.05, 0.04, 0.01) == math.inf
        assert gaussian_threshold_accuracy(10_000, 1000, 100, 0.05, 0.04, 0.01) > accuracy
        assert GaussianThresholdout(10_000).accuracy is None

    def test_intervals_budgets_and_state(self) -> None:
        holdout = GaussianThresholdout(400, questions=6, overfits=2, source=Seeded(1))
        half = [1.0, 0.0] * 200
        passed = holdout.query_values(0.5, half)
        failed = holdout.query(np.zeros(4), half)
        assert (passed.passed, passed.value, failed.passed) == (True, 0.5, False)
        assert passed.interval == pytest.approx((0.5 - holdout.accuracy, 0.5 + holdout.accuracy), abs=1e-4)  # type: ignore[operator]
        assert failed.interval[1] - failed.interval[0] < passed.interval[1] - passed.interval[0]  # type: ignore[index]
        assert failed.guarantee.theorem == "holdout.gaussian-threshold-accuracy"
        assert failed.guarantee.certified
        assert failed.remaining == {"questions": 4, "overfits": 1}
        again = GaussianThresholdout.from_state(holdout.state())
        assert (again.accuracy, again.asked, again.overfits) == (holdout.accuracy, 2, 1)
        assert again.query_values(1.0, half).passed is False
        with pytest.raises(BudgetExhausted):
            again.query_values(0.5, half)
        for ask in (
            lambda: holdout.query_means(0.5, 0.5),
            lambda: holdout.query_batch([0.5], [0.5]),
            lambda: holdout.query_values(1.2, half),
            lambda: holdout.query_values(0.5, [2.0] * 400),
            lambda: GaussianThresholdout(400, overfits=3),
            lambda: GaussianThresholdout(400, questions=3, overfits=4),
            lambda: GaussianThresholdout(400, questions=3, confidence=1.0),
        ):
            with pytest.raises(InvalidParameter):
                ask()
        assert holdout.asked == 2
        with pytest.raises(GuaranteeUnavailable):
            GaussianThresholdout(400, threshold=0.1, noise=0.05, questions=100)

    def test_a_guess_at_the_threshold_fails_half_of_the_time(self) -> None:
        """4,000 comparisons: 1,842 to 2,158 is within 1e-6; a noise that is kept would fail none or all."""
        holdout = GaussianThresholdout(4, 0.25, 0.05, questions=4000, confidence=0.5, source=Seeded(5))
        failed = sum(holdout.query_values(0.25, [1.0, 1.0, 0.0, 0.0]).passed is False for _ in range(4000))
        assert 1842 <= failed <= 2158

    def test_the_threshold_is_part_of_the_accuracy(self) -> None:
        """At most 5% of runs may miss: 24 of 100 have probability below 1e-10. Without the threshold nearly all do."""
        misses = [0, 0]
        for run in range(100):
            random = np.random.default_rng(run)
            holdout = GaussianThresholdout(1000, 0.3, 0.04, questions=8, source=Seeded(run))
            rows, score, worst = random.random((1000, 7)) < 0.5, np.zeros(1000), 0.0
            for j in range(8):
                shown = holdout.query_values(0.76, rows[:, j] if j < 7 else score > 0)
                assert shown.value is not None
                worst = max(worst, abs(shown.value - 0.5))
                score += (0.0 if j == 7 else shown.value - 0.63) * (rows[:, min(j, 6)] - 0.5)
            misses[0] += worst > holdout.accuracy  # type: ignore[operator]
            misses[1] += worst > holdout._half_width
        assert misses[0] < 24
        assert misses[1] > 60


def test_a_claim_is_judged_by_the_noise_that_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a coarse grid scales grow and rounding counts: the theorem must be given what the run really does."""
    given: list[tuple[Any, ...]] = []

    def spy(*arguments: Any) -> float:
        given.append(arguments)
        return thresholdout_failure(*arguments)

    monkeypatch.setattr(thresholdout, "thresholdout_failure", spy)
    rules = ThresholdRules(100_000, 0.075, 0.01, 10, claim=Claim(0.1, 0.05, 100), grid=Grid(-12))
    assert not rules.certified
    drawn = rules.on_grid.realised
    assert drawn.threshold > 10 * 0.02  # a step is larger than what a row moves, so all scales are
    assert given[-1] == (
        *(100_000, 0.1, 100, 10, 0.075, drawn.threshold, drawn.comparison, drawn.release, "refresh", 1.0),
        *(4 * 2.0**-12, rules.cost.epsilon),
    )


def test_sums_that_are_rounded_count_as_sensitivity() -> None:
    """With very many rows what sums lose is no longer small next to what one row moves."""
    n = 10**12
    on_grid = ThresholdRules(n, 0.1, 0.01, 1).on_grid
    assert on_grid.sensitivity * on_grid.grid.step >= Fraction(1, n) + 2 * Fraction(1e-13)


@pytest.mark.parametrize("noise", [0.01, 0.007, 1.0, 3.3])
def test_the_experiments_grid_has_thousands_of_steps_in_its_noise(noise: float) -> None:
    step = float(GaussianThresholdout(10_000, noise=noise)._grid.step)
    assert noise / 8192 < step <= noise / 4096


@pytest.mark.parametrize("method", METHODS)
def test_a_plan_scales_with_the_range_of_the_answers(method: Any) -> None:
    one = planned(0.1, 0.05, 100, 5, None, method, 0.0, 1.0)
    two = planned(0.2, 0.05, 100, 5, None, method, -0.5, 1.5)
    assert two.n == one.n
    assert two.threshold == pytest.approx(2 * one.threshold)
    with pytest.raises(InvalidParameter, match="n must be"):
        planned(0.1, 0.05, 100, None, 0, method, 0.0, 1.0)
    for tau in (0.0, -0.1):
        with pytest.raises(InvalidParameter, match="tau must be"):
            planned(tau, 0.05, 100, 5, None, method, 0.0, 1.0)


def test_a_stated_sensitivity_is_taken_as_it_is() -> None:
    """Nothing is added for rounded sums, which are the caller's, and the whole range is not assumed."""
    rules = ThresholdRules(n=10_000, threshold=0.04, sigma=0.001, budget=3, sensitivity=Fraction(1, 10_000))
    on_grid = rules.on_grid
    assert on_grid.sensitivity == math.ceil(Fraction(1, 10_000) / on_grid.grid.step)


def test_intervals_stay_within_the_range_of_the_answers() -> None:
    found = Thresholdout.plan(0.1, 100, 5)
    rules = found._rules
    for value, over, expected in (
        (0.5, True, (0.4, 0.6)),
        (-0.2, True, (0.0, 0.0)),
        (1.3, True, (1.0, 1.0)),
        (0.05, False, (0.0, 0.15)),
        (0.98, False, (0.88, 1.0)),
    ):
        assert rules._interval(value, over) == pytest.approx(expected)
