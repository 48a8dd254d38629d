"""How far a linear query moves when one record of a Gaussian field moves by one unit, whatever an adversary knows.

Given the known records `S`, a unit step of record `i` drags the unknown ones `U` along: the query `w.X` moves by
`shift(i, S) = |w_i - w_U' (J_UU)^-1 J_Ui|`, with `J` the precision matrix. The noise must cover the largest shift over
every `i` and every `S`. Three ways to it, from the sharpest on:

- *no frustration*: after flipping the signs of some records all ties are positive and all weights point one way. Then
  whoever knows nothing learns most, and one solve gives all shifts.
- *every known set*: small parts are enumerated, and on chains the nearest known record on each side decides.
- *upper bound*: if the matrix with all ties made positive is still positive definite, its field dominates.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from holdfast.correlated.fields.precision import Array, Precision
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

Whole = npt.NDArray[np.int64]
MOST_WORK = 5 * 10**7
"""Records times lags that are followed, about five seconds; 64 lags always are."""
_GONE = 1e-16


def path_shifts(diagonal: Array, ties: Array, weights: Array) -> tuple[Array, Whole, Whole] | None:
    """The largest shift of each record over everything that may be known, and how far away the nearest known ones are.

    On a chain the response to a unit step of record `i` runs to the first known record on each side and stops there.
    What it adds on the right, `R(b)`, depends on the lag `b` of that record alone, on the left likewise. So the worst
    of `|w_i + L(a) + R(b)|` takes the largest of both or the smallest of both. Derived. The recursion
    `R_j = rho_j (w_{j+1} + R_{j+1})`, `rho_j = -J_{j,j+1}/(J_{j+1,j+1} + J_{j+1,j+2} rho_{j+1})` from the known record
    back is run for all known records at once, until the response has died away.

    Parameters
    ----------
    diagonal, ties, weights : array
        Of the precision matrix: its diagonal and the entries next to it; of the query.

    Returns
    -------
    shifts, before, after : arrays, or None
        Lags of 0 mean that nothing is known on that side. None if the response dies too slowly to follow.

    Examples
    --------
    An alternating series: whoever knows both neighbours of a record learns most from a sum.

    >>> from holdfast.correlated.fields.precision import autoregression_precision
    >>> matrix = autoregression_precision(9, [-0.5])
    >>> shifts, before, after = path_shifts(matrix.diagonal(), matrix.diagonal(1), np.ones(9))
    >>> round(float(shifts[4]), 9), int(before[4]), int(after[4])
    (1.0, 1, 1)
    """
    right = _side(diagonal, ties, weights)
    left = _side(diagonal[::-1], ties[::-1], weights[::-1])
    if right is None or left is None:
        return None
    top_r, at_top_r, low_r, at_low_r = right
    top_l, at_top_l, low_l, at_low_l = left[0][::-1], left[1][::-1], left[2][::-1], left[3][::-1]
    above, below = weights + top_l + top_r, -(weights + low_l + low_r)
    first = above >= below
    return (
        np.where(first, above, below),
        np.where(first, at_top_l, at_low_l),
        np.where(first, at_top_r, at_low_r),
    )


def _side(diagonal: Array, ties: Array, weights: Array) -> tuple[Array, Whole, Array, Whole] | None:
    """Largest and smallest `R(b)` of each record with their lags; lag 0 stands for nothing known up to the end."""
    n = len(diagonal)
    most = max(64, MOST_WORK // n)
    top, low = np.zeros(n), np.zeros(n)  # R(1) = 0: the next record is known
    at_top, at_low = np.ones(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    if n:
        at_top[-1] = at_low[-1] = 0
    # Entry e: rho and R of the record `steps` before a known record e; e = n is a known record beyond the end, which
    # is the same as nothing known.
    known = np.arange(1, n + 1)
    rho, added, reach = np.zeros(n), np.zeros(n), np.ones(n)
    padded = np.append(ties, 0.0)
    for lag in range(2, n + 1):
        if lag > most:
            return None
        keep = slice(1, None)  # known record e needs e - lag >= 0
        known, rho, added, reach = known[keep], rho[keep], added[keep], reach[keep]
        j = known - lag
        rho = -padded[j] / (diagonal[j + 1] + padded[j + 1] * rho)
        added = rho * (weights[j + 1] + added)
        reach = reach * np.abs(rho)
        lags = np.where(known == n, 0, lag)
        higher, lower = added > top[j], added < low[j]
        top[j[higher]], at_top[j[higher]] = added[higher], lags[higher]
        low[j[lower]], at_low[j[lower]] = added[lower], lags[lower]
        if reach.max(initial=0.0) < _GONE:
            break
    return top, at_top, low, at_low


ENUMERATED = 15
"""Largest part of a field whose known sets are all tried: 2^15 small inversions."""

Method = Literal["nothing known", "every known set", "upper bound"]
_UP = 1 + 1e-12


@dataclass(frozen=True)
class Leak:
    """The worst case of one or several linear queries.

    Attributes
    ----------
    value : float
        The largest `sum_q reach_i * shift_q(i, S) / scale_q`; with one query of scale 1 the reach times the shift.
    record : int
        Where it is reached.
    known : tuple of int, or None
        What the worst adversary knows; None where only a bound was computed.
    method : str
        "nothing known" (proved to be the worst), "every known set" (all tried) or "upper bound".
    """

    value: float
    record: int
    known: tuple[int, ...] | None
    method: Method


def shift(precision: Precision, weights: Array, record: int, known: npt.NDArray[np.int64]) -> float:
    """`shift(record, known)` exactly, by two solves.

    Examples
    --------
    >>> field = Precision(np.linalg.inv([[1.0, 0.5], [0.5, 1.0]]))
    >>> round(shift(field, np.ones(2), 0, np.array([], dtype=np.int64)), 9)
    1.5
    """
    keep = np.setdiff1d(np.arange(precision.n), known)
    part = precision.sub(keep) if len(keep) < precision.n else precision
    place = int(np.searchsorted(keep, record))
    unit = np.zeros(part.n)
    unit[place] = 1.0
    response, variance = part.solve(weights[keep])[place], part.solve(unit)[place]
    return float(abs(response / variance))


def worst_leak(precision: Precision, weights: Array, scales: Array, reach: Array) -> Leak:
    """Return the largest leak over every record and every known set.

    Parameters
    ----------
    precision : Precision
        The field.
    weights : array (n, queries)
        One linear query in each column.
    scales : array (queries,)
        Their Laplace scales.
    reach : array (n,)
        How far each record may move.

    Returns
    -------
    Leak
        The exact worst case, or a bound that says so.

    Raises
    ------
    GuaranteeUnavailable
        If a part of more than 15 records has mixed signs and no bound applies.

    Notes
    -----
    No frustration (derived): let `x` be the response to a unit step of record `i`: 1 at `i`, 0 on `S`,
    `J_UU x_U = -J_Ui`. With non-positive ties `(J_UU)^-1 >= 0`, so `x >= 0`; freeing a known record replaces its 0 by
    something non-negative, which raises the right-hand side of every other equation, so `x` grows everywhere. With
    weights of one sign the shift `w.x` is largest when nothing is known. Flipping the sign of a record changes no
    shift.

    Upper bound (derived): `|J_UU^-1| <= M_UU^-1` entrywise for an H-matrix with comparison matrix `M` (Ostrowski), so
    the response is dominated by that of the field with precision `M`, to which the first case applies.

    Examples
    --------
    Mixed signs: whoever knows the third record learns most about the first.

    >>> field = Precision(np.linalg.inv([[1, 0.5, -0.4], [0.5, 1, 0.1], [-0.4, 0.1, 1]]))
    >>> leak = worst_leak(field, np.ones((3, 1)), np.ones(1), np.ones(3))
    >>> round(leak.value, 9), leak.record, leak.known, leak.method
    (1.642857143, 0, (2,), 'every known set')
    """
    matrix = precision.matrix
    labels = connected_components(matrix, directed=False)[1]
    frustrated = _frustrated(matrix, weights, labels)
    value = np.abs(precision.solve(weights) / precision.inverse_diagonal[:, None])
    total = reach * (value @ (1.0 / scales))
    open_parts = np.unique(labels[~frustrated[labels]])
    fits = ~frustrated[labels]
    best = Leak(-1.0, 0, (), "nothing known")
    if len(open_parts):
        record = int(np.argmax(np.where(fits, total, -1.0)))
        best = Leak(float(total[record]), record, (), "nothing known")
    if frustrated.any() and (leak := _along_a_chain(precision, weights, scales, reach)):
        return leak
    for part in np.flatnonzero(frustrated):
        nodes = np.flatnonzero(labels == part)
        leak = (
            _enumerated(matrix[nodes][:, nodes].toarray(), weights[nodes], scales, reach[nodes], nodes)
            if len(nodes) <= ENUMERATED
            else _bounded(matrix[nodes][:, nodes], weights[nodes], scales, reach[nodes], nodes)
        )
        if leak.value > best.value:
            best = leak
    return Leak(best.value * _UP, best.record, best.known, best.method)


def _along_a_chain(precision: Precision, weights: Array, scales: Array, reach: Array) -> Leak | None:
    """The worst case of one query of a chain; several get the sum of their own worst cases, record by record."""
    if precision.band > 1 or not precision.in_order:
        return None
    sides = [path_shifts(precision.matrix.diagonal(), precision.matrix.diagonal(1), w) for w in weights.T]
    total, lags = np.zeros(precision.n), []
    for side, scale in zip(sides, scales, strict=True):
        if side is None:
            return None
        total += reach * side[0] / scale
        lags.append(side[1:])
    i = int(np.argmax(total))
    if len(lags) > 1:
        return Leak(float(total[i]) * _UP, i, None, "upper bound")
    before, after = (int(lag[i]) for lag in lags[0])
    known = (*((i - before,) if before else ()), *((i + after,) if after else ()))
    return Leak(float(total[i]) * _UP, i, known, "every known set")


def _frustrated(matrix: Any, weights: Array, labels: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """For each part, whether no flip of signs makes all ties positive and the weights of each query of one sign."""
    coo = matrix.tocoo()
    off = coo.row != coo.col
    parts = int(labels.max()) + 1
    if (coo.data[off] <= 0).all():
        signs = np.ones(len(labels))
        result = np.zeros(parts, dtype=bool)
    else:
        signs, result = _flips(matrix, labels, parts)
    for column in (weights * signs[:, None]).T:
        above = np.zeros(parts, dtype=bool)
        below = np.zeros(parts, dtype=bool)
        above[labels[column > 0]] = True
        below[labels[column < 0]] = True
        result |= above & below
    return result


def _flips(matrix: Any, labels: npt.NDArray[np.int32], parts: int) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Signs that make every tie positive where they exist, found by walking each part once."""
    signs = np.zeros(matrix.shape[0])
    frustrated = np.zeros(parts, dtype=bool)
    starts, columns, data = matrix.indptr, matrix.indices, matrix.data
    for root in range(len(signs)):
        if signs[root]:
            continue
        signs[root] = 1.0
        queue = deque([root])
        while queue:
            node = queue.popleft()
            for at in range(starts[node], starts[node + 1]):
                other = columns[at]
                if other == node:
                    continue
                wanted = -signs[node] if data[at] > 0 else signs[node]
                if not signs[other]:
                    signs[other] = wanted
                    queue.append(other)
                elif signs[other] != wanted:
                    frustrated[labels[node]] = True
    return signs, frustrated


