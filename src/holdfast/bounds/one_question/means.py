"""Intervals for one mean or proportion that was fixed in advance, and the registry of their families."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, Protocol, get_args

import numpy as np
import numpy.typing as npt

from holdfast.bounds.numerics.binomial import binary_kl, binary_kl_at_least, log_at_least, log_at_most
from holdfast.bounds.numerics.exact import UNIT, down, up
from holdfast.bounds.parameters import MOST, Domain, HighestValue, LogShare, LowestValue, Mean, Rows
from holdfast.bounds.registry import theorem
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Inputs -----------------------------------------------------------------------------------------------------------
# What every interval for one fixed question takes: how unlikely it is to miss, and which side it watches.
#
# The failure probability comes as its natural logarithm, `log_share`. A question late in a run with ten failures gets a
# share near 1e-47, and a long run with fine grids leaves the floating range, but its logarithm stays an ordinary
# number.

Side = Annotated[
    Literal["both", "lower", "upper"],
    "'both' spends half of the share on each limit, 'lower' or 'upper' all of it on one.",
]
"""Which limits are wanted: "both" gives each tail half of the share; "lower" and "upper" spend it all on one limit."""

SIDES = ("both", "lower", "upper")

#: Logarithms of shares below this mean nothing and leave no digits in `log_share / n`.
LEAST_LOG_SHARE = -1e15


def share(log_share: Any) -> float:
    """Check `log_share`, the natural logarithm of a failure probability: below 0 and at least -1e15.

    Examples
    --------
    >>> share(-100.0)
    -100.0
    """
    return arguments.real("log_share", log_share, at_least=LEAST_LOG_SHARE, below=0)


def inside(mean: float, low: float, high: float) -> None:
    """Refuse a range that is empty and a mean outside it.

    Examples
    --------
    >>> inside(2.0, 0.0, 1.0)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: mean must be a number in [0, 1], got 2.0
    """
    if not low < high:
        arguments.value_range(low, high)
    if not low <= mean <= high:
        arguments.real("mean", mean, at_least=low, at_most=high)


def tails(log_share: float, side: Any) -> tuple[float | None, float | None]:
    """Logarithms of what the lower and the upper limit may spend; None for the limit that is not wanted.

    Examples
    --------
    >>> tails(-2.0, "lower")
    (-2.0, None)
    >>> tails(-2.0, "both")[1] == -2.0 - math.log(2)
    True
    """
    side = arguments.choice("side", side, SIDES)
    if side == "both":
        half = log_share - math.log(2)
        return half, half
    return (log_share, None) if side == "lower" else (None, log_share)


def rows(n: Any, name: str = "n") -> int:
    """Check a number of rows: whole, from 1 to 10**18.

    Examples
    --------
    >>> rows(1e4)
    10000
    """
    return arguments.whole(name, n, at_least=1, at_most=MOST)


# --- Limits -----------------------------------------------------------------------------------------------------------
# An interval as a pair of numbers that the catalogue can print.


class Limits(NamedTuple):
    """A lower and an upper limit of an interval. It unpacks as `(low, high)`.

    Examples
    --------
    >>> low, high = Limits(0.25, 0.75)
    >>> Limits(low, high).value
    0.25
    """

    low: float
    high: float

    @property
    def value(self) -> float:
        """Half of the length of the interval."""
        return (self.high - self.low) / 2

    def to_dict(self) -> dict[str, Any]:
        """Return plain data. The limits have names of their own, because `low` and `high` are also the range of a
        value.
        """
        return {"value": self.value, "lower": self.low, "upper": self.high}


def outwards(lower: float, upper: float, low: float, high: float, ulps: int = 4) -> Limits:
    """Return the limits moved outwards by `ulps` units of the largest number around, and kept inside `[low, high]`.

    Examples
    --------
    >>> outwards(0.25, 1.5, 0.0, 1.0).high
    1.0
    """
    room = ulps * math.ulp(max(abs(low), abs(high), high - low))
    return Limits(min(max(low, lower - room), high), max(min(high, upper + room), low))


# --- Range bound ------------------------------------------------------------------------------------------------------
# Hoeffding's interval: it knows the range of a value and nothing else.


def hoeffding_half_width(n: int, log_tail: float) -> float:
    """Return how far the mean of `n` values in [0, 1] is beyond its population mean on one side: `sqrt(-log_tail /
    (2n))`.

    `log_tail` is the logarithm of the probability that it is further away. The result is rounded up. The arguments are
    not checked.

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
    mean: Mean, n: Rows, log_share: LogShare, low: LowestValue = 0.0, high: HighestValue = 1.0, side: Side = "both"
) -> Limits:
    """Interval of the mean of bounded values that uses only their range (Hoeffding's inequality).

    `P(mean - truth >= (high - low) w) <= exp(-2 n w^2)`, and the same for the other side.

    Returns
    -------
    Limits
        `(low, high)`, rounded outwards. Time: microseconds.

    Notes
    -----
    Hoeffding 1963, Theorem 2, as printed.

    Examples
    --------
    >>> low, high = hoeffding(0.5, 10_000, math.log(0.05))
    >>> round(low, 6), round(high, 6)
    (0.486419, 0.513581)
    """
    inside(mean, low, high)
    tail = log_share - math.log(2) if side == "both" else log_share
    half = (high - low) * hoeffding_half_width(n, tail)
    return outwards(low if side == "upper" else mean - half, high if side == "lower" else mean + half, low, high)


