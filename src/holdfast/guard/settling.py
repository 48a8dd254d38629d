"""One question inside the ledger's lock: was it answered before, does its cost fit, what is the answer, who pays.

Everything here runs alone on the chain and becomes durable together. Nothing is released by this module.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import (
    BudgetExhausted,
    GuaranteeUnavailable,
    HoldfastError,
    InvalidParameter,
    LedgerConflict,
    QuestionRefused,
)
from holdfast.guard.accounts import ANALYSTS, WHOLE, Account, account_of
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.belief import Belief
from holdfast.guard.ledger.entry import Entry, check_name
from holdfast.guard.ledger.transaction import Transaction, View
from holdfast.guard.policy import PRIVATE
from holdfast.guard.progress import Progress
from holdfast.guard.questions.base import Bound, Hidden, Question, Situation
from holdfast.guard.standing import Standing
from holdfast.noise.entropy import Source

AFTER_OVERRIDE = "; the steward changed the policy after answers had been seen, so that confidence is not certified"


@dataclass(frozen=True)
class Asked:
    """A bound question, who asks it, and the key that makes a retry the same question.

    `overrides` is how often the policy had been changed when the question was checked against it.
    """

    bound: Bound
    analyst: str
    key: str | None = None
    overrides: int = 0


def bind(question: Question | Mapping[str, Any], standing: Standing, analyst: str, key: str | None = None) -> Asked:
    """Check a question and who asks it against the policy and the schema; nothing of the sample is touched."""
    standing.policy.share(analyst)
    if key is not None:
        check_name("key", key)  # before it is looked up together with those of others
    made = question if isinstance(question, Question) else Question.from_dict(question)
    if made.kind not in (standing.policy.kinds or ()):
        allowed = ", ".join(standing.policy.kinds or ())
        mixed = standing.policy.privacy is None and standing.policy.answers == "mixed"
        why = "; noise needs `privacy` in a policy" if mixed and made.kind in PRIVATE else ""
        raise QuestionRefused(f"a {made.kind} may not be asked here; the policy allows {allowed}{why}")
    bound = made.bind(standing.schema, standing.n, standing.policy).by(analyst)
    return Asked(bound, analyst, key, standing.overrides)


def looked_up(asked: Sequence[Asked]) -> tuple[list[tuple[str | None, str]], list[str]]:
    """The keys and questions that the ledger will be asked for, to be fetched at once."""
    return [(one.analyst, one.key) for one in asked if one.key is not None], [one.bound.digest for one in asked]


def known(view: View, asked: Asked) -> Entry | None:
    """The entry that answers this question already: by its key, or because it was asked before; else None.

    Raises `LedgerConflict` if the key stands for another question.
    """
    if asked.key is not None:
        entry = view.find_key(asked.analyst, asked.key)
        if entry is not None:
            if entry.body["digest"] != asked.bound.digest:
                raise LedgerConflict(f"key {asked.key!r} was used for another question")
            if entry.kind == "answered":
                return entry
    return view.find_question(asked.bound.digest)


def reservation(view: View, asked: Asked) -> Entry | None:
    """The entry that paid for this question under this key without answering it: a crash came between."""
    entry = None if asked.key is None else view.find_key(asked.analyst, asked.key)
    return entry if entry is not None and entry.kind == "reserved" else None


@dataclass(frozen=True)
class Charged:
    """The accounts after a question was let in."""

    whole: Account
    own: Account
    analyst: str

    @property
    def names(self) -> tuple[str, str]:
        """The names that the accounts are kept by."""
        return WHOLE, account_of(self.analyst)

    def put(self, transaction: Transaction) -> None:
        """Store both."""
        for name, account in zip(self.names, (self.whole, self.own), strict=True):
            _remember(transaction.put_account(name, account.to_dict()), account)
        if self.own.progress.admitted == 1:
            names = (transaction.account(ANALYSTS) or {"names": []})["names"]
            if self.analyst not in names:
                transaction.put_account(ANALYSTS, {"names": [*names, self.analyst]})

    def settled(self, passed: bool | None, shown: int) -> Charged:
        """After the answer."""
        outcome = (passed is not False, shown)
        return replace(self, whole=self.whole.settle(*outcome), own=self.own.settle(*outcome))


def accounts(view: View, standing: Standing, analyst: str) -> Charged:
    """The accounts as they are."""
    whole, own = (
        Account.fresh(standing.policy, who) if text is None else _account(text)
        for who, text in ((None, view.account_text(WHOLE)), (analyst, view.account_text(account_of(analyst))))
    )
    return Charged(whole, own, analyst)


_accounts: dict[str, Account] = {}


def _account(text: str) -> Account:
    """An account from its text; remembered, because it is read several times for a question. Accounts never change."""
    return _accounts.get(text) or _remember(text, Account.from_dict(json.loads(text)))


def _remember(text: str, account: Account) -> Account:
    if len(_accounts) >= 1024:
        _accounts.clear()
    _accounts[text] = account
    return account


def require(view: View, standing: Standing, asked: Asked, progress: Progress) -> None:
    """Raise where no question is answered now, paid for or not; everything this goes by is public."""
    standing.require_open()
    if asked.overrides != standing.overrides:
        raise LedgerConflict("the steward changed the policy while the question was on its way; ask it again")
    most = standing.policy.failures
    if most is not None and progress.failed > most:
        raise BudgetExhausted(f"failures were capped at {most} and one more came: this guard answers nothing further")
    asked.bound.require(view)


def admit(view: View, standing: Standing, asked: Asked, before: Charged | None = None) -> Charged:
    """Charge the question to the whole and to its analyst; `BudgetExhausted` or `QuestionRefused` change nothing."""
    policy, analyst, cost = standing.policy, asked.analyst, asked.bound.cost
    before = accounts(view, standing, analyst) if before is None else before
    require(view, standing, asked, before.whole.progress)
    whole = before.whole.charge(cost, policy.most_questions(), "all analysts together")
    own = before.own.charge(cost, policy.most_questions(analyst), f"analyst {analyst!r}")
    return replace(before, whole=whole, own=own)


def admit_all(view: View, asked: Sequence[Asked]) -> None:
    """Raise unless all new questions of one analyst fit together, as far as that is known before they are answered."""
    standing, charged = Standing.of(view), None
    for one in asked:
        if known(view, one) is None and reservation(view, one) is None:
            charged = admit(view, standing, one, charged)


def reserve(transaction: Transaction, asked: Asked) -> Entry:
    """Pay for a question whose statistic will take long, before it is computed. Repeated with its key it pays once."""
    answered = known(transaction, asked) or reservation(transaction, asked)
    if answered is not None:
        return answered
    charged = admit(transaction, Standing.of(transaction), asked)
    charged.put(transaction)
    return transaction.append("reserved", _body(asked, charged), analyst=asked.analyst, key=asked.key)


@dataclass(frozen=True)
class Batch:
    """What became of a batch: an entry for each question that was answered, and why the next one was not."""

    entries: tuple[Entry, ...]
    stopped: HoldfastError | None = None


def settle_all(
    transaction: Transaction, asked: Sequence[Asked], prepared: Sequence[Any], paid: Sequence[Entry | None]
) -> Batch:
    """Answer questions that were chosen together.

    Whether their costs fit is public and decided first: if not, nothing happens. Whether a later one can be answered
    may also hang on how the looks before it came out. Then those answers must stand: to take them back, and say why,
    would tell about the rows for nothing.
    """
    if len(asked) > 1:
        admit_all(transaction, [one for one, entry in zip(asked, paid, strict=True) if entry is None])
    entries: list[Entry] = []
    for one, part, entry in zip(asked, prepared, paid, strict=True):
        try:
            entries.append(settle(transaction, one, part, entry))
        except _REFUSALS as refusal:
            if not entries:
                raise
            return Batch(tuple(entries), refusal)
    return Batch(tuple(entries))


_REFUSALS = (BudgetExhausted, GuaranteeUnavailable, InvalidParameter, LedgerConflict, QuestionRefused)


def settle(
    transaction: Transaction, asked: Asked, prepared: Any, paid: Entry | None = None, source: Source | None = None
) -> Entry:
    """Answer a question, charge it unless `paid` has, and store the answer; or return the entry that answered it.

    `source` is for tests: a guard draws from the operating system.
    """
    answered = known(transaction, asked)
    if answered is not None:
        return answered
    standing = Standing.of(transaction)
    paid = reservation(transaction, asked) or paid
    if paid is None:
        charged = admit(transaction, standing, asked)
    else:
        charged = accounts(transaction, standing, asked.analyst)
        require(transaction, standing, asked, charged.whole.progress)
    situation = Situation(belief_of(standing), charged.whole.progress, charged.whole.spent, source, Hidden(transaction))
    found = asked.bound.settle(prepared, situation)
    charged = charged.settled(found.passed, found.shown)
    charged.put(transaction)
    policy = standing.policy
    answer = GuardedAnswer(
        found.value,
        found.interval,
        _after_overrides(found.guarantee, standing),
        found.passed,
        asked.bound.cost,
        {
            "yours": charged.own.remaining(policy.most_questions(asked.analyst)),
            "whole": charged.whole.remaining(policy.most_questions()),
        },
        found.details,
    )
    body = _body(asked, charged) | {"answer": answer.released(), "shown": found.shown}
    if paid is not None:
        body["paid"] = paid.sequence
    return transaction.append("answered", body, analyst=asked.analyst, key=asked.key, question=asked.bound.digest)


_beliefs: dict[tuple[int, str], Belief] = {}


def belief_of(standing: Standing) -> Belief:
    """The shares of a guard; kept, because their corrections take milliseconds to compute and never change."""
    name = standing.n, standing.policy_name
    found = _beliefs.get(name)  # looked up once: another thread may clear them meanwhile
    if found is None:
        if len(_beliefs) >= 256:
            _beliefs.clear()
        found = _beliefs[name] = Belief(standing.n, standing.policy)
    return found


def _body(asked: Asked, charged: Charged) -> dict[str, Any]:
    cost = asked.bound.cost
    plain = None if cost is None else cost.to_dict()
    return {
        "question": asked.bound.question,
        "digest": asked.bound.digest,
        "cost": plain,
        "accounts": list(charged.names),
    }


def _after_overrides(guarantee: Guarantee, standing: Standing) -> Guarantee:
    if not standing.overrides:
        return guarantee
    return replace(guarantee, assumption=guarantee.assumption + AFTER_OVERRIDE, certified=False)


def stored_answer(entry: Entry, repeated: bool, receipt: Mapping[str, Any] | None) -> GuardedAnswer:
    """What an entry answered."""
    return GuardedAnswer.stored(entry.body["answer"], entry.sequence, repeated, receipt)


__all__ = [
    "Asked",
    "Batch",
    "Charged",
    "accounts",
    "admit",
    "admit_all",
    "belief_of",
    "bind",
    "known",
    "looked_up",
    "require",
    "reservation",
    "reserve",
    "settle",
    "settle_all",
    "stored_answer",
]