def _enumerated(matrix: Array, weights: Array, scales: Array, reach: Array, nodes: npt.NDArray[np.int64]) -> Leak:
    """Every set of unknown records of one part: one inversion serves all records in it."""
    k = len(nodes)
    best = Leak(-1.0, 0, (), "every known set")
    members = (np.arange(1, 2**k)[:, None] >> np.arange(k)) & 1
    counts = members.sum(axis=1)
    for size in range(1, k + 1):
        sets = np.nonzero(members[counts == size])[1].reshape(-1, size)
        for some in np.array_split(sets, max(1, len(sets) // 4096)):
            inverse = np.linalg.inv(matrix[some[:, :, None], some[:, None, :]])
            value = np.abs(inverse @ weights[some] / np.diagonal(inverse, axis1=1, axis2=2)[:, :, None])
            total = reach[some] * (value @ (1.0 / scales))
            at, place = np.unravel_index(int(np.argmax(total)), total.shape)
            if total[at, place] > best.value:
                known = tuple(int(j) for j in nodes[np.setdiff1d(np.arange(k), some[at])])
                best = Leak(float(total[at, place]), int(nodes[some[at, place]]), known, "every known set")
    return best


def _bounded(matrix: Any, weights: Array, scales: Array, reach: Array, nodes: npt.NDArray[np.int64]) -> Leak:
    """The field in which every tie is positive and every weight too dominates this one, if it exists."""
    diagonal = sparse.diags_array(matrix.diagonal())
    try:
        dominating = Precision(2 * diagonal - abs(matrix))
    except InvalidParameter:
        raise GuaranteeUnavailable(
            f"a part of {len(nodes)} records has positive and negative couplings. An exact result goes through every "
            f"set of records that an attacker may know, which is possible for up to {ENUMERATED} records, and the "
            "bound for more records needs weaker couplings. Split the records into independent blocks, or declare "
            "weaker couplings"
        ) from None
    value = dominating.solve(np.abs(weights)) / dominating.inverse_diagonal[:, None]
    total = reach * (value @ (1.0 / scales))
    place = int(np.argmax(total))
    return Leak(float(total[place]), int(nodes[place]), None, "upper bound")
