"""Max-information between a release and the half it was made from: never below the exact value of small
distributions."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from holdfast.bounds import finite_law
from holdfast.bounds.coherence import max_information


def _count_mechanism(n: int, ones: int, epsilon: float) -> np.ndarray:
    """Joint distribution of a uniform half and a two-sided geometric count of its marked rows (sensitivity 1),
    truncated."""
    half = n // 2
    splits = [sum(1 for row in chosen if row < ones) for chosen in combinations(range(n), half)]
    outputs = np.arange(-30, half + 31)
    decay = math.exp(-epsilon)
    table = np.array([(1 - decay) / (1 + decay) * decay ** np.abs(outputs - f) for f in splits])
    table[:, 0] += np.maximum(0, 1 - table.sum(axis=1))  # what is left of the tails
    return table / table.sum()


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("n", [4, 8])
def test_exact_max_information_is_below_both_bounds(n: int, epsilon: float) -> None:
    for ones in range(1, n):
        joint = _count_mechanism(n, ones, epsilon)
        for eta in (0.1, 1e-3, 1e-8):
            exact = finite_law.max_information(joint, eta) * math.log(2)
            finite = max_information.pure(epsilon, n, eta, "finite")
            assert exact <= finite <= max_information.pure(epsilon, n, eta) * (1 + 1e-12)


def test_toy_max_information_vectors_32_and_33() -> None:
    splits = list(combinations(range(4), 2))
    marked = [len({0, 1} & set(s)) for s in splits]
    noisy = np.array([[math.exp(-abs(y - f) / 2) for y in range(3)] for f in marked])
    noisy /= noisy.sum(axis=1, keepdims=True) * len(splits)
    for eta, expected in ((0.0, 0.5297890652), (0.01, 0.4687300270), (0.05, 0.1785826911)):
        assert finite_law.max_information(noisy, eta) * math.log(2) == pytest.approx(expected, rel=1e-9)
    ratios = noisy.max(axis=0) / noisy.min(axis=0)
    assert math.log(ratios.max()) <= 1.0  # replace-one: f moves by one; its epsilon is below 1
    for eta, expected in ((0.01, 3.3018074130014), (0.05, 2.9206455826398)):
        # Theorem 14 at epsilon 1; n = 4, below the range of the special case but above of the general one
        assert 1.0 + math.sqrt(math.log(2 / eta)) == pytest.approx(expected, rel=1e-9)
        assert finite_law.max_information(noisy, eta) * math.log(2) <= expected
    clear = np.array([[1.0 if y == f else 0.0 for y in range(3)] for f in marked]) / len(splits)
    assert finite_law.max_information(clear) * math.log(2) == pytest.approx(math.log(6))
    found = finite_law.max_information(clear, 0.05) * math.log(2)
    assert found == pytest.approx(1.629240540, rel=1e-9)
    assert found <= max_information.finite_nats(math.log(3), -math.log(0.05)) == pytest.approx(4.094344562, rel=1e-9)
    whole = np.eye(len(splits)) / len(splits)
    assert finite_law.max_information(whole, 0.05) * math.log(2) == pytest.approx(1.740466175, rel=1e-9)


def test_the_pair_rule_needs_its_price() -> None:
    """Classes of splits, then the split if its class was named: 4.61 nats promised, 12.12 true."""
    splits, classes = math.comb(20, 10), 100
    truth = math.log(0.99 * splits)
    cheap, slack = max_information.pair((math.log(classes), 0.0), (0.0, 0.01), every_law=True)
    assert slack == 0.01
    assert cheap < truth
    priced, slack = max_information.pair((math.log(classes), 0.0), (0.0, 0.01), every_law=False)
    assert priced == cheap
    assert slack == 1.0  # says nothing, as it must


def test_edge_of_theorem_15() -> None:
    epsilon, eta, rows = 1e-3, 1e-6, 2_500_000
    edge = 3 * epsilon * eta**2 / (16 * rows**2)
    assert max_information.optimised(epsilon, 0.99 * edge, rows, eta).nats < math.inf
    assert max_information.optimised(epsilon, 1.001 * edge, rows, eta).nats == math.inf
