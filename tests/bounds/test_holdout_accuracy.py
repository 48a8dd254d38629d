"""Widths of holdouts as functions of the rows, and the single threshold: against the specification, sizes and noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.holdout import (
    ladder_tail,
    ladder_width,
    plan_tight,
    single_threshold_accuracy,
    single_threshold_size,
    sparse_validate_size,
    sparse_validate_width,
    split_size,
    split_width,
    thresholdout_accuracy,
    thresholdout_size,
)
from holdfast.bounds.holdout.thresholdout import thresholdout_failure
from holdfast.errors import InvalidParameter


@pytest.mark.parametrize(
    ("questions", "budget", "rows"), [(10**3, 10, 9.26e5), (10**6, 10**3, 1.20e8)], ids=["4.3 row 1", "4.3 row 2"]
)
def test_single_threshold_of_the_specification(questions: int, budget: int, rows: float) -> None:
    printed = single_threshold_size(0.1, 0.05, questions, budget, method="paper")
    assert float(f"{printed.value:.3g}") == rows
    sharper = single_threshold_size(0.1, 0.05, questions, budget)
    assert sharper.value < printed.value
    assert sharper.value < plan_tight(0.1, 0.05, questions, budget).n


def test_single_threshold_passes_the_test_of_given_scales() -> None:
    plan = single_threshold_size(0.1, 0.05, 1000, 10)
    scales = (plan.threshold_scale, plan.question_scale, plan.release_scale)
    assert thresholdout_failure(plan.n, 0.1, 1000, 10, plan.threshold, *scales, "single") <= 0.05
    assert thresholdout_failure(plan.n // 2, 0.1, 1000, 10, plan.threshold, *scales, "single") > 0.05


@pytest.mark.parametrize(("factor", "holds"), [(1.0, True), (1.5, False)])
def test_single_threshold_noise_fails_as_rarely_as_claimed(factor: float, holds: bool) -> None:
    """Error rate below 1e-6: at most beta/2 = 0.25 is claimed; 40,000 runs, six standard errors. 1.5 times the scales
    must be caught, so the claim is not met by far."""
    beta, m, b, runs = 0.5, 200, 5, 40_000
    plan = single_threshold_size(0.2, beta, m, b)
    rng = np.random.default_rng(1)
    noise, release = (plan.tau - plan.theta) / 4, plan.tau - (plan.tau - plan.theta) / 4
    threshold = np.abs(rng.laplace(0, factor * plan.threshold_scale, runs))
    # the largest of m comparison noises, by its distribution function
    largest = -factor * plan.question_scale * np.log1p(-(rng.random(runs) ** (1 / m)))
    released = -factor * plan.release_scale * np.log1p(-(rng.random(runs) ** (1 / b)))
    failed = float(np.mean((threshold + largest > noise) | (released > release)))
    slack = 6 * math.sqrt(0.25 * 0.75 / runs)
    assert (failed <= beta / 2 + slack) is holds


@pytest.mark.parametrize("method", ["best", "theorem-25", "paper"])
@pytest.mark.parametrize(("n", "questions", "budget"), [(2 * 10**6, 1000, 10), (10**8, 50, 50), (10**10, 10**6, 1000)])
def test_accuracy_is_the_inverse_of_the_size(method: str, n: int, questions: int, budget: int) -> None:
    tau = thresholdout_accuracy(n, 0.05, questions, budget, method)  # type: ignore[arg-type]
    assert thresholdout_size(tau, 0.05, questions, budget, method).value <= n  # type: ignore[arg-type]
    assert thresholdout_size(tau * (1 - 1e-6), 0.05, questions, budget, method).value > n  # type: ignore[arg-type]


def test_single_threshold_accuracy_is_the_inverse_of_its_size() -> None:
    tau = single_threshold_accuracy(10**6, 0.05, 1000, 10)
    assert single_threshold_size(tau, 0.05, 1000, 10).n <= 10**6
    assert single_threshold_size(tau * (1 - 1e-6), 0.05, 1000, 10).n > 10**6
    assert single_threshold_accuracy(10, 0.05, 1000, 10) == math.inf


@given(st.integers(2, 10**6), st.integers(1, 30), st.floats(0.001, 0.3), st.floats(0.01, 0.4))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_closed_widths_invert_closed_sizes(m: int, budget: int, beta: float, tau: float) -> None:
    n = math.ceil(sparse_validate_size(tau, beta, m, budget))
    assert sparse_validate_width(n, beta, m, budget) <= tau * (1 + 1e-12)
    if n > 1:
        assert sparse_validate_width(n - 1, beta, m, budget) > tau * (1 - 1e-9)
    budget = min(budget, m)
    part = math.ceil(split_size(tau, beta, m, budget, theta=0.0) / budget)
    assert split_width(part * budget, beta, m, budget) <= tau / 2 * (1 + 1e-12)
    assert split_width(budget - 1, beta, m, budget) == math.inf if budget > 1 else True


def test_without_failures_nothing_is_learned() -> None:
    plain = math.sqrt(math.log(2 * 1000 / 0.05) / (2 * 10_000))
    assert sparse_validate_width(10_000, 0.05, 1000, 0) == pytest.approx(plain, rel=1e-12)
    assert split_width(10_000, 0.05, 1000, 1) == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize(("n", "submissions", "beta"), [(10_000, 1000, 0.05), (300, 5, 0.2), (10**6, 10**5, 1e-6)])
def test_ladder_width_is_the_best_of_its_tail(n: int, submissions: int, beta: float) -> None:
    found = ladder_width(n, beta, submissions)
    assert ladder_tail(n, found.error, found.step, submissions) <= beta
    assert ladder_tail(n, found.error * (1 - 1e-9), found.step, submissions) > beta * (1 - 1e-9)
    for step in np.geomspace(0.002, 0.9, 60):  # no step of the same tail does better
        error = found.value - float(step)
        if error > 0:
            assert ladder_tail(n, min(1.0, error), float(step), submissions) > beta * (1 - 1e-9)


def test_wrong_input_names_its_range() -> None:
    with pytest.raises(InvalidParameter, match="budget must be a whole number"):
        thresholdout_accuracy(100, 0.05, 5, 6)
    with pytest.raises(InvalidParameter, match="beta must be a number"):
        ladder_width(100, 0.0, 5)
