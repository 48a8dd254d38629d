"""What each filter is for, in numbers."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from holdfast.accounting import (
    GDP,
    RDP,
    ZCDP,
    AllOf,
    AnyOf,
    ApproxDP,
    BasicFilter,
    Bits,
    BitsFilter,
    Cost,
    Filter,
    FilterFromOdometer,
    GDPFilter,
    MixtureOdometer,
    PointwiseDP,
    PureDP,
    RenyiCurveFilter,
    RenyiFilter,
    RogersFilter,
    RogersOdometer,
    WhitehouseFilter,
    ZCDPFilter,
    default_filter,
)
from holdfast.bounds.conversions import gdp_to_dp, zcdp_to_dp
from holdfast.bounds.filters import rounds as closed_rounds
from holdfast.errors import BudgetExhausted, InvalidParameter


def rounds(account: Filter, cost: Cost) -> int:
    count = 0
    while account.admits(cost):
        account.spend(cost)
        count += 1
    return count


# spec-confidence-and-composition section 5.4, all six rows
TABLE = [
    (1.0, 1e-6, 0.005, (200, 591, 602, 534, 1397, 1948, 1427)),
    (1.0, 1e-6, 0.01, (100, 147, 150, 133, 349, 487, 360)),
    (1.0, 1e-6, 0.05, (20, 5, 6, 5, 13, 19, 19)),
    (1.0, 1e-6, 0.1, (10, 1, 1, 1, 3, 4, 9)),
    (3.0, 1e-6, 0.005, (600, 5185, 5268, 4683, 11781, 14805, 11794)),
    (3.0, 1e-6, 0.1, (30, 12, 13, 11, 29, 37, 35)),
]


@pytest.mark.parametrize(("epsilon", "delta", "each", "expected"), TABLE)
def test_rounds_of_the_specification(epsilon: float, delta: float, each: float, expected: tuple[int, ...]) -> None:
    made = (
        BasicFilter(epsilon),
        RogersFilter(epsilon, delta, method="paper"),
        RogersFilter(epsilon, delta),
        FilterFromOdometer(RogersOdometer(delta), epsilon),
        WhitehouseFilter(epsilon, delta),
        ZCDPFilter.from_dp(epsilon, delta),
        RenyiCurveFilter(epsilon, delta),
    )
    assert tuple(rounds(account, PureDP(each)) for account in made) == expected
    assert rounds(default_filter(epsilon, delta), PureDP(each)) == max(expected[0], expected[5])
    names = ("basic", "rogers", "rogers-tuned", None, "whitehouse", "zcdp", "renyi-curve")
    for name, count in zip(names, expected, strict=True):
        assert name is None or closed_rounds(name, each, epsilon, delta) == count  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "cost"),
    [
        (lambda: BasicFilter(0.7, 1e-5), lambda left: ApproxDP(left["epsilon"], left["delta"])),
        (lambda: ZCDPFilter(0.3), lambda left: ZCDP(left["rho"])),
        (lambda: GDPFilter(1.3), lambda left: GDP(left["mu"])),
        (lambda: BitsFilter(17.3), lambda left: Bits(left["bits"])),
        (lambda: RenyiFilter(4.0, 0.9), lambda left: RDP((4.0,), (left["epsilon"],))),
        (lambda: RogersFilter(2.0, 1e-6), lambda left: ApproxDP(left["epsilon"], left["delta"])),
        (lambda: WhitehouseFilter(2.0, 1e-6, delta_sum=5e-7), lambda left: ApproxDP(left["epsilon"], left["delta"])),
        (lambda: FilterFromOdometer(MixtureOdometer(1e-6), 1.0), lambda left: PureDP(left["epsilon"])),
    ],
)
def test_what_is_left_is_admitted_and_a_little_more_is_not(
    make: Callable[[], Filter], cost: Callable[[dict[str, float]], Cost]
) -> None:
    account = make()
    for part in (0.31, 0.123456789):
        left = {k: v * part if k != "order" else v for k, v in account.remaining().items()}
        account.spend(cost(left))
    left = account.remaining()
    assert account.admits(cost(left))
    for name in left:
        if name != "order" and left[name] > 0:
            assert not account.admits(cost(left | {name: left[name] * (1 + 1e-11)})), name
    account.spend(cost(left))
    more = {k: 1e-6 if k != "order" else v for k, v in left.items()}
    with pytest.raises(BudgetExhausted):
        account.spend(cost(more))


def test_gaussian_costs_are_exact() -> None:
    """A million questions of mu 0.001 are exactly mu 1, by squares and by rho."""
    by_squares, by_rho = GDPFilter(1.0), ZCDPFilter(0.5)
    for _ in range(10_000):
        by_squares.spend(GDP(0.01))
        by_rho.spend(GDP(0.01))
    for account in (by_squares, by_rho):
        assert not account.admits(GDP(1e-100))
        assert account.admits(GDP(0.0))


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (8.0, 1e-5), (0.5, 0.01)])
def test_from_dp_keeps_its_promise_and_wastes_nothing(epsilon: float, delta: float) -> None:
    concentrated, gaussian = ZCDPFilter.from_dp(epsilon, delta), GDPFilter.from_dp(epsilon, delta)
    assert zcdp_to_dp(concentrated.rho, delta) <= epsilon < zcdp_to_dp(concentrated.rho * (1 + 1e-9), delta)
    assert gdp_to_dp(gaussian.mu, delta) <= epsilon * (1 + 1e-14) < gdp_to_dp(gaussian.mu * (1 + 1e-9), delta)
    assert gaussian.mu**2 / 2 > concentrated.rho
    with pytest.raises(InvalidParameter, match="epsilon must be at least"):
        ZCDPFilter(concentrated.rho * 1.001, epsilon=epsilon, delta=delta)
    with pytest.raises(InvalidParameter, match="epsilon must be at least"):
        GDPFilter(gaussian.mu * 1.001, epsilon=epsilon, delta=delta)
    with pytest.raises(InvalidParameter, match="both be given"):
        ZCDPFilter(0.1, epsilon=1.0)
    with pytest.raises(InvalidParameter, match="both be given"):
        GDPFilter(0.1, delta=1e-6)


def test_methods_of_the_conversion_order_the_budgets() -> None:
    budgets = [ZCDPFilter.from_dp(1.0, 1e-6, method=m).rho for m in ("simple", "pi", "best")]
    assert budgets == sorted(budgets)
    assert budgets[0] == pytest.approx(0.01746890477, rel=1e-9)


def test_opendp_admits_the_same_number_of_questions() -> None:
    """OpenDP's fully adaptive filter as an oracle, for budgets away from ties."""
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib", "honest-but-curious")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    odometer = dp.c.make_fully_adaptive_composition(*space, dp.zero_concentrated_divergence())
    for scale, budget in ((4.0, 0.26), (2.0, 1.3), (3.0, 0.7)):
        ours, theirs = ZCDPFilter(budget), dp.c.make_privacy_filter(odometer, d_in=1.0, d_out=budget)(0.0)
        measurement = dp.m.make_gaussian(*space, scale=scale)
        count = rounds(ours, GDP(1 / scale))
        for _ in range(count):
            theirs(measurement)
        with pytest.raises(dp.OpenDPException):
            theirs(measurement)


