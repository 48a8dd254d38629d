"""Private permutation tests: exact level for any law of the values, and a private decision (Kim and Schrab 2023).

A statistic of values, not of ranks, has a null law that depends on the records. So its noisy value alone is no test.
The statistic T_0 and its values T_1 ... T_B under random rearrangements all get noise, and the test rejects if the
first is among the largest: `M_i = T_i + Z_i`, reject if `(1 + #{i: M_i >= M_0}) / (B + 1) <= alpha`.

Level (exact). Under the null T_0 ... T_B are exchangeable, so are M_0 ... M_B, and the rank of M_0 is uniform.

Privacy of the decision (derived here). Fix the rearrangements and Z_1 ... Z_B. The test rejects
if `T_0 + Z_0 > q`, q the rank-th smallest of M_1 ... M_B. A neighbour moves every T_i by at most S, hence every order
statistic too, so `T_0 - q` by at most 2 S. Noise Z_0 for a sensitivity of 2 S makes the decision private: epsilon-DP
with discrete Laplace noise of scale `2 S / epsilon`, rho-zCDP with the Gaussian one. Only Z_0 protects, and only Z_0
comes from the secure source.

The rank of M_0 itself is *not* covered by that argument: the gap between two order statistics may close when a record
is replaced. So no finer p-value is released: the result has `alpha` for a rejection and 1 otherwise, which is a valid
p-value.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.monte_carlo import rank
from holdfast.inference.private_tests.noise_law import unprotected
from holdfast.inference.private_tests.ranks import sample
from holdfast.inference.private_tests.result import TestResult
from holdfast.inference.private_tests.statistic_noise import StatisticNoise
from holdfast.noise.entropy import Source

RESOLUTION = 1 << 16
"""Values become whole numbers, this many to their range, so that statistics are exact and sensitivities are theirs."""

LARGEST_N = 1 << 20


def whole_values(name: str, values: Any, low: float, high: float) -> NDArray[np.int64]:
    """Values clipped to `[low, high]`, record by record, as whole numbers from 0 to `RESOLUTION`.

    Examples
    --------
    >>> whole_values("x", [-5.0, 0.5, 1.0], 0, 1).tolist()
    [0, 32768, 65536]
    """
    low, high = check.real("low", low), check.real("high", high)
    if not high > low or not np.isfinite(high - low):
        raise InvalidParameter(f"high must be above low = {low:g}, by a finite width, got {high:g}")
    clipped = np.clip(sample(name, values), low, high)
    return np.clip(np.rint((clipped - low) / (high - low) * RESOLUTION), 0, RESOLUTION).astype(np.int64)


def permutation_decision(
    name: str,
    observed: int,
    rearranged: Callable[[int], NDArray[np.int64]],
    noise: StatisticNoise,
    *,
    n: int,
    alpha: float,
    m: int,
    rng: np.random.Generator,
    source: Source | None,
    details: dict[str, Any],
) -> TestResult:
    """Decide by a noisy permutation test; the module's notes have the proofs.

    Parameters
    ----------
    name : str
        Of the test.
    observed : int
        The exact statistic; secret, and not released even with noise.
    rearranged : callable
        `rearranged(k)` computes the statistic of k random rearrangements of the records; secret too.
    noise : StatisticNoise
        For a sensitivity of twice the statistic's.
    n, alpha, m, rng, source
        As everywhere.
    details : dict
        What is public.
    """
    place = rank(m, alpha) - 1  # refuses too few rearrangements before anything is spent
    others = rearranged(m) + noise.resample(rng, m)
    # Whole numbers throughout: a threshold rounded to a float could move by more than the proof allows.
    reject = noise.release(observed, source) > int(np.partition(others, place)[place])
    return TestResult(
        test=name,
        statistic=None,
        p_value=alpha if reject else 1.0,
        critical_value=None,
        alpha=alpha,
        reject=reject,
        null_returned=None,
        cost=noise.cost,
        level="exact",
        warnings=("only the decision is private, so the p-value is alpha or 1", *unprotected(source)),
        n=n,
        details={"m": m, "noise": noise.law.to_dict(), **details},
    )


__all__ = ["LARGEST_N", "RESOLUTION", "permutation_decision", "whole_values"]
