"""Thresholdout by its original analysis: privacy (Lemma 23), one question (Lemma 24), the whole run (Theorem 25).

Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015, "Generalization in adaptive data analysis and holdout reuse".
`sigma` is a Laplace scale: the algorithm uses `Lap(2 sigma)` on the threshold, `Lap(4 sigma)` on a comparison and
`Lap(sigma)` on a released value. `n` is the size of the holdout.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple

from scipy.special import ndtr

from holdfast.bounds.generalisation import pure_dp_event, theorem_8_inverse
from holdfast.bounds.interval.mutual_information import second_moment_factor
from holdfast.bounds.interval.planning import best_noise
from holdfast.bounds.interval.signs import LEAST_SCALE, RowLaw, sign_plan
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.numerics.search import crossing, first_at_least, turning_point
from holdfast.bounds.parameters import (
    LEAST_BETA,
    Accuracy,
    Budget,
    DeviationSize,
    Domain,
    Epsilon,
    FailureProbability,
    LaplaceScale,
    PositiveDelta,
    Questions,
    Rows,
    checked,
)
from holdfast.bounds.registry import theorem
from holdfast.bounds.sparse_vector import Form, sparse_vector_epsilon
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Thresholdout run -------------------------------------------------------------------------------------------------

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
    budget: Budget,
    sigma: LaplaceScale,
    n: Rows,
    delta: Annotated[PositiveDelta, "The delta; for 'paper', 'tight' and 'best'."] | None = None,
    method: Literal["best", "pure", "tight", "paper", "zcdp"] = "best",
) -> float:
    """Return the privacy loss of a whole Thresholdout run: epsilon, or `rho` for the method "zcdp".

    At most `B` comparisons fail and at most `B` values are released. Each of these `2B` steps is `e`-private with `e =
    1/(sigma n)`. The method selects how the steps are added up:

    - *pure*: `2 B e`.
    - *paper*: `sqrt(32 B ln(2/delta)) e`. From the value 2 on it has no proof, because the theorem behind each of its
      two halves needs that half to be below 1. The paper does not say so.
    - *tight*: advanced composition of all `2B` steps at once, `sqrt(4 B ln(1/delta)) e + 2 B e (e^e - 1)`. It is about
      2.8 times smaller than *paper* and has no such condition.
    - *best*: the smaller of *pure* and *tight*. Without a delta it is *pure*.
    - *zcdp*: `rho = B e^2`. So the run reveals at most `B/(sigma^2 n)` nats.

    Notes
    -----
    *tight* and *zcdp* are derived. One epoch of comparisons is `1/(sigma n)`-private and so is one release. *paper*
    adds two halves at `delta/2`.

    Examples
    --------
    >>> round(thresholdout_epsilon(10, 0.01, 10_000), 10)
    0.2
    >>> round(thresholdout_epsilon(10, 0.01, 10_000, 1e-6, "tight"), 10)
    0.2370888335
    """
    each = 1 / (sigma * n)
    pure = up(2 * budget * each)
    if method == "pure" or (method == "best" and delta is None):
        return pure
    if method == "zcdp":
        return up(budget * each * each)
    if delta is None:
        raise InvalidParameter(
            f"delta was not given, but method {method} needs a delta between 0 and 1, both ends excluded"
        )
    if method in ("best", "tight"):
        growth = math.expm1(each) if each < 700 else math.inf
        tight = up(math.sqrt(4 * budget * -math.log(delta)) * each + 2 * budget * each * growth, 8)
        return tight if method == "tight" else min(pure, tight)
    return up(math.sqrt(32 * budget * math.log(2 / delta)) * each, 8)


def lemma24_size(budget: int, sigma: float, tau: float, beta: float, branch: Branch = "pure") -> float:
    """Return the number of rows at which one question of a Thresholdout run generalises to `tau` (Lemma 24).

    With this many rows one question, whatever it is, has a holdout mean within `tau` of the population mean with
    probability at least `1 - beta`. This is a statement about one question at a time, not about all together. The
    method selects the form:

    - *pure*: `max(2B/(sigma tau), ln(6/beta)/tau^2)`.
    - *exact*: with `delta = beta tau/(26 ln(26/tau))`, it is `max(13 sqrt(32 B ln(2/delta))/(sigma tau), 338
      ln(8/delta)/tau^2)`.
    - *paper*: `80 sqrt(B ln(1/(tau beta)))/(tau sigma)`, published "for small enough tau, beta". It is too small unless
      `ln(1/(tau beta)) >= 5.4516 ln(52 ln(26/tau))`, which means a `beta` below about 4e-13. Therefore it is not
      certified.

    Notes
    -----
    The second term of *exact* is the size condition of the transfer theorem (Theorem 8), which the paper drops.

    Examples
    --------
    >>> round(lemma24_size(10, 0.01, 0.1, 0.05), 6)
    20000.0
    >>> round(lemma24_size(10, 0.01, 0.1, 0.05, "exact"), 4)
    770066.5158
    """
    budget = checked("budget", Budget, budget)
    sigma, tau = (
        checked("sigma", LaplaceScale, sigma),
        arguments.real("tau", tau, at_least=1e-52, below=1),  # Theorem 25 comes with tau/8
    )
    beta = arguments.real("beta", beta, at_least=1e-120, below=1)  # and with beta/(2m)
    branch = arguments.choice("branch", branch, _BRANCHES)  # type: ignore[assignment]
    if branch == "pure":
        return up(max(2 * budget / (sigma * tau), math.log(6 / beta) / tau**2), 8)
    if branch == "paper":
        return 80 * math.sqrt(budget * math.log(1 / (tau * beta))) / (tau * sigma)
    _, delta = theorem_8_inverse(tau, beta)
    first = 13 * math.sqrt(32 * budget * math.log(2 / delta)) / (sigma * tau)
    return up(max(first, 338 * math.log(8 / delta) / tau**2), 16)


def printed_constant_holds(tau: float) -> float:
    """Return the smallest `ln(1/(tau beta))` from which the constant 80 that Lemma 24 prints is large enough.

    The exact constant is `13 sqrt(32)`. The printed one is large enough if `80^2 ln(1/(tau beta)) >= 13^2 * 32
    ln(2/delta)`, where `ln(2/delta) = ln(52 ln(26/tau)) + ln(1/(tau beta))`.

    Examples
    --------
    >>> round(printed_constant_holds(0.1), 8)
    30.89409633
    """
    tau = checked("tau", Accuracy, tau)
    ratio = 13 * 13 * 32 / 80**2
    return ratio / (1 - ratio) * math.log(52 * math.log(26 / tau))


def theorem25_parameters(tau: float, beta: float, questions: int) -> Parameters:
    """Return the threshold `T = 3 tau/4` and the noise scale `sigma = tau/(96 ln(4m/beta))` of Theorem 25, for `m`
    questions.

    Examples
    --------
    >>> threshold, sigma = theorem25_parameters(0.1, 0.05, 1000)
    >>> round(threshold, 10), round(sigma, 14)
    (0.075, 9.226632318e-05)
    """
    tau, beta, m = _door(tau, beta, questions)
    return Parameters(0.75 * tau, tau / (96 * math.log(4 * m / beta)))


def theorem25_size(tau: float, beta: float, questions: int, budget: int, branch: Branch = "pure") -> float:
    """Return the number of rows that Theorem 25 requires, with all constants filled in.

    It is `lemma24_size(B, sigma, tau/8, beta/(2m))`. With this many rows and the parameters of `theorem25_parameters`,
    with probability at least `1 - beta` every question has an answer within `tau` of its population mean, as long as
    fewer than `B` questions had a training error above `tau/2`. The training rows may be anything. The holdout rows
    must be independent and identically distributed. `branch="paper"` is the published approximate branch. It depends on
    the published Lemma 24 and is not certified.

    Examples
    --------
    >>> round(theorem25_size(0.1, 0.05, 1000, 10), 2)
    17341105.02
    """
    tau, beta, m = _door(tau, beta, questions)
    budget = arguments.whole("budget", budget, at_least=1, at_most=m)
    sigma = theorem25_parameters(tau, beta, m).sigma
    return lemma24_size(budget, sigma, tau / 8, beta / (2 * m), branch)


def theorem25_budget(n: int, tau: float, beta: float, questions: int, branch: Branch = "pure") -> int:
    """Return the largest budget of overfits at which Theorem 25 requires at most `n` rows; 0 if there is none.

    The budget is never larger than `questions`.

    Examples
    --------
    >>> [theorem25_budget(10**10, 0.1, 0.05, 10**6, branch) for branch in ("pure", "paper", "exact")]
    [3577, 365, 339]
    """
    tau, beta, m = _door(tau, beta, questions)
    n = checked("n", Rows, n)
    branch = arguments.choice("branch", branch, _BRANCHES)  # type: ignore[assignment]
    log = math.log(4 * m / beta)
    if branch == "pure":
        guess = n * tau**2 / (1536 * log)
    elif branch == "paper":
        guess = (n * tau**2 / (61440 * log)) ** 2 / math.log(16 * m / (tau * beta))
    else:
        guess = (n * tau**2 / (9984 * log)) ** 2 / (32 * math.log(2 / theorem_8_inverse(tau / 8, beta / (2 * m))[1]))
    budget = min(m, math.floor(guess * (1 + 1e-12)))
    while budget > 0 and theorem25_size(tau, beta, m, budget, branch) > n:
        # one step settles rounding; the exact branch also has a size condition that no smaller budget relaxes
        smaller = budget - 1
        if smaller == 0 or (branch == "exact" and theorem25_size(tau, beta, m, 1, branch) > n):
            return 0
        budget = smaller
    return budget


def theorem25_accuracy(
    n: int, beta: float, questions: int, budget: int, branch: Literal["pure", "exact"] = "pure"
) -> float:
    """Return the smallest error `tau` that Theorem 25 gives with `n` rows; `inf` if there is none.

    A result of 1 or more is vacuous.

    Examples
    --------
    >>> round(theorem25_accuracy(10**8, 0.05, 1000, 10), 10)
    0.0416426524
    """
    beta, m = checked("beta", FailureProbability, beta), checked("questions", Questions, questions)
    n, budget = checked("n", Rows, n), arguments.whole("budget", budget, at_least=1, at_most=m)
    if arguments.choice("branch", branch, ("pure", "exact")) == "pure":
        return up(math.sqrt(1536 * budget * math.log(4 * m / beta) / n), 8)
    top = 1 - 2.0**-40
    if theorem25_size(top, beta, m, budget, "exact") > n:
        return math.inf
    return first_at_least(lambda tau: n - theorem25_size(tau, beta, m, budget, "exact"), 0.0, 1e-9, top)


def theorem25_questions(n: int, tau: float, beta: float, budget: int) -> float:
    """Return how many questions the pure branch of Theorem 25 allows: `(beta/4) exp(n tau^2/(1536 B))`.

    If this number is below the budget `B`, the result is 0.

    Examples
    --------
    >>> f"{theorem25_questions(10**8, 0.1, 0.05, 10):.9e}"
    '2.351204180e+26'
    """
    tau, beta, budget = _door(tau, beta, budget)
    n = checked("n", Rows, n)
    exponent = n * tau**2 / (1536 * budget) + math.log(beta / 4)
    allowed = math.exp(exponent) if exponent < 709 else math.inf
    return allowed if allowed >= budget else 0.0


def _door(tau: float, beta: float, questions: int) -> tuple[float, float, int]:
    return (
        checked("tau", Accuracy, tau),
        checked("beta", FailureProbability, beta),
        checked("questions", Questions, questions),
    )


# --- Run failure ------------------------------------------------------------------------------------------------------
# The probability that a Thresholdout run with any noise scales gives a wrong answer: what certifies a run.

_SHARES = 16
_ROUNDS = 3


@theorem(
    "holdout.thresholdout-failure",
    statement="Probability that a Thresholdout run with given noise scales gives an answer off by more than tau.",
    source="Holdfast: the proof of Dwork et al. 2015, Theorem 25, with its constants free and any Laplace scales",
    conditions="holdout rows i.i.d.; answers are means of values in a range of length `unit` (or have sensitivity "
    "unit/n); at most `questions` questions and `budget` overfits",
    unit="probability",
    provenance="derived",
)
def thresholdout_failure(
    n: Rows,
    tau: DeviationSize,
    questions: Questions,
    budget: Budget,
    threshold: Annotated[float, Domain("The threshold `T`.", at_least=0, typical=0.075)],
    threshold_scale: Annotated[LaplaceScale, "The Laplace scale of the threshold noise, in the unit of the answers."],
    comparison_scale: Annotated[LaplaceScale, "The Laplace scale of the comparison noise."],
    release_scale: Annotated[LaplaceScale, "The Laplace scale of the noise on released values."],
    form: Annotated[Form, "'refresh' draws a new threshold after each overfit; 'single' keeps one."] = "refresh",
    unit: Annotated[float, Domain("The length of the answers' range.", above=0)] = 1.0,
    rounding: Annotated[float, Domain("What rounding to a grid may add to each noise.", at_least=0)] = 0.0,
    epsilon: Annotated[Epsilon, "The epsilon of the run; computed from the scales if left out."] | None = None,
) -> float:
    """Bound the probability that any answer of a Thresholdout run is more than `tau` from its population mean.

    Only answers before the budget is exhausted count. The error of an answer is at most the threshold `T`, plus the
    noise, plus the error of the holdout mean. The bound is the sum of three probabilities: that the noise `N` of
    threshold and comparison is too large, that the noise of a released value is too large, and that a holdout mean is
    more than `g` from the population mean. `tau - T = N + g` is divided so that the sum is smallest. Every division
    gives a valid bound. A question whose training value is within `2T - tau` of the population mean costs no budget
    (same event).

    Returns
    -------
    float
        1 where nothing is proved. Time: about 0.1 s.

    Notes
    -----
    If always `|gamma| + |eta| <= N`, `|xi| <= tau - g`, and every holdout mean is within `g` of the truth, then an
    answer below the threshold is within `T + N + g = tau` and a released one within `tau`. With `K` thresholds drawn
    (`B` with refresh, else 1), `M` the largest of their noises and `r = b_T/b_Q < 1`, `P[|gamma| + |eta| > N at some
    question] <= m exp(-N/b_Q) E exp(M/b_Q)` and `E exp(M/b_Q) = prod_{j <= K} 1/(1 - r/j)`, because the largest of
    `K` exponentials is a sum of exponentials of means `1/j`; or `K exp(-N/(2 b_T)) + m exp(-N/(2 b_Q))`, if smaller.
    Released values add `B exp(-(tau - g)/b_V)`. The means fail together with probability at most
    `generalisation.pure-dp` at `p0 = 2m exp(-2 g^2 n/unit^2)` and the run's epsilon.

    Examples
    --------
    >>> round(thresholdout_failure(1_740_000, 0.1, 1000, 10, 0.075, 0.0005067, 0.0010134, 0.0002533), 2)
    0.03
    >>> thresholdout_failure(10_000, 0.1, 1000, 10, 0.075, 0.0005067, 0.0010134, 0.0002533)
    1.0
    """
    m = questions
    b = budget
    scales = [
        arguments.real(name, value, at_least=1e-100, at_most=1e100)
        for name, value in (
            ("threshold_scale", threshold_scale),
            ("comparison_scale", comparison_scale),
            ("release_scale", release_scale),
        )
    ]
    lost = rounding
    if epsilon is None:
        epsilon = sparse_vector_epsilon(unit / n, scales[0], scales[1], b, scales[2], form)
    room, spent = tau - threshold, epsilon
    if room <= lost:
        return 1.0

    def failure(share: float, best: float) -> float:
        """Return the logarithm of the bound; anything from `best` on where it is sure not to be below `best`."""
        noise, rest = share * room - lost, (1 - share) * room
        if noise <= 0 or rest <= 0:
            return 0.0
        first = _comparisons(noise, scales[0], scales[1], m, b if form == "refresh" else 1)
        second = math.log(b) - max(0.0, tau - rest - lost) / scales[2]
        if max(first, second) >= best:
            return best
        # a product, which overflows to inf where a power raises; less than -1e300 is as good as -1e300
        exponent = max(math.log(2 * m) - 2 * (rest / unit) * (rest / unit) * n, -1e300)
        third = pure_dp_event(spent, n, exponent).log_value if exponent < 0 else 0.0
        top = max(first, second, third)
        return min(0.0, top + math.log(sum(math.exp(part - top) for part in (first, second, third))))

    low, high, best = 0.0, 1.0, 0.0
    for _ in range(_ROUNDS):
        points = [low + (high - low) * i / _SHARES for i in range(1, _SHARES)]
        least, at = math.inf, 0  # of this round
        for i, share in enumerate(points):
            value = failure(share, least)
            if value < least:
                least, at = value, i
        best = min(best, least)
        step = (high - low) / _SHARES
        low, high = max(0.0, points[at] - step), min(1.0, points[at] + step)
    return min(1.0, up(math.exp(min(0.0, best)), 32))


def _comparisons(noise: float, threshold: float, comparison: float, m: int, k: int) -> float:
    """Logarithm of the probability that threshold and comparison noise leave the allowance at some question."""
    apart = [math.log(k) - noise / (2 * threshold), math.log(m) - noise / (2 * comparison)]
    best = max(apart) + math.log1p(math.exp(-abs(apart[0] - apart[1])))
    ratio = threshold / comparison
    if ratio < 1:
        best = min(best, math.log(m) + _log_moment(k, ratio) - noise / comparison)
    return best


def _log_moment(k: int, ratio: float) -> float:
    """`ln prod_{j <= k} 1/(1 - ratio/j)`, from above."""
    if k <= 10_000:
        return up(-math.fsum(math.log1p(-ratio / j) for j in range(1, k + 1)), 16)
    head = _log_moment(10_000, ratio)
    # -ln(1 - x) <= x + x^2 for x <= 1/2, and the sums beyond j = 10^4 are at most the integrals from 10^4
    return head + ratio * math.log(k / 10_000) + ratio * ratio / 10_000


# --- Design -----------------------------------------------------------------------------------------------------------
# Thresholdout with the constants of its proof chosen freely, and what plain splitting would need instead.

Method = Literal["best", "theorem-25", "paper"]
_LIMIT = 10**18


@dataclass(frozen=True)
class ThresholdoutPlan:
    """The parameters of a Thresholdout run and what they guarantee.

    With probability at least `1 - beta`, every answer before the `budget`-th overfit is within `tau` of the population
    value. A question whose training error is at most `theta` costs nothing. `value` is the number that was asked for:
    rows or overfits. `sigma` is the Laplace scale of the noise. `sigma` and `threshold` are None if the budget is 0.
    `branch` names the analysis that gave the best result: "tight", "pure", "exact" or "paper".

    Examples
    --------
    >>> plan = thresholdout_size(0.1, 0.05, 1000, 10)
    >>> print(plan)
    1000 questions, 10 overfits: 1733865 rows for accuracy 0.1 at 95% (tight; threshold 0.075, sigma 0.0002534)
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
        parameters = (
            "no parameters" if self.sigma is None else f"threshold {self.threshold:.4g}, sigma {self.sigma:.4g}"
        )
        text = (
            f"{self.questions} questions, {self.budget} overfits: {self.n} rows for accuracy {self.tau:g} "
            f"at {100 * (1 - self.beta):.6g}% ({self.branch}; {parameters})"
        )
        return text if self.certified else text + "; not certified"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def noise_allowance(budget: int) -> float:
    """Return the factor that the noise of `B` thresholds adds to the failure probability of a comparison: `4^B / C(2B,
    B)`.

    The formulas of Thresholdout call it `kappa_B`. `B` is the budget of overfits, with a new noisy threshold after
    each.

    Notes
    -----
    Derived, reviewed. A comparison has noise `Lap(4 sigma)` against a threshold with noise `Lap(2 sigma)`; the
    threshold draw in force at a given question is not a fresh one, so condition on all `B` of them. For `M` their
    largest absolute value, `E exp(M/(4 sigma)) = prod_j 2j/(2j-1) = kappa_B`.

    Examples
    --------
    >>> round(noise_allowance(1), 9), round(noise_allowance(10), 9)
    (2.0, 5.675463855)
    """
    b = checked("budget", Budget, budget)
    if b <= 10**4:
        return up(math.exp(math.fsum(math.log1p(1 / (2 * j - 1)) for j in range(1, b + 1))), 16)
    # Stirling: ln kappa = ln(pi b)/2 + 1/(8b) - 1/(192 b^3) + ..., alternating, so two terms are an upper bound
    return up(math.sqrt(math.pi * b) * math.exp(1 / (8 * b)), 16)


