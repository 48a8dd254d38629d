"""Questions of small variance: they move a row's posterior less, and are moved less by it.

Theorem C of docs/posterior-shift.md. The potential is `Y = 2 - 2 E_D sqrt(L)`, the squared Hellinger distance of a
row's posterior from its distribution. A question of deviation `d` under the population has deviation at most `d +
sqrt(Y)` under the posterior, and its posterior mean is at most `2 d sqrt(Y) + Y` from its mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any

from scipy.special import ndtr, ndtri

from holdfast.bounds.interval.width import GaussianNoise, Width, gaussian_only
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.numerics.maxima import normal_shortfall
from holdfast.bounds.numerics.search import minimise
from holdfast.bounds.parameters import DeviationSize, Domain, FailureProbability, Questions, Rows, checked
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.core.guarantee import Guarantee

#: Covers what cancellation can cost `hellinger_shortfall` where its argument is at least `_LEAST_SPREAD`.
_SAFETY = 1 + 1e-6
_LEAST_SPREAD = 1e-4


def hellinger_shortfall(horizon: float, deviation: float, slack: float, beta: float) -> float:
    """Return a bound on `ES_beta(Y)` after questions that charged `horizon` in all.

    The charge of a question is `max(d, s)^2/(4 n^2 sigma^2)`, `d` its own deviation and `s = deviation` that of the
    plan. With `alpha = 1 + e/s` and `gamma = (1/(s e) + 1/s^2)/alpha`, `e = slack > 0` any number fixed in advance,
    `Y` is below `sinh(sqrt(gamma alpha V) |Z|)^2/gamma` in the increasing convex order, and the shortfall of that is
    explicit. As `V` falls it tends to `V kappa^2`.

    Examples
    --------
    >>> from holdfast.bounds.numerics.maxima import square_shortfall
    >>> found = hellinger_shortfall(1e-6, 0.3, 0.001, 0.05)
    >>> round(found / (1e-6 * square_shortfall(0.05) ** 2), 3)
    1.01
    """
    alpha = 1 + slack / deviation
    gamma = (1 / (deviation * slack) + 1 / deviation**2) / alpha
    spread = math.sqrt(gamma * alpha * horizon)
    if spread < _LEAST_SPREAD:  # the closed form would cancel; a larger gamma is a valid, slightly larger bound
        gamma *= (_LEAST_SPREAD / spread) ** 2
        spread = _LEAST_SPREAD
    if spread > 12:
        return math.inf
    z = -float(ndtri(beta / 2))
    tails = float(ndtr(2 * spread - z)) + float(ndtr(-2 * spread - z))
    return max(0.5 * math.exp(2 * spread * spread) * tails / beta - 0.5, 0.0) / gamma * _SAFETY


@dataclass(frozen=True)
class SmallVariance:
    """A plan whose half-width depends on the deviation of the question: `noise + 2 d K + K^2`.

    `noise` is the share of the noise, `shift` is `K`. One event covers all questions at their own deviations.

    Examples
    --------
    >>> plan = small_variance_plan(100_000, 1000, 0.05, 0.3)
    >>> [round(plan.half_width(d), 4) for d in (0.1, 0.3, 0.5)]
    [0.0264, 0.0378, 0.0492]
    """

    n: int
    questions: int
    beta: float
    deviation: float
    sigma: float
    noise: float
    shift: float
    horizon: float

    def half_width(self, deviation: float) -> float:
        """Return the half-width for a question of this deviation under the population."""
        return up(self.noise + 2 * deviation * self.shift + self.shift**2, 16)

    def charge(self, deviation: float) -> float:
        """What a question of this deviation takes off the horizon; never less than one of the plan's deviation."""
        return up((max(deviation, self.deviation) / (2 * self.n * self.sigma)) ** 2, 8)

    def interval(self, answer: float, slack: float = 0.0) -> tuple[float, float]:
        """Return all `p` within their own half-width of an answer in [0, 1]; `slack` is added for rounding.

        A [0,1] function of mean `p` has variance at most `p (1 - p)`, so the interval is that of
        `|answer - p| <= c + 2 K sqrt(p (1 - p))`, `c = noise + K^2`: the roots of a quadratic.

        Examples
        --------
        >>> plan = small_variance_plan(100_000, 1000, 0.05, 0.3)
        >>> [round(end, 4) for end in plan.interval(0.05)]
        [0.0211, 0.0867]
        """
        return 1 - self._upper(1 - answer, slack), self._upper(answer, slack)

    @property
    def least_scale(self) -> float:
        """The noise, the same for every question."""
        return self.sigma

    @property
    def typical_width(self) -> float:
        """The half-width of a question of the plan's deviation."""
        return self.half_width(self.deviation)

    def scale(self, question: int) -> float:
        """The noise of a question."""
        return self.sigma

    def length(self, level: float) -> float:
        """The length of the interval of an answer at `level`."""
        low, high = self.interval(level)
        return high - low

    def fitting(self, spent: Fraction) -> int:
        """How many questions near an end fit, the last of which may turn out to be of the largest deviation."""
        rest = Fraction(self.horizon) - spent - Fraction(self.charge(0.5))
        return math.floor(max(rest / Fraction(self.charge(0.0)) + 1, Fraction(0)))

    def read(self, answer: float, question: int, spent: float, slack: float) -> tuple[float, float, float]:
        """The ends of `interval`, and what the widest question that the answer leaves possible charges."""
        low, high = self.interval(answer, slack)
        largest = 0.5 if low <= 0.5 <= high else max(math.sqrt(end * (1 - end)) for end in (low, high))
        return low, high, self.charge(min(up(largest), 0.5))

    def _upper(self, answer: float, slack: float) -> float:
        k2 = self.shift**2
        a = answer + up(self.noise + k2 + slack, 16)
        if a >= 1:
            return 1.0
        root = (a + 2 * k2 + 2 * self.shift * math.sqrt(a * (1 - a) + k2)) / (1 + 4 * k2)
        return min(up(root, 64), 1.0)

    @property
    def guarantee(self) -> Guarantee:
        """The theorem and its parameters."""
        parameters = {"n": self.n, "questions": self.questions, "beta": self.beta, "deviation": self.deviation}
        return Guarantee("interval.small-variance", parameters, ASSUMPTION)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "n": self.n,
            "questions": self.questions,
            "beta": self.beta,
            "deviation": self.deviation,
            "sigma": self.sigma,
            "noise": self.noise,
            "shift": self.shift,
            "horizon": self.horizon,
        }


