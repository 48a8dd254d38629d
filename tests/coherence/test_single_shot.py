"""One split that was made elsewhere: exact oracles over every split, given predictions, and limits."""

from itertools import combinations

import numpy as np
import pytest

from holdfast.coherence import Audit, GroupPlan, run, single_shot
from holdfast.coherence import curators as cur
from holdfast.coherence import learners as lrn
from holdfast.coherence.significance import assess
from holdfast.coherence.verdict import judge
from holdfast.errors import InvalidParameter
from tests.coherence.people import ILL, people


def exact_bits(h, masks, alpha):
    """Oracle of section 2.7: the bit of every half split, written out."""
    n, bits, empty = len(h), [], 0
    for chosen in combinations(range(n), n // 2):
        inside = np.isin(np.arange(n), chosen)
        bit, emptied = 1, False
        for mask in masks:
            a, b = np.sort(h[mask & inside]), np.sort(h[mask & ~inside])
            if not a.size or not b.size:
                emptied = True
                continue
            grid = np.unique(h)
            gap = np.abs(np.searchsorted(a, grid, "right") / a.size - np.searchsorted(b, grid, "right") / b.size)
            bit = 0 if (gap[:-1] * np.diff(grid)).sum() > alpha else bit
        bits.append(bit)
        empty += emptied
    return bits, empty


def enumerate_splits(h, masks, alpha):
    """The same through the library: one single-shot experiment for every split."""
    n, found, empty = len(h), [], 0
    plan = GroupPlan({f"g{i}": mask for i, mask in enumerate(masks)}, everyone=False, min_size=1)
    for chosen in combinations(range(n), n // 2):
        trials = single_shot({"i": np.arange(n)}, None, np.array(chosen), lrn.Given(h), groups=plan)
        found.append(int(trials.bits(alpha)[0, 0, 0]))
        empty += bool(np.isnan(trials.distance).any())
    return found, empty


def test_vector_10_every_split_of_eight():
    h = np.cos(np.arange(8))
    masks = [np.ones(8, bool), np.arange(8) < 4]
    bits, empty = exact_bits(h, masks, 0.5)
    assert (bits.count(0), len(bits), empty) == (68, 70, 2)
    assert enumerate_splits(h, masks, 0.5) == (bits, empty)


def test_vector_11_a_group_of_two():
    h = np.zeros(10)
    h[:2] = [-1, 1]
    masks = [np.arange(10) < 2]
    bits, empty = exact_bits(h, masks, 1.9)
    assert (bits.count(0), len(bits), empty) == (140, 252, 112)
    assert enumerate_splits(h, masks, 1.9) == (bits, empty)


def test_an_empty_half_is_named_and_may_count_as_incoherent():
    trials = single_shot(
        {"i": np.arange(10)}, None, np.arange(5), lrn.Given(np.zeros(10)),
        groups=GroupPlan({"first": np.arange(10) < 2}, min_size=1),
    )  # fmt: skip
    assert np.isnan(trials.distance[0, 0, 0, 1])
    assert any("group 'first' had no member in one of the halves in 1 of 1 splits" in m for m in trials.messages())
    assert trials.bits(0.5)[0, 0, 0] == 1
    assert trials.bits(0.5, empty="incoherent")[0, 0, 0] == 0


def test_single_shot_and_its_limits():
    data = people()
    inside = np.zeros(600, bool)
    inside[np.random.default_rng(3).permutation(600)[:250]] = True
    release = {name: values[inside] for name, values in data.items()}
    outside = np.flatnonzero(~inside)[:300]
    trials = single_shot(data, release, inside, ["linkage", "membership"], outside=outside, target=ILL, lenses=["key"])
    assert trials.mode == "single"
    assert trials.rows.size == 550
    assert trials.inside.sum() == 250
    assert trials.distance[0, 1, 0, 0] == 2
    assert any("uniformly random" in note for note in trials.notes)
    with pytest.raises(InvalidParameter, match="must not share a row"):
        single_shot(data, release, inside, "linkage", outside=[int(np.flatnonzero(inside)[0])])
    with pytest.raises(InvalidParameter, match="each hold at least one row"):
        single_shot(data, release, np.ones(600, bool), "linkage")
    with pytest.raises(InvalidParameter, match="must be left out"):
        single_shot(data, release, inside, "linkage", splits=3)


def test_a_list_of_zeros_and_ones_is_not_taken_for_row_numbers():
    data = people()
    inside = np.random.default_rng(2).permutation(600) < 300
    release = {name: values[inside] for name, values in data.items()}
    for given in (inside.astype(int), inside.astype(int).tolist(), [0, 1, 1]):
        with pytest.raises(InvalidParameter, match="distinct row numbers"):
            single_shot(data, release, given, lrn.Linkage(), target=ILL)
    numbers = single_shot(data, release, np.flatnonzero(inside), lrn.Linkage(), target=ILL)
    truths = single_shot(data, release, inside, lrn.Linkage(), target=ILL)
    np.testing.assert_array_equal(numbers.distance, truths.distance)


def test_given_predictions_are_checked_at_the_door():
    with pytest.raises(Exception, match="1 of 2 do not"):
        lrn.Given([0.1, 7])
    with pytest.raises(InvalidParameter, match="they cover only the rows of the data"):
        lrn.Given([0.1])(None)


def test_given_predictions_must_fit_and_say_that_splits_show_chance():
    data = people()
    for rows in (599, 601):
        with pytest.raises(InvalidParameter, match="one number for each of 600 rows"):
            single_shot(data, None, np.arange(300), lrn.Given(np.zeros(rows)), target=ILL)
    trials = run(Audit(data, cur.Clear(), lrn.Given(np.zeros(600)), ILL, splits=2))
    assert any("shows chance alone" in note for note in trials.notes)
    once = single_shot(data, None, np.arange(300), lrn.Given(np.zeros(600)), target=ILL)
    assert not any("shows chance alone" in note for note in once.notes)


def test_at_alpha_is_coherent_and_an_emptied_group_is_partial():
    h = np.array([1.0, 1.0, -1.0, -1.0])
    whole = GroupPlan(min_size=1)
    trials = single_shot({"i": np.arange(4)}, None, [0, 2], lrn.Given(h), groups=whole)
    assert trials.distance.item() == 0
    trials = single_shot({"i": np.arange(4)}, None, [0, 1], lrn.Given(h * 0.25), groups=whole)
    assert trials.distance.item() == 0.5
    assert trials.bits(0.5).item() == 1
    assert trials.bits(0.499).item() == 0
    assert not trials.partial
    emptied = single_shot(
        {"i": np.arange(4)},
        None,
        [0, 1],
        lrn.Given(h),
        groups=GroupPlan({"pair": [True, True, False, False]}, min_size=1),
    )
    assert not emptied.failures
    assert emptied.partial
    assert judge(assess(emptied, permutations=99), 0.5).exit_status != 0