def tight_sigma(
    tau: float, beta: float, questions: int, budget: int, theta: float | None = None, share: float = 0.5
) -> float:
    """Return the largest Laplace scale at which all noise of a Thresholdout run stays within its allowance.

    The noise exceeds the allowance with probability at most `beta`. `theta` is the training error that must cost
    nothing (`tau/2` unless given). The threshold is `T = (tau + theta)/2`. Of the rest, `(tau - theta)/2`, the
    proportion `share` is allowed for the noise of threshold and comparison, and what remains is for generalisation.

    Notes
    -----
    Derived, reviewed. With `N = share` of the room `(tau - theta)/2` and the rest `tau_g`, the noise fails with
    probability at most `m kappa_B exp(-N/(4 sigma)) + B exp(-(tau - tau_g)/sigma)`, exact for the algorithm's noise.

    Examples
    --------
    >>> round(tight_sigma(0.1, 0.025, 1000, 10, theta=0.05), 13)
    0.0002533896022
    """
    m, b, noise, rest = room(tau, questions, budget, theta, share)
    log_beta, log_kappa = math.log(arguments.real("beta", beta, at_least=1e-101, below=1)), math.log(noise_allowance(b))
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
    """Return a plan for Thresholdout that is evaluated exactly, with half of `beta` for noise and half for
    generalisation.

    The noise scale is that of `tight_sigma` at `beta/2`. The plan needs about ten times fewer rows than the published
    constants.

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

    Notes
    -----
    Generalisation of the whole run: a run is `2B/(sigma n)`-private, and for a fixed transcript some question is off
    by more than `tau_g` with probability at most `2m exp(-2 tau_g^2 n)`; the best bound for pure privacy
    (`generalisation.pure-dp`) turns this into at most `beta/2`. About five times fewer rows than the printed
    constants with the printed pure bounds (`method="paper"`), ten times with the sharper one.

    Examples
    --------
    >>> plan_tight(0.1, 0.05, 1000, 10, method="paper").n
    3285785
    """
    m, b, _, rest = room(tau, questions, budget, theta, share)
    beta = checked("beta", FailureProbability, beta)
    sigma = tight_sigma(tau, beta / 2, m, b, theta, share)

    def spare(n: int) -> float:
        left = math.log(beta / 2) - log_failure(n, sigma, m, b, rest, method)
        return left if left < 0 else max(left, 1e-300)  # rows that just suffice count as enough

    start = min(_LIMIT, math.ceil(200 * b * math.log(4 * m / beta) / tau**2))
    n = 1 + turning_point(spare, start, _LIMIT)
    if n > _LIMIT:
        raise InvalidParameter(f"tau is {tau}, which 10**18 rows do not reach; give a larger tau")
    low = tau / 2 if theta is None else theta
    return ThresholdoutPlan(n, n, tau, low, beta, m, b, (tau + low) / 2, sigma, "tight")


