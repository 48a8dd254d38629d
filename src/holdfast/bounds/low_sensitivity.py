"""Statistics of low sensitivity after looking: how far a selected statistic can be from its mean on fresh rows.

A statistic has sensitivity `c` when replacing one row moves it by at most `c`; the mean of a [0, 1]-valued function of
a row has `c = 1/n`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from holdfast.bounds.concentration import exp_up, mcdiarmid_log
from holdfast.bounds.currency import corrected, exponent
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.p_value import level_after_approx_dp
from holdfast.bounds.parameters import (
    AnyFailureProbability,
    Delta,
    Domain,
    Epsilon,
    MaxInformationBits,
    OpenFailureProbability,
    PositiveDelta,
    PositiveEpsilon,
    Sensitivity,
    UnboundedRows,
)
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter


@dataclass(frozen=True)
class Deviation:
    """A radius and the probability that the statistic is further from its mean than that.

    Examples
    --------
    >>> Deviation(0.18, 1e-7).to_dict()
    {'radius': 0.18, 'failure': 1e-07}
    """

    radius: float
    failure: float

    @property
    def value(self) -> float:
        """The radius."""
        return self.radius

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"radius": self.radius, "failure": self.failure}


@theorem(
    "low-sensitivity.failure",
    statement="probability that a selected statistic is tau or more from its mean, after a release with k bits at beta",
    source="Rogers-Roth-Smith-Thakkar 2016 Appendix D (the factor 2 for two sides added)",
    conditions="rows independent; (k, beta) is a max-information or transfer bound of product scope; two-sided",
    unit="probability",
    provenance="derived",
)
def failure(
    k_bits: MaxInformationBits,
    beta: AnyFailureProbability,
    n: UnboundedRows,
    sensitivity: Sensitivity,
    tau: Annotated[float, Domain("The deviation.", at_least=0, typical=0.1)],
) -> float:
    """Return `min(1, 2 2**k exp(-2 tau^2/(n c^2)) + beta)`.

    Examples
    --------
    >>> round(failure(10, 0.001, 1000, 0.001, 0.1), 9)
    0.001004221
    """
    k_bits = exponent("k_bits", k_bits, beta)
    if k_bits == math.inf:
        return 1.0
    log_copies, log_tail = math.log(2) * (1 + k_bits), mcdiarmid_log(tau, sensitivity, n)
    log_main = log_copies + log_tail + 4 * math.ulp(max(log_copies, -log_tail)) if log_tail > -math.inf else -math.inf
    return 1.0 if log_main >= 0 else min(1.0, up(exp_up(log_main) + beta, 1))


@theorem(
    "low-sensitivity.radius",
    statement="radius around a selected statistic that holds its mean, after a release with k bits at beta",
    source="Rogers-Roth-Smith-Thakkar 2016 Appendix D, inverted",
    conditions="as for low-sensitivity.failure; beta below the failure probability",
    unit="radius",
    provenance="derived",
)
def radius(
    k_bits: MaxInformationBits,
    beta: AnyFailureProbability,
    n: UnboundedRows,
    sensitivity: Sensitivity,
    failure: OpenFailureProbability,
) -> float:
    """Return `c sqrt((n/2) (k ln 2 + ln(2/(failure - beta))))`; `inf` when `beta` leaves nothing.

    Examples
    --------
    >>> round(radius(10, 0.001, 1000, 0.001, 0.05), 9)
    0.072940229
    """
    k_bits = exponent("k_bits", k_bits, beta)
    return _radius(n, sensitivity, corrected(failure, k_bits, beta)[1])


@theorem(
    "low-sensitivity.radius-after-dp",
    statement="radius around a statistic selected by an (epsilon, delta)-DP analysis, free parameters optimised",
    source="Holdfast: low-sensitivity.radius over the curve of max-information.pure-dp or Theorem S+",
    conditions="rows independent; neighbours replace one row; two-sided",
    unit="radius",
    provenance="derived",
)
def radius_after_dp(
    epsilon: Epsilon, n: UnboundedRows, sensitivity: Sensitivity, failure: OpenFailureProbability, delta: Delta = 0.0
) -> float:
    """Return the smallest radius over the whole curve of bounds: `c sqrt((n/2) ln(2/level))`.

    `level` is `p-value.level-after-approx-dp` at `failure`: the two optimisations are the same one.

    Returns
    -------
    float
        `inf` where no bound exists.

    Examples
    --------
    >>> round(radius_after_dp(0.01, 10_000, 1e-4, 0.05), 6)
    0.015871
    >>> round(radius_after_dp(0.01, 10_000, 1e-4, 0.05, delta=1e-12), 6)
    0.018444
    """
    log2_level = level_after_approx_dp(failure, epsilon, delta, n).log2_level
    return _radius(n, sensitivity, log2_level)


@theorem(
    "low-sensitivity.approx-dp",
    statement="closed-form radius for a statistic selected by an (epsilon, delta)-DP analysis; failure in the details",
    source="Rogers-Roth-Smith-Thakkar 2016 Theorem D.1 with its constants made explicit; default by Theorem S",
    conditions="rows independent; epsilon <= 1/2; paper: 0 < delta <= epsilon^5, n >= ln(epsilon/delta)/(2 epsilon^2)",
    unit="radius",
    provenance="derived",
)
def approx_dp_deviation(
    epsilon: Annotated[PositiveEpsilon, Domain(at_most=0.5)],
    delta: Annotated[Delta, "The delta; in (0, epsilon^5] for 'paper'."],
    n: UnboundedRows,
    sensitivity: Sensitivity,
    method: Literal["best", "paper"] = "best",
) -> Deviation:
    """Return the radius `C eps c n` and the probability that the statistic is further from its mean.

    - "best": `C = 1.71` and `6.44 exp(-eps^2 n) + 2.55 n delta/eps`, by Theorem S at `s = eps`. Derived, reviewed.
    - "paper": `C = 6` and `35.7 n sqrt(delta/eps)`. Theorem D.1 prints an unnamed constant, no constant on the right,
      and no factor 2 for two sides. Derived from `max-information.approx-dp-closed-form`, reviewed.

    Examples
    --------
    >>> print(approx_dp_deviation(0.1, 1e-12, 10_000, 1e-4).radius)
    0.171...
    """
    if method == "best":
        probability = 6.44 * math.exp(-epsilon * epsilon * n) + 2.55 * n * delta / epsilon
        return Deviation(up(1.71 * epsilon * sensitivity * n), min(1.0, up(probability, 64)))
    if not 0 < delta <= epsilon**5:
        raise InvalidParameter(f"delta must be a number in (0, epsilon^5] = (0, {epsilon**5:g}], got {delta:g}")
    _enough_rows(n, (math.log(epsilon) - math.log(delta)) / (2 * epsilon * epsilon))
    return Deviation(up(6 * epsilon * sensitivity * n), min(1.0, up(35.7 * n * math.sqrt(delta / epsilon), 8)))


@theorem(
    "low-sensitivity.bns-radius",
    statement="radius 18 epsilon c n around a statistic selected by (epsilon, delta)-DP; failure delta/epsilon",
    source="Bassily et al. 2016 as quoted in Rogers-Roth-Smith-Thakkar 2016 Theorem B.2",
    conditions="rows independent; epsilon in (0, 1/3), delta in (0, epsilon/4), n >= ln(4 epsilon/delta)/epsilon^2",
    unit="radius",
)
def bns_deviation(
    epsilon: Annotated[PositiveEpsilon, Domain(below=1 / 3)],
    delta: PositiveDelta,
    n: Annotated[UnboundedRows, Domain("Rows, at least `ln(4 eps/delta)/eps^2`.", typical=10**6)],
    sensitivity: Sensitivity,
) -> Deviation:
    """Return `18 eps c n` and `delta/eps`: `Pr[|q(P^n) - q(X)| >= 18 eps c n] < delta/eps`.

    As published. For p-values it is vacuous: their sensitivity is at least `0.37/sqrt(n)`
    (`p-value.sensitivity-floor`), which makes the radius at least 11 under the theorem's own conditions.

    Examples
    --------
    >>> found = bns_deviation(0.01, 1e-9, 10**6, 1e-6)
    >>> round(found.radius, 6), round(found.failure, 12)
    (0.18, 1e-07)
    """
    delta = arguments.real("delta", delta, above=0, below=epsilon / 4)
    _enough_rows(n, (math.log(4) + math.log(epsilon) - math.log(delta)) / epsilon / epsilon)
    return Deviation(up(18 * epsilon * sensitivity * n), up(delta / epsilon))


def _radius(n: int, sensitivity: float, log2_level: float) -> float:
    """`c sqrt((n/2) ln(2/level))`, rounded up: where the two-sided tail of McDiarmid's inequality is the level."""
    return up(sensitivity * math.sqrt(n / 2 * math.log(2) * (1 - log2_level)), 8)


def _enough_rows(n: int, least: float) -> None:
    if n < least:
        raise InvalidParameter(f"n must be at least {least:.10g}, got {n}")
