"""Checks of the tables that declare a network, at the door."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.correlated.network_factors import Array
from holdfast.errors import InvalidParameter

SUM_TOLERANCE = 1e-12


def records_first(nodes: Mapping[str, Any], hidden: Collection[str]) -> tuple[tuple[str, ...], int]:
    """Names with the rows of the database first, and how many these are.

    Examples
    --------
    >>> records_first({"h": 2, "a": 2}, ["h"])
    (('a', 'h'), 1)
    """
    if not isinstance(nodes, Mapping) or not nodes or not all(isinstance(name, str) for name in nodes):
        raise InvalidParameter("a network must be a mapping of at least one node, by name")
    away = set(_named("hidden", hidden))
    for name in away:
        if name not in nodes:
            raise InvalidParameter(f"hidden must name nodes of the network, got {name!r}")
    rows = tuple(name for name in nodes if name not in away)
    if not rows:
        raise InvalidParameter("hidden must leave at least one record")
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
                raise InvalidParameter(f"{where} must have other nodes of the network as parents, got {parent!r}")
        if len(set(above)) != len(above):
            raise InvalidParameter(f"{where} must name each parent once")
        parents.append(tuple(number[parent] for parent in above))
        arrays.append(_array(where, table, len(above) + 1))
    sizes = [table.shape[-1] for table in arrays]
    for j, table in enumerate(arrays):
        where = f"tables[{names[j]!r}]"
        wanted = (*(sizes[p] for p in parents[j]), sizes[j])
        if table.shape != wanted:
            raise InvalidParameter(f"{where} must have shape {wanted}, an axis a parent and the last its own")
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
    counts = [check.whole(f"sizes[{name!r}]", sizes[name], at_least=1, at_most=10**6) for name in names]
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
            raise InvalidParameter(f"{where} must name at least one node, and each once")
        array = _array(where, table, len(scope))
        wanted = tuple(counts[number[name]] for name in scope)
        if array.shape != wanted:
            raise InvalidParameter(f"{where} must have shape {wanted}")
        scopes.append(tuple(number[name] for name in scope))
        arrays.append(array)
    return scopes, arrays, counts


def _named(where: str, nodes: Any) -> list[str]:
    found: list[Any] = list(nodes) if isinstance(nodes, Iterable) else [None]
    if not all(isinstance(name, str) for name in found):
        raise InvalidParameter(f"{where} must name nodes of the network in a list of texts")
    return found


def _array(where: str, table: Any, axes: int) -> Array:
    try:
        array = np.array(table, dtype=float)
    except (TypeError, ValueError, OverflowError):
        array = np.array(math.nan)
    if array.ndim != axes or array.size == 0 or not np.isfinite(array).all() or (array < 0).any():
        raise InvalidParameter(f"{where} must be a table of finite non-negative numbers with {axes} axes")
    return array


__all__ = ["bayesian_tables", "markov_tables", "records_first"]
