"""The ledger: an append-only, hash-chained record of what was asked of a data set, what it cost and what was answered.

`open_store` opens a store (memory, SQLite, PostgreSQL), `Store.ledger` the chain of one data set, and `Ledger.submit`
is the only way to write: it runs a function alone, commits durably, and only then returns what the function returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.lazy import lazy

_HOMES = {
    "Checkpoint": "checkpoint",
    "Entry": "entry",
    "Finding": "verify",
    "Head": "entry",
    "Inclusion": "merkle_tree",
    "Ledger": "ledger",
    "Receipt": "receipts",
    "SigningKey": "receipts",
    "Store": "store",
    "Transaction": "transaction",
    "TreeHead": "merkle_tree",
    "Verification": "verify",
    "View": "transaction",
    "open_store": "opening",
    "verify_store": "verify",
}

if TYPE_CHECKING:
    from holdfast.guard.ledger import events, export
    from holdfast.guard.ledger.checkpoint import Checkpoint
    from holdfast.guard.ledger.entry import Entry, Head
    from holdfast.guard.ledger.ledger import Ledger
    from holdfast.guard.ledger.merkle_tree import Inclusion, TreeHead
    from holdfast.guard.ledger.opening import open_store
    from holdfast.guard.ledger.receipts import Receipt, SigningKey
    from holdfast.guard.ledger.store import Store
    from holdfast.guard.ledger.transaction import Transaction, View
    from holdfast.guard.ledger.verify import Finding, Verification, verify_store

__getattr__, __dir__ = lazy(__name__, _HOMES, ("events", "export"))

__all__ = [
    "Checkpoint",
    "Entry",
    "Finding",
    "Head",
    "Inclusion",
    "Ledger",
    "Receipt",
    "SigningKey",
    "Store",
    "Transaction",
    "TreeHead",
    "Verification",
    "View",
    "events",
    "export",
    "open_store",
    "verify_store",
]
