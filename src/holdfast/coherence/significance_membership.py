"""Tests of one predictor on one split: does it carry information about who was released? Never the verdict.

Both tests keep the predictor and draw the split again. Their hypothesis holds for a predictor that was fixed before
the split, or made from other data. It fails, strictly speaking, for almost every predictor that was trained on the
released half, however harmless: so a small p-value shows dependence on membership, not its size, and says nothing about
alpha.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.coherence.distance import Ranked, group_distances, rank
from holdfast.coherence.groups import Groups
from holdfast.errors import InvalidParameter

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_TIE = 1e-9
_CELLS = 1 << 21
#: With so many members to a distinct prediction or more, counts of each are drawn in place of members: a count takes
#: about as long as shuffling six members.
_CROWDED = 8


def membership_test(
    predictions: Any,
    inside: Any,
    rng: np.random.Generator,
    permutations: int = 1999,
    *,
    clusters: Any = None,
    weights: Any = None,
    metric: str = "wasserstein",
) -> float:
    """Within-group permutation test of one group, one split.

    Section 4.6 of the coherence specification. Tests exactly this: given the data, the predictor and the number of
    members released, every choice of the released members is equally likely. Then
    `p = (1 + #{re-assignments with a distance as large}) / (permutations + 1)` is at most u with probability at most u.
    It rejects for nearly every trained predictor, so it never decides a verdict.

    Parameters
    ----------
    predictions : list of numbers
        Of all members of the group.
    inside : list of truth values
        Which members were released.
    rng : numpy Generator
        Draws the re-assignments.
    permutations : int
        How many.
    clusters : list, optional
        The cluster of each member, if whole clusters were split: then whole clusters are re-assigned.
    weights, metric
        As for `distance.group_distances`.

    Returns
    -------
    float
        1 if a half is empty. Time: the members times the permutations; less for few distinct predictions.

    Examples
    --------
    >>> h = np.cos(np.arange(40))
    >>> p = membership_test(h, h > 0, np.random.default_rng(1), 999)
    >>> p
    0.001
    """
    ranked, where = rank(predictions), np.asarray(inside)
    if where.dtype != np.bool_ or where.shape != (ranked.rows,):
        raise InvalidParameter(f"inside must be one truth value for each of {ranked.rows} members")
    permutations = check.whole("permutations", permutations, at_least=1)
    if where.all() or not where.any():
        return 1.0
    everyone = np.ones((1, ranked.rows), dtype=bool)

    def measure(split: Bools) -> float:
        return float(group_distances(ranked, split, everyone, weights=weights, metric=metric).distance[0])

    observed = measure(where)
    if clusters is not None or weights is not None or metric != "wasserstein":
        drawn = np.array([measure(split) for split in _again(where, clusters, rng, permutations)])
    elif np.unique(ranked.values).size * _CROWDED <= ranked.rows:
        drawn = _few_values(ranked, int(where.sum()), rng, permutations)
    else:
        drawn = _many_values(ranked, int(where.sum()), rng, permutations)
    # A re-assignment of clusters may empty a half. It has no distance; it counts as one that is as large.
    return float((1 + (~(drawn < observed - _TIE)).sum()) / (permutations + 1))


def _again(inside: Bools, clusters: Any, rng: np.random.Generator, count: int) -> Any:
    """Splits with the same number of rows inside, or of clusters where whole clusters were split."""
    if clusters is None:
        return (rng.permutation(inside) for _ in range(count))
    _, first, which = np.unique(np.asarray(clusters), return_index=True, return_inverse=True)
    chosen = inside[first]
    if not np.array_equal(chosen[which], inside):
        raise InvalidParameter("clusters must be whole: some have members in both halves")
    return (rng.permutation(chosen)[which] for _ in range(count))


def _few_values(ranked: Ranked, n_in: int, rng: np.random.Generator, count: int) -> Floats:
    """Counts of each distinct value among the released: multivariate hypergeometric."""
    values, sizes = np.unique(ranked.values, return_counts=True)
    drawn = rng.multivariate_hypergeometric(sizes, n_in, size=count, method="marginals")
    ahead = np.cumsum(drawn, axis=1)[:, :-1] * ranked.rows - np.cumsum(sizes)[:-1] * n_in
    return np.asarray(np.abs(ahead) @ np.diff(values)) / (n_in * (ranked.rows - n_in))


def _many_values(ranked: Ranked, n_in: int, rng: np.random.Generator, count: int) -> Floats:
    m = ranked.rows
    gaps, n_out = np.diff(ranked.values), m - n_in
    base = np.where(np.arange(m) < n_in, n_out, -n_in).astype(np.float64)
    found: list[Floats] = []
    step = max(1, _CELLS // m)
    for first in range(0, count, step):
        block = np.tile(base, (min(step, count - first), 1))
        rng.permuted(block, axis=1, out=block)
        found.append(np.abs(np.cumsum(block, axis=1)[:, :-1]) @ gaps / (n_in * n_out))
    return np.concatenate(found)


@dataclass(frozen=True, eq=False, repr=False)
class MaxT:
    """What `max_t` found: the omnibus p-value, and the mean and spread of each group's distance over re-splits."""

    p_value: float
    floor: Floats
    spread: Floats

    def __repr__(self) -> str:
        return f"MaxT(p_value={self.p_value:.4g}, {self.floor.size} groups)"