ASSUMPTION = (
    "rows i.i.d.; caps fixed before the first answer; fresh noise; nothing else computed from these rows reaches the "
    "analyst"
)


def small_variance_plan(n: int, questions: int, beta: float, deviation: float) -> SmallVariance:
    """Return the plan of `small_variance` with everything that a method needs to run it.

    The plan's variance budget has room for `questions` questions of small variance. It also has room for one more
    question in the worst case, because a question is admitted before its variance is known.

    Examples
    --------
    >>> plan = small_variance_plan(100_000, 1_000, 0.05, deviation=0.1)
    >>> round(plan.sigma, 6), round(plan.half_width(0.1), 4)
    (0.001701, 0.0139)
    """
    n = checked("n", Rows, n)
    questions = checked("questions", Questions, questions)
    beta = checked("beta", FailureProbability, beta)
    return _plan(n, questions, beta, arguments.real("deviation", deviation, at_least=1e-4, at_most=0.5))


@lru_cache(maxsize=128)
def _plan(n: int, questions: int, beta: float, s: float) -> SmallVariance:
    units = questions - 1 + 0.25 / (s * s)

    def parts(sigma: float, slack: float, part: float) -> tuple[float, float, float]:
        horizon = units * (s / (2 * n * sigma)) ** 2
        shift = math.sqrt(hellinger_shortfall(horizon, s, slack, (1 - part) * beta))
        return sigma * normal_shortfall(questions, part * beta), shift, horizon

    def width(x: Any) -> float:
        noise, shift, _ = parts(math.exp(x[0]), math.exp(x[1]), 1 / (1 + math.exp(-x[2])))
        return noise + 2 * s * shift + shift * shift

    sigma = 2 * s * math.sqrt(math.sqrt(units) / (8 * n))
    start = [math.log(sigma), math.log(math.sqrt(units) * s / (n * sigma)), 0.0]
    _, point = minimise(width, [start])
    sigma = math.exp(point[0])
    noise, shift, horizon = parts(sigma, math.exp(point[1]), 1 / (1 + math.exp(-point[2])))
    return SmallVariance(n, questions, beta, s, sigma, up(noise, 16), up(shift, 16), up(horizon, 16))


@theorem(
    "interval.small-variance",
    statement="Half-width of k adaptive means whose values have a small standard deviation; Gaussian noise.",
    source="Holdfast: Theorem C of the posterior-shift bound (docs/posterior-shift.md)",
    conditions="rows i.i.d.; every question of deviation at most the stated one (the method reads it off the "
    "answers); k, sigma, beta fixed in advance; Gaussian noise; nothing else computed from the rows is released",
    unit="half-width",
    provenance="derived",
)
def small_variance(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    deviation: Annotated[
        DeviationSize,
        Domain("Largest standard deviation of a question's values under the population.", at_least=0.0001, at_most=0.5),
    ],
    noise: GaussianNoise = "gaussian",
) -> Width:
    """Half-width of `k` adaptive means of functions whose standard deviation in the population is at most `s`.

    A 0/1 question of mean `p` has `s = sqrt(p (1 - p))`, for example 0.22 for an error rate of 5%. The width is about
    `2 s` times that of `interval.posterior-shift`, plus terms of higher order. `SmallVarianceAnswers` needs no declared
    variance: it reads a bound on the variance off each answer and charges the most that the question can have cost.

    Returns
    -------
    Width
        Time: about 20 ms.

    Notes
    -----
    **Theorem C** (ours; proof in docs/posterior-shift.md). Rows i.i.d., questions of deviation at most `s`, constant
    noise `sigma`, `V = k s^2/(4 n^2 sigma^2)`, `b1 + b2 = beta`. With probability at least `1 - beta`, every answer is
    within `sigma ES_b1(W) + 2 s K + K^2`, `K^2` a bound on `ES_b2(Y)` (`hellinger_shortfall`).

    Examples
    --------
    >>> round(small_variance(100_000, 1000, 0.05, 0.218).value, 4)
    0.028
    """
    gaussian_only("interval.small-variance", noise)
    plan = small_variance_plan(n, questions, beta, deviation)
    return Width(
        plan.half_width(plan.deviation),
        plan.sigma,
        "gaussian",
        "interval.small-variance",
        "best",
        plan.n,
        plan.questions,
        plan.beta,
        assumption=ASSUMPTION + f"; deviation of a question at most {plan.deviation:g}",
        tuning={"noise": plan.noise, "shift": plan.shift, "horizon": plan.horizon},
    )
