"""Ranks and ties: every statement follows from the intervals, and none from anything else."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.guard.leaderboard import Place, best_each, ranks

Intervals = list[tuple[float, float]]
INTERVALS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 6)), min_size=1, max_size=6).map(
    lambda pairs: [(low / 20, (low + length) / 20) for low, length in pairs]
)


def places(intervals: Intervals) -> list[Place]:
    return [
        Place(i + 1, f"2026-01-{i + 1:02d}", f"a{i}", "", (low + high) / 2, (low, high), None, True)
        for i, (low, high) in enumerate(intervals)
    ]


@settings(max_examples=120, deadline=None, derandomize=True)
@given(INTERVALS, st.booleans())
def test_a_rank_range_is_what_truths_inside_the_intervals_allow(intervals: Intervals, rising: bool) -> None:
    """Against the definition: the truths at the ends that are best or worst for one place, ties taken its way."""
    made = {place.sequence: place for place in ranks(places(intervals), rising)}
    for i, (low, high) in enumerate(intervals):
        others = [interval for j, interval in enumerate(intervals) if j != i]
        if rising:
            best = 1 + sum(other[0] > high for other in others)
            worst = 1 + sum(other[1] >= low for other in others)
        else:
            best = 1 + sum(other[1] < low for other in others)
            worst = 1 + sum(other[0] <= high for other in others)
        assert made[i + 1].rank == (best, worst)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(INTERVALS, st.booleans())
def test_ranks_do_not_depend_on_the_order_and_are_listed_best_first(intervals: Intervals, rising: bool) -> None:
    listed = places(intervals)
    first = ranks(listed, rising)
    for order in list(permutations(listed))[:6]:
        again = {place.sequence: place.rank for place in ranks(order, rising)}
        assert again == {place.sequence: place.rank for place in first}
    assert [place.rank for place in first] == sorted(place.rank for place in first if place.rank is not None)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(INTERVALS, st.booleans())
def test_ties_are_overlaps_and_go_both_ways(intervals: Intervals, rising: bool) -> None:
    made = {place.sequence: place for place in ranks(places(intervals), rising)}
    for one in made.values():
        for other in made.values():
            if one is other:
                assert one.sequence not in one.tied
                continue
            assert one.interval is not None
            assert other.interval is not None
            overlap = one.interval[0] <= other.interval[1] and other.interval[0] <= one.interval[1]
            assert (other.sequence in one.tied) == (one.sequence in other.tied) == overlap
    assert any(place.rank is not None and place.rank[0] == 1 for place in made.values())


@pytest.mark.parametrize(("rising", "best"), [(True, 2), (False, 4)])
def test_an_analyst_has_the_place_of_their_best_and_the_earliest_of_equals(rising: bool, best: int) -> None:
    shown = [(1, 0.5), (2, 0.7), (3, 0.7), (4, 0.2), (5, 0.2)]
    mine = [Place(number, "", "ann", "", value, (value, value), None, None) for number, value in shown]
    other = Place(6, "", "bob", "", 0.4, (0.4, 0.4), None, None)
    assert {place.sequence for place in best_each([*mine, other], rising)} == {best, 6}
