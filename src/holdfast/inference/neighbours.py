"""What a cost certified for adding or removing a row is worth when a row is replaced.

Everything in Holdfast is about neighbours that replace one of `n` rows, `n` public. Replacing is removing, then adding,
so a certificate for add/remove neighbours reaches a replacement in two steps, through a data set of `n - 1` rows.
"""

from __future__ import annotations

import math

from holdfast import check
from holdfast.accounting.costs import GDP, ZCDP, ApproxDP, Bits, Cost, PointwiseDP, PureDP
from holdfast.bounds.exact import decimal_fraction, float_up, up
from holdfast.errors import InvalidParameter

NEIGHBOURS = ("replace-one", "add-remove")


def from_add_remove(cost: Cost) -> Cost:
    """Turn a cost certified under add/remove neighbours into one for replace-one neighbours.

    `epsilon` becomes `2 epsilon`; `(epsilon, delta)` becomes `(2 epsilon, (1 + e^epsilon) delta)`; `rho` becomes
    `4 rho`; `mu` becomes `2 mu`. Bits do not speak of neighbours and stay. Group privacy for two rows: Dwork and Roth
    (2014) Theorem 2.2, Bun and Steinke (2016) Proposition 1.9, Dong, Roth and Su (2022).

    It needs the certificate to hold at every size, `n - 1` among them: a mechanism that adapts its noise to a count of
    rows it treats as known must be certified again.

    Parameters
    ----------
    cost : Cost
        `PureDP`, `ApproxDP`, `ZCDP`, `GDP` or `Bits`.

    Examples
    --------
    >>> from_add_remove(PureDP(0.05)), from_add_remove(GDP(0.1))
    (PureDP(epsilon=0.1), GDP(mu=0.2))
    """
    match cost:
        case PureDP(epsilon):
            return PureDP(_times(2, epsilon))
        case ApproxDP(epsilon, delta):
            grown = math.exp(epsilon) if epsilon < 700 else math.inf
            doubled = up((1 + grown) * delta) if delta else 0.0
            if not doubled < 1:
                raise InvalidParameter(
                    f"delta must stay below 1 when a row is replaced, got (1 + e^{epsilon:g}) {delta:g}"
                )
            return ApproxDP(_times(2, epsilon), doubled)
        case ZCDP(rho):
            return ZCDP(_times(4, rho))
        case GDP(mu):
            return GDP(_times(2, mu))
        case Bits():
            return cost
        case PointwiseDP():
            raise InvalidParameter("a point-wise cost has no two-row rule; declare it as ApproxDP first")
    raise InvalidParameter(f"cost must be a PureDP, ApproxDP, ZCDP, GDP or Bits cost, got a {type(cost).__name__}")


def _times(factor: int, amount: float) -> float:
    """A multiple of the decimal that an amount prints as, rounded up."""
    return float_up(factor * decimal_fraction(amount))


def require_replace_one(neighbours: str, cost: Cost) -> None:
    """Refuse a cost that was certified for another relation, and say what would make it valid."""
    check.choice("neighbours", neighbours, NEIGHBOURS)
    if neighbours == "replace-one" or isinstance(cost, Bits):
        return
    raise InvalidParameter(
        f"neighbours must be replace-one, got add-remove: {cost} bounds what adding or removing a row does, and every "
        "correction here is about replacing one of n rows, which is both. If the certificate holds for data sets of "
        f"every size, record from_add_remove({cost}) = {from_add_remove(cost)} instead"
    )


__all__ = ["NEIGHBOURS", "from_add_remove", "require_replace_one"]
