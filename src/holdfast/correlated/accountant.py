"""Many releases under one model: compose at the DP level, convert once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast import check
from holdfast.accounting.costs import Cost, PureDP
from holdfast.accounting.filters.basic import BasicFilter
from holdfast.correlated.certificate import Certificate, certify
from holdfast.correlated.model import DependenceModel, check_model
from holdfast.correlated.quilt import Surcharge, check_surcharge
from holdfast.errors import InvalidParameter


class BayesianAccountant:
    """A budget at a Bayesian level, spent in DP costs.

    DP epsilons add, and the sum is converted once: the surcharge for dependence is paid once, whatever the number of
    releases (specification 2.10, derived). Bayesian levels must **not** be added: two releases of level 1.1565 can have
    level 2.4451 together. So only pure DP costs are taken; approximate and Renyi costs are not covered by any
    statement here. Costs may be chosen adaptively.

    Parameters
    ----------
    model : DependenceModel
        The declared model.
    epsilon_bdp : float
        The budget.
    surcharge : str
        "sharp", "two" or "paper".

    Examples
    --------
    >>> from holdfast.accounting import PureDP
    >>> from holdfast.correlated import Blocks
    >>> account = BayesianAccountant(Blocks([4] * 25), epsilon_bdp=1.0)
    >>> account.spend(PureDP(0.1))
    >>> account.spend(PureDP(0.1))
    >>> round(account.epsilon_bdp(), 9), round(account.remaining(), 9)
    (0.8, 0.05)
    >>> account.spend(0.3)
    Traceback (most recent call last):
        ...
    holdfast.errors.InvalidParameter: cost must be a PureDP cost of a DP mechanism: Bayesian levels do not add up, so
    they are not taken
    """

    def __init__(self, model: DependenceModel, epsilon_bdp: float, surcharge: Surcharge = "sharp") -> None:
        self._model, self._surcharge = check_model(model), check_surcharge(surcharge)
        self._budget = check.real("epsilon_bdp", epsilon_bdp, above=0)
        self._filter = BasicFilter(model.epsilon_dp(self._budget, self._surcharge))

    def __repr__(self) -> str:
        return f"<{self._budget:g}-Bayesian-DP budget, {self.spent():.6g} of {self._filter.epsilon:.6g} DP spent>"

    @property
    def budget(self) -> float:
        """The Bayesian level that is never exceeded."""
        return self._budget

    def admits(self, cost: Cost) -> bool:
        """Whether `spend(cost)` would succeed now; changes nothing."""
        return self._filter.admits(_pure(cost))

    def spend(self, cost: Cost) -> None:
        """Charge a pure DP cost before its mechanism runs, or raise `BudgetExhausted` and change nothing."""
        self._filter.spend(_pure(cost))

    def spent(self) -> float:
        """The DP level spent so far, rounded up."""
        return float(self._filter.spent()["epsilon"])

    def remaining(self) -> float:
        """The largest DP cost that still fits, rounded down."""
        return float(self._filter.remaining()["epsilon"])

    def epsilon_bdp(self) -> float:
        """The Bayesian level of everything spent so far, converted once."""
        spent = self.spent()
        return min(self._model.epsilon_bdp(spent, self._surcharge), self._budget) if spent else 0.0

    def certificate(self) -> Certificate:
        """What the whole interaction may claim so far."""
        spent = self.spent()
        if not spent:
            raise InvalidParameter("nothing has been spent, so there is nothing to certify")
        return certify(self._model, epsilon_dp=spent, surcharge=self._surcharge)

    def state(self) -> dict[str, Any]:
        """Plain data that `from_state` reads back exactly; the model is declared again, it is not stored."""
        return {"epsilon_bdp": self._budget, "surcharge": self._surcharge, "filter": self._filter.to_dict()}

    @classmethod
    def from_state(cls, model: DependenceModel, state: Mapping[str, Any]) -> BayesianAccountant:
        """Go on where `state()` was taken, under the same model.

        Examples
        --------
        >>> from holdfast.accounting import PureDP
        >>> from holdfast.correlated import Blocks
        >>> model = Blocks([4] * 25)
        >>> account = BayesianAccountant(model, 1.0)
        >>> account.spend(PureDP(0.1))
        >>> BayesianAccountant.from_state(model, account.state()).spent()
        0.1
        """
        try:
            budget, surcharge, filtered = state["epsilon_bdp"], state["surcharge"], state["filter"]
        except (KeyError, TypeError):
            raise InvalidParameter("state must be what BayesianAccountant.state() gave") from None
        made = cls(model, budget, surcharge)
        stored = BasicFilter.from_dict(filtered)
        if stored.epsilon > made._filter.epsilon * (1 + 1e-9):
            raise InvalidParameter(
                "state was taken under another model: its DP budget is larger than this model allows"
            )
        made._filter = stored
        return made


def _pure(cost: Any) -> PureDP:
    if type(cost) is not PureDP:
        raise InvalidParameter(
            "cost must be a PureDP cost of a DP mechanism: Bayesian levels do not add up, so they are not taken"
            if not isinstance(cost, Cost)
            else f"cost must be a PureDP cost: a {cost.kind} cost has no conversion to Bayesian differential privacy"
        )
    return cost


__all__ = ["BayesianAccountant"]
