"""Chains: vectors, closed forms, matrix powers and full enumeration agree; wrong input is refused."""

from __future__ import annotations

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.correlated import InhomogeneousChain, MarkovChain
from holdfast.correlated.chains.model import log_ratios
from holdfast.correlated.chains.transition import Powers, stationary_law
from holdfast.errors import InvalidParameter
from tests.correlated.chains import oracles as oracle

CH1 = [[0.9, 0.1], [0.4, 0.6]]
FIXED = settings(max_examples=25, deadline=None, derandomize=True)


def random_chain(rng: np.random.Generator, states: int, zeros: bool = False) -> np.ndarray:
    matrix = rng.dirichlet(np.full(states, 0.8), states) + 0.02
    if zeros:
        matrix = matrix * (rng.random((states, states)) > 0.3) + np.roll(np.eye(states), 1, axis=1) * 0.1
    return matrix / matrix.sum(axis=1, keepdims=True)


def two_state(p: float, q: float, lag: int) -> tuple[float, float]:
    """F_t(0,1) and F_t(1,0) in closed form, for either sign of 1 - p - q."""
    lam, pi = (1 - p - q) ** lag, (q / (p + q), p / (p + q))
    rows = ((pi[0] + pi[1] * lam, pi[1] - pi[1] * lam), (pi[0] - pi[0] * lam, pi[1] + pi[0] * lam))
    return (
        max(math.log(a / b) for a, b in zip(*rows, strict=True)),
        max(math.log(b / a) for a, b in zip(*rows, strict=True)),
    )


@pytest.mark.parametrize(
    ("lag", "expected"),
    [
        (1, (0.8109302162, 1.791759469)),
        (2, (0.3483066943, 0.9808292530)),
        (5, (0.03953083876, 0.1495317340)),
    ],
)
def test_forward_ratios(lag: int, expected: tuple[float, float]) -> None:  # V12
    found = log_ratios(*Powers(np.array(CH1)).at([lag]))[0]
    assert (found[0, 1], found[1, 0]) == pytest.approx(expected, rel=1e-9)
    assert two_state(0.1, 0.4, lag) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (1, 1, 3.583518938),
        (5, 5, 0.2990634679),
        (3, 7, 0.5776113369),
        (8, 8, 0.03883617171),
        (None, 5, 0.1495317340),
    ],
)
def test_interior_influence(left: int | None, right: int, expected: float) -> None:  # V13
    assert MarkovChain(CH1, 100).quilt(50, left, right).influence == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("epsilon", "rule", "lags", "score"),
    [
        (1.0, "two", 7, 15.37477816),
        (1.0, "paper", 8, 17.75872331),
        (1.0, "sharp", 6, 13.29039734),
        (0.5, "two", 8, 35.51744662),
        (0.5, "paper", 9, 40.27456853),
    ],
)
def test_optimum(epsilon: float, rule: str, lags: int, score: float) -> None:  # V15-V17
    chain = MarkovChain(CH1, 1000)
    quilt = chain.worst_quilt(epsilon, rule)
    assert tuple(quilt.quilt) == (quilt.record - lags, quilt.record + lags)
    assert quilt.score(epsilon, rule) == pytest.approx(score, rel=1e-9)
    assert chain.epsilon_dp(epsilon, rule) == pytest.approx(1 / score, rel=1e-9)
    assert chain.noise_scale(epsilon, 3.0, rule) == pytest.approx(3 * score, rel=1e-9)


@pytest.mark.parametrize(("epsilon", "lags", "score"), [(1.0, 5, 12.83996423), (0.5, 7, 30.74955631)])
def test_pufferfish_optimum(epsilon: float, lags: int, score: float) -> None:  # V14, V17
    quilt = MarkovChain(CH1, 1000).markov_quilt(epsilon)
    assert tuple(quilt.quilt) == (quilt.record - lags, quilt.record + lags)
    assert quilt.size / (epsilon - quilt.influence) == pytest.approx(score, rel=1e-9)


def test_sharp_surcharge() -> None:  # V16
    chain = MarkovChain(CH1, 100)
    assert chain.quilt(50, 5, 5).surcharge("sharp") == pytest.approx(0.3383574627, rel=1e-9)
    assert chain.quilt(50, 7, 7).surcharge("sharp") == pytest.approx(0.08700964284, rel=1e-9)


def test_symmetric_chain() -> None:  # V21
    found = MarkovChain([[0.95, 0.05], [0.05, 0.95]], 200).quilt(100, 40, 40).influence
    assert found == pytest.approx(0.05912783799, rel=1e-9) == 4 * math.atanh(0.9**40)


