"""Every number is rounded to its safe side: against exact decimals and 60-digit arithmetic."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest

from holdfast.accounting import (
    AnyOf,
    BasicFilter,
    BasicOdometer,
    Filter,
    FilterFromOdometer,
    GDPFilter,
    LineOdometer,
    MinimumOdometer,
    MixtureOdometer,
    Odometer,
    PointwiseDP,
    PureDP,
    RenyiCurveFilter,
    RenyiOdometer,
    StitchedOdometer,
    WhitehouseFilter,
    ZCDPFilter,
    ZCDPOdometer,
)
from holdfast.accounting import filters as whitehouse_module
from holdfast.accounting import filters as zcdp_module
from holdfast.accounting.totals import exact
from holdfast.bounds.conversions import gdp_budget, pure_to_rdp, zcdp_budget
from holdfast.bounds.odometers import line_reading, rogers_reading, stitched_reading


@pytest.fixture(autouse=True)
def _sixty_digits() -> Any:
    with mp.workdps(60):
        yield


def budgets(seed: int, count: int) -> list[tuple[float, float]]:
    rng = np.random.default_rng(seed)
    return [(float(e), float(10.0**d)) for e, d in rng.uniform((0.1, -9), (5, -2), (count, 2))]


def decimal_of(x: Any) -> Any:
    return mp.mpf(str(x))


def test_budgets_read_as_decimals_stay_inside_the_converted_budget() -> None:
    for epsilon, delta in budgets(1, 40):
        assert exact(ZCDPFilter.from_dp(epsilon, delta).rho) <= Decimal(zcdp_budget(epsilon, delta))
        assert exact(GDPFilter.from_dp(epsilon, delta).mu) <= Decimal(gdp_budget(epsilon, delta))


def test_caps_of_a_renyi_curve_are_rounded_down() -> None:
    for epsilon, delta in budgets(2, 60):
        orders = (2.0, 3.5, 17.0, 300.0)
        constant = mp.fsum((a - 1) ** mp.mpf(a - 1) / mp.mpf(a) ** mp.mpf(a) for a in orders)
        price = -mp.log(decimal_of(repr(delta))) + mp.log(constant)
        for order, left in zip(orders, RenyiCurveFilter(epsilon, delta, orders).remaining()["epsilons"], strict=True):
            cap = decimal_of(repr(epsilon)) - price / (order - 1)
            assert decimal_of(repr(left)) <= max(cap, mp.mpf(0))
            assert decimal_of(repr(left)) >= cap - mp.mpf(10) ** -13


def test_slacks_are_rounded_down(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def budget(epsilon: float, slack: float, method: Any) -> float:
        given.append(slack)
        return zcdp_budget(epsilon, slack, method)

    def left_side(squares: float, slack: float) -> float:
        given.append(slack)
        return 0.0

    monkeypatch.setattr(zcdp_module, "zcdp_budget", budget)
    monkeypatch.setattr(whitehouse_module, "whitehouse_left_side", left_side)
    for epsilon, delta in budgets(3, 30):
        room = delta / 3
        slack = exact(delta) - exact(room)
        ZCDPFilter.from_dp(epsilon, delta, delta_sum=room)
        WhitehouseFilter(epsilon, delta, delta_sum=room).admits(PureDP(0.0))
        assert len(given) == 2
        for used in given:
            assert Decimal(used) <= slack < Decimal(math.nextafter(used, 1.0))
        given.clear()


def test_totals_are_rounded_up_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[float, float]] = []

    def bound(self: MixtureOdometer, drift: float, squares: float) -> float:
        seen.append((drift, squares))
        return 0.0

    monkeypatch.setattr(MixtureOdometer, "_bound", bound)
    odometer = MixtureOdometer(1e-6)
    for epsilon, _ in budgets(4, 40):
        odometer.record(PureDP(epsilon))
        odometer.reading()
        totals = odometer.to_dict()["totals"]
        drift, squares = seen.pop()
        for double, total in ((drift, Decimal(totals["drift"])), (squares, Decimal(totals["squares"]))):
            assert Decimal(math.nextafter(double, 0.0)) < total <= Decimal(double)


def test_a_pointwise_cost_is_a_wider_pure_one_and_a_certain_loss() -> None:
    """Given the good outputs the distributions are `epsilon + d` close and the loss moves by `d = log(1/(1 -
    delta))`."""
    for epsilon, delta in ((0.0, 0.05), (0.3, 0.02), (1.7, 1e-4)):
        certain = -mp.log(1 - decimal_of(repr(delta)))
        wide = decimal_of(repr(epsilon)) + certain
        cost = PointwiseDP(epsilon, delta)

        zcdp = ZCDPOdometer(0.2, 100, delta_sum=0.1)
        zcdp.record(cost)
        totals = {name: decimal_of(text) for name, text in zcdp.to_dict()["totals"].items()}
        rho = wide * mp.tanh(wide / 2)
        for total, truth in ((totals["rho"], rho), (totals["certain"], certain)):
            assert truth <= total <= truth * (1 + mp.mpf(10) ** -14)
        printed = 0.1 / (0.5 + 1 / (4 * math.log2(100)))
        drift, squares = float(rho + certain), max(float(2 * rho), 1e-4)
        assert zcdp.reading() == pytest.approx(rogers_reading(drift, squares, 100, printed), rel=1e-9)

        orders = (2.0, 8.0, 32.0)
        renyi = RenyiOdometer(0.2, orders, delta_sum=0.1)
        renyi.record(cost)
        *curve, spent = renyi.to_dict()["totals"]
        assert Decimal(spent) == exact(delta)
        for order, text in zip(orders, curve, strict=True):
            truth = float(certain) + pure_to_rdp(float(wide), order)
            assert float(text) == pytest.approx(truth, rel=1e-9)
        least = min(float(text) + math.log(3 / 0.1) / (order - 1) for order, text in zip(orders, curve, strict=True))
        assert renyi.reading() == pytest.approx(least, rel=1e-9)


def test_the_deltas_of_costs_survive_storing() -> None:
    for make in (
        lambda: RenyiOdometer(1e-2, (2.0, 8.0), delta_sum=1e-3),
        lambda: ZCDPOdometer(1e-2, delta_sum=1e-3),
        lambda: MixtureOdometer(1e-2, delta_sum=1e-3),
        lambda: BasicOdometer(1e-3),
    ):
        odometer: Odometer = make()  # type: ignore[no-untyped-call]
        odometer.record(PointwiseDP(0.1, 8e-4))
        again = Odometer.from_dict(odometer.to_dict())
        again.record(PointwiseDP(0.1, 3e-4))
        assert again.reading() == math.inf


def test_rooms_of_combinations() -> None:
    mixture = MixtureOdometer(1e-6, delta_sum=4e-7)
    for joint in (MinimumOdometer([BasicOdometer(), mixture]), MinimumOdometer([mixture, BasicOdometer(2e-7)])):
        assert (joint.delta, joint.delta_sum) == (1e-6, 4e-7)
    filters: list[Filter] = [FilterFromOdometer(mixture, 1.0), WhitehouseFilter(1.0, 1e-6, delta_sum=1e-7)]
    assert AnyOf(filters).guarantee().parameters["delta"] == 1.9e-6
    assert AnyOf([filters[0], BasicFilter(1.0)]).guarantee().parameters["delta"] == 1e-6


def test_two_sided_boundaries_halve_their_slack() -> None:
    squares = float(Fraction(4, 10_000))
    drift = 4 * 0.01 * math.tanh(0.005)
    for make, reading in (
        (lambda both: StitchedOdometer(1e-6, two_sided=both), lambda slack: stitched_reading(drift, squares, slack)),
        (lambda both: LineOdometer(1e-6, two_sided=both), lambda slack: line_reading(drift, squares, slack)),
    ):
        for both, slack in ((False, 1e-6), (True, 5e-7)):
            odometer: Odometer = make(both)  # type: ignore[no-untyped-call]
            for _ in range(4):
                odometer.record(PureDP(0.01))
            assert odometer.reading() == pytest.approx(reading(slack), rel=1e-12)  # type: ignore[no-untyped-call]
