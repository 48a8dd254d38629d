"""Small numeric searches shared by the bounds.

They only choose free parameters. Every point they may return is an instance of a theorem, so a search that stops early
gives a looser bound and never a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, cast

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
        if float(found.fun) < value:
            x, value = float(found.x), float(found.fun)
    return x, value


def polished(f: Callable[[Sequence[float]], float], start: Sequence[float]) -> tuple[tuple[float, ...], float]:
    """Return `(x, f(x))` after a Nelder-Mead search from `start`, run again from where it ends until it stops gaining.

    Examples
    --------
    >>> x, value = polished(lambda x: (x[0] - 1) ** 2 + (x[1] + 2) ** 2, (0.0, 0.0))
    >>> round(x[0], 4), round(x[1], 4)
    (1.0, -2.0)
    """
    import numpy as np
    from scipy.optimize import minimize

    x, value = tuple(start), f(start)
    for scale in (0.5, 0.05, 0.01):
        corners = [[v + scale * (i == j) for j, v in enumerate(x)] for i in range(-1, len(x))]
        found = minimize(
            cast(Any, lambda point: f([float(v) for v in point])),
            list(x),
            method="Nelder-Mead",
            options=cast(Any, {"initial_simplex": np.array(corners), "xatol": 1e-9, "fatol": 1e-14, "maxiter": 400}),
        )
        gained = value - float(found.fun)
        if gained > 0:
            x, value = tuple(float(v) for v in found.x), float(found.fun)
        if gained <= 1e-13 * abs(value):
            break
    return x, value


def spaced(low: float, high: float, count: int) -> list[float]:
    """Return `count` points from `low` to `high`, evenly spaced.

    Examples
    --------
    >>> spaced(0.0, 1.0, 3)
    [0.0, 0.5, 1.0]
    """
    return [low + (high - low) * i / (count - 1) for i in range(count)]


__all__ = ["crossing", "first_at_least", "polished", "smallest", "spaced"]
