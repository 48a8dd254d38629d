"""Pure differential privacy: every line holds on exact distributions, and a wrong line is caught."""

from __future__ import annotations

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds import finite_law
from holdfast.bounds.max_information import (
    general_line,
    plus_line,
    printed_line,
    product_nats,
    pure_dp,
    renyi_line,
    sharp_line,
)
from holdfast.bounds.zcdp import zcdp_to_dp
from holdfast.errors import InvalidParameter
from tests.bounds.exact_laws import excess, geometric_count, leaky_response

LN2 = math.log(2)
CASES = [(0.05, 2000, 0.5), (0.3, 200, 0.5), (1.0, 60, 0.5), (3.0, 20, 0.5), (0.5, 30, 0.05), (2.0, 12, 0.01)]
BETAS = (0.5, 0.1, 0.01, 1e-4, 1e-8)
quick = settings(max_examples=60, deadline=None, derandomize=True)
epsilons = st.floats(1e-6, 5.0)
rows = st.integers(1, 10**6)
betas = st.floats(1e-12, 0.99)


def violations(line, cases=CASES) -> int:
    """How often the exact failure at the line's bits exceeds beta."""
    count = 0
    for epsilon, n, prior in cases:
        law = leaky_response(epsilon, 0.0, n, prior)
        count += sum(excess(law, line(epsilon, n, beta) * LN2) > beta * (1 + 1e-9) for beta in BETAS)
    return count


@pytest.mark.parametrize("line", [printed_line, sharp_line, plus_line, renyi_line])
def test_lines_hold_on_exact_laws(line) -> None:
    assert violations(line) == 0


@pytest.mark.parametrize("line", [printed_line, sharp_line, plus_line, renyi_line])
def test_lines_hold_for_noisy_counts(line) -> None:
    for epsilon, n, prior in ((0.1, 200, 0.5), (0.5, 60, 0.2), (1.0, 30, 0.5), (3.0, 8, 0.05)):
        table = geometric_count(epsilon, 0.0, n, prior)
        for beta in BETAS:
            assert finite_law.max_information(table, beta) <= line(epsilon, n, beta)
        assert finite_law.max_information(table) <= general_line(epsilon, n)


def test_a_drift_that_is_too_small_is_caught() -> None:
    # epsilon^2/32 instead of epsilon^2/8 is what the default line gives for half the epsilon
    assert violations(lambda epsilon, n, beta: plus_line(epsilon / 2, n, beta)) >= 10


def test_the_default_is_close_to_the_truth() -> None:
    law = leaky_response(0.05, 0.0, 2000)
    bits = pure_dp(0.05, 2000, 0.05).bits
    assert 0.2 * 0.05 < excess(law, bits * LN2) <= 0.05


@given(epsilons, rows, betas)
@quick
def test_order_of_the_lines(epsilon: float, n: int, beta: float) -> None:
    found = {m: pure_dp(epsilon, n, beta, method=m).bits for m in ("best", "plus", "sharp", "paper")}
    assert found["best"] <= found["plus"] <= min(found["sharp"], found["paper"])
    assert plus_line(epsilon, n, beta) <= sharp_line(epsilon, n, beta) * (1 + 1e-12)
    assert found["paper"] == pytest.approx(min(general_line(epsilon, n), printed_line(epsilon, n, beta)))
    assert pure_dp(epsilon, n, beta, scope="any").bits == general_line(epsilon, n)


@given(epsilons, rows, betas, st.floats(1.0, 3.0), st.sampled_from(["best", "paper", "sharp", "plus"]))
@quick
def test_monotone(epsilon: float, n: int, beta: float, factor: float, method: str) -> None:
    here = pure_dp(epsilon, n, beta, method=method).bits
    slack = 1 + 1e-9
    assert pure_dp(epsilon * factor, n, beta, method=method).bits * slack >= here
    assert pure_dp(epsilon, math.ceil(n * factor), beta, method=method).bits * slack >= here
    assert pure_dp(epsilon, n, beta / factor, method=method).bits * slack >= here


@given(epsilons, st.integers(1, 10**5), betas)
@quick
def test_default_line_is_the_root_in_fifty_digits(epsilon: float, n: int, beta: float) -> None:
    with mpmath.workdps(50):
        rho = mpmath.mpf(epsilon) ** 2 * n / 8
        order = (mpmath.mpf(plus_line(epsilon, n, beta)) * mpmath.log(2) / rho - 1) / 2
        slack = rho * order**2 + mpmath.log(1 + order) + order * mpmath.log(1 + 1 / order)
        # rounded up, and by very little
        assert slack >= -mpmath.log(beta)
        assert slack <= -mpmath.log(beta) * (1 + mpmath.mpf(10) ** -10) + mpmath.mpf(10) ** -12


def test_far_corners() -> None:
    assert pure_dp(0.0, 10, 0.1).bits == 0
    assert pure_dp(0.1, 10, 0.0).bits == general_line(0.1, 10)
    assert 0 < pure_dp(1e-200, 1000, 0.1).bits <= general_line(1e-200, 1000)
    assert pure_dp(1e200, 10**9, 0.1).bits == general_line(1e200, 10**9)
    assert pure_dp(1e-3, 10**6, 5e-324).bits < general_line(1e-3, 10**6)
    assert product_nats(0.01, 1000, 1e6) <= 10.000001


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"epsilon": -1, "n": 10, "beta": 0.1}, "epsilon"),
        ({"epsilon": math.nan, "n": 10, "beta": 0.1}, "epsilon"),
        ({"epsilon": 0.1, "n": 0, "beta": 0.1}, "n must"),
        ({"epsilon": 0.1, "n": 2.5, "beta": 0.1}, "n must"),
        ({"epsilon": 0.1, "n": 10, "beta": 1.0}, "beta"),
        ({"epsilon": [0.1], "n": 10, "beta": 0.1}, "epsilon"),
        ({"epsilon": 0.1, "n": 10, "beta": 0.1, "scope": "all"}, "scope"),
        ({"epsilon": 0.1, "n": 10, "beta": 0.1, "method": "exact"}, "method"),
    ],
)
def test_wrong_input_is_named(arguments, named) -> None:
    with pytest.raises(InvalidParameter, match=named):
        pure_dp(**arguments)


@given(epsilons, st.integers(1, 10**6), betas)
@quick
def test_renyi_line_is_the_conversion_of_zcdp(epsilon: float, n: int, beta: float) -> None:
    nats = renyi_line(epsilon, n, beta) * LN2
    assert nats == pytest.approx(zcdp_to_dp(epsilon * epsilon * n / 8, beta, "cks"), rel=1e-9, abs=1e-9)


def test_how_much_smaller_the_free_order_is() -> None:
    # the numbers that the documentation gives
    for epsilon, n, beta, saved in (
        (0.02, 1000, 0.01, 0.022),
        (0.0724, 35, 0.046, 0.164),
        (2.1e-4, 3_000_000, 0.21, 1.0),
    ):
        plus, best = (pure_dp(epsilon, n, beta, method=m).bits for m in ("plus", "best"))
        assert 1 - best / plus == pytest.approx(saved, abs=5e-4)
