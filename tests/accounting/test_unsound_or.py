"""Two valid Renyi filters, joined by OR at a single delta, are not valid at that delta; joined by `AnyOf` they are.

The adversary runs one mildly private mechanism first. If its output was unlikely on the neighbour, the loss is
already high and order 8 has most left to give, so it runs a mechanism that exhausts order 8; otherwise one that
exhausts order 2. Each filter alone would have refused one of the two. All distributions are on two outputs, so
everything is exact.
"""

from __future__ import annotations

import math

import pytest

from holdfast.accounting import RDP, AnyOf, Filter, RenyiCurveFilter
from holdfast.errors import InvalidParameter

ORDERS = (2.0, 8.0)
Coin = tuple[float, float]
ATTACKS: list[tuple[float, float, tuple[Coin, Coin, Coin], float]] = [
    # epsilon, delta, coins (first, after a high loss, after a low loss; probability of output 1), reached / delta
    (8.0, 0.01, ((0.0692137, 0.0289963), (0.9993120, 0.0006881), (0.0179778, 2.8911e-06)), 1.80),
    (4.0, 0.05, ((0.2741200, 0.1789134), (0.97710, 0.02290), (0.0769397, 0.00062760)), 1.44),
]


def divergence(order: float, p: float, q: float) -> float:
    terms = [a**order * b ** (1 - order) for a, b in ((p, q), (1 - p, 1 - q)) if a > 0]
    return math.log(math.fsum(terms)) / (order - 1)


def cost(coin: Coin) -> RDP:
    """The larger of both directions at each order, a little up."""
    p, q = coin
    worst = tuple(max(divergence(a, p, q), divergence(a, q, p)) * (1 + 1e-12) for a in ORDERS)
    return RDP(ORDERS, worst)


def gained(epsilon: float, first: Coin, high: Coin, low: Coin) -> float:
    """The hockey-stick divergence of the two-stage game."""
    total = 0.0
    for p, q, second in ((first[0], first[1], high), (1 - first[0], 1 - first[1], low)):
        for p2, q2 in (second, (1 - second[0], 1 - second[1])):
            total += max(p * p2 - math.exp(epsilon) * q * q2, 0.0)
    return total


def branches(make: Filter, first: Coin, second: Coin) -> bool:
    """Whether a fresh filter lets the adversary go down this path."""
    make.spend(cost(first))
    return make.admits(cost(second))


@pytest.mark.parametrize(("epsilon", "delta", "coins", "ratio"), ATTACKS)
def test_or_at_a_single_delta_is_caught(
    epsilon: float, delta: float, coins: tuple[Coin, Coin, Coin], ratio: float
) -> None:
    first, high, low = coins

    def at_one_delta() -> AnyOf:
        return AnyOf([RenyiCurveFilter(epsilon, delta, (a,)) for a in ORDERS])

    assert branches(at_one_delta(), first, high)
    assert branches(at_one_delta(), first, low)
    reached = gained(epsilon, *coins)
    assert reached / delta == pytest.approx(ratio, abs=0.01)
    assert reached > delta, "joined at a single delta the promise would be broken"
    promised = at_one_delta().guarantee().parameters
    assert promised["epsilon"] == epsilon
    assert promised["delta"] == pytest.approx(2 * delta)
    assert reached <= promised["delta"]


@pytest.mark.parametrize(("epsilon", "delta", "coins", "ratio"), ATTACKS)
def test_each_filter_alone_and_the_rigorous_curve_refuse(
    epsilon: float, delta: float, coins: tuple[Coin, Coin, Coin], ratio: float
) -> None:
    first, high, low = coins
    for orders in ((2.0,), (8.0,), ORDERS):
        open_to = [branches(RenyiCurveFilter(epsilon, delta, orders), first, second) for second in (high, low)]
        assert not all(open_to), orders


def test_only_promises_of_one_kind_can_be_joined() -> None:
    from holdfast.accounting import BitsFilter, RenyiFilter, ZCDPFilter

    for silent in (RenyiFilter(2.0, 1.0), BitsFilter(3.0), ZCDPFilter(0.1)):
        with pytest.raises(InvalidParameter, match="must each guarantee an"):
            AnyOf([RenyiCurveFilter(1.0, 1e-6), silent])
