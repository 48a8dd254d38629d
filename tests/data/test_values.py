"""Per-row values: sums that are right, ranges that hold, and errors that show nothing."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.data import values as module
from holdfast.data.values import ValuesRefused, chunks, summarise
from holdfast.errors import InvalidParameter

HYPOTHESIS = settings(deadline=None, derandomize=True, max_examples=60)


@HYPOTHESIS
@given(st.lists(st.floats(-3, 5), min_size=1, max_size=60), st.integers(1, 7))
def test_sums_agree_with_exact_arithmetic_and_do_not_depend_on_chunks(values, size):
    """Mean and variance are within their stated error of rational arithmetic, in one piece or in many."""
    exact = [Fraction(value) for value in values]
    mean = sum(exact, Fraction(0)) / len(exact)
    parts = iter([values[i : i + size] for i in range(0, len(values), size)])
    for rows in (values, np.array(values), parts):
        summary = summarise(rows, n=len(values), low=-3, high=5, squares=True)
        assert abs(Fraction(summary.mean) - mean) <= Fraction(summary.slack)
        if len(values) > 1:
            variance = sum((x - mean) ** 2 for x in exact) / (len(exact) - 1)
            assert summary.variance == pytest.approx(float(variance), abs=1e-11)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.int8, np.uint8, np.int64, bool])
def test_every_number_type_is_summed_as_it_is(dtype, rng):
    """Types narrower than a double are added in doubles; blocks do not change a sum."""
    column = rng.integers(0, 2, 5001).astype(dtype)
    whole = summarise(column, n=5001, binary=True, squares=True)
    assert whole.ones == int(np.count_nonzero(column))
    assert whole.variance == pytest.approx(np.var(column.astype(float), ddof=1), rel=1e-12)
    assert summarise(column[::-1], n=5001).mean == whole.mean


def test_small_blocks_give_the_same_sums(monkeypatch, rng):
    """What is added in pieces is added right."""
    column = rng.random(1003)
    whole = summarise(column, n=1003, squares=True)
    monkeypatch.setattr(module, "_BLOCK", 10)
    pieces = summarise(column, n=1003, squares=True)
    assert pieces.mean == pytest.approx(whole.mean, abs=whole.slack)
    assert pieces.variance == pytest.approx(whole.variance, rel=1e-12)


def test_a_long_single_precision_column_keeps_its_stated_error():
    """Single precision is converted while it is added; the error stays below the slack."""
    column = np.full(3_000_000, 0.1, dtype=np.float32)
    summary = summarise(column, n=len(column))
    assert abs(summary.mean - float(np.float32(0.1))) <= summary.slack


def test_data_frame_columns_are_taken_as_they_are():
    """pandas and polars columns, of numbers and of truth values."""
    frame = pd.DataFrame({"x": [0.25, 0.75], "right": [True, False]})
    assert summarise(frame["x"], n=2).mean == 0.5
    assert summarise(frame["right"], n=2).binary
    assert summarise(pl.Series([0.25, 0.75]), n=2).mean == 0.5


def test_only_truth_values_in_the_unit_range_declare_themselves_binary():
    """A type says so before the data; values 0 and 1 alone do not."""
    truths = np.array([True, False])
    assert summarise(truths, n=2).binary
    assert summarise(iter([truths, truths]), n=4).binary
    assert not summarise(iter([truths, truths.astype(int)]), n=4).binary
    assert not summarise(truths.astype(int), n=2).binary
    assert not summarise(truths, n=2, low=-1).binary
    assert summarise([1, 0], n=2, binary=True).ones == 1


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ([0.5, math.nan], "lie in"),
        ([0.5, math.inf], "lie in"),
        ([0.5, 1.0000001], "lie in"),
        ([-1e-300, 0.5], "lie in"),
        ([0.5], "2 in all, got 1"),
        ([0.5, 0.5, 0.5], "2 in all, got more"),
        ([], "2 in all, got 0"),
        (["a", "b"], "numbers"),
        ([None, 0.5], "lie in"),
        ([1j, 0.5], "lie in"),
        ([True, 0.5], "lie in"),
        ([0, 2**70], "lie in"),
        (pd.Series([True, None], dtype="boolean"), "lie in"),
        ([None, None], "numbers"),
        ([[0.5, 0.5]], "one-dimensional"),
        ([[0.5], [0.5, 0.5]], "one number per row"),
        (0.5, "one-dimensional"),
        (iter([0.5, 0.5]), "one-dimensional"),
        (np.ma.masked_array([0.5, 0.5], mask=[True, False]), "masked"),
        (pd.Series([0.5, None]), "lie in"),
        (object(), "one-dimensional"),
    ],
)
def test_wrong_values_are_refused_without_showing_one(values, what):
    """Each message says what is wanted; none shows a value or a row number."""
    with pytest.raises(InvalidParameter, match=what) as caught:
        summarise(values, n=2, name="scores")
    assert "scores" in str(caught.value)
    assert "1.0000001" not in str(caught.value)


def test_what_does_not_depend_on_values_is_refused_first():
    """A wrong number of rows or a chunk that is no array is reported whatever the values are, wherever they are."""
    bad, good = [math.nan, 0.5], [0.5, 0.5]
    for first in (bad, good):
        with pytest.raises(InvalidParameter, match="5 in all, got 4") as caught:
            summarise(iter([first, good]), n=5)
        assert not isinstance(caught.value, ValuesRefused)
        with pytest.raises(InvalidParameter, match="2 dimensions") as caught:
            summarise(iter([first, np.ones((2, 2))]), n=4)
        assert not isinstance(caught.value, ValuesRefused)
    with pytest.raises(ValuesRefused, match="lie in"):
        summarise(iter([bad, good]), n=4)


def test_declared_binary_values_must_be_zero_or_one():
    """Declared 0/1 values are held to it, for floats and for integers."""
    for values in ([0.0, 0.5], [0, 2], [-1, 1]):
        with pytest.raises(InvalidParameter, match="0 or 1"):
            summarise(values, n=2, binary=True)
    with pytest.raises(InvalidParameter, match="binary"):
        summarise([0, 1], n=2, low=-1, binary=True)


def test_a_range_is_not_rounded_to_the_values_type():
    """The single-precision number nearest to 0.1 lies above 0.1, and is refused in [0, 0.1]."""
    with pytest.raises(InvalidParameter, match="lie in"):
        summarise(np.array([0.1], dtype=np.float32), n=1, high=0.1)


def test_sums_are_secret_in_repr():
    """A repr shows the public part alone."""
    assert repr(summarise([0.125, 0.25], n=2)) == "Summary(n=2, low=0, high=1)"


def test_what_was_not_asked_for_is_not_made_up():
    """A variance needs squares, and ones need a declaration."""
    summary = summarise([0.0, 1.0], n=2)
    with pytest.raises(InvalidParameter, match="squares"):
        _ = summary.variance
    with pytest.raises(InvalidParameter, match="binary"):
        _ = summary.ones
    assert summarise([0.5], n=1, squares=True).variance == 0.0


def test_chunks_are_read_one_at_a_time():
    """A generator is not gathered first: reading stops at the first chunk that is too much."""
    seen = []

    def parts():
        for i in range(100):
            seen.append(i)
            yield np.zeros(10)

    with pytest.raises(InvalidParameter, match="more"):
        summarise(parts(), n=25)
    assert len(seen) == 3
    assert [part.size for part in chunks(parts(), "values")] == [10] * 100


@pytest.fixture
def rng():
    """A fixed generator."""
    return np.random.default_rng(20_150_807)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 0.7, 0.9999])
def test_sums_of_squares_keep_the_promise_of_the_variance(value: float) -> None:
    """`mean_interval` makes up for 8 slack times the range; equal rows are the worst case of biased rounding."""
    n = 1 << 21
    summary = summarise(np.full(n, value), n=n, squares=True)
    exact = n * Fraction(value) ** 2
    assert abs(Fraction(summary.squares) - exact) <= exact * Fraction(1, 10**13)


def test_missing_values_and_values_outside_the_range_read_alike():
    """The message says both, so it does not say which of them the rows hold."""
    said = set()
    for bad in (math.nan, 1.5, -0.1):
        with pytest.raises(InvalidParameter) as caught:
            summarise([0.5, bad], n=2)
        said.add(str(caught.value))
    assert said == {"values must lie in [0, 1], one number per row without missing values, and some do not"}
    for bad in (math.nan, 0.5):
        with pytest.raises(InvalidParameter, match=r"must be 0 or 1, one number per row .* some are not"):
            summarise([1.0, bad], n=2, binary=True)
