"""The other inverses of Theorem 7: tolerance, number of groups, rows, and what no amount of data can buy."""

from __future__ import annotations

import math
from collections.abc import Callable

from holdfast import check
from holdfast.bounds.coherence.private_release import pure_size_at
from holdfast.bounds.coherence.ratio import (
    MODES,
    POPULATIONS,
    RELEASE,
    Mode,
    Population,
    even_rows,
    log_ratio,
    tolerance,
)
from holdfast.bounds.exact import down, up
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import first_at_least, first_whole

_MOST_ROWS = 10**15
_MOST_LOG_RATIO = 1e12
LARGEST_SHARP_ALPHA = 1.99


@theorem(
    "coherence.pure-dp-alpha",
    statement="smallest tolerance that an epsilon-DP release keeps for groups of a size",
    source="Enforcing Demographic Coherence, Theorem 7, inverted; sharp: derived",
    conditions=f"{RELEASE}; inf where no tolerance is kept",
    unit="distance",
    provenance="mixed",
)
def pure_dp_alpha(
    beta: float,
    groups: int,
    n: int,
    size: int,
    epsilon: float,
    mode: Mode = "paper",
    population: Population = "large",
    lenses: int = 1,
    predictors: int = 1,
) -> float:
    """Return the smallest alpha for which `coherence.pure-dp-size` is at most `size`; `inf` if there is none up to 2.

    Parameters
    ----------
    beta : float
        Failure probability of the whole experiment, in (0, 1].
    groups : int
        How many groups are protected at once.
    n : int
        Rows in the audited data set, even; twice the rows that the release sees.
    size : int
        Rows of the smallest protected group in the audited data set, in [1, n].
    epsilon : float
        The privacy parameter, at most 1 except in sharp mode.
    mode : str
        "paper" (default), "corrected" or "sharp".
    population : str
        "large" as printed, "finite" with the factor `kappa`.
    lenses, predictors : int
        How many of each the promise covers at once; they multiply the groups.

    Examples
    --------
    >>> round(pure_dp_alpha(math.exp(-30), 100, 5_000_000, 250_000, 0.05), 10)
    0.6815430726
    """
    lam = log_ratio(beta, groups, lenses, predictors)
    n, size, epsilon = _fixed(n, size, epsilon, mode, population)
    return alpha_at(lam, n, size, epsilon, mode, population)


def alpha_at(lam: float, n: int, size: int, epsilon: float, mode: str, population: Population) -> float:
    """`pure_dp_alpha` at `Lambda = lam`. Arguments are not checked."""

    def kept(alpha: float) -> float:
        if mode == "sharp":
            return float(_carries(alpha, lam, n, size, epsilon, population))
        return float(pure_size_at(alpha, lam, n, epsilon, mode, population).size <= size)

    return smallest_alpha(kept, mode)


def smallest_alpha(kept: Callable[[float], float], mode: str) -> float:
    """The smallest tolerance at which `kept` is 1: to the last digit, in sharp mode from above to one part in 1e10.

    Sharp mode ends at 1.99, beyond which its sums grow long and a promise means nothing; `inf` where nothing is kept.

    Examples
    --------
    >>> smallest_alpha(lambda alpha: float(alpha >= 0.3), "paper"), smallest_alpha(lambda alpha: 0.0, "sharp")
    (0.3, inf)
    """
    top = LARGEST_SHARP_ALPHA if mode == "sharp" else 2.0
    if not kept(top):
        return math.inf
    if mode != "sharp":
        return first_at_least(kept, 1.0, 1e-9, top)
    low, high = 1e-9, top
    while high - low > 1e-10 * high:
        middle = math.sqrt(low * high) if high > 2 * low else 0.5 * (low + high)
        low, high = (low, middle) if kept(middle) else (middle, high)
    return high


def _carries(alpha: float, lam: float, n: int, size: int, epsilon: float, population: Population) -> bool:
    from holdfast.bounds.coherence.epsilon import pure_epsilon_at

    return pure_epsilon_at(alpha, lam, n, size, "sharp", population).epsilon >= epsilon


@theorem(
    "coherence.pure-dp-groups",
    statement="largest ln(groups/beta) at which an epsilon-DP release enforces coherence for groups of a size",
    source="Enforcing Demographic Coherence, Theorem 7, inverted; sharp: derived",
    conditions=f"{RELEASE}; -inf where not even one group at beta = 1 is covered",
    unit="ln(groups/beta)",
    provenance="mixed",
)
def pure_dp_groups(
    alpha: float, n: int, size: int, epsilon: float, mode: Mode = "paper", population: Population = "large"
) -> float:
    """Return the largest `Lambda`: `beta exp(Lambda)` groups at that beta, or beta down to `groups exp(-Lambda)`.

    Parameters
    ----------
    alpha : float
        Tolerated 1-Wasserstein distance, in (0, 2], below 2 in sharp mode.
    n : int
        Rows in the audited data set, even.
    size : int
        Rows of the smallest protected group in the audited data set, in [1, n].
    epsilon : float
        The privacy parameter, at most 1 except in sharp mode.
    mode : str
        "paper" (default), "corrected" or "sharp".
    population : str
        "large" as printed, "finite" with the factor `kappa`.

    Examples
    --------
    >>> round(pure_dp_groups(0.2, 5_000_000, 250_000, 0.01), 9)
    75.437477948
    """
    n, size, epsilon = _fixed(n, size, epsilon, mode, population)
    alpha = tolerance(alpha, mode)

    def broken(lam: float) -> float:
        if mode == "sharp":
            return float(not _carries(alpha, lam, n, size, epsilon, population))
        return float(pure_size_at(alpha, lam, n, epsilon, mode, population).size > size)

    if broken(0.0):
        return -math.inf
    return math.nextafter(first_at_least(broken, 1.0, 0.0, _MOST_LOG_RATIO), 0.0)