def test_room_for_the_deltas_of_costs() -> None:
    for account in (
        BasicFilter(5.0, 3e-7),
        WhitehouseFilter(5.0, 1e-6, delta_sum=3e-7),
        ZCDPFilter.from_dp(5.0, 1e-6, delta_sum=3e-7),
        default_filter(5.0, 1e-6, delta_sum=3e-7),
    ):
        for cost in (ApproxDP(0.01, 1e-7), PointwiseDP(0.01, 1e-7), ApproxDP(0.01, 1e-7)):
            account.spend(cost)
        assert not account.admits(ApproxDP(0.01, 1e-12))
        assert account.admits(PureDP(0.01))
    assert rounds(RogersFilter(5.0, 1e-6), ApproxDP(0.001, 1e-7)) == 5
    assert not default_filter(1.0, 1e-6).admits(ApproxDP(0.01, 1e-12))
    for wrong in (1e-6, 2e-6):
        with pytest.raises(InvalidParameter, match="delta_sum must be below delta"):
            WhitehouseFilter(1.0, 1e-6, delta_sum=wrong)


def test_any_of_adds_slacks_and_pays_room_once() -> None:
    def promised(*filters: Filter) -> tuple[float, float]:
        said = AnyOf(filters).guarantee().parameters
        return said["epsilon"], said["delta"]

    basic, room = BasicFilter(1.0, 4e-7), {"delta_sum": 4e-7}
    zcdp, whitehouse = ZCDPFilter.from_dp(1.0, 1e-6, **room), WhitehouseFilter(1.0, 1e-6, **room)
    assert promised(BasicFilter(1.0), ZCDPFilter.from_dp(1.0, 1e-6)) == (1.0, 1e-6)
    assert promised(basic, zcdp) == (1.0, 1e-6)
    assert promised(zcdp, whitehouse) == (1.0, 1.6e-6)
    assert promised(basic, zcdp, whitehouse) == (1.0, 1.6e-6)
    assert promised(BasicFilter(2.0), GDPFilter.from_dp(1.0, 1e-6)) == (2.0, 1e-6)
    assert promised(RogersFilter(1.0, 1e-6), zcdp) == (1.0, 1.6e-6)
    with pytest.raises(InvalidParameter, match="at least two"):
        AnyOf([basic])
    with pytest.raises(InvalidParameter, match="a list of filters"):
        AnyOf([basic, 1.0])  # type: ignore[list-item]


