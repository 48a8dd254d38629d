"""Differentially private releases enforce coherence: Theorems 7 and 8, from epsilon to the least group size."""

from __future__ import annotations

import math
from typing import Literal

from holdfast import check
from holdfast.bounds.coherence import max_information
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
from holdfast.bounds.coherence.theorem3 import size_at
from holdfast.bounds.exact import down, up
from holdfast.bounds.registry import theorem

LN2 = math.log(2)


def pure_size_at(
    alpha: float, lam: float, n: int, epsilon: float, mode: str = "paper", population: Population = "large"
) -> GroupSize:
    """Theorem 7 at `Lambda = lam`; epsilon 0 is allowed. Arguments are not checked."""
    nats = max_information.pure_nats(epsilon, n, lam + LN2, population)
    found = size_at(alpha, lam, nats, n, mode)
    return GroupSize(found.size, mode, n, found.terms, {"nats": nats, "population": population})


def approx_nats_at(lam: float, n: int, epsilon: float, mode: str) -> float:
    """Max-information in Theorem 8: 133 and 12 as printed, 132.5 and 6 from its own corollary. Not checked."""
    if mode == "paper":
        # Theorem 8 prints ln(32 r) where its proof needs ln(16 r); the difference is kept in the nats
        return up(133 * epsilon * epsilon * n + 12 * epsilon * math.sqrt(n * (math.log(4) + lam)) + LN2)
    return max_information.approx_nats(epsilon, n / 2, lam + LN2)


def log_delta_max(lam: float, n: int, epsilon: float, *, order_invariant: bool = True) -> float:
    """Return `ln` of Theorem 8's largest delta, `(epsilon/(120 n r))^2`, or of half of it. Arguments are not checked.

    Examples
    --------
    >>> round(log_delta_max(math.log(100) + 30, 5_000_000, 0.001) / math.log(10), 6)
    -53.613971
    """
    largest = down(2 * (math.log(epsilon) - math.log(120 * n) - lam), 8)
    return largest if order_invariant else down(largest - LN2)


