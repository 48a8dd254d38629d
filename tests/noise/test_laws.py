from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from holdfast.errors import InvalidParameter
from holdfast.noise import (
    discrete_gaussian_tail,
    discrete_gaussian_variance,
    discrete_laplace_tail,
    discrete_laplace_variance,
)


@pytest.mark.parametrize("scale", [1e-4, 0.05, 0.5, 1, 7.3, 200])
def test_laplace_by_summation(scale: float) -> None:
    k = range(1, math.ceil(60 * scale) + 60)
    weights = [mpmath.exp(-mpmath.mpf(j) / scale) for j in k]
    total = 1 + 2 * mpmath.fsum(weights)
    variance = 2 * mpmath.fsum(j * j * w for j, w in zip(k, weights, strict=True)) / total
    assert discrete_laplace_variance(scale) == pytest.approx(float(variance), rel=1e-12, abs=1e-300)
    for m in (0, 1, 3, 20):
        tail = 2 * mpmath.fsum(weights[m - 1 :]) / total if m else 1
        assert discrete_laplace_tail(scale, m) == pytest.approx(float(tail), rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("sigma", [1e-3, 0.2, 0.5, 1, 1.9, 1.999999, 2, 3, 10])
def test_gaussian_by_summation(sigma: float) -> None:
    with mpmath.workprec(200):
        k = range(1, 400)
        weights = [mpmath.exp(-(mpmath.mpf(j) ** 2) / (2 * mpmath.mpf(sigma) ** 2)) for j in k]
        total = 1 + 2 * mpmath.fsum(weights)
        variance = 2 * mpmath.fsum(j * j * w for j, w in zip(k, weights, strict=True)) / total
        assert discrete_gaussian_variance(sigma) == pytest.approx(float(variance), rel=1e-12, abs=1e-300)
        for m in (0, 1, 3, 20):
            tail = 2 * mpmath.fsum(weights[m - 1 :]) / total if m else 1
            assert float(tail) <= discrete_gaussian_tail(sigma, m) * (1 + 1e-12)


def test_wrong_input() -> None:
    for call in (discrete_laplace_variance, discrete_gaussian_variance):
        for bad in (0, -1, math.nan, "x"):
            with pytest.raises(InvalidParameter):
                call(bad)  # type: ignore[arg-type]
    for tail in (discrete_laplace_tail, discrete_gaussian_tail):
        with pytest.raises(InvalidParameter, match="at_least"):
            tail(1, -1)
    assert np.isfinite(discrete_laplace_variance(1e-9))
    assert discrete_laplace_variance(1e300) == math.inf
    assert discrete_laplace_variance(1e100) == pytest.approx(2e200)
    assert discrete_gaussian_variance(1e300) == math.inf
    assert discrete_gaussian_variance(1e-200) == 0
    assert discrete_gaussian_tail(1e-200, 1) == 0
