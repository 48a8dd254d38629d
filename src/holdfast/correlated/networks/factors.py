"""Probability tables of discrete networks: validation, products of logarithms, and variable elimination.

A factor is a non-negative function of a few variables. Products of many factors leave the range of doubles; their
logarithms do not. An impossible cell is minus infinity and stays so exactly, which matters: an impossible cell makes an
influence infinite, a very small one does not.

Variable elimination
--------------------
The cost is the largest table on the way, which the order of elimination decides. Finding the best order is hard; the
greedy one, which always removes the variable whose table is smallest, is exact on trees and good on networks of
moderate width. Where even that is too wide the answer is `TooWide`, never an approximation.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast.core import arguments
from holdfast.errors import InvalidParameter

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Factor:
    """Logarithms of a table; axis `j` runs over the values of variable `variables[j]`."""

    variables: tuple[int, ...]
    logs: Array

    @classmethod
    def of(cls, variables: Sequence[int], table: npt.ArrayLike) -> Factor:
        """Return the factor of a table of non-negative numbers.

        Examples
        --------
        >>> Factor.of((0,), [1.0, 0.0]).logs.tolist()
        [0.0, -inf]
        """
        return cls(tuple(variables), log_of(np.asarray(table, dtype=float)))


def log_of(table: Array) -> Array:
    """Logarithms with `log 0 = -inf` and no warning.

    Examples
    --------
    >>> log_of(np.array([0.0, 1.0])).tolist()
    [-inf, 0.0]
    """
    with np.errstate(divide="ignore"):
        return np.log(table)


def log_sum(logs: Array, axes: tuple[int, ...], keep: bool = False) -> Array:
    """Logarithm of the sum of `exp(logs)` over some axes; a sum of impossible cells is impossible.

    Examples
    --------
    >>> log_sum(np.log([[0.25, 0.75], [1.0, 3.0]]), (1,)).round(6).tolist()
    [0.0, 1.386294]
    >>> log_sum(np.array([-np.inf, -np.inf]), (0,)).tolist()
    -inf
    """
    if not axes:
        return logs
    top = np.max(logs, axis=axes, keepdims=True)
    shift = np.where(np.isneginf(top), 0.0, top)
    sums = log_of(np.sum(np.exp(logs - shift), axis=axes, keepdims=True)) + shift
    return sums if keep else np.squeeze(sums, axis=axes)


def product(factors: Iterable[Factor], variables: Sequence[int], sizes: Sequence[int]) -> Factor:
    """Return the product of factors as one table over `variables`, which holds every variable of theirs.

    Examples
    --------
    >>> joint = product([Factor.of((0,), [0.5, 0.5]), Factor.of((0, 1), [[0.9, 0.1], [0.4, 0.6]])], (1, 0), [2, 2])
    >>> np.exp(joint.logs).round(6).tolist()
    [[0.45, 0.2], [0.05, 0.3]]
    """
    place = {variable: axis for axis, variable in enumerate(variables)}
    result = np.zeros(tuple(sizes[variable] for variable in variables))
    for factor in factors:
        order = sorted(range(len(factor.variables)), key=lambda axis, f=factor: place[f.variables[axis]])  # type: ignore[misc]
        shape = [1] * len(variables)
        for variable, size in zip(factor.variables, factor.logs.shape, strict=True):
            shape[place[variable]] = size
        result = result + np.transpose(factor.logs, order).reshape(shape)
    return Factor(tuple(variables), result)


CELLS = 2**22
"""Largest table that an elimination may build unless a caller says otherwise: 32 MiB of doubles."""


class TooWide(Exception):
    """A table would hold more cells than allowed. Callers fall back to something that needs no table."""


def elimination_order(
    scopes: Iterable[Collection[int]], remove: Collection[int], sizes: Sequence[int]
) -> tuple[list[int], int]:
    """Return an order in which to sum variables out, and the cells of the largest table that it builds.

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
    """Return the product of the factors, summed over every variable that is not kept; up to a constant it is their
    distribution.

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


SUM_TOLERANCE = 1e-12


def records_first(nodes: Mapping[str, Any], hidden: Collection[str]) -> tuple[tuple[str, ...], int]:
    """Names with the rows of the database first, and how many these are.

    Examples
    --------
    >>> records_first({"h": 2, "a": 2}, ["h"])
    (('a', 'h'), 1)
    """
    if not isinstance(nodes, Mapping) or not nodes or not all(isinstance(name, str) for name in nodes):
        raise InvalidParameter(
            "a network must be a mapping from the name of each node to its definition, with at least one node"
        )
    away = set(_named("hidden", hidden))
    for name in away:
        if name not in nodes:
            raise InvalidParameter(f"hidden must name nodes of the network, got {name!r}")
    rows = tuple(name for name in nodes if name not in away)
    if not rows:
        raise InvalidParameter("hidden must leave at least one node that is a record")
    return rows + tuple(name for name in nodes if name in away), len(rows)


def bayesian_tables(
    tables: Mapping[str, tuple[Sequence[str], npt.ArrayLike]], names: Sequence[str]
) -> tuple[list[tuple[int, ...]], list[Array], list[int]]:
    """Parents, conditional tables and numbers of values, each by node.

    Examples
    --------
    >>> bayesian_tables({"a": ((), [0.6, 0.6])}, ["a"])
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: tables['a'] must have rows that sum to 1 within 1e-12, got a row with sum 1.2
    """
    number = {name: j for j, name in enumerate(names)}
    parents: list[tuple[int, ...]] = []
    arrays: list[Array] = []
    for name in names:
        where = f"tables[{name!r}]"
        entry = tables[name]
        if not isinstance(entry, (tuple, list)) or len(entry) != 2 or isinstance(entry[0], str):
            raise InvalidParameter(f"{where} must be a pair: a list of parents and a table")
        above, table = _named(where, entry[0]), entry[1]
        for parent in above:
            if parent not in number or parent == name:
                raise InvalidParameter(f"{where} must have as parents only other nodes of the network, got {parent!r}")
        if len(set(above)) != len(above):
            raise InvalidParameter(f"{where} must name each parent only once")
        parents.append(tuple(number[parent] for parent in above))
        arrays.append(_array(where, table, len(above) + 1))
    sizes = [table.shape[-1] for table in arrays]
    for j, table in enumerate(arrays):
        where = f"tables[{names[j]!r}]"
        wanted = (*(sizes[p] for p in parents[j]), sizes[j])
        if table.shape != wanted:
            raise InvalidParameter(
                f"{where} must have the shape {wanted}: one axis for each parent, and a last axis for the node itself"
            )
        sums = table.sum(axis=-1)
        worst = float(sums.flat[int(np.argmax(np.abs(sums - 1)))])
        if not abs(worst - 1) <= SUM_TOLERANCE:
            raise InvalidParameter(
                f"{where} must have rows that sum to 1 within {SUM_TOLERANCE:g}, got a row with sum {worst:.15g}"
            )
        arrays[j] = table / sums[..., None]
    return parents, arrays, sizes


def markov_tables(
    sizes: Mapping[str, int], factors: Iterable[tuple[Sequence[str], npt.ArrayLike]], names: Sequence[str]
) -> tuple[list[tuple[int, ...]], list[Array], list[int]]:
    """Scopes and tables of the factors, and numbers of values by node.

    Examples
    --------
    >>> markov_tables({"a": 2}, [(["a"], [-1.0, 2.0])], ["a"])
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: factors[0] must be a table of finite non-negative numbers with 1 axes
    """
    number = {name: j for j, name in enumerate(names)}
    counts = [arguments.whole(f"sizes[{name!r}]", sizes[name], at_least=1, at_most=10**6) for name in names]
    scopes: list[tuple[int, ...]] = []
    arrays: list[Array] = []
    if not isinstance(factors, Iterable):
        raise InvalidParameter("factors must be a list of pairs: a list of nodes and a table")
    for j, entry in enumerate(factors):
        where = f"factors[{j}]"
        if not isinstance(entry, (tuple, list)) or len(entry) != 2:
            raise InvalidParameter(f"{where} must be a pair: a list of nodes and a table")
        scope, table = _named(where, entry[0]), entry[1]
        for name in scope:
            if name not in number:
                raise InvalidParameter(f"{where} must name nodes of the network, got {name!r}")
        if not scope or len(set(scope)) != len(scope):
            raise InvalidParameter(f"{where} must name at least one node, and no node twice")
        array = _array(where, table, len(scope))
        wanted = tuple(counts[number[name]] for name in scope)
        if array.shape != wanted:
            raise InvalidParameter(f"{where} must have shape {wanted}")
        scopes.append(tuple(number[name] for name in scope))
        arrays.append(array)
    return scopes, arrays, counts


def _named(where: str, nodes: Any) -> list[str]:
    names: list[Any] = list(nodes) if isinstance(nodes, Iterable) else [None]
    if not all(isinstance(name, str) for name in names):
        raise InvalidParameter(f"{where} must be a list of names of nodes of the network")
    return names


def _array(where: str, table: Any, axes: int) -> Array:
    try:
        array = np.array(table, dtype=float)
    except (TypeError, ValueError, OverflowError):
        array = np.array(math.nan)
    if array.ndim != axes or array.size == 0 or not np.isfinite(array).all() or (array < 0).any():
        raise InvalidParameter(f"{where} must be a table of finite non-negative numbers with {axes} axes")
    return array
