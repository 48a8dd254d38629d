"""Every interval holds: exact probabilities of a miss, no simulation. Each check also refutes a wrong version."""

from __future__ import annotations

import math
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from holdfast.bounds.one_question import (
    blaker,
    clopper_pearson,
    empirical_bernstein,
    hoeffding,
    kl,
    two_sample_u,
)
from holdfast.bounds.one_question.means import Side

from .coverage import binomial_masses, miss_probability, worst_binomial_miss

SIZES = [1, 2, 7, 30, 150]
SHARES = [0.6, 0.1, 0.01, 1e-6]
SIDES: list[Side] = ["both", "lower", "upper"]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("side", SIDES)
def test_binomial_counts_are_covered_and_the_families_are_nested(n: int, share: float, side: Side) -> None:
    log_share = math.log(share)
    exact = [clopper_pearson(k, n, log_share, side) for k in range(n + 1)]
    chernoff = [kl(k / n, n, log_share, side=side) for k in range(n + 1)]
    plain = [hoeffding(k / n, n, log_share, side=side) for k in range(n + 1)]
    for family in (exact, chernoff, plain):
        assert worst_binomial_miss(family, n) <= share * (1 + 1e-9)
    for inner, outer in pairwise((exact, chernoff, plain)):
        for a, b in zip(inner, outer, strict=True):
            assert b.low <= a.low + 1e-15
            assert a.high <= b.high + 1e-15


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", [0.15, 0.05, 0.01, 1e-6])
def test_blaker_lies_inside_clopper_pearson_and_leaves_little_of_the_share(n: int, share: float) -> None:
    """Its worst miss is the share but for rounding: Clopper and Pearson's is half of it for few rows."""
    shorter = [blaker(k, n, math.log(share)) for k in range(n + 1)]
    exact = [clopper_pearson(k, n, math.log(share)) for k in range(n + 1)]
    assert 0.999 * share < worst_binomial_miss(shorter, n) <= share * (1 + 1e-9)
    assert all(b.low <= a.low and a.high <= b.high for a, b in zip(shorter, exact, strict=True))
    assert sum(high - low for low, high in shorter) < sum(high - low for low, high in exact)
    narrower = [blaker(k, n, math.log(1.01 * share)) for k in range(n + 1)]
    assert worst_binomial_miss(narrower, n) > share


def test_blaker_is_clopper_pearson_where_it_would_gain_little() -> None:
    for ones, n, share in ((1500, 2001, 0.05), (15, 20, 0.25)):
        assert blaker(ones, n, math.log(share)) == clopper_pearson(ones, n, math.log(share))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("share", [0.1, 1e-6])
def test_a_narrower_clopper_pearson_would_miss(n: int, share: float) -> None:
    narrower = [clopper_pearson(k, n, math.log(1.01 * share), "lower") for k in range(n + 1)]
    assert worst_binomial_miss(narrower, n) > share


def test_a_chernoff_interval_for_more_rows_would_miss() -> None:
    n, share = 30, 1e-2
    narrower = [kl(k / n, 3 * n, math.log(share)) for k in range(n + 1)]
    assert worst_binomial_miss(narrower, n) > share


@pytest.mark.parametrize("share", [0.3, 0.01])
def test_chernoff_holds_for_values_between_the_ends(share: float) -> None:
    n, values = 14, np.array([-1.0, 0.25, 2.0])
    for law in ([0.2, 0.3, 0.5], [0.01, 0.01, 0.98], [0.6, 0.35, 0.05]):
        truth = float(values @ np.array(law))

        def interval(counts: tuple[int, ...]) -> tuple[float, float]:
            return kl(float(values @ np.array(counts)) / n, n, math.log(share), -1.0, 2.0)

        assert miss_probability(n, law, truth, interval) <= share


def _two_valued(n: int, k: int) -> tuple[float, float]:
    return k / n, k * (n - k) / (n * (n - 1))


@pytest.mark.parametrize("n", [2, 5, 30, 150, 600])
@pytest.mark.parametrize("share", [0.6, 0.1, 0.01, 1e-6])
@pytest.mark.parametrize("side", SIDES)
def test_empirical_bernstein_holds_for_two_valued_rows(n: int, share: float, side: Side) -> None:
    intervals = [empirical_bernstein(*_two_valued(n, k), n, math.log(share), side=side) for k in range(n + 1)]
    assert worst_binomial_miss(intervals, n) <= share


