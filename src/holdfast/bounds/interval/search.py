"""Small searches: a minimum over a few positive parameters, and ends of monotone properties.

A bound of this package is valid at every value of its free parameters, so a search that stops early costs width and
never validity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Stands for "no bound here"; finite, so that differences inside the simplex search stay numbers.
NONE = 1e300


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
    from scipy.optimize import minimize

    def guarded(x: Sequence[float]) -> float:
        try:
            value = objective(x)
        except (OverflowError, ZeroDivisionError, ValueError):
            return NONE
        return value if math.isfinite(value) else NONE

    def once(start: Sequence[float]) -> tuple[float, tuple[float, ...]]:
        scale = abs(guarded(start))
        scale = scale if 0 < scale < NONE else 1.0
        options: Any = {"xatol": spread, "fatol": tolerance, "maxiter": 2000, "maxfev": 4000}

        def scaled(x: NDArray[np.float64]) -> float:
            return guarded([float(v) for v in x]) / scale

        found: Any = minimize(scaled, np.asarray(start, dtype=float), method="Nelder-Mead", options=options)
        return guarded([float(v) for v in found.x]), tuple(float(v) for v in found.x)

    best = min((once(start) for start in starts), key=lambda pair: pair[0])
    for _ in range(restarts):
        best = min(best, once(best[1]), key=lambda pair: pair[0])
    return best


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


__all__ = ["NONE", "minimise", "turning_point"]
