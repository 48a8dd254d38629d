"""Audit reports: the list, one at a glance, and the whole page that the library makes of it."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from starlette.datastructures import UploadFile

from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.server.auth.tokens import Caller
from holdfast.server.http import Problem, too_large
from holdfast.server.pages.rendering import field, form_of, go, member, noted, page_router, show, steward
from holdfast.server.pages.samples import name_of
from holdfast.server.pages.words import OUTCOMES
from holdfast.server.reports import MEDIA_TYPE
from holdfast.server.state import Server, server_of
from holdfast.server.views import whole_report

router = page_router()


@router.get("/reports")
async def reports(request: Request) -> Response:
    """Every report that may be seen; for stewards, the form for another."""
    session = await member(request)
    return await _list(request, session.caller)


@router.post("/reports")
async def upload(request: Request) -> Response:
    """Take the JSON file of an audit."""
    session = await steward(request)
    server = server_of(request)
    form = await form_of(request, session)
    most = server.settings.max_report
    try:
        name, file = name_of(field(form, "name")), form.get("file")
        if not isinstance(file, UploadFile) or not file.size:
            raise InvalidParameter("choose the .json file that `holdfast audit` wrote next to its page")
        if file.size > most:
            raise too_large(most)
        body = await file.read()
        published, _ = await server.work(server.reports.add, name, body, session.caller.name)
        if field(form, "publish") == "yes":
            await server.work(server.reports.publish, published["id"], session.caller, True)
    except (Problem, HoldfastError) as error:
        return await _list(request, session.caller, error)
    finally:
        await form.close()
    return go(f"/reports/{published['id']}")


@router.get("/reports/{report}")
async def report_page(request: Request, report: str) -> Response:
    """One report at a glance: the verdict, the worst groups, and where the rest is."""
    session = await member(request)
    return await _page(request, report, session.caller)


@router.get("/reports/{report}/full")
async def full(request: Request, report: str) -> Response:
    """The whole report, as the library draws it: a page of its own that runs nothing."""
    session = await member(request)
    return await whole_report(request, report, session.caller)


@router.get("/reports/{report}/file")
async def file(request: Request, report: str) -> Response:
    """The numbers, to be kept."""
    session = await member(request)
    server = server_of(request)
    content = await server.work(server.reports.content, report, session.caller)
    headers = {"Content-Disposition": f'attachment; filename="report-{report[:24]}.json"'}
    return Response(content, headers=headers, media_type=MEDIA_TYPE)


@router.post("/reports/{report}/{act}")
async def change(request: Request, report: str, act: str) -> Response:
    """Publish, withdraw or delete."""
    session = await steward(request)
    server, caller = server_of(request), session.caller
    if act not in ("publish", "withdraw", "delete"):
        raise Problem("not-found", "there is nothing at this address")
    form = await form_of(request, session)
    if act != "delete":
        await server.work(server.reports.publish, report, caller, act == "publish")
        return go(f"/reports/{report}")
    if field(form, "sure") != "yes":
        problem = Problem("invalid-parameter", "tick the box to delete it for good")
        return await _page(request, report, caller, problem)
    await server.work(server.reports.remove, report, caller)
    return go("/reports")


async def _list(request: Request, caller: Caller, error: Problem | HoldfastError | None = None) -> Response:
    server = server_of(request)
    problem = noted(request, error)
    return show(
        request,
        "reports.html",
        200 if problem is None else problem.status,
        reports=await server.work(server.reports.list, caller),
        outcomes=OUTCOMES,
        problem=problem,
    )


async def _page(request: Request, report: str, caller: Caller, problem: Problem | None = None) -> Response:
    server = server_of(request)
    if problem is not None:
        request.state.code = problem.code
    facts, values = await server.work(_glance, server, report, caller)
    status = 200 if problem is None else problem.status
    return show(request, "report.html", status, report=facts, outcomes=OUTCOMES, problem=problem, **values)


def _glance(server: Server, identity: str, caller: Caller) -> tuple[dict[str, Any], dict[str, Any]]:
    """What one look will tell: each of the worst groups next to what chance alone gives it, on one scale."""
    facts, report = server.reports.row(identity, caller), server.reports.report(identity, caller)
    judged = report.verdict
    worst = [finding for finding in report.offenders if finding.mean is not None and finding.floor is not None]
    scale = max([judged.alpha * 1.25, *(finding.mean * 1.05 for finding in worst if finding.mean is not None)])
    lines = [
        {
            "group": finding.group,
            "through": f"{finding.learner}, {finding.lens}" if len(judged.cases) > 1 else "",
            "size": finding.size,
            "mean": finding.mean,
            "floor": finding.floor,
            "status": finding.status,
            "flipped": max(0.0, finding.excess or 0.0) / 2,
        }
        for finding in worst
    ]
    values = {"lines": lines, "scale": scale, "alpha": judged.alpha, "paragraph": judged.paragraph}
    groups = len({finding.group for finding in judged.findings})
    return facts, values | {"heading": report.offenders_heading, "rows": report.rows, "splits": report.splits} | {
        "groups": groups
    }
