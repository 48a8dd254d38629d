"""The table of tests to choose from: what is left out with its reason, what no number reaches, wrong input."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests import independence_power
from holdfast.inference.private_tests.planning import which_gof, which_independence


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (lambda: which_gof(1000, rho=0.01), "give d, the number of cells, or p0, the probabilities under"),
        (lambda: which_gof(1000, d=4, p1=[0.5, 0.5], rho=0.01), "p1 must have one entry per cell, 4 in all, got 2"),
        (lambda: which_gof(1000, d=4, p1=[[0.5], [0.3, 0.2]], rho=0.01), "p1 must be a list of numbers, or of rows"),
        (lambda: which_independence(1000, rho=0.01), "give shape, the numbers of rows and columns, or p, a table"),
        (lambda: which_independence(1000, p=[[0.5, 0.2], [0.3]], rho=0.01), "p must be a list of numbers, or of rows"),
        (lambda: which_independence(1000, p=[0.5, 0.5], rho=0.01), r"p must be a table of at least 2 by 2 .* \(2,\)"),
        (lambda: which_independence(1000, shape=4, rho=0.01), r"shape must be a pair \(r, c\) of whole numbers from 2"),  # type: ignore[arg-type]
        (lambda: which_independence(1000, shape=(1, 2), rho=0.01), r"shape must be a pair \(r, c\)"),
        (
            lambda: which_independence(1000, shape=(2, 2), rho=0.01, effect=1.5),
            "effect must be smaller, got 1.5, because it",
        ),
    ],
)
def test_wrong_input_is_named(run: Callable[[], Any], message: str) -> None:
    with pytest.raises(InvalidParameter, match=message):
        run()


def test_a_test_that_cannot_keep_the_level_is_left_out_with_its_reason() -> None:
    """A level of one in a hundred thousand is below what the replicates of a Monte Carlo test can show."""
    found = which_gof(1000, d=4, rho=0.01, effect=0.3, alpha=1e-5)
    left_out = dict(found.left_out)
    assert "replicates" in left_out["gof(..., method='monte-carlo')"]
    assert not any("monte-carlo" in candidate.call for candidate in found.candidates)
    assert found.to_dict()["left_out"] == [{"test": name, "why": why} for name, why in found.left_out]


def test_where_no_budget_is_enough_none_is_given() -> None:
    found = which_gof(50, d=2, epsilon=1, effect=0.1, target=0.9)
    assert {candidate.budget_needed for candidate in found.candidates} == {None}
    assert all(candidate.n_needed is not None and candidate.n_needed > 50 for candidate in found.candidates)


def test_small_cells_are_told_in_the_plan_with_how_often_they_decide_nothing() -> None:
    """Six by six categories at rho .01: expected counts of 14.7 look large enough; two tests in five say nothing."""
    told = independence_power(np.full((6, 6), 1 / 36), 530, rho=0.01).warnings
    assert len(told) == 1
    found = re.search(r"inconclusive with probability about (0\.\d+)", told[0])
    assert found is not None
    assert 0.25 < float(found[1]) < 0.52
    assert "fewer categories" in told[0]
    assert independence_power(np.full((6, 6), 1 / 36), 1060, rho=0.01).warnings == ()
