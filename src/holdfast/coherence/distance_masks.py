"""Distances of overlapping groups, given as one truth value a row and group.

Every mask has to be put into the order of the predictions. Eight masks share one pass for that, as the bits of a byte.
Then a group costs what its members cost; where predictions take few different values, members are not even listed:
rows are laid out by half and value, and members are counted as bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence.distance_sorted import Block, Bools, Floats, Whole, in_order
from holdfast.errors import InvalidParameter

Bytes = NDArray[np.uint8]

#: Rows whose squared number fits 32 bits.
NARROW = 46_340
#: Rows for each different value from which on members are counted and not listed.
COUNTED = 64
#: Products that are added up in one call: a longer one would start threads, and the sum would depend on their number.
_ADDED = 8192
_LOWEST = np.uint64(0x0101010101010101)


def overlapping(
    values: Floats, order: Whole, inside: Bools, masks: Iterator[Any], weights: Floats | None, metric: str
) -> Block:
    """Distance and halves of each mask. `values` are sorted and `order` sorts the rows; masks are read once."""
    plain = weights is None and metric == "wasserstein"
    steps = np.flatnonzero(values[1:] != values[:-1]) + 1
    if plain and values.size >= COUNTED * (steps.size + 1):
        found = _counted(values[np.append(0, steps)], steps, order, inside[order], masks)
    elif plain:
        listed = _Listed(values, inside[order])
        found = [listed(bits) for eight in _packed(order, masks) for bits in _each(eight)]
    else:
        found = _weighted(values, order, inside[order], masks, None if weights is None else weights[order], metric)
    distance, n_in, n_out = zip(*found, strict=True) if found else ((), (), ())
    return np.array(distance, dtype=np.float64), np.array(n_in, dtype=np.int64), np.array(n_out, dtype=np.int64)


_Found = list[tuple[float, int, int]]


def _packed(order: Whole, masks: Iterator[Any], rows: int | None = None) -> Iterator[tuple[Bytes, int]]:
    """Eight masks at a time, put in order: their bytes and how many masks they hold.

    A place in `order` that is not a row (the number of rows) is a member of nothing.
    """
    rows = order.size if rows is None else rows
    packed, done = np.zeros(rows + 1, dtype=np.uint8), 0
    while eight := [np.asarray(given) for given in islice(masks, 8)]:
        for i, mask in enumerate(eight):
            if mask.dtype != np.bool_ or mask.shape != (rows,):
                at = done + i
                raise InvalidParameter(f"groups must hold one truth value for each of {rows} rows, group {at} does not")
        bits = packed[:rows]
        bits[:] = 0
        for mask in reversed(eight):
            np.add(bits, bits, out=bits)  # shifts of bytes are slow
            np.bitwise_or(bits, mask.view(np.uint8), out=bits)
        yield packed.take(order, mode="clip"), len(eight)
        done += len(eight)


def _each(eight: tuple[Bytes, int]) -> Iterator[Bools]:
    """The masks of one pack, one by one, in memory that is used again. Eight rows shift as one number, bytes slowly."""
    packed, count = eight
    padded = np.zeros(-(-packed.size // 8), dtype=np.uint64)
    padded.view(np.uint8)[: packed.size] = packed
    bits = np.empty_like(padded)
    for bit in range(count):
        np.right_shift(padded, np.uint64(bit), out=bits)
        np.bitwise_and(bits, _LOWEST, out=bits)
        yield bits.view(np.bool_)[: packed.size]


class _Listed:
    """Distances of single groups, in memory that is used again: fresh pages would cost as much again.

    Whole numbers until the gaps come in, so every sum is exact; 32 bits hold them for up to 46,340 rows.
    """

    def __init__(self, values: Floats, inside: Bools) -> None:
        n = values.size
        self.values_sorted = values
        self.inside: NDArray[Any] = inside.astype(np.int32 if n <= NARROW else np.int64)
        self.places: NDArray[Any] = np.arange(1, n + 1, dtype=self.inside.dtype)
        self.seen: NDArray[Any] = np.empty_like(self.inside)
        self.due: NDArray[Any] = np.empty_like(self.inside)
        self.values, self.gaps = np.empty(n), np.empty(n)

    def __call__(self, mask: Bools) -> tuple[float, int, int]:
        members = mask.nonzero()[0]
        size = members.size
        seen = self.inside.take(members, out=self.seen[:size], mode="clip")
        np.add.accumulate(seen, out=seen)
        n_in = int(seen[-1]) if size else 0
        if n_in in (0, size):
            return np.nan, n_in, size - n_in
        seen *= size
        seen -= np.multiply(self.places[:size], n_in, out=self.due[:size])
        np.abs(seen, out=seen)
        values = self.values_sorted.take(members, out=self.values[:size], mode="clip")
        gaps = np.subtract(values[1:], values[:-1], out=self.gaps[: size - 1])
        heights = values[:-1]  # not needed any more
        np.copyto(heights, seen[:-1])
        area = float(np.dot(gaps[:_ADDED], heights[:_ADDED]))
        for i in range(_ADDED, size - 1, _ADDED):
            area += float(np.dot(gaps[i : i + _ADDED], heights[i : i + _ADDED]))
        return area / (n_in * (size - n_in)), n_in, size - n_in


def _counted(points: Floats, steps: Whole, order: Whole, inside: Bools, masks: Iterator[Any]) -> _Found:
    """Few values: rows by half and value, each kind in whole bytes, so that members of a kind are bits of its bytes."""
    rows, kinds = order.size, 2 * points.size
    kind = np.repeat(np.arange(points.size), np.diff(steps, prepend=0, append=rows)) + points.size * inside
    counts = np.bincount(kind, minlength=kinds)
    lengths = -(-counts // 8)
    starts = np.cumsum(lengths) - lengths
    by_kind = np.argsort(kind, kind="stable")
    place = np.repeat(8 * starts - np.cumsum(counts) + counts, counts) + np.arange(rows)
    layout = np.full(8 * int(lengths.sum()), rows)
    layout[place] = order[by_kind]
    filled = np.flatnonzero(counts)
    gaps = np.diff(points)
    found: _Found = []
    bits, octets = np.empty(layout.size, dtype=np.uint8), np.empty((8, layout.size // 8), dtype=np.uint8)
    for packed, many in _packed(layout, masks, rows):
        for bit in range(many):
            octets[bit] = np.packbits(np.bitwise_and(packed, np.uint8(1 << bit), out=bits))
        held = np.zeros((many, kinds), dtype=np.int64)
        held[:, filled] = np.add.reduceat(np.bitwise_count(octets[:many]), starts[filled], axis=1, dtype=np.int64)
        distance, n_in, n_out = from_counts(held[:, points.size :], held[:, : points.size], gaps)
        found += zip(distance.tolist(), n_in.tolist(), n_out.tolist(), strict=True)
    return found


def from_counts(inside: Whole, outside: Whole, gaps: Floats) -> Block:
    """Distances of groups from their members at each value (groups x values), and the gaps between the values."""
    n_in, n_out = inside.sum(axis=1), outside.sum(axis=1)
    difference = inside * n_out[:, None]
    difference -= outside * n_in[:, None]
    np.abs(np.cumsum(difference, axis=1, out=difference), out=difference)
    return scaled((difference[:, :-1] * gaps).sum(axis=1), n_in, n_out), n_in, n_out


def scaled(area: Floats, n_in: Whole, n_out: Whole) -> Floats:
    """Areas under whole numbers as distances; NaN where a half is empty."""
    scale = n_in.astype(np.float64) * n_out
    distance: Floats = np.full(area.size, np.nan)
    np.divide(area, scale, out=distance, where=scale > 0)
    return distance


def _weighted(
    values: Floats, order: Whole, inside: Bools, masks: Iterator[Any], weights: Floats | None, metric: str
) -> _Found:
    """Weights or another metric: group by group."""
    found: _Found = []
    for eight in _packed(order, masks):
        for mask in _each(eight):
            members = mask.nonzero()[0]
            if not members.size:
                found.append((np.nan, 0, 0))
                continue
            weight = None if weights is None else weights[members]
            one = in_order(values[members], inside[members], weight, np.array([members.size]), metric)
            found.append((float(one[0][0]), int(one[1][0]), int(one[2][0])))
    return found


__all__ = ["from_counts", "overlapping", "scaled"]
