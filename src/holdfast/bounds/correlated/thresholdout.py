"""Algorithm 1 of Zhao 2017, Thresholdout on dependent records: its privacy, one question, a whole run and its plan."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from scipy.special import log_ndtr, ndtr

from holdfast.bounds.concentration import exp_up
from holdfast.bounds.correlated.influence import METHODS, Method, QuiltTerms, declared_quilt
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.numerics.search import first_at_least, first_whole
from holdfast.bounds.parameters import (
    MOST,
    Accuracy,
    Blanket,
    Budget,
    BudgetSplit,
    Colours,
    Domain,
    FailureProbability,
    Influence,
    LaplaceScale,
    NoiseScale,
    OpenFailureProbability,
    Questions,
    Rows,
    Sensitivity,
    Surcharge,
    checked,
)
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Run privacy ------------------------------------------------------------------------------------------------------
# Algorithm 1 of Zhao 2017: Thresholdout with noise scales sigma (threshold), 2 sigma (comparison), 4 sigma (release).
#
# Its cost in differential privacy, its scales and threshold in Theorem 2, and the probability that its noise
# misbehaves.


class NoiseRatios(NamedTuple):
    """The Laplace scales of the three noises of Thresholdout, each divided by `sigma`.

    The three noises are those of the threshold, of each comparison and of each released value.

    Examples
    --------
    >>> NoiseRatios(1.0, 2.0, 4.0).cost
    2.25
    """

    threshold: float
    comparison: float
    release: float

    @property
    def cost(self) -> float:
        """The privacy cost of one failed question (an overruling), in units of the sensitivity divided by `sigma`."""
        return 1 / self.threshold + 2 / self.comparison + 1 / self.release


ZHAO = NoiseRatios(1.0, 2.0, 4.0)
"""Algorithm 1 of Zhao 2017: 9/4 an overruling."""
DWORK = NoiseRatios(2.0, 4.0, 1.0)
"""Thresholdout of Dwork et al. 2015: 2 an overruling."""


@theorem(
    "correlated.algorithm-1-epsilon",
    statement="Differential privacy of a whole run of Algorithm 1 with at most B overrulings.",
    source="Zhao 2017, section 3 (9 B Delta/(4 sigma))",
    conditions="neighbours replace one record; every question has at most the declared sensitivity; the analyst knows "
    "the holdout through the answers only",
    unit="epsilon",
)
def algorithm_1_epsilon(
    budget: Budget,
    sigma: Annotated[LaplaceScale, "The Laplace scale that the ratios multiply."],
    n: Annotated[Rows, "The number of records; the sensitivity of a mean of [0, 1] values is `1/n`."] | None = None,
    sensitivity: Annotated[Sensitivity, Domain("How far one record moves a question, instead of `1/n`.", at_most=1e100)]
    | None = None,
    threshold: Annotated[
        float, Domain("The threshold's scale over `sigma`; 2 in Dwork et al. 2015.", at_least=1e-9, at_most=1e9)
    ] = 1.0,
    comparison: Annotated[
        float, Domain("The comparison's scale over `sigma`; 4 in Dwork et al. 2015.", at_least=1e-9, at_most=1e9)
    ] = 2.0,
    release: Annotated[
        float, Domain("The released value's scale over `sigma`; 1 in Dwork et al. 2015.", at_least=1e-9, at_most=1e9)
    ] = 4.0,
) -> float:
    """Return the differential privacy of a whole run of Algorithm 1 (Thresholdout for dependent records) with at
    most `budget` failed questions.

    Epsilon is `B Delta (1/s1 + 2/s2 + 1/s3)/sigma`. Here `B` is the budget, `Delta` the sensitivity of a question, and
    `s1`, `s2` and `s3` the noise scales of threshold, comparison and release divided by `sigma`. With the default
    scales it is `9 B Delta/(4 sigma)`. If the records depend on each other, this number alone does not protect a single
    record: convert it first, with `QuiltTerms.epsilon_bdp`.

    Returns
    -------
    float
        Rounded up.

    Notes
    -----
    One failed question ends one run of above-threshold: its noisy threshold costs `Delta/s1`, its comparison `2
    Delta/s2` however many questions pass, its release `Delta/s3`. Printed, verified.

    Examples
    --------
    >>> round(algorithm_1_epsilon(10, 0.01, 5000), 10)
    0.45
    >>> round(algorithm_1_epsilon(10, 0.01, 5000, threshold=2, comparison=4, release=1), 10)
    0.4
    """
    if sensitivity is None:
        if n is None:
            raise InvalidParameter("n was not given; give a whole number of at least 1, or give sensitivity")
        sensitivity = 1 / n
    return up(budget * sensitivity * NoiseRatios(threshold, comparison, release).cost / sigma, 8)


def run_epsilon(budget: int, sigma: float, n: int) -> float:
    """`9 B/(4 sigma n)`, rounded up. Arguments are not checked.

    Examples
    --------
    >>> round(run_epsilon(10, 0.01, 5000), 10)
    0.45
    """
    return up(9 * budget / (4 * sigma * n), 8)


class RunParameters(NamedTuple):
    """The parameters that Theorem 2 sets for a run: noise scale, threshold, and the error and failure probability of a
    question.

    Examples
    --------
    >>> round(run_parameters(0.1, 0.05, 1000, 10).threshold, 9)
    0.075
    """

    sigma: float
    threshold: float
    tau: float
    beta: float


def run_parameters(tau: float, beta: float, questions: int, budget: int, split: float = 0.5) -> RunParameters:
    """Return the noise scale and the threshold of a run of Algorithm 1 (Thresholdout for dependent records), and the
    error that each question must keep.

    With `c = split` the scale is `sigma = (1-c) tau/(12 ln(4m/beta))` and the threshold is `T = (1+c) tau/2`, for `m`
    questions. Each question must then keep the error `tau' = (1-c) tau/4`, except with probability `beta'`, its part of
    what the noise leaves of `beta`.

    Notes
    -----
    The paper spends `beta/2` on noise and takes `beta' = beta/(2m)`; its noise bound writes a maximum where a sum is
    needed. The exact union bound (`noise_failure`) is at most `beta/2` up to `B = m - 1`, and `beta' = (beta -
    noise)/m` is what it leaves, also at `B = m`. Derived, reviewed.

    Examples
    --------
    >>> found = run_parameters(0.1, 0.05, 1000, 10)
    >>> round(found.sigma, 13), round(found.threshold, 9), round(found.tau, 9), round(found.beta * 1000, 9)
    (0.0003690652927, 0.075, 0.0125, 0.037375)
    """
    tau, beta, m = (
        checked("tau", Accuracy, tau),
        checked("beta", FailureProbability, beta),
        checked("questions", Questions, questions),
    )
    budget = arguments.whole("budget", budget, at_least=1, at_most=m)
    split = arguments.probability("split", split)
    sigma = (1 - split) * tau / (12 * math.log(4 * m / beta))
    left = down((beta - noise_failure(beta, m, budget, split)) / m, 8)
    return RunParameters(sigma, (1 + split) * tau / 2, down((1 - split) * tau / 4), left)


@theorem(
    "correlated.noise-failure",
    statement="Probability that some Laplace draw of Algorithm 1 exceeds its allowance in Theorem 2.",
    source="Zhao 2017, eqs. (18)-(27), with the sum of the events in place of their maximum",
    conditions="sigma and threshold of Theorem 2; at most B overrulings and m questions",
    unit="probability",
    provenance="derived",
)
def noise_failure(beta: FailureProbability, questions: Questions, budget: Budget, split: BudgetSplit = 0.5) -> float:
    """Return the probability that some noise draw of a run of Algorithm 1 (Thresholdout for dependent records)
    exceeds its allowance in Theorem 2.

    For `m` questions and a budget of `B` failed questions it is `(B + m) beta/(4m) + B (beta/(4m))^((3/4)(3+c)/(1-c))`,
    with `c = split`. It is at most `beta/2` for budgets up to `m - 1`.

    Returns
    -------
    float
        Rounded up.

    Notes
    -----
    A threshold draw exceeds `(1-c) tau/12` with probability `beta/(4m)` and at most `B` of them are in use; the same
    for a comparison draw at `(1-c) tau/6`, `m` of them; a release draw exceeds `(3+c) tau/4` with probability
    `exp(-(3+c) tau/(16 sigma))`, `B` of them. Derived, reviewed.

    Examples
    --------
    >>> round(noise_failure(0.05, 1000, 10), 12)
    0.012625
    """
    m = questions
    budget = arguments.whole("budget", budget, at_least=1, at_most=m)
    each = beta / (4 * m)
    release = math.exp(min(0.75 * (3 + split) / (1 - split), 1e9) * math.log(each))
    return up((budget + m) * each + budget * release, 32)


# --- Question failure terms -------------------------------------------------------------------------------------------
# One question, chosen after any part of a run of Algorithm 1, on dependent records (Theorem 1 of Zhao 2017, repaired).
#
# The printed quilt form, eq. (8), is false: privacy of the answers cannot make the records concentrate, and for a coin
# copied a thousand times it promises what cannot be. The repair colours the records so that no two of a colour are
# nearby one another. Write `k` for the smallest class, `t = tanh(b/4)` for the drift, `eps = K 9B/(4 sigma n) + w`.
#
# 1. Within a class the other members lie in the quilt of a record or beyond it, so they move its distribution by at
# most `t` in
#    total variation. A sum over the class is a martingale with steps in intervals of length 1 plus a drift of at most
#    `t` a step: a fixed question is off by `tau` on the class with probability at most `2 exp(-2k(tau - t)^2)`.
# 2. The transcript is `eps`-Bayesian private, also as a function of the class alone. Reveal the class record by record:
#    the log ratio `Z` of the output's probability given the records to its own moves, at each record, in an interval of
#    length `eps`, and `E[exp(-Z_i)] = 1` given the output and the past. So the drift of `Z` is at most `eps^2/8` a
#    record (Hoeffding's lemma), and `P[Z > k eps^2/8 + eps sqrt(k s/2)] <= e^-s` (Azuma), for every joint distribution.
# 3. Choosing the question after the transcript therefore costs a factor `exp(k eps^2/8 + eps sqrt(k s/2))` and `e^-s`.
#    At `s = 2k(tau - t - eps/4)^2` the exponents are equal and the sum is `3 exp(-2k(tau - t - eps/4)^2)`.
# 4. If the mean over all records is off by `tau`, the mean over some class is: sum over the classes.
#
# So the price of adaptivity is a quarter of epsilon in accuracy. This is `method="sharp"`. `method="repaired"` takes
# the weaker max-information bound `eps^2 k/2 + eps sqrt(k ln(2/beta)/2)` in step 2 (Theorem 1-R of the specification,
# reviewed): `4 exp(-r k tau^2)`. `method="paper"` is the printed theorem.


def log_failure(n: int, budget: int, sigma: float, tau: float, quilt: QuiltTerms, method: Method = "sharp") -> float:
    """Return the natural logarithm of the failure probability of one question, rounded up.

    The result is 0 (a probability of 1) where nothing is guaranteed. It falls when `n` or `tau` grows, and it rises
    when `budget` grows. The arguments are not checked.

    Examples
    --------
    >>> round(log_failure(100_000, 10, 0.01, 0.1, QuiltTerms()), 3)
    -1780.23
    """
    epsilon = quilt.epsilon_bdp(run_epsilon(budget, sigma, n), method)
    if method == "paper":
        return min(0.0, up(math.log(4) - n * tau * tau / 9)) if epsilon <= tau / 3 else 0.0
    smallest = n // quilt.classes
    if not math.isfinite(epsilon) or smallest == 0:
        return 0.0
    root = _root(down(tau - quilt.drift), epsilon, method)  # what cancels next must not be too large by a rounding
    if root <= 0:
        return 0.0
    copies = quilt.classes * (3 if method == "sharp" else 4)
    return min(0.0, up(math.log(copies) - smallest * down(root, 16) ** 2, 4))


def _root(room: float, epsilon: float, method: str) -> float:
    """The square root of the exponent a record: `sqrt(2)(room - eps/4)`, or the root of `r tau^2` of Theorem 1-R."""
    if room <= 0:
        return 0.0
    if method == "sharp":
        return math.sqrt(2) * (room - epsilon / 4)
    inside = 8 * room * room - 1.5 * epsilon * epsilon
    return 0.5 * (math.sqrt(inside) - epsilon / math.sqrt(2)) if inside > 0 else 0.0


def rate(alpha: float, room: float = 2.0, method: Method = "repaired") -> float:
    """Return the rate at which the failure probability of one question falls with the number of records (Theorem
    1-R).

    The failure probability is proportional to `exp(-r k tau^2)`, where `r` is the returned rate, `k` the number of
    independent records and `tau` the error. The parameter `alpha` is the privacy level divided by `tau`. The parameter
    `room`, here `u`, is `2 (1 - t/tau)^2`, where `t` is how far the dependence can move a record's distribution. The
    method "sharp" returns `(sqrt(u) - alpha/sqrt(8))^2`, and "repaired" returns `((sqrt(4u - 3 alpha^2/2) -
    alpha/sqrt(2))/2)^2`. If nothing is guaranteed, the rate is 0.

    Examples
    --------
    >>> round(rate(1 / 3), 9), round(rate(1), 10), round(rate(1, method="sharp"), 10)
    (1.642379386, 0.8486121811, 1.125)
    """
    alpha, room = arguments.real("alpha", alpha, at_least=0), arguments.real("room", room, at_least=0, at_most=2)
    arguments.choice("method", method, ("sharp", "repaired"))
    return max(_root(math.sqrt(room / 2), alpha, method), 0.0) ** 2


class Terms(NamedTuple):
    """The two numbers of records that Theorem 1 requires at a fixed `alpha`; infinite where no number is enough.

    Examples
    --------
    >>> round(terms(10, 0.01, 0.1, 0.05, QuiltTerms(9, 0.002), method="paper").concentration, 6)
    3943.823971
    """

    concentration: float
    privacy: float


def terms(
    budget: int,
    sigma: float,
    tau: float,
    beta: float,
    quilt: QuiltTerms,
    alpha: float = 1 / 3,
    method: Method = "repaired",
) -> Terms:
    """Return the two numbers of records that Theorem 1 requires if the privacy level is at most `alpha tau`.

    `chi` is the number of colours of the quilt, `K` its size, `w` its surcharge, `b` its influence, and `r` the result
    of `rate`:

    - "repaired" and "sharp": `chi ceil(ln(a chi/beta)/(r tau^2))` with `a` = 4 or 3, and `9 B K/(4 sigma (alpha tau -
      w))`.
    - "paper": the published `9 ln(4/beta)/tau^2` and `9 B K/(4 sigma (tau/3 - 4 b))`, its equations (7) and (8).

    If a denominator is not positive, no number of records is enough, and the result is infinity.

    Notes
    -----
    Read literally, a negative denominator would win the minimum of (8) and lose the maximum of (7).

    Examples
    --------
    >>> [round(term, 6) for term in terms(10, 0.01, 0.1, 0.05, QuiltTerms(9, 0.002), method="paper")]
    [3943.823971, 799342.105263]
    >>> terms(10, 0.01, 0.1, 0.05, QuiltTerms(9, 0.01), method="paper").privacy
    inf
    """
    budget, sigma, tau, beta = _door(budget, sigma, tau, beta)
    alpha = arguments.real("alpha", alpha, above=0)
    arguments.choice("method", method, METHODS)
    if method == "paper":
        left = tau / 3 - 4 * quilt.influence
        first = up(9 * math.log(4 / beta) / tau**2, 8)
    else:
        assert quilt.surcharge is not None
        left = alpha * tau - quilt.surcharge
        room = max(0.0, 1 - quilt.drift / tau)
        exponent = down(rate(alpha, 2 * room * room, method), 32) * tau**2
        copies = quilt.classes * (3 if method == "sharp" else 4)
        size = up(math.log(copies / beta), 8) / exponent if exponent > 0 else math.inf
        first = quilt.classes * math.ceil(size) if math.isfinite(size) else math.inf
    return Terms(first, up(9 * budget * quilt.size / (4 * sigma * left), 16) if left > 0 else math.inf)


def printed_terms(
    budget: int, sigma: float, tau: float, beta: float, blanket: int = 1, influence: float = 0.0
) -> Terms:
    """Return the two numbers of records that Theorem 1 requires as published.

    With `blanket` 1 they come from equation (7). Otherwise they come from equation (8), which is false.

    Examples
    --------
    >>> round(printed_terms(10, 0.01, 0.1, 0.05, influence=0.005).privacy, 6)
    168750.0
    """
    return terms(budget, sigma, tau, beta, declared_quilt(blanket, influence), method="paper")


def _door(budget: int, sigma: float, tau: float, beta: float) -> tuple[int, float, float, float]:
    return (
        checked("budget", Budget, budget),
        checked("sigma", LaplaceScale, sigma),
        checked("tau", Accuracy, tau),
        checked("beta", FailureProbability, beta),
    )


# --- Inversion --------------------------------------------------------------------------------------------------------
# Inverses of monotone predicates: size, budget and accuracy come from one predicate, so they invert each other.


def least_whole(holds: Callable[[int], bool], top: int = MOST) -> float:
    """Return the smallest whole number in [1, top] at which a predicate that turns true holds; `inf` where none does.

    Examples
    --------
    >>> least_whole(lambda n: n * n >= 1000), least_whole(lambda n: False)
    (32, inf)
    """
    least = first_whole(holds, limit=top) if holds(top) else None
    return math.inf if least is None else least


def most_whole(holds: Callable[[int], bool], top: int = MOST) -> int:
    """Return the largest whole number in [1, top] at which a predicate that turns false holds; 0 where none does.

    Examples
    --------
    >>> most_whole(lambda n: n * n <= 1000), most_whole(lambda n: False)
    (31, 0)
    """
    least = least_whole(lambda value: not holds(value), top)
    return top if math.isinf(least) else int(least) - 1


def least_accuracy(excess: Callable[[float], float]) -> float:
    """Return the smallest `tau` below 1 at which an increasing function is at least 0; `inf` where none is.

    Examples
    --------
    >>> least_accuracy(lambda tau: tau - 0.25), least_accuracy(lambda tau: -1.0)
    (0.25, inf)
    """
    top = 1 - 2.0**-40
    return first_at_least(excess, 0.0, 1e-12, top) if excess(top) >= 0 else math.inf


# --- Question ---------------------------------------------------------------------------------------------------------
# One question asked through Algorithm 1 on dependent records: failure, size, accuracy and budget of one predicate.
#
# The proof is in module `question_failure_terms`. Size, accuracy and budget are inverses of `log_failure`, so they
# invert each other.

_QUESTION_SOURCE = "Zhao 2017, Theorem 1, repaired (Holdfast, module bounds.correlated.thresholdout)"
_QUESTION_CONDITIONS = (
    "mean of [0, 1] values over the records; training data independent of the holdout; quilts and colours as "
    "declared; paper: proved for blanket 1 only"
)


@theorem(
    "correlated.question-failure",
    statement="Probability that a question chosen after any part of a run of Algorithm 1 is off by tau.",
    source=_QUESTION_SOURCE,
    conditions=_QUESTION_CONDITIONS,
    unit="probability",
    provenance="derived",
)
def question_failure(
    n: Rows,
    budget: Budget,
    sigma: LaplaceScale,
    tau: Accuracy,
    blanket: Blanket = 1,
    influence: Influence = 0.0,
    surcharge: Surcharge | None = None,
    colours: Colours | None = None,
    method: Method = "sharp",
) -> float:
    """Return the probability that a question chosen after any part of a run of Algorithm 1 (Thresholdout for
    dependent records) is off by more than `tau`.

    It is `3 chi exp(-2k(tau - t - eps/4)^2)`, at most 1, with `k = floor(n/chi)`. Here `chi` is the number of colours,
    `t` the drift of the quilt, and `eps` the level of Bayesian privacy of the run.

    Returns
    -------
    float
        Rounded up.

    Examples
    --------
    >>> f"{question_failure(20_000, 10, 0.1, 0.1, 9, 0.01):.6e}"
    '5.236151e-08'
    """
    quilt = declared_quilt(blanket, influence, surcharge, colours)
    return min(1.0, exp_up(log_failure(n, budget, sigma, tau, quilt, method)))


@theorem(
    "correlated.question-size",
    statement="Records at which a question chosen after any part of a run of Algorithm 1 keeps tau.",
    source=_QUESTION_SOURCE,
    conditions=_QUESTION_CONDITIONS,
    unit="records",
    provenance="derived",
)
def question_size(
    budget: Budget,
    sigma: LaplaceScale,
    tau: Accuracy,
    beta: FailureProbability,
    blanket: Blanket = 1,
    influence: Influence = 0.0,
    surcharge: Surcharge | None = None,
    colours: Colours | None = None,
    method: Method = "sharp",
) -> float:
    """Return the smallest number of records at which one question has an error of at most `tau` with probability `1 -
    beta`.

    Returns
    -------
    float
        A whole number; `inf` where none up to 10^18 does.

    Examples
    --------
    >>> question_size(10, 0.01, 0.1, 0.05, 9, 0.002), question_size(10, 0.01, 0.1, 0.05, 9, 0.2)
    (65189, inf)
    """
    quilt = declared_quilt(blanket, influence, surcharge, colours)
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
    source=_QUESTION_SOURCE,
    conditions=_QUESTION_CONDITIONS,
    unit="tau",
    provenance="derived",
)
def question_accuracy(
    n: Rows,
    budget: Budget,
    sigma: LaplaceScale,
    beta: FailureProbability,
    blanket: Blanket = 1,
    influence: Influence = 0.0,
    surcharge: Surcharge | None = None,
    colours: Colours | None = None,
    method: Method = "sharp",
) -> float:
    """Return the smallest error `tau` that one question keeps with probability `1 - beta`.

    Returns
    -------
    float
        `inf` where none below 1 is kept.

    Examples
    --------
    >>> round(question_accuracy(65189, 10, 0.01, 0.05, 9, 0.002), 5)
    0.1
    """
    quilt = declared_quilt(blanket, influence, surcharge, colours)
    level = -math.log(beta)
    return least_accuracy(lambda tau: -log_failure(n, budget, sigma, tau, quilt, method) - level)


@theorem(
    "correlated.question-budget",
    statement="Most overrulings of Algorithm 1 at which a question chosen after any part of the run keeps tau.",
    source=_QUESTION_SOURCE,
    conditions=_QUESTION_CONDITIONS,
    unit="overrulings",
    provenance="derived",
)
def question_budget(
    n: Rows,
    sigma: LaplaceScale,
    tau: Accuracy,
    beta: FailureProbability,
    blanket: Blanket = 1,
    influence: Influence = 0.0,
    surcharge: Surcharge | None = None,
    colours: Colours | None = None,
    method: Method = "sharp",
) -> int:
    """Return the largest budget of failed questions at which one question keeps the error `tau` with probability `1 -
    beta`.

    Returns
    -------
    int
        0 where none does.

    Examples
    --------
    >>> question_budget(65189, 0.01, 0.1, 0.05, 9, 0.002)
    10
    """
    quilt = declared_quilt(blanket, influence, surcharge, colours)
    level = math.log(beta)
    return most_whole(lambda budget: log_failure(n, budget, sigma, tau, quilt, method) <= level)


# --- Run plan ---------------------------------------------------------------------------------------------------------
# The plan of a run of Algorithm 1 by Theorem 2, or the reason why there is none; the predicate behind all inverses.


@dataclass(frozen=True)
class RunPlan:
    """A plan for a run of Algorithm 1 (Thresholdout for dependent records) that Theorem 2 covers, or the reason why
    there is none.

    If there is no such run, `n` or `tau` is infinite or `budget` is 0, and `reason` says why. `certified` is False for
    the published form with quilts, which is false for dependent records. In that case `note` says so and gives the
    number that holds. `effective_n` is `n` divided by the number of colours.

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
        """The number of records that the run needs."""
        return self.n

    @property
    def feasible(self) -> bool:
        """Whether Theorem 2 covers such a run."""
        return not self.reason

    @property
    def effective_n(self) -> float:
        """The number of independent records that the holdout is worth here: the records divided by the number of
        colours.
        """
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
        """Return plain data. Numbers that an infeasible plan does not have are None."""
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
    """Return how far the logarithm of the failure probability of each question is below its share."""
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
    """Return the plan with the fewest records that Theorem 2 allows, over all given quilts.

    Each quilt must be valid for every record. Choosing a quilt only chooses a proof and depends on the model alone, not
    on the data. Therefore the best one may be used.

    Notes
    -----
    Time: about 100 evaluations for each quilt.

    Examples
    --------
    >>> plan_run(0.1, 0.05, 1000, 10).n, plan_run(0.1, 0.05, 1000, 10, method="repaired").n
    (1448054, 2611228)
    >>> print(plan_run(0.1, 0.05, 1000, 10, [QuiltTerms(3, 0.2)]))
    no run is covered (sharp): the influence is too large for this accuracy: ...
    """
    tau, beta, m, budget, split = run_arguments(tau, beta, questions, budget, split)
    arguments.choice("method", method, METHODS)
    if not len(quilts) or not all(isinstance(quilt, QuiltTerms) for quilt in quilts):
        raise InvalidParameter("quilts must be a list of at least one QuiltTerms")
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
    """Return the two numbers of records that Theorem 2 requires as published, with all its parameters filled in.

    They are `144 ln(8m/beta)/((1-c)^2 tau^2)` and `27 B K ln(4m/beta)/((1-c) tau ((1-c) tau/12 - 4 b))`, for `m`
    questions, a budget of `B`, `c = split`, and a quilt of size `K` and influence `b`.

    Notes
    -----
    `tau' = (1-c) tau/4` and `beta' = beta/(2m)` are put in. The printed eq. (31) puts in `sigma` alone and asks for
    8 to 175 times fewer records.

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
    m = checked("questions", Questions, questions)
    return (
        checked("tau", Accuracy, tau),
        checked("beta", FailureProbability, beta),
        m,
        arguments.whole("budget", budget, at_least=1, at_most=m),
        arguments.probability("split", split),
    )


# --- Holdout size -----------------------------------------------------------------------------------------------------
# A whole run of Algorithm 1 on dependent records: how large a holdout, how accurate, how many overrulings.
#
# Theorem 2 of Zhao 2017 with the repaired Theorem 1. Set `sigma` and the threshold by `run_parameters`. Except with
# probability `beta`, every question `i <= m` up to which (itself included) fewer than `B` had a training error of `c
# tau` or more gets an answer within `tau` of the truth. On the good event an overruling means such a training error: `T
# - (1-c) tau (1/12 + 1/6 + 1/4) = c tau`. That number of training errors is not observable.

_CONDITIONS = (
    "means of [0, 1] values over the records; training data independent of the holdout; m fixed in advance; quilts "
    "and colours as declared; holds while fewer than B questions had a training error of c tau"
)
_SOURCE = "Zhao 2017, Theorem 2, with Theorem 1 repaired (Holdfast, module bounds.correlated.thresholdout)"


@theorem(
    "correlated.holdout-size",
    statement="Records that a whole run of Algorithm 1 on dependent records needs.",
    source=_SOURCE,
    conditions=_CONDITIONS,
    unit="records",
    provenance="mixed",
)
def holdout_size(
    tau: Accuracy,
    beta: FailureProbability,
    questions: Questions,
    budget: Budget,
    blanket: Blanket = 1,
    influence: Influence = 0.0,
    surcharge: Surcharge | None = None,
    colours: Colours | None = None,
    split: BudgetSplit = 0.5,
    method: Method = "sharp",
) -> RunPlan:
    """Return the number of records with which a whole run of Algorithm 1 (Thresholdout for dependent records) is
    proved to be accurate.

    In such a run all `m` questions are answered within `tau`. The plan has the noise scale and the threshold to use.
    The method selects the theorem:

    - "sharp" (default): Theorem 1 with the bound of `question_failure`. Each question gets its part of all of `beta`
      that the noise leaves.
    - "repaired": Theorem 1-R with its `alpha` chosen freely.
    - "paper": the published equations (7) and (8), with the error `tau' = (1-c) tau/4` and the failure probability
      `beta' = beta/(2m)` of a question filled in. It is certified only if `blanket` is 1, because the published form
      with quilts is false.

    Returns
    -------
    RunPlan
        Its value is the number of records; infinite with a `reason` where no number suffices.

    Notes
    -----
    "sharp" is derived with the same proof as "repaired", which is derived and was reviewed. The printed eq. (31)
    forgets to put `tau'` and `beta'` in.

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
    n: Rows,
    beta: FailureProbability,
    questions: Questions,
    budget: Budget,
    blanket: Blanket = 1,
    influence: Influence = 0.0,
    surcharge: Surcharge | None = None,
    colours: Colours | None = None,
    split: BudgetSplit = 0.5,
    method: Method = "sharp",
) -> float:
    """Return the smallest error that all answers of a run of Algorithm 1 (Thresholdout for dependent records) on `n`
    records keep.

    It is the smallest `tau` at which `correlated.holdout-size` requires at most `n` records, and `inf` if there is
    none.

    Examples
    --------
    >>> round(holdout_accuracy(1448054, 0.05, 1000, 10), 6)
    0.1
    """
    quilt = declared_quilt(blanket, influence, surcharge, colours)
    m = questions
    budget = arguments.whole("budget", budget, at_least=1, at_most=m)
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
    n: Rows,
    tau: Accuracy,
    beta: FailureProbability,
    questions: Questions,
    blanket: Blanket = 1,
    influence: Influence = 0.0,
    surcharge: Surcharge | None = None,
    colours: Colours | None = None,
    split: BudgetSplit = 0.5,
    method: Method = "sharp",
) -> int:
    """Return the largest budget of failed questions of a run of Algorithm 1 (Thresholdout for dependent records) on
    `n` records.

    It is the largest budget at which `correlated.holdout-size` requires at most `n` records, and 0 if there is none.

    Examples
    --------
    >>> holdout_budget(1448054, 0.1, 0.05, 1000)
    10
    """
    quilt = declared_quilt(blanket, influence, surcharge, colours)
    (tau, beta, m, _, split) = run_arguments(tau, beta, questions, 1, split)
    return most_whole(lambda budget: run_covered(n, tau, beta, m, budget, quilt, split, method), m)


