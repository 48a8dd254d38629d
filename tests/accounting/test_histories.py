"""Where an account may begin: fresh, or at a state that fits; and that its budget cannot be moved afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.accounting import (
    GDP,
    ZCDP,
    AllOf,
    AnyOf,
    BasicFilter,
    BasicOdometer,
    Bits,
    BitsFilter,
    Cost,
    Filter,
    FilterFromOdometer,
    GDPFilter,
    IndividualFilter,
    MinimumOdometer,
    MixtureOdometer,
    Odometer,
    PureDP,
    RenyiCurveFilter,
    RenyiFilter,
    RogersFilter,
    WhitehouseFilter,
    ZCDPFilter,
    default_filter,
    default_odometer,
)
from holdfast.errors import InvalidParameter


def used(account: Any, cost: Cost) -> Any:
    (account.spend if isinstance(account, Filter) else account.record)(cost)
    return account


def test_filters_of_different_histories_cannot_be_joined_by_or() -> None:
    """Beside a spent basic filter a fresh zCDP filter would admit 487 rounds more, at a true delta of 0.06."""
    zcdp = ZCDPFilter.from_dp(1.0, 1e-6)
    inner: tuple[Filter, ...] = (
        used(BasicFilter(1.0), PureDP(1.0)),
        used(ZCDPFilter.from_dp(1.0, 1e-6), GDP(0.01)),
        AllOf([used(BasicFilter(1.0), PureDP(0.1)), BasicFilter(2.0)]),
        FilterFromOdometer(used(BasicOdometer(), PureDP(0.1)), 1.0),
        used(default_filter(1.0, 1e-6), ZCDP(0.01)),
        used(RenyiCurveFilter(1.0, 1e-6), ZCDP(1e-9)),
    )
    for part in inner:
        for parts in ([part, zcdp], [zcdp, part]):
            with pytest.raises(InvalidParameter, match="filters must be new"):
                AnyOf(parts)
    AnyOf([used(BasicFilter(1.0), PureDP(0.0)), zcdp])  # nothing was spent


def test_odometers_of_different_histories_have_no_minimum() -> None:
    late = used(MixtureOdometer(1e-6), PureDP(30.0))
    assert late.reading() > 100
    for parts in (
        [BasicOdometer(), late],
        [late, BasicOdometer()],
        [BasicOdometer(), used(default_odometer(0.1), PureDP(1))],
    ):
        with pytest.raises(InvalidParameter, match="odometers must be new"):
            MinimumOdometer(parts)


def test_all_of_takes_over_what_was_spent_and_leaves_the_parts_alone() -> None:
    basic = used(BasicFilter(1.0), PureDP(0.6))
    joined = AllOf([basic, ZCDPFilter.from_dp(1.0, 1e-6)])
    joined.spend(PureDP(0.1))
    assert joined.spent()["basic"]["epsilon"] == 0.7
    assert basic.spent()["epsilon"] == 0.6
    assert not joined.admits(PureDP(0.31))


def test_a_filter_refuses_an_odometer_that_reads_more_than_its_budget() -> None:
    odometer = used(MixtureOdometer(1e-6), PureDP(30.0))
    with pytest.raises(InvalidParameter, match="must have a budget that covers"):
        FilterFromOdometer(odometer, 1.0)
    assert FilterFromOdometer(used(BasicOdometer(), PureDP(1.0)), 1.0).remaining() == {"epsilon": 0.0}


@pytest.mark.parametrize(
    "make",
    [
        lambda: BasicFilter(1.0),
        lambda: RogersFilter(1.0, 1e-6),
        lambda: WhitehouseFilter(1.0, 1e-6),
        lambda: ZCDPFilter(1.0),
        lambda: GDPFilter(1.0),
        lambda: RenyiFilter(2.0, 1.0),
        lambda: BitsFilter(1.0),
        lambda: RenyiCurveFilter(1.0, 1e-6),
    ],
)
@pytest.mark.parametrize("text", ["5", "Infinity", "1e2000"])
def test_stored_totals_beyond_the_budget_are_refused(make: Callable[[], Filter], text: str) -> None:
    stored = make().to_dict()
    totals = stored["totals"]
    spoilt = [text] * len(totals) if isinstance(totals, list) else dict.fromkeys(totals, text)
    with pytest.raises(InvalidParameter, match="a budget that covers what is already spent"):
        Filter.from_dict(stored | {"totals": spoilt})


def test_stored_combinations_beyond_their_budget_are_refused() -> None:
    joined = default_filter(1.0, 1e-6).to_dict()
    with pytest.raises(InvalidParameter, match="a budget that covers what is already spent"):
        Filter.from_dict(joined | {"closed": [True, True]})
    with pytest.raises(InvalidParameter, match="as many entries in closed"):
        Filter.from_dict(joined | {"closed": [True]})
    spoilt = BasicFilter(1.0).to_dict() | {"totals": {"epsilon": "2", "delta": "0"}}
    for stored in (joined, AllOf([BasicFilter(1.0), ZCDPFilter(1.0)]).to_dict()):
        with pytest.raises(InvalidParameter, match="the basic filter must have a budget that covers"):
            Filter.from_dict(stored | {"filters": [spoilt, stored["filters"][1]]})
    reading = FilterFromOdometer(BasicOdometer(), 1.0).to_dict()
    reading["odometer"]["totals"]["epsilon"] = "2"
    with pytest.raises(InvalidParameter, match="a budget that covers what is already spent"):
        Filter.from_dict(reading)


def test_a_closed_part_is_stored_as_it_was_joined() -> None:
    basic = BasicFilter(1.0)
    joined = AnyOf([basic, ZCDPFilter.from_dp(1.0, 1e-6)])
    joined.spend(ZCDP(0.01))  # closes basic
    before = joined.to_dict()
    basic.spend(PureDP(0.5))  # somebody else's business
    assert joined.to_dict() == before
    assert Filter.from_dict(before).to_dict() == before


def test_deltas_that_join_to_one_or_more_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="less than 1"):
        AnyOf([ZCDPFilter.from_dp(1.0, 0.6), WhitehouseFilter(1.0, 0.4)])
    with pytest.raises(InvalidParameter, match="less than 1"):
        MinimumOdometer([MixtureOdometer(0.6), MixtureOdometer(0.4)])
    assert AnyOf([ZCDPFilter.from_dp(1.0, 0.5), WhitehouseFilter(1.0, 0.4)]).guarantee().parameters["delta"] == 0.9


@pytest.mark.parametrize(
    ("account", "name"),
    [
        (WhitehouseFilter(1.0, 1e-6), "epsilon"),
        (default_filter(1.0, 1e-6), "accepts"),
        (MixtureOdometer(1e-6), "gamma"),
        (BasicOdometer(), "two_sided"),
        (BasicOdometer(), "delta"),
        (IndividualFilter(3, 1.0), "budget"),
        (Filter.from_dict(default_filter(1.0, 1e-6).to_dict()), "accepts"),
        (Odometer.from_dict(MixtureOdometer(1e-6).to_dict()), "gamma"),
    ],
)
def test_parameters_cannot_be_assigned_to(account: Any, name: str) -> None:
    before = getattr(account, name)
    with pytest.raises(AttributeError):
        setattr(account, name, 100.0)
    assert getattr(account, name) == before


@pytest.mark.parametrize("epsilon", [0.0, 5e-324, 1e-300, 1e-9, 1.0, 1e150, 1e308])
def test_what_is_left_is_found_at_every_scale(epsilon: float) -> None:
    """At 0 and at the smallest double the search used to run forever, at 1e308 it found nothing."""
    for account in (
        WhitehouseFilter(epsilon, 1e-6),
        FilterFromOdometer(BasicOdometer(), epsilon),
        *((RogersFilter(epsilon, 1e-6),) if 1e-100 < epsilon < 1e100 else ()),
    ):
        left = account.remaining()["epsilon"]
        assert account.admits(PureDP(left))
        if left < 8e307:
            assert not account.admits(PureDP(left * (1 + 1e-15) + 5e-324))
        if epsilon >= 1e-9:
            assert left > 0
        with pytest.raises(Exception, match="refuses"):
            account.spend(PureDP(1.7e308))


def test_the_names_of_parts_count_only_their_own_kind() -> None:
    parts = AllOf([RenyiCurveFilter(1.0, 1e-6), RenyiFilter(2.0, 1.0), RenyiFilter(3.0, 1.0)])
    assert list(parts.remaining()) == ["renyi-curve", "renyi", "renyi-2"]


def test_refusals_are_short_and_name_what_fits() -> None:
    from holdfast.accounting import RDP
    from holdfast.errors import BudgetExhausted

    orders = tuple(2.0 + i for i in range(2000))
    with pytest.raises(BudgetExhausted) as caught:
        RenyiFilter(2.0, 1.0).spend(RDP(orders, (5.0,) * 2000))
    assert len(str(caught.value)) < 500
    with pytest.raises(InvalidParameter, match="filter must be one of zcdp, got 'basic'"):
        ZCDPFilter.from_dict(BasicFilter(1.0).to_dict())
    assert used(BitsFilter(2), Bits.of_values(4)).remaining() == {"bits": 0.0}
