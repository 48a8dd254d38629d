"""Exact quilt search on a chain: two lags to choose, and a price that falls in neither of them.

A quilt of record `i` is a pair of lags `(a, b)`: the separating records are `i - a` and `i + b`, and `a + b - 1`
records lie between them, `i` included. A side that has no separating record is the lag just beyond the end of the
series, where the side's log ratio is 0; so one-sided quilts and the trivial one are corners of the same rectangle. The
log ratios do not increase with the lag, hence a rectangle of lags cannot hold anything better than the size of its
smallest pair at the surcharge of its largest: rectangles that cannot win are dropped, the others are cut in four. The
result is the exact optimum after about as many evaluations as the best quilt is long, whatever the series' length. For
quilts of millions of records the search stops refining after `MOST` rectangles and keeps the best pair it has, which is
safe: any quilt is.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from holdfast.correlated.transition import Array

Lags = NDArray[np.int64]

#: Two prices closer than this, relatively, are the same: the shorter quilt wins, then the shorter left side.
TIE = 1e-12

MOST = 1_000_000
"""Rectangles that one search looks at; enough for an exact answer up to quilts of about a million records."""


class Objective(Protocol):
    """A price that does not decrease in the size nor in the surcharge."""

    def __call__(self, size: Array, surcharge: Array) -> Array:
        """The price, infinite where the quilt cannot be used."""

    def largest_size(self, price: float) -> float:
        """The size at which a quilt without surcharge costs `price`."""


@dataclass(frozen=True)
class NoiseAt:
    """The noise scale `size / (epsilon - surcharge)` at a Bayesian level."""

    epsilon: float

    def __call__(self, size: Array, surcharge: Array) -> Array:
        """The noise scale."""
        left = self.epsilon - surcharge
        return np.where(left > 0, size / np.where(left > 0, left, 1.0), np.inf)

    def largest_size(self, price: float) -> float:
        """The size with that noise scale."""
        return price * self.epsilon


@dataclass(frozen=True)
class LevelAt:
    """The Bayesian level `size * epsilon_dp + surcharge` of an `epsilon_dp`-DP mechanism."""

    epsilon_dp: float

    def __call__(self, size: Array, surcharge: Array) -> Array:
        """The level."""
        return size * self.epsilon_dp + surcharge

    def largest_size(self, price: float) -> float:
        """The size with that level."""
        return price / self.epsilon_dp


@dataclass(frozen=True)
class Found:
    """A record's best lags and their price; a lag just beyond the series means that side has no separating record."""

    record: int
    left: int
    right: int
    price: float


def best_lags(
    record: int, left_room: int, right_room: int, surcharge: Callable[[Lags, Lags], Array], price: Objective
) -> Found:
    """The cheapest pair of lags with `1 <= a <= left_room` and `1 <= b <= right_room`.

    Parameters
    ----------
    record : int
        Only copied into the result.
    left_room, right_room : int
        One more than the records on that side: the largest lag means "no separating record there".
    surcharge : callable
        Of two arrays of lags; must not increase in either.
    price : Objective
        What is minimised, of size and surcharge.
    """
    best = Found(record, left_room, right_room, math.inf)

    def offer(a: Lags, b: Lags, w: Array) -> None:
        nonlocal best
        sizes = a + b - 1
        prices = price(sizes.astype(np.float64), w)
        near = np.flatnonzero(prices <= prices.min() * (1 + TIE)) if np.isfinite(prices.min()) else np.empty(0, int)
        for j in near:
            rival = Found(record, int(a[j]), int(b[j]), float(prices[j]))
            if rival.price < best.price * (1 - TIE) or (
                rival.price <= best.price * (1 + TIE)
                and (rival.left + rival.right, rival.left) < (best.left + best.right, best.left)
            ):
                best = rival

    corner = np.array([left_room]), np.array([right_room])
    offer(*corner, surcharge(*corner))
    lag = 1
    while 2 * lag - 1 < price.largest_size(best.price) and lag < max(left_room, right_room):
        a, b = np.array([min(lag, left_room)]), np.array([min(lag, right_room)])
        offer(a, b, surcharge(a, b))
        lag *= 2

    widest = int(min(price.largest_size(best.price) * (1 + TIE) + 1, left_room + right_room))
    boxes = np.array([[1, min(left_room, widest), 1, min(right_room, widest)]])
    seen = 0
    while len(boxes) and seen < MOST:
        seen += len(boxes)
        a0, a1, b0, b1 = boxes.T
        w = surcharge(a1, b1)
        offer(a1, b1, w)
        offer(a0, b0, surcharge(a0, b0))
        floor = price((a0 + b0 - 1).astype(np.float64), w)
        alive = (floor <= best.price * (1 + TIE)) & ((a0 < a1) | (b0 < b1))
        boxes = _quarters(boxes[alive])
    return best


def _quarters(boxes: Lags) -> Lags:
    """Cut every rectangle at its middle, both ways; a side of one lag is not cut."""
    a0, a1, b0, b1 = boxes.T
    am, bm = (a0 + a1) // 2, (b0 + b1) // 2
    parts = [
        np.stack(part, axis=1)
        for part in ((a0, am, b0, bm), (am + 1, a1, b0, bm), (a0, am, bm + 1, b1), (am + 1, a1, bm + 1, b1))
    ]
    cut: Lags = np.concatenate(parts)
    return cut[(cut[:, 0] <= cut[:, 1]) & (cut[:, 2] <= cut[:, 3])]


def worst_of(
    records: Lags,
    start: Found,
    prices: Callable[[Lags, int, int], Array],
    search: Callable[[int], Found],
    ceiling: float,
) -> Found:
    """The dearest of the records' cheapest quilts, without searching most records.

    A record is done as soon as any known pair of lags prices it at or below the dearest found so far. Only the record
    that looks dearest is searched; its lags are then tried on all that are left.

    Parameters
    ----------
    records : array
        The records to look at.
    start : Found
        A record already searched.
    prices : callable
        Of records and one pair of lags: the price each record has with these lags, cut to its room.
    search : callable
        The exact search of one record.
    ceiling : float
        The price of the trivial quilt, above which no record can be.
    """
    dearest, lags, left = start, start, records
    known = np.full(len(records), np.inf)
    while len(left) and dearest.price < ceiling * (1 - TIE):
        known = np.minimum(known, prices(left, lags.left, lags.right))
        open_ = known > dearest.price * (1 + TIE)
        left, known = left[open_], known[open_]
        if not len(left):
            break
        lags = search(int(left[int(np.argmax(known))]))
        if lags.price > dearest.price:
            dearest = lags
        keep = left != lags.record
        left, known = left[keep], known[keep]
    return dearest


__all__ = ["MOST", "TIE", "Found", "Lags", "LevelAt", "NoiseAt", "Objective", "best_lags", "worst_of"]
