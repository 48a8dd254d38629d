"""Theorem D as an odometer: the table of the specification, the sum of all parts, and what an attack does to it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from holdfast.bounds.interval import sign_comparison_open, signs
from holdfast.bounds.interval.open_end import OpenPlan, open_plan
from holdfast.errors import InvalidParameter

ASKED = (1, 10, 30, 100, 300, 1000)


@pytest.mark.parametrize(
    ("n", "sigma", "excess", "expected", "smaller"),
    [
        (100_000, 0.0035, 0.05, (0.0107, 0.0172, 0.0209, 0.0261, 0.0330, 0.0450), 3e-3),
        # the table's levels start at 1.5 times the last width; here they start nearer, which is up to 2% narrower
        (10_000, 0.012, 0.075, (0.0367, 0.0583, 0.0703, 0.0875, 0.1101, 0.1505), 2e-2),
    ],
)
def test_the_table_of_the_specification(
    n: int, sigma: float, excess: float, expected: tuple[float, ...], smaller: float
) -> None:
    plan = OpenPlan(n, 0.05, n * sigma * sigma, excess)
    for question, width in zip(ASKED, expected, strict=True):
        assert (1 - smaller) * width - 6e-5 <= plan.half_width(question) <= width + 2e-4


def _spent(plan: OpenPlan, questions: int, shrink: float) -> float:
    """The sum of the main terms of Theorem D at these widths times `shrink`, computed one question at a time."""
    clock, total = 0.0, 0.0
    for j in range(1, questions + 1):
        a = plan.half_width(j) * math.sqrt(plan.n)
        part = signs.second_sample(plan.n, plan.excess) * plan.beta / (j * (j + 1))
        level = (a + 2) / math.sqrt(plan.n)  # the least first level
        g = min(2.0, 1 + level * level + math.sqrt(-2 * math.log(0.01 * part) / plan.n))
        v = ((j - 1) / (4 * plan.s2) + 1 / plan.s2) / plan.n
        delta = float(signs.sign_excess_rate(np.array([v]))[0]) * (clock + g / (2 * plan.s2))
        total += math.exp(delta + signs.log_kappa(shrink * a - plan.excess, plan.s2, g / 2, clock, j - 1))
        clock += g / (8 * plan.s2)
    return total / signs.second_sample(plan.n, plan.excess)


def test_all_parts_together_stay_below_beta_and_narrower_widths_do_not() -> None:
    plan = open_plan(1000, 0.05, 50)
    assert 0.04 < _spent(plan, 150, 1.0) <= 0.96 * 0.05
    assert _spent(plan, 150, 0.95) > 0.05


def test_widths_rise_with_the_question_and_fall_with_rows_and_beta() -> None:
    plan = open_plan(1000, 0.05, 100)
    widths = [plan.half_width(j) for j in range(1, 400)]
    assert all(later >= earlier for earlier, later in itertools.pairwise(widths))
    assert open_plan(4000, 0.05, 100).half_width(50) < widths[49]
    assert open_plan(1000, 0.2, 100).half_width(50) < widths[49]
    assert sign_comparison_open(1000, 50, 0.05, 100).value == widths[49]
    # what an open end costs next to a number fixed in advance
    assert 1 < open_plan(1000, 0.05, 100).half_width(100) / signs.sign_plan(1000, 100, 0.05).half_width < 1.6


def test_the_attack_along_the_posterior_mean_stays_inside() -> None:
    """One run in 20 may miss: 37 of 200 has probability below 1e-10. Four tenths of the width are left in most runs."""
    n, k, runs = 400, 60, 200
    plan = open_plan(n, 0.05, k)
    widths = np.array([plan.half_width(j) for j in range(1, k + 1)])
    random, worst = np.random.default_rng(5), np.empty(runs)
    for run in range(runs):
        bits = (random.random((n, k - 1)) < 0.5) - 0.5
        noise = plan.sigma * random.standard_normal(k)
        shown = bits.mean(axis=0) + noise[:-1]
        last = float(np.mean(bits @ shown > 0)) - 0.5 + noise[-1]
        worst[run] = max(np.max(np.abs(shown) / widths[:-1]), abs(last) / widths[-1])
    assert np.count_nonzero(worst > 1) < 37
    assert np.count_nonzero(worst > 0.4) > 100


def test_wrong_input_is_refused_by_name() -> None:
    for name, value in (("questions", 0), ("questions", 100_001), ("tuned_for", 0), ("noise", "laplace")):
        with pytest.raises(InvalidParameter, match=name):
            sign_comparison_open(**{"n": 1000, "questions": 5, "beta": 0.05} | {name: value})  # type: ignore[arg-type]
