"""Where chains are easiest to get wrong: supports that shrink, distributions that settle late, quilts longer on one
side."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from holdfast.bounds.correlated import effective_n_chain
from holdfast.correlated import MarkovChain
from holdfast.correlated.chains.markov import InhomogeneousChain

#: Two states that are left at once and never met again, after which rows are independent.
LEFT_AT_ONCE = [[0.549, 0.451, 0, 0], [0.549, 0.451, 0, 0], [0.5, 0.5, 0, 0], [0.99, 0.01, 0, 0]]
RARE = [0, 0, 0.9, 0.1]


def ratio(top: float, bottom: float) -> float:
    """`ln(top/bottom)`; what cannot happen never wins, what cannot happen below is infinite."""
    if top <= 0:
        return -math.inf
    return math.inf if bottom <= 0 else math.log(top / bottom)


def surcharge(matrix: np.ndarray, start: np.ndarray, n: int, record: int, a: int, b: int, sharp: bool) -> float:
    """Influence and sharp surcharge as 2.4 and 3.3 of the specification print them; lags beyond the ends drop out."""
    powers = [np.linalg.matrix_power(matrix, t) for t in range(n + 1)]
    laws = [start @ power for power in powers]
    states = range(len(matrix))

    def back(lag: int, x: int, y: int) -> float:
        return max(ratio(powers[lag][u, x], powers[lag][u, y]) for u in states if laws[record - lag][u] > 0)

    def ahead(lag: int, x: int, y: int) -> float:
        return max(ratio(powers[lag][x, v], powers[lag][y, v]) for v in states)

    worst = 0.0
    for x, y in itertools.permutations([s for s in states if laws[record][s] > 0], 2):
        total = 0.0
        if a <= record:
            prior = math.log(laws[record][y] / laws[record][x])
            if sharp and a < record:
                prior = max(prior, back(a + 1, y, x))
            total += back(a, x, y) + prior
        if record + b < n:
            total += ahead(b, x, y)
            if sharp and record + b + 1 < n:
                total += ahead(b + 1, y, x)
        worst = max(worst, total)
    return worst


def chains() -> list[tuple[np.ndarray, np.ndarray, int]]:
    rng = np.random.default_rng(5)
    found = [(np.array(LEFT_AT_ONCE), np.array(RARE), 9)]
    for _ in range(12):
        states, n = int(rng.integers(2, 5)), int(rng.integers(3, 9))
        matrix = rng.dirichlet(np.ones(states), size=states)
        gone = rng.random((states, states)) < 0.3
        matrix = np.where(gone & ~np.eye(states, dtype=bool), 0.0, matrix)
        start = rng.dirichlet(np.ones(states)) * (rng.random(states) < 0.7)
        start = start if start.sum() else np.eye(states)[0]
        found.append((matrix / matrix.sum(axis=1, keepdims=True), start / start.sum(), n))
    # everything flows from the last state to the first: supports shrink as well as grow
    flow = np.array([[0.7, 0.3, 0, 0], [0.2, 0.8, 0, 0], [0.1, 0.9, 0, 0], [0.6, 0.1, 0.3, 0]])
    return [*found, (flow, np.array([0, 0, 0.5, 0.5]), 8), (flow, np.array([0.3, 0, 0, 0.7]), 8)]


@pytest.mark.parametrize(("matrix", "start", "n"), chains())
def test_every_quilt_of_every_record(matrix: np.ndarray, start: np.ndarray, n: int) -> None:
    chain = MarkovChain(matrix, n, start)
    for record in range(n):
        for a, b in itertools.product(range(1, record + 2), range(1, n - record + 1)):
            found = chain.quilt(record, a if a <= record else None, b if record + b < n else None)
            plain = surcharge(matrix, start, n, record, a, b, sharp=False)
            sharp = surcharge(matrix, start, n, record, a, b, sharp=True)
            assert found.influence == pytest.approx(plain, rel=1e-9, abs=1e-9)
            assert found.surcharge("sharp") == pytest.approx(min(sharp, 2 * plain), rel=1e-9, abs=1e-9)
            assert found.size == a + b - 1


@pytest.mark.parametrize(("matrix", "start", "n"), chains())
@pytest.mark.parametrize(("left", "right"), [(1, 1), (1, 3), (3, 1), (2, 2)])
def test_terms_hold_for_every_record(matrix: np.ndarray, start: np.ndarray, n: int, left: int, right: int) -> None:
    found = MarkovChain(matrix, n, start).terms(left, right)
    plain, sharp = (max(surcharge(matrix, start, n, i, left, right, kind) for i in range(n)) for kind in (False, True))
    assert found.influence == pytest.approx(plain, rel=1e-9, abs=1e-9)
    assert found.surcharge == pytest.approx(min(sharp, 2 * plain), rel=1e-9, abs=1e-9)
    assert found.size == max(min(left, i + 1) + min(right, n - i) - 1 for i in range(n))
    # no two records of a residue class lie between each other's quilt
    for i, j in itertools.combinations(range(n), 2):
        if (j - i) % found.classes == 0:
            assert not i - min(left, i + 1) < j < i + min(right, n - i)
            assert not j - min(left, j + 1) < i < j + min(right, n - j)
    assert found.classes <= max(left, right)


def test_a_record_just_after_the_law_has_settled_may_be_the_worst() -> None:
    """The distribution of record 1 is the long-run distribution already, but what record 0 was is still written all
    over it."""
    chain = MarkovChain(LEFT_AT_ONCE, 1000, RARE)
    assert chain.tables.settled.since == 1
    by_record = [chain.best_quilt(record, 10.0).epsilon_dp(10.0) for record in range(6)]
    assert by_record[1] == min(by_record) < by_record[0] < by_record[2]
    assert chain.worst_quilt(10.0).record == 1
    assert chain.epsilon_dp(10.0) == pytest.approx(10 - math.log(99 * 0.451 / 0.549), rel=1e-9)
    assert chain.epsilon_bdp(6.0) == pytest.approx(6 + math.log(99 * 0.451 / 0.549), rel=1e-9)


def test_the_stationary_size_is_for_stationary_starts_only() -> None:
    """From another start the tail has a ratio in front, which an effective size alone cannot carry."""
    meter = [[0.9, 0.1], [0.4, 0.6]]
    started = MarkovChain(meter, 3000, [1, 0]).effective_n()
    assert started == pytest.approx(effective_n_chain(3000, [0.5]), rel=1e-6)
    assert started < 0.95 * MarkovChain(meter, 3000).effective_n()


def test_an_inhomogeneous_chain_forgets_by_its_own_products() -> None:
    """`delta_t` is the largest distance over all start times between rows of the product of those `t` steps."""
    rng = np.random.default_rng(12)
    for _ in range(5):
        n = 9
        steps = [0.5 * rng.dirichlet(np.ones(3), size=3) + 0.5 * np.eye(3)[rng.permutation(3)] for _ in range(n - 1)]
        deltas = []
        for t in range(1, n):
            products = [np.linalg.multi_dot([np.eye(3), *steps[j : j + t]]) for j in range(n - t)]
            deltas.append(max(np.abs(p[:, None] - p[None]).sum(axis=2).max() / 2 for p in products))
        found = InhomogeneousChain(steps, [0.2, 0.3, 0.5]).effective_n()
        assert found == pytest.approx(effective_n_chain(n, deltas), rel=1e-6)
        assert found <= effective_n_chain(n, deltas)
