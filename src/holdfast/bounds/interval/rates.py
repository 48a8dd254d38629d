"""Theorem D': means whose rates are near 0 or 1 move the signs less, and nobody need promise that they are.

The proof is in docs/papers/adaptive-widths.md ("Rates near 0 or 1"). A question of rate `p` has a half-width `w_j(p)`;
what an answer can have added to the clock is the largest step of any rate that the answer leaves possible. Scales,
thetas and the parts of the failure probability are fixed by the plan, for the rate that it expects; the widths follow
the clock, which follows the answers.

The widths are step functions of the rate, so that the rates an answer leaves possible are an interval that can be
computed without a search. Units as in `signs`: lengths in `1/sqrt(n)`.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import Annotated, Any

import numpy as np

from holdfast.bounds.interval.posterior_shift import Schedule
from holdfast.bounds.interval.signs import (
    CLOCK_SHARE,
    EXCESSES,
    SIGN_ASSUMPTION,
    Array,
    Shape,
    certified,
    log_kappa_at,
    power_search,
    run_lengths,
    sign_excess_rate,
)
from holdfast.bounds.interval.width import GaussianNoise, Width, gaussian_only
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.parameters import Domain, FailureProbability, Questions, Rows
from holdfast.bounds.registry import theorem
from holdfast.core.guarantee import Guarantee

#: Far levels above the width, in typical deviations `sqrt(g)`; the last level is 1.
_STEPS = np.array([2.0, 3.5, 6.0, 10.0, 18.0, 36.0, 80.0, 200.0, 600.0])
_FAR = 0.02
#: The plan's clock runs by this much more than its own estimate of what an answer at the planned rate adds.
_PAD = 1.01
_CELLS = 240
_SAFETY = 1 + 1e-9
#: Rates up to 1/2, closer together near 0; a rate above 1/2 has the width of its distance from 1.
_EDGES = 0.5 * np.linspace(0.0, 1.0, _CELLS + 1) ** 2


def spread_factor(low: Any, high: Any, level: Any, n: int, slack: float) -> Any:
    """The largest `g(p, u)` of rates from `low` to `high <= 1/2`, for deviations of at most `level = u`.

    `g = min(2, 8 (m + sqrt(m slack/(2n)) + slack/(12n)))`, `m = min(1/4, (4p(1-p) + 2u|1-2p|)/8)`, which rises in `p`
    up to `(1 - u)/2`; `slack = ln(1/b'')`.

    Examples
    --------
    >>> slack = math.log(2_000_000)
    >>> [round(float(spread_factor(p, p, u, n, slack)), 6) for p, u, n in [(0.05, 0.022, 10**5), (0.1, 0.03, 10**4)]]
    [0.24124, 0.457627]
    """
    p = np.clip((1 - level) / 2, low, high)
    m = np.minimum(0.25, (4 * p * (1 - p) + 2 * level * (1 - 2 * p)) / 8)
    return np.minimum(2.0, 8 * (m + np.sqrt(m * slack / (2 * n)) + slack / (12 * n)))


@dataclass(frozen=True)
class _RateShape(Shape):
    """The plan's own case: every answer is the rate that it expects."""

    rate: float = 0.5

    @property
    def slack(self) -> float:
        """`ln(1/b'')` of every question."""
        return math.log(self.questions) - math.log(CLOCK_SHARE * self.beta)

    def g(self, rate: float, level: float) -> float:
        """`g` at a rate, for a deviation of at most `level` in units."""
        return float(spread_factor(rate, rate, min(level / self.root, 1.0), self.n, self.slack))

    def levels(self, a: float) -> list[float]:
        spread = math.sqrt(self.g(self.rate, a))
        return [u for u in (a + step * spread for step in _STEPS.tolist()) if u < self.root] + [self.root]

    def factor(self, level: float) -> float:
        return self.g(self.rate, level)

    def reserved(self, far: float, least_g: float) -> tuple[float, float]:
        """Other rates need other levels, and their clocks may fail where the planned one cannot."""
        return max(far, _FAR * self.second * self.beta), CLOCK_SHARE * self.beta

    def typical(self, a: float) -> float:
        return self.g(self.rate, a * math.sqrt(self.g(self.rate, a)))

    def clock_factor(self, a: float) -> float:
        """The step of the largest rate that an answer at the planned rate leaves possible."""
        here, high = self.g(self.rate, a), self.rate
        for _ in range(60):
            high = self.rate + a / self.root * math.sqrt(self.g(min(high, 0.5), a) / here)
        wide = a * math.sqrt(self.g(min(high, 0.5), a) / here)
        level = wide + _STEPS[0] * math.sqrt(self.g(min(high, 0.5), wide))
        level = min(float(level) / self.root, 1.0)
        return float(spread_factor(self.rate, min(high, 0.5), level, self.n, self.slack)) * _PAD


