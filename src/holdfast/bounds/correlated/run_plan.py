"""The plan of a run of Algorithm 1 by Theorem 2, or the reason why there is none; the predicate behind all inverses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from holdfast import check
from holdfast.bounds.correlated.algorithm1 import RunParameters, run_epsilon, run_parameters
from holdfast.bounds.correlated.inversion import least_whole
from holdfast.bounds.correlated.quilt_terms import METHODS, Method, QuiltTerms, declared_quilt
from holdfast.bounds.correlated.theorem1 import Terms, log_failure, terms
from holdfast.bounds.exact import down
from holdfast.bounds.holdout.ranges import accuracy, count, failure_probability
from holdfast.errors import InvalidParameter


@dataclass(frozen=True)
class RunPlan:
    """A run of Algorithm 1 that Theorem 2 covers, or the reason why none is.

    `n` is infinite, `tau` infinite or `budget` 0 where nothing is covered, and `reason` then says why. `certified` is
    False for the printed quilt form, which is false for dependent records (`note` says so and gives the number that
    holds). `effective_n` is `n` over the number of colours.

    Examples
    --------
    >>> plan = plan_run(0.1, 0.05, 1000, 10)
    >>> plan.n, plan.certified, plan.reason
    (1448054, True, '')
    """

    n: float
    tau: float
    beta: float
    questions: int
    budget: int
    sigma: float
    threshold: float
    epsilon_dp: float
    epsilon_bdp: float
    quilt: QuiltTerms
    method: str
    certified: bool = True
    reason: str = ""
    note: str = ""

    @property
    def value(self) -> float:
        """The number of records."""
        return self.n

    @property
    def feasible(self) -> bool:
        """Whether there is such a run."""
        return not self.reason

    @property
    def effective_n(self) -> float:
        """Records over colours: how many independent records the holdout is worth here."""
        return self.n / self.quilt.classes

    def __str__(self) -> str:
        if not self.feasible:
            return f"no run is covered ({self.method}): {self.reason}"
        text = (
            f"{self.questions:,} questions within {self.tau:g} at {100 * (1 - self.beta):g}% with {self.budget:,} "
            f"overrulings: {self.n:,} records ({self.method})"
        )
        return text + (f"; {self.note}" if self.note else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what an infeasible plan does not have is None."""
        plain: dict[str, Any] = {
            "value": self.n,
            "feasible": self.feasible,
            "reason": self.reason or None,
            "certified": self.certified,
            "note": self.note or None,
            "tau": self.tau,
            "budget": self.budget,
            "sigma": self.sigma,
            "threshold": self.threshold,
            "epsilon_dp": self.epsilon_dp,
            "epsilon_bdp": self.epsilon_bdp,
            "effective_n": self.effective_n,
            "quilt": self.quilt.to_dict(),
            "method": self.method,
        }
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value for name, value in plain.items()
        }


def run_covered(
    n: int, tau: float, beta: float, questions: int, budget: int, quilt: QuiltTerms, split: float, method: Method
) -> bool:
    """Whether Theorem 2 covers a run. The one predicate behind size, accuracy and budget; arguments are not checked.

    Examples
    --------
    >>> run_covered(14_631_558, 0.1, 0.05, 1000, 10, QuiltTerms(), 0.5, "paper")
    True
    """
    return run_excess(n, tau, beta, questions, budget, quilt, split, method) >= 0


def run_excess(
    n: int, tau: float, beta: float, questions: int, budget: int, quilt: QuiltTerms, split: float, method: Method
) -> float:
    """How far the logarithm of the failure probability of each question is below its share."""
    each = _each(tau, beta, questions, budget, split, method)
    return math.log(each.beta) - log_failure(n, budget, each.sigma, each.tau, quilt, method)


def _each(tau: float, beta: float, questions: int, budget: int, split: float, method: Method) -> RunParameters:
    """What each question must keep; the printed share `beta/(2m)` for the printed and the repaired form."""
    each = run_parameters(tau, beta, questions, budget, split)
    if method == "sharp":
        return each
    printed = down(beta / (2 * questions))
    return each._replace(beta=printed if method == "paper" else min(each.beta, printed))