def test_any_of_closes_a_filter_that_was_passed_over() -> None:
    account = default_filter(1.0, 1e-6)
    account.spend(PureDP(0.99))  # too much for the sum of rho
    assert "zcdp" not in account.remaining()
    assert account.admits(PureDP(0.01))
    assert not account.admits(PureDP(0.011))
    other = default_filter(1.0, 1e-6)
    other.spend(PureDP(0.0))
    other.spend(ZCDP(0.0))  # a cost of nothing closes nothing
    assert set(other.remaining()) == {"basic", "zcdp"}
    other.spend(ZCDP(0.01))  # basic cannot account for it
    assert set(other.remaining()) == {"zcdp"}
    again = Filter.from_dict(other.to_dict())
    assert again.to_dict() == other.to_dict()
    assert set(again.remaining()) == {"zcdp"}


def test_all_of_keeps_every_promise() -> None:
    both = AllOf([BasicFilter(1.0), ZCDPFilter.from_dp(3.0, 1e-6)])
    assert rounds(both, PureDP(0.1)) == 10
    said = both.guarantee().parameters
    assert (said["epsilon"], said["delta"]) == (1.0, 0.0)
    assert len(said["filters"]) == 2
    nested = AnyOf([AllOf([BasicFilter(1.0), BasicFilter(2.0)]), ZCDPFilter.from_dp(1.0, 1e-6)])
    assert nested.guarantee().parameters["delta"] == 1e-6
    assert Filter.from_dict(nested.to_dict()).to_dict() == nested.to_dict()
    with pytest.raises(InvalidParameter, match="all accept at least one kind"):
        AllOf([BasicFilter(1.0), BitsFilter(3.0)])


def test_renyi_curves_are_read_at_the_next_order() -> None:
    account = RenyiFilter(4.0, 1.0)
    account.spend(RDP((2.0, 8.0), (0.1, 0.3)))
    assert account.spent() == {"order": 4.0, "epsilon": 0.3}
    before = account.to_dict()
    with pytest.raises(InvalidParameter, match="order of at least 4"):
        account.spend(RDP((2.0, 3.0), (0.1, 0.1)))
    assert account.to_dict() == before
    curve = RenyiCurveFilter(1.0, 1e-6)
    curve.spend(RDP((16.0, 32.0), (0.001, 0.002)))
    assert math.isinf(curve.spent()["epsilons"][-1])
    assert curve.remaining()["epsilons"][-1] == 0.0
    assert Filter.from_dict(curve.to_dict()).to_dict() == curve.to_dict()
    for wrong in ([], [1.0, 2.0], [3.0, 2.0], 2.0, [2.0, math.nan]):
        with pytest.raises(InvalidParameter, match="orders"):
            RenyiCurveFilter(1.0, 1e-6, wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="orders must include higher"):
        RenyiCurveFilter(0.1, 1e-6, (2.0, 3.0))


