"""Logarithms of binomial coefficients, exact while they are cheap and rounded up beyond."""

from __future__ import annotations

import math


def log_choose(n: int, k: int) -> float:
    """`ln C(n, k)`: from the exact integer for up to a thousand factors, else from log-gamma, rounded up.

    Examples
    --------
    >>> round(log_choose(10, 2), 10)
    3.8066624898
    """
    if min(k, n - k) <= 1000:
        return math.log(math.comb(n, k))
    # log-gamma is good to a few units in the last place of its largest term
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + 1e-14 * math.lgamma(n + 1)


__all__ = ["log_choose"]
