"""Planning under dependence: a second for a million records, and a cost that does not grow with their number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.timing import LIMIT, Row, at_most, best_of
from holdfast.correlated import InhomogeneousChain, MarkovChain

SECOND = 1.0
"""A chain of a million records and ten states is planned, effective size included, within this many seconds."""

GROWTH = 2.0
"""A hundred times the records may cost this factor where the distribution of the records settles."""


def rows() -> list[Row]:
    """Random chains of ten states, from their stationary distribution and from one state; then chains that must be
    scanned.
    """
    matrix = np.random.default_rng(0).dirichlet(np.full(10, 2.0), 10)
    matrix /= matrix.sum(axis=1, keepdims=True)
    slow = 0.99 * np.eye(10) + 0.01 * matrix
    one_state = np.eye(10)[0]
    measured = []
    for name, steps, start in (
        ("stationary", matrix, "stationary"),
        ("from one state", matrix, one_state),
        ("slow, stationary", slow, "stationary"),
        ("slow, from one state", slow, one_state),
    ):
        full = best_of(lambda steps=steps, start=start: _plan(steps, start, 1_000_000), repeats=3)
        measured.append(at_most(f"a million records, ten states, {name}", 1.0, full, LIMIT, SECOND))
        few, many = (
            best_of(lambda n=n, steps=steps, start=start: _search(steps, start, n), repeats=15)
            for n in (10_000, 1_000_000)
        )
        measured.append(at_most(f"quilt search, {name}: 1,000,000 records", GROWTH, many, "10,000 records", few))
    measured.append(_scanned())
    measured.append(_inhomogeneous())
    return measured


def _plan(matrix: npt.ArrayLike, start: npt.ArrayLike, n: int) -> tuple[float, float]:
    chain = MarkovChain(matrix, n, start)
    return chain.epsilon_dp(1.0), chain.effective_n()


def _search(matrix: npt.ArrayLike, start: npt.ArrayLike, n: int) -> float:
    return MarkovChain(matrix, n, start).epsilon_dp(1.0)


def _scanned() -> Row:
    """A chain with two classes of states in turn: its distribution never settles, so every record is looked at."""
    block = np.array([[0.3, 0.7], [0.6, 0.4]])
    periodic = np.block([[np.zeros((2, 2)), block], [block[::-1], np.zeros((2, 2))]])
    few, many = (best_of(lambda n=n: _search(periodic, [0.5, 0.5, 0.0, 0.0], n), repeats=3) for n in (50_000, 500_000))
    return at_most("quilt search, distribution never settles: 500,000 records", 15.0, many, "50,000 records", few)


def _inhomogeneous() -> Row:
    rng = np.random.default_rng(1)
    steps = [0.5 * row + 0.5 / 3 for row in rng.dirichlet(np.full(3, 3.0), (2000, 3))]
    few, many = (
        best_of(lambda n=n: InhomogeneousChain(steps[: n - 1], [0.2, 0.3, 0.5]).epsilon_dp(1.0), repeats=2)
        for n in (200, 2000)
    )
    return at_most("quilt search, steps that differ: 2,000 records", 20.0, many, "200 records", few)
