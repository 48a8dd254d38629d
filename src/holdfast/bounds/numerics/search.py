"""Small numeric searches shared by the bounds.

They only choose free parameters. Every point they may return is an instance of a theorem, so a search that stops early
gives a looser bound and never a wrong one.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from operator import add, itemgetter
from typing import NamedTuple, overload

import numpy as np

from holdfast.core.checkpoint import checkpoint

# --- Simplex ----------------------------------------------------------------------------------------------------------
# Nelder and Mead's search for a least value, in plain floats.
#
# SciPy's `minimize` takes the same steps, to the last digit, on small arrays, which cost more than most functions that
# are searched here.

Point = list[float]
Corner = tuple[float, Point]
_FIRST_STEP, _FIRST_STEP_FROM_ZERO = 0.05, 0.00025


class _Spent(Exception):
    """The function was asked as often as was allowed."""


def simplex(
    f: Callable[[Point], float],
    start: Sequence[float],
    *,
    spread: float,
    tolerance: float,
    most_steps: int = 2000,
    most_calls: int = 4000,
) -> Point:
    """Return the best point of a simplex that moves, stretches and shrinks towards a least value of `f`.

    It begins at `start` and 5 % further along each axis, and ends when no corner is more than `spread` from the best
    one and no value more than `tolerance` above it, or after so many steps or calls. `f` gives finite numbers.

    Examples
    --------
    >>> found = simplex(lambda x: (x[0] - 1) ** 2 + (x[1] + 2) ** 2, [3.0, 0.0], spread=1e-9, tolerance=1e-13)
    >>> [round(v, 6) for v in found]
    [1.0, -2.0]
    """
    calls = 0

    def ask(x: Point) -> float:
        nonlocal calls
        if calls >= most_calls:
            raise _Spent
        calls += 1
        checkpoint()
        return f(x)

    first, size = list(start), len(start)
    corners: list[Corner] = [(ask(first), first)]
    for axis, value in enumerate(first):
        moved = first.copy()
        moved[axis] = (1 + _FIRST_STEP) * value if value != 0 else _FIRST_STEP_FROM_ZERO
        corners.append((ask(moved), moved))
    corners = _ranked(_ranked(corners))
    for _ in range(1, most_steps):
        if calls >= most_calls or _settled(corners, spread, tolerance):
            break
        # not `sum`, which carries its rounding along from Python 3.12 on: the steps would depend on the version
        centre = [reduce(add, across) / size for across in zip(*(x for _, x in corners[:-1]), strict=True)]
        try:
            better = _moved(ask, corners, centre)
            if better is not None:
                corners[-1] = better
            else:
                best = corners[0][1]
                for j in range(1, size + 1):
                    nearer = [b + 0.5 * (v - b) for b, v in zip(best, corners[j][1], strict=True)]
                    corners[j] = ask(nearer), nearer
        except _Spent:
            pass
        corners = _ranked(corners)
    return corners[0][1]


def _ranked(corners: list[Corner]) -> list[Corner]:
    """By value; corners of one value come in the order in which NumPy sorts them, as in SciPy."""
    ranked = sorted(corners, key=itemgetter(0))
    if any(corner[0] == next_[0] for corner, next_ in pairwise(ranked)):
        return [corners[i] for i in np.argsort([value for value, _ in corners])]
    return ranked


def _settled(corners: list[Corner], spread: float, tolerance: float) -> bool:
    least, best = corners[0]
    return (
        max(abs(v - b) for _, x in corners[1:] for v, b in zip(x, best, strict=True)) <= spread
        and max(abs(least - value) for value, _ in corners[1:]) <= tolerance
    )


def _moved(ask: Callable[[Point], float], corners: list[Corner], centre: Point) -> Corner | None:
    """What takes the worst corner's place: on the line through it and the others' centre; None: shrink instead."""
    worst = corners[-1][1]

    def at(share: float, rest: float) -> Corner:
        x = [share * c + rest * w for c, w in zip(centre, worst, strict=True)]
        return ask(x), x

    across = at(2.0, -1.0)
    if across[0] < corners[0][0]:
        further = at(3.0, -2.0)
        return further if further[0] < across[0] else across
    if across[0] < corners[-2][0]:
        return across
    if across[0] < corners[-1][0]:
        outside = at(1.5, -0.5)
        return outside if outside[0] <= across[0] else None
    inside = at(0.5, 0.5)
    return inside if inside[0] < corners[-1][0] else None


# --- Search -----------------------------------------------------------------------------------------------------------

_HUGE = 1e30  # stands for infinity inside the local search, which would divide infinities
_NEAR = 8  # below this many whole numbers a bracket is halved and no longer interpolated in


def first_at_least(f: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Return the smallest float `x` in `[low, high]` with `f(x) >= target`, for a non-decreasing `f`.

    Bisection down to neighbouring floats, so that the returned point itself passes the test. If `high` fails, `high` is
    returned. About 60 evaluations.

    Examples
    --------
    >>> x = first_at_least(lambda x: x * x, 2.0, 0.0, 2.0)
    >>> x * x >= 2.0, round(x, 12)
    (True, 1.414213562373)
    """
    if f(low) >= target:
        return low
    while True:
        middle = 0.5 * (low + high)
        if low > 0 and high > 4 * low:
            middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            return high
        if f(middle) >= target:
            high = middle
        else:
            low = middle


