"""The per-row filter: what it charges, what it hides, and what it promises under which neighbours."""

from __future__ import annotations

import copy
import json
import math
import pickle

import numpy as np
import pytest

from holdfast.accounting import IndividualFilter, gaussian_row_costs
from holdfast.errors import InvalidParameter


def test_rows_leave_one_by_one_and_the_others_go_on() -> None:
    budgets = IndividualFilter(4, 1.0)
    costs = np.array([0.0, 0.25, 0.5, 2.0])
    inside = [budgets.admit(costs).tolist() for _ in range(5)]
    assert inside[0] == [True, True, True, False]
    assert inside[2] == [True, True, False, False]
    assert inside[4] == [True, False, False, False]


def test_a_left_out_row_stays_open_for_smaller_costs() -> None:
    budgets = IndividualFilter(2, 1.0)
    budgets.admit([0.75, 0.75])
    assert budgets.admit([0.5, 0.25]).tolist() == [False, True]
    assert budgets.admit([0.25, 0.25]).tolist() == [True, False]


def test_sums_are_never_below_the_truth() -> None:
    """After ten thousand random costs every row that stayed is truly within its budget, by exact arithmetic."""
    from fractions import Fraction

    rng = np.random.default_rng(7)
    rows, rounds = 20, 2000
    budgets = IndividualFilter(rows, 1.0)
    truth = [Fraction(0)] * rows
    for _ in range(rounds):
        costs = rng.uniform(0, 2e-3, rows)
        inside = budgets.admit(costs)
        for i in np.flatnonzero(inside):
            truth[i] += Fraction(float(costs[i]))
    assert all(total <= 1 for total in truth)
    assert all(total > 1 - 3e-3 for total in truth)


def test_exact_sums_fill_the_budget() -> None:
    budgets = IndividualFilter(1, 1.0)
    assert all(budgets.admit([2.0**-10])[0] for _ in range(1024))
    assert not budgets.admit([2.0**-60])[0]
    assert budgets.admit([0.0])[0]


def test_nothing_public_depends_on_rows() -> None:
    """Two data sets that lead to different sums look the same from outside."""
    one, other = IndividualFilter(3, 1.0), IndividualFilter(3, 1.0)
    one.admit([0.123456, 0.2, 0.9])
    other.admit([0.9, 0.0, 0.0])
    assert repr(one) == repr(other)
    assert one.to_dict() == other.to_dict()
    assert str(one.guarantee()) == str(other.guarantee())
    assert "0.123456" not in repr(one) + json.dumps(one.to_dict()) + str(vars(one.guarantee()))
    for leak in (copy.deepcopy, copy.copy, pickle.dumps):
        with pytest.raises(TypeError, match="secret"):
            leak(one)


def test_secret_state_round_trips_exactly() -> None:
    rng = np.random.default_rng(3)
    first = IndividualFilter(50, 1.0, order=4.0)
    for _ in range(20):
        first.admit(rng.uniform(0, 0.1, 50))
    second = IndividualFilter.from_secret_state(json.loads(json.dumps(first.secret_state())))
    for _ in range(20):
        costs = rng.uniform(0, 0.1, 50)
        assert (first.admit(costs) == second.admit(costs)).all()
    assert first.secret_state() == second.secret_state()
    good = first.secret_state()
    for bad in (first.to_dict(), good | {"secret_sums": [2.0] * 50}, good | {"secret_sums": [0.0]}, {}, None):
        with pytest.raises(InvalidParameter):
            IndividualFilter.from_secret_state(bad)  # type: ignore[arg-type]


def test_wrong_costs_change_nothing_and_show_nothing() -> None:
    budgets = IndividualFilter(2, 1.0)
    before = budgets.secret_state()
    wrong = ([0.1], [0.1, -0.1], [0.1, math.nan], [0.1, math.inf], 0.1, ["a", "b"], [True, False], [[0.1, 0.1]], None)
    for costs in wrong:
        with pytest.raises(InvalidParameter, match="costs must be") as caught:
            budgets.admit(costs)  # type: ignore[arg-type]
        assert "0.1" not in str(caught.value)
    assert budgets.secret_state() == before
    for rows, budget, order in ((0, 1.0, None), (2.5, 1.0, None), (2, -1.0, None), (2, math.nan, None), (2, 1.0, 1.0)):
        with pytest.raises(InvalidParameter):
            IndividualFilter(rows, budget, order=order)  # type: ignore[arg-type]


