"""Private rank tests, exact at every n: Kolmogorov-Smirnov, Mann-Whitney, Kruskal-Wallis and Wilcoxon's signed rank."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.monte_carlo import DEFAULT_REPLICATES, blocks, generator
from holdfast.inference.private_tests.result import TestResult
from holdfast.inference.private_tests.statistic_noise import (
    LARGEST_N,
    Alternative,
    StatisticNoise,
    checked,
    pooled,
    ranks,
    sample,
    shuffled,
    simulated_test,
)
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
    """Test privately whether two samples come from the same distribution. The test has power
    whenever the two distributions differ, in whatever way.

    The statistic is `T = max_t |n2 #{x <= t} - n1 #{y <= t}|` plus integer noise, where `n1` and `n2` are the sizes of
    the samples. Ties are broken by chance. The level is exact.

    Parameters
    ----------
    x, y : arrays
        One finite number per record. Their sizes are public.
    epsilon, rho, alpha, m, source, rng
        As in `mann_whitney`.

    Notes
    -----
    Sensitivity (derived; brute-forced in the tests): sizes are public and a neighbour replaces one value. In the
    strict order of values and keys each count of x moves by at most one at every t if x is replaced, so T by at
    most n2, and by at most n1 if y is: `max(n1, n2)` in all. Level: exact, as in `mann_whitney`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> kolmogorov_smirnov(rng.normal(0, 1, 400), rng.normal(0, 2.5, 400), epsilon=1).reject
    True
    """
    values, sizes = pooled([sample("x", x), sample("y", y)])
    first, second = (int(size) for size in sizes)
    noise = StatisticNoise(max(first, second), epsilon, rho)
    alpha, stream = arguments.probability("alpha", alpha), generator(rng)
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


def u_statistic(order: NDArray[np.int64], first: int) -> NDArray[np.int64]:
    """Pairs in which the first sample is ahead, from the ranks 1 to n; the first `first` are those of its records.

    Examples
    --------
    >>> int(u_statistic(np.array([3, 4, 1, 2]), 2))
    4
    """
    return np.asarray(order[..., :first].sum(axis=-1) - first * (first + 1) // 2)


def mann_whitney(
    x: Any,
    y: Any,
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
    m: int = DEFAULT_REPLICATES,
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test privately whether two samples come from the same distribution, with power against one of them being
    larger.

    The statistic is `U = #{(i, j): x_i > y_j}` plus integer noise. Ties are broken by chance. The sizes of the samples
    are public, and privacy is for replacing one value. The level is exact.

    Parameters
    ----------
    x, y : arrays
        One finite number per record. Their sizes are public. If it is secret to which sample a record belongs, use
        `test_of_tests.any_test`.
    epsilon, rho
        Exactly one: discrete Laplace noise, epsilon-DP, or discrete Gaussian noise, rho-zCDP.
    alpha : float
        The significance level.
    alternative : {"two-sided", "greater", "less"}
        "greater": x tends to be larger than y.
    m : int
        Simulated copies; the smallest p-value is `1/(m + 1)`.
    source : Source, optional
        Of the privacy noise; None for the operating system.
    rng : numpy Generator, optional
        Of ties and simulated copies, never of the privacy noise.

    Returns
    -------
    TestResult
        The statistic is the noisy U; two-sided, its critical values are in the details. Time: O(m n), with 999 copies
        about 0.3 s at 10,000 records and 10 s at 100,000.

    Notes
    -----
    Sensitivity (derived; brute-forced in the tests). A neighbour replaces one value and keeps sizes and groups,
    which are public. A value of x is in `len(y)` pairs and a value of y in `len(x)`; no other pair changes. So U
    moves by at most `max(len(x), len(y))`, and does when the value moves from below to above all of the larger
    sample. Couch, Kazan, Shi, Bray and Groce 2019 protect the sizes too, spend a part of the budget on them, and
    lose the exact level.

    Level: exact. Under the null every arrangement of ranks is equally likely, the null copies of U plus noise are drawn
    from just that distribution, and the p-value is plus-one.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> result = mann_whitney(rng.normal(0.7, 1, 300), rng.normal(0, 1, 300), epsilon=1)
    >>> result.reject, result.level, result.cost
    (True, 'exact', PureDP(epsilon=1.0))
    """
    values, sizes = pooled([sample("x", x), sample("y", y)])
    first, second = (int(size) for size in sizes)
    noise = StatisticNoise(max(first, second), epsilon, rho)
    alternative = checked(alternative)
    alpha, stream = arguments.probability("alpha", alpha), generator(rng)
    return simulated_test(
        f"Mann-Whitney ({alternative})",
        int(u_statistic(ranks(values, stream), first)),
        shuffled(lambda order: u_statistic(order, first), values.size, stream),
        noise,
        n=values.size,
        alpha=alpha,
        m=m,
        rng=stream,
        source=source,
        alternative=alternative,
        twice_centre=first * second,
        details={"sizes": [first, second], "alternative": alternative},
    )


