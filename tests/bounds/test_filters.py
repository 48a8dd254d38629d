"""Filters against the strongest adversary for two kinds of rounds, computed exactly, and next to broken rules."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.composition import heterogeneous_delta
from holdfast.bounds.conversions import gdp_budget, pure_to_gdp, pure_to_rdp, pure_to_zcdp, zcdp_budget
from holdfast.bounds.filters import (
    ROGERS_OVERHEAD,
    ROGERS_RATIO,
    SPARSE_ORDERS,
    basic_left_side,
    gdp_left_side,
    loss_drift,
    renyi_constant,
    renyi_curve_left_side,
    rogers_left_side,
    rogers_offset,
    rounds,
    whitehouse_left_side,
    zcdp_left_side,
)
from holdfast.bounds.odometers import reading
from holdfast.errors import InvalidParameter

NAMES = ("basic", "rogers", "rogers-tuned", "whitehouse", "zcdp", "renyi-curve", "gdp")
SETTINGS = settings(deadline=None, max_examples=50, derandomize=True)
Rule = Callable[[int, int], bool]


def worst_delta(a: float, b: float, budget: float, allowed: Rule) -> float:
    """The largest hockey stick that any adaptive choice between rounds of `a` and of `b` reaches under the rule.

    Backward induction over every history: the adversary sees the losses and picks the next round or stops. Randomized
    response is the worst mechanism of each kind, and the game is the same seen from either neighbour.
    """
    tops = {e: 1 / (1 + math.exp(-e)) for e in (a, b)}
    may = functools.cache(allowed)

    @functools.cache
    def value(k: int, m: int, up_a: int, up_b: int) -> float:
        loss = (2 * up_a - k) * a + (2 * up_b - m) * b
        best = -math.expm1(budget - loss) if loss > budget else 0.0
        if may(k + 1, m):
            best = max(best, tops[a] * value(k + 1, m, up_a + 1, up_b) + (1 - tops[a]) * value(k + 1, m, up_a, up_b))
        if may(k, m + 1):
            best = max(best, tops[b] * value(k, m + 1, up_a, up_b + 1) + (1 - tops[b]) * value(k, m + 1, up_a, up_b))
        return best

    return value(0, 0, 0, 0)


def sound_rules(a: float, b: float, epsilon: float, delta: float) -> dict[str, Rule]:
    offset = rogers_offset(epsilon, delta, "tuned")
    rho, mu = zcdp_budget(epsilon, delta), gdp_budget(epsilon, delta)
    curves = [(pure_to_rdp(a, o), pure_to_rdp(b, o)) for o in SPARSE_ORDERS]
    return {
        "rogers": lambda k, m: (
            rogers_left_side(k * loss_drift(a) + m * loss_drift(b), k * a * a + m * b * b, offset, delta / 2) <= epsilon
        ),
        "whitehouse": lambda k, m: whitehouse_left_side(k * a * a + m * b * b, delta) <= epsilon,
        "zcdp": lambda k, m: k * pure_to_zcdp(a) + m * pure_to_zcdp(b) <= rho,
        "basic or zcdp": lambda k, m: k * a + m * b <= epsilon or k * pure_to_zcdp(a) + m * pure_to_zcdp(b) <= rho,
        "gdp": lambda k, m: k * pure_to_gdp(a) ** 2 + m * pure_to_gdp(b) ** 2 <= mu**2,
        "renyi-curve": lambda k, m: (
            renyi_curve_left_side(SPARSE_ORDERS, [k * x + m * y for x, y in curves], delta) <= epsilon
        ),
    }


CASES = [(0.3, 0.7, 2.0, 0.05), (0.2, 1.0, 2.0, 0.05), (0.5, 0.25, 3.0, 0.01), (0.15, 0.4, 1.0, 0.1)]


@pytest.mark.parametrize(("a", "b", "epsilon", "delta"), CASES)
def test_no_adversary_breaks_a_filter(a: float, b: float, epsilon: float, delta: float) -> None:
    for name, rule in sound_rules(a, b, epsilon, delta).items():
        assert worst_delta(a, b, epsilon, rule) <= delta, name


@pytest.mark.parametrize(("a", "b", "epsilon", "delta"), CASES)
def test_optimal_composition_of_realised_parameters_is_broken(a: float, b: float, epsilon: float, delta: float) -> None:
    """Wrong on purpose: the best theorem for fixed parameters, used as a filter. The same adversary breaks it."""

    def rule(k: int, m: int) -> bool:
        return heterogeneous_delta([a] * k + [b] * m, epsilon) <= delta

    assert worst_delta(a, b, epsilon, rule) > 1.05 * delta


Outcome = tuple[float, float]
"""Log-probabilities of one outcome under the two neighbours."""


def divergence(law: Sequence[Outcome], order: float) -> float:
    """The larger of the two directions, so that neither is forgotten."""

    def one_way(pairs: Sequence[Outcome]) -> float:
        logs = [order * p + (1 - order) * q for p, q in pairs]
        top = max(logs)
        return (top + math.log(sum(math.exp(x - top) for x in logs))) / (order - 1)

    return max(one_way(law), one_way([(q, p) for p, q in law]))


def binary(log_odds: float, jump: float) -> list[Outcome]:
    """Two outcomes, the first with the given odds and with loss `jump`."""
    yes, no = -math.log1p(math.exp(-log_odds)), -math.log1p(math.exp(log_odds))
    return [(yes, yes - jump), (no, math.log1p(-math.exp(yes - jump)))]


def two_stage_attack(
    epsilon: float, admits: Callable[[list[float]], bool], orders: tuple[float, float], rare: float, hint: float
) -> float:
    """What delta an attacker reaches who lets the answers decide which of two orders survives.

    The first mechanism says B with probability `rare`, and then the loss is already `hint`. After the other outcome the
    attacker spends what is left at the smaller order, after B what is left at the larger one, in both cases on one jump
    just above the budget, of the height where that order's bound is sharp and as likely as the rule admits.
    """
    first = binary(math.log(rare / (1 - rare)), hint)[::-1]
    start = [divergence(first, a) for a in orders]
    if not admits(start):
        return 0.0
    reached = 0.0
    for (log_p, log_q), order in zip(first, orders, strict=True):
        height = math.log(order / (order - 1))
        jump = epsilon + height - (log_p - log_q)

        def fits(log_odds: float, jump: float = jump) -> bool:
            law = binary(log_odds, jump)
            return admits([s + divergence(law, a) for s, a in zip(start, orders, strict=True)])

        low, high = -40.0, 30.0
        if not fits(low):
            continue
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if fits(middle) else (low, middle)
        reached += math.exp(log_p) / (1 + math.exp(-low)) * -math.expm1(-height)
    return reached


def own_constants(orders: tuple[float, float], epsilon: float, delta: float) -> Callable[[list[float]], bool]:
    """Broken: every order with its own tight constant. Also the OR of two single-order filters at one delta."""
    return lambda totals: any(
        renyi_curve_left_side([a], [s], delta) <= epsilon for s, a in zip(totals, orders, strict=True)
    )


def as_published(orders: tuple[float, float], epsilon: float, delta: float) -> Callable[[list[float]], bool]:
    """Broken on grids with small orders: no constant at all."""
    return lambda totals: any(s + math.log(1 / delta) / (a - 1) <= epsilon for s, a in zip(totals, orders, strict=True))


def rigorous(orders: tuple[float, float], epsilon: float, delta: float) -> Callable[[list[float]], bool]:
    return lambda totals: renyi_curve_left_side(orders, totals, delta) <= epsilon


@pytest.mark.parametrize(
    ("broken", "orders", "epsilon", "delta", "rare", "hint", "ratio"),
    [
        (own_constants, (2.0, 8.0), 8.0, 0.01, 0.0781, 0.836, 1.799),
        (own_constants, (2.0, 8.0), 4.0, 0.05, 0.378, 0.317, 1.390),
        (as_published, (1.1, 1.5), 100.0, 0.05, 0.0277084, 13.4358, 1.0135),
    ],
)
def test_choosing_the_order_by_the_answers_costs_and_the_rigorous_curve_pays(
    broken: Any, orders: tuple[float, float], epsilon: float, delta: float, rare: float, hint: float, ratio: float
) -> None:
    """spec-confidence-and-composition section 7.3: orders {2, 8} at (8, 0.01) reach 1.80 times delta."""
    reached = two_stage_attack(epsilon, broken(orders, epsilon, delta), orders, rare, hint)
    assert reached == pytest.approx(ratio * delta, rel=5e-3)
    kept = two_stage_attack(epsilon, rigorous(orders, epsilon, delta), orders, rare, hint)
    assert 0 < kept <= delta


def test_or_of_two_filters_at_the_sum_of_their_deltas_is_kept() -> None:
    joined = own_constants((2.0, 8.0), 8.0, 0.01 / 2)
    assert 0 < two_stage_attack(8.0, joined, (2.0, 8.0), 0.08, 1.0) <= 0.01


def test_constants_of_rogers_filter() -> None:
    """spec-confidence-and-composition section 6, row "u*, 8u*, overhead c"."""
    u = mp.findroot(lambda u: u - 2 - mp.log(1 + u), 3.5)
    assert pytest.approx(float(u), rel=1e-14) == ROGERS_RATIO
    assert pytest.approx(3.505241496, rel=1e-9) == ROGERS_RATIO
    assert pytest.approx(28.04193197, rel=1e-9) == 8 * ROGERS_RATIO
    assert pytest.approx(2.252620748, rel=1e-9) == ROGERS_OVERHEAD


def test_tuned_offset_is_spent_exactly_at_its_own_variance() -> None:
    for epsilon, delta in ((1.0, 1e-6), (3.0, 1e-9), (0.2, 0.01)):
        x = rogers_offset(epsilon, delta, "tuned")
        variance = ROGERS_RATIO * x
        assert rogers_left_side(variance / 2, variance, x, delta / 2) == pytest.approx(epsilon, rel=1e-12)


@pytest.mark.parametrize(
    ("budget", "epsilon", "last"),
    [(1, 0.005, 534), (1, 0.01, 133), (1, 0.05, 5), (1, 0.1, 1), (3, 0.005, 4683), (3, 0.1, 11)],
)
def test_odometer_as_filter_of_table_5_4(budget: float, epsilon: float, last: int) -> None:
    """spec-confidence-and-composition section 5.4, the odometer (5.17) used as a filter with n = 10,000."""
    assert reading("rogers", epsilon, last, 10_000, 1e-6) <= budget < reading("rogers", epsilon, last + 1, 10_000, 1e-6)


@pytest.mark.parametrize(
    ("epsilon", "budget", "expected"),
    [(0.1, 1.0, 10), (0.01, 1.0, 100), (0.3, 0.9, 3), (0.1, 0.3, 3), (1e-6, 1.0, 10**6), (0.7, 0.69, 0), (0.1, 0.7, 7)],
)
def test_basic_counts_decimals_exactly(epsilon: float, budget: float, expected: int) -> None:
    assert rounds("basic", epsilon, budget, 0.0) == expected


@SETTINGS
@given(
    st.sampled_from(NAMES),
    st.floats(-3, 0).map(lambda x: 10.0**x),
    st.floats(0.05, 20),
    st.floats(-12, -0.6).map(lambda x: 10.0**x),
)
def test_rounds_move_the_right_way(name: Any, epsilon: float, budget: float, delta: float) -> None:
    count = rounds(name, epsilon, budget, delta)
    assert count >= 0
    assert rounds(name, epsilon, 1.5 * budget, delta) >= count
    assert rounds(name, 1.5 * epsilon, budget, delta) <= count
    assert rounds(name, epsilon, budget, delta / 10) <= count
    assert rounds("zcdp", epsilon, budget, delta) >= rounds("whitehouse", epsilon, budget, delta)


@SETTINGS
@given(st.floats(0, 5), st.floats(0, 5), st.floats(0, 1), st.floats(-12, -0.6).map(lambda x: 10.0**x))
def test_left_sides_grow_with_what_was_spent(drift: float, squares: float, more: float, slack: float) -> None:
    x = 0.01
    assert rogers_left_side(drift, squares, x, slack) <= rogers_left_side(drift + more, squares + more, x, slack)
    assert whitehouse_left_side(squares, slack) <= whitehouse_left_side(squares + more, slack)
    totals = [squares * a for a in SPARSE_ORDERS]
    assert renyi_curve_left_side(SPARSE_ORDERS, totals, slack) <= renyi_curve_left_side(
        SPARSE_ORDERS, [t + more for t in totals], slack
    )


@pytest.mark.parametrize(("epsilon", "budget", "delta"), [(0.01, 1.0, 1e-6), (0.1, 3.0, 1e-9), (0.5, 8.0, 0.01)])
def test_left_sides_and_counts_agree(epsilon: float, budget: float, delta: float) -> None:
    k = rounds("zcdp", epsilon, budget, delta)
    assert (
        zcdp_left_side(k * pure_to_zcdp(epsilon), delta)
        <= budget
        < zcdp_left_side((k + 1) * pure_to_zcdp(epsilon), delta)
    )
    k = rounds("gdp", epsilon, budget, delta)
    square = pure_to_gdp(epsilon) ** 2
    assert gdp_left_side(k * square, delta) <= budget < gdp_left_side((k + 1) * square, delta)
    k = rounds("basic", epsilon, budget, delta)
    assert basic_left_side([epsilon] * k) <= budget < basic_left_side([epsilon] * (k + 1))


def test_price_of_a_grid() -> None:
    assert renyi_constant([2]) == pytest.approx(math.log(0.25), rel=1e-12)
    assert renyi_constant([2, 2.0]) == renyi_constant([2])
    exact = sum(Fraction(a - 1) ** (a - 1) / Fraction(a) ** a for a in SPARSE_ORDERS)
    assert math.exp(renyi_constant(SPARSE_ORDERS)) == pytest.approx(float(exact), rel=1e-14)
    assert renyi_constant(SPARSE_ORDERS) < 0 < renyi_constant([1 + i / 10 for i in range(1, 100)])


def test_drift() -> None:
    assert loss_drift(0.3) == pure_to_zcdp(0.3) < loss_drift(0.3, "paper")
    assert loss_drift(800.0, "paper") == math.inf
    assert loss_drift(0.0) == 0 == loss_drift(0.0, "paper")


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: rounds("none", 0.1, 1, 1e-6), "name"),
        (lambda: rounds("zcdp", 0, 1, 1e-6), "epsilon"),
        (lambda: rounds("zcdp", 0.1, -1, 1e-6), "budget_epsilon"),
        (lambda: rounds("zcdp", 0.1, 1, 0), "budget_delta"),
        (lambda: rounds("rogers", 0.1, 1, 0.4), "budget_delta"),
        (lambda: rounds("rogers", 0.1, 0, 0.4), "budget_delta"),
        (lambda: rogers_left_side(0, 0, 0, 0.1), "offset"),
        (lambda: rogers_left_side(0, 0, 1, 0.4), "slack"),
        (lambda: whitehouse_left_side(-1, 0.1), "squares"),
        (lambda: renyi_curve_left_side([2], [0.1, 0.2], 0.1), "orders and epsilons"),
        (lambda: renyi_constant([1]), "orders"),
        (lambda: loss_drift(0.1, "loose"), "method"),
    ],
)
def test_wrong_input_is_named(call: Any, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        call()


def test_left_sides_are_never_below_the_truth() -> None:
    rng = np.random.default_rng(11)
    with mp.workdps(50):
        for _ in range(200):
            drift, squares, offset = (float(x) for x in 10.0 ** rng.uniform(-6, 1, 3))
            slack = float(10.0 ** rng.uniform(-12, -1))
            d, v, x, log_term = mp.mpf(drift), mp.mpf(squares), mp.mpf(offset), -mp.log(mp.mpf(slack))
            rogers = d + mp.sqrt(2 * (v + x) * (1 + mp.log(v / x + 1) / 2) * log_term)
            whitehouse = mp.sqrt(2 * v * log_term) + v / 2
            for found, truth in (
                (rogers_left_side(drift, squares, offset, slack), rogers),
                (whitehouse_left_side(squares, slack), whitehouse),
            ):
                assert truth <= found <= truth * (1 + mp.mpf(10) ** -14)
