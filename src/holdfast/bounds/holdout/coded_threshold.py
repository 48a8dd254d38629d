"""Thresholdout in two parts: exact means of one decide what passes, noisy means of the other are shown for failures.

The proof is in docs/papers/adaptive-widths.md, "A Thresholdout with few failures".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

import numpy as np
from scipy.special import logsumexp

from holdfast.bounds.interval.planning import best_noise
from holdfast.bounds.interval.width import Width
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.parameters import LEAST_BETA, Budget, Domain, FailureProbability, Questions, Rows
from holdfast.bounds.registry import theorem

#: The part of the failure probability that the passes have: their width hardly depends on it.
PASS_SHARE = 0.5
#: With more failures than this the number of patterns is bounded in place of added up.
_ADDED_UP = 10**6
_ROUNDS = 5


def log_patterns(questions: int, failures: int) -> float:
    """`ln` of the number of places in the tree of passes and failures where a question is asked; rounded up.

    The run ends with failure number `failures`, so question `j` is asked after one of `sum_{i<failures} C(j-1, i)`
    patterns, and over all `j` that is `sum_{1<=i<=failures} C(questions, i)`.

    Examples
    --------
    >>> round(log_patterns(1000, 10), 2), round(math.exp(log_patterns(4, 2)), 6)
    (53.94, 10.0)
    """
    most = min(failures, questions)
    if most > _ADDED_UP:
        return up(min(questions * math.log(2), most * (1 + math.log(questions / most))), 64)
    places = np.arange(most, dtype=float)
    logs = np.cumsum(np.log((questions - places) / (places + 1)))
    return float(logsumexp(logs)) * (1 + 1e-9) + 1e-12


def pass_deviation(explored: int, questions: int, failures: int, beta: float) -> float:
    """How far a mean of `explored` rows may be on the wrong side, at all places of the tree at once.

    Examples
    --------
    >>> round(pass_deviation(8500, 1000, 10, 0.025), 4)
    0.0582
    """
    return up(math.sqrt((log_patterns(questions, failures) - math.log(beta)) / (2 * explored)), 16)


@dataclass(frozen=True)
class CodedPlan:
    """A plan for a Thresholdout run whose rows are divided into two parts.

    The mean of the `explored` rows decides whether a guess passes or fails. The mean of the `reserved` rows gives the
    value that is shown when a guess fails.

    Attributes
    ----------
    explored, reserved : int
        The rows of either part.
    threshold : float
        How far a guess that passes may be from the mean of the explored rows.
    deviation : float
        How far that mean may be on the wrong side of a guess that passes.
    values : Width
        The noise and the half-width of the values, for `reserved` rows and as many questions as failures.

    Examples
    --------
    >>> plan = coded_plan(1000, 100, 5, 0.05, 0.1)
    >>> plan.explored + plan.reserved, plan.values.questions, plan.accuracy == max(plan.pass_width, plan.values.value)
    (1000, 5, True)
    """

    explored: int
    reserved: int
    threshold: float
    deviation: float
    values: Width

    @property
    def pass_width(self) -> float:
        """How far the guess of a question may be from the population value if the guess passes."""
        return up(self.threshold + self.deviation)

    @property
    def accuracy(self) -> float:
        """How far any shown value may be from the population value, whether it is a guess that passed or a corrected
        value.
        """
        return max(self.pass_width, self.values.half_width)


def coded_plan(n: int, questions: int, failures: int, beta: float, threshold: float) -> CodedPlan | None:
    """Return the plan that divides the rows so that passes and corrected values are about equally accurate.

    If one of the two parts would be left without a row, the result is None.

    Examples
    --------
    >>> plan = coded_plan(10_000, 1000, 10, 0.05, 0.04)
    >>> plan.explored + plan.reserved, round(plan.accuracy, 3)
    (10000, 0.098)
    """
    return _coded_plan(n, questions, min(failures, questions), beta, threshold)


@lru_cache(maxsize=64)
def _coded_plan(n: int, questions: int, failures: int, beta: float, threshold: float) -> CodedPlan | None:
    passes = PASS_SHARE * beta
    rest = down(beta - passes, 2)
    if n < 2 or passes < LEAST_BETA:
        return None

    def plan(reserved: int) -> CodedPlan:
        deviation = pass_deviation(n - reserved, questions, failures, passes)
        return CodedPlan(n - reserved, reserved, threshold, deviation, best_noise(reserved, failures, rest))

    best, reserved = None, max(1, n // 2)
    for _ in range(_ROUNDS):
        found = plan(reserved)
        if best is None or found.accuracy < best.accuracy:
            best = found
        # values are about as wide as one over the root of the rows: search for the reserve where both are equal
        constant, low, high = found.values.half_width * math.sqrt(reserved), 1, n - 1
        while low < high:
            middle = (low + high) // 2
            wide = threshold + pass_deviation(n - middle, questions, failures, passes)
            low, high = (middle + 1, high) if constant / math.sqrt(middle) > wide else (low, middle)
        if low == reserved:
            break
        reserved = low
    return best


@theorem(
    "holdout.coded-threshold-accuracy",
    statement="Accuracy of Thresholdout in two parts: bits counted by their patterns, values of failures with noise.",
    source="Holdfast: Hoeffding over patterns of passes and failures, and interval.best's Gaussian noise on reserved "
    "rows (docs/papers/adaptive-widths.md), computed by a second implementation, not refereed",
    conditions="rows independent and identically distributed, divided into two parts without looking at them; guesses "
    "from other rows and from what was shown; the explored rows decide whether a guess passes and nothing else; the "
    "reserved rows are read for the values of failures and for nothing else; the run ends with failure number `budget`",
    unit="half-width",
    provenance="derived",
)
def coded_threshold_accuracy(
    n: Rows,
    questions: Questions,
    budget: Budget,
    beta: FailureProbability,
    threshold: Annotated[
        float,
        Domain("How far a guess that passes may be from the mean of its part.", at_least=0, below=1, typical=0.04),
    ],
) -> float:
    """Return how far any shown value may be from the population value in a two-part Thresholdout with few failed
    guesses.

    The rows are divided into `n1` explored and `n2` reserved rows. A guess that is within `threshold` `T` of the mean
    of the explored rows passes. For any other guess the mean of the reserved rows is shown with Gaussian noise. A guess
    that passes is within `T + t` of the population value, with `t = sqrt((ln sum_{i<=B} C(k, i) + ln(2/beta))/(2 n1))`
    for `k` questions and a budget of `B` failed guesses. The corrected values have the accuracy of a plan for `B` noisy
    means at `beta/2`. The best `n1` is chosen before the data are seen. The result is `inf` if there is no such plan.

    Notes
    -----
    Given the reserved rows, the noise and the coins, what is shown is a function of the pattern of passes and
    failures, so there are at most `sum_{i<=B} C(k, i)` pairs of a question and a guess. Each fails on one side only:
    a guess `g` that passes although `phi(D) > g + T + t` needs a mean below `phi(D) - t`. So `t` holds for all.
    Given the explored rows and the coins, the failing questions are those of an analyst of at most `B` noisy means
    of the reserved rows, which are independent of both.

    Examples
    --------
    >>> round(coded_threshold_accuracy(10_000, 1000, 10, 0.05, 0.04), 3)
    0.098
    """
    plan = coded_plan(n, questions, budget, beta, threshold)
    return math.inf if plan is None else up(plan.accuracy)
