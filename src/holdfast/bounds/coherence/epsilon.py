"""From a tolerance to the largest epsilon: inverses of Theorems 7 and 8, rounded down and checked forwards."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast import check
from holdfast.bounds.coherence import sharp
from holdfast.bounds.coherence.max_information import correction
from holdfast.bounds.coherence.private_release import approx_size_at, log_delta_max, pure_size_at
from holdfast.bounds.coherence.ratio import (
    MODES,
    POPULATIONS,
    RELEASE,
    GroupSize,
    Mode,
    Population,
    even_rows,
    log_ratio,
    tolerance,
)
from holdfast.bounds.coherence.theorem3 import SHARE, closed_load, fixed_terms
from holdfast.bounds.exact import digits_down, down
from holdfast.bounds.registry import theorem


@dataclass(frozen=True)
class LargestEpsilon:
    """The largest epsilon that a theorem allows; 0 with a `reason` where it allows none.

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
        """The headline number."""
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
        """Plain data."""
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
        chance = sharp.log_failure_beyond(n, size, alpha / 2)
        budget = max(budget, math.log1p(-SHARE) - lam - chance)
        if budget <= 0 and chance > math.log1p(-SHARE) - lam:
            load = 0.0  # the sharp bound has one reason only: chance alone uses up beta
    if budget > 0:
        return budget, None
    if load is None:
        needed = math.ceil(max(fixed_terms(alpha, mode).values()))
        return budget, f"groups of {size:,} rows are too small for alpha = {alpha:g}: at least {needed:,} are needed"
    return budget, f"chance alone moves groups of {size:,} rows by more than alpha = {alpha:g} too often for this beta"


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
    """The inverse of `pure_size_at`. Arguments are not checked."""
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
    """The inverse of `approx_size_at` at the largest delta of Theorem 8. Arguments are not checked."""
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
    alpha: float,
    beta: float,
    groups: int,
    n: int,
    size: int,
    mode: Mode = "paper",
    population: Population = "large",
    lenses: int = 1,
    predictors: int = 1,
) -> LargestEpsilon:
    """Return the largest epsilon for which `coherence.pure-dp-size` is at most `size`; 0 if there is none.

    The quadratic of Theorem 7 solved without cancellation, rounded down, and the forward bound evaluated at the result.
    At most 1, the range of the theorem, except in sharp mode.

    Parameters
    ----------
    alpha : float
        Tolerated 1-Wasserstein distance of predictions in [-1, 1]: in (0, 2], below 2 in sharp mode.
    beta : float
        Failure probability of the whole experiment, in (0, 1].
    groups : int
        How many groups are protected at once.
    n : int
        Rows in the audited data set, even; twice the rows that the release sees.
    size : int
        Rows of the smallest protected group in the audited data set, in [1, n].
    mode : str
        "paper" (default), "corrected" or "sharp".
    population : str
        "large" as printed, "finite" with the factor `kappa`.
    lenses, predictors : int
        How many of each the promise covers at once; they multiply the groups.

    Examples
    --------
    >>> beta = math.exp(-30)
    >>> found = pure_dp_epsilon(0.2, beta, 100, 5_000_000, 250_000)
    >>> round(found.epsilon, 10)
    0.0120906597
    >>> round(pure_dp_epsilon(0.2, beta, 100, 5_000_000, 250_000, "sharp", "finite").epsilon, 10)
    0.0402159355
    >>> print(pure_dp_epsilon(0.2, beta, 100, 5_000_000, 1_000))
    no epsilon (paper): groups of 1,000 rows are too small for alpha = 0.2: at least 12,245 are needed
    """
    alpha, lam, n, size = _checked(alpha, beta, groups, n, size, mode, lenses, predictors)
    check.choice("population", population, POPULATIONS)
    return pure_epsilon_at(alpha, lam, n, size, mode, population)


@theorem(
    "coherence.approx-dp-epsilon",
    statement="largest epsilon at which an (epsilon, delta)-DP release enforces coherence, delta at its own largest",
    source="Enforcing Demographic Coherence, Theorem 8, inverted; sharp: derived",
    conditions=f"{RELEASE}; delta at most delta_max; alpha < 2; 0 where no epsilon is allowed",
    unit="epsilon",
    provenance="mixed",
)
def approx_dp_epsilon(
    alpha: float,
    beta: float,
    groups: int,
    n: int,
    size: int,
    mode: Mode = "paper",
    lenses: int = 1,
    predictors: int = 1,
) -> LargestEpsilon:
    """Return the largest epsilon for which `coherence.approx-dp-size` is at most `size`, and the delta it needs.

    Parameters
    ----------
    alpha : float
        Tolerated 1-Wasserstein distance, in (0, 2).
    beta : float
        Failure probability of the whole experiment, in (0, 1].
    groups : int
        How many groups are protected at once.
    n : int
        Rows in the audited data set, even; twice the rows that the release sees.
    size : int
        Rows of the smallest protected group in the audited data set, in [1, n].
    mode : str
        "paper" (default), "corrected" or "sharp".
    lenses, predictors : int
        How many of each the promise covers at once; they multiply the groups.

    Examples
    --------
    >>> found = approx_dp_epsilon(0.2, math.exp(-30), 100, 5_000_000, 250_000)
    >>> f"{found.epsilon:.10g}", f"{found.details['delta_max']:.6g}"
    ('0.0005195417588', '6.56553e-55')
    """
    alpha, lam, n, size = _checked(alpha, beta, groups, n, size, mode, lenses, predictors)
    check.real("alpha", alpha, above=0, below=2)
    return approx_epsilon_at(alpha, lam, n, size, mode)


def _checked(
    alpha: float, beta: float, groups: int, n: int, size: int, mode: str, lenses: int, predictors: int
) -> tuple[float, float, int, int]:
    check.choice("mode", mode, MODES)
    alpha = tolerance(alpha, mode)
    n = even_rows(n)
    size = check.whole("size", size, at_least=1, at_most=n)
    return alpha, log_ratio(beta, groups, lenses, predictors), n, size


__all__ = [
    "LargestEpsilon",
    "approx_dp_epsilon",
    "approx_epsilon_at",
    "nats_budget",
    "pure_dp_epsilon",
    "pure_epsilon_at",
]