def absolute_statistic(order: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """`floor(sum_g |sum_{i in g} (R_i - (n+1)/2)|)`, in whole numbers; the ranks come group after group.

    The sum itself is a whole number or a half, always the one or always the other for given sizes, so that differences
    are those of the sum.

    Examples
    --------
    >>> int(absolute_statistic(np.array([1, 2, 5, 6, 3, 4]), np.array([2, 2, 2])))
    8
    """
    centred = 2 * order - (order.shape[-1] + 1)
    sums = np.add.reduceat(centred, np.concatenate([[0], np.cumsum(sizes)[:-1]]), axis=-1)
    return np.asarray(np.abs(sums).sum(axis=-1) // 2)


def kruskal_wallis_sensitivity(sizes: NDArray[np.int64]) -> int:
    """Return how far a neighbour moves the statistic: `2 (n - smallest size)`.

    Derived. Let a record of group g move from rank a to `b > a`; the records with ranks in `(a, b]` move down by one.
    If `s` of these `b - a` are of group g, the sum of g grows by `b - a - s` and the other sums fall by `b - a - s` in
    all. So the statistic moves by at most `2 (b - a - s)`, and `b - a - s` counts records outside g.

    Couch et al. 2019 let a neighbour change group too. Then the others move by at most `b - a` in all and the record
    takes `|a - (n+1)/2|` from one sum and brings `|b - (n+1)/2|` to another: at most `2 (n - 1)` in all, so their
    `4 (n-1)/n**2` times the statistic moves by less than 8, as they print. But then sizes are secret and with them the
    null distribution, so it is not offered here.

    Examples
    --------
    >>> kruskal_wallis_sensitivity(np.array([10, 20, 30]))
    100
    """
    return 2 * int(sizes.sum() - sizes.min())


def kruskal_wallis(
    *samples: Any,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    alpha: float = 0.05,
    m: int = DEFAULT_REPLICATES,
    source: Source | None = None,
    rng: np.random.Generator | None = None,
) -> TestResult:
    """Test privately whether several samples come from the same distribution, with power against some being larger.

    The statistic is `sum_g n_g |mean rank of g - (n+1)/2|` over the samples `g`. The usual statistic of this test has
    squares in place of the absolute values. With absolute values one record changes the statistic much less, so it
    needs less noise. The level is exact.

    Parameters
    ----------
    *samples : arrays
        Two or more, one finite number per record.
    epsilon, rho, alpha, m, source, rng
        As in `mann_whitney`.

    Notes
    -----
    The statistic of Couch, Kazan, Shi, Bray and Groce 2019, who multiply it by `4 (n-1)/n**2`. `sensitivity` has
    the proof. Level: exact, as in `mann_whitney`, because sizes are public and fixed.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> groups = [rng.normal(mean, 1, 200) for mean in (0, 0, 0.8)]
    >>> kruskal_wallis(*groups, epsilon=1).reject
    True
    """
    if len(samples) < 2:
        raise InvalidParameter(f"samples must be a list of at least two samples, got {len(samples)}")
    values, sizes = pooled([sample(f"samples[{i}]", part) for i, part in enumerate(samples)])
    noise = StatisticNoise(kruskal_wallis_sensitivity(sizes), epsilon, rho)
    alpha, stream = arguments.probability("alpha", alpha), generator(rng)
    return simulated_test(
        "Kruskal-Wallis (absolute)",
        int(absolute_statistic(ranks(values, stream), sizes)),
        shuffled(lambda order: absolute_statistic(order, sizes), values.size, stream),
        noise,
        n=values.size,
        alpha=alpha,
        m=m,
        rng=stream,
        source=source,
        details={"sizes": sizes},
    )


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
    """Test privately whether `x - center` is symmetric about zero; for pairs, whether `x - y - center` is.

    The statistic is `W`, the sum of the ranks of `|d|` over the positive differences `d`, plus integer noise. Ties in
    `|d|` are broken by chance, and a difference of zero counts as positive with probability one half. The level is
    exact.

    Parameters
    ----------
    x, y : arrays
        One finite number per record; with y, a record is the pair.
    center : float
        The centre under the null; public.
    alternative : {"two-sided", "greater", "less"}
        "greater": the differences tend to be positive.
    epsilon, rho, alpha, m, source, rng
        As in `mann_whitney`.

    Notes
    -----
    Sensitivity (derived; brute-forced in the tests): n, the number of records. Let one record move from rank a to
    rank `b >= a`, or the other way. The `b - a` records between move by one rank, of which `p <= b - a` count.
    With s and s' in {0, 1} for the record's own sign, W moves by `s' b - s a - p`, which lies in `[-b, b]`. So n,
    and n is reached.

    Level: exact. For independent differences, each symmetric about zero, the signs are fair coins whatever the absolute
    values are, so `W` is a sum of the ranks 1 to n taken with fair coins; the p-value is plus-one.

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
            raise InvalidParameter("x and y must have the same length: they are pairs")
        with np.errstate(over="ignore"):
            differences = differences - other
    with np.errstate(over="ignore"):  # an infinite difference is the largest: its rank is all that counts
        differences = differences - arguments.real("center", center)
    n = differences.size
    if n > LARGEST_N:
        raise InvalidParameter(f"x must hold at most {LARGEST_N} records, got {n}")
    noise, alternative = StatisticNoise(n, epsilon, rho), checked(alternative)
    alpha, stream = arguments.probability("alpha", alpha), generator(rng)
    coins = stream.random(n) < 0.5
    positive = np.where(differences == 0, coins, differences > 0)

    def null(k: int) -> NDArray[np.int64]:
        places = np.arange(1, n + 1)
        sums = np.empty(k, dtype=np.int64)
        for block in blocks(k, n):
            sums[block] = stream.integers(0, 2, size=(block.stop - block.start, n), dtype=np.int8) @ places
        return sums

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
