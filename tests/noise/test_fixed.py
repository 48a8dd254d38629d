from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.noise.table import EXP_ERROR, exp_lower, quadratic_weights

POSITIVE = st.fractions(min_value=0, max_value=300, max_denominator=10**12)


def _exp(x: Fraction, precision: int) -> mpmath.mpf:
    return mpmath.ldexp(mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator), precision)


@given(x=POSITIVE, precision=st.integers(8, 700))
@settings(deadline=None, max_examples=300, derandomize=True)
def test_exp_is_a_lower_bound_within_its_error(x: Fraction, precision: int) -> None:
    with mpmath.workprec(precision + 600):
        truth = _exp(x, precision)
        low = exp_lower(x, precision)
        assert low <= truth <= low + EXP_ERROR


@pytest.mark.parametrize("x", [Fraction(1, 10**30), Fraction(10**30), Fraction(127), Fraction(129), Fraction(255, 256)])
def test_exp_at_the_ends(x: Fraction) -> None:
    with mpmath.workprec(900):
        low = exp_lower(x, 128)
        assert low <= _exp(x, 128) <= low + EXP_ERROR


@pytest.mark.parametrize(
    ("linear", "square", "count"),
    [
        (Fraction(1, 6), Fraction(0), None),
        (Fraction(1, 10**9), Fraction(0), 257),
        (Fraction(0), Fraction(1, 2048), None),
        (Fraction(0), Fraction(500), None),
        (Fraction(1000), Fraction(0), None),
        (Fraction(1, 3), Fraction(1, 7), None),
    ],
)
@pytest.mark.parametrize("precision", [128, 320])
def test_weights_and_their_tail(linear: Fraction, square: Fraction, count: int | None, precision: int) -> None:
    weights = quadratic_weights(linear, square, precision, count)
    with mpmath.workprec(precision + 200):
        exact = [_exp(linear * g + square * g * g, precision) for g in range(4000)]
        for low, truth in zip(weights.lower, exact, strict=False):
            assert low <= truth <= low + weights.error
        if count is not None:
            assert len(weights.lower) == count
            assert weights.tail == 0
        else:
            assert mpmath.fsum(exact[len(weights.lower) :]) <= weights.tail < 2**48