# --- Divergence bound -------------------------------------------------------------------------------------------------
# The Chernoff interval: Hoeffding's sharper inequality, inverted. Narrow where the mean is near an end.


@theorem(
    "one-question.kl",
    statement="Interval of all p with n kl(mean || p) <= ln(1/tail) on either side; the value is half its length.",
    source="Hoeffding 1963, Theorem 1 (Chernoff 1952 for 0/1 values)",
    conditions="rows independent with values in [low, high]; question, share and side fixed before the data",
    unit="half-width",
)
def kl(
    mean: Mean, n: Rows, log_share: LogShare, low: LowestValue = 0.0, high: HighestValue = 1.0, side: Side = "both"
) -> Limits:
    """Interval of the mean of bounded values, from the Chernoff-Hoeffding bound with the KL divergence.

    With the true mean `p`, `P(mean >= q) <= exp(-n kl(q || p))` for `q >= p`, and the same for the other side. The
    interval has all `p` that this bound does not reject. It is never wider than that of `hoeffding`. Ranges other than
    [0, 1] are scaled to [0, 1].

    Returns
    -------
    Limits
        `(low, high)`. Newton's method runs on the safe side of the root (the divergence is convex), and the returned
        point is checked to be beyond it with rounding counted. Time: about twenty microseconds.

    Notes
    -----
    Hoeffding 1963, Theorem 1, as printed. A [0,1] value is at most as spread in the convex order as a coin with the
    same mean. The divergence grows as `p` leaves `mean`, so the points not refuted form an interval. It is never
    wider than Hoeffding's by Pinsker's inequality.

    Examples
    --------
    >>> low, high = kl(0.95, 10_000, math.log(0.05))
    >>> round(low, 6), round(high, 6)
    (0.943858, 0.9557)
    """
    inside(mean, low, high)
    below, above = tails(log_share, side)
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
    """Return the least `p <= q` with `kl(q || p) <= nats`, rounded down. Arguments are not checked.

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
    # Two points that are certainly beyond the root: by Jensen, and one that drops the other outcome's term.
    p = max(q - _gap_beyond(q, nats), math.exp(-(nats + entropy) / q))
    p = _newton(q, nats, p)
    step = 2
    while p > 0.0 and binary_kl_at_least(q, p) < nats:
        p, step = max(down(p, step), 0.0), 2 * step
    return p


def kl_upper(q: float, nats: float) -> float:
    """Return the greatest `p >= q` with `kl(q || p) <= nats`, rounded up. Arguments are not checked.

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
    p = min(q + _gap_beyond(1 - q, nats), -math.expm1(-(nats + entropy) / (1 - q)))
    p = _newton(q, nats, p)
    step = 2
    while p < 1.0 and binary_kl_at_least(q, p) < nats:
        p, step = min(up(p, step), 1.0), 2 * step
    return p


def _gap_beyond(q: float, nats: float) -> float:
    """A distance `d` with `kl(q || q - d) >= nats` where `q - d` is above 0, and hardly more than that.

    `kl(q || p)` is the integral of `(q - t)/(t (1 - t))` from `p` to `q`. The mean of `t` under weights `q - t` is
    `m = (2 p + q)/3` and `1/(t (1 - t))` is convex, so by Jensen it is at least `(q - p)^2 / (2 m (1 - m))`: more than
    Pinsker's `2 (q - p)^2`. Setting this equal to `nats` gives a quadratic equation for `d = q - p`.
    """
    square, line = 1 + 8 * nats / 9, 2 * nats * (2 * q - 1) / 3
    return (line + math.sqrt(line * line + 2 * square * nats * q * (1 - q))) / square


