"""Cells and pairs: fixed before the data, they cover the range and every value lies in what is shown for it."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.bounds.one_question import empirical_bernstein
from holdfast.bounds.one_question.means import MEAN_FAMILIES, at_spread
from holdfast.data.values import summarise
from holdfast.holdout.intervals.mean import Cells, MeanInterval, OutwardCells, OutwardEnds, Pairs
from holdfast.holdout.intervals.procedure import bernstein

HYPOTHESIS = settings(deadline=None, derandomize=True, max_examples=150)
PLACES = st.floats(0, 1)
RANGES = st.sampled_from([(0.0, 1.0), (-1.0, 1.0), (-0.3, 7.1)])


@HYPOTHESIS
@given(PLACES, PLACES, st.floats(0, 0.5), st.floats(0.001, 0.5), RANGES)
def test_a_mean_lies_in_its_cell_outwards(guess, place, edge, length, ends):
    """Cells are numbered outwards from what passes; one inside it is numbered 0, on either side of the guess."""
    low, high = ends
    size = high - low
    cells = OutwardCells(low + guess * size, edge * size, length * size, low, high)
    mean = low + place * size
    first, last = cells.ends(mean)
    hair = 1e-12 * size
    assert low <= first <= last <= high
    assert first - hair <= mean <= last + hair
    number = cells.index(mean)
    assert (number == 0) == (abs(mean - cells.guess) <= cells.edge)
    assert number == 0 or (number > 0) == (mean > cells.guess)
    assert last - first <= (cells.length if number else cells.edge) + hair


@HYPOTHESIS
@given(PLACES, PLACES, PLACES, st.floats(0.005, 0.5), RANGES)
def test_pairs_of_ends_hold_their_interval(guess, a, b, step, ends):
    """Less than a step outside on either side."""
    low, high = ends
    size = high - low
    pairs = OutwardEnds(low + guess * size, step * size, low, high)
    lower, upper = (low + size * place for place in (min(a, b), max(a, b)))
    first, last = pairs.ends(lower, upper)
    assert low <= first <= lower <= upper <= last <= high
    down, above = pairs.steps(lower, upper)
    assert down + above >= 1
    assert last - first <= upper - lower + 2.01 * pairs.step


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 2.0), (0.1, 0.7), (-3.3, 1e3)])
def test_pairs_hold_ends_a_hair_off_the_grid(low: float, high: float) -> None:
    """Where rounding puts an end a hair beyond the grid, the pair must still hold it."""
    guess = low + 0.37 * (high - low)
    for parts in (3, 7, 10, 49, 100, 390):
        pairs = OutwardEnds(guess, (high - low) / parts, low, high)
        for k in range(-parts, parts):
            edge = guess + k * pairs.step
            for end in (math.nextafter(edge, -math.inf), edge, math.nextafter(edge, math.inf)):
                if low <= end <= high:
                    assert pairs.ends(low, end)[1] >= end
                    assert pairs.ends(end, high)[0] <= end


@HYPOTHESIS
@given(PLACES, st.integers(1, 300), st.booleans(), st.sampled_from([(0.0, 1.0), (-1.0, 1.0), (-0.3, 7.1)]))
def test_a_value_lies_in_its_cell(place, count, curved, ends):
    cells = Cells(*ends, count, curved)
    value = ends[0] + place * (ends[1] - ends[0])
    index = cells.index(value)
    assert 0 <= index < count
    hair = 1e-12 * (ends[1] - ends[0])
    assert cells.edge(index) - hair <= value <= cells.edge(index + 1) + hair
    assert cells.edge(0) == ends[0]
    assert cells.edge(count) == ends[1]
    assert cells.edge(index) < cells.midpoint(index) < cells.edge(index + 1)


@HYPOTHESIS
@given(PLACES, PLACES, st.integers(1, 64))
def test_pairs_hold_their_interval_and_are_counted(a, b, steps):
    pairs = Pairs(0.0, 1.0, steps)
    lower, upper = pairs.outward(min(a, b), max(a, b))
    assert lower <= min(a, b)
    assert max(a, b) <= upper
    assert upper - lower <= max(a, b) - min(a, b) + 2 / steps + 1e-12
    assert lower < upper
    assert {round(steps * end, 9) for end in (lower, upper)} <= set(range(steps + 1))


def test_every_possible_pair_can_be_shown():
    """The count is not a mere bound."""
    pairs = Pairs(0.0, 1.0, 6)
    every = {pairs.outward(i / 60, j / 60) for i in range(61) for j in range(i, 61)}
    assert len(every) == pairs.count == 21


@HYPOTHESIS
@given(
    st.sampled_from(["hoeffding", "kl", "clopper-pearson"]),
    st.integers(2, 300),
    st.floats(-60, -0.1),
    st.integers(1, 12),
    st.data(),
)
def test_the_interval_of_a_cell_holds_the_interval_of_each_mean_in_it(name, n, log_share, count, data):
    """On a failure the shown interval must be implied by the event that the rows' own interval holds the truth."""
    interval = MeanInterval(MEAN_FAMILIES[name], n, 0.0, 1.0)
    mean = data.draw(st.integers(0, n)) / n
    for cells in (Cells(0.0, 1.0, count), Cells(0.0, 1.0, count, curved=True)):
        index = cells.index(mean)
        lower, upper = interval.over(cells.edge(index), cells.edge(index + 1), log_share)
        own = interval.at(mean, log_share)
        assert lower <= own[0]
        assert own[1] <= upper


