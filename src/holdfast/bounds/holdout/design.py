"""Thresholdout with the constants of its proof chosen freely, and what plain splitting would need instead."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from holdfast import check
from holdfast.bounds.exact import down, up
from holdfast.bounds.generalisation import pure_dp_event
from holdfast.bounds.holdout.ranges import accuracy, count, failure_probability
from holdfast.bounds.holdout.theorem25 import theorem25_budget, theorem25_parameters, theorem25_size
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import turning_point
from holdfast.errors import InvalidParameter

Method = Literal["best", "theorem-25", "paper"]
_LIMIT = 10**18


@dataclass(frozen=True)
class ThresholdoutPlan:
    """Parameters of a Thresholdout run and what they buy: `value` is what was asked for, rows or overfits.

    With probability at least `1 - beta`, every answer before the `budget`-th overfit is within `tau` of the truth; a
    question whose training error is at most `theta` costs nothing. `sigma` is a Laplace scale; it and `threshold` are
    None when the budget is 0. `branch` says which analysis won: "tight", "pure", "exact" or "paper".

    Examples
    --------
    >>> plan = thresholdout_size(0.1, 0.05, 1000, 10)
    >>> print(plan)
    1000 questions, 10 overfits: 1733930 rows for accuracy 0.1 at 95% (tight; threshold 0.075, sigma 0.0002534)
    """

    value: int
    n: int
    tau: float
    theta: float
    beta: float
    questions: int
    budget: int
    threshold: float | None
    sigma: float | None
    branch: str
    certified: bool = True

    def __str__(self) -> str:
        found = "no parameters" if self.sigma is None else f"threshold {self.threshold:.4g}, sigma {self.sigma:.4g}"
        text = (
            f"{self.questions} questions, {self.budget} overfits: {self.n} rows for accuracy {self.tau:g} "
            f"at {100 * (1 - self.beta):.6g}% ({self.branch}; {found})"
        )
        return text if self.certified else text + "; not certified"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def noise_allowance(budget: int) -> float:
    """`kappa_B = 4^B / C(2B, B)`: the factor that the largest of `B` threshold noises costs a comparison.

    A comparison has noise `Lap(4 sigma)` against a threshold with noise `Lap(2 sigma)`; the threshold draw in force at
    a given question is not a fresh one, so condition on all `B` of them. For `M` their largest absolute value,
    `E exp(M/(4 sigma)) = prod_j 2j/(2j-1) = kappa_B`. Derived, reviewed.

    Examples
    --------
    >>> round(noise_allowance(1), 9), round(noise_allowance(10), 9)
    (2.0, 5.675463855)
    """
    b = count("budget", budget)
    if b <= 10**4:
        return up(math.exp(math.fsum(math.log1p(1 / (2 * j - 1)) for j in range(1, b + 1))), 16)
    # Stirling: ln kappa = ln(pi b)/2 + 1/(8b) - 1/(192 b^3) + ..., alternating, so two terms are an upper bound
    return up(math.sqrt(math.pi * b) * math.exp(1 / (8 * b)), 16)


def tight_sigma(
    tau: float, beta: float, questions: int, budget: int, theta: float | None = None, share: float = 0.5
) -> float:
    """The largest Laplace scale at which all noise of a run stays inside its allowance, except with probability `beta`.

    With `theta` the training error that must cost nothing (`tau/2` unless given), `T = (tau + theta)/2` and the room
    `(tau - theta)/2` is split: `N = share` of it for threshold and comparison noise, the rest `tau_g` for
    generalisation. The noise fails with probability at most
    `m kappa_B exp(-N/(4 sigma)) + B exp(-(tau - tau_g)/sigma)`, exact for the algorithm's noise. Derived, reviewed.

    Examples
    --------
    >>> round(tight_sigma(0.1, 0.025, 1000, 10, theta=0.05), 13)
    0.0002533896022
    """
    m, b, noise, rest = room(tau, questions, budget, theta, share)
    log_beta, log_kappa = math.log(check.real("beta", beta, at_least=1e-101, below=1)), math.log(noise_allowance(b))
    release = tau - rest

    def fails(inverse: float) -> float:
        first = math.log(m) + log_kappa - noise / 4 * inverse
        second = math.log(b) - release * inverse
        top = max(first, second)
        return top + math.log(math.exp(first - top) + math.exp(second - top)) - log_beta

    # falls in 1/sigma; each of the two terms alone at half of beta gives an upper end
    high = max(math.log(2 * m) + log_kappa - log_beta, 1e-9) * 4 / noise
    high = max(high, (math.log(2 * b) - log_beta) / release) * (1 + 1e-12)
    from scipy.optimize import brentq

    low = high / 4
    while fails(low) <= 0:
        low /= 2
    inverse = float(brentq(fails, low, high, xtol=1e-300, rtol=8.9e-16))
    return down(1 / inverse, 64)


def plan_tight(
    tau: float,
    beta: float,
    questions: int,
    budget: int,
    theta: float | None = None,
    share: float = 0.5,
    method: Literal["best", "paper"] = "best",
) -> ThresholdoutPlan:
    """Rows for Thresholdout with half of `beta` for noise and half for generalisation, exactly evaluated.

    Noise: `tight_sigma` at `beta/2`. Generalisation of the whole run: a run is `2B/(sigma n)`-private, and for a fixed
    transcript some question is off by more than `tau_g` with probability at most `2m exp(-2 tau_g^2 n)`; the best
    bound for pure privacy (`generalisation.pure-dp`) turns this into at most `beta/2`. About five times fewer rows
    than the printed constants with the printed pure bounds (`method="paper"`), ten times with the sharper one.

    Parameters
    ----------
    tau : float
        Accuracy of every answer.
    beta : float
        Probability that an answer before exhaustion is worse.
    questions : int
        Number of questions, fixed in advance.
    budget : int
        Overfits, at most `questions`.
    theta : float
        Training error that must cost nothing, below tau; `tau/2` unless given.
    share : float
        Part of the room that goes to noise.
    method : str
        Which pure-privacy bound: "best", or "paper" for the printed ones.

    Examples
    --------
    >>> plan_tight(0.1, 0.05, 1000, 10, method="paper").n
    3285785
    """
    m, b, _, rest = room(tau, questions, budget, theta, share)
    beta = failure_probability(beta)
    sigma = tight_sigma(tau, beta / 2, m, b, theta, share)

    def spare(n: int) -> float:
        left = math.log(beta / 2) - log_failure(n, sigma, m, b, rest, method)
        return left if left < 0 else max(left, 1e-300)  # rows that just suffice count as enough

    start = min(_LIMIT, math.ceil(200 * b * math.log(4 * m / beta) / tau**2))
    n = 1 + turning_point(spare, start, _LIMIT)
    if n > _LIMIT:
        raise InvalidParameter(f"tau must be reachable with at most 10**18 rows, got {tau}")
    low = tau / 2 if theta is None else theta
    return ThresholdoutPlan(n, n, tau, low, beta, m, b, (tau + low) / 2, sigma, "tight")


def log_failure(n: int, sigma: float, m: int, b: int, rest: float, method: Literal["best", "paper"]) -> float:
    """Log of the bound on `P[some question is off by more than rest]` after a run that is `2B/(sigma n)`-private."""
    return pure_dp_event(2 * b / (sigma * n), n, math.log(2 * m) - 2 * rest * rest * n, method).log_value


def room(tau: float, questions: int, budget: int, theta: float | None, share: float) -> tuple[int, int, float, float]:
    """Questions, budget, and the room `(tau - theta)/2` split into what noise and what generalisation may use."""
    tau = accuracy(tau)
    m = count("questions", questions)
    b = count("budget", budget, at_least=1, at_most=m)
    low = tau / 2 if theta is None else check.real("theta", theta, at_least=0, below=tau)
    share = check.real("share", share, above=0, below=1)
    half = (tau - low) / 2
    noise, rest = share * half, half - share * half
    if not (noise > 0 and rest > 0):
        raise InvalidParameter(f"share must leave room for noise and for generalisation, got {share}")
    return m, b, noise, rest


@theorem(
    "holdout.thresholdout-size",
    statement="Holdout rows at which Thresholdout answers m questions with B overfits within tau.",
    source="Dwork et al. 2015, Theorem 25; default: the proof's constants chosen freely and the sharper pure-DP bound",
    conditions="holdout rows i.i.d.; questions >= budget; a question with training error at most tau/2 costs nothing",
    unit="rows",
    provenance="mixed",
)
def thresholdout_size(
    tau: float, beta: float, questions: int, budget: int, method: Method = "best"
) -> ThresholdoutPlan:
    """The least holdout at which Thresholdout is proved to be accurate, with the parameters to run it.

    - *best*: the smaller of `plan_tight` and Theorem 25 with exact constants;
    - *theorem-25*: the smaller of its pure and its exact approximate branch;
    - *paper*: the smaller of its pure and its printed approximate branch; where the printed one wins (budgets of tens
      of thousands) the result is not certified.

    Parameters
    ----------
    tau : float
        Accuracy of every answer.
    beta : float
        Probability that an answer before exhaustion is worse.
    questions : int
        Number of questions, fixed in advance.
    budget : int
        Overfits, at most `questions`.
    method : str
        "best", "theorem-25" or "paper".

    Returns
    -------
    ThresholdoutPlan
        Its value is the number of rows. Time: tens of ms; the other methods microseconds.

    Examples
    --------
    >>> thresholdout_size(0.1, 0.05, 1000, 10, method="paper").value
    17341106
    >>> thresholdout_size(0.1, 0.05, 1000, 10).value
    1733930
    """
    variant = check.choice("method", method, ("best", "theorem-25", "paper"))
    other: Literal["exact", "paper"] = "paper" if variant == "paper" else "exact"
    sizes = {"pure": theorem25_size(tau, beta, questions, budget), other: 0.0}
    sizes[other] = theorem25_size(tau, beta, questions, budget, other)
    branch = min(sizes, key=sizes.__getitem__)
    n = math.ceil(sizes[branch])
    if variant == "best":
        tight = plan_tight(tau, beta, questions, budget)
        if tight.n <= n:
            return tight
    free = theorem25_parameters(tau, beta, questions)
    certified = branch != "paper"
    return ThresholdoutPlan(n, n, tau, tau / 2, beta, int(questions), int(budget), *free, branch, certified)


@theorem(
    "holdout.thresholdout-budget",
    statement="Overfits that Thresholdout affords on n holdout rows for m questions within tau.",
    source="Dwork et al. 2015, Theorem 25; default: the proof's constants chosen freely and the sharper pure-DP bound",
    conditions="holdout rows i.i.d.; a question with training error at most tau/2 costs nothing",
    unit="overfits",
    provenance="mixed",
)
def thresholdout_budget(n: int, tau: float, beta: float, questions: int, method: Method = "best") -> ThresholdoutPlan:
    """The largest budget at which Thresholdout is proved to be accurate on `n` holdout rows; 0 when none is.

    The methods are those of `thresholdout_size`. The budget never exceeds `questions`.

    Parameters
    ----------
    n : int
        Rows in the holdout.
    tau : float
        Accuracy of every answer.
    beta : float
        Probability that an answer before exhaustion is worse.
    questions : int
        Number of questions, fixed in advance.
    method : str
        "best", "theorem-25" or "paper".

    Returns
    -------
    ThresholdoutPlan
        Its value is the budget. Time: tens of ms; the other methods microseconds.

    Examples
    --------
    >>> thresholdout_budget(10**8, 0.1, 0.05, 1000, method="paper").value
    57
    >>> thresholdout_budget(10_000, 0.1, 0.05, 1000).value
    0
    """
    variant = check.choice("method", method, ("best", "theorem-25", "paper"))
    n = count("n", n)
    other: Literal["exact", "paper"] = "paper" if variant == "paper" else "exact"
    budgets = {"pure": theorem25_budget(n, tau, beta, questions), other: 0}
    budgets[other] = theorem25_budget(n, tau, beta, questions, other)
    branch = max(budgets, key=budgets.__getitem__)
    found = budgets[branch]
    if variant == "best":
        tight = _tight_budget(n, tau, beta, int(questions), found)
        if tight > found or (tight == found and tight > 0):
            sigma = tight_sigma(tau, beta / 2, int(questions), tight)
            return ThresholdoutPlan(tight, n, tau, tau / 2, beta, int(questions), tight, 0.75 * tau, sigma, "tight")
    threshold, sigma = theorem25_parameters(tau, beta, questions)
    m, certified = int(questions), branch != "paper"
    if found == 0:
        return ThresholdoutPlan(0, n, tau, tau / 2, beta, m, 0, None, None, branch, certified)
    return ThresholdoutPlan(found, n, tau, tau / 2, beta, m, found, threshold, sigma, branch, certified)


def _tight_budget(n: int, tau: float, beta: float, m: int, guess: int) -> int:
    _, _, _, rest = room(tau, m, 1, None, 0.5)

    def excess(b: int) -> float:
        return log_failure(n, tight_sigma(tau, beta / 2, m, b), m, b, rest, "best") - math.log(beta / 2)

    return turning_point(excess, max(1, min(m, 10 * guess)), m)


@theorem(
    "holdout.split-size",
    statement="Rows for B disjoint holdout parts, one used until its first overfit: the baseline for Thresholdout.",
    source="Holdfast: Hoeffding's inequality and a union bound over questions and parts",
    conditions="holdout rows independent; budget, questions fixed in advance; a part is used up by its first overfit",
    unit="rows",
    provenance="derived",
)
def split_size(tau: float, beta: float, questions: int, budget: int, theta: float | None = None) -> float:
    """Return `B ln(2mB/beta)/(2 h^2)`, `h = (tau - theta)/2`: compare exactly against `T = (tau + theta)/2`.

    Until the first overfit of a part every answer was a training value, so no question depends on that part. For
    `theta = tau/2` this is `8 B ln(2mB/beta)/tau^2`, far below Theorem 25 at every realistic budget.

    Parameters
    ----------
    tau : float
        Accuracy of every answer.
    beta : float
        Probability that an answer before exhaustion is worse.
    questions : int
        Number of questions, fixed in advance.
    budget : int
        Overfits, one part for each.
    theta : float
        Training error that must cost nothing, below tau; `tau/2` unless given.

    Returns
    -------
    float
        Rows in all, not rounded to a whole number.

    Examples
    --------
    >>> round(split_size(0.1, 0.05, 1000, 10), 4)
    103193.7586
    """
    m, b, noise, rest = room(tau, questions, budget, theta, 0.5)
    beta = failure_probability(beta)
    return up(b * math.log(2 * m * b / beta) / (2 * (noise + rest) ** 2), 16)


__all__ = [
    "ThresholdoutPlan",
    "noise_allowance",
    "plan_tight",
    "split_size",
    "thresholdout_budget",
    "thresholdout_size",
    "tight_sigma",
]