def _newton(q: float, nats: float, p: float) -> float:
    """Newton's method for `kl(q || p) = nats` from a point beyond the root; by convexity it stays beyond it."""
    for _ in range(100):
        if not 0.0 < p < 1.0 or p == q:
            break
        excess = binary_kl(q, p) - nats
        moved = p - excess * p * (1 - p) / (p - q)
        if excess <= 0 or not 0.0 < moved < 1.0:
            break
        step, p = abs(moved - p), moved
        if step <= 1e-8 * abs(p - q):  # the next step would be about the square of this one: no digit is left for it
            break
    return p


# --- Variance bound ---------------------------------------------------------------------------------------------------
# The empirical Bernstein interval: narrow where the values vary little, whatever their range.


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
    mean: Mean,
    variance: Annotated[float, Domain("The unbiased sample variance (divisor `n - 1`).", at_least=0, typical=0.01)],
    n: Annotated[Rows, "The number of rows; one row gives the whole range."],
    log_share: LogShare,
    low: LowestValue = 0.0,
    high: HighestValue = 1.0,
    side: Side = "both",
) -> Limits:
    """Interval of the mean of bounded values that uses the variance of the values (empirical Bernstein).

    With the range `R` of the values and their unbiased sample variance `V`, the half-width is `sqrt(2 V x/n) + R x
    (2/sqrt(n(n-1)) + 1/(3n))`. Here `x = ln(2/share)` for one limit and `x = ln(3/share)` for both, and `share` is the
    error probability.

    Returns
    -------
    Limits
        `(low, high)`, rounded outwards. Time: microseconds.

    Notes
    -----
    With true variance `s^2`, each of these fails with probability at most `exp(-x)`:

    - `mean - truth <= sqrt(2 s^2 x/n) + R x/(3n)`, and its mirror image (Bernstein's inequality in its sub-gamma form;
      Maurer and Pontil 2009, Theorem 3);
    - `s <= sqrt(V) + R sqrt(2x/(n-1))` (Theorem 10).

    One limit needs one of the first kind and the last, so `x = ln(2/share)`; both need three events, so `x =
    ln(3/share)`, a little less than `ln(4/share)` of two separate limits. The paper rounds the last term up to `7 R
    x/(3(n-1))` (Theorem 4). Theorem 10 and the whole were checked on exact distributions of two-valued rows; see the
    tests.

    Examples
    --------
    >>> low, high = empirical_bernstein(0.5, 0.01, 10_000, math.log(0.05))
    >>> round(low, 6), round(high, 6)
    (0.496183, 0.503817)
    """
    inside(mean, low, high)
    if n == 1:
        return Limits(low, high)
    half = bernstein_half_width(math.sqrt(variance), n, log_share, high - low, 3 if side == "both" else 2)
    lower = low if side == "upper" else mean - half
    upper = high if side == "lower" else mean + half
    return outwards(lower, upper, low, high)


def bernstein_half_width(spread: float, n: int, log_share: float, length: float, events: int) -> float:
    """Return the half-width at sample standard deviation `spread`, rounded up; arguments are not checked.

    Examples
    --------
    >>> round(bernstein_half_width(0.1, 10_000, math.log(0.05), 1.0, 3), 6)
    0.003817
    """
    nats = math.log(events) - log_share
    return up(
        spread * math.sqrt(2 * nats / n) + length * nats * (2 / math.sqrt(n) / math.sqrt(n - 1) + 1 / (3 * n)), 16
    )


# --- Binomial exact ---------------------------------------------------------------------------------------------------
# The Clopper-Pearson interval: exact for counts of 0/1 values.

_SAFETY = 1e-12  # relative error allowed to the inverse incomplete beta function, taken off in the safe direction
_STEPS = 60
_NEAR = 1e-9  # a limit whose tail's logarithm is this near to the share's, relatively, is near enough


