"""Bounds of an interval class against its extreme members: every vertex, every lag, both surcharges."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from holdfast.correlated import IntervalChain, MarkovChain
from holdfast.correlated.chains.interval import chain_from_history, move_interval, transition_counts


def row_vertices(low: np.ndarray, high: np.ndarray) -> list[np.ndarray]:
    """Rows that fill up to 1 in some order: the corners of what the bounds allow."""
    found = []
    for order in itertools.permutations(range(len(low))):
        row, rest = low.copy(), 1 - low.sum()
        for v in order:
            step = min(rest, high[v] - low[v])
            row[v] += step
            rest -= step
        found.append(row)
    return [row for j, row in enumerate(found) if not any(np.allclose(row, other) for other in found[:j])]


def vertices(low: np.ndarray, high: np.ndarray) -> list[np.ndarray]:
    rows = [row_vertices(low[x], high[x]) for x in range(len(low))]
    return [np.array(choice) for choice in itertools.product(*rows)]


def diameter(product: np.ndarray) -> float:
    logs = np.log(product)
    rows = logs[:, None, :] - logs[None, :, :]
    return float((rows.max(axis=2) - rows.min(axis=2)).max())


CLASSES = [
    (np.array([[0.85, 0.05], [0.3, 0.5]]), np.array([[0.95, 0.15], [0.5, 0.7]])),
    (np.array([[0.1, 0.4], [0.6, 0.05]]), np.array([[0.6, 0.9], [0.95, 0.4]])),
    (
        np.array([[0.1, 0.2, 0.3], [0.3, 0.05, 0.2], [0.2, 0.3, 0.1]]),
        np.array([[0.4, 0.5, 0.6], [0.6, 0.4, 0.5], [0.5, 0.7, 0.4]]),
    ),
]


@pytest.mark.parametrize(("low", "high"), CLASSES)
def test_no_product_of_corners_leaves_the_bounds(low: np.ndarray, high: np.ndarray) -> None:
    """Each step may take its own corner; with three states pairs of random corners are tried."""
    declared = IntervalChain(low, high, 50)
    corners = vertices(low, high)
    rng = np.random.default_rng(3)
    worst = [0.0] * 4
    spread = [0.0] * 4
    for _ in range(2000):
        product = np.eye(len(low))
        for steps in range(4):
            product = product @ corners[rng.integers(len(corners))]
            worst[steps] = max(worst[steps], diameter(product))
            spread[steps] = max(spread[steps], np.abs(product[:, None] - product[None]).sum(axis=2).max() / 2)
    for steps in range(4):
        assert worst[steps] <= declared.diameters[steps] * (1 + 1e-9)
        assert worst[steps] <= declared.oscillation(np.array([steps + 1]))[0] * (1 + 1e-9)
        assert spread[steps] <= math.tanh(declared.diameters[steps] / 4) + 1e-9
    assert worst[0] == pytest.approx(declared.diameters[0], rel=0.5), "corners come near the bound of one step"


@pytest.mark.parametrize(("low", "high"), CLASSES)
def test_a_class_of_one_chain_is_charged_at_least_like_the_chain(low: np.ndarray, high: np.ndarray) -> None:
    for matrix in vertices(low, high)[:2]:
        n = 9
        declared = IntervalChain(matrix, matrix, n)
        for start in ("stationary", np.eye(len(low))[0]):
            chain = MarkovChain(matrix, n, start)
            for left, right in itertools.product((1, 2, 4), repeat=2):
                mine, theirs = declared.terms(left, right), chain.terms(left, right)
                assert mine.influence >= theirs.influence * (1 - 1e-9) - 1e-12
                assert mine.surcharge >= theirs.surcharge * (1 - 1e-9) - 1e-12
                assert (mine.size, mine.colours) == (theirs.size, theirs.colours)
            for record, level in itertools.product(range(n), (0.05, 0.5, 5.0)):
                mine = declared.cheapest_quilt(record, level)
                before, after = ([j for j in mine.quilt if (j < record) == side] for side in (True, False))
                theirs = chain.quilt(
                    record, record - before[0] if before else None, after[0] - record if after else None
                )
                assert mine.influence >= theirs.influence * (1 - 1e-9) - 1e-12
                assert mine.surcharge("sharp") >= theirs.surcharge("sharp") * (1 - 1e-9) - 1e-12


@pytest.mark.parametrize(("states", "pairs"), [(2, 2), (3, 9)])
def test_history_shares_its_confidence_among_all_moves(states: int, pairs: int) -> None:
    rng = np.random.default_rng(9)
    path = rng.integers(0, states, size=400)
    counts = transition_counts([path], states)
    found = chain_from_history([path], 50, states, confidence=0.99)
    for x, y in itertools.product(range(states), range(states if states > 2 else 1)):
        low, high = move_interval(int(counts[x, y]), int(counts[x].sum()), 0.01 / pairs)
        # a row's bounds are also what the other entries leave, so they may only be tighter
        assert low - 1e-12 <= found.low[x, y] <= found.high[x, y] <= high + 1e-12
        if states == 2:
            assert (found.low[x, y], found.high[x, y]) == pytest.approx((low, high), rel=1e-6)
    if states == 3:
        narrow = [move_interval(int(counts[x, y]), int(counts[x].sum()), 0.01) for x in range(3) for y in range(3)]
        assert all(found.low.ravel()[j] < low for j, (low, _) in enumerate(narrow))


@pytest.mark.parametrize(("successes", "trials"), [(0, 7), (1, 1), (3, 20), (38, 41), (500, 2000)])
@pytest.mark.parametrize("level", [0.3, 0.01, 1e-9])
def test_the_mixture_reaches_one_over_the_level_at_the_ends(successes: int, trials: int, level: float) -> None:
    """`M = B(c + 1/2, m - c + 1/2) / B(1/2, 1/2) / (p^c (1-p)^(m-c))` in 40 digits: `1/level` at each end inside."""
    with mp.workdps(40):
        half = mp.mpf(1) / 2
        mixture = mp.beta(successes + half, trials - successes + half) / mp.beta(half, half)

        def value(p: float) -> mp.mpf:
            return mixture / (mp.mpf(p) ** successes * (1 - mp.mpf(p)) ** (trials - successes))

        low, high = move_interval(successes, trials, level)
        if successes:
            assert 1 <= value(low) * level <= 1 + 1e-5
        else:
            assert low == 0
        if successes < trials:
            assert 1 <= value(high) * level <= 1 + 1e-3
        else:
            assert high == 1


def test_no_stopping_rule_breaks_the_region() -> None:
    """Exact, by dynamic programming: an adversary stops the history as soon as the region misses the truth."""
    trials = 60
    for p, level in ((0.5, 0.3), (0.1, 0.3), (0.02, 0.1)):
        missing = np.zeros((trials + 1, trials + 1), dtype=bool)
        for m, c in itertools.combinations_with_replacement(range(trials, -1, -1), 2):
            low, high = move_interval(c, m, level)  # c of m moves went there
            missing[m, c] = not low <= p <= high
        ever = missing[trials].astype(float)
        for m in range(trials - 1, -1, -1):
            later = p * ever[1 : m + 2] + (1 - p) * ever[: m + 1]
            ever = np.where(missing[m, : m + 1], 1.0, later)
        assert 0.1 * level < ever[0] <= level
