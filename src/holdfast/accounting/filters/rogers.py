"""The first filter with a square root in it: Rogers, Roth, Ullman and Vadhan 2016."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Literal

from holdfast import check
from holdfast.accounting.account import State
from holdfast.accounting.amount import budget, budget_delta
from holdfast.accounting.costs import ApproxDP, PointwiseDP, PureDP
from holdfast.accounting.filters.base import Filter, Promise
from holdfast.accounting.increments import HALF, mean_loss
from holdfast.accounting.tally import Tally
from holdfast.accounting.totals import (
    ZERO,
    double_down,
    double_up,
    exact,
    minus,
    read_down,
    read_up,
    square,
    times,
)
from holdfast.bounds.filters import rogers_left_side, rogers_offset
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import InvalidParameter


class RogersFilter(Tally, Filter):
    """Admit a cost while drift plus deviation of the loss stay below `epsilon` (dissertation, Theorem 5.5.1).

    With `V` the sum of squared epsilons: continue while the deltas sum to at most `delta/2` and `drift + sqrt(2 (V +
    x)(1 + log(1 + V/x)/2) log(2/delta)) <= epsilon`. The interaction is `(epsilon, delta)`-DP for ordinary deltas.
    Any offset `x` fixed in advance is valid. `ZCDPFilter` admits about three times as much; this one is here because
    it is the paper's.

    Parameters
    ----------
    epsilon : float
        The budget, above 0.
    delta : float
        In (0, 1/e); half of it is room for the costs' own deltas, as printed.
    method : str
        "paper": the offset `epsilon^2 / (28.04 log(1/delta))` and the drift `e(e^e - 1)/2`, as printed. "tuned":
        the tuned offset and the tight drift `e tanh(e/2)`.
    offset : float, optional
        An offset `x` of one's own, fixed before the first cost.

    Examples
    --------
    >>> from holdfast.accounting import PureDP, RogersFilter
    >>> def rounds(budget):
    ...     count = 0
    ...     while budget.admits(PureDP(0.01)):
    ...         budget.spend(PureDP(0.01))
    ...         count += 1
    ...     return count
    >>> rounds(RogersFilter(1.0, 1e-6)), rounds(RogersFilter(1.0, 1e-6, method="tuned"))
    (147, 150)
    """

    name = "rogers"
    totals = ("drift", "squares", "delta")
    accepts = (PureDP, ApproxDP, PointwiseDP)

    def __init__(
        self, epsilon: float, delta: float, *, method: Literal["paper", "tuned"] = "paper", offset: float | None = None
    ) -> None:
        super().__init__()
        self.epsilon = budget("epsilon", epsilon, above=0)
        self.delta = budget_delta("delta", delta, below=math.exp(-1))
        self.method = check.choice("method", method, ("paper", "tuned"))
        self._own_offset = None if offset is None else check.real("offset", offset, above=0)
        self.offset = self._own_offset or rogers_offset(self.epsilon, self.delta, method)
        self._drift: Literal["tight", "paper"] = "tight" if method == "tuned" else "paper"
        self._half = times(HALF, exact(self.delta))
        self._slack = double_down(self._half)
        if not self._fits(self._state):
            if self._own_offset is None:
                raise InvalidParameter(f"epsilon must be larger: at {self.epsilon} not even a cost of 0 fits")
            raise InvalidParameter(f"offset must be smaller: at {self.offset} not even a cost of 0 fits")

    def parameters(self) -> dict[str, Any]:
        """The budget and the choice of constants."""
        own = {} if self._own_offset is None else {"offset": self._own_offset}
        return {"epsilon": self.epsilon, "delta": self.delta, "method": self.method} | own

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP."""
        stated = {"epsilon": self.epsilon, "delta": self.delta, "offset": self.offset, "method": self.method}
        return self._stated(stated)

    def _promise(self) -> Promise:
        return Promise(self.epsilon, self._half, self._half)

    def _increments(self, cost: PureDP | ApproxDP | PointwiseDP) -> tuple[Decimal, ...]:
        drift = mean_loss(cost.epsilon, self._drift)
        return drift, square(cost.epsilon), ZERO if isinstance(cost, PureDP) else exact(cost.delta)

    def _left_side(self, state: State) -> float:
        drift, squares = double_up(state[0]), double_up(state[1])
        if drift == math.inf or squares == math.inf:
            return math.inf
        return rogers_left_side(drift, squares, self.offset, self._slack)

    def _fits(self, state: State) -> bool:
        return bool(state[2] <= self._half) and self._left_side(state) <= self.epsilon

    def _spent(self, state: State) -> dict[str, Any]:
        return {"squares": read_up(state[1]), "left_side": self._left_side(state), "delta": read_up(state[2])}

    def _left(self, state: State) -> dict[str, Any]:
        largest = self._largest(state)
        return {"epsilon": largest, "delta": read_down(minus(self._half, state[2]))}


__all__ = ["RogersFilter"]