@theorem(
    "one-question.clopper-pearson",
    statement="Interval of all p that leave a count at least the tail probability on either side; the value is half "
    "its length.",
    source="Clopper and Pearson 1934",
    conditions="rows independent with values 0 or 1, declared before the data, and one probability (for others: at the "
    "share of `unlike_rows`); question, share and side fixed before the data",
    unit="half-width",
)
def clopper_pearson(
    ones: Annotated[int, Domain("How many of the rows' values are 1.", at_least=0, at_most=10**15, typical=900)],
    n: Annotated[Rows, Domain(at_most=10**15)],
    log_share: LogShare,
    side: Side = "both",
) -> Limits:
    """Exact binomial interval of a probability, by Clopper and Pearson.

    The lower limit solves `P(Bin(n, p) >= ones) = tail` for `p`. The upper limit solves `P(Bin(n, p) <= ones) = tail`.
    Each limit misses with probability at most `tail`. The interval is never wider than that of `kl`. It is proved for
    0/1 values only; use `kl` for other values.

    Returns
    -------
    Limits
        `(low, high)`, always with `ones/n` inside. A start from the incomplete beta function, or from `kl` where that
        function underflows, is moved by Newton's method (the tail is log-concave in `p`) until a bound on the
        logarithm of the tail, rounding counted, is at most the share. Time: 50 microseconds at 10,000 rows, 200
        where the beta function underflows, milliseconds at 10**9.

    Notes
    -----
    If the lower limit of a count lies above the truth then so does that of every count beyond the least such one,
    whose tail at the truth is at most its tail at its own limit: the lower limit misses with probability at most
    `tail`, and so does the upper one.

    Examples
    --------
    >>> low, high = clopper_pearson(9_500, 10_000, math.log(0.05))
    >>> round(low, 6), round(high, 6)
    (0.945545, 0.95419)
    >>> clopper_pearson(0, 100, -1000.0, side="upper")
    Limits(low=0.0, high=0.9999546...)
    """
    ones, log_share = arguments.whole("ones", ones, at_least=0, at_most=n), share(log_share)
    below, above = tails(log_share, side)
    # The smaller of the two counts carries the digits, so limits of a large count are read from its mirror image.
    if 2 * ones <= n:
        return Limits(
            0.0 if below is None else _lower(ones, n, below), 1.0 if above is None else _upper(ones, n, above)
        )
    zeros = n - ones
    return Limits(
        0.0 if below is None else max(down(1.0 - _upper(zeros, n, below), 1), 0.0),
        1.0 if above is None else min(up(1.0 - _lower(zeros, n, above), 1), 1.0),
    )


#: Rows up to which a shorter interval than Clopper and Pearson's is worked out: beyond, it is less than a half percent
#: shorter and takes longer. And the share up to which it is.
_FEW_ROWS, _SMALL_SHARE = 2_000, 0.2
_HALVINGS = 20


@theorem(
    "one-question.blaker",
    statement="Interval of the p at which the smaller tail of a count, with the largest tail on the other side that is "
    "no larger, is above the share; the value is half its length.",
    source="Blaker 2000, Theorem 1",
    conditions="rows independent with values 0 or 1, declared before the data, and one probability; question and share "
    "fixed before the data",
    unit="half-width",
)
def blaker(
    ones: Annotated[int, Domain("How many of the rows' values are 1.", at_least=0, at_most=10**15, typical=900)],
    n: Annotated[Rows, Domain(at_most=10**15)],
    log_share: LogShare,
) -> Limits:
    """Exact binomial interval of a probability, by Blaker. It lies inside Clopper and Pearson's interval for the same
    share.

    Clopper and Pearson give each tail half of the error probability `share`. Because counts are whole numbers, each
    tail uses less. Blaker's interval uses the rest. It excludes a probability `p` if the p-value of a certain exact
    test of `p` is at most the share. The test orders counts by their smaller tail probability. The result is everything
    between the first and the last `p` that is not excluded.

    Returns
    -------
    Limits
        `(low, high)`, rounded outwards; Clopper and Pearson's own beyond 2,000 rows and for shares above one fifth.

    Notes
    -----
    A probability p is left out where the smaller tail of the count, `P(Bin(n, p) >= ones)` below the count, and the
    largest tail on the other side that is no larger add up to at most the share. This sum is at most the share with
    probability at most the share: it is the p-value of the test that orders counts by their smaller tail.

    Let `L` be Clopper and Pearson's lower limit, and let y be the largest count whose lower tail at `L` is at most half
    of the share. Above `L` the first p that is not left out is where the two tails of `ones` and y add up to more than
    the share, or where the lower tail of y + 1 has fallen to that of `ones`. Both happen once: the lower tail falls and
    the other rises in p, and the ratio of what their sum gains and loses rises in p.

    Examples
    --------
    >>> for interval in (blaker(270, 300, math.log(0.05)), clopper_pearson(270, 300, math.log(0.05))):
    ...     print(round(interval.low, 4), round(interval.high, 4))
    0.8611 0.9314
    0.8603 0.9315
    """
    ones, log_share = arguments.whole("ones", ones, at_least=0, at_most=n), share(log_share)
    exact = clopper_pearson(ones, n, log_share)
    if n > _FEW_ROWS or log_share > math.log(_SMALL_SHARE):
        return exact
    lower = max(exact.low, _blaker_lower(ones, n, log_share))
    return Limits(lower, min(exact.high, up(1.0 - _blaker_lower(n - ones, n, log_share), 1)))