def log_failure(n: int, sigma: float, m: int, b: int, rest: float, method: Literal["best", "paper"]) -> float:
    """Log of the bound on `P[some question is off by more than rest]` after a run that is `2B/(sigma n)`-private."""
    return pure_dp_event(2 * b / (sigma * n), n, math.log(2 * m) - 2 * rest * rest * n, method).log_value


def room(tau: float, questions: int, budget: int, theta: float | None, share: float) -> tuple[int, int, float, float]:
    """Questions, budget, and the room `(tau - theta)/2` split into what noise and what generalisation may use."""
    tau = checked("tau", Accuracy, tau)
    m = checked("questions", Questions, questions)
    b = arguments.whole("budget", budget, at_least=1, at_most=m)
    low = tau / 2 if theta is None else arguments.real("theta", theta, at_least=0, below=tau)
    share = arguments.real("share", share, above=0, below=1)
    half = (tau - low) / 2
    noise, rest = share * half, half - share * half
    if not (noise > 0 and rest > 0):
        raise InvalidParameter(
            f"share is {share}, which leaves nothing for noise or for generalisation; give a smaller share"
        )
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
    tau: Accuracy, beta: FailureProbability, questions: Questions, budget: Budget, method: Method = "best"
) -> ThresholdoutPlan:
    """Return the smallest holdout with which Thresholdout is proved accurate, and the parameters of the run.

    The method selects the analysis:

    - *best*: the smaller of `plan_tight` and Theorem 25 with exact constants.
    - *theorem-25*: the smaller of its pure branch and its exact approximate branch.
    - *paper*: the smaller of its pure branch and its published approximate branch. The published branch is the smaller
      one for budgets of tens of thousands, and then the result is not certified.

    Returns
    -------
    ThresholdoutPlan
        Its value is the number of rows. Time: tens of ms; the other methods microseconds.

    Examples
    --------
    >>> thresholdout_size(0.1, 0.05, 1000, 10, method="paper").value
    17341106
    >>> thresholdout_size(0.1, 0.05, 1000, 10).value
    1733865
    """
    other: Literal["exact", "paper"] = "paper" if method == "paper" else "exact"
    sizes = {"pure": theorem25_size(tau, beta, questions, budget), other: 0.0}
    sizes[other] = theorem25_size(tau, beta, questions, budget, other)
    branch = min(sizes, key=sizes.__getitem__)
    n = math.ceil(sizes[branch])
    if method == "best":
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
def thresholdout_budget(
    n: Rows, tau: Accuracy, beta: FailureProbability, questions: Questions, method: Method = "best"
) -> ThresholdoutPlan:
    """Return the largest budget of overfits with which Thresholdout is proved accurate on `n` rows; 0 if there is none.

    The methods are those of `thresholdout_size`. The budget is never larger than `questions`.

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
    other: Literal["exact", "paper"] = "paper" if method == "paper" else "exact"
    budgets = {"pure": theorem25_budget(n, tau, beta, questions), other: 0}
    budgets[other] = theorem25_budget(n, tau, beta, questions, other)
    branch = max(budgets, key=budgets.__getitem__)
    budget = budgets[branch]
    if method == "best":
        tight = _tight_budget(n, tau, beta, int(questions), budget)
        if tight > budget or (tight == budget and tight > 0):
            sigma = tight_sigma(tau, beta / 2, int(questions), tight)
            return ThresholdoutPlan(tight, n, tau, tau / 2, beta, int(questions), tight, 0.75 * tau, sigma, "tight")
    threshold, sigma = theorem25_parameters(tau, beta, questions)
    m, certified = int(questions), branch != "paper"
    if budget == 0:
        return ThresholdoutPlan(0, n, tau, tau / 2, beta, m, 0, None, None, branch, certified)
    return ThresholdoutPlan(budget, n, tau, tau / 2, beta, m, budget, threshold, sigma, branch, certified)


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
def split_size(
    tau: Accuracy,
    beta: FailureProbability,
    questions: Questions,
    budget: Annotated[Budget, "The number of overfits, one part of the rows for each."],
    theta: Annotated[
        float, Domain("The training error that must cost nothing, below tau; `tau/2` if left out.", at_least=0, below=1)
    ]
    | None = None,
) -> float:
    """Return the number of rows for the baseline of Thresholdout that uses a fresh part of the rows after each overfit.

    It is `B ln(2mB/beta)/(2 h^2)` with `h = (tau - theta)/2`, for `m` questions and a budget of `B` overfits. Each of
    the `B` parts compares exactly with the threshold `(tau + theta)/2` until its first overfit. For `theta = tau/2` the
    number is `8 B ln(2mB/beta)/tau^2`, far below Theorem 25 at every realistic budget.

    Returns
    -------
    float
        Rows in all, not rounded to a whole number.

    Notes
    -----
    Until the first overfit of a part every answer was a training value, so no question depends on that part.

    Examples
    --------
    >>> round(split_size(0.1, 0.05, 1000, 10), 4)
    103193.7586
    """
    m, b, noise, rest = room(tau, questions, budget, theta, 0.5)
    return up(b * math.log(2 * m * b / beta) / (2 * (noise + rest) ** 2), 16)


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
    """Return how far a mean of one part may be from its population mean when each overfit uses up one of `B` parts.

    It is `sqrt(ln(2mB/beta)/(2 floor(n/B)))` for `m` questions. The result is `inf` for `B > n`. `split_size` returns
    the number of rows at which this width is `(tau - theta)/2`.

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


