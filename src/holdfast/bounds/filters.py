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
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Literal

from holdfast import check
from holdfast.bounds.conversions import pure_to_gdp, pure_to_rdp, pure_to_zcdp
from holdfast.bounds.exact import decimal_fraction, float_up
from holdfast.bounds.filters_left_side import (
    ROGERS_OVERHEAD,
    ROGERS_RATIO,
    SPARSE_ORDERS,
    basic_left_side,
    gdp_left_side,
    loss_drift,
    renyi_constant,
    renyi_curve_left_side,
    rogers_left_side,
    rogers_offset,
    whitehouse_left_side,
    zcdp_left_side,
)
from holdfast.bounds.gdp import gdp_budget
from holdfast.bounds.registry import theorem
from holdfast.bounds.search import first_whole
from holdfast.bounds.zcdp import zcdp_budget

Name = Literal["basic", "rogers", "rogers-tuned", "whitehouse", "zcdp", "renyi-curve", "gdp"]


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
    - "rogers": the dissertation's Theorem 5.5.1 as printed, and "rogers-tuned" with the better offset and drift
      (`accounting.RogersFilter(method="tuned")`).
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
    return most_rounds(_FITS[name](epsilon, budget_epsilon, budget_delta))


def most_rounds(fits: Callable[[int], bool]) -> int:
    """The largest number of rounds that fits, if fitting is downward closed and ends.

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
    offset = rogers_offset(budget_epsilon, budget_delta)
    return _rogers_with(offset, loss_drift(epsilon, "paper"), epsilon, budget_epsilon, budget_delta / 2)


def _rogers_tuned(epsilon: float, budget_epsilon: float, budget_delta: float) -> Fits:
    offset = rogers_offset(budget_epsilon, budget_delta, "tuned")
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