def _blaker_lower(ones: int, n: int, log_share: float) -> float:
    """A lower limit: every p below it is left out."""
    if ones == 0:
        return 0.0
    half = log_share - math.log(2)
    least, most = _lower(ones, n, half), _lower(ones, n, log_share)
    if not 0 < least < most:
        return least
    y, beyond = -1, math.ceil(n * least)  # the lower tail of y is at most half of the share, that of `beyond` above it
    while beyond - y > 1:
        middle = (y + beyond) // 2
        if log_at_most(middle, n, least)[0] <= half:
            y = middle
        else:
            beyond = middle

    def is_left_out(p: float) -> bool:
        tail = log_at_least(ones, n, p)[0]
        other = math.exp(log_at_most(y, n, p)[0] - log_share) if y >= 0 else 0.0
        if math.exp(tail - log_share) + other > 1 - 1e-9:
            return False
        return beyond >= n * p or log_at_most(beyond, n, p)[0] > tail + 1e-9

    for _ in range(_HALVINGS):
        middle_p = (least + most) / 2
        least, most = (middle_p, most) if is_left_out(middle_p) else (least, middle_p)
    return down(least, 4)


def _lower(ones: int, n: int, log_tail: float) -> float:
    if ones == 0:
        return 0.0
    if ones == n:
        return down(math.exp(down(log_tail / n, 2)))
    most, best, p = ones / n, 0.0, math.nan
    if log_tail > -700:
        from scipy.special import betaincinv

        p = min(float(betaincinv(ones, n - ones + 1, math.exp(log_tail))) * (1 - _SAFETY), most)
    if not 0.0 < p <= most:
        p = kl_lower(most, -log_tail / n)
    for _ in range(_STEPS):
        if p == 0.0:
            break
        log_p, total = log_at_least(ones, n, p)
        if log_p <= log_tail:
            best = max(best, p)
            if log_p >= log_tail - _NEAR * (1 - log_tail):
                break
        # The tail's logarithm is concave in p with slope ones / (p total): a step from either side lands on the safe
        # one, and aiming a little beyond the root keeps it there when rounded.
        slope = ones / (p * total)
        moved = min(max(p + (log_tail - log_p - _margin(log_tail, p * slope)) / slope, 0.5 * p), most)
        if moved == p:
            break
        p = moved
    return best if best > 0.0 else kl_lower(most, -log_tail / n)


def _upper(ones: int, n: int, log_tail: float) -> float:
    if ones == n:
        return 1.0
    if ones == 0:
        return min(up(-math.expm1(down(log_tail / n, 2))), 1.0)
    least, best, p = ones / n, 1.0, math.nan
    if log_tail > -700:
        from scipy.special import betainccinv

        p = max(float(betainccinv(ones + 1, n - ones, math.exp(log_tail))) * (1 + _SAFETY), least)
    if not least <= p < 1.0:
        p = kl_upper(least, -log_tail / n)
    for _ in range(_STEPS):
        if p == 1.0:
            break
        log_p, total = log_at_most(ones, n, p)
        if log_p <= log_tail:
            best = min(best, p)
            if log_p >= log_tail - _NEAR * (1 - log_tail):
                break
        slope = (n - ones) / ((1 - p) * total)
        moved = max(min(p - (log_tail - log_p - _margin(log_tail, p * slope)) / slope, 0.5 + 0.5 * p), least)
        if moved == p:
            break
        p = moved
    return best if best < 1.0 else kl_upper(least, -log_tail / n)


