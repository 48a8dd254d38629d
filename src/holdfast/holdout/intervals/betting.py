"""A betting interval: the mean is where no gambler gets rich.

Waudby-Smith and Ramdas 2024 (JRSS B 86), hedged capital with predictable plug-in bets for a fixed number of rows. Of
the families here it is the narrowest where values vary little and are not 0/1: it learns the spread as it goes and pays
almost nothing for it. It reads every row several times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from holdfast.bounds.numerics.exact import UNIT
from holdfast.bounds.numerics.search import crossing
from holdfast.bounds.one_question import means
from holdfast.bounds.one_question.means import Side, outwards
from holdfast.core import arguments
from holdfast.data.values import column, summarise

_CAP = 0.75  # the largest part of the capital that one bet may lose
_WIDTH = 1e-7  # the ends are found to this part of the range


def betting_interval(
    values: npt.ArrayLike,
    log_share: float,
    low: float = 0.0,
    high: float = 1.0,
    side: Side = "both",
) -> tuple[float, float]:
    """Interval of the mean of independent, identically distributed rows, by bets against every candidate value of
    the mean.

    For each candidate `m` a gambler bets that the mean is above `m`, starting with capital 1. On row `i` the gambler
    bets the fraction `b_i(m) = min(b_i, c/m)` with `c = 3/4`, where `b_i >= 0` depends only on the rows before `i`.
    With values scaled to [0, 1] the capital after `t` rows is

        K_t(m) = product over i <= t of (1 + b_i(m) (x_i - m)).

    If the true mean is `m`, the capital ever reaches `1/tail` with probability at most `tail`. So the lower limit is
    the largest candidate at which it reached `1/tail`. The upper limit is found in the same way for `1 - x`.

    Parameters
    ----------
    values : array
        One number per row, in row order. The order may not depend on the values.
    log_share : float
        Natural logarithm of the probability with which the interval may miss the truth.
    low, high : float
        Range that no value leaves.
    side : str
        "both" spends half the share on each limit, "lower" or "upper" all of it on that one.

    Returns
    -------
    tuple of float
        `(low, high)`, each end rounded outwards by at most 1e-7 of the range. Secret: it depends on the rows. Time:
        about 15 passes over the rows and as many logarithms for each limit, 5 ms at 10,000 rows.

    Notes
    -----
    `b_i >= 0` depends on the rows before `i` alone, not on `m`.

    *The ends are valid.* A factor is at least `1 - c > 0`. If the mean is `m`, each factor has conditional expectation
    1, so `K_t(m)` is a non-negative martingale and by Ville's inequality it ever reaches `1/tail` with probability at
    most `tail`. The candidate `m` is refuted if it did, at any `t <= n`. Only the test at the true mean has to hold, so
    nothing is paid for trying many candidates.

    *Bisection is right.* For fixed rows each factor falls as `m` grows: where `b_i < c/m` it is `1 + b_i (x_i - m)`,
    elsewhere `1 - c + c x_i/m`, and the two agree where they meet. All factors are positive, so every `K_t(m)` falls,
    and so does the largest of them. Hence the refuted candidates are all those below one point, and a refuted point is
    a valid lower limit. The upper limit is one less the lower limit of `1 - x`.

    Examples
    --------
    >>> import math
    >>> rows = np.tile([0.4, 0.5, 0.6, 0.5], 2_500)
    >>> low, high = betting_interval(rows, math.log(5e-5))
    >>> round(low, 4), round(high, 4)
    (0.4967, 0.5033)
    """
    return Bets.on(values, low, high).interval(log_share, side)


@dataclass(frozen=True, repr=False, eq=False)
class Bets:
    """Rows scaled to [0, 1], checked once, to be bet on at any share. Secret: it holds the rows.

    Examples
    --------
    >>> Bets.on([0.25, 0.75])
    Bets(n=2, low=0, high=1)
    """

    scaled: npt.NDArray[np.float64]
    low: float
    high: float

    @classmethod
    def on(cls, values: npt.ArrayLike, low: float = 0.0, high: float = 1.0, name: str = "values") -> Bets:
        """Check the values and scale them."""
        low, high = arguments.value_range(low, high)
        rows = column(values, name)
        summarise(rows, n=len(rows), low=low, high=high, name=name)
        return cls(np.clip((rows.astype(np.float64) - low) / (high - low), 0.0, 1.0), low, high)

    def interval(self, log_share: float, side: Side = "both") -> tuple[float, float]:
        """Return the limits at a share; see `betting_interval`."""
        below, above = means.tails(means.share(log_share), side)
        lower = 0.0 if below is None or self.scaled.size == 0 else _lower_limit(self.scaled, below)
        upper = 1.0 if above is None or self.scaled.size == 0 else 1.0 - _lower_limit(1.0 - self.scaled, above)
        length = self.high - self.low
        return outwards(self.low + length * lower, self.low + length * upper, self.low, self.high)

    def __repr__(self) -> str:
        return f"Bets(n={self.scaled.size}, low={self.low:g}, high={self.high:g})"


def _lower_limit(x: npt.NDArray[np.float64], log_tail: float) -> float:
    bets = _bets(x, log_tail)

    def short_of_rich(m: float) -> float:
        """Below 0 where the candidate is refuted, rounding counted; rises with `m`."""
        steps = np.log1p(np.minimum(bets, _CAP / m) * (x - m))
        lost = UNIT * (8 + x.size) * float(np.abs(steps).sum())
        return -log_tail + lost - float(np.cumsum(steps).max())

    least, most = 1e-12, float(x.mean())
    if most <= least or short_of_rich(least) >= 0:
        return 0.0
    if short_of_rich(most) < 0:  # possible for rows in a telling order: the mean itself is refuted
        most = 1.0
        if short_of_rich(most) < 0:
            return 1.0
    return crossing(short_of_rich, least, most, _WIDTH)[0]


def _bets(x: npt.NDArray[np.float64], log_tail: float) -> npt.NDArray[np.float64]:
    """The fraction to bet on each row, from the rows before it."""
    n = x.size
    seen = np.arange(1.0, n + 1)  # the imaginary row and the rows before this one
    mean = (0.5 + np.cumsum(x)) / (seen + 1)
    squares = np.cumsum((x - mean) ** 2)
    variance = 0.25 / seen
    variance[1:] += squares[:-1] / seen[1:]
    bets: npt.NDArray[np.float64] = np.sqrt(-2.0 * log_tail / (n * variance))
    return bets
