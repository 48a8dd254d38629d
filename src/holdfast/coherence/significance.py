"""Significance of an audit: what is chance, what is not, for every learner, lens and group. No alpha enters here.

The primary test is the cross-evaluation of predictors on splits (`significance_cross`). A release already made has one
split: its omnibus is max-T (`significance_membership`), and nothing can be said about probabilities over splits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from holdfast.bounds.p_value import holm
from holdfast.coherence.distance import Ranked, group_distances, numbers, rank
from holdfast.coherence.experiment import Trials
from holdfast.coherence.groups import Groups
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Significance cross -----------------------------------------------------------------------------------------------
# The primary test: every predictor measured on its own split and on the splits of the others.

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
    predicted, where = np.asarray(predictions, dtype=np.float64), np.asarray(inside)
    if predicted.ndim != 2 or predicted.shape != where.shape or where.dtype != np.bool_:
        raise InvalidParameter("predictions and inside must be arrays of the same shape, (splits, rows)")
    splits = predicted.shape[0]
    distances = np.empty((splits, splits, len(groups)))
    if weights is None and metric == "wasserstein" and splits * int(groups.sizes.max()) <= _MEMBERS:
        for g, mask in enumerate(groups.masks()):
            members = np.flatnonzero(mask)
            distances[:, :, g] = _one_group(predicted[:, members], where[:, members])
        return distances
    for k in range(splits):
        ranked = rank(predicted[k])
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
    distances = np.empty((splits, splits))
    block = max(1, _CELLS // max(m, 1))
    for k in range(splits):
        order = np.argsort(predictions[k])
        gaps = np.diff(predictions[k][order])
        for first in range(0, splits, block):
            sums = steps[first : first + block, order[:-1]]
            np.cumsum(sums, axis=1, out=sums)
            np.abs(sums, out=sums)
            distances[k, first : first + block] = sums @ gaps
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(scale > 0, distances / scale, np.nan)


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
        raise InvalidParameter("distances must be an array of shape (splits, splits, groups)")
    permutations = arguments.whole("permutations", permutations, at_least=1)
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
    level = arguments.probability("level", level)
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
    """Return how often chance alone exceeds alpha: the share of pairs off the diagonal above it, for each group.

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


# --- Significance membership ------------------------------------------------------------------------------------------
# Tests of one predictor on one split: does it carry information about who was released? Never the verdict.
#
# Both tests keep the predictor and draw the split again. Their hypothesis holds for a predictor that was fixed before
# the split, or made from other data. It fails, strictly speaking, for almost every predictor that was trained on the
# released half, however harmless: so a small p-value shows dependence on membership, not its size, and says nothing
# about alpha.

Bools = NDArray[np.bool_]

