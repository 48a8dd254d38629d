"""The ledger: its entries, receipts, and whether it is genuine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

from fastapi import Path, Query, Request, Response

from holdfast.guard.ledger.entry import Entry
from holdfast.guard.ledger.receipts import Receipt
from holdfast.guard.ledger.store import HeadRow, Snapshot, StateRow
from holdfast.guard.ledger.verify import verify_snapshot
from holdfast.guard.replay import GuardReplay
from holdfast.server import shapes
from holdfast.server.errors import Problem
from holdfast.server.responses import StrictJSON
from holdfast.server.roles import Anyone, Caller, Steward
from holdfast.server.routes import answers
from holdfast.server.routes import router as make_router
from holdfast.server.state import Server, server_of

router = make_router("ledger")
_LARGEST = 2**62


@router.get("/guards/{guard}/entries", responses=answers(shapes.Entries))
async def entries(
    request: Request,
    guard: str,
    caller: Anyone,
    first: Annotated[int, Query(ge=1, le=_LARGEST, description="The number of the entry to begin with")] = 1,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many entries to look at")] = 100,
) -> Response:
    """Entries in order: all of them for a steward, an analyst's own for an analyst.

    `limit` counts what is looked at; an analyst's page may hold fewer.
    """
    server = server_of(request)

    def work() -> dict[str, Any]:
        ledger = server.guards.ledger(guard, caller)
        found = list(ledger.entries(first, first + limit - 1))
        end = ledger.head().sequence
        following = first + limit
        return {
            "entries": [entry.to_dict() for entry in found if _own(entry, caller)],
            "next": following if following <= end else None,
        }

    return StrictJSON(await server.work(work))


@router.get("/guards/{guard}/entries/{sequence}/receipt", responses=answers(dict[str, Any]))
async def receipt(
    request: Request, guard: str, sequence: Annotated[int, Path(ge=1, le=_LARGEST)], caller: Anyone
) -> Response:
    """The signed receipt of an entry, for `holdfast verify`."""
    server = server_of(request)

    def work() -> dict[str, Any]:
        ledger = server.guards.ledger(guard, caller)
        found = list(ledger.entries(sequence, sequence))
        if not found or not _own(found[0], caller) or ledger.key is None:
            raise Problem("not-found", "there is no receipt of that number for this token")
        return Receipt.of(found[0], ledger.key).to_dict()

    return StrictJSON(await server.work(work))


@router.post("/guards/{guard}/verify", responses=answers(shapes.VerificationFacts))
async def verify(request: Request, guard: str, caller: Steward) -> Response:
    """Check the guard's chain, its arithmetic and its signatures, from the first entry to the last."""
    server = server_of(request)
    return StrictJSON(await server.work(verified, server, guard, caller))


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


def _own(entry: Entry, caller: Caller) -> bool:
    return caller.steward or entry.analyst == caller.name


__all__ = ["router", "verified"]
