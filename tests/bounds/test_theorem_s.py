"""Theorem S and S+: exact audits on mechanisms that leak, and the search for free parameters."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds import finite_law
from holdfast.bounds.approximate_dp import two_parameter
from holdfast.bounds.currency import MaxInformation
from holdfast.bounds.max_information import pure_dp
from holdfast.bounds.theorem_s import clipped_sum, smallest_bits, smallest_penalty, theorem_s
from tests.bounds.exact_laws import excess, geometric_count, leaky_response

LN2 = math.log(2)
CASES = [(0.1, 1e-4, 60, 0.5), (0.5, 1e-3, 40, 0.5), (0.05, 3e-2, 20, 0.5), (0.3, 1e-3, 8, 0.05), (1.5, 1e-2, 6, 0.01)]
quick = settings(max_examples=40, deadline=None, derandomize=True)


def violations(bits_at) -> int:
    """How often the exact failure at `bits_at(epsilon, delta, n, beta)` exceeds beta."""
    count = 0
    for epsilon, delta, n, prior in CASES:
        law = leaky_response(epsilon, delta, n, prior)
        for beta in (0.9, 0.5, 0.2, 0.05):
            bits = bits_at(epsilon, delta, n, beta)
            count += bits < math.inf and excess(law, bits * LN2) > beta * (1 + 1e-9)
    return count


def test_the_best_instance_holds_on_exact_laws() -> None:
    assert violations(lambda epsilon, delta, n, beta: smallest_bits(epsilon, delta, n, -math.log(beta))[0]) == 0


def test_the_best_instance_holds_for_noisy_counts() -> None:
    for epsilon, delta, n, prior in ((0.1, 1e-4, 200, 0.5), (0.5, 1e-3, 60, 0.2), (1.0, 1e-2, 20, 0.05)):
        table = geometric_count(epsilon, delta, n, prior)
        for beta in (0.5, 0.3, 0.1):
            assert finite_law.max_information(table, beta) <= smallest_bits(epsilon, delta, n, -math.log(beta))[0]


def test_approximate_privacy_read_as_pure_is_caught() -> None:
    assert violations(lambda epsilon, delta, n, beta: pure_dp(epsilon, n, beta).bits) >= 2


def test_instances_hold_on_exact_laws() -> None:
    rng = np.random.default_rng(20160909)
    for epsilon, delta, n, prior in CASES:
        law = leaky_response(epsilon, delta, n, prior)
        for _ in range(200):
            t, s, eta = rng.uniform(0, 4), epsilon * 10 ** rng.uniform(-2, 1), 10 ** rng.uniform(-4, -0.3)
            for method in ("best", "plain"):
                bound = theorem_s(epsilon, delta, n, t, eta, s, method)
                assert excess(law, bound.bits * LN2) <= bound.beta


def test_leaking_rows_need_beta_of_order_n_delta() -> None:
    law = leaky_response(0.01, 1e-3, 20, 1e-6)
    # a leaked rare bit has a loss of about 14 nats: no moderate exponent gets below its probability
    assert excess(law, 5.0) > 0.5 * 20 * 1e-3 * 1e-6
    assert smallest_bits(0.01, 1e-3, 20, -math.log(20 * 1e-3))[0] == math.inf


@given(st.floats(1e-4, 0.5), st.floats(1e-6, 1.0), st.floats(1e-10, 1.0), st.integers(1, 10**5), st.floats(0, 6))
@quick
def test_below_the_printed_theorem_everywhere(epsilon: float, share: float, rate: float, n: int, t: float) -> None:
    dhat = share * epsilon / 15
    delta = min(rate * dhat, 0.999 * epsilon)
    printed = two_parameter(epsilon, delta, n, t, dhat)
    ours = theorem_s(epsilon, delta, n, t, n * delta / dhat, epsilon, "plain")
    assert ours.bits <= printed.bits
    assert ours.beta <= printed.beta
    plus = theorem_s(epsilon, delta, n, t, n * delta / dhat, epsilon)
    assert plus.bits == ours.bits
    assert plus.beta <= ours.beta


def instance(epsilon: float, delta: float, n: int, found, method="best") -> MaxInformation:
    """The theorem at the parameters that a search returned."""
    if "t" not in found:
        return clipped_sum(epsilon, delta, n, found["s"])
    return theorem_s(epsilon, delta, n, found["t"], found["eta"], found["s"], method)


@given(st.floats(1e-5, 2.0), st.floats(-14, -0.01), st.integers(1, 10**6), st.floats(1e-8, 0.9))
@quick
def test_the_search_returns_an_instance(epsilon: float, log10_rate: float, n: int, beta: float) -> None:
    delta = beta / n * 10**log10_rate
    bits, found = smallest_bits(epsilon, delta, n, -math.log(beta))
    bound = instance(epsilon, delta, n, found)
    assert bound.beta <= beta * (1 + 1e-12)
    assert bound.bits == pytest.approx(bits, rel=1e-9)
    # no instance of a coarse grid is better
    for t in (0.3, 1.0, 2.5, 3.5, 5.0):
        for s in (epsilon / 1000, epsilon / 30, epsilon, 10 * epsilon):
            free = beta - theorem_s(epsilon, delta, n, t, 1e-300, s).beta
            if free > 0:
                assert bits <= theorem_s(epsilon, delta, n, t, free, s).bits * (1 + 1e-9)


@given(st.floats(1e-5, 2.0), st.floats(-14, -0.3), st.integers(1, 10**5), st.floats(1e-6, 0.5), st.floats(1.05, 2.0))
@quick
def test_monotone(epsilon: float, log10_rate: float, n: int, beta: float, factor: float) -> None:
    delta = beta / n * 10**log10_rate / 4
    bits = smallest_bits(epsilon, delta, n, -math.log(beta))[0] * (1 - 1e-8)
    assert smallest_bits(epsilon * factor, delta, n, -math.log(beta))[0] >= bits
    assert smallest_bits(epsilon, delta * factor, n, -math.log(beta))[0] >= bits
    assert smallest_bits(epsilon, delta, math.ceil(n * factor), -math.log(beta))[0] >= bits
    assert smallest_bits(epsilon, delta, n, -math.log(beta / factor))[0] >= bits


def test_the_penalty_is_the_best_point_of_the_curve() -> None:
    penalty, _, beta, _ = smallest_penalty(0.01, 1e-10, 1000, 0.05)
    on_the_curve = [
        smallest_bits(0.01, 1e-10, 1000, -math.log(b))[0] - math.log2(1 - b / 0.05)
        for b in np.geomspace(1e-4, 0.03, 60)
    ]
    assert penalty <= min(on_the_curve) + 1e-9
    assert penalty == pytest.approx(min(on_the_curve), abs=1e-3)
    assert 0 < beta < 0.05


def test_the_table_of_the_specification() -> None:
    # spec-max-information 2.5: level at 0.05, n = 10^4, delta = 1e-12
    for steepness, level in ((0.1, 0.0346), (0.5, 0.01125), (1.0, 0.00222), (2.0, 4.12e-5)):
        penalty = smallest_penalty(steepness / 100, 1e-12, 10_000, 0.05).penalty
        assert 0.05 * 2**-penalty == pytest.approx(level, rel=2e-3)


def test_failure_probabilities_below_the_floating_range() -> None:
    bits, found = smallest_bits(1e-3, 1e-300, 10_000, 600.0)
    assert 1 < bits < 20
    assert found["t"] > 30
    assert smallest_bits(1e-3, 1e-300, 10_000, 690.0)[0] == math.inf
