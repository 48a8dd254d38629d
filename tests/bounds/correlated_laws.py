"""Exact distributions of small dependent samples: oracles that know nothing of the bounds they are compared with."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def random_chain(rng: np.random.Generator) -> Array:
    """A transition matrix of two or three states: sluggish, restless, nearly periodic or plain; seldom reversible."""
    k = int(rng.integers(2, 4))
    matrix = rng.dirichlet(np.full(k, rng.choice([0.3, 1.0])), size=k)
    kind = rng.integers(4)
    if kind == 0:
        matrix = 0.15 * matrix + 0.85 * np.eye(k)
    elif kind == 1:
        matrix = 0.15 * matrix + 0.85 * np.roll(np.eye(k), 1, axis=1)
    return np.asarray(0.98 * matrix + 0.02 / k)


def stationary(matrix: Array) -> Array:
    """The stationary distribution."""
    k = len(matrix)
    system = np.vstack([matrix.T - np.eye(k), np.ones(k)])
    return np.asarray(np.linalg.lstsq(system, np.append(np.zeros(k), 1.0), rcond=None)[0])


def coefficients(matrix: Array, lags: int) -> list[float]:
    """The mixing coefficients, from matrix powers."""
    found, power = [], np.eye(len(matrix))
    for _ in range(lags):
        power = power @ matrix
        found.append(float(max(0.5 * np.abs(x - y).sum() for x in power for y in power)))
    return found


def operator_norm(matrix: Array) -> float:
    """Norm on mean-zero functions of L2(pi): the second singular value."""
    root = np.sqrt(stationary(matrix))
    return float(np.linalg.svd(root[:, None] * matrix / root[None, :], compute_uv=False)[1])


def law_of_sum(matrix: Array, start: Array, values: NDArray[np.int_]) -> Array:
    """The distribution of the sum of `values[i, state of row i]`, whole numbers from 0 on, by dynamic programming."""
    n = len(values)
    most = int(values.max()) * n
    table = np.zeros((len(start), most + 1))

    def shifted(before: Array, i: int) -> Array:
        after = np.zeros_like(before)
        for x in range(len(start)):
            v = int(values[i, x])
            after[x, v:] = before[x, : most + 1 - v]
        return after

    table[:, 0] = start
    table = shifted(table, 0)
    for i in range(1, n):
        table = shifted(matrix.T @ table, i)
    return np.asarray(table.sum(axis=0))


def tails(law: Array, n: int, top: int, centre: float | None = None) -> Iterator[tuple[float, float]]:
    """Every deviation of the mean (values over `top`) from its expectation, with the probability to reach it."""
    means = np.arange(len(law)) / (n * top)
    off = np.abs(means - (float(law @ means) if centre is None else centre))
    for deviation in np.unique(off.round(12)):
        if deviation > 0:
            yield float(deviation), float(law[off >= deviation - 1e-11].sum())


def joint_law(matrix: Array, start: Array, n: int) -> dict[tuple[int, ...], float]:
    """The probability of every path."""
    found = {}
    for path in itertools.product(range(len(start)), repeat=n):
        p = float(start[path[0]])
        for x, y in itertools.pairwise(path):
            p *= float(matrix[x, y])
        found[path] = p
    return found


def enumerated_influence(
    law: dict[tuple[int, ...], float], record: int, quilt: tuple[int, ...], known: tuple[int, ...] = ()
) -> float:
    """Max-influence of a record on a quilt given known records, from the joint distribution."""
    values = sorted({path[record] for path in law})
    best = 0.0
    conditional: dict[tuple[int, ...], dict[int, dict[tuple[int, ...], float]]] = {}
    for path, p in law.items():
        given = conditional.setdefault(tuple(path[j] for j in known), {v: {} for v in values})
        shown = tuple(path[j] for j in quilt)
        given[path[record]][shown] = given[path[record]].get(shown, 0.0) + p
    for given in conditional.values():
        normal = {v: {s: p / sum(t.values()) for s, p in t.items()} for v, t in given.items() if sum(t.values()) > 0}
        for x, y in itertools.permutations(normal, 2):
            best = max(best, *(np.log(normal[x][s] / normal[y][s]) for s in normal[x]))
    return best
