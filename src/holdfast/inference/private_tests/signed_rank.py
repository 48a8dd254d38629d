"""Is a law symmetric about a value? Wilcoxon's signed-rank test, private and exact: for one sample or for pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES, blocks, generator
from holdfast.inference.private_tests.ranks import LARGEST_N, ranks, sample
from holdfast.inference.private_tests.result import TestResult
from holdfast.inference.private_tests.statistic_noise import Alternative, StatisticNoise, checked, simulated_test
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational


def signed_rank(
    x: Any,
    y: Any = None,
    *,
    center: float = 0.0,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    m: int = DEFAULT_REPLICATES,
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test privately whether `x - center` (or `x - y - center`, for pairs) is symmetric about zero.

    `W`: the sum of the ranks of `|d|` over the positive differences d; ties in `|d|` broken by chance, and a zero
    counts as positive with probability one half. Plus integer noise.

    Sensitivity (derived; brute-forced in the tests): n, the number of records. Let one record move from rank a to rank
    `b >= a`, or the other way. The `b - a` records between move by one rank, of which `p <= b - a` count. With s and s'
    in {0, 1} for the record's own sign, W moves by `s' b - s a - p`, which lies in `[-b, b]`. So n, and n is reached.

    Level: exact. For independent differences, each symmetric about zero, the signs are fair coins whatever the absolute
    values are, so `W` is a sum of the ranks 1 to n taken with fair coins; the p-value is plus-one.

    Parameters
    ----------
    x, y : arrays
        One finite number a record; with y, a record is the pair.
    center : float
        The centre under the null; public.
    epsilon, rho
        Exactly one: discrete Laplace noise, epsilon-DP, or discrete Gaussian noise, rho-zCDP.
    alpha : float
        The level.
    alternative : {"two-sided", "greater", "less"}
        "greater": the differences tend to be positive.
    m : int
        Simulated copies; the smallest p-value is `1/(m + 1)`.
    source : Source, optional
        Of the privacy noise; None for the operating system.
    rng : numpy Generator, optional
        Of ties and simulated copies, never of the privacy noise.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> before = rng.normal(10, 2, 300)
    >>> signed_rank(before + rng.normal(0.5, 1, 300), before, epsilon=1).reject
    True
    """
    differences = sample("x", x)
    if y is not None:
        other = sample("y", y)
        if other.size != differences.size:
            raise InvalidParameter("x and y must have one length: they are pairs")
        with np.errstate(over="ignore"):
            differences = differences - other
    with np.errstate(over="ignore"):  # an infinite difference is the largest: its rank is all that counts
        differences = differences - check.real("center", center)
    n = differences.size
    if n > LARGEST_N:
        raise InvalidParameter(f"x must hold at most {LARGEST_N} records, got {n}")
    noise, alternative = StatisticNoise(n, epsilon, rho), checked(alternative)
    alpha, stream = check.probability("alpha", alpha), generator(rng)
    coins = stream.random(n) < 0.5
    positive = np.where(differences == 0, coins, differences > 0)

    def null(k: int) -> NDArray[np.int64]:
        places = np.arange(1, n + 1)
        found = np.empty(k, dtype=np.int64)
        for block in blocks(k, n):
            found[block] = stream.integers(0, 2, size=(block.stop - block.start, n), dtype=np.int8) @ places
        return found

    return simulated_test(
        f"signed-rank ({alternative})",
        int(ranks(np.abs(differences), stream)[positive].sum()),
        null,
        noise,
        n=n,
        alpha=alpha,
        m=m,
        rng=stream,
        source=source,
        alternative=alternative,
        twice_centre=n * (n + 1) // 2,
        details={"center": center, "alternative": alternative},
    )


__all__ = ["signed_rank"]
