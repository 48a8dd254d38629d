"""A whole run of Algorithm 1 on dependent records: how large a holdout, how accurate, how many overrulings.

Theorem 2 of Zhao 2017 with the repaired Theorem 1. Set `sigma` and the threshold by `run_parameters`. Except with
probability `beta`, every question `i <= m` up to which (itself included) fewer than `B` had a training error of `c tau`
or more gets an answer within `tau` of the truth. On the good event an overruling means such a training error: `T -
(1-c) tau (1/12 + 1/6 + 1/4) = c tau`. That number of training errors is not observable.
"""

from __future__ import annotations

from holdfast import check
from holdfast.bounds.correlated.inversion import least_accuracy, most_whole
from holdfast.bounds.correlated.quilt_terms import METHODS, Method, declared_quilt
from holdfast.bounds.correlated.run_plan import RunPlan, plan_run, run_arguments, run_covered, run_excess
from holdfast.bounds.holdout.ranges import count, failure_probability
from holdfast.bounds.registry import theorem

_CONDITIONS = (
    "means of [0, 1] values over the records; training data independent of the holdout; m fixed in advance; quilts "
    "and colours as declared; holds while fewer than B questions had a training error of c tau"
)
_SOURCE = "Zhao 2017, Theorem 2, with Theorem 1 repaired (Holdfast, modules theorem1 and theorem2)"


@theorem(
    "correlated.holdout-size",
    statement="Records that a whole run of Algorithm 1 on dependent records needs.",
    source=_SOURCE,
    conditions=_CONDITIONS,
    unit="records",
    provenance="mixed",
)
def holdout_size(
    tau: float,
    beta: float,
    questions: int,
    budget: int,
    blanket: int = 1,
    influence: float = 0.0,
    surcharge: float | None = None,
    colours: int | None = None,
    split: float = 0.5,
    method: Method = "sharp",
) -> RunPlan:
    """The fewest records for `m` questions within `tau`, with the scale and the threshold to run at.

    - "sharp" (default): Theorem 1 of module `theorem1`, `3 chi exp(-2k(tau' - t - eps/4)^2) <= beta'`, the epsilon
      that `n` gives, and all that the noise leaves of `beta`. Derived, same proof as "repaired".
    - "repaired": Theorem 1-R of the specification with its `alpha` chosen freely. Derived, reviewed.
    - "paper": the printed (7) and (8), with `tau' = (1-c) tau/4` and `beta' = beta/(2m)` put in, which the printed
      eq. (31) forgets. Not certified unless `blanket` is 1: the quilt form is false.

    Parameters
    ----------
    tau : float
        Error that every answer keeps.
    beta : float
        Failure probability of the whole run.
    questions : int
        Number of questions `m`, fixed in advance.
    budget : int
        Overrulings `B` after which the run stops, at most `m`.
    blanket : int
        Records nearby one record, itself included: 1 for independent records and for Markov blankets.
    influence : float
        Largest max-influence, in nats, of a record on its quilt.
    surcharge : float
        What the conversion to Bayesian privacy adds; twice the influence by default.
    colours : int
        Classes of equal size without nearby pairs; `blanket` by default, right for chains and blocks.
    split : float
        The constant `c` in (0, 1): training errors from `c tau` on use up the budget.
    method : str
        "sharp", "repaired" or "paper".

    Returns
    -------
    RunPlan
        Its value is the number of records; infinite with a `reason` where no number suffices.

    Examples
    --------
    >>> holdout_size(0.1, 0.05, 1000, 10).value, holdout_size(0.1, 0.05, 1000, 10, method="paper").value
    (1448054, 14631558)
    >>> holdout_size(0.1, 0.05, 1000, 10, blanket=27, influence=0.0006).value
    41668290
    """
    return plan_run(
        tau, beta, questions, budget, [declared_quilt(blanket, influence, surcharge, colours)], split, method
    )


@theorem(
    "correlated.holdout-accuracy",
    statement="Smallest error that every answer of a run of Algorithm 1 on dependent records keeps.",
    source=_SOURCE,
    conditions=_CONDITIONS,
    unit="tau",
    provenance="mixed",
)
def holdout_accuracy(
    n: int,
    beta: float,
    questions: int,
    budget: int,
    blanket: int = 1,
    influence: float = 0.0,
    surcharge: float | None = None,
    colours: int | None = None,
    split: float = 0.5,
    method: Method = "sharp",
) -> float:
    """The smallest `tau` at which `correlated.holdout-size` asks for at most `n` records; `inf` where none does.

    Parameters
    ----------
    n : int
        Records in the holdout.
    beta : float
        Failure probability of the whole run.
    questions : int
        Number of questions.
    budget : int
        Overrulings after which the run stops.
    blanket : int
        Records nearby one record, itself included.
    influence : float
        Largest max-influence, in nats.
    surcharge : float
        Twice the influence by default.
    colours : int
        `blanket` by default.
    split : float
        The constant `c`.
    method : str
        "sharp", "repaired" or "paper".

    Examples
    --------
    >>> round(holdout_accuracy(1448054, 0.05, 1000, 10), 6)
    0.1
    """
    quilt = declared_quilt(blanket, influence, surcharge, colours)
    n, beta, m = count("n", n), failure_probability(beta), count("questions", questions)
    budget, split = count("budget", budget, at_least=1, at_most=m), check.probability("split", split)
    check.choice("method", method, METHODS)
    return least_accuracy(lambda tau: run_excess(n, tau, beta, m, budget, quilt, split, method))


@theorem(
    "correlated.holdout-budget",
    statement="Most overrulings that a run of Algorithm 1 on dependent records can afford.",
    source=_SOURCE,
    conditions=_CONDITIONS,
    unit="overrulings",
    provenance="mixed",
)
def holdout_budget(
    n: int,
    tau: float,
    beta: float,
    questions: int,
    blanket: int = 1,
    influence: float = 0.0,
    surcharge: float | None = None,
    colours: int | None = None,
    split: float = 0.5,
    method: Method = "sharp",
) -> int:
    """The largest budget at which `correlated.holdout-size` asks for at most `n` records; 0 where none does.

    Parameters
    ----------
    n : int
        Records in the holdout.
    tau : float
        Error that every answer keeps.
    beta : float
        Failure probability of the whole run.
    questions : int
        Number of questions; the budget is at most this.
    blanket : int
        Records nearby one record, itself included.
    influence : float
        Largest max-influence, in nats.
    surcharge : float
        Twice the influence by default.
    colours : int
        `blanket` by default.
    split : float
        The constant `c`.
    method : str
        "sharp", "repaired" or "paper".

    Examples
    --------
    >>> holdout_budget(1448054, 0.1, 0.05, 1000)
    10
    """
    quilt = declared_quilt(blanket, influence, surcharge, colours)
    n, (tau, beta, m, _, split) = count("n", n), run_arguments(tau, beta, questions, 1, split)
    check.choice("method", method, METHODS)
    return most_whole(lambda budget: run_covered(n, tau, beta, m, budget, quilt, split, method), m)


__all__ = ["holdout_accuracy", "holdout_budget", "holdout_size"]
