"""Limits far out in the tail, against sixty digits."""

from __future__ import annotations

import math

import mpmath as mp
import pytest
from scipy.special import ndtri

from holdfast.bounds.numerics.binomial import log_at_least, log_at_most
from holdfast.bounds.one_question import clopper_pearson, empirical_bernstein, hoeffding, kl, two_sample_u

FAR = [-0.05, -3.0, -25.0, -108.0, -200.0, -690.0, -720.0, -5_000.0]


def log_tail(k: int, n: int, p: float) -> mp.mpf:
    """`ln P(Bin(n, p) >= k)`, summed upwards from `k`."""
    p = mp.mpf(p)
    term = mp.binomial(n, k) * p**k * (1 - p) ** (n - k)
    total = mp.mpf(0)
    for j in range(k, n + 1):
        total += term
        if term < total * mp.mpf(10) ** -45:
            break
        term *= mp.mpf(n - j) / (j + 1) * p / (1 - p)
    return mp.log(total)


@pytest.mark.parametrize(("ones", "n"), [(9_500, 10_000), (500, 10_000), (5_000, 10_000), (45, 50), (1, 7), (3, 10**6)])
@pytest.mark.parametrize("log_share", FAR)
def test_clopper_pearson_is_the_root_from_the_safe_side(ones: int, n: int, log_share: float) -> None:
    with mp.workdps(60):
        low, high = clopper_pearson(ones, n, log_share)
        wanted = mp.mpf(log_share) - mp.log(2)
        arms = [(log_tail(ones, n, low), low)] if low > 0 else []
        arms += [(log_tail(n - ones, n, 1 - mp.mpf(high)), 1 - mp.mpf(high))] if high < 1 else []
        for tail, p in arms:
            assert tail <= wanted
            # What rounding p to a double can move, and no more. At large shares the mean caps the limit.
            room = 3e-9 * (1 - log_share) + (n * 4e-16 / float(p) if p > 1e-290 else 5)
            assert wanted - tail <= room or log_share > -0.7


@pytest.mark.parametrize("n", [50, 10_000, 10**9, 10**15])
@pytest.mark.parametrize("mean", [0.0, 1e-12, 0.02, 0.5, 0.95, 1 - 2**-40, 1.0])
@pytest.mark.parametrize("log_share", FAR)
def test_kl_is_the_root_from_the_safe_side(mean: float, n: int, log_share: float) -> None:
    with mp.workdps(60):
        wanted = (mp.log(2) - mp.mpf(log_share)) / n
        q = mp.mpf(mean)

        def divergence(p: mp.mpf) -> mp.mpf:
            first = q * mp.log(q / p) if q > 0 else mp.mpf(0)
            return first + ((1 - q) * mp.log((1 - q) / (1 - p)) if q < 1 else 0)

        low, high = kl(mean, n, log_share)
        assert low <= mean <= high
        if low > 1e-300:
            assert divergence(mp.mpf(low)) >= wanted
            inner = mp.mpf(low) + (mean - mp.mpf(low)) * mp.mpf(1e-5) + 16 * math.ulp(low)
            assert divergence(inner) <= wanted or inner >= mean
        if high < 1:
            assert divergence(mp.mpf(high)) >= wanted
            inner = mp.mpf(high) - (mp.mpf(high) - mean) * mp.mpf(1e-5) - 16 * math.ulp(high)
            assert divergence(inner) <= wanted or inner <= mean


@pytest.mark.parametrize("p", [1e-9, 0.03, 0.4])
def test_binomial_tail_bounds_are_never_below_and_close(p: float) -> None:
    with mp.workdps(60):
        for ones, n in [(40, 50), (9_000, 10_000), (30, 10**6)]:
            if p * n < ones:
                bound = log_at_least(ones, n, p)[0]
                true = log_tail(ones, n, p)
                assert 0 <= bound - true <= 1e-9
            if p * n > n - ones:
                bound = log_at_most(n - ones, n, p)[0]
                true = log_tail(ones, n, 1 - mp.mpf(p))
                assert 0 <= bound - true <= 1e-9


def test_many_rows_cost_little_and_a_capped_series_is_still_safe() -> None:
    n = 10**12
    low, high = clopper_pearson(n // 10, n, -20.0)
    outer = kl(0.1, n, -20.0)
    assert outer.low <= low < 0.1 < high <= outer.high
    normal = -2 * float(ndtri(math.exp(-20) / 2)) * math.sqrt(0.09 / n)
    assert high - low == pytest.approx(normal, rel=1e-3)


def test_shares_beyond_the_floating_range() -> None:
    n = 10**6
    for interval in (
        hoeffding(0.9, n, -2_000.0),
        kl(0.9, n, -2_000.0),
        clopper_pearson(900_000, n, -2_000.0),
        empirical_bernstein(0.9, 0.09, n, -2_000.0),
        two_sample_u(0.9, n, n, -2_000.0),
    ):
        assert 0 < interval.low < 0.9 < interval.high < 1
