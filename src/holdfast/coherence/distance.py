"""Exact distances between two halves of many groups at once.

The 1-Wasserstein distance of two distributions on the line is the area between their distribution functions. Sort the
predictions of all rows once; in that order the difference `F_in - F_out` of a group is a running sum of whole numbers
over its members, so that ties and unequal halves need no special case and only the last sum is rounded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.coherence.distance_masks import overlapping
from holdfast.coherence.distance_partition import disjoint, weighted
from holdfast.errors import InvalidParameter

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

METRICS = ("wasserstein", "kolmogorov", "energy", "mean", "total-variation")
"""What `metric` may be. Theorems exist for "wasserstein" only."""

TOLERANCE = 1e-9
"""How far a prediction may lie outside [-1, 1] before it is refused; nearer ones are moved to the end."""

_CELLS = 40  # of total variation: width .05 on [-1, 1]


@dataclass(frozen=True, eq=False)
class Ranked:
    """Predictions in sorted order, made once by `rank` and used for any number of splits and groups."""

    values: Floats
    order: NDArray[np.int64]

    @property
    def rows(self) -> int:
        """How many predictions there are."""
        return int(self.values.size)


@dataclass(frozen=True)
class Partition:
    """Disjoint groups: `codes[i]` is the number of row i's group, -1 for none. Any number of groups costs the same."""

    codes: NDArray[np.int32]
    groups: int


Masks = Partition | NDArray[Any] | Iterable[Any]
"""Groups: a `Partition`, a matrix with one row of truth values a group, or an iterator of such rows."""


@dataclass(frozen=True, eq=False)
class GroupDistances:
    """One distance a group (NaN where a half of the group is empty) and the sizes of its halves."""

    distance: Floats
    inside: NDArray[np.int64]
    outside: NDArray[np.int64]


def wasserstein(inside: Any, outside: Any, inside_weights: Any = None, outside_weights: Any = None) -> float:
    """Exact 1-Wasserstein distance of two samples of numbers, weighted or not.

    Definition 6 of the coherence specification: the area between the two distribution functions. With sorted pooled
    values v, m of them, c_k of the first k from the first sample and n_a, n_b the sample sizes, it is
    `sum |c_k m - k n_a| (v_{k+1} - v_k) / (n_a n_b)`. Derived there; agrees with
    `scipy.stats.wasserstein_distance`. Time O(m log m).

    Examples
    --------
    >>> wasserstein([-1, -.5, .25, 1], [0, .5, 1])
    0.5625
    >>> round(wasserstein([1, 1, 1, -1], [-1, -1, 1, -1, -1]), 12)
    1.1
    >>> wasserstein([0, 1], [0, 1], [3, 1], [1, 1])
    0.25
    """
    a, b = numbers("inside", inside), numbers("outside", outside)
    if not a.size or not b.size:
        raise InvalidParameter("inside and outside must hold at least one number each")
    weights = None
    if inside_weights is not None or outside_weights is not None:
        parts = [
            np.ones(x.size) if w is None else check_weights(name, w, x.size)
            for name, w, x in (("inside_weights", inside_weights, a), ("outside_weights", outside_weights, b))
        ]
        if not all(part.sum() > 0 for part in parts):
            raise InvalidParameter("weights of each sample must have a positive sum")
        weights = np.concatenate(parts)
    where = np.repeat([True, False], [a.size, b.size])
    everyone = np.ones((1, where.size), dtype=bool)
    return float(group_distances(np.concatenate([a, b]), where, everyone, weights=weights).distance[0])


