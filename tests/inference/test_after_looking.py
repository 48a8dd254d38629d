"""Corrections after looking: vectors, properties, the order rule, and selectors that try to break them."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from holdfast.accounting import GDP, RDP, ZCDP, ApproxDP, Bits, PureDP
from holdfast.accounting.costs import Cost
from holdfast.bounds.p_value import level_after_approx_dp, level_after_pure_dp
from holdfast.bounds.transfer import interleaved
from holdfast.errors import BudgetExhausted, GuaranteeUnavailable, InvalidParameter, LedgerConflict
from holdfast.experiments.binomial import exceeds
from holdfast.inference import AfterLooking, Correction, from_add_remove
from holdfast.inference.caps import charged
from holdfast.mechanisms import Laplace, Selection


def looking(n: int, *costs: Cost, **more: Any) -> AfterLooking:
    made = AfterLooking(n, **more)
    for cost in costs:
        made.record(cost)
    return made


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


@settings(deadline=None, derandomize=True, max_examples=12)
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


@settings(deadline=None, derandomize=True, max_examples=10)
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
    plan = looking(1000, PureDP(300.0)).plan()
    assert plan.hopeless
    assert "below any float" in str(plan)
    assert looking(1000, PureDP(300.0)).adjusted(1e-300) == 1.0


# The order rule.


def test_max_information_refuses_the_unsound_order_and_offers_the_interleaved_bound() -> None:
    wrong = looking(10_000, Bits(4), ApproxDP(0.001, 1e-12))
    with pytest.raises(LedgerConflict, match=r"Theorem 3\.9.*rejects at 0\.001585 to keep 0\.05"):
        wrong.max_information(0.025)
    right = looking(10_000, ApproxDP(0.001, 1e-12), Bits(4))
    assert right.max_information(0.025).bits == pytest.approx(7.8498, abs=1e-3)
    assert right.level(0.05) == wrong.level(0.05)
    hopeless = looking(10_000, Bits(60), ApproxDP(0.001, 1e-12))
    with pytest.raises(LedgerConflict, match="rejects nothing"):
        hopeless.max_information(0.025)
    assert hopeless.level(0.05).is_vacuous
    assert looking(100, Bits(4), PureDP(0.01)).max_information(0.02).bits < 20
    with pytest.raises(GuaranteeUnavailable):
        looking(100, GDP(0.01)).max_information(0.02)
    with pytest.raises(GuaranteeUnavailable):
        looking(100, PureDP(0.01), nulls="any").max_information(0.02)


# Neighbours and other wrong input.


@pytest.mark.parametrize(
    ("cost", "converted"),
    [
        (PureDP(0.05), PureDP(0.1)),
        (ZCDP(0.01), ZCDP(0.04)),
        (GDP(0.1), GDP(0.2)),
        (Bits(3), Bits(3)),
    ],
)
def test_add_remove_is_refused_with_its_conversion(cost: Cost, converted: Cost) -> None:
    made = AfterLooking(100)
    if not isinstance(cost, Bits):
        with pytest.raises(InvalidParameter, match="replace-one, got add-remove") as error:
            made.record(cost, neighbours="add-remove")
        assert repr(converted) in str(error.value)
        assert made.entries == ()
    assert from_add_remove(cost) == converted
    with pytest.raises(InvalidParameter, match="neighbours"):
        made.record(cost, neighbours="bounded")


def test_add_remove_conversions_are_tight_enough_to_be_needed() -> None:
    """A sum of +-1 with Laplace noise 1/epsilon is epsilon-DP for add/remove; replacing a row costs twice that."""
    made = from_add_remove(ApproxDP(0.5, 1e-6))
    assert isinstance(made, ApproxDP)
    assert made.epsilon == 1.0
    assert made.delta == pytest.approx((1 + math.exp(0.5)) * 1e-6)
    with pytest.raises(InvalidParameter, match="below 1"):
        from_add_remove(ApproxDP(5.0, 0.5))
    with pytest.raises(InvalidParameter):
        from_add_remove(RDP((2.0,), (0.1,)))
    grid = np.arange(-40, 41)
    law = np.exp(-0.5 * np.abs(grid))
    one, two = np.abs(np.log(law[1:] / law[:-1])).max(), np.abs(np.log(law[2:] / law[:-2])).max()
    assert one == pytest.approx(0.5)
    assert two == pytest.approx(1.0)


def test_wrong_input_changes_nothing() -> None:
    made = looking(100, PureDP(0.01))
    before = made.state()
    for wrong in (
        lambda: made.record(0.5),
        lambda: made.record(RDP((2.0,), (0.1,))),
        lambda: made.record(PureDP(0.1), values=0),
        lambda: made.record(PureDP(0.1), values=2.5),  # type: ignore[arg-type]
        lambda: made.record(PureDP(0.1), what=3),  # type: ignore[arg-type]
        lambda: made.level(0.0),
        lambda: made.level(1.0),
        lambda: made.adjusted(-0.1),
        lambda: made.adjusted(1.1),
        lambda: made.adjusted(float("nan")),
        lambda: made.correct("0.1"),  # type: ignore[arg-type]
        lambda: made.decide([0.1, 0.2]),
        lambda: made.decide(2.0),
        lambda: made.test("ttest"),  # type: ignore[arg-type]
        lambda: made.test(lambda: "no p-value"),
        lambda: made.test(lambda: (1.0,)),
        lambda: made.bonferroni(0),
        lambda: made.max_information(0.0),
        lambda: AfterLooking(0),
        lambda: AfterLooking(2.5),  # type: ignore[arg-type]
        lambda: AfterLooking(10, nulls="iid"),  # type: ignore[arg-type]
        lambda: AfterLooking(10, alpha=1.0),
        lambda: AfterLooking.from_state({}),
        lambda: AfterLooking.from_state(before | {"version": 2}),
        lambda: AfterLooking.from_state(before | {"entries": [{"cost": 1}]}),
        lambda: AfterLooking.from_state(before | {"n": 0}),
    ):
        with pytest.raises(InvalidParameter):
            wrong()
    assert made.state() == before


# Tests of other packages.


def test_scipy_and_statsmodels() -> None:
    import statsmodels.api as sm
    from scipy import stats

    rng = np.random.default_rng(1)
    a, b = rng.normal(0.4, 1, 300), rng.normal(0, 1, 300)
    made = looking(600, PureDP(0.01))
    found = made.test(stats.ttest_ind, a, b)
    assert found.p == pytest.approx(stats.ttest_ind(a, b).pvalue)
    assert found.adjusted == made.adjusted(float(stats.ttest_ind(a, b).pvalue))
    assert made.test(stats.mannwhitneyu, a, b, alternative="greater").p is not None
    assert made.test(stats.pearsonr, a, b).p is not None
    assert made.test(stats.chi2_contingency, [[10, 20], [30, 5]]).rejected
    assert made.test(lambda: (1.7, 0.04)).p == 0.04
    assert made.test(sm.stats.proportions_ztest, [40, 20], [100, 100]).p == pytest.approx(0.0020282, abs=1e-6)
    model = sm.OLS(a, sm.add_constant(b)).fit()
    with pytest.raises(InvalidParameter, match="2 p-values"):
        made.test(lambda: model)
    both = made.correct_family(model)
    assert len(both) == 2
    assert both[0].p == pytest.approx(min(1, 2 * model.pvalues[0]))
    assert made.test(model.t_test, [0, 1]).p == pytest.approx(model.pvalues[1])


def test_correction_prints_and_converts() -> None:
    found = looking(1000, PureDP(0.02)).correct(0.001)
    assert isinstance(found, Correction)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["rejected"] is True
    assert plain["guarantee"]["theorem"] == "p-value.level-after-pure-dp"
    assert plain["level"]["value"] == found.level.value
    assert "not rejected" in str(looking(1000, PureDP(0.02)).correct(0.03))
    assert "no p-value rejects" in str(looking(10_000, Bits(60), ApproxDP(0.001, 1e-12)).plan())
    assert "1. pure-dp:0.02" in str(looking(1000, PureDP(0.02)))


def test_mechanisms_are_recorded_by_their_cost() -> None:
    made = AfterLooking(1000).record(Selection(sensitivity=2, epsilon=0.02)).record(Laplace(2, 0.01))
    assert [entry.cost for entry in made.entries] == [PureDP(0.02), PureDP(0.01)]


def test_state_round_trips() -> None:
    made = looking(1000, PureDP(0.02), Bits(2), GDP(1e-4), alpha=0.01)
    made.record(ApproxDP(0.1, 1e-9), values=7, what="a choice")
    again = AfterLooking.from_state(json.loads(json.dumps(made.state())))
    assert again.state() == made.state()
    assert again.entries == made.entries


def test_caps_are_charged_from_the_start_and_keep_steps_out() -> None:
    caps = [PureDP(0.02), Bits(3), GDP(0.05), ApproxDP(0.01, 1e-10), ZCDP(0.1)]
    made = AfterLooking(1000, caps=[PureDP(0.02), Bits(3)])
    level = looking(1000, PureDP(0.02), Bits(3)).level(0.05)
    assert made.level(0.05) == level
    made.record(PureDP(0.01)).record(Bits(1)).record(PureDP(0.01))
    assert made.level(0.05) == level
    before = made.state()
    for cost in (PureDP(1e-9), Bits(2.5), GDP(0.1), ZCDP(1e-9)):
        with pytest.raises(BudgetExhausted):
            made.record(cost)
    assert made.state() == before
    assert AfterLooking.from_state(json.loads(json.dumps(before))).state() == before
    made.record(Bits(2))
    with pytest.raises(BudgetExhausted):
        made.decide(0.5)
    full = AfterLooking(1000, caps=caps)
    full.record(GDP(0.03)).record(GDP(0.04)).record(ApproxDP(0.005, 5e-11)).record(ApproxDP(0.005, 5e-11)).record(
        ZCDP(0.1)
    )
    for more in (GDP(1e-6), ApproxDP(0.0, 1e-14), ApproxDP(1e-9, 0.0), ZCDP(1e-9)):
        with pytest.raises(BudgetExhausted):
            full.record(more)
    for wrong in ([], [Bits(1), Bits(2)], "bits:1", [1.0], [RDP((2.0,), (0.1,))]):
        with pytest.raises(InvalidParameter):
            AfterLooking(10, caps=wrong)  # type: ignore[arg-type]


def test_decide_records_its_bit() -> None:
    made = looking(100)
    levels = []
    for p in (0.01, 0.01, 0.01, 0.01):
        levels.append(made.level(0.05).value)
        made.decide(p)
    assert levels == pytest.approx([0.05, 0.025, 0.0125, 0.00625])
    assert len(made.entries) == 4


# Simulations that try to break the claim; each error rate is 1e-6.

RUNS = 4000


def _noisy_choice(rng: np.random.Generator, n: int, d: int, epsilon: float) -> Any:
    """Sums of +-1 products, and the feature with the largest after exponential noise (permute-and-flip)."""
    sums = 2.0 * rng.binomial(n, 0.5, (RUNS, d)) - n
    return sums, np.argmax(sums + rng.exponential(4 / epsilon, sums.shape), axis=1)


def _p(n: int) -> Any:
    from scipy.stats import binom

    return binom.sf(np.arange(n + 1) - 1, n, 0.5)


@pytest.mark.parametrize(("n", "d", "epsilon"), [(1000, 100, 0.05), (200, 1000, 0.3), (50, 5, 1.0)])
def test_selected_tests_keep_alpha(n: int, d: int, epsilon: float) -> None:
    sums, chosen = _noisy_choice(np.random.default_rng(8), n, d, epsilon)
    p = _p(n)[((sums[np.arange(RUNS), chosen] + n) / 2).astype(int)]
    level = looking(n, PureDP(epsilon)).level(0.05).value
    assert not exceeds(int((p <= level).sum()), RUNS, 0.05)
    joint = AfterLooking(n).record(PureDP(epsilon), values=d).level(0.05).value
    assert not exceeds(int((p <= joint).sum()), RUNS, 0.05)


def test_adversarial_interleaved_selector_keeps_alpha_and_a_wrong_correction_is_caught() -> None:
    """A noisy choice, then a raw look at which of the two best by the noisy scores is really better: one bit.

    The adversary spends both to make the chosen p-value small. The interleaved level holds. Three wrong corrections are
    caught: none at all, epsilon declared under another relation at a tenth, and the look's bits alone for a raw argmax.
    """
    n, d, epsilon = 400, 64, 0.4
    rng = np.random.default_rng(9)
    sums = 2.0 * rng.binomial(n, 0.5, (RUNS, d)) - n
    noisy = sums + rng.exponential(2 * 4 / epsilon, sums.shape)  # two choices, half of epsilon each
    first = np.argmax(noisy, axis=1)
    again = sums + rng.exponential(2 * 4 / epsilon, sums.shape)
    second = np.argmax(again, axis=1)
    rows = np.arange(RUNS)
    better = np.where(sums[rows, first] >= sums[rows, second], first, second)
    p = _p(n)[((sums[rows, better] + n) / 2).astype(int)]
    made = looking(n, PureDP(epsilon / 2), PureDP(epsilon / 2), Bits(1))
    assert not exceeds(int((p <= made.level(0.05).value).sum()), RUNS, 0.05)
    adjusted_at = made.level(0.05).value
    assert made.adjusted(adjusted_at) <= 0.05 * (1 + 1e-9)
    assert exceeds(int((p <= 0.05).sum()), RUNS, 0.05)
    best = _p(n)[((sums.max(axis=1) + n) / 2).astype(int)]
    assert exceeds(int((best <= looking(n, PureDP(epsilon / 20)).level(0.05).value).sum()), RUNS, 0.05)
    assert exceeds(int((best <= looking(n, Bits(1)).level(0.05).value).sum()), RUNS, 0.05)
    assert not exceeds(int((best <= looking(n, Bits.of_values(d)).level(0.05).value).sum()), RUNS, 0.05)


def test_adversary_that_spends_bits_adaptively() -> None:
    """Binary search with raw looks: each bit halves the candidates by whose half holds the best. Bits keep alpha."""
    n, d = 300, 32
    rng = np.random.default_rng(10)
    sums = 2.0 * rng.binomial(n, 0.5, (RUNS, d)) - n
    low, size = np.zeros(RUNS, dtype=int), d
    rows = np.arange(RUNS)
    for _ in range(5):
        size //= 2
        span = low[:, None] + np.arange(2 * size)
        block = sums[rows[:, None], span]
        low = np.where(block[:, size:].max(axis=1) > block[:, :size].max(axis=1), low + size, low)
    p = _p(n)[((sums[rows, low] + n) / 2).astype(int)]
    assert not exceeds(int((p <= looking(n, Bits(5)).level(0.2).value).sum()), RUNS, 0.2)
    assert exceeds(int((p <= looking(n, Bits(1)).level(0.2).value).sum()), RUNS, 0.2)


def test_a_family_is_a_list_because_a_tuple_is_a_result() -> None:
    """Read as (statistic, p-value), a tuple of p-values would be one test and escape the correction for number."""
    made = looking(100)
    for bad in ((0.2, 0.001), (0.01, 0.04, 0.5)):
        with pytest.raises(InvalidParameter, match="must be a list"):
            made.correct_family(bad)
    assert [c.p for c in made.correct_family((1.7, [0.01, 0.5]))] == [0.02, 0.5]
    assert len(made.correct_family([0.2, 0.001])) == 2


def test_holm_steps_down_and_never_back() -> None:
    found = looking(100).correct_family([0.04, 0.01, 0.03, 0.005])
    assert [c.p for c in found] == pytest.approx([0.06, 0.03, 0.06, 0.02])


def test_the_best_route_after_seeing_p_rejects_no_more_than_one_level() -> None:
    """Routes are nested: adjusted p at most alpha means p at most the largest level, but for a search's tolerance."""
    made = AfterLooking(200).record(PureDP(0.05), values=40).record(Bits(1))
    u = made.level(0.05).value
    assert made.adjusted(u) <= 0.05 * (1 + 1e-9)
    assert made.adjusted(u * 1.01) > 0.05


def test_a_gaussian_cap_beside_other_private_caps_is_charged_as_zcdp() -> None:
    """The filter argument needs moments where steps of several kinds are chosen along the way."""
    assert [entry.cost for entry in charged([GDP(0.2), PureDP(0.1)])] == [ZCDP(0.02), PureDP(0.1)]
    assert [entry.cost for entry in charged([GDP(0.2), Bits(3)])] == [GDP(0.2), Bits(3)]
