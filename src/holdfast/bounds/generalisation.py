"""Bad events after private or short releases: the theorems of Dwork et al. (2015) and what improves on them.

`p0` is the largest probability, over fixed outputs `y`, that fresh rows are bad for `y`. The question is how likely
the rows are to be bad for the output that was computed from them.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from holdfast.bounds.concentration import exp_up
from holdfast.bounds.low_sensitivity import Deviation
from holdfast.bounds.max_information import general_nats, product_nats
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.numerics.search import best_probability
from holdfast.bounds.parameters import (
    AnyFailureProbability,
    DeviationSize,
    Domain,
    Epsilon,
    PositiveDelta,
    PositiveEpsilon,
    Sensitivity,
    UnboundedRows,
)
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

COROLLARY_22_FROM = 7.801924681
"""From this `u = tau^2/(c^2 n)` on, the printed form of Corollary 22 holds."""


@dataclass(frozen=True)
class Probability:
    """A probability with its natural logarithm, for values below the floating range."""

    value: float
    log_value: float
    line: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"value": self.value, "log_value": self.log_value} | ({"line": self.line} if self.line else {})


@theorem(
    "generalisation.pure-dp",
    statement="probability that rows are bad for an epsilon-DP output, when for fixed outputs it is at most p0",
    source="Dwork et al. 2015 Theorem 6, and Theorems 13 and 20; sharper curve derived",
    conditions="rows independent; neighbours replace one row; p0 is the largest over fixed outputs",
    unit="probability",
    provenance="mixed",
)
def pure_dp_event(
    epsilon: Epsilon,
    n: UnboundedRows,
    log_p0: Annotated[float, Domain("The natural logarithm of `p0`. From 0 on the answer is 1.", typical=-14.0)],
    method: Literal["best", "paper", "theorem-6", "theorem-20"] = "best",
) -> Probability:
    """Return the smallest bound on the probability of a bad event after an `epsilon`-DP computation.

    - "theorem-6": `3 sqrt(p0)`, if `eps <= sqrt(ln(1/p0)/(2n))`, else 1. Printed.
    - "theorem-20": the best `beta` in `2**k(beta) p0 + beta` with the two printed lines of `max-information.pure-dp`.
    - "paper": the smaller of the two.
    - "best": also with the sharper lines. Derived, reviewed.

    Examples
    --------
    >>> print(f"{pure_dp_event(0.05, 5000, -25.0).value:.4g}")
    7.811e-07
    >>> print(f"{pure_dp_event(0.05, 5000, -25.0, method='paper').value:.4g}")
    1.118e-05
    """
    candidates = [(0.0, "trivial")]
    if method != "theorem-20" and log_p0 < 0 and epsilon <= math.sqrt(-log_p0 / (2 * n)):
        candidates.append((math.log(3) + log_p0 / 2, "theorem-6"))
    if method != "theorem-6":
        lines = "best" if method == "best" else "paper"
        at_zero = general_nats(epsilon, n)
        point = best_probability(lambda slack: product_nats(epsilon, n, slack, lines), log_p0, at_zero, rising=True)
        candidates.append((point.log_value, "max-information"))
    log_value, line = min(candidates)
    log_value = min(0.0, up(log_value, 8))
    return Probability(min(1.0, exp_up(log_value)), log_value, line)


@theorem(
    "generalisation.pure-dp-epsilon",
    statement="the largest epsilon for which Theorem 6 bounds the probability of a bad event by 3 sqrt(p0)",
    source="Dwork et al. 2015 Theorem 6",
    conditions="rows independent; p0 is the largest over fixed outputs",
    unit="epsilon",
)
def theorem_6_epsilon(
    log_p0: Annotated[float, Domain("The natural logarithm of `p0`.", at_most=0, typical=-14.0)], n: UnboundedRows
) -> float:
    """Return `sqrt(ln(1/p0)/(2n))`.

    Examples
    --------
    >>> round(theorem_6_epsilon(-13.815510557964274, 5000), 9)
    0.037169222
    """
    return down(math.sqrt(-log_p0 / (2 * n)))


@dataclass(frozen=True)
class Tail:
    """A tail probability together with the privacy, and the bits where there are any, that it asks for.

    Examples
    --------
    >>> Tail(1e-5, 0.05).to_dict()
    {'value': 1e-05, 'epsilon': 0.05}
    """

    value: float
    epsilon: float
    bits: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"value": self.value, "epsilon": self.epsilon} | ({} if self.bits is None else {"bits": self.bits})


@theorem(
    "generalisation.pure-dp-tail",
    statement="probability that a statistic chosen by a tau/(c n)-DP analysis exceeds its mean by tau",
    source="Dwork et al. 2015 Corollary 7",
    conditions="rows independent; the analysis is epsilon-DP with epsilon = tau/(c n); one-sided",
    unit="probability",
)
def corollary_7(tau: DeviationSize, sensitivity: Sensitivity, n: UnboundedRows) -> Tail:
    """Return `3 exp(-tau^2/(c^2 n))` and the epsilon it asks for, `tau/(c n)`.

    Examples
    --------
    >>> print(f"{corollary_7(0.05, 1/5000, 5000).value:.4g}")
    1.118e-05
    """
    ratio, n, u = _tail(tau, sensitivity, n)
    return Tail(min(1.0, up(3 * exp_up(-u), 1)), down(ratio / n))


@theorem(
    "generalisation.max-information-tail",
    statement="probability that a statistic of max-information log2(e) tau^2/(c^2 n) exceeds its mean by tau",
    source="Dwork et al. 2015 Corollary 21, with the n that its condition lacks",
    conditions="the sample's distribution has the tail of concentration.mcdiarmid; one-sided; epsilon suffices "
    "at beta = 0",
    unit="probability",
    provenance="mixed",
)
def corollary_21(
    tau: DeviationSize, sensitivity: Sensitivity, n: UnboundedRows, beta: AnyFailureProbability = 0.0
) -> Tail:
    """Return `exp(-u) + beta`, `u = tau^2/(c^2 n)`, with the bits `log2(e) u` and the epsilon `u/n` that suffice.

    The paper prints the condition without the `n`.

    Examples
    --------
    >>> found = corollary_21(0.05, 1/5000, 5000)
    >>> round(found.bits, 6), round(found.epsilon, 6), f"{found.value:.4g}"
    (18.033688, 0.0025, '3.727e-06')
    """
    _, n, u = _tail(tau, sensitivity, n)
    value = min(1.0, up(exp_up(-u) + beta, 1))
    return Tail(value, down(u / n, 8), down(u / math.log(2), 8))


@theorem(
    "generalisation.pure-dp-tail-by-max-information",
    statement="the tail of generalisation.pure-dp-tail by way of max-information; weaker wherever both apply",
    source="Dwork et al. 2015 Corollary 22 (printed); explicit two-term form derived",
    conditions="rows independent; epsilon = tau/(c n); one-sided; paper: tau^2/(c^2 n) >= 7.801924681",
    unit="probability",
    provenance="mixed",
)
def corollary_22(
    tau: DeviationSize,
    sensitivity: Sensitivity,
    n: UnboundedRows,
    method: Annotated[Literal["best", "paper"], "'best' is the two-term form, 'paper' is the printed one."] = "best",
) -> Tail:
    """Return `exp(-(3/2 - 1/sqrt 2) u) + 2 exp(-u)`, `u = tau^2/(c^2 n)`.

    "paper" is `exp(-3u/4)`, which needs `u >= 7.8019`.

    Examples
    --------
    >>> print(f"{corollary_22(0.05, 1/5000, 5000).value:.4g}")
    5.707e-05
    """
    ratio, n, u = _tail(tau, sensitivity, n)
    epsilon = down(ratio / n)
    if method == "best":
        return Tail(min(1.0, up(exp_up(-(1.5 - math.sqrt(0.5)) * u) + 2 * exp_up(-u), 2)), epsilon)
    if u < COROLLARY_22_FROM:
        raise InvalidParameter(f"tau^2/(c^2 n) must be at least {COROLLARY_22_FROM} for the printed form, got {u:.6g}")
    return Tail(min(1.0, exp_up(-0.75 * u)), epsilon)


@theorem(
    "generalisation.approx-dp",
    statement="error 13 epsilon of a mean chosen by an (epsilon, delta)-DP analysis; failure in the details",
    source="Dwork et al. 2015 Theorem 8 (printed; its constants were not re-derived)",
    conditions="rows independent, mean of a [0, 1]-valued function; n >= 2 ln(8/delta)/epsilon^2; two-sided",
    unit="radius",
)
def theorem_8(
    epsilon: Annotated[PositiveEpsilon, Domain(below=2)],
    delta: PositiveDelta,
    n: Annotated[UnboundedRows, Domain("Rows, at least `theorem_8_rows(epsilon, delta)`.", typical=10**6)],
) -> Deviation:
    """Return the radius `13 eps` and its failure probability `(2 delta/eps) ln(2/eps)`.

    Examples
    --------
    >>> found = theorem_8(0.1, 1e-6, 4000)
    >>> round(found.radius, 6), f"{found.failure:.4g}"
    (1.3, '5.991e-05')
    """
    least = theorem_8_rows(epsilon, delta)
    if n < least:
        raise InvalidParameter(f"n must be at least {least:.10g}, got {n}")
    return Deviation(up(13 * epsilon), min(1.0, up(2 * delta / epsilon * (math.log(2) - math.log(epsilon)), 16)))


@theorem(
    "generalisation.approx-dp-rows",
    statement="the number of rows that Theorem 8 asks for",
    source="Dwork et al. 2015 Theorem 8",
    conditions="epsilon > 0, delta in (0, 1)",
    unit="rows",
)
def theorem_8_rows(epsilon: PositiveEpsilon, delta: PositiveDelta) -> float:
    """Return `2 ln(8/delta)/eps^2`.

    Examples
    --------
    >>> round(theorem_8_rows(0.1, 1e-6), 6)
    3178.99042
    """
    return up(2 * (math.log(8) - math.log(delta)) / epsilon / epsilon, 8)


def theorem_8_inverse(tau: float, beta: float) -> tuple[float, float]:
    """Return `(epsilon, delta)` for which Theorem 8 gives error `tau` with probability `1 - beta`, given enough rows.

    `eps = tau/13`, `delta = beta tau/(26 ln(26/tau))`.

    Examples
    --------
    >>> epsilon, delta = theorem_8_inverse(0.1, 0.05)
    >>> round(epsilon, 9), f"{delta:.6g}"
    (0.007692308, '3.45835e-05')
    """
    tau = arguments.real("tau", tau, above=0, at_most=1)
    return down(tau / 13), down(arguments.probability("beta", beta) * tau / (26 * (math.log(26) - math.log(tau))), 8)


def _tail(tau: float, sensitivity: float, n: int) -> tuple[float, int, float]:
    """`tau/c`, `n` and `u = tau^2/(c^2 n)`, checked; capped at the largest double, which loosens every use of them."""
    tau = arguments.real("tau", tau, above=0)
    sensitivity = arguments.real("sensitivity", sensitivity, above=0)
    n = arguments.whole("n", n, at_least=1)
    ratio = min(tau / sensitivity, sys.float_info.max)
    scaled = ratio / math.sqrt(n)
    return ratio, n, min(scaled * scaled, sys.float_info.max)
