"""Slow and plain answers about small chains: the whole joint table, every subset, every quilt."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Array = NDArray[np.float64]


def joint(steps: Sequence[Array], start: Array) -> Array:
    """The distribution of all records, one axis a record."""
    table = np.asarray(start, dtype=float)
    for step in steps:
        table = table[..., None] * step
    return table


def influence(table: Array, record: int, quilt: Collection[int], known: Collection[int] = ()) -> float:
    """The largest log ratio of P(quilt | record, known) over two possible values of the record."""
    kept = [record, *sorted(known), *sorted(quilt)]
    gone = tuple(j for j in range(table.ndim) if j not in kept)
    small = table.sum(axis=gone) if gone else table
    order = [j for j in range(table.ndim) if j in kept]
    small = np.transpose(small, [order.index(j) for j in kept])
    states = table.shape[0]
    small = small.reshape(states, states ** len(known), states ** len(quilt))
    worst = 0.0
    for k in range(small.shape[1]):
        rows = [row / row.sum() for row in small[:, k] if row.sum() > 0]
        for p, q in itertools.permutations(rows, 2):
            for a, b in zip(p, q, strict=True):
                if a > 1e-15:
                    worst = max(worst, math.inf if b <= 1e-15 else math.log(a / b))
    return worst


def all_quilts(n: int, record: int) -> list[tuple[int | None, int | None, int]]:
    """Left lag, right lag and size of every quilt of a chain."""
    lefts = [None, *range(1, record + 1)]
    rights = [None, *range(1, n - record)]
    return [
        (a, b, (record if a is None else a - 1) + (n - 1 - record if b is None else b - 1) + 1)
        for a in lefts
        for b in rights
    ]


def exhaustive(table: Array, price: Callable[[int, float], float], times: float) -> float:
    """The largest over records of the least price over all quilts, from the joint table alone."""
    n = table.ndim
    worst = 0.0
    for record in range(n):
        marginal = table.sum(axis=tuple(j for j in range(n) if j != record))
        if (marginal > 0).sum() < 2:
            continue
        prices = []
        for a, b, size in all_quilts(n, record):
            quilt = list(([] if a is None else [record - a]) + ([] if b is None else [record + b]))
            prices.append(price(size, times * influence(table, record, quilt)))
        worst = max(worst, min(prices))
    return worst


def sharp(steps: Sequence[Array], start: Array, record: int, a: int | None, b: int | None) -> float:
    """The sharp surcharge (3.3) written out with loops."""
    n = len(steps) + 1
    laws = [np.asarray(start, dtype=float)]
    for step in steps:
        laws.append(laws[-1] @ step)

    def product(low: int, high: int) -> Array:
        value = np.eye(len(start))
        for step in steps[low:high]:
            value = value @ step
        return value

    def column(lag: int, x: int, y: int) -> float:
        value, support = product(record - lag, record), laws[record - lag] > 0
        return max(_log(value[u, x], value[u, y]) for u in np.flatnonzero(support))

    def row(lag: int, x: int, y: int) -> float:
        value = product(record, record + lag)
        return max(_log(value[x, v], value[y, v]) for v in range(len(start)))

    worst = -math.inf
    for x, y in itertools.permutations(np.flatnonzero(laws[record] > 0), 2):
        total = 0.0
        if a is not None:
            prior = math.log(laws[record][y] / laws[record][x])
            total += column(a, x, y) + max(prior, column(a + 1, y, x) if a < record else -math.inf)
        if b is not None:
            total += row(b, x, y) + (row(b + 1, y, x) if record + b + 1 < n else 0.0)
        worst = max(worst, total)
    return worst


def _log(a: float, b: float) -> float:
    if a <= 1e-15:
        return -math.inf
    return math.inf if b <= 1e-15 else math.log(a / b)


def leakage(table: Array, mechanism: Array) -> float:
    """Exact Bayesian DP level of a mechanism with outputs on the last axis of `mechanism`, over every adversary."""
    n, worst = table.ndim, 0.0
    for record in range(n):
        others = [j for j in range(n) if j != record]
        for size in range(n):
            for known in itertools.combinations(others, size):
                gone = tuple(j for j in others if j not in known)
                mass = table.sum(axis=gone, keepdims=True)
                out = (table[..., None] * mechanism).sum(axis=gone, keepdims=True)
                with np.errstate(invalid="ignore", divide="ignore"):
                    conditional = np.moveaxis(out / mass[..., None], record, 0)
                possible = np.moveaxis(mass > 0, record, 0)
                for x, y in itertools.permutations(range(table.shape[0]), 2):
                    both = possible[x] & possible[y]
                    if both.any():
                        worst = max(worst, float(np.log(conditional[x][both] / conditional[y][both]).max()))
    return worst


def worst_mechanism(table: Array, epsilon_dp: float) -> float:
    """The largest Bayesian DP level of any `epsilon_dp`-DP mechanism on binary records, by linear programming."""
    n = table.ndim
    cells = list(itertools.product((0, 1), repeat=n))
    number = {cell: j for j, cell in enumerate(cells)}
    rows = []
    for cell in cells:
        for j in range(n):
            other = (*cell[:j], 1 - cell[j], *cell[j + 1 :])
            row = np.zeros(len(cells))
            row[number[cell]], row[number[other]] = 1.0, -math.exp(epsilon_dp)
            rows.append(row)
    worst = 0.0
    for record in range(n):
        others = [j for j in range(n) if j != record]
        for size in range(n):
            for known in itertools.combinations(others, size):
                for values in itertools.product((0, 1), repeat=size):
                    for x in (0, 1):
                        top, bottom = (_weights(table, cells, record, v, known, values) for v in (x, 1 - x))
                        found = linprog(-top, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=bottom[None], b_eq=[1.0])
                        if found.status == 0:
                            worst = max(worst, math.log(-found.fun))
    return worst


def _weights(
    table: Array, cells: list[tuple[int, ...]], record: int, value: int, known: Sequence[int], values: Sequence[int]
) -> Array:
    weights = np.array(
        [
            table[cell]
            if cell[record] == value and all(cell[j] == v for j, v in zip(known, values, strict=True))
            else 0.0
            for cell in cells
        ]
    )
    total: Array = weights / weights.sum()
    return total
