"""What odometers of the privacy loss keep: drift, variance, and the costs' own deltas."""

from __future__ import annotations

import math
from abc import abstractmethod
from decimal import Decimal
from typing import Any, Literal

from holdfast.accounting.account import State
from holdfast.accounting.amount import flag
from holdfast.accounting.costs import PointwiseDP, PureDP
from holdfast.accounting.increments import mean_loss
from holdfast.accounting.odometers.base import Odometer
from holdfast.accounting.tally import Tally
from holdfast.accounting.totals import ZERO, charged, double_down, double_up, exact, plus, square
from holdfast.bounds.odometers import pointwise_drift


class LossOdometer(Tally, Odometer):
    """Base of the odometers that read drift and variance of the loss of pure and point-wise costs.

    The loss minus its mean is a martingale `M` whose increments have range `2 epsilon`, so `exp(x M - x^2 V/2)` is a
    supermartingale for every real `x`, with `V` the sum of squared epsilons (Hoeffding's lemma). Each odometer is one
    boundary `u(V)` that such a process crosses with probability at most the slack.

    A boundary that is valid for every such pair `(M, V)` may be read ahead: `M_t <= u(v)` for every `v >= V_t` at once.
    For the pair that stops `M` at `t` and then lets `V` alone grow to `v` is such a pair too. So a boundary that begins
    at some `V` needs no infinite readings before it. Derived here.
    """

    totals = ("epsilon", "squares", "drift", "delta")
    accepts = (PureDP, PointwiseDP)
    _drift: Literal["tight", "paper"] = "tight"

    def __init__(self, slack: Decimal, room: Decimal, *, two_sided: bool = True) -> None:
        super().__init__()
        self._slack, self._room = slack, room
        self.two_sided = flag("two_sided", two_sided)
        self._double_slack = double_down(slack)

    @property
    def _slack_a_side(self) -> float:
        """The slack of a one-sided boundary: half of all where both sides are to be bounded."""
        return self._double_slack / 2 if self.two_sided else self._double_slack

    def parameters(self) -> dict[str, Any]:
        """The failure probability and the part of it kept for the costs' own deltas."""
        return {"delta": self.delta, "delta_sum": self.delta_sum}

    def _increments(self, cost: PureDP | PointwiseDP) -> tuple[Decimal, ...]:
        epsilon = cost.epsilon
        drift = mean_loss(epsilon, self._drift)
        if isinstance(cost, PureDP) or not cost.delta:
            return exact(epsilon), square(epsilon), drift, ZERO
        drift = plus(drift, charged(pointwise_drift(cost.delta), cost.delta))
        return exact(epsilon), square(epsilon), drift, exact(cost.delta)

    def _read(self, state: State) -> float:
        epsilon, squares, drift, delta = state
        if delta > self._room:
            return math.inf
        if not epsilon and not delta:
            return 0.0
        totals = double_up(drift), double_up(squares)
        return math.inf if math.inf in totals else self._bound(*totals)

    @abstractmethod
    def _bound(self, drift: float, squares: float) -> float:
        """The reading at a drift and a variance, both rounded up and finite."""


__all__ = ["LossOdometer"]
