"""The privacy loss of repeated randomised response as a random walk: exact crossing probabilities and fast simulation.

Every round adds `+epsilon` with probability `e^epsilon / (1 + e^epsilon)` and `-epsilon` otherwise, so after `i` rounds
the loss is `(2 tops - i) epsilon`. An odometer that reads `u_i` after round `i` is caught out by the adversary who
stops as soon as the loss exceeds the reading. Its failure probability is that of ever crossing the curve, and this is
what the functions here compute.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from holdfast.core import arguments

Curve = NDArray[np.float64]
Thresholds = NDArray[np.int64]
_TRIM, _TRIM_EVERY = 1e-18, 32
_CELLS = 4_000_000


def crossing_thresholds(epsilon: float, curve: Curve) -> Thresholds:
    """For each round the least number of `top` symbols whose loss exceeds the curve.

    A loss equal to the reading is not a failure; a relative 1e-12 keeps rounding from turning a tie into one.

    Examples
    --------
    >>> crossing_thresholds(0.1, np.array([0.1, 0.2, 0.25]))
    array([2, 3, 3])
    """
    epsilon = arguments.real("epsilon", epsilon, above=0)
    rounds = np.arange(1, len(curve) + 1)
    steps = np.minimum(np.asarray(curve, dtype=float) / epsilon * (1 + 1e-12), rounds)
    return np.asarray(np.floor((steps + rounds) / 2), dtype=np.int64) + 1


@dataclass(frozen=True)
class Crossing:
    """A crossing probability; the truth lies in `[probability, probability + error]`."""

    probability: float
    error: float


def crossing_probability(epsilon: float, thresholds: Thresholds, *, two_sided: bool = False) -> Crossing:
    """Exact probability that the walk ever reaches its thresholds, by running the distribution forward and absorbing.

    With `two_sided` a loss below minus the reading counts too, as in the definition of an odometer. States with mass
    below 1e-18 are dropped and counted into `error`. Time is of order `rounds * sqrt(rounds)`: a second for 100,000.

    Examples
    --------
    >>> walk = np.array([1, 3])
    >>> crossing_probability(math.log(3), walk).probability
    0.75
    >>> crossing_probability(math.log(3), walk, two_sided=True).probability
    1.0
    """
    up = 1 / (1 + math.exp(-arguments.real("epsilon", epsilon, above=0)))
    low, mass = 0, np.ones(1)  # mass[j] is the probability of low + j tops, not yet absorbed
    absorbed, error = 0.0, 0.0
    for i, threshold in enumerate(thresholds.tolist(), start=1):
        moved = np.zeros(len(mass) + 1)
        moved[:-1] = mass * (1 - up)
        moved[1:] += mass * up
        if (keep := max(threshold - low, 0)) < len(moved):
            absorbed += float(moved[keep:].sum())
            moved = moved[:keep]
        if two_sided and (lost := i - threshold - low + 1) > 0:
            absorbed += float(moved[:lost].sum())
            moved, low = moved[lost:], low + lost
        if i % _TRIM_EVERY == 0:
            heavy = np.flatnonzero(moved >= _TRIM)
            first, last = (int(heavy[0]), int(heavy[-1]) + 1) if len(heavy) else (0, 0)
            error += float(moved[:first].sum()) + float(moved[last:].sum())
            moved, low = moved[first:last], low + first
        if not len(moved):
            break
        mass = moved
    return Crossing(absorbed, error)


def last_round_probability(epsilon: float, thresholds: Thresholds) -> float:
    """Exact probability that the loss exceeds the curve after the last round, wherever it was before.

    Examples
    --------
    >>> last_round_probability(math.log(3), np.array([1, 2]))
    0.5625
    """
    from scipy.stats import binom

    up = 1 / (1 + math.exp(-epsilon))
    return float(binom.sf(int(thresholds[-1]) - 1, len(thresholds), up))


def count_crossings(
    epsilon: float,
    thresholds: Sequence[Thresholds],
    trials: int,
    rng: np.random.Generator,
    progress: Callable[[float], None] = lambda fraction: None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Simulate walks and count, for each curve, those that ever reach it and those that are past it at the end.

    All curves see the same walks. Time is of order `trials * rounds * curves`, about a nanosecond each.

    Examples
    --------
    >>> never = np.array([9, 9])
    >>> ever, at_end = count_crossings(0.1, [never, np.array([0, 3])], 50, np.random.default_rng(1))
    >>> ever.tolist(), at_end.tolist()
    ([0, 50], [0, 0])
    """
    rounds = len(thresholds[0])
    up = 1 / (1 + math.exp(-epsilon))
    ever = np.zeros(len(thresholds), dtype=np.int64)
    at_end = np.zeros(len(thresholds), dtype=np.int64)
    batch = max(1, min(trials, _CELLS // rounds))
    narrow = [np.minimum(curve, np.iinfo(np.int32).max).astype(np.int32) for curve in thresholds]
    for start in range(0, trials, batch):
        size = min(batch, trials - start)
        tops = np.cumsum(rng.random((size, rounds)) < up, axis=1, dtype=np.int32)
        for j, curve in enumerate(narrow):
            ever[j] += int((tops >= curve).any(axis=1).sum())
            at_end[j] += int((tops[:, -1] >= curve[-1]).sum())
        progress((start + size) / trials)
    return ever, at_end


__all__ = [
    "Crossing",
    "count_crossings",
    "crossing_probability",
    "crossing_thresholds",
    "last_round_probability",
]
