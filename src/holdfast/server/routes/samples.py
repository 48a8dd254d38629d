"""Samples: uploading rows, registering what the server allows, listing, removing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

from fastapi import Query, Request, Response

from holdfast.errors import InvalidParameter, SampleUnavailable
from holdfast.server import shapes
from holdfast.server.auth.tokens import Steward
from holdfast.server.http import Problem, StrictJSON, strict_loads, too_large
from holdfast.server.routes import answers
from holdfast.server.routes import router as make_router
from holdfast.server.samples import public
from holdfast.server.state import Server, server_of

router = make_router("samples")

_FORMAT_OF = {
    "text/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
    "application/x-parquet": "parquet",
}
_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file itself",
        "content": {
            "text/csv": {"schema": {"type": "string"}, "example": "age,income\n23,1000\n35,2000\n"},
            "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
_Key = Annotated[
    str | None, Query(min_length=1, max_length=200, description="The column that names who a row is about")
]
_Columns = Annotated[
    str | None, Query(max_length=16_000, description='JSON: [{"name": "age", "kind": "integer"}, ...]')
]


@router.post(
    "/samples", status_code=201, responses=answers(shapes.SampleFacts, "name-taken", status=201), openapi_extra=_BODY
)
async def upload(
    request: Request,
    caller: Steward,
    name: Annotated[shapes.Name, Query()],
    row_key: _Key = None,
    columns: _Columns = None,
) -> Response:
    """Upload a sample: a CSV or Parquet file is the body. It is looked through once, apart from the server."""
    server = server_of(request)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in _FORMAT_OF:
        raise Problem("unsupported-media-type", f"send one of {', '.join(_FORMAT_OF)}")
    schema = None if columns is None else {"columns": strict_loads(columns.encode("utf-8", "surrogatepass"))}
    place = server.samples.fresh_upload(_FORMAT_OF[kind])
    try:
        await save(server, request, place)
        sample = await server.work(server.samples.add, name, "upload", str(place), row_key, schema)
    except BaseException:
        place.unlink(missing_ok=True)
        raise
    return StrictJSON(sample, 201)


@router.post("/samples/register", status_code=201, responses=answers(shapes.SampleFacts, "name-taken", status=201))
async def register(request: Request, body: shapes.RegisterSample, caller: Steward) -> Response:
    """Register a file or table on the server's side that it was started to allow."""
    server = server_of(request)
    return StrictJSON(await server.work(_register, server, body), 201)


@router.get("/samples", responses=answers(shapes.Samples))
async def samples(request: Request, caller: Steward) -> Response:
    """Every sample."""
    server = server_of(request)
    return StrictJSON({"samples": await server.work(server.samples.list)})


@router.get("/samples/{sample}", responses=answers(shapes.SampleFacts))
async def show(request: Request, sample: str, caller: Steward) -> Response:
    """One sample."""
    server = server_of(request)
    return StrictJSON(public(await server.work(server.samples.row, sample)))


@router.delete("/samples/{sample}", status_code=204, responses=answers(None))
async def remove(request: Request, sample: str, caller: Steward) -> Response:
    """Forget a sample that no guard has; an uploaded file is deleted."""
    server = server_of(request)
    await server.work(server.samples.remove, sample)
    return Response(status_code=204)


async def save(server: Server, request: Request, place: Path) -> None:
    """Write the body to a file that nobody else reads, piece by piece."""
    size, most = 0, server.settings.max_upload
    try:
        with place.open("xb") as file:
            place.chmod(0o600)
            async for piece in request.stream():
                size += len(piece)
                if size > most:
                    raise too_large(most)
                file.write(piece)
            file.flush()
            await server.work(os.fsync, file.fileno())  # a large file takes seconds, in which others are answered
    except OSError:
        raise SampleUnavailable("the file could not be stored on the server; its disk may be full") from None
    if not size:
        raise InvalidParameter("the body of the request must be the content of the file, and it is empty")


def _register(server: Server, body: shapes.RegisterSample) -> dict[str, Any]:
    if (body.path is None) == (body.source is None):
        raise InvalidParameter("either path or source must be given, and not both")
    schema = None if body.columns is None else {"columns": body.columns}
    if body.path is not None:
        return server.samples.add(body.name, "path", body.path, body.row_key, schema)
    return server.samples.add(body.name, "source", body.source or "", body.row_key, schema)
