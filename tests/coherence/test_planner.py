"""The planner: plans, protected groups, the frontier, and what released costs promise."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from holdfast.accounting import (
    GDP,
    ZCDP,
    AllOf,
    ApproxDP,
    BasicFilter,
    Bits,
    BitsFilter,
    GDPFilter,
    IndividualFilter,
    PureDP,
    RenyiFilter,
    RogersFilter,
    ZCDPFilter,
)
from holdfast.bounds import coherence as bounds
from holdfast.bounds.numerics.exact import digits_down, digits_up
from holdfast.coherence.planner import frontier, frontier_plot, plan_epsilon, protected_groups, table_1
from holdfast.coherence.released import promised, released, totals
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

BETA = math.exp(-30)


def test_plan_lists_every_route_and_goes_by_the_asked_one() -> None:
    plan = plan_epsilon(0.2, BETA, 100, 5_000_000, 250_000, "sharp", "large")
    assert plan.epsilon == pytest.approx(0.0284369650, abs=1e-10)
    assert plan.best.epsilon == pytest.approx(0.0402159355, abs=1e-10)
    assert plan.chosen.name == "Theorem 7, sharp"
    assert [route.privacy for route in plan.routes].count("approx") == 3
    assert "10% of the group" in plan.words()[1]
    assert plan.to_dict()["methods"][0]["epsilon"] == plan.best.epsilon
    lenses = plan_epsilon(0.2, BETA, 100, 5_000_000, 250_000, "paper", lenses=5)
    assert lenses.epsilon == pytest.approx(0.0119986102, abs=1e-10)


def test_infeasible_plan_says_why_and_what_would_do() -> None:
    plan = plan_epsilon(0.2, 0.01, 20, 30_000, 1_500, "paper")
    assert not plan.feasible
    assert plan.epsilon == 0
    assert "too small for alpha = 0.2: at least 12,245" in plan.words()[0]
    least = math.ceil(plan.least["sharp"])
    assert f"more than {least:,} rows" in plan.words()[1]
    assert plan_epsilon(0.2, 0.01, 20, 30_000, least + 1, "sharp").feasible
    assert not plan_epsilon(0.2, 0.01, 20, 30_000, least - 1, "sharp").feasible
    none = plan_epsilon(0.01, 0.01, 20, 1_000, 500)
    assert "in any mode" in none.words()[1]
    with pytest.raises(InvalidParameter, match="population"):
        plan_epsilon(0.2, 0.01, 20, 30_000, 1_500, "corrected", "finite")


def test_table_1_to_ten_digits() -> None:
    printed = [
        0.0034437852,
        0.0120906597,
        0.0201088061,
        0.0279952292,
        0.0592259840,
        0.0670078836,
        0.0981040346,
        0.1058735886,
    ]
    assert [row["paper"] for row in table_1()] == pytest.approx(printed, abs=0.51e-10)
    assert all(row["size needed"] <= 250_000 for row in table_1())


@pytest.mark.parametrize("mode", ["paper", "sharp"])
def test_protected_groups_agree_with_the_plan(mode: bounds.Mode) -> None:
    sizes = {f"g{i}": s for i, s in enumerate((1_000_000, 200_000, 50_000, 15_000, 3_000, 0))}
    epsilon = 0.01
    for group in protected_groups(epsilon, 0.2, 0.01, sizes, 1_000_000, mode, "large"):
        allowed = 0.0
        if group.size:
            allowed = bounds.pure_dp_epsilon(0.2, 0.01, len(sizes), 1_000_000, group.size, mode, "large").epsilon
        assert group.protected == (allowed >= epsilon)
        assert group.protected == (group.alpha <= 0.2)
    with pytest.raises(InvalidParameter, match="sizes"):
        protected_groups(0.01, 0.2, 0.01, {}, 1_000_000)


def test_frontier_is_monotone_and_below_its_ceiling() -> None:
    rows = frontier(0.01, 20, 1_000_000, mode="sharp", population="finite")
    for row in rows:
        assert row["epsilon"] < row["ceiling"] * (1 + 1e-6)  # kappa is a little below 2
    for size in {row["size"] for row in rows}:
        line = [row["epsilon"] for row in rows if row["size"] == size]
        assert line == sorted(line)
    assert frontier_plot(rows, "t").to_dict()["layer"]
    with pytest.raises(InvalidParameter, match="sizes"):
        frontier(0.01, 20, 1_000_000, [])


def test_released_pure_costs_are_theorem_7_on_twice_the_rows() -> None:
    found = released([PureDP(0.1)] * 3, 500_000, 0.01, 20, "paper", "large")
    assert found.spent.pure == 0.3
    assert found.size(0.9).size == bounds.pure_dp_size(0.9, 0.01, 20, 1_000_000, 0.3, "paper").size
    for size in (400_000, 1_000_000):
        kept = found.alpha(size)
        assert found.size(kept).size <= size
    assert released([PureDP(0.6)] * 2, 500_000, 0.01, 20, "paper").size(1.0).size == math.inf
    assert released([PureDP(0.6)] * 2, 500_000, 0.01, 20, "sharp").nats < math.inf


def test_released_looks_are_the_union_over_reports_and_mix_with_private_steps() -> None:
    looks = released([Bits(12), Bits(8)], 500_000, 0.05, 10)
    assert looks.route == "union over reports"
    assert looks.size(0.2).size == bounds.finite_release_size(0.2, 0.05, 10, 1_000_000, 20, "sharp").size
    kept = looks.alpha(50_000)
    assert looks.size(kept).size <= 50_000 < looks.size(kept * 0.999).size
    mixed = released([Bits(10), PureDP(0.005)], 500_000, 0.05, 10, "paper", "large")
    # 1024 reports count like 1024 times as many groups
    assert mixed.size(0.2).size == pytest.approx(
        bounds.pure_dp_size(0.2, 0.05, 10 * 1024, 1_000_000, 0.005, "paper").size
    )
    assert released([], 500_000, 0.05, 10).size(0.2).size < looks.size(0.2).size


def test_released_concentrated_costs_go_through_a_conversion() -> None:
    gauss = released(GDP(1e-4), 500_000, 0.05, 10)
    assert gauss.route in ("Theorem 8", "Theorem 15")
    assert 0 < gauss.nats < math.inf
    same = released(ZCDP(0.5e-8), 500_000, 0.05, 10)
    assert same.nats == pytest.approx(gauss.nats, rel=1e-6)
    assert released(ZCDP(1e-8), 500_000, 0.05, 10).nats > gauss.nats
    assert released(ZCDP(0.5e-8), 500_000, 0.05, 10, "paper").nats >= gauss.nats
    # Laplace noise of the same strength earns more
    assert released(PureDP(1e-4), 500_000, 0.05, 10).nats < gauss.nats
    both = released([GDP(1e-4), PureDP(1e-6)], 500_000, 0.05, 10)
    assert gauss.nats <= both.nats < 1.2 * gauss.nats
    too_much = released(GDP(1.0), 500_000, 0.05, 10)
    assert too_much.size(1.0).size == math.inf
    assert too_much.alpha(1_000_000) == math.inf
    assert "nothing is promised" in too_much.words([1000])[0]
    leaky = released(ApproxDP(0.001, 1e-5), 500_000, 0.05, 10)
    assert leaky.nats == math.inf
    fine = released(ApproxDP(1e-4, 1e-40), 500_000, 0.05, 10)
    assert fine.nats < math.inf


def test_what_filters_promise() -> None:
    assert promised(BasicFilter(0.5)) == totals([PureDP(0.5)])
    assert promised(RogersFilter(1.0, 1e-6)) == totals([ApproxDP(1.0, 1e-6)])
    assert promised(GDPFilter(0.2)) == totals([GDP(0.2)])
    assert promised(ZCDPFilter(0.01, delta_sum=1e-9)) == totals([ZCDP(0.01), ApproxDP(0.0, 1e-9)])
    assert promised(BitsFilter(30.0)) == totals([Bits(30.0)])
    spent = BasicFilter(0.5)
    spent.spend(PureDP(0.1))
    assert promised(spent).pure == 0.5  # the promise, not the position
    for budget in (RenyiFilter(2.0, 0.1), AllOf([RenyiFilter(2.0, 0.1), RenyiFilter(3.0, 0.1)])):
        with pytest.raises(GuaranteeUnavailable):
            promised(budget)
    with pytest.raises(InvalidParameter, match="PureDP"):
        totals([0.1])  # type: ignore[list-item]


@pytest.mark.parametrize("ask", [promised, lambda budget: released(budget, 500_000, 0.05, 10)])
def test_an_individual_filter_is_refused_because_its_neighbours_are_others(ask: Callable[[Any], object]) -> None:
    budget = IndividualFilter(rows=100, budget=0.01)
    with pytest.raises(GuaranteeUnavailable, match=r"guarantees privacy for adding or removing a row, but coherence"):
        ask(budget)


def test_what_is_neither_a_filter_nor_costs_is_refused() -> None:
    with pytest.raises(InvalidParameter, match=r"what must be a filter, a cost or a list of costs, got a float"):
        released(0.5, 500_000, 0.05, 10)  # type: ignore[arg-type]


def test_words_and_plain_data() -> None:
    found = released(PureDP(0.01), 50_000, 0.05, 10)
    words = found.words([2_000, 100_000])
    assert "A group of 100,000 of 100,000 people" in words[1]
    assert found.to_dict()["n"] == 100_000


def test_a_tolerance_in_words_is_never_below_what_is_promised() -> None:
    rng = np.random.default_rng(8)
    for x in [*rng.uniform(0.001, 2, 200).tolist(), 0.1, 0.123, 1.0, 0.0999999]:
        assert x <= float(f"{digits_up(x, 3):.3g}") <= x * 1.0101
        assert x >= float(f"{digits_down(x, 3):.3g}") >= x / 1.0101
    found = released([PureDP(0.005)] * 4, rows=500_000, beta=0.01, groups=20)
    (words,) = found.words([200_000])
    assert float(words.split("more than ")[1].split()[0]) >= found.alpha(200_000)


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.3, 0.4, 0.8])
def test_the_epsilon_that_is_said_is_allowed(alpha: float) -> None:
    """Six digits to the nearest would be above the largest epsilon every other time, and refused when given back."""
    plan = plan_epsilon(alpha, BETA, 100, 5_000_000, 250_000, "paper")
    said = [float(text.split()[0]) for text in plan.words()[0].split("epsilon up to ")[1:]]
    assert said == [pytest.approx(plan.epsilon, rel=2e-5)]
    assert bounds.pure_dp_size(alpha, BETA, 100, 5_000_000, said[0], "paper").size <= 250_000
    assert float(str(plan.chosen.found).split()[1]) == said[0]


def test_lenses_and_groups_count_everywhere() -> None:
    plan = plan_epsilon(0.2, 0.01, 20, 1_000_000, 50_000, lenses=5, predictors=2)
    same = plan_epsilon(0.2, 0.01, 200, 1_000_000, 50_000)
    assert plan.least == pytest.approx(same.least)
    assert [r.epsilon for r in plan.routes] == pytest.approx([r.epsilon for r in same.routes])
    sizes = {"all": 1_000_000, "half": 500_000, "some": 100_000}
    for group in protected_groups(0.01, 0.2, 0.01, sizes, 1_000_000, "paper", lenses=4):
        assert group.alpha == bounds.pure_dp_alpha(0.01, 12, 1_000_000, group.size, 0.01, "paper")
        assert group.needed == bounds.pure_dp_size(0.2, 0.01, 12, 1_000_000, 0.01, "paper").size
