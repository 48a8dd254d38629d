"""Nelder and Mead's search for a least value, in plain floats.

SciPy's `minimize` takes the same steps, to the last digit, on small arrays, which cost more than most functions that
are searched here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from operator import add, itemgetter

import numpy as np

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
    if any(one[0] == next_[0] for one, next_ in pairwise(ranked)):
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


__all__ = ["simplex"]
