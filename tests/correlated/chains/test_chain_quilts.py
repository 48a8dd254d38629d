"""The quilt search is exact, and the conversions it gives are inverse, monotone and ordered."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.correlated import InhomogeneousChain, MarkovChain
from holdfast.correlated.chains.model import LevelAt, NoiseAt, best_lags
from holdfast.correlated.chains.transition import stationary_law
from tests.correlated.chains import oracles as oracle
from tests.correlated.chains.test_chain import CH1, random_chain

FIXED = settings(max_examples=12, deadline=None, derandomize=True)
RULES = ("sharp", "two", "paper")


def score(epsilon: float):
    return lambda size, w: size / (epsilon - w) if w < epsilon else math.inf


@pytest.mark.parametrize("seed", range(6))
def test_worst_record_against_exhaustive_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, states = (9, 2) if seed % 2 else (6, 3)
    matrix = random_chain(rng, states, zeros=seed in (3, 4))
    law = rng.dirichlet(np.ones(states)) if seed % 3 else stationary_law(matrix)
    chain = MarkovChain(matrix, n, law if seed % 3 else "stationary")
    table = oracle.joint([chain.matrix] * (n - 1), law)
    for epsilon in (0.3, 1.0, 4.0):
        for rule, times in (("two", 2.0), ("paper", 4.0)):
            expected = oracle.exhaustive(table, score(epsilon), times)
            assert chain.worst_quilt(epsilon, rule).score(epsilon, rule) == pytest.approx(expected, rel=1e-9)
            level = oracle.exhaustive(table, lambda size, w, e=epsilon: size * e + w, times)
            assert chain.epsilon_bdp(epsilon, rule) == pytest.approx(level, rel=1e-9)
        expected = oracle.exhaustive(table, score(epsilon), 1.0)
        quilt = chain.markov_quilt(epsilon)
        assert quilt.size / (epsilon - quilt.influence) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_sharp_against_exhaustive_search(seed: int) -> None:
    rng = np.random.default_rng(100 + seed)
    n = 25
    steps = [random_chain(rng, 2) * 0.3 + 0.35 for _ in range(n - 1)]
    steps = [step / step.sum(axis=1, keepdims=True) for step in steps]
    start = np.array([0.9, 0.1])
    for chain, used in (
        (InhomogeneousChain(steps, start), steps),
        (MarkovChain(steps[0], n, start), [steps[0]] * (n - 1)),
    ):
        worst = 0.0
        for record in range(0, n, 3):
            found = []
            for a, b, size in oracle.all_quilts(n, record):
                w = 0.0 if a is None and b is None else oracle.sharp(used, start, record, a, b)
                found.append(score(0.8)(size, w))
            assert chain.best_quilt(record, 0.8).score(0.8) == pytest.approx(min(found), rel=1e-9)
            worst = max(worst, min(found))
        assert chain.worst_quilt(0.8).score(0.8) >= worst * (1 - 1e-9)
        every = max(chain.best_quilt(record, 0.8).score(0.8) for record in range(n))
        assert chain.worst_quilt(0.8).score(0.8) == pytest.approx(every, rel=1e-9)


@pytest.mark.parametrize(
    ("n", "start"),
    [
        (3, "stationary"),
        (3, [1.0, 0.0, 0.0]),
        (20, "stationary"),
        (20, [1.0, 0.0, 0.0]),
        (20, [0.2, 0.3, 0.5]),
        (60, [0.2, 0.3, 0.5]),
    ],
)
def test_worst_record_is_the_worst_of_all(n: int, start: object) -> None:
    matrix = [[0.95, 0.04, 0.01], [0.02, 0.97, 0.01], [0.1, 0.1, 0.8]]
    chain = MarkovChain(matrix, n, start)
    for rule in RULES[: 1 if n > 50 else 3]:
        every = max(chain.best_quilt(record, 1.0, rule).score(1.0, rule) for record in range(n))
        assert chain.worst_quilt(1.0, rule).score(1.0, rule) == pytest.approx(every, rel=1e-9)
        every = max(chain.cheapest_quilt(record, 0.02, rule).epsilon_bdp(0.02, rule) for record in range(n))
        assert chain.epsilon_bdp(0.02, rule) == pytest.approx(every, rel=1e-9)


def test_periodic_and_sparse_starts_are_scanned() -> None:
    periodic = [[0.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.2, 0.8], [0.5, 0.5, 0.0, 0.0], [0.7, 0.3, 0.0, 0.0]]
    chain = MarkovChain(periodic, 41, [0.5, 0.5, 0.0, 0.0])
    every = max(chain.best_quilt(record, 2.0).score(2.0) for record in range(41))
    assert chain.worst_quilt(2.0).score(2.0) == pytest.approx(every, rel=1e-9)
    assert chain.worst_quilt(2.0).size < 41  # the class of a record is known, so zeros across classes cost nothing


@FIXED
@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 40), st.floats(0.05, 5.0))
def test_rectangles_find_the_exact_minimum(seed: int, left: int, right: int, epsilon: float) -> None:
    rng = np.random.default_rng(seed)
    sides = [np.concatenate([np.sort(rng.exponential(2.0, room - 1))[::-1], [0.0]]) for room in (left, right)]

    def surcharge(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return sides[0][a - 1] + sides[1][b - 1]

    for price in (NoiseAt(epsilon), LevelAt(epsilon)):
        a, b = (grid.ravel() for grid in np.meshgrid(np.arange(1, left + 1), np.arange(1, right + 1)))
        expected = price((a + b - 1).astype(float), surcharge(a, b)).min()
        assert best_lags(0, left, right, surcharge, price).price == pytest.approx(expected, rel=1e-12)


def test_ties_go_to_the_shorter_left_side() -> None:
    quilt = MarkovChain([[0.7, 0.3], [0.3, 0.7]], 101).best_quilt(50, 1.3, "two")
    a, b = quilt.record - quilt.quilt[0], quilt.quilt[1] - quilt.record
    assert a <= b


@FIXED
@given(st.floats(0.05, 0.9), st.floats(0.05, 0.9), st.floats(0.05, 3.0), st.integers(2, 2000))
def test_conversions(p: float, q: float, epsilon: float, n: int) -> None:
    chain = MarkovChain([[1 - p, p], [q, 1 - q]], n)
    levels = {rule: chain.epsilon_dp(epsilon, rule) for rule in RULES}
    # a smaller surcharge leaves more
    assert levels["paper"] <= levels["two"] * (1 + 1e-12)
    assert levels["two"] <= levels["sharp"] * (1 + 1e-12)
    for rule, level in levels.items():
        assert epsilon / n * (1 - 1e-9) <= level <= epsilon  # between group privacy and independence
        assert chain.epsilon_bdp(level, rule) == pytest.approx(epsilon, rel=1e-9)
        assert chain.epsilon_dp(1.1 * epsilon, rule) >= level
        assert chain.epsilon_bdp(1.1 * level, rule) >= epsilon * (1 - 1e-9)
    assert chain.noise_scale(epsilon, 2.0) == pytest.approx(2 / levels["sharp"], rel=1e-9)


@FIXED
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_surcharges_are_ordered(seed: int, states: int) -> None:
    rng = np.random.default_rng(seed)
    chain = MarkovChain(random_chain(rng, states), 30, rng.dirichlet(np.ones(states)))
    for left, right in ((1, 1), (2, 5), (None, 3), (4, None)):
        quilt = chain.quilt(12, left, right)
        assert quilt.influence <= quilt.sharp + 1e-12 <= 2 * quilt.influence + 2e-12
        assert quilt.surcharge("sharp") <= quilt.surcharge("two") <= quilt.surcharge("paper")


def test_terms_hold_for_every_record() -> None:
    for start in ("stationary", [1.0, 0.0]):
        chain = MarkovChain(CH1, 70, start)
        terms = chain.terms(6, 6)
        assert (terms.size, terms.colours) == (11, 6)
        quilts = [chain.quilt(i, 6 if i >= 6 else None, 6 if i < 64 else None) for i in range(70) if chain._pairs(i)]
        assert terms.influence >= max(quilt.influence for quilt in quilts) - 1e-15
        assert terms.influence == pytest.approx(max(quilt.influence for quilt in quilts), rel=1e-9)
        assert terms.surcharge == pytest.approx(max(quilt.surcharge() for quilt in quilts), rel=1e-9)
    long = MarkovChain(CH1, 10**6).terms(17, 17)  # V32
    assert (long.size, long.influence) == (33, pytest.approx(7.629307222e-5, rel=1e-8))


def test_planning_does_not_depend_on_n() -> None:
    scales = {MarkovChain(CH1, n).noise_scale(1.0) for n in (100, 10**4, 10**6, 10**12)}
    assert len(scales) == 1


@pytest.mark.parametrize("stay", [0.9, 0.99, 0.999])
def test_slow_chains(stay: float) -> None:
    """A slow chain's quilt is long; the search still evaluates about as many pairs as the quilt is long."""
    chain = MarkovChain([[stay, 1 - stay], [1 - stay, stay]], 10**6)
    quilt = chain.worst_quilt(1.0)
    lam = 2 * stay - 1
    a, b = quilt.record - quilt.quilt[0], quilt.quilt[1] - quilt.record
    assert quilt.influence == pytest.approx(2 * math.atanh(lam**a) + 2 * math.atanh(lam**b), rel=1e-7)
    for da, db in ((1, 0), (0, 1), (-1, 0), (0, -1), (1, -1), (5, 5), (-5, -5)):
        if a + da >= 1 and b + db >= 1:
            near = chain.quilt(quilt.record, a + da, b + db)
            assert near.score(1.0) >= quilt.score(1.0) * (1 - 1e-9)
