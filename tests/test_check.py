from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core import arguments
from holdfast.errors import HoldfastError, InvalidParameter

NOT_NUMBERS = [None, "0.1", [0.1], (0.1,), {"a": 1}, True, False, np.array([1.0]), 1j, object(), Decimal("0.1")]


@pytest.mark.parametrize("value", NOT_NUMBERS)
def test_only_numbers_are_numbers(value: object) -> None:
    with pytest.raises(InvalidParameter, match="epsilon must be a number"):
        arguments.real("epsilon", value)
    with pytest.raises(InvalidParameter, match="n must be a whole number"):
        arguments.whole("n", value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400])
def test_numbers_without_a_finite_value_are_refused(value: float) -> None:
    with pytest.raises(InvalidParameter, match="epsilon"):
        arguments.real("epsilon", value)
    assert arguments.real("epsilon", math.inf, infinite=True) == math.inf


def test_numpy_scalars_and_fractions_are_numbers() -> None:
    assert arguments.real("x", np.float32(0.5)) == 0.5
    assert arguments.real("x", Fraction(1, 4)) == 0.25
    assert arguments.whole("n", np.int64(7)) == 7
    assert arguments.whole("n", np.float64(1e6)) == 1_000_000


def test_ranges_are_open_where_said() -> None:
    assert arguments.real("x", 0, at_least=0) == 0
    for bad in ({"above": 0}, {"below": 0}, {"at_least": 1}, {"at_most": -1}):
        with pytest.raises(InvalidParameter):
            arguments.real("x", 0, **bad)  # type: ignore[arg-type]
    assert arguments.probability("delta", 1, one=True) == 1
    for bad_value in (0, 1, -0.1, 1.1):
        with pytest.raises(InvalidParameter):
            arguments.probability("delta", bad_value)


def test_message_names_parameter_value_and_range() -> None:
    with pytest.raises(InvalidParameter, match=r"^delta must be a number in \[0, 1\), got 1$"):
        arguments.probability("delta", 1, zero=True)
    with pytest.raises(InvalidParameter, match=r"^n must be a whole number, at least 1 and at most 9, got 10$"):
        arguments.whole("n", 10, at_least=1, at_most=9)


def test_message_never_shows_the_content_of_a_container() -> None:
    with pytest.raises(InvalidParameter) as caught:
        arguments.real("epsilon", [123456.789])
    assert "123456" not in str(caught.value)
    assert "a list" in str(caught.value)
    with pytest.raises(InvalidParameter) as caught:
        arguments.choice("noise", "x" * 500, ["a"])
    assert len(str(caught.value)) < 200


def test_errors_are_value_errors_and_holdfast_errors() -> None:
    assert issubclass(InvalidParameter, ValueError)
    assert issubclass(InvalidParameter, HoldfastError)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_real_returns_the_value_or_raises(value: float) -> None:
    if 0 < value < 1:
        assert arguments.probability("p", value) == value
    else:
        with pytest.raises(InvalidParameter):
            arguments.probability("p", value)


def test_reals_checks_each() -> None:
    assert arguments.reals("e", np.array([0.1, 0.2])) == (0.1, 0.2)
    with pytest.raises(InvalidParameter, match=r"e\[1\]"):
        arguments.reals("e", [0.1, -1], at_least=0)
    for bad in ("0.1", 0.1, [], None):
        with pytest.raises(InvalidParameter):
            arguments.reals("e", bad)


@pytest.mark.parametrize("value", [10**301, 10**400, 10**5000, 1e308, -(10**400)], ids=range(5))
def test_whole_numbers_end_where_floats_do(value: float) -> None:
    with pytest.raises(InvalidParameter, match="at most 1e300") as caught:
        arguments.whole("n", value)
    assert len(str(caught.value)) < 200
    assert arguments.whole("n", 10**300) == 10**300
    assert arguments.whole("n", 10**400, at_most=10**500) == 10**400  # a caller that means it says so
    with pytest.raises(InvalidParameter, match="n must be a whole number"):
        arguments.whole("n", Fraction(10**400, 3))