# --- Accuracy ---------------------------------------------------------------------------------------------------------
# What a given number of rows certifies: the inverses of the sizes.

_TOP = 1 - 2.0**-40
_LOW = 1e-9  # with 10**18 rows, one question and one overfit the least accuracy is still twenty times this


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
    """Return the smallest error that Thresholdout is proved to keep on `n` rows.

    It is the smallest `tau` with `thresholdout_size(tau, beta, questions, budget, method) <= n`.

    Returns
    -------
    float
        A value of 0.5 or more is vacuous; `inf` where no accuracy below 1 is proved and no closed form exists. Time:
        tens of ms; the other methods below one ms.

    Examples
    --------
    >>> round(thresholdout_accuracy(1_733_930, 0.05, 1000, 10), 5)
    0.1
    >>> round(thresholdout_accuracy(10_000, 0.05, 1000, 10, method="paper"), 3)
    4.164
    """
    m = questions
    b = arguments.whole("budget", budget, at_least=1, at_most=m)
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
    """Return how much lower than `beta/2` the generalisation failure of `plan_tight` is on `n` rows, as a log ratio.

    At least 0 exactly where `n` rows suffice. One evaluation of the privacy bound, so that searches stay quick.

    Examples
    --------
    >>> tight_spare(1_733_865, 0.1, 0.05, 1000, 10) >= 0 > tight_spare(1_733_864, 0.1, 0.05, 1000, 10)
    True
    """
    m, b, _, rest = room(tau, questions, budget, None, 0.5)
    return math.log(beta / 2) - log_failure(n, tight_sigma(tau, beta / 2, m, b), m, b, rest, "best")


