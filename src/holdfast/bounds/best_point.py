"""Best use of a whole curve of bounds.

A mechanism's guarantee is not one pair `(k, beta)` but a curve: for every `beta` a number of bits. All its points are
true at once, so the best point may be chosen freely, also after seeing the p-value, as long as the curve was fixed
before the data (Rogers et al. 2016, Theorem 1.3; the argument for the curve is derived and reviewed). A curve is a
function of `slack = ln(1/beta)` that returns nats, because tiny probabilities are common here.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

from holdfast.bounds.search import smallest, spaced

Curve = Callable[[float], float]


class Point(NamedTuple):
    """A point of a curve: the logarithm of what was optimised, the exponent in nats and `slack = ln(1/beta)`."""

    log_value: float
    nats: float
    slack: float


def best_level(curve: Curve, alpha: float, at_zero: float = math.inf) -> Point:
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
        return Point(log_alpha - at_zero, at_zero, math.inf)
    slack = math.exp(log_gap) - log_alpha
    return Point(log_alpha - value, curve(slack), slack)


def best_probability(curve: Curve, log_p: float, at_zero: float = math.inf, *, rising: bool = False) -> Point:
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
        return Point(0.0, 0.0, math.inf)

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
        return Point(min(log_p + at_zero, 0.0), at_zero, math.inf)
    return Point(min(value, 0.0), curve(slack), slack)


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


__all__ = ["Curve", "Point", "best_level", "best_probability"]
