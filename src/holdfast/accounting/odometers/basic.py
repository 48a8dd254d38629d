"""The sum of epsilons as an odometer."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from holdfast.accounting.account import State
from holdfast.accounting.amount import budget_delta
from holdfast.accounting.costs import PointwiseDP, PureDP
from holdfast.accounting.odometers.base import Odometer
from holdfast.accounting.tally import Tally
from holdfast.accounting.totals import ZERO, exact, read_up


class BasicOdometer(Tally, Odometer):
    """Read the sum of the epsilons.

    Rogers' dissertation, Theorem 5.3.7. For pure costs it holds surely, not only with high probability. Point-wise
    deltas add up to at most `delta`, and beyond that the reading is infinite. Two-sided. Ordinary (epsilon, delta)-DP
    costs are refused: for them the statement is false as printed.

    Parameters
    ----------
    delta : float
        Room for the costs' own deltas, in [0, 1); 0 by default, for pure costs.

    Examples
    --------
    >>> from holdfast.accounting import BasicOdometer, PureDP
    >>> odometer = BasicOdometer()
    >>> for _ in range(3):
    ...     odometer.record(PureDP(0.1))
    >>> odometer.reading()
    0.3
    """

    name = "basic"
    totals = ("epsilon", "delta")
    accepts = (PureDP, PointwiseDP)

    def __init__(self, delta: float = 0.0) -> None:
        super().__init__()
        self._slack = ZERO
        self._room = exact(budget_delta("delta", delta, zero=True))

    def parameters(self) -> dict[str, Any]:
        """The room for the costs' own deltas."""
        return {"delta": self.delta}

    def _increments(self, cost: PureDP | PointwiseDP) -> tuple[Decimal, ...]:
        return exact(cost.epsilon), ZERO if isinstance(cost, PureDP) else exact(cost.delta)

    def _read(self, state: State) -> float:
        return math.inf if state[1] > self._room else read_up(state[0])


__all__ = ["BasicOdometer"]
