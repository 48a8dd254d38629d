"""Distances of disjoint groups: the rows of each group are put together, and groups of about one size are one table.

A table is sorted along its rows in one call, and holds few enough numbers to stay near the processor. Where predictions
take few different values nothing is sorted: members are counted by group, value and half.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.coherence.distance_masks import from_counts, scaled
from holdfast.coherence.distance_sorted import Block, Bools, Floats, Whole, in_order

#: Numbers in one table; members of groups that are worked on together; rows that are counted together.
TABLE, BLOCK, ROWS = 1 << 14, 1 << 20, 1 << 17
_FINE = 4096  # cells in which few different values are told apart
_SAMPLE = 512

#: All bits of a 64-bit number but the sign.
_MAGNITUDE = np.int64(2**63 - 1)


def disjoint(values: Floats, inside: Bools, codes: NDArray[Any], groups: int) -> Block:
    """Distance and halves of each group, without weights. `codes` are the groups of the rows, -1 for none.

    Values must be less than 2 in size.
    """
    points = few(values, values.size // (2 * max(groups, 1)))
    if points is not None:
        return _counted(values, inside, codes, groups, *points)
    sizes, starts, position = _together(codes, groups)
    keys = np.append(_keys(values, inside).take(position, mode="clip"), _LAST)
    distance = np.full(groups, np.nan)
    n_in = np.zeros(groups, dtype=np.int64)
    by_size = np.argsort(sizes, kind="stable")
    first, end = int(np.searchsorted(sizes[by_size], 1)), groups
    while end > first:  # the largest groups first; each table is as wide as its largest group
        wide = int(sizes[by_size[end - 1]])
        chosen = by_size[max(first, end - max(1, TABLE // wide)) : end]
        end -= chosen.size
        columns = np.arange(wide)
        table = keys.take(starts[chosen, None] + columns, mode="clip")
        if sizes[chosen[0]] < wide:
            table[columns >= sizes[chosen, None]] = _LAST
        distance[chosen], n_in[chosen] = _table(table, sizes[chosen])
    return distance, n_in, sizes - n_in


def _table(keys: Whole, sizes: Whole) -> tuple[Floats, Whole]:
    """Distances of groups, one a row of keys. What fills short rows sorts last, where all gaps are 0."""
    keys.sort(axis=1)
    steps = keys & 1
    keys >>= 1
    keys ^= (keys >> 63) & _MAGNITUDE
    values = keys.view(np.float64)
    n_in = steps.sum(axis=1)
    steps *= sizes[:, None]
    steps -= n_in[:, None]  # a member inside: the number outside up; one outside: the number inside down
    np.abs(np.cumsum(steps, axis=1, out=steps), out=steps)
    gaps = values[:, 1:] - values[:, :-1]
    gaps *= steps[:, :-1]  # 0 after the last member
    return scaled(gaps.sum(axis=1), n_in, sizes - n_in), n_in


def _keys(values: Floats, inside: Bools) -> Whole:
    """One whole number for value and half, in the order of values.

    The bits of doubles, with those of negative ones turned over, are ordered as the doubles are. Below 2 in size the
    highest bit of the exponent is not used, which leaves one bit for the half. Sorting these numbers group by group
    is several times as fast as sorting places of doubles.
    """
    bits = values.view(np.int64)
    keys = bits >> 63
    keys &= _MAGNITUDE
    keys ^= bits
    keys <<= 1
    keys |= inside
    return keys


#: A key that no smaller number than 2 exceeds.
_LAST = int(_keys(np.array([np.nextafter(2.0, 0.0)]), np.array([False]))[0])


def _together(codes: NDArray[Any], groups: int) -> tuple[Whole, Whole, Whole]:
    """Sizes of the groups, where each starts, and the rows in the order of groups; rows of no group are left out."""
    counts = np.bincount(codes.astype(np.int64) + 1, minlength=groups + 1)
    short = codes.astype(np.int16 if groups < 32767 else np.int32)  # 16 bits are sorted by counting
    position = np.argsort(short, kind="stable")[counts[0] :]
    sizes = counts[1:]
    return sizes, np.cumsum(sizes) - sizes, position


def few(values: Floats, most: int) -> tuple[Floats, Whole, float, float] | None:
    """The different values if they are at most `most`, and how to number them; None if more, or too close together.

    The number of a value is `numbers[int((value - low) * factor)]`: the second, third and fourth part of the answer.

    Examples
    --------
    >>> few(np.array([0.5, -1.0, 0.5]), 2)[0]
    array([-1. ,  0.5])
    """
    if not values.size or np.unique(values[:: max(1, values.size // _SAMPLE)]).size > min(most, _SAMPLE // 4):
        return None
    low, high = float(values.min()), float(values.max())
    with np.errstate(over="ignore"):
        factor = float(np.float64(_FINE - 1) / (high - low)) if low < high else 0.0
    if not np.isfinite(factor):
        return None
    seen = np.full(_FINE, np.nan)
    for start in range(0, values.size, ROWS):
        part = values[start : start + ROWS]
        cell = ((part - low) * factor).astype(np.int64)
        seen[cell] = np.where(np.isnan(seen[cell]), part, seen[cell])
        if not np.array_equal(seen[cell], part):
            return None  # two values in one cell
    held = np.flatnonzero(~np.isnan(seen))
    if held.size > most:
        return None
    numbers = np.zeros(_FINE, dtype=np.int64)
    numbers[held] = np.arange(held.size)
    return seen[held], numbers, low, factor


def _counted(
    values: Floats,
    inside: Bools,
    codes: NDArray[Any],
    groups: int,
    points: Floats,
    numbers: Whole,
    low: float,
    factor: float,
) -> Block:
    """Few values: members by group, value and half."""
    cells = (groups + 1) * points.size
    counts = np.zeros(2 * cells, dtype=np.int64)
    for start in range(0, values.size, ROWS):
        rows = slice(start, start + ROWS)
        at = numbers.take(((values[rows] - low) * factor).astype(np.int64), mode="clip")
        at += (codes[rows].astype(np.int64) + 1) * points.size
        at += inside[rows] * np.int64(cells)
        counts += np.bincount(at, minlength=2 * cells)
    outside, within = counts.reshape(2, groups + 1, points.size)
    return from_counts(within[1:], outside[1:], np.diff(points))


def weighted(
    values: Floats, order: Whole, inside: Bools, codes: NDArray[Any], groups: int, weights: Floats | None, metric: str
) -> Block:
    """Weights, another metric or values of any size: rows in the order of values, then block by block of groups."""
    sizes, starts, position = _together(codes[order], groups)
    distance = np.full(groups, np.nan)
    n_in, n_out = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)
    filled = np.flatnonzero(sizes)
    ends = (starts + sizes)[filled]
    first = 0
    while first < filled.size:
        start = int(starts[filled[first]])
        last = max(first + 1, int(np.searchsorted(ends, start + BLOCK, side="right")))
        at = position[start : int(ends[last - 1])]
        chosen, row = filled[first:last], order[at]
        weight = None if weights is None else weights[row]
        distance[chosen], n_in[chosen], n_out[chosen] = in_order(values[at], inside[row], weight, sizes[chosen], metric)
        first = last
    return distance, n_in, n_out


__all__ = ["disjoint", "few", "weighted"]
