"""What everything that went through a guard promises about groups of people: the audit and the accounting meet here."""

from __future__ import annotations

import math

from holdfast.accounting import Bits, Cost
from holdfast.bounds.coherence import Mode, Population
from holdfast.bounds.exact import up
from holdfast.coherence.released import ReleasedCoherence, released
from holdfast.errors import GuaranteeUnavailable
from holdfast.guard.accounts import read
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.transaction import View
from holdfast.guard.settling import belief_of
from holdfast.guard.standing import Standing


def coherence_of(
    ledger: Ledger, beta: float, groups: int, mode: Mode = "sharp", population: Population = "finite"
) -> ReleasedCoherence:
    """Read off a ledger what all its answers together promise about groups.

    The sample is taken to be a uniform half of twice as many people. Private answers count by the policy's cap, which
    holds however they were chosen; an odometer's by the cap of its series that holds what was spent. Answers without
    noise could have been guessed: `Belief.transcript` weighs every course that they might have taken, of every length.
    Give each course the share `beta w`. With its answers written in, all that is left is a private interaction under
    the cap, and the real one agrees with one of them; so the shares add up to at most beta, and `ln(1/w)` counts as
    that many nats of a look. Derived, as the union over reports of `holdfast.coherence.released`.

    Parameters
    ----------
    ledger : Ledger
        `guard.ledger`, or one found in a store.
    beta : float
        Failure probability, in (0, 1].
    groups : int
        How many groups are judged at once; fixed before the sample was drawn.
    mode, population
        As for `holdfast.coherence.released.released`.

    Raises
    ------
    GuaranteeUnavailable
        If a steward put another policy in place: a cap that is raised after answers were seen is not a cap.

    Examples
    --------
    >>> import holdfast as hf
    >>> from holdfast.accounting import PureDP
    >>> sample = hf.data.table({"age": [23, 35, 47, 59] * 50_000})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=100, privacy=PureDP(0.01)))
    >>> coherence_of(guard.ledger, beta=0.05, groups=10).size(0.2).rows
    6523
    >>> guard.ask(hf.guard.check("age < 40", guess=0.9)).passed
    False
    >>> coherence_of(guard.ledger, beta=0.05, groups=10).size(0.2).rows
    8210
    """

    def work(view: View) -> tuple[Standing, Cost | None, float]:
        standing = Standing.of(view)
        whole = read(view.account, standing.policy)[1]
        return standing, *belief_of(standing).transcript(whole.progress, whole.spent)

    standing, cap, nats = ledger.look(work)
    if standing.overrides:
        raise GuaranteeUnavailable(
            "a steward put another policy in place after answers were seen, so no cap holds for all of them: nothing "
            "is promised about groups"
        )
    costs = [Bits(up(nats / math.log(2)))] if nats else []
    return released([*costs, *([] if cap is None else [cap])], standing.n, beta, groups, mode, population)


__all__ = ["coherence_of"]
