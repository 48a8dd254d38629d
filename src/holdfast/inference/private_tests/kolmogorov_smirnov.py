"""Do two samples come from one law, against any other difference? Kolmogorov and Smirnov's test, private and exact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES, generator
from holdfast.inference.private_tests.ranks import pooled, ranks, sample, shuffled
from holdfast.inference.private_tests.result import TestResult
from holdfast.inference.private_tests.statistic_noise import StatisticNoise, simulated_test
from holdfast.noise.entropy import Source
from holdfast.noise.inputs import Rational


def distance_statistic(order: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    """`n1 n2` times the largest distance of the two empirical distribution functions, a whole number, from ranks.

    Examples
    --------
    >>> int(distance_statistic(np.array([3, 4, 1, 2]), 2))
    4
    """
    n = order.shape[-1]
    steps = np.full(order.shape, -first, dtype=np.int64)
    np.put_along_axis(steps, order[..., :first] - 1, n - first, axis=-1)
    return np.asarray(np.abs(np.cumsum(steps, axis=-1)).max(axis=-1))


def kolmogorov_smirnov(
    x: Any,
    y: Any,
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test privately whether two samples come from one law, against every other pair of laws.

    `T = max_t |n2 #{x <= t} - n1 #{y <= t}|`, plus integer noise; ties are broken by chance.

    Sensitivity (derived; brute-forced in the tests): sizes are public and a neighbour replaces one value. In the strict
    order of values and keys each count of x moves by at most one at every t if x is replaced, so T by at most n2, and
    by at most n1 if y is: `max(n1, n2)` in all. Level: exact, as in `mann_whitney`.

    Parameters
    ----------
    x, y : arrays
        One finite number a record. Their sizes are public.
    epsilon, rho
        Exactly one: discrete Laplace noise, epsilon-DP, or discrete Gaussian noise, rho-zCDP.
    alpha : float
        The level.
    m : int
        Simulated copies; the smallest p-value is `1/(m + 1)`.
    source : Source, optional
        Of the privacy noise; None for the operating system.
    rng : numpy Generator, optional
        Of ties and simulated copies, never of the privacy noise.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> kolmogorov_smirnov(rng.normal(0, 1, 400), rng.normal(0, 2.5, 400), epsilon=1).reject
    True
    """
    values, sizes = pooled([sample("x", x), sample("y", y)])
    first, second = (int(size) for size in sizes)
    noise = StatisticNoise(max(first, second), epsilon, rho)
    alpha, stream = check.probability("alpha", alpha), generator(rng)
    return simulated_test(
        "Kolmogorov-Smirnov",
        int(distance_statistic(ranks(values, stream), first)),
        shuffled(lambda order: distance_statistic(order, first), values.size, stream),
        noise,
        n=values.size,
        alpha=alpha,
        m=m,
        rng=stream,
        source=source,
        details={"sizes": [first, second]},
    )


__all__ = ["distance_statistic", "kolmogorov_smirnov"]
