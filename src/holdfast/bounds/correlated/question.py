"""One question asked through Algorithm 1 on dependent records: failure, size, accuracy and budget of one predicate.

The proof is in module `theorem1`. Size, accuracy and budget are inverses of `log_failure`, so they invert each other.
"""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.concentration import exp_up
from holdfast.bounds.correlated.inversion import least_accuracy, least_whole, most_whole
from holdfast.bounds.correlated.quilt_terms import METHODS, Method, QuiltTerms, declared_quilt
from holdfast.bounds.correlated.theorem1 import log_failure
from holdfast.bounds.holdout.ranges import accuracy, count, failure_probability, laplace_scale
from holdfast.bounds.registry import theorem

_SOURCE = "Zhao 2017, Theorem 1, repaired (Holdfast, module theorem1)"
_CONDITIONS = (
    "mean of [0, 1] values over the records; training data independent of the holdout; quilts and colours as "
    "declared; paper: proved for blanket 1 only"
)


@theorem(
    "correlated.question-failure",
    statement="Probability that a question chosen after any part of a run of Algorithm 1 is off by tau.",
    source=_SOURCE,
    conditions=_CONDITIONS,
    unit="probability",
    provenance="derived",
)
def question_failure(
    n: int,
    budget: int,
    sigma: float,
    tau: float,
    blanket: int = 1,
    influence: float = 0.0,
    surcharge: float | None = None,
    colours: int | None = None,
    method: Method = "sharp",
) -> float:
    """Return `3 chi exp(-2k(tau - t - eps/4)^2)`, `k = floor(n/chi)`, at most 1.

    Parameters
    ----------
    n : int
        Records in the holdout.
    budget : int
        Overrulings after which the run stops.
    sigma : float
        Laplace scale of Algorithm 1.
    tau : float
        The error.
    blanket : int
        Records nearby, the record itself included: 1 for independent records and for Markov blankets.
    influence : float
        Largest max-influence, in nats, of a record on its quilt.
    surcharge : float
        What the conversion to Bayesian privacy adds; twice the influence by default.
    colours : int
        Classes of equal size without nearby pairs; `blanket` by default, right for chains and blocks.
    method : str
        "sharp", "repaired" or "paper".

    Returns
    -------
    float
        Rounded up.

    Examples
    --------
    >>> f"{question_failure(20_000, 10, 0.1, 0.1, 9, 0.01):.6e}"
    '5.236151e-08'
    """
    n, budget, sigma, tau = count("n", n), count("budget", budget), laplace_scale(sigma), accuracy(tau)
    quilt = declared_quilt(blanket, influence, surcharge, colours)
    check.choice("method", method, METHODS)
    return min(1.0, exp_up(log_failure(n, budget, sigma, tau, quilt, method)))


@theorem(
    "correlated.question-size",
    statement="Records at which a question chosen after any part of a run of Algorithm 1 keeps tau.",
    source=_SOURCE,
    conditions=_CONDITIONS,
    unit="records",
    provenance="derived",
)
def question_size(
    budget: int,
    sigma: float,
    tau: float,
    beta: float,
    blanket: int = 1,
    influence: float = 0.0,
    surcharge: float | None = None,
    colours: int | None = None,
    method: Method = "sharp",
) -> float:
    """The smallest `n` at which one question keeps `tau` with probability `1 - beta`.

    Parameters
    ----------
    budget : int
        Overrulings after which the run stops.
    sigma : float
        Laplace scale of Algorithm 1.
    tau : float
        The error.
    beta : float
        The failure probability.
    blanket : int
        Records nearby, the record itself included: 1 for independent records and for Markov blankets.
    influence : float
        Largest max-influence, in nats, of a record on its quilt.
    surcharge : float
        What the conversion to Bayesian privacy adds; twice the influence by default.
    colours : int
        Classes of equal size without nearby pairs; `blanket` by default, right for chains and blocks.
    method : str
        "sharp", "repaired" or "paper".

    Returns
    -------
    float
        A whole number; `inf` where none up to 10^18 does.

    Examples
    --------
    >>> question_size(10, 0.01, 0.1, 0.05, 9, 0.002), question_size(10, 0.01, 0.1, 0.05, 9, 0.2)
    (65189, inf)
    """
    budget, sigma, tau, beta = count("budget", budget), laplace_scale(sigma), accuracy(tau), failure_probability(beta)
    quilt = declared_quilt(blanket, influence, surcharge, colours)
    check.choice("method", method, METHODS)
    return least_records(budget, sigma, tau, beta, quilt, method)


