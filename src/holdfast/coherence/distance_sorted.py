"""Distances of groups that lie one after the other, each in the order of its predictions: any weights, any metric."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Whole = NDArray[np.int64]
Block = tuple[Floats, Whole, Whole]
"""Of each group: the distance, the members inside, the members outside."""


def in_order(values: Floats, inside: Bools, weights: Floats | None, counts: Whole, metric: str) -> Block:
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


__all__ = ["Block", "Bools", "Floats", "Whole", "in_order"]
