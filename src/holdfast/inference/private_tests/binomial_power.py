"""Power of the private test of a proportion, exact, and the records that a target asks for."""

from __future__ import annotations

import math

from holdfast.bounds.numerics.search import first_whole
from holdfast.core import arguments
from holdfast.errors import InvalidParameter
from holdfast.inference.private_tests.binomial_test import (
    ALTERNATIVES,
    LARGEST_N,
    Alternative,
    Masses,
    Tulap,
    critical_count,
)
from holdfast.noise.inputs import Rational


def power(
    n: int,
    theta0: float,
    theta1: float,
    *,
    epsilon: Rational,
    delta: Rational = 0,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
) -> float:
    """Return the exact probability that the test `proportion` rejects if the true proportion is `theta1`.

    Examples
    --------
    >>> round(power(1000, 0.5, 0.55, epsilon=1), 4), round(power(1000, 0.5, 0.5, epsilon=1), 10)
    (0.884, 0.05)
    """
    n = arguments.whole("n", n, at_least=1, at_most=LARGEST_N)
    theta0, alpha = arguments.probability("theta0", theta0), arguments.probability("alpha", alpha)
    theta1 = arguments.probability("theta1", theta1, zero=True, one=True)
    arguments.choice("alternative", alternative, ALTERNATIVES)
    noise = Tulap(epsilon, delta)
    share, total = (alpha / 2 if alternative == "two-sided" else alpha), 0.0
    for sign, null, truth in ((1, theta0, theta1), (-1, 1 - theta0, 1 - theta1)):
        if alternative in ("two-sided", "greater" if sign > 0 else "less"):
            c = critical_count(n, null, share, noise)
            whole = math.floor(c + 0.5)
            total += Masses(n, truth).tail(whole, c - whole, noise)
    return min(1.0, total)


def rows_for_power(
    theta0: float,
    theta1: float,
    target: float = 0.8,
    *,
    epsilon: Rational,
    delta: Rational = 0,
    alpha: float = 0.05,
    alternative: Alternative = "two-sided",
) -> int:
    """Return the smallest number of records with which the test `proportion` has power `target` at `theta1`.

    The number is at most `LARGEST_N`.

    Notes
    -----
    A most powerful one-sided test never loses power with a record more; the doubled one is searched in the same
    way.

    Examples
    --------
    >>> rows_for_power(0.5, 0.55, epsilon=1), rows_for_power(0.5, 0.55, epsilon=0.1)
    (790, 1267)
    """
    target = arguments.probability("target", target)
    if theta0 == theta1:
        raise InvalidParameter(
            "theta1 must differ from theta0, because no number of records can tell equal proportions apart"
        )

    def enough(n: int) -> bool:
        predicted = power(n, theta0, theta1, epsilon=epsilon, delta=delta, alpha=alpha, alternative=alternative)
        return predicted >= target

    rows = first_whole(enough, limit=LARGEST_N)
    if rows is None:
        raise InvalidParameter(
            f"the power target {target:g} is not reached with {LARGEST_N} records, which is the limit; give a smaller "
            "target or a theta1 further from theta0"
        )
    return rows


__all__ = ["power", "rows_for_power"]
