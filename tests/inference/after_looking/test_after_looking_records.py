"""What is recorded after looking: the order rule, neighbours, caps, states, wrong input, tests of other packages."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from holdfast.accounting import GDP, RDP, ZCDP, ApproxDP, Bits, PureDP
from holdfast.accounting.costs import Cost, PointwiseDP
from holdfast.errors import BudgetExhausted, GuaranteeUnavailable, InvalidParameter, LedgerConflict
from holdfast.inference import AfterLooking, Correction, from_add_remove
from holdfast.inference.after_looking.record import p_values_of
from holdfast.inference.after_looking.spent import charged, require_room
from holdfast.mechanisms import Laplace, Selection
from tests.inference.after_looking.looking import looking

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
    with pytest.raises(InvalidParameter, match="below 1"):  # e^800 is no double, and 1e-310 of it is far above 1
        from_add_remove(ApproxDP(800.0, 1e-310))
    assert from_add_remove(ApproxDP(800.0, 0.0)) == ApproxDP(1600.0, 0.0)
    with pytest.raises(InvalidParameter, match=r"cost must be a PureDP.*got a RDP"):
        from_add_remove(RDP((2.0,), (0.1,)))
    grid = np.arange(-40, 41)
    law = np.exp(-0.5 * np.abs(grid))
    one, two = np.abs(np.log(law[1:] / law[:-1])).max(), np.abs(np.log(law[2:] / law[:-2])).max()
    assert one == pytest.approx(0.5)
    assert two == pytest.approx(1.0)


def test_a_pointwise_cost_has_no_conversion_and_is_not_recorded_under_add_remove() -> None:
    made = AfterLooking(100)
    for wrong in (
        lambda: from_add_remove(PointwiseDP(0.1, 1e-9)),
        lambda: made.record(PointwiseDP(0.1, 1e-9), neighbours="add-remove"),
    ):
        with pytest.raises(InvalidParameter, match="declare it as ApproxDP first"):
            wrong()
    assert made.entries == ()


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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"entries": {}}, "entries must be a list"),
        (
            {"entries": [{"cost": {"kind": "bits", "bits": 1.0}, "values": None, "what": 3}]},
            "what of a stored entry must be a text",
        ),
        ({"entries": [{"cost": {"kind": "bits", "bits": 1.0}, "values": 0, "what": ""}]}, "values"),
        ({"entries": [{"cost": {"kind": "bits", "bits": 1.0}}]}, "cost, values and what"),
    ],
)
def test_a_changed_record_is_not_read_back(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        AfterLooking.from_state(looking(100, PureDP(0.01)).state() | change)


@pytest.mark.parametrize("part", ["n", "nulls", "alpha", "caps", "entries"])
def test_a_record_that_lacks_a_part_is_not_read_back(part: str) -> None:
    state = {name: value for name, value in looking(100, PureDP(0.01)).state().items() if name != part}
    with pytest.raises(InvalidParameter, match="must have n, nulls, alpha, caps and entries"):
        AfterLooking.from_state(state)


# Tests of other packages.


def test_p_values_of_a_mapping_are_its_values_in_order() -> None:
    assert p_values_of({"age": 0.03, "height": 0.5}) == (0.03, 0.5)


@pytest.mark.parametrize("wrong", [[], [[0.1, 0.2]], ["0.1"], [True], {}])
def test_what_is_no_list_of_numbers_is_no_family_of_p_values(wrong: Any) -> None:
    with pytest.raises(InvalidParameter, match=r"p must be a number in \[0, 1\] or a list of such numbers, got a list"):
        p_values_of(wrong)


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


def test_one_cap_needs_no_list() -> None:
    alone = AfterLooking(1000, caps=PureDP(0.02))  # type: ignore[arg-type]
    listed = AfterLooking(1000, nulls="any", caps=[PureDP(0.02)])
    assert alone.caps == listed.caps == (PureDP(0.02),)
    assert AfterLooking(1000).caps is None
    assert (alone.nulls, listed.nulls) == ("product", "any")
    with pytest.raises(BudgetExhausted, match=r"there is no cap for the cost bits:1; the caps are pure-dp:0\.02"):
        alone.record(Bits(1))
    assert alone.entries == ()


def test_a_renyi_curve_has_no_cap() -> None:
    curve = RDP((2.0,), (0.1,))
    with pytest.raises(InvalidParameter, match="a RDP has no cap"):
        require_room([curve], [], curve)


def test_decide_records_its_bit() -> None:
    made = looking(100)
    levels = []
    for p in (0.01, 0.01, 0.01, 0.01):
        levels.append(made.level(0.05).value)
        made.decide(p)
    assert levels == pytest.approx([0.05, 0.025, 0.0125, 0.00625])
    assert len(made.entries) == 4


def test_a_family_is_a_list_because_a_tuple_is_a_result() -> None:
    """Read as (statistic, p-value), a tuple of p-values would be one test and escape the correction for number."""
    made = looking(100)
    for bad in ((0.2, 0.001), (0.01, 0.04, 0.5)):
        with pytest.raises(InvalidParameter, match="must be a list"):
            made.correct_family(bad)
    assert [c.p for c in made.correct_family((1.7, [0.01, 0.5]))] == [0.02, 0.5]
    assert len(made.correct_family([0.2, 0.001])) == 2


def test_a_gaussian_cap_beside_other_private_caps_is_charged_as_zcdp() -> None:
    """The filter argument needs moments where steps of several kinds are chosen along the way."""
    assert [entry.cost for entry in charged([GDP(0.2), PureDP(0.1)])] == [ZCDP(0.02), PureDP(0.1)]
    assert [entry.cost for entry in charged([GDP(0.2), Bits(3)])] == [GDP(0.2), Bits(3)]