def group_distances(
    predictions: Any | Ranked,
    inside: Any,
    groups: Masks,
    *,
    weights: Any = None,
    metric: str = "wasserstein",
) -> GroupDistances:
    """Distance between the predictions for the members inside and outside the released half, for every group.

    Parameters
    ----------
    predictions : array or Ranked
        One number a row. `rank(predictions)` sorts once for many calls.
    inside : array of bool
        Whether the row was in the released half.
    groups : Partition, array of bool (groups x rows), or iterable of arrays of bool
        An iterable is read once, mask by mask: a thousand masks of ten million rows need not exist together.
    weights : array, optional
        One non-negative weight a row. Outside the definition of coherence and its theorems.
    metric : str
        "wasserstein" (the area between the distribution functions), "kolmogorov" (their largest difference), "energy"
        (as `scipy.stats.energy_distance`), "mean" (absolute difference of means) or "total-variation" (half the sum of
        differences over 40 equal cells of [-1, 1]).

    Returns
    -------
    GroupDistances
        Time O(n log n) for the sort (none for few distinct values in a `Partition`), then O(n) for a `Partition` and
        O(n + members) a mask. Memory: about 70 bytes a row, whatever the number of groups.

    Examples
    --------
    >>> import numpy as np
    >>> h = np.cos(np.arange(100))
    >>> where = 37 * np.arange(100) % 100 < 50
    >>> masks = np.array([np.ones(100, bool), np.arange(100) % 3 == 0])
    >>> group_distances(h, where, masks).distance.round(10)
    array([0.09644268, 0.14339541])
    """
    check.choice("metric", metric, METRICS)
    if metric == "total-variation":
        values = predictions.values[np.argsort(predictions.order)] if isinstance(predictions, Ranked) else predictions
        predictions = rank(np.clip(np.floor((numbers("predictions", values) + 1) * (_CELLS / 2)), 0, _CELLS - 1))
    given = predictions if isinstance(predictions, Ranked) else numbers("predictions", predictions)
    rows = given.rows if isinstance(given, Ranked) else given.size
    where = np.asarray(inside)
    if where.dtype != np.bool_ or where.shape != (rows,):
        raise InvalidParameter(f"inside must be one truth value for each of {rows} rows")
    weight = None if weights is None else check_weights("weights", weights, rows)
    if isinstance(groups, Partition):
        return _partition(given, where, groups, weight, metric)
    ranked = given if isinstance(given, Ranked) else rank(given)
    return GroupDistances(*overlapping(ranked.values, ranked.order, where, iter(groups), weight, metric))


def rank(predictions: Any) -> Ranked:
    """Sort predictions once, for many calls of `group_distances`. O(n log n).

    Examples
    --------
    >>> rank([0.5, -1.0]).values
    array([-1. ,  0.5])
    """
    values = numbers("predictions", predictions)
    order = np.argsort(values)  # the order of ties does not matter: the gaps between them are 0
    return Ranked(values[order], order)


def numbers(name: str, values: Any) -> Floats:
    """`values` as one row of finite doubles."""
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"{name} must be a list of numbers") from error
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InvalidParameter(f"{name} must be a list of finite numbers")
    return array


def check_weights(name: str, weights: Any, rows: int) -> Floats:
    """Non-negative finite weights, one a row."""
    array = numbers(name, weights)
    if array.size != rows or (rows and array.min() < 0):
        raise InvalidParameter(f"{name} must be one number of at least 0 for each of {rows} rows")
    return array


def _partition(
    predictions: Floats | Ranked, inside: Bools, groups: Partition, weights: Floats | None, metric: str
) -> GroupDistances:
    rows = inside.size
    codes, count = np.asarray(groups.codes), check.whole("groups", groups.groups, at_least=0)
    if codes.shape != (rows,) or codes.dtype.kind not in "iu":
        raise InvalidParameter(f"codes must be one whole number for each of {rows} rows")
    if codes.size and (int(codes.max()) >= count or int(codes.min()) < -1):
        raise InvalidParameter(f"codes must lie between -1 and {count - 1}")
    values = predictions.values if isinstance(predictions, Ranked) else predictions
    if weights is None and metric == "wasserstein" and (not rows or max(-values.min(), values.max()) < 2):
        if isinstance(predictions, Ranked):
            inside, codes = inside[predictions.order], codes[predictions.order]
        return GroupDistances(*disjoint(values, inside, codes, count))
    ranked = predictions if isinstance(predictions, Ranked) else rank(predictions)
    return GroupDistances(*weighted(ranked.values, ranked.order, inside, codes, count, weights, metric))


__all__ = [
    "METRICS",
    "TOLERANCE",
    "GroupDistances",
    "Partition",
    "Ranked",
    "group_distances",
    "rank",
    "wasserstein",
]
