"""Small numeric searches shared by the bounds.

They only choose free parameters. Every point they may return is an instance of a theorem, so a search that stops early
gives a looser bound and never a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import overload

from holdfast.bounds.simplex import simplex

_HUGE = 1e30  # stands for infinity inside the local search, which would divide infinities


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

    values = [f(x) for x in points]
    best = min(range(len(points)), key=values.__getitem__)
    x, value = points[best], values[best]
    if not math.isfinite(value):
        return x, value
    low, high = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
    if low < high:
        tolerance = 1e-10 * max(1.0, abs(x))
        found = minimize_scalar(
            lambda x: min(f(x), _HUGE), bounds=(low, high), method="bounded", options={"xatol": tolerance}
        )
        there = f(float(found.x))  # not found.fun, which stands for infinity from 1e30 on
        if there < value:
            x, value = float(found.x), there
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
        found = simplex(
            lambda x: min(guarded(x) / scale, _HUGE), [float(v) for v in start], spread=spread, tolerance=tolerance
        )
        return guarded(found), tuple(found)

    best = min((once(start) for start in starts), key=lambda pair: pair[0])
    for _ in range(restarts):
        best = min(best, once(best[1]), key=lambda pair: pair[0])
    return best


@overload
def first_whole(holds: Callable[[int], bool], start: int = 1) -> int: ...
@overload
def first_whole(holds: Callable[[int], bool], start: int = 1, *, limit: int) -> int | None: ...
def first_whole(holds: Callable[[int], bool], start: int = 1, *, limit: int | None = None) -> int | None:
    """The smallest whole number from `start` (at least 1) on at which a predicate that turns true holds.

    By doubling and halving: about `2 log2` of it evaluations. None where it does not hold at `limit`, nor before.

    Examples
    --------
    >>> first_whole(lambda n: n * n >= 1000), first_whole(lambda n: n * n >= 1000, limit=31)
    (32, None)
    """
    low, high = start - 1, start
    while not holds(high):
        if limit is not None and high >= limit:
            return None
        low, high = high, 2 * high if limit is None else min(2 * high, limit)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def turning_point(excess: Callable[[int], float], start: int, limit: int = 10**18) -> int:
    """The last whole number in `[0, limit]` at which a rising function is at most 0 (0 if there is none).

    `excess` is close to linear in the logarithm of its argument here (the log of a width over its target), so each
    step interpolates on that scale and then probes the neighbour that would close the bracket; a step that does not
    halve the bracket is followed by a bisection.

    Examples
    --------
    >>> turning_point(lambda k: math.log(k / 1234.5), 10)
    1234
    """
    ends: dict[int, float] = {}  # the bracket's ends that were evaluated, with their values
    low, high = 0, limit + 1

    def probe(x: int) -> None:
        nonlocal low, high
        value = excess(x)
        ends[x] = value
        if value <= 0:
            low = x
        else:
            high = x

    probe(min(max(1, start), limit))
    factor = 4
    while high - low > 1 and (low == 0 or high == limit + 1):  # bracket by growing factors
        probe(min(low * factor, limit) if low > 0 else max(1, high // factor))
        factor = min(factor * factor, 1 << 20)
        if low == limit:
            return limit
    while high - low > 1:
        before, middle = high - low, (low + high) // 2
        if low > 0 and all(map(math.isfinite, (ends[low], ends[high]))) and ends[high] > ends[low]:
            share = -ends[low] / (ends[high] - ends[low])
            guess = math.exp(math.log(low) + share * math.log(high / low))
            middle = min(max(round(guess), low + 1), high - 1)
        probe(middle)
        if high - low > 1:
            near = low + 1 if middle == low else high - 1
            slack = max(1, (high - low) >> 8)
            probe(min(near + slack, high - 1) if middle == low else max(near - slack, low + 1))
        if high - low > before // 2 and high - low > 1:
            probe((low + high) // 2)
    return low


__all__ = ["crossing", "first_at_least", "first_whole", "minimise", "smallest", "spaced", "turning_point"]
