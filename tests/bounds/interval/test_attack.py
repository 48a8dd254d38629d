"""An adaptive attack on whole runs: our widths hold, and the same test refutes plain means with the classical width.

Rows are uniform signs. Each of the first k - 1 questions asks the mean of one feature, whose truth is 1/2. The last
asks whether the majority of the features, each turned the way its answer points, is positive; its truth is 1/2 too.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import binom

from holdfast.bounds import interval

N, K, BETA, RUNS = 400, 40, 0.05, 1500
#: More failures than this have probability below 1e-6 when the failure rate is BETA.
MOST = int(binom.isf(1e-6, RUNS, BETA))


def failures(half_width: float, sigmas: NDArray[np.float64], seed: int, *, late: int = 1) -> int:
    """Runs in which some answer is off by more than `half_width`; the last `late` questions repeat the attack."""
    rng = np.random.default_rng(seed)
    features = K - late
    count = 0
    for _ in range(RUNS):
        rows = (2 * rng.integers(0, 2, (N, features), dtype=np.int8) - 1).astype(np.float32)
        noise = rng.standard_normal(K) * sigmas
        answers = (1 + rows.mean(axis=0)) / 2 + noise[:features]
        score = rows @ np.sign(answers - 0.5).astype(np.float32)
        value = float(np.mean(np.where(score == 0, 0.5, score > 0)))
        errors = np.concatenate([answers - 0.5, value + noise[features:] - 0.5])
        count += bool(np.max(np.abs(errors)) > half_width)
    return count


@pytest.mark.parametrize("late", [1, 10])
def test_posterior_shift_holds_under_attack(late: int) -> None:
    width = interval.posterior_shift(N, K, BETA)
    assert failures(width.half_width, np.full(K, width.sigma), 1, late=late) <= MOST


@pytest.mark.parametrize("late", [1, 10])
def test_scheduled_noise_holds_under_attack(late: int) -> None:
    width = interval.scheduled(N, K, BETA)
    assert width.schedule is not None
    assert failures(width.half_width, width.schedule.sigmas(), 2, late=late) <= MOST


def test_too_little_noise_has_a_width_that_says_so() -> None:
    """Any sigma fixed in advance has its own width; a quarter of the best one still holds."""
    sigma = interval.posterior_shift(N, K, BETA).sigma / 4
    width = interval.posterior_shift(N, K, BETA, sigma=sigma)
    assert failures(width.half_width, np.full(K, sigma), 3) <= MOST


def test_the_attack_refutes_empirical_means() -> None:
    """Power: exact means with the width for questions fixed in advance fail far more often than beta."""
    width = interval.non_adaptive(N, K, BETA)
    assert failures(width.half_width, np.zeros(K), 4) > 4 * MOST


def test_the_attack_refutes_a_third_of_the_width() -> None:
    width = interval.posterior_shift(N, K, BETA)
    assert failures(width.half_width / 3, np.full(K, width.sigma), 5) > MOST