@dataclass(frozen=True)
class RatePlan:
    """Scales, thetas and parts of the failure probability, for answers that are mostly near `rate` or `1 - rate`.

    `read` says which rates an answer leaves possible, and what it adds to the clock. `width` is the half-width of a
    question of the planned rate while the clock is the planned one.

    Examples
    --------
    >>> plan = rate_plan(100_000, 1000, 0.05, 0.05)
    >>> low, high = plan.last()
    >>> round(plan.width, 3), round(low, 3), round(high, 3)
    (0.016, 0.036, 0.068)
    """

    n: int
    questions: int
    beta: float
    rate: float
    excess: float
    width: float
    counts: tuple[int, ...]
    scales: tuple[float, ...]
    thetas: tuple[float, ...]
    far_thetas: tuple[float, ...]
    log_parts: tuple[float, ...]
    log_far: float
    slack: float
    clock_factor: float

    @cached_property
    def _ends(self) -> list[int]:
        """The last question of each run."""
        return list(accumulate(self.counts))

    @cached_property
    def _sums(self) -> Array:
        """`sum 1/(n sigma^2)` before each run."""
        steps = np.array(self.counts) / (self.n * np.array(self.scales) ** 2)
        return np.asarray(np.cumsum(steps) - steps)

    def run(self, question: int) -> int:
        """Which run of equal scales a question is in."""
        return bisect.bisect_left(self._ends, question)

    def scale(self, question: int) -> float:
        """The noise of question number `question`, counted from 1."""
        return self.scales[self.run(question)]

    def _before(self, question: int) -> float:
        """`sum 1/(n sigma^2)` of the questions before."""
        run = self.run(question)
        first = self._ends[run] - self.counts[run] + 1
        return float(self._sums[run]) + (question - first) / (self.n * self.scales[run] ** 2)

    def planned_clock(self, question: int) -> float:
        """About the clock before a question while all answers are at the planned rate."""
        return self._before(question) * self.clock_factor / 8

    @property
    def horizon(self) -> float:
        """What the clock can come to at most, whatever is answered."""
        return up(self._before(self.questions) / 4 + 1 / (4 * self.n * self.scales[-1] ** 2), 1024)

    @property
    def least_scale(self) -> float:
        """The least noise of any question."""
        return min(self.scales)

    @property
    def typical_width(self) -> float:
        """The half-width of a question of the planned rate."""
        return self.width

    def length(self, level: float) -> float:
        """The length of the interval of the last answer, when it is at `level` and those before at the planned rate."""
        low, high = self.last(level)
        return high - low

    def fitting(self, spent: Fraction) -> int:
        """All questions fit: what is charged makes later intervals wider."""
        return self.questions

    def last(self, answer: float | None = None) -> tuple[float, float]:
        """The interval of the last answer when all answers are at the planned rate, or a little longer."""
        nodes, clock, factor = self._table[0].tolist(), self.planned_clock(self.questions), 1.0
        for _ in range(6):
            steps = (self.read(self.rate, node, factor * self.planned_clock(node), 0.0)[2] for node in nodes)
            planned = (self.clock_factor / (8 * self.n * self.scale(node) ** 2) for node in nodes)
            largest = max(step / least for step, least in zip(steps, planned, strict=True))
            if largest <= factor:
                break
            factor = 1.01 * largest
        low, high, _ = self.read(self.rate if answer is None else answer, self.questions, factor * clock, 0.0)
        return low, high

    @property
    def guarantee(self) -> Guarantee:
        """The theorem and its parameters."""
        parameters = {"n": self.n, "questions": self.questions, "beta": self.beta, "rate": self.rate}
        law = SIGN_ASSUMPTION.format(rows="independent and identically distributed")
        return Guarantee("interval.sign-comparison-rates", parameters, law)

    def read(self, answer: float, question: int, spent: float, slack: float) -> tuple[float, float, float]:
        """The ends of the rates within their own width of an answer in [0, 1], and the step of the clock.

        `spent` is the clock before the question; `slack` is added to every width, for rounding. The step is that of the
        largest factor among these rates.
        """
        widths, factors = self.widths(question, spent)
        reach = widths + slack
        low, high, factor = 1.0, 0.0, 0.0
        for at, mirrored in ((answer, False), (1 - answer, True)):
            inside = (_EDGES[:-1] <= at + reach) & (_EDGES[1:] >= at - reach)
            if not inside.any():
                continue
            least = float(np.min(np.maximum(_EDGES[:-1], at - reach)[inside]))
            most = float(np.max(np.minimum(_EDGES[1:], at + reach)[inside]))
            least, most = (1 - most, 1 - least) if mirrored else (least, most)
            low, high, factor = min(low, least), max(high, most), max(factor, float(np.max(factors[inside])))
        step = factor / (8 * self.n * self.scale(question) ** 2)
        return max(low - 1e-15, 0.0), min(high + 1e-15, 1.0), up(step, 16)

    def widths(self, question: int, clock: float) -> tuple[Array, Array]:
        """`w_j(p)`, as a share of the range, and `g_j(p, u_1)` of every cell of rates up to 1/2."""
        a, _, factors = self._solved(question, clock, self._start(question))
        return a / math.sqrt(self.n) * _SAFETY, factors

    def _solved(self, question: int, clock: float, start: tuple[Array, Array]) -> tuple[Array, Array, Array]:
        """Widths, how far the far levels are apart, and factors; every cell keeps both conditions."""
        run, root = self.run(question), math.sqrt(self.n)
        s2, before, e = self.n * self.scales[run] ** 2, float(question - 1), self.excess
        clock *= _SAFETY
        excess_rate = float(sign_excess_rate(np.array([(self._before(question) / 4 + 1 / s2) / self.n]))[0])
        goal, theta, far_theta = self.log_parts[run], np.array(self.thetas[run]), np.array(self.far_thetas[run])

        def g(level: Array) -> Array:
            share = np.minimum(level / root, 1.0)
            return np.asarray(spread_factor(_EDGES[:-1], _EDGES[1:], share, self.n, self.slack))

        def term(t: Array, factor: Array, at: Array) -> Array:
            """`delta + log kappa`."""
            value = log_kappa_at(at, np.maximum(t, 0.0), np.array(s2), factor / 2, np.array(clock), np.array(before))
            return np.asarray(np.where(t < 0, np.inf, value + excess_rate * (clock + factor / (2 * s2))))

        def first(a: Array) -> Array:
            return np.asarray(np.minimum(a + _STEPS[0] * np.sqrt(g(a)) * reach, root))

        def main(a: Array) -> Array:
            return term(a - e, g(first(a)), theta) - goal

        def far(a: Array) -> Array:
            levels = np.minimum(a + np.multiply.outer(_STEPS, np.sqrt(g(a)) * reach), root)
            terms = term(levels - e, g(np.concatenate([levels[1:], np.full((1, _CELLS), root)])), far_theta)
            return np.asarray(np.logaddexp.reduce(np.where(levels >= root, -np.inf, terms + math.log(2)), axis=0))

        a, reach = start
        for _ in range(80):
            a = _least(main, a, e)
            short = far(a) > self.log_far - 1e-9
            if not short.any():
                break
            reach = np.where(short, reach * 1.25, reach)  # up to a first level of 1, above which there is nothing far
        else:  # no half-width is proved there
            a = np.where(short, math.inf, a)
        return a, reach, g(first(a)) * _SAFETY

    def _start(self, question: int) -> tuple[Array, Array]:
        """Where the search for the widths begins: between those of two questions whose clock is the planned one."""
        nodes, widths, reaches = self._table
        place = float(np.interp(question, nodes, np.arange(len(nodes))))
        at = min(int(place), len(nodes) - 2) if len(nodes) > 1 else 0
        share, after = place - at, min(at + 1, len(nodes) - 1)
        return widths[at] + share * (widths[after] - widths[at]), np.maximum(reaches[at], reaches[after])

    @cached_property
    def _table(self) -> tuple[Array, Array, Array]:
        """Widths and reaches of the levels for some questions while the clock is the planned one."""
        nodes = np.unique(np.rint(1 + (1 - np.cos(np.linspace(0, math.pi, 24))) / 2 * (self.questions - 1)).astype(int))
        here = spread_factor(_EDGES[:-1], _EDGES[1:], self.width, self.n, self.slack)
        at = min(int(np.searchsorted(_EDGES, self.rate)), _CELLS) - 1
        start = self.width * math.sqrt(self.n) * np.sqrt(here / here[at]), np.ones(_CELLS)
        rows = []
        for node in nodes.tolist():
            a, reach, _ = self._solved(node, self.planned_clock(node), start)
            start = a, reach
            rows.append(start)
        return nodes, np.array([a for a, _ in rows]), np.array([reach for _, reach in rows])


