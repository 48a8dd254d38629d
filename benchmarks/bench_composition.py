"""What a hundred Gaussian answers have spent, read after each of them: our accounts against dp-accounting's.

A filter must decide before every answer, so the running total is read every time. dp-accounting's Rényi accountant is
the peer for our filter on a Rényi curve; both give (epsilon, delta)-privacy at the same delta.
"""

from __future__ import annotations

import holdfast.accounting as acc
from benchmarks.timing import Row, at_least, in_turn

ANSWERS = 100
NOISE = 50.0
DELTA = 1e-6


def rows() -> list[Row]:
    """One hundred answers with noise of fifty sensitivities, each let in by what was spent before it."""
    from dp_accounting import GaussianDpEvent
    from dp_accounting.rdp import RdpAccountant

    def ours() -> None:
        budget = acc.RenyiCurveFilter(10.0, DELTA)
        for _ in range(ANSWERS):
            budget.spend(acc.GDP(1 / NOISE))

    def concentrated() -> None:
        budget = acc.ZCDPFilter(1.0)
        for _ in range(ANSWERS):
            budget.spend(acc.GDP(1 / NOISE))

    def peer() -> None:
        account = RdpAccountant()
        for _ in range(ANSWERS):
            account.compose(GaussianDpEvent(NOISE))
            if account.get_epsilon(DELTA) > 10.0:
                raise AssertionError("the budget was meant to suffice")

    curve, line, theirs = in_turn(ours, concentrated, peer)
    name = "dp-accounting's Rényi accountant, read after each"
    return [
        at_least(f"Rényi-curve filter, {ANSWERS} Gaussian answers", 1.0, curve, name, theirs),
        at_least(f"zCDP filter, {ANSWERS} Gaussian answers", 10.0, line, name, theirs),
    ]
