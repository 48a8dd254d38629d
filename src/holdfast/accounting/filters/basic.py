"""Basic composition as a filter: epsilons add, deltas add."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from holdfast.accounting.account import State
from holdfast.accounting.amount import budget, budget_delta
from holdfast.accounting.costs import ApproxDP, PointwiseDP, PureDP
from holdfast.accounting.filters.base import Filter, Promise
from holdfast.accounting.tally import Tally
from holdfast.accounting.totals import ZERO, exact, minus, read_down, read_up
from holdfast.bounds.guarantee import Guarantee


class BasicFilter(Tally, Filter):
    """Admit a cost while the epsilons sum to at most `epsilon` and the deltas to at most `delta`.

    Rogers' dissertation, Theorem 5.3.7 (with "halt if the deltas exceed the budget"; the printed proof mixes two
    letters). The interaction is `(epsilon, delta)`-DP for ordinary DP deltas; with `delta = 0` nothing is left to
    chance. Sums are exact.

    Parameters
    ----------
    epsilon : float
        The budget, at least 0.
    delta : float
        Room for the costs' own deltas, in [0, 1); 0 by default, for pure costs.

    Examples
    --------
    >>> from holdfast.accounting import BasicFilter, PureDP
    >>> budget = BasicFilter(1.0)
    >>> for _ in range(10):
    ...     budget.spend(PureDP(0.1))
    >>> budget.remaining()
    {'epsilon': 0.0, 'delta': 0.0}
    >>> budget.spend(PureDP(0.1))
    Traceback (most recent call last):
        ...
    holdfast.errors.BudgetExhausted: the basic filter refuses: spent epsilon=1, delta=0; asked PureDP(epsilon=0.1);
    left epsilon=0, delta=0
    """

    name = "basic"
    totals = ("epsilon", "delta")
    accepts = (PureDP, ApproxDP, PointwiseDP)

    def __init__(self, epsilon: float, delta: float = 0.0) -> None:
        super().__init__()
        self.epsilon = budget("epsilon", epsilon)
        self.delta = budget_delta("delta", delta, zero=True)
        self._caps = exact(self.epsilon), exact(self.delta)

    def parameters(self) -> dict[str, Any]:
        """The budget."""
        return {"epsilon": self.epsilon, "delta": self.delta}

    def guarantee(self) -> Guarantee:
        """(epsilon, delta)-DP by basic composition."""
        return self._stated(self.parameters())

    def _promise(self) -> Promise:
        return Promise(self.epsilon, ZERO, self._caps[1])

    def _increments(self, cost: PureDP | ApproxDP | PointwiseDP) -> tuple[Decimal, ...]:
        return exact(cost.epsilon), ZERO if isinstance(cost, PureDP) else exact(cost.delta)

    def _fits(self, state: State) -> bool:
        return bool(state[0] <= self._caps[0] and state[1] <= self._caps[1])

    def _spent(self, state: State) -> dict[str, Any]:
        return {"epsilon": read_up(state[0]), "delta": read_up(state[1])}

    def _left(self, state: State) -> dict[str, Any]:
        epsilon, delta = map(minus, self._caps, state)
        return {"epsilon": read_down(epsilon), "delta": read_down(delta)}


__all__ = ["BasicFilter"]
