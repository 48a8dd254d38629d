"""Theorem D: pair every row with a second one, compare the random signs with normals, follow the whole sample.

The proof is in docs/papers/adaptive-widths.md. What was checked when it was derived a second time, step by step:

* The pairing: `phi(X) = c + R` and `phi(X') = c - R` with `R` linear in fair signs; `X'` is independent of rows, noise
  and coins, so the first bad question is fixed when `X'` is drawn (`p_eps`, against exact binomials).
* The clock: `E Gamma <= (1 + U^2)/8`, maximised over the rate; Hoeffding for terms in [0, 1/4].
* Lemma 3, `Delta(kappa) <= kappa^2/2` up to 4.79, and that `Delta` never falls: `sinh a cosh a >= a`.
* The Gaussian world: `E N = 1` for a fixed `theta`, the log-determinant by Jensen, Cauchy-Schwarz with `I - theta C`,
  and that a posterior variance of 0 is worst for the first tail. The second tail needs `t >= 0`, which is asked for.
* `log kappa_1` is a maximum of a function with second derivative at most -1, so its value at any point plus half the
  squared slope there is an upper bound: the search for the maximum cannot make a width too narrow.

tests/bounds/interval/test_sign_comparison.py repeats these checks numerically; test_second_reading.py is a second
implementation from the statement alone; "How it was checked" in the write-up lists which test checks which step.

Units inside this file: lengths in `1/sqrt(n)`. `A = tau sqrt(n)`, `e = eps sqrt(n)`, `s2 = n sigma^2`, `r2 = g/2`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, expit, log_ndtr, ndtr

from holdfast.bounds.interval.posterior_shift import Schedule
from holdfast.bounds.interval.width import GaussianNoise, Width, gaussian_only
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.parameters import Domain, FailureProbability, Questions, Rows
from holdfast.bounds.registry import theorem
from holdfast.errors import InvalidParameter

Array = NDArray[np.float64]
RowLaw = Annotated[
    Literal["identical", "independent"],
    "'identical': rows independent and identically distributed; 'independent': rows independent, each of its "
    "own distribution.",
]
_ROOT_HALF = math.sqrt(0.5)
_HAZARD = math.sqrt(2 / math.pi)
#: Covers the rounding of sums of some thousand terms, each with a relative error of some units in the last place.
_SAFETY = 1 + 1e-9

# --- Signs against normals (Lemma 3) ----------------------------------------------------------------------------------


def sign_excess(kappa: float) -> float:
    """`Delta(kappa)`: how far the log-mean of `exp(a s - kappa s^2/2)` for a sign can exceed that for a normal.

    `max_a [log cosh a - a^2/(2(1 + kappa))] - kappa/2 + log(1 + kappa)/2`; at most `kappa^2/2` for `kappa <= 4.79`.

    Examples
    --------
    >>> [round(sign_excess(x), 6) for x in (0.1, 0.5, 1, 4)]
    [0.004344, 0.067927, 0.173097, 0.611617]
    """
    return float(_excesses(np.array([float(kappa)]))[0])


def _excesses(kappa: Array) -> Array:
    low, high = np.zeros_like(kappa), 1.0 + kappa  # the maximiser solves tanh(a) = a/(1 + kappa)
    for _ in range(40):  # the value is flat to second order in a
        a = (low + high) / 2
        rises = np.tanh(a) * (1 + kappa) > a
        low, high = np.where(rises, a, low), np.where(rises, high, a)
    log_cosh = high + np.log1p(np.exp(-2 * high)) - math.log(2)
    return np.maximum(log_cosh - high * high / (2 * (1 + kappa)) - kappa / 2 + np.log1p(kappa) / 2, 0.0)


@lru_cache(maxsize=1)
def _excess_table() -> tuple[Array, Array]:
    """Ends of cells from 0.004 to 100, and an upper bound of `Delta(x)/x` up to the right end of each cell."""
    ends = np.exp(np.linspace(math.log(0.004), math.log(100.0), 200_000))
    value = _excesses(ends) + 1e-15
    # Delta never falls, so Delta(x)/x <= Delta(right)/left inside a cell
    return ends, np.maximum.accumulate(value[1:] / ends[:-1])


def sign_excess_rate(largest: Array) -> Array:
    """`rho(v) = max_{x <= v} Delta(x)/x`, rounded up: at most `v/2`, and below 0.182 whatever `v` is.

    Examples
    --------
    >>> [round(float(x), 3) for x in sign_excess_rate(np.array([0.1, 0.5, 2.0]))]
    [0.043, 0.136, 0.181]
    """
    largest = np.asarray(largest, dtype=float)
    ends, rate = _excess_table()
    place = np.clip(np.searchsorted(ends, largest, side="left") - 1, 0, rate.size - 1)
    # below the table v/2 is used; beyond it Delta(x)/x <= (1 + log(1 + x))/(2x), far below the largest value inside
    return np.where(largest < ends[1], largest / 2, np.minimum(rate[place], largest / 2))


# --- The comparison function kappa ------------------------------------------------------------------------------------


def log_spread(theta: Array, clock: Array, questions: Array) -> Array:
    """`L(theta; T, m) = m log(1 + gamma x/(1 + x))`, `x = T/m`, `gamma = theta/(1 - theta)`; 0 where `T` is 0.

    Examples
    --------
    >>> round(float(log_spread(np.array(0.5), np.array(50.0), np.array(500.0))), 6)
    43.505688
    """
    theta, clock, questions = (np.asarray(x, dtype=float) for x in (theta, clock, questions))
    total = questions + clock
    share = np.divide(clock, total, out=np.zeros(np.broadcast(clock, total).shape), where=total > 0)
    return questions * np.log1p(theta / (1 - theta) * share)


def log_tail(t: Array, s2: Array, b2: Array) -> Array:
    """Return an upper bound of `log kappa_1 = sup_{w >= 0} [log Q((t - b w)/s) - w^2/2]`, within 1e-10.

    The function is concave and its slope is convex in `w`, so Newton's steps rise from a start left of the maximum. Its
    second derivative is at most -1: adding half the squared slope gives an upper bound wherever the steps stop.

    Examples
    --------
    >>> round(float(log_tail(np.array(9.8), np.array(4.8), np.array(1.02))), 6)
    -10.533339
    """
    s, b = np.sqrt(s2), np.sqrt(b2)
    ratio = b / s
    w = b * t / (s2 + b2)
    for _ in range(12):
        z = (t - b * w) / s
        hazard = _HAZARD / erfcx(z * _ROOT_HALF)
        slope = ratio * hazard - w
        step = slope / (ratio * ratio * hazard * (hazard - z) + 1)
        w = w + step
        if float(np.max(np.abs(step), initial=0.0)) <= 1e-7:
            break
    z = (t - b * w) / s
    scaled = erfcx(z * _ROOT_HALF)
    slope = ratio * _HAZARD / scaled - w
    return np.log(0.5 * scaled) - (z * z + w * w) / 2 + slope * slope / 2 + 1e-10


def log_kappa_at(theta: Array, t: Array, s2: Array, r2: Array, clock: Array, questions: Array) -> Array:
    """`log kappa_theta(t; sigma, r, T, m)` at a given `theta`, rounded up; `t` must be at least 0.

    Examples
    --------
    >>> at = [np.array(x) for x in (9.8, 4.8, 0.51, 50.0, 500.0)]
    >>> [round(float(log_kappa_at(np.array(theta), *at)), 6) for theta in (0.3, 0.5, 0.8)]
    [0.127041, 11.553306, 66.92398]
    """
    tails = np.logaddexp(log_tail(t, s2, r2 / theta), log_ndtr(-t / np.sqrt(s2 + r2)))
    return tails + log_spread(theta, clock, questions) / 2


def log_kappa(t: float, s2: float, r2: float, clock: float, questions: float, theta: float | None = None) -> float:
    """`log kappa` of one question, at the best `theta` or a given one, rounded up; lengths in any common unit.

    Examples
    --------
    >>> round(log_kappa(6.25, 1, 0.61, 10, 50), 6)
    -7.062003
    """
    at = [np.array(float(x)) for x in (t, s2, r2, clock, questions)]
    chosen = expit(best_logit(*at)) if theta is None else np.array(theta)
    return float(log_kappa_at(chosen, *at))


#: The search for theta: logits, a grid refined between the neighbours of the best point.
_LOWEST, _HIGHEST, _POINTS, _REFINED = -9.0, 9.0, 19, 3


def best_logit(t: Array, s2: Array, r2: Array, clock: Array, questions: Array) -> Array:
    """The logit of the `theta` that makes kappa least; any `theta` is valid, an inexact one only gives a wider bound.

    Examples
    --------
    >>> at = [np.array([x]) for x in (9.8, 4.8, 0.51, 50.0, 500.0)]
    >>> round(float(log_kappa_at(expit(best_logit(*at)), *at)[0]), 6)
    -4.142489
    """
    t, s2, r2, clock, questions = np.broadcast_arrays(t, s2, r2, clock, questions)
    parts = [np.asarray(x, dtype=float)[..., None] for x in (t, s2, r2, clock, questions)]
    low = np.full(t.shape, _LOWEST)
    span = np.full(t.shape, _HIGHEST - _LOWEST)
    grid = np.linspace(0.0, 1.0, _POINTS)
    best = low
    for round_ in range(1 + _REFINED):
        points = grid if round_ == 0 else grid[::3]
        logits = low[..., None] + span[..., None] * points
        value = log_kappa_at(expit(logits), *parts)
        place = np.argmin(value, axis=-1)
        best = np.take_along_axis(logits, place[..., None], -1)[..., 0]
        width = span / (len(points) - 1)
        inner = np.clip(place, 1, len(points) - 2)[..., None]
        around = [np.take_along_axis(value, inner + shift, -1)[..., 0] for shift in (-1, 0, 1)]
        low, span = np.maximum(best - width, _LOWEST), 2 * width
        span = np.minimum(span, _HIGHEST - low)
    bend = around[0] - 2 * around[1] + around[2]
    shift = np.where(bend > 0, (around[0] - around[2]) / np.where(bend > 0, 2 * bend, 1.0), 0.0)
    middle = np.take_along_axis(logits, inner, -1)[..., 0] + np.clip(shift, -1, 1) * width
    return np.where((place == 0) | (place == len(points) - 1), best, middle)


# --- The second sample ------------------------------------------------------------------------------------------------

#: Berry-Esseen constants: Shevtsova 2013 for identically distributed summands, Shevtsova 2010 for independent ones.
_BERRY_ESSEEN = {"identical": 0.469, "independent": 0.56}


def second_sample(n: int, excess: float, rows: str = "identical") -> float:
    """`p_eps`: a lower bound of `P(phi(X') - phi(D) <= eps)` for fresh rows `X'` and every `phi`; `excess` is `e`.

    Variance at least `v0`: Berry and Esseen, `Phi(2e) - C/sqrt(v0 n)`. Below: Cantelli, `e^2/(v0 + e^2)`. The first
    rises and the second falls in `v0`; the crossing is taken, and the smaller of the two values there.

    Examples
    --------
    >>> round(second_sample(100_000, 0.05), 6), round(second_sample(1000, 0.1), 6)
    (0.509591, 0.446148)
    """
    constant, middle = _BERRY_ESSEEN[rows], float(ndtr(2 * excess))
    square = excess * excess

    def near(v: float) -> float:
        return middle - constant / math.sqrt(v * n)

    def far(v: float) -> float:
        return square / (v + square)

    if near(0.25) <= far(0.25):  # no variance is large enough for Berry and Esseen
        return down(far(0.25), 64)
    low, high = 1e-300, 0.25
    for _ in range(1200):
        v = math.sqrt(low * high)
        if not low < v < high or high < low * (1 + 1e-13):
            break
        low, high = (v, high) if near(v) < far(v) else (low, v)
    return down(max(min(near(high), far(high)), min(near(low), far(low))), 64)


# --- The certificate --------------------------------------------------------------------------------------------------

#: Far levels of a question's deviation, above the half-width; the last level is 1.
_LEVELS = (1.5, 3.0, 5.5, 9.0, 14.0, 22.0, 36.0, 60.0, 100.0)
CLOCK_SHARE = 0.01
#: How many questions the search for theta looks at; in between its logit is interpolated.
_NODES = 48
Comparison = Literal["rate", "square"]


@dataclass(frozen=True)
class Certificate:
    """What Theorem D says about one schedule and one half-width: the failure probability and its parts.

    Attributes
    ----------
    failure : float
        The bound on the probability that some answer is off by more than the half-width.
    main, far, clock : float
        The first sum, the sum over the far levels, and the share of the clock; `failure` is their sum over `p_eps`.
    last_delta, last_clock : float
        `delta_k` and `T_k`.
    thetas : array
        The theta of each run's first sum, and of its nearest far level; fixed by the plan.
    log_terms : array
        The logarithm of what one question of each run adds to the first sum.
    """

    failure: float
    main: float
    far: float
    clock: float
    last_delta: float
    last_clock: float
    thetas: Array
    log_terms: Array


_REFUTED = Certificate(math.inf, math.inf, 0.0, 0.0, 0.0, 0.0, np.zeros((2, 0)), np.zeros(0))


@dataclass(frozen=True)
class Shape:
    """The fixed part of a plan: everything of Theorem D but the scales and the half-width."""

    n: int
    questions: int
    beta: float
    excess: float
    rows: str = "identical"
    comparison: Comparison = "rate"
    batch: int = 1
    """Questions of one batch are chosen together: the clock counts earlier batches only."""

    @property
    def root(self) -> float:
        """`sqrt(n)`: a length of 1."""
        return math.sqrt(self.n)

    @property
    def second(self) -> float:
        """`p_eps`."""
        return second_sample(self.n, self.excess, self.rows)

    @property
    def clock_excess(self) -> float:
        """`eps_c`."""
        return math.sqrt(2 * (math.log(self.questions) - math.log(CLOCK_SHARE * self.beta)) / self.n)

    def levels(self, a: float) -> list[float]:
        """`u_1 .. u_M` in units: the half-width plus fixed steps, below `sqrt(n)`, and `sqrt(n)`."""
        return [u for u in (a + step for step in _LEVELS) if u < self.root] + [self.root]

    def factor(self, level: float) -> float:
        """`g` for a deviation of at most `level`."""
        u = level / self.root
        return min(2.0, 1 + (u * u if self.rows == "identical" else 2 * u) + self.clock_excess)

    def typical(self, a: float) -> float:
        """About how large `g` is next to that of a rate of 1/2: where a search for the scales begins."""
        return 1.0

    def clock_factor(self, a: float) -> float:
        """The `g` that one question adds to the clock where the half-width is `a`."""
        return self.factor(self.levels(a)[0])

    def reserved(self, far: float, least_g: float) -> tuple[float, float]:
        """What is set aside for the far levels, which need `far`, and for the clock; at `g = 2` it cannot fail."""
        return far, CLOCK_SHARE * self.beta if least_g < 2 else 0.0

    def certify(self, a: float, counts: Array, s2: Array) -> Certificate:
        """Evaluate Theorem D for half-width `a` and runs of `counts` questions at squared scales `s2`.

        Inside a run everything but the clock is the same, and kappa and delta rise with the clock, so a run counts as
        often as it has questions at the value of its last one.
        """
        counts = np.asarray(counts, dtype=float)
        if self.batch > 1:
            return self._certify(a, *self._batches(counts, s2))
        ends = np.cumsum(counts)
        before = ends - 1  # questions before the last of a run
        steps = 1 / s2
        sums = np.cumsum(counts * steps) - steps
        return self._certify(a, counts, s2, before, sums)

    def _batches(self, counts: Array, s2: Array) -> tuple[Array, Array, Array, Array]:
        """Runs cut at the ends of batches, with what earlier batches count."""
        ends = np.cumsum(counts)
        cuts = np.union1d(ends, np.minimum(np.arange(1, math.ceil(ends[-1] / self.batch) + 1) * self.batch, ends[-1]))
        pieces = np.diff(cuts, prepend=0.0)
        scale = s2[np.searchsorted(ends, cuts)]
        sums = np.concatenate([[0.0], np.cumsum(pieces / scale)])
        before = np.floor((cuts - 1) / self.batch) * self.batch
        at = np.searchsorted(np.concatenate([[0.0], cuts]), before)
        return pieces, scale, before, sums[at]

    def _certify(self, a: float, counts: Array, s2: Array, before: Array, sums: Array) -> Certificate:
        n, e, levels = self.n, self.excess, self.levels(a)
        t = np.array([a, *levels[:-1]]) - e  # the thresholds of the first sum and of each far level
        if t[0] < 0:
            return _REFUTED
        g = np.array([self.factor(level) for level in levels])
        weights = np.array([1.0] + [2.0] * (len(levels) - 1))
        clock = self.clock_factor(a) / 8 * sums
        largest = (sums / 4 + 1 / s2) / n
        rate = np.minimum(largest / 2, np.inf) if self.comparison == "square" else sign_excess_rate(largest)
        if self.comparison == "square" and float(np.max(largest)) > 4:
            return _REFUTED
        delta = rate * (clock + g[:, None] / (2 * s2))
        r2 = g[:, None] / 2
        logits = self._logits(t, s2, r2, clock, before)
        value = log_kappa_at(expit(logits), t[:, None], s2, r2, clock, before) + delta
        with np.errstate(over="ignore", under="ignore"):
            sums_ = np.exp(np.minimum(value, 700.0)) @ counts * weights
            main, far = float(sums_[0]), float(np.sum(sums_[1:]))
        far, clock_share = self.reserved(far, float(np.min(g)))
        failure = (main + far + clock_share) / self.second * _SAFETY
        last_delta, last_clock, thetas = float(delta[0, -1]), float(clock[-1]), expit(logits[:2])
        return Certificate(failure, main, far, clock_share, last_delta, last_clock, thetas, value[0])

    @staticmethod
    def _logits(t: Array, s2: Array, r2: Array, clock: Array, before: Array) -> Array:
        """Theta for every run and level: searched at some runs, its logit interpolated in between."""
        runs = s2.size
        if runs <= _NODES:
            return best_logit(t[:, None], s2, r2, clock, before)
        # closer together at either end, where the schedule bends
        share = (1 - np.cos(np.linspace(0.0, math.pi, _NODES))) / 2
        # the first questions each: the clock starts at 0, where theta goes to 1
        nodes = np.unique(np.concatenate([np.rint(share * (runs - 1)).astype(int), np.arange(6)]))
        logits = best_logit(t[:, None], s2[nodes], r2, clock[nodes], before[nodes])
        every = np.arange(runs)
        return np.array([np.interp(every, nodes, row) for row in logits])

    def least(self, counts: Array, s2: Array, start: float | None = None) -> float:
        """Return the least half-width, in units, that the schedule certifies, to a relative 1e-7 and rounded up."""
        low, high = self.excess, 8.0 if start is None else start
        while self.certify(high, counts, s2).failure > self.beta:
            low, high = high, high * (1.5 if start is None else 1.05)
            if high > 1e15:
                return math.inf
        if start is not None:
            while high / 1.02 > low:
                if self.certify(high / 1.02, counts, s2).failure > self.beta:
                    low = high / 1.02
                    break
                high /= 1.02
        log_goal = math.log(self.beta)
        left: float | None = None
        right = math.log(max(self.certify(high, counts, s2).failure, 1e-300)) - log_goal
        for turn in range(60):
            if high <= low * (1 + 2e-8):
                break
            guess = math.sqrt(low * high) if low > 0 else high / 2
            if left is not None and math.isfinite(left) and turn % 3 != 2:
                guess = high + (low - high) * right / (right - left)  # the logarithm is nearly a straight line
                guess = min(max(guess, low * (1 + 1e-8)), high * (1 - 1e-8))
            failure = self.certify(guess, counts, s2).failure
            value = math.log(max(failure, 1e-300)) - log_goal
            if value > 0:
                low, left = guess, value
            else:
                high, right = guess, value
                if value > -1e-8:
                    break
        return high


# --- Schedules --------------------------------------------------------------------------------------------------------

#: Up to this many questions each has a scale of its own; beyond, runs of equal scales that shorten towards the end.
_SINGLE = 1200
_RUN_SHARE = 120
EXCESSES = (0.05, 0.075, 0.1, 0.15, 0.2)


def run_lengths(questions: int) -> Array:
    """How many questions each run has: one each while there are few, a share of what is left while there are many.

    Examples
    --------
    >>> run_lengths(3).tolist(), int(run_lengths(10**6).sum()), run_lengths(10**6).size < 4000
    ([1.0, 1.0, 1.0], 1000000, True)
    """
    counts: list[int] = []
    left = questions
    while left > _SINGLE or (counts and left > _RUN_SHARE):
        counts.append(max(1, left // _RUN_SHARE))
        left -= counts[-1]
    return np.array([*counts, *([1] * left)], dtype=float)


def _batch_lengths(questions: int, batch: int) -> Array:
    """One run a batch: questions that are chosen together have no reason to differ in noise."""
    whole, rest = divmod(questions, batch)
    return np.array([batch] * whole + ([rest] if rest else []), dtype=float)


def power_scales(counts: Array, first: float, floor: float, exponent: float) -> Array:
    """`s2_j = s2_1 ((k - j + f k)/(k - 1 + f k))^a` at the middle of each run.

    Examples
    --------
    >>> power_scales(np.ones(3), 4.0, 0.5, 1.0).round(3).tolist()
    [4.0, 2.857, 1.714]
    """
    ends = np.cumsum(counts)
    k, middle = ends[-1], ends - (counts - 1) / 2
    share = (k - middle + floor * k) / (k - 1 + floor * k)
    return np.asarray(first * np.minimum(share, 1.0) ** exponent)


#: No search goes below this `n sigma^2`: functions of its inverse would leave the floating range.
LEAST_SCALE = 1e-6


def _descend(cost: Callable[[Array], float], start: Array, step: float, sweeps: int) -> tuple[float, Array]:
    """A lower value of a function of a few numbers, one number at a time, with steps that adapt to each."""
    best, point, steps = cost(start), start.copy(), np.full(start.size, step)
    for _ in range(sweeps):
        for i in range(start.size):
            for _ in range(3):
                moved = False
                for sign in (1.0, -1.0):
                    trial = point.copy()
                    trial[i] += sign * steps[i]
                    value = cost(trial)
                    if value < best:
                        best, point, moved = value, trial, True
                        steps[i] *= sign * 1.5
                        break
                if not moved:
                    steps[i] *= 0.35
                    break
    return best, point


def _family(shape: Shape) -> tuple[float, float, float]:
    """`s2_1, f, a` of a power schedule of about the right size, before any search."""
    k = shape.questions
    floor, exponent = (0.1, 1.25) if k >= 500 else (0.1, 1.1) if k >= 30 else (0.3, 1.0)
    guess = max(1.74 * k**0.25 + 0.87 * (math.sqrt(-2 * math.log(shape.beta)) - 2.2), 1.0)
    return 0.047 * guess**2 * shape.typical(guess), floor, exponent


def power_search(shapes: Sequence[Shape], counts: Array) -> tuple[float, Array, Shape]:
    """The power schedule with its three numbers, and `e`, chosen by a search: half-width, scales, shape."""
    point = np.log(np.array(_family(shapes[0])))

    def scales(x: Array) -> Array:
        first, floor, exponent = np.exp(np.clip(x, -30, 60))
        variances = power_scales(counts, float(first), float(floor), float(min(exponent, 20.0)))
        return np.asarray(np.maximum(variances, LEAST_SCALE))

    shape = shapes[len(shapes) // 2]
    a = shape.least(counts, scales(point))
    if not math.isfinite(a):
        return a, scales(point), shape
    for turn in range(2):

        def cost(x: Array, a: float = a, shape: Shape = shape) -> float:
            return shape.certify(a, counts, scales(x)).failure

        _, point = _descend(cost, point, 0.2, 3)
        s2 = scales(point)
        a = shape.least(counts, s2, a)
        if turn == 0:
            start = a
            a, shape = min(((each.least(counts, s2, start), each) for each in shapes), key=lambda pair: pair[0])
    return a, scales(point), shape


_KNOTS = np.array([0.0, 0.3, 0.6, 0.8, 0.93, 1.0])


def _polished(shape: Shape, counts: Array, a: float, s2: Array) -> Array:
    """The schedule times a function with a few knots that makes the failure probability at `a` smaller."""
    places = np.linspace(0.0, 1.0, counts.size) if counts.size > 1 else np.array([1.0])
    knots = _KNOTS if counts.size > _KNOTS.size else places

    def scales(x: Array) -> Array:
        return np.asarray(np.maximum(s2 * np.exp(np.interp(places, knots, np.clip(x, -20, 20))), LEAST_SCALE))

    _, point = _descend(
        lambda x: shape.certify(a, counts, scales(x)).failure,
        np.zeros(knots.size),
        0.03 if shape.batch == 1 else 0.2,
        3,
    )
    return scales(point)


_CLOCKS, _SCALES = 60, 120


def _stationary(shape: Shape, counts: Array, a: float) -> Array | None:
    """The schedule that keeps `V + log(1 + dV/dlog s2)` constant along the clock, for an assumed half-width `a`.

    Minimising the sum of kappa over `k` questions with a clock that runs by `g/(8 s2)` a question makes
    `d(s2 kappa)/d s2` constant, which is this condition for `V = log kappa + delta`.
    """
    g, k = shape.factor(shape.levels(a)[0]), float(shape.questions)
    clocks = (np.arange(_CLOCKS) / (_CLOCKS - 1)) ** 1.5 * (1.3 * a * a + 5)
    scales = np.exp(np.linspace(math.log(0.004), math.log(a * a / 3), _SCALES))
    t, r2, m = np.array(a - shape.excess), np.array(g / 2), np.array(k)
    grid_t, grid_s = clocks[:, None], scales[None, :]
    logits = best_logit(t, grid_s, r2, grid_t, m)
    largest = (2 * grid_t / g + 1 / grid_s) / shape.n
    rate = largest / 2 if shape.comparison == "square" else sign_excess_rate(largest)
    value = log_kappa_at(expit(logits), t, grid_s, r2, grid_t, m) + rate * (grid_t + g / (2 * grid_s))
    slope = np.gradient(value, np.log(scales), axis=1)
    # where s2 kappa falls in s2, more noise costs nothing: no such scale is ever best
    level = np.where(1 + slope > 1e-3, value + np.log(np.maximum(1 + slope, 1e-3)), np.inf)
    log_scales = np.log(scales)

    def curve(lam: float) -> Array:
        """Return the largest log s2 at each clock whose level is at most `lam`; nan where there is none."""
        out = np.full(_CLOCKS, np.nan)
        for i in range(_CLOCKS):
            below = np.flatnonzero(level[i] <= lam)
            if below.size == 0:
                break
            j = int(below[-1])
            out[i] = log_scales[j]
            if j + 1 < _SCALES:
                gap = level[i, j + 1] - level[i, j]
                out[i] += (log_scales[j + 1] - log_scales[j]) * min((lam - level[i, j]) / gap, 1.0)
        return out

    sizes = counts.tolist()

    def run(lam: float) -> list[float] | None:
        log_s2 = curve(lam)
        usable = int(np.count_nonzero(np.isfinite(log_s2)))
        if usable < 2:
            return None
        ends, logs = clocks[:usable].tolist(), log_s2[:usable].tolist()
        clock, cell, out = 0.0, 0, []
        for size in sizes:
            while cell < usable - 2 and clock > ends[cell + 1]:
                cell += 1
            if clock > ends[-1]:
                return None
            share = (clock - ends[cell]) / (ends[cell + 1] - ends[cell])
            s2 = math.exp(logs[cell] + share * (logs[cell + 1] - logs[cell]))
            out.append(s2)
            clock += size * g / (8 * s2)
        return out

    finite = level[np.isfinite(level)]
    low, high = float(np.min(finite)), float(np.max(finite)) + 1
    best = run(high)
    if best is None:
        return None
    for _ in range(40):
        middle = (low + high) / 2
        schedule = run(middle)
        if schedule is None:
            low = middle
        else:
            high, best = middle, schedule
        if high - low < 1e-6:
            break
    return np.array(best)


def _searched(shapes: Sequence[Shape], counts: Array) -> tuple[float, Array, Shape]:
    """The best schedule: the stationary one or the power one, whichever fails less, and a few knots on top."""
    a, best, shape = power_search(shapes, counts)
    for _ in range((2 if shape.batch == 1 else 4) if math.isfinite(a) else 0):
        choices = [best]
        stationary = _stationary(shape, counts, a) if shape.batch == 1 else None
        if stationary is not None:
            choices.append(stationary)
        at = a
        best = min(choices, key=lambda s2: shape.certify(at, counts, s2).failure)
        best = _polished(shape, counts, a, best)
        a = shape.least(counts, best, a)
    return a, best, shape


@dataclass(frozen=True)
class SignPlan:
    """A certified schedule: the half-width, the runs of scales, and what the certificate depends on."""

    shape: Shape
    half_width: float
    counts: tuple[int, ...]
    scales: tuple[float, ...]
    certificate: Certificate

    @property
    def mu(self) -> float:
        """The Gaussian differential privacy of all answers together, for replacing one row: `sqrt(sum 1/(n s)^2)`."""
        n = self.shape.n
        return up(math.sqrt(math.fsum(c / (n * s) ** 2 for c, s in zip(self.counts, self.scales, strict=True))), 16)


def certified(shape: Shape, counts: Array, scales: Array, a: float) -> SignPlan:
    """Return the plan whose certificate holds for these very doubles: the half-width is raised until it does."""
    sigma = np.asarray(scales, dtype=float)
    s2 = shape.n * sigma * sigma
    half_width = up(a / shape.root, 16)
    for _ in range(200):
        certificate = shape.certify(half_width * shape.root * (1 - 4e-16), counts, s2)
        if certificate.failure <= shape.beta:
            return SignPlan(shape, half_width, tuple(int(c) for c in counts), tuple(sigma.tolist()), certificate)
        half_width *= 1 + 1e-9
    raise InvalidParameter("no half-width is certified for this schedule; give a larger beta or other parameters")


@lru_cache(maxsize=256)
def sign_plan(
    n: int,
    questions: int,
    beta: float,
    rows: str = "identical",
    schedule: str = "best",
    parameters: tuple[float, ...] | None = None,
    excess: float | None = None,
    comparison: Comparison = "rate",
    batch: int = 1,
) -> SignPlan:
    """The plan of Theorem D for `questions` means of `n` rows, with the narrowest schedule of the kind asked for.

    Examples
    --------
    >>> plan = sign_plan(1000, 100, 0.05)
    >>> round(plan.half_width, 3), round(plan.mu, 1)
    (0.201, 0.4)
    """
    counts = run_lengths(questions) if batch == 1 else _batch_lengths(questions, batch)
    shapes = [
        Shape(n, questions, beta, e, rows, comparison, batch) for e in (EXCESSES if excess is None else (excess,))
    ]
    if parameters is not None:
        s2 = power_scales(counts, *parameters)
        if not (float(np.min(s2)) >= LEAST_SCALE and float(np.max(s2)) <= 1 / LEAST_SCALE):
            raise InvalidParameter(
                "parameters must leave n sigma^2 between 1e-6 and 1e6 for every question; give other parameters"
            )
        a, shape = min(((shape.least(counts, s2), shape) for shape in shapes), key=lambda pair: pair[0])
    else:
        a, s2, shape = (power_search if schedule == "power" else _searched)(shapes, counts)
    if not math.isfinite(a):
        raise InvalidParameter("comparison must be 'rate' here, because the bound v/2 is proved only for v up to 4")
    return certified(shape, counts, np.sqrt(s2 / n), a)


def sign_estimate(n: int, questions: int, beta: float, rows: str) -> float:
    """The half-width of a schedule that nobody tuned: a few hundredths above the best one, in hundredths of a second.

    Examples
    --------
    >>> 1 < sign_estimate(1000, 100, 0.05, "identical") / sign_plan(1000, 100, 0.05).half_width < 1.1
    True
    """
    counts = run_lengths(questions)
    excess = 0.05 if n >= 50_000 else 0.075 if n >= 5000 else 0.1
    shape = Shape(n, questions, beta, excess, rows)
    return shape.least(counts, power_scales(counts, *_family(shape))) / shape.root


# --- The theorems -----------------------------------------------------------------------------------------------------

SIGN_ASSUMPTION = (
    "rows {rows}; schedule, questions and beta fixed before the first answer; fresh noise; nothing else computed from "
    "these rows reaches the analyst"
)
_LAWS = {"identical": "independent and identically distributed", "independent": "independent"}


def sign_width(plan: SignPlan, method: str, variant: str, more: Mapping[str, float] | None = None) -> Width:
    """Return the plan as a `Width` of the theorem `method`; `more` joins what it was tuned with."""
    shape, certificate = plan.shape, plan.certificate
    return Width(
        plan.half_width,
        plan.scales[0],
        "gaussian",
        method,
        variant,
        shape.n,
        shape.questions,
        shape.beta,
        assumption=SIGN_ASSUMPTION.format(rows=_LAWS[shape.rows]),
        tuning={
            "mu": plan.mu,
            "smallest_sigma": min(plan.scales),
            "excess": shape.excess,
            "second_sample": shape.second,
            "failure": certificate.failure,
            "main": certificate.main,
            "far": certificate.far,
            "last_delta": certificate.last_delta,
            "last_clock": certificate.last_clock,
            **(more or {}),
        },
        schedule=Schedule(plan.half_width, plan.counts, plan.scales, None),
    )


_SCHEDULE = Annotated[
    Literal["best", "power"], "'best' searches every scale; 'power' a family with three numbers, within 2%."
]
_COMPARISON = Annotated[
    Literal["rate", "square"], "How signs are compared with normals: the exact rate, or its bound v/2."
]
_PARAMETERS = Annotated[
    Sequence[float],
    Domain("`s2_1, f, a` of a power schedule, `s2 = n sigma^2`; chosen by a search if left out.", at_least=0),
]
_EXCESS = Annotated[
    float,
    Domain(
        "`eps sqrt(n)`, what the second sample may be off; chosen by the plan if left out.", at_least=0.01, at_most=2
    ),
]


@theorem(
    "interval.sign-comparison",
    statement="Half-width of k adaptive means with Gaussian noise on a schedule: signs compared with normals.",
    source="Holdfast: Theorem D (docs/papers/adaptive-widths.md), derived twice, not refereed",
    conditions="rows independent and identically distributed; schedule, k, beta fixed in advance; Gaussian noise; "
    "means of [0,1] values; nothing else computed from the rows is released; question k+1 is refused",
    unit="half-width",
    provenance="derived",
)
def sign_comparison(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    noise: GaussianNoise = "gaussian",
    schedule: _SCHEDULE = "best",
    parameters: _PARAMETERS | None = None,
    excess: _EXCESS | None = None,
    comparison: _COMPARISON = "rate",
) -> Width:
    """Half-width of `k` adaptive means answered with scheduled Gaussian noise, from Theorem D.

    The rows must be independent and identically distributed. Each question is a mean of values in [0, 1] and may be
    chosen from the earlier answers. With probability at least `1 - beta` every answer is within the half-width of its
    population mean. The certificate is computed for every question at the very noise scales that are used.
    `schedule.scales` has the scales, and `tuning["mu"]` is the Gaussian differential privacy of all answers together.

    Returns
    -------
    Width
        With `schedule` set. Time: about a second for a new (n, questions, beta), whatever the number of questions.

    Notes
    -----
    **Theorem D** (ours). Rows i.i.d., questions `phi_j` with values in [0,1] chosen from earlier answers and coins,
    answers `phi_j(X) + sigma_j Z_j`. With the constants of docs/papers/adaptive-widths.md the probability that some
    answer is off by more than `tau` is at most::

        (1/p_eps) { beta_c + sum_j e^{delta_j} kappa(tau - eps; sigma_j, ..)
                    + 2 sum_{m<M} sum_j e^{delta_j} kappa(u_m - eps; sigma_j, ..) }.

    *Why.* Draw every row together with a second one and toss a fair coin which of them is in the sample. An answer
    minus the mean of the second sample is twice a sum of signs plus noise, and the second sample is fresh. Signs can be
    replaced by normals in the likelihood of the answers at the price `e^delta`. For normals the posterior is normal,
    and `N = (1-theta)^{n/2} E[exp(theta |s|^2/2) | answers]` has mean 1, which bounds how far it can have moved.

    The certificate is evaluated for every question and level; the search only decides which schedule is tried.

    Examples
    --------
    >>> width = sign_comparison(100_000, 1000, 0.05)
    >>> round(width.value, 4), width.schedule.sigma(1) > width.schedule.sigma(500) > width.schedule.sigma(1000)
    (0.0312, True)
    >>> round(sign_comparison(100_000, 1000, 0.05, parameters=(2, 1, 0), excess=0.05).value, 6)  # constant noise
    0.035574
    """
    gaussian_only("interval.sign-comparison", noise)
    return _sign_width("identical", n, questions, beta, schedule, parameters, excess, comparison)


@theorem(
    "interval.sign-comparison-independent",
    statement="Theorem D for rows that are independent but not identically distributed.",
    source="Holdfast: Theorem D, independent rows (docs/papers/adaptive-widths.md), derived twice, not refereed",
    conditions="rows independent, each of its own distribution; schedule, k, beta fixed in advance; Gaussian "
    "noise; means of "
    "[0,1] values; nothing else computed from the rows is released; question k+1 is refused",
    unit="half-width",
    provenance="derived",
)
def sign_comparison_independent(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    noise: GaussianNoise = "gaussian",
    schedule: _SCHEDULE = "best",
    parameters: _PARAMETERS | None = None,
    excess: _EXCESS | None = None,
    comparison: _COMPARISON = "rate",
) -> Width:
    """Half-width of `k` adaptive means when rows are independent and each row may have its own distribution.

    The population value of a question is the average of its means under the rows' distributions. The theorem is that of
    `sign_comparison`, adapted to such rows.

    Returns
    -------
    Width
        With `schedule` set. Time: as `sign_comparison`.

    Notes
    -----
    There are three changes: the deviation that is followed is `V_j = (1/n) sum_i q_i (phi_j(X_i) - p_i)`, `q_i = 1 -
    2 p_i`, in place of `U_j`; `g_m = min(2, 1 + 2 u_m + eps_c)`; and Berry and Esseen's constant is that of summands
    of different distributions.

    Examples
    --------
    >>> round(sign_comparison_independent(100_000, 1000, 0.05).value, 4)
    0.0323
    """
    gaussian_only("interval.sign-comparison-independent", noise)
    return _sign_width("independent", n, questions, beta, schedule, parameters, excess, comparison)


def _sign_width(
    rows: str,
    n: int,
    questions: int,
    beta: float,
    schedule: str,
    parameters: Sequence[float] | None,
    excess: float | None,
    comparison: Comparison,
) -> Width:
    free = None if parameters is None else tuple(parameters)
    if free is not None and (len(free) != 3 or free[0] <= 0 or free[1] <= 0):
        raise InvalidParameter("parameters must be a list of three numbers s2_1, f and a, with the first two above 0")
    plan = sign_plan(n, questions, beta, rows, schedule, free, excess, comparison)
    name = "interval.sign-comparison" + ("" if rows == "identical" else "-independent")
    return sign_width(plan, name, schedule if free is None else "power")
