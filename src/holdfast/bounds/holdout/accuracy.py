"""Half-widths as functions of the rows: what a given holdout certifies by each method, the inverses of the sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from holdfast.bounds.generalisation import pure_dp_event
from holdfast.bounds.holdout.guess_and_check import ladder_tail
from holdfast.bounds.holdout.ranges import count, failure_probability
from holdfast.bounds.holdout.sparse_validate import sparse_validate_bits
from holdfast.bounds.holdout.thresholdout import log_failure, room, theorem25_accuracy, theorem25_size, tight_sigma
from holdfast.bounds.numerics.binomial import log_choose
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.numerics.search import crossing, first_at_least, smallest, spaced, turning_point
from holdfast.bounds.parameters import (
    Accuracy,
    AnswerValues,
    Budget,
    Domain,
    FailureProbability,
    MissProbability,
    Questions,
    Rows,
    Submissions,
)
from holdfast.bounds.registry import theorem
from holdfast.bounds.sparse_vector import sparse_vector_epsilon
from holdfast.errors import InvalidParameter

# --- Accuracy ---------------------------------------------------------------------------------------------------------

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
    n: Rows,
    beta: FailureProbability,
    questions: Questions,
    budget: Budget,
    method: Literal["best", "theorem-25", "paper"] = "best",
) -> float:
    """Return the least `tau` with `thresholdout_size(tau, beta, questions, budget, method) <= n`.

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
    m = questions
    b = count("budget", budget, at_least=1, at_most=m)
    pure = theorem25_accuracy(n, beta, m, b)
    if method == "paper":
        fits = theorem25_size(_TOP, beta, m, b, "paper") <= n
        printed = (
            first_at_least(lambda tau: n - theorem25_size(tau, beta, m, b, "paper"), 0.0, _LOW, _TOP)
            if fits
            else math.inf
        )
        return min(pure, printed)
    exact = min(pure, theorem25_accuracy(n, beta, m, b, "exact"))
    if method == "theorem-25":
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
def sparse_validate_width(
    n: Rows,
    beta: FailureProbability,
    questions: Annotated[Questions, Domain(at_most=10**15)],
    budget: Annotated[Budget, Domain("The number of failures after which the run still goes on.", at_least=0)],
    values: AnswerValues = 1,
) -> float:
    """Return `sqrt((ln(2m/beta) + ln ell_m)/(2n))`, the inverse of `sparse_validate_size`.

    With a budget of 0 (the first failure ends the run) nothing is learned before the last question, and this is the
    non-adaptive width.

    Examples
    --------
    >>> round(sparse_validate_width(10_000, 0.05, 1000, 10), 5)
    0.0568
    """
    m = questions
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
def split_width(
    n: Rows,
    beta: FailureProbability,
    questions: Questions,
    budget: Annotated[Budget, "The number of overfits, one part of the rows for each."],
) -> float:
    """Return `sqrt(ln(2mB/beta)/(2 floor(n/B)))`, the tolerance of a comparison on one part; `inf` for `B > n`.

    `split_size` asks for the accuracy `tau` with training errors up to `theta` free: that is this width at
    `(tau - theta)/2`.

    Examples
    --------
    >>> round(split_width(10_000, 0.05, 1000, 10), 5)
    0.08031
    """
    m = questions
    b = budget
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
def ladder_width(n: Rows, beta: FailureProbability, submissions: Submissions) -> LadderWidth:
    """Return the least `error + step` with `ladder_tail(n, error, step, submissions) <= beta`, over all steps.

    The number of grid values is `floor(1/step + 1/2) + 1`. For each number the least step is best, and that is a hair
    above `1/(j + 1/2)`; so only these are tried.

    Returns
    -------
    LadderWidth
        Its value is the half-width; from 0.5 on it says nothing. Time: about a ms.

    Examples
    --------
    >>> round(ladder_width(10_000, 0.05, 1000).value, 5)
    0.11751
    """
    t = submissions

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


# --- Single threshold -------------------------------------------------------------------------------------------------
# Thresholdout with one threshold draw for the whole run: less noise on comparisons than a draw for every overfit.

_LIMIT = 10**18


