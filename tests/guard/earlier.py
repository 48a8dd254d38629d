"""Ledgers as an earlier version wrote them: overlaps on one side only, no digests of columns."""

from __future__ import annotations

from typing import Any

import holdfast as hf
from holdfast.accounting import PureDP
from holdfast.guard import Policy
from holdfast.guard.ledger.store import Store
from holdfast.guard.opening import SKETCH
from holdfast.guard.state import ACCOUNT, WHOLE, Account, GuardState

POLICY = Policy(questions=20, privacy=PureDP(0.5), spend=PureDP(0.01))


def opened_earlier(store: Store, rows: dict[str, Any], key: str | None = None, overlaps: Any = ()) -> str:
    """Open a guard as it was done before overlaps were marked and columns kept; returns the name of its ledger."""
    sample = hf.data.table(rows, row_key=key)
    name = store.name_of(sample.fingerprint())
    standing = GuardState(POLICY, sample.schema, sample.n).to_dict()
    del standing["overlaps"], standing["not_compared"], standing["policy"]["repeats"]
    sketch = sample.key_sketch()

    def work(transaction: Any) -> None:
        transaction.put_account(WHOLE, Account.fresh(POLICY).to_dict())
        transaction.put_account(ACCOUNT, standing)
        if sketch is not None:
            transaction.put_account(SKETCH, sketch.to_dict())
        body = standing | ({"overlaps": list(overlaps), "allowed_because": "then"} if overlaps else {})
        transaction.append("opened", body)

    store.ledger(name).submit(work)
    return name
