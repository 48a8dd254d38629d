"""The empirical Bernstein interval: narrow where the values vary little, whatever their range."""

from __future__ import annotations

import math

from holdfast import check
from holdfast.bounds.exact import up
from holdfast.bounds.one_question import inputs
from holdfast.bounds.one_question.inputs import Side
from holdfast.bounds.one_question.limits import Limits, outwards
from holdfast.bounds.registry import theorem


@theorem(
    "one-question.empirical-bernstein",
    statement="Interval mean -+ (sqrt(2 V x/n) + R x (2/sqrt(n(n-1)) + 1/(3n))), x = ln(events/share), V the sample "
    "variance; the value is half its length.",
    source="Maurer and Pontil 2009, Theorems 3, 4 and 10; last term before its rounding to 7/(3(n-1)), three events "
    "for two sides (derived)",
    conditions="rows independent and identically distributed with values in [low, high], at least 2; question, share "
    "and side fixed before the data",
    unit="half-width",
    provenance="mixed",
)
def empirical_bernstein(
    mean: float,
    variance: float,
    n: int,
    log_share: float,
    low: float = 0.0,
    high: float = 1.0,
    side: Side = "both",
) -> Limits:
    """Interval of a bounded mean from the values' own variance.

    With range `R`, true variance `s^2` and unbiased sample variance `V`, each of these fails with probability at most
    `exp(-x)`:

    - `mean - truth <= sqrt(2 s^2 x/n) + R x/(3n)`, and its mirror image (Bernstein's inequality in its sub-gamma form;
      Maurer and Pontil 2009, Theorem 3);
    - `s <= sqrt(V) + R sqrt(2x/(n-1))` (Theorem 10).

    One limit needs one of the first kind and the last, so `x = ln(2/share)`; both need three events, so
    `x = ln(3/share)`, a little less than `ln(4/share)` of two separate limits. Put together the half-width is
    `sqrt(2 V x/n) + R x (2/sqrt(n(n-1)) + 1/(3n))`. The paper rounds the last term up to `7 R x/(3(n-1))`
    (Theorem 4). Theorem 10 and the whole were checked on exact laws of two-valued rows; see the tests.

    Parameters
    ----------
    mean : float
        Mean of the rows' values.
    variance : float
        Unbiased sample variance (divisor `n - 1`), at least 0.
    n : int
        Rows. One row gives the whole range.
    log_share : float
        Natural logarithm of the probability with which the interval may miss the truth.
    low, high : float
        Range that no value leaves.
    side : str
        "both" gives both limits at once, "lower" or "upper" one of them.

    Returns
    -------
    Limits
        `(low, high)`, rounded outwards. Time: microseconds.

    Examples
    --------
    >>> low, high = empirical_bernstein(0.5, 0.01, 10_000, math.log(0.05))
    >>> round(low, 6), round(high, 6)
    (0.496183, 0.503817)
    """
    low, high = check.value_range(low, high)
    mean = check.real("mean", mean, at_least=low, at_most=high)
    variance = check.real("variance", variance, at_least=0)
    n, log_share = inputs.rows(n), inputs.share(log_share)
    side = check.choice("side", side, inputs.SIDES)  # type: ignore[assignment]
    if n == 1:
        return Limits(low, high)
    half = bernstein_half_width(math.sqrt(variance), n, log_share, high - low, 3 if side == "both" else 2)
    lower = low if side == "upper" else mean - half
    upper = high if side == "lower" else mean + half
    return outwards(lower, upper, low, high)


def bernstein_half_width(spread: float, n: int, log_share: float, length: float, events: int) -> float:
    """The half-width at sample standard deviation `spread`, rounded up; arguments are not checked.

    Examples
    --------
    >>> round(bernstein_half_width(0.1, 10_000, math.log(0.05), 1.0, 3), 6)
    0.003817
    """
    nats = math.log(events) - log_share
    return up(
        spread * math.sqrt(2 * nats / n) + length * nats * (2 / math.sqrt(n) / math.sqrt(n - 1) + 1 / (3 * n)), 16
    )


__all__ = ["bernstein_half_width", "empirical_bernstein"]