def test_song_running_example() -> None:  # V22
    first = MarkovChain(CH1, 100, [1, 0], respect_support=False).markov_quilt(1.0)
    assert (first.record, tuple(first.quilt), first.size) == (7, (2, 12), 9)
    assert first.influence == pytest.approx(0.3088578655, rel=1e-9)
    assert first.size / (1 - first.influence) == pytest.approx(13.02192350, rel=1e-9)
    aware = MarkovChain(CH1, 100, [1, 0]).markov_quilt(1.0)
    assert aware.size / (1 - aware.influence) == pytest.approx(12.93405109, rel=1e-9)
    second = MarkovChain([[0.8, 0.2], [0.3, 0.7]], 100, [0.9, 0.1]).markov_quilt(1.0)
    assert (second.record, tuple(second.quilt)) == (5, (9,))
    assert second.influence == pytest.approx(0.1541506798, rel=1e-9)
    assert second.size / (1 - second.influence) == pytest.approx(10.64019298, rel=1e-9)


@FIXED
@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98), st.integers(1, 9), st.integers(1, 9))
def test_powers_and_closed_forms(p: float, q: float, a: int, b: int) -> None:
    if abs(1 - p - q) < 1e-3:
        return
    chain = MarkovChain([[1 - p, p], [q, 1 - q]], 30)
    left, right = two_state(p, q, a), two_state(p, q, b)
    expected = max(left[0] + right[0], left[1] + right[1])
    assert chain.quilt(15, a, b).influence == pytest.approx(expected, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("n", [2, 4, 7, 10])
def test_two_states_against_enumeration(n: int) -> None:
    rng = np.random.default_rng(n)
    for start in ("stationary", [0.3, 0.7], [1.0, 0.0]):
        matrix = random_chain(rng, 2)
        chain = MarkovChain(matrix, n, start)
        law = stationary_law(chain.matrix) if isinstance(start, str) else np.array(start)
        table = oracle.joint([chain.matrix] * (n - 1), law)
        for record in {0, n // 2, n - 1}:
            for a, b, size in oracle.all_quilts(n, record):
                quilt = chain.quilt(record, a, b)
                expected = oracle.influence(table, record, quilt.quilt)
                assert quilt.size == size or not chain._pairs(record)
                assert quilt.influence == pytest.approx(expected, rel=1e-9, abs=1e-12)
                assert quilt.influence >= expected - 1e-15


@pytest.mark.parametrize("seed", range(6))
def test_any_sets_against_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, states = 5, 2 + seed % 2
    steps = [random_chain(rng, states, zeros=seed >= 3) for _ in range(n - 1)]
    start = rng.dirichlet(np.ones(states)) if seed != 4 else np.eye(states)[0]
    models = [(InhomogeneousChain(steps, start), steps), (MarkovChain(steps[0], n, start), [steps[0]] * (n - 1))]
    for chain, used in models:
        table = oracle.joint(used, start)
        for record in (1, 2, 4):
            others = [j for j in range(n) if j != record]
            for parts in itertools.product((0, 1, 2), repeat=n - 1):
                quilt = [j for j, part in zip(others, parts, strict=True) if part == 1]
                known = [j for j, part in zip(others, parts, strict=True) if part == 2]
                expected = oracle.influence(table, record, quilt, known)
                assert chain.influence(record, quilt, known) == pytest.approx(expected, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_known_is_worst_on_chains(seed: int) -> None:
    """Specification 2.4: with the nearby set strictly between the quilt's records, L = empty attains the maximum."""
    rng = np.random.default_rng(seed)
    chain = MarkovChain(random_chain(rng, 2 + seed % 2), 6, "stationary")
    for a, b, _ in oracle.all_quilts(6, 3):
        quilt = chain.quilt(3, a, b)
        near = list(quilt.nearby)
        known = [s for r in range(len(near) + 1) for s in itertools.combinations(near, r)]
        assert quilt.influence >= max(chain.influence(3, quilt.quilt, s) for s in known) - 1e-12


def test_larger_nearby_needs_the_maximum() -> None:
    """The specification's counterexample: known records beyond the quilt raise the influence."""
    chain = MarkovChain([[0.7, 0.3], [0.3, 0.7]], 9)
    assert chain.influence(4, [5]) == pytest.approx(0.8472978604, rel=1e-9)
    assert chain.influence(4, [5], [6]) == pytest.approx(1.170071253, rel=1e-9)


def test_sharp_against_loops() -> None:
    rng = np.random.default_rng(5)
    for states, n in ((2, 8), (3, 6)):
        steps = [random_chain(rng, states) for _ in range(n - 1)]
        start = rng.dirichlet(np.ones(states))
        for chain, used in (
            (InhomogeneousChain(steps, start), steps),
            (MarkovChain(steps[0], n, start), [steps[0]] * (n - 1)),
        ):
            for record in range(n):
                for a, b, _ in oracle.all_quilts(n, record):
                    if a is None and b is None:
                        continue
                    expected = oracle.sharp(used, start, record, a, b)
                    assert chain.quilt(record, a, b).sharp == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_zeros_are_infinite_and_lead_to_blocks() -> None:
    from holdfast.correlated import certify

    frozen = MarkovChain([[1.0, 0.0], [0.0, 1.0]], 50, [0.5, 0.5])
    assert frozen.influence(10, [11]) == math.inf
    assert frozen.worst_quilt(1.0).size == 50
    assert frozen.epsilon_dp(1.0) == pytest.approx(1 / 50)
    assert any("declare blocks" in note for note in certify(frozen, epsilon_bdp=1.0).warnings)
    cyclic = MarkovChain([[0, 1, 0], [0, 0, 1], [1, 0, 0]], 12)
    assert cyclic.worst_quilt(1.0).quilt == ()
    assert cyclic.notes()
    # one impossible step, but not two: short lags are infinite, longer ones are not
    sparse = MarkovChain([[0.0, 1.0], [0.5, 0.5]], 200)
    assert sparse.influence(100, [101]) == math.inf
    assert math.isfinite(sparse.influence(100, [102]))
    assert sparse.worst_quilt(1.0).size < 60
    assert not sparse.notes()


def test_tiny_probabilities_are_not_zeros() -> None:
    """A product too small for a double must not be skipped as impossible."""
    small = 1e-200
    matrix = [[1 - small, small, 0.0], [0.0, 1 - small, small], [small, 0.0, 1 - small]]
    assert MarkovChain(matrix, 20, [0.4, 0.3, 0.3]).influence(10, [12]) == math.inf


def test_certain_records_have_nothing_to_hide() -> None:
    chain = MarkovChain(CH1, 30, [1, 0])
    assert chain.best_quilt(0, 1.0).size == 1
    assert chain.influence(0, [3]) == 0.0


def test_a_million_records_in_a_second() -> None:
    rng = np.random.default_rng(0)
    matrix = rng.dirichlet(np.full(10, 2.0), 10)
    matrix /= matrix.sum(axis=1, keepdims=True)
    for start in ("stationary", np.eye(10)[0]):
        before = time.process_time()
        chain = MarkovChain(matrix, 1_000_000, start)
        assert chain.epsilon_dp(1.0) > 0.1
        assert chain.effective_n() > 100_000
        assert time.process_time() - before < 5.0  # about 0.2 s of a processor; the benchmark states the claim


@pytest.mark.parametrize(
    ("transition", "n", "start", "words"),
    [
        ([[0.9, 0.2], [0.4, 0.6]], 5, "stationary", "row 0 must sum to 1"),
        ([[0.9, 0.1], [0.5, 0.6]], 5, "stationary", "row 1 must sum to 1"),
        ([[1.1, -0.1], [0.4, 0.6]], 5, "stationary", "probabilities in"),
        ([[0.9, 0.1, 0.0], [0.4, 0.6, 0.0]], 5, "stationary", "square matrix"),
        ([[math.nan, 0.1], [0.4, 0.6]], 5, "stationary", "probabilities in"),
        ("no matrix", 5, "stationary", "square matrix"),
        (CH1, 0, "stationary", "n must be"),
        (CH1, 5, [0.5, 0.6], "start must sum to 1"),
        (CH1, 5, [1.0], "start must have 2 probabilities"),
        (CH1, 5, "uniform", "start must be one of"),
        ([[1.0, 0.0], [0.0, 1.0]], 5, "stationary", "one closed class"),
    ],
)
def test_wrong_input(transition: object, n: int, start: object, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        MarkovChain(transition, n, start)


def test_wrong_questions() -> None:
    chain = MarkovChain(CH1, 10)
    for call in (
        lambda: chain.quilt(3, 4, 1),
        lambda: chain.quilt(10, 1, 1),
        lambda: chain.best_quilt(3, 0.0),
        lambda: chain.best_quilt(3, 1.0, "one"),
        lambda: chain.influence(3, [3]),
        lambda: chain.influence(3, [4], [4]),
        lambda: InhomogeneousChain([CH1, [[1.0]]], [1, 0]),
        lambda: InhomogeneousChain([], [1, 0]),
    ):
        with pytest.raises(InvalidParameter):
            call()


def test_stationary_law_keeps_small_probabilities() -> None:
    law = stationary_law(np.array([[1 - 1e-14, 1e-14], [1.0, 0.0]]))
    assert law[1] == pytest.approx(1e-14, rel=1e-12)
    transient = stationary_law(np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.5, 0.5]]))
    assert transient.tolist() == pytest.approx([0.0, 0.5, 0.5])
