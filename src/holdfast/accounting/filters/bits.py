"""Description length as a filter: the bits of all answers add."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from holdfast.accounting.account import State
from holdfast.accounting.amount import budget
from holdfast.accounting.costs import Bits
from holdfast.accounting.filters.base import Filter
from holdfast.accounting.tally import Tally
from holdfast.accounting.totals import exact, minus, read_down, read_up
from holdfast.bounds.guarantee import Guarantee

_COUNTED = "everything that leaves a step is counted, errors and refusals that depend on the data included"


class BitsFilter(Tally, Filter):
    """Admit a cost while the bits sum to at most `bits`: at most `2^bits` transcripts are then possible.

    On every path the product of the alphabet sizes is at most `2^bits`, each size read off the past transcript, so the
    transcript takes at most `2^bits` values. That is the condition (i) of interleaving bits with privacy in any order
    (`transfer.interleaved`) and the description length of `max-information.description-length`. Everything that
    leaves a step counts in its alphabet: errors, timeouts, and the decision to stop if it depends on the data. It is
    not a privacy guarantee.

    Parameters
    ----------
    bits : float
        The budget, at least 0.

    Examples
    --------
    >>> from holdfast.accounting import Bits, BitsFilter
    >>> budget = BitsFilter(10)
    >>> budget.spend(Bits(9.5))
    >>> budget.admits(Bits(1)), budget.remaining()
    (False, {'bits': 0.5})
    """

    name = "bits"
    totals = ("bits",)
    accepts = (Bits,)

    def __init__(self, bits: float) -> None:
        super().__init__()
        self.bits = budget("bits", bits)
        self._cap = exact(self.bits)

    def parameters(self) -> dict[str, Any]:
        """The budget."""
        return {"bits": self.bits}

    def guarantee(self) -> Guarantee:
        """At most `2^bits` possible transcripts."""
        return Guarantee("max-information.description-length", self.parameters(), _COUNTED)

    def _increments(self, cost: Bits) -> tuple[Decimal, ...]:
        return (exact(cost.bits),)

    def _fits(self, state: State) -> bool:
        return bool(state[0] <= self._cap)

    def _spent(self, state: State) -> dict[str, Any]:
        return {"bits": read_up(state[0])}

    def _left(self, state: State) -> dict[str, Any]:
        return {"bits": read_down(minus(self._cap, state[0]))}


__all__ = ["BitsFilter"]