def _least(excess: Callable[[Array], Array], start: Array, floor: float) -> Array:
    """Points where a falling function is at most 0, little above the least ones; infinite where none is in sight."""
    low, high, x = np.full(start.shape, floor), np.full(start.shape, math.inf), np.maximum(start, floor * 1.01)
    last, value_last = x * 1.01, excess(x * 1.01)
    for _ in range(40):
        value = excess(x)
        low, high = np.where(value > 0, np.maximum(low, x), low), np.where(value <= 0, np.minimum(high, x), high)
        if bool(np.all((value <= 0) & (value > -5e-4))):
            break
        slope = np.divide(value - value_last, x - last, out=np.full(x.shape, -1.0), where=np.abs(x - last) > 1e-12)
        last, value_last = x, value
        trial = x - (value + 2e-4) / np.minimum(slope, -1e-3)
        trial = np.clip(trial, np.maximum(0.5 * x, low + 1e-3 * (x - low)), 2 * x)
        middle = np.where(np.isfinite(high), (low + np.where(np.isfinite(high), high, 0.0)) / 2, 2 * x)
        x = np.where((value <= 0) & (value > -5e-4), x, np.where((trial > low) & (trial < high), trial, middle))
    return high


def rate_plan(n: int, questions: int, beta: float, rate: float) -> RatePlan:
    """Return the plan whose interval is about the shortest for an answer at `rate`, which must be at most 1/2.

    Examples
    --------
    >>> plan = rate_plan(10_000, 100, 0.05, 0.1)
    >>> plan.scale(1) > plan.scale(100), round(plan.width, 3)
    (True, 0.042)
    """
    return _rate_plan(n, questions, beta, rate)


