"""What odometers of the privacy loss keep: drift, variance, and the costs' own deltas."""

from __future__ import annotations

import math
from abc import abstractmethod
from decimal import Decimal
from typing import Any, Literal

from holdfast import check
from holdfast.accounting.account import State
from holdfast.accounting.amount import budget_delta
from holdfast.accounting.costs import PointwiseDP, PureDP
from holdfast.accounting.increments import mean_loss
from holdfast.accounting.odometers.base import Odometer
from holdfast.accounting.split import slack_of
from holdfast.accounting.tally import Tally
from holdfast.accounting.totals import ZERO, charged, double_down, double_up, exact, plus, square
from holdfast.bounds.exact import up
from holdfast.errors import InvalidParameter


def pointwise_drift(delta: float) -> float:
    """Return what a point-wise delta adds to the drift of the loss: `log(1/(1 - delta))`, rounded up.

    Derived here; the specification leaves it out, and without it the bound is false. Let the loss be within
    `[-epsilon, epsilon]` on a set of outputs that has probability `p >= 1 - delta` under the first law and
    `q >= 1 - delta` under the second. Given that set, the loss averages `e^-L` to `q/p`, so its mean is at most
    `epsilon tanh(epsilon/2) + delta epsilon/sinh(epsilon)` and at least `log(p/q)`: delta moves it by at most
    `log(1/(1 - delta))` either way. Around its mean the bounded loss has variance proxy `epsilon^2` as before.

    Why it matters: a mechanism that says "a" on one neighbour, and on the other "b" with probability delta, is
    point-wise `(log(1/(1 - delta)), delta)`, and its loss is that epsilon **surely**. A hundred rounds at delta 0.001
    lose 0.1, while the best pure reading at a slack of 0.1 is 0.022.

    Parameters
    ----------
    delta : float
        In [0, 1).

    Examples
    --------
    >>> round(pointwise_drift(0.001), 9)
    0.0010005
    """
    return up(-math.log1p(-check.probability("delta", delta, zero=True)))


def read_flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False.

    Examples
    --------
    >>> read_flag("two_sided", True)
    True
    """
    if not isinstance(value, bool):
        raise InvalidParameter(f"{name} must be True or False, got {value!r}")
    return value


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

    def __init__(self, delta: float, delta_sum: float) -> None:
        super().__init__()
        self._slack = slack_of(delta, delta_sum)
        self._room = exact(budget_delta("delta_sum", delta_sum, zero=True))
        self._double_slack = double_down(self._slack)

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


__all__ = ["LossOdometer", "pointwise_drift", "read_flag"]
