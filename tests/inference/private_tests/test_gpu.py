"""The GPU engine has the distribution of the NumPy one. Runs on PyTorch's CPU device, and on a GPU where there is one.

Collected only where PyTorch is installed. Two p-values of one table at m replicates each differ by more than the limit
used with probability below 1e-7, so fewer than 1e-6 over the tables of a test.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests import (
    NoiseLaw,
    discrete_gaussian,
    gaussian,
    independence_batch,
    laplace,
    simulate_tables,
)
from holdfast.inference.private_tests.gpu import independence_p_values

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
M = 100_000
#: Each p-value is a binomial share plus a constant, so its deviation is at most sqrt(p (1 - p) / M); 5.4 of the
#: difference's deviations, with one replicate for the plus-one rule.
LIMIT = 5.4


def _gap(noisy: np.ndarray, n: int, noise: NoiseLaw, used: NoiseLaw, device: str) -> float:
    """The largest standardised difference of the two engines' p-values."""
    ours = independence_batch(noisy, n, noise, method="monte-carlo", m=M, rng=np.random.default_rng(5)).p_value
    theirs = independence_p_values(noisy, n, used, m=M, device=device, seed=5)
    assert np.array_equal(np.isnan(ours), np.isnan(theirs))
    mean = (ours + theirs) / 2
    return float(np.nanmax((np.abs(ours - theirs) - 1 / M) / np.sqrt(2 * mean * (1 - mean) / M + 1e-12)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("shape", "n", "noise", "wrong"),
    [
        ((2, 2), 2_000, gaussian(0.00125), gaussian(0.0011)),
        ((2, 2), 1_500, gaussian(0.0001), gaussian(0.00008)),  # one table in some is inconclusive
        ((3, 4), 5_000, laplace(0.1), gaussian(0.00125)),  # the same variance, another distribution
    ],
)
def test_one_law_on_both(shape: tuple[int, int], n: int, noise: NoiseLaw, wrong: NoiseLaw, device: str) -> None:
    noisy = simulate_tables(n, np.full(shape, 1 / (shape[0] * shape[1])), noise, 8, np.random.default_rng(3))
    assert _gap(noisy, n, noise, noise, device) < LIMIT
    assert _gap(noisy, n, noise, wrong, device) > LIMIT


@pytest.mark.parametrize("device", DEVICES)
def test_a_seed_repeats_and_null_is_nan(device: str) -> None:
    noise = gaussian(0.00125)
    noisy = simulate_tables(2_000, np.full((2, 2), 0.25), noise, 4, np.random.default_rng(1))
    noisy[2] = [[-40.0, 900.0], [600.0, 540.0]]
    first, again, other = (
        independence_p_values(noisy, 2_000, noise, m=99, device=device, seed=seed) for seed in (1, 1, 2)
    )
    assert np.array_equal(first, again, equal_nan=True)
    assert not np.array_equal(first, other, equal_nan=True)
    assert np.isnan(first).tolist() == [False, False, True, False]


def test_refusals() -> None:
    tables = np.full((1, 2, 2), 500.0)
    with pytest.raises(InvalidParameter, match="continuous"):
        independence_p_values(tables, 2_000, discrete_gaussian(0.1))
    with pytest.raises(InvalidParameter, match="shape"):
        independence_p_values(tables[0], 2_000, gaussian(0.1))
    with pytest.raises(InvalidParameter, match="minimum"):
        independence_p_values(tables, 2_000, gaussian(0.1), minimum=0)
