"""Privacy filters as functions of running totals: the left side that must stay below the budget.

A filter is asked before a mechanism runs, with that mechanism's parameters included, and the mechanism runs only while
the left side is at most the budget's epsilon. Then the whole interaction is (epsilon, delta)-DP, although the analyst
chose every parameter, and the moment to stop, from the answers. That is a statement about the interaction at its end,
in both directions; it is not a bound on the loss at every moment, which is what an odometer gives.

The mechanisms may be (epsilon_i, delta_i)-DP in the ordinary sense: the budget's delta is cut into `slack`, for the
concentration argument, and room for the sum of the delta_i. All functions take `slack`. Two of these filters may not be
joined by OR at a single slack; basic and one other may.

Totals: `drift` is the sum of `loss_drift(epsilon_i)`, `squares` the sum of `epsilon_i^2`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal

from holdfast import check
from holdfast.bounds.catalogue import theorem
from holdfast.bounds.conversions import pure_to_gdp, pure_to_rdp, pure_to_zcdp
from holdfast.bounds.exact import decimal_fraction, float_up, up
from holdfast.bounds.gdp import gdp_budget
from holdfast.bounds.zcdp import zcdp_budget
from holdfast.errors import InvalidParameter

Name = Literal["basic", "rogers", "rogers-tuned", "whitehouse", "zcdp", "renyi-curve", "gdp"]

ROGERS_RATIO = 3.5052414957928834
"""u*, the root of `u = 2 + log(1 + u)`: the ratio of variance to offset at which Rogers' left side is sharpest."""

ROGERS_OVERHEAD = (1 + 1 / ROGERS_RATIO) * (1 + 0.5 * math.log1p(ROGERS_RATIO))
"""What the deviation loses there against advanced composition, squared: 2.252620748."""

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
    epsilon = check.real("epsilon", epsilon, at_least=0)
    if check.choice("method", method, ("tight", "paper")) == "tight":
        return pure_to_zcdp(epsilon)
    return up(0.5 * epsilon * math.expm1(min(epsilon, 700.0))) if epsilon <= 700 else math.inf