_MEMBERSHIP_CELLS = 1 << 21
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
        raise InvalidParameter(f"inside must be an array with True or False for each of {ranked.rows} members")
    permutations = arguments.whole("permutations", permutations, at_least=1)
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
        raise InvalidParameter("each cluster must be wholly in one half, but some clusters have members in both halves")
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
    distances: list[Floats] = []
    step = max(1, _MEMBERSHIP_CELLS // m)
    for first in range(0, count, step):
        block = np.tile(base, (min(step, count - first), 1))
        rng.permuted(block, axis=1, out=block)
        distances.append(np.abs(np.cumsum(block, axis=1)[:, :-1]) @ gaps / (n_in * n_out))
    return np.concatenate(distances)


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
        raise InvalidParameter(f"inside must be an array with True or False for each of {ranked.rows} rows")
    permutations = arguments.whole("permutations", permutations, at_least=1)
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


# --- Significance -----------------------------------------------------------------------------------------------------

CROSS = "cross-evaluation"
"""The test of several splits: each predictor on the splits of the others."""
MAX_T = "max-T"
"""The test of one split: the largest distance of any group, against permutations."""
NONE = "none"
"""Nothing could be tested."""
#: Splits that are measured on one another at most: the work grows with the square.
MOST_CROSSED = 40
_MOST_PERMUTATIONS = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class CaseSignificance:
    """The tests of one learner through one lens. Arrays have one number for each group; NaN means not known.

    Attributes
    ----------
    learner, lens : str
        Names.
    asked, splits, crossed : int
        Splits asked for, with predictions, and measured on one another.
    distance : array (splits, groups)
        Of every split with predictions. Never to be shown without `floor`.
    cross : array (crossed, crossed, groups) or None
        Distance of predictor k under split j. None for a single split.
    mean, floor, excess, excess_low, excess_high : array
        Mean distance on the crossed splits, what chance gives the same predictors, the difference, its 95% interval.
    p_values, p_adjusted : array
        The group's own p-value: cross-evaluation, or the within-group permutation for a single split; and corrected by
        Holm's method over all groups, learners and lenses, and never below `omnibus_adjusted`: no group is named
        where it is not shown that any depends on the split.
    membership : array
        Within-group permutation p-values of the first split. They reject for nearly every trained predictor.
    omnibus, omnibus_adjusted : float
        For "some group depends on the split", and corrected over learners and lenses.
    test : str
        Which test the omnibus is: "cross-evaluation", "max-T" or "none".
    least_p : float
        The least p-value the splits and permutations could have given.

    Examples
    --------
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=6, seed=1))
    >>> case = assess(trials, permutations=999).cases[0]
    >>> case.learner, case.test, case.distance.shape
    ('linkage', 'cross-evaluation', (6, 3))
    """

    learner: str
    lens: str
    asked: int
    splits: int
    crossed: int
    distance: Floats
    cross: Floats | None
    mean: Floats
    floor: Floats
    excess: Floats
    excess_low: Floats
    excess_high: Floats
    p_values: Floats
    p_adjusted: Floats
    membership: Floats
    omnibus: float
    omnibus_adjusted: float
    test: str
    least_p: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain data. Of the cross-evaluation only its floor is included."""
        arrays = ("mean", "floor", "excess", "excess_low", "excess_high", "p_values", "p_adjusted", "membership")
        return {
            "learner": self.learner,
            "lens": self.lens,
            "asked": self.asked,
            "splits": self.splits,
            "crossed": self.crossed,
            "test": self.test,
            "omnibus": _plain(self.omnibus),
            "omnibus_adjusted": _plain(self.omnibus_adjusted),
            "least_p": self.least_p,
            **{name: [_plain(value) for value in getattr(self, name).tolist()] for name in arrays},
        }


@dataclass(frozen=True, eq=False, repr=False)
class Significance:
    """The results of `assess`: one `CaseSignificance` for each learner and lens.

    Attributes
    ----------
    groups, sizes : tuple
        Names and members of the groups.
    cases : tuple of CaseSignificance
        Learners in order, lenses in order within each.
    mode : str
        "repeated" or "single".
    metric : str
        The distance.
    permutations : int
        Permutations drawn for each omnibus test.
    partial : bool
        Whether something failed in the experiment.
    messages : tuple of str
        What a reader must know.
    too_small : tuple of (str, int)
        Groups below the size limit that were not measured, with their sizes.
    unmeasured : tuple of str
        Those of them that were declared by name: without a finding the audit does not pass.

    Examples
    --------
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> people = {"id": np.arange(400), "ill": np.tile([0, 1], 200)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=6, seed=1))
    >>> found = assess(trials, permutations=999)
    >>> found.mode, found.groups, len(found.cases)
    ('repeated', ('everyone', 'ill = 1', 'not ill = 1'), 1)
    """

    groups: tuple[str, ...]
    sizes: tuple[int, ...]
    cases: tuple[CaseSignificance, ...]
    mode: str
    metric: str
    permutations: int
    partial: bool
    messages: tuple[str, ...]
    too_small: tuple[tuple[str, int], ...] = ()
    unmeasured: tuple[str, ...] = ()

    @property
    def tests(self) -> int:
        """The number of tests for which the claims about groups are corrected: groups times learners times lenses."""
        return len(self.groups) * len(self.cases)

    def case(self, learner: str, lens: str) -> CaseSignificance:
        """Return the tests of one learner through one lens."""
        for case in self.cases:
            if (case.learner, case.lens) == (learner, lens):
                return case
        raise InvalidParameter(
            f"there are no tests of learner {learner!r} through lens {lens!r}; give a learner and a lens of the audit"
        )

    def __repr__(self) -> str:
        state = "PARTIAL" if self.partial else "complete"
        return f"Significance({len(self.cases)} cases, {len(self.groups)} groups, {self.mode}, {state})"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "mode": self.mode,
            "metric": self.metric,
            "partial": self.partial,
            "permutations": self.permutations,
            "groups": [{"name": n, "size": s} for n, s in zip(self.groups, self.sizes, strict=True)],
            "too_small": [{"name": name, "size": size} for name, size in self.too_small],
            "cases": [case.to_dict() for case in self.cases],
            "messages": list(self.messages),
        }


def assess(trials: Trials, *, permutations: int | None = None, membership: bool = True, seed: int = 0) -> Significance:
    """Test for every learner, lens and group of an experiment whether the distance exceeds what chance alone gives.

    Parameters
    ----------
    trials : Trials
        What `run` or `single_shot` returned, with predictions kept.
    permutations : int, optional
        For each test. Default: 9,999, or 40 for each group, learner and lens if that is more, at most 100,000. A tenth
        of it for max-T, and for the within-group permutation where there are several splits.
    membership : bool
        Whether to run the within-group permutation on the first split too. One split always has it.
    seed : int
        Of the permutations. It decides nothing but which of them are drawn.

    Returns
    -------
    Significance
        For at most the first 40 splits with predictions all pairs of predictor and split are measured: that is most of
        the time, 40**2 calls of `Groups.distances` for each learner and lens.

    Examples
    --------
    >>> from holdfast.coherence import Audit, Target, curators, learners, run
    >>> rng = np.random.default_rng(1)
    >>> people = {"id": np.arange(400), "ill": rng.integers(0, 2, 400)}
    >>> trials = run(Audit(people, curators.Clear(), learners.Linkage(), Target("ill = 1"), splits=6, seed=1))
    >>> found = assess(trials, permutations=999)
    >>> case = found.cases[0]
    >>> case.test, case.omnibus < 0.01, bool(case.excess[1] > 0.8)
    ('cross-evaluation', True, True)
    """
    if trials.predictions is None:
        raise InvalidParameter(
            "trials must have predictions, but they were not kept; run the audit with keep_predictions=True"
        )
    tests = len(trials.groups) * len(trials.learners) * len(trials.lenses)
    if permutations is None:
        permutations = min(max(9999, 40 * tests - 1), _MOST_PERMUTATIONS - 1)
    permutations = arguments.whole("permutations", permutations, at_least=19)
    seed = arguments.whole("seed", seed, at_least=0)
    drafts = [
        _case(trials, i, j, permutations, membership, np.random.default_rng([seed, i, j]))
        for i in range(len(trials.learners))
        for j in range(len(trials.lenses))
    ]
    cases = _corrected(drafts)
    messages = trials.messages()
    if any(case.splits > MOST_CROSSED for case in cases):
        messages.append(f"the first {MOST_CROSSED} splits were measured on one another; all of them count for beta")
    return Significance(
        groups=trials.groups.names,
        sizes=tuple(int(size) for size in trials.groups.sizes),
        cases=cases,
        mode=trials.mode,
        metric=trials.metric,
        permutations=permutations,
        partial=trials.partial or any(case.splits < case.asked for case in cases),
        messages=tuple(messages),
        too_small=trials.groups.too_small,
        unmeasured=trials.groups.unmeasured,
    )


def _case(
    trials: Trials, i: int, j: int, permutations: int, membership: bool, rng: np.random.Generator
) -> dict[str, Any]:
    """The fields of one case, before correction over cases."""
    assert trials.predictions is not None
    predictions = trials.predictions[:, i, j]
    done = np.flatnonzero(np.isfinite(predictions).all(axis=1))
    options: dict[str, Any] = {"weights": trials.weights, "metric": trials.metric}
    groups = len(trials.groups)
    nothing = np.full(groups, np.nan)
    fields: dict[str, Any] = {
        "learner": trials.learners[i],
        "lens": trials.lenses[j].name,
        "asked": trials.splits,
        "splits": int(done.size),
        "crossed": 0,
        "distance": trials.distance[done, i, j],
        "cross": None,
        "membership": nothing,
        "p_values": nothing,
        "omnibus": math.nan,
        "test": NONE,
        "least_p": 1.0,
        **dict.fromkeys(("mean", "floor", "excess", "excess_low", "excess_high"), nothing),
    }
    if not done.size:
        return fields
    first, some = int(done[0]), max(99, (permutations + 1) // 10 - 1)
    if membership or trials.mode == "single":
        draws = permutations if trials.mode == "single" else some  # one split: here the p-values name groups
        fields["membership"] = _membership(trials, predictions[first], trials.inside[first], rng, draws, options)
    if trials.mode == "single":
        outcome = max_t(
            predictions[first], trials.inside[first], trials.groups, rng, some, clusters=trials.clusters, **options
        )
        mean = trials.distance[first, i, j]
        fields |= {
            "mean": mean,
            "floor": outcome.floor,
            "excess": mean - outcome.floor,
            "p_values": fields["membership"],
        }
        return fields | {"omnibus": outcome.p_value, "test": MAX_T, "least_p": 1 / (some + 1)}
    used = done[:MOST_CROSSED]
    if used.size < 2:
        return fields
    cross = cross_distances(predictions[used], trials.inside[used], trials.groups, **options)
    tested, excess = cross_test(cross, rng, permutations), mean_excess(cross)
    return fields | {
        "crossed": int(used.size),
        "cross": cross,
        "mean": excess.mean,
        "floor": excess.floor,
        "excess": excess.excess,
        "excess_low": excess.low,
        "excess_high": excess.high,
        "p_values": tested.p_values,
        "omnibus": tested.omnibus,
        "test": CROSS,
        "least_p": tested.least,
    }


def _membership(
    trials: Trials, h: Floats, inside: Any, rng: np.random.Generator, permutations: int, options: dict[str, Any]
) -> Floats:
    p_values = []
    for mask in trials.groups.masks():
        weights = None if options["weights"] is None else options["weights"][mask]
        clusters = None if trials.clusters is None else trials.clusters[mask]
        own = {"weights": weights, "metric": options["metric"], "clusters": clusters}
        empty = inside[mask].all() or not inside[mask].any()
        p_values.append(math.nan if empty else membership_test(h[mask], inside[mask], rng, permutations, **own))
    return np.array(p_values)


def _corrected(drafts: list[dict[str, Any]]) -> tuple[CaseSignificance, ...]:
    """Holm over all groups of all cases, and over the omnibus tests of all cases, which are the gate to naming."""
    every = np.concatenate([draft["p_values"] for draft in drafts])
    adjusted = np.where(np.isnan(every), np.nan, holm(np.where(np.isnan(every), 1.0, every).tolist()))
    parts = np.split(adjusted, len(drafts))
    whole = [draft["omnibus"] for draft in drafts]
    overall = holm([1.0 if math.isnan(p) else p for p in whole])
    cases = []
    for draft, part, alone, whole_p in zip(drafts, parts, whole, overall, strict=True):
        some = math.nan if math.isnan(alone) else whole_p
        named = part if math.isnan(some) else np.maximum(part, some)  # a gate: the two tests may disagree
        cases.append(CaseSignificance(**draft, p_adjusted=named, omnibus_adjusted=some))
    return tuple(cases)


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


# --- Significance floor -----------------------------------------------------------------------------------------------
# What chance alone does to the distance of a group: the noise floor, its bound, and exact values by enumeration.

#: Splits that may be listed one by one: all halves of 20 rows.
MOST_SPLITS = 200_000


class Floor(NamedTuple):
    """The distance that chance gives: about `expected`, never above `bound` on average."""

    expected: float
    bound: float


def noise_floor(predictions: Any, inside: int) -> Floor:
    """Mean distance of a group whose `inside` released members were drawn at random, for a fixed predictor.

    Section 4.6 of the coherence specification (derived there, reviewed). For a fixed value y,
    `Var(F_in(y) - F_out(y)) = F (1 - F) m**2 / (n_in n_out (m - 1))` exactly: a hypergeometric count. The mean of an
    absolute value is at most the standard deviation, so the mean distance is at most `bound`, the integral of the
    standard deviation over y; it is near `sqrt(2 / pi)` of it, `expected`, where the counts are near normal. At worst
    (half -1, half +1) the floor is about `1.6 / sqrt(m)`.

    Parameters
    ----------
    predictions : list of numbers
        Of all members of the group, in both halves.
    inside : int
        How many of them were in the released half.

    Examples
    --------
    >>> expected, bound = noise_floor([-1, -.5, .25, 1], 2)
    >>> round(expected, 10), round(bound, 10)
    (0.844172, 1.0580127019)
    >>> float(exact_null([-1, -.5, .25, 1], 2).mean())
    0.875
    """
    values = np.sort(numbers("predictions", predictions))
    m = values.size
    inside = arguments.whole("inside", inside, at_least=1, at_most=m - 1)
    share = np.arange(1, m) / m
    area = float(np.sqrt(share * (1 - share)) @ np.diff(values))
    bound = m / math.sqrt(inside * (m - inside) * (m - 1)) * area
    return Floor(math.sqrt(2 / math.pi) * bound, bound)


def size_for_floor(alpha: float, share: float = 0.5) -> int:
    """Members a group needs for the worst floor, `1.6 / sqrt(m)`, to be at most `share * alpha`.

    Examples
    --------
    >>> size_for_floor(0.2)
    256
    """
    alpha = arguments.real("alpha", alpha, above=0, at_most=2)
    return math.ceil((1.6 / (share * alpha)) ** 2 * (1 - 1e-12))


def detectable_excess(members: int, splits: int, tests: int = 1, level: float = 0.05, power: float = 0.95) -> float:
    """Mean excess that the primary test names in a group with about this power, predictions at worst (-1 and 1).

    Derived here, a normal approximation for planning, not a guarantee: by chance a distance is the absolute value of a
    normal variable with standard deviation `2 / sqrt(members)`, whose own standard deviation is `sqrt(1 - 2 / pi)` of
    that. A leak moves the mean away from zero, and then the full standard deviation applies. Both shrink with the
    root of the number of splits; `tests` p-values share the level. The experiment `coherence-significance` holds
    it against simulated leaks. Predictions in a narrower range scale it down.

    Examples
    --------
    >>> round(detectable_excess(100, splits=20, tests=20), 3)
    0.149
    """
    members, splits = arguments.whole("members", members, at_least=2), arguments.whole("splits", splits, at_least=2)
    tests = arguments.whole("tests", tests, at_least=1)
    level, power = arguments.probability("level", level), arguments.probability("power", power)
    chance = -float(ndtri(level / tests)) * math.sqrt(1 - 2 / math.pi)
    return 2 * (chance + float(ndtri(power))) / math.sqrt(members * splits)


def exact_null(predictions: Any, inside: int, *, metric: str = "wasserstein") -> NDArray[np.float64]:
    """The distance under every choice of the `inside` released members, in the order of `itertools.combinations`.

    For tests: exact, for at most 200,000 choices.

    Examples
    --------
    >>> exact_null([-1, -.5, .25, 1], 2).tolist()
    [1.375, 0.625, 0.625, 0.625, 0.625, 1.375]
    """
    ranked = rank(predictions)
    everyone = np.ones((1, ranked.rows), dtype=bool)
    chosen = list(_choices(ranked.rows, inside))
    return np.array([group_distances(ranked, c, everyone, metric=metric).distance[0] for c in chosen])


def exact_experiment(predictions: Any, groups: Any, alpha: float) -> tuple[int, int, int]:
    """All half splits for a predictor fixed in advance: how many are incoherent, have an empty half, and there are.

    Definition D8 of the coherence specification with empty halves skipped. For tests: at most 200,000 splits.

    Examples
    --------
    Two people of whom the predictor is certain, in opposite ways:

    >>> exact_experiment([-1, 1] + 8 * [0], [[True, True] + 8 * [False]], 1.9)
    (140, 112, 252)
    """
    ranked = rank(predictions)
    if ranked.rows % 2:
        raise InvalidParameter(f"predictions must be for an even number of rows, got {ranked.rows}")
    masks = np.asarray(groups, dtype=bool)
    measured = [group_distances(ranked, c, masks).distance for c in _choices(ranked.rows, ranked.rows // 2)]
    distances = np.array(measured)
    empty = np.isnan(distances)
    above = np.where(empty, -np.inf, distances) > alpha
    return int(above.any(axis=1).sum()), int(empty.any(axis=1).sum()), len(measured)


def _choices(rows: int, inside: int) -> Iterator[NDArray[np.bool_]]:
    inside = arguments.whole("inside", inside, at_least=1, at_most=rows - 1)
    if math.comb(rows, inside) > MOST_SPLITS:
        raise InvalidParameter(
            f"{rows} predictions have more than {MOST_SPLITS:,} splits, which is the limit; give fewer predictions"
        )
    for members in combinations(range(rows), inside):
        mask = np.zeros(rows, dtype=bool)
        mask[list(members)] = True
        yield mask


__all__ = ["CROSS", "MAX_T", "MOST_CROSSED", "NONE", "CaseSignificance", "Significance", "assess"]
