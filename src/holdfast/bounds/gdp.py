"""Gaussian differential privacy to (epsilon, delta), forwards and backwards; the conversion is exact.

With `x = epsilon/mu - mu/2` and the Mills ratio `m(x) = (1 - Phi(x)) / phi(x)`,

    delta = Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2) = phi(x) (m(x) - m(x + mu))
          = phi(x) * integral over t > 0 of e^(-x t - t^2/2) (1 - e^(-mu t)) dt.

The difference cancels when mu is small; the integral has a positive integrand and does not, so it is used there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from holdfast.bounds.inverse import solve
from holdfast.bounds.numerics.exact import UNIT, up
from holdfast.bounds.parameters import Delta, Epsilon, Mu
from holdfast.bounds.registry import theorem
from holdfast.bounds.zcdp import zcdp_budget, zcdp_to_dp

_HALF_LOG_TWO_PI = 0.5 * math.log(2 * math.pi)
_FAR = 1e150
_LARGE = 1e8  # beyond, the zCDP conversion is within a relative 1e-6 and needs no root


@theorem(
    "composition.gdp-to-dp",
    statement="the epsilon for which mu-GDP implies (epsilon, delta)-differential privacy; exact",
    source="Dong-Roth-Su 2022 Corollary 2.13 (Balle-Wang 2018 Theorem 8 for one Gaussian), inverted",
    conditions="mu >= 0, delta in [0, 1); two-sided (both directions of indistinguishability), not time-uniform",
    unit="epsilon",
)
def gdp_to_dp(mu: Mu, delta: Annotated[Delta, "The delta; with 0 there is no bound unless mu is 0."]) -> float:
    """Return the smallest epsilon such that `mu`-GDP implies `(epsilon, delta)`-differential privacy.

    The root of `Phi(-e/mu + mu/2) - e^e Phi(-e/mu - mu/2) = delta` in `e`, or 0 where delta covers the total variation
    distance `2 Phi(mu/2) - 1`. Exact for the Gaussian mechanism; no bound from mu-GDP alone can be smaller. A statement
    about one finished interaction, so it may follow a GDP filter; it is not an odometer.

    Returns
    -------
    float
        Epsilon, rounded up: `gdp_delta(mu, result) <= delta` holds in floating point.

    Notes
    -----
    Printed. Cost: about a dozen evaluations of `gdp_delta`, a quarter of a millisecond.

    Examples
    --------
    >>> round(gdp_to_dp(0.5, 1e-6), 9)
    2.25408465
    """
    if mu == 0:
        return 0.0
    if delta == 0:
        return math.inf
    if mu > _LARGE:
        return zcdp_to_dp(0.5 * mu * mu, delta, "cks") if mu < _FAR else math.inf
    target = math.log(delta)
    if gdp_delta(mu, 0.0) <= delta:
        return 0.0
    high = zcdp_to_dp(min(0.5 * mu * mu, 1e300), delta, "cks") * (1 + 1e-12) + 1e-300
    while _log_delta(mu, high) > target:
        high *= 1.5
    root = 0.0 if _log_delta(mu, 0.0) <= target else _falling_root(lambda e: _log_delta(mu, e) - target, 0.0, high)
    step = 2 * UNIT
    while gdp_delta(mu, root) > delta:
        root = math.nextafter(root * (1 + step), math.inf)
        step *= 2
    return root


@theorem(
    "composition.gdp-delta",
    statement="the delta for which mu-GDP implies (epsilon, delta)-differential privacy; exact",
    source="Dong-Roth-Su 2022 Corollary 2.13; Balle-Wang 2018 Theorem 8",
    conditions="mu >= 0, epsilon >= 0; two-sided (both directions of indistinguishability), not time-uniform",
    unit="probability",
)
def gdp_delta(mu: Mu, epsilon: Epsilon) -> float:
    """Return the delta such that `mu`-GDP implies `(epsilon, delta)`-differential privacy.

    `Phi(-epsilon/mu + mu/2) - e^epsilon Phi(-epsilon/mu - mu/2)`, exact for the Gaussian mechanism.

    Returns
    -------
    float
        Delta, rounded up, in [0, 1].

    Notes
    -----
    Printed. Relative error below 1e-12 for `mu` from 1e-6 to 150 and delta from 1e-300 to 0.99, always upwards.

    Examples
    --------
    >>> round(gdp_delta(0.5, 1.0), 12)
    0.006829594983
    """
    if mu == 0:
        return 0.0
    return min(1.0, max(up(math.exp(_log_delta(mu, epsilon)), 2), math.ulp(0.0)))


@theorem(
    "composition.gdp-budget",
    statement="the largest mu for which mu-GDP implies (epsilon, delta)-differential privacy",
    source="Dong-Roth-Su 2022 Corollary 2.13, inverted in mu",
    conditions="epsilon >= 0, delta in [0, 1)",
    unit="mu",
)
def gdp_budget(
    epsilon: Annotated[Epsilon, "The budget's epsilon."],
    delta: Annotated[Delta, "The budget's delta; with 0 only mu = 0 fits."],
) -> float:
    """Return the largest `mu` that `(epsilon, delta)` allows, the inverse of `gdp_to_dp`.

    Rounded down, so that `gdp_to_dp(gdp_budget(epsilon, delta), delta) <= epsilon` always holds in floating point.

    Examples
    --------
    >>> round(gdp_budget(2.25408465, 1e-6), 8)
    0.5
    """
    if delta == 0:
        return 0.0
    near = math.sqrt(2) * math.sqrt(zcdp_budget(epsilon, delta, "cks"))  # a little too small
    return solve(gdp_to_dp, for_="mu", target=epsilon, delta=delta, near=near)


def _falling_root(f: Callable[[float], float], low: float, high: float) -> float:
    """The root of a falling function, `f(low) >= 0 >= f(high)`, to about one unit in the last place."""
    from scipy.optimize import brentq

    return float(brentq(f, low, high, xtol=1e-300, rtol=8 * UNIT, maxiter=500))


def _log_delta(mu: float, epsilon: float) -> float:
    """The log of delta for `mu > 0`, its own rounding error added."""
    ratio, half = epsilon / mu, 0.5 * mu
    x = ratio - half
    if x > _FAR:  # delta < e^(-x^2/2), far below every positive float
        return -_FAR
    error = 4 * abs(x) * (ratio + half) + 40 + abs(math.log(mu))  # of the exponent, in units of UNIT
    end = -x + math.sqrt(x * x + 100) if x < 0 else 100 / (x + math.sqrt(x * x + 100))
    if mu <= 2 or (x > 0 and mu * end <= 64):  # the integrand is smooth enough for the quadrature
        log_factor = math.log(_integral(x, mu, end)) + math.log(mu)
    elif x > 0:
        first, second = _mills(x), _mills(x + mu)
        log_factor = math.log(first - second)
        error += 16 * first / (first - second)
    else:
        from scipy.special import ndtr

        upper = float(ndtr(-x))
        lower = math.exp(-0.5 * x * x - _HALF_LOG_TWO_PI) * _mills(x + mu)
        return min(0.0, math.log1p(-(float(ndtr(x)) + lower)) + UNIT * error * max(1.0, lower / (upper - lower)))
    return min(0.0, -0.5 * x * x - _HALF_LOG_TWO_PI + log_factor + UNIT * error)


def _mills(x: float) -> float:
    from scipy.special import erfcx

    return math.sqrt(0.5 * math.pi) * float(erfcx(x / math.sqrt(2)))


@cache
def _quadrature() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, weights = np.polynomial.legendre.leggauss(96)
    return nodes, weights


def _integral(x: float, mu: float, end: float) -> float:
    """Integrate `e^(-x t - t^2/2) (1 - e^(-mu t))/mu` over t > 0; what is cut off at `end` is below e^-45 of it."""
    nodes, weights = _quadrature()
    t = 0.5 * end * (nodes + 1)
    rises = t if mu < 1e-200 else -np.expm1(-mu * t) / mu
    values = np.exp(-t * (x + 0.5 * t)) * rises
    return 0.5 * end * float(np.sum(weights * values))
