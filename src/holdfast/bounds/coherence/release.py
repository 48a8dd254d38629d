"""Releases that enforce coherence: private ones (Theorems 7 and 8), and those that take few values (section 7)."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from holdfast.bounds.coherence import group_size, max_information
from holdfast.bounds.coherence.group_size import (
    RELEASE,
    SPLIT,
    GroupSize,
    Mode,
    Population,
    closed_size,
    even_rows,
    log_ratio,
    size_at,
    tightest_population,
    tolerance,
)
from holdfast.bounds.coherence.max_information import correction, finite_nats
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.parameters import (
    AuditedRows,
    AuditFailureProbability,
    Bits,
    Delta,
    Domain,
    Groups,
    Lenses,
    PositiveEpsilon,
    Predictors,
    SharpTolerance,
)
from holdfast.bounds.registry import theorem
from holdfast.core import arguments

# --- Private release --------------------------------------------------------------------------------------------------
# Differentially private releases enforce coherence: Theorems 7 and 8, from epsilon to the least group size.

LN2 = math.log(2)


def pure_size_at(
    alpha: float, lam: float, n: int, epsilon: float, mode: str = "paper", population: Population = "large"
) -> GroupSize:
    """Theorem 7 at `Lambda = lam`; epsilon 0 is allowed. Arguments are not checked."""
    nats = max_information.pure_nats(epsilon, n, lam + LN2, population)
    least = size_at(alpha, lam, nats, n, mode)
    return GroupSize(least.size, mode, n, least.terms, {"nats": nats, "population": population})


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
    least = size_at(alpha, lam, nats, n, mode)
    return GroupSize(least.size, mode, n, least.terms, details)


@theorem(
    "coherence.pure-dp-size",
    statement="least group size at which an epsilon-DP release enforces (alpha, beta)-coherence",
    source="Enforcing Demographic Coherence, Theorem 7; sharp: derived",
    conditions=f"{RELEASE}; paper and corrected: epsilon <= 1; sharp: alpha < 2",
    unit="rows",
    provenance="mixed",
)
def pure_dp_size(
    alpha: SharpTolerance,
    beta: AuditFailureProbability,
    groups: Groups,
    n: AuditedRows,
    epsilon: Annotated[PositiveEpsilon, "The epsilon of the release; at most 1 except in sharp mode."],
    mode: Mode = "sharp",
    population: Population | None = None,
    lenses: Lenses = 1,
    predictors: Predictors = 1,
) -> GroupSize:
    """Return the smallest group size at which an epsilon-DP release enforces (alpha, beta)-coherence (Theorem 7).

    It is the size of Theorem 3 (`max_information_size`) for a max-information of `eps^2 n/4 + eps sqrt(n ln(4r))/2`
    nats. Here `r` is the number of groups divided by beta.

    Examples
    --------
    >>> import math
    >>> found = pure_dp_size(0.2, math.exp(-30), 100, 5_000_000, 0.01)
    >>> round(found.size, 6), found.rows, found.binding
    (31257, 31257, None)
    >>> pure_dp_size(0.2, math.exp(-30), 100, 5_000_000, 0.01, mode="paper").rows
    190446
    """
    alpha = tolerance(alpha, mode)
    lam = log_ratio(beta, groups, lenses, predictors)
    if mode != "sharp":
        arguments.real("epsilon", epsilon, above=0, at_most=1)
    return pure_size_at(alpha, lam, even_rows(n), epsilon, mode, tightest_population(mode, population))


@theorem(
    "coherence.approx-dp-size",
    statement="least group size at which an (epsilon, delta)-DP release enforces (alpha, beta)-coherence",
    source="Enforcing Demographic Coherence, Theorem 8; corrected: un-rounded, Theorem 15; sharp: derived",
    conditions=f"{RELEASE}; epsilon <= 1/2, delta <= delta_max (paper), alpha < 2",
    unit="rows",
    provenance="mixed",
)
def approx_dp_size(
    alpha: Annotated[SharpTolerance, Domain(below=2)],
    beta: AuditFailureProbability,
    groups: Groups,
    n: AuditedRows,
    epsilon: Annotated[
        PositiveEpsilon, Domain("The epsilon of the release; at most 1/4 with order 'any'.", at_most=0.5)
    ],
    delta: Annotated[Delta, "The delta of the release; `delta_max` if left out."] | None = None,
    mode: Mode = "sharp",
    order: Annotated[
        Literal["invariant", "any"], "Whether the release ignores the order of rows; 'any' doubles epsilon."
    ] = "invariant",
    lenses: Lenses = 1,
    predictors: Predictors = 1,
) -> GroupSize:
    """Return the smallest group size at which an (epsilon, delta)-DP release is coherent, and the largest allowed
    delta.

    The size is that of Theorem 3 (`max_information_size`) for the max-information of the release (Theorem 8). With `r =
    groups/beta` the mode selects this max-information:

    - "paper": `133 eps^2 n + 12 eps sqrt(n ln(4r)) + ln(32r)`, for `delta <= (eps/(120 n r))^2`.
    - "corrected": the constants are `132.5` and 6, and the last term is `ln(16r)`, as the corollary in the same paper
      gives. For larger deltas, and wherever that gives a smaller size, Theorem 15 is used with both of its parameters
      optimised (`coherence.max-information-approx-general`).
    - "sharp": the same max-information as "corrected", with the sharp sampling bound.

    The size is `inf` where delta is too large for the mode.

    Examples
    --------
    >>> import math
    >>> found = approx_dp_size(0.2, math.exp(-30), 100, 5_000_000, 0.001)
    >>> round(found.size, 4), f"{found.details['delta_max']:.4g}"
    (158194, '2.432e-54')
    >>> approx_dp_size(0.2, math.exp(-30), 100, 5_000_000, 0.001, delta=1e-40).size
    inf
    """
    lam = log_ratio(beta, groups, lenses, predictors)
    n = even_rows(n)
    epsilon = arguments.real("epsilon", epsilon, above=0, at_most=0.5 if order == "invariant" else 0.25)
    log_delta = None
    if delta is not None:
        log_delta = math.log(delta) if delta else -math.inf
    return approx_size_at(alpha, lam, n, epsilon, log_delta, mode, order_invariant=order == "invariant")


def add_remove_to_replace(epsilon: float, delta: float = 0.0) -> tuple[float, float]:
    """Convert a privacy guarantee for adding or removing one row to a guarantee for replacing one row.

    The result is `(2 eps, (1 + e^eps) delta)`, because replacing a row is removing it and adding another.

    Notes
    -----
    This conversion is derived here.

    Examples
    --------
    >>> add_remove_to_replace(0.5)
    (1.0, 0.0)
    """
    epsilon = arguments.real("epsilon", epsilon, at_least=0)
    delta = arguments.probability("delta", delta, zero=True, one=True)
    if epsilon > 700:  # e^epsilon is beyond the floating range or nearly so, and any delta above 0 with it
        return 2 * epsilon, 1.0 if delta else 0.0
    return 2 * epsilon, min(1.0, up((1 + math.exp(epsilon)) * delta))


# --- Finite release ---------------------------------------------------------------------------------------------------
# Releases that are not private and still enforce coherence: section 7, and any report with few values.

LN4, LN8 = math.log(4), math.log(8)


def release_size_at(alpha: float, lam: float, log_values: float, n: int | None, mode: str) -> GroupSize:
    """Return the direct union over reports at `Lambda = lam`. Arguments are not checked.

    A predictor made from one fixed report is fixed before the split, so chance bounds its failure by `p`, and all
    `K` reports together fail with probability at most `K p`. No max-information and no slack. Derived, reviewed.
    """
    closed = closed_size(alpha, log_values + LN8 + lam, mode)
    if mode != "sharp" or n is None:
        return GroupSize(max(closed.values()), mode, n, closed)
    exact = group_size.smallest_size(n, alpha / 2, -lam - log_values)
    return GroupSize(min(exact, max(closed.values())), mode, n)


@theorem(
    "coherence.finite-release-size",
    statement="least group size at which a release of few values enforces coherence, private or not",
    source="Holdfast: union over reports, docs/epsilon.md; after Theorem 3 of Enforcing Demographic Coherence",
    conditions=f"{SPLIT}; the report takes at most 2^bits values; any lens, any learner; sharp: alpha < 2",
    unit="rows",
    provenance="derived",
)
def finite_release_size(
    alpha: SharpTolerance,
    beta: AuditFailureProbability,
    groups: Groups,
    n: AuditedRows,
    bits: Annotated[Bits, "The base-2 logarithm of the number of reports."],
    mode: Literal["corrected", "sharp"] = "sharp",
) -> GroupSize:
    """Return the smallest group size at which a report that has at most `2^bits` possible values enforces coherence.

    Write `K = 2^bits` and `r = groups/beta`. The mode selects the formula:

    - "corrected": the size of Theorem 3, with `ln K + ln(8 r)` in place of `zeta + ln(16 r)`.
    - "sharp": the smallest `m` with `K (m'-1) q(n, m', alpha/2) <= beta/groups` for every `m' >= m`. `q` is the exact
      tail of a random half split.

    Examples
    --------
    >>> finite_release_size(0.2, 0.05, 10, 1_000_000, 20, "sharp").rows
    5704
    """
    alpha = tolerance(alpha, mode)
    lam = log_ratio(beta, groups)
    log_values = bits * math.log(2)
    return release_size_at(alpha, lam, log_values, even_rows(n), mode)


@theorem(
    "coherence.count-release-size",
    statement="least group size at which publishing how many rows have a property enforces coherence for every lens",
    source="Enforcing Demographic Coherence, Theorem 11 (paper); default and sharp: derived",
    conditions=f"{SPLIT}; the count (or the shuffled column) in the clear; any lens; paper: n sufficiently large",
    unit="rows",
    provenance="mixed",
)
def count_release_size(
    alpha: SharpTolerance, beta: AuditFailureProbability, groups: Groups, n: AuditedRows, mode: Mode = "sharp"
) -> GroupSize:
    """Return the smallest group size at which publishing the exact count of one binary column enforces coherence.

    With `r = groups/beta` the mode selects the formula:

    - "paper": `112 sqrt(n ln(10 n r))/alpha`. The paper states it "for n sufficiently large" without saying how large.
      At the paper's own example the size is larger than `n`. The last step of the proof needs only `80 + 8 alpha` in
      place of 112.
    - "corrected": the count takes one of `n/2 + 1` values, so a union bound over the possible reports applies. This
      form has no condition on n.
    - "sharp" (default): the same union bound with the sharp sampling bound.

    Examples
    --------
    >>> import math
    >>> [round(count_release_size(0.2, math.exp(-30), 100, 5_000_000, m).size, 4)
    ...  for m in ("paper", "corrected", "sharp")]
    [9058569.3947, 42675.6231, 11886]
    """
    alpha = tolerance(alpha, mode)
    lam = log_ratio(beta, groups)
    n = even_rows(n)
    if mode == "paper":
        return theorem_11(alpha, lam, n, 112.0)
    least = release_size_at(alpha, lam, up(math.log(n // 2 + 1)), n, mode)
    return GroupSize(least.size, mode, n, least.terms, {"values": n // 2 + 1})


def theorem_11(alpha: float, lam: float, n: int, constant: float | None = None) -> GroupSize:
    """Theorem 11 with its printed constant 112, or with what its last step needs, `80 + 8 alpha`. Not checked.

    Examples
    --------
    >>> round(theorem_11(0.2, math.log(100) + 30, 5_000_000).size, 4)
    6599814.8447
    """
    factor = 80 + 8 * alpha if constant is None else constant
    size = up(factor * math.sqrt(n * (math.log(10 * n) + lam)) / alpha, 8)
    return GroupSize(size, "paper" if constant == 112.0 else "corrected", n)


def count_by_max_information(alpha: float, lam: float, n: int, mode: Mode = "corrected") -> GroupSize:
    """The count release through `ln(K/eta)` and Theorem 3: valid, and beaten by the union. Arguments are not checked.

    Examples
    --------
    >>> round(count_by_max_information(0.2, math.log(100) + 30, 5_000_000).size, 4)
    72548.5387
    """
    return size_at(alpha, lam, finite_nats(math.log(n // 2 + 1), lam + math.log(2)), n, mode)


@theorem(
    "coherence.column-release-size",
    statement="least group size at which publishing one column in the clear is coherent through that column",
    source="Enforcing Demographic Coherence, Theorem 9 (paper); default and sharp: derived",
    conditions=f"{SPLIT}; the lens shows that column only, with the stated number of visible profiles",
    unit="rows",
    provenance="mixed",
)
def column_release_size(
    alpha: SharpTolerance,
    beta: AuditFailureProbability,
    groups: Groups,
    n: AuditedRows,
    profiles: Annotated[
        int, Domain("Distinct values that the lens shows, missing included.", at_least=2, at_most=500)
    ] = 2,
    mode: Mode = "sharp",
) -> GroupSize:
    """Return the smallest group size at which a column published in the clear is coherent for predictors that use it
    alone.

    The values of the column are published in the order of the rows. With `r = groups/beta` and `v = profiles`, the
    number of different values that the lens shows (a missing value counts as one), the mode selects the formula:

    - "paper": `4 sqrt(n ln r)/alpha`, for two profiles. The details of the result say in `proved` whether this form is
      proved at these arguments.
    - "corrected": the smaller of `4 sqrt(n ln(4r))/alpha` (two profiles only) and `max{16.6 L/alpha^2, 32/(3 alpha),
      8.3 L, 40}` with `L = ln(4 (2^(v-1) - 1) r)`, which does not depend on `n`.
    - "sharp": the smallest `m` with `(2^(v-1) - 1) q(n, m', alpha/2) <= beta/groups` for every `m' >= m`. `q` is the
      exact tail of a random half split.

    Notes
    -----
    The paper's proof has slips that cancel. The statement is proved (derived, reviewed) whenever `(kappa(n) - 1) ln
    r >= ln 4`. In the corrected form that is free of `n`, the report decides only how a predictor orders the `v`
    profiles, so each non-trivial cut of the profiles is one threshold.

    Examples
    --------
    >>> import math
    >>> [round(column_release_size(0.2, math.exp(-30), 100, 5_000_000, 2, m).size, 4)
    ...  for m in ("paper", "corrected", "sharp")]
    [263078.5821, 14936.4578, 7063]
    """
    alpha = tolerance(alpha, mode) if mode == "paper" else arguments.real("alpha", alpha, above=0, below=2)
    lam = log_ratio(beta, groups)
    n = even_rows(n)
    profiles = arguments.whole("profiles", profiles, at_least=2, at_most=2 if mode == "paper" else 500)
    if mode == "paper":
        proved = (correction(n) - 1) * lam >= LN4
        return GroupSize(up(4 * math.sqrt(n * lam) / alpha), mode, n, {}, {"proved": proved})
    cuts = math.log(2.0 ** (profiles - 1) - 1) if profiles > 2 else 0.0
    bits = LN4 + cuts + lam
    terms = {
        "chance": up(16.6 * bits / alpha / alpha),
        "step": up(32 / (3 * alpha)),
        "halves": up(8.3 * bits),
        "floor": 40.0,
    }
    closed = max(terms.values())
    counted = up(4 * math.sqrt(n * (LN4 + lam)) / alpha) if profiles == 2 else math.inf
    if mode == "corrected":
        return GroupSize(min(closed, counted), mode, n, terms if closed <= counted else {"deviation": counted})
    exact = group_size.smallest_size(n, alpha / 2, -lam, math.exp(cuts))
    return GroupSize(min(exact, closed, counted), mode, n)


def unequal_halves(alpha: float, lam: float, n: int) -> float:
    """Return an earlier repair of Theorem 9, `sqrt(n L) (2/alpha + sqrt(4/alpha^2 + 1))`: valid, larger. Not checked.

    Examples
    --------
    >>> round(unequal_halves(0.2, math.log(200), 10_000), 6)
    5183.818367
    """
    return up(math.sqrt(n * (LN4 + lam)) * (2 / alpha + math.sqrt(4 / alpha / alpha + 1)))
