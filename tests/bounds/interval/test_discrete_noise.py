"""Discrete against rounded normal noise: the exact distance and the bound on it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr

from holdfast.bounds.interval import discrete_noise_cost
from holdfast.errors import InvalidParameter


def _distance(sigma: float) -> float:
    """Exact total variation between the two distributions on the whole numbers."""
    reach = int(14 * sigma) + 10
    x = np.arange(-reach, reach + 1)
    discrete = np.exp(-0.5 * (x / sigma) ** 2)
    far = np.abs(x)
    rounded = ndtr((-far + 0.5) / sigma) - ndtr((-far - 0.5) / sigma)
    return 0.5 * float(np.abs(discrete / discrete.sum() - rounded).sum())


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.0, 30.0, 1000.0])
def test_bound_holds_and_is_of_the_right_size(sigma: float) -> None:
    exact, bound = _distance(sigma), discrete_noise_cost(1, sigma, 1.0).value
    assert exact <= bound
    assert bound <= 8 * exact


def test_it_adds_up_over_answers_and_scales_with_the_grid() -> None:
    one = discrete_noise_cost(1, 0.01, 1e-6)
    assert discrete_noise_cost(1000, 0.01, 1e-6).value == pytest.approx(1000 * one.value, rel=1e-9)
    assert one.half_width == 5e-7
    assert discrete_noise_cost(10**9, 1.0, 1.0).value == 1.0
    with pytest.raises(InvalidParameter, match="grid"):
        discrete_noise_cost(1, 1.0, 0.0)
