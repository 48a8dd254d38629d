"""Inverses of Theorems 7 and 8: from a tolerance to the largest epsilon, groups and rows, rounded to the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from holdfast.bounds.coherence import group_size
from holdfast.bounds.coherence.group_size import (
    RELEASE,
    SHARE,
    GroupSize,
    Mode,
    Population,
    closed_load,
    even_rows,
    fixed_terms,
    log_ratio,
    tightest_population,
    tolerance,
)
from holdfast.bounds.coherence.max_information import correction
from holdfast.bounds.coherence.release import approx_size_at, log_delta_max, pure_size_at
from holdfast.bounds.numerics.exact import digits_down, down, up
from holdfast.bounds.numerics.search import first_at_least, first_whole
from holdfast.bounds.parameters import (
    AuditedRows,
    AuditFailureProbability,
    Domain,
    GroupProportion,
    GroupRows,
    Groups,
    Lenses,
    PositiveEpsilon,
    Predictors,
    SharpTolerance,
)
from holdfast.bounds.registry import theorem
from holdfast.core import arguments

# --- Epsilon ----------------------------------------------------------------------------------------------------------
# From a tolerance to the largest epsilon: inverses of Theorems 7 and 8, rounded down and checked forwards.


@dataclass(frozen=True)
class LargestEpsilon:
    """The largest epsilon that a theorem allows. If the theorem allows none, this is 0 and `reason` says why.

    Examples
    --------
    >>> print(LargestEpsilon(0.0194295, "paper"))
    epsilon 0.0194295 (paper)
    >>> LargestEpsilon(0.0, "paper", "the groups are too small").feasible
    False
    """

    epsilon: float
    mode: str
    reason: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The main number of the result."""
        return self.epsilon

    @property
    def feasible(self) -> bool:
        """Whether any epsilon is allowed."""
        return self.epsilon > 0

    def __str__(self) -> str:
        return (
            f"epsilon {digits_down(self.epsilon, 6):.6g} ({self.mode})"
            if self.feasible
            else f"no epsilon ({self.mode}): {self.reason}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        plain = {"value": self.epsilon, "mode": self.mode, "feasible": self.feasible}
        return plain | ({"reason": self.reason} if self.reason else {}) | dict(self.details)


def nats_budget(alpha: float, lam: float, n: int, size: int, mode: str) -> tuple[float, str | None]:
    """The max-information that groups of `size` rows carry, and why it is not positive. Arguments are not checked.

    Examples
    --------
    >>> round(nats_budget(0.2, math.log(100) + 30, 5_000_000, 250_000, "sharp")[0], 5)
    1201.56457
    """
    load = closed_load(alpha, size, mode)
    budget = -math.inf if load is None else down(load - math.log(16) - lam)
    if mode == "sharp":
        chance = group_size.log_failure_beyond(n, size, alpha / 2)
        budget = max(budget, math.log1p(-SHARE) - lam - chance)
        if budget <= 0 and chance > math.log1p(-SHARE) - lam:
            load = 0.0  # the sharp bound has one reason only: its part for chance alone uses up beta
    if budget > 0:
        return budget, None
    if load is None:
        needed = math.ceil(max(fixed_terms(alpha, mode).values()))
        return budget, f"groups of {size:,} rows are too small for alpha = {alpha:g}: at least {needed:,} are needed"
    return budget, (
        f"its bound on how often chance alone moves a group of {size:,} rows by more than alpha = {alpha:g} is above "
        "beta; the bound is rough and chance may do so less often, so nothing is shown either way"
    )


def _root(budget: float, drift: float, slope: float) -> float:
    """The positive root of `drift x^2 + slope x = budget`, without cancellation."""
    return 2 * budget / (slope + math.sqrt(slope * slope + 4 * drift * budget))


def _settle(epsilon: float, forward: Callable[[float], GroupSize], size: int) -> float:
    """Lower epsilon by units in the last place until the forward bound at it accepts the size."""
    step = 2
    while epsilon > 0 and forward(epsilon).size > size:
        epsilon = down(epsilon, step)
        step *= 2
    return epsilon


def pure_epsilon_at(
    alpha: float, lam: float, n: int, size: int, mode: str = "paper", population: Population = "large"
) -> LargestEpsilon:
    """Return the inverse of `pure_size_at`. Arguments are not checked."""
    budget, reason = nats_budget(alpha, lam, n, size, mode)
    if reason is not None:
        return LargestEpsilon(0.0, mode, reason, {"population": population})
    k = correction(n) if population == "finite" else 1.0
    epsilon = _root(budget, n / (4 * k), math.sqrt(n * (math.log(4) + lam) / k) / 2)
    epsilon = epsilon if mode == "sharp" else min(1.0, epsilon)
    if mode == "sharp":  # the forward search is over whole sizes; its own budget is the exact test
        epsilon = down(epsilon, 16)
    else:
        epsilon = _settle(epsilon, lambda e: pure_size_at(alpha, lam, n, e, mode, population), size)
    return LargestEpsilon(epsilon, mode, None, {"nats": budget, "population": population})


def approx_epsilon_at(alpha: float, lam: float, n: int, size: int, mode: str = "paper") -> LargestEpsilon:
    """Return the inverse of `approx_size_at` at the largest delta of Theorem 8. Arguments are not checked."""
    budget, reason = nats_budget(alpha, lam, n, size, mode)
    if mode == "paper" and reason is None and budget <= math.log(2):  # Theorem 8 prints ln(32 r)
        reason = f"beta over groups is too small for groups of {size:,} rows"
    if reason is not None:
        return LargestEpsilon(0.0, mode, reason)
    budget -= math.log(2) if mode == "paper" else 0.0
    drift, slope = (133.0, 12.0) if mode == "paper" else (132.5, 6.0)
    epsilon = min(0.5, _root(budget, drift * n, slope * math.sqrt(n * (math.log(4) + lam))))
    if mode == "sharp":
        epsilon = down(epsilon, 16)
    else:
        epsilon = _settle(epsilon, lambda e: approx_size_at(alpha, lam, n, e, None, mode), size)
    largest = log_delta_max(lam, n, epsilon)
    details = {"nats": budget, "delta_max": down(math.exp(largest), 2), "log10_delta_max": largest / math.log(10)}
    return LargestEpsilon(epsilon, mode, None, details)


@theorem(
    "coherence.pure-dp-epsilon",
    statement="largest epsilon at which an epsilon-DP release enforces (alpha, beta)-coherence for groups of a size",
    source="Enforcing Demographic Coherence, Theorem 7 and section 6.3, inverted; sharp: derived",
    conditions=f"{RELEASE}; sharp: alpha < 2; 0 where no epsilon is allowed",
    unit="epsilon",
    provenance="mixed",
)
def pure_dp_epsilon(
    alpha: SharpTolerance,
    beta: AuditFailureProbability,
    groups: Groups,
    n: AuditedRows,
    size: GroupRows,
    mode: Mode = "sharp",
    population: Population | None = None,
    lenses: Lenses = 1,
    predictors: Predictors = 1,
) -> LargestEpsilon:
    """Return the largest epsilon at which an epsilon-DP release is coherent for groups of `size` rows; 0 if there is
    none.

    The result is the largest epsilon for which `coherence.pure-dp-size` is at most `size`. Except in sharp mode it is
    at most 1, because Theorem 7 goes no further.

    Notes
    -----
    The quadratic of Theorem 7 is solved without cancellation and rounded down. Then the forward bound is evaluated
    at the result.

    Examples
    --------
    >>> beta = math.exp(-30)
    >>> found = pure_dp_epsilon(0.2, beta, 100, 5_000_000, 250_000)
    >>> round(found.epsilon, 10)
    0.0402159355
    >>> round(pure_dp_epsilon(0.2, beta, 100, 5_000_000, 250_000, "paper").epsilon, 10)
    0.0120906597
    >>> print(pure_dp_epsilon(0.2, beta, 100, 5_000_000, 1_000, "paper"))
    no epsilon (paper): groups of 1,000 rows are too small for alpha = 0.2: at least 12,245 are needed
    """
    alpha, lam, n, size = _checked(alpha, beta, groups, n, size, mode, lenses, predictors)
    return pure_epsilon_at(alpha, lam, n, size, mode, tightest_population(mode, population))


@theorem(
    "coherence.approx-dp-epsilon",
    statement="largest epsilon at which an (epsilon, delta)-DP release enforces coherence, delta at its own largest",
    source="Enforcing Demographic Coherence, Theorem 8, inverted; sharp: derived",
    conditions=f"{RELEASE}; delta at most delta_max; alpha < 2; 0 where no epsilon is allowed",
    unit="epsilon",
    provenance="mixed",
)
def approx_dp_epsilon(
    alpha: Annotated[SharpTolerance, Domain(below=2)],
    beta: AuditFailureProbability,
    groups: Groups,
    n: AuditedRows,
    size: GroupRows,
    mode: Mode = "sharp",
    lenses: Lenses = 1,
    predictors: Predictors = 1,
) -> LargestEpsilon:
    """Return the largest epsilon at which an (epsilon, delta)-DP release is coherent for groups of `size` rows.

    The result is the largest epsilon for which `coherence.approx-dp-size` is at most `size`. It comes with the largest
    delta that the theorem allows at this epsilon.

    Examples
    --------
    >>> found = approx_dp_epsilon(0.2, math.exp(-30), 100, 5_000_000, 250_000)
    >>> f"{found.epsilon:.10g}", f"{found.details['delta_max']:.6g}"
    ('0.001287353239', '4.0311e-54')
    """
    alpha, lam, n, size = _checked(alpha, beta, groups, n, size, mode, lenses, predictors)
    return approx_epsilon_at(alpha, lam, n, size, mode)


def _checked(
    alpha: float, beta: float, groups: int, n: int, size: int, mode: str, lenses: int, predictors: int
) -> tuple[float, float, int, int]:
    alpha = tolerance(alpha, mode)
    n = even_rows(n)
    size = arguments.whole("size", size, at_least=1, at_most=n)
    return alpha, log_ratio(beta, groups, lenses, predictors), n, size


# --- Planning ---------------------------------------------------------------------------------------------------------
# The other inverses of Theorem 7: tolerance, number of groups, rows, and what no amount of data can buy.

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
    beta: AuditFailureProbability,
    groups: Groups,
    n: AuditedRows,
    size: GroupRows,
    epsilon: Annotated[PositiveEpsilon, "The epsilon of the release; at most 1 except in sharp mode."],
    mode: Mode = "sharp",
    population: Population | None = None,
    lenses: Lenses = 1,
    predictors: Predictors = 1,
) -> float:
    """Return the smallest tolerance that an epsilon-DP release keeps for groups of `size` rows.

    The result is the smallest alpha for which `coherence.pure-dp-size` is at most `size`. If there is none up to 2,
    which is the largest possible distance, it is `inf`.

    Examples
    --------
    >>> round(pure_dp_alpha(math.exp(-30), 100, 5_000_000, 250_000, 0.05), 10)
    0.2431845865
    """
    lam = log_ratio(beta, groups, lenses, predictors)
    population = tightest_population(mode, population)
    n, size, epsilon = _fixed(n, size, epsilon, mode)
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
    alpha: SharpTolerance,
    n: AuditedRows,
    size: GroupRows,
    epsilon: Annotated[PositiveEpsilon, "The epsilon of the release; at most 1 except in sharp mode."],
    mode: Mode = "sharp",
    population: Population | None = None,
) -> float:
    """Return how many groups an epsilon-DP release can protect at once, as the largest `Lambda = ln(groups/beta)`.

    From `Lambda` follows either number: with a given beta up to `beta exp(Lambda)` groups are protected, and with a
    given number of groups the failure probability can be as small as `groups exp(-Lambda)`.

    Examples
    --------
    >>> round(pure_dp_groups(0.2, 5_000_000, 250_000, 0.01), 9)
    932.123858565
    """
    population = tightest_population(mode, population)
    n, size, epsilon = _fixed(n, size, epsilon, mode)
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
    alpha: SharpTolerance,
    beta: AuditFailureProbability,
    groups: Groups,
    epsilon: Annotated[PositiveEpsilon, "The epsilon of the release; at most 1 except in sharp mode."],
    share: GroupProportion,
    mode: Mode = "sharp",
    population: Population | None = None,
) -> float:
    """Return the smallest even number of rows at which an epsilon-DP release protects groups that are a given share of
    them.

    The result is the smallest even `n` for which `coherence.pure-dp-size` is at most `share n`. It is `inf` if there is
    none. In sharp mode the bound holds at the returned `n`, but it is not proved that no smaller `n` would do.

    Notes
    -----
    As published the condition is a quadratic in the square root of `n` with one sign change, so bisection is exact.

    Examples
    --------
    >>> pure_dp_rows(0.2, math.exp(-30), 100, 0.01, 0.05)
    234262
    >>> pure_dp_rows(0.2, math.exp(-30), 100, 0.05, 0.05)
    inf
    """
    alpha = tolerance(alpha, mode)
    population = tightest_population(mode, population)
    lam = log_ratio(beta, groups)
    epsilon = arguments.real("epsilon", epsilon, above=0, at_most=math.inf if mode == "sharp" else 1)
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
def epsilon_ceiling(
    alpha: SharpTolerance, share: GroupProportion, mode: Mode = "sharp", population: Population | None = None
) -> float:
    """Return the epsilon that no amount of data exceeds, for groups that are a fixed share of the rows.

    It is the limit of the largest allowed epsilon as `n` grows and the groups grow with it. With `f = share` it is
    `min(alpha, sqrt 2) sqrt(4 f/33.2)`, at most 1. In sharp mode it is `alpha sqrt(4 f/8)`. With a finite population
    both are multiplied by `sqrt 2`.

    Notes
    -----
    The second part of the minimum is the term `16.6 Z`, which determines the size for alpha above `sqrt 2`.

    Examples
    --------
    >>> round(epsilon_ceiling(0.2, 0.05), 12), round(epsilon_ceiling(0.2, 0.05, "paper"), 12)
    (0.04472135955, 0.015523010514)
    """
    alpha = tolerance(alpha, mode)
    k = 2.0 if tightest_population(mode, population) == "finite" else 1.0
    if mode == "sharp":
        return up(alpha * math.sqrt(k * share / 2))
    return min(1.0, up(min(alpha, math.sqrt(2)) * math.sqrt(4 * k * share / 33.2)))


def flipped_share(alpha: float) -> float:
    """Return the share of a group whose predictions must flip to move the group's distance by `alpha`: `alpha/2`.

    A flip is a change from a certain no (-1) to a certain yes (1).

    Examples
    --------
    >>> flipped_share(0.2)
    0.1
    """
    return down(arguments.real("alpha", alpha, at_least=0, at_most=2) / 2, 0)


def _fixed(n: int, size: int, epsilon: float, mode: str) -> tuple[int, int, float]:
    n = even_rows(n)
    size = arguments.whole("size", size, at_least=1, at_most=n)
    if mode != "sharp":
        arguments.real("epsilon", epsilon, above=0, at_most=1)
    return n, size, epsilon
