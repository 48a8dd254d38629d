"""The private test of a proportion: vectors, exact level by summation, optimality by a linear program, wrong input."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from holdfast.accounting.costs import ApproxDP
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.binomial_power import power, rows_for_power
from holdfast.inference.private_tests.binomial_test import (
    NoisyCount,
    Tulap,
    acceptance,
    critical_count,
    interval,
    noisy_p_value,
    p_value,
    proportion,
    release_count,
)
from holdfast.noise.entropy import Seeded

SETTINGS = [
    (30, 0.3, 1, 0),
    (10, 0.5, 0.2, 0),
    (100, 0.05, 2, 0),
    (30, 0.3, 1, 0.01),
    (12, 0.7, 0.5, 0.1),
    (1, 0.4, 1, 0),
]


def _level(n: int, theta: float, noise: Tulap, alpha: float, side: Any, wrong: Tulap | None = None) -> float:
    """`P(p <= alpha)` under the null, summed: on each piece of a unit cell the density is flat and p is straight."""
    reach = math.ceil(min(noise.cut, 45 / float(noise.epsilon))) + 1
    kink = abs(noise.cut - math.floor(noise.cut + 0.5)) if noise.delta else 0.0
    ends = sorted({-0.5, -kink, kink, 0.5})
    masses = stats.binom.pmf(np.arange(n + 1), n, theta)
    total = 0.0
    for whole in range(-reach, n + reach + 1):
        for low, high in itertools.pairwise(ends):
            chance = float(
                masses @ (noise.cdf_at(whole - np.arange(n + 1), high) - noise.cdf_at(whole - np.arange(n + 1), low))
            )
            if chance <= 0:
                continue
            first, last = (noisy_p_value(NoisyCount(whole, f, n, wrong or noise), theta, side) for f in (low, high))
            if first == last:
                total += chance * (first <= alpha)
            else:
                at = (alpha - first) / (last - first)
                total += chance * (min(max(at, 0.0), 1.0) if last > first else 1 - min(max(at, 0.0), 1.0))
    return total


@pytest.mark.parametrize(("n", "theta", "epsilon", "delta"), SETTINGS)
@pytest.mark.parametrize("side", ["greater", "less"])
def test_level_is_alpha_by_summation(n: int, theta: float, epsilon: float, delta: float, side: str) -> None:
    noise = Tulap(epsilon, delta)
    for alpha in (0.05, 0.001):
        found = _level(n, theta, noise, alpha, side)
        assert found <= alpha + 1e-15
        assert found == pytest.approx(alpha, rel=1e-8)


@pytest.mark.parametrize(("n", "theta", "epsilon", "delta"), SETTINGS[:2] + SETTINGS[3:4])
def test_two_sided_level_is_alpha(n: int, theta: float, epsilon: float, delta: float) -> None:
    found = _level(n, theta, Tulap(epsilon, delta), 0.05, "two-sided")
    assert found <= 0.05 + 1e-15
    assert found == pytest.approx(0.05, rel=1e-8)


def test_summation_finds_a_wrong_law() -> None:
    """The two-cell scale used by mistake (spec 8), a forgotten cut-off, and no allowance for the noise at all."""
    right = Tulap(0.3)
    assert _level(30, 0.3, right, 0.05, "greater", wrong=Tulap(0.15)) < 0.045
    assert _level(30, 0.3, right, 0.05, "greater", wrong=Tulap(0.6)) > 0.1
    assert _level(30, 0.3, Tulap(0.3, 0.1), 0.05, "greater", wrong=right) < 0.045


def test_p_values_of_releases_are_uniform_and_a_wrong_law_is_not() -> None:
    """10,000 runs; Kolmogorov distance beyond the bound has probability below 1e-6."""
    runs = 10_000
    rng, noise = np.random.default_rng(3), Tulap(0.3)
    whole, fraction = noise.draw(runs, Seeded(4))
    counts = rng.binomial(30, 0.3, runs) + whole
    bound = math.sqrt(math.log(2e6) / (2 * runs))
    for law, right in ((noise, True), (Tulap(0.45), False)):
        p = np.sort(
            [
                noisy_p_value(NoisyCount(int(k), f, 30, law), 0.3, "greater")
                for k, f in zip(counts, fraction, strict=True)
            ]
        )
        grid = np.arange(1, runs + 1) / runs
        assert (max(np.max(grid - p), np.max(p - grid + 1 / runs)) <= bound) == right


@pytest.mark.parametrize(
    ("n", "theta0", "theta1", "epsilon", "delta"),
    [(10, 0.4, 0.7, 0.5, 0), (14, 0.3, 0.5, 1, 0.03), (8, 0.2, 0.9, 2, 0)],
)
def test_no_private_test_has_more_power(n: int, theta0: float, theta1: float, epsilon: float, delta: float) -> None:
    """A linear program over all private decisions that depend on the count; its optimum is the power."""
    e = math.exp(epsilon)
    rows, limits = [stats.binom.pmf(np.arange(n + 1), n, theta0)], [0.05]
    for x in range(n + 1):
        for y in (x - 1, x + 1):
            if 0 <= y <= n:
                row = np.zeros(n + 1)
                row[x], row[y] = 1, -e
                rows.append(row)
                limits.append(delta)
                other = np.zeros(n + 1)  # 1 - phi(x) <= e (1 - phi(y)) + delta
                other[x], other[y] = -1, e
                rows.append(other)
                limits.append(e - 1 + delta)
    best = optimize.linprog(
        -stats.binom.pmf(np.arange(n + 1), n, theta1), A_ub=np.array(rows), b_ub=limits, bounds=(0, 1)
    )
    found = power(n, theta0, theta1, epsilon=epsilon, delta=delta, alternative="greater")
    assert found == pytest.approx(-float(best.fun), rel=1e-6)  # type: ignore[arg-type]
    decision = acceptance(n, theta0, 0.05, Tulap(epsilon, delta))
    assert np.all(np.array(rows) @ decision <= np.array(limits) + 1e-9)  # and it is private itself


def test_power_is_the_simulated_rate_and_grows() -> None:
    rng, noise, runs = np.random.default_rng(5), Tulap(0.5), 200_000
    whole, fraction = noise.draw(runs, Seeded(6))
    seen = rng.binomial(60, 0.65, runs) + whole + fraction
    rate = np.mean(seen >= critical_count(60, 0.5, 0.05, noise))
    claimed = power(60, 0.5, 0.65, epsilon=0.5, alternative="greater")
    error = 4.9 * math.sqrt(claimed * (1 - claimed) / runs)  # 1e-6
    assert abs(rate - claimed) < error
    assert abs(rate - power(60, 0.5, 0.65, epsilon=0.8, alternative="greater")) > error
    powers = [power(n, 0.5, 0.6, epsilon=0.5) for n in (20, 80, 320, 1280)]
    assert powers == sorted(powers)
    n = rows_for_power(0.5, 0.6, 0.9, epsilon=0.5)
    assert power(n, 0.5, 0.6, epsilon=0.5) >= 0.9 > power(n - 1, 0.5, 0.6, epsilon=0.5)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    n=st.integers(1, 200),
    theta=st.floats(0.02, 0.98),
    epsilon=st.floats(0.05, 4),
    delta=st.sampled_from([0.0, 1e-4, 0.05]),
    at=st.floats(-0.3, 1.3),
    fraction=st.floats(-0.5, 0.5),
)
def test_sides_add_to_one_and_p_falls(
    n: int, theta: float, epsilon: float, delta: float, at: float, fraction: float
) -> None:
    noise = Tulap(epsilon, delta)
    seen = NoisyCount(round(at * n), fraction, n, noise)
    up, down = noisy_p_value(seen, theta, "greater"), noisy_p_value(seen, theta, "less")
    assert up + down == pytest.approx(1, abs=1e-9)
    assert noisy_p_value(seen, theta) == pytest.approx(min(1, 2 * min(up, down)), abs=1e-15)
    assert noisy_p_value(NoisyCount(seen.whole + 1, fraction, n, noise), theta, "greater") <= up * (1 + 1e-9)


@pytest.mark.parametrize(("n", "theta", "epsilon", "delta"), SETTINGS)
def test_interval_is_the_dual_of_the_test(n: int, theta: float, epsilon: float, delta: float) -> None:
    noise = Tulap(epsilon, delta)
    for whole in (-2, 0, n // 3, n, n + 3):
        seen = NoisyCount(whole, 0.125, n, noise)
        low, high = interval(seen, 0.9)
        assert 0 <= low <= high <= 1 or noisy_p_value(seen, 0.5) <= 0.1
        for t in (theta, 0.11, 0.52, 0.9):
            inside = low <= t <= high
            assert inside == (noisy_p_value(seen, t) > 0.1) or min(abs(t - low), abs(t - high)) < 1e-6


def test_large_n_and_deep_tails() -> None:
    """A million records against the normal limit; a p-value of 1e-150 keeps digits without a cut-off."""
    noise = Tulap(1)
    n = 10**6
    sd = math.sqrt(n / 4 + 2 * math.exp(-1) / (1 - math.exp(-1)) ** 2 + 1 / 12)
    seen = NoisyCount(n // 2 + 1000, 0.0, n, noise)
    assert noisy_p_value(seen, 0.5, "greater") == pytest.approx(stats.norm.sf(1000 / sd), rel=1e-3)
    deep = noisy_p_value(NoisyCount(n // 2 + 13_000, 0.0, n, noise), 0.5, "greater")
    assert 1e-155 < deep < 1e-140
    assert release_count(5 * 10**9, 10**10, epsilon=1, source=Seeded(1)).n == 10**10


def test_result() -> None:
    result = proportion(620, 1000, 0.5, epsilon=0.5, delta=1e-5, alternative="greater", source=Seeded(2))
    assert result.cost == ApproxDP(0.5, 1e-5)
    assert result.reject
    assert result.level == "exact"
    assert result.statistic is not None
    assert result.critical_value is not None
    assert result.statistic > result.critical_value
    whole, fraction = result.details["noisy_count"]
    again = proportion(NoisyCount(whole, fraction, 1000, Tulap(0.5, 1e-5)), theta0=0.5, alternative="greater")
    assert again.p_value == result.p_value  # post-processing: the same release, the same answer
    less = proportion(380, 1000, 0.5, epsilon=0.5, alternative="less", source=Seeded(2))
    assert less.reject
    assert less.critical_value is not None
    assert less.statistic is not None
    assert less.statistic < less.critical_value


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: proportion(11, 10, 0.5, epsilon=1), "ones"),
        (lambda: proportion(-1, 10, 0.5, epsilon=1), "ones"),
        (lambda: proportion(2.5, 10, 0.5, epsilon=1), "ones"),  # type: ignore[arg-type]
        (lambda: proportion(1, 0, 0.5, epsilon=1), "n must"),
        (lambda: proportion(1, 10, 0.0, epsilon=1), "theta0"),
        (lambda: proportion(1, 10, 0.5, epsilon=0), "epsilon"),
        (lambda: proportion(1, 10, 0.5), "epsilon"),
        (lambda: proportion(1, 10, 0.5, epsilon=1, alpha=1), "alpha"),
        (lambda: proportion(1, 10, 0.5, epsilon=1, alternative="both"), "alternative"),  # type: ignore[arg-type]
        (lambda: proportion(NoisyCount(1, 0.0, 10, Tulap(1)), 10), "already has them"),
        (lambda: NoisyCount(1, 0.7, 10, Tulap(1)), "fraction"),
        (lambda: NoisyCount(1, 0.2, 10, 1.0), "noise"),  # type: ignore[arg-type]
        (lambda: p_value(float("nan"), 10, 0.5, epsilon=1), "z must"),
        (lambda: rows_for_power(0.5, 0.5, epsilon=1), "theta1"),
        (lambda: interval(NoisyCount(1, 0.0, 10, Tulap(1)), 1.0), "confidence"),
    ],
)  # fmt: skip
def test_wrong_input(call: Any, name: str) -> None:
    with pytest.raises(InvalidParameter, match=name):
        call()


def test_an_error_shows_no_count() -> None:
    with pytest.raises(InvalidParameter) as caught:
        release_count(123456, 1000, epsilon=1)
    assert "123456" not in str(caught.value)


def test_the_p_value_is_that_of_the_worst_point_of_the_fractions_cell() -> None:
    """At a large epsilon the distribution is all but uniform on one cell: half a cell beyond its last middle p
    doubles."""
    last = NoisyCount(1, 0.5 - 2.0**-53, 1, Tulap(100))
    assert noisy_p_value(last, 0.5, "greater") >= 0.5 * 2.0**-52


def test_a_proportion_too_small_for_its_complement_is_never_rejected_from_below() -> None:
    """1 - theta0 rounds to one, where the p-value is its bound: one, and never a number that is too small."""
    low = NoisyCount(-20, 0.25, 10, Tulap(1))
    assert noisy_p_value(low, 1e-17, "less") == 1.0
    assert noisy_p_value(low, 1e-3, "less") < 1e-6
    assert noisy_p_value(low, 1e-17, "greater") > 0.999