def test_guarantee_names_its_neighbours() -> None:
    budgets = IndividualFilter(10, 0.5)
    assert budgets.guarantee().parameters == {"name": "individual", "rho": 0.5}
    assert "add or remove" in budgets.guarantee().assumption
    assert budgets.guarantee("replace-one").parameters["rho"] == 2.0
    assert budgets.guarantee("replace-one", one_sign=True).parameters["rho"] == 1.0
    assert "replace one" in budgets.guarantee("replace-one").assumption
    assert IndividualFilter(10, 0.5, order=8.0).guarantee().parameters == {
        "name": "individual",
        "order": 8.0,
        "epsilon": 0.5,
    }
    with pytest.raises(InvalidParameter, match="add-remove"):
        IndividualFilter(10, 0.5, order=8.0).guarantee("replace-one")
    with pytest.raises(InvalidParameter, match="neighbours"):
        budgets.guarantee("both")  # type: ignore[arg-type]


@pytest.mark.parametrize(("a", "b", "factor"), [(1.0, -1.0, 4.0), (1.0, 0.0, 1.0)])
def test_the_factors_for_replace_one_are_needed_and_enough(a: float, b: float, factor: float) -> None:
    """Replace a row of value `a` by one of value `b`; the true rho is the sum of squared differences over 2 sigma^2."""
    sigma, budget, rounds = 3.0, 1.0, 40
    true = 0.0
    mine, theirs = IndividualFilter(1, budget), IndividualFilter(1, budget)
    for _ in range(rounds):
        x = a * mine.admit(gaussian_row_costs([a], sigma))[0]
        y = b * theirs.admit(gaussian_row_costs([b], sigma))[0]
        true += (x - y) ** 2 / (2 * sigma**2)
    assert true <= 4 * budget
    assert true == pytest.approx(factor * budget, rel=0.06)
    if a * b >= 0:
        assert true <= 2 * budget


def test_two_sided_drop_times_reach_twice_for_one_sign() -> None:
    """Rows that take part at different times: each uses up its own budget, and the differences add."""
    sigma, budget = 3.0, 1.0
    true = 0.0
    mine, theirs = IndividualFilter(1, budget), IndividualFilter(1, budget)
    for t in range(80):
        a, b = (1.0, 0.0) if t < 40 else (0.0, 1.0)
        x = a * mine.admit(gaussian_row_costs([a], sigma))[0]
        y = b * theirs.admit(gaussian_row_costs([b], sigma))[0]
        true += (x - y) ** 2 / (2 * sigma**2)
    assert true == pytest.approx(2 * budget, rel=0.06)
    assert true <= 2 * budget


def test_gaussian_row_costs() -> None:
    assert gaussian_row_costs([0.0, 3.0], 3.0)[0] == 0.0
    assert gaussian_row_costs([0.0, 3.0], 3.0)[1] == pytest.approx(0.5, rel=1e-14)
    assert gaussian_row_costs([0.0, 3.0], 3.0)[1] >= 0.5
    assert gaussian_row_costs([1e-200], 1.0)[0] > 0
    for values in ([[[1.0]]], [math.nan], [math.inf]):
        with pytest.raises(InvalidParameter, match="values"):
            gaussian_row_costs(values, 1.0)
    with pytest.raises(InvalidParameter, match="sigma"):
        gaussian_row_costs([1.0], 0.0)


def test_row_costs_at_an_order_are_the_divergence_at_that_order() -> None:
    """Gaussian noise on a sum has divergence `order * rho`; charged rho alone, 17 answers of 4/9 would fit."""
    order, budget, sigma = 8.0, 1.0, 3.0
    budgets = IndividualFilter(1, budget, order=order)
    answers = 0
    while budgets.admit(gaussian_row_costs([1.0], sigma, order))[0]:
        answers += 1
    assert answers == 2
    assert answers * order / (2 * sigma**2) <= budget
    with pytest.raises(InvalidParameter, match="order"):
        gaussian_row_costs([1.0], sigma, order=1.0)


