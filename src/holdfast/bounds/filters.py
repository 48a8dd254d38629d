"""The left sides of the filters: what must stay at most the budget's epsilon, as functions of running totals."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Annotated, Literal

from holdfast.bounds.conversions import pure_to_gdp, pure_to_rdp, pure_to_zcdp
from holdfast.bounds.gdp import gdp_budget, gdp_to_dp
from holdfast.bounds.numerics.exact import decimal_fraction, decimal_sum, float_up, up
from holdfast.bounds.numerics.search import first_whole
from holdfast.bounds.parameters import (
    Delta,
    Divergences,
    Domain,
    Epsilon,
    Epsilons,
    LossDrift,
    Orders,
    PositiveEpsilon,
    Rho,
    Slack,
    SquaredEpsilons,
)
from holdfast.bounds.registry import theorem
from holdfast.bounds.zcdp import zcdp_budget, zcdp_to_dp
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

# --- Filters left side ------------------------------------------------------------------------------------------------

ROGERS_RATIO = 3.5052414957928834
"""u*, the root of `u = 2 + log(1 + u)`: the ratio of variance to offset at which Rogers' left side is sharpest."""

ROGERS_OVERHEAD = (1 + 1 / ROGERS_RATIO) * (1 + 0.5 * math.log1p(ROGERS_RATIO))
"""What the deviation loses there against advanced composition, squared: 2.252620748."""

_LARGEST_OFFSET = 1e300
"""Every offset is valid; beyond this one the left side would leave the floating range where nothing was spent."""

SPARSE_ORDERS = (2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96, 128, 256, 512)
"""A grid of orders on which the price of choosing the order adaptively is below 1, that is nothing (0.76675)."""


def loss_drift(epsilon: float, method: Literal["tight", "paper"] = "tight") -> float:
    """Return a bound on the mean privacy loss of an epsilon-DP mechanism, rounded up.

    "tight" is `epsilon tanh(epsilon/2)`, attained by randomized response; "paper" is `epsilon (e^epsilon - 1)/2`
    (Dwork-Rothblum-Vadhan 2010, as Rogers et al. print it).

    Parameters
    ----------
    epsilon : float
        At least 0.
    method : str
        "tight" (default) or "paper".

    Examples
    --------
    >>> round(loss_drift(0.1), 10), round(loss_drift(0.1, "paper"), 10)
    (0.0049958375, 0.0052585459)
    """
    epsilon = arguments.real("epsilon", epsilon, at_least=0)
    if arguments.choice("method", method, ("tight", "paper")) == "tight":
        return pure_to_zcdp(epsilon)
    if epsilon > 700:
        return math.inf
    return max(up(0.5 * epsilon * math.expm1(epsilon)), math.ulp(0.0)) if epsilon else 0.0


def rogers_offset(budget_epsilon: float, budget_delta: float, method: Literal["tuned", "paper"] = "tuned") -> float:
    """Return the offset `x` of the filter of Rogers, Roth, Ullman and Vadhan.

    "paper": `budget_epsilon^2 / (28.04 log(1/budget_delta))` (Theorem 5.5.1 of the dissertation). "tuned": the variance
    at which the budget runs out, `(sqrt(2cL + 2 budget_epsilon) - sqrt(2cL))^2` with `L = log(2/budget_delta)`, divided
    by u*; `c = 2.2526`. Every offset fixed in advance is valid; only tightness depends on it. The constant 28.04 is
    `8 u*`.

    Parameters
    ----------
    budget_epsilon : float
        Above 0.
    budget_delta : float
        In (0, 1/e).
    method : str
        "tuned" (default) or "paper".

    Examples
    --------
    >>> round(rogers_offset(1.0, 1e-6, "paper"), 10)
    0.0025813985
    """
    budget_epsilon = arguments.real("budget_epsilon", budget_epsilon, above=0)
    budget_delta = arguments.real("budget_delta", budget_delta, above=0, below=math.exp(-1))
    if arguments.choice("method", method, ("tuned", "paper")) == "paper":
        offset = budget_epsilon * budget_epsilon / (28.04 * -math.log(budget_delta))
        return min(max(offset, sys.float_info.min), _LARGEST_OFFSET)
    spread = 2 * ROGERS_OVERHEAD * (math.log(2) - math.log(budget_delta))
    root = 2 * budget_epsilon / (math.sqrt(spread + 2 * budget_epsilon) + math.sqrt(spread))
    return min(max(root * root / ROGERS_RATIO, sys.float_info.min), _LARGEST_OFFSET)