@HYPOTHESIS
@given(
    st.sampled_from([*MEAN_FAMILIES.values(), at_spread(0.0), at_spread(0.1)]),
    st.integers(2, 60),
    st.floats(-40, -0.1),
    PLACES,
)
def test_no_mean_passes_below_the_least_tolerance(family, n, log_share, guess):
    """The least tolerance is a minimum over every possible mean: an error that names it says nothing about rows."""
    interval = MeanInterval(family, n, 0.0, 1.0)
    least = interval.least_tolerance(guess, log_share)
    reach = []
    for k in range(n + 1):
        lower, upper = interval.at(k / n, log_share)
        reach.append(max(guess - lower, upper - guess))
    assert min(reach) >= least - 1e-10
    if family.whole:
        assert min(reach) == least
    assert least <= interval.half_width(guess, log_share) + 1e-10 or family.whole


def test_intervals_are_monotone_in_the_mean():
    """Unions over cells and least tolerances rest on it."""
    for family in [*MEAN_FAMILIES.values(), at_spread(0.05)]:
        interval = MeanInterval(family, 97, 0.0, 1.0)
        for log_share in (-1.0, -12.0, -300.0):
            ends = [interval.at(k / 97, log_share) for k in range(98)]
            assert all(a[0] <= b[0] + 1e-12 and a[1] <= b[1] + 1e-12 for a, b in pairwise(ends))


@pytest.mark.parametrize("steps", range(1, 200))
def test_pairs_hold_ends_a_hair_from_an_edge(steps):
    """Where rounding puts an end into the wrong cell, the pair must still hold it."""
    pairs, grid = Pairs(0.0, 1.0, steps), Cells(0.0, 1.0, steps)
    for i in range(steps + 1):
        edge = grid.edge(i)
        for end in (max(0.0, math.nextafter(edge, -1)), edge, min(1.0, math.nextafter(edge, 2))):
            for lower, upper in ((0.0, end), (end, end), (end, 1.0)):
                first, last = pairs.outward(lower, upper)
                assert first <= lower <= upper <= last


@pytest.mark.parametrize("name", ["hoeffding", "kl"])
@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-3.0, 7.0)])
def test_a_cell_leaves_room_for_rounded_means_and_edges(name, low, high):
    """A mean that rounding moved out of its cell, and limits that rounding moved, are still inside."""
    interval = MeanInterval(MEAN_FAMILIES[name], 400, low, high)
    moved = 0.9 * interval.hair
    for a, b in ((0.2, 0.3), (0.5, 0.9)):
        least, most = low + (high - low) * a, low + (high - low) * b
        lower, upper = interval.over(least, most, -5.0)
        assert lower <= interval.at(least - moved, -5.0)[0] - moved
        assert interval.at(most + moved, -5.0)[1] + moved <= upper


def test_the_interval_of_rows_leaves_room_for_a_rounded_mean():
    rows = summarise([0.25, 0.5, 0.75, 0.125], n=4)
    interval = MeanInterval(MEAN_FAMILIES["hoeffding"], 4, 0.0, 1.0)
    lower, upper = interval.of(rows, -0.2)
    assert lower <= interval.at(rows.mean - rows.slack, -0.2)[0]
    assert interval.at(rows.mean + rows.slack, -0.2)[1] <= upper
    assert 0.0 < lower < upper < 1.0


@HYPOTHESIS
@given(st.integers(1, 400), st.integers(1, 40), st.floats(-60, -0.1), st.booleans())
def test_the_interval_of_a_cell_is_that_of_the_counts_in_it(n, count, log_share, curved):
    """No more and, for counts, no less than the union over the whole numbers that the cell holds."""
    interval, cells = MeanInterval(MEAN_FAMILIES["clopper-pearson"], n, 0.0, 1.0), Cells(0.0, 1.0, count, curved)
    held: dict[int, list[int]] = {}
    for k in range(n + 1):
        held.setdefault(cells.index(k / n), []).append(k)
    for index, counts in held.items():
        lower, upper = interval.over(cells.edge(index), cells.edge(index + 1), log_share)
        least, most = interval.at(counts[0] / n, log_share)[0], interval.at(counts[-1] / n, log_share)[1]
        assert lower <= least
        assert most <= upper
        on_an_edge = any(
            abs(cells.edge(i) - k / n) < 1e-9 for i in (index, index + 1) for k in (counts[0] - 1, counts[-1] + 1)
        )
        if not on_an_edge:
            assert lower >= least - 2e-12
            assert upper <= most + 2e-12


def test_empirical_bernstein_leaves_room_for_rounded_sums():
    """Far from zero sums lose digits; the interval must make up for what mean and variance may be off by."""
    values = 1e6 + np.linspace(0.4, 0.6, 500)
    rows = summarise(values, n=500, low=1e6, high=1e6 + 1, squares=True)
    lower, upper = bernstein(rows).interval(-5.0)
    plain = empirical_bernstein(rows.mean, rows.variance + 8 * rows.slack, 500, -5.0, rows.low, rows.high)
    assert rows.slack > 5e-8
    assert lower <= plain.low - 0.99 * rows.slack
    assert plain.high + 0.99 * rows.slack <= upper


def test_families_say_which_are_of_counts_and_which_are_narrower_near_the_ends() -> None:
    flags = {name: (family.whole, family.curved) for name, family in MEAN_FAMILIES.items()}
    assert flags == {"hoeffding": (False, False), "kl": (False, True), "clopper-pearson": (True, True)}


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, 2.0), (0.1, 0.7), (-3.3, 1e3)])
def test_pairs_hold_ends_a_hair_off_an_edge(low: float, high: float) -> None:
    for steps in (3, 7, 10, 49, 100, 390):
        pairs, cells = Pairs(low, high, steps), Cells(low, high, steps)
        for k in range(1, steps):
            edge = cells.edge(k)
            for end in (math.nextafter(edge, -math.inf), edge, math.nextafter(edge, math.inf)):
                assert pairs.outward(low, end)[1] >= end
                assert pairs.outward(end, high)[0] <= end
