"""What chance alone does to the distance of a group: the noise floor, its bound, and exact values by enumeration."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from holdfast import check
from holdfast.coherence.distance import group_distances, numbers, rank
from holdfast.errors import InvalidParameter

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
    inside = check.whole("inside", inside, at_least=1, at_most=m - 1)
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
    alpha = check.real("alpha", alpha, above=0, at_most=2)
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
    members, splits = check.whole("members", members, at_least=2), check.whole("splits", splits, at_least=2)
    tests = check.whole("tests", tests, at_least=1)
    level, power = check.probability("level", level), check.probability("power", power)
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
        raise InvalidParameter(f"predictions must be even in number, got {ranked.rows}")
    masks = np.asarray(groups, dtype=bool)
    found = [group_distances(ranked, c, masks).distance for c in _choices(ranked.rows, ranked.rows // 2)]
    distances = np.array(found)
    empty = np.isnan(distances)
    above = np.where(empty, -np.inf, distances) > alpha
    return int(above.any(axis=1).sum()), int(empty.any(axis=1).sum()), len(found)


def _choices(rows: int, inside: int) -> Iterator[NDArray[np.bool_]]:
    inside = check.whole("inside", inside, at_least=1, at_most=rows - 1)
    if math.comb(rows, inside) > MOST_SPLITS:
        raise InvalidParameter(f"predictions must have at most {MOST_SPLITS:,} splits, {rows} have more")
    for members in combinations(range(rows), inside):
        mask = np.zeros(rows, dtype=bool)
        mask[list(members)] = True
        yield mask


__all__ = ["Floor", "detectable_excess", "exact_experiment", "exact_null", "noise_floor", "size_for_floor"]
