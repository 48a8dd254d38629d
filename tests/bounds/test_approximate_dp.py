"""The printed theorem for approximate privacy: forms, ranges, and where it says something."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.approximate_dp import (
    approx_dp,
    closed_form,
    feasible_dhat,
    smallest_beta,
    smallest_two_parameter_bits,
    two_parameter,
)
from holdfast.bounds.max_information import pure_dp
from holdfast.errors import InvalidParameter

quick = settings(max_examples=100, deadline=None, derandomize=True)
epsilons = st.floats(1e-5, 0.5)


@given(epsilons, st.floats(1e-12, 0.999), st.integers(1, 10**6))
@quick
def test_the_closed_form_covers_the_printed_choice(epsilon: float, share: float, n: int) -> None:
    delta = epsilon * share
    printed, closed = two_parameter(epsilon, delta, n, form="printed"), closed_form(epsilon, delta, n)
    assert closed.bits >= printed.bits
    assert closed.beta >= printed.beta


def test_smaller_constants_would_not_do() -> None:
    # 21.6 and 32.6 are too small at the corner, so the tests above have power
    q = math.sqrt(0.999999)
    printed = two_parameter(0.5, 0.5 * q * q, 1000, form="printed")
    assert printed.bits > (72 + 6 * math.sqrt(2)) * 0.25 * 1000 + 21.6 * 1000 * q
    assert printed.beta > math.exp(-250) + 32.6 * 1000 * q


def test_the_step_of_the_printed_proof_fails_beyond_0_2094() -> None:
    # T-02: 6 eps (e^(6 eps) - 1) <= 72 eps^2
    assert 6 * 0.2094 * math.expm1(6 * 0.2094) <= 72 * 0.2094**2
    assert 6 * 0.2095 * math.expm1(6 * 0.2095) > 72 * 0.2095**2
    assert two_parameter(0.5, 1e-12, 100, form="repaired").bits > two_parameter(0.5, 1e-12, 100, form="printed").bits


@given(epsilons, st.floats(-25, -8), st.integers(1, 10**5), st.floats(1e-4, 0.5))
@quick
def test_best_is_never_above_paper(epsilon: float, log10_delta: float, n: int, beta: float) -> None:
    delta = min(10**log10_delta, epsilon / 2)
    assert approx_dp(epsilon, delta, n, beta).bits <= approx_dp(epsilon, delta, n, beta, "paper").bits * (1 + 1e-9)


@given(epsilons, st.floats(-25, -10), st.integers(1, 10**4), st.floats(1e-4, 0.5), st.floats(1.05, 2))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_the_printed_optimum_is_feasible_and_monotone(
    epsilon: float, log10_delta: float, n: int, beta: float, factor: float
) -> None:
    delta = min(10**log10_delta, epsilon / 3)
    bits, t, dhat = smallest_two_parameter_bits(epsilon, delta, n, beta)
    if bits < math.inf:
        bound = two_parameter(epsilon, delta, n, t, dhat, "printed")
        assert bound.beta <= beta * (1 + 1e-12)
        assert bound.bits == bits
    assert smallest_two_parameter_bits(epsilon, delta * factor, n, beta)[0] >= bits * (1 - 1e-8)
    assert smallest_two_parameter_bits(epsilon, delta, n, beta / factor)[0] >= bits * (1 - 1e-8)


def test_smallest_beta_is_where_bounds_begin() -> None:
    for method in ("best", "paper"):
        least = smallest_beta(0.01, 1e-14, 1000, method)
        assert approx_dp(0.01, 1e-14, 1000, least * 0.999, method).bits == math.inf
        assert approx_dp(0.01, 1e-14, 1000, least * 1.01, method).bits < math.inf
    assert smallest_beta(0.01, 1e-14, 1000, "paper") == pytest.approx(
        4 / math.sqrt(3) * 1000 * math.sqrt(1e-12), rel=0.02
    )
    assert feasible_dhat(0.01, 1e-10, 1000, 0.05) is None


def test_pure_limit_and_ends() -> None:
    assert approx_dp(0.02, 0.0, 1000, 0.01).bits == pure_dp(0.02, 1000, 0.01).bits
    assert approx_dp(0.02, 1e-300, 1000, 0.01).bits > pure_dp(0.02, 1000, 0.01).bits
    assert approx_dp(0.02, 1e-9, 1000, 0.0).bits == math.inf
    assert approx_dp(0.02, 0.5, 1000, 0.01).bits == math.inf
    assert 0 < approx_dp(0.0, 1e-9, 1000, 0.01).bits < math.inf
    assert approx_dp(5.0, 1e-9, 1000, 0.01).bits < math.inf  # no upper limit on epsilon


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: approx_dp(0.6, 1e-9, 10, 0.1, "paper"), "epsilon"),
        (lambda: approx_dp(0.1, 0.1, 10, 0.1, "paper"), "delta"),
        (lambda: approx_dp(0.1, 0.0, 10, 0.1, "paper"), "delta"),
        (lambda: approx_dp(0.1, 1.0, 10, 0.1), "delta"),
        (lambda: two_parameter(0.1, 1e-9, 10, t=-1), "t must"),
        (lambda: two_parameter(0.1, 1e-9, 10, dhat=0.1), "dhat"),
    ],
)
def test_wrong_input_is_named(call, named) -> None:
    with pytest.raises(InvalidParameter, match=named):
        call()
