"""Variable elimination: the law of a few variables of a discrete network.

The cost is the largest table on the way, which the order of elimination decides. Finding the best order is hard; the
greedy one, which always removes the variable whose table is smallest, is exact on trees and good on networks of
moderate width. Where even that is too wide the answer is `TooWide`, never an approximation.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence

from holdfast.correlated.network_factors import Factor, log_sum, product

CELLS = 2**22
"""Largest table that an elimination may build unless a caller says otherwise: 32 MiB of doubles."""


class TooWide(Exception):
    """A table would hold more cells than allowed. Callers fall back to something that needs no table."""


def elimination_order(
    scopes: Iterable[Collection[int]], remove: Collection[int], sizes: Sequence[int]
) -> tuple[list[int], int]:
    """An order in which to sum variables out, and the cells of the largest table that it builds.

    Greedy: next is the variable whose removal makes the smallest table; ties go to the smallest index. Time
    `O(V^2 w)` for `V` variables to remove and neighbourhoods of size `w`.

    Examples
    --------
    >>> elimination_order([(0, 1), (1, 2), (2, 3)], [1, 2], [2, 2, 2, 2])
    ([1, 2], 8)
    """
    near: dict[int, set[int]] = {}
    for scope in scopes:
        for variable in scope:
            near.setdefault(variable, set()).update(scope)
    left = set(remove)
    order: list[int] = []
    largest = 1

    def weight(variable: int) -> int:
        return math.prod(sizes[v] for v in near.get(variable, {variable}))

    weights = {variable: weight(variable) for variable in left}
    while left:
        best = min(left, key=lambda variable: (weights[variable], variable))
        largest = max(largest, weights[best])
        around = near.get(best, {best}) - {best}
        for variable in around:
            near[variable].update(around)
            near[variable].discard(best)
        left.discard(best)
        order.append(best)
        for variable in around & left:
            weights[variable] = weight(variable)
    return order, largest


def marginal(factors: Sequence[Factor], keep: Sequence[int], sizes: Sequence[int], cells: int = CELLS) -> Factor:
    """The product of the factors, summed over every variable that is not kept; up to a constant it is their law.

    Parameters
    ----------
    factors : sequence of Factor
        The network.
    keep : sequence of int
        Variables to keep, in the order of the result's axes.
    sizes : sequence of int
        Number of values of each variable, by index.
    cells : int
        Largest table allowed.

    Raises
    ------
    TooWide
        If the greedy order needs a larger table, before anything is computed.

    Examples
    --------
    >>> import numpy as np
    >>> chain = [Factor.of((0,), [0.8, 0.2]), Factor.of((0, 1), [[0.9, 0.1], [0.4, 0.6]])]
    >>> np.exp(marginal(chain, [1], [2, 2]).logs).round(6).tolist()
    [0.8, 0.2]
    """
    kept = set(keep)
    present = {variable for factor in factors for variable in factor.variables}
    order, largest = elimination_order([f.variables for f in factors], present - kept, sizes)
    if max(largest, math.prod(sizes[variable] for variable in keep)) > cells:
        raise TooWide
    pool = list(factors)
    for variable in order:
        touched = [f for f in pool if variable in f.variables]
        pool = [f for f in pool if variable not in f.variables]
        scope = sorted({v for f in touched for v in f.variables} - {variable})
        joined = product(touched, (*scope, variable), sizes)
        pool.append(Factor(tuple(scope), log_sum(joined.logs, (len(scope),))))
    return product(pool, tuple(keep), sizes)


__all__ = ["CELLS", "TooWide", "elimination_order", "marginal"]
