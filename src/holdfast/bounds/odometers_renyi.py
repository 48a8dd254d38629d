"""Odometers of a Renyi curve."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from holdfast import check
from holdfast.bounds.exact import UNIT, up
from holdfast.bounds.registry import theorem
from holdfast.errors import InvalidParameter


class RenyiReading(NamedTuple):
    """A reading and the order that gives it."""

    value: float
    order: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"value": self.value, "order": self.order}


@theorem(
    "odometer.renyi",
    statement="the loss so far, from running Renyi divergences on a grid of orders",
    source="Ville's inequality, one order at a time; proof in the docstring",
    conditions="orders and weights fixed in advance; one-sided, time-uniform",
    unit="epsilon",
    provenance="derived",
)
def renyi_reading(
    orders: Sequence[float], epsilons: Sequence[float], slack: float, weights: Sequence[float] | None = None
) -> RenyiReading:
    """Return `min over a of S(a) + log(1/(w_a slack))/(a - 1)`, the odometer of a Renyi curve by Ville's inequality.

    Derived: `exp((a-1)(L_t - S_t(a)))` is a supermartingale for each order, so it ever exceeds `1/(w_a slack)` with
    probability at most `w_a slack`; the weights sum to at most 1. Uses no doubling and no restarts, unlike
    `lecuyer_reading`, and is smaller. One-sided, time-uniform.

    Parameters
    ----------
    orders : sequence of float
        A grid fixed in advance, orders above 1.
    epsilons : sequence of float
        The running totals of the divergences at these orders, in nats.
    slack : float
        The failure probability, in (0, 1).
    weights : sequence of float
        Shares of the slack, fixed in advance, sum at most 1; equal when left out.

    Examples
    --------
    >>> orders = [1.5, 2, 3, 4, 6, 8, 16, 32, 64]
    >>> value, order = renyi_reading(orders, [0.05 * a for a in orders], 1e-6)
    >>> round(value, 9), order
    (1.867515676, 16.0)
    """
    orders, epsilons = _curve(orders, epsilons)
    slack = check.probability("slack", slack)
    shares = (1 / len(orders),) * len(orders) if weights is None else check.reals("weights", weights, above=0)
    if len(shares) != len(orders) or math.fsum(shares) > 1 + 8 * UNIT:
        raise InvalidParameter("weights must be one an order and sum to at most 1")
    log_slack = math.log(slack)
    values = [up(s - (math.log(w) + log_slack) / (a - 1), 8) for a, s, w in zip(orders, epsilons, shares, strict=True)]
    best = min(range(len(values)), key=values.__getitem__)
    return RenyiReading(values[best], orders[best])


@theorem(
    "odometer.lecuyer",
    statement="the loss so far, from running Renyi divergences, by doubling budgets",
    source="Lecuyer 2021, as in the author's code",
    conditions="orders fixed in advance; one-sided, time-uniform",
    unit="epsilon",
)
def lecuyer_reading(orders: Sequence[float], epsilons: Sequence[float], slack: float) -> RenyiReading:
    """Return Lecuyer's odometer of a Renyi curve, by doubling budgets.

    Lecuyer 2021: with `g(a) = log(2 |A|/slack)/(4(a-1))` and `f = ceil(log2(max(S(a), g)/g))`, the smallest over orders
    of `g 2^f + log(2 |A| (f+1)^2/slack)/(a-1)`. As in the author's code; valid because the sum of `1/(f+1)^2` is below
    2. One-sided, time-uniform. `renyi_reading` is simpler and smaller.

    Parameters
    ----------
    orders, epsilons : sequence of float
        A grid fixed in advance and the running totals of the divergences.
    slack : float
        The failure probability, in (0, 1).

    Examples
    --------
    >>> orders = [1.5, 2, 3, 4, 6, 8, 16, 32, 64]
    >>> value, order = lecuyer_reading(orders, [0.05 * a for a in orders], 1e-6)
    >>> round(value, 9), order
    (2.373932614, 16.0)
    """
    orders, epsilons = _curve(orders, epsilons)
    log_term = math.log(2 * len(orders)) - math.log(check.probability("slack", slack))
    values = []
    for a, s in zip(orders, epsilons, strict=True):
        grain = max(log_term / (4 * (a - 1)), sys.float_info.min)
        ratio = max(s / grain, 1.0)
        doublings = math.ceil(math.log2(ratio * (1 + 4 * UNIT))) if ratio < 1e300 else 0
        budget = grain * 2.0**doublings if ratio < 1e300 else math.inf
        values.append(up(budget + (log_term + 2 * math.log(doublings + 1)) / (a - 1), 8))
    best = min(range(len(values)), key=values.__getitem__)
    return RenyiReading(values[best], orders[best])


def _curve(orders: Sequence[float], epsilons: Sequence[float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    clean = check.reals("orders", orders, above=1)
    totals = check.reals("epsilons", epsilons, at_least=0)
    if len(clean) != len(totals):
        raise InvalidParameter(f"orders and epsilons must have one length, got {len(clean)} and {len(totals)}")
    return clean, totals


__all__ = ["RenyiReading", "lecuyer_reading", "renyi_reading"]
