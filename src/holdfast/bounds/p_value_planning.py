"""Planning before the data: how much privacy a target level allows.

At a fixed epsilon a larger sample makes the correction harsher, because the penalty grows with `epsilon sqrt(n)`. So
the useful inverses are the largest epsilon and the largest delta; what a sample size buys is how little noise that
epsilon needs.
"""

from __future__ import annotations

import math
from typing import Literal

from holdfast import check
from holdfast.bounds.approximate_dp import smallest_beta
from holdfast.bounds.exact import down, up
from holdfast.bounds.p_value import level_after_approx_dp
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import crossing
from holdfast.errors import GuaranteeUnavailable, InvalidParameter


@theorem(
    "p-value.largest-epsilon",
    statement="the largest epsilon after which a p-value of `level` still rejects at alpha",
    source="Holdfast: p-value.level-after-approx-dp, inverted",
    conditions="as for p-value.level-after-approx-dp; level below alpha",
    unit="epsilon",
    provenance="derived",
)
def largest_epsilon(alpha: float, level: float, n: int, delta: float = 0.0) -> float:
    """Return the largest `epsilon` for which the corrected level is at least `level`.

    Rounded down: `level_after_approx_dp(alpha, result, delta, n).value` is at least `level`. Cost: about 0.2 seconds
    for a positive delta, a few milliseconds otherwise.

    Parameters
    ----------
    alpha : float
        The level to keep, in (0, 1).
    level : float
        The ordinary p-value that must still reject, in (0, alpha).
    n : int
        The number of rows.
    delta : float
        In [0, 1); 0 by default.

    Raises
    ------
    GuaranteeUnavailable
        When even `epsilon = 0` does not reach the level at this delta.

    Examples
    --------
    >>> epsilon = largest_epsilon(0.05, 0.005, 10_000)
    >>> round(epsilon, 5)
    0.01601
    """
    alpha = check.probability("alpha", alpha)
    target = _target(level, alpha)

    def missing(epsilon: float) -> float:
        return target - level_after_approx_dp(alpha, epsilon, delta, n).log2_level

    if missing(0.0) > 0:
        raise GuaranteeUnavailable(
            f"at delta = {delta:g} and n = {n} no epsilon keeps a level of {level:g} at alpha = {alpha:g}"
        )
    high = 1 / math.sqrt(n)
    while missing(high) <= 0:
        high *= 2
    tiny = math.ulp(0.0)  # so that a level that is met exactly counts as met
    return crossing(lambda epsilon: _bounded(missing(epsilon) - tiny), 0.0, high, 1e-12 * high)[0]


@theorem(
    "p-value.largest-delta",
    statement="the largest delta after which a p-value of `level` still rejects at alpha; level 0: the ceiling",
    source="Holdfast: p-value.level-after-approx-dp, inverted",
    conditions="as for p-value.level-after-approx-dp; paper: epsilon in (0, 1/2]",
    unit="delta",
    provenance="derived",
)
def largest_delta(
    alpha: float, epsilon: float, n: int, level: float = 0.0, method: Literal["best", "paper"] = "best"
) -> float:
    """Return the largest `delta` for which the corrected level is at least `level`, rounded down.

    With `level = 0` it is the ceiling from which on nothing can be rejected: `alpha/n` for the default, about
    `eps (alpha/(2.31 n))^2` for the printed form. Cost: about 0.3 seconds for a positive level.

    Parameters
    ----------
    alpha : float
        The level to keep, in (0, 1).
    epsilon : float
        The privacy parameter, at least 0.
    n : int
        The number of rows.
    level : float
        The ordinary p-value that must still reject, in [0, alpha).
    method : str
        "best" (default) or "paper".

    Raises
    ------
    GuaranteeUnavailable
        When the level is out of reach at this epsilon, however small delta is.

    Examples
    --------
    >>> round(largest_delta(0.05, 0.01, 1000) * 1e5, 9)
    5.0
    >>> print(f"{largest_delta(0.05, 0.01, 1000, method='paper'):.3g}")
    4.62e-12
    >>> print(f"{largest_delta(0.05, 0.01, 1000, level=0.005):.3g}")
    3.03e-08
    """
    alpha = check.probability("alpha", alpha)
    epsilon = check.real("epsilon", epsilon, at_least=0)
    n = check.whole("n", n, at_least=1)
    check.choice("method", method, ("best", "paper"))
    target = _target(level, alpha) if check.real("level", level, at_least=0) else -math.inf

    def missing(log_delta: float) -> float:
        delta = math.exp(log_delta)
        if method == "paper" and delta >= epsilon:
            return math.inf
        if level == 0:
            return math.log(smallest_beta(epsilon, delta, n, method)) - math.log(alpha)
        return target - level_after_approx_dp(alpha, epsilon, delta, n, method).log2_level

    low, high = -700.0, math.log(alpha) - math.log(n) + 1e-9
    if missing(low) >= 0:
        raise GuaranteeUnavailable(
            f"at epsilon = {epsilon:g} and n = {n} no delta keeps a level of {level:g} at alpha = {alpha:g}"
        )
    step = 1.0
    while high - step > low and missing(high - step) >= 0:  # most answers lie near the ceiling
        high, step = high - step, 4 * step
    low = crossing(lambda x: _bounded(missing(x)), max(low, high - step), high, 1e-11)[0]
    return down(math.exp(low))


def _target(level: float, alpha: float) -> float:
    """The logarithm to reach, a little above that of `level`, so that the rounded-down value reaches it too."""
    level = check.probability("level", level)
    if level >= alpha:
        raise InvalidParameter(f"level must be below alpha = {alpha:g}, got {level:g}")
    return up(math.log2(level)) + 1e-14


def _bounded(x: float) -> float:
    """`x` on a scale without infinities, which would stop false position."""
    return x / (1 + abs(x)) if math.isfinite(x) else math.copysign(1.0, x)


__all__ = ["largest_delta", "largest_epsilon"]
