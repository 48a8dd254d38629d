"""Brute force on joint tables: slow, written without the library, to compare it with."""

from __future__ import annotations

import itertools
import math

import numpy as np

SHAPES = {
    "chain": [(), (0,), (1,), (2,)],
    "star": [(), (0,), (0,), (0,)],
    "tree": [(), (0,), (1,), (1,), (0,)],
    "diamond": [(), (0,), (0,), (1, 2)],
    "collider": [(), (), (0, 1), (2,)],
    "loop": [(), (0,), (1,), (0, 2)],
}


def random_tables(rng, parents, states=2, zeros=False):
    """Conditional tables of a network; with `zeros` some entries are impossible."""
    tables = {}
    for node, above in enumerate(parents):
        table = rng.dirichlet(np.full(states, 0.7), size=(states,) * len(above)) + 0.02
        if zeros:
            table = table * (rng.random(table.shape) > 0.2) + 1e-9 * np.eye(states)[0]
            table[table < 1e-6] = 0.0
            table[..., 0] += table.sum(axis=-1) == 0
        tables[f"x{node}"] = ([f"x{p}" for p in above], table / table.sum(axis=-1, keepdims=True))
    return tables


def joint_of(parents, tables):
    """The joint distribution as a dictionary of databases."""
    sizes = [np.shape(tables[f"x{node}"][1])[-1] for node in range(len(parents))]
    law = np.zeros(sizes)
    for x in itertools.product(*(range(k) for k in sizes)):
        law[x] = math.prod(
            tables[f"x{node}"][1][(*tuple(x[p] for p in above), x[node])] for node, above in enumerate(parents)
        )
    return law


def influence(law, record, quilt, known=()):
    """`I(X_quilt <- X_record | X_known)` by loops over all values."""
    quilt, known = list(quilt), list(known)
    keep = [record, *quilt, *known]
    drop = tuple(j for j in range(law.ndim) if j not in keep)
    order = [sorted(keep).index(j) for j in keep]
    table = np.transpose(law.sum(axis=drop), order)
    worst = 0.0
    for given in itertools.product(*(range(law.shape[j]) for j in known)):
        part = table[(slice(None),) * (1 + len(quilt)) + given].reshape(table.shape[0], -1)
        possible = [row / row.sum() for row in part if row.sum() > 0]
        for one, other in itertools.permutations(possible, 2):
            for p, q in zip(one, other, strict=True):
                if p > 0:
                    worst = max(worst, math.inf if q == 0 else math.log(p / q))
    return worst


def neighbours(parents):
    near = [set() for _ in parents]
    for node, above in enumerate(parents):
        for u, v in itertools.permutations([node, *above], 2):
            near[u].add(v)
    return near


def inside(near, record, quilt):
    found = {record}
    while True:
        more = {v for u in found for v in near[u]} - found - set(quilt)
        if not more:
            return found
        found |= more


def every_quilt(near, record):
    """Every set of other nodes as a quilt, with the nodes that it leaves nearby."""
    others = [j for j in range(len(near)) if j != record]
    for size in range(len(others) + 1):
        for quilt in itertools.combinations(others, size):
            yield quilt, sorted(inside(near, record, quilt) - {record})


def subsets(items):
    return itertools.chain.from_iterable(itertools.combinations(items, k) for k in range(len(items) + 1))


def quilt_influence(law, record, quilt, nearby, rows=None):
    known = [j for j in nearby if rows is None or j < rows]
    return max(influence(law, record, quilt, some) for some in subsets(known))
