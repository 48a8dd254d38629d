"""Exact Bayesian leakage of small finite models: of a given mechanism, and of the worst that is epsilon-DP.

For an adversary who knows the records `S` and asks about record `i`, the leakage is the largest log ratio of the
output's probabilities under two values of the record, the unknown rest being averaged with its conditional law. These
functions compute it without sampling, over every `i` and `S`, so they audit conversions between DP and Bayesian DP.
Conditioning events of probability zero are excluded, in which the definition leaves no choice.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.correlated.network_factors import log_of, log_sum
from holdfast.errors import InvalidParameter

Array = npt.NDArray[np.float64]
MOST_CELLS = 2**20
MOST_WORK = 2**31
"""Cells that an audit may touch, over all adversaries: about half a minute."""


@dataclass(frozen=True)
class Leakage:
    """The largest leakage found and where.

    Attributes
    ----------
    value : float
        Nats; infinite where an output is possible under one value and impossible under the other.
    record : int
        Whose value leaks.
    known : tuple of int
        The records that the worst adversary knows.
    """

    value: float
    record: int
    known: tuple[int, ...]


def check_joint(joint: Any) -> Array:
    """A joint law as a table: one axis for each record, entries that sum to 1.

    Examples
    --------
    >>> check_joint([[0.5, 0.5], [0.5, 0.5]])
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: joint must be a table of probabilities that sum to 1 within 1e-9, got sum 2
    """
    try:
        table = np.array(joint, dtype=float)
    except (TypeError, ValueError):
        table = np.array(math.nan)
    if table.ndim == 0 or table.size == 0 or not np.isfinite(table).all() or (table < 0).any():
        raise InvalidParameter("joint must be a table of non-negative numbers with one axis for each record")
    total = float(table.sum())
    if abs(total - 1) > 1e-9:
        raise InvalidParameter(
            f"joint must be a table of probabilities that sum to 1 within 1e-9, got sum {total:.12g}"
        )
    if table.size > MOST_CELLS:
        raise InvalidParameter(f"joint must have at most {MOST_CELLS} cells, got {table.size}: an exact audit is small")
    return table / total


def adversaries(n: int) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Every record with every set of others, the smaller sets first.

    Examples
    --------
    >>> list(adversaries(2))
    [(0, ()), (0, (1,)), (1, ()), (1, (0,))]
    """
    for record in range(n):
        others = [j for j in range(n) if j != record]
        for size in range(n):
            for known in itertools.combinations(others, size):
                yield record, known


def mechanism_leakage(joint: npt.ArrayLike, mechanism: npt.ArrayLike) -> Leakage:
    """The exact Bayesian DP level of a mechanism with finitely many outputs.

    Parameters
    ----------
    joint : array
        The law of the records, one axis for each.
    mechanism : array
        `mechanism[y, x_1, ..., x_n]` is the probability of output `y` on that database.

    Returns
    -------
    Leakage
        The largest over every adversary. Single outputs suffice: the ratio of an event is at most that of one of them.

    Notes
    -----
    Time `O(outputs * 2^n * cells)`.

    Examples
    --------
    One run of a mechanism on a short chain leaks 1.156, two runs more than twice as much: Bayesian levels do not add.

    >>> chain = np.array([[0.43 * 0.85, 0.43 * 0.15], [0.15 * 0.43, 0.15 * 0.57]]) / 0.58
    >>> one = np.array([[0.87, 0.77], [0.80, 0.39]])
    >>> answers = np.stack([1 - one, one])
    >>> round(mechanism_leakage(chain, answers).value, 9)
    1.156455851
    >>> twice = np.stack([a * b for a in answers for b in answers])
    >>> round(mechanism_leakage(chain, twice).value, 9)
    2.445103723
    """
    law = check_joint(joint)
    table = _mechanism(mechanism, law.shape)
    return _worst(law, log_of(table))


def laplace_sum_leakage(joint: npt.ArrayLike, scores: Any, scale: float) -> Leakage:
    """The exact Bayesian DP level of `sum_i score_i(x_i) + Lap(scale)`.

    Between neighbouring values of the sum both output densities are `A e^{y/s} + B e^{-y/s}`, so their ratio is
    monotone there and constant in the tails: its supremum is reached at a value of the sum.

    Parameters
    ----------
    joint : array
        The law of the records.
    scores : sequence
        What each value of a record adds to the sum: one list for all records, or one list a record.
    scale : float
        Of the Laplace noise.

    Examples
    --------
    >>> step, start = np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0.8, 0.2])
    >>> chain = np.einsum("a,ab,bc->abc", start, step, step)
    >>> leak = laplace_sum_leakage(chain, [0, 1], scale=2.0)
    >>> round(leak.value, 9), leak.record, leak.known
    (1.031793804, 1, ())
    """
    law = check_joint(joint)
    scale = check.real("scale", scale, above=0)
    lists = _scores(scores, law.shape)
    total = np.zeros(law.shape)
    for axis, values in enumerate(lists):
        total = total + values.reshape([-1 if j == axis else 1 for j in range(law.ndim)])
    points = np.unique(total)
    # Log densities up to a constant, which cancels in every ratio.
    return _worst(law, -np.abs(points.reshape((-1,) + (1,) * law.ndim) - total) / scale)


def _worst(law: Array, logs: Array) -> Leakage:
    """The largest leakage over every adversary; `logs[y, ...]` are log probabilities (or densities) of output `y`."""
    n = law.ndim
    if n * 2 ** (n - 1) * logs.size > MOST_WORK:
        raise InvalidParameter("joint must be small: an exact audit tries every record with every set of known records")
    weights = log_of(law)
    joint = weights + logs
    best = Leakage(-1.0, 0, ())
    for record, known in adversaries(n):
        unknown = tuple(j for j in range(n) if j != record and j not in known)
        weight = log_sum(weights, unknown, keep=True)
        possible = ~np.isneginf(weight)
        given = log_sum(joint, tuple(j + 1 for j in unknown), keep=True) - np.where(possible, weight, 0.0)
        high = np.max(np.where(possible, given, -np.inf), axis=record + 1)
        low = np.min(np.where(possible, given, np.inf), axis=record + 1)
        seen = ~np.isneginf(high)
        value = float(np.max(high[seen] - low[seen], initial=0.0))
        if value > best.value + 1e-12:  # of equal ones, the adversary who knows least
            best = Leakage(value, record, known)
    return best


def _mechanism(mechanism: Any, shape: tuple[int, ...]) -> Array:
    try:
        table = np.array(mechanism, dtype=float)
    except (TypeError, ValueError):
        table = np.array(math.nan)
    if table.shape[1:] != shape or table.ndim != len(shape) + 1 or not (table >= 0).all():
        wanted = ", ".join(map(str, shape))
        raise InvalidParameter(f"mechanism must be a table of probabilities of shape (outputs, {wanted})")
    if not np.allclose(table.sum(axis=0), 1, rtol=0, atol=1e-9):
        raise InvalidParameter("mechanism must have probabilities that sum to 1 over the outputs for every database")
    return table


def _scores(scores: Any, shape: tuple[int, ...]) -> list[Array]:
    try:
        nested = not np.isscalar(scores[0])
        lists = [np.array(values, dtype=float) for values in (scores if nested else [scores] * len(shape))]
    except (TypeError, ValueError, IndexError):
        lists = []
    if [v.shape for v in lists] != [(k,) for k in shape] or not all(np.isfinite(v).all() for v in lists):
        raise InvalidParameter("scores must give one finite number for each value of each record")
    return lists


__all__ = ["Leakage", "adversaries", "check_joint", "laplace_sum_leakage", "mechanism_leakage"]