@theorem(
    "filter.rogers",
    statement="left side of the filter of Rogers et al.: continue while it is at most the budget's epsilon",
    source="Rogers-Roth-Ullman-Vadhan 2016; dissertation Theorem 5.5.1",
    conditions="parameters chosen adaptively; the interaction is DP at its end, both directions; not an odometer",
    unit="epsilon",
)
def rogers_left_side(
    drift: LossDrift,
    squares: SquaredEpsilons,
    offset: Annotated[float, Domain("The offset x, fixed in advance.", above=0, typical=0.0025)],
    slack: Annotated[Slack, Domain(at_most=1 / math.e)],
) -> float:
    """Return `drift + sqrt(2 (V + x) (1 + log(V/x + 1)/2) log(1/slack))`, the left side of Rogers et al.'s filter.

    Rogers-Roth-Ullman-Vadhan 2016; dissertation Theorem 5.5.1, equation (5.12), with `slack = delta/2` there and the
    other half of delta for the sum of the delta_i. Printed; the concentration inequality behind it was re-derived by
    Gaussian mixing. It bounds the absolute loss (two-sided) at every moment (time-uniform), which is why Lemma 5.6.4
    may read the same number as an odometer, for point-wise deltas.

    Examples
    --------
    >>> x = rogers_offset(1.0, 1e-6, "paper")
    >>> round(rogers_left_side(100 * loss_drift(0.01, "paper"), 100 * 0.01**2, x, 1e-6 / 2), 10)
    0.8138514462
    """
    wide = 1 + 0.5 * math.log1p(squares / offset)
    return up(drift + math.sqrt(-2 * (squares + offset) * wide * math.log(slack)), 8)


@theorem(
    "filter.whitehouse",
    statement="left side of the filter of Whitehouse et al.: continue while it is at most the budget's epsilon",
    source="Whitehouse-Ramdas-Rogers-Wu 2023",
    conditions="parameters chosen adaptively; the interaction is DP at its end, both directions; not an odometer",
    unit="epsilon",
)
def whitehouse_left_side(squares: SquaredEpsilons, slack: Slack) -> float:
    """Return `sqrt(2 V log(1/slack)) + V/2`, the left side of Whitehouse et al.'s filter.

    Whitehouse-Ramdas-Rogers-Wu 2023 (fully-adaptive composition): continue while this is at most epsilon and the sum of
    the delta_i at most `delta - slack`. As tight as advanced composition. Printed; re-derived through zCDP, of which it
    is the simple conversion at `rho = V/2`. The interaction is (epsilon, delta)-DP in both directions, with ordinary
    deltas. Not an odometer.

    Examples
    --------
    >>> round(whitehouse_left_side(100 * 0.01**2, 1e-6), 10)
    0.530652177
    """
    return up(math.sqrt(-2 * squares * math.log(slack)) + 0.5 * squares)


@theorem(
    "filter.basic",
    statement="left side of the basic filter: the sum of the epsilons",
    source="Rogers' dissertation Theorem 5.3.7",
    conditions="parameters chosen adaptively; for pure rounds also an odometer",
    unit="epsilon",
)
def basic_left_side(epsilons: Epsilons) -> float:
    """Return the sum of the epsilons, added as decimals and rounded up. Two-sided; holds surely for pure rounds.

    Examples
    --------
    >>> basic_left_side([0.1] * 10)
    1.0
    """
    return float_up(decimal_sum(epsilons))


