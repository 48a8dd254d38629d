"""Concentration of sums and of statistics that are fixed in advance, and tails rounded up."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from holdfast.bounds.conversions import approx_to_pointwise
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.parameters import Delta, Domain, Epsilon, PositiveEpsilon, Sensitivity, UnboundedRows
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Concentration ----------------------------------------------------------------------------------------------------


@theorem(
    "concentration.azuma",
    statement="level that a sum of bounded steps exceeds with probability at most exp(-t^2/2)",
    source="Azuma 1967, Hoeffding 1963; Rogers et al. 2016 Theorem A.8 (t sqrt(n) a, not under the root)",
    conditions="steps in [-a, a], conditional means at most g",
    unit="level",
)
def azuma(
    n: Annotated[UnboundedRows, "The number of steps."],
    g: Annotated[float, Domain("A bound on the conditional means.", typical=0.01)],
    a: Annotated[float, Domain("A bound on the size of a step.", at_least=0, typical=0.5)],
    t: Annotated[
        float, Domain("The sum exceeds the level with probability at most `exp(-t^2/2)`.", at_least=0, typical=2.0)
    ],
) -> float:
    """Return `n g + t sqrt(n) a`.

    Examples
    --------
    >>> azuma(100, 0.01, 0.5, 2.0)
    11.0...
    """
    drift = n * g
    deviation = t * math.sqrt(n) * a
    if math.isinf(drift) or math.isinf(deviation):
        return drift if deviation < math.inf and drift < 0 else math.inf
    return drift + deviation + 4 * math.ulp(max(abs(drift), deviation))


@theorem(
    "concentration.mcdiarmid",
    statement="probability that a statistic of sensitivity c, fixed in advance, exceeds its mean by tau",
    source="McDiarmid 1989; Dwork et al. 2015 Lemma 1, Rogers et al. 2016 Theorem A.9",
    conditions="rows independent, statistic fixed before the data; one-sided",
    unit="probability",
)
def mcdiarmid(
    tau: Annotated[float, Domain("The deviation.", at_least=0, typical=0.1)], sensitivity: Sensitivity, n: UnboundedRows
) -> float:
    """Return `exp(-2 tau^2 / (n c^2))`, one-sided.

    Examples
    --------
    >>> round(mcdiarmid(0.1, 0.01, 100), 9)
    0.135335283
    """
    return min(1.0, exp_up(mcdiarmid_log(tau, sensitivity, n)))


def mcdiarmid_log(tau: float, sensitivity: float, n: int) -> float:
    """Return `-2 tau^2/(n c^2)`, the logarithm of McDiarmid's tail. Arguments are not checked.

    Examples
    --------
    >>> round(mcdiarmid_log(0.1, 0.01, 100), 9)
    -2.0
    """
    ratio = tau / sensitivity / math.sqrt(n)
    return -2 * ratio * ratio


def exp_up(x: float) -> float:
    """Return `exp(x)` rounded up, for an `x` that is right to eight units in its last place; never 0.

    An error of one unit in the last place of `x` is a relative error of `|x|` units in the result, so `x` is rounded
    first.

    Examples
    --------
    >>> exp_up(-1.0) > math.exp(-1.0), exp_up(-1e6)
    (True, 5e-324)
    """
    if x > 709:
        return math.inf
    return max(up(math.exp(up(x, 8) if x else x)), 5e-324) if x else 1.0


# --- Indistinguishability ---------------------------------------------------------------------------------------------
# Lemmas about (epsilon, delta)-indistinguishable distributions that the max-information proofs use, in the forms that
# are true.
#
# Two printed lemmas are not (docs/errata/max-information.md): approximate max-information is one-sided, so it is not
# equivalent to indistinguishability of joint and product distribution; and the conditioning lemma fails when the two
# marginals
# differ.


@theorem(
    "indistinguishability.pointwise",
    statement="probability that the ratio of two (epsilon, delta)-close distributions leaves [e^(-2 epsilon), "
    "e^(2 epsilon)]",
    source="Kasiviswanathan-Smith 2014, quoted as Rogers et al. 2016 Lemma A.6(2); threshold epsilon + s derived",
    conditions="epsilon > 0 (or s > 0), delta in [0, 1); the draw is from either distribution",
    unit="probability",
    provenance="mixed",
)
def pointwise_failure(
    epsilon: Epsilon,
    delta: Delta,
    s: Annotated[float, Domain("By how much the threshold exceeds epsilon; for 'best' only.", above=0)] | None = None,
    method: Literal["best", "paper"] = "best",
) -> float:
    """Return how often the ratio leaves `[e^-(eps+s), e^(eps+s)]`; `s = epsilon` unless given.

    - "paper": `2 delta/(1 - e^-eps)`, at threshold `2 eps`, which `composition.approx-to-pointwise` also uses.
    - "best": `(1 + e^-(eps+s)) delta/(1 - e^-s)`. On `{p > e^(eps+s) q}`, `p <= e^eps q + delta <= e^-s p + delta`; on
      the other side the same bounds the mass under `q`, and `p` has at most `e^-(eps+s)` of it there. Derived,
      reviewed.

    Examples
    --------
    >>> round(pointwise_failure(0.1, 1e-6, method="paper") * 1e6, 4), round(pointwise_failure(0.1, 1e-6) * 1e6, 4)
    (21.0167, 19.1118)
    """
    if method == "paper":
        if s is not None:
            raise InvalidParameter(f"s must be left out with method paper, got {s}")
        return approx_to_pointwise(arguments.real("epsilon", epsilon, above=0), delta).delta
    s = arguments.real("epsilon" if s is None else "s", epsilon if s is None else s, above=0)
    return min(1.0, up((1 + math.exp(-epsilon - s)) * delta / -math.expm1(-s)))


@theorem(
    "indistinguishability.conditioning",
    statement="probability that conditioning two (epsilon, delta)-close pairs leaves distributions that differ "
    "too much",
    source="Kasiviswanathan-Smith 2014, quoted as Rogers et al. 2016 Lemma A.7; printed form false, safe form derived",
    conditions="epsilon > 0, delta in [0, 1), dhat in (0, 1); pairs (X, Z), (X', Z') indistinguishable",
    unit="probability",
    provenance="derived",
)
def conditioning_failure(
    epsilon: PositiveEpsilon,
    delta: Delta,
    dhat: Annotated[
        float, Domain("The delta that the conditional distributions may have.", above=0, below=1, typical=0.001)
    ],
    marginals: Literal["different", "equal"] = "different",
) -> float:
    """Return how often `X | Z=z` and `X' | Z'=z` are not close, over `z ~ Z`.

    - "different": not `(3 eps, dhat)`-close with probability at most `(1 + e^eps) delta/dhat + delta + 2 delta/(1 -
      e^-eps)`.
    - "equal" (Z and Z' have one distribution): not `(eps, dhat)`-close with probability at most `2 delta/dhat`, by
      Markov's inequality. This is what Theorem 3.1 needs.

    The printed `2 delta/dhat + 2 delta/(1 - e^-eps)` for different marginals is false; the counterexample is a test.

    Examples
    --------
    >>> round(conditioning_failure(0.5, 1e-6, 1e-3), 9)
    0.002654804
    >>> round(conditioning_failure(0.5, 1e-6, 1e-3, marginals="equal"), 9)
    0.002
    """
    if marginals == "equal":
        return min(1.0, up(2 * delta / dhat))
    if delta == 0:
        return 0.0
    share = delta / dhat
    grown = exp_up(min(0.0, epsilon + math.log(delta) - math.log(dhat)))  # e^epsilon share, beyond 1 no bound
    return min(1.0, up(share + grown + delta + 2 * delta / -math.expm1(-epsilon), 8))
