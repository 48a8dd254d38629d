"""Thresholdout by its original analysis: privacy (Lemma 23), one question (Lemma 24), the whole run (Theorem 25).

Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015, "Generalization in adaptive data analysis and holdout reuse".
`sigma` is a Laplace scale: the algorithm uses `Lap(2 sigma)` on the threshold, `Lap(4 sigma)` on a comparison and
`Lap(sigma)` on a released value. `n` is the size of the holdout.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.generalisation import theorem_8_inverse
from holdfast.bounds.holdout.ranges import accuracy, count, failure_probability, laplace_scale
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import first_at_least
from holdfast.errors import InvalidParameter

Branch = Literal["pure", "exact", "paper"]
_BRANCHES = ("pure", "exact", "paper")


class Parameters(NamedTuple):
    """Threshold and noise scale of Thresholdout."""

    threshold: float
    sigma: float


@theorem(
    "holdout.thresholdout-epsilon",
    statement="Privacy of a whole Thresholdout run with at most B overfits: epsilon, or rho for method zcdp.",
    source="Dwork et al. 2015, Lemma 23; tight: 2B steps of 1/(sigma n) composed directly",
    conditions="neighbours replace one row of the holdout; sigma is a Laplace scale; paper: each half below 1",
    unit="epsilon",
    provenance="mixed",
)
def thresholdout_epsilon(
    budget: int,
    sigma: float,
    n: int,
    delta: float | None = None,
    method: Literal["pure", "tight", "paper", "zcdp"] = "pure",
) -> float:
    """Epsilon of a Thresholdout run; `rho` for `method="zcdp"`.

    One epoch of comparisons is `1/(sigma n)`-private and so is one release; at most `B` of each. With
    `e = 1/(sigma n)`:

    - *pure*: `2 B e`;
    - *paper*: `sqrt(32 B ln(2/delta)) e`, two halves at `delta/2`. The corollary behind each half needs that half to
      be below 1, which the paper does not say: from 2 on the printed number has no proof;
    - *tight* (derived): advanced composition of `2B` steps at once,
      `sqrt(4 B ln(1/delta)) e + 2 B e (e^e - 1)`, about 2.8 times smaller than paper and without side condition;
    - *zcdp* (derived): `rho = B e^2`, so the run reveals at most `B/(sigma^2 n)` nats.

    Parameters
    ----------
    budget : int
        Overfits after which the run stops.
    sigma : float
        Laplace scale.
    n : int
        Rows in the holdout.
    delta : float
        For "paper" and "tight".
    method : str
        "pure", "tight", "paper" or "zcdp".

    Examples
    --------
    >>> round(thresholdout_epsilon(10, 0.01, 10_000), 10)
    0.2
    >>> round(thresholdout_epsilon(10, 0.01, 10_000, 1e-6, "tight"), 10)
    0.2370888335
    """
    budget = count("budget", budget)
    sigma, n = laplace_scale(sigma), count("n", n)
    method = check.choice("method", method, ("pure", "tight", "paper", "zcdp"))  # type: ignore[assignment]
    each = 1 / (sigma * n)
    if method == "pure":
        return up(2 * budget * each)
    if method == "zcdp":
        return up(budget * each * each)
    if delta is None:
        raise InvalidParameter(f"delta must be a number in (0, 1) for method {method}, got None")
    delta = check.probability("delta", delta)
    if method == "tight":
        growth = math.expm1(each) if each < 700 else math.inf
        return up(math.sqrt(4 * budget * -math.log(delta)) * each + 2 * budget * each * growth, 8)
    return up(math.sqrt(32 * budget * math.log(2 / delta)) * each, 8)


def lemma24_size(budget: int, sigma: float, tau: float, beta: float, branch: Branch = "pure") -> float:
    """Rows at which one question, whatever it is, generalises to `tau` with probability `1 - beta` (Lemma 24).

    - *pure*: `max(2B/(sigma tau), ln(6/beta)/tau^2)`;
    - *exact*: with `delta = beta tau/(26 ln(26/tau))`,
      `max(13 sqrt(32 B ln(2/delta))/(sigma tau), 338 ln(8/delta)/tau^2)`. The second term is the size condition of
      the transfer theorem (Theorem 8), which the paper drops;
    - *paper*: `80 sqrt(B ln(1/(tau beta)))/(tau sigma)`, printed "for small enough tau, beta". It is too small unless
      `ln(1/(tau beta)) >= 5.4516 ln(52 ln(26/tau))`, that is `beta` below about 4e-13. Not certified.

    Per question: not simultaneous over questions.

    Examples
    --------
    >>> round(lemma24_size(10, 0.01, 0.1, 0.05), 6)
    20000.0
    >>> round(lemma24_size(10, 0.01, 0.1, 0.05, "exact"), 4)
    770066.5158
    """
    budget = count("budget", budget)
    sigma, tau = (
        laplace_scale(sigma),
        check.real("tau", tau, at_least=1e-52, below=1),  # Theorem 25 comes with tau/8
    )
    beta = check.real("beta", beta, at_least=1e-120, below=1)  # and with beta/(2m)
    branch = check.choice("branch", branch, _BRANCHES)  # type: ignore[assignment]
    if branch == "pure":
        return up(max(2 * budget / (sigma * tau), math.log(6 / beta) / tau**2), 8)
    if branch == "paper":
        return 80 * math.sqrt(budget * math.log(1 / (tau * beta))) / (tau * sigma)
    _, delta = theorem_8_inverse(tau, beta)
    first = 13 * math.sqrt(32 * budget * math.log(2 / delta)) / (sigma * tau)
    return up(max(first, 338 * math.log(8 / delta) / tau**2), 16)


def printed_constant_holds(tau: float) -> float:
    """The least `ln(1/(tau beta))` from which the printed 80 of Lemma 24 covers the exact constant `13 sqrt(32)`.

    `80^2 ln(1/(tau beta)) >= 13^2 * 32 ln(2/delta)` with `ln(2/delta) = ln(52 ln(26/tau)) + ln(1/(tau beta))`.

    Examples
    --------
    >>> round(printed_constant_holds(0.1), 8)
    30.89409633
    """
    tau = accuracy(tau)
    ratio = 13 * 13 * 32 / 80**2
    return ratio / (1 - ratio) * math.log(52 * math.log(26 / tau))


def theorem25_parameters(tau: float, beta: float, questions: int) -> Parameters:
    """`T = 3 tau/4` and `sigma = tau/(96 ln(4m/beta))`.

    Examples
    --------
    >>> threshold, sigma = theorem25_parameters(0.1, 0.05, 1000)
    >>> round(threshold, 10), round(sigma, 14)
    (0.075, 9.226632318e-05)
    """
    tau, beta, m = _door(tau, beta, questions)
    return Parameters(0.75 * tau, tau / (96 * math.log(4 * m / beta)))


def theorem25_size(tau: float, beta: float, questions: int, budget: int, branch: Branch = "pure") -> float:
    """Rows that Theorem 25 asks for, all constants substituted: `lemma24_size(B, sigma, tau/8, beta/(2m))`.

    *Theorem 25.* With the parameters above and this many rows, the probability is at most `beta` that some question
    `i <= m` has `|a_i - P[phi_i]| >= tau` while fewer than `B` questions had a training error above `tau/2`.
    Training rows may be anything; holdout rows are i.i.d. `branch="paper"` is the printed approximate branch, which
    rests on the printed Lemma 24 and is not certified.

    Examples
    --------
    >>> round(theorem25_size(0.1, 0.05, 1000, 10), 2)
    17341105.02
    """
    tau, beta, m = _door(tau, beta, questions)
    budget = count("budget", budget, at_least=1, at_most=m)
    sigma = theorem25_parameters(tau, beta, m).sigma
    return lemma24_size(budget, sigma, tau / 8, beta / (2 * m), branch)


def theorem25_budget(n: int, tau: float, beta: float, questions: int, branch: Branch = "pure") -> int:
    """The largest budget at which Theorem 25 asks for at most `n` rows, at most `questions`; 0 when none does.

    Examples
    --------
    >>> [theorem25_budget(10**10, 0.1, 0.05, 10**6, branch) for branch in ("pure", "paper", "exact")]
    [3577, 365, 339]
    """
    tau, beta, m = _door(tau, beta, questions)
    n = count("n", n)
    branch = check.choice("branch", branch, _BRANCHES)  # type: ignore[assignment]
    log = math.log(4 * m / beta)
    if branch == "pure":
        guess = n * tau**2 / (1536 * log)
    elif branch == "paper":
        guess = (n * tau**2 / (61440 * log)) ** 2 / math.log(16 * m / (tau * beta))
    else:
        guess = (n * tau**2 / (9984 * log)) ** 2 / (32 * math.log(2 / theorem_8_inverse(tau / 8, beta / (2 * m))[1]))
    found = min(m, math.floor(guess * (1 + 1e-12)))
    while found > 0 and theorem25_size(tau, beta, m, found, branch) > n:
        # one step settles rounding; the exact branch also has a size condition that no smaller budget relaxes
        smaller = found - 1
        if smaller == 0 or (branch == "exact" and theorem25_size(tau, beta, m, 1, branch) > n):
            return 0
        found = smaller
    return found


def theorem25_accuracy(
    n: int, beta: float, questions: int, budget: int, branch: Literal["pure", "exact"] = "pure"
) -> float:
    """The least `tau` that Theorem 25 gives with `n` rows; from 1 on it says nothing, and `inf` where none exists.

    Examples
    --------
    >>> round(theorem25_accuracy(10**8, 0.05, 1000, 10), 10)
    0.0416426524
    """
    beta, m = failure_probability(beta), count("questions", questions)
    n, budget = count("n", n), count("budget", budget, at_least=1, at_most=m)
    if check.choice("branch", branch, ("pure", "exact")) == "pure":
        return up(math.sqrt(1536 * budget * math.log(4 * m / beta) / n), 8)
    top = 1 - 2.0**-40
    if theorem25_size(top, beta, m, budget, "exact") > n:
        return math.inf
    return first_at_least(lambda tau: n - theorem25_size(tau, beta, m, budget, "exact"), 0.0, 1e-9, top)


def theorem25_questions(n: int, tau: float, beta: float, budget: int) -> float:
    """How many questions the pure branch allows, `(beta/4) exp(n tau^2/(1536 B))`; 0 where that is below `B`.

    Examples
    --------
    >>> f"{theorem25_questions(10**8, 0.1, 0.05, 10):.9e}"
    '2.351204180e+26'
    """
    tau, beta, budget = _door(tau, beta, budget)
    n = count("n", n)
    exponent = n * tau**2 / (1536 * budget) + math.log(beta / 4)
    allowed = math.exp(exponent) if exponent < 709 else math.inf
    return allowed if allowed >= budget else 0.0


def _door(tau: float, beta: float, questions: int) -> tuple[float, float, int]:
    return (
        accuracy(tau),
        failure_probability(beta),
        count("questions", questions),
    )


__all__ = [
    "Branch",
    "Parameters",
    "lemma24_size",
    "printed_constant_holds",
    "theorem25_accuracy",
    "theorem25_budget",
    "theorem25_parameters",
    "theorem25_questions",
    "theorem25_size",
    "thresholdout_epsilon",
]
