"""Transfer bounds over every distribution of the sample: exact mechanisms, every sample, and a bound that is too
small."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from holdfast.bounds.finite_law import hockey_stick, worst_output_transfer
from holdfast.bounds.gdp import gdp_delta
from holdfast.bounds.max_information import any_law, group_delta
from holdfast.errors import InvalidParameter


def leaky(epsilon: float, delta: float) -> list[list[float]]:
    """Randomized response on a bit that shows the bit with probability delta: (epsilon, delta)-DP, exactly."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon)) * (1 - delta)
    return [[truth, 1 - delta - truth, delta, 0.0], [1 - delta - truth, truth, 0.0, delta]]


def law(rows: list[list[float]], sample: tuple[int, ...]) -> Any:
    joint = np.ones(1)
    for bit in sample:
        joint = np.multiply.outer(joint, rows[bit]).reshape(-1)
    return joint


@pytest.mark.parametrize(("epsilon", "delta"), [(0.3, 0.01), (0.05, 0.001), (1.0, 1e-4), (0.5, 0.0)])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_sample_against_a_fixed_one(epsilon: float, delta: float, n: int) -> None:
    rows = leaky(epsilon, delta)
    assert hockey_stick(rows[0], rows[1], epsilon) == pytest.approx(delta)
    reference = law(rows, (0,) * n)
    for beta in (0.0, 0.01, 0.1, 0.5):
        bound = any_law(n, beta, epsilon=epsilon, delta=delta)
        if math.isinf(bound.bits):
            assert group_delta(n, epsilon, delta) >= beta
            continue
        for sample in itertools.product((0, 1), repeat=n):
            assert hockey_stick(law(rows, sample), reference, bound.bits * math.log(2)) <= beta + 1e-12


def test_transfer_of_dependent_rows() -> None:
    """All rows equal, the worst dependence: the exact worst-output transfer is below the bound, not below a tenth."""
    n, epsilon = 4, 0.8
    rows = leaky(epsilon, 0.0)
    joint = 0.5 * np.array([law(rows, (0,) * n), law(rows, (1,) * n)])
    exact = worst_output_transfer(joint, 0.0)
    bound = any_law(n, 0.0, epsilon=epsilon).bits
    assert bound / 10 < exact <= bound


@pytest.mark.parametrize("n", [1, 10, 100])
@pytest.mark.parametrize("mu", [1e-4, 1e-2, 0.1])
def test_gaussian_sums(n: int, mu: float) -> None:
    """A Gaussian sum moves by n mu when every row is replaced; its exact delta at the bound's nats is below beta."""
    for beta in (1e-6, 0.01, 0.2):
        bound = any_law(n, beta, rho=mu * mu / 2)
        assert gdp_delta(n * mu, bound.bits * math.log(2)) <= beta


def test_growth_and_ranges() -> None:
    bits = [any_law(n, 0.01, epsilon=0.001, delta=1e-9, rho=1e-9).bits for n in (10, 100, 1000)]
    assert bits == sorted(bits)
    assert any_law(50, 0.0).bits == 0.0
    assert math.isinf(any_law(50, 0.0, rho=1e-9).bits)
    assert group_delta(7, 0.2, 1e-6) == pytest.approx(1e-6 * math.expm1(1.4) / math.expm1(0.2), rel=1e-9)
    for wrong in ({"n": 0}, {"beta": 1.0}, {"epsilon": -1.0}, {"delta": 1.0}, {"rho": -1.0}):
        with pytest.raises(InvalidParameter):
            any_law(**({"n": 10, "beta": 0.01} | wrong))
