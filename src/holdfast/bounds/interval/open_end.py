"""Theorem D as an odometer: widths that grow with the number of questions asked, and no number to commit to.

The proof is in docs/papers/adaptive-widths.md ("Scales and widths that follow the answers"). Here the noise is
constant, so every scale, level, width and theta is a number that `n`, `beta` and the noise fix before the first answer.
Question `j` has the part `1/(j (j + 1))` of the failure probability; of it 96% go to the width, 3% to the far levels
and 1% to the clock. Units as in `signs`: lengths in `1/sqrt(n)`.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Annotated

import numpy as np
from scipy.special import expit

from holdfast.bounds.interval.signs import (
    SIGN_ASSUMPTION,
    Array,
    best_logit,
    log_kappa_at,
    second_sample,
    sign_excess_rate,
)
from holdfast.bounds.interval.width import GaussianNoise, Width, gaussian_only
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.parameters import Domain, FailureProbability, Rows
from holdfast.bounds.registry import theorem

_MAIN, _FAR, _CLOCK = 0.96, 0.03, 0.01
#: Far levels above the width; the last is 1, which no deviation passes.
_STEPS = (2.0, 3.5, 6.0, 10.0, 16.0, 26.0, 42.0, 72.0)
_SAFETY = 1 + 1e-9
#: Questions are planned in blocks of this many, then twice as many, and so on.
_FIRST_BLOCK = 64
#: Halvings of the search for a width.
_HALVINGS = 28
#: Questions of a block at which theta is searched.
_NODES = 32
#: Questions beyond this are refused: their widths would take seconds.
MOST_OPEN = 100_000
Latest = Annotated[
    int, Domain("The number of the question, counted from 1.", at_least=1, at_most=MOST_OPEN, typical=1000)
]
TunedFor = Annotated[
    int, Domain("The question whose width the noise makes about least.", at_least=1, at_most=MOST_OPEN, typical=1000)
]


@dataclass(frozen=True)
class OpenPlan:
    """What is fixed in advance: rows, failure probability, noise, and what the second sample may be off.

    Examples
    --------
    >>> plan = open_plan(100_000, 0.05, tuned_for=1000)
    >>> [round(plan.half_width(j), 3) for j in (1, 100, 1000)]
    [0.012, 0.027, 0.045]
    """

    n: int
    beta: float
    s2: float
    excess: float

    @property
    def sigma(self) -> float:
        """The noise of every question."""
        return math.sqrt(self.s2 / self.n)

    def half_width(self, question: int) -> float:
        """Return the half-width of question number `question`, counted from 1."""
        block, first = 0, 1
        while question >= first + (_FIRST_BLOCK << block):
            first += _FIRST_BLOCK << block
            block += 1
        return float(_block(self, block).widths[question - first])


@dataclass(frozen=True)
class _Block:
    """Half-widths of the questions of a block, and the clock at its end."""

    widths: Array
    clock: float


def _parts(plan: OpenPlan, question: Array) -> Array:
    """The logarithm of a question's part of what may fail, `p_eps beta/(j (j + 1))`."""
    whole = math.log(second_sample(plan.n, plan.excess)) + math.log(plan.beta)
    return np.asarray(whole - np.log(question) - np.log1p(question))


def _factor(plan: OpenPlan, level: Array, clock_slack: Array) -> Array:
    """`g` for a deviation of at most `level`, with `ln(1/b'')` of the question."""
    return np.minimum(2.0, 1 + level * level / plan.n + np.sqrt(2 * clock_slack / plan.n))


def _log_terms(plan: OpenPlan, t: Array, g: Array, clock: Array, before: Array, theta: Array | None = None) -> Array:
    """`delta + log kappa` of questions whose answers are `t` off; infinite where `t` is below 0."""
    s2 = np.full(t.shape, plan.s2)
    largest = (before / plan.s2 / 4 + 1 / plan.s2) / plan.n
    delta = sign_excess_rate(largest) * (clock + g / (2 * plan.s2))
    safe = np.maximum(t, 0.0)
    if theta is None:
        theta = _theta(safe, s2, g / 2, clock, before)
    value = log_kappa_at(theta, safe, s2, g / 2, clock, before) + delta
    return np.asarray(np.where(t < 0, np.inf, value))


def _theta(t: Array, s2: Array, r2: Array, clock: Array, before: Array) -> Array:
    """A theta for every question of a block: searched at some, its logit interpolated in between."""
    if t.size <= 2 * _NODES:
        return np.asarray(expit(best_logit(t, s2, r2, clock, before)))
    nodes = np.unique(np.rint(np.linspace(0, t.size - 1, _NODES)).astype(int))
    logits = best_logit(t[nodes], s2[nodes], r2[nodes], clock[nodes], before[nodes])
    return np.asarray(expit(np.interp(np.arange(t.size), nodes, logits)))


def _far(plan: OpenPlan, a: Array, shift: Array, slack: Array, clock: Array, before: Array) -> Array:
    """The logarithm of the sum over far levels, with one theta a question, that of the first level."""
    root = math.sqrt(plan.n)
    levels = np.array([np.minimum(a + shift + step, root) for step in _STEPS] + [np.full(a.shape, root)])
    first = _factor(plan, levels[1], slack)
    t = levels[0] - plan.excess
    theta = _theta(np.maximum(t, 0.0), np.full(a.shape, plan.s2), first / 2, clock, before)
    total = np.full(a.shape, -np.inf)
    for lower, upper in itertools.pairwise(levels):
        term = _log_terms(plan, lower - plan.excess, _factor(plan, upper, slack), clock, before, theta)
        total = np.logaddexp(total, np.where(lower >= root, -np.inf, term + math.log(2)))
    return np.asarray(total)


