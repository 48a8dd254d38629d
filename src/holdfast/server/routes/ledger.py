"""The ledger: its entries, receipts, and whether it is genuine."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Request, Response

from holdfast.guard.ledger.receipts import Receipt
from holdfast.server import shapes
from holdfast.server.auth.tokens import Anyone, Steward
from holdfast.server.http import Problem, StrictJSON
from holdfast.server.routes import answers
from holdfast.server.routes import router as make_router
from holdfast.server.state import server_of
from holdfast.server.views import entry_for, page_of, verified

router = make_router("ledger")
_LARGEST = 2**62


@router.get("/guards/{guard}/entries", responses=answers(shapes.Entries))
async def entries(
    request: Request,
    guard: str,
    caller: Anyone,
    first: Annotated[int, Query(ge=1, le=_LARGEST, description="The number of the entry to begin with")] = 1,
    limit: Annotated[int, Query(ge=1, le=1000, description="How many entries, at most")] = 100,
    before: Annotated[
        int | None,
        Query(ge=1, le=_LARGEST, description="The last entries before this number, in the place of the first"),
    ] = None,
    analyst: Annotated[
        str | None, Query(min_length=1, max_length=200, description="Whose, for stewards; everybody's if not given")
    ] = None,
) -> Response:
    """Entries in order: all of them, or one analyst's, for a steward; an analyst's own for an analyst.

    A page holds `limit` of them while there are as many. `next` is the `first` of the page after it, or with `before`
    the `before` of the one that precedes it.
    """
    server = server_of(request)

    def work() -> dict[str, Any]:
        ledger = server.guards.ledger(guard, caller)
        found, following = page_of(ledger, caller, limit, first=first, before=before, analyst=analyst)
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
        found = entry_for(ledger, caller, sequence)
        if found is None or ledger.key is None:
            raise Problem("not-found", "there is no receipt of that number for this token")
        return Receipt.of(found, ledger.key).to_dict()

    return StrictJSON(await server.work(work))


@router.post("/guards/{guard}/verify", responses=answers(shapes.VerificationFacts))
async def verify(request: Request, guard: str, caller: Steward) -> Response:
    """Check the guard's chain, its arithmetic and its signatures, from the first entry to the last."""
    server = server_of(request)
    return StrictJSON(await server.work(verified, server, guard, caller))
