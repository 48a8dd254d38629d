"""Audit reports: uploading what `holdfast audit` wrote, showing it to analysts, viewing, deleting."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query, Request, Response

from holdfast.server import shapes
from holdfast.server.auth.tokens import Anyone, Steward
from holdfast.server.http import Problem, StrictJSON, too_large
from holdfast.server.reports import MEDIA_TYPE
from holdfast.server.routes import answers
from holdfast.server.routes import router as make_router
from holdfast.server.shapes import EXAMPLE, REPORT
from holdfast.server.state import server_of
from holdfast.server.views import whole_report

router = make_router("reports")
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The JSON file that `holdfast audit` writes next to its page",
        "content": {MEDIA_TYPE: {"schema": REPORT, "example": EXAMPLE}},
    }
}
_JSON = {"description": "The report as it was written", "content": {MEDIA_TYPE: {"schema": {"type": "object"}}}}
_HTML = {"description": "One page that loads nothing", "content": {"text/html": {"schema": {"type": "string"}}}}


@router.post(
    "/reports",
    status_code=201,
    responses=answers(shapes.ReportFacts, "name-taken", status=201) | {200: {"model": shapes.ReportFacts}},
    openapi_extra=_BODY,
)
async def upload(request: Request, caller: Steward, name: Annotated[shapes.Name, Query()]) -> Response:
    """Upload an audit's report. It is read strictly and kept as data; analysts see it once it is published.

    The same report under the same name again is answered with 200 and changes nothing.
    """
    server = server_of(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != MEDIA_TYPE:
        raise Problem("unsupported-media-type", f"send the report as {MEDIA_TYPE}")
    body = await body_of(request, server.settings.max_report)
    report, new = await server.work(server.reports.add, name, body, caller.name)
    return StrictJSON(report, 201 if new else 200)


@router.get("/reports", responses=answers(shapes.Reports))
async def reports(request: Request, caller: Anyone) -> Response:
    """Every report that the token may see, newest first: for analysts, those that were published."""
    server = server_of(request)
    return StrictJSON({"reports": await server.work(server.reports.list, caller)})


@router.get("/reports/{report}", responses=answers(shapes.ReportFacts))
async def show(request: Request, report: str, caller: Anyone) -> Response:
    """What is listed of one report."""
    server = server_of(request)
    return StrictJSON(await server.work(server.reports.row, report, caller))


@router.get("/reports/{report}/content", responses=answers(None) | {200: _JSON})
async def content(request: Request, report: str, caller: Anyone) -> Response:
    """The whole report: every number of its page. Its SHA-256 is the report's digest."""
    server = server_of(request)
    return Response(await server.work(server.reports.content, report, caller), media_type=MEDIA_TYPE)


@router.get("/reports/{report}/view", responses=answers(None) | {200: _HTML})
async def view(request: Request, report: str, caller: Anyone) -> Response:
    """The report as one page that loads nothing and runs nothing, made here from its data."""
    return await whole_report(request, report, caller)


@router.post("/reports/{report}/publish", responses=answers(shapes.ReportFacts))
async def publish(request: Request, report: str, caller: Steward) -> Response:
    """Let every analyst see it."""
    server = server_of(request)
    return StrictJSON(await server.work(server.reports.publish, report, caller, True))


@router.post("/reports/{report}/withdraw", responses=answers(shapes.ReportFacts))
async def withdraw(request: Request, report: str, caller: Steward) -> Response:
    """Show it to stewards only."""
    server = server_of(request)
    return StrictJSON(await server.work(server.reports.publish, report, caller, False))


@router.delete("/reports/{report}", status_code=204, responses=answers(None))
async def remove(request: Request, report: str, caller: Steward) -> Response:
    """Delete it for good."""
    server = server_of(request)
    await server.work(server.reports.remove, report, caller)
    return Response(status_code=204)


async def body_of(request: Request, most: int) -> bytes:
    """A body up to a limit that is smaller than an upload's."""
    parts, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise too_large(most)
        parts.append(piece)
    return b"".join(parts)
