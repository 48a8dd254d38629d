"""Selectors that try to break corrections after looking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from holdfast.accounting import Bits, PureDP
from holdfast.inference import AfterLooking
from holdfast_papers.binomial import exceeds
from tests.inference.after_looking.looking import looking

# Each error rate is 1e-6.

RUNS = 4000


def _noisy_choice(rng: np.random.Generator, n: int, d: int, epsilon: float) -> Any:
    """Sums of +-1 products, and the feature with the largest after exponential noise (permute-and-flip)."""
    sums = 2.0 * rng.binomial(n, 0.5, (RUNS, d)) - n
    return sums, np.argmax(sums + rng.exponential(4 / epsilon, sums.shape), axis=1)


def _p(n: int) -> Any:
    from scipy.stats import binom

    return binom.sf(np.arange(n + 1) - 1, n, 0.5)


@pytest.mark.parametrize(("n", "d", "epsilon"), [(1000, 100, 0.05), (200, 1000, 0.3), (50, 5, 1.0)])
def test_selected_tests_keep_alpha(n: int, d: int, epsilon: float) -> None:
    sums, chosen = _noisy_choice(np.random.default_rng(8), n, d, epsilon)
    p = _p(n)[((sums[np.arange(RUNS), chosen] + n) / 2).astype(int)]
    level = looking(n, PureDP(epsilon)).level(0.05).value
    assert not exceeds(int((p <= level).sum()), RUNS, 0.05)
    joint = AfterLooking(n).record(PureDP(epsilon), values=d).level(0.05).value
    assert not exceeds(int((p <= joint).sum()), RUNS, 0.05)


def test_adversarial_interleaved_selector_keeps_alpha_and_a_wrong_correction_is_caught() -> None:
    """A noisy choice, then a raw look at which of the two best by the noisy scores is really better: one bit.

    The adversary spends both to make the chosen p-value small. The interleaved level holds. Three wrong corrections are
    caught: none at all, epsilon declared under another relation at a tenth, and the look's bits alone for a raw argmax.
    """
    n, d, epsilon = 400, 64, 0.4
    rng = np.random.default_rng(9)
    sums = 2.0 * rng.binomial(n, 0.5, (RUNS, d)) - n
    noisy = sums + rng.exponential(2 * 4 / epsilon, sums.shape)  # two choices, half of epsilon each
    first = np.argmax(noisy, axis=1)
    again = sums + rng.exponential(2 * 4 / epsilon, sums.shape)
    second = np.argmax(again, axis=1)
    rows = np.arange(RUNS)
    better = np.where(sums[rows, first] >= sums[rows, second], first, second)
    p = _p(n)[((sums[rows, better] + n) / 2).astype(int)]
    made = looking(n, PureDP(epsilon / 2), PureDP(epsilon / 2), Bits(1))
    assert not exceeds(int((p <= made.level(0.05).value).sum()), RUNS, 0.05)
    adjusted_at = made.level(0.05).value
    assert made.adjusted(adjusted_at) <= 0.05 * (1 + 1e-9)
    assert exceeds(int((p <= 0.05).sum()), RUNS, 0.05)
    best = _p(n)[((sums.max(axis=1) + n) / 2).astype(int)]
    assert exceeds(int((best <= looking(n, PureDP(epsilon / 20)).level(0.05).value).sum()), RUNS, 0.05)
    assert exceeds(int((best <= looking(n, Bits(1)).level(0.05).value).sum()), RUNS, 0.05)
    assert not exceeds(int((best <= looking(n, Bits.of_values(d)).level(0.05).value).sum()), RUNS, 0.05)


def test_adversary_that_spends_bits_adaptively() -> None:
    """Binary search with raw looks: each bit halves the candidates by whose half holds the best. Bits keep alpha."""
    n, d = 300, 32
    rng = np.random.default_rng(10)
    sums = 2.0 * rng.binomial(n, 0.5, (RUNS, d)) - n
    low, size = np.zeros(RUNS, dtype=int), d
    rows = np.arange(RUNS)
    for _ in range(5):
        size //= 2
        span = low[:, None] + np.arange(2 * size)
        block = sums[rows[:, None], span]
        low = np.where(block[:, size:].max(axis=1) > block[:, :size].max(axis=1), low + size, low)
    p = _p(n)[((sums[rows, low] + n) / 2).astype(int)]
    assert not exceeds(int((p <= looking(n, Bits(5)).level(0.2).value).sum()), RUNS, 0.2)
    assert exceeds(int((p <= looking(n, Bits(1)).level(0.2).value).sum()), RUNS, 0.2)
