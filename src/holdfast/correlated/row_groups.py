"""Independent groups of rows put together: how many have each size, and what they are worth in all."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from holdfast import check
from holdfast.bounds.exact import down, up
from holdfast.bounds.interval.width import MOST
from holdfast.correlated.route import Route
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

GROUPS = "independent groups"


def group_sizes(sizes: Any) -> Counter[int]:
    """How many groups have each size.

    Examples
    --------
    >>> group_sizes([3, 1, 3])
    Counter({3: 2, 1: 1})
    """
    if isinstance(sizes, (str, bytes)) or not isinstance(sizes, Iterable):
        raise InvalidParameter(f"sizes must be a list of numbers of rows, got a {type(sizes).__name__}")
    counted = Counter(check.whole(f"sizes[{i}]", size, at_least=1, at_most=MOST) for i, size in enumerate(sizes))
    if not counted:
        raise InvalidParameter("sizes must hold at least one number of rows")
    return counted


def total_rows(counted: Mapping[int, int]) -> int:
    """Rows of all groups."""
    return check.whole("n", sum(size * many for size, many in counted.items()), at_least=1, at_most=MOST)


def together(routes: Mapping[int, Route], counted: Mapping[int, int]) -> Route:
    """The route of independent groups, `counted[k]` of which have `k` rows and the bound `routes[k]`.

    A group's sum is sub-Gaussian with proxy `k^2 / (4 effective_k)`, times its start ratio, about a mean that is off by
    at most `k bias_k`. For independent groups proxies add, ratios multiply, and biases average. Derived.

    Examples
    --------
    >>> round(together({20: Route("chain", 5.0)}, {20: 100}).effective_n, 6)
    500.0
    """
    n = total_rows(counted)
    proxy = math.fsum(many * size * size / routes[size].effective_n for size, many in counted.items())
    bias = math.fsum(many * size * routes[size].bias for size, many in counted.items()) / n
    log_ratio = math.fsum(many * math.log(routes[size].start_ratio) for size, many in counted.items())
    if log_ratio > 690:
        raise GuaranteeUnavailable("the groups start too far from their stationary law for any bound here")
    ratio = 1.0 if log_ratio == 0 else math.exp(log_ratio) * (1 + 1e-12)
    return Route(GROUPS, down(n * (n / proxy), 8), ratio, min(1.0, up(bias, 8)))


__all__ = ["GROUPS", "group_sizes", "together", "total_rows"]
