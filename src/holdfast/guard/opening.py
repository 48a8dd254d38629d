"""How a guard begins: the sample's content finds its ledger, and a budget is never refilled by a new name."""

from __future__ import annotations

from typing import Any

from holdfast.data.overlap import Sketch
from holdfast.data.sample import Sample
from holdfast.errors import InvalidParameter, LedgerConflict
from holdfast.guard.accounts import WHOLE, Account
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.store import Store
from holdfast.guard.ledger.transaction import Transaction
from holdfast.guard.policy import Policy
from holdfast.guard.questions import threshold_check
from holdfast.guard.questions.base import Hidden
from holdfast.guard.standing import ACCOUNT, Standing

SKETCH = "row-keys"
"""The account that holds a sketch of the sample's row keys."""


def begin(store: Store, sample: Sample, policy: Policy | None, allow_overlap: str | None) -> Ledger:
    """The ledger of a sample, begun under `policy` if it is new; refused where its rows are guarded already.

    Raises
    ------
    InvalidParameter
        A new sample without a policy.
    LedgerConflict
        A known sample with another policy, or a new one that shares rows with another in this store.
    """
    if allow_overlap is not None and (not isinstance(allow_overlap, str) or not allow_overlap.strip()):
        raise InvalidParameter("allow_overlap must be the reason, a text, which is recorded")
    name = store.name_of(sample.fingerprint())
    sketch = sample.key_sketch()
    ledger = store.ledger(name)
    if ledger.head().sequence == 0:
        if policy is None:
            raise InvalidParameter("policy must be given: this sample has no ledger yet")
        overlaps = [] if sketch is None else _overlaps(store, name, sketch)
        if overlaps and allow_overlap is None:
            raise LedgerConflict(
                f"this sample shares rows with {len(overlaps)} that this store guards already, so its answers would "
                "spend rows twice; give allow_overlap a reason to record, or guard the union"
            )
        for board in policy.boards or ():
            board.check_schema(sample.schema)
        standing = Standing(policy, sample.schema, sample.n)
        ledger.submit(lambda transaction: _open(transaction, standing, sketch, overlaps, allow_overlap))
    held = ledger.look(Standing.of)
    if policy is not None and policy != held.policy:
        raise LedgerConflict(
            "this sample was opened under another policy, which stands; leave policy out to go on under it, or let the "
            "steward override it, which is recorded"
        )
    return ledger


def _open(
    transaction: Transaction, standing: Standing, sketch: Sketch | None, overlaps: list[str], reason: str | None
) -> None:
    if transaction.head.sequence:  # another process was first; its policy stands
        return
    transaction.put_account(WHOLE, Account.fresh(standing.policy).to_dict())
    transaction.put_account(ACCOUNT, standing.to_dict())
    if sketch is not None:
        transaction.put_account(SKETCH, sketch.to_dict())
    threshold_check.begin(standing.policy, standing.n, Hidden(transaction))
    body: dict[str, Any] = standing.to_dict()
    if standing.policy.holdout_spend is not None:
        body["cost"] = standing.policy.holdout_spend.to_dict()
    if overlaps:
        body |= {"overlaps": overlaps, "allowed_because": reason}
    transaction.append("opened", body)


def _overlaps(store: Store, name: str, sketch: Sketch) -> list[str]:
    """Names of guarded samples that share row keys with this one."""
    found = []
    for other in store.datasets():
        if other == name:
            continue
        plain = store.ledger(other).look(lambda view: view.account(SKETCH))
        if plain is not None and Sketch.from_dict(plain).overlaps(sketch):
            found.append(other)
    return found


__all__ = ["SKETCH", "begin"]
