"""As tight as advanced composition, and sound under adaptive choice: Whitehouse, Ramdas, Rogers and Wu 2023."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from holdfast.accounting.account import State
from holdfast.accounting.amount import budget, budget_delta
from holdfast.accounting.costs import ApproxDP, PointwiseDP, PureDP
from holdfast.accounting.filters.base import Filter, Promise
from holdfast.accounting.split import slack_of
from holdfast.accounting.tally import Tally
from holdfast.accounting.totals import ZERO, double_down, double_up, exact, minus, read_down, read_up, square
from holdfast.bounds.filters import whitehouse_left_side
from holdfast.bounds.guarantee import Guarantee


class WhitehouseFilter(Tally, Filter):
    """Admit a cost while `sqrt(2 V log(1/slack)) + V/2 <= epsilon`, with `V` the sum of squared epsilons.

    Whitehouse et al. 2023, fully-adaptive composition, with `slack = delta - delta_sum`; the deltas of the costs sum to
    at most `delta_sum`. The interaction is `(epsilon, delta)`-DP for ordinary deltas. Re-derived through zCDP, of which
    it is the simple conversion; `ZCDPFilter.from_dp` makes the same argument with the tight one and admits more.

    Parameters
    ----------
    epsilon : float
        The budget, at least 0.
    delta : float
        In (0, 1), for everything.
    delta_sum : float
        The part of `delta` that is room for the costs' own deltas.

    Examples
    --------
    >>> from holdfast.accounting import PureDP, WhitehouseFilter
    >>> budget = WhitehouseFilter(1.0, 1e-6)
    >>> for _ in range(349):
    ...     budget.spend(PureDP(0.01))
    >>> budget.admits(PureDP(0.01)), budget.admits(PureDP(0.001))
    (False, True)
    """

    name = "whitehouse"
    totals = ("squares", "delta")
    accepts = (PureDP, ApproxDP, PointwiseDP)

    def __init__(self, epsilon: float, delta: float, *, delta_sum: float = 0.0) -> None:
        super().__init__()
        self.epsilon = budget("epsilon", epsilon)
        self.delta, self.delta_sum = budget_delta("delta", delta), budget_delta("delta_sum", delta_sum, zero=True)
        self._exact_slack = slack_of(self.delta, self.delta_sum)
        self._slack = double_down(self._exact_slack)
        self._room = exact(self.delta_sum)

    def parameters(self) -> dict[str, Any]:
        """The budget and how its delta is split."""
        return {"epsilon": self.epsilon, "delta": self.delta, "delta_sum": self.delta_sum}

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP."""
        return self._stated(self.parameters())

    def _promise(self) -> Promise:
        return Promise(self.epsilon, self._exact_slack, self._room)

    def _increments(self, cost: PureDP | ApproxDP | PointwiseDP) -> tuple[Decimal, ...]:
        return square(cost.epsilon), ZERO if isinstance(cost, PureDP) else exact(cost.delta)

    def _left_side(self, state: State) -> float:
        squares = double_up(state[0])
        return math.inf if squares == math.inf else whitehouse_left_side(squares, self._slack)

    def _fits(self, state: State) -> bool:
        return bool(state[1] <= self._room) and self._left_side(state) <= self.epsilon

    def _spent(self, state: State) -> dict[str, Any]:
        return {"squares": read_up(state[0]), "left_side": self._left_side(state), "delta": read_up(state[1])}

    def _left(self, state: State) -> dict[str, Any]:
        largest = self._largest(state)
        return {"epsilon": largest, "delta": read_down(minus(self._room, state[1]))}


__all__ = ["WhitehouseFilter"]
