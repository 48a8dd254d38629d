"""The posterior-shift bound: an answer's error is a conditional mean of the noise plus a shift of the posterior."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from holdfast.bounds.interval.mutual_information import russo_zou_kl
from holdfast.bounds.interval.width import GaussianNoise, Width, gaussian_only
from holdfast.bounds.numerics.exact import up
from holdfast.bounds.numerics.maxima import normal_excess, normal_shortfall, square_shortfall
from holdfast.bounds.numerics.search import minimise
from holdfast.bounds.parameters import (
    MOST,
    Domain,
    FailureProbability,
    LaplaceScale,
    Questions,
    Rows,
    Sensitivity,
    checked,
)
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Boundary ---------------------------------------------------------------------------------------------------------
# The boundary of scheduled noise: how much a shift may have grown by the time `v`, and the noise it leaves room for.
#
# Everything is in units of the half-width (`tau = 1`). With `c = z^2 V`, `C(x, r) = E[((x + sqrt(r) Z)^2 - c)_+]`,
# `U_v(x) = l C(x, V - v)` and `D_v(x) = c_w + (1 - U_v(x))/lam`, the allowed scale is the least `(1 - x)/D_v(x)` over
# `0 <= x <= x1(v)`, `U_v(x1) = 1`.

Array = NDArray[np.float64]
_DENSITY = 1 / math.sqrt(2 * math.pi)
#: Taken off every computed scale: a search returns a value at or above the true least one.
_SHAVE = 1e-9
#: Beyond these levels `C` and `E(W - c_w)_+` come near the end of the floating range, or lose more digits to
#: cancellation (a relative 1e-16 z^4) than the shave covers; a schedule there could come out too narrow.
_LARGEST_SHIFT_LEVEL = 30.0
_LARGEST_NOISE_LEVEL = 36.0


def excess(x: Array, r: Array, c: float) -> tuple[Array, Array, Array]:
    """`C(x, r)` and its first two derivatives in `x`, for `r > 0`.

    Examples
    --------
    >>> value, _, _ = excess(np.array([0.3]), np.array([0.05]), 0.2)
    >>> round(float(value[0]), 10)
    0.0383837687
    """
    s, root = np.sqrt(r), math.sqrt(c)
    near, far = (root - x) / s, (root + x) / s
    tail_near, tail_far = ndtr(-near), ndtr(-far)
    bump_near, bump_far = _DENSITY * np.exp(-near * near / 2), _DENSITY * np.exp(-far * far / 2)
    square = x * x - c
    value = (
        (square + r) * (tail_near + tail_far) + s * bump_near * (2 * x + s * near) + s * bump_far * (-2 * x + s * far)
    )
    slope = 2 * (x * (tail_near + tail_far) + s * (bump_near - bump_far))
    bend = 2 * (tail_near + tail_far + root / s * (bump_near + bump_far))
    return np.maximum(value, 0.0), slope, bend


@dataclass(frozen=True)
class Boundary:
    """The four free numbers of a schedule, with what follows from them for `questions` and `beta`.

    Any values give a valid schedule; they only change its width. `horizon` is `V`, `noise_level` `c_w`,
    `noise_share` `h` and `shift_level` `z`, all in units of the half-width.
    """

    questions: int
    beta: float
    horizon: float
    noise_level: float
    noise_share: float
    shift_level: float

    @property
    def threshold(self) -> float:
        """`c = z^2 V`."""
        return self.shift_level**2 * self.horizon

    @cached_property
    def noise_weight(self) -> float:
        """`lam = h beta / E(W - c_w)_+`; the expectation is rounded up, which is the safe side."""
        return self.noise_share * self.beta / (normal_excess(self.questions, self.noise_level) * (1 + 1e-12))

    @cached_property
    def shift_weight(self) -> float:
        """`l = (1 - h) beta / C(0, V)`; `C` is rounded up by more than cancellation can have cost it."""
        value, _, _ = excess(np.zeros(1), np.array([self.horizon]), self.threshold)
        return (1 - self.noise_share) * self.beta / (float(value[0]) * (1 + 1e-9))

    @property
    def usable(self) -> bool:
        """Whether both weights are numbers that can be trusted; far-off parameters underflow or cancel."""
        if self.shift_level > _LARGEST_SHIFT_LEVEL or self.noise_level > _LARGEST_NOISE_LEVEL:
            return False
        try:
            return 0 < self.noise_weight < math.inf and 0 < self.shift_weight < math.inf
        except ZeroDivisionError:
            return False

    def crossing(self, v: Array) -> Array:
        """`x1(v)`, where the whole failure probability is used up: the root of `U_v(x) = 1`."""
        rest, weight = self._rest(v), self.shift_weight
        # U_v(x) >= l (x^2 - c), so this start is at or right of the root; U is convex and Newton descends.
        x = np.full_like(rest, math.sqrt(self.threshold + 1 / weight))
        open_ = rest > 0
        for _ in range(60):
            value, slope, _ = excess(x[open_], rest[open_], self.threshold)
            step = (weight * value - 1) / (weight * slope)
            x[open_] = x[open_] - step
            if step.size == 0 or float(np.max(np.abs(step) / x[open_])) <= 1e-12:  # right of the root is the safe side
                break
        return x

    def scale(self, v: Array) -> Array:
        """`sigma(v)`, shaved by a relative 1e-9 and 0 where the boundary leaves no room (then refuse)."""
        rest, weight, lam = self._rest(v), self.shift_weight, self.noise_weight
        end = self.crossing(v)
        x = np.empty_like(rest)
        open_ = rest > 0
        x[open_] = self._least(rest[open_], np.minimum(end[open_], 1.0), weight, lam)
        x[~open_] = self._least_at_end(float(min(end[~open_].min(initial=1.0), 1.0)), weight, lam)
        used = np.empty_like(rest)
        value, _, _ = excess(x[open_], rest[open_], self.threshold)
        used[open_] = weight * value
        used[~open_] = weight * np.maximum(x[~open_] ** 2 - self.threshold, 0.0)
        room = self.noise_level + (1 - np.minimum(used, 1.0)) / lam
        return np.where(end >= 1.0, 0.0, np.maximum(1 - x, 0.0) / room * (1 - _SHAVE))

    def _rest(self, v: Array) -> Array:
        return np.maximum(self.horizon - np.asarray(v, dtype=float), 0.0)

    def _least(self, rest: Array, end: Array, weight: float, lam: float) -> Array:
        """Where `(1 - x)/D(x)` is least: the root of `(1-x) U'/lam - D`, which rises in `x`, kept below `end`."""
        low, high = np.zeros_like(rest), end.copy()
        x = 0.7 * end

        def rise(at: Array) -> tuple[Array, Array]:
            value, slope, bend = excess(at, rest, self.threshold)
            sign = (1 - at) * weight * slope - lam * self.noise_level - (1 - weight * value)
            return sign, (1 - at) * weight * bend

        falling = rise(end)[0] <= 0  # still falling at the end: the least value is there, exactly
        for _ in range(60):
            sign, change = rise(x)
            low, high = np.where(sign < 0, x, low), np.where(sign < 0, high, x)
            with np.errstate(over="ignore", invalid="ignore"):  # a step out of range is replaced by a bisection
                newton = x - sign / np.maximum(change, 1e-300)
            inside = (newton >= low) & (newton <= high)  # a step of 0 has arrived: halving would lead away again
            following = np.where(inside, newton, (low + high) / 2)
            following = np.where(falling, end, following)
            # the minimand is flat to second order, so 1e-8 in x is far below the shave in its value
            if following.size == 0 or float(np.max(np.abs(following - x))) <= 1e-8:
                x = following
                break
            x = following
        return x

    def _least_at_end(self, end: float, weight: float, lam: float) -> float:
        """The same at `v = V`, where `U(x) = l (x^2 - c)_+`: the kink, the root of a quadratic, or `end`."""
        c, kink = self.threshold, math.sqrt(self.threshold)
        # (1-x) 2 l x - lam c_w - 1 + l (x^2 - c) = 0, that is l x^2 - 2 l x + (1 + lam c_w + l c) = 0
        inside = 1 - (1 + lam * self.noise_level + weight * c) / weight
        root = 1 - math.sqrt(inside) if inside >= 0 else 1.0
        return min(max(root, kink), end)


# --- Constant noise ---------------------------------------------------------------------------------------------------
# The posterior-shift bound: an error is a conditional mean of the noise plus a shift of the rows' posteriors.

_ASSUMPTION = (
    "rows independent; questions, beta and noise fixed before the first answer; fresh noise; "
    "nothing else computed from these rows reaches the analyst"
)


@theorem(
    "interval.posterior-shift",
    statement="Half-width of k adaptive means with constant Gaussian noise: sqrt(omega kappa sqrt(k) / n).",
    source="Holdfast: Theorem A of the posterior-shift bound (docs/posterior-shift.md), reviewed",
    conditions="rows independent; k, sigma, beta fixed in advance; Gaussian noise; means of [0,1] values; nothing else "
    "computed from the rows is released",
    unit="half-width",
    provenance="derived",
)
def posterior_shift(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    noise: GaussianNoise = "gaussian",
    sigma: Annotated[LaplaceScale, "The standard deviation of the noise, fixed in advance; the best one if left out."]
    | None = None,
) -> Width:
    """Half-width of `k` adaptive means answered with Gaussian noise of one standard deviation (Theorem A).

    The rows must be independent, but need not have the same distribution. Each question is a mean of values in [0, 1]
    and may be chosen from the earlier answers. The answer to question `j` is `a_j = phi_j(X) + sigma Z_j`, the mean
    over the rows plus fresh normal noise. With probability at least `1 - beta`, for all `j <= k` at once::

        |a_j - phi_j(D)| <= sigma omega + kappa sqrt(k) / (4 n sigma),

    where `phi_j(D)` is the population mean, `omega = ES_beta(max_{j<=k} |Z_j|)`, `kappa^2 = ES_beta(Z^2)`, and
    `ES_beta` (expected shortfall) is the mean of the worst `beta` part. The smallest half-width is `sqrt(omega kappa
    sqrt(k)/n)`, at `sigma = sqrt(sqrt(k) kappa/(4 n omega))`.

    Clipping answers to [0, 1] keeps the guarantee. Rounding an answer to a grid adds half a grid step. The guarantee
    also covers fewer than `k` questions. It does not cover dependent rows, other noise, or a `k` or `sigma` that is
    changed after an answer was seen.

    Returns
    -------
    Width
        Time: tens of microseconds.

    Notes
    -----
    Theorem A is ours and was reviewed. Questions may also use coins that are independent of rows and noise.

    `omega = ES_beta(max_{j<=k} |Z_j|)` and `kappa^2 = ES_beta(Z^2)`, with `ES_beta` the mean of the worst `beta` part.
    The least value is `sqrt(omega kappa sqrt(k)/n)`, at `sigma = sqrt(sqrt(k) kappa/(4 n omega))`.

    Examples
    --------
    >>> width = posterior_shift(100_000, 1000, 0.05)
    >>> round(width.value, 12), round(width.sigma, 13)
    (0.056520381876, 0.0066093719622)
    >>> posterior_shift(100_000, 1000, 0.05, sigma=0.01).value > width.value
    True
    """
    gaussian_only("interval.posterior-shift", noise)
    omega, kappa = normal_shortfall(questions, beta), square_shortfall(beta)
    scale = math.sqrt(math.sqrt(questions) * kappa / (4 * n * omega)) if sigma is None else sigma
    tau = scale * omega + math.sqrt(questions) * kappa / (4 * n * scale)
    return Width(
        up(tau, 16),
        scale,
        "gaussian",
        "interval.posterior-shift",
        "best",
        n,
        questions,
        beta,
        assumption=_ASSUMPTION,
        tuning={"omega": omega, "kappa": kappa, "horizon": questions / (16 * (n * scale) ** 2)},
    )


def posterior_shift_rows(questions: int, half_width: float, beta: float) -> int:
    """Return the least `n` at which `posterior_shift` gives `half_width`: `omega kappa sqrt(k) / tau^2`, rounded up.

    Examples
    --------
    >>> posterior_shift_rows(1000, 0.05, 0.05)
    127783
    """
    questions = checked("questions", Questions, questions)
    beta = checked("beta", FailureProbability, beta)
    half_width = arguments.real("half_width", half_width, at_least=1e-50, at_most=1e50)
    needed = normal_shortfall(questions, beta) * square_shortfall(beta) * math.sqrt(questions) / half_width**2
    if not needed < MOST / 2:
        raise InvalidParameter(f"half_width is {half_width}, which 10**18 rows do not reach; give a larger half_width")
    n = max(1, math.floor(needed))
    while posterior_shift(n, questions, beta).half_width > half_width:
        n += max(1, math.floor(n * 1e-15))
    return n


def shift_bound(horizon: float, beta: float) -> float:
    """Return how far the answers can have moved the expected mean of any question that is chosen after them: `kappa
    sqrt(V)`.

    The noise scales `sigma_j` may be chosen adaptively as long as `sum_j r_j^2/(16 n^2 sigma_j^2) <= V`. `V = horizon`
    is fixed in advance, and `r_j` is the length of an interval that is known beforehand to contain the values of
    question `j`. Then for any [0, 1] question `q` chosen after the transcript `a`, `P(|E[q(X)|a] - q(D)| > kappa
    sqrt(V)) <= beta`. This is about the conditional mean, not about a released answer. For released answers use
    `filtered_width`.

    Notes
    -----
    Derived, reviewed.

    Examples
    --------
    >>> round(shift_bound(1e-4, 0.05), 8)
    0.02362628
    """
    horizon = arguments.real("horizon", horizon, at_least=0)
    return up(square_shortfall(checked("beta", FailureProbability, beta)) * math.sqrt(horizon), 16)


def filtered_width(questions: int, beta: float, largest_sigma: float, horizon: float) -> float:
    """Half-width of adaptive means when the noise scales are chosen adaptively within limits fixed in advance.

    The limits are: at most `questions` answers, every `sigma_j <= largest_sigma`, and `sum_j 1/(16 n^2 sigma_j^2) <=
    horizon`. Then with probability `1 - beta` all errors are at most `largest_sigma omega + kappa sqrt(horizon)`, with
    `omega` and `kappa` of `posterior_shift`.

    Notes
    -----
    Derived, reviewed.

    Examples
    --------
    >>> v = 1000 / (16 * (100_000 * 0.0066) ** 2)
    >>> round(filtered_width(1000, 0.05, 0.0066, v), 5)
    0.05652
    """
    questions = checked("questions", Questions, questions)
    beta = checked("beta", FailureProbability, beta)
    largest_sigma = arguments.real("largest_sigma", largest_sigma, above=0)
    return up(largest_sigma * normal_shortfall(questions, beta), 16) + shift_bound(horizon, beta)


# --- Scheduled noise --------------------------------------------------------------------------------------------------
# Scheduled noise: early questions cannot have overfitted much, so they take more noise and leak less.

CELLS = 4000
MOST_CELLS = 100_000
#: Below this the search inside the boundary loses its digits (its scales could come out too large): constant noise.
LEAST_BETA = 1e-9
_COARSE = 24


@dataclass(frozen=True)
class Schedule:
    """The noise scales for `questions` answers, stored as runs of equal scales: `counts[i]` answers with the scale
    `scales[i]`.

    `boundary` is None if constant noise (Theorem A) is as good. This happens only for very few questions.

    Examples
    --------
    >>> s = Schedule(0.2, (2, 1), (0.03, 0.01), None)
    >>> s.sigma(1), s.sigma(3), s.sigmas().tolist()
    (0.03, 0.01, [0.03, 0.03, 0.01])
    """

    half_width: float
    counts: tuple[int, ...]
    scales: tuple[float, ...]
    boundary: Boundary | None

    @cached_property
    def _ends(self) -> tuple[int, ...]:
        return tuple(itertools.accumulate(self.counts))

    def sigma(self, question: int) -> float:
        """Return the standard deviation of the noise for question number `question`, counted from 1."""
        question = arguments.whole("question", question, at_least=1, at_most=self._ends[-1])
        return self.scales[bisect.bisect_left(self._ends, question)]

    def sigmas(self) -> NDArray[np.float64]:
        """Return the scales of all questions in order, one for each question."""
        return np.repeat(np.asarray(self.scales), self.counts)

    def summary(self) -> dict[str, Any]:
        """Return the first, the middle and the last scale, and the schedule's four free parameters in units of the
        half-width.
        """
        last = self._ends[-1]
        plain: dict[str, Any] = {
            "first": self.scales[0],
            "middle": self.sigma((last + 1) // 2),
            "last": self.scales[-1],
            "runs": len(self.counts),
        }
        free = self.boundary
        if free is not None:
            plain |= {
                "horizon": free.horizon,
                "noise_level": free.noise_level,
                "noise_share": free.noise_share,
                "shift_level": free.shift_level,
            }
        return plain

    def to_dict(self) -> dict[str, Any]:
        """Return plain data. The runs of scales are exact, so a schedule can be stored and replayed."""
        return self.summary() | {"counts": list(self.counts), "scales": list(self.scales)}


@theorem(
    "interval.scheduled",
    statement="Half-width of k adaptive means with Gaussian noise that falls along a schedule fixed in advance.",
    source="Holdfast: Theorem B of the posterior-shift bound (docs/posterior-shift.md), reviewed",
    conditions="rows independent; schedule, k, beta fixed in advance; Gaussian noise; means of [0,1] values; nothing "
    "else computed from the rows is released; question k+1 is refused",
    unit="half-width",
    provenance="derived",
)
def scheduled(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    noise: GaussianNoise = "gaussian",
    parameters: Annotated[
        Sequence[float], Domain("`V, c_w, h, z` in units of the half-width; chosen by a search if left out.", above=0)
    ]
    | None = None,
    cells: Annotated[
        int,
        Domain(
            "Cells of the table; more cells give a slightly smaller width and take more time.",
            at_least=16,
            at_most=100000,
        ),
    ] = CELLS,
) -> Width:
    """Half-width of `k` adaptive means whose noise scale falls from question to question (Theorem B).

    The half-width is `const(k, beta)/sqrt(n)` and smaller than that of constant noise (Theorem A). At `beta` 0.05 the
    gain is 1% for 2 questions, 9% for 10 and 12% for 1000. With probability at least `1 - beta` every answer is within
    the half-width. One schedule for each pair of `k` and `beta` is computed and kept. Where constant noise is as good,
    and for `beta` below 1e-9, the constant schedule is returned.

    Returns
    -------
    Width
        With `schedule` set. Time: about 0.3 s for a new (questions, beta), whatever the number of questions;
        microseconds after that.

    Notes
    -----
    **Theorem B** (ours, reviewed). Fix `V`, `c_w`, `h` in (0,1) and `z`. In units of the half-width let `sigma(v) =
    min_{0 <= x <= x1(v)} (1 - x)/(c_w + (1 - U_v(x))/lam)` (see `boundary`). Answer question `j` with `sigma_j <=
    sigma(v_j)`, `v_j = v_{j-1} + 1/(16 n^2 sigma_j^2)`, and refuse where `sigma(v_j)` is 0. Then with probability at
    least `1 - beta` every answer is within the half-width. *Why*: stop at the first bad answer; a bad answer forces
    `lam (w - c_w)_+ + U_v(x) >= 1` with `w` the conditional mean of the largest noise and `x^2` the mean of the
    rows' Hellinger-type distances; the first term has mean `h beta`, the second is a supermartingale that starts at
    `(1-h) beta`.

    `sigma(v)` falls in `v`; it is tabulated on `cells` cells and each answer uses the value at the right end of its
    cell, shaved by 1e-9.

    Examples
    --------
    >>> width = scheduled(100_000, 1000, 0.05)
    >>> round(width.value, 4)
    0.0497
    >>> s = width.schedule
    >>> s.sigma(1) > s.sigma(500) > s.sigma(1000)
    True
    """
    gaussian_only("interval.scheduled", noise)
    free = None if parameters is None else parameters
    if free is not None and (len(free) != 4 or free[2] >= 1):
        raise InvalidParameter("parameters must be a list of four numbers V, c_w, h and z, with h below 1")
    boundary, step, counts, shape = _normalised(questions, beta, free, cells)
    scales: tuple[float, ...]
    if boundary is None:
        constant = posterior_shift(n, questions, beta)
        tau, counts, scales = constant.half_width, (questions,), (constant.sigma,)
    else:
        raw = 0.5 / math.sqrt(n * math.sqrt(step))  # step = 1/(16 n^2 tau^4)
        tau, scales = up(raw, 16), tuple(raw * s for s in shape)
    return Width(
        tau,
        scales[0],
        "gaussian",
        "interval.scheduled",
        "best",
        n,
        questions,
        beta,
        assumption="rows independent; schedule, questions and beta fixed before the first answer; fresh noise; "
        "nothing else computed from these rows reaches the analyst",
        tuning={"smallest_sigma": scales[-1]},
        schedule=Schedule(tau, counts, scales, boundary),
    )


def scheduled_rows(questions: int, half_width: float, beta: float) -> int:
    """Return the least `n` at which `scheduled` gives `half_width`: the width is `const/sqrt(n)`.

    Examples
    --------
    >>> scheduled_rows(1000, 0.05, 0.05) < 100_000
    True
    """
    questions = checked("questions", Questions, questions)
    beta = checked("beta", FailureProbability, beta)
    half_width = arguments.real("half_width", half_width, at_least=1e-50, at_most=1e50)
    needed = (scheduled(1, questions, beta).half_width / half_width) ** 2
    if not needed < MOST / 2:
        raise InvalidParameter(f"half_width is {half_width}, which 10**18 rows do not reach; give a larger half_width")
    n = max(1, math.floor(needed * (1 - 1e-12)))
    while scheduled(n, questions, beta).half_width > half_width:
        n += max(1, math.floor(n * 1e-15))
    return n


_Runs = tuple[tuple[int, ...], tuple[float, ...]]


@lru_cache(maxsize=128)
def _normalised(
    questions: int, beta: float, parameters: tuple[float, ...] | None, cells: int
) -> tuple[Boundary | None, float, tuple[int, ...], tuple[float, ...]]:
    """The schedule in units of the half-width, and the largest `1/(16 n^2 tau^4)` at which `questions` fit."""
    none = (None, 0.0, (), ())
    if beta < LEAST_BETA:
        if parameters is not None:
            raise InvalidParameter(
                f"beta must be a number in [{LEAST_BETA:g}, 1) where parameters are given, got {beta}"
            )
        return none
    boundary = Boundary(questions, beta, *(parameters or _tune(questions, beta)))
    if not boundary.usable:
        if parameters is not None:
            raise InvalidParameter(
                "the computation overflows with these parameters V, c_w, h and z; give numbers that are less extreme"
            )
        return none
    ends = np.linspace(0.0, boundary.horizon, cells + 1)[1:]
    shape = boundary.scale(ends)
    area = float(np.sum(shape**2)) * boundary.horizon / cells
    if area <= 0:
        if parameters is not None:
            raise InvalidParameter("these parameters allow no question at all; give parameters that allow at least one")
        return none
    rows = [(float(g), float(s)) for g, s in zip(ends, shape, strict=True) if s > 0]
    high = area / questions
    low = high / 2
    while _fill(rows, low, questions) is None:
        high, low = low, low / 2
        if low < 1e-300:
            return none
    while high > low * (1 + 1e-14):
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        low, high = (middle, high) if _fill(rows, middle, questions) is not None else (low, middle)
    counts, scales = _fill(rows, low, questions) or ((), ())
    constant = math.sqrt(normal_shortfall(questions, beta) * square_shortfall(beta) * math.sqrt(questions))
    if parameters is None and 0.5 / low**0.25 >= constant:
        return none
    return boundary, low, counts, scales


def _fill(rows: list[tuple[float, float]], step: float, questions: int) -> _Runs | None:
    """Place `questions` answers, each at the scale of the right end of the cell it ends in; None if they do not fit."""
    counts: list[int] = []
    scales: list[float] = []
    v, left = 0.0, questions
    for end, scale in rows:
        cost = step / (scale * scale)
        fits = int((end - v) / cost * (1 - 1e-12))
        if fits < 1:
            continue
        taken = min(fits, left)
        counts.append(taken)
        scales.append(scale)
        v += taken * cost
        left -= taken
        if left == 0:
            return tuple(counts), tuple(scales)
    return None


def _tune(questions: int, beta: float) -> tuple[float, float, float, float]:
    """The four numbers that make the most room, `int_0^V sigma(v)^2 dv`, by a simplex search on a coarse table."""
    points = np.arange(1, _COARSE + 1) / _COARSE  # right ends, as in the table itself

    def unpack(x: Sequence[float]) -> tuple[float, float, float, float]:
        return math.exp(x[0]), math.exp(x[1]), 1 / (1 + math.exp(-x[2])), math.exp(x[3])

    def width(x: Sequence[float]) -> float:
        boundary = Boundary(questions, beta, *unpack(x))
        if not boundary.usable:
            return math.inf
        area = float(np.mean(boundary.scale(points * boundary.horizon) ** 2)) * boundary.horizon
        return math.inf if area <= 0 else 1 / math.sqrt(math.sqrt(area))

    kappa, z = square_shortfall(beta), -float(ndtri(beta / 2))
    level = max(normal_shortfall(questions, beta) - 0.25, 0.1)
    start = [-math.log(4 * kappa * kappa), math.log(level), math.log(0.27 / 0.73), math.log(1.3 * max(z, 0.1))]
    _, point = minimise(width, [start], tolerance=1e-7, spread=1e-3, restarts=0)
    return unpack(point)


# --- Any statistic ----------------------------------------------------------------------------------------------------
# Statistics that are not means: the posterior-shift bound holds for every statistic of bounded sensitivity.

_METHODS: dict[str, Callable[..., Width]] = {
    "scheduled": scheduled,
    "posterior-shift": posterior_shift,
    "russo-zou-kl": russo_zou_kl,
}


@theorem(
    "interval.low-sensitivity",
    statement="Half-width of k adaptive statistics of sensitivity c with Gaussian noise: n c times that of means.",
    source="Holdfast: the posterior-shift bound, row by row (docs/posterior-shift.md)",
    conditions="rows independent; replacing one row moves a statistic by at most c, whatever the rows; k, beta and "
    "noise fixed in advance; Gaussian noise; nothing else computed from the rows is released",
    unit="half-width",
    provenance="derived",
)
def low_sensitivity(
    n: Rows,
    questions: Questions,
    beta: FailureProbability,
    sensitivity: Annotated[
        Sensitivity, Domain("How far replacing one row can move any of the statistics.", at_least=1e-100, at_most=1e100)
    ],
    method: Literal["best", "scheduled", "posterior-shift", "russo-zou-kl"] = "best",
) -> Width:
    """Half-width of `k` adaptively chosen statistics that are not means, answered with Gaussian noise.

    The statistics have sensitivity `c`: replacing one row moves each of them by at most `c`. The target of the answer
    `q_j(X)` is `E q_j(X')`, the expected value of the statistic on fresh rows. The width and the noise are those of `k`
    means, both multiplied by `n c`. A mean of [0, 1] values has `c = 1/n`, so it gets its own width back.

    Returns
    -------
    Width
        In the statistics' own unit; `clip` is never needed. Time: as for means.

    Notes
    -----
    **Proof.** Given the transcript `a`, `a_j - E q_j(X') = sigma E[Z_j|a] + (E[q_j(X)|a] - E q_j(X'))`. Replace the
    rows of `X` by those of a fresh `X'` one by one. The step at row `i`, given `a`, the fresh rows before `i` and the
    rows after it, compares the means of one function `h(x) = q_j(X'_{<i}, x, X_{>i})`, whose values lie in an interval
    of length `c`, under the distribution of `X_i` given `(a, X_{>i})` and under `D_i`. That distribution is an average
    of the posteriors of an observer who also knows the other rows, so the step is at most `c E[TV(pi_i, D_i) | a,
    X_{>i}] <= c E[sqrt(S_i) | a, X_{>i}]`, and all steps together at most `n c` times the average of `E[sqrt(S_i)|a]`.
    The observer's channel about row `i` is `q_j` as a function of that row, of range `c`, plus `sigma Z_j`: the charge
    of a mean with noise `sigma/(n c)`. From here on the proofs of Theorems A and B apply, with every length times `n
    c`.

    For *russo-zou-kl*: the same information bound, and McDiarmid's inequality where Hoeffding's stood.

    Examples
    --------
    >>> mean = posterior_shift(10_000, 100, 0.05)
    >>> width = low_sensitivity(10_000, 100, 0.05, sensitivity=3e-4, method="posterior-shift")
    >>> round(width.value / mean.value, 12), round(width.sigma / mean.sigma, 12)
    (3.0, 3.0)
    """
    n = checked("n", Rows, n)
    questions = checked("questions", Questions, questions)
    beta = checked("beta", FailureProbability, beta)
    c = sensitivity
    names = ("scheduled", "posterior-shift") if method == "best" else (method,)
    narrowest = min((_METHODS[name](n, questions, beta) for name in names), key=lambda width: width.half_width)
    unit = n * c
    schedule = narrowest.schedule
    if schedule is not None:
        scales = tuple(unit * scale for scale in schedule.scales)
        schedule = replace(schedule, half_width=up(unit * schedule.half_width, 16), scales=scales)
    return replace(
        narrowest,
        half_width=up(unit * narrowest.half_width, 16),
        sigma=unit * narrowest.sigma,
        method="interval.low-sensitivity",
        variant=narrowest.method.removeprefix("interval."),
        schedule=schedule,
        assumption=narrowest.assumption + f"; replacing one row moves a statistic by at most {c:g}",
        tuning=dict(narrowest.tuning) | {"sensitivity": c},
    )


# --- Discrete noise ---------------------------------------------------------------------------------------------------
# What it costs that real noise lives on a grid: the theorems are about the continuous normal.

#: Integrals of |phi''| and |phi'''| for the standard normal density: 4 phi(1), and 2 (phi(0) + 4 phi(sqrt 3)).
_SECOND = 4 * math.exp(-0.5) / math.sqrt(2 * math.pi)
_THIRD = 2 * (1 + 4 * math.exp(-1.5)) / math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class GridCost:
    """What to add to `beta` and to the half-width; the headline is the addition to `beta`.

    Examples
    --------
    >>> GridCost(1e-9, 1e-6).to_dict()
    {'value': 1e-09, 'half_width': 1e-06}
    """

    value: float
    half_width: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {"value": self.value, "half_width": self.half_width}


@theorem(
    "interval.discrete-noise",
    statement="What to add to beta when k Gaussian noises are replaced by discrete Gaussian noise on a grid.",
    source="Holdfast: total variation between a rounded and a discrete normal, summed over answers",
    conditions="values rounded row by row so that the exact mean lies on the grid; discrete Gaussian with the stated "
    "parameter sigma (smallest of a run)",
    unit="probability",
    provenance="derived",
)
def discrete_noise_cost(
    questions: Questions,
    sigma: Annotated[LaplaceScale, "The smallest parameter of the discrete Gaussian in the run."],
    grid: Annotated[float, Domain("The step of the grid.", at_least=1e-100, at_most=1e50, typical=1e-09)],
) -> GridCost:
    """Return what discrete Gaussian noise on a grid adds to the failure probability and to the half-width.

    The interval theorems are proved for continuous normal noise, but the mechanisms add discrete normal noise. For `k`
    answers the addition to `beta` is `k b`, and the addition to the half-width is `grid/2`, with `b = (g/s)^2 (0.0404 +
    0.063 g/s)`, grid step `g` and noise parameter `s`.

    Notes
    -----
    The posterior-shift theorems are proved for continuous normal noise, mechanisms add discrete normal noise. Let the
    exact mean be a multiple of the grid step `g` (values are rounded row by row). Then rounding the ideal answer to the
    grid adds the *rounded* normal to the mean; it is post-processing and moves an answer by at most `g/2`. The rounded
    and the discrete normal of parameter `s` differ in total variation by at most
    `b = (g^2/24) (c2/s^2 + c3 g/s^3)`, with `c2 = 0.9679` and `c3 = 1.5100` the integrals of `|phi''|` and
    `|phi'''|`: on each cell the midpoint rule is off by at most `g^3/24` times the largest `|phi''|` there, the sum of
    these is a Riemann sum, and normalising costs no more than that again, which the factor 1/2 of total variation
    undoes. Given rows, coins and past, answers can be exchanged one by one, so a run differs by at most `k b`.

    Examples
    --------
    >>> cost = discrete_noise_cost(1000, 0.001, 2**-30)
    >>> f"{cost.value:.1e}", f"{cost.half_width:.1e}"
    ('3.5e-11', '4.7e-10')
    """
    k = questions
    ratio = grid / sigma
    each = ratio * ratio / 24 * (_SECOND + _THIRD * ratio)
    return GridCost(min(1.0, up(k * each, 16)), grid / 2)
