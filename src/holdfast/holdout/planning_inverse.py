"""Inverses of every method's width: least rows, most questions, most failures for a wanted half-width.

All are searches on the forward width, or on a quicker test that agrees with it, so forward and inverse cannot differ.
"""

from __future__ import annotations

import math

from holdfast.bounds.search import turning_point
from holdfast.errors import InvalidParameter
from holdfast.holdout.planning_use import Method, Use

#: No search goes beyond this many rows or questions.
LIMIT = 10**15


def _excess(method: Method, n: int, use: Use, tau: float) -> float:
    """At most 0 exactly where the half-width is at most `tau`."""
    if method.spare is not None:
        return -method.spare(n, use, tau)
    width = method.width(n, use).half_width
    if width <= tau:
        return min(0.0, math.log(width / tau))
    return max(math.log(width / tau), 5e-324)


def reaches(method: Method, n: int, use: Use, tau: float) -> bool:
    """Whether `n` rows give the method a half-width of at most `tau`."""
    return _excess(method, n, use, tau) <= 0


def least_rows(method: Method, use: Use, tau: float) -> int | None:
    """The least number of rows with a half-width of at most `tau`; None beyond 10**15."""
    if method.rows is not None:
        try:
            found = method.rows(use, tau)
        except InvalidParameter:  # more rows than the theorem's own search allows
            return None
        return found if found <= LIMIT else None
    few = max(1, math.ceil(math.log(2 * use.questions / use.beta) / (2 * tau * tau)))

    def spare(n: int) -> float:
        excess = _excess(method, n, use, tau)
        return -excess if excess > 0 else max(-excess, 5e-324)

    found = 1 + turning_point(spare, min(few, LIMIT), LIMIT)
    return found if found <= LIMIT else None


def most_questions(method: Method, n: int, use: Use, tau: float) -> int:
    """The most questions with a half-width of at most `tau` at these failures, at most 10**15; 0 when none fits."""
    if method.most_questions is not None:
        return method.most_questions(n, use, tau)
    return turning_point(lambda m: _excess(method, n, use.asking(m), tau), use.questions, LIMIT)


def most_failures(method: Method, n: int, use: Use, tau: float) -> int | None:
    """The most failures that still leave a half-width of at most `tau`; None when not even none does.

    A method that cannot fail allows as many as there are questions.
    """
    if not reaches(method, n, use.failing(0), tau):
        return None
    if not method.counts_failures:
        return use.questions
    return turning_point(lambda f: _excess(method, n, use.failing(f), tau), max(1, use.failures), use.questions)


__all__ = ["LIMIT", "least_rows", "most_failures", "most_questions", "reaches"]