def test_row_costs_are_never_below_the_truth_at_any_scale() -> None:
    from fractions import Fraction

    rng = np.random.default_rng(17)
    scales = [1e-320, 1e-308, 1.1e-161, 1e-150, 1e-5, 1.0, 1e100, 1e200, 1e308]
    for sigma in scales:
        for near in (1e-162, 1.5e-162, 1e-10, 0.3, 1.0, 1e150):
            rows = np.abs(rng.standard_normal((4, 3))) * min(near * sigma, 1e307)
            for order in (None, 1.5, 64.0):
                for given in (rows, rows[:, 0]):
                    costs = gaussian_row_costs(given, sigma, order)
                    for row, cost in zip(np.reshape(given, (4, -1)), costs, strict=True):
                        truth = sum(Fraction(float(x)) ** 2 for x in row) / (2 * Fraction(sigma) ** 2)
                        truth *= Fraction(1 if order is None else order)
                        assert Fraction(float(cost)) >= min(truth, Fraction(float(np.finfo(float).max)))
                        slop = truth * (1 + Fraction(1, 10**14)) + Fraction(1, 10**320)
                        assert Fraction(float(cost)) <= slop or not np.any(row)
    assert gaussian_row_costs([1.1e-161], 1.1e-161)[0] == pytest.approx(0.5, rel=1e-14)
    assert gaussian_row_costs([1e200, 1e308], 1e-200).tolist() == [np.finfo(float).max] * 2
    assert not IndividualFilter(1, 1e300).admit(gaussian_row_costs([1e200], 1.0))[0]


def test_shapes_that_are_no_arrays_are_refused_without_showing_rows() -> None:
    budgets = IndividualFilter(2, 1.0)
    for values in ([[1.0], [2.0, 3.0]], ["a", "b"], [0.125, "b"], [None, 0.125], [10**400, 1]):
        for call in (budgets.admit, lambda v: gaussian_row_costs(v, 1.0)):
            with pytest.raises(InvalidParameter) as caught:
                call(values)  # type: ignore[operator]
            assert "0.125" not in str(caught.value)
        with pytest.raises(InvalidParameter, match="one sum for each row"):
            IndividualFilter.from_secret_state(budgets.secret_state() | {"secret_sums": values})


def test_what_is_served_does_not_grow_with_the_number_of_answers() -> None:
    budgets = IndividualFilter(1000, 1e9)
    costs = np.full(1000, 1e-3)
    for _ in range(2000):
        budgets.admit(costs)
    assert len(json.dumps(budgets.to_dict())) < 200


def test_sums_of_rows_are_rounded_up_only_where_they_are_not_exact() -> None:
    from fractions import Fraction

    from holdfast.accounting.individual import _sum_up

    rng = np.random.default_rng(23)
    a, b = np.exp(rng.uniform(-40, 5, 2000)), np.exp(rng.uniform(-40, 5, 2000))
    rounded = 0
    for x, y, found in zip(a, b, _sum_up(a, b), strict=True):
        exact = Fraction(float(x)) + Fraction(float(y))
        assert Fraction(float(found)) >= exact
        assert Fraction(float(np.nextafter(found, 0.0))) < exact
        rounded += Fraction(float(found)) > exact
    assert 500 < rounded < 2000
    assert _sum_up(np.array([0.5]), np.array([0.25]))[0] == 0.75


def test_rows_of_both_signs_pay_four_times_for_replacing_one() -> None:
    rows = IndividualFilter(3, 0.5)
    assert rows.guarantee("replace-one").parameters["rho"] == 2.0
    assert rows.guarantee("replace-one", one_sign=True).parameters["rho"] == 1.0
    assert rows.guarantee().parameters["rho"] == 0.5


def test_rows_that_paid_nothing_are_stored_too() -> None:
    rows = IndividualFilter(3, 0.5)
    rows.admit([0.0, 0.25, 0.5])
    restored = IndividualFilter.from_secret_state(rows.secret_state())
    assert restored.secret_state() == rows.secret_state()
    assert restored.admit([0.5, 0.25, 0.1]).tolist() == [True, True, False]
