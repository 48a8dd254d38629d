"""Attempts to get more out of a filter than it promises, computed exactly."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from holdfast.accounting import (
    AllOf,
    AnyOf,
    BasicFilter,
    Filter,
    FilterFromOdometer,
    RenyiCurveFilter,
    RogersFilter,
    WhitehouseFilter,
    ZCDPFilter,
    default_filter,
    default_odometer,
)
from holdfast_papers.accounting.adversaries import TwoSpeeds
from holdfast_papers.accounting.finite import RandomizedResponse
from holdfast_papers.accounting.views import all_views, game_delta
from tests.accounting.adversary import admitted_region, worst_delta

SETTINGS = [(1.0, 0.01, 0.05, 2), (2.0, 0.05, 0.1, 3), (1.0, 1e-4, 0.03, 4)]
MAKERS: dict[str, Callable[[float, float], Filter]] = {
    "basic": lambda epsilon, delta: BasicFilter(epsilon),
    "rogers": RogersFilter,
    "rogers-tuned": lambda epsilon, delta: RogersFilter(epsilon, delta, method="tuned"),
    "whitehouse": WhitehouseFilter,
    "zcdp": ZCDPFilter.from_dp,
    "renyi-curve": RenyiCurveFilter,
    "default": default_filter,
    "any-of-three": lambda epsilon, delta: AnyOf(
        [BasicFilter(epsilon), ZCDPFilter.from_dp(epsilon, delta / 2), RenyiCurveFilter(epsilon, delta / 2)]
    ),
    "all-of": lambda epsilon, delta: AllOf([WhitehouseFilter(epsilon, delta), ZCDPFilter.from_dp(2 * epsilon, delta)]),
    "from-odometer": lambda epsilon, delta: FilterFromOdometer(default_odometer(delta), epsilon),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(("epsilon", "delta", "unit", "factor"), SETTINGS)
def test_the_best_adversary_with_two_epsilons_stays_below_delta(
    name: str, epsilon: float, delta: float, unit: float, factor: int
) -> None:
    region = admitted_region(lambda: MAKERS[name](epsilon, delta), unit, factor)
    assert region
    assert worst_delta(region, unit, factor, epsilon) <= delta


@pytest.mark.parametrize(("epsilon", "delta", "unit", "factor"), SETTINGS)
def test_the_same_adversary_catches_a_budget_that_is_too_large(
    epsilon: float, delta: float, unit: float, factor: int
) -> None:
    generous = ZCDPFilter.from_dp(epsilon, delta).rho * 1.5
    region = admitted_region(lambda: ZCDPFilter(generous), unit, factor)
    assert worst_delta(region, unit, factor, epsilon) > delta


@pytest.mark.parametrize("room", [0.02, 0.05])
def test_deltas_of_the_costs_are_paid_once(room: float) -> None:
    """Basic OR zCDP with one room for the costs' deltas: every view of a six-round game, weighed exactly."""
    epsilon, delta = 1.2, room + 0.05

    def gate() -> Filter:
        return default_filter(epsilon, delta, delta_sum=room)

    for ahead, behind in ((0.7, 0.2), (0.3, 0.6), (0.4, 0.4)):
        players = RandomizedResponse(ahead, room / 4), RandomizedResponse(behind, room / 4)
        reached = game_delta(all_views(TwoSpeeds(*players), 6, gate), epsilon)
        assert reached <= delta
        unguarded = game_delta(all_views(TwoSpeeds(*players), 6), epsilon)
        assert unguarded > delta, "the game must be able to fail"


def test_deltas_of_the_costs_are_not_paid_less_than_once() -> None:
    """A mechanism that reveals itself with probability delta spends it all, so the room cannot be smaller."""
    room = 0.05
    account = default_filter(1.0, room + 0.001, delta_sum=room)
    players = RandomizedResponse(0.0, room / 5), RandomizedResponse(0.0, room / 5)
    reached = game_delta(
        all_views(TwoSpeeds(*players), 5, lambda: default_filter(1.0, room + 0.001, delta_sum=room)), 1.0
    )
    assert reached == pytest.approx(1 - (1 - room / 5) ** 5, abs=1e-12)
    assert math.isclose(account.guarantee().parameters["delta"], room + 0.001)
