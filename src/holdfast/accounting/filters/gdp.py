"""The sum of squares of mu as a filter: loss-free when every answer is Gaussian."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Self

from holdfast.accounting.account import State
from holdfast.accounting.amount import budget, budget_delta
from holdfast.accounting.costs import GDP
from holdfast.accounting.filters.base import REREAD, Filter, Promise
from holdfast.accounting.tally import Tally
from holdfast.accounting.totals import ZERO, exact, minus, root_down, root_up, square
from holdfast.bounds.conversions import gdp_budget, gdp_to_dp
from holdfast.bounds.exact import up
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import InvalidParameter


class GDPFilter(Tally, Filter):
    """Admit a cost while the squares of mu sum to at most `mu^2`: the whole interaction is then mu-GDP.

    Koskela, Tobaben and Honkela 2022; Smith and Thakurta 2022. Re-derived: the answers are increments of one drifting
    Brownian motion, read up to a time that is at most `mu^2`, so they are a post-processing of its endpoint; any
    mu_i-GDP mechanism is a post-processing of such an increment. Nothing is lost against fixed parameters, so this is
    the best filter when all answers are Gaussian. It covers concurrent use as f-DP does (Haney et al. 2023).

    Parameters
    ----------
    mu : float
        The budget, at least 0.
    epsilon, delta : float, optional
        The (epsilon, delta) that this budget is meant to keep; checked against `mu`. `GDPFilter.from_dp` fills them.

    Examples
    --------
    >>> from holdfast.accounting import GDP, GDPFilter
    >>> budget = GDPFilter(0.5)
    >>> budget.spend(GDP(0.3))
    >>> budget.remaining()
    {'mu': 0.4}
    >>> budget.admits(GDP(0.4)), budget.admits(GDP(0.41))
    (True, False)
    """

    name = "gdp"
    totals = ("mu_squared",)
    accepts = (GDP,)

    def __init__(self, mu: float, *, epsilon: float | None = None, delta: float | None = None) -> None:
        super().__init__()
        self.mu = budget("mu", mu)
        if (epsilon is None) != (delta is None):
            raise InvalidParameter("epsilon and delta must be given together, or neither")
        self.epsilon = None if epsilon is None else budget("epsilon", epsilon)
        self.delta = None if delta is None else budget_delta("delta", delta)
        self._cap = square(self.mu)
        if self.epsilon is not None and self.delta is not None:
            needed = gdp_to_dp(math.nextafter(self.mu, math.inf) if self.mu else 0.0, self.delta)
            if not needed <= up(self.epsilon, REREAD):
                raise InvalidParameter(f"epsilon must be at least {needed} for mu {self.mu}, got {self.epsilon}")

    @classmethod
    def from_dp(cls, epsilon: float, delta: float) -> Self:
        """Make the filter whose interaction is `(epsilon, delta)`-DP, with the largest mu that allows; exact."""
        epsilon, delta = budget("epsilon", epsilon), budget_delta("delta", delta)
        mu = gdp_budget(epsilon, delta)
        mu = math.nextafter(mu, 0.0)  # a float is read as its shortest decimal, which may lie above it
        return cls(mu, epsilon=epsilon, delta=delta)

    def parameters(self) -> dict[str, Any]:
        """The budget, and the (epsilon, delta) it keeps where one was stated."""
        return {"mu": self.mu} | ({} if self.epsilon is None else {"epsilon": self.epsilon, "delta": self.delta})

    def guarantee(self) -> Guarantee:
        """mu-GDP; and (epsilon, delta)-DP where that was stated."""
        return self._stated(self.parameters())

    def _promise(self) -> Promise | None:
        if self.epsilon is None or self.delta is None:
            return None
        return Promise(self.epsilon, exact(self.delta), ZERO)

    def _increments(self, cost: GDP) -> tuple[Decimal, ...]:
        return (square(cost.mu),)

    def _fits(self, state: State) -> bool:
        return bool(state[0] <= self._cap)

    def _spent(self, state: State) -> dict[str, Any]:
        return {"mu": root_up(state[0])}

    def _left(self, state: State) -> dict[str, Any]:
        return {"mu": root_down(minus(self._cap, state[0]))}


__all__ = ["GDPFilter"]