@pytest.mark.parametrize("share", [0.1, 0.01])
def test_empirical_bernstein_without_its_last_term_would_miss(share: float) -> None:
    n = 150

    def narrower(k: int) -> tuple[float, float]:
        mean, variance = _two_valued(n, k)
        half = math.sqrt(2 * variance * math.log(3 / share) / n)
        return mean - half, mean + half

    assert worst_binomial_miss([narrower(k) for k in range(n + 1)], n) > share


@pytest.mark.parametrize("n", [2, 5, 30, 150, 600])
@pytest.mark.parametrize("nats", [0.5, 2.0, 5.0, 14.0])
def test_the_sample_deviation_is_not_far_below_the_true_one(n: int, nats: float) -> None:
    """Maurer and Pontil 2009, Theorem 10, from below, on two-valued rows; with half the room it fails somewhere."""
    k = np.arange(n + 1)
    sample = np.sqrt(k * (n - k) / (n * (n - 1)))
    room = math.sqrt(2 * nats / (n - 1))
    for p in np.linspace(0.001, 0.5, 100):
        true = math.sqrt(p * (1 - p))
        missed = true > sample + room
        assert binomial_masses(n, float(p))[missed].sum() <= math.exp(-nats) * (1 + 1e-9)


def test_the_deviation_with_less_room_would_miss() -> None:
    n, nats = 150, 5.0
    k = np.arange(n + 1)
    sample = np.sqrt(k * (n - k) / (n * (n - 1)))
    room = 0.5 * math.sqrt(2 * nats / (n - 1))
    worst = max(
        binomial_masses(n, float(p))[math.sqrt(p * (1 - p)) > sample + room].sum() for p in np.linspace(0.001, 0.5, 200)
    )
    assert worst > math.exp(-nats)


@cache
def _u_interval(value: float, first: int, second: int, log_share: float) -> tuple[float, float]:
    return two_sample_u(value, first, second, log_share)


@pytest.mark.parametrize(("first", "second"), [(1, 9), (6, 6), (5, 40)])
@pytest.mark.parametrize("share", [0.3, 0.01])
def test_two_sample_statistics_of_coins_are_covered(first: int, second: int, share: float) -> None:
    i, j = np.meshgrid(np.arange(first + 1), np.arange(second + 1), indexing="ij")
    # a positive row's coin shows 1 in i rows, a negative one's in j: count wins and half of the ties
    value = (i * (second - j) + (i * j + (first - i) * (second - j)) / 2) / (first * second)
    low, high = np.vectorize(lambda v: _u_interval(float(v), first, second, math.log(share)))(value)
    pairs = np.vectorize(lambda v: _u_interval(float(v), first * second, first * second, math.log(share)))(value)
    wrong = 0.0
    for a in np.linspace(0.02, 0.98, 25):
        for b in np.linspace(0.02, 0.98, 25):
            truth = a * (1 - b) + (a * b + (1 - a) * (1 - b)) / 2
            mass = np.outer(binomial_masses(first, float(a)), binomial_masses(second, float(b)))
            assert mass[(truth < low) | (truth > high)].sum() <= share
            wrong = max(wrong, float(mass[(truth < pairs[0]) | (truth > pairs[1])].sum()))
    assert wrong > share, "all pairs counted as independent would miss"


@pytest.mark.parametrize(("side", "events"), [("both", 3), ("lower", 2), ("upper", 2)])
def test_empirical_bernstein_pays_for_every_event_it_uses(side: Side, events: int) -> None:
    """Two sides need three events and one side two; coins are too kind to show a missing one."""
    n, share, variance = 400, 1e-3, 0.04
    x = math.log(events / share)
    half = math.sqrt(2 * variance * x / n) + x * (2 / math.sqrt(n * (n - 1)) + 1 / (3 * n))
    lower, upper = empirical_bernstein(0.5, variance, n, math.log(share), side=side)
    assert lower == (0.0 if side == "upper" else pytest.approx(0.5 - half, abs=1e-12))
    assert upper == (1.0 if side == "lower" else pytest.approx(0.5 + half, abs=1e-12))
