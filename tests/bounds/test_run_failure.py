from __future__ import annotations

import math

import numpy as np
import pytest

from holdfast.bounds.holdout import plan_tight, single_threshold_size, thresholdout_failure, tight_sigma
from holdfast.bounds.sparse_vector import sparse_vector_split
from holdfast.errors import InvalidParameter


def test_is_at_most_beta_where_the_planner_says_so() -> None:
    for tau, beta, m, b in ((0.1, 0.05, 1000, 10), (0.2, 0.01, 100, 1), (0.05, 0.1, 10**6, 100)):
        plan = plan_tight(tau, beta, m, b)
        assert plan.sigma is not None
        assert plan.threshold is not None
        s = plan.sigma
        failure = thresholdout_failure(plan.n, tau, m, b, plan.threshold, 2 * s, 4 * s, s)
        assert failure <= beta
        assert failure > beta / 100  # and it is about the same analysis
        fewer = thresholdout_failure(plan.n // 2, tau, m, b, plan.threshold, 2 * s, 4 * s, s)
        assert fewer > beta


def test_falls_with_rows_and_accuracy_and_rises_with_questions() -> None:
    s = tight_sigma(0.1, 0.025, 1000, 10)

    def failure(n: int = 2 * 10**6, tau: float = 0.1, m: int = 1000, b: int = 10) -> float:
        return thresholdout_failure(n, tau, m, b, 0.075, 2 * s, 4 * s, s)

    assert failure(n=4 * 10**6) <= failure() <= failure(n=10**6)
    assert failure(tau=0.11) <= failure() <= failure(tau=0.099)
    assert failure() <= failure(m=2000)
    assert failure(b=9) <= failure() <= failure(b=11)
    assert failure(tau=0.075) == 1.0


def test_noise_part_covers_the_simulated_worst_case() -> None:
    # without generalisation error (a huge sample): noise alone, against a direct simulation of the maximum
    rng = np.random.default_rng(1)
    m, b, sigma, runs = 20, 3, 0.01, 20_000
    gamma = np.abs(rng.laplace(scale=2 * sigma, size=(runs, b))).max(axis=1)  # an analyst who stays in the worst
    eta = np.abs(rng.laplace(scale=4 * sigma, size=(runs, m))).max(axis=1)
    for room in (0.3, 0.4):
        truth = float((gamma + eta > room).mean())
        bound = thresholdout_failure(10**17, 1.0 + room, m, b, 1.0, 2 * sigma, 4 * sigma, sigma)
        spread = 5 * math.sqrt(truth / runs)
        assert truth - spread <= bound <= 1.6 * truth + spread


def test_single_threshold_needs_less() -> None:
    n, m, b = 4_000_000, 1000, 10
    sigma = tight_sigma(0.1, 0.025, m, b)
    epsilon = 2 * b / (sigma * n)
    split = sparse_vector_split(epsilon / 2, b)  # the same epsilon, the same noise on released values
    single = (1 / n / split.threshold, 2 * b / n / split.questions, sigma)
    failures = [
        thresholdout_failure(n, 0.1, m, b, 0.075, 2 * sigma, 4 * sigma, sigma),
        thresholdout_failure(n, 0.1, m, b, 0.075, *single, form="single"),
    ]
    assert failures[1] < failures[0] / 1000


def test_threshold_noise_as_large_as_the_comparison() -> None:
    assert 0 < thresholdout_failure(10**10, 0.5, 10, 2, 0.1, 0.01, 0.005, 0.001) < 1e-6


def test_agrees_with_the_single_threshold_planner() -> None:
    plan = single_threshold_size(0.1, 0.05, 1000, 10)
    scales = (plan.threshold_scale, plan.question_scale, plan.release_scale)
    assert 0.001 < thresholdout_failure(plan.n, 0.1, 1000, 10, plan.threshold, *scales, form="single") <= 0.05


def test_wrong_input() -> None:
    good = {"n": 100, "tau": 0.1, "questions": 10, "budget": 1, "threshold": 0.05}
    scales = {"threshold_scale": 0.01, "comparison_scale": 0.01, "release_scale": 0.01}
    for wrong in ({"n": 0}, {"tau": 0}, {"budget": 0}, {"release_scale": 0}, {"form": "both"}, {"unit": -1}):
        with pytest.raises(InvalidParameter):
            thresholdout_failure(**(good | scales | wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize(("n", "release"), [(1000, 1e-6), (2000, 0.012), (4000, 0.01)])
def test_no_division_of_the_room_beats_the_sum_of_its_parts(n: int, release: float) -> None:
    """With quiet comparisons and no privacy to pay, what is left are releases and means: minimised on a fine grid."""
    tau, threshold, questions, budget = 0.2, 0.1, 50, 5
    found = thresholdout_failure(n, tau, questions, budget, threshold, 1e-6, 1e-6, release, epsilon=0.0)
    least = min(
        budget * math.exp(-(tau - g) / release) + 2 * questions * math.exp(-2 * g * g * n)
        for g in (0.1 * i / 10_000 for i in range(1, 10_001))
    )
    assert least * (1 - 1e-9) <= found <= 1.05 * least < 0.5