# --- Information width ------------------------------------------------------------------------------------------------
# A width for Thresholdout's answers from the mutual information of a run; weak for small beta, instance-free.


@theorem(
    "holdout.thresholdout-information-width",
    statement="Half-width of all Thresholdout answers from the mutual information of the run, by Chebyshev.",
    source="Rogers et al. 2020, formula re-derived with the release noise added",
    conditions="holdout rows i.i.d.; Laplace noise 2 sigma, 4 sigma, sigma; at most `budget` overfits",
    unit="half-width",
    provenance="mixed",
)
def thresholdout_information_width(
    n: Rows,
    questions: Questions,
    budget: Budget,
    threshold: Annotated[float, Domain("The threshold `T`.", at_least=0, at_most=1, typical=0.02)],
    sigma: LaplaceScale,
    beta: FailureProbability,
) -> float:
    """Return a half-width for all Thresholdout answers, from the mutual information of the run and Chebyshev's
    inequality.

    It is `sqrt(MSE/beta)` with `MSE = (sqrt(F(I)/(4n)) + sqrt(E))^2`, a bound on the mean squared error of the worst
    answer. `I = B/(sigma^2 n)` nats is what the run reveals. `F(I)/(4n)` bounds the squared error of the worst holdout
    mean (`interval.russo-zou`), and `E` is the mean squared noise. The width is at least `T/sqrt(beta)`, hence large
    for a small `beta`.

    Notes
    -----
    An answer is within `T + W + Y` of the holdout mean, or within `X` when released: `W`, `Y`, `X` the largest of
    `questions` draws of `|Lap(4 sigma)|`, of `budget` draws of `|Lap(2 sigma)|` and of `budget` draws of
    `|Lap(sigma)|`. So `E = E(T + W + Y)^2 + E X^2`, in closed form: the largest of `q` exponentials has mean `H_q`
    and variance `H_q^(2)`, the harmonic sums. The published formula omits `X`.

    Examples
    --------
    >>> round(thresholdout_information_width(100_000, 100, 5, 0.02, 0.002, 0.05), 4)
    0.3591
    """
    q = questions
    b = arguments.whole("budget", budget, at_least=1, at_most=q)
    shift = second_moment_factor(b / (sigma * sigma * n)) / (4 * n)
    mean_w, var_w = _largest_exponential(q)
    mean_y, var_y = _largest_exponential(b)
    centre = threshold + sigma * (4 * mean_w + 2 * mean_y)
    noise = centre**2 + sigma**2 * (16 * var_w + 4 * var_y) + sigma**2 * (mean_y**2 + var_y)
    return up((math.sqrt(shift) + math.sqrt(noise)) / math.sqrt(beta), 16)