def approx_size_at(
    alpha: float,
    lam: float,
    n: int,
    epsilon: float,
    log_delta: float | None = None,
    mode: str = "paper",
    *,
    order_invariant: bool = True,
) -> GroupSize:
    """Theorem 8 at `Lambda = lam` and `delta = exp(log_delta)`. Arguments are not checked.

    Beyond the corollary's delta, the corrected and sharp modes try Theorem 15 with its parameters free.
    """
    paid = epsilon if order_invariant else 2 * epsilon
    largest = log_delta_max(lam, n, epsilon, order_invariant=order_invariant)
    nats = approx_nats_at(lam, n, paid, mode)
    inside = log_delta is None or log_delta <= largest
    slack = lam + LN2  # eta = beta/(2 groups)
    if log_delta is not None and mode != "paper" and order_invariant and log_delta > -700 and slack < 700:
        delta = math.exp(log_delta)
        if delta < epsilon:
            free = max_information.optimised(epsilon, delta, n // 2, math.exp(-slack)).nats
            nats = min(nats, free) if inside else free
            inside = inside or free < math.inf
    details = {"nats": nats, "delta_max": down(math.exp(largest), 2), "log10_delta_max": largest / math.log(10)}
    if not inside:
        return GroupSize(math.inf, mode, n, {}, details | {"nats": math.inf})
    found = size_at(alpha, lam, nats, n, mode)
    return GroupSize(found.size, mode, n, found.terms, details)


@theorem(
    "coherence.pure-dp-size",
    statement="least group size at which an epsilon-DP release enforces (alpha, beta)-coherence",
    source="Enforcing Demographic Coherence, Theorem 7; sharp: derived",
    conditions=f"{RELEASE}; paper and corrected: epsilon <= 1; sharp: alpha < 2",
    unit="rows",
    provenance="mixed",
)
def pure_dp_size(
    alpha: float,
    beta: float,
    groups: int,
    n: int,
    epsilon: float,
    mode: Mode = "paper",
    population: Population = "large",
    lenses: int = 1,
    predictors: int = 1,
) -> GroupSize:
    """Return the least group size of Theorem 7: Theorem 3 with `zeta = eps^2 n/4 + eps sqrt(n ln(4r))/2`.

    Parameters
    ----------
    alpha : float
        Tolerated 1-Wasserstein distance of predictions in [-1, 1]: in (0, 2], below 2 in sharp mode.
    beta : float
        Failure probability of the whole experiment, in (0, 1].
    groups : int
        How many groups are protected at once.
    n : int
        Rows in the audited data set, even. The release sees half of them: for a release about `N` rows this is `2 N`.
    epsilon : float
        The privacy parameter, neighbours replace one row; in (0, 1], any positive number in sharp mode.
    mode : str
        "paper" (default) as printed; "corrected" with its slips repaired; "sharp" without rounded constants.
    population : str
        "large" as printed, "finite" with the factor `kappa` of sampling half of a finite population.
    lenses, predictors : int
        How many of each the promise covers at once; they multiply the groups.

    Examples
    --------
    >>> import math
    >>> found = pure_dp_size(0.2, math.exp(-30), 100, 5_000_000, 0.01)
    >>> round(found.size, 6), found.rows, found.binding
    (190445.031618, 190446, 'chance')
    >>> pure_dp_size(0.2, math.exp(-30), 100, 5_000_000, 0.01, mode="sharp").rows
    47771
    """
    check.choice("mode", mode, MODES)
    check.choice("population", population, POPULATIONS)
    alpha = tolerance(alpha, mode)
    lam = log_ratio(beta, groups, lenses, predictors)
    epsilon = check.real("epsilon", epsilon, above=0)
    if mode != "sharp":
        check.real("epsilon", epsilon, above=0, at_most=1)
    return pure_size_at(alpha, lam, even_rows(n), epsilon, mode, population)


@theorem(
    "coherence.approx-dp-size",
    statement="least group size at which an (epsilon, delta)-DP release enforces (alpha, beta)-coherence",
    source="Enforcing Demographic Coherence, Theorem 8; corrected: un-rounded, Theorem 15; sharp: derived",
    conditions=f"{RELEASE}; epsilon <= 1/2, delta <= delta_max (paper), alpha < 2",
    unit="rows",
    provenance="mixed",
)
def approx_dp_size(
    alpha: float,
    beta: float,
    groups: int,
    n: int,
    epsilon: float,
    delta: float | None = None,
    mode: Mode = "paper",
    order: Literal["invariant", "any"] = "invariant",
    lenses: int = 1,
    predictors: int = 1,
) -> GroupSize:
    """Return the least group size of Theorem 8, and the largest delta that it allows.

    - "paper": Theorem 3 with `133 eps^2 n + 12 eps sqrt(n ln(4r)) + ln(32r)`, for `delta <= (eps/(120 n r))^2`.
    - "corrected": `132.5`, 6 and `ln(16r)`, which its own corollary gives; for larger deltas, and where it is better,
      Theorem 15 with its two parameters free (`coherence.max-information-approx-general`).
    - "sharp": the same max-information with the sharp sampling bound.

    `inf` where delta is too large for the mode.

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
    epsilon : float
        In (0, 1/2], in (0, 1/4] with order "any"; neighbours replace one row.
    delta : float, optional
        At least 0. Left out, `delta_max` is assumed.
    mode : str
        "paper" (default), "corrected" or "sharp".
    order : str
        "invariant" (default), or "any": twice epsilon and half of `delta_max` (footnotes 15 and 19). The doubled
        epsilon must be in the range of the corollary, which the footnotes do not say.
    lenses, predictors : int
        How many of each the promise covers at once; they multiply the groups.

    Examples
    --------
    >>> import math
    >>> found = approx_dp_size(0.2, math.exp(-30), 100, 5_000_000, 0.001)
    >>> round(found.size, 4), f"{found.details['delta_max']:.4g}"
    (717160.4322, '2.432e-54')
    >>> approx_dp_size(0.2, math.exp(-30), 100, 5_000_000, 0.001, delta=1e-40).size
    inf
    """
    check.choice("mode", mode, MODES)
    check.choice("order", order, ("invariant", "any"))
    alpha = check.real("alpha", alpha, above=0, below=2)
    lam = log_ratio(beta, groups, lenses, predictors)
    n = even_rows(n)
    epsilon = check.real("epsilon", epsilon, above=0, at_most=0.5 if order == "invariant" else 0.25)
    log_delta = None
    if delta is not None:
        delta = check.probability("delta", delta, zero=True)
        log_delta = math.log(delta) if delta else -math.inf
    return approx_size_at(alpha, lam, n, epsilon, log_delta, mode, order_invariant=order == "invariant")


def add_remove_to_replace(epsilon: float, delta: float = 0.0) -> tuple[float, float]:
    """Convert a guarantee for adding or removing one row to one for replacing one: `(2 eps, (1 + e^eps) delta)`.

    Replacing a row is removing it and adding another. Derived.

    Examples
    --------
    >>> add_remove_to_replace(0.5)
    (1.0, 0.0)
    """
    epsilon = check.real("epsilon", epsilon, at_least=0)
    delta = check.probability("delta", delta, zero=True, one=True)
    if epsilon > 700:  # e^epsilon is beyond the floating range or nearly so, and any delta above 0 with it
        return 2 * epsilon, 1.0 if delta else 0.0
    return 2 * epsilon, min(1.0, up((1 + math.exp(epsilon)) * delta))


__all__ = [
    "add_remove_to_replace",
    "approx_dp_size",
    "approx_nats_at",
    "approx_size_at",
    "log_delta_max",
    "pure_dp_size",
    "pure_size_at",
]
