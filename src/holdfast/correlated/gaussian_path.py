"""Worst shifts of a chain of Gaussian records, whatever the signs: each side is decided by its nearest known record."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from holdfast.correlated.gaussian_precision import Array

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
        Of the precision matrix: its diagonal and the entries beside it; of the query.

    Returns
    -------
    shifts, before, after : arrays, or None
        Lags of 0 mean that nothing is known on that side. None if the response dies too slowly to follow.

    Examples
    --------
    An alternating series: whoever knows both neighbours of a record learns most from a sum.

    >>> from holdfast.correlated.autoregression import autoregression_precision
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


__all__ = ["path_shifts"]