@lru_cache(maxsize=64)
def _rate_plan(n: int, questions: int, beta: float, rate: float) -> RatePlan:
    counts = run_lengths(questions)
    shapes = [_RateShape(n, questions, beta, e, rate=rate) for e in EXCESSES]
    a, s2, shape = power_search(shapes, counts)
    assert isinstance(shape, _RateShape)
    plan = certified(shape, counts, np.sqrt(s2 / n), a)
    certificate = plan.certificate
    # what the main terms and the clock leave goes to the far levels, the same to each question
    rest = shape.second * beta / _SAFETY - certificate.main - certificate.clock
    return RatePlan(
        n,
        questions,
        beta,
        rate,
        shape.excess,
        plan.half_width,
        plan.counts,
        plan.scales,
        tuple(certificate.thetas[0].tolist()),
        tuple(certificate.thetas[-1].tolist()),
        tuple((certificate.log_terms - 1e-9).tolist()),
        math.log(rest / questions) - 1e-9,
        shape.slack,
        shape.clock_factor(plan.half_width * shape.root),
    )


@theorem(
    "interval.sign-comparison-rates",
    statement="Theorem D for rates near 0 or 1: the interval of the last of k answers, all of them at one rate.",
    source="Holdfast: Theorem D' (docs/papers/adaptive-widths.md), derived twice, not refereed",
    conditions="rows independent and identically distributed; plan, k, beta fixed in advance; Gaussian noise; means of "
    "[0,1] values; nothing else computed from the rows is released; question k+1 is refused. Nothing is promised about "
    "the rates: other answers have other intervals",
    unit="half-width",
    provenance="derived",
)
def sign_comparison_rates(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    rate: Annotated[
        float,
        Domain(
            "The rate that the answers have; above 1/2 take its distance from 1.",
            at_least=1e-6,
            at_most=0.5,
            typical=0.05,
        ),
    ],
    noise: GaussianNoise = "gaussian",
) -> Width:
    """Half-width of the longer side of the interval when all answers are means at `rate`.

    **Theorem D'** (ours). A question whose population mean (its rate) is `p` has a standard deviation of at most
    `sqrt(p (1 - p))`, so its half-width `w_j(p)` is smaller the nearer `p` is to 0 or 1. The interval of an answer
    contains every rate `p` within its own `w_j(p)` of the answer. Therefore the interval is longer on the side of 1/2.
    `tuning` has both ends and `w_j` at the rate.

    Returns
    -------
    Width
        With `schedule` set. Time: about a second for new arguments.

    Notes
    -----
    A question of such a rate moves the signs of the proof less, and is moved less by them.

    Examples
    --------
    >>> width = sign_comparison_rates(100_000, 1000, 0.05, 0.05)
    >>> round(width.tuning["low"], 3), round(width.tuning["high"], 3), round(width.tuning["at_rate"], 3)
    (0.036, 0.068, 0.016)
    """
    gaussian_only("interval.sign-comparison-rates", noise)
    plan = rate_plan(n, questions, beta, rate)
    low, high = plan.last()
    reach = up(max(high - rate, rate - low), 4)
    return Width(
        reach,
        plan.scales[0],
        "gaussian",
        "interval.sign-comparison-rates",
        "best",
        n,
        questions,
        beta,
        assumption=plan.guarantee.assumption,
        tuning={"rate": rate, "low": low, "high": high, "at_rate": plan.width, "excess": plan.excess},
        schedule=Schedule(reach, plan.counts, plan.scales, None),
    )
