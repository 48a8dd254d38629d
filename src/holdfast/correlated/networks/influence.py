"""Max-influence on a discrete network, exactly: one record on a set, and the largest over what may be known nearby.

Conditioning can raise an influence: two causes of one effect are independent until the effect is seen. So the influence
of a quilt is a maximum over every set `L` of nearby records that an adversary may know. The tables of all these sets
come from one table by summing one variable out at a time, so that together they cost about as much as the largest few.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import pairwise

import numpy as np

from holdfast.bounds.correlated.influence import birkhoff_influence
from holdfast.correlated.networks.factors import CELLS, Array, Factor, TooWide, log_sum, marginal, product
from holdfast.correlated.networks.graph import Graph, path_between

_UP = 1 + 1e-12
_NOISE = 1e-13
"""Errors of the sums of logarithms stay below this; less than it is no influence, and more is rounded up by it."""


def table_influence(logs: Array, quilt_axes: int) -> float:
    """Max-influence read off one table; axis 0 is the record, then `quilt_axes` axes, then what is known.

    `max ln P[x_Q | x_i, x_L] / P[x_Q | x_i', x_L]` over possible `(x_i, x_L)` and `(x_i', x_L)`. A value of the quilt
    that one of the two allows and the other does not makes it infinite; values that both rule out do not count.

    Parameters
    ----------
    logs : array
        Logarithms of the joint table, up to a constant.
    quilt_axes : int
        How many axes belong to the quilt.

    Returns
    -------
    float
        Nats; rounding errors below 1e-13 are returned as 0.

    Examples
    --------
    A fair bit, read through a channel that flips one in ten: ln 9.

    >>> round(table_influence(np.log([[0.45, 0.05], [0.05, 0.45]]), 1), 9)
    2.197224577
    """
    if quilt_axes == 0:
        return 0.0
    norm = log_sum(logs, tuple(range(1, 1 + quilt_axes)), keep=True)
    possible = ~np.isneginf(norm)
    given = logs - np.where(possible, norm, 0.0)
    high = np.max(np.where(possible, given, -np.inf), axis=0)
    low = np.min(np.where(possible, given, np.inf), axis=0)
    seen = ~np.isneginf(high)
    worst = float(np.max(high[seen] - low[seen], initial=0.0))
    return worst if worst > _NOISE else 0.0


def set_influence(
    factors: Sequence[Factor],
    sizes: Sequence[int],
    record: int,
    quilt: Sequence[int],
    known: Sequence[int] = (),
    cells: int = CELLS,
) -> float:
    """`I(X_quilt <- X_record | X_known)` by variable elimination.

    Raises
    ------
    TooWide
        If a table would have more than `cells` cells.

    Examples
    --------
    Two fair causes and their noisy exclusive or: the effect reveals nothing about one cause until the other is known.

    >>> effect = np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9], [0.9, 0.1]]])
    >>> factors = [Factor.of((0,), [0.5, 0.5]), Factor.of((1,), [0.5, 0.5]), Factor.of((0, 1, 2), effect)]
    >>> set_influence(factors, [2, 2, 2], 0, [2]), round(set_influence(factors, [2, 2, 2], 0, [2], [1]), 9)
    (0.0, 2.197224577)
    """
    table = marginal(factors, (record, *quilt, *known), sizes, cells)
    return table_influence(table.logs, len(quilt))


def largest_influence(
    factors: Sequence[Factor],
    sizes: Sequence[int],
    record: int,
    quilt: Sequence[int],
    nearby: Sequence[int],
    *,
    limit: float = math.inf,
    cells: int = CELLS,
) -> float | None:
    """Return the largest `I(X_quilt <- X_record | X_L)` over every `L` inside `nearby`, rounded up by one part in 1e12.

    Parameters
    ----------
    factors, sizes
        The network.
    record, quilt : int, sequence of int
        Whose influence on what.
    nearby : sequence of int
        The nearby records that an adversary may know; hidden variables do not belong here.
    limit : float
        Stop and return None as soon as the maximum is seen to reach this: exact pruning for a search that has
        something better already.
    cells : int
        Cap on the cells of all tables together, `|Q and i| * prod(1 + size)` over `nearby`.

    Returns
    -------
    float or None
        The maximum over all `L`; None where it is at least a finite `limit`. Never a maximum over some of them.

    Raises
    ------
    TooWide
        If the cap is exceeded, before anything is computed.

    Examples
    --------
    >>> effect = np.array([[[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9], [0.9, 0.1]]])
    >>> factors = [Factor.of((0,), [0.5, 0.5]), Factor.of((1,), [0.5, 0.5]), Factor.of((0, 1, 2), effect)]
    >>> round(largest_influence(factors, [2, 2, 2], 0, [2], [1]), 9)
    2.197224577
    """
    if not quilt:
        return 0.0 if limit > 0 else None
    fixed = math.prod(sizes[v] for v in (record, *quilt))
    if fixed * math.prod(1 + sizes[v] for v in nearby) > cells:
        raise TooWide
    table = marginal(factors, (record, *quilt, *nearby), sizes, cells).logs
    axes = len(quilt)
    worst = table_influence(
        log_sum(table, tuple(range(1 + axes, table.ndim))), axes
    )  # nothing known: often the largest
    if worst >= limit:
        return worst if math.isinf(limit) else None
    stack = [(table, 0)]
    while stack:
        logs, first = stack.pop()
        worst = max(worst, table_influence(logs, axes))
        if worst >= limit:
            return worst if math.isinf(limit) else None
        if not nearby:
            break
        # Each set is met once: its nearby axes are removed from left to right, those before `first` being settled.
        stack.extend((log_sum(logs, (axis,)), axis - axes - 1) for axis in range(1 + axes + first, logs.ndim))
    rounded = worst * _UP + _NOISE if worst else 0.0
    return rounded if rounded < limit else None


def projective_diameter(logs: Array) -> float:
    """Birkhoff's diameter of a positive kernel: the largest `ln K(x,u) K(x',u') / (K(x',u) K(x,u'))`.

    It does not change when rows or columns are multiplied by positive numbers, so a conditional table, a joint table
    and a potential of the same two variables share it. Infinite as soon as a cell is zero.

    Examples
    --------
    >>> round(projective_diameter(np.log([[0.9, 0.1], [0.4, 0.6]])), 9) == round(math.log(0.9 * 0.6 / (0.1 * 0.4)), 9)
    True
    """
    if np.isneginf(logs).any():
        return math.inf
    gaps = logs[:, None, :] - logs[None, :, :]
    return float(np.max(np.max(gaps, axis=2) - np.min(gaps, axis=2), initial=0.0))


def path_bound(diameters: Sequence[float]) -> float:
    """`correlated.birkhoff-influence` along a path, kernels with zeros included.

    A first kernel with zeros gives infinity; a later one contracts nothing and is left out.

    Examples
    --------
    >>> path_bound([2.0, math.inf]), path_bound([math.inf, 1.0])
    (2.0..., inf)
    """
    first, *later = diameters
    return math.inf if math.isinf(first) else birkhoff_influence([first, *(d for d in later if math.isfinite(d))])


def tree_bound(
    factors: Sequence[Factor], sizes: Sequence[int], graph: Graph, record: int, quilt: Collection[int]
) -> float:
    """Evidence-proof bound on the influence of a quilt on a tree: the paths' bounds, added up by the chain rule.

    The term of each quilt node holds whatever else is known, so the earlier nodes may be conditioned on. The component
    must be a tree, every factor a function of one node or of two neighbours.

    Examples
    --------
    >>> from holdfast.correlated.networks.graph import graph_of
    >>> step = [[0.9, 0.1], [0.4, 0.6]]
    >>> chain = [Factor.of((0,), [0.8, 0.2]), Factor.of((0, 1), step), Factor.of((1, 2), step)]
    >>> bound = tree_bound(chain, [2, 2, 2], graph_of(3, [(0, 1), (1, 2)]), 0, [2])
    >>> bound > set_influence(chain, [2, 2, 2], 0, [2])
    True
    """
    total = 0.0
    for node in quilt:
        path = path_between(graph, record, node)
        diameters = []
        for u, v in pairwise(path):
            edge = product([f for f in factors if set(f.variables) == {u, v}], (u, v), sizes)
            diameters.append(projective_diameter(edge.logs))
        total += path_bound(diameters) if diameters else 0.0
    return total
