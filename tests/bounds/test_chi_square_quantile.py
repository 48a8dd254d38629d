"""Critical values and power: inverses of the tails, against SciPy's chi-squares where it has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

from holdfast.bounds.numerics.chi_square import (
    chi_square_power,
    mixture_quantile,
    mixture_sf,
    mixture_tails,
)
from holdfast.errors import InvalidParameter


@settings(deadline=None, derandomize=True, max_examples=40)
@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=8), st.floats(-12, -0.01), st.booleans())
def test_the_tail_at_the_quantile_is_the_level(weights: list[float], log_alpha: float, upper: bool) -> None:
    alpha = 10**log_alpha
    x = mixture_quantile(alpha, weights, tail="upper" if upper else "lower")
    tail = mixture_sf(x, weights) if upper else mixture_tails(x, weights).cdf
    assert tail == pytest.approx(alpha, rel=1e-11)


@pytest.mark.parametrize("degrees", [1, 2, 3, 99, 300])
def test_one_weight_is_a_chi_square(degrees: int) -> None:
    alpha = np.array([1e-300, 1e-100, 1e-12, 0.01, 0.5, 0.9, 1 - 1e-9])
    np.testing.assert_allclose(mixture_quantile(alpha, [1.0], degrees), stats.chi2.isf(alpha, degrees), rtol=1e-11)
    lower = mixture_quantile(alpha[2:], [1.0], degrees, tail="lower")
    np.testing.assert_allclose(lower, stats.chi2.ppf(alpha[2:], degrees), rtol=1e-8)


def test_scale_and_shapes() -> None:
    w = np.array([[3, 1, 0.5], [1, 1, 1], [1e6, 1, 1e-3]])
    many = mixture_quantile(0.05, w)
    assert many.shape == (3,)
    assert many[1] == pytest.approx(stats.chi2.isf(0.05, 3), rel=1e-12)
    assert mixture_quantile(0.05, 1e-9 * w[0]) == pytest.approx(1e-9 * many[0], rel=1e-12)
    assert mixture_quantile([[0.1], [0.2]], w).shape == (2, 3)
    assert mixture_quantile(1e-300, [1.0], 0.5, tail="lower") == 0  # about 1e-1200


def test_noncentral_quantile() -> None:
    assert mixture_quantile(0.3, [2.0], 3, 7.0) == pytest.approx(2 * stats.ncx2.isf(0.3, 3, 7.0), rel=1e-9)


def test_power_is_the_noncentral_tail() -> None:
    v = np.array([0.0, 0.5, 10, 200])
    expected = 1 - special.chndtr(special.chdtri(3, 0.05), 3, v)
    np.testing.assert_allclose(chi_square_power(0.05, 3, v), expected, rtol=1e-9)
    assert chi_square_power(0.01, 5, 0.0) == pytest.approx(0.01, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mixture_quantile(0, [1.0]), "alpha"),
        (lambda: mixture_quantile(1, [1.0]), "alpha"),
        (lambda: mixture_quantile([0.1, math.nan], [1.0]), "alpha"),
        (lambda: mixture_quantile("a", [1.0]), "alpha"),
        (lambda: mixture_quantile(0.1, [0.0]), "weights"),
        (lambda: mixture_quantile([0.1, 0.2, 0.3], np.ones((2, 2))), "fit"),
        (lambda: mixture_quantile(0.1, [1.0], 1, 0, "both"), "tail"),  # type: ignore[arg-type]
        (lambda: chi_square_power(0.05, 0, 1), "degrees"),
        (lambda: chi_square_power(0.05, 1, -1), "noncentrality"),
    ],
)
def test_wrong_input(call: Any, message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        call()
