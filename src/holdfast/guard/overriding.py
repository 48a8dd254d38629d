"""The steward's override: another policy for a run that has begun. What was spent stays spent; it is recorded."""

from __future__ import annotations

from holdfast.accounting import Filter, PureDP
from holdfast.accounting.costs import ZCDP
from holdfast.errors import InvalidParameter, LedgerConflict
from holdfast.guard.accounts import ANALYSTS, Account, account_of, read
from holdfast.guard.ledger.transaction import Transaction
from holdfast.guard.policy import Policy
from holdfast.guard.standing import Standing


def override(transaction: Transaction, policy: Policy, reason: str) -> None:
    """Put `policy` in place, carry every account over, and record the reason."""
    standing = Standing.of(transaction)
    if not isinstance(policy, Policy):
        raise InvalidParameter(f"policy must be a Policy, got a {type(policy).__name__}")
    if standing.status == "closed":
        raise LedgerConflict("this guard is closed for good")
    if type(policy.privacy) is not type(standing.policy.privacy) or policy.accounting != standing.policy.accounting:
        raise InvalidParameter(
            "policy must keep the kind of privacy and of accounting: what was spent is counted in it"
        )
    if policy.answers != standing.policy.answers:
        raise InvalidParameter("policy must keep answers: what was answered so far is counted in that way")
    if standing.policy.has_looks and not policy.has_looks:
        raise InvalidParameter(
            "policy must keep a question without noise in kinds: what such answers showed is counted only there"
        )
    if _holdout(policy) != _holdout(standing.policy):
        raise InvalidParameter("policy must keep the holdout and what it was opened with: its run has begun")
    kept = {board.name: board for board in policy.boards or ()}
    if any(kept.get(board.name) != board for board in standing.policy.boards or ()):
        raise InvalidParameter("policy must keep its boards as they are: what they showed is counted by their settings")
    for board in kept.values():
        board.check_schema(standing.schema)
    name, whole = read(transaction.account, standing.policy)
    transaction.put_account(name, carried(whole, policy, None).to_dict())
    listed = transaction.account(ANALYSTS) or {"names": []}
    for analyst in listed["names"]:
        if policy.analysts is None or analyst in policy.analysts:
            _, own = read(transaction.account, standing.policy, analyst)
            transaction.put_account(account_of(analyst), carried(own, policy, analyst).to_dict())
    changed = standing.with_policy(policy)
    changed.put(transaction, "override", {"policy": policy.to_dict(), "reason": reason})


def _holdout(policy: Policy) -> tuple[object, ...]:
    return policy.holdout, policy.threshold, policy.overfits, policy.holdout_spend


def carried(account: Account, policy: Policy, analyst: str | None) -> Account:
    """The same account under another budget; a budget below what was spent is full."""
    fresh = policy.filter(analyst)
    if fresh is None or account.filter is None:
        return Account(account.progress, fresh, account.spent)
    spent = account.filter.spent()
    cost = PureDP(spent["epsilon"]) if "epsilon" in spent else ZCDP(spent["rho"])
    if not fresh.admits(cost):
        raise InvalidParameter("policy must leave room for what was spent already")
    carried = Filter.from_dict(fresh.to_dict())
    carried.spend(cost)
    return Account(account.progress, carried, account.spent)


__all__ = ["carried", "override"]
