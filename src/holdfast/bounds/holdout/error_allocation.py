"""Theorem E: the share of a question is its spending times the prior weight of everything that was shown before it.

A run is a tree. A node `h` is everything that has been shown so far, with the analyst's coins fixed. Two things are
chosen at each node before the rows are read, by any rule that looks at nothing but `h` and the question: a *prior*,
weights on the messages that may come next which sum to at most one, and a *spending*, such that along every path all
spendings add up to at most one. Write `Q(h)` for the product of the prior weights of the messages on the way to `h`.

**Theorem E.** Let the procedure of each node, with its question fixed in advance, fail with probability at most
`s = beta * spending * Q(h)`. Then with probability at least `1 - beta` no procedure of the run fails.

*Proof.* Fix the coins. Then question, procedure and share of each node are fixed. The event "the run reaches `h` and
its procedure fails" lies inside "the procedure of this fixed question fails at level `s`". Add up over all nodes:

    sum over h of beta * spending(h) * Q(h)  =  beta * E over paths drawn from Q [sum of the spendings on the path]
                                            <=  beta,

where a path that the sub-probability `Q` leaves early simply ends. QED. (docs/error-budget.md has the conditions.)

This module is the theorem: numbers in, numbers out. `holdout/error_budget.py` is what uses it in a run: it remembers
what was shown and says which share the next question may use.

The priors of this module are sequential: the weight of the next message is known from `h`. So they are right at every
moment at which a run may stop.
"""

from __future__ import annotations

import math
from typing import Annotated

from holdfast.bounds.numerics.exact import down
from holdfast.bounds.parameters import MOST, Domain, FailureProbability, Questions
from holdfast.bounds.registry import theorem
from holdfast.errors import InvalidParameter

INNER = 1 / 128
"""Weight of each of the two cells inside the edge of what passes: means that fail although they are near the guess."""
FAR_SIDE = 1 / 64
"""Weight of the side that an analyst does not expect a guess to be wrong on."""
_LOOSE = 4e-15
"""Bound on the relative rounding error of a logarithm that is a sum of a few terms."""


def pass_prior(questions: int | None, expected_failures: float = 1.0) -> tuple[float, float]:
    """The two parameters of the Beta mixture that forecasts failed checks: `a = 1`, `b = questions/expected - 1`.

    Without a planned number of questions both are one half (Krichevsky and Trofimov 1981).

    Examples
    --------
    >>> pass_prior(1000), pass_prior(None), pass_prior(1)
    ((1.0, 999.0), (0.5, 0.5), (1.0, 1.0))
    """
    if questions is None:
        return 0.5, 0.5
    return 1.0, max(questions / expected_failures - 1, 1.0)


def log_failure_weight(checks: int, failed: int, prior: tuple[float, float]) -> float:
    """`ln` of the weight of a failure at the next check, after `failed` failures in `checks`: `(f + a)/(t + a + b)`.

    Examples
    --------
    >>> round(math.exp(log_failure_weight(0, 0, (1.0, 999.0))), 6)
    0.001
    """
    a, b = prior
    return math.log(failed + a) - math.log(checks + a + b)


def log_pass_weight(checks: int, failed: int, prior: tuple[float, float]) -> float:
    """`ln` of the weight of a pass at the next check."""
    a, b = prior
    return math.log1p(-(failed + a) / (checks + a + b))


def log_course_weight(checks: int, failed: int, prior: tuple[float, float]) -> float:
    """`ln` of the prior weight of any one course of `checks` checks with `failed` failures; rounded down.

    The Beta mixture does not mind the order: `B(f + a, t - f + b)/B(a, b)`.

    Examples
    --------
    >>> [round(log_course_weight(1000, f, (1.0, 999.0)), 1) for f in (0, 1, 3, 10)]
    [-0.7, -8.3, -21.7, -61.6]
    >>> [round(log_course_weight(1000, f, (0.5, 0.5)), 1) for f in (0, 1, 3, 10)]
    [-4.0, -11.6, -24.1, -59.7]
    """
    if not 0 <= failed <= checks:
        raise InvalidParameter(
            f"failed is {failed}, but it must be a whole number between 0 and the number of checks, {checks}"
        )
    if checks == 0:
        return 0.0
    a, b = prior
    terms = (
        math.lgamma(failed + a),
        math.lgamma(checks - failed + b),
        math.lgamma(a + b),
        -math.lgamma(checks + a + b),
        -math.lgamma(a),
        -math.lgamma(b),
    )
    return min(0.0, math.fsum(terms) - _LOOSE * math.fsum(map(abs, terms)))