def test_offsets_that_admit_nothing_are_refused() -> None:
    assert RogersFilter(1.0, 1e-6, offset=0.005).offset == 0.005
    with pytest.raises(InvalidParameter, match="offset must be smaller"):
        RogersFilter(1.0, 1e-6, offset=10.0)
    for delta in (0.0, 0.4, 1.0):
        with pytest.raises(InvalidParameter, match="delta"):
            RogersFilter(1.0, delta)


def test_extreme_budgets_of_rogers_blame_what_was_given() -> None:
    for method in ("paper", "tuned"):
        assert RogersFilter(1e200, 1e-6, method=method).admits(PureDP(1e-3))  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="epsilon must be larger"):
            RogersFilter(1e-200, 1e-6, method=method)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="method must be one of tuned, paper"):
        RogersFilter(1.0, 1e-6, method="best")  # type: ignore[arg-type]


def test_wrong_kinds_name_the_conversion() -> None:
    for account, cost, named in (
        (BasicFilter(1.0), ZCDP(0.1), "zcdp_to_dp to ApproxDP"),
        (BasicFilter(1.0), GDP(0.1), "gdp_to_dp to ApproxDP"),
        (BasicFilter(1.0), RDP((2.0,), (0.1,)), "rdp_to_dp to ApproxDP"),
        (GDPFilter(1.0), PureDP(0.1), "pure_to_gdp to GDP"),
        (BitsFilter(1.0), PureDP(0.1), "it accepts Bits$"),
        (ZCDPFilter(1.0), RDP((2.0,), (0.1,)), "rdp_to_dp to ApproxDP"),
    ):
        with pytest.raises(InvalidParameter, match=named):
            account.spend(cost)


def test_overflowing_costs_are_refused_not_lost() -> None:
    for account in (
        BasicFilter(1.0),
        RogersFilter(1.0, 1e-6),
        WhitehouseFilter(1.0, 1e-6),
        ZCDPFilter(1.0),
        RenyiFilter(2.0, 1.0),
        RenyiCurveFilter(1.0, 1e-6),
        default_filter(1.0, 1e-6),
        FilterFromOdometer(MixtureOdometer(1e-6), 1.0),
    ):
        for size in (800.0, 1e200, 1.7e308):
            with pytest.raises(BudgetExhausted):
                account.spend(PureDP(size))
        account.spend(PureDP(1e-3))
        account.spend(PureDP(1e-300))
        account.spend(PureDP(5e-324))


def test_a_joined_filter_says_which_part_an_earlier_cost_closed() -> None:
    budget = default_filter(1.0, 1e-6)
    budget.spend(PureDP(0.5))
    with pytest.raises(BudgetExhausted, match="zcdp was closed by an earlier cost, and basic cannot account for ZCDP"):
        budget.spend(ZCDP(1e-6))
    with pytest.raises(BudgetExhausted) as caught:
        budget.spend(PureDP(0.6))
    assert "closed" not in str(caught.value)


def test_the_caps_of_a_curve_are_below_the_exact_budget_at_every_order() -> None:
    import mpmath as mp

    orders = (2.0, 3.0, 16.0, 20.0, 33.0, 64.0, 96.0, 128.0, 500.0)
    with mp.workdps(40):
        constant = mp.log(mp.fsum(mp.mpf(a - 1) ** (a - 1) / mp.mpf(a) ** a for a in map(mp.mpf, orders)))
        for epsilon in (1.0, 3.0, 0.7):
            for delta in (1e-6, 1e-9, 3e-5):
                left = RenyiCurveFilter(epsilon, delta, orders).remaining()["epsilons"]
                price = constant - mp.log(mp.mpf(repr(delta)))
                for order, found in zip(orders, left, strict=True):
                    exact = mp.mpf(repr(epsilon)) - price / (mp.mpf(order) - 1)
                    assert found <= max(exact, 0)
                    assert found >= exact - 2e-13 * price