@theorem(
    "coherence.pure-dp-rows",
    statement="smallest data set in which groups of a given share are protected by an epsilon-DP release",
    source="Enforcing Demographic Coherence, Theorem 7, inverted; sharp: derived",
    conditions=f"{RELEASE}; inf from the ceiling of coherence.epsilon-ceiling on",
    unit="rows",
    provenance="mixed",
)
def pure_dp_rows(
    alpha: float,
    beta: float,
    groups: int,
    epsilon: float,
    share: float,
    mode: Mode = "paper",
    population: Population = "large",
) -> float:
    """Return the smallest even `n` for which `coherence.pure-dp-size` is at most `share n`; `inf` if there is none.

    As printed the condition is a quadratic in the root of `n` with one sign change, so bisection is exact. In sharp
    mode the returned `n` passes; that no smaller one does is not proved.

    Parameters
    ----------
    alpha : float
        Tolerated 1-Wasserstein distance, in (0, 2], below 2 in sharp mode.
    beta : float
        Failure probability of the whole experiment, in (0, 1].
    groups : int
        How many groups are protected at once.
    epsilon : float
        The privacy parameter, at most 1 except in sharp mode.
    share : float
        Share of the rows that the smallest protected group has, in (0, 1].
    mode : str
        "paper" (default), "corrected" or "sharp".
    population : str
        "large" as printed, "finite" with the factor `kappa`.

    Examples
    --------
    >>> pure_dp_rows(0.2, math.exp(-30), 100, 0.01, 0.05)
    2371398
    >>> pure_dp_rows(0.2, math.exp(-30), 100, 0.02, 0.05)
    inf
    """
    check.choice("mode", mode, MODES)
    check.choice("population", population, POPULATIONS)
    alpha = tolerance(alpha, mode)
    lam = log_ratio(beta, groups)
    epsilon = check.real("epsilon", epsilon, above=0, at_most=math.inf if mode == "sharp" else 1)
    share = check.real("share", share, above=0, at_most=1)
    if epsilon >= epsilon_ceiling(alpha, share, mode, population):
        return math.inf

    def enough(half: int) -> bool:
        n, size = 2 * half, math.ceil(share * 2 * half)
        if mode == "sharp":
            return _carries(alpha, lam, n, size, epsilon, population)
        return pure_size_at(alpha, lam, n, epsilon, mode, population).size <= share * n

    half = first_whole(enough, 2, limit=_MOST_ROWS)
    return math.inf if half is None else 2 * half


@theorem(
    "coherence.epsilon-ceiling",
    statement="epsilon that no amount of data reaches, for groups that are a fixed share of it",
    source="Enforcing Demographic Coherence, Theorem 7, limit of large n; sharp: derived",
    conditions=f"{RELEASE}; groups a fixed share of the rows",
    unit="epsilon",
    provenance="derived",
)
def epsilon_ceiling(alpha: float, share: float, mode: Mode = "paper", population: Population = "large") -> float:
    """Return the limit of the largest epsilon as `n` grows and the groups with it.

    `min(alpha, sqrt 2) sqrt(4 f/33.2)`, at most 1; sharp `alpha sqrt(4 f/8)`; finite population times `sqrt 2`. The
    second part of the minimum is the term `16.6 Z`, which binds above `sqrt 2`.
    More data does not buy a larger epsilon.

    Parameters
    ----------
    alpha : float
        Tolerated 1-Wasserstein distance, in (0, 2], below 2 in sharp mode.
    share : float
        Share `f` of the rows that the smallest protected group has, in (0, 1].
    mode : str
        "paper" (default), "corrected" or "sharp".
    population : str
        "large" as printed, "finite" with the factor `kappa`.

    Examples
    --------
    >>> round(epsilon_ceiling(0.2, 0.05), 12), round(epsilon_ceiling(0.2, 0.05, "sharp", "finite"), 12)
    (0.015523010514, 0.04472135955)
    """
    check.choice("mode", mode, MODES)
    check.choice("population", population, POPULATIONS)
    alpha = tolerance(alpha, mode)
    share = check.real("share", share, above=0, at_most=1)
    k = 2.0 if population == "finite" else 1.0
    if mode == "sharp":
        return up(alpha * math.sqrt(k * share / 2))
    return min(1.0, up(min(alpha, math.sqrt(2)) * math.sqrt(4 * k * share / 33.2)))


def flipped_share(alpha: float) -> float:
    """The share of a group that, flipped from certain no to certain yes, moves its predictions by `alpha`: half of it.

    Examples
    --------
    >>> flipped_share(0.2)
    0.1
    """
    return down(check.real("alpha", alpha, at_least=0, at_most=2) / 2, 0)


def _fixed(n: int, size: int, epsilon: float, mode: str, population: str) -> tuple[int, int, float]:
    check.choice("mode", mode, MODES)
    check.choice("population", population, POPULATIONS)
    n = even_rows(n)
    size = check.whole("size", size, at_least=1, at_most=n)
    epsilon = check.real("epsilon", epsilon, above=0)
    if mode != "sharp":
        check.real("epsilon", epsilon, above=0, at_most=1)
    return n, size, epsilon


__all__ = [
    "alpha_at",
    "epsilon_ceiling",
    "flipped_share",
    "pure_dp_alpha",
    "pure_dp_groups",
    "pure_dp_rows",
    "smallest_alpha",
]