@theorem(
    "filter.zcdp",
    statement="left side of the zCDP filter: the epsilon of the sum of rho at the full slack",
    source="Feldman-Zrnic 2021; Whitehouse-Ramdas-Rogers-Wu 2023; conversion by Canonne-Kamath-Steinke 2020",
    conditions="parameters chosen adaptively; the interaction is DP at its end, both directions; not an odometer",
    unit="epsilon",
    provenance="mixed",
)
def zcdp_left_side(
    rho: Annotated[Rho, "The sum of the rho_i; a pure round adds `pure_to_zcdp(epsilon)`."], slack: Slack
) -> float:
    """Return the epsilon that a total of `rho` is worth at `slack`.

    Whether the next round fits is known before it runs, so at every Renyi order `exp((a-1)(L - a R))` stays a
    supermartingale up to the stop. Capping R therefore makes the whole interaction rho-zCDP, and any conversion may
    follow. Derived and reviewed. Comparing with `zcdp_budget` is the same test.

    Examples
    --------
    >>> zcdp_left_side(487 * pure_to_zcdp(0.01), 1e-6) <= 1 < zcdp_left_side(488 * pure_to_zcdp(0.01), 1e-6)
    True
    """
    return zcdp_to_dp(rho, slack)


@theorem(
    "filter.gdp",
    statement="left side of the GDP filter: the epsilon of the root of the sum of squared mu",
    source="Koskela-Tobaben-Honkela 2022; Smith-Thakurta 2022; Dong-Roth-Su 2022 for the conversion",
    conditions="parameters chosen adaptively; the interaction is DP at its end, both directions; not an odometer",
    unit="epsilon",
)
def gdp_left_side(squares: Annotated[SquaredEpsilons, "The sum of the mu_i^2."], slack: Slack) -> float:
    """Return the epsilon that a total `squares` of `mu_i^2` is worth at `slack`; exact for Gaussian releases.

    The releases are increments of one Brownian motion with drift, read up to time `squares`, so the interaction is a
    post-processing of its end point. Reviewed; holds for any mu_i-GDP mechanisms.

    Examples
    --------
    >>> round(gdp_left_side(0.25, 1e-6), 9)
    2.25408465
    """
    return gdp_to_dp(up(math.sqrt(squares)), slack)


def renyi_constant(orders: Sequence[float]) -> float:
    """Return `log sum over a of (a-1)^(a-1) / a^a`, the price of letting the answers choose the order.

    Because `(1 - e^(g-L))_+ <= c_a e^((a-1)(L-g))` for every order, a filter that continues while *some* order is
    inside fails with at most the sum over the orders that may be the surviving one. Derived and reviewed; negative on
    `SPARSE_ORDERS`, where the choice is free.

    Parameters
    ----------
    orders : sequence of float
        A grid fixed in advance, orders above 1.

    Examples
    --------
    >>> round(math.exp(renyi_constant(SPARSE_ORDERS)), 5)
    0.76675
    """
    orders = arguments.reals("orders", orders, above=1)
    constants = (math.exp(-math.log(a) - (a - 1) * math.log1p(1 / (a - 1))) for a in set(orders))
    return math.log(up(math.fsum(constants), 16))


@theorem(
    "filter.renyi-curve",
    statement="left side of the curve filter, the choice of the order paid for: continue while it is at most epsilon",
    source="Lecuyer 2021, corrected (docs/errata/composition.md)",
    conditions="parameters chosen adaptively; the interaction is DP at its end, both directions; not an odometer",
    unit="epsilon",
    provenance="derived",
)
def renyi_curve_left_side(orders: Orders, epsilons: Divergences, slack: Slack) -> float:
    """Return `min over a of S(a) + (log(1/slack) + log sum c_a)/(a - 1)`, the left side of the curve filter.

    Lecuyer 2021 without the term `log sum c_a` is not valid on every grid: on orders 1.1 and 1.5 a two-stage
    adversary reaches 1.0135 times delta, and with each order's own constant on orders 2 and 8 it reaches 1.80 times.
    This form is derived and reviewed (`docs/errata/composition.md`). The interaction is (epsilon, slack)-DP in both
    directions. Not an odometer.

    Examples
    --------
    >>> from holdfast.bounds.conversions import pure_to_rdp
    >>> totals = [360 * pure_to_rdp(0.01, a) for a in SPARSE_ORDERS]
    >>> renyi_curve_left_side(SPARSE_ORDERS, totals, 1e-6) <= 1.0
    True
    """
    if len(orders) != len(epsilons):
        raise InvalidParameter(f"orders and epsilons must have the same length, got {len(orders)} and {len(epsilons)}")
    cost = renyi_constant(orders) - math.log(slack)
    return min(up(s + max(cost, 0.0) / (a - 1)) for a, s in zip(orders, epsilons, strict=True))