def plan_run(
    tau: float,
    beta: float,
    questions: int,
    budget: int,
    quilts: Sequence[QuiltTerms] = (QuiltTerms(),),
    split: float = 0.5,
    method: Method = "sharp",
) -> RunPlan:
    """The fewest records that Theorem 2 asks for, over all given quilts; each must be valid for every record.

    Choosing the quilt is choosing a proof, so the best may be taken; it depends on the model only. Time: about 100
    evaluations a quilt.

    Examples
    --------
    >>> plan_run(0.1, 0.05, 1000, 10).n, plan_run(0.1, 0.05, 1000, 10, method="repaired").n
    (1448054, 2611228)
    >>> print(plan_run(0.1, 0.05, 1000, 10, [QuiltTerms(3, 0.2)]))
    no run is covered (sharp): the influence is too large for this accuracy: ...
    """
    tau, beta, m, budget, split = run_arguments(tau, beta, questions, budget, split)
    check.choice("method", method, METHODS)
    if not len(quilts) or not all(isinstance(quilt, QuiltTerms) for quilt in quilts):
        raise InvalidParameter("quilts must be a list of one or more QuiltTerms")
    sizes = [least_whole(lambda n, q=quilt: run_covered(n, tau, beta, m, budget, q, split, method)) for quilt in quilts]  # type: ignore[misc]
    best = min(range(len(sizes)), key=sizes.__getitem__)
    return _plan(sizes[best], tau, beta, m, budget, quilts[best], split, method)


def _plan(
    n: float, tau: float, beta: float, m: int, budget: int, quilt: QuiltTerms, split: float, method: Method
) -> RunPlan:
    finite = math.isfinite(n) and math.isfinite(tau) and budget >= 1
    each = run_parameters(tau, beta, m, max(budget, 1), split) if math.isfinite(tau) else None
    epsilon = run_epsilon(budget, each.sigma, int(n)) if finite and each else math.nan
    certified = method != "paper" or quilt.size == 1
    note = "the budget is as large as the number of questions, so it never binds" if budget >= m else ""
    if not certified:
        safe = (
            least_whole(lambda n: run_covered(n, tau, beta, m, budget, quilt, split, "sharp")) if finite else math.inf
        )
        note = f"eq. (8) does not hold for dependent records; the repaired theorem asks for {safe:,}"
    return RunPlan(
        n=n,
        tau=tau,
        beta=beta,
        questions=m,
        budget=budget,
        sigma=each.sigma if each else math.nan,
        threshold=each.threshold if each else math.nan,
        epsilon_dp=epsilon,
        epsilon_bdp=quilt.epsilon_bdp(epsilon, method) if finite else math.nan,
        quilt=quilt,
        method=method,
        certified=certified and finite,
        reason="" if finite else _reason(tau, quilt, split, method),
        note=note,
    )


def _reason(tau: float, quilt: QuiltTerms, split: float, method: Method) -> str:
    assert quilt.surcharge is not None
    if not math.isfinite(tau):
        return "no accuracy below 1 is covered: too few records for this budget and influence"
    each = (1 - split) * tau / 4
    needs = {
        "sharp": (quilt.drift + quilt.surcharge / 4, "tanh(influence/4) + surcharge/4", each),
        "repaired": (quilt.drift + quilt.surcharge / 2, "tanh(influence/4) + surcharge/2", each),
        "paper": (4 * quilt.influence, "4 influence", each / 3),
    }
    have, words, room = needs[method]
    if have >= room:
        return f"the influence is too large for this accuracy: {words} = {have:.4g} must be below {room:.4g}"
    return "more than 10^18 records, or no budget of 1 with these"


def printed_run_terms(
    tau: float,
    beta: float,
    questions: int,
    budget: int,
    blanket: int = 1,
    influence: float = 0.0,
    split: float = 0.5,
) -> Terms:
    """The two requirements of the printed Theorem 2, with `tau' = (1-c) tau/4` and `beta' = beta/(2m)` put in.

    `144 ln(8m/beta)/((1-c)^2 tau^2)` and `27 B K ln(4m/beta)/((1-c) tau ((1-c) tau/12 - 4 b))`. The printed eq. (31)
    puts in `sigma` alone and asks for 8 to 175 times fewer records.

    Examples
    --------
    >>> [round(term, 2) for term in printed_run_terms(0.1, 0.05, 1000, 10)]
    [690216.72, 14631557.36]
    """
    tau, beta, m, budget, split = run_arguments(tau, beta, questions, budget, split)
    each = _each(tau, beta, m, budget, split, "paper")
    return terms(budget, each.sigma, each.tau, each.beta, declared_quilt(blanket, influence), method="paper")


def run_arguments(
    tau: float, beta: float, questions: int, budget: int, split: float
) -> tuple[float, float, int, int, float]:
    """Check accuracy, failure probability, questions, budget and split of a run.

    Examples
    --------
    >>> run_arguments(0.1, 0.05, 1000, 10, 0.5)
    (0.1, 0.05, 1000, 10, 0.5)
    """
    m = count("questions", questions)
    return (
        accuracy(tau),
        failure_probability(beta),
        m,
        count("budget", budget, at_least=1, at_most=m),
        check.probability("split", split),
    )


__all__ = [
    "RunPlan",
    "plan_run",
    "printed_run_terms",
    "run_arguments",
    "run_covered",
    "run_excess",
]