# --- Threshold advice -------------------------------------------------------------------------------------------------
# A threshold for Algorithm 1 on correlated records: advice from the variance of an answer, not a guarantee.
#
# Every overruling shows something of the holdout, so it should be spent on overfitting and not on chance. Two means of
# `n` values with variance 1, training and holdout, differ by chance with standard deviation `sqrt(2 inflation/n)`. The
# usual threshold `4/sqrt(n)` is 2.8 of these on independent records, and 1.7 at an inflation of 2.9: there chance
# overrules a tenth of all questions, and the analyst picks what chance told her. The inflation must never be put into a
# width: `n` over it is no effective size (`correlated.effective-n` are).


@theorem(
    "correlated.variance-inflation",
    statement="How much larger the variance of a mean of products x y is when both series are autocorrelated.",
    source="Holdfast; sum of the autocorrelations (phi r)^k",
    conditions="x and y independent stationary series with autocorrelations phi^k and r^k; advice, not a guarantee",
    unit="factor",
    provenance="derived",
)
def variance_inflation(
    records: Annotated[float, Domain("Autocorrelation `phi` of the values at lag 1.", above=-1, below=1, typical=0.7)],
    labels: Annotated[
        float, Domain("Autocorrelation `r` of what they are multiplied with.", at_least=-1, at_most=1)
    ] = 1.0,
) -> float:
    """Return how much larger the variance of a mean of products becomes because both factors are autocorrelated.

    With lag-1 autocorrelations `phi = records` and `r = labels` the factor is `(1 + phi r)/(1 - phi r)`. With `labels`
    = 1 it is the factor for the mean of the records themselves. If only one of the two series is autocorrelated, the
    factor is 1.

    Notes
    -----
    Derived. The variance of a mean of `n` such products is `1/n` times `1 + 2 sum_k (1 - k/n) (phi r)^k`, whose
    limit is this (and its bound when `phi r >= 0`). If only one of the two is autocorrelated the products are white.

    Examples
    --------
    >>> round(variance_inflation(0.7, 0.7), 9)
    2.921568627
    """
    product = records * labels
    return up((1 + product) / (1 - product), 8)