def _margin(log_tail: float, sensitivity: float) -> float:
    """How far below the share to aim: the tail's own rounding, and that of `p` times `sensitivity`."""
    return 1e-12 * (1 - log_tail) + 8 * UNIT * sensitivity


def binomial_limits(
    counts: npt.NDArray[np.float64], trials: int, level: float
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return Clopper and Pearson's limits of many counts at once, each limit with the tail probability `level`.

    The limits are quantiles of beta distributions, moved outwards by a relative 1e-12. The arguments are not checked.
    `level` must be large enough for a floating-point number.

    Examples
    --------
    >>> low, high = binomial_limits(np.array([0.0, 50.0]), 100, 0.025)
    >>> [round(float(x), 6) for x in (*low, *high)]
    [0.0, 0.398321, 0.036217, 0.601679]
    """
    from scipy.special import betainccinv, betaincinv

    k: Any = counts
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), trials - np.maximum(k, 1) + 1, level), 0.0)
    high = np.where(k < trials, betainccinv(k + 1, np.maximum(trials - k, 1), level), 1.0)
    return low * (1 - _SAFETY), np.minimum(high * (1 + _SAFETY), 1.0)


# --- Families ---------------------------------------------------------------------------------------------------------
# The registry of interval families for a mean, and what each would give: the choice is made before the data.
#
# Choosing the narrower of two valid intervals after seeing both is not valid: the narrower of two 10% intervals can
# miss with probability 0.197. So a family is picked from a guess of the mean and of the spread, which come from
# elsewhere.

Family = Literal["hoeffding", "kl", "clopper-pearson", "empirical-bernstein"]
"""A family that needs no more than a summary of the rows: "clopper-pearson" is for 0/1 values, "empirical-bernstein"
reads their variance, the others their mean."""

FamilyName = Literal[Family, "betting"]
"""Any family; "betting" reads the rows one by one and is in `holdout.betting`."""


class _Ends(Protocol):
    """Both limits as a function of the mean."""

    def __call__(
        self, mean: float, n: int, log_share: float, low: float, high: float, side: Side
    ) -> tuple[float, float]: ...


@dataclass(frozen=True)
class IntervalFamily:
    """A family of intervals for a mean, each valid for a fixed question on independent rows.

    `reads` says what of the rows its limits depend on: their "mean", their mean and "variance", or all "rows".
    """

    name: str
    reads: Literal["mean", "variance", "rows"] = field(default="rows", kw_only=True)


@dataclass(frozen=True)
class MeanFamily(IntervalFamily):
    """A family whose limits are a function of the mean alone.

    `whole` says that the mean is a number of ones over `n`. `curved` says that the interval is narrower near the ends
    of the range, as a binomial's is.
    """

    ends: _Ends
    whole: bool = False
    curved: bool = False
    reads: Literal["mean", "variance", "rows"] = field(default="mean", kw_only=True)


def at_spread(spread: float) -> MeanFamily:
    """Empirical Bernstein's interval at a presumed standard deviation: what can be said before the data."""

    def ends(mean: float, n: int, log_share: float, low: float, high: float, side: Side) -> tuple[float, float]:
        return empirical_bernstein(mean, spread * spread, n, log_share, low, high, side)

    return MeanFamily("empirical-bernstein", ends)


def _clopper_pearson(mean: float, n: int, log_share: float, low: float, high: float, side: Side) -> tuple[float, float]:
    return clopper_pearson(round(mean * n), n, log_share, side)


_REGISTRY = (
    MeanFamily("hoeffding", hoeffding),
    MeanFamily("kl", kl, curved=True),
    MeanFamily("clopper-pearson", _clopper_pearson, whole=True, curved=True),
    IntervalFamily("empirical-bernstein", reads="variance"),
    IntervalFamily("betting"),
)
FAMILIES: tuple[str, ...] = tuple(family.name for family in _REGISTRY)
"""The name of every family."""
SUMMARY_FAMILIES: tuple[Family, ...] = get_args(Family)
"""Every `Family`: all but those that read the rows one by one."""
MEAN_FAMILIES: Mapping[str, MeanFamily] = {
    family.name: family for family in _REGISTRY if isinstance(family, MeanFamily)
}
"""The families whose limits are public functions of the mean."""


def mean_interval(
    family: Family,
    mean: float,
    n: int,
    log_share: float,
    side: Side = "both",
    *,
    low: float = 0.0,
    high: float = 1.0,
    variance: float | None = None,
    slack: float = 0.0,
) -> Limits:
    """Interval of a mean, computed by the family with the given name.

    Parameters
    ----------
    family : str
        "hoeffding", "kl", "clopper-pearson" (0/1 values declared before the data) or "empirical-bernstein".
    mean : float
        Mean of the rows' values; for "clopper-pearson" the count is the whole number nearest to `n mean`.
    n : int
        Rows.
    log_share : float
        Natural logarithm of the probability with which the interval may miss the truth.
    side : str
        "both", "lower" or "upper".
    low, high : float
        Range that no value leaves.
    variance : float
        Unbiased sample variance; needed for "empirical-bernstein".
    slack : float
        How far `mean` may be from the exact mean because sums are rounded; the limits make up for it. A variance
        summed with the same care is off by at most eight times `slack` times the range.

    Returns
    -------
    Limits
        `(low, high)`.

    Examples
    --------
    >>> low, high = mean_interval("kl", 0.95, 10_000, -20.0, "lower")
    >>> round(low, 6), high
    (0.935006, 1.0)
    """
    family = arguments.choice("family", family, SUMMARY_FAMILIES)  # type: ignore[assignment]
    low, high = arguments.value_range(low, high)
    mean = arguments.real("mean", mean, at_least=low, at_most=high)
    if family == "clopper-pearson":
        if (low, high) != (0.0, 1.0):
            raise InvalidParameter(
                f"low and high are {low:g} and {high:g}, but for clopper-pearson they must be 0 and 1"
            )
        n = rows(n)
        return clopper_pearson(round(mean * n), n, log_share, side)
    below, above = max(mean - slack, low), min(mean + slack, high)
    if family == "empirical-bernstein":
        if variance is None:
            raise InvalidParameter("variance must be a number of at least 0 for empirical-bernstein, got None")
        variance += 8 * slack * (high - low)
        lower = empirical_bernstein(below, variance, n, log_share, low, high, side)
        return Limits(lower.low, empirical_bernstein(above, variance, n, log_share, low, high, side).high)
    interval = hoeffding if family == "hoeffding" else kl
    if slack == 0.0:
        return interval(mean, n, log_share, low, high, side)
    return Limits(
        interval(below, n, log_share, low, high, side).low, interval(above, n, log_share, low, high, side).high
    )


def expected_half_width(
    family: Family,
    guess: float,
    n: int,
    log_share: float,
    spread: float | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
    side: Side = "both",
) -> float:
    """Return half the length of the interval that a family would give if the rows came out as guessed.

    The function needs no data.

    Parameters
    ----------
    family : str
        See `mean_interval`.
    guess : float
        The guessed mean.
    n : int
        Rows.
    log_share : float
        Natural logarithm of the failure probability.
    spread : float
        Guessed standard deviation of a value; without it the largest that the mean allows,
        `sqrt((guess - low)(high - guess))`, which 0/1 values have.
    low, high : float
        Range of a value.
    side : str
        With "lower" or "upper" the whole distance from the guess to that limit.

    Returns
    -------
    float
        Time: that of the family's interval.

    Examples
    --------
    >>> [round(expected_half_width(f, 0.95, 10_000, math.log(5e-5)), 5) for f in SUMMARY_FAMILIES]
    [0.02302, 0.01004, 0.00889, 0.01279]
    >>> round(expected_half_width("empirical-bernstein", 0.5, 10_000, math.log(5e-5), spread=0.05), 5)
    0.00491
    """
    lower, upper = _at_guess(family, guess, n, log_share, spread, low, high, side)
    return guess - lower if side == "lower" else upper - guess if side == "upper" else (upper - lower) / 2


def least_tolerance(
    family: Family,
    guess: float,
    n: int,
    log_share: float,
    spread: float | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
    side: Side = "both",
) -> float:
    """Return the smallest tolerance that a pass can certify at `guess` if the mean of the rows equals the guess.

    It is the smallest `tau` for which the interval lies inside `[guess - tau, guess + tau]`, so it is the longer of the
    interval's two arms. A one-sided claim needs only its own arm. The parameters are those of `expected_half_width`.

    Examples
    --------
    At 10,000 rows, a thousandth of five per cent:

    >>> [round(least_tolerance(f, 0.95, 10_000, math.log(5e-5)), 5) for f in SUMMARY_FAMILIES]
    [0.02302, 0.01067, 0.00941, 0.01279]
    """
    lower, upper = _at_guess(family, guess, n, log_share, spread, low, high, side)
    return guess - lower if side == "lower" else upper - guess if side == "upper" else max(guess - lower, upper - guess)


def tightest(
    families: Sequence[Family],
    guess: float,
    n: int,
    log_share: float,
    spread: float | None = None,
    *,
    low: float = 0.0,
    high: float = 1.0,
    side: Side = "both",
) -> Family:
    """Return the family among `families` whose interval would be the shortest at the guess.

    If several are equal, it is the first of them. The function reads no row, so the interval of the chosen family is
    valid at the full share. List "clopper-pearson" only for values that are declared to be 0/1. The parameters are
    those of `expected_half_width`.

    Examples
    --------
    >>> tightest(["hoeffding", "kl", "empirical-bernstein"], 0.95, 10_000, -20.0)
    'kl'
    >>> tightest(["hoeffding", "kl", "empirical-bernstein"], 0.5, 10_000, -20.0, spread=0.1)
    'empirical-bernstein'
    """
    if isinstance(families, str) or len(families) == 0:
        raise InvalidParameter(f"families must be a list of at least one of {', '.join(SUMMARY_FAMILIES)}")
    return min(
        families,
        key=lambda family: expected_half_width(family, guess, n, log_share, spread, low=low, high=high, side=side),
    )


def _at_guess(
    family: Family,
    guess: float,
    n: int,
    log_share: float,
    spread: float | None,
    low: float,
    high: float,
    side: Side,
) -> Limits:
    low, high = arguments.value_range(low, high)
    guess = arguments.real("guess", guess, at_least=low, at_most=high)
    n = rows(n)
    most = math.sqrt((guess - low) * (high - guess))
    if spread is not None:
        spread = min(arguments.real("spread", spread, at_least=0), most)
    variance = (most if spread is None else spread) ** 2 * n / max(n - 1, 1)
    return mean_interval(family, guess, n, log_share, side, low=low, high=high, variance=variance)


# --- Two sample -------------------------------------------------------------------------------------------------------
# Interval of a two-sample U-statistic such as the area under the ROC curve.


@theorem(
    "one-question.two-sample-u",
    statement="Interval of all p with m kl(U || p) <= ln(1/tail) on either side, m the smaller sample's size; the "
    "value is half its length.",
    source="Hoeffding 1963, section 5b with Theorem 1",
    conditions="two independent samples, each of independent and identically distributed rows; kernel of one row of "
    "each, with values in [0, 1]; question, share and side fixed before the data",
    unit="half-width",
    provenance="derived",
)
def two_sample_u(
    value: Annotated[
        float,
        Domain(
            "The statistic, in [0, 1]; a rounding of up to four units is made up for.",
            at_least=0,
            at_most=1,
            typical=0.9,
        ),
    ],
    n_positive: Annotated[Rows, "Rows of the first sample."],
    n_negative: Annotated[Rows, "Rows of the second sample."],
    log_share: LogShare,
    side: Side = "both",
) -> Limits:
    """Interval of `E h(X, Y)`, the expected value of a [0, 1] function of one row from each of two samples.

    It is computed from `U`, the mean of `h(X_i, Y_j)` over all pairs of rows. The AUC is such a mean. The interval is
    that of `kl` with `n` equal to the size of the smaller sample.

    Returns
    -------
    Limits
        `(low, high)`, rounded outwards. Time: about fifty microseconds.

    Notes
    -----
    Proof. Let `m` be the smaller of the two sizes. Pair the rows by a random permutation of each sample and take the
    mean `W` of the first `m` kernel values: `U` is the average of `W` over all permutations. For each permutation `W`
    is a mean of `m` independent [0,1] values with expectation `E h`. By convexity
    `E exp(t U) <= E exp(t W)` for every `t`, and the Chernoff bound of `kl` uses nothing but that moment generating
    function. So `kl` holds with `n = m`, and with it Hoeffding's interval (1963, section 5b), which is never narrower.

    Examples
    --------
    >>> import math
    >>> low, high = two_sample_u(0.9, 2_000, 8_000, math.log(0.05))
    >>> round(low, 4), round(high, 4)
    (0.8808, 0.9172)
    """
    smaller = min(rows(n_positive, "n_positive"), rows(n_negative, "n_negative"))
    return mean_interval("kl", value, smaller, log_share, side, slack=4 * UNIT)
