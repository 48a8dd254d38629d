"""Cells and pairs: fixed before the data, they cover the range and every value lies in what is shown for it."""

from __future__ import annotations

import math
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.holdout.cells import Cells, Pairs
from holdfast.holdout.families import MEAN_FAMILIES, at_spread
from holdfast.holdout.mean_interval import MeanInterval

HYPOTHESIS = settings(deadline=None, derandomize=True, max_examples=150)
PLACES = st.floats(0, 1)


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
@given(st.floats(0.001, 2), st.booleans())
def test_no_cell_is_wider_than_asked_for_and_none_is_wasted(grid, curved):
    cells = Cells.of_half_width(grid, 0.0, 1.0, curved)
    widest = max(cells.edge(i + 1) - cells.edge(i) for i in range(cells.count))
    assert widest <= 2 * grid * (1 + 1e-9)
    assert cells.count == max(1, math.ceil((math.pi / 2 if curved else 1) / (2 * grid) * (1 - 1e-12)))


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
