"""Every way to a distance gives SciPy's: members listed, counted as bits, counted by value, sorted table by table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

from holdfast.coherence import distance
from holdfast.coherence.distance import Partition, group_distances, rank

GROUPS = 12
KINDS: dict[str, Callable[[np.random.Generator, int], NDArray[Any]]] = {
    "all different": lambda rng, n: rng.uniform(-1, 1, n),
    "skewed": lambda rng, n: 2 * rng.beta(0.05, 3, n) - 1,
    "51 values": lambda rng, n: rng.integers(0, 51, n) / 25 - 1,
    "two values": lambda rng, n: np.where(rng.random(n) < 0.1, 1.0, -1.0),
    "one value": lambda rng, n: np.full(n, 0.3),
    "two close values": lambda rng, n: np.where(rng.random(n) < 0.5, 0.1, np.nextafter(0.1, 1)) - (rng.random(n) < 0.1),
    "out of range": lambda rng, n: rng.integers(-5, 6, n).astype(float),
}


def scipy_loop(h: Any, inside: Any, masks: Any) -> list[float]:
    return [
        wasserstein_distance(h[m & inside], h[m & ~inside]) if (m & inside).any() and (m & ~inside).any() else np.nan
        for m in masks
    ]


def few_ways(h: Any, inside: Any, codes: Any) -> list[NDArray[Any]]:
    """Disjoint groups by all ways in: as numbers, as masks, sorted before or not."""
    masks = np.stack([codes == g for g in range(GROUPS)])
    return [
        group_distances(given, inside, groups).distance
        for given in (h, rank(h))
        for groups in (Partition(codes, GROUPS), masks, iter(masks))
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 7, 500, 9_001])
def test_every_way_is_scipys(kind: str, n: int) -> None:
    rng = np.random.default_rng(n)
    h, inside = KINDS[kind](rng, n), rng.random(n) < 0.4
    # Groups of very different sizes, some of them empty, and rows of no group.
    codes = np.minimum(rng.geometric(0.35, n) - 2, GROUPS - 2).astype(np.int32)
    known = scipy_loop(h, inside, [codes == g for g in range(GROUPS)])
    for found in few_ways(h, inside, codes):
        np.testing.assert_allclose(found, known, atol=1e-12, rtol=0)
    overlapping = rng.random((21, n)) < rng.random((21, 1))
    found = group_distances(h, inside, overlapping).distance
    np.testing.assert_allclose(found, scipy_loop(h, inside, overlapping), atol=1e-12, rtol=0)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.booleans(), st.integers(-1, 3)), min_size=1, max_size=80),
    st.sampled_from([1, 3, 10**9]),
)
def test_counting_and_sorting_agree(rows: list[tuple[int, bool, int]], least: int) -> None:
    """The same few values by counting (whatever their number) and by listing and sorting."""
    h = np.array([r[0] / 3 for r in rows])
    inside = np.array([r[1] for r in rows])
    codes = np.array([r[2] for r in rows], dtype=np.int32)
    masks = np.stack([codes == g for g in range(4)])
    ranked = rank(h)
    tables = distance.few(h, 10**6)
    assert tables is not None
    counted = distance._counted_by_code(h, inside, codes, 4, *tables)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distance, "COUNTED", least / 3)
        patch.setattr(distance, "few", lambda values, most: None)
        patch.setattr(distance, "TABLE", 8)
        ways = [
            counted,
            distance.disjoint(h, inside, codes, 4),
            distance.overlapping(ranked.values, ranked.order, inside, iter(masks), None, "wasserstein"),
        ]
    for other in ways[1:]:
        np.testing.assert_allclose(ways[0][0], other[0], atol=1e-14, rtol=0)
        assert ways[0][1].tolist() == other[1].tolist()
        assert ways[0][2].tolist() == other[2].tolist()


def test_each_half_counts_by_its_own_size() -> None:
    """Unequal halves by hand: the mean moves by 1 between 1 of 4 and 1 of 2; halves swapped give the same."""
    h, inside = np.array([-1.0, -1, -1, 1, -1, 1]), np.array([True] * 4 + [False] * 2)
    for groups in (Partition(np.zeros(6, np.int32), 1), np.ones((1, 6), bool)):
        for where in (inside, ~inside):
            found = group_distances(h, where, groups)
            assert found.distance[0] == pytest.approx(2 * abs(1 / 4 - 1 / 2))
            assert {int(found.inside[0]), int(found.outside[0])} == {4, 2}


def test_the_test_notices_a_half_that_is_not_counted() -> None:
    """Power: a group number read one place off is far from SciPy's."""
    rng = np.random.default_rng(2)
    h, inside, codes = rng.uniform(-1, 1, 3000), rng.random(3000) < 0.5, rng.integers(0, GROUPS, 3000).astype(np.int32)
    known = scipy_loop(h, inside, [codes == g for g in range(GROUPS)])
    wrong = group_distances(h, inside, Partition(np.roll(codes, 1), GROUPS)).distance
    assert np.abs(wrong - known).max() > 1e-3


def test_the_order_of_rows_changes_no_bit_of_counts_and_nothing_but_rounding() -> None:
    rng = np.random.default_rng(3)
    h, inside, codes = rng.uniform(-1, 1, 5000), rng.random(5000) < 0.5, rng.integers(0, GROUPS, 5000).astype(np.int32)
    moved = rng.permutation(5000)
    one = group_distances(h, inside, Partition(codes, GROUPS))
    two = group_distances(h[moved], inside[moved], Partition(codes[moved], GROUPS))
    assert one.distance.tolist() == two.distance.tolist()
    assert one.inside.tolist() == two.inside.tolist()
