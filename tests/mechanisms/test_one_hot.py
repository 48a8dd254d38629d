"""Noise on one-hot rows: the cost in whole steps, unbiased frequencies, and a half-width that holds."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from holdfast.accounting.costs import ZCDP, PureDP
from holdfast.bounds import catalogue
from holdfast.errors import InvalidParameter
from holdfast.mechanisms import OneHotGaussian, OneHotLaplace
from holdfast.noise import Seeded

TRUTH = np.repeat([0, 1, 2], [600, 300, 100])
SHARES = np.array([0.6, 0.3, 0.1])


@pytest.mark.parametrize("parameter", [1e-6, 0.01, 0.3, 1, 7, 200])
def test_cost_in_whole_steps_is_at_most_what_is_said(parameter: float) -> None:
    laplace, gaussian = OneHotLaplace(3, parameter), OneHotGaussian(3, parameter)
    step = Fraction(laplace.law.grid.step)
    assert laplace.law.sensitivity_steps * step == 2  # 0 and 1 lie on the grid: two places move by exactly one
    said = Fraction(str(parameter))
    assert laplace.law.epsilon <= said
    assert laplace.law.variance == pytest.approx(8 / parameter**2, rel=1e-6)
    one = 1 / Fraction(gaussian.law.grid.step)
    assert one.denominator == 1
    assert 2 * one**2 <= gaussian.law.sensitivity_steps**2
    assert gaussian.law.rho <= said
    assert gaussian.law.variance == pytest.approx(1 / parameter, rel=1e-5)


@pytest.mark.parametrize("mechanism", [OneHotLaplace(3, 1), OneHotGaussian(3, 0.5)])
def test_estimates(mechanism: Any) -> None:
    errors, crossed, third = [], 0, 0
    for seed in range(400):
        estimate = mechanism.estimate(mechanism.release(TRUTH, Seeded(seed)))
        errors.append((estimate.value - SHARES) / estimate.standard_error)
        far = float(np.abs(estimate.value - SHARES).max())
        crossed += far > mechanism.half_width(1000, 0.05)
        third += far > mechanism.half_width(1000, 0.05) / 3
    scaled = np.array(errors)
    assert np.abs(scaled.mean(axis=0)).max() < 5.3 / math.sqrt(400)
    assert np.abs(scaled.std(axis=0) - 1).max() < 5.3 / math.sqrt(800)
    assert crossed <= 45  # Binomial(400, 0.05) but for a chance below 1e-6
    assert third > 80


def test_says_what_it_is() -> None:
    assert OneHotLaplace(3, 1).cost == PureDP(1.0)
    assert OneHotGaussian(3, 0.5).cost == ZCDP(0.5)
    for mechanism in (OneHotLaplace(3, 1), OneHotGaussian(3, 0.5)):
        assert mechanism.guarantee.theorem in catalogue()
        assert "own value" in mechanism.guarantee.assumption
        assert mechanism.release(1).shape == (3,)
        assert mechanism.to_dict()["categories"] == 3
        for wrong in ([3], [-1], [0.5], ["0"]):
            with pytest.raises(InvalidParameter, match=r"whole numbers in \[0, 3\)"):
                mechanism.release(np.array(wrong))
        for wrong_answers in ([], [[1.0, 2.0]], [[1.0, math.nan, 0.0]], [0.5]):
            with pytest.raises(InvalidParameter, match="answers"):
                mechanism.estimate(wrong_answers)  # type: ignore[arg-type]
        with pytest.raises(InvalidParameter, match="categories"):
            type(mechanism)(1, 1.0)
        with pytest.raises(InvalidParameter, match=r"epsilon|rho"):
            type(mechanism)(3, 0)
