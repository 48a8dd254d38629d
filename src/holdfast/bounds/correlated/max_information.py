"""Max-information of Bayesian differential privacy: the bounds for independent rows, for every joint distribution.

Theorem 3 of Zhao 2017 is true; its proof exchanges a logarithm and a mean, and the increment that it then bounds by
epsilon can exceed epsilon. A right proof gives more. Let `Z_i = ln(P[y | x_1..x_i] / P[y | x_1..x_{i-1}])`, so that
`Z = sum Z_i` is the information loss. Bayesian privacy against the adversary who knows `x_1..x_{i-1}` says that, given
these and the output, `Z_i` lies in an interval of length epsilon; and `E[exp(-Z_i) | y, x_1..x_{i-1}] = 1`, because
the weights `P[x_i | y, past] P[y | past]/P[y | past, x_i]` are `P[x_i | past]` (epsilon is finite, so that no possible
`x_i` is left out). These two facts are all that the proof
for independent rows uses (module `holdfast.bounds.max_information`), so its lines hold here with the Bayesian epsilon.
They hold for any part of the records too, with the size of the part as `n`.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from holdfast.bounds.concentration import exp_up
from holdfast.bounds.max_information import LOG2E, product_nats
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.parameters import Domain, Epsilon, OpenFailureProbability, UnboundedRows
from holdfast.bounds.registry import theorem
from holdfast.core import arguments

Line = Literal["best", "repaired", "paper", "any"]


@theorem(
    "correlated.max-information",
    statement="Approximate max-information of an epsilon-Bayesian-private computation on n dependent records.",
    source="Zhao 2017, Theorem 3, proof repaired and constants sharpened (Holdfast); Dwork et al. 2015, Theorem 19",
    conditions="epsilon-Bayesian differential privacy under the distribution of the records, any joint "
    "distribution; beta in (0, 1)",
    unit="bits",
    provenance="mixed",
)
def bayesian_max_information(
    epsilon: Annotated[Epsilon, Domain("The Bayesian privacy level.", at_most=1e100)],
    n: UnboundedRows,
    beta: OpenFailureProbability,
    method: Line = "best",
) -> float:
    """Bound the `beta`-approximate max-information between `n` dependent records and an output, in bits.

    The output comes from a computation that is Bayesian differentially private at level `epsilon`. The method selects
    the bound:

    - "best": the smallest of all bounds that `max-information.pure-dp` has for independent rows.
    - "repaired": `log2(e) min(epsilon^2 n/2 + epsilon sqrt(n ln(2/beta)/2), epsilon n)`, which has the constants of the
      independent case.
    - "paper": `log2(e) (2 epsilon^2 n + epsilon sqrt(2 n ln(2/beta)))`, as published. It is correct, and larger than
      needed.
    - "any": `log2(e) epsilon n`. The paper calls this bound weaker than its own. That is true only if `2 epsilon +
      sqrt(2 ln(2/beta)/n) < 1`.

    Returns
    -------
    float
        Rounded up.

    Notes
    -----
    "best" is derived here; "repaired" is derived here and was reviewed.

    Examples
    --------
    >>> [round(bayesian_max_information(0.1, 1000, 0.05, m), 6) for m in ("paper", "repaired", "any", "best")]
    [41.245769, 13.409409, 144.269504, 5.724562]
    """
    slack = -math.log(beta)
    if method == "paper":
        nats = up(2 * epsilon * epsilon * n + epsilon * math.sqrt(2 * n * (math.log(2) + slack)), 8)
    elif method == "any":
        nats = up(epsilon * n)
    else:
        nats = product_nats(epsilon, n, slack, "best" if method == "best" else "paper")
    return up(nats * LOG2E)


def lemma_1_failure(tau: float, n: int, sensitivity: float | None = None) -> float:
    """Return the failure probability of Lemma 1 of Zhao 2017, `4 exp(-tau^2/(9 n Delta^2))`, for **independent**
    records only.

    For independent records the lemma holds when `epsilon <= tau/(3 n Delta)`. The paper states it for any distribution,
    but for dependent records it is false.

    Notes
    -----
    A counterexample: a constant choice is private, and copies of one coin do not concentrate.

    Examples
    --------
    >>> round(lemma_1_failure(0.1, 5000), 11)
    0.01546368056
    """
    tau, n = arguments.real("tau", tau, at_least=0, at_most=1e100), arguments.whole("n", n, at_least=1)
    delta = 1 / n if sensitivity is None else arguments.real("sensitivity", sensitivity, above=0, at_most=1e100)
    ratio = tau / (3 * delta) / math.sqrt(n)
    return min(1.0, up(4 * exp_up(-ratio * ratio)))
