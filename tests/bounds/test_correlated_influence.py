"""Influence in closed form against matrix powers, enumeration and exact inference; shifts and inflation likewise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from holdfast.bounds.correlated import (
    algorithm_1_epsilon,
    autoregressive_shift,
    birkhoff_influence,
    chain_level,
    equicorrelation_shift,
    ising_influence,
    recommended_threshold,
    spectral_influence,
    two_state_influence,
    two_state_log_ratios,
    variance_inflation,
    windowed_influence,
)
from holdfast.bounds.correlated.thresholdout import chance_overrules
from holdfast.errors import InvalidParameter
from tests.bounds.correlated_laws import enumerated_influence, joint_law, stationary

PAIRS = [(0.1, 0.4), (0.05, 0.05), (0.3, 0.3), (0.9, 0.8), (0.5, 0.9), (0.7, 0.3), (0.01, 0.6)]


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_two_states_against_matrix_powers(p: float, q: float) -> None:
    matrix = np.array([[1 - p, p], [q, 1 - q]])
    for lag in range(1, 12):
        power = np.linalg.matrix_power(matrix, lag)
        ratios = two_state_log_ratios(p, q, lag)
        assert ratios[0] == pytest.approx(np.log(power[0] / power[1]).max(), rel=1e-9, abs=1e-13)
        assert ratios[1] == pytest.approx(np.log(power[1] / power[0]).max(), rel=1e-9, abs=1e-13)


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_two_states_against_enumeration(p: float, q: float) -> None:
    matrix, n = np.array([[1 - p, p], [q, 1 - q]]), 10
    law = joint_law(matrix, stationary(matrix), n)
    record = 4
    for a, b in [(1, 1), (2, 3), (4, 5), (3, 1), (None, 4), (4, None), (None, 1)]:
        quilt = tuple(j for j in (record - a if a else None, record + b if b else None) if j is not None)
        assert two_state_influence(p, q, a, b) == pytest.approx(enumerated_influence(law, record, quilt), rel=1e-9)
    # nothing known between raises it
    most = max(
        enumerated_influence(law, record, (1, 7), known) for known in [(), (2,), (3,), (5,), (6,), (3, 6), (2, 5)]
    )
    assert most <= two_state_influence(p, q, 3, 3) * (1 + 1e-9) + 1e-14


def test_states_that_rule_each_other_out() -> None:
    assert two_state_influence(0.0, 0.0, 1, 1) == math.inf
    assert two_state_influence(1.0, 1.0, 2, 2) == math.inf
    assert two_state_influence(0.3, 0.7, 1, 1) == 0.0
    assert two_state_influence(0.3, 0.3) == 0.0


def _reversible(rng: np.random.Generator, k: int = 3) -> np.ndarray:
    weights = rng.random((k, k)) + 0.1
    weights = weights + weights.T + np.diag(rng.random(k) * 3)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def test_spectral_bound_is_a_bound_and_lemma_4_keeps_its_word() -> None:
    rng = np.random.default_rng(2)
    for _ in range(60):
        matrix = _reversible(rng)
        pi = stationary(matrix)
        values = np.sort(np.abs(np.linalg.eigvals(matrix)))[::-1]
        gap, rarest = float(1 - values[1]), float(pi.min())

        def ratio(lag: int, matrix: np.ndarray = matrix) -> np.ndarray:
            power = np.linalg.matrix_power(matrix, lag)
            return np.array([[np.log(x / y).max() for y in power] for x in power])

        for lag in (2, 5, 9):
            both = (ratio(lag) + ratio(lag)).max()  # reversible: backward ratios are forward ones
            sharp = spectral_influence(gap, rarest, lag, lag)
            assert both <= sharp + 1e-12
            assert sharp <= spectral_influence(gap, rarest, lag, lag, method="paper") + 1e-12
            assert sharp <= spectral_influence(gap, rarest, lag, lag, "any")
            # any start: Bayes' rule with the distribution of a row that has come `lag` steps from the worst start
            for start in np.eye(len(pi)):
                law = start @ np.linalg.matrix_power(matrix, lag)
                power = np.linalg.matrix_power(matrix, lag)
                backward = max(
                    math.log(power[u, x] / power[u, y] * law[y] / law[x])
                    for u, x, y in itertools.product(range(3), repeat=3)
                    if start[u] > 0
                )
                assert backward <= spectral_influence(gap, rarest, before=lag, start="any") + 1e-12
        for epsilon in (0.1, 1.0):
            found = chain_level(epsilon, gap, rarest)
            influence = 2 * ratio(found.d).max()
            assert (2 * found.d - 1) * found.value + 2 * influence <= epsilon
            assert found.value >= chain_level(epsilon, gap, rarest, method="paper").value
            assert found.value >= chain_level(epsilon, gap, rarest, 0.1).value
    assert spectral_influence(0.1, 0.01, 2, 2) == math.inf


def test_birkhoff_holds_whatever_is_known() -> None:
    # path i - u - q with a leaf w on u: known values of w raise the influence (specification, V26)
    rng = np.random.default_rng(9)
    raised = 0
    cases = [(0.02, 0.2, 0.1, 0.9, 0.05, 0.95)] + [tuple(rng.uniform(0.02, 0.98, 6)) for _ in range(100)]
    for number, (u0, u1, q0, q1, w0, w1) in enumerate(cases):
        law: dict[tuple[int, ...], float] = {}
        for i, u, q, w in itertools.product((0, 1), repeat=4):
            pu, pq, pw = (u0, u1)[i], (q0, q1)[u], (w0, w1)[u]
            law[(i, u, q, w)] = 0.5 * (pu if u else 1 - pu) * (pq if q else 1 - pq) * (pw if w else 1 - pw)
        plain, known = enumerated_influence(law, 0, (2,)), enumerated_influence(law, 0, (2,), (3,))
        bound = birkhoff_influence([_diameter(u0, u1), _diameter(q0, q1)])
        assert max(plain, known) <= bound + 1e-12
        raised += known > plain + 1e-9
        if number == 0:
            assert (plain, known, bound) == pytest.approx((0.8070914399, 1.039879815, 2.004420750), rel=1e-9)
    assert raised > 20


def _diameter(a: float, b: float) -> float:
    return abs(math.log(a * (1 - b) / (b * (1 - a))))


def test_ising_against_enumeration() -> None:
    rng = np.random.default_rng(4)
    for _ in range(5):
        couplings = rng.normal(0, 0.4, 4)  # a four-cycle
        law: dict[tuple[int, ...], float] = {}
        for spins in itertools.product((-1, 1), repeat=4):
            energy = sum(couplings[j] * spins[j] * spins[(j + 1) % 4] for j in range(4))
            law[spins] = math.exp(energy)
        found = enumerated_influence(law, 0, (1, 3))
        assert found == pytest.approx(ising_influence([float(couplings[0]), float(couplings[3])]), rel=1e-9)


def test_shifts_against_covariances() -> None:
    for n, phi in ((10, 0.5), (7, 0.9), (1, 0.3)):
        at = np.arange(n)
        covariance = phi ** np.abs(at[:, None] - at[None, :])
        shifts = covariance.sum(axis=0)
        assert autoregressive_shift(n, phi) == pytest.approx(shifts.max(), rel=1e-12)
        for i in range(n):
            assert autoregressive_shift(n, phi, i + 1) == pytest.approx(shifts[i], rel=1e-12)
        assert np.all(np.linalg.inv(covariance)[~np.eye(n, dtype=bool)] <= 1e-9), "no positive entry off the diagonal"
    assert autoregressive_shift(10**18, 0.5) == pytest.approx(3.0)
    assert equicorrelation_shift(5, 0.3) == pytest.approx(2.2)


def test_window_is_the_log_ratio_in_its_corners() -> None:
    phi, lag, radius = 0.6, 2, 1.5
    a = phi**lag

    def log_density(y: float, x: float) -> float:
        return -((y - a * x) ** 2) / (2 * (1 - a * a))

    grid = np.linspace(-radius, radius, 41)
    found = max(log_density(y, x) - log_density(y, z) for y, x, z in itertools.product(grid, repeat=3))
    assert windowed_influence(phi, lag, radius) == pytest.approx(found, rel=1e-9)


def test_inflation_is_the_variance_of_a_mean() -> None:
    for product in (0.49, -0.3, 0.9):
        n = 5000
        lags = np.arange(1, n)
        exact = 1 + 2 * np.sum((1 - lags / n) * product**lags)
        assert variance_inflation(product) == pytest.approx(exact, rel=0.01)
    assert variance_inflation(0.7, 0.0) == pytest.approx(1.0)
    assert recommended_threshold(10_000) == pytest.approx(0.04)


def test_threshold_for_questions_is_where_chance_stops() -> None:
    """The closed form of the tail against quadrature, and the returned threshold against its own definition."""
    for deviation, sigma in ((0.0242, 0.0025), (1.0, 3.0), (2.0, 0.01)):
        for at in (0.0, 0.5, 2.0, 4.0):
            t = at * (deviation + sigma)
            x = np.linspace(-60 * sigma, 60 * sigma, 20_001)
            law = (2 * np.exp(-np.abs(x) / (2 * sigma)) - np.exp(-np.abs(x) / sigma)) / (6 * sigma)
            tail = np.array([0.5 * math.erfc((t - y) / (deviation * math.sqrt(2))) for y in x])
            found = float(np.sum(law * tail) * (x[1] - x[0]))
            assert chance_overrules(t, deviation, sigma) == pytest.approx(found, rel=2e-4)
    for n, inflation, questions in ((10_000, 2.92, 10_012), (400, 1.0, 5), (10**9, 50.0, 10**7)):
        threshold = recommended_threshold(n, inflation, questions=questions)
        deviation, sigma = math.sqrt(2 * inflation / n), 0.25 / math.sqrt(n)
        assert 2 * questions * chance_overrules(threshold, deviation, sigma) == pytest.approx(0.05, rel=1e-6)
        assert recommended_threshold(n, inflation, questions=10 * questions) > threshold
        assert recommended_threshold(n, inflation, questions=questions, false_alarms=0.2) < threshold
        assert recommended_threshold(n, inflation, questions=questions, sigma=4 * sigma) > threshold
    with pytest.raises(InvalidParameter, match="questions must"):
        recommended_threshold(100, questions=0)
    with pytest.raises(InvalidParameter, match="false_alarms must"):
        recommended_threshold(100, questions=5, false_alarms=1.5)


def test_cost_of_algorithm_1_by_its_scales() -> None:
    assert algorithm_1_epsilon(10, 0.01, 5000) == pytest.approx(9 * 10 / (4 * 0.01 * 5000))
    assert algorithm_1_epsilon(1, 1.0, sensitivity=1.0, threshold=2, comparison=4, release=1) == pytest.approx(2.0)
    with pytest.raises(InvalidParameter, match="n was not given"):
        algorithm_1_epsilon(10, 0.01)
