"""Theorem S and S+: exact audits on mechanisms that leak, and the search for free parameters."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds import finite_law
from holdfast.bounds.approximate_dp import clipped_sum, smallest_bits, smallest_penalty, theorem_s, two_parameter
from holdfast.bounds.currency import MaxInformation
from holdfast.bounds.max_information import pure_dp
from tests.bounds.exact_laws import excess, geometric_count, leaky_response

LN2 = math.log(2)
CASES = [(0.1, 1e-4, 60, 0.5), (0.5, 1e-3, 40, 0.5), (0.05, 3e-2, 20, 0.5), (0.3, 1e-3, 8, 0.05), (1.5, 1e-2, 6, 0.01)]
quick = settings(max_examples=20, deadline=None, derandomize=True)


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
    printed = two_parameter(epsilon, delta, n, t, dhat, "printed")
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


def exact_s_plus(epsilon: float, delta: float, n: int, t: float, eta: float, s: float) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Nats and beta of Theorem S+ at these parameters, in the precision of the moment."""
    epsilon, delta, t, eta, s = (mpmath.mpf(v) for v in (epsilon, delta, t, eta, s))
    c = epsilon + s
    leak = n * delta / -mpmath.expm1(-s)
    order = t / (c * mpmath.sqrt(n))
    drop = mpmath.log1p(order) + (order * mpmath.log1p(1 / order) if order else 0)
    nats = n * c * mpmath.tanh(c / 2) + c / mpmath.sinh(c) * leak / eta + t * c * mpmath.sqrt(n)
    return nats, mpmath.exp(-t * t / 2 - drop) + leak + eta


def test_instances_are_rounded_up_in_sixty_digits() -> None:
    rng = np.random.default_rng(36)
    for _ in range(300):
        epsilon, s, eta = (float(10 ** rng.uniform(-4, 1)) for _ in range(3))
        delta, n, t = float(10 ** rng.uniform(-12, -0.1)), int(10 ** rng.uniform(0, 5)), float(rng.uniform(0.01, 6))
        bound = theorem_s(epsilon, delta, n, t, eta, s)
        with mpmath.workdps(60):
            nats, beta = exact_s_plus(epsilon, delta, n, t, eta, s)
            bits = nats / mpmath.log(2)
            assert bits <= mpmath.mpf(bound.bits) <= bits * (1 + mpmath.mpf("1e-13"))
            assert beta <= mpmath.mpf(bound.beta) <= beta * (1 + mpmath.mpf("1e-13"))  # the leak included
            clipped = clipped_sum(epsilon, delta, n, s)
            c = mpmath.mpf(epsilon) + mpmath.mpf(s)
            assert (
                n * c / mpmath.log(2) <= mpmath.mpf(clipped.bits) <= n * c / mpmath.log(2) * (1 + mpmath.mpf("1e-14"))
            )
            leak = n * mpmath.mpf(delta) / -mpmath.expm1(-mpmath.mpf(s))
            assert leak <= mpmath.mpf(clipped.beta) <= leak * (1 + mpmath.mpf("1e-14"))


def test_searches_keep_within_beta_in_sixty_digits() -> None:
    rng = np.random.default_rng(37)
    for _ in range(60):
        n = int(10 ** rng.uniform(0, 8))
        beta = float(10 ** rng.uniform(-250, -0.01))
        delta = beta / n * float(10 ** rng.uniform(-40, -0.001))
        epsilon = float(10 ** rng.uniform(-6, 1.5))
        if delta < 1e-300:
            continue
        bits, found = smallest_bits(epsilon, delta, n, -math.log(beta))
        penalty = smallest_penalty(epsilon, delta, n, beta)
        with mpmath.workdps(60):
            pairs = [(found, mpmath.mpf(beta), bits), (penalty.parameters, mpmath.mpf(penalty.beta), penalty.bits)]
            for parameters, within, claimed in pairs:
                if "t" in parameters:
                    nats, spent = exact_s_plus(epsilon, delta, n, **parameters)
                else:
                    s = mpmath.mpf(parameters["s"])
                    nats, spent = n * (mpmath.mpf(epsilon) + s), n * mpmath.mpf(delta) / -mpmath.expm1(-s)
                assert spent <= within
                assert nats / mpmath.log(2) <= mpmath.mpf(claimed)


@given(st.floats(1e-4, 2.0), st.floats(-12, -0.5), st.integers(1, 10**5), st.floats(1e-4, 0.9))
@settings(max_examples=20, deadline=None, derandomize=True)
def test_a_penalty_is_an_instance_with_its_eta(epsilon: float, log10_rate: float, n: int, alpha: float) -> None:
    delta = alpha / n * 10**log10_rate
    for method in ("best", "plain"):
        found = smallest_penalty(epsilon, delta, n, alpha, method)
        bound = instance(epsilon, delta, n, found.parameters, method)
        assert bound.bits <= found.bits * (1 + 1e-12)
        assert bound.beta <= found.beta * (1 + 1e-12)
        assert found.beta <= bound.beta * (1 + 1e-9) + 1e-13 * alpha
        assert found.penalty == pytest.approx(found.bits - math.log2(1 - found.beta / alpha), rel=1e-9)


def test_the_clipped_sum() -> None:
    # fewer bits than Theorem S+ for few rows, and true on exact distributions
    for epsilon, delta, n, beta, bits in (
        (50, 1e-20, 1, 2.6e-4, 72.1),
        (3, 1e-12, 10, 0.01, 43.3),
        (0.5, 1e-12, 4, 0.01, 2.89),
    ):
        assert smallest_bits(epsilon, delta, n, -math.log(beta))[0] == pytest.approx(bits, rel=2e-3)
    for epsilon, delta, n, prior in CASES:
        law = leaky_response(epsilon, delta, n, prior)
        for s in (0.01, 0.1, 1.0, 5.0):
            bound = clipped_sum(epsilon, delta, n, s)
            assert excess(law, bound.bits * LN2) <= bound.beta
    # without the leak in beta the same audit fails
    law = leaky_response(0.01, 0.2, 3, 0.01)
    assert excess(law, clipped_sum(0.01, 0.2, 3, 0.01).bits * LN2) > 0


@pytest.mark.parametrize("epsilon", [3.0, 20.0, 50.0])
def test_monotone_at_large_epsilon(epsilon: float) -> None:
    for n in (1, 5, 200):
        for delta in (1e-20, 1e-9):
            bits = [smallest_bits(epsilon * f, delta, n, -math.log(0.01))[0] for f in (1.0, 1.0000001, 1.0001, 1.05)]
            assert bits == sorted(bits)


def test_what_was_chosen_is_named() -> None:
    assert dict(theorem_s(0.001, 0.0, 1000, 2.0, 0.0, 0.1).parameters) == {"t": 2.0, "s": 0.1}
    assert dict(theorem_s(0.001, 1e-12, 1000, 2.0, 1e-6, 0.1).parameters) == {"t": 2.0, "s": 0.1, "eta": 1e-6}
    assert dict(clipped_sum(0.001, 1e-12, 1000, 0.1).parameters) == {"s": 0.1}


def test_the_search_is_polished_unless_asked_not_to() -> None:
    at = (0.001, 1e-12, 10_000, -math.log(0.005))
    assert smallest_bits(*at) == smallest_bits(*at, polish=True)
    assert smallest_bits(*at)[0] < smallest_bits(*at, polish=False)[0] < 1.05 * smallest_bits(*at)[0]