@dataclass(frozen=True)
class SingleThresholdPlan:
    """Parameters of a single-threshold run and what they buy: `value` rows for accuracy `tau`.

    The scales are those of Laplace noise on the threshold (drawn once), on each comparison and on each released value.

    Examples
    --------
    >>> plan = single_threshold_size(0.1, 0.05, 1000, 10)
    >>> print(plan)
    1000 questions, 10 overfits: 514501 rows for accuracy 0.1 at 95% (single threshold 0.075)
    """

    value: int
    tau: float
    theta: float
    beta: float
    questions: int
    budget: int
    threshold: float
    threshold_scale: float
    question_scale: float
    release_scale: float

    @property
    def n(self) -> int:
        """Rows."""
        return self.value

    def __str__(self) -> str:
        return (
            f"{self.questions} questions, {self.budget} overfits: {self.value} rows for accuracy {self.tau:g} "
            f"at {100 * (1 - self.beta):.6g}% (single threshold {self.threshold:.4g})"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@theorem(
    "holdout.single-threshold-size",
    statement="Holdout rows at which single-threshold Thresholdout answers m questions with B overfits within tau.",
    source="Holdfast: Lyu-Su-Li 2017 (single threshold) in the proof of Dwork et al. 2015, Theorem 25",
    conditions="holdout rows i.i.d.; questions >= budget; a question with training error at most theta costs nothing",
    unit="rows",
    provenance="derived",
)
def single_threshold_size(
    tau: Accuracy,
    beta: FailureProbability,
    questions: Questions,
    budget: Budget,
    theta: Annotated[
        float, Domain("The training error that must cost nothing, below tau; `tau/2` if left out.", at_least=0, below=1)
    ]
    | None = None,
    share: Annotated[MissProbability, "The part of the room that goes to noise."] = 0.5,
    method: Literal["best", "paper"] = "best",
) -> SingleThresholdPlan:
    """The least holdout at which Thresholdout with a single threshold draw is proved to be accurate.

    As `plan_tight`, with other noise: `Lap(b_T)` on the threshold once, `Lap(b_Q)` on each comparison, `Lap(b_V)` on
    each of `B` releases; the run is `(1/b_T + 2B/b_Q + B/b_V)/n`-private. The draw `gamma` is independent of all
    comparison noises, so conditioning on it, with `b_T = r b_Q` and `r = (2B)^(-1/3)`, the noise fails with probability
    at most `m exp(-N/b_Q)/(1 - r) + B exp(-(tau - tau_g)/b_V)`. Half of `beta` is for this, split between the two
    terms so that epsilon is least; half is for generalisation. Derived here; with the
    printed pure-privacy bounds (`method="paper"`) it gives the sizes that were recorded before it was written.

    Returns
    -------
    SingleThresholdPlan
        Its value is the number of rows. Time: tens of ms.

    Examples
    --------
    >>> single_threshold_size(0.1, 0.05, 1000, 10).value < 1_733_930  # plan_tight
    True
    """
    m, b, _, rest = room(tau, questions, budget, theta, share)
    scales = _scales(tau, beta, m, b, theta, share)

    def spare(n: int) -> float:
        left = math.log(beta / 2) - _log_failure(n, scales, m, b, rest, method)
        return left if left < 0 else max(left, 1e-300)  # rows that just suffice count as enough

    start = min(_LIMIT, math.ceil(60 * b * math.log(4 * m / beta) / tau**2))
    n = 1 + turning_point(spare, start, _LIMIT)
    if n > _LIMIT:
        raise InvalidParameter(f"tau must be reachable with at most 10**18 rows, got {tau}")
    low = tau / 2 if theta is None else theta
    return SingleThresholdPlan(n, tau, low, beta, m, b, (tau + low) / 2, *scales)


def single_threshold_accuracy(n: int, beta: float, questions: int, budget: int) -> float:
    """The least `tau` with `single_threshold_size(tau, beta, questions, budget) <= n`; `inf` where none is below 1.

    Examples
    --------
    >>> round(single_threshold_accuracy(514_501, 0.05, 1000, 10), 6)
    0.1
    """
    n, beta, m = count("n", n), failure_probability(beta), count("questions", questions)
    b = count("budget", budget, at_least=1, at_most=m)

    return least_accuracy(lambda tau: single_threshold_spare(n, tau, beta, m, b))


def single_threshold_spare(n: int, tau: float, beta: float, questions: int, budget: int) -> float:
    """How much lower than `beta/2` the generalisation failure is on `n` rows, as a log ratio; 0 or more: they suffice.

    Examples
    --------
    >>> single_threshold_spare(514_501, 0.1, 0.05, 1000, 10) >= 0 > single_threshold_spare(514_500, 0.1, 0.05, 1000, 10)
    True
    """
    m, b, _, rest = room(tau, questions, budget, None, 0.5)
    return math.log(beta / 2) - _log_failure(n, _scales(tau, beta, m, b, None, 0.5), m, b, rest, "best")


def _log_failure(
    n: int, scales: tuple[float, float, float], m: int, b: int, rest: float, method: Literal["best", "paper"]
) -> float:
    epsilon = sparse_vector_epsilon(1 / n, scales[0], scales[1], b, scales[2], form="single")
    return pure_dp_event(epsilon, n, math.log(2 * m) - 2 * rest * rest * n, method).log_value


def _scales(
    tau: float, beta: float, questions: int, budget: int, theta: float | None, share: float
) -> tuple[float, float, float]:
    """Laplace scales of threshold, comparisons and releases whose noise fails with probability at most `beta/2`."""
    m, b, noise, rest = room(tau, questions, budget, theta, share)
    ratio = math.pow(2 * b, -1 / 3)
    log_compare = math.log(m) - math.log1p(-ratio) - math.log(beta / 2)
    log_release = math.log(b) - math.log(beta / 2)

    def scales(log_part: float) -> tuple[float, float]:
        """Of comparisons and releases, the releases using `exp(log_part)` of the noise's failure probability."""
        question = noise / (log_compare - math.log1p(-math.exp(log_part)))
        return question, (tau - rest) / (log_release - log_part)

    def epsilon(log_part: float) -> float:
        question, release = scales(log_part)
        return (1 / ratio + 2 * b) / question + b / release

    best, _ = smallest(epsilon, spaced(-12.0, -0.05, 25))
    question, release = (down(scale, 16) for scale in scales(best))
    return ratio * question, question, release
