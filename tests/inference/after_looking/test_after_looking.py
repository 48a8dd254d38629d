"""Corrections after looking: vectors, and properties of levels and adjusted p-values."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.accounting import GDP, ZCDP, ApproxDP, Bits, PureDP
from holdfast.accounting.costs import Cost
from holdfast.bounds.p_value import level_after_approx_dp, level_after_pure_dp
from holdfast.bounds.transfer import interleaved
from holdfast.inference import AfterLooking
from tests.inference.after_looking.looking import looking

# Vectors: spec-max-information 3.3, 3.4 and 6.


def test_worked_example_a_is_beaten_by_the_sharper_curve() -> None:
    """3.4 A: the printed form rejects at 0.0123520; ours is the sharper curve, so above it and above 0.0153048."""
    found = looking(1000, PureDP(0.02)).level(0.05)
    assert found.value >= level_after_pure_dp(0.05, 0.02, 1000).value > 0.0153048
    assert found.value == pytest.approx(0.0219327, rel=1e-5)
    assert looking(1000, PureDP(0.02)).adjusted(0.02) <= 0.07838351883


def test_worked_example_f_in_either_order() -> None:
    """3.4 F: 4 bits and (0.001, 1e-12)-DP on 10,000 rows, interleaved: 1.58454e-3, whatever the order."""
    steps = (Bits(4), ApproxDP(0.001, 1e-12))
    for order in (steps, steps[::-1]):
        assert looking(10_000, *order).level(0.05).value == pytest.approx(1.58454e-3, rel=1e-5)


def test_worked_example_e_composes_before_it_converts() -> None:
    """3.4 E: 10,000 steps of 1e-6 on a million rows; advanced composition and Theorem S gave log2 = -10.774."""
    found = looking(1_000_000, *[PureDP(1e-6)] * 10_000).plan()
    assert found.level.log2_level > -10.774
    assert found.route == "private steps composed, then Theorem S+"


def test_table_of_penalties() -> None:
    """3.3 and 2.5: S+ at delta = 1e-12 and the pure curve, n = 10,000."""
    for c, approx, pure in (
        (0.1, 0.0346, 0.0441),
        (0.5, 0.01125, 0.0261),
        (1, 0.00222, 0.01278),
        (2, 4.12e-5, 0.00255),
    ):
        epsilon = c / 100
        assert looking(10_000, ApproxDP(epsilon, 1e-12)).level().value == pytest.approx(approx, rel=5e-3)
        assert pure * 0.995 <= looking(10_000, PureDP(epsilon)).level().value <= pure * 1.05


def test_looks_alone_are_bonferroni() -> None:
    assert looking(100, Bits.of_values(16)).level(0.05).value == pytest.approx(0.05 / 16, rel=1e-12)
    assert looking(100, Bits(3), Bits(2)).adjusted(1e-4) == pytest.approx(32e-4, rel=1e-12)
    assert looking(100).level(0.05).value == 0.05
    assert looking(100).adjusted(0.3) == 0.3
    assert looking(100, Bits(5), nulls="any").level(0.05).value == pytest.approx(0.05 / 32, rel=1e-12)


def test_bits_share_alpha_out() -> None:
    """The identity behind the routes: interleaving b bits is the private level at alpha / 2**b."""
    direct = max(
        (0.05 - beta) * 2.0 ** -interleaved(4, 0.005, 10_000, beta).bits for beta in np.geomspace(1e-6, 0.049, 4000)
    )
    found = looking(10_000, Bits(4), PureDP(0.005)).level(0.05).value
    assert direct * (1 - 1e-9) <= found <= direct * 1.05  # ours also frees the order lambda


def test_any_law_is_group_privacy() -> None:
    assert looking(100, PureDP(0.001), nulls="any").level(0.05).value == pytest.approx(0.05 * math.exp(-0.1), rel=1e-9)
    for cost in (GDP(1e-4), ZCDP(1e-8), ApproxDP(1e-4, 1e-9)):
        assert 0.02 < looking(100, cost, nulls="any").level(0.05).value < 0.05
    assert looking(1000, ApproxDP(0.1, 1e-9), nulls="any").level(0.05).is_vacuous
    assert looking(1000, ApproxDP(0.1, 1e-9), nulls="any").adjusted(0.0) == 1.0


# Properties.

COSTS = st.one_of(
    st.builds(PureDP, st.floats(1e-4, 0.3)),
    st.builds(Bits, st.floats(0, 12)),
    st.builds(ApproxDP, st.floats(1e-4, 0.05), st.floats(1e-14, 1e-8)),
)


@settings(deadline=None, derandomize=True, max_examples=8)
@given(st.lists(COSTS, max_size=3), st.integers(20, 20_000), st.floats(1e-3, 0.3), st.sampled_from(["product", "any"]))
def test_level_and_adjusted_are_inverse(costs: list[Cost], n: int, alpha: float, nulls: Any) -> None:
    found = looking(n, *costs, nulls=nulls)
    level = found.level(alpha)
    assert level.value <= alpha
    assume(1e-200 < level.value < 0.9)
    assert found.adjusted(level.value) <= alpha * (1 + 1e-6)
    assert found.adjusted(min(1.0, level.value * 1.01)) >= alpha * (1 - 1e-6)


@settings(deadline=None, derandomize=True, max_examples=8)
@given(st.lists(COSTS, max_size=3), st.lists(st.floats(0, 1), min_size=2, max_size=3))
def test_adjusted_is_monotone_and_never_below_the_ordinary(costs: list[Cost], values: list[float]) -> None:
    found = looking(500, *costs)
    adjusted = [found.adjusted(p) for p in sorted(values)]
    assert all(a >= p for a, p in zip(adjusted, sorted(values), strict=True))
    assert all(a <= b * (1 + 1e-9) for a, b in itertools.pairwise(adjusted))


@settings(deadline=None, derandomize=True, max_examples=6)
@given(st.lists(COSTS, min_size=1, max_size=3), COSTS, st.integers(50, 5000))
def test_more_is_never_cheaper_and_order_does_not_matter(costs: list[Cost], extra: Cost, n: int) -> None:
    before = looking(n, *costs).level(0.05).log2_level
    after = looking(n, *costs, extra).level(0.05).log2_level
    assert after <= before + 1e-3  # the searches are exact to that
    assert looking(n, extra, *costs).level(0.05).log2_level == pytest.approx(after, rel=1e-9)
    assert looking(n, *costs, nulls="any").level(0.05).log2_level <= before + 1e-9


@pytest.mark.parametrize("costs", [(GDP(3e-4),), (ZCDP(1e-8), ApproxDP(1e-3, 1e-12))])
def test_concentrated_levels_and_adjusted_agree(costs: tuple[Cost, ...]) -> None:
    found = looking(2000, *costs, Bits(1))
    level = found.level(0.05)
    assert 0 < level.value < 0.025
    assert found.adjusted(level.value) == pytest.approx(0.05, rel=2e-3)
    mixed = looking(2000, *costs).level(0.025).value
    assert level.value == pytest.approx(mixed, rel=1e-9)  # one bit is half of alpha


def test_concentrated_is_never_below_one_conversion() -> None:
    from holdfast.bounds.zcdp import zcdp_to_dp

    found = looking(10_000, ZCDP(1e-8)).level(0.05).value
    for delta in (1e-8, 1e-10, 1e-12):
        assert found >= 0.98 * level_after_approx_dp(0.05, zcdp_to_dp(1e-8, delta), delta, 10_000).value


def test_huge_bits_and_huge_epsilon_stay_in_logarithms() -> None:
    assert looking(100, Bits(5000)).level(0.05).log2_level == pytest.approx(math.log2(0.05) - 5000)
    assert looking(100, Bits(5000), PureDP(0.01)).level(0.05).log2_level < -5000
    assert looking(100, Bits(5000), ApproxDP(0.01, 1e-9)).level(0.05).is_vacuous
    any_law = looking(100, Bits(5000), PureDP(0.01), nulls="any").level(0.05)
    exact = math.log2(0.05) - 5000 - 100 * 0.01 * math.log2(math.e)
    assert exact - 1e-9 < any_law.log2_level <= exact
    assert looking(100, Bits(5000), ApproxDP(0.01, 1e-9), nulls="any").level(0.05).is_vacuous
    plan = looking(1000, PureDP(300.0)).plan()
    assert plan.hopeless
    assert "below any float" in str(plan)
    assert looking(1000, PureDP(300.0)).adjusted(1e-300) == 1.0


@pytest.mark.parametrize("epsilon", [1e-6, 0.05, 1.0])
def test_many_choices_of_few_values_are_never_worse_than_bonferroni_nor_than_privacy(epsilon: float) -> None:
    """More choices than can be read in every combination: the cheapest are read as looks first, then all of them."""
    sizes = (50, 2, 7, 3, 400, 2, 5, 11)
    made = AfterLooking(1000)
    for values in sizes:
        made.record(PureDP(epsilon), values=values)
    found = made.level(0.05).log2_level
    assert found >= math.log2(0.05 / math.prod(sizes)) - 1e-9
    assert found >= looking(1000, *[PureDP(epsilon)] * len(sizes)).level(0.05).log2_level
    few = AfterLooking(1000)
    for values in sorted(sizes)[:6]:
        few.record(PureDP(epsilon), values=values)
    assert found <= few.level(0.05).log2_level  # two steps more never help


def test_holm_steps_down_and_never_back() -> None:
    found = looking(100).correct_family([0.04, 0.01, 0.03, 0.005])
    assert [c.p for c in found] == pytest.approx([0.06, 0.03, 0.06, 0.02])


def test_the_best_route_after_seeing_p_rejects_no_more_than_one_level() -> None:
    """Routes are nested: adjusted p at most alpha means p at most the largest level, but for a search's tolerance."""
    made = AfterLooking(200).record(PureDP(0.05), values=40).record(Bits(1))
    u = made.level(0.05).value
    assert made.adjusted(u) <= 0.05 * (1 + 1e-9)
    assert made.adjusted(u * 1.01) > 0.05