def log_series_weight(place: int) -> float:
    """`ln` of `1/(j (j + 1))`, the weight of place `j = 1, 2, ...`: these sum to one.

    Examples
    --------
    >>> round(math.exp(log_series_weight(1)), 12)
    0.5
    """
    return -math.log(place) - math.log(place + 1)


def log_rank_weight(rank: int, candidates: int) -> float:
    """`ln` of the weight that the candidate of rank `rank` by its guess is the best of `candidates`.

    Proportional to `1/(r (r + 1))`, which sums to `m/(m + 1)` over `m` candidates. A batch whose best candidate was
    expected to be best costs at most `ln 2`, and no batch more than `2 ln m`.

    Examples
    --------
    >>> round(sum(math.exp(log_rank_weight(rank, 12)) for rank in range(1, 13)), 12)
    1.0
    """
    return log_series_weight(rank) + math.log1p(1 / candidates)


@theorem(
    "holdout.error-allocation",
    statement="Failure probability that the next question of a run may use: its spending times the prior weight of "
    "everything that was shown before it.",
    source="Holdfast, Theorem E (prior times spending)",
    conditions="what is seen is the message; what is shown contains the procedure's interval for every sample with "
    "that message; prior and spending are fixed before the rows are read; the spendings of every path add up to at "
    "most one; all questions of a batch are fixed before the first is read; nothing is asked after exact values were "
    "shown",
    unit="probability",
    provenance="derived",
)
def error_allocation(
    beta: FailureProbability,
    spending: Annotated[
        float, Domain("The part of beta that the question may spend.", above=0, at_most=1, typical=0.001)
    ],
    checks: Annotated[int, Domain("Checks before the question.", at_least=0, at_most=MOST, typical=0)] = 0,
    failures: Annotated[int, Domain("How many of them failed.", at_least=0, at_most=MOST, typical=0)] = 0,
    log_shown: Annotated[
        float,
        Domain("Logarithm of the prior weight of what was shown besides pass and fail.", at_most=0, typical=0.0),
    ] = 0.0,
    questions: Annotated[Questions, "The planned number of questions, if there is one."] | None = None,
    expected_failures: Annotated[
        float, Domain("Failures that the prior expects in all planned questions.", above=0, typical=1.0)
    ] = 1.0,
) -> float:
    """Return the failure probability that the next question of a reusable holdout may use.

    It is `beta * spending * Q(h)`. `spending` is the part of beta set aside for this question. `Q(h)` is the prior
    weight of everything that was shown before the question: of the passes and failures, under a prior that is a mixture
    of Beta distributions, and of the values shown (`log_shown`).

    Returns
    -------
    float
        Rounded down; 0 where it leaves the floating range.

    Examples
    --------
    >>> f"{error_allocation(0.05, 1 / 1000, questions=1000):.6g}"
    '5e-05'
    >>> f"{error_allocation(0.05, 0.5, checks=1000, questions=1000):.4g}"       # a final after 1,000 passes
    '0.01249'
    >>> f"{error_allocation(0.05, 0.5, checks=1000, failures=1, log_shown=-1.42, questions=1000):.2g}"
    '1.5e-06'
    """
    if failures > checks:
        raise InvalidParameter(
            f"failures is {failures}, but there were only {checks} checks; failures must be at most the number of "
            "checks"
        )
    course = log_course_weight(checks, failures, pass_prior(questions, expected_failures))
    return down(math.exp(math.log(beta) + math.log(spending) + course + log_shown), 16)
