"""Selected statistics of low sensitivity."""

from __future__ import annotations

import math

import pytest

from holdfast.bounds.approximate_dp import closed_form, theorem_s
from holdfast.bounds.concentration import mcdiarmid
from holdfast.bounds.low_sensitivity import (
    approx_dp_deviation,
    bns_deviation,
    failure,
    radius,
    radius_after_dp,
)
from holdfast.bounds.p_value import level_after_approx_dp
from holdfast.errors import InvalidParameter


def test_radius_inverts_failure() -> None:
    for k, beta in ((0.0, 0.0), (3.0, 0.01), (500.0, 1e-6)):
        r = radius(k, beta, 1000, 0.001, 0.05)
        assert failure(k, beta, 1000, 0.001, r) == pytest.approx(0.05, rel=1e-9)
        assert failure(k, beta, 1000, 0.001, r * (1 + 1e-9)) <= 0.05
    assert radius(1.0, 0.05, 1000, 0.001, 0.05) == math.inf
    assert radius(math.inf, 0.0, 1000, 0.001, 0.05) == math.inf
    assert failure(2000.0, 0.0, 1000, 0.001, 0.1) == 1
    assert failure(0.0, 0.0, 1000, 0.001, 0.1) == pytest.approx(2 * mcdiarmid(0.1, 0.001, 1000))


def test_explicit_constants_follow_from_their_theorems() -> None:
    # the closed forms must be at least what their own derivation gives, on a grid and at the corners
    for epsilon in (0.001, 0.01, 0.1, 0.3, 0.5):
        for scale in (1.0, 3.0, 30.0):
            delta = epsilon**5
            n = math.ceil(scale * math.log(epsilon / delta) / (2 * epsilon**2)) + 1
            c = 1 / n
            k = closed_form(epsilon, delta, n)
            found = approx_dp_deviation(epsilon, delta, n, c, "paper")
            direct = 2 * math.exp(min(k.bits * math.log(2) - 2 * 36 * epsilon**2 * n, 0)) + k.beta
            assert min(1.0, direct) <= found.failure
        for n in (10, 1000, 100_000):
            delta = 1e-9
            s = theorem_s(
                epsilon, delta, n, epsilon * math.sqrt(2 * n), n * delta / -math.expm1(-epsilon), epsilon, "plain"
            )
            found = approx_dp_deviation(epsilon, delta, n, 1 / n)
            assert failure(s.bits, min(s.beta, 1), n, 1 / n, 1.71 * epsilon) <= found.failure * (1 + 1e-12)
            assert found.radius == pytest.approx(1.71 * epsilon)


def test_optimised_radius_is_the_best_point() -> None:
    best = radius_after_dp(0.01, 10_000, 1e-4, 0.05, 1e-12)
    closed = approx_dp_deviation(0.1, 1e-12, 10_000, 1e-4)
    assert radius_after_dp(0.1, 10_000, 1e-4, closed.failure, 1e-12) <= closed.radius
    assert best >= radius_after_dp(0.01, 10_000, 1e-4, 0.05)
    assert radius_after_dp(0.01, 10_000, 1e-4, 0.05, 0.5) == math.inf


def test_conditions_are_checked() -> None:
    with pytest.raises(InvalidParameter, match="n must be at least"):
        bns_deviation(0.1, 1e-6, 100, 0.01)
    with pytest.raises(InvalidParameter, match="epsilon"):
        bns_deviation(0.4, 1e-6, 10**6, 0.01)
    with pytest.raises(InvalidParameter, match="delta"):
        bns_deviation(0.1, 0.03, 10**6, 0.01)
    with pytest.raises(InvalidParameter, match="delta"):
        approx_dp_deviation(0.1, 1e-4, 10**6, 0.01, "paper")
    with pytest.raises(InvalidParameter, match="n must be at least"):
        approx_dp_deviation(0.1, 1e-6, 10, 0.01, "paper")
    with pytest.raises(InvalidParameter, match="sensitivity"):
        mcdiarmid(0.1, 0.0, 10)


def test_radius_is_two_sided() -> None:
    level = level_after_approx_dp(0.05, 0.01, 0.0, 10_000).value
    assert radius_after_dp(0.01, 10_000, 1e-4, 0.05) == pytest.approx(
        1e-4 * math.sqrt(5000 * math.log(2 / level)), rel=1e-12
    )


def test_the_closed_forms_constants() -> None:
    # capped at 1 they cannot be seen, so at a point below the cap, and where they come from
    found = approx_dp_deviation(0.1, 1e-12, 1000, 1e-3)
    assert found.failure == pytest.approx(6.44 * math.exp(-10) + 2.55 * 1000 * 1e-11, rel=1e-12)
    assert 6.43 < 2 * math.e + 1 <= 6.44  # 2 e^(k - 2 C^2 eps^2 n) + F at eps^2 n -> 0, with (c/sinh c) a/eta <= 1
    assert 2 * 0.5 / -math.expm1(-0.5) <= 2.55  # a + eta at s = eps, where eps/(1 - e^-eps) is largest
    found = approx_dp_deviation(0.1, 1e-18, 2000, 1e-3, "paper")
    assert found.failure == pytest.approx(35.7 * 2000 * math.sqrt(1e-17), rel=1e-12)
    assert 32.7 + 1 + 2 <= 35.7  # beta of the closed form, e^(-eps^2 n) <= q and the main term <= 2q, n >= 1
    for epsilon in (0.01, 0.1, 0.5):
        for power in (5.0, 6.0, 9.0):
            delta = epsilon**power
            n = math.ceil(math.log(epsilon / delta) / (2 * epsilon**2))
            k = closed_form(epsilon, delta, n)
            direct = 2 * math.exp(k.bits * math.log(2) - 72 * epsilon**2 * n) + k.beta
            q = math.sqrt(delta / epsilon)
            assert direct <= 35.7 * n * q
            assert direct > 32.7 * n * q