def _clocks(plan: OpenPlan, start: float, g: Array) -> Array:
    """The clock before each question of a block, rounded up."""
    steps = g / (8 * plan.s2)
    return np.asarray((start + np.cumsum(steps) - steps) * _SAFETY)


@lru_cache(maxsize=256)
def _block(plan: OpenPlan, number: int) -> _Block:
    size, first = _FIRST_BLOCK << number, 1 + _FIRST_BLOCK * ((1 << number) - 1)
    start = _block(plan, number - 1).clock if number else 0.0
    question = np.arange(first, first + size, dtype=float)
    before = question - 1
    part = _parts(plan, question)
    goal, far_goal, slack = part + math.log(_MAIN), part + math.log(_FAR), -(part + math.log(_CLOCK))
    a, shift = np.full(size, 8.0), np.zeros(size)
    for _ in range(3):  # the levels follow the widths, and the clock follows the levels
        g = _factor(plan, np.minimum(a + shift + _STEPS[0], math.sqrt(plan.n)), slack)
        clock = _clocks(plan, start, g)
        a = _least(plan, g, clock, before, goal)
        shift = np.where(_far(plan, a, shift, slack, clock, before) > far_goal, shift + 1, shift)
    # what certifies: levels fixed, the clock from them, and both conditions at the widths that are used
    a = a * (1 + 1e-6)
    for _ in range(200):
        g = _factor(plan, np.minimum(a + shift + _STEPS[0], math.sqrt(plan.n)), slack)
        clock = _clocks(plan, start, g)
        main = _log_terms(plan, a - plan.excess, g, clock, before) > goal - 1e-9
        far = _far(plan, a, shift, slack, clock, before) > far_goal - 1e-9
        if not (main.any() or far.any()):
            break
        a, shift = np.where(main, a * (1 + 1e-4), a), np.where(far, shift + 0.5, shift)
    else:
        a = np.where(main | far, math.inf, a)
    return _Block(
        np.array([up(x / math.sqrt(plan.n), 16) for x in a]), float((clock[-1] + g[-1] / (8 * plan.s2)) * _SAFETY)
    )


def _least(plan: OpenPlan, g: Array, clock: Array, before: Array, goal: Array) -> Array:
    low, high = np.full(g.shape, plan.excess), np.full(g.shape, 8.0)
    for _ in range(40):
        short = _log_terms(plan, high - plan.excess, g, clock, before) > goal
        if not short.any():
            break
        high = np.where(short, high * 1.5, high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        wide = _log_terms(plan, middle - plan.excess, g, clock, before) > goal
        low, high = np.where(wide, middle, low), np.where(wide, high, middle)
    return high


@lru_cache(maxsize=64)
def open_plan(n: int, beta: float, tuned_for: int) -> OpenPlan:
    """Return the plan whose noise makes the half-width of question number `tuned_for` about least.

    Examples
    --------
    >>> round(open_plan(100_000, 0.05, 1000).s2, 1)
    1.6
    """
    plan = OpenPlan(n, beta, 1.0, 0.05 if n >= 50_000 else 0.075 if n >= 5000 else 0.1)
    question = np.array([float(tuned_for)])
    part, before = _parts(plan, question), question - 1
    g = np.minimum(2.0, 1 + np.sqrt(2 * -(part + math.log(_CLOCK)) / n))
    widths = []
    scales = np.exp(np.linspace(math.log(0.1), math.log(12.0), 25)).tolist()
    for s2 in scales:
        each = replace(plan, s2=float(s2))
        widths.append(float(_least(each, g, before * g / (8 * s2), before, part + math.log(_MAIN))[0]))
    return replace(plan, s2=float(scales[int(np.argmin(widths))]))


@theorem(
    "interval.sign-comparison-open",
    statement="Half-width of question number j of an open end of adaptive means: Theorem D as an odometer.",
    source="Holdfast: Theorem D, odometer form (docs/papers/adaptive-widths.md), derived twice, not refereed",
    conditions="rows independent and identically distributed; noise and beta fixed in advance; Gaussian noise; means "
    "of [0,1] values; nothing else computed from the rows is released; any number of questions",
    unit="half-width",
    provenance="derived",
)
def sign_comparison_open(
    n: Rows,
    questions: Latest,
    beta: FailureProbability,
    tuned_for: TunedFor = 1000,
    noise: GaussianNoise = "gaussian",
) -> Width:
    """Half-width of the latest of many adaptive means when the number of questions is not known in advance.

    With probability `1 - beta` every answer is within its own half-width. The first questions have the smallest
    half-widths. The scale of the noise is constant.

    Examples
    --------
    >>> [round(sign_comparison_open(100_000, j, 0.05).value, 3) for j in (1, 100, 1000)]
    [0.012, 0.027, 0.045]
    """
    gaussian_only("interval.sign-comparison-open", noise)
    plan = open_plan(n, beta, tuned_for)
    half_width = plan.half_width(questions)
    return Width(
        half_width,
        plan.sigma,
        "gaussian",
        "interval.sign-comparison-open",
        "best",
        n,
        questions,
        beta,
        assumption=SIGN_ASSUMPTION.format(rows="independent and identically distributed").replace("questions and ", ""),
        tuning={"excess": plan.excess, "tuned_for": tuned_for},
    )
