"""What a filter of filters promises, and what cannot be joined because it promises no (epsilon, delta)."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.accounting import (
    GDP,
    AllOf,
    AnyOf,
    BasicFilter,
    BasicOdometer,
    FilterFromOdometer,
    GDPFilter,
    PureDP,
    WhitehouseFilter,
)
from holdfast.errors import BudgetExhausted, InvalidParameter


def stated(account: Any) -> tuple[float, float]:
    parameters = account.guarantee().parameters
    return parameters["epsilon"], parameters["delta"]


def test_an_or_inside_an_and_keeps_its_promise() -> None:
    either = AnyOf([BasicFilter(1.0), WhitehouseFilter(1.0, 1e-6)])
    whole = AllOf([either, BasicFilter(5.0, 1e-3)])
    assert stated(whole) == stated(either)
    for _ in range(10):
        whole.spend(PureDP(0.1))
    assert not whole.admits(PureDP(0.1))
    with pytest.raises(BudgetExhausted, match="all-of"):
        whole.spend(PureDP(0.1))


def test_an_or_inside_an_or_adds_the_slacks() -> None:
    inner = AnyOf([BasicFilter(1.0), WhitehouseFilter(1.0, 1e-6)])
    outer = AnyOf([inner, WhitehouseFilter(2.0, 1e-7)])
    assert stated(inner) == (1.0, 1e-6)
    assert stated(outer)[0] == 2.0
    assert stated(outer)[1] == pytest.approx(1.1e-6, rel=1e-9)
    assert stated(outer)[1] >= 1e-6 + 1e-7 - 1e-22


def test_a_budget_of_mu_alone_promises_no_epsilon() -> None:
    said = r"filters that are joined by OR must each guarantee an \(epsilon, delta\), and the gdp filter does not"
    with pytest.raises(InvalidParameter, match=said):
        AnyOf([BasicFilter(1.0), GDPFilter(0.5)])
    joined = AllOf([GDPFilter(0.5), GDPFilter(0.7)])
    assert "epsilon" not in joined.guarantee().parameters
    assert joined.admits(GDP(0.5))
    assert not joined.admits(GDP(0.6))


@pytest.mark.parametrize("wrong", [None, 1.0, BasicFilter(1.0)], ids=["nothing", "a number", "a filter"])
def test_a_filter_is_made_from_an_odometer_alone(wrong: Any) -> None:
    with pytest.raises(InvalidParameter, match=f"odometer must be an Odometer, got a {type(wrong).__name__}"):
        FilterFromOdometer(wrong, 1.0)


def test_a_filter_from_an_odometer_is_the_same_when_it_is_read_back() -> None:
    made = FilterFromOdometer(BasicOdometer(), 1.0)
    made.spend(PureDP(0.25))
    again = FilterFromOdometer.from_dict(made.to_dict())
    assert (
        again.parameters()
        == made.parameters()
        == {
            "odometer": {"odometer": "basic", "delta": 0.0},
            "epsilon": 1.0,
        }
    )
    assert again.spent() == made.spent()
    assert stated(again) == (1.0, 0.0)
    assert again.admits(PureDP(0.75))
    assert not again.admits(PureDP(0.76))
