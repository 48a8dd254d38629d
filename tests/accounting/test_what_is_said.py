"""What accounts say of themselves: the names and numbers of what is spent, left, promised and stored."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from holdfast.accounting import (
    GDP,
    RDP,
    ZCDP,
    AllOf,
    AnyOf,
    ApproxDP,
    BasicFilter,
    BasicOdometer,
    Bits,
    BitsFilter,
    Cost,
    Filter,
    FilterFromOdometer,
    GDPFilter,
    InversionOdometer,
    LineOdometer,
    MixtureOdometer,
    Odometer,
    PureDP,
    RenyiCurveFilter,
    RenyiFilter,
    RogersFilter,
    RogersOdometer,
    StitchedOdometer,
    WhitehouseFilter,
    ZCDPFilter,
    ZCDPOdometer,
    gaussian_row_costs,
)
from holdfast.accounting.account import amounts
from holdfast.accounting.costs import budget, budget_delta
from holdfast.accounting.totals import at_order
from holdfast.errors import InvalidParameter

SPENT: list[tuple[Filter, Cost, dict[str, Any], dict[str, Any]]] = [
    (BasicFilter(1.0, 1e-6), ApproxDP(0.25, 1e-7), {"epsilon": 0.25, "delta": 1e-7}, {"epsilon": 0.75, "delta": 9e-7}),
    (BitsFilter(3.0), Bits(1.0), {"bits": 1.0}, {"bits": 2.0}),
    (GDPFilter(5.0), GDP(3.0), {"mu": 3.0}, {"mu": 4.0}),
    (RenyiFilter(2.0, 1.0), RDP((2.0,), (0.25,)), {"order": 2.0, "epsilon": 0.25}, {"order": 2.0, "epsilon": 0.75}),
    (ZCDPFilter(0.5), ZCDP(0.125), {"rho": 0.125, "delta": 0.0}, {"rho": 0.375, "delta": 0.0}),
]


@pytest.mark.parametrize(("account", "cost", "spent", "left"), SPENT, ids=lambda x: getattr(x, "name", None))
def test_spent_and_left_are_named_and_add_up(
    account: Filter, cost: Cost, spent: dict[str, Any], left: dict[str, Any]
) -> None:
    account = Filter.from_dict(account.to_dict())
    account.spend(cost)
    assert account.spent() == pytest.approx(spent, rel=1e-12)
    assert account.remaining() == pytest.approx(left, rel=1e-12)


@pytest.mark.parametrize("account", [WhitehouseFilter(1.0, 1e-6), RogersFilter(1.0, 1e-6)], ids=lambda a: a.name)
def test_filters_of_squares_show_the_sum_and_what_it_comes_to(account: Filter) -> None:
    account.spend(PureDP(0.1))
    spent = account.spent()
    assert list(spent) == ["squares", "left_side", "delta"]
    assert spent["squares"] == pytest.approx(0.01, rel=1e-12)
    assert 0 < spent["left_side"] < 1
    assert list(account.remaining()) == ["epsilon", "delta"]


def test_a_curve_shows_what_is_left_at_each_order() -> None:
    curve = RenyiCurveFilter(1.0, 1e-6, orders=(2.0, 64.0, 128.0))
    before = curve.remaining()["epsilons"]
    assert curve.remaining()["orders"] == [2.0, 64.0, 128.0]
    assert before[0] == 0.0 < before[1] < before[2] < 1.0
    curve.spend(ZCDP(0.001))
    assert curve.spent()["epsilons"] == pytest.approx([0.002, 0.064, 0.128], rel=1e-12)
    assert curve.remaining()["epsilons"][1:] == pytest.approx([before[1] - 0.064, before[2] - 0.128], rel=1e-12)
    curve.spend(RDP((64.0,), (0.001,)))  # says nothing about order 128
    assert curve.remaining()["epsilons"][2] == 0.0 < curve.remaining()["epsilons"][1]


def test_joined_promises_list_their_parts() -> None:
    zcdp = ZCDPFilter.from_dp(0.5, 1e-6)
    parts = [{"name": "basic", "epsilon": 1.0, "delta": 1e-7}, dict(zcdp.guarantee().parameters)]
    for joined, delta, epsilon in (
        (AnyOf([BasicFilter(1.0, 1e-7), zcdp]), 1.1e-6, 1.0),
        (AllOf([BasicFilter(1.0, 1e-7), zcdp]), 1e-7, 1.0),
    ):
        stated = dict(joined.guarantee().parameters)
        assert stated["filters"] == parts
        if isinstance(joined, AnyOf):
            assert (stated["epsilon"], stated["delta"]) == (epsilon, delta)
    read = FilterFromOdometer(MixtureOdometer(1e-6), 2.0).guarantee().parameters
    assert dict(read) == {"name": "from-odometer", "epsilon": 2.0, "delta": 1e-6, "odometer": "mixture"}


DEFAULTS: list[tuple[Odometer, dict[str, Any]]] = [
    (BasicOdometer(), {"delta": 0.0}),
    (LineOdometer(1e-6), {"delta": 1e-6, "delta_sum": 0.0, "target": 1.0, "two_sided": False}),
    (MixtureOdometer(1e-6), {"delta": 1e-6, "delta_sum": 0.0, "gamma": 0.005}),
    (StitchedOdometer(1e-6), {"delta": 1e-6, "delta_sum": 0.0, "start": 1e-4, "two_sided": False}),
    (RogersOdometer(1e-6), {"delta": 1e-6, "n": 10_000}),
    (ZCDPOdometer(1e-6), {"delta": 1e-6, "delta_sum": 0.0, "n": 10_000}),
    (InversionOdometer(1e-6), {"delta": 1e-6, "delta_sum": 0.0, "n": 10_000, "method": "sharp"}),
]


@pytest.mark.parametrize(("odometer", "expected"), DEFAULTS, ids=lambda x: getattr(x, "name", None))
def test_odometers_are_made_with_the_documented_defaults(odometer: Odometer, expected: dict[str, Any]) -> None:
    assert odometer.parameters() == expected


def test_filters_are_made_with_no_room_for_deltas_unless_asked() -> None:
    assert ZCDPFilter.from_dp(1.0, 1e-6).parameters()["delta_sum"] == 0.0
    assert WhitehouseFilter(1.0, 1e-6).parameters()["delta_sum"] == 0.0
    assert BasicFilter(1.0).parameters()["delta"] == 0.0


@pytest.mark.parametrize("closed", [None, "no", [0, 1], [False]])
def test_a_stored_any_of_says_of_each_part_whether_it_is_closed(closed: object) -> None:
    stored = AnyOf([BasicFilter(1.0), ZCDPFilter.from_dp(1.0, 1e-6)]).to_dict()
    with pytest.raises(InvalidParameter, match="any-of filter must"):
        Filter.from_dict(stored | {"closed": closed})


def test_a_gaussian_cost_is_read_at_every_order() -> None:
    assert at_order(GDP(0.5), 4.0) == Decimal("0.5")
    renyi = RenyiFilter(4.0, 1.0)
    renyi.spend(GDP(0.5))
    assert renyi.remaining() == {"order": 4.0, "epsilon": 0.5}


def test_amounts_are_written_in_one_line() -> None:
    assert amounts({"orders": (2.0, 1 / 3), "of": {"epsilon": 1e-7}, "rounds": 3}) == (
        "orders=[2, 0.3333333333], of (epsilon=1e-07), rounds=3"
    )


def test_a_budget_that_rounds_down_to_its_open_end_is_refused() -> None:
    tiny = Fraction(4, 10**324)  # the nearest double is above 0, the one below it is 0
    assert float(tiny) > 0
    with pytest.raises(InvalidParameter, match="rho"):
        budget("rho", tiny, above=0)
    with pytest.raises(InvalidParameter, match="delta"):
        budget_delta("delta", tiny)
    assert budget("rho", tiny) == 0.0
    assert budget_delta("delta", tiny, zero=True) == 0.0


def test_the_allowance_of_a_row_cost_grows_with_the_number_of_squares() -> None:
    """A sum of `width` squares may lose `width` half units in the last place, whatever the order of the sum."""
    for width in (1, 64, 4096):
        exact = width / 2
        found = gaussian_row_costs(np.ones((1, width)), 1.0)[0]
        assert exact * (1 + width * 2.0**-53) <= found <= exact * (1 + (width + 20) * 2.0**-52)


def test_a_promise_names_room_for_deltas_only_where_there_is_some() -> None:
    assert dict(ZCDPFilter(0.1).guarantee().parameters) == {"name": "zcdp", "rho": 0.1}
    assert dict(ZCDPFilter(0.1, delta_sum=1e-9).guarantee().parameters)["delta_sum"] == 1e-9


def test_an_offset_of_rogers_is_above_zero() -> None:
    for offset in (0.0, -1.0):
        with pytest.raises(InvalidParameter, match="offset must be a number in"):
            RogersFilter(1.0, 1e-6, offset=offset)


def test_a_budget_of_delta_is_below_one() -> None:
    for delta in (1.0, 1.5, 0.0, -0.1):
        with pytest.raises(InvalidParameter, match="delta must be a number in"):
            budget_delta("delta", delta)
    assert budget_delta("delta", 0.99) == 0.99
    assert budget_delta("delta", 0, zero=True) == 0.0
