"""Exactness of the mean."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import InvalidParameter
from holdfast.inference.answers.answerer import VALUE_ERROR, exact_mean, exact_means


def test_exact_mean_streams_and_rounds_row_by_row() -> None:
    rng = np.random.default_rng(3)
    values = rng.random(10_001)
    whole = exact_mean(values, 10_001)
    assert exact_mean(iter(np.array_split(values, 7)), 10_001) == whole
    assert exact_means(np.stack([values, 1 - values]).T, 10_001)[0] == whole
    truth = sum((Fraction(v) for v in values), Fraction(0)) / 10_001
    assert abs(whole - truth) <= VALUE_ERROR
    assert exact_mean(values > 0.5, 10_001) == Fraction(int((values > 0.5).sum()), 10_001)
    assert exact_mean((values > 0.5).astype(np.uint8), 10_001) == exact_mean((values > 0.5).astype(float), 10_001)


@settings(max_examples=50, deadline=None, derandomize=True)
@given(
    values=st.lists(st.floats(-1000, 1000), min_size=1, max_size=20),
    low=st.floats(-2000, -1000),
    high=st.floats(1000, 2000),
)
def test_exact_mean_of_any_range(values: list[float], low: float, high: float) -> None:
    found = exact_mean(np.array(values), len(values), low, high)
    truth = sum((Fraction(v) for v in values), Fraction(0)) / len(values)
    length = Fraction(high) - Fraction(low)
    assert 0 <= found <= 1
    assert abs(Fraction(low) + length * found - truth) <= length * Fraction(VALUE_ERROR)


def test_changing_a_row_moves_the_exact_mean_by_at_most_its_share() -> None:
    """The sensitivity that the costs and the theorem rest on, after rounding row by row."""
    values = np.random.default_rng(4).random(997)
    moved = values.copy()
    values[500], moved[500] = 0.0, 1.0
    assert exact_mean(moved, 997) - exact_mean(values, 997) == Fraction(1, 997)


def test_large_whole_numbers_and_long_floats_are_exact_or_refused() -> None:
    """As doubles, whole numbers beyond 2**53 and long floats lose digits that may be a large part of the range."""
    far = 2.0**60
    with pytest.raises(InvalidParameter, match="low and high"):
        exact_mean(np.array([2**60, 2**60 + 100, 2**60 + 200]), 3, far, far + 256)
    assert exact_mean(np.array([2**52, 2**52 + 1]), 2, 2.0**52, 2.0**52 + 1) == Fraction(1, 2)
    if np.finfo(np.longdouble).eps < 2.0**-60:
        long = np.longdouble(2.0**40) + np.array([0.3, 0.7], dtype=np.longdouble) * np.longdouble(2.0**-12)
        found = exact_mean(long, 2, 2.0**40, 2.0**40 + 2.0**-12)
        assert abs(float(found) - 0.5) < 1e-6


def test_a_masked_table_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="masked"):
        exact_means(np.ma.masked_array([[0.1], [0.2]], mask=[[True], [False]]), 2)


def test_blocks_of_a_long_column_cannot_overflow() -> None:
    """Sums are of numbers up to 2**40, so more than 2**23 of them would not fit 64 bits; a block holds fewer."""
    from holdfast.inference.answers import answerer as module

    assert module._AT_ONCE << module.VALUE_BITS < 2**63
