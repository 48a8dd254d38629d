"""What a private question costs: what it says, or what the policy gives it; and the noise that this buys."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from holdfast.accounting import Cost, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard.policy import Policy
from holdfast.mechanisms.gaussian import Gaussian
from holdfast.mechanisms.laplace import Laplace


def spend_of(spend: Any, policy: Policy) -> PureDP | ZCDP:
    """The cost of a private question: its own, or the policy's; refused where no cap could hold it.

    Examples
    --------
    >>> spend_of(None, Policy(privacy=PureDP(1.0), spend=PureDP(0.1)))
    PureDP(epsilon=0.1)
    """
    if policy.privacy is None:
        raise QuestionRefused("private questions are not allowed here: the policy has no privacy cap")
    cost = policy.spend if spend is None else spend
    if cost is None:
        raise InvalidParameter("spend must be given: the policy names no cost for a question that names none")
    if not isinstance(cost, (PureDP, ZCDP)) or cost.is_zero:
        raise InvalidParameter(f"spend must be a positive PureDP or ZCDP, got {cost!r}")
    if isinstance(policy.privacy, PureDP) and not isinstance(cost, PureDP):
        raise InvalidParameter("spend must be a PureDP under a pure cap, got a ZCDP, which no pure cap holds")
    return cost


def noise_for(cost: Cost, n: int) -> Laplace | Gaussian:
    """The noise on a mean of `n` shares in [0, 1] that costs this much: Laplace if pure, Gaussian otherwise.

    Examples
    --------
    >>> noise_for(PureDP(0.1), 1000).cost
    PureDP(epsilon=0.1)
    """
    match cost:
        case PureDP(epsilon):
            return Laplace(sensitivity=Fraction(1, n), epsilon=epsilon)
        case ZCDP(rho):
            return Gaussian(sensitivity=Fraction(1, n), rho=rho)
    raise InvalidParameter(f"spend must be a PureDP or ZCDP, got {cost!r}")


def amount(cost: Cost) -> dict[str, float]:
    """The cost as the keyword that noisy counts take."""
    match cost:
        case PureDP(epsilon):
            return {"epsilon": epsilon}
        case ZCDP(rho):
            return {"rho": rho}
    raise InvalidParameter(f"spend must be a PureDP or ZCDP, got {cost!r}")


__all__ = ["amount", "noise_for", "spend_of"]
