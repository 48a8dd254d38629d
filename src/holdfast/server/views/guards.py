"""A guard and its ledger, as a caller may see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast.guard import stewarding
from holdfast.guard.ledger.entry import Entry
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.store import HeadRow, Snapshot, StateRow
from holdfast.guard.ledger.verify import verify_snapshot
from holdfast.guard.replay import GuardReplay
from holdfast.server.roles import Caller
from holdfast.server.state import Server


def described(server: Server, row: Mapping[str, Any], caller: Caller) -> dict[str, Any]:
    """What a caller may see of a guard. An analyst sees the whole's totals and no other analyst's."""
    ledger = server.store.ledger(row["dataset"])
    found = {name: row[name] for name in ("id", "name", "sample", "created")} | stewarding.describe(ledger)
    if not caller.steward:
        found["sample"] = None
        found["analysts"] = {k: v for k, v in found["analysts"].items() if k == caller.name}
        named = found["policy"]["analysts"]
        if named is not None:
            found["policy"] = found["policy"] | {"analysts": {k: v for k, v in named.items() if k == caller.name}}
    return found


def page_of(ledger: Ledger, caller: Caller, first: int, limit: int) -> tuple[list[Entry], int | None]:
    """The entries that a caller may see among `limit` from `first` on, and where the next page begins if there is one.

    `limit` counts what is looked at, so that nobody's page costs more than another's: an analyst's may hold fewer.
    """
    found = [entry for entry in ledger.entries(first, first + limit - 1) if caller.sees(entry.analyst)]
    following = first + limit
    return found, following if following <= ledger.head().sequence else None


def verified(server: Server, guard: str, caller: Caller) -> dict[str, Any]:
    """What `holdfast verify` says about one guard's chain."""
    ledger = server.guards.ledger(guard, caller)
    key = None if ledger.key is None else ledger.key.public
    with server.store.snapshot() as rows:
        return verify_snapshot(_One(rows, ledger.dataset), public_key=key, replay=GuardReplay).to_dict()


class _One:
    """The rows of one chain of a store."""

    def __init__(self, rows: Snapshot, dataset: str) -> None:
        self._rows, self._dataset = rows, dataset

    def problems(self) -> list[str]:
        return self._rows.problems()

    def heads(self) -> list[HeadRow]:
        return [row for row in self._rows.heads() if row.dataset == self._dataset]

    def entries(self, name: Any) -> Iterator[Entry]:
        return self._rows.entries(name)

    def accounts(self, name: Any) -> list[StateRow]:
        return self._rows.accounts(name)

    def secrets(self, name: Any) -> list[StateRow] | None:
        return self._rows.secrets(name)


__all__ = ["described", "page_of", "verified"]
