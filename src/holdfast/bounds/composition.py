"""Composition with parameters fixed in advance: closed forms, and the notions that simply add.

The mechanisms may be chosen adaptively; their parameters may not. Where the analyst chooses parameters as she goes,
these numbers are wrong (an advanced composition read as an odometer failed in 14% of runs at a nominal 5%): use
`filters` and `odometers` there. The optimal bounds are in `composition_optimal`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from holdfast import check
from holdfast.bounds.conversions import DP, pure_to_zcdp
from holdfast.bounds.exact import UNIT, decimal_fraction, decimal_sum, float_up, total, up
from holdfast.bounds.registry import theorem
from holdfast.errors import InvalidParameter

Form = Literal["best", "paper"]


@theorem(
    "composition.basic",
    statement="mechanisms with (epsilon_i, delta_i) compose to (sum of epsilon_i, sum of delta_i)",
    source="Dwork-Kenthapadi-McSherry-Mironov-Naor 2006; Dwork-Roth 2014 Theorem 3.16",
    conditions="parameters fixed in advance; also sound as a filter; as an odometer only for point-wise delta_i",
    unit="epsilon",
)
def basic(epsilons: Sequence[float], deltas: Sequence[float] | None = None) -> DP:
    """Add epsilons and deltas.

    Two-sided. Holds for adaptive parameters too where the totals are capped in advance (a filter); with pure mechanisms
    it holds at every time (an odometer).

    Parameters
    ----------
    epsilons : sequence of float
        One epsilon a mechanism, at least 0; read as decimals and added exactly.
    deltas : sequence of float
        One delta a mechanism, in [0, 1); zeros when left out.

    Returns
    -------
    DP
        The pair, delta capped at 1.

    Examples
    --------
    >>> basic([0.1, 0.2, 0.3], [0, 1e-6, 1e-6])
    DP(epsilon=0.6, delta=2e-06)
    """
    epsilons, deltas = paired(epsilons, deltas)
    return DP(float_up(decimal_sum(epsilons)), min(1.0, float_up(decimal_sum(deltas))))


@theorem(
    "composition.advanced",
    statement="rounds mechanisms, each (epsilon, delta)-DP, compose to this epsilon at the cost of delta_slack",
    source="Dwork-Rothblum-Vadhan 2010 Theorem III.3 (printed); Kairouz-Oh-Viswanath 2015 Theorem 3.5 (default)",
    conditions="parameters fixed in advance; neither a filter nor an odometer; total delta in the details",
    unit="epsilon",
    provenance="mixed",
)
def advanced(epsilon: float, rounds: int, delta_slack: float, delta: float = 0.0, method: Form = "best") -> DP:
    """Compose `rounds` mechanisms with equal parameters.

    - "best": the smallest of `k epsilon`, `m + sqrt(2 V log(e + sqrt(V)/s))` and `m + sqrt(2 V log(1/s))` with
      `m = k epsilon tanh(epsilon/2)`, `V = k epsilon^2`, `s = delta_slack`; delta `1 - (1-s)(1-delta)^k`.
    - "paper": `k epsilon (e^epsilon - 1) + epsilon sqrt(2 k log(1/s))`; delta `k delta + s`.

    Two-sided. Not time-uniform. The deltas may be those of ordinary (epsilon, delta)-DP. Why the second form of "best"
    holds: the loss is sub-Gaussian around at most `m` with variance `V`, so delta at `m + a` is at most
    `e^(-a^2/2V) / (1 + a/V)`, and at `a = sqrt(2 V l)`, `l = log(e + sqrt(V)/s)`, that is at most `s / sqrt(2 l) < s`.

    Parameters
    ----------
    epsilon : float
        Each mechanism's epsilon, at least 0.
    rounds : int
        The number of mechanisms, at least 0.
    delta_slack : float
        What the composition itself may fail with, in (0, 1).
    delta : float
        Each mechanism's delta, in [0, 1).
    method : str
        "best" (default) or "paper".

    Returns
    -------
    DP
        Epsilon and the total delta, both rounded up.

    Examples
    --------
    >>> advanced(0.1, 100, 1e-6).epsilon < advanced(0.1, 100, 1e-6, method="paper").epsilon
    True
    >>> round(advanced(0.1, 100, 1e-6, method="paper").epsilon, 9)
    6.308230951
    """
    epsilon = check.real("epsilon", epsilon, at_least=0)
    rounds = check.whole("rounds", rounds, at_least=0, at_most=10**18)
    delta_slack = check.probability("delta_slack", delta_slack)
    delta = check.probability("delta", delta, zero=True)
    if check.choice("method", method, ("best", "paper")) == "paper":
        drift = rounds * epsilon * math.expm1(epsilon) if epsilon < 700 else math.inf
        spread = epsilon * math.sqrt(-2 * rounds * math.log(delta_slack))
        return DP(up(drift + spread), min(1.0, up(rounds * delta + delta_slack)))
    drift = rounds * pure_to_zcdp(epsilon)
    summed = float_up(rounds * decimal_fraction(epsilon))
    return DP(
        _closed_form(summed, drift, rounds * epsilon * epsilon, delta_slack), _joint([delta], delta_slack, rounds)
    )


@theorem(
    "composition.advanced-heterogeneous",
    statement="mechanisms with (epsilon_i, delta_i) compose to this epsilon at the cost of delta_slack",
    source="Kairouz-Oh-Viswanath 2015 Theorem 3.5 (default); Rogers' dissertation Theorem 2.1.5 (printed)",
    conditions="parameters fixed in advance; neither a filter nor an odometer; total delta in the details",
    unit="epsilon",
)
def advanced_heterogeneous(
    epsilons: Sequence[float], delta_slack: float, deltas: Sequence[float] | None = None, method: Form = "best"
) -> DP:
    """Compose mechanisms with different parameters by the closed forms of Kairouz, Oh and Viswanath.

    - "best": their Theorem 3.5, the smallest of the three forms described at `advanced`, with
      `m = sum epsilon_i tanh(epsilon_i/2)` and `V = sum epsilon_i^2`.
    - "paper": `m + sqrt(2 V log(1/delta_slack))` alone, as the dissertation prints it.

    The total delta is `1 - (1 - delta_slack) prod(1 - delta_i)`. Two-sided, not time-uniform, ordinary deltas.

    Parameters
    ----------
    epsilons : sequence of float
        One epsilon a mechanism, at least 0.
    delta_slack : float
        What the composition itself may fail with, in (0, 1).
    deltas : sequence of float
        One delta a mechanism, in [0, 1); zeros when left out.
    method : str
        "best" (default) or "paper".

    Examples
    --------
    >>> round(advanced_heterogeneous([0.01] * 30, 1e-2).epsilon, 10)
    0.1138455115
    """
    epsilons, deltas = paired(epsilons, deltas)
    delta_slack = check.probability("delta_slack", delta_slack)
    method = check.choice("method", method, ("best", "paper"))  # type: ignore[assignment]
    drift = total(map(pure_to_zcdp, epsilons))
    variance = total(e * e for e in epsilons)
    delta = _joint(deltas, delta_slack)
    if method == "paper":
        return DP(up(drift + math.sqrt(-2 * variance * math.log(delta_slack))), delta)
    return DP(_closed_form(float_up(decimal_sum(epsilons)), drift, variance, delta_slack), delta)


@theorem(
    "composition.zcdp",
    statement="mechanisms that are rho_i-zCDP compose to (sum of rho_i)-zCDP",
    source="Bun-Steinke 2016 Lemma 1.7",
    conditions="as a filter also for adaptively chosen rho_i under a cap fixed in advance (Feldman-Zrnic 2021)",
    unit="rho",
)
def zcdp(rhos: Sequence[float]) -> float:
    """Add the rhos of zCDP mechanisms, exactly, and round up.

    Two-sided (every order, both directions); fixed parameters, or adaptive ones under a filter's cap.

    Parameters
    ----------
    rhos : sequence of float
        At least 0 each.

    Examples
    --------
    >>> zcdp([0.1, 0.2])
    0.3
    """
    return float_up(decimal_sum(check.reals("rhos", rhos, at_least=0)))


@theorem(
    "composition.gdp",
    statement="mechanisms that are mu_i-GDP compose to sqrt(sum of mu_i^2)-GDP",
    source="Dong-Roth-Su 2022 Corollary 3.3",
    conditions="as a filter also for adaptively chosen mu_i under a cap fixed in advance",
    unit="mu",
)
def gdp(mus: Sequence[float]) -> float:
    """Compose Gaussian differential privacy: the root of the sum of squares, rounded up.

    Two-sided; fixed parameters, or adaptive ones under a filter's cap.

    Parameters
    ----------
    mus : sequence of float
        At least 0 each.

    Examples
    --------
    >>> round(gdp([0.3, 0.4]), 12)
    0.5
    """
    return up(math.hypot(*check.reals("mus", mus, at_least=0)))


def rdp(curves: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Add Renyi curves order by order, each sum rounded up (Mironov 2017 Proposition 1).

    All curves list their divergences, in nats, at the same orders. Two-sided; fixed parameters. At one order fixed in
    advance the sum is also a filter (Feldman-Zrnic 2021); at several, see `filters.renyi_curve_left_side`.

    Parameters
    ----------
    curves : sequence of sequences of float
        One curve a mechanism.

    Examples
    --------
    >>> rdp([[0.1, 0.2], [0.2, 0.4]])
    (0.3, 0.6)
    """
    if isinstance(curves, str) or not isinstance(curves, Sequence) or len(curves) == 0:
        raise InvalidParameter("curves must be a list of at least one curve")
    rows = [check.reals(f"curves[{i}]", curve, at_least=0) for i, curve in enumerate(curves)]
    if len({len(row) for row in rows}) > 1:
        raise InvalidParameter("curves must all have one length, one divergence an order")
    return tuple(float_up(decimal_sum(column)) for column in zip(*rows, strict=True))


