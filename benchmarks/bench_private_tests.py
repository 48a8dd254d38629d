"""Private tests: many goodness-of-fit tests at once against one call each."""

from __future__ import annotations

import numpy as np

from benchmarks.timing import Row, at_least, best_of
from holdfast.inference import private_tests as pt

TESTS = 10_000
VECTORISED, VECTORISED_TAILS = 100.0, 5.0
"""How many times faster than one call each a batch is: with chi-square tails, and with one mixture tail a test."""

_LOOPED = 200
_P0 = [1 / 2, 1 / 6, 1 / 6, 1 / 6]
_N = 20_000


def rows() -> list[Row]:
    """Everything measured about private tests."""
    return _goodness_of_fit()


def _goodness_of_fit() -> list[Row]:
    law = pt.gaussian(0.00125)
    rng = np.random.default_rng(1)
    noisy = pt.simulate_noisy(_N, _P0, law, TESTS, rng)
    few = [pt.NoisyCounts(row, _N, law) for row in noisy[:_LOOPED]]
    measured = []
    methods: list[tuple[pt.gof_methods.Method, float]] = [("projected", VECTORISED), ("asymptotic", VECTORISED_TAILS)]
    for method, factor in methods:
        ours = best_of(lambda m=method: pt.gof_batch(noisy, _N, _P0, law, method=m))  # type: ignore[misc]
        loop = best_of(lambda m=method: [pt.gof(one, _P0, method=m) for one in few], 3) * TESTS / _LOOPED  # type: ignore[misc]
        measured.append(at_least(f"{TESTS:,} {method} GOF tests, p-values", factor, ours, "one call each", loop))
    return measured