def crossing(f: Callable[[float], float], low: float, high: float, width: float) -> tuple[float, float]:
    """Return a bracket `(a, b)` no wider than `width` with `f(a) < 0 <= f(b)`, for an increasing and expensive `f`.

    False position with every third step a bisection; `f(low) < 0 <= f(high)` is for the caller to see to. About fifteen
    evaluations where `f` is smooth, and never more than three times those of bisection.

    Examples
    --------
    >>> a, b = crossing(lambda x: x**3 - 2, 0.0, 2.0, 1e-12)
    >>> a**3 < 2 <= b**3, b - a <= 1e-12
    (True, True)
    """
    at_low, at_high = f(low), f(high)
    step = 0
    while high - low > width:
        step += 1
        checkpoint()
        middle = 0.5 * (low + high)
        if step % 3 and math.isfinite(at_low) and at_high > at_low:
            guess = low + (high - low) * at_low / (at_low - at_high)
            # aim a little beyond the root, from the side that is further away, so that both ends move
            guess += 0.25 * width if guess - low > high - guess else -0.25 * width
            middle = min(max(guess, low + 0.25 * width), high - 0.25 * width)
        if not low < middle < high:
            break
        value = f(middle)
        if value >= 0:
            high, at_high = middle, value
        else:
            low, at_low = middle, value
    return low, high


def smallest(f: Callable[[float], float], points: Sequence[float]) -> tuple[float, float]:
    """Return `(x, f(x))` with `f(x)` as small as a grid and one local refinement can make it.

    `points` increase; the local search runs between the neighbours of the best grid point. `f` may be infinite.

    Examples
    --------
    >>> x, value = smallest(lambda x: (x - 1) ** 2, [0.0, 0.7, 1.9, 3.0])
    >>> round(x, 6), value < 1e-12
    (1.0, True)
    """
    from scipy.optimize import minimize_scalar

    def at(x: float) -> float:
        checkpoint()
        return f(x)

    values = [at(x) for x in points]
    best = min(range(len(points)), key=values.__getitem__)
    x, value = points[best], values[best]
    if not math.isfinite(value):
        return x, value
    low, high = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
    if low < high:
        tolerance = 1e-10 * max(1.0, abs(x))
        optimum = minimize_scalar(
            lambda x: min(at(x), _HUGE), bounds=(low, high), method="bounded", options={"xatol": tolerance}
        )
        there = f(float(optimum.x))  # not optimum.fun, which stands for infinity from 1e30 on
        if there < value:
            x, value = float(optimum.x), there
    return x, value


def spaced(low: float, high: float, count: int) -> list[float]:
    """Return `count` points from `low` to `high`, evenly spaced.

    Examples
    --------
    >>> spaced(0.0, 1.0, 3)
    [0.0, 0.5, 1.0]
    """
    return [low + (high - low) * i / (count - 1) for i in range(count)]


def minimise(
    objective: Callable[[Sequence[float]], float],
    starts: Sequence[Sequence[float]],
    *,
    tolerance: float = 1e-13,
    spread: float = 1e-9,
    restarts: int = 1,
) -> tuple[float, tuple[float, ...]]:
    """Nelder-Mead from each start and again from the best point; returns the value and the point.

    It stops when the simplex is smaller than `spread` and its values agree to a relative `tolerance`.

    Examples
    --------
    >>> value, point = minimise(lambda x: (x[0] - 1) ** 2 + 2, [[0.0]])
    >>> round(value, 9), round(point[0], 5)
    (2.0, 1.0)
    """

    def guarded(x: Sequence[float]) -> float:
        try:
            value = objective(x)
        except (OverflowError, ZeroDivisionError, ValueError):
            return math.inf
        return value if math.isfinite(value) else math.inf

    def once(start: Sequence[float]) -> tuple[float, tuple[float, ...]]:
        scale = abs(guarded(start))
        scale = scale if 0 < scale < math.inf else 1.0
        point = simplex(
            lambda x: min(guarded(x) / scale, _HUGE), [float(v) for v in start], spread=spread, tolerance=tolerance
        )
        return guarded(point), tuple(point)

    best = min((once(start) for start in starts), key=lambda pair: pair[0])
    for _ in range(restarts):
        best = min(best, once(best[1]), key=lambda pair: pair[0])
    return best


