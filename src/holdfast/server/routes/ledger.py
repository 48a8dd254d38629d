"""The ledger: its entries, receipts, and whether it is genuine."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Request, Response

from holdfast.guard.ledger.receipts import Receipt
from holdfast.server import shapes
from holdfast.server.errors import Problem
from holdfast.server.responses import StrictJSON
from holdfast.server.roles import Anyone, Steward
from holdfast.server.routes import answers
from holdfast.server.routes import router as make_router
from holdfast.server.state import server_of
from holdfast.server.views.guards import page_of, verified

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
        found, following = page_of(server.guards.ledger(guard, caller), caller, first, limit)
        return {"entries": [entry.to_dict() for entry in found], "next": following}

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
        if not found or not caller.sees(found[0].analyst) or ledger.key is None:
            raise Problem("not-found", "there is no receipt of that number for this token")
        return Receipt.of(found[0], ledger.key).to_dict()

    return StrictJSON(await server.work(work))


@router.post("/guards/{guard}/verify", responses=answers(shapes.VerificationFacts))
async def verify(request: Request, guard: str, caller: Steward) -> Response:
    """Check the guard's chain, its arithmetic and its signatures, from the first entry to the last."""
    server = server_of(request)
    return StrictJSON(await server.work(verified, server, guard, caller))


__all__ = ["router"]
