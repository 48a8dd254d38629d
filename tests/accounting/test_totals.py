from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.accounting import BasicFilter, PureDP
from holdfast.accounting.totals import (
    ZERO,
    above,
    below,
    charged,
    double_down,
    double_up,
    exact,
    parse_total,
    plus,
    read_down,
    read_up,
    root_down,
    root_up,
    square,
    times,
)
from holdfast.bounds.conversions import pure_to_zcdp
from holdfast.bounds.numerics.exact import decimal_fraction, float_down, float_up
from holdfast.errors import InvalidParameter

doubles = st.floats(min_value=0, allow_infinity=False, allow_nan=False)
steady = settings(deadline=None, derandomize=True, max_examples=300)


@steady
@given(doubles)
def test_reading_is_the_one_convention_of_the_library(x: float) -> None:
    assert Fraction(exact(x)) == decimal_fraction(x)
    assert Fraction(square(x)) == decimal_fraction(x) ** 2


@steady
@given(st.lists(doubles, max_size=30))
def test_sums_are_exact_in_any_order_and_stay_short(values: list[float]) -> None:
    total, backwards = ZERO, ZERO
    for x in values:
        total = plus(total, exact(x))
    for x in reversed(values):
        backwards = plus(backwards, exact(x))
    assert str(total) == str(backwards)
    assert Fraction(total) == sum(map(decimal_fraction, values), Fraction(0))
    assert len(str(total)) <= 640


@steady
@given(doubles, doubles)
def test_rounding_is_directed(x: float, y: float) -> None:
    total = plus(exact(x), exact(y))
    assert double_down(total) <= total <= double_up(total)
    if total < Decimal("1e308"):
        assert read_up(total) == float_up(Fraction(total))
        assert read_down(total) == float_down(Fraction(total))
        assert exact(read_down(total)) <= total <= exact(read_up(total))


@steady
@given(st.floats(min_value=1e-150, max_value=1e150))
def test_roots_are_directed_and_sharp(x: float) -> None:
    total = exact(x)
    low, high = root_down(total), root_up(total)
    assert square(low) <= total <= square(high)
    assert square(math.nextafter(low, math.inf)) > total
    assert high <= math.nextafter(math.nextafter(low, math.inf), math.inf)


@steady
@given(st.floats(min_value=1e-300, max_value=1e300))
def test_neighbours_enclose(x: float) -> None:
    assert below(x) < Decimal(x) < above(x)


@steady
@given(st.floats(min_value=1e-200, max_value=50))
def test_irrational_summands_are_never_below_the_truth(epsilon: float) -> None:
    import mpmath

    with mpmath.workdps(60):
        truth = mpmath.mpf(repr(epsilon)) * mpmath.tanh(mpmath.mpf(repr(epsilon)) / 2)
        paid = mpmath.mpf(str(charged(pure_to_zcdp(epsilon), epsilon)))
        assert paid >= truth
        assert paid <= truth * (1 + mpmath.mpf(10) ** -14) + mpmath.mpf(10) ** -322  # some subnormal steps


def test_extremes_are_exact() -> None:
    smallest, largest = math.ulp(0.0), np.finfo(float).max
    total = plus(times(exact(largest), exact(largest)), times(exact(smallest), exact(smallest)))
    assert len(str(total)) < 1400
    assert plus(total, ZERO) == total
    assert read_up(times(exact(largest), exact(2.0))) == math.inf


@pytest.mark.parametrize("text", ["", "x", "NaN", "-1", "-Infinity", "1e5000", "9" * 3000, 1, 1.0, None, True])
def test_stored_totals_are_checked(text: object) -> None:
    with pytest.raises(InvalidParameter, match="epsilon must be a text with a decimal number"):
        parse_total("epsilon", text)


def test_a_million_costs_of_a_millionth_fit_and_not_one_more() -> None:
    budget, cost = BasicFilter(1.0), PureDP(1e-6)
    for _ in range(999_999):
        budget.spend(cost)
    assert budget.remaining()["epsilon"] == 1e-6
    assert not budget.admits(PureDP(1.0000000000000001e-06 * (1 + 1e-15)))
    budget.spend(cost)
    assert budget.to_dict()["totals"]["epsilon"] == "1.000000"
    assert not budget.admits(PureDP(5e-324))
    assert budget.admits(PureDP(0.0))