# --- Filters ----------------------------------------------------------------------------------------------------------
# Privacy filters as functions of running totals: the left side that must stay below the budget.
#
# A filter is asked before a mechanism runs, with that mechanism's parameters included, and the mechanism runs only
# while the left side is at most the budget's epsilon. Then the whole interaction is (epsilon, delta)-DP, although the
# analyst chose every parameter, and the moment to stop, from the answers. That is a statement about the interaction at
# its end, in both directions; it is not a bound on the loss at every moment, which is what an odometer gives.
#
# The mechanisms may be (epsilon_i, delta_i)-DP in the ordinary sense: the budget's delta is cut into `slack`, for the
# concentration argument, and room for the sum of the delta_i. All functions take `slack`. Two of these filters may not
# be joined by OR at a single slack; basic and one other may.
#
# Totals: `drift` is the sum of `loss_drift(epsilon_i)`, `squares` the sum of `epsilon_i^2`.

Name = Literal["basic", "rogers", "rogers-tuned", "whitehouse", "zcdp", "renyi-curve", "gdp"]


@theorem(
    "filter.rounds",
    statement="how many epsilon-DP rounds, chosen adaptively, a filter admits before its budget is spent",
    source="Rogers-Roth-Ullman-Vadhan 2016; Whitehouse-Ramdas-Rogers-Wu 2023; Feldman-Zrnic 2021; Lecuyer 2021",
    conditions="pure rounds; the interaction is (budget_epsilon, budget_delta)-DP whenever the analyst stops",
    unit="rounds",
    provenance="mixed",
)
def rounds(
    name: Annotated[Name, "The filter."],
    epsilon: Annotated[PositiveEpsilon, "Each round's epsilon."],
    budget_epsilon: Annotated[Epsilon, "The budget's epsilon."],
    budget_delta: Annotated[Delta, "The budget's delta; above 0 except for 'basic', below 1/e for the two 'rogers'."],
) -> int:
    """Return the largest number of rounds of pure epsilon that the filter `name` admits.

    - "basic": the epsilons sum to at most the budget. Exact in decimals: a hundred rounds of 0.01 fit a budget of 1.
    - "rogers": the dissertation's Theorem 5.5.1 as printed, and "rogers-tuned" with the better offset and drift
      (`accounting.RogersFilter`).
    - "whitehouse": as tight as advanced composition.
    - "zcdp": the rho of the rounds (`epsilon tanh(epsilon/2)` each) sum to at most `zcdp_budget`; the whole interaction
      is then zCDP, so the full delta goes into the conversion. The default of the library, joined with "basic".
    - "renyi-curve": the rigorous curve filter on `SPARSE_ORDERS`.
    - "gdp": the squares of `pure_to_gdp(epsilon)` sum to at most the square of `gdp_budget`. Exact for Gaussian
      releases, but not good for pure ones.

    The whole budget delta is spent on the argument (the rounds have none; "rogers" keeps half, as printed).

    Examples
    --------
    >>> [rounds(name, 0.01, 1.0, 1e-6) for name in ("basic", "rogers", "whitehouse", "zcdp")]
    [100, 147, 349, 487]
    """
    budget_delta = arguments.probability("budget_delta", budget_delta, zero=name == "basic")
    if name == "basic":
        return int(decimal_fraction(budget_epsilon) // decimal_fraction(epsilon))
    if name in ("rogers", "rogers-tuned") and budget_epsilon == 0:
        arguments.real("budget_delta", budget_delta, above=0, below=math.exp(-1))
        return 0
    return most_rounds(_FITS[name](epsilon, budget_epsilon, budget_delta))


def most_rounds(fits: Callable[[int], bool]) -> int:
    """Return the largest number of rounds that fits, if fitting is downward closed and ends.

    Examples
    --------
    >>> most_rounds(lambda k: k * k <= 50)
    7
    """
    return first_whole(lambda k: not fits(k)) - 1


Fits = Callable[[int], bool]
_MAX = sys.float_info.max


def _times(count: int, amount: float) -> float:
    """`count * amount`, exactly and then rounded up, within the floating range."""
    return min(float_up(count * Fraction(amount)), _MAX) if amount < math.inf else _MAX


def _squares(count: int, epsilon: float) -> float:
    return min(float_up(count * decimal_fraction(epsilon) ** 2), _MAX)


def _rogers_with(offset: float, drift: float, epsilon: float, budget_epsilon: float, slack: float) -> Fits:
    return lambda k: (
        slack > 0 and rogers_left_side(_times(k, drift), _squares(k, epsilon), offset, slack) <= budget_epsilon
    )


def _rogers(epsilon: float, budget_epsilon: float, budget_delta: float) -> Fits:
    offset = rogers_offset(budget_epsilon, budget_delta, "paper")
    return _rogers_with(offset, loss_drift(epsilon, "paper"), epsilon, budget_epsilon, budget_delta / 2)


def _rogers_tuned(epsilon: float, budget_epsilon: float, budget_delta: float) -> Fits:
    offset = rogers_offset(budget_epsilon, budget_delta)
    return _rogers_with(offset, loss_drift(epsilon), epsilon, budget_epsilon, budget_delta / 2)


def _whitehouse(epsilon: float, budget_epsilon: float, budget_delta: float) -> Fits:
    return lambda k: whitehouse_left_side(_squares(k, epsilon), budget_delta) <= budget_epsilon


def _zcdp(epsilon: float, budget_epsilon: float, budget_delta: float) -> Fits:
    budget, rho = Fraction(zcdp_budget(budget_epsilon, budget_delta)), Fraction(pure_to_zcdp(epsilon))
    return lambda k: k * rho <= budget


def _renyi_curve(epsilon: float, budget_epsilon: float, budget_delta: float) -> Fits:
    curve = [pure_to_rdp(epsilon, a) for a in SPARSE_ORDERS]
    return lambda k: renyi_curve_left_side(SPARSE_ORDERS, [_times(k, r) for r in curve], budget_delta) <= budget_epsilon


def _gdp(epsilon: float, budget_epsilon: float, budget_delta: float) -> Fits:
    budget, mu = Fraction(gdp_budget(budget_epsilon, budget_delta)), Fraction(pure_to_gdp(epsilon))
    return lambda k: k * mu**2 <= budget**2


_FITS: dict[str, Callable[[float, float, float], Fits]] = {
    "basic": lambda epsilon, budget_epsilon, budget_delta: lambda k: True,
    "rogers": _rogers,
    "rogers-tuned": _rogers_tuned,
    "whitehouse": _whitehouse,
    "zcdp": _zcdp,
    "renyi-curve": _renyi_curve,
    "gdp": _gdp,
}


__all__ = [
    "ROGERS_OVERHEAD",
    "ROGERS_RATIO",
    "SPARSE_ORDERS",
    "Name",
    "basic_left_side",
    "gdp_left_side",
    "loss_drift",
    "most_rounds",
    "renyi_constant",
    "renyi_curve_left_side",
    "rogers_left_side",
    "rogers_offset",
    "rounds",
    "whitehouse_left_side",
    "zcdp_left_side",
]
