"""The ledger: its entries, receipts, and whether it is genuine."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Request, Response

from holdfast.guard.ledger.entry import Entry
from holdfast.guard.ledger.receipts import Receipt
from holdfast.server import shapes
from holdfast.server.errors import Problem
from holdfast.server.responses import StrictJSON
from holdfast.server.roles import Anyone, Caller, Steward
from holdfast.server.routes import answers
from holdfast.server.routes import router as make_router
from holdfast.server.state import server_of
from holdfast.server.views.guards import verified

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


def _own(entry: Entry, caller: Caller) -> bool:
    return caller.steward or entry.analyst == caller.name


__all__ = ["router"]