def _largest_exponential(q: int) -> tuple[float, float]:
    """Mean and variance of the largest of `q` independent unit exponentials."""
    from scipy.special import digamma, polygamma

    return float(digamma(q + 1.0)) - float(digamma(1.0)), math.pi**2 / 6 - float(polygamma(1, q + 1.0))


# --- Planned noisy means ----------------------------------------------------------------------------------------------
# Thresholdout by post-processing: guesses are compared with planned noisy means, and nothing else is drawn.


@theorem(
    "holdout.planned-threshold-accuracy",
    statement="Accuracy of Thresholdout on planned noisy means: their half-width plus the threshold.",
    source="Holdfast: Theorem D or B and post-processing (docs/papers/adaptive-widths.md)",
    conditions="those of interval.best with Gaussian noise; guesses from other rows and from what was shown; a guess "
    "is compared with the noisy mean that is shown when it fails; threshold fixed in advance",
    unit="half-width",
    provenance="derived",
)
def planned_threshold_accuracy(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    threshold: Annotated[
        float, Domain("How far a guess that passes may be from the noisy mean.", at_least=0, below=1, typical=0.04)
    ],
    rows: RowLaw = "identical",
) -> float:
    """Return how far any shown value may be from the population value when guesses are compared with planned noisy
    means.

    For each question `j` the guess `g_j` is shown if the noisy mean `a_j` is within `threshold` of it. Otherwise `a_j`
    is shown. The accuracy is the half-width of the noisy means plus the threshold. There is no budget of overfits.
    `ThresholdAnswers` is the algorithm.

    Notes
    -----
    What is shown is a function of `a_j` and `g_j`. So the analyst is one of those that the theorem about `a_1 ..
    a_k` covers, and with probability `1 - beta` all of them are within its half-width.

    Examples
    --------
    >>> round(planned_threshold_accuracy(10_000, 1000, 0.05, 0.04), 3)
    0.142
    """
    return up(best_noise(n, questions, beta, rows).half_width + threshold)


