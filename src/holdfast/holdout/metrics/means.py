"""Means and ratios of means as procedures: of all rows, within a group, weighted."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from holdfast.bounds.numerics.binomial import binary_kl_at_least
from holdfast.bounds.numerics.exact import down, up
from holdfast.bounds.numerics.search import crossing
from holdfast.bounds.one_question import means
from holdfast.bounds.one_question.means import FAMILIES, FamilyName, Side, bernstein_half_width, mean_interval, outwards
from holdfast.core import arguments
from holdfast.data.values import column, summarise
from holdfast.errors import InvalidParameter
from holdfast.holdout.intervals.betting import Bets
from holdfast.holdout.intervals.procedure import OnRows


def bounded(name: str, values: Any, low: float, high: float, n: int | None = None) -> npt.NDArray[np.float64]:
    """One number per row inside `[low, high]`.

    Examples
    --------
    >>> bounded("values", [0, 1], 0.0, 1.0)
    array([0., 1.])
    """
    rows = _column(name, values, n)
    summarise(rows, n=len(rows), low=low, high=high, name=name)
    return rows.astype(np.float64)


def flags(name: str, values: Any, n: int | None = None) -> npt.NDArray[np.bool_]:
    """One 0 or 1 (or truth value) a row.

    Examples
    --------
    >>> flags("labels", [0, 1, 1])
    array([False,  True,  True])
    """
    rows = _column(name, values, n)
    summarise(rows, n=len(rows), binary=True, name=name)
    return rows.astype(np.bool_)


def numbers(name: str, values: Any, n: int | None = None) -> npt.NDArray[np.float64]:
    """One number per row, of any size; the caller looks at what is in it.

    Examples
    --------
    >>> numbers("values", [1, 2], 2)
    array([1., 2.])
    """
    return _column(name, values, n).astype(np.float64)


def ordered(name: str, values: Any, n: int | None = None) -> npt.NDArray[np.float64]:
    """One number per row; infinities are numbers here, NaN is not.

    Examples
    --------
    >>> ordered("scores", [0.5, float("inf")])
    array([0.5, inf])
    """
    rows = numbers(name, values, n)
    if np.isnan(rows).any():
        raise InvalidParameter(f"{name} must have one number for each row, but some entries are not numbers")
    return rows


def _column(name: str, values: Any, n: int | None) -> npt.NDArray[Any]:
    rows = column(values, name)
    if rows.size == 0:
        raise InvalidParameter(f"{name} must have one number per row and at least one row")
    if n is not None and rows.size != n:
        raise InvalidParameter(f"{name} must have one number per row, {n} in all, got {rows.size}")
    return rows


def mean(
    values: Any,
    family: FamilyName = "kl",
    low: float = 0.0,
    high: float = 1.0,
    name: str = "mean",
    what: str = "values",
) -> OnRows:
    """Return, as a metric, the mean of one value per row. For paired differences give `low=-1`.

    Parameters
    ----------
    values : array
        One number per row, in `[low, high]`. For "betting" their order may not depend on the values.
    family : str
        Chosen before the data; see `docs/one-question.md`. "clopper-pearson" needs 0/1 values.
    low, high : float
        Range that no value leaves, and that of the target.
    name, what : str
        Public words for the target; and for the values, in errors.

    Returns
    -------
    OnRows
        Time: a few passes over the rows now, microseconds an interval; "betting" reads the rows again for each.

    Examples
    --------
    >>> question = mean([1, 0, 1, 1] * 2_500, "clopper-pearson")
    >>> question
    OnRows(mean (clopper-pearson), n=10000, low=0, high=1)
    >>> low, high = question.interval(-10.0)
    >>> round(low, 3), round(high, 3)
    (0.732, 0.767)
    """
    family = arguments.choice("family", family, FAMILIES)  # type: ignore[assignment]
    low, high = arguments.value_range(low, high)
    column = bounded(what, values, low, high)
    words = f"{name} ({family})"
    if family == "betting":
        mean_value = float(np.clip(column.mean(), low, high)) if column.size else None
        return OnRows(low, high, len(column), words, Bets.on(column, low, high, what).interval, mean_value)
    binary = family == "clopper-pearson"
    if binary and (low, high) != (0.0, 1.0):
        raise InvalidParameter(f"low and high must be 0 and 1 for clopper-pearson, got [{low:g}, {high:g}]")
    summary = summarise(column, n=len(column), low=low, high=high, binary=binary, squares=True, name=what)

    def limits(log_share: float, side: Side) -> tuple[float, float]:
        return mean_interval(
            family,
            summary.mean,
            summary.n,
            log_share,
            side,
            low=low,
            high=high,
            variance=summary.variance,
            slack=0.0 if binary else summary.slack,
        )

    return OnRows(low, high, summary.n, words, limits, summary.mean)


def group_mean(
    values: Any, members: Any, family: FamilyName = "kl", low: float = 0.0, high: float = 1.0, name: str = "group mean"
) -> OnRows:
    """Return, as a metric, the mean of a value among the rows of a group, `E[v | member]`.

    The interval is that of a mean over the rows that are members. If the group has no row, it is the whole range.

    Parameters
    ----------
    values : array
        One number per row; those of members in `[low, high]`, the others are not looked at.
    members : array
        0 or 1 a row: whether it belongs to the group. What makes a member may not depend on the values beyond what the
        question says, e.g. a column of the row.
    family : str
        As for `mean`.
    low, high : float
        Range that no value leaves.
    name : str
        Public words for the target.

    Returns
    -------
    OnRows
        Its `n` counts all rows. Time: that of `mean` on the members.

    Notes
    -----
    Given which rows are members, the members' values are independent draws from the group's distribution. So
    every family holds with the group's realised size, and then also on average over it.

    Examples
    --------
    >>> question = group_mean([1, 0, 1, 1] * 2_500, [1, 1, 0, 0] * 2_500)
    >>> low, high = question.interval(-5.0)
    >>> question.n, round(low, 2), round(high, 2)
    (10000, 0.48, 0.52)
    """
    low, high = arguments.value_range(low, high)
    family = arguments.choice("family", family, FAMILIES)  # type: ignore[assignment]
    inside = flags("members", members)
    column = numbers("values", values, len(inside))[inside]
    if column.size == 0:
        return OnRows(low, high, len(inside), f"{name} ({family})", lambda log_share, side: (low, high))
    return replace(mean(np.asarray(column), family, low, high, name), n=len(inside))


RatioFamily = Literal["kl", "empirical-bernstein"]
"""What a candidate is tested by; "empirical-bernstein" where the residuals `num - c den` vary little."""

_SLACK = 1e-12  # how far means and variances of numbers in [0, 1] may be off because numbers and sums are rounded
_WIDTH = 1e-10  # the ends are found to this part of the range


def ratio(
    numerators: Any,
    denominators: Any,
    max_denominator: float,
    low: float = 0.0,
    high: float = 1.0,
    family: RatioFamily = "kl",
    name: str = "ratio",
) -> OnRows:
    """Return, as a metric, the ratio `r = E[num] / E[den]` of two numbers that each row has.

    In every row `low den <= num <= high den` must hold. The interval has all candidates `c` for which an interval of
    the mean of `num - c den` contains 0. The error probability is not split over the candidates, because only the test
    of the true ratio has to hold.

    Parameters
    ----------
    numerators, denominators : array
        One number per row each; denominators in `[0, max_denominator]`.
    max_denominator : float
        Declared bound on the denominators, above 0.
    low, high : float
        Declared range of `num/den` in every row, and of the target. A row with denominator 0 must have numerator 0.
    family : str
        "kl" or "empirical-bernstein", chosen before the data.
    name : str
        Public words for the target.

    Returns
    -------
    OnRows
        Time: a few passes over the rows, then about a hundred microseconds an interval.

    Notes
    -----
    *Idea.* `r >= c` exactly if `E[num - c den] >= 0`, and `num - c den` is a bounded value of a row. So a
    candidate `c` is refuted by any interval of that mean.

    *Proof that bisection is right.* Scale so that `low, high = 0, 1` and `den <= 1`; write `A <= B` for the two means.
    The values `num - c den` lie in `[-c, 1 - c]`. Shifted by `c` they lie in [0, 1], with mean `y(c) = A + c (1 - B)`,
    and `E[num - c den] = 0` says that the mean is `c`.

    - "kl" refutes `r <= c` where `c < A/B` and `n kl(y(c) || c) >= ln(1/tail)`. The divergence falls in `c`: its slope
      is `(1 - B) ln(y (1 - c) / (c (1 - y))) - (y - c) / (c (1 - c))`. As `ln(y/c) <= (y - c)/c` and
      `ln((1 - c)/(1 - y)) <= (y - c)/(1 - y)`, it is at most
      `(y - c) ((1 - B)/c + (1 - B)/(1 - y) - 1/c - 1/(1 - c))`, and `1 - y >= (1 - B)(1 - c)` because `A <= B`. So what
      is refuted are all candidates below one point.
    - "empirical-bernstein" refutes `r <= c` where `A - c B` exceeds its half-width, which is affine and rising in the
      sample deviation of `num - c den`. That deviation is the length of a vector affine in `c`, so it is convex and the
      excess is concave: if it is positive at `c = 0` it changes sign once, and if it is not the limit is 0.

    The upper limit is that of `den - num`, mirrored. If the true ratio is `r`, a lower limit above `r` means that `r`
    itself was refuted.

    Examples
    --------
    >>> low, high = ratio([1.0, 0.5, 0.0, 2.0] * 2_500, [2.0, 0.5, 1.0, 2.0] * 2_500, 2.0).interval(-5.0)
    >>> round(low, 3), round(high, 3)
    (0.613, 0.66)
    """
    low, high = arguments.value_range(low, high)
    most = arguments.real("max_denominator", max_denominator, at_least=1e-100, at_most=1e100)
    den = bounded("denominators", denominators, 0.0, most)
    num = ordered("numerators", numerators, len(den))
    if not ((num >= low * den) & (num <= high * den)).all():
        raise InvalidParameter(
            f"numerators must be between {low:g} and {high:g} times the denominators in every row, but some are not"
        )
    return from_parts((num - low * den) / (high - low), den, most, low, high, family, name)


def from_parts(
    over: npt.NDArray[np.float64],
    den: npt.NDArray[np.float64],
    most: float,
    low: float,
    high: float,
    family: RatioFamily,
    name: str,
) -> OnRows:
    """Return the ratio from `over = (num - low den) / (high - low)` and `den`; arrays are not checked.

    Examples
    --------
    >>> from_parts(np.array([0.5]), np.array([1.0]), 1.0, 0.0, 2.0, "kl", "one row")
    OnRows(one row (kl), n=1, low=0, high=2)
    """
    arguments.choice("family", family, ("kl", "empirical-bernstein"))
    slack = _SLACK * (1 + (abs(low) + abs(high)) / (high - low))
    moments = Moments.of(over / most, den / most, slack)

    def limits(log_share: float, side: Side) -> tuple[float, float]:
        if family == "kl":
            below, above = means.tails(log_share, side)
            lower = 0.0 if below is None else _kl_limit(moments, below)
            upper = 1.0 if above is None else 1.0 - _kl_limit(moments.mirrored(), above)
        else:
            events = 3 if side == "both" else 2
            lower = _bernstein_limit(moments, log_share, events)
            upper = 1.0 - _bernstein_limit(moments.mirrored(), log_share, events)
        return outwards(low + (high - low) * lower, low + (high - low) * upper, low, high)

    value = low + (high - low) * moments.num / moments.den if moments.den > 0 else None
    return OnRows(low, high, moments.n, f"{name} ({family})", limits, value)


def ratio_of_means(
    over: float, den: float, n: int, low: float, high: float
) -> Callable[[float, Side], tuple[float, float]]:
    """Return the limits of a ratio where its two means are all that is known: those of the family "kl".

    `over` is the mean of `(num - low den) / (high - low)` and `den` that of the denominator, both as parts of the
    largest denominator.

    Examples
    --------
    >>> low, high = ratio_of_means(0.3, 0.5, 10_000, 0.0, 1.0)(-5.0, "both")
    >>> round(low, 3), round(high, 3)
    (0.567, 0.633)
    """
    moments = Moments(n, over, den, math.nan, math.nan, math.nan, 1e-8)

    def limits(log_share: float, side: Side) -> tuple[float, float]:
        below, above = means.tails(log_share, side)
        lower = 0.0 if below is None else _kl_limit(moments, below)
        upper = 1.0 if above is None else 1.0 - _kl_limit(moments.mirrored(), above)
        return outwards(low + (high - low) * lower, low + (high - low) * upper, low, high)

    return limits


@dataclass(frozen=True, repr=False)
class Moments:
    """Means and unbiased (co)variances of numerator and denominator, both in [0, 1], and their rounding. Secret."""

    n: int
    num: float
    den: float
    num_variance: float
    den_variance: float
    covariance: float
    slack: float

    @classmethod
    def of(cls, num: npt.NDArray[np.float64], den: npt.NDArray[np.float64], slack: float = _SLACK) -> Moments:
        """Sum up two columns."""
        n, a, b = num.size, float(num.mean()), float(den.mean())
        x, y, rest = num - a, den - b, max(num.size - 1, 1)
        return cls(n, a, b, float(x @ x) / rest, float(y @ y) / rest, float(x @ y) / rest, slack)

    def mirrored(self) -> Moments:
        """Those of `den - num` and `den`."""
        variance = max(self.den_variance - 2 * self.covariance + self.num_variance, 0.0)
        return Moments(
            self.n,
            self.den - self.num,
            self.den,
            variance,
            self.den_variance,
            self.den_variance - self.covariance,
            self.slack,
        )

    def __repr__(self) -> str:
        return f"Moments(n={self.n})"


def _kl_limit(rows: Moments, log_tail: float) -> float:
    nats, a, b = up(-log_tail / rows.n), rows.num - 2 * rows.slack, rows.den

    def not_refuted(c: float) -> float:
        mean = a + c * (1 - b)
        return nats - binary_kl_at_least(mean, c) if c < min(mean, 1.0) else nats

    return _last_refuted(not_refuted, a, b)


def _bernstein_limit(rows: Moments, log_share: float, events: int) -> float:
    if rows.n == 1:
        return 0.0
    a, b = rows.num - 2 * rows.slack, rows.den

    def not_refuted(c: float) -> float:
        variance = rows.num_variance - 2 * c * rows.covariance + c * c * rows.den_variance
        spread = math.sqrt(max(variance, 0.0) + 8 * rows.slack)
        return bernstein_half_width(spread, rows.n, log_share, 1.0, events) - (a - c * b)

    return _last_refuted(not_refuted, a, b)


def _last_refuted(not_refuted: Callable[[float], float], a: float, b: float) -> float:
    """A refuted candidate near the greatest one; 0 if there is none. `not_refuted` is below 0 where refuted."""
    least = 1e-12
    if a <= least or not_refuted(least) >= 0:
        return 0.0
    return max(down(crossing(not_refuted, least, min(a / b, 1.0), _WIDTH)[0]), 0.0)


def weighted_mean(
    values: Any,
    weights: Any,
    max_weight: float | None = None,
    low: float = 0.0,
    high: float = 1.0,
    family: RatioFamily = "kl",
) -> OnRows:
    """Return, as a metric, the weighted mean of a value, `E[w v] / E[w]`, where `w` is the weight of a row and `v`
    its value.

    You must declare `max_weight`, a bound on the weights. It is never read off the rows. Without a bound nothing can be
    certified, because one heavy row may decide everything.

    Parameters
    ----------
    values : array
        One number per row, in `[low, high]`.
    weights : array
        One number per row, in `[0, max_weight]`.
    max_weight : float
        Declared bound on the weights, above 0.
    low, high : float
        Range that no value leaves.
    family : str
        "kl" or "empirical-bernstein", chosen before the data.

    Returns
    -------
    OnRows
        Time: a few passes over the rows, then about a hundred microseconds an interval.

    Notes
    -----
    It is a ratio of two means (see `ratio`): the values `w (v - c)` lie in an interval of length `max_weight`
    times the range of `v`.

    Examples
    --------
    >>> low, high = weighted_mean([1, 0, 1, 1] * 2_500, [1, 2, 3, 2] * 2_500, 4).interval(-5.0)
    >>> round(low, 3), round(high, 3)
    (0.72, 0.778)
    >>> weighted_mean([1, 0], [1, 2])
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: max_weight must be declared: without a bound on the weights nothing is certified
    """
    if max_weight is None:
        raise InvalidParameter("max_weight must be declared: without a bound on the weights nothing is certified")
    low, high = arguments.value_range(low, high)
    most = arguments.real("max_weight", max_weight, at_least=1e-100, at_most=1e100)
    weight = bounded("weights", weights, 0.0, most)
    value = bounded("values", values, low, high, len(weight))
    return from_parts(weight * ((value - low) / (high - low)), weight, most, low, high, family, "weighted mean")
