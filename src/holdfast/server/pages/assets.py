"""The two files that pages load, and the icon. A change of a file changes its address, so that they may be kept."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from fastapi import APIRouter, Request, Response

from holdfast.server.http import Problem

router = APIRouter()
_FOLDER = Path(__file__).parent / "static"
_KINDS = {
    "holdfast.css": "text/css; charset=utf-8",
    "holdfast.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}


@lru_cache(maxsize=8)
def _read(name: str) -> tuple[bytes, str]:
    content = (_FOLDER / name).read_bytes()
    return content, hashlib.sha256(content).hexdigest()[:16]


def address_of_asset(name: str) -> str:
    """Return where a file is, with a mark of what is in it.

    Examples
    --------
    >>> address_of_asset("holdfast.css").startswith("/assets/holdfast.css?")
    True
    """
    return f"/assets/{name}?{_read(name)[1]}"


@router.get("/assets/{name}")
async def asset(request: Request, name: str) -> Response:
    """One of our files; no other name is looked up."""
    if name not in _KINDS:
        raise Problem("not-found", "there is nothing at this address")
    content, mark = _read(name)
    if request.headers.get("if-none-match") == f'"{mark}"':
        return Response(status_code=304)
    kept = "public, max-age=31536000, immutable" if request.url.query == mark else "no-cache"
    headers = {"ETag": f'"{mark}"', "Cache-Control": kept, "Cross-Origin-Resource-Policy": "same-origin"}
    return Response(content, headers=headers, media_type=_KINDS[name])