# The experiment's Thresholdout by comparison: two noises of one size, drawn anew for every question.


def gaussian_threshold_width(
    n: int, questions: int, budget: int, beta: float, threshold: float, noise: float, rows: str = "identical"
) -> float:
    """The half-width of the noisy means that the experiment's Thresholdout is compared with; `inf` where none is left.

    Examples
    --------
    >>> round(gaussian_threshold_width(10_000, 1000, 10, 0.05, 0.04, 0.01), 3)
    0.131
    """
    apart = up(questions * float(ndtr(-threshold / noise)), 64)
    left = down(beta - apart, 4)
    means = questions + min(budget, questions)
    s2 = n * noise * noise
    if left < LEAST_BETA or not LEAST_SCALE <= s2 <= 1 / LEAST_SCALE:
        return math.inf
    return sign_plan(n, means, left, rows, "best", (s2, 1.0, 0.0)).half_width


@theorem(
    "holdout.gaussian-threshold-accuracy",
    statement="Accuracy of the Thresholdout of the experiments of Dwork et al. 2015: Gaussian noise of one size.",
    source="Holdfast: Theorem D and a coupling (docs/papers/adaptive-widths.md)",
    conditions="those of interval.sign-comparison; guesses from other rows and from what was shown; both noises are "
    "Gaussian and drawn anew for each question; the run ends with overfit number `budget`",
    unit="half-width",
    provenance="derived",
)
def gaussian_threshold_accuracy(
    n: Rows,
    questions: Questions,
    budget: Budget,
    beta: FailureProbability,
    threshold: Annotated[
        float, Domain("The threshold on the distance of a guess from the mean.", at_least=0, below=1, typical=0.04)
    ],
    noise: Annotated[
        float,
        Domain("The standard deviation of both noises.", at_least=1e-9, at_most=1, typical=0.01),
    ],
    rows: RowLaw = "identical",
) -> float:
    """Return how far any shown value may be from the population value in the Thresholdout behind the paper's figures.

    That algorithm adds Gaussian noise of standard deviation `s` twice. If `|phi(X) - g| > T + N(0, s^2)`, it shows
    `phi(X) + N(0, s^2)`, where `phi(X)` is the holdout mean and `T` the threshold. Otherwise it shows the guess `g`.
    The result is `inf` if `k Phi(-T/s)` for `k` questions is `beta` or more.

    Notes
    -----
    A guess at distance `x` fails with probability `Phi((x - T)/s)`, and `|phi(X) - g + s Z| > T` has probability
    `Phi((x - T)/s) + Phi((-x - T)/s)`: both can be drawn together so that they differ with probability at most
    `Phi(-T/s)`. So but for a probability of `k Phi(-T/s)` the run is one of an analyst of `k + B` noisy means with
    noise `s`, to which Theorem D applies.

    Examples
    --------
    >>> round(gaussian_threshold_accuracy(10_000, 1000, 10, 0.05, 0.04, 0.01), 3)
    0.171
    """
    return up(gaussian_threshold_width(n, questions, budget, beta, threshold, noise, rows) + threshold)