def paired(epsilons: Sequence[float], deltas: Sequence[float] | None) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Check a list of epsilons and a list of deltas, one each a mechanism; no deltas means zeros."""
    clean = check.reals("epsilons", epsilons, at_least=0)
    if deltas is None:
        return clean, (0.0,) * len(clean)
    clean_deltas = check.reals("deltas", deltas, at_least=0, below=1)
    if len(clean_deltas) != len(clean):
        raise InvalidParameter(f"epsilons and deltas must have one length, got {len(clean)} and {len(clean_deltas)}")
    return clean, clean_deltas


def _closed_form(summed: float, drift: float, variance: float, slack: float) -> float:
    """The smallest of the three forms of Kairouz, Oh and Viswanath's Theorem 3.5."""
    log_term = min(-math.log(slack), math.log(math.e + math.sqrt(variance) / slack))
    return min(summed, up(drift + math.sqrt(2 * variance * log_term), 8))


def _joint(deltas: Sequence[float], slack: float, times: int = 1) -> float:
    """`1 - (1 - slack) prod(1 - delta_i)^times`, rounded up."""
    terms = [math.log1p(-slack), *(times * math.log1p(-d) for d in deltas)]
    return min(1.0, up(-math.expm1(math.fsum(terms) * (1 + 8 * UNIT)), 8))


__all__ = ["Form", "advanced", "advanced_heterogeneous", "basic", "gdp", "paired", "rdp", "zcdp"]
