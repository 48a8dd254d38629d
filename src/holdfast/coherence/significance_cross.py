"""The primary test: every predictor measured on its own split and on the splits of the others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from holdfast import check
from holdfast.coherence.distance import rank
from holdfast.coherence.groups import Groups
from holdfast.errors import InvalidParameter

Floats = NDArray[np.float64]

#: Sums of distances that differ by less, relatively, are equal but for rounding.
_TIE = 1e-9
_CELLS = 1 << 22  # numbers held together: bounds the memory, whatever the number of groups
_MEMBERS = 1 << 25  # splits times members of a group that are worked on together: 256 MiB


@dataclass(frozen=True, eq=False, repr=False)
class CrossTest:
    """What `cross_test` found.

    Attributes
    ----------
    p_values : array (groups,)
        For each group: its predictions do not depend on which of its members were released. NaN: no distance at all.
    omnibus : float
        For all groups together, by the largest standardised sum.
    least : float
        The least p-value that so few splits and permutations can give.
    """

    p_values: Floats
    omnibus: float
    least: float


@dataclass(frozen=True, eq=False, repr=False)
class Excess:
    """Mean distance, what chance gives the same predictors, and the difference with its interval. Arrays (groups,)."""

    mean: Floats
    floor: Floats
    excess: Floats
    low: Floats
    high: Floats


def cross_distances(
    predictions: Any, inside: Any, groups: Groups, *, weights: Any = None, metric: str = "wasserstein"
) -> Floats:
    """Distance of predictor k under split j, for all k and j: array (splits, splits, groups). Nothing is retrained.

    Off the diagonal predictor and split are independent, whatever the learner did. NaN where split j leaves a half of
    the group empty: for every k alike. Time: splits**2 calls of `Groups.distances`, one sort a predictor.

    Parameters
    ----------
    predictions : array (splits, rows)
        Of every predictor, for all rows.
    inside : array of bool (splits, rows)
        The splits the predictors were trained on, in the same order.
    groups : Groups
        The groups.
    weights, metric
        As for `distance.group_distances`.
    """
    found, where = np.asarray(predictions, dtype=np.float64), np.asarray(inside)
    if found.ndim != 2 or found.shape != where.shape or where.dtype != np.bool_:
        raise InvalidParameter("predictions and inside must be arrays of the same shape, splits x rows")
    splits = found.shape[0]
    distances = np.empty((splits, splits, len(groups)))
    if weights is None and metric == "wasserstein" and splits * int(groups.sizes.max()) <= _MEMBERS:
        for g, mask in enumerate(groups.masks()):
            members = np.flatnonzero(mask)
            distances[:, :, g] = _one_group(found[:, members], where[:, members])
        return distances
    for k in range(splits):
        ranked = rank(found[k])
        for j in range(splits):
            distances[k, j] = groups.distances(ranked, where[j], weights=weights, metric=metric).distance
    return distances


def _one_group(predictions: Floats, inside: NDArray[np.bool_]) -> Floats:
    """All predictors under all splits for the members of one group: one sort a predictor, splits side by side."""
    splits, m = predictions.shape
    n_in = inside.sum(axis=1)
    scale = n_in * (m - n_in).astype(np.float64)
    # In sorted order the running sum of these steps is F_in - F_out times the scale: whole numbers, exact in doubles.
    steps = np.where(inside, (m - n_in)[:, None], -n_in[:, None]).astype(np.float64)
    found = np.empty((splits, splits))
    block = max(1, _CELLS // max(m, 1))
    for k in range(splits):
        order = np.argsort(predictions[k])
        gaps = np.diff(predictions[k][order])
        for first in range(0, splits, block):
            sums = steps[first : first + block, order[:-1]]
            np.cumsum(sums, axis=1, out=sums)
            np.abs(sums, out=sums)
            found[k, first : first + block] = sums @ gaps
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(scale > 0, found / scale, np.nan)


def cross_test(distances: Any, rng: np.random.Generator, permutations: int = 9999) -> CrossTest:
    """Do predictors fit their own splits differently from the splits of others? The primary test.

    Section 4.6 of the coherence specification (added by its review, derived there). The pairs (predictor, split) are
    drawn independently. If the learner's output does not depend on which half it got, the splits may be exchanged, so
    the sum over k of T[k, k] is as likely to be the largest as any sum over k of T[k, s(k)], s a permutation, and
    `p = (1 + #{random s with a sum as large}) / (permutations + 1)` is at most u with probability at most u. This
    holds for any learner, memorising ones included; the p-value is one for all splits together.

    For one group, the hypothesis is that the predictions for its members do not depend on which of its members were
    released, and nothing is assumed of other groups: so Holm's method may name groups. For all groups together the
    statistic is the largest sum, each group's standardised over all permutations, the identity among them.

    A predictor that is the same for every split ties every sum: then p is 1.

    Parameters
    ----------
    distances : array (splits, splits, groups)
        From `cross_distances`.
    rng : numpy Generator
        Draws the permutations.
    permutations : int
        How many. To name groups use at least 20 for each p-value that is corrected together.

    Examples
    --------
    >>> T = np.full((5, 5, 1), 0.1) + np.eye(5)[:, :, None]
    >>> found = cross_test(T, np.random.default_rng(1), 999)
    >>> found.omnibus < 0.03, round(found.least, 4)
    (True, 0.0083)
    """
    table = np.asarray(distances, dtype=np.float64)
    if table.ndim != 3 or table.shape[0] != table.shape[1]:
        raise InvalidParameter("distances must be an array splits x splits x groups")
    permutations = check.whole("permutations", permutations, at_least=1)
    splits, _, groups = table.shape
    known: NDArray[np.bool_] = np.asarray(np.isfinite(table).any(axis=(0, 1)))
    # A split that empties a half of a group does so for every predictor: nothing is added for any permutation.
    filled = np.where(np.isfinite(table), table, 0.0)
    orders = np.argsort(rng.random((permutations, splits)), axis=1)
    orders = np.vstack([np.arange(splits), orders])
    p_values, largest = np.full(groups, np.nan), np.full(permutations + 1, -np.inf)
    step = max(1, _CELLS // (permutations + 1))
    for first in range(0, groups, step):
        part = filled[:, :, first : first + step]
        sums = np.zeros((permutations + 1, part.shape[2]))
        for k in range(splits):
            sums += part[k][orders[:, k]]
        slack = _TIE * (1e-3 + np.abs(sums[0]))
        p_values[first : first + step] = (sums >= sums[0] - slack).mean(axis=0)
        spread = sums.std(axis=0)
        flat = spread <= slack
        centred: Floats = np.where(flat, 0.0, sums - sums.mean(axis=0)) / np.where(flat, 1.0, spread)
        centred[:, ~known[first : first + step]] = -np.inf
        np.maximum(largest, centred.max(axis=1), out=largest)
    p_values[~known] = np.nan
    omnibus = float((largest >= largest[0] - _TIE).mean()) if known.any() else 1.0
    # The identity is one of splits! orders: so many permutations cannot say less than its share of them.
    least = max(1 / (permutations + 1), 1 / math.factorial(min(splits, 20)))
    return CrossTest(p_values, omnibus, least)


def mean_excess(distances: Any, level: float = 0.05) -> Excess:
    """Mean of the diagonal, floor (mean off the diagonal), and their difference with a jackknife interval.

    The floor is unbiased because predictor and split are independent off the diagonal. The interval leaves out one
    split at a time, row and column, and uses Student's t with splits - 1 degrees of freedom. It is approximate, and
    speaks about splits of this data set only. With fewer than 3 splits it is not known (NaN).

    Examples
    --------
    >>> T = np.full((4, 4, 1), 0.1) + 0.5 * np.eye(4)[:, :, None]
    >>> found = mean_excess(T)
    >>> [round(float(x[0]), 6) for x in (found.mean, found.floor, found.excess, found.low, found.high)]
    [0.6, 0.1, 0.5, 0.5, 0.5]
    """
    table = np.asarray(distances, dtype=np.float64)
    level = check.probability("level", level)
    splits = table.shape[0]
    known = np.isfinite(table)
    filled = np.where(known, table, 0.0)
    own, own_n = (np.einsum("kkg->kg", part) for part in (filled, known.astype(np.float64)))
    off = filled.sum(axis=(0, 1)) - own.sum(axis=0)
    off_n = known.sum(axis=(0, 1)) - own_n.sum(axis=0)
    cross = filled.sum(axis=0) + filled.sum(axis=1) - 2 * own  # what split k takes part in, its own cell not
    cross_n = known.sum(axis=0) + known.sum(axis=1) - 2 * own_n
    with np.errstate(divide="ignore", invalid="ignore"):
        mean, floor = own.sum(axis=0) / own_n.sum(axis=0), off / off_n
        left = (own.sum(axis=0) - own) / (own_n.sum(axis=0) - own_n) - (off - cross) / (off_n - cross_n)
        if splits < 3:
            half = np.full(mean.shape, np.nan)
        else:
            spread = ((left - left.mean(axis=0)) ** 2).sum(axis=0) * (splits - 1) / splits
            half = -float(stdtrit(splits - 1, level / 2)) * np.sqrt(spread)
    return Excess(mean, floor, mean - floor, mean - floor - half, mean - floor + half)


def noise_share(distances: Any, alpha: float) -> Floats:
    """How often chance alone exceeds alpha: the share of pairs off the diagonal above it, for each group.

    Examples
    --------
    >>> float(noise_share(np.full((3, 3, 1), 0.3), 0.2)[0])
    1.0
    """
    table = np.asarray(distances, dtype=np.float64)
    off = table[~np.eye(table.shape[0], dtype=bool)]
    known = np.isfinite(off)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((np.where(known, off, -np.inf) > alpha).sum(axis=0) / known.sum(axis=0))


__all__ = ["CrossTest", "Excess", "cross_distances", "cross_test", "mean_excess", "noise_share"]
