"""Decimals are read exactly; rounding goes to the stated side."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.numerics.exact import decimal_fraction, decimal_sum, down, float_down, float_up, up
from holdfast.errors import InvalidParameter

FINITE = st.floats(allow_nan=False, allow_infinity=False)
SETTINGS = settings(deadline=None, max_examples=300, derandomize=True)


def test_a_float_is_the_decimal_it_prints_as() -> None:
    assert decimal_fraction(0.1) == Fraction(1, 10)
    assert decimal_fraction(1e-300) == Fraction(1, 10**300)
    assert decimal_fraction(3) == 3
    assert decimal_fraction(np.float64(0.01)) == Fraction(1, 100)
    assert decimal_sum([0.1] * 10) == 1
    assert decimal_sum([1e-6] * 1_000_000) == 1


@pytest.mark.parametrize("x", [math.nan, math.inf, "0.1", None, True])
def test_only_finite_numbers_are_read(x: object) -> None:
    with pytest.raises(InvalidParameter):
        decimal_fraction(x)  # type: ignore[arg-type]


@SETTINGS
@given(FINITE)
def test_reading_agrees_with_decimal_and_reads_back(x: float) -> None:
    assert decimal_fraction(x) == Fraction(Decimal(repr(x)))
    assert float(decimal_fraction(x)) == x
    assert float_up(decimal_fraction(x)) == x == float_down(decimal_fraction(x))


@SETTINGS
@given(st.fractions(min_value=-(10**6), max_value=10**6))
def test_directed_rounding_is_as_close_as_the_reading_allows(x: Fraction) -> None:
    above, below = float_up(x), float_down(x)
    assert decimal_fraction(below) <= x <= decimal_fraction(above)
    assert decimal_fraction(math.nextafter(above, -math.inf)) < x or above == below
    assert decimal_fraction(math.nextafter(below, math.inf)) > x or above == below


def test_rounding_at_the_ends() -> None:
    huge = Fraction(10) ** 400
    assert float_up(huge) == math.inf
    assert math.isfinite(float_down(huge))
    assert up(0.0) == 0.0 == down(0.0)
    assert up(math.inf) == math.inf
    assert 0.0 <= down(5e-324) <= 5e-324
    assert up(-1.0) > -1.0 > down(-1.0)
