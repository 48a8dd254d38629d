from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from holdfast.bounds.mechanism import (
    gaussian_rho,
    gaussian_width,
    laplace_epsilon,
    laplace_width,
    noisy_max_gap,
    randomized_response_table,
    selection_gap,
)
from holdfast.errors import InvalidParameter


@pytest.mark.parametrize("scale", [0.1, 1.0, 7.3, 400.0])
@pytest.mark.parametrize("beta", [0.9, 0.05, 1e-9])
@pytest.mark.parametrize("draws", [1, 1000])
def test_laplace_width_is_exact(scale: float, beta: float, draws: int) -> None:
    def failure(k: int) -> float:
        ratio = math.exp(-1 / scale)
        tail = 2 * math.exp(-(k + 1) / scale) / (1 + ratio)
        return -math.expm1(draws * math.log1p(-tail)) if tail < 1 else 1.0

    width = laplace_width(scale, beta, draws)
    assert failure(width) <= beta * (1 + 1e-9)
    assert width == 0 or failure(width - 1) > beta * (1 - 1e-9)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.3, 60.0])
@pytest.mark.parametrize("beta", [0.9, 0.05, 1e-6])
@pytest.mark.parametrize("draws", [1, 1000])
def test_gaussian_width_covers_the_discrete_law_within_a_step(sigma: float, beta: float, draws: int) -> None:
    reach = math.ceil(12 * sigma) + 12
    k = np.arange(reach + 1)
    weight = np.exp(-(k**2) / (2 * sigma**2))
    tail = np.append(np.cumsum(2 * weight[::-1])[::-1][1:], 0.0) / (2 * weight.sum() - 1)
    width = gaussian_width(sigma, beta, draws)
    each = -math.expm1(math.log1p(-beta) / draws)
    assert tail[width] <= each * (1 + 1e-9)
    assert width < 2 or tail[width - 2] > each * (1 - 1e-9)


def test_ends_of_the_floating_range() -> None:
    # Each of 10^30 draws may exceed with probability 1e-330, which no double holds.
    tail = 330 * math.log(10)
    assert laplace_width(1.0, 1e-300, 10**30) == pytest.approx(tail, abs=2)
    z = gaussian_width(1.0, 1e-300, 10**30)
    assert 2 * mpmath.ncdf(-z) <= mpmath.mpf(10) ** -330 < 2 * mpmath.ncdf(-(z - 1))
    assert gaussian_width(1e6, 1e-303) >= gaussian_width(1e6, 1e-305 * 110)  # where the two ways meet
    assert gaussian_width(1e6, 9e-305) >= gaussian_width(1e6, 1.1e-304)
    # Beyond 2^50 steps one step is less than a rounding error.
    for scale in (2.0**52, 1e300):
        assert laplace_width(scale, 0.05) == pytest.approx(scale * math.log(20), rel=1e-12)
        assert laplace_width(scale, 0.05) >= math.floor(scale * math.log(20) * (1 - 1e-15))
    assert math.isfinite(selection_gap(1, 1, 10**300, 5e-324))
    for call in (laplace_width, gaussian_width):
        with pytest.raises(InvalidParameter):
            call(1e301, 0.05)
    with pytest.raises(InvalidParameter, match="candidates"):
        selection_gap(1, 1, 10**400, 0.05)


def test_costs() -> None:
    assert laplace_epsilon(3, 30) == 0.1
    assert laplace_epsilon(0.1, 1) == 0.1
    assert gaussian_rho(1, 5) == 0.02
    assert gaussian_rho(0, 5) == 0
    with pytest.raises(InvalidParameter, match="scale"):
        laplace_epsilon(1, 0)


def test_selection_gap_grows_with_candidates_and_confidence() -> None:
    gaps = [selection_gap(1, 0.5, m, beta) for m, beta in ((2, 0.1), (10, 0.1), (10, 0.01))]
    assert gaps == sorted(gaps)
    assert selection_gap(1, 0.5, 1, 0.1) == 0
    assert selection_gap(2, 1.0, 10, 0.1) == pytest.approx(gaps[1])


@pytest.mark.parametrize("scale", [0.4, 2.0, 40.0])
@pytest.mark.parametrize(("candidates", "beta"), [(2, 0.3), (50, 1e-4)])
def test_noisy_max_gap_is_the_tail_of_a_difference(scale: float, candidates: int, beta: float) -> None:
    reach = math.ceil(45 * scale)
    k = np.arange(-reach, reach + 1)
    pmf = math.tanh(0.5 / scale) * np.exp(-np.abs(k) / scale)
    difference = np.convolve(pmf, pmf)[2 * reach :]  # P(X - Y = 0), P(= 1), ...
    tail = np.cumsum(difference[::-1])[::-1]
    gap = noisy_max_gap(scale, candidates, beta)
    assert (candidates - 1) * tail[gap + 1] <= beta * (1 + 1e-9)
    assert gap == 0 or (candidates - 1) * tail[gap] > beta * (1 - 1e-9)
    assert noisy_max_gap(scale, 1, beta) == 0


@pytest.mark.parametrize("epsilon", [0, 0.5, 40, 5000])
def test_response_table_is_a_law(epsilon: float) -> None:
    table = randomized_response_table(epsilon, 0.01)
    assert sum(table) == pytest.approx(1)
    assert table.top >= table.bottom >= 0
