"""The ledger: its entries, receipts, and whether it is genuine."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Path, Query, Request, Response

from holdfast.guard.ledger import Ledger
from holdfast.guard.ledger.receipts import Receipt
from holdfast.server import shapes
from holdfast.server.auth.tokens import Anyone, Caller, Steward
from holdfast.server.http import Problem, StrictJSON
from holdfast.server.routes import answers
from holdfast.server.routes import router as make_router
from holdfast.server.state import server_of
from holdfast.server.views import entry_for, has_seats, page_of, verified

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
        entries, following = page_of(ledger, caller, limit, first=first, before=before, analyst=analyst)
        return {"entries": [entry.to_dict() for entry in entries], "next": following}

    return StrictJSON(await server.work(work))


@router.get("/guards/{guard}/entries/{sequence}/receipt", responses=answers(dict[str, Any]))
async def receipt(
    request: Request, guard: str, sequence: Annotated[int, Path(ge=1, le=_LARGEST)], caller: Anyone
) -> Response:
    """The signed receipt of an entry, for `holdfast verify`."""
    server = server_of(request)

    def work() -> dict[str, Any]:
        ledger = server.guards.ledger(guard, caller)
        entry = entry_for(ledger, caller, sequence)
        if entry is None or ledger.key is None:
            raise Problem("not-found", "there is no receipt of that number for this token")
        return Receipt.of(entry, ledger.key).to_dict()

    return StrictJSON(await server.work(work))


@router.get("/guards/{guard}/head", responses=answers(shapes.TreeHeadFacts))
async def head(request: Request, guard: str, caller: Anyone) -> Response:
    """How many entries the ledger has and the root of the Merkle tree over them, signed: a head to be published."""
    server = server_of(request)

    def work() -> dict[str, Any]:
        return _whole(server.guards.ledger(guard, caller), caller).tree_head().to_dict()

    return StrictJSON(await server.work(work))


@router.get("/guards/{guard}/entries/{sequence}/proof", responses=answers(shapes.InclusionFacts))
async def proof(
    request: Request,
    guard: str,
    sequence: Annotated[int, Path(ge=1, le=_LARGEST)],
    caller: Anyone,
    size: Annotated[
        int | None, Query(ge=1, le=_LARGEST, description="The number of entries of the head; all if not given")
    ] = None,
) -> Response:
    """The path of hashes from an entry to the root of a head, which shows that the entry is in the ledger."""
    server = server_of(request)

    def work() -> dict[str, Any]:
        ledger = _whole(server.guards.ledger(guard, caller), caller)
        if entry_for(ledger, caller, sequence) is None:
            raise Problem("not-found", "there is no entry of that number for this token")
        return ledger.inclusion(sequence, size).to_dict()

    return StrictJSON(await server.work(work))


def _whole(ledger: Ledger, caller: Caller) -> Ledger:
    """The ledger, for who may know how many entries it has."""
    if not caller.steward and has_seats(ledger):
        raise Problem("not-found", "there is no head here: histories are separate, and it would show what others asked")
    return ledger


@router.post("/guards/{guard}/verify", responses=answers(shapes.VerificationFacts))
async def verify(request: Request, guard: str, caller: Steward) -> Response:
    """Check the guard's chain, its arithmetic and its signatures, from the first entry to the last."""
    server = server_of(request)
    return StrictJSON(await server.work(verified, server, guard, caller))
