"""Lemmas about (epsilon, delta)-indistinguishable laws that the max-information proofs use, in the forms that are true.

Two printed lemmas are not (docs/errata/max-information.md): approximate max-information is one-sided, so it is not
equivalent to indistinguishability of joint and product law; and the conditioning lemma fails when the two marginals
differ.
"""

from __future__ import annotations

import math
from typing import Literal

from holdfast import check
from holdfast.bounds.concentration import exp_up
from holdfast.bounds.conversions import approx_to_pointwise
from holdfast.bounds.exact import up
from holdfast.bounds.registry import theorem
from holdfast.errors import InvalidParameter


@theorem(
    "indistinguishability.pointwise",
    statement="probability that the ratio of two (epsilon, delta)-close laws leaves [e^(-2 epsilon), e^(2 epsilon)]",
    source="Kasiviswanathan-Smith 2014, quoted as Rogers et al. 2016 Lemma A.6(2); threshold epsilon + s derived",
    conditions="epsilon > 0 (or s > 0), delta in [0, 1); the draw is from either law",
    unit="probability",
    provenance="mixed",
)
def pointwise_failure(
    epsilon: float, delta: float, s: float | None = None, method: Literal["best", "paper"] = "best"
) -> float:
    """Return how often the ratio leaves `[e^-(eps+s), e^(eps+s)]`; `s = epsilon` unless given.

    - "paper": `2 delta/(1 - e^-eps)`, at threshold `2 eps`, which `composition.approx-to-pointwise` also uses.
    - "best": `(1 + e^-(eps+s)) delta/(1 - e^-s)`. On `{p > e^(eps+s) q}`, `p <= e^eps q + delta <= e^-s p + delta`; on
      the other side the same bounds the mass under `q`, and `p` has at most `e^-(eps+s)` of it there. Derived,
      reviewed.

    Parameters
    ----------
    epsilon : float
        At least 0.
    delta : float
        In [0, 1).
    s : float
        By how much the threshold exceeds epsilon, above 0. For "best" only, and refused elsewhere.
    method : str
        "best" (default) or "paper".

    Examples
    --------
    >>> round(pointwise_failure(0.1, 1e-6, method="paper") * 1e6, 4), round(pointwise_failure(0.1, 1e-6) * 1e6, 4)
    (21.0167, 19.1118)
    """
    epsilon = check.real("epsilon", epsilon, at_least=0)
    delta = check.probability("delta", delta, zero=True)
    check.choice("method", method, ("best", "paper"))
    if method == "paper":
        if s is not None:
            raise InvalidParameter(f"s must be left out with method paper, got {s}")
        return approx_to_pointwise(check.real("epsilon", epsilon, above=0), delta).delta
    s = check.real("epsilon" if s is None else "s", epsilon if s is None else s, above=0)
    return min(1.0, up((1 + math.exp(-epsilon - s)) * delta / -math.expm1(-s)))


@theorem(
    "indistinguishability.conditioning",
    statement="probability that conditioning two (epsilon, delta)-close pairs leaves laws that differ too much",
    source="Kasiviswanathan-Smith 2014, quoted as Rogers et al. 2016 Lemma A.7; printed form false, safe form derived",
    conditions="epsilon > 0, delta in [0, 1), dhat in (0, 1); pairs (X, Z), (X', Z') indistinguishable",
    unit="probability",
    provenance="derived",
)
def conditioning_failure(
    epsilon: float, delta: float, dhat: float, marginals: Literal["different", "equal"] = "different"
) -> float:
    """Return how often `X | Z=z` and `X' | Z'=z` are not close, over `z ~ Z`.

    - "different": not `(3 eps, dhat)`-close with probability at most `(1 + e^eps) delta/dhat + delta + 2 delta/(1 -
      e^-eps)`.
    - "equal" (Z and Z' have one law): not `(eps, dhat)`-close with probability at most `2 delta/dhat`, by Markov's
      inequality. This is what Theorem 3.1 needs.

    The printed `2 delta/dhat + 2 delta/(1 - e^-eps)` for different marginals is false; the counterexample is a test.

    Parameters
    ----------
    epsilon : float
        Above 0.
    delta : float
        In [0, 1).
    dhat : float
        The delta that the conditional laws may have, in (0, 1).
    marginals : str
        "different" (default) or "equal".

    Examples
    --------
    >>> round(conditioning_failure(0.5, 1e-6, 1e-3), 9)
    0.002654804
    >>> round(conditioning_failure(0.5, 1e-6, 1e-3, marginals="equal"), 9)
    0.002
    """
    epsilon = check.real("epsilon", epsilon, above=0)
    delta = check.probability("delta", delta, zero=True)
    dhat = check.probability("dhat", dhat)
    check.choice("marginals", marginals, ("different", "equal"))
    if marginals == "equal":
        return min(1.0, up(2 * delta / dhat))
    if delta == 0:
        return 0.0
    share = delta / dhat
    grown = exp_up(min(0.0, epsilon + math.log(delta) - math.log(dhat)))  # e^epsilon share, beyond 1 no bound
    return min(1.0, up(share + grown + delta + 2 * delta / -math.expm1(-epsilon), 8))


__all__ = ["conditioning_failure", "pointwise_failure"]
