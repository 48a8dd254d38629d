"""How a filter's delta splits: a slack for the concentration argument, and room for the costs' own deltas."""

from __future__ import annotations

from decimal import Decimal

from holdfast.accounting.amount import budget_delta
from holdfast.accounting.totals import exact, minus
from holdfast.errors import InvalidParameter


def slack_of(delta: float, delta_sum: float) -> Decimal:
    """Return `delta - delta_sum` exactly; it must be positive, or nothing is left for the concentration argument.

    Examples
    --------
    >>> slack_of(1e-6, 4e-7)
    Decimal('6E-7')
    """
    delta = budget_delta("delta", delta)
    delta_sum = budget_delta("delta_sum", delta_sum, zero=True)
    slack = minus(exact(delta), exact(delta_sum))
    if slack <= 0:
        raise InvalidParameter(f"delta_sum must be below delta, got {delta_sum} and {delta}")
    return slack


def split(delta: float, delta_sum: float) -> tuple[Decimal, Decimal]:
    """Return `slack_of` and the room for the costs' own deltas, exactly.

    Examples
    --------
    >>> split(1e-6, 4e-7)
    (Decimal('6E-7'), Decimal('4E-7'))
    """
    return slack_of(delta, delta_sum), exact(budget_delta("delta_sum", delta_sum, zero=True))


__all__ = ["slack_of", "split"]
