"""Bad events after private releases."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.generalisation import (
    COROLLARY_22_FROM,
    corollary_7,
    corollary_21,
    corollary_22,
    pure_dp_event,
    theorem_6_epsilon,
    theorem_8,
    theorem_8_inverse,
    theorem_8_rows,
)
from holdfast.errors import InvalidParameter
from tests.bounds.exact_laws import leaky_response


def test_sharper_numbers_of_the_specification() -> None:
    # spec-reusable-holdout 3.3: n = 5000, ln p0 = -25
    for epsilon, value in ((0.05, 7.838e-07), (0.08, 1.242e-04), (0.02, 1.607e-09)):
        found = pure_dp_event(epsilon, 5000, -25.0).value
        assert 0.98 * value < found <= value * (1 + 5e-4)  # the free order is some thousandths smaller
    assert pure_dp_event(0.08, 5000, -25.0, "paper").value == pytest.approx(0.2212, rel=5e-4)


@given(st.floats(0, 1), st.integers(1, 10**6), st.floats(-2000, 5), st.floats(1, 2))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_order_and_monotone(epsilon: float, n: int, log_p0: float, factor: float) -> None:
    best, paper = pure_dp_event(epsilon, n, log_p0), pure_dp_event(epsilon, n, log_p0, "paper")
    assert best.log_value <= paper.log_value + 1e-9
    assert min(log_p0, 0) <= best.log_value + 1e-9
    assert pure_dp_event(epsilon * factor, n, log_p0).log_value >= best.log_value - 1e-8 * (1 - best.log_value)
    assert pure_dp_event(epsilon, n, log_p0 - factor).log_value <= best.log_value + 1e-8 * (1 - best.log_value)


def test_holds_on_exact_laws() -> None:
    # the worst bad set of product probability p0 takes the largest ratios first
    for epsilon, n in ((0.05, 400), (0.3, 60), (1.0, 12)):
        probabilities, losses = leaky_response(epsilon, 0.0, n)
        order = np.argsort(-losses)
        joint = np.append(0, np.cumsum(probabilities[order]))
        product = np.append(0, np.cumsum((probabilities * np.exp(-losses))[order]))
        for p0 in (1e-6, 1e-3, 0.05, 0.4):
            exact = float(np.interp(p0, product, joint))
            for method in ("best", "paper", "theorem-6", "theorem-20"):
                assert exact <= pure_dp_event(epsilon, n, math.log(p0), method).value
            assert exact > p0  # the naive answer is caught


def test_theorem_6_applies_up_to_its_epsilon() -> None:
    epsilon = theorem_6_epsilon(math.log(1e-6), 5000)
    assert pure_dp_event(epsilon, 5000, math.log(1e-6), "theorem-6").value == pytest.approx(0.003)
    assert pure_dp_event(epsilon * 1.0001, 5000, math.log(1e-6), "theorem-6").value == 1
    assert corollary_7(0.05, 1 / 5000, 5000).value == pytest.approx(
        pure_dp_event(0.05 * (1 - 1e-12), 5000, -25.0, "theorem-6").value
    )


def test_where_corollary_22_holds_as_printed() -> None:
    # spec-reusable-holdout 6, row 11: u* = 7.801924681
    def two_terms(u: float) -> float:
        return math.exp(-(1.5 - math.sqrt(0.5)) * u) + 2 * math.exp(-u)

    assert two_terms(COROLLARY_22_FROM) == pytest.approx(math.exp(-0.75 * COROLLARY_22_FROM), rel=1e-9)
    assert two_terms(COROLLARY_22_FROM * 0.99) > math.exp(-0.75 * COROLLARY_22_FROM * 0.99)
    with pytest.raises(InvalidParameter, match=r"7\.8"):
        corollary_22(0.01, 1 / 5000, 5000, "paper")
    assert corollary_22(0.05, 1 / 5000, 5000).value > corollary_7(0.05, 1 / 5000, 5000).value
    assert corollary_21(0.05, 1 / 5000, 5000, 0.01).value == pytest.approx(0.01 + math.exp(-12.5))


def test_theorem_8_and_its_inverse() -> None:
    epsilon, delta = theorem_8_inverse(0.1, 0.05)
    n = math.ceil(theorem_8_rows(epsilon, delta))
    found = theorem_8(epsilon, delta, n)
    assert found.radius <= 0.1 * (1 + 1e-12)
    assert found.failure <= 0.05 * (1 + 1e-12)
    with pytest.raises(InvalidParameter, match="n must"):
        theorem_8(epsilon, delta, n - 1)


def test_tails_up_and_requirements_down_in_sixty_digits() -> None:
    rng = np.random.default_rng(21)
    for _ in range(200):
        tau, c, n = float(rng.uniform(0.01, 1)), float(10 ** rng.uniform(-5, 0)), int(10 ** rng.uniform(0, 6))
        beta = float(rng.choice([0.0, 1e-9, 0.1]))
        found = corollary_21(tau, c, n, beta)
        with mpmath.workdps(60):
            u = (mpmath.mpf(tau) / mpmath.mpf(c)) ** 2 / n
            value = mpmath.exp(-u) + mpmath.mpf(beta)
            assert found.value == 1 or mpmath.mpf(found.value) >= value
            assert mpmath.mpf(found.epsilon) <= u / n
            assert mpmath.mpf(found.bits) <= u / mpmath.log(2)
            assert mpmath.mpf(found.bits) >= u / mpmath.log(2) * (1 - mpmath.mpf("1e-14"))
            seven = corollary_7(tau, c, n)
            assert seven.value == 1 or mpmath.mpf(seven.value) >= 3 * mpmath.exp(-u)
            assert mpmath.mpf(seven.epsilon) <= mpmath.mpf(tau) / mpmath.mpf(c) / n
    assert corollary_7(0.1, 0.1, 10).bits is None


def test_the_privacy_that_a_tail_asks_for_is_the_ratio_a_row() -> None:
    """Both corollaries are about `epsilon = tau/(c n)` and `k = tau^2/(c^2 n) log2 e` bits, rounded down."""
    tau, sensitivity, n = 0.05, 1 / 5000, 5000
    for method in ("best", "paper"):
        found = corollary_22(tau, sensitivity, n, method).epsilon
        assert found == pytest.approx(tau / (sensitivity * n), rel=1e-12)
        assert found <= tau / (sensitivity * n)
    assert corollary_21(tau, sensitivity, n).bits == pytest.approx(12.5 / math.log(2))


def test_tails_are_plain_data() -> None:
    found = corollary_21(0.05, 1 / 5000, 5000)
    assert found.to_dict() == {"value": found.value, "epsilon": found.epsilon, "bits": found.bits}
    found = corollary_22(0.05, 1 / 5000, 5000)
    assert found.to_dict() == {"value": found.value, "epsilon": found.epsilon}
