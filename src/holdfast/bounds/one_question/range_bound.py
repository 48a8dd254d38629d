"""Hoeffding's interval: it knows the range of a value and nothing else."""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.one_question import inputs
from holdfast.bounds.one_question.inputs import Side
from holdfast.bounds.one_question.limits import Limits, outwards
from holdfast.bounds.registry import theorem


def hoeffding_half_width(n: int, log_tail: float) -> float:
    """`sqrt(-log_tail / (2n))`: how far the mean of `n` [0,1] values is beyond the truth on one side, rounded up.

    Arguments are not checked.

    Examples
    --------
    >>> round(hoeffding_half_width(10_000, math.log(0.025)), 9)
    0.013581015
    """
    return up(math.sqrt(-log_tail / (2 * n)), 16)


@theorem(
    "one-question.hoeffding",
    statement="Interval mean -+ (high - low) sqrt(ln(1/tail) / (2n)) for one fixed question; the value is half its "
    "length.",
    source="Hoeffding 1963, Theorem 2",
    conditions="rows independent with values in [low, high]; question, share and side fixed before the data",
    unit="half-width",
)
def hoeffding(
    mean: float, n: int, log_share: float, low: float = 0.0, high: float = 1.0, side: Side = "both"
) -> Limits:
    """Interval of a bounded mean from its range alone.

    `P(mean - truth >= (high - low) w) <= exp(-2 n w^2)`, and the same below (Hoeffding 1963, Theorem 2, as printed).

    Parameters
    ----------
    mean : float
        Mean of the rows' values.
    n : int
        Rows.
    log_share : float
        Natural logarithm of the probability with which the interval may miss the truth.
    low, high : float
        Range that no value leaves.
    side : str
        "both" spends half the share on each limit, "lower" or "upper" all of it on that one.

    Returns
    -------
    Limits
        `(low, high)`, rounded outwards. Time: microseconds.

    Examples
    --------
    >>> low, high = hoeffding(0.5, 10_000, math.log(0.05))
    >>> round(low, 6), round(high, 6)
    (0.486419, 0.513581)
    """
    low, high = check.value_range(low, high)
    mean = check.real("mean", mean, at_least=low, at_most=high)
    n, log_share = inputs.rows(n), inputs.share(log_share)
    below, above = inputs.tails(log_share, side)
    length = high - low
    lower = low if below is None else mean - length * hoeffding_half_width(n, below)
    upper = high if above is None else mean + length * hoeffding_half_width(n, above)
    return outwards(lower, upper, low, high)


__all__ = ["hoeffding", "hoeffding_half_width"]
