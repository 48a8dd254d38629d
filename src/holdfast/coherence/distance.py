"""Exact distances between two halves of many groups at once.

The 1-Wasserstein distance of two distributions on the line is the area between their distribution functions. Sort the
predictions of all rows once; in that order the difference `F_in - F_out` of a group is a running sum of whole numbers
over its members, so that ties and unequal halves need no special case and only the last sum is rounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast import check
from holdfast.errors import InvalidParameter

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

METRICS = ("wasserstein", "kolmogorov", "energy", "mean", "total-variation")
"""What `metric` may be. Theorems exist for "wasserstein" only."""

TOLERANCE = 1e-9
"""How far a prediction may lie outside [-1, 1] before it is refused; nearer ones are moved to the end."""

#: Members of disjoint groups that are worked on together: bounds the memory, whatever the number of groups.
_BLOCK = 1 << 20
#: Rows whose squared number fits 32 bits.
_NARROW = 46_340
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
    return _masks(given if isinstance(given, Ranked) else rank(given), where, iter(groups), weight, metric)


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


def _masks(ranked: Ranked, inside: Bools, masks: Iterator[Any], weights: Floats | None, metric: str) -> GroupDistances:
    """Overlapping groups, one at a time: only members are touched after the mask is put in sorted order."""
    n = ranked.rows
    where = inside[ranked.order]
    weight = None if weights is None else weights[ranked.order]
    area = _Area(n)
    found: list[tuple[float, int, int]] = []
    for members in _members(ranked.order, masks):
        if weight is None and metric == "wasserstein":
            found.append(area(ranked.values, where, members))
        elif members.size:
            values, a = ranked.values[members], where[members]
            counts = np.array([members.size])
            one = _segments(values, a, None if weight is None else weight[members], counts, metric)
            found.append((float(one[0][0]), int(one[1][0]), int(one[2][0])))
        else:
            found.append((np.nan, 0, 0))
    return GroupDistances(
        np.array([d for d, _, _ in found], dtype=np.float64),
        np.array([a for _, a, _ in found], dtype=np.int64),
        np.array([b for _, _, b in found], dtype=np.int64),
    )


def _members(order: NDArray[np.int64], masks: Iterator[Any]) -> Iterator[NDArray[np.int64]]:
    """Where the members of each group stand in sorted order.

    Eight masks are put into the bits of one byte a row, so that one pass in random order serves eight groups.
    """
    n, done = order.size, 0
    while eight := list(islice(masks, 8)):
        packed = np.zeros(n, dtype=np.uint8)
        for bit, given in enumerate(eight):
            mask = np.asarray(given)
            if mask.dtype != np.bool_ or mask.shape != (n,):
                at = done + bit
                raise InvalidParameter(f"groups must hold one truth value for each of {n} rows, group {at} does not")
            packed |= mask.view(np.uint8) * np.uint8(1 << bit)  # shifts of bytes are slow
        packed = packed.take(order, mode="clip")
        for bit in range(len(eight)):
            yield np.flatnonzero((packed & np.uint8(1 << bit)) != 0)
        done += len(eight)


_Block = tuple[Floats, NDArray[np.int64], NDArray[np.int64]]


class _Area:
    """Distances of single groups in sorted order, in memory that is used again: fresh pages would cost as much again.

    Whole numbers until the gaps come in, so every sum is exact; 32 bits hold them for up to 46,340 members.
    """

    def __init__(self, n: int) -> None:
        number = np.int32 if n <= _NARROW else np.int64
        self.places: NDArray[Any] = np.arange(1, n + 1, dtype=number)
        self.seen: NDArray[Any] = np.empty(n, dtype=number)
        self.due: NDArray[Any] = np.empty(n, dtype=number)
        self.values, self.gaps, self.inside = np.empty(n), np.empty(n), np.empty(n, dtype=np.bool_)

    def __call__(self, values: Floats, inside: Bools, members: NDArray[np.int64]) -> tuple[float, int, int]:
        size = members.size
        a = inside.take(members, out=self.inside[:size], mode="clip")
        seen: Any = np.cumsum(a, out=self.seen[:size])  # of whole numbers: four times as fast as of doubles
        n_in = int(seen[-1]) if size else 0
        if n_in in (0, size):
            return np.nan, n_in, size - n_in
        v = values.take(members, out=self.values[:size], mode="clip")
        seen *= size
        seen -= np.multiply(self.places[:size], n_in, out=self.due[:size])
        gaps = np.subtract(v[1:], v[:-1], out=self.gaps[: size - 1])
        gaps *= np.abs(seen, out=seen)[:-1]
        return float(gaps.sum()) / (n_in * (size - n_in)), n_in, size - n_in  # a dot product would start threads


def _segments(values: Floats, inside: Bools, weights: Floats | None, counts: NDArray[np.int64], metric: str) -> _Block:
    """Groups one after the other, each in sorted order; `counts` members each, at least one."""
    ends = np.cumsum(counts)
    starts = ends - counts
    gaps = np.diff(values, append=values[-1:])
    gaps[ends - 1] = 0
    seen = np.cumsum(inside, dtype=np.int64)
    before = np.append(0, seen)[starts]
    n_in = seen[ends - 1] - before
    n_out = counts - n_in
    with np.errstate(divide="ignore", invalid="ignore"):
        if weights is None:  # (seen - before) m - (place - start) n_in, in whole numbers
            scale = n_in.astype(np.float64) * n_out
            seen *= np.repeat(counts, counts)
            seen -= np.arange(1, values.size + 1) * np.repeat(n_in, counts)
            seen += np.repeat(starts * n_in - before * counts, counts)
            difference = seen.astype(np.float64)
        else:
            # The steps of a group add up to nothing, so the sum that runs on stays small, and its error too.
            w_in, w_out = (np.add.reduceat(weights * half, starts) for half in (inside, ~inside))
            scale = ((w_in > 0) & (w_out > 0)).astype(np.float64)
            up, down = (np.repeat(np.where(scale > 0, s / w, 0.0), counts) for s, w in ((1, w_in), (-1, w_out)))
            difference = np.cumsum(np.where(inside, up, down) * weights)
            difference -= np.repeat(np.append(0.0, difference)[starts], counts)  # rounding of the groups before
        if metric == "mean":
            area = np.abs(np.add.reduceat(difference * gaps, starts)) / scale
        elif metric == "wasserstein":
            gaps *= np.abs(difference, out=difference)
            area = np.add.reduceat(gaps, starts) / scale
        elif metric == "energy":
            area = np.sqrt(2 * np.add.reduceat(difference**2 * gaps, starts)) / scale
        elif metric == "kolmogorov":
            area = np.maximum.reduceat(np.abs(difference) * (gaps > 0), starts) / scale
        else:
            last = gaps > 0
            last[ends - 1] = True
            at = np.flatnonzero(last)
            masses = np.diff(difference[at], prepend=0.0)  # a group ends at zero, so the next one starts afresh
            area = np.add.reduceat(np.abs(masses), np.searchsorted(at, starts)) / (2 * scale)
    area[scale == 0] = np.nan
    return area, n_in, n_out


def _partition(
    predictions: Floats | Ranked, inside: Bools, groups: Partition, weights: Floats | None, metric: str
) -> GroupDistances:
    """Disjoint groups: put the rows of each group together, each in the order of predictions; then blocks of groups."""
    rows = inside.size
    codes, count = np.asarray(groups.codes), check.whole("groups", groups.groups, at_least=0)
    if codes.shape != (rows,) or codes.dtype.kind not in "iu":
        raise InvalidParameter(f"codes must be one whole number for each of {rows} rows")
    if codes.size and (int(codes.max()) >= count or int(codes.min()) < -1):
        raise InvalidParameter(f"codes must lie between -1 and {count - 1}")
    small = codes.astype(np.int16 if count < 32767 else np.int32)  # 16 bits are sorted by counting
    sizes = np.bincount(codes.astype(np.int64) + 1, minlength=count + 1)
    unsorted = isinstance(predictions, np.ndarray) and weights is None and rows and np.abs(predictions).max() < 2
    keys = order = None
    if isinstance(predictions, np.ndarray) and unsorted:
        keys = _keys(predictions, inside)
    else:
        ranked = predictions if isinstance(predictions, Ranked) else rank(predictions)
        order = ranked.order
        small = small[order]
    position = np.argsort(small, kind="stable")[sizes[0] :]
    sizes = sizes[1:]
    distance = np.full(count, np.nan)
    n_in, n_out = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    filled = np.flatnonzero(sizes)
    ends = np.cumsum(sizes[filled])
    first = 0
    while first < filled.size:
        start = int(ends[first] - sizes[filled[first]])
        last = max(first + 1, int(np.searchsorted(ends, start + _BLOCK, side="right")))
        at = position[start : int(ends[last - 1])]
        chosen = filled[first:last]
        if keys is not None:
            values, where = _sorted_keys(keys[at], sizes[chosen])
            weight = None
        else:
            assert order is not None
            row = order[at]
            values, where, weight = ranked.values[at], inside[row], None if weights is None else weights[row]
        distance[chosen], n_in[chosen], n_out[chosen] = _segments(values, where, weight, sizes[chosen], metric)
        first = last
    return GroupDistances(distance, n_in, n_out)


#: All bits of a 64-bit number but the sign.
_MAGNITUDE = np.int64(2**63 - 1)


def _keys(values: Floats, inside: Bools) -> NDArray[np.int64]:
    """One whole number for value and half, in the order of values.

    The bits of doubles, with those of negative ones turned over, are ordered as the doubles are. Below 2 in size the
    highest bit of the exponent is not used, which leaves one bit for the half. Sorting these numbers group by group
    is several times as fast as sorting places of doubles.
    """
    bits = values.view(np.int64)
    keys = bits ^ ((bits >> 63) & _MAGNITUDE)
    keys <<= 1
    keys |= inside
    return keys


def _sorted_keys(keys: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[Floats, Bools]:
    """Sort keys within each group, and read values and halves off them."""
    ends = np.cumsum(counts)
    for start, end in zip((ends - counts).tolist(), ends.tolist(), strict=True):
        keys[start:end].sort()
    inside = (keys & 1).astype(np.bool_)
    keys >>= 1
    keys ^= (keys >> 63) & _MAGNITUDE
    return keys.view(np.float64), inside


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
