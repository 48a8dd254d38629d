"""Inverses of monotone predicates: size, budget and accuracy come from one predicate, so they invert each other."""

from __future__ import annotations

import math
from collections.abc import Callable

from holdfast.bounds.holdout.ranges import MOST
from holdfast.bounds.search import first_at_least, first_whole


def least_whole(holds: Callable[[int], bool], top: int = MOST) -> float:
    """The smallest whole number in [1, top] at which a predicate that turns true holds; `inf` where none does.

    Examples
    --------
    >>> least_whole(lambda n: n * n >= 1000), least_whole(lambda n: False)
    (32, inf)
    """
    found = first_whole(holds, limit=top) if holds(top) else None
    return math.inf if found is None else found


def most_whole(holds: Callable[[int], bool], top: int = MOST) -> int:
    """The largest whole number in [1, top] at which a predicate that turns false holds; 0 where none does.

    Examples
    --------
    >>> most_whole(lambda n: n * n <= 1000), most_whole(lambda n: False)
    (31, 0)
    """
    least = least_whole(lambda value: not holds(value), top)
    return top if math.isinf(least) else int(least) - 1


def least_accuracy(excess: Callable[[float], float]) -> float:
    """The smallest `tau` below 1 at which an increasing function is at least 0; `inf` where none is.

    Examples
    --------
    >>> least_accuracy(lambda tau: tau - 0.25), least_accuracy(lambda tau: -1.0)
    (0.25, inf)
    """
    top = 1 - 2.0**-40
    return first_at_least(excess, 0.0, 1e-12, top) if excess(top) >= 0 else math.inf


__all__ = ["least_accuracy", "least_whole", "most_whole"]
