"""The interval of a mean among the rows with a value holds, exactly and through noise; wrong versions do not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from holdfast.bounds.one_question import clopper_pearson, kl
from holdfast.holdout.intervals.conditional import conditional_interval, conditional_mean

LOG_SHARE = math.log(0.05)
RUNS = 1000
FAR = 1 - 1e-6
"""A test that counts misses fails by chance with probability at most 1e-6."""


def most_misses(share: float, runs: int = RUNS) -> int:
    """Misses that a rate of `share` passes with probability below 1e-6."""
    return int(binom.ppf(FAR, runs, share))


def drawn(rng: np.random.Generator, n: int, mean: float, present: float) -> tuple[np.ndarray, np.ndarray]:
    """Sums and numbers of present rows in many samples: values are 0, 1/2 and 1, and the others are missing."""
    rows = rng.binomial(n, present, RUNS)
    halves = rng.binomial(rows, 0.3)
    ones = rng.binomial(rows - halves, (mean - 0.15) / 0.7)
    return ones + halves / 2, rows


@pytest.mark.parametrize("present", [0.9, 0.1])
def test_it_holds_given_any_number_of_present_rows(present: float) -> None:
    rng = np.random.default_rng(2)
    totals, rows = drawn(rng, 200, 0.4, present)
    misses = wrong = 0
    for total, some in zip(totals.tolist(), rows.tolist(), strict=True):
        low, high = conditional_mean(total, some, 200).interval(LOG_SHARE)
        misses += not low <= 0.4 <= high
        # Wrong on purpose: as if all rows had a value.
        low, high = kl(total / max(some, 1), 200, LOG_SHARE)
        wrong += not low <= 0.4 <= high
    assert misses <= most_misses(0.05)
    if present == 0.1:
        assert wrong > most_misses(0.05)


def test_counts_are_binomial_given_their_number() -> None:
    rng = np.random.default_rng(3)
    rows = rng.binomial(200, 0.25, RUNS)
    ones = rng.binomial(rows, 0.3)
    misses = wrong = 0
    for one, some in zip(ones.tolist(), rows.tolist(), strict=True):
        low, high = conditional_mean(one, some, 200, whole=True).interval(LOG_SHARE)
        misses += not low <= 0.3 <= high
        low, high = clopper_pearson(round(200 * one / max(some, 1)), 200, LOG_SHARE)
        wrong += not low <= 0.3 <= high
    assert misses <= most_misses(0.05)
    assert wrong > most_misses(0.05)


@pytest.mark.parametrize("spread", [2.0, 12.0])
def test_it_holds_through_noise(spread: float) -> None:
    """Laplace noise on both sums; boxes of its tails at 0.01 and the limits at 0.05 miss at most 6% of the time."""
    rng = np.random.default_rng(4)
    totals, rows = drawn(rng, 300, 0.4, 0.5)
    off = spread * math.log(2 / 0.01)
    misses = wrong = 0
    for total, some in zip(totals.tolist(), rows.tolist(), strict=True):
        above, below = total + rng.laplace(0, spread), some - total + rng.laplace(0, spread)
        low, high = conditional_interval((above - off, above + off), (below - off, below + off), 300, LOG_SHARE)
        misses += not low <= 0.4 <= high
        # Wrong on purpose: the noisy sums taken for exact ones.
        low, high = conditional_interval((above, above), (below, below), 300, LOG_SHARE)
        wrong += not low <= 0.4 <= high
    assert misses <= most_misses(0.06)
    if spread == 12.0:
        assert wrong > most_misses(0.06)


SUMS = st.floats(0, 500, allow_subnormal=False)


@settings(max_examples=200, deadline=None)
@given(SUMS, SUMS, SUMS, SUMS, st.floats(0, 1), st.floats(0, 1), st.floats(-30, -0.5))
def test_the_interval_of_a_box_holds_that_of_every_pair_of_sums_in_it(
    s: float, ds: float, t: float, dt: float, at: float, to: float, log_share: float
) -> None:
    n = 2001
    whole = conditional_interval((s, s + ds), (t, t + dt), n, log_share)
    exact = (s + at * ds,) * 2, (t + to * dt,) * 2
    inner = conditional_interval(*exact, n, log_share)
    assert whole.low <= inner.low + 1e-12
    assert inner.high <= whole.high + 1e-12
    rows = exact[0][0] + exact[1][0]
    if rows >= 1:
        mean, whole_rows = exact[0][0] / rows, math.ceil(rows)
        low, high = kl(mean, whole_rows, log_share)  # at a row more than there are it can only be narrower
        assert inner.low <= low + 1e-9
        assert high <= inner.high + 1e-9


def test_what_is_known_without_a_row_and_at_the_ends() -> None:
    assert conditional_mean(0.0, 0, 100, 10.0, 20.0).interval(-3.0) == (10.0, 20.0)
    assert conditional_mean(0.0, 0, 100, whole=True).interval(-3.0) == (0.0, 1.0)
    low, high = conditional_interval((-50.0, -10.0), (20.0, 40.0), 100, -3.0)  # noise carried a sum below zero
    assert low == 0.0
    assert 0.0 < high < 1.0
    assert conditional_interval((-5.0, -1.0), (-5.0, -1.0), 100, -3.0) == (0.0, 1.0)
    assert conditional_interval((50.0, 50.0), (0.0, 0.0), 100, -3.0, "upper").high == 1.0
    assert "secret" not in repr(conditional_mean(40.0, 50, 100))
    assert "40" not in repr(conditional_mean(40.0, 50, 100))
