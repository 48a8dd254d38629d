"""Zero-concentrated differential privacy to (epsilon, delta), forwards and backwards.

Everything here follows from one curve. `rho`-zCDP bounds the Renyi divergence of every order `1 + t` by `rho (1 + t)`.
The largest hockey-stick divergence that a bound at one order allows gives, for every `t > 0`,

    log delta = t ((1 + t) rho - epsilon - log(1 + 1/t)) - log(1 + t).

At a fixed epsilon this is convex in `t`; at a fixed delta the epsilon it allows has one minimum, where
`rho t^2 + log(1 + t) = log(1/delta)`. Any `t` gives a valid number, so the solver decides how tight a bound is and
never whether it holds.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from holdfast.bounds.inverse import solve
from holdfast.bounds.numerics.exact import UNIT, up
from holdfast.bounds.parameters import Delta, Epsilon, Rho
from holdfast.bounds.registry import theorem

Method = Literal["best", "cks", "pi", "simple", "paper"]


@theorem(
    "composition.zcdp-to-dp",
    statement="the epsilon for which rho-zCDP implies (epsilon, delta)-differential privacy",
    source="Bun-Steinke 2016 Lemma 3.5 and Lemma 3.6 (printed); Canonne-Kamath-Steinke 2020 Corollary 13 (default)",
    conditions="rho >= 0, delta in [0, 1); one-sided in delta, not time-uniform",
    unit="epsilon",
    provenance="mixed",
)
def zcdp_to_dp(
    rho: Rho, delta: Annotated[Delta, "The delta; with 0 there is no bound unless rho is 0."], method: Method = "best"
) -> float:
    """Return the epsilon such that `rho`-zCDP implies `(epsilon, delta)`-differential privacy.

    - "cks": `min over t > 0 of (1+t) rho - log(1 + 1/t) + (log(1/delta) - log(1+t)) / t`, at the exact minimiser.
    - "pi" (and "paper", the dissertation's Theorem 2.2.4): `rho + 2 sqrt(rho log(sqrt(pi rho)/delta))`; the root is
      dropped when `delta >= sqrt(pi rho)`.
    - "simple": `rho + 2 sqrt(rho log(1/delta))`.
    - "best": the smallest of these, and 0 where the total variation distance alone is at most delta
      (`rho <= 2 delta^2` by Pinsker, `rho <= -log(1 - delta^2)` by Bretagnolle and Huber).

    A statement about one finished interaction. It may follow a zCDP filter, whose whole interaction is rho-zCDP; it may
    not be read as an odometer while an adaptive analysis runs.

    Returns
    -------
    float
        Epsilon, rounded up; `inf` where there is no bound.

    Notes
    -----
    Printed; the minimiser's equation and the two zeros are derived here and checked against 50-digit arithmetic.
    Cost: one Newton solve, about ten microseconds.

    Examples
    --------
    >>> round(zcdp_to_dp(0.1, 1e-6), 9)
    2.141938928
    >>> round(zcdp_to_dp(0.1, 1e-6, method="paper"), 9)
    2.401006993
    """
    if rho == 0:
        return 0.0
    if delta == 0:
        return math.inf
    if method == "simple":
        return _simple(rho, delta)
    if method in ("pi", "paper"):
        return _pi(rho, delta)
    if method == "cks":
        return _cks(rho, delta)
    if rho <= _free(delta):
        return 0.0
    return min(_cks(rho, delta), _pi(rho, delta), _simple(rho, delta))


@theorem(
    "composition.zcdp-delta",
    statement="the delta for which rho-zCDP implies (epsilon, delta)-differential privacy",
    source="Canonne-Kamath-Steinke 2020 Corollary 13",
    conditions="rho >= 0, epsilon >= 0; one-sided, not time-uniform",
    unit="probability",
    provenance="mixed",
)
def zcdp_delta(rho: Rho, epsilon: Epsilon) -> float:
    """Return the delta such that `rho`-zCDP implies `(epsilon, delta)`-differential privacy.

    `min over t > 0 of exp(t ((1+t) rho - epsilon - log(1 + 1/t))) / (1+t)`, and never above the bound on the total
    variation distance, `min(sqrt(rho/2), sqrt(1 - e^-rho))`. A statement about one finished interaction.

    Returns
    -------
    float
        Delta, rounded up, in [0, 1].

    Examples
    --------
    >>> round(zcdp_delta(0.1, 2.141938928), 12)
    1e-06
    """
    if rho == 0:
        return 0.0
    variation = math.sqrt(min(rho / 2, -math.expm1(-rho)))
    t = _order_at_epsilon(rho, epsilon)
    if not 1e-300 < t < math.inf:  # the order is beyond the floating range; the total variation still bounds delta
        return min(1.0, up(variation))
    terms = (t * (1 + t) * rho, -t * epsilon, -t * math.log1p(1 / t), -math.log1p(t))
    exponent = math.fsum(terms) + 8 * UNIT * math.fsum(abs(term) for term in terms)
    smallest = math.ulp(0.0)  # a positive delta that underflows must not read as 0
    return min(1.0, up(variation), max(up(math.exp(min(exponent, 0.0)), 8), smallest))


@theorem(
    "composition.zcdp-budget",
    statement="the largest rho for which rho-zCDP implies (epsilon, delta)-differential privacy",
    source="Canonne-Kamath-Steinke 2020 Corollary 13, inverted; Bun-Steinke 2016 for the printed forms",
    conditions="epsilon >= 0, delta in [0, 1)",
    unit="rho",
    provenance="mixed",
)
def zcdp_budget(
    epsilon: Annotated[Epsilon, "The budget's epsilon."],
    delta: Annotated[Delta, "The budget's delta; with 0 only rho = 0 fits."],
    method: Annotated[Method, "The conversion that is inverted, as in `zcdp_to_dp`."] = "best",
) -> float:
    """Return the largest `rho` that `(epsilon, delta)` allows, the inverse of `zcdp_to_dp`.

    Rounded down, so that `zcdp_to_dp(zcdp_budget(epsilon, delta, m), delta, m) <= epsilon` holds in floating point.
    This is the budget of a zCDP filter: a filter that stops on the sum of rho makes the whole interaction rho-zCDP, so
    the full delta may be spent on this conversion.

    Examples
    --------
    >>> round(zcdp_budget(1.0, 1e-6), 8)
    0.02435597
    >>> round(zcdp_budget(1.0, 1e-6, method="simple"), 11)
    0.01746890477
    """
    return solve(zcdp_to_dp, for_="rho", target=epsilon, delta=delta, method=method) if delta else 0.0


def _free(delta: float) -> float:
    """The largest rho whose total variation distance is at most delta."""
    return max(2 * delta * delta, -math.log1p(-delta * delta)) * (1 - 4 * UNIT)


def _simple(rho: float, delta: float) -> float:
    return up(rho + 2 * math.sqrt(rho * -math.log(delta)))


def _pi(rho: float, delta: float) -> float:
    log_ratio = 0.5 * math.log(math.pi * rho) - math.log(delta)
    error = 4 * UNIT * (abs(0.5 * math.log(math.pi * rho)) - math.log(delta))
    return up(rho + 2 * math.sqrt(rho * max(log_ratio + error, 0.0)))


def _cks(rho: float, delta: float) -> float:
    """Evaluate the optimised bound, its own rounding error added."""
    slack = -math.log(delta)
    t = _order_at_delta(rho, slack)
    terms = (rho * (1 + t), -math.log1p(1 / t), slack / t, -math.log1p(t) / t)
    value = math.fsum(terms) + 8 * UNIT * math.fsum(abs(term) for term in terms)
    return max(value, 0.0)


def _order_at_delta(rho: float, slack: float) -> float:
    """Solve `rho t^2 + log(1+t) = slack`: convex and increasing in log t, so Newton from above never overshoots."""
    u = min(0.5 * (math.log(slack) - math.log(rho)), slack + math.log(-math.expm1(-slack)))
    u = max(min(u, 340.0), -700.0)  # beyond, t or its square leaves the floating range; every t is valid
    for _ in range(60):
        t = math.exp(u)
        value = rho * t * t + math.log1p(t) - slack
        if value <= 0:
            break
        step = value / (2 * rho * t * t + t / (1 + t))
        u -= step
        if abs(step) <= 1e-12:
            break
    return math.exp(u)


def _order_at_epsilon(rho: float, epsilon: float) -> float:
    """Solve `rho (1 + 2t) = epsilon + log(1 + 1/t)`: the left side minus the right increases in t."""
    low, high = -745.0, 709.0
    for _ in range(200):
        u = 0.5 * (low + high)
        t = math.exp(u)
        if rho * (1 + 2 * t) < epsilon + (math.log1p(1 / t) if u > -700 else -u):
            low = u
        else:
            high = u
        if high - low <= 1e-12:
            break
    t = math.exp(0.5 * (low + high))
    return t if t * t * rho < math.inf else math.inf