@overload
def first_whole(holds: Callable[[int], bool], start: int = 1) -> int: ...
@overload
def first_whole(holds: Callable[[int], bool], start: int = 1, *, limit: int) -> int | None: ...
def first_whole(holds: Callable[[int], bool], start: int = 1, *, limit: int | None = None) -> int | None:
    """Return the smallest whole number from `start` (at least 1) on at which a predicate that turns true holds.

    By doubling and halving: about `2 log2` of it evaluations. None where it does not hold at `limit`, nor before.

    Examples
    --------
    >>> first_whole(lambda n: n * n >= 1000), first_whole(lambda n: n * n >= 1000, limit=31)
    (32, None)
    """
    low, high = start - 1, start
    while not holds(high):
        checkpoint()
        if limit is not None and high >= limit:
            return None
        low, high = high, 2 * high if limit is None else min(2 * high, limit)
    while high - low > 1:
        checkpoint()
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def turning_point(excess: Callable[[int], float], start: int, limit: int = 10**18) -> int:
    """Return the last whole number in `[0, limit]` at which a rising function is at most 0 (0 if there is none).

    `excess` is close to linear in the logarithm of its argument here (the log of a width over its target). Growing
    factors from `start` bracket the turn, and `neighbours` closes the bracket.

    Examples
    --------
    >>> turning_point(lambda k: math.log(k / 1234.5), 10)
    1234
    """
    low, high, at_low, at_high = 0, limit + 1, -math.inf, math.inf
    x, factor = min(max(1, start), limit), 4
    while high - low > 1 and (low == 0 or high == limit + 1):
        checkpoint()
        value = excess(x)
        if value <= 0:
            low, at_low, x = x, value, min(x * factor, limit)
        else:
            high, at_high, x = x, value, max(1, x // factor)
        factor = min(factor * factor, 1 << 20)
    if high - low > 1:
        low, _ = neighbours(excess, low, high, at_low, at_high, logarithmic=True)
    return low


def neighbours(
    f: Callable[[int], float],
    low: int,
    high: int,
    at_low: float,
    at_high: float,
    *,
    logarithmic: bool = False,
    apart: int = 1,
) -> tuple[int, int]:
    """Return two neighbouring whole numbers, or two at most `apart`, with `f(low) <= 0 < f(high)`; `f` rises.

    `at_low` and `at_high` are the values at the given ends. Each round interpolates, then steps twice as far as the
    slope says from the end that is nearer to 0, so that both ends close in (Alefeld, Potra and Shi 1995). A round that
    does not quarter the bracket is followed by bisections, by twice as many after each further one. About a dozen
    evaluations where `f` is smooth on its scale, and a fifth more than bisection takes where it is a step. With
    `logarithmic` the scale is that of the logarithm.

    Examples
    --------
    >>> neighbours(lambda k: k * k - 2 * 10**12, 0, 10**9, -2e12, 1e18)
    (1414213, 1414214)
    """

    def inside(share: float) -> int:
        if logarithmic and low >= 0:
            x = low + round((low + 1) * math.expm1(share * math.log1p((high - low) / (low + 1))))
        else:
            x = low + round(share * (high - low))
        return min(max(x, low + 1), high - 1)

    def probe(x: int) -> None:
        nonlocal low, high, at_low, at_high
        checkpoint()
        value = f(x)
        if value <= 0:
            low, at_low = x, value
        else:
            high, at_high = x, value

    def size() -> float:
        return math.log1p((high - low) / (low + 1)) if logarithmic and low >= 0 else float(high - low)

    halvings = 0
    while high - low > max(_NEAR, apart):
        before = size()
        for twice in (False, True):
            rise = at_high - at_low
            if high - low > apart and 0 < rise < math.inf:
                from_low = not twice or -at_low < at_high
                share = (1 + twice) * (-at_low if from_low else at_high) / rise
                probe(inside(share if from_low else 1 - share))
        halvings = 0 if size() <= 0.25 * before else 2 * halvings + 1
        for _ in range(halvings):
            if high - low > max(_NEAR, apart):
                probe(inside(0.5))
    while high - low > apart:
        probe(inside(0.5))
    return low, high


# --- Best point -------------------------------------------------------------------------------------------------------
# Best use of a whole curve of bounds.
#
# A mechanism's guarantee is not one pair `(k, beta)` but a curve: for every `beta` a number of bits. All its points are
# true at once, so the best point may be chosen freely, also after seeing the p-value, as long as the curve was fixed
# before the data (Rogers et al. 2016, Theorem 1.3; the argument for the curve is derived and reviewed). A curve is a
# function of `slack = ln(1/beta)` that returns nats, because tiny probabilities are common here.

Curve = Callable[[float], float]


class CurvePoint(NamedTuple):
    """A point of a curve: the logarithm of what was optimised, the exponent in nats and `slack = ln(1/beta)`."""

    log_value: float
    nats: float
    slack: float


def best_level(curve: Curve, alpha: float, at_zero: float = math.inf) -> CurvePoint:
    """Return the largest `(alpha - beta) exp(-k(beta))`, as a logarithm, over the curve and its value at `beta = 0`.

    The rejection regions for different `beta` are nested, so the largest one costs nothing.

    Examples
    --------
    >>> point = best_level(lambda slack: 0.1 + 0.05 * slack, 0.05)
    >>> 0.02 < math.exp(point.log_value) < 0.05
    True
    """
    log_alpha = math.log(alpha)

    def penalty(log_gap: float) -> float:
        gap = math.exp(float(log_gap))  # ln(alpha/beta)
        return curve(gap - log_alpha) - math.log(-math.expm1(-gap))

    log_gap, value = smallest(penalty, spaced(-14.0, 6.6, 83))
    if at_zero <= value:
        return CurvePoint(log_alpha - at_zero, at_zero, math.inf)
    slack = math.exp(log_gap) - log_alpha
    return CurvePoint(log_alpha - value, curve(slack), slack)


def best_probability(curve: Curve, log_p: float, at_zero: float = math.inf, *, rising: bool = False) -> CurvePoint:
    """Return the smallest `exp(k(beta)) p + beta`, as a logarithm, over the curve and its value at `beta = 0`.

    `rising` says that the curve never falls as `slack` grows. It changes no result and spares most of the search: the
    sum is at least each of its parts, so points where one part alone is too large need not be tried.

    Examples
    --------
    >>> point = best_probability(lambda slack: 0.1 + 0.05 * slack, math.log(1e-3))
    >>> 1e-3 < math.exp(point.log_value) < 1e-2
    True
    """
    if log_p >= 0:
        return CurvePoint(0.0, 0.0, math.inf)

    def total(slack: float) -> float:
        return _log_sum(log_p + curve(slack), -slack)

    # Below p e^-40 a smaller beta gains nothing, because the exponent is at least 0. In units of -log_p, so that the
    # search does not square numbers near the end of the floating range.
    unit = max(1.0, -log_p)
    points = spaced(1e-9 / unit, (-log_p + 40.0) / unit, 129)
    if rising:
        points = _around_the_least(points, lambda x: log_p + curve(x * unit), lambda x: -x * unit, -log_p)
    x, _ = smallest(lambda x: total(float(x) * unit) / unit, points)
    slack, value = x * unit, total(x * unit)
    if log_p + at_zero <= value:
        return CurvePoint(min(log_p + at_zero, 0.0), at_zero, math.inf)
    return CurvePoint(min(value, 0.0), curve(slack), slack)


def _around_the_least(points: list[float], rises: Curve, falls: Curve, size: float) -> list[float]:
    """The consecutive points that hold the least `_log_sum(rises, falls)` and a neighbour on either side of it.

    Both functions may be wrong by a relative 1e-9 of `size`, the size of the numbers they are made of.
    """
    known: dict[int, float] = {}

    def rise(i: int) -> float:
        if i not in known:
            known[i] = rises(points[i])
        return known[i]

    def total(i: int) -> float:
        return _log_sum(rise(i), falls(points[i]))

    last = len(points) - 1
    # any point gives a limit; the turn, if there is one, gives a sharp one
    turn = bisect_left(range(last), True, key=lambda i: total(i) <= total(i + 1))
    limit = total(turn) + 1e-9 * max(1.0, size)
    if not math.isfinite(limit):
        return points
    first = bisect_left(range(last), True, key=lambda i: falls(points[i]) <= limit)
    end = bisect_left(range(last + 1), True, lo=turn, key=lambda i: rise(i) > limit)
    return points[max(first - 1, 0) : end + 1]


def _log_sum(a: float, b: float) -> float:
    high, low = max(a, b), min(a, b)
    return high if math.isinf(high) else high + math.log1p(math.exp(low - high))