def least_records(
    budget: int, sigma: float, tau: float, beta: float, quilt: QuiltTerms, method: Method = "sharp"
) -> float:
    """`question_size` of a quilt. Numbers are not checked.

    Examples
    --------
    >>> least_records(10, 0.01, 0.1, 0.05, QuiltTerms(9, 0.002))
    65189
    """
    level = math.log(beta)
    return least_whole(lambda n: log_failure(n, budget, sigma, tau, quilt, method) <= level)


@theorem(
    "correlated.question-accuracy",
    statement="Error that a question chosen after any part of a run of Algorithm 1 keeps.",
    source=_SOURCE,
    conditions=_CONDITIONS,
    unit="tau",
    provenance="derived",
)
def question_accuracy(
    n: int,
    budget: int,
    sigma: float,
    beta: float,
    blanket: int = 1,
    influence: float = 0.0,
    surcharge: float | None = None,
    colours: int | None = None,
    method: Method = "sharp",
) -> float:
    """The smallest `tau` that one question keeps with probability `1 - beta`.

    Parameters
    ----------
    n : int
        Records in the holdout.
    budget : int
        Overrulings after which the run stops.
    sigma : float
        Laplace scale of Algorithm 1.
    beta : float
        The failure probability.
    blanket : int
        Records nearby, the record itself included: 1 for independent records and for Markov blankets.
    influence : float
        Largest max-influence, in nats, of a record on its quilt.
    surcharge : float
        What the conversion to Bayesian privacy adds; twice the influence by default.
    colours : int
        Classes of equal size without nearby pairs; `blanket` by default, right for chains and blocks.
    method : str
        "sharp", "repaired" or "paper".

    Returns
    -------
    float
        `inf` where none below 1 is kept.

    Examples
    --------
    >>> round(question_accuracy(65189, 10, 0.01, 0.05, 9, 0.002), 5)
    0.1
    """
    n, budget, sigma, beta = count("n", n), count("budget", budget), laplace_scale(sigma), failure_probability(beta)
    quilt = declared_quilt(blanket, influence, surcharge, colours)
    check.choice("method", method, METHODS)
    level = -math.log(beta)
    return least_accuracy(lambda tau: -log_failure(n, budget, sigma, tau, quilt, method) - level)


@theorem(
    "correlated.question-budget",
    statement="Most overrulings of Algorithm 1 at which a question chosen after any part of the run keeps tau.",
    source=_SOURCE,
    conditions=_CONDITIONS,
    unit="overrulings",
    provenance="derived",
)
def question_budget(
    n: int,
    sigma: float,
    tau: float,
    beta: float,
    blanket: int = 1,
    influence: float = 0.0,
    surcharge: float | None = None,
    colours: int | None = None,
    method: Method = "sharp",
) -> int:
    """The largest budget at which one question keeps `tau` with probability `1 - beta`.

    Parameters
    ----------
    n : int
        Records in the holdout.
    sigma : float
        Laplace scale of Algorithm 1.
    tau : float
        The error.
    beta : float
        The failure probability.
    blanket : int
        Records nearby, the record itself included: 1 for independent records and for Markov blankets.
    influence : float
        Largest max-influence, in nats, of a record on its quilt.
    surcharge : float
        What the conversion to Bayesian privacy adds; twice the influence by default.
    colours : int
        Classes of equal size without nearby pairs; `blanket` by default, right for chains and blocks.
    method : str
        "sharp", "repaired" or "paper".

    Returns
    -------
    int
        0 where none does.

    Examples
    --------
    >>> question_budget(65189, 0.01, 0.1, 0.05, 9, 0.002)
    10
    """
    n, sigma, tau, beta = count("n", n), laplace_scale(sigma), accuracy(tau), failure_probability(beta)
    quilt = declared_quilt(blanket, influence, surcharge, colours)
    check.choice("method", method, METHODS)
    level = math.log(beta)
    return most_whole(lambda budget: log_failure(n, budget, sigma, tau, quilt, method) <= level)


__all__ = ["least_records", "question_accuracy", "question_budget", "question_failure", "question_size"]
