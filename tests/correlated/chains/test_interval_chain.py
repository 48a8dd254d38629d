"""Classes of chains between bounds cover every member, and bounds from history have their confidence."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from holdfast.correlated import InhomogeneousChain, IntervalChain, MarkovChain, certify, chain_from_history
from holdfast.correlated.chains.interval import move_interval, transition_counts
from holdfast.errors import InvalidParameter

FIXED = settings(max_examples=12, deadline=None, derandomize=True)


def member(low: np.ndarray, high: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random matrix between the bounds: from the lower ones up, in random order."""
    matrix = low.copy()
    for row, top in zip(matrix, high, strict=True):
        for j in rng.permutation(len(row)):
            room = min(top[j] - row[j], 1 - row.sum())
            row[j] += room * rng.choice([0.3, 1.0])
        for j in rng.permutation(len(row)):
            row[j] += min(top[j] - row[j], max(1 - row.sum(), 0.0))
    return matrix / matrix.sum(axis=1, keepdims=True)


@FIXED
@given(st.integers(0, 10**6), st.integers(2, 4), st.floats(0.0, 0.1))
def test_bounds_cover_every_member(seed: int, states: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    centre = rng.dirichlet(np.full(states, 2.0), states) * 0.9 + 0.1 / states
    low, high = np.clip(centre - spread * centre, 0, 1), np.clip(centre + spread, 0, 1)
    n = 14
    whole = IntervalChain(low, high, n)
    steps = [member(whole.low, whole.high, rng) for _ in range(n - 1)]
    chain = InhomogeneousChain(steps, rng.dirichlet(np.ones(states)))
    for record, left, right in ((6, 1, 1), (6, 2, 3), (6, None, 4), (9, 5, None)):
        quilt = chain.quilt(record, left, right)
        bound = whole.influence(record, quilt.quilt)
        assert quilt.influence <= bound * (1 + 1e-9) + 1e-12
        assert quilt.sharp <= bound * (1 + 1e-9) + 1e-12  # the sharp surcharge is at most one distance a side
        assert chain.influence(record, quilt.quilt, {0, 13} - set(quilt.quilt)) <= bound * (1 + 1e-9) + 1e-12
    for rule in ("sharp", "two", "paper"):
        assert whole.epsilon_dp(1.0, rule) <= chain.epsilon_dp(1.0, rule) * (1 + 1e-9)
        assert whole.epsilon_bdp(0.1, rule) >= chain.epsilon_bdp(0.1, rule) * (1 - 1e-9)
    assert whole.effective_n() <= chain.effective_n() * (1 + 1e-6)


def test_a_point_is_near_the_exact_chain() -> None:
    matrix = np.array([[0.9, 0.1], [0.4, 0.6]])
    point, exact = IntervalChain(matrix, matrix, 1000), MarkovChain(matrix, 1000)
    assert exact.noise_scale(1.0) <= point.noise_scale(1.0) <= 1.35 * exact.noise_scale(1.0)
    assert point.diameters[0] == pytest.approx(math.log(0.9 * 0.6 / (0.1 * 0.4)))
    assert point.epsilon_bdp(point.epsilon_dp(1.0)) == pytest.approx(1.0, rel=1e-9)
    wide = IntervalChain(matrix - 0.02, matrix + 0.02, 1000)
    assert wide.noise_scale(1.0) > point.noise_scale(1.0)
    assert wide.worst_quilt(1.0, "two").score(1.0, "two") <= wide.worst_quilt(1.0, "paper").score(1.0, "paper")


def test_terms_bound_every_record() -> None:
    whole = IntervalChain([[0.88, 0.08], [0.35, 0.55]], [[0.92, 0.12], [0.45, 0.65]], 100)
    terms, chain = whole.terms(8, 7), MarkovChain([[0.9, 0.1], [0.4, 0.6]], 100, [1.0, 0.0])
    exact = chain.terms(8, 7)
    assert (terms.size, terms.colours) == (exact.size, exact.colours) == (14, 8)
    assert exact.influence <= terms.influence <= terms.epsilon_bdp(0.0) <= 2 * terms.influence
    assert exact.epsilon_bdp(0.01) <= terms.epsilon_bdp(0.01)


def test_short_series_are_scanned() -> None:
    whole = IntervalChain([[0.8, 0.1], [0.3, 0.6]], [[0.9, 0.2], [0.4, 0.7]], 17)
    every = max(whole.best_quilt(record, 1.0).score(1.0) for record in range(17))
    assert whole.worst_quilt(1.0).score(1.0) == pytest.approx(every, rel=1e-9)


def test_zeros_in_one_step_may_vanish_in_two() -> None:
    ring = IntervalChain([[0.4, 0.4, 0.0], [0.0, 0.4, 0.4], [0.4, 0.0, 0.4]], np.full((3, 3), 0.6), 1000)
    assert ring.diameters[0] == math.inf
    assert math.isfinite(ring.diameters[1])
    assert ring.worst_quilt(1.0).size < 200
    assert not ring.notes()
    stuck = IntervalChain([[0.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]], 30)
    assert stuck.epsilon_dp(1.0) == pytest.approx(1 / 30)
    assert stuck.effective_n() == 1.0
    assert any("declare blocks" in note for note in certify(stuck, epsilon_bdp=1.0).warnings)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        ([[0.6, 0.6], [0, 0]], [[0.7, 0.7], [1, 1]], "no probabilities between them sum to 1"),
        ([[0.1, 0.1], [0, 0]], [[0.2, 0.2], [1, 1]], "no probabilities between them sum to 1"),
        ([[0.5, 0.1], [0, 0]], [[0.4, 0.9], [1, 1]], "low must not be above high"),
        ([[0.5, 0.1]], [[0.9, 0.9]], "square matrices"),
        ([[-0.1, 0.1], [0, 0]], [[0.9, 0.9], [1, 1]], "probabilities in"),
    ],
)
def test_wrong_bounds(low: object, high: object, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        IntervalChain(low, high, 10)


@pytest.mark.parametrize(("p", "visits"), [(0.1, 400), (0.5, 60), (0.003, 300)])
def test_intervals_hold_however_the_history_is_stopped(p: float, visits: int) -> None:
    """An adversary stops the history as soon as the true value is outside: still at most `level` of the time.

    10,000 histories, level 0.05. If the chance were 0.05 or less, more than 645 failures have probability below 1e-9.
    The same adversary beats an interval that is right for a fixed number of trials.
    """
    level, runs = 0.05, 10_000
    rng = np.random.default_rng(7)
    counts = (rng.random((runs, visits)) < p).cumsum(axis=1)
    wrong, naive = np.zeros(runs, dtype=bool), np.zeros(runs, dtype=bool)
    for trials in range(1, visits + 1):
        allowed = np.array([_inside(p, c, trials, level) for c in range(trials + 1)])
        wrong |= ~allowed[counts[:, trials - 1]]
        lower, upper = binom.ppf(level / 2, trials, p), binom.ppf(1 - level / 2, trials, p)
        naive |= (counts[:, trials - 1] < lower) | (counts[:, trials - 1] > upper)
    limit = binom.isf(1e-9, runs, level)
    assert wrong.sum() <= limit < naive.sum()


def _inside(p: float, successes: int, trials: int, level: float) -> bool:
    """The mixture's own inequality, written out; `move_interval` inverts it."""
    from scipy.special import betaln

    mixture = betaln(successes + 0.5, trials - successes + 0.5) - betaln(0.5, 0.5)
    return bool(mixture - successes * math.log(p) - (trials - successes) * math.log1p(-p) < -math.log(level))


@FIXED
@given(st.integers(0, 500), st.integers(0, 500), st.floats(1e-6, 0.5), st.floats(1e-4, 1 - 1e-4))
def test_interval_is_the_inverse_of_the_mixture(c: int, rest: int, level: float, p: float) -> None:
    low, high = move_interval(c, c + rest, level)
    if _inside(p, c, c + rest, level):
        assert low <= p <= high
    elif not (abs(p - low) < 1e-6 * p or abs(p - high) < 1e-6 * p):
        assert p < low or p > high
    wider = move_interval(c, c + rest, level / 2)
    assert wider[0] <= low
    assert wider[1] >= high


def test_history_covers_the_chain() -> None:
    """200 histories at confidence 0.9: more than 45 misses would have probability below 1e-6."""
    matrix = np.array([[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.1, 0.8]])
    rng, missed = np.random.default_rng(3), 0
    for _ in range(200):
        path = [0]
        for u in rng.random(400):
            path.append(int(np.searchsorted(matrix[path[-1]].cumsum(), u, side="right").clip(0, 2)))
        missed += not chain_from_history([path], 100, 3, 0.9).contains(matrix)
    assert missed <= 45
    short, long = (chain_from_history([path * times], 100, 3, 0.9) for times in (1, 20))
    assert (long.high - long.low < short.high - short.low).all()


def test_history_carries_its_confidence() -> None:
    rng, path = np.random.default_rng(1), [0]
    for u in rng.random(50_000):
        path.append(int(u < (0.1, 0.6)[path[-1]]))
    found = chain_from_history([path[:30_000], path[30_000:]], 1000, 2, confidence=0.95)
    certificate = certify(found, epsilon_bdp=1.0)
    assert certificate.confidence == 0.95 == certificate.to_dict()["confidence"]
    assert any("probability 0.95" in warning for warning in certificate.warnings)
    exact = MarkovChain([[0.9, 0.1], [0.4, 0.6]], 1000).noise_scale(1.0)
    assert exact < found.noise_scale(1.0) < 1.7 * exact
    unseen = chain_from_history([[0, 1, 0, 1]], 20, 3)
    assert unseen.epsilon_dp(1.0) == pytest.approx(1 / 20)


@pytest.mark.parametrize("history", [[[0, 5]], [[0.5, 1.0]], np.array([0, 1, 0]), [[[0, 1]]], [[-1, 0]]])
def test_wrong_history(history: object) -> None:
    with pytest.raises(InvalidParameter):
        transition_counts(history, 2)
