"""What private questions share: their cost, the noise that it buys, and the interval of what is seen through noise."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from holdfast.accounting import Cost, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.numerics.exact import decimal_fraction
from holdfast.bounds.one_question.means import MEAN_FAMILIES
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.holdout.intervals.mean import MeanInterval
from holdfast.mechanisms.additive import Gaussian, Laplace

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy
    from holdfast.guard.questions.base import Situation


def spend_of(spend: Any, policy: Policy) -> PureDP | ZCDP:
    """Return the cost of a private question: its own, or the policy's; refused where no cap could hold it.

    Examples
    --------
    >>> from holdfast.guard import Policy
    >>> spend_of(None, Policy(privacy=PureDP(1.0), spend=PureDP(0.1)))
    PureDP(epsilon=0.1)
    """
    if policy.privacy is None:
        raise QuestionRefused(
            "this guard does not answer questions with noise, because its policy has no privacy budget; ask "
            "questions without noise, such as check, or open a guard whose policy has privacy"
        )
    cost = policy.spend if spend is None else spend
    if cost is None:
        raise InvalidParameter(
            "spend must be given, because neither the question nor the policy gives a privacy cost; pass spend "
            "(--spend pure-dp:EPSILON), or set a default in the policy"
        )
    if not isinstance(cost, (PureDP, ZCDP)) or cost.is_zero:
        raise InvalidParameter(f"spend must be a positive PureDP or ZCDP, got {cost!r}")
    if isinstance(policy.privacy, PureDP) and not isinstance(cost, PureDP):
        raise InvalidParameter(
            "spend must be a PureDP if the privacy budget is a PureDP, got a ZCDP, whose cost a PureDP budget cannot "
            "limit"
        )
    return cost


def noise_for(cost: Cost, n: int, means: int = 1) -> Laplace | Gaussian:
    """Return the noise on each of some means of `n` shares in [0, 1] that cost this much together.

    Laplace if pure, Gaussian otherwise; the cost is split evenly over the means.

    Examples
    --------
    >>> noise_for(PureDP(0.1), 1000).cost, noise_for(PureDP(0.1), 1000, means=2).cost
    (PureDP(epsilon=0.1), PureDP(epsilon=0.05))
    """
    match cost:
        case PureDP(epsilon):
            part = epsilon if means == 1 else decimal_fraction(epsilon) / means
            return Laplace(sensitivity=Fraction(1, n), epsilon=part)
        case ZCDP(rho):
            part = rho if means == 1 else decimal_fraction(rho) / means
            return Gaussian(sensitivity=Fraction(1, n), rho=part)
    raise InvalidParameter(f"spend must be a PureDP or ZCDP, got {cost!r}")


def about_rows(situation: Situation, interval: Any, what: str) -> dict[str, Any]:
    """The interval about these rows, named: where the exact value of the rows lies, seen through the noise alone.

    It holds with the policy's confidence for this answer by itself, and is not about a population. The interval
    of the answer is about the population, and holds together with those of all other answers. Both are functions of
    what was released.
    """
    return {"interval": interval, "what": what, "confidence": situation.budget.policy.confidence}


def ratio_ends(above: float, below: float, off: float) -> tuple[float, float]:
    """Return the least and the greatest quotient `S / (S + T)` of sums that lie within `off` of noisy ones.

    The quotient rises in `S` and falls in `T`, so its ends are those of two corners. Where both sums may be 0 it can be
    anything.

    Examples
    --------
    >>> ratio_ends(40.0, 60.0, 10.0)
    (0.3, 0.5)
    >>> ratio_ends(4.0, 6.0, 10.0)
    (0.0, 1.0)
    """
    least, most = max(above - off, 0.0), max(below + off, 0.0)
    lower = least / (least + most) if least > 0 else 0.0
    least, most = max(below - off, 0.0), max(above + off, 0.0)
    return lower, 1.0 - (least / (least + most) if least > 0 else 0.0)


def amount(cost: Cost) -> dict[str, float]:
    """Return the cost as the keyword that noisy counts take."""
    match cost:
        case PureDP(epsilon):
            return {"epsilon": epsilon}
        case ZCDP(rho):
            return {"rho": rho}
    raise InvalidParameter(f"spend must be a PureDP or ZCDP, got {cost!r}")


@lru_cache(maxsize=64)
def count_interval(n: int) -> MeanInterval:
    """Exact binomial intervals for a share of `n` rows; `over` takes the counts that noise leaves possible.

    Both limits rise with the count, so those of the least and of the greatest possible count hold those of all between.

    Examples
    --------
    >>> exact, kl = (one(1000).over(0.49, 0.51, log_share=-3.0) for one in (count_interval, unit_interval))
    >>> kl[0] < exact[0] < exact[1] < kl[1]
    True
    """
    return MeanInterval(MEAN_FAMILIES["clopper-pearson"], n, 0.0, 1.0)


@lru_cache(maxsize=64)
def unit_interval(n: int) -> MeanInterval:
    """Kullback-Leibler intervals for a mean of `n` values in [0, 1]; `over` takes the ends that noise leaves possible.

    Examples
    --------
    >>> low, high = unit_interval(1000).over(0.49, 0.51, log_share=-3.0)
    >>> 0.44 < low < 0.49 < 0.51 < high < 0.56
    True
    """
    return MeanInterval(MEAN_FAMILIES["kl"], n, 0.0, 1.0)
