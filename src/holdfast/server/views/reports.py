"""The page of an audit report."""

from __future__ import annotations

import base64
import hashlib

from fastapi import Request
from starlette.responses import HTMLResponse

from holdfast.server.roles import Caller
from holdfast.server.state import Server, server_of


async def page_of(request: Request, report: str, caller: Caller) -> HTMLResponse:
    """The library's own page of a report. Only its own style applies, by its hash; nothing else does anything."""
    server = server_of(request)
    made = await server.work(_page, server, report, caller)
    return HTMLResponse(made, headers=view_headers())


def view_headers() -> dict[str, str]:
    """What a report's page is sent with: no script, no form, no frame, no address, and a sandbox around the rest."""
    from holdfast.coherence.report.style import STYLE

    digest = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; "
    return {
        "Content-Security-Policy": policy + "frame-ancestors 'none'; sandbox allow-top-navigation-by-user-activation",
        "Cache-Control": "no-store",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


def _page(server: Server, report: str, caller: Caller) -> str:
    from holdfast.coherence.report import html

    return html(server.reports.report(report, caller))


__all__ = ["page_of", "view_headers"]
