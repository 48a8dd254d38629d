"""Exact distances: vectors of the specification, SciPy on random weighted input, properties, bounded memory."""

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from holdfast.coherence.distance import METRICS, Partition, group_distances, rank, wasserstein
from holdfast.errors import InvalidParameter

COS = np.cos(np.arange(100))
INSIDE = 37 * np.arange(100) % 100 < 50
GROUPS = np.stack(
    [np.ones(100, bool), np.arange(100) % 3 == 0, np.arange(100) < 20, np.arange(100) % 2 == 1]
)  # specification, vectors 5 and 6


@pytest.mark.parametrize(
    ("a", "b", "value"),
    [
        ([-1, -0.5, 0.25, 1], [0, 0.5, 1], 0.5625),
        ([1, 1, 1, -1], [-1, -1, 1, -1, -1], 1.1),
        ([0.1, 0.2, 0.3], [0.15, 0.25, 0.9, -0.4, 0.2], 0.24),
        ([0, 0, 0.5, 0.5], [0, 0.5, 0.5, 0.5], 0.125),
    ],
)
def test_vectors_1_to_4(a, b, value):
    assert wasserstein(a, b) == pytest.approx(value, abs=1e-15)


def test_vectors_5_and_6():
    found = group_distances(COS, INSIDE, GROUPS)
    assert found.distance == pytest.approx([0.09644267979, 0.1433954103, 0.2225183067, 0.1128117912], abs=1e-10)
    assert found.inside.tolist() == [50, 17, 11, 25]
    assert found.outside.tolist() == [50, 17, 9, 25]
    ks = group_distances(COS, INSIDE, GROUPS, metric="kolmogorov").distance
    assert ks == pytest.approx([0.1, 0.1764705882, 0.2727272727, 0.12], abs=1e-10)
    signs = group_distances(np.sign(COS), INSIDE, GROUPS).distance
    assert signs == pytest.approx([0.08, 0.1176470588, 0.3838383838, 0], abs=1e-10)


def test_vectors_8_and_9_every_split_of_a_group():
    def every(values, n_a):
        n = len(values)
        masks = [np.isin(np.arange(n), chosen) for chosen in combinations(range(n), n_a)]
        return np.array([wasserstein(values[m], values[~m]) for m in masks]), masks

    found, _ = every(np.array([-1, -0.5, 0.25, 1]), 2)
    assert sorted(found) == pytest.approx([0.625] * 4 + [1.375] * 2)
    found, masks = every(np.cos(np.arange(8)), 4)
    assert found.mean() == pytest.approx(0.5487260223, abs=1e-10)
    seen = next(d for d, m in zip(found, masks, strict=True) if m.nonzero()[0].tolist() == [0, 1, 6, 7])
    assert seen == pytest.approx(1.2576239039, abs=1e-10)
    assert (found >= seen - 1e-12).sum() == 2


def test_equals_scipy_on_random_weighted_groups():
    rng = np.random.default_rng(1)
    for trial in range(40):
        n = int(rng.integers(20, 2_000))
        h = rng.uniform(-1, 1, n)
        if trial % 2:  # ties
            h = np.round(h, 1)
        inside = rng.random(n) < 0.5
        weights = None if trial % 4 < 2 else rng.exponential(size=n)
        codes = rng.integers(-1, 12, n).astype(np.int32)
        masks = np.stack([codes == g for g in range(12)])
        grouped = [
            group_distances(h, inside, groups, weights=weights).distance for groups in (Partition(codes, 12), masks)
        ]
        for g in range(12):
            a, b = masks[g] & inside, masks[g] & ~inside
            if not a.any() or not b.any():
                assert np.isnan([grouped[0][g], grouped[1][g]]).all()
                continue
            pair = (None, None) if weights is None else (weights[a], weights[b])
            known = stats.wasserstein_distance(h[a], h[b], *pair)
            assert grouped[0][g] == pytest.approx(known, abs=1e-12)
            assert grouped[1][g] == pytest.approx(known, abs=1e-12)


def test_other_metrics_equal_scipy():
    rng = np.random.default_rng(2)
    h = np.round(rng.uniform(-1, 1, 600), 2)
    inside = rng.random(600) < 0.4
    codes = rng.integers(0, 5, 600).astype(np.int32)
    masks = np.stack([codes == g for g in range(5)])
    for groups in (Partition(codes, 5), masks):
        found = {m: group_distances(rank(h), inside, groups, metric=m).distance for m in METRICS}
        for g in range(5):
            a, b = h[masks[g] & inside], h[masks[g] & ~inside]
            assert found["kolmogorov"][g] == pytest.approx(stats.ks_2samp(a, b).statistic, abs=1e-12)
            assert found["energy"][g] == pytest.approx(stats.energy_distance(a, b), abs=1e-12)
            assert found["mean"][g] == pytest.approx(abs(a.mean() - b.mean()), abs=1e-12)
            cells = [np.histogram(x, bins=40, range=(-1, 1))[0] / x.size for x in (a, b)]
            assert found["total-variation"][g] == pytest.approx(abs(cells[0] - cells[1]).sum() / 2, abs=0.03)
            assert found["mean"][g] <= found["wasserstein"][g] + 1e-12
            assert found["wasserstein"][g] <= 2 * found["kolmogorov"][g] + 1e-12


def test_total_variation_is_exact_on_the_grid():
    h = np.array([-0.99, -0.99, 0.51, 0.51, 0.99, -0.99])
    inside = np.array([1, 1, 1, 0, 0, 0], bool)
    for groups in (np.ones((1, 6), bool), Partition(np.zeros(6, np.int32), 1)):
        found = group_distances(h, inside, groups, metric="total-variation").distance[0]
        assert found == pytest.approx(1 / 3)


