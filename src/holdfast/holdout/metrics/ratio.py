"""A ratio of two means, `E[num] / E[den]`, by trying every candidate against the rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from holdfast import check
from holdfast.bounds.divergence import binary_kl_at_least
from holdfast.bounds.exact import down, up
from holdfast.bounds.one_question import inputs
from holdfast.bounds.one_question.limits import outwards
from holdfast.bounds.one_question.variance_bound import bernstein_half_width
from holdfast.bounds.search import crossing
from holdfast.errors import InvalidParameter
from holdfast.holdout.metrics import rows
from holdfast.holdout.procedure import OnRows, Side

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
    """The ratio `r = E[num] / E[den]` of two per-row numbers with `low den <= num <= high den` in every row.

    *Idea.* `r >= c` exactly if `E[num - c den] >= 0`, and `num - c den` is a bounded value of a row. So a candidate `c`
    is refuted by any interval of that mean. Only the test at the true `c` has to hold, so the share is not split over
    the candidates.

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

    Parameters
    ----------
    numerators, denominators : array
        One number a row each; denominators in `[0, max_denominator]`.
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

    Examples
    --------
    >>> low, high = ratio([1.0, 0.5, 0.0, 2.0] * 2_500, [2.0, 0.5, 1.0, 2.0] * 2_500, 2.0).interval(-5.0)
    >>> round(low, 3), round(high, 3)
    (0.613, 0.66)
    """
    low, high = check.value_range(low, high)
    most = check.real("max_denominator", max_denominator, at_least=1e-100, at_most=1e100)
    den = rows.bounded("denominators", denominators, 0.0, most)
    num = rows.ordered("numerators", numerators, len(den))
    if not ((num >= low * den) & (num <= high * den)).all():
        raise InvalidParameter(
            f"numerators must lie between {low:g} and {high:g} times the denominators in every row, and some do not"
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
    """The ratio from `over = (num - low den) / (high - low)` and `den`; arrays are not checked.

    Examples
    --------
    >>> from_parts(np.array([0.5]), np.array([1.0]), 1.0, 0.0, 2.0, "kl", "one row")
    OnRows(one row (kl), n=1, low=0, high=2)
    """
    check.choice("family", family, ("kl", "empirical-bernstein"))
    slack = _SLACK * (1 + (abs(low) + abs(high)) / (high - low))
    moments = Moments.of(over / most, den / most, slack)

    def limits(log_share: float, side: Side) -> tuple[float, float]:
        if family == "kl":
            below, above = inputs.tails(log_share, side)
            lower = 0.0 if below is None else _kl_limit(moments, below)
            upper = 1.0 if above is None else 1.0 - _kl_limit(moments.mirrored(), above)
        else:
            events = 3 if side == "both" else 2
            lower = _bernstein_limit(moments, log_share, events)
            upper = 1.0 - _bernstein_limit(moments.mirrored(), log_share, events)
        return outwards(low + (high - low) * lower, low + (high - low) * upper, low, high)

    return OnRows(low, high, moments.n, f"{name} ({family})", limits)


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


__all__ = ["Moments", "RatioFamily", "from_parts", "ratio"]
