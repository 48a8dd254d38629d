"""Whether the server is well, and its counts."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from starlette.responses import PlainTextResponse

from holdfast.server.errors import Problem
from holdfast.server.metrics import MEDIA_TYPE
from holdfast.server.responses import StrictJSON
from holdfast.server.roles import caller_of
from holdfast.server.state import server_of
from holdfast.server.tables import GUARDS

router = APIRouter(tags=["server"])


@router.get("/healthz", responses={503: {"description": "The ledger cannot be reached"}})
async def healthz(request: Request) -> Response:
    """Whether the server answers and reaches its ledger. Needs no token."""
    server = server_of(request)
    await server.check(server.records.get, GUARDS, id="")
    return StrictJSON({"status": "ok"})


@router.get("/metrics", response_class=PlainTextResponse, responses={401: {"description": "A token is needed"}})
async def metrics(request: Request) -> Response:
    """Counts in Prometheus' text form. Needs a steward's token unless the server was started with open metrics."""
    server = server_of(request)
    if not server.settings.open_metrics and not caller_of(request).steward:
        raise Problem("forbidden", "this takes a steward's token")
    return Response(server.metrics.text(), media_type=MEDIA_TYPE)
