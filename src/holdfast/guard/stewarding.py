"""What a steward does to a guard, on its ledger alone: no row is needed to pause, close, override or look it up."""

from __future__ import annotations

from typing import Any

from holdfast.errors import InvalidParameter, LedgerConflict
from holdfast.guard.accounts import ANALYSTS, read
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.store import Store
from holdfast.guard.ledger.transaction import Transaction
from holdfast.guard.overriding import override as override_in
from holdfast.guard.policy import Policy
from holdfast.guard.standing import Standing, Status

_KINDS: dict[Status, str] = {"paused": "paused", "open": "resumed", "closed": "closed"}


def set_status(ledger: Ledger, status: Status, reason: str = "") -> None:
    """Pause, open again or close for good; recorded."""
    if not isinstance(reason, str):
        raise InvalidParameter("reason must be a text")

    def work(transaction: Transaction) -> None:
        standing = Standing.of(transaction)
        if standing.status == "closed":
            raise LedgerConflict("this guard is closed for good")
        if standing.status == status:
            raise LedgerConflict(f"this guard is {status} already")
        standing.with_status(status).put(transaction, _KINDS[status], {"reason": reason})

    ledger.submit(work)


def override(ledger: Ledger, policy: Policy, reason: str) -> None:
    """Put another policy in the place of the one the ledger was opened with; recorded with its reason."""
    if not isinstance(reason, str) or not reason.strip():
        raise InvalidParameter("reason must be a text: an override is recorded with its reason")
    ledger.submit(lambda transaction: override_in(transaction, policy, reason))


def describe(ledger: Ledger) -> dict[str, Any]:
    """Everything about a guard that may be shown: schema, rows, policy, status, progress, what is left for whom."""

    def work(view: Any) -> dict[str, Any]:
        standing = Standing.of(view)
        policy = standing.policy
        whole = read(view.account, policy)[1]
        names = (view.account(ANALYSTS) or {"names": []})["names"]
        analysts = {
            name: read(view.account, policy, name)[1].remaining(policy.most_questions(name))
            for name in names
            if policy.analysts is None or name in policy.analysts
        }
        return standing.to_dict() | {
            "dataset": view.dataset,
            "status": "expired" if policy.expired() else standing.status,
            "entries": view.head.sequence,
            "progress": whole.progress.to_dict(),
            "remaining": whole.remaining(policy.most_questions()),
            "analysts": analysts,
        }

    return ledger.look(work)


def find(store: Store, dataset: str | None) -> Ledger:
    """The ledger of a data set by the beginning of its fingerprint; without one, the only one there is."""
    known = store.datasets()
    fitting = [one for one in known if dataset is None or one.startswith(dataset)]
    if len(fitting) == 1:
        return store.ledger(fitting[0])
    if not known:
        raise InvalidParameter("this store guards no data set yet")
    shown = ", ".join(one[:12] for one in (fitting or known)[:8])
    if dataset is None:
        raise InvalidParameter(f"dataset must name one of several data sets: {shown}")
    raise InvalidParameter(f"dataset must be the beginning of one fingerprint of {shown}, got {dataset[:60]!r}")


__all__ = ["describe", "find", "override", "set_status"]
