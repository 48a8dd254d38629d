"""Mixture bets on rows of which only power sums are known: exact whole numbers, the same on every engine in any order.

A guard's engines add rows up where they are, in whatever order they like, so bets whose sizes depend on the rows before
cannot be placed there. These need four sums of one pass over the rows, and no order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from holdfast.bounds.one_question import means
from holdfast.bounds.one_question.means import Side, kl, outwards

Array = npt.NDArray[np.float64]
POWERS = 4
"""How many power sums the bets need."""
_CAP = 0.95  # the largest part of the capital that one bet may lose
_FIRST = 2.0  # the smallest bet, in units of sqrt(2 ln(1/tail)/n)
_LARGEST = 4.0  # bets are doubled up to this one: for values within a hundredth of the range
_MOST_BETS = 20
_TRIED = 64  # distances from the mean that are tried at once
_ROUNDS = 4  # each among those between two of the round before: to about a millionth of the distance
_WIDTH = 1e-7  # means nearer to an end of the range have no limit there
_ROUNDED = 1e-11  # more than a sum of logarithms, divided by the rows, is off by because of rounding
SMALL_PART = math.log(8.0) + 1e-12
"""`ln` of what a share is divided by for the second of two intervals that are both to hold."""
LARGE_PART = math.log(8.0 / 7.0) + 1e-12
"""The same for the first of them, which keeps the rest."""


@dataclass(frozen=True, repr=False, eq=False)
class PowerBets:
    """Rows in [0, 1] that are known by their mean and their central moments. Secret.

    Let rows be independent, and `mu` the mean of their means. `MixtureBets` (`intervals.paired`) leaves `mu` out where
    the mixture over fixed bets `b` of `product over i of (1 + b (x_i - mu))` is at least `1/tail`. Here each product
    is replaced by something smaller that four power sums determine, so what is left out here is left out there.

    *The bound.* For `y >= -c`, `0 < c < 1`,

        ln(1 + y)  >=  y - y^2/2 + y^3/3 - r(c) y^4,      r(c) = (-ln(1 - c) - c - c^2/2 - c^3/3)/c^4.

    Since `1/(1 + u) = 1 - u + u^2 - u^3/(1 + u)`, the difference `y - y^2/2 + y^3/3 - ln(1 + y)` is the integral of
    `u^3/(1 + u)` from 0 to `y`, which is `y^4` times the integral of `t^3/(1 + t y)` over `t` in [0, 1]. That integral
    falls as `y` grows, so it is at most `r(c)`, its value at `y = -c`. Rows are at least 0, so `b (x_i - mu)` is at
    least `-b mu`, and `c = b mu` serves for all rows.

    *Any point that is left out is a limit.* The product with the capped bet `min(b, c/mu)` falls as `mu` grows. So
    where the smaller expression leaves out some point, the product leaves out all points below it. The smaller
    expression need not fall itself.

    Parameters
    ----------
    n : int
        The number of rows.
    mean : float
        Their mean.
    central : tuple of float
        The second, third and fourth central moments; the second and the fourth are not too small.
    doubt : float
        How much too large, or too small, the third one may be.
    low, high : float
        The range that the limits are scaled to.

    Examples
    --------
    >>> rows = PowerBets.of([2**29 * 1000, 2**28 * 1000, 2**27 * 1000, 2**26 * 1000], 1000, 0.0, 10.0)  # all are 1/2
    >>> low, high = rows.interval(math.log(0.05))
    >>> round(low, 2), round(high, 2)
    (4.98, 5.02)
    """

    n: int
    mean: float
    central: tuple[float, float, float]
    doubt: float
    low: float
    high: float

    @classmethod
    def of(cls, sums: Sequence[int | Fraction], n: int, low: float = 0.0, high: float = 1.0) -> PowerBets:
        """Return the rows whose k-th powers add up to `sums[k - 1]` steps of `2**-30`, each row rounded down to a step.

        The first powers are exact: what the rows are is a whole number of steps, or of half steps.
        """
        step = Fraction(1, 2**30 * n)
        first, second, third, fourth = (step * total for total in sums)
        mean = first
        central = (
            second - mean**2,
            third - 3 * mean * second + 2 * mean**3,
            fourth - 4 * mean * third + 6 * mean**2 * second - 3 * mean**4,
        )
        lost = 2.0**-29  # twice a step: each power was rounded down by less than one, and in double precision before
        return cls(
            n,
            float(mean),
            (max(float(central[0]), 0.0) + lost, float(central[1]), max(float(central[2]), 0.0) + 11 * lost),
            4 * lost,
            low,
            high,
        )

    @property
    def value(self) -> float:
        """The mean in the unit of the range."""
        return min(max(self.low + (self.high - self.low) * self.mean, self.low), self.high)

    def interval(self, log_share: float, side: Side = "both") -> tuple[float, float]:
        """Limits that miss the mean of the rows' means with probability at most `exp(log_share)`."""
        below, above = means.tails(means.share(log_share), side)
        lower = 0.0 if below is None or not self.n else self._lower(below)
        upper = 1.0 if above is None or not self.n else 1.0 - self.mirrored._lower(above)
        length = self.high - self.low
        return outwards(self.low + length * lower, self.low + length * upper, self.low, self.high)

    def log_p_value(self, margin: float, log_level: float) -> float:
        """`ln` of a p-value of "the mean is at most `margin`", with bets that are best at the level; rounded up."""
        distance = self.mean - (margin - self.low) / (self.high - self.low)
        if not self.n or distance <= 0:
            return 0.0
        return min(0.0, -float(self._log_capital(np.array([distance]), log_level)[0]))

    @property
    def mirrored(self) -> PowerBets:
        """The same rows seen from the other end of the range."""
        second, third, fourth = self.central
        return PowerBets(self.n, 1.0 - self.mean, (second, -third, fourth), self.doubt, self.low, self.high)

    def _lower(self, log_tail: float) -> float:
        """The largest point that was found to be left out; 0 where none was."""
        if self.mean <= _WIDTH:
            return 0.0
        tried, near, far = np.geomspace(_WIDTH * 1e-2, self.mean, _TRIED), 0.0, math.inf
        for _ in range(_ROUNDS):
            out = np.flatnonzero(self._log_capital(tried, log_tail) >= -log_tail)
            if out.size:
                near, far = float(tried[out[0] - 1]) if out[0] else near, float(tried[out[0]])
            if far == math.inf:
                return 0.0
            tried = np.linspace(near, far, _TRIED)[1:]
        return max(0.0, self.mean - far)

    def _log_capital(self, distances: Array, log_tail: float) -> Array:
        """`ln` of at most the mixture's capital against points so far below the mean, rounded down."""
        points = np.maximum(self.mean - distances, 1e-12)
        capped = np.minimum(bets(self.n, log_tail)[:, None], _CAP / points)
        second, third, fourth = self.central
        squares = second + distances**2
        cubes = third - self.doubt + 3 * distances * second + distances**3
        fourths = fourth + 4 * distances * (third + self.doubt) + 6 * distances**2 * second + distances**4
        parts = (
            capped * distances,
            -(capped**2) * squares / 2,
            capped**3 * cubes / 3,
            -rest(capped * points) * capped**4 * np.maximum(fourths, 0.0),
        )
        logs = self.n * (sum(parts) - _ROUNDED * sum(map(np.abs, parts)))
        best = logs.max(axis=0)
        found: Array = best + np.log(np.exp(logs - best).sum(axis=0) / len(capped)) - 1e-9
        return found

    def __repr__(self) -> str:
        return f"PowerBets(n={self.n}, low={self.low:g}, high={self.high:g})"


