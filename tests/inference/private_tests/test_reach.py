"""What is said before a test is what it then does: the smallest p-value, the replicates, and how often it decides."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from holdfast.inference.private_tests import (
    discrete_gaussian,
    discrete_laplace,
    gof,
    independence_batch,
    simulate_tables,
)
from holdfast.inference.private_tests.reach import GOF_CELLS, Reach, gof_reach, inconclusive_share, independence_reach


def test_replicates_follow_the_level_and_stop_at_a_bound_on_work() -> None:
    law = discrete_laplace(0.02)
    assert [gof_reach(1000, [0.5, 0.5], law, level).m for level in (0.05, 0.01, 1e-4)] == [999, 999, 99_999]
    far = gof_reach(50_000, [0.5, 0.5], law, 2e-6)
    assert (far.method, far.m) == ("monte-carlo-projected", GOF_CELLS // 2)
    beyond = gof_reach(50_000, [0.5, 0.5], law, 9e-7)
    assert (beyond.method, beyond.proved) == ("cell-bounds", "exact")


def test_the_smallest_p_value_is_given_by_counts_that_could_not_be_farther_off() -> None:
    reach = gof_reach(20_000, [0.5, 0.5], discrete_laplace(0.02), 1e-4)
    extreme = gof([0, 20_000], [0.5, 0.5], epsilon=0.02, method="monte-carlo-projected", m=reach.m)
    assert extreme.p_value == reach.least_p_value <= reach.level
    assert reach.can_reject


@pytest.mark.parametrize("level", [0.0, 1e-300])
def test_a_level_that_no_data_reach_is_told(level: float) -> None:
    for reach in (
        gof_reach(2000, [0.5, 0.5], discrete_laplace(0.01), level),
        independence_reach(2000, (2, 2), discrete_laplace(0.01), level),
        independence_reach(2000, (2, 2), discrete_gaussian(1e-4), level),
    ):
        assert not reach.can_reject
        assert "smaller" in reach.advice[-1]
        assert reach.to_dict()["can_reject"] is False


def test_what_would_be_enough_is_enough() -> None:
    law = discrete_laplace(0.02)
    reach = independence_reach(50_000, (2, 2), law, 4.7e-41)
    assert reach.advice == (
        "with 2 times the epsilon for this test some data could be rejected, and under a smaller privacy cap less "
        "would do",
    )
    assert not reach.can_reject
    assert independence_reach(50_000, (2, 2), discrete_laplace(0.04), 4.7e-41).can_reject


def test_a_limit_law_is_not_used_far_out() -> None:
    law = discrete_gaussian(0.001)
    assert independence_reach(50_000, (2, 2), law, 0.01).proved == "asymptotic"
    assert independence_reach(50_000, (2, 2), law, 9e-4).proved == "exact"


def test_small_cells_are_told_with_their_figure_before_the_budget_is_spent() -> None:
    """Six by six equally frequent categories, rho .01: about two tests in five decide nothing. Error below 1e-6."""
    n, law = 530, discrete_gaussian(0.01)
    reach = independence_reach(n, (6, 6), law, 0.05)
    assert 0.3 < reach.inconclusive < 0.5
    trials = 2000
    tables = simulate_tables(n, np.full((6, 6), 1 / 36), law, trials, np.random.default_rng(2))
    idle = trials - int(independence_batch(tables, n, law).conclusive.sum())
    for wrong, expected in ((0.0, True), (0.15, False), (-0.15, False)):
        low, high = binom.interval(1 - 1e-7, trials, reach.inconclusive + wrong)
        room = 0.06 * trials  # the figure comes from 1,000 tables itself
        assert bool(low - room <= idle <= high + room) is expected
    small, ways = reach.advice
    assert f"with probability about {reach.inconclusive:.3g}" in small
    assert ways == (
        "what brings that below 0.05: fewer categories, about 5 by 5, or 4 times the rho, or 2 times the rows"
    )
    assert inconclusive_share(n, (5, 5), law) < 0.06
    assert independence_reach(2 * n, (6, 6), law, 0.05).advice == ()


def test_a_table_that_is_always_inconclusive_can_reject_nothing() -> None:
    reach = independence_reach(50, (6, 6), discrete_laplace(0.01), 0.05)
    assert reach.inconclusive == 1
    assert not reach.can_reject
    assert isinstance(reach, Reach)


def test_huge_tables_are_foreseen_quickly_and_alike() -> None:
    """Above 144 cells sums of noise are drawn as normals: on both sides of the border the figures agree."""
    law = discrete_laplace(0.05)
    shares = [inconclusive_share(60_000, shape, law) for shape in ((12, 12), (12, 13))]
    assert abs(shares[0] - shares[1]) < 0.2
    assert inconclusive_share(10**6, (500, 500), law) == 1.0
