"""Looking ahead without spending: estimates, the level of a further test, and whether a batch would fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from holdfast.errors import BudgetExhausted, GuaranteeUnavailable, InvalidParameter, QuestionRefused
from holdfast.guard.accounts import Account, read
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.estimate import Estimate
from holdfast.guard.ledger.entry import Entry
from holdfast.guard.ledger.transaction import View
from holdfast.guard.questions.base import Situation
from holdfast.guard.settling import Asked, Charged, accounts, admit, admit_all, belief_of, known, looked_up
from holdfast.guard.standing import Standing


def estimate(view: View, asked: Asked) -> Estimate:
    """What a question would cost and how wide its answer would be."""
    standing = Standing.of(view)
    held = accounts(view, standing, asked.analyst)
    try:
        stored = known(view, asked)
        if stored is not None:
            width = GuardedAnswer.stored(stored.body["answer"], stored.sequence, True, None).half_width
            return Estimate(asked.bound.cost, width, True, True, "", _left(held, standing, asked.analyst))
        charged = admit(view, standing, asked)
    except (BudgetExhausted, QuestionRefused) as refusal:
        left = _left(held, standing, asked.analyst)
        return Estimate(asked.bound.cost, None, False, reason=str(refusal), remaining=left)
    situation = Situation(belief_of(standing), held.whole.progress, charged.whole.spent)
    try:
        width, least = asked.bound.half_width(situation), asked.bound.least_tolerance(situation)
    except (GuaranteeUnavailable, InvalidParameter) as reason:
        left = _left(held, standing, asked.analyst)
        return Estimate(asked.bound.cost, None, False, reason=str(reason), remaining=left)
    return Estimate(asked.bound.cost, width, True, False, "", _left(charged, standing, asked.analyst), least)


def level(view: View, alpha: float) -> float:
    """The level at which a further p-value must reject; `GuaranteeUnavailable` after a steward's override."""
    standing, whole = _kept(view), _whole(view)
    return belief_of(standing).level(alpha, whole.progress, whole.spent)


def adjusted(view: View, p: float) -> float:
    """What a further p-value is worth; `GuaranteeUnavailable` after a steward's override."""
    standing, whole = _kept(view), _whole(view)
    return belief_of(standing).adjusted(p, whole.progress, whole.spent)


def look_up(view: View, asked: Sequence[Asked]) -> list[Entry | None]:
    """The entries that answer questions already. If the others would be refused now, raise: then no row need be read.

    The ledger decides again, alone; this saves work and decides nothing.
    """
    view.expect(*looked_up(asked))
    before = [known(view, one) for one in asked]
    new = list({one.bound.digest: one for one, entry in zip(asked, before, strict=True) if entry is None}.values())
    if new:
        admit_all(view, new)
        warm(view, new)
    return before


def warm(view: View, asked: Sequence[Asked], prepared: Sequence[Any] | None = None) -> None:
    """Compute the shares that the questions will most likely have, outside the ledger's lock.

    Others may ask meanwhile; then the run stands elsewhere, mostly in the same cell of the grid that shares are
    rounded to, and what was computed here still serves.
    """
    standing = Standing.of(view)
    belief, held = belief_of(standing), accounts(view, standing, asked[0].analyst).whole
    for i, one in enumerate(asked):
        if one.bound.cost is not None and held.spent is not None:
            held = held.charge(one.bound.cost, None, "")
        one.bound.warm(Situation(belief, held.progress, held.spent), None if prepared is None else prepared[i])
        held = held.settle()


def _kept(view: View) -> Standing:
    """The standing of a guard whose caps were kept: a bare number could not say that it is not certified."""
    standing = Standing.of(view)
    if standing.overrides:
        raise GuaranteeUnavailable(
            "a steward put another policy in place after answers were seen, so no cap holds for all of them: a further "
            "p-value cannot be corrected; test on fresh rows"
        )
    return standing


def _whole(view: View) -> Account:
    return read(view.account, Standing.of(view).policy)[1]


def _left(held: Charged, standing: Standing, analyst: str) -> dict[str, object]:
    policy = standing.policy
    return {
        "yours": held.own.remaining(policy.most_questions(analyst)),
        "whole": held.whole.remaining(policy.most_questions()),
    }


__all__ = ["adjusted", "estimate", "level", "look_up", "warm"]