def bets(n: int, log_tail: float) -> Array:
    """The bets of the mixture: from `2 sqrt(2 ln(1/tail)/n)`, each twice the one before. Fixed before rows are read.

    Examples
    --------
    >>> np.round(bets(2000, -10.0), 2).tolist()
    [0.2, 0.4, 0.8, 1.6, 3.2, 6.4]
    """
    first = _FIRST * math.sqrt(-2 * log_tail / n)
    count = 1 + max(0, math.ceil(math.log2(_LARGEST / first)))
    return np.asarray(first * 2.0 ** np.arange(min(count, _MOST_BETS)), dtype=np.float64)


def rest(part: Array) -> Array:
    """What the fourth power is multiplied by where no row loses more than this part; rounded up.

    Examples
    --------
    >>> np.round(rest(np.array([0.0, 0.5, 0.95])), 3).tolist()
    [0.25, 0.424, 1.607]
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        exact = (-np.log1p(-part) - part - part**2 / 2 - part**3 / 3) / part**4
    small = sum(part ** (k - POWERS) / k for k in range(POWERS, POWERS + 12))  # what follows is below 1e-13 there
    found: Array = np.where(part < 0.05, small + 1e-12, exact) * (1 + 1e-9)
    return found


@dataclass(frozen=True, repr=False, eq=False)
class NumberMean:
    """The interval of a mean of numbers by bets, cut by the one that knows the range alone. Secret.

    Bets gain where values vary less than 0/1 values with the same mean would. Where they do not, Chernoff's interval is
    the narrower one. The bets have 7/8 of the share and Chernoff's interval 1/8, so both hold except with the whole
    share, and so does their intersection. Where they do not meet, one of them missed, and the bets' is shown.

    Examples
    --------
    >>> rows = PowerBets.of([2**29 * 1000, 2**28 * 1000, 2**27 * 1000, 2**26 * 1000], 1000)
    >>> NumberMean(rows)
    NumberMean(n=1000, low=0, high=1)
    """

    bets: PowerBets

    @property
    def low(self) -> float:
        """Least value that the mean can have."""
        return self.bets.low

    @property
    def high(self) -> float:
        """Greatest value that the mean can have."""
        return self.bets.high

    @property
    def n(self) -> int:
        """The number of rows."""
        return self.bets.n

    @property
    def description(self) -> str:
        """What is used, in public."""
        return "betting"

    @property
    def value(self) -> float:
        """The exact mean."""
        return self.bets.value

    def interval(self, log_share: float, side: Side = "both") -> tuple[float, float]:
        """Limits that miss a fixed question's truth with probability at most `exp(log_share)`."""
        log_share = means.share(log_share)
        ends = kl(self.value, self.n, log_share - SMALL_PART, self.low, self.high, side)
        hair = 1e-12 * max(abs(self.low), abs(self.high), self.high - self.low)
        return meet(self.bets.interval(log_share - LARGE_PART, side), (ends.low - hair, ends.high + hair))

    def __repr__(self) -> str:
        return f"NumberMean(n={self.n}, low={self.low:g}, high={self.high:g})"


def meet(first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """Return the intersection of two intervals; the first where they do not meet.

    Examples
    --------
    >>> meet((0.0, 0.5), (0.25, 1.0)), meet((0.0, 0.5), (0.75, 1.0))
    ((0.25, 0.5), (0.0, 0.5))
    """
    lower, upper = max(first[0], second[0]), min(first[1], second[1])
    return (lower, upper) if lower <= upper else (first[0], first[1])
