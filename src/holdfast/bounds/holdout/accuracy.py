"""Half-widths as functions of the rows: what a given holdout certifies by each method, the inverses of the sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.holdout.counting import log_choose
from holdfast.bounds.holdout.design import log_failure, room, tight_sigma
from holdfast.bounds.holdout.ladder import ladder_tail
from holdfast.bounds.holdout.ranges import count, failure_probability
from holdfast.bounds.holdout.sparse_validate import sparse_validate_bits
from holdfast.bounds.holdout.theorem25 import theorem25_accuracy, theorem25_size
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import crossing, first_at_least

_TOP = 1 - 2.0**-40
_LOW = 1e-9  # with 10**18 rows, one question and one overfit the least accuracy is still twenty times this
_LADDER_CELLS = 10**6


def least_accuracy(spare: Callable[[float], float]) -> float:
    """The least `tau` below 1 at which a rising `spare` is at least 0, to a relative 1e-10 upwards; `inf` if none is.

    Examples
    --------
    >>> round(least_accuracy(lambda tau: tau - 0.25), 9)
    0.25
    >>> least_accuracy(lambda tau: -1.0)
    inf
    """
    if spare(_TOP) < 0:
        return math.inf
    if spare(_LOW) >= 0:
        return _LOW
    _, high = crossing(lambda log_tau: spare(math.exp(log_tau)), math.log(_LOW), math.log(_TOP), 1e-10)
    tau = min(_TOP, math.exp(high))
    while spare(tau) < 0:  # the exponential may round to the wrong side
        tau = up(tau)
    return tau


@theorem(
    "holdout.thresholdout-accuracy",
    statement="The least accuracy tau that Thresholdout is proved to have on n holdout rows.",
    source="inverse of holdout.thresholdout-size: Dwork et al. 2015, Theorem 25, or its constants chosen freely",
    conditions="holdout rows i.i.d.; questions >= budget; a question with training error at most tau/2 costs nothing",
    unit="half-width",
    provenance="mixed",
)
def thresholdout_accuracy(
    n: int, beta: float, questions: int, budget: int, method: Literal["best", "theorem-25", "paper"] = "best"
) -> float:
    """Return the least `tau` with `thresholdout_size(tau, beta, questions, budget, method) <= n`.

    Parameters
    ----------
    n : int
        Rows in the holdout.
    beta : float
        Probability that an answer before exhaustion is worse.
    questions : int
        Number of questions, fixed in advance.
    budget : int
        Overfits, at most `questions`.
    method : str
        "best", "theorem-25" or "paper"; the latter is certified only where its pure branch wins.

    Returns
    -------
    float
        From 0.5 on it says nothing; `inf` where no accuracy below 1 is proved and no closed form exists. Time: tens of
        ms; the other methods below one ms.

    Examples
    --------
    >>> round(thresholdout_accuracy(1_733_930, 0.05, 1000, 10), 5)
    0.1
    >>> round(thresholdout_accuracy(10_000, 0.05, 1000, 10, method="paper"), 3)
    4.164
    """
    variant = check.choice("method", method, ("best", "theorem-25", "paper"))
    n, beta, m = count("n", n), failure_probability(beta), count("questions", questions)
    b = count("budget", budget, at_least=1, at_most=m)
    pure = theorem25_accuracy(n, beta, m, b)
    if variant == "paper":
        fits = theorem25_size(_TOP, beta, m, b, "paper") <= n
        printed = (
            first_at_least(lambda tau: n - theorem25_size(tau, beta, m, b, "paper"), 0.0, _LOW, _TOP)
            if fits
            else math.inf
        )
        return min(pure, printed)
    exact = min(pure, theorem25_accuracy(n, beta, m, b, "exact"))
    if variant == "theorem-25":
        return exact

    return min(exact, least_accuracy(lambda tau: tight_spare(n, tau, beta, m, b)))


def tight_spare(n: int, tau: float, beta: float, questions: int, budget: int) -> float:
    """How much lower than `beta/2` the generalisation failure of `plan_tight` is on `n` rows, as a log ratio.

    At least 0 exactly where `n` rows suffice. One evaluation of the privacy bound, so that searches stay quick.

    Examples
    --------
    >>> tight_spare(1_733_930, 0.1, 0.05, 1000, 10) >= 0 > tight_spare(1_733_929, 0.1, 0.05, 1000, 10)
    True
    """
    m, b, _, rest = room(tau, questions, budget, None, 0.5)
    return math.log(beta / 2) - log_failure(n, tight_sigma(tau, beta / 2, m, b), m, b, rest, "best")


@theorem(
    "holdout.sparse-validate-width",
    statement="How far any of m holdout means is from the truth when only pass/fail answers were shown.",
    source="Holdfast: Theorem 27 of Dwork et al. 2015 (corrected) with Hoeffding's inequality",
    conditions="rows independent; means of [0,1] values; questions and budget fixed in advance",
    unit="half-width",
    provenance="derived",
)
def sparse_validate_width(n: int, beta: float, questions: int, budget: int, values: int = 1) -> float:
    """Return `sqrt((ln(2m/beta) + ln ell_m)/(2n))`, the inverse of `sparse_validate_size`.

    With a budget of 0 (the first failure ends the run) nothing is learned before the last question, and this is the
    non-adaptive width.

    Parameters
    ----------
    n : int
        Rows in the holdout.
    beta : float
        Probability that any of the questions is off by more.
    questions : int
        Number of questions, fixed in advance.
    budget : int
        Failures after which the run still goes on.
    values : int
        Values that a failure may show, 1 for pass/fail only.

    Examples
    --------
    >>> round(sparse_validate_width(10_000, 0.05, 1000, 10), 5)
    0.0568
    """
    n, beta, m = count("n", n), failure_probability(beta), count("questions", questions)
    budget = count("budget", budget, at_least=0)
    log_strings = 0.0 if budget == 0 else sparse_validate_bits(m, budget, values) * math.log(2)
    return up(math.sqrt((math.log(2 * m) - math.log(beta) + log_strings) / (2 * n)), 16)


@theorem(
    "holdout.split-width",
    statement="How far any holdout mean is from the truth when each overfit uses up one of B disjoint parts.",
    source="Holdfast: Hoeffding's inequality and a union bound over questions and parts",
    conditions="holdout rows independent; budget, questions fixed in advance; a part is used up by its first overfit",
    unit="half-width",
    provenance="derived",
)
def split_width(n: int, beta: float, questions: int, budget: int) -> float:
    """Return `sqrt(ln(2mB/beta)/(2 floor(n/B)))`, the tolerance of a comparison on one part; `inf` for `B > n`.

    `split_size` asks for the accuracy `tau` with training errors up to `theta` free: that is this width at
    `(tau - theta)/2`.

    Parameters
    ----------
    n : int
        Rows in all parts together.
    beta : float
        Probability that any comparison is off by more.
    questions : int
        Number of questions, fixed in advance.
    budget : int
        Overfits, one part for each.

    Examples
    --------
    >>> round(split_width(10_000, 0.05, 1000, 10), 5)
    0.08031
    """
    n, beta, m = count("n", n), failure_probability(beta), count("questions", questions)
    b = count("budget", budget)
    if b > n:
        return math.inf
    return up(math.sqrt((math.log(2 * m) + math.log(b) - math.log(beta)) / (2 * (n // b))), 16)


@dataclass(frozen=True)
class LadderWidth:
    """How near the Ladder's score is to the best true loss, and the step that makes it so.

    Examples
    --------
    >>> round(ladder_width(10_000, 0.05, 1000).step, 6)
    0.031746
    """

    value: float
    step: float
    error: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"value": self.value, "step": self.step, "error": self.error}


@theorem(
    "holdout.ladder-width",
    statement="How far the Ladder's score is from the best true loss so far, at the best step size.",
    source="Blum and Hardt 2015 (algorithm); transcripts counted exactly, step chosen before the data",
    conditions="holdout rows i.i.d.; losses in [0,1]; number of submissions and step fixed in advance",
    unit="half-width",
    provenance="derived",
)
def ladder_width(n: int, beta: float, submissions: int) -> LadderWidth:
    """Return the least `error + step` with `ladder_tail(n, error, step, submissions) <= beta`, over all steps.

    The number of grid values is `floor(1/step + 1/2) + 1`. For each number the least step is best, and that is a hair
    above `1/(j + 1/2)`; so only these are tried.

    Parameters
    ----------
    n : int
        Rows in the holdout.
    beta : float
        Probability that the score is off by more.
    submissions : int
        Number of submissions, fixed in advance.

    Returns
    -------
    LadderWidth
        Its value is the half-width; from 0.5 on it says nothing. Time: about a ms.

    Examples
    --------
    >>> round(ladder_width(10_000, 0.05, 1000).value, 5)
    0.11751
    """
    n, beta, t = count("n", n), failure_probability(beta), count("submissions", submissions)

    def error(cells: int) -> float:
        log = math.log(2) - math.log(beta) + log_choose(t + cells + 1, cells + 2)
        return math.sqrt(log / (2 * n))

    def step(cells: int) -> float:
        return (1 + 1e-12) / (cells + 0.5)

    def width(cells: int) -> float:
        return error(cells) + step(cells)

    low, high = 1, _LADDER_CELLS  # the width falls, then rises
    while high - low > 2:
        third = (high - low) // 3
        left, right = low + third, high - third
        low, high = (low, right) if width(left) <= width(right) else (left, high)
    cells = min(range(low, high + 1), key=width)
    chosen, found = step(cells), up(error(cells), 16)
    while found <= 1 and ladder_tail(n, found, chosen, t) > beta:  # what is returned passes the theorem's own test
        found = up(found, 64)
    return LadderWidth(up(found + chosen, 2), chosen, found)


__all__ = [
    "LadderWidth",
    "ladder_width",
    "least_accuracy",
    "sparse_validate_width",
    "split_width",
    "thresholdout_accuracy",
    "tight_spare",
]