@theorem(
    "correlated.recommended-threshold",
    statement="Threshold of Algorithm 1: 4 sqrt(inflation/n), or the one that chance does not pass in m questions.",
    source="Holdfast; measured in the experiment zhao-figures",
    conditions="advice, not a guarantee: means taken as normal, values of variance 1; no theorem covers such runs",
    unit="threshold",
    provenance="derived",
)
def recommended_threshold(
    n: Rows,
    inflation: Annotated[
        float, Domain("The variance inflation; 1 for independent records.", above=0, at_most=MOST)
    ] = 1.0,
    multiple: Annotated[
        float, Domain("The number of standard errors; not used with `questions`.", above=0, at_most=1e9)
    ] = 4.0,
    questions: Questions | None = None,
    false_alarms: Annotated[OpenFailureProbability, "The probability that chance overrules any of them."] = 0.05,
    sigma: Annotated[
        NoiseScale, Domain("The Laplace scale; `1/(4 sqrt(n))` if left out. Used with `questions` only.", at_most=1e9)
    ]
    | None = None,
) -> float:
    """Return a threshold for Algorithm 1 (Thresholdout for dependent records) that allows for autocorrelated
    records.

    Without `questions` it is `multiple sqrt(inflation/n)`: a number of standard errors of a mean. With `questions` it
    is the smallest threshold at which, with probability at least `1 - false_alarms`, chance alone overrules none of the
    training means in the whole run. A false alarm is a training mean that is overruled although it was not overfitted.
    A larger threshold has a price: a training mean that passes may be off by as much as the threshold.

    Notes
    -----
    Derived. Training and holdout are independent, and their difference, normal with variance `2 inflation/n`, plus
    the noise of comparison and threshold exceeds `T`. For `m` such questions the returned `T` solves `2 m P[N +
    Lap(2 sigma) + Lap(sigma) > T] = false_alarms`, a union bound over questions and signs. The two Laplace variables
    together have the distribution `(4 Lap(2 sigma) - Lap(sigma))/3`, so the tail is a closed form.

    The usual multiple 4 lets chance overrule, and what it reveals is in units of the standard error: on correlated
    records as many false alarms add up to more points (`holdfast reproduce zhao-figures` measures it).

    Examples
    --------
    >>> round(recommended_threshold(10_000, 1.49 / 0.51), 4)
    0.0684
    >>> round(recommended_threshold(10_000, 1.49 / 0.51, questions=10_012), 4)
    0.1182
    """
    sigma = arguments.real("sigma", 0.25 / math.sqrt(n) if sigma is None else sigma, above=0, at_most=1e9)
    if questions is None:
        return multiple * math.sqrt(inflation / n)
    deviation = math.sqrt(2 * inflation / n)
    share = false_alarms / (2 * questions)
    # a tail is at most that of its two parts, each beyond half of the threshold
    top = 2 * (deviation * math.sqrt(-2 * math.log(share / 2)) - 6 * sigma * math.log(share / 8))
    return first_at_least(lambda threshold: -chance_overrules(threshold, deviation, sigma), -share, 0.0, top)


def chance_overrules(threshold: float, deviation: float, sigma: float) -> float:
    """`P[N + Lap(2 sigma) + Lap(sigma) > threshold]`, `N` normal with this deviation: a false alarm on one side.

    Examples
    --------
    >>> chance_overrules(0.0, 1.0, 0.1)
    0.5
    >>> f"{chance_overrules(0.0684, 0.0242, 0.0025):.4f}"
    '0.0037'
    """
    wide, narrow = (_one_laplace(threshold, deviation, scale) for scale in (2 * sigma, sigma))
    return (4 * wide - narrow) / 3


def _one_laplace(t: float, deviation: float, scale: float) -> float:
    """`P[N + Lap(scale) > t]`: the normal tail, moved by the two exponential halves."""
    z, ratio = t / deviation, deviation / scale
    near = math.exp(ratio**2 / 2 - t / scale + float(log_ndtr(z - ratio)))
    far = math.exp(ratio**2 / 2 + t / scale + float(log_ndtr(-z - ratio)))
    return float(ndtr(-z)) + (near - far) / 2
