"""What a steward does to a guard, on its ledger alone: no row is needed to pause, close, override or look it up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from holdfast.accounting import Filter, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.errors import InvalidParameter, LedgerConflict
from holdfast.guard.columns import check_declared
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.store import Store
from holdfast.guard.ledger.transaction import Transaction, View
from holdfast.guard.policy import Policy
from holdfast.guard.state import ACCOUNT, ANALYSTS, Account, GuardState, Progress, Status, account_of, read_account

# --- Overriding -------------------------------------------------------------------------------------------------------
# The steward's override: another policy for a run that has begun. What was spent stays spent; it is recorded.


def override_in(transaction: Transaction, policy: Policy, reason: str) -> None:
    """Put `policy` in place, carry every account over, and record the reason."""
    standing = GuardState.of(transaction)
    if not isinstance(policy, Policy):
        raise InvalidParameter(f"policy must be a Policy, got a {type(policy).__name__}")
    if standing.status == "closed":
        raise LedgerConflict("this guard is closed forever and cannot be changed")
    if type(policy.privacy) is not type(standing.policy.privacy) or policy.accounting != standing.policy.accounting:
        raise InvalidParameter(
            "policy must have the same kind of privacy and the same accounting as before, because what was spent is "
            "counted in these"
        )
    if policy.answers != standing.policy.answers:
        raise InvalidParameter(
            "policy must have the same value of answers as before, because earlier answers are accounted for in that "
            "way"
        )
    if policy.answers == "means" and policy.plan != standing.policy.plan:
        raise InvalidParameter(
            f"policy must have the same plan as before, {standing.policy.plan!r}, because earlier answers had the "
            "noise of that plan"
        )
    if policy.answers == "means" and policy.privacy is not None and policy.cap != standing.policy.cap:
        raise InvalidParameter(
            f"policy must have the same cap as before, {standing.policy.cap!r}, because earlier answers had the noise "
            "of that plan"
        )
    if standing.policy.has_looks and not policy.has_looks:
        raise InvalidParameter(
            "policy must allow a kind of question without noise, as before, because only such a policy accounts for "
            "what earlier answers showed"
        )
    if _holdout(policy) != _holdout(standing.policy):
        raise InvalidParameter(
            "policy must have the same holdout, threshold, overfits and holdout_spend as before, because the run of "
            "the holdout has begun"
        )
    check_declared(policy.columns, standing.schema)
    boards = {board.name: board for board in policy.boards or ()}
    before = {board.name: board for board in standing.policy.boards or ()}
    grouped = [board.name for board in boards.values() if board.groups is not None and board.name not in before]
    if grouped:
        raise InvalidParameter(
            f"boards with groups, such as {grouped[0]!r}, cannot be added later: they must be in the policy with "
            "which a guard is opened"
        )
    if any(boards.get(board.name) != board for board in standing.policy.boards or ()):
        raise InvalidParameter(
            "policy must have all earlier boards with unchanged settings, because the scores that they showed are "
            "accounted for by these settings"
        )
    if len(boards) > len(standing.policy.boards or ()):
        policy.require_contest()
    for board in boards.values():
        board.check_schema(standing.schema)
        if board not in (standing.policy.boards or ()) and board.lacks_positive(standing.schema):
            raise InvalidParameter(
                f"positive of board {board.name!r} must be given, because an override does not read the labels of the "
                "rows"
            )
    if policy.boards is not None:  # what was counted at opening stays known
        policy = replace(policy, boards=[before.get(board.name, board) for board in policy.boards])
    name, whole = read_account(transaction.account, standing.policy)
    transaction.put_account(name, carried(whole, policy, None).to_dict())
    listed = transaction.account(ANALYSTS) or {"names": []}
    for analyst in listed["names"]:
        if policy.analysts is None or analyst in policy.analysts:
            _, own = read_account(transaction.account, standing.policy, analyst)
            transaction.put_account(account_of(analyst), carried(own, policy, analyst).to_dict())
    changed = standing.with_policy(policy)
    changed.put(transaction, "override", {"policy": policy.to_dict(), "reason": reason})


def _holdout(policy: Policy) -> tuple[object, ...]:
    return policy.holdout, policy.threshold, policy.overfits, policy.holdout_spend


def carried(account: Account, policy: Policy, analyst: str | None) -> Account:
    """Return the same account under another budget; a budget below what was spent is full."""
    fresh = policy.filter(analyst)
    if fresh is None or account.filter is None:
        return Account(account.progress, fresh, account.spent)
    spent = account.filter.spent()
    cost = PureDP(spent["epsilon"]) if "epsilon" in spent else ZCDP(spent["rho"])
    if not fresh.admits(cost):
        raise InvalidParameter("policy must have a privacy budget of at least what was spent already")
    carried = Filter.from_dict(fresh.to_dict())
    carried.spend(cost)
    return Account(account.progress, carried, account.spent)


# --- Stewarding -------------------------------------------------------------------------------------------------------

DAMAGED = "damaged"
"""The status, in lists, of a guard whose ledger contradicts itself."""

_KINDS: dict[Status, str] = {"paused": "paused", "open": "resumed", "closed": "closed"}


def set_status(ledger: Ledger, status: Status, reason: str = "") -> None:
    """Pause, open again or close for good; recorded."""
    if not isinstance(reason, str):
        raise InvalidParameter("reason must be a text, which the ledger records")

    def work(transaction: Transaction) -> None:
        standing = GuardState.of(transaction)
        if standing.status == "closed":
            raise LedgerConflict("this guard is closed forever and cannot be changed")
        if standing.status == status:
            raise LedgerConflict(f"the status of this guard is {status!r} already, so it was not changed")
        standing.with_status(status).put(transaction, _KINDS[status], {"reason": reason})

    ledger.submit(work)


def override(ledger: Ledger, policy: Policy, reason: str) -> None:
    """Put another policy in the place of the one the ledger was opened with; recorded with its reason."""
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidParameter(
            "reason must be a text that is not empty, because the ledger records an override with its reason"
        )
    ledger.submit(lambda transaction: override_in(transaction, policy, reason))


def status_of(standing: GuardState, progress: Progress) -> str:
    """Return what a guard is now: "open", "paused", "closed", "expired", or "ended" by one failed check too many."""
    if standing.policy.expired():
        return "expired"
    return "ended" if standing.status == "open" and standing.ended(progress) else standing.status


def describe(ledger: Ledger, analyst: str | None = None) -> dict[str, Any]:
    """Everything about a guard that may be shown: schema, rows, policy, status, progress, what is left for whom.

    With `analyst` nobody else's account is read, and nobody else's share is shown. Where histories are separate, the
    analyst's own account is all that there is: progress, status, entries and what is left are those of this analyst.
    """

    def work(view: View) -> dict[str, Any]:
        standing = GuardState.of(view)
        policy = standing.policy
        mine = analyst if policy.histories == "separate" else None
        whole = read_account(view.account, policy, mine)[1]
        names = [
            name for name in (view.account(ANALYSTS) or {"names": []})["names"] if analyst is None or name == analyst
        ]
        own = {name: read_account(view.account, policy, name)[1] for name in names if policy.knows(name)}

        def left(account: Account, most: int | None, failures: int | None = None) -> dict[str, Any]:
            ended = standing.ended((account if policy.histories == "separate" else whole).progress)
            return account.remaining(most, failures) | ({"questions": 0} if ended else {})

        facts = standing.to_dict()
        if analyst is not None and policy.analysts is not None:
            shares = {name: share for name, share in policy.analysts.items() if name == analyst}
            facts["policy"] = facts["policy"] | {"analysts": shares}
        return facts | {
            "dataset": view.dataset,
            "overlaps": len(standing.overlaps),
            "not_compared": len(standing.not_compared),
            "epoch_number": standing.number,
            "status": status_of(standing, whole.progress),
            "entries": view.head.sequence if mine is None else whole.progress.answered,
            "progress": {"failed": whole.progress.failed} | whole.progress.to_dict(),
            "remaining": left(whole, policy.most_questions(mine), policy.failures),
            "analysts": {name: left(account, policy.most_questions(name)) for name, account in own.items()},
        }

    return ledger.look(work)


def list_all(store: Store) -> list[dict[str, Any]]:
    """What `describe` says of every guard of a store; of one whose ledger is damaged, its name and what is wrong."""
    described = []
    for dataset in store.datasets():
        try:
            ledger = store.ledger(dataset)
            if ledger.head().sequence:  # no guard was opened there
                described.append(describe(ledger))
        except (LedgerConflict, InvalidParameter) as error:
            described.append(damaged(dataset, str(error)))
    return described


def damaged(dataset: str, problem: str) -> dict[str, Any]:
    """Return what a list shows of a guard whose ledger contradicts itself: nothing in it is believed."""
    return {"dataset": dataset, "status": DAMAGED, "problem": problem}


def guarded(store: Store) -> list[str]:
    """Return the data sets that a guard was opened for, in order; a chain without an entry is nobody's."""
    return sorted(store.states("account", ACCOUNT, {}))


def find(store: Store, dataset: str | None) -> Ledger:
    """Return the ledger of a data set by the beginning of its fingerprint; without one, the only one there is."""
    known = guarded(store)
    fitting = [one for one in known if dataset is None or one.startswith(dataset)]
    if len(fitting) == 1:
        return store.ledger(fitting[0])
    if not known:
        raise InvalidParameter("this ledger has no guard yet")
    shown = ", ".join(one[:12] for one in (fitting or known)[:8])
    if dataset is None:
        raise InvalidParameter(f"dataset must be given, because there are several data sets: {shown}")
    raise InvalidParameter(
        f"dataset must be the first characters of the fingerprint of exactly one data set, out of {shown}, got "
        f"{dataset[:60]!r}"
    )