def max_t(
    predictions: Any,
    inside: Any,
    groups: Groups,
    rng: np.random.Generator,
    permutations: int = 999,
    *,
    clusters: Any = None,
    weights: Any = None,
    metric: str = "wasserstein",
) -> MaxT:
    """Omnibus test of one predictor on one split, over all groups: the largest standardised distance.

    Section 4.6 of the coherence specification (Westfall and Young's max-T, reviewed). All rows are split again; each
    group's distance is standardised over the re-splits together with the observed split. The p-value is exact for "the
    predictor does not depend on the split". It shows that some group depends on it, never which.

    Returns
    -------
    MaxT
        `floor` is the mean distance over the re-splits alone: what chance gives this predictor.

    Examples
    --------
    >>> from holdfast.coherence.groups import GroupPlan
    >>> from holdfast.coherence.table import Table
    >>> groups = GroupPlan({"first": np.arange(400) < 100}).resolve(Table.of({"x": np.arange(400)}))
    >>> inside = np.arange(400) % 2 == 0
    >>> max_t(np.where(inside, 0.1, -0.1), inside, groups, np.random.default_rng(1), 199).p_value
    0.005
    """
    ranked, where = rank(predictions), np.asarray(inside)
    if where.dtype != np.bool_ or where.shape != (ranked.rows,):
        raise InvalidParameter(f"inside must be one truth value for each of {ranked.rows} rows")
    permutations = check.whole("permutations", permutations, at_least=1)
    rows = [groups.distances(ranked, where, weights=weights, metric=metric).distance]
    for split in _again(where, clusters, rng, permutations):
        rows.append(groups.distances(ranked, split, weights=weights, metric=metric).distance)
    table = np.array(rows)
    known = np.isfinite(table)
    count = known.sum(axis=0)
    filled = np.where(known, table, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = filled.sum(axis=0) / count
        spread = np.sqrt(np.where(known, (table - mean) ** 2, 0.0).sum(axis=0) / count)
        floor = (filled[1:].sum(axis=0)) / known[1:].sum(axis=0)
        # Where a split leaves no distance the group says nothing, for or against: it stands at its mean.
        flat = ~(spread > _TIE)
        z = np.where(known & ~flat, (table - mean) / np.where(flat, 1.0, spread), 0.0)
    largest = z.max(axis=1)
    return MaxT(float((largest >= largest[0] - _TIE).mean()), floor, spread)


__all__ = ["MaxT", "max_t", "membership_test"]
