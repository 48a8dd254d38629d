"""Planning: the planners invert the levels, and land on the safe side."""

from __future__ import annotations

import math

import pytest

from holdfast.bounds.p_value import largest_delta, largest_epsilon, level_after_approx_dp
from holdfast.errors import GuaranteeUnavailable, InvalidParameter


def test_planning_inverts_the_levels() -> None:
    for delta in (0.0, 1e-12):
        epsilon = largest_epsilon(0.05, 0.005, 10_000, delta)
        assert level_after_approx_dp(0.05, epsilon, delta, 10_000).value >= 0.005 * (1 - 1e-12)
        assert level_after_approx_dp(0.05, epsilon * (1 + 1e-6), delta, 10_000).value < 0.005
    delta = largest_delta(0.05, 0.01, 1000, 0.005)
    assert level_after_approx_dp(0.05, 0.01, delta, 1000).value >= 0.005 * (1 - 1e-12)
    assert level_after_approx_dp(0.05, 0.01, delta * 1.001, 1000).value < 0.005
    for method in ("best", "paper"):
        ceiling = largest_delta(0.05, 0.01, 1000, method=method)
        assert not level_after_approx_dp(0.05, 0.01, ceiling * 0.99, 1000, method).is_vacuous
        assert level_after_approx_dp(0.05, 0.01, ceiling * 1.01, 1000, method).is_vacuous
    assert largest_delta(0.05, 0.01, 1000, method="paper") == pytest.approx(0.01 * (0.05 / 2310) ** 2, rel=0.02)
    with pytest.raises(GuaranteeUnavailable):
        largest_epsilon(0.05, 0.04, 1000, delta=1e-5)
    with pytest.raises(GuaranteeUnavailable):
        largest_delta(0.05, 1.0, 1000, 0.04)
    with pytest.raises(InvalidParameter, match="level"):
        largest_epsilon(0.05, 0.05, 1000)


@pytest.mark.parametrize(
    ("alpha", "level", "n"), [(0.05, 0.005, 10_000), (0.3, 1e-9, 17), (0.01, 1e-300, 1), (0.9, 0.1, 50)]
)
@pytest.mark.parametrize("delta", [0.0, 1e-12])
def test_the_largest_epsilon_reaches_the_level_itself(alpha: float, level: float, n: int, delta: float) -> None:
    epsilon = largest_epsilon(alpha, level, n, delta)
    assert level_after_approx_dp(alpha, epsilon, delta, n).value >= level  # not an ulp less
    assert level_after_approx_dp(alpha, epsilon * (1 + 1e-9), delta, n).value < level
    assert math.isfinite(epsilon)


def test_the_largest_delta_reaches_the_level_itself() -> None:
    for alpha, epsilon, n, level in ((0.05, 0.01, 1000, 0.005), (0.05, 0.01, 10, 1e-160), (0.2, 0.0, 3, 0.1)):
        delta = largest_delta(alpha, epsilon, n, level)
        assert level_after_approx_dp(alpha, epsilon, delta, n).value >= level
        assert level_after_approx_dp(alpha, epsilon, delta * (1 + 1e-8), n).value < level
