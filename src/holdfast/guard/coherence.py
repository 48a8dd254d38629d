"""What everything that went through a guard promises about groups of people: the audit and the accounting meet here."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Literal

from holdfast.accounting import Bits, Cost, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.bounds.coherence import Mode, Population
from holdfast.bounds.numerics.exact import up
from holdfast.coherence.released import ReleasedCoherence, released
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable
from holdfast.guard.guard_budget import budget_of
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.transaction import View
from holdfast.guard.policy import Policy
from holdfast.guard.state import Account, GuardState, read_account

Count = Literal["cap", "spent"]


def coherence_of(
    ledger: Ledger,
    beta: float,
    groups: int,
    mode: Mode = "sharp",
    population: Population = "finite",
    count: Count = "cap",
) -> ReleasedCoherence:
    """Return what all answers in a ledger together guarantee about groups of people: how differently they can treat
    members in the data set and members who are not in it.

    The data set is taken to be a random half of a population with twice as many people. Answers with noise count by the
    policy's privacy limit, which holds however the questions were chosen. With an odometer they count by the smallest
    limit of its series that covers what was spent. For answers without noise, `GuardBudget.transcript` gives each
    possible course of answers a prior weight `w`. Proof: allow each course the failure probability `beta w`; these add
    up to at most beta. If the noiseless answers are fixed to those of one course, what remains is a private interaction
    under the limit, and the real interaction agrees with one of the courses. So the noiseless answers count as
    `ln(1/w)` nats. This is derived here, like the union over reports in `holdfast.coherence.released`.

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
    count : {"cap", "spent"}
        How private answers count: by the policy's cap, which holds however they were chosen, or by what they have cost
        so far, which holds only where they were fixed in advance; the assumption then says so.

    Raises
    ------
    GuaranteeUnavailable
        If a steward put another policy in place: a cap that is raised after answers were seen is not a cap. If another
        guard has some of the same rows: what it releases about them is on another ledger. If the run has ended:
        exact values were shown.

    Examples
    --------
    >>> import holdfast as hf
    >>> from holdfast.accounting import PureDP
    >>> sample = hf.data.table({"age": [23, 35, 47, 59] * 50_000})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=100, privacy=PureDP(0.01)))
    >>> coherence_of(guard.ledger, beta=0.05, groups=10).size(0.2).rows
    5208
    >>> guard.ask(hf.guard.check("age < 40", guess=0.9)).passed
    False
    >>> coherence_of(guard.ledger, beta=0.05, groups=10).size(0.2).rows
    8727
    """
    arguments.choice("count", count, ("cap", "spent"))

    def work(view: View) -> tuple[GuardState, Cost | None, float]:
        standing = GuardState.of(view)
        whole = read_account(view.account, standing.policy)[1]
        if whole.progress.finals:
            raise GuaranteeUnavailable(
                "nothing is guaranteed about groups, because a final or `close` has shown exact values of these "
                "rows, which no privacy bound covers"
            )
        cap, nats = budget_of(standing).transcript(whole.progress.course, whole.spent)
        return standing, _spent(standing.policy, whole) or cap if count == "spent" else cap, nats

    standing, cap, nats = ledger.look(work)
    standing.require_kept("nothing is guaranteed about groups")
    costs = [Bits(up(nats / math.log(2)))] if nats else []
    released_cost = released([*costs, *([] if cap is None else [cap])], standing.n, beta, groups, mode, population)
    return (
        released_cost
        if count == "cap"
        else replace(released_cost, assumption=f"{released_cost.assumption}; {_IN_ADVANCE}")
    )


_IN_ADVANCE = "the private questions were fixed in advance, and not chosen from answers"


def _spent(policy: Policy, whole: Account) -> Cost | None:
    """What private answers have cost so far; None where nothing counts them one by one."""
    if whole.filter is None:
        return whole.spent
    amounts = whole.filter.spent()
    return PureDP(amounts["epsilon"]) if isinstance(policy.privacy, PureDP) else ZCDP(amounts["rho"])


__all__ = ["coherence_of"]