values = st.lists(st.integers(-20, 20).map(lambda k: k / 20), min_size=1, max_size=25)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(values, values, values, st.floats(-0.5, 0.5))
def test_a_metric_that_moves_with_its_values(a, b, c, shift):
    d = wasserstein(a, b)
    assert d == pytest.approx(wasserstein(b, a), abs=1e-12)
    assert wasserstein(a, a) == 0
    assert d <= wasserstein(a, c) + wasserstein(c, b) + 1e-12
    assert wasserstein(np.array(a) + shift, np.array(b) + shift) == pytest.approx(d, abs=1e-12)
    assert wasserstein(2 * np.array(a), 2 * np.array(b)) == pytest.approx(2 * d, abs=1e-12)
    assert wasserstein(a + a, b) == pytest.approx(d, abs=1e-12)
    assert abs(np.mean(a) - np.mean(b)) - 1e-12 <= d <= 2


def test_labels_give_twice_the_difference_of_shares():
    a, b = [1, 1, -1], [1, -1, -1, -1]
    assert wasserstein(a, b) == pytest.approx(2 * abs(2 / 3 - 1 / 4))


def test_the_weight_of_other_groups_costs_no_digits():
    """A tiny group behind a heavy one: the running sum must not carry the heavy group's rounding over."""
    rng = np.random.default_rng(3)
    h, inside = rng.uniform(-1, 1, 1000), rng.random(1000) < 0.5
    codes = np.repeat([0, 1], [900, 100]).astype(np.int32)
    weights = np.where(codes == 0, 1e12, 1e-6) * rng.exponential(size=1000)
    found = group_distances(h, inside, Partition(codes, 2), weights=weights).distance[1]
    a, b = (codes == 1) & inside, (codes == 1) & ~inside
    assert found == pytest.approx(stats.wasserstein_distance(h[a], h[b], weights[a], weights[b]), abs=1e-12)


def test_memory_does_not_grow_with_groups():
    rng = np.random.default_rng(4)
    n = 300_000
    h, inside = rng.uniform(-1, 1, n), rng.random(n) < 0.5
    codes = rng.integers(0, 1000, n).astype(np.int32)
    peaks = []
    for groups in (Partition(codes, 1000), ((codes == g) for g in range(100))):
        tracemalloc.start()
        group_distances(h, inside, groups)
        peaks.append(tracemalloc.get_traced_memory()[1] / n)
        tracemalloc.stop()
    assert max(peaks) < 110  # bytes a row; one matrix of masks would be 1,000


def test_blocks_give_what_one_block_gives(monkeypatch):
    rng = np.random.default_rng(5)
    h, inside = rng.uniform(-1, 1, 5_000), rng.random(5_000) < 0.5
    weights = rng.random(5_000)
    codes = rng.integers(-1, 50, 5_000).astype(np.int32)
    whole = [group_distances(h, inside, Partition(codes, 50), weights=w).distance for w in (None, weights)]
    monkeypatch.setattr("holdfast.coherence.distance.BLOCK", 300)
    parts = [group_distances(h, inside, Partition(codes, 50), weights=w).distance for w in (None, weights)]
    np.testing.assert_allclose(whole, parts, atol=1e-14, rtol=0)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.lists(st.tuples(st.floats(-1.99, 1.99), st.booleans(), st.integers(-1, 3)), min_size=1, max_size=60))
def test_keys_sort_as_values_do(rows):
    """Unsorted, sorted, far from zero (no keys), and mask by mask: four ways to the same distances, to the last digit
    of the sums."""
    h = np.array([r[0] for r in rows])
    inside = np.array([r[1] for r in rows])
    codes = np.array([r[2] for r in rows], dtype=np.int32)
    groups = Partition(codes, 4)
    found = [
        group_distances(h, inside, groups).distance,
        group_distances(rank(h), inside, groups).distance,
        group_distances(h, inside, [codes == g for g in range(4)]).distance,
        group_distances(4 * h, inside, groups).distance / 4,
    ]
    for other in found[1:]:
        np.testing.assert_allclose(found[0], other, atol=1e-13, rtol=1e-13)


@pytest.mark.parametrize("n", [46_340, 46_341])
def test_the_largest_whole_numbers_fit(n):
    """Half of the members above, all of those inside: the running sum reaches a quarter of the square."""
    h = np.linspace(-1, 1, n)
    inside = np.arange(n) < n // 2
    found = group_distances(h, inside, np.ones((1, n), bool)).distance[0]
    assert found == pytest.approx(h[~inside].mean() - h[inside].mean(), abs=1e-12)


def test_what_is_refused():
    h, inside = [0.0, 0.5], np.array([True, False])
    with pytest.raises(InvalidParameter, match="inside must be an array with True or False"):
        group_distances(h, [1, 0], np.ones((1, 2), bool))
    with pytest.raises(InvalidParameter, match="group 1 does not"):
        group_distances(h, inside, [np.ones(2, bool), np.ones(3, bool)])
    with pytest.raises(InvalidParameter, match="finite"):
        group_distances([0.0, np.nan], inside, np.ones((1, 2), bool))
    with pytest.raises(InvalidParameter, match="between -1 and 0"):
        group_distances(h, inside, Partition(np.array([0, 1], np.int32), 1))
    with pytest.raises(InvalidParameter, match="at least 0"):
        group_distances(h, inside, np.ones((1, 2), bool), weights=[-1, 1])
    with pytest.raises(InvalidParameter, match="a sum above 0"):
        wasserstein([0], [1], [0], [1])
    with pytest.raises(InvalidParameter, match="at least one number"):
        wasserstein([], [1])
    with pytest.raises(InvalidParameter, match="metric must be one of"):
        group_distances(h, inside, np.ones((1, 2), bool), metric="l2")
