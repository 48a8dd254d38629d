"""Level, power and exactness of the audit's tests. Counts of rejections are held against binomial tails of 1e-6."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, ks_2samp

from holdfast.bounds.p_value import holm
from holdfast.coherence import GroupPlan, Groups, Table, group_distances
from holdfast.coherence import significance as crossing
from holdfast.coherence import significance as membership
from holdfast.coherence.audit import cluster_split, half_split
from holdfast.coherence.distance import rank
from holdfast.coherence.significance import (
    cross_distances,
    cross_test,
    detectable_excess,
    exact_experiment,
    exact_null,
    max_t,
    mean_excess,
    membership_test,
    noise_floor,
    noise_share,
    size_for_floor,
)
from holdfast.errors import InvalidParameter
from holdfast_papers.coherence import significance as simulate

ERROR = 1e-6


def most(runs: int, rate: float = 0.05) -> int:
    """A count that a test of this size exceeds with probability at most 1e-6."""
    return int(binom.isf(ERROR, runs, rate))


def least(runs: int, rate: float = 0.05) -> int:
    """A count that a test with at least this rate stays below with probability at most 1e-6."""
    return int(binom.ppf(ERROR, runs, rate))


def groups_of(rows: int, **masks: np.ndarray) -> Groups:
    return GroupPlan(masks, min_size=1).resolve(Table.of({"row": np.arange(rows)}))


# Vectors of section 5 of the coherence specification


def test_vectors_5_to_7_of_the_specification() -> None:
    i = np.arange(100)
    h, inside = np.cos(i), 37 * i % 100 < 50
    masks = {"all": i >= 0, "third": i % 3 == 0, "first": i < 20}
    distances = {"all": 0.09644267979, "third": 0.1433954103, "first": 0.2225183067}
    floors = {
        "all": (0.1428275210, 0.1790077513),
        "third": (0.2479166348, 0.3107174233),
        "first": (0.3303864977, 0.4140780683),
    }
    for name, mask in masks.items():
        n_in = int(inside[mask].sum())
        assert group_distances(h, inside, [mask]).distance[0] == pytest.approx(distances[name], rel=1e-9)
        assert tuple(noise_floor(h[mask], n_in)) == pytest.approx(floors[name], rel=1e-9)


def test_vector_9_of_the_specification() -> None:
    h = np.cos(np.arange(8))
    null = exact_null(h, 4)
    assert null.size == 70
    assert null.mean() == pytest.approx(0.5487260223, rel=1e-9)
    inside = np.isin(np.arange(8), [0, 1, 6, 7])
    observed = group_distances(h, inside, [np.ones(8, bool)]).distance[0]
    assert observed == pytest.approx(1.2576239039, rel=1e-9)
    assert (null >= observed - 1e-12).sum() == 2
    # The Monte Carlo p-value is near the exact 2/70: 5 standard deviations at 20,000 draws.
    p = membership_test(h, inside, np.random.default_rng(3), 19_999)
    assert abs(p - 2 / 70) < 5 * math.sqrt(2 / 70 / 20_000)


def test_vectors_10_and_11_of_the_specification() -> None:
    h = np.cos(np.arange(8))
    assert exact_experiment(h, [np.ones(8, bool), np.arange(8) < 4], 0.5) == (68, 2, 70)
    pair = np.arange(10) < 2
    assert exact_experiment(np.where(np.arange(10) == 0, -1.0, 1.0) * pair, [pair], 1.9) == (140, 112, 252)


# Floor


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(st.floats(-1, 1), min_size=2, max_size=9), st.data())
def test_the_exact_mean_is_never_above_the_bound(values: list[float], data: st.DataObject) -> None:
    n_in = data.draw(st.integers(1, len(values) - 1))
    assert exact_null(values, n_in).mean() <= noise_floor(values, n_in).bound + 1e-12


def test_the_variance_is_exact_where_one_gap_is_all() -> None:
    """With two values the squared distance is the squared difference of shares: its mean is the variance."""
    values = np.array([0.0] * 3 + [1.0] * 5)
    squares = exact_null(values, 3) ** 2
    assert math.sqrt(squares.mean()) == pytest.approx(noise_floor(values, 3).bound, rel=1e-12)


def test_the_worst_floor_gives_the_size() -> None:
    for alpha in (0.05, 0.2, 1.0):
        m = size_for_floor(alpha)
        values = np.repeat([-1.0, 1.0], (m + 1) // 2)
        assert noise_floor(values, values.size // 2).expected <= alpha / 2 * 1.01


# The primary test


@settings(deadline=None, derandomize=True, max_examples=25)
@given(st.integers(2, 5), st.integers(4, 30), st.integers(0, 2**32 - 1))
def test_cross_distances_are_those_of_one_group_at_a_time(splits: int, rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    h = rng.choice([-1, -0.5, 0.25, 1], (splits, rows)) if seed % 2 else rng.uniform(-1, 1, (splits, rows))
    inside = rng.random((splits, rows)) < 0.5
    part = rng.random(rows) < 0.4
    part[0] = True
    found = cross_distances(h, inside, groups_of(rows, part=part))
    for k in range(splits):
        for j in range(splits):
            expected = group_distances(h[k], inside[j], [np.ones(rows, bool), part]).distance
            np.testing.assert_allclose(found[k, j], expected, atol=1e-12)


def test_large_groups_go_the_other_way_with_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    h, inside = rng.uniform(-1, 1, (4, 60)), rng.random((4, 60)) < 0.5
    groups = groups_of(60, part=np.arange(60) < 20)
    one = cross_distances(h, inside, groups)
    monkeypatch.setattr(crossing, "_MEMBERS", 0)
    np.testing.assert_allclose(cross_distances(h, inside, groups), one, atol=1e-12)
    weighted = cross_distances(h, inside, groups, weights=np.ones(60))
    np.testing.assert_allclose(weighted, one, atol=1e-12)


def test_p_values_equal_those_of_all_permutations() -> None:
    rng = np.random.default_rng(5)
    table = rng.random((4, 4, 3))
    orders = list(permutations(range(4)))
    sums = np.array([table[np.arange(4), order].sum(axis=0) for order in orders])
    exact = (sums >= sums[0]).mean(axis=0)
    z = (sums - sums.mean(axis=0)) / sums.std(axis=0)
    found = cross_test(table, rng, 40_000)
    assert found.p_values == pytest.approx(exact, abs=0.0125)  # 5 standard deviations
    assert found.omnibus == pytest.approx((z.max(axis=1) >= z[0].max()).mean(), abs=0.0125)
    assert found.least == 1 / 24


def test_a_predictor_that_never_changes_ties_every_sum() -> None:
    rng = np.random.default_rng(6)
    h = np.tile(rng.uniform(-1, 1, 300), (8, 1))
    inside = np.array([half_split(300, rng) for _ in range(8)])
    found = cross_test(cross_distances(h, inside, groups_of(300, part=np.arange(300) < 50)), rng, 499)
    assert found.omnibus == 1
    assert (found.p_values == 1).all()


def test_splits_that_empty_a_half_add_nothing() -> None:
    rng = np.random.default_rng(7)
    table = rng.random((6, 6, 1)) + np.eye(6)[:, :, None]
    table[:, 2] = np.nan
    found = cross_test(table, rng, 999)
    assert found.omnibus == found.p_values[0] < 0.05
    gone = cross_test(np.full((3, 3, 1), np.nan), rng, 99)
    assert math.isnan(gone.p_values[0])
    assert gone.omnibus == 1


@pytest.mark.parametrize("name", list(simulate.NULL))
def test_size_of_the_primary_test(name: str) -> None:
    """Memorising learners included: at most and at least as often as 5% allow, each but with probability 1e-6."""
    p = simulate.primary_p_values(simulate.NULL[name], 400, np.random.default_rng(8), permutations=199)
    assert least(400) <= (p <= 0.05).sum() <= most(400)


def test_the_same_count_rejects_leaks_and_unadjusted_groups() -> None:
    rng = np.random.default_rng(9)
    for make in simulate.TRAINED.values():
        assert (simulate.primary_p_values(make, 100, rng, permutations=199) <= 0.05).sum() > most(100)
    # Wrong on purpose: the smallest p-value of 40 groups, as if it were the only one.
    hits = 0
    groups = GroupPlan(columns=["part"], min_size=2).resolve(Table.of({"part": np.arange(400) // 10}))
    for _ in range(60):
        inside = np.array([half_split(400, rng) for _ in range(8)])
        h = rng.uniform(-1, 1, inside.shape)
        found = cross_test(cross_distances(h, inside, groups), rng, 199)
        hits += float(np.nanmin(found.p_values)) <= 0.05
    assert hits > most(60)


def test_a_memoriser_of_redrawn_labels_is_not_rejected_more_often() -> None:
    p = simulate.primary_p_values(simulate.memoriser_of_redrawn_labels, 200, np.random.default_rng(10), 199)
    assert (p <= 0.05).sum() <= most(200)


def test_a_planted_leak_is_named_and_no_other_group() -> None:
    rng = np.random.default_rng(11)
    runs = [simulate.leak_run(0.4, rng) for _ in range(16)]
    assert sum(found for found, _, _ in runs) >= least(16, 0.95)
    assert sum(other for _, other, _ in runs) <= most(16)
    # The plan for 95% power lies between a leak that is found and none.
    assert 0 < detectable_excess(100, 20, 20) < np.mean([excess for _, _, excess in runs])
    none = [simulate.leak_run(0.0, rng) for _ in range(16)]
    assert sum(found for found, _, _ in none) <= most(16) < least(16, 0.95)


def test_the_excess_interval_holds_the_truth_and_not_a_wrong_one() -> None:
    """Independent entries with a diagonal 0.3 above: the 95% interval is approximate, so it is held against 90%."""
    rng = np.random.default_rng(12)
    inside = wrong = 0
    for _ in range(300):
        table = rng.random((10, 10, 1)) * 0.2 + 0.3 * np.eye(10)[:, :, None]
        found = mean_excess(table)
        inside += bool(found.low[0] <= 0.3 <= found.high[0])
        wrong += bool(found.low[0] <= 0.45 <= found.high[0])
    assert inside >= least(300, 0.9)
    assert wrong < least(300, 0.9)


def test_excess_by_leaving_out_one_split() -> None:
    table = np.random.default_rng(13).random((5, 5, 2))
    found = mean_excess(table)
    off = ~np.eye(5, dtype=bool)
    left = []
    for k in range(5):
        kept = np.delete(np.delete(table, k, 0), k, 1)
        left.append(np.einsum("kkg->kg", kept).mean(axis=0) - kept[~np.eye(4, dtype=bool)].mean(axis=0))
    spread = np.sqrt(np.var(left, axis=0) * 4)
    np.testing.assert_allclose(found.floor, table[off].mean(axis=0))
    np.testing.assert_allclose(found.high - found.low, 2 * 2.7764451052 * spread, rtol=1e-9)
    np.testing.assert_allclose(noise_share(table, 0.5), (table[off] > 0.5).mean(axis=0))
    assert noise_share(np.full((3, 3, 1), 0.25), 0.25)[0] == 0  # the definition says above, not at


# One predictor, one split


def test_level_of_the_permutation_for_a_predictor_fixed_in_advance() -> None:
    rng = np.random.default_rng(14)
    p = simulate.membership_p_values(simulate.fixed, 500, rng, permutations=199)
    assert least(500) <= (p <= 0.05).sum() <= most(500)
    trained = simulate.membership_p_values(simulate.memoriser, 100, rng, permutations=199)
    assert (trained <= 0.05).sum() > most(100)


def test_few_distinct_values_give_the_exact_p_value() -> None:
    h = np.array([-1.0] * 5 + [1.0] * 7)
    inside = np.arange(12) < 6
    null = exact_null(h, 6)
    observed = group_distances(h, inside, [np.ones(12, bool)]).distance[0]
    exact = (null >= observed - 1e-12).mean()
    rng = np.random.default_rng(15)
    assert membership_test(h, inside, rng, 20_000) == pytest.approx(exact, abs=5 * math.sqrt(exact / 20_000))
    slow = membership_test(h, inside, rng, 2000, weights=np.ones(12))
    assert slow == pytest.approx(exact, abs=5 * math.sqrt(exact / 2000))


def test_counts_and_members_are_drawn_from_the_same_law() -> None:
    rng = np.random.default_rng(18)
    ranked = rank(np.cos(rng.integers(0, 40, 600)))
    counts, members = (draw(ranked, 250, rng, 3000) for draw in (membership._few_values, membership._many_values))
    assert ks_2samp(counts, members).pvalue > 1e-6
    wrong = membership._few_values(ranked, 150, rng, 3000)  # the comparison has power: a smaller half stands out
    assert ks_2samp(wrong, members).pvalue < 1e-6


def test_whole_clusters_are_re_assigned() -> None:
    """Copies of the same people: as rows they reject, as clusters they hold the level."""
    rng = np.random.default_rng(16)
    homes = np.repeat(np.arange(30), 8)
    rows = clusters = 0
    for _ in range(80):
        h = rng.uniform(-1, 1, 30)[homes]
        inside = cluster_split(homes, rng)
        clusters += membership_test(h, inside, rng, 99, clusters=homes) <= 0.05
        rows += membership_test(h, inside, rng, 99) <= 0.05
    assert clusters <= most(80) < rows
    with pytest.raises(InvalidParameter, match="wholly"):
        membership_test(h, half_split(240, rng), rng, 9, clusters=homes)


def test_max_t_holds_its_level_and_finds_a_group() -> None:
    rng = np.random.default_rng(17)
    groups = groups_of(200, part=np.arange(200) < 40, rest=np.arange(200) >= 40)
    h = np.tanh(rng.standard_normal(200))
    hits = found = 0
    for _ in range(80):
        inside = half_split(200, rng)
        hits += max_t(h, inside, groups, rng, 99).p_value <= 0.05
        leak = np.where(inside & (np.arange(200) < 40), 1.0, h)
        found += max_t(leak, inside, groups, rng, 99).p_value <= 0.05
    assert hits <= most(80) < found
    floor = max_t(h, inside, groups, rng, 400).floor
    assert floor[0] == pytest.approx(noise_floor(h, 100).expected, rel=0.2)


def test_holm_by_hand() -> None:
    assert holm([0.03, 0.01, 0.04]) == pytest.approx([0.06, 0.03, 0.06])


def test_wrong_input_is_named() -> None:
    rng = np.random.default_rng(18)
    with pytest.raises(InvalidParameter, match="splits, splits"):
        cross_test(np.zeros((2, 3, 1)), rng)
    with pytest.raises(InvalidParameter, match="same shape"):
        cross_distances(np.zeros((2, 4)), np.zeros((3, 4), bool), groups_of(4))
    with pytest.raises(InvalidParameter, match="inside"):
        noise_floor([0.0, 1.0], 2)
    with pytest.raises(InvalidParameter, match="True or False"):
        membership_test([0.0, 1.0], [True], rng)
    with pytest.raises(InvalidParameter, match="inside must be an array with True or False for each of 2"):
        max_t([0.0, 1.0], [0, 1], groups_of(2), rng)
    with pytest.raises(InvalidParameter, match="predictions must be for an even number of rows, got 3"):
        exact_experiment([0.0, 0.5, 1.0], [[True] * 3], 0.5)
    for where in (True, False):  # nobody to compare with: no evidence
        assert membership_test([0.0, 1.0, 0.5], [where] * 3, rng, 99) == 1.0
    with pytest.raises(InvalidParameter, match="splits"):
        exact_null(np.zeros(40), 20)


def test_the_observed_split_counts_among_the_re_assignments() -> None:
    """Else p could be 0, and too small on average: exact only if the observed split is one of those it is ranked in."""
    rng = np.random.default_rng(19)
    inside = np.arange(40) < 20
    for h in (np.where(inside, 1.0, -1.0), np.where(inside, 1.0, 0.0) + np.linspace(0, 0.5, 40)):
        assert membership_test(h, inside, rng, 19) == 1 / 20
        assert membership_test(h, inside, rng, 19, weights=np.ones(40)) == 1 / 20


def test_max_t_standardises_over_the_observed_split_too() -> None:
    rows, draws = 24, 9
    groups = groups_of(rows, a=np.arange(rows) < 8, b=np.arange(rows) >= 12)
    differ = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        h, inside = rng.uniform(-1, 1, rows), half_split(rows, rng)
        again = np.random.default_rng(seed)
        splits = [inside, *(again.permutation(inside) for _ in range(draws))]
        table = np.array([groups.distances(h, split).distance for split in splits])
        if np.isnan(table).any():  # a split emptied a group
            continue
        z = (table - table.mean(axis=0)) / table.std(axis=0)
        expected = (z.max(axis=1) >= z[0].max() - 1e-9).mean()
        assert max_t(h, inside, groups, np.random.default_rng(seed), draws).p_value == pytest.approx(expected)
        apart = (table - table[1:].mean(axis=0)) / table[1:].std(axis=0)
        differ += bool((apart.max(axis=1) >= apart[0].max() - 1e-9).mean() != expected)
    assert differ  # the test would see the other way of standardising
