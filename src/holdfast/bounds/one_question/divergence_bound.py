"""The Chernoff interval: Hoeffding's sharper inequality, inverted. Narrow where the mean is near an end."""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.divergence import binary_kl, binary_kl_at_least
from holdfast.bounds.exact import UNIT, down, up
from holdfast.bounds.one_question import inputs
from holdfast.bounds.one_question.inputs import Side
from holdfast.bounds.one_question.limits import Limits, outwards
from holdfast.bounds.registry import theorem


@theorem(
    "one-question.kl",
    statement="Interval of all p with n kl(mean || p) <= ln(1/tail) on either side; the value is half its length.",
    source="Hoeffding 1963, Theorem 1 (Chernoff 1952 for 0/1 values)",
    conditions="rows independent with values in [low, high]; question, share and side fixed before the data",
    unit="half-width",
)
def kl(mean: float, n: int, log_share: float, low: float = 0.0, high: float = 1.0, side: Side = "both") -> Limits:
    """Interval of a bounded mean by inverting the Chernoff-Hoeffding bound.

    A [0,1] value is at most as spread in the convex order as a coin with the same mean, so with truth `p`
    `P(mean >= q) <= exp(-n kl(q || p))` for `q >= p`, and the mirror image below (Hoeffding 1963, Theorem 1, as
    printed). The divergence grows as `p` leaves `mean`, so the points not refuted form an interval. Other ranges are
    scaled to [0, 1]. By Pinsker's inequality it is never wider than `hoeffding`.

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
        `(low, high)`. Newton's method runs on the safe side of the root (the divergence is convex), and the returned
        point is checked to be beyond it with rounding counted. Time: about twenty microseconds.

    Examples
    --------
    >>> low, high = kl(0.95, 10_000, math.log(0.05))
    >>> round(low, 6), round(high, 6)
    (0.943858, 0.9557)
    """
    low, high = check.value_range(low, high)
    mean = check.real("mean", mean, at_least=low, at_most=high)
    n, log_share = inputs.rows(n), inputs.share(log_share)
    below, above = inputs.tails(log_share, side)
    if (low, high) == (0.0, 1.0):
        return Limits(
            0.0 if below is None else kl_lower(mean, -below / n), 1.0 if above is None else kl_upper(mean, -above / n)
        )
    length = high - low
    slack = 4 * UNIT * (abs(mean) + abs(low) + length) / length  # what scaling to [0, 1] may lose
    q = (mean - low) / length
    lower = low if below is None else low + length * kl_lower(min(max(q - slack, 0.0), 1.0), -below / n)
    upper = high if above is None else low + length * kl_upper(min(max(q + slack, 0.0), 1.0), -above / n)
    return outwards(lower, upper, low, high)


def kl_lower(q: float, nats: float) -> float:
    """The least `p <= q` with `kl(q || p) <= nats`, rounded down. Arguments are not checked.

    Examples
    --------
    >>> round(kl_lower(1.0, 0.01), 9) == round(math.exp(-0.01), 9)
    True
    """
    nats = up(nats)
    if q == 0.0:
        return 0.0
    if q == 1.0:
        return down(math.exp(-nats), 4)
    entropy = -q * math.log(q) - (1 - q) * math.log1p(-q)
    # Two points that are certainly beyond the root: Pinsker's, and one that drops the other outcome's term.
    p = max(q - math.sqrt(nats / 2), math.exp(-(nats + entropy) / q))
    p = _newton(q, nats, p)
    step = 2
    while p > 0.0 and binary_kl_at_least(q, p) < nats:
        p, step = max(down(p, step), 0.0), 2 * step
    return p


def kl_upper(q: float, nats: float) -> float:
    """The greatest `p >= q` with `kl(q || p) <= nats`, rounded up. Arguments are not checked.

    Examples
    --------
    >>> round(kl_upper(0.0, 0.01), 9) == round(-math.expm1(-0.01), 9)
    True
    """
    nats = up(nats)
    if q == 1.0:
        return 1.0
    if q == 0.0:
        return min(up(-math.expm1(-nats), 4), 1.0)
    entropy = -q * math.log(q) - (1 - q) * math.log1p(-q)
    p = min(q + math.sqrt(nats / 2), -math.expm1(-(nats + entropy) / (1 - q)))
    p = _newton(q, nats, p)
    step = 2
    while p < 1.0 and binary_kl_at_least(q, p) < nats:
        p, step = min(up(p, step), 1.0), 2 * step
    return p


def _newton(q: float, nats: float, p: float) -> float:
    """Newton's method for `kl(q || p) = nats` from a point beyond the root; by convexity it stays beyond it."""
    for _ in range(100):
        if not 0.0 < p < 1.0 or p == q:
            break
        excess = binary_kl(q, p) - nats
        moved = p - excess * p * (1 - p) / (p - q)
        if excess <= 0 or abs(moved - p) <= 1e-15 * p or not 0.0 < moved < 1.0:
            break
        p = moved
    return p


__all__ = ["kl", "kl_lower", "kl_upper"]
