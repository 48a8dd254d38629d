"""Where a formula ends: what is refused by name, and what is still bounded where numbers over- or underflow."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from holdfast.bounds.coherence.max_information import pair
from holdfast.bounds.concentration import exp_up
from holdfast.bounds.conversions import rdp_to_dp
from holdfast.bounds.correlated.thresholdout import algorithm_1_epsilon
from holdfast.bounds.finite_law import beta_star
from holdfast.bounds.holdout.guess_and_check import guess_and_check_share
from holdfast.bounds.interval.posterior_shift import posterior_shift_rows
from holdfast.bounds.numerics.binomial import log_at_least, log_at_most
from holdfast.bounds.numerics.chi_square import mixture_moments
from holdfast.bounds.numerics.exact import decimal_fraction
from holdfast.bounds.one_question.means import mean_interval
from holdfast.errors import InvalidParameter


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: guess_and_check_share(0.05, 11, 2, [10]), "counts must have one entry per failure, 2, got 1"),
        (lambda: guess_and_check_share(0.05, 11, 0, [10]), "counts must have one entry per failure, 0, got 1"),
        (lambda: mean_interval("empirical-bernstein", 0.5, 100, -3.0), "variance must be a number .*, got None"),
        (lambda: mixture_moments([[1.0, 2.0]]), r"weights must be one list of numbers, got an array of shape \(1, 2\)"),
        (lambda: pair((1.0, 0.1), (1.0, 0.1), every_law=1), "every_law must be True or False"),  # type: ignore[arg-type]
        (
            lambda: posterior_shift_rows(1000, 1e-9, 0.05),
            r"half_width is 1e-09, which 10\*\*18 rows do not reach",
        ),
        (lambda: algorithm_1_epsilon(10, 0.01, 0, sensitivity=0.1), "n must be a whole number, at least 1"),
    ],
)
def test_what_a_theorem_does_not_cover_is_refused_by_name(call: Callable[[], object], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        call()


@pytest.mark.parametrize("nats", [600.0, 699.0, 701.0, 720.0, 1e6])
@pytest.mark.parametrize("eta", [1e-250, 1e-300, 1e-305, 5e-324])
def test_the_slack_of_a_pair_is_never_below_the_formula(nats: float, eta: float) -> None:
    """`eta1 + exp(nats1) eta2`, also where the exponential leaves the range of doubles and eta hardly is a number."""
    found = pair((nats, 0.0), (1.0, eta), every_law=False)[1]
    assert found >= min(1.0, math.exp(min(nats + math.log(eta), 0.0))) * (1 - 1e-9)
    assert pair((nats, 0.25), (1.0, 0.0), every_law=False)[1] == 0.25


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (10, 0.3), (1000, 0.01), (10**6, 1e-7)])
def test_binomial_tails_at_their_ends(n: int, p: float) -> None:
    """No row, or every row: one term, no sum; and never below the truth."""
    none, terms = log_at_most(0, n, p)
    assert terms == 1.0
    assert none == pytest.approx(n * math.log1p(-p), rel=1e-12)
    assert none >= stats.binom.logcdf(0, n, p) - 1e-15
    every, terms = log_at_least(n, n, p)
    assert terms == 1.0
    assert every == pytest.approx(n * math.log(p), rel=1e-12)
    assert every >= n * math.log(p)


def test_bounds_that_leave_the_range_of_doubles_stay_bounds() -> None:
    assert exp_up(710.0) == math.inf
    assert exp_up(709.0) >= math.exp(709.0)
    joint = np.diag([0.5, 0.5])
    assert beta_star(joint, 1001.0) == 0.0
    assert beta_star(joint, 0.5) > 0


def test_a_divergence_below_what_delta_squared_allows_needs_no_epsilon() -> None:
    """By Pinsker's inequality for order 1: a divergence of at most -ln(1 - delta^2) is a distance of at most delta."""
    delta = 0.1
    least = -math.log1p(-delta * delta)
    assert rdp_to_dp([2.0], [0.99 * least], delta) == 0.0
    assert rdp_to_dp([2.0], [4.0], delta) > 0.0


def test_a_fraction_is_its_own_decimal() -> None:
    assert decimal_fraction(Fraction(1, 3)) == Fraction(1, 3)  # type: ignore[arg-type]
