"""Is a mean what it is said to be, or that of another sample? Private tests of means that need no normal law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES, blocks, generator
from holdfast.inference.private_tests.permutation import LARGEST_N, RESOLUTION, permutation_decision, whole_values
from holdfast.inference.private_tests.ranks import sample
from holdfast.inference.private_tests.result import TestResult
from holdfast.inference.private_tests.statistic_noise import Alternative, StatisticNoise
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational


def two_sample(
    x: Any,
    y: Any,
    *,
    low: float,
    high: float,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    m: int = DEFAULT_REPLICATES,
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test privately whether two samples come from one law, against different means.

    The statistic is `n (sum of x) - n_x (sum of all) = n_x n_y (mean of x - mean of y)` in whole numbers. Sensitivity
    (derived): a value of x that moves by d moves it by `n_y d`, a value of y by `n_x d`; so by at most
    `max(n_x, n_y)` ranges. Decided by a noisy permutation test: the level is exact, with no law assumed, and
    only the decision is released (`permutation`). No studentising: a private spread would take budget and the exact
    level does not need it. Samples of one mean but different spread are not covered by the null.

    Parameters
    ----------
    x, y : arrays
        One number a record. Sizes are public.
    low, high : float
        Public range; values are clipped to it.
    epsilon, rho
        Exactly one: the decision is epsilon-DP, or rho-zCDP.
    alpha : float
        The level.
    alternative : {"two-sided", "greater", "less"}
        "greater": the mean of x is larger.
    m : int
        Rearrangements.
    source : Source, optional
        Of the privacy noise; None for the operating system.
    rng : numpy Generator, optional
        Of the rearrangements.

    Returns
    -------
    TestResult
        Decision only: the p-value is alpha or 1.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> two_sample(rng.normal(1, 1, 400), rng.normal(0, 1, 400), low=-3, high=3, epsilon=1).reject
    True
    """
    first, second = whole_values("x", x, low, high), whole_values("y", y, low, high)
    values, count = np.concatenate([first, second]), first.size
    _enough_room(values.size)
    side = _side(alternative)
    noise = StatisticNoise(2 * max(first.size, second.size) * RESOLUTION, epsilon, rho)
    alpha, stream = check.probability("alpha", alpha), generator(rng)
    total = int(values.sum())

    def statistic(rows: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(side(values.size * rows[..., :count].sum(axis=-1) - count * total))

    def rearranged(k: int) -> NDArray[np.int64]:
        found = np.empty(k, dtype=np.int64)
        for block in blocks(k, values.size):
            rows = np.broadcast_to(values, (block.stop - block.start, values.size))
            found[block] = statistic(stream.permuted(rows, axis=1))
        return found

    return permutation_decision(
        f"difference of means ({alternative}, permutation)",
        int(statistic(values)),
        rearranged,
        noise,
        n=values.size,
        alpha=alpha,
        m=m,
        rng=stream,
        source=source,
        details={"sizes": [first.size, second.size], "range": [low, high], "alternative": alternative},
    )


def one_sample(
    x: Any,
    *,
    center: float = 0.0,
    half_range: float,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    m: int = DEFAULT_REPLICATES,
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test privately whether values are symmetric about `center`, against another mean.

    The statistic is the sum of `x - center`, clipped to `half_range` on either side. Sensitivity (derived): one term
    moves by at most `2 half_range`. Rearrangements flip signs with fair coins, under which a law that is symmetric
    about the centre does not change; the level is exact (`permutation`). For pairs, give their differences. A test of a
    mean alone, with no symmetry and no normal law, has no exact level, and none is offered.

    Parameters
    ----------
    x : array
        One number a record.
    center, half_range : float
        The centre under the null, and how far from it values count; public.
    epsilon, rho
        Exactly one: the decision is epsilon-DP, or rho-zCDP.
    alpha : float
        The level.
    alternative : {"two-sided", "greater", "less"}
        "greater": the mean is larger than the centre.
    m : int
        Sign flips.
    source : Source, optional
        Of the privacy noise; None for the operating system.
    rng : numpy Generator, optional
        Of the sign flips.

    Returns
    -------
    TestResult
        Decision only: the p-value is alpha or 1.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> one_sample(rng.normal(0.8, 1, 400), half_range=3, epsilon=1).reject
    True
    """
    center, half_range = check.real("center", center), check.real("half_range", half_range, above=0)
    with np.errstate(over="ignore"):
        moved = np.clip(sample("x", x) - center, -half_range, half_range)
    # An odd function, so that a symmetric law stays symmetric.
    values = np.rint(moved / half_range * RESOLUTION).astype(np.int64)
    _enough_room(values.size)
    side = _side(alternative)
    noise = StatisticNoise(2 * 2 * RESOLUTION, epsilon, rho)
    alpha, stream = check.probability("alpha", alpha), generator(rng)

    def rearranged(k: int) -> NDArray[np.int64]:
        found = np.empty(k, dtype=np.int64)
        for block in blocks(k, values.size):
            coins = stream.integers(0, 2, size=(block.stop - block.start, values.size), dtype=np.int8)
            found[block] = 2 * (coins @ values) - values.sum()
        return np.asarray(side(found))

    return permutation_decision(
        f"one mean ({alternative}, sign flips)",
        int(side(values.sum())),
        rearranged,
        noise,
        n=values.size,
        alpha=alpha,
        m=m,
        rng=stream,
        source=source,
        details={"center": center, "half_range": half_range, "alternative": alternative},
    )


def _side(alternative: Alternative) -> Callable[[Any], Any]:
    check.choice("alternative", alternative, ("two-sided", "greater", "less"))
    return {"two-sided": np.abs, "greater": np.positive, "less": np.negative}[alternative]


def _enough_room(n: int) -> None:
    if n > LARGEST_N:
        raise InvalidParameter(f"at most {LARGEST_N} records are taken, got {n}")


__all__ = ["one_sample", "two_sample"]
