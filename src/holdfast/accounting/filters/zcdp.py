"""The sum of rho as a filter: the default for mixed costs."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Self

from holdfast.accounting.account import State
from holdfast.accounting.amount import budget, budget_delta
from holdfast.accounting.costs import GDP, ZCDP, ApproxDP, PointwiseDP, PureDP
from holdfast.accounting.filters.base import REREAD, Filter, Promise
from holdfast.accounting.increments import gaussian_rho, pure_rho
from holdfast.accounting.split import slack_of
from holdfast.accounting.tally import Tally
from holdfast.accounting.totals import ZERO, double_down, exact, minus, read_down, read_up
from holdfast.bounds.conversions import zcdp_budget, zcdp_to_dp
from holdfast.bounds.exact import up
from holdfast.bounds.guarantee import Guarantee
from holdfast.bounds.zcdp import Method
from holdfast.errors import InvalidParameter


class ZCDPFilter(Tally, Filter):
    """Admit a cost while the sum of rho is at most `rho`: the whole interaction is then rho-zCDP.

    Feldman and Zrnic 2021 for one Renyi order; the same stopping rule serves every order at once, so the interaction
    satisfies the whole zCDP curve and any conversion of zCDP applies to it, the tight one of Canonne, Kamath and
    Steinke 2020 included. Proof: `exp((a-1)(L_t - a R_t))` is a supermartingale for every order `a > 1`, and whether
    the next cost is admitted is known before it is paid.

    A pure cost counts `epsilon tanh(epsilon/2)`, a Gaussian one `mu^2/2`, exactly. An approximate cost counts as its
    epsilon, and its delta goes against `delta_sum`: the interaction is then rho-zCDP up to an event of that
    probability. Adaptive use is covered. Interleaving interactive mechanisms is covered for costs without a delta
    (Haney et al. 2023); with approximate costs, finish one interaction before the next begins.

    Parameters
    ----------
    rho : float
        The budget, at least 0.
    delta_sum : float
        Room for the costs' own deltas, in [0, 1).
    epsilon, delta : float, optional
        The (epsilon, delta) that this budget is meant to keep, `delta_sum` included; checked against `rho`.
        `ZCDPFilter.from_dp` fills them.

    Examples
    --------
    >>> from holdfast.accounting import ZCDP, PureDP, ZCDPFilter
    >>> budget = ZCDPFilter.from_dp(epsilon=1.0, delta=1e-6)
    >>> rounds = 0
    >>> while budget.admits(PureDP(0.01)):
    ...     budget.spend(PureDP(0.01))
    ...     rounds += 1
    >>> rounds
    487
    >>> print(budget.guarantee())
    filter.rounds (name=zcdp, rho=0.02435..., epsilon=1.0, delta=1e-06); neighbours replace one of n rows, n public; ...
    """

    name = "zcdp"
    totals = ("rho", "delta")
    accepts = (PureDP, ZCDP, GDP, ApproxDP, PointwiseDP)

    def __init__(
        self, rho: float, *, delta_sum: float = 0.0, epsilon: float | None = None, delta: float | None = None
    ) -> None:
        super().__init__()
        self.rho = budget("rho", rho)
        self.delta_sum = budget_delta("delta_sum", delta_sum, zero=True)
        if (epsilon is None) != (delta is None):
            raise InvalidParameter("epsilon and delta must be given together, or neither")
        self.epsilon = None if epsilon is None else budget("epsilon", epsilon)
        self.delta = None if delta is None else budget_delta("delta", delta)
        self._caps = exact(self.rho), exact(self.delta_sum)
        if self.epsilon is not None and self.delta is not None:
            slack = double_down(slack_of(self.delta, self.delta_sum))
            needed = zcdp_to_dp(math.nextafter(self.rho, math.inf) if self.rho else 0.0, slack)
            if not needed <= up(self.epsilon, REREAD):
                raise InvalidParameter(f"epsilon must be at least {needed} for rho {self.rho}, got {self.epsilon}")

    @classmethod
    def from_dp(cls, epsilon: float, delta: float, *, delta_sum: float = 0.0, method: Method = "best") -> Self:
        """Make the filter whose interaction is `(epsilon, delta)`-DP, with the largest rho that allows.

        Parameters
        ----------
        epsilon, delta : float
            The promise for the whole interaction.
        delta_sum : float
            The part of `delta` kept for the costs' own deltas; the conversion uses the rest.
        method : str
            The conversion, as in `bounds.conversions.zcdp_to_dp`; the best by default.
        """
        epsilon, delta = budget("epsilon", epsilon), budget_delta("delta", delta)
        delta_sum = budget_delta("delta_sum", delta_sum, zero=True)
        slack = double_down(slack_of(delta, delta_sum))
        rho = zcdp_budget(epsilon, slack, method)
        rho = math.nextafter(rho, 0.0)  # a float is read as its shortest decimal, which may lie above it
        return cls(rho, delta_sum=delta_sum, epsilon=epsilon, delta=delta)

    def parameters(self) -> dict[str, Any]:
        """The budget, and the (epsilon, delta) it keeps where one was stated."""
        stated = {} if self.epsilon is None else {"epsilon": self.epsilon, "delta": self.delta}
        return {"rho": self.rho, "delta_sum": self.delta_sum} | stated

    def guarantee(self) -> Guarantee:
        """rho-zCDP, up to an event of probability `delta_sum`; and (epsilon, delta)-DP where that was stated."""
        stated = self.parameters()
        if not self.delta_sum:
            del stated["delta_sum"]
        return self._stated(stated)

    def _promise(self) -> Promise | None:
        if self.epsilon is None or self.delta is None:
            return None
        return Promise(self.epsilon, slack_of(self.delta, self.delta_sum), self._caps[1])

    def _increments(self, cost: PureDP | ZCDP | GDP | ApproxDP | PointwiseDP) -> tuple[Decimal, ...]:
        if isinstance(cost, ZCDP):
            return exact(cost.rho), ZERO
        if isinstance(cost, GDP):
            return gaussian_rho(cost.mu), ZERO
        return pure_rho(cost.epsilon), ZERO if isinstance(cost, PureDP) else exact(cost.delta)

    def _fits(self, state: State) -> bool:
        return bool(state[0] <= self._caps[0] and state[1] <= self._caps[1])

    def _spent(self, state: State) -> dict[str, Any]:
        return {"rho": read_up(state[0]), "delta": read_up(state[1])}

    def _left(self, state: State) -> dict[str, Any]:
        rho, delta = map(minus, self._caps, state)
        return {"rho": read_down(rho), "delta": read_down(delta)}


__all__ = ["ZCDPFilter"]
