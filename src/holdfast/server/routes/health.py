"""Whether the server is up, whether it can do its work, and its counts."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.responses import PlainTextResponse

from holdfast.errors import HoldfastError
from holdfast.server.auth.tokens import caller_of
from holdfast.server.http import Problem, StrictJSON
from holdfast.server.observability import MEDIA_TYPE
from holdfast.server.state import Server, server_of

router = APIRouter(tags=["server"])

KEPT_SECONDS, MOST_SECONDS = 1.0, 3.0
"""How long what was found is said again, and how long finding it may take."""
_PROBE_BYTES = 64 * 1024


@router.get("/healthz")
async def healthz() -> Response:
    """Whether the server answers. Touches nothing, needs no token."""
    return StrictJSON({"status": "ok"})


@router.get("/readyz", responses={503: {"description": "Nothing can be stored, or what was stored is not there"}})
async def readyz(request: Request) -> Response:
    """Whether the server can write to its ledger and its disk, durably, and read its ledger. Needs no token.

    What was found is said again for a second, so that asking often costs nothing.
    """
    lacking = await request.app.state.readiness.lacking(server_of(request))
    if lacking is not None:
        raise Problem("ledger-unavailable", lacking, headers={"Retry-After": "1"})
    return StrictJSON({"status": "ready"})


class Readiness:
    """What the last look at the store and the disk found; one look at a time."""

    def __init__(self) -> None:
        self._until, self._lacking = 0.0, "it has not been looked yet"
        self._looking: asyncio.Task[str | None] | None = None

    async def lacking(self, server: Server) -> str | None:
        """Why the server cannot do its work; None if it can."""
        if time.monotonic() < self._until:
            return self._lacking or None
        if self._looking is None or self._looking.done():
            self._looking = asyncio.create_task(self._look(server))
        try:
            async with asyncio.timeout(MOST_SECONDS):
                return await asyncio.shield(self._looking)
        except TimeoutError:  # the look goes on, and whoever asks next waits for it as well
            return f"the ledger did not take a write within {MOST_SECONDS:g} seconds"

    async def _look(self, server: Server) -> str | None:
        try:
            await server.probe(_probe, server)
            self._lacking = ""
        except HoldfastError as error:
            self._lacking = str(error)
        except OSError as error:
            self._lacking = f"the server's folder cannot be written ({os.strerror(error.errno or 0)})"
        self._until = time.monotonic() + KEPT_SECONDS
        return self._lacking or None


def _probe(server: Server) -> None:
    server.store.require_file()
    server.records.probe()
    _write(server.settings.folder)


def _write(folder: Path) -> None:
    """Write a little, durably, and forget it: where the ledger is elsewhere, uploads still need this disk."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(_PROBE_BYTES))
        file.flush()
        os.fsync(file.fileno())


@router.get("/metrics", response_class=PlainTextResponse, responses={401: {"description": "A token is needed"}})
async def metrics(request: Request) -> Response:
    """Counts in Prometheus' text form. Needs a steward's token unless the server was started with open metrics."""
    server = server_of(request)
    if not server.settings.open_metrics and not caller_of(request).steward:
        raise Problem("forbidden", "this takes a steward's token")
    return Response(server.metrics.text(), media_type=MEDIA_TYPE)
