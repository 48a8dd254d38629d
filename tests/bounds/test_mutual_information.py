"""Mutual information: conversions on random distributions, the dual against the primal, corrections of p-values."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds import finite_law
from holdfast.bounds.mutual_information import (
    from_max_information,
    from_mutual_information,
    mutual_information_approx_dp,
)
from holdfast.errors import GuaranteeUnavailable, InvalidParameter
from tests.bounds.exact_laws import leaky_response

quick = settings(max_examples=80, deadline=None, derandomize=True)


def random_joint(rng: np.random.Generator) -> np.ndarray:
    shape = tuple(rng.integers(2, 5, size=2))
    table = rng.dirichlet(np.full(shape[0] * shape[1], 10 ** rng.uniform(-1.5, 0.5))).reshape(shape)
    if rng.random() < 0.5:  # nearly independent, with a rare spike
        table = 0.98 * np.outer(table.sum(axis=1), table.sum(axis=0)) + 0.02 * table
    table = table + 1e-12
    return table / table.sum()


def test_both_conversions_on_random_laws() -> None:
    rng = np.random.default_rng(15)
    closest = 0.0
    for _ in range(1000):
        table = random_joint(rng)
        bits = finite_law.mutual_information(table)
        k = float(10 ** rng.uniform(-1, 1))
        exact = finite_law.beta_star(table, k)
        for method in ("best", "sharp", "paper"):
            assert exact <= from_mutual_information(bits, k, method) + 1e-12
        if exact > 1e-12:
            closest = max(closest, exact / from_mutual_information(bits, k))
        beta = float(rng.choice([0.0, 0.001, 0.01, 0.05]))
        k = max(finite_law.max_information(table, beta), 1e-6)
        size = math.log2(table.shape[0])
        assert bits <= from_max_information(k, beta, size).bits + 1e-9
        if beta <= 0.15 * (1 - 2**-k):
            assert bits <= from_max_information(k, beta, size, "bits").bits + 1e-9
            assert bits <= from_max_information(k, beta, size, "paper").bits + 1e-9
    assert closest > 0.5


def test_the_best_conversion_is_attained_by_a_binary_law() -> None:
    # an event of joint probability a and product probability b with kl(a || b) = m attains a - 2^k b
    for m, k in ((0.1, 20.0), (0.5, 6.0), (2.0, 3.0), (0.01, 1.0)):
        best = from_mutual_information(m, k)
        a = np.concatenate([np.geomspace(1e-4, 0.1, 3000), np.linspace(0.1, 1 - 1e-9, 3000)])
        low, high = -k - 60.0 - (m + 1) / a, np.log2(a)
        for _ in range(60):
            middle = 0.5 * (low + high)
            b = np.exp2(middle)
            kl = a * (np.log2(a) - middle) + (1 - a) * (np.log1p(-a) - np.log1p(-b)) / math.log(2)
            low, high = np.where(kl > m, middle, low), np.where(kl > m, high, middle)
        primal = float(np.max(a - np.exp2(k + high)))
        assert primal <= best
        assert primal == pytest.approx(best, rel=1e-4)


@given(st.floats(0, 50), st.floats(0.01, 500), st.floats(1, 2))
@quick
def test_order_and_monotone(bits: float, k: float, factor: float) -> None:
    best, sharp, paper = (from_mutual_information(bits, k, m) for m in ("best", "sharp", "paper"))
    assert best <= sharp <= paper * (1 + 1e-9)
    assert from_mutual_information(bits * factor, k) >= best * (1 - 1e-9)
    assert from_mutual_information(bits, k * factor) <= best * (1 + 1e-9) + 1e-15


def test_mutual_information_of_private_mechanisms() -> None:
    for epsilon, delta, n in ((0.3, 0.0, 50), (1.0, 0.0, 30), (0.1, 1e-4, 40)):
        probabilities, losses = leaky_response(epsilon, delta, n)
        exact = float(np.sum(probabilities * losses)) / math.log(2)
        assert exact <= mutual_information_approx_dp(epsilon, delta, n, 1.0).bits
    exact = float(np.sum(np.multiply(*leaky_response(0.05, 0.0, 2000)))) / math.log(2)
    assert exact > 0.9 * mutual_information_approx_dp(0.05, 0.0, 2000, 1.0).bits  # the drift is nearly tight


def test_the_cap_and_the_side_condition() -> None:
    assert mutual_information_approx_dp(0.1, 1e-3, 1000, 1.0).bits == 1000
    assert mutual_information_approx_dp(0.1, 1e-3, 1000, 1.0).is_vacuous
    with pytest.raises(GuaranteeUnavailable, match=r"Lemma 1\.5"):
        mutual_information_approx_dp(0.01, 1e-15, 1000, 1.0, "paper")
    with pytest.raises(InvalidParameter, match="beta"):
        from_max_information(1.0, 0.2, 10, "paper")
    with pytest.raises(InvalidParameter, match="s is"):
        from_max_information(5, 0.3, 20, s=0.1)
    assert from_max_information(5, 0.0, 20).bits == pytest.approx(5)
    assert from_max_information(500, 0.01, 20).bits == 20


def best_event(x: float, k_bits: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """The divergence in bits at which the optimum has multiplier `1/x`, and the largest `a - 2^k b` there.

    Where `logit a - logit b = x` and `a/b - (1-a)/(1-b) = x 2^k` the Lagrangian is stationary.
    """
    x, grown = mpmath.mpf(x), mpmath.mpf(2) ** mpmath.mpf(k_bits)
    q = x * grown / mpmath.expm1(x)
    r = q * mpmath.exp(x)
    b = (1 - q) / (r - q)
    a = r * b
    return (a * mpmath.log(r) + (1 - a) * mpmath.log(q)) / mpmath.log(2), a - grown * b


def test_the_dual_meets_the_primal_in_sixty_digits() -> None:
    rng = np.random.default_rng(40)
    for _ in range(150):
        k_bits = float(10 ** rng.uniform(-9, 2.5))
        least = max(3 * k_bits * math.log(2), 1e-9)
        x = min(least * float(10 ** rng.uniform(0, 1.5)), 600.0)
        with mpmath.workdps(60):
            bits, value = best_event(x, k_bits)
            if not (0 < value < 1 and x * mpmath.mpf(2) ** mpmath.mpf(k_bits) < mpmath.expm1(mpmath.mpf(x))):
                continue
            given = math.nextafter(float(bits), math.inf)  # not below the true divergence
            found = mpmath.mpf(from_mutual_information(given, k_bits))
            assert found >= value, (x, k_bits)
            assert found <= value * (1 + mpmath.mpf("1e-6")) + mpmath.mpf("1e-14"), (x, k_bits)


def test_impossible_or_superfluous_arguments_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="k_bits"):
        from_max_information(-100, 0.1, 10)
    for method in ("paper", "bits"):
        for s in (0.1, math.nan):
            with pytest.raises(InvalidParameter, match=r"^s (is|must)"):
                from_max_information(5, 0.01, 20, method, s=s)
    # b = beta/(1 - 2^-s) = 0.5 is above 1/e, where x log(1/x) no longer increases
    with pytest.raises(InvalidParameter, match="1/e"):
        from_max_information(5, 0.3, 20, s=-math.log2(0.4))
    assert from_max_information(5, 0.3, 20, s=-math.log2(1 - 0.3 / 0.367)).bits > 5


def test_large_epsilon_costs_epsilon_a_row() -> None:
    # eps^2/8 exceeds eps beyond 8
    found = mutual_information_approx_dp(20.0, 0.0, 3, 1000.0)
    assert found.bits == pytest.approx(60 / math.log(2), rel=1e-12)
    right = math.exp(20) / (1 + math.exp(20))
    assert finite_law.mutual_information([[right / 2, (1 - right) / 2], [(1 - right) / 2, right / 2]]) <= found.bits / 3


def test_the_cap_is_immediate() -> None:
    assert mutual_information_approx_dp(5.0, 1e-12, 1000, 1.0).bits == 1000
    with pytest.raises(InvalidParameter, match="row_bits"):
        mutual_information_approx_dp(0.1, 1e-9, 10**300, 1e300)