def rogers_offset(budget_epsilon: float, budget_delta: float, method: Literal["tuned", "paper"] = "paper") -> float:
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
        "paper" (default) or "tuned".

    Examples
    --------
    >>> round(rogers_offset(1.0, 1e-6), 10)
    0.0025813985
    """
    budget_epsilon = check.real("budget_epsilon", budget_epsilon, above=0)
    budget_delta = check.real("budget_delta", budget_delta, above=0, below=math.exp(-1))
    if check.choice("method", method, ("tuned", "paper")) == "paper":
        return budget_epsilon**2 / (28.04 * -math.log(budget_delta))
    spread = 2 * ROGERS_OVERHEAD * (math.log(2) - math.log(budget_delta))
    root = 2 * budget_epsilon / (math.sqrt(spread + 2 * budget_epsilon) + math.sqrt(spread))
    return root * root / ROGERS_RATIO


def rogers_left_side(drift: float, squares: float, offset: float, slack: float) -> float:
    """Return `drift + sqrt(2 (V + x) (1 + log(V/x + 1)/2) log(1/slack))`, the left side of Rogers et al.'s filter.

    Rogers-Roth-Ullman-Vadhan 2016; dissertation Theorem 5.5.1, equation (5.12), with `slack = delta/2` there and the
    other half of delta for the sum of the delta_i. Printed; the concentration inequality behind it was re-derived by
    Gaussian mixing. It bounds the absolute loss (two-sided) at every moment (time-uniform), which is why Lemma 5.6.4
    may read the same number as an odometer, for point-wise deltas.

    Parameters
    ----------
    drift : float
        The sum of the mean losses (`loss_drift`), at least 0.
    squares : float
        V, the sum of the squared epsilons, at least 0.
    offset : float
        x, fixed in advance, above 0.
    slack : float
        What the argument may fail with, in (0, 1/e].

    Examples
    --------
    >>> x = rogers_offset(1.0, 1e-6)
    >>> round(rogers_left_side(100 * loss_drift(0.01, "paper"), 100 * 0.01**2, x, 1e-6 / 2), 10)
    0.8138514462
    """
    drift = check.real("drift", drift, at_least=0)
    squares = check.real("squares", squares, at_least=0)
    offset = check.real("offset", offset, above=0)
    slack = check.real("slack", slack, above=0, at_most=math.exp(-1))
    wide = 1 + 0.5 * math.log1p(squares / offset)
    return up(drift + math.sqrt(-2 * (squares + offset) * wide * math.log(slack)), 8)


def whitehouse_left_side(squares: float, slack: float) -> float:
    """Return `sqrt(2 V log(1/slack)) + V/2`, the left side of Whitehouse et al.'s filter.

    Whitehouse-Ramdas-Rogers-Wu 2023 (fully-adaptive composition): continue while this is at most epsilon and the sum of
    the delta_i at most `delta - slack`. As tight as advanced composition. Printed; re-derived through zCDP, of which it
    is the simple conversion at `rho = V/2`. The interaction is (epsilon, delta)-DP in both directions, with ordinary
    deltas. Not an odometer.

    Parameters
    ----------
    squares : float
        V, the sum of the squared epsilons, at least 0.
    slack : float
        What the argument may fail with, in (0, 1).

    Examples
    --------
    >>> round(whitehouse_left_side(100 * 0.01**2, 1e-6), 10)
    0.530652177
    """
    squares = check.real("squares", squares, at_least=0)
    slack = check.probability("slack", slack)
    return up(math.sqrt(-2 * squares * math.log(slack)) + 0.5 * squares)


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
    orders = check.reals("orders", orders, above=1)
    constants = (math.exp(-math.log(a) - (a - 1) * math.log1p(1 / (a - 1))) for a in set(orders))
    return math.log(up(math.fsum(constants), 16))


def renyi_curve_left_side(orders: Sequence[float], epsilons: Sequence[float], slack: float) -> float:
    """Return `min over a of S(a) + (log(1/slack) + log sum c_a)/(a - 1)`, the left side of the curve filter.

    Lecuyer 2021 without the term `log sum c_a` is not valid on every grid: with orders 1.1, 1.5 and 3 an adversary
    fails 1.1 times too often, and with each order's own constant on orders 2 and 8 it fails 1.8 times too often. This
    form is derived and reviewed (`docs/errata/composition.md`). The interaction is (epsilon, slack)-DP in both
    directions. Not an odometer.

    Parameters
    ----------
    orders : sequence of float
        A grid fixed in advance, orders above 1.
    epsilons : sequence of float
        The running totals of the divergences at these orders, in nats.
    slack : float
        What the argument may fail with, in (0, 1).

    Examples
    --------
    >>> totals = [360 * pure_to_rdp(0.01, a) for a in SPARSE_ORDERS]
    >>> renyi_curve_left_side(SPARSE_ORDERS, totals, 1e-6) <= 1.0
    True
    """
    orders = check.reals("orders", orders, above=1)
    epsilons = check.reals("epsilons", epsilons, at_least=0)
    if len(orders) != len(epsilons):
        raise InvalidParameter(f"orders and epsilons must have one length, got {len(orders)} and {len(epsilons)}")
    cost = renyi_constant(orders) - math.log(check.probability("slack", slack))
    return min(up(s + max(cost, 0.0) / (a - 1)) for a, s in zip(orders, epsilons, strict=True))


@theorem(
    "filter.rounds",
    statement="how many epsilon-DP rounds, chosen adaptively, a filter admits before its budget is spent",
    source="Rogers-Roth-Ullman-Vadhan 2016; Whitehouse-Ramdas-Rogers-Wu 2023; Feldman-Zrnic 2021; Lecuyer 2021",
    conditions="pure rounds; the interaction is (budget_epsilon, budget_delta)-DP whenever the analyst stops",
    unit="rounds",
    provenance="mixed",
)
def rounds(name: Name, epsilon: float, budget_epsilon: float, budget_delta: float) -> int:
    """Return the largest number of rounds of pure epsilon that the filter `name` admits.

    - "basic": the epsilons sum to at most the budget. Exact in decimals: a hundred rounds of 0.01 fit a budget of 1.
    - "rogers": the dissertation's Theorem 5.5.1 as printed, and "rogers-tuned" with the better offset and drift.
    - "whitehouse": as tight as advanced composition.
    - "zcdp": the rho of the rounds (`epsilon tanh(epsilon/2)` each) sum to at most `zcdp_budget`; the whole interaction
      is then zCDP, so the full delta goes into the conversion. The default of the library, joined with "basic".
    - "renyi-curve": the rigorous curve filter on `SPARSE_ORDERS`.
    - "gdp": the squares of `pure_to_gdp(epsilon)` sum to at most the square of `gdp_budget`. Exact for Gaussian
      releases, but not good for pure ones.

    The whole budget delta is spent on the argument (the rounds have none; "rogers" keeps half, as printed).

    Parameters
    ----------
    name : str
        The filter.
    epsilon : float
        Each round's epsilon, above 0.
    budget_epsilon : float
        The budget's epsilon, at least 0.
    budget_delta : float
        The budget's delta: in (0, 1); for "basic" it may be 0; for the two "rogers" below 1/e.

    Examples
    --------
    >>> [rounds(name, 0.01, 1.0, 1e-6) for name in ("basic", "rogers", "whitehouse", "zcdp")]
    [100, 147, 349, 487]
    """
    name = check.choice("name", name, _FITS)  # type: ignore[assignment]
    epsilon = check.real("epsilon", epsilon, above=0)
    budget_epsilon = check.real("budget_epsilon", budget_epsilon, at_least=0)
    budget_delta = check.probability("budget_delta", budget_delta, zero=name == "basic")
    if name == "basic":
        return int(decimal_fraction(budget_epsilon) // decimal_fraction(epsilon))
    if name in ("rogers", "rogers-tuned") and budget_epsilon == 0:
        check.real("budget_delta", budget_delta, above=0, below=math.exp(-1))
        return 0
    fits = _FITS[name](epsilon, budget_epsilon, budget_delta)
    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


Fits = Callable[[int], bool]


def _times(count: int, amount: float) -> float:
    """`count * amount`, exactly and then rounded up."""
    return float_up(count * Fraction(amount))


def _squares(count: int, epsilon: float) -> float:
    return float_up(count * decimal_fraction(epsilon) ** 2)


def _rogers(epsilon: float, budget_epsilon: float, budget_delta: float) -> Fits:
    offset, drift = rogers_offset(budget_epsilon, budget_delta), loss_drift(epsilon, "paper")
    return lambda k: (
        rogers_left_side(_times(k, drift), _squares(k, epsilon), offset, budget_delta / 2) <= budget_epsilon
    )


def _rogers_tuned(epsilon: float, budget_epsilon: float, budget_delta: float) -> Fits:
    offset, drift = rogers_offset(budget_epsilon, budget_delta, "tuned"), loss_drift(epsilon)
    return lambda k: (
        rogers_left_side(_times(k, drift), _squares(k, epsilon), offset, budget_delta / 2) <= budget_epsilon
    )


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
    "loss_drift",
    "renyi_constant",
    "renyi_curve_left_side",
    "rogers_left_side",
    "rogers_offset",
    "rounds",
    "whitehouse_left_side",
]
