"""Samples: uploading rows, registering what the server allows, taking the demo's, forgetting."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import Request, Response
from pydantic import TypeAdapter, ValidationError
from starlette.datastructures import UploadFile

from holdfast.errors import HoldfastError, InvalidParameter, SampleUnavailable
from holdfast.server import shapes
from holdfast.server.http import Problem
from holdfast.server.pages.rendering import field, form_of, go, noted, page_router, show, steward
from holdfast.server.state import Server, server_of

router = page_router()
_NAME: TypeAdapter[str] = TypeAdapter(shapes.Name)


@router.get("/samples")
async def samples(request: Request) -> Response:
    """Every sample, and the forms for another."""
    await steward(request)
    return await _page(request)


@router.post("/samples")
async def upload(request: Request) -> Response:
    """Take an uploaded file."""
    session = await steward(request)
    server = server_of(request)
    form = await form_of(request, session)
    try:
        name, file = name_of(field(form, "name")), form.get("file")
        if not isinstance(file, UploadFile) or not file.size:
            raise InvalidParameter("choose a .csv or .parquet file that is not empty")
        kind = Path(file.filename or "").suffix.lower().lstrip(".")
        place = server.samples.fresh_upload(kind)
        registered = await server.work(_add, server, name, place, file.file, field(form, "row_key") or None)
    except (Problem, HoldfastError) as error:
        return await _page(request, error)
    finally:
        await form.close()
    return go(f"/guards/new?sample={registered['id']}")


@router.post("/samples/register")
async def register(request: Request) -> Response:
    """Take a file or table that the server was started to allow."""
    session = await steward(request)
    server = server_of(request)
    form = await form_of(request, session)
    try:
        name, place = name_of(field(form, "name")), field(form, "place")
        origin: Any = "source" if place in server.settings.allow_source else "path"
        registered = await server.work(server.samples.add, name, origin, place, field(form, "row_key") or None)
    except (Problem, HoldfastError) as error:
        return await _page(request, error)
    return go(f"/guards/new?sample={registered['id']}")


@router.post("/samples/demo")
async def demo(request: Request) -> Response:
    """Register the rows that ship with the package, to try things on."""
    session = await steward(request)
    server = server_of(request)
    await form_of(request, session)
    try:
        registered = await server.work(_add_demo, server)
    except (Problem, HoldfastError) as error:
        return await _page(request, error)
    return go(f"/guards/new?sample={registered['id']}")


@router.post("/samples/{sample}/remove")
async def remove(request: Request, sample: str) -> Response:
    """Forget a sample that no guard has."""
    session = await steward(request)
    server = server_of(request)
    await form_of(request, session)
    try:
        await server.work(server.samples.remove, sample)
    except (Problem, HoldfastError) as error:
        return await _page(request, error)
    return go("/samples")


def name_of(text: str) -> str:
    """Return a name that the API would take too."""
    try:
        return _NAME.validate_python(text)
    except ValidationError:
        raise InvalidParameter(
            "name must begin with a letter or digit, and consist of at most 100 letters, digits, spaces and the "
            "signs _.@+()-"
        ) from None


def _add(server: Server, name: str, place: Path, source: Any, row_key: str | None) -> dict[str, Any]:
    is_registered = False
    try:
        with place.open("xb") as file:
            place.chmod(0o600)
            while piece := source.read(1 << 20):
                file.write(piece)
        registered = server.samples.add(name, "upload", str(place), row_key)
        is_registered = True
    except OSError:
        raise SampleUnavailable("the file could not be stored on the server; its disk may be full") from None
    finally:
        if not is_registered:
            place.unlink(missing_ok=True)
    return registered


def _add_demo(server: Server) -> dict[str, Any]:
    import io

    from holdfast.server.demo.analysts import NAME, ROW_KEY, rows_csv

    for known in server.samples.list():
        if known["name"] == NAME:
            return known
    return _add(server, NAME, server.samples.fresh_upload("csv"), io.BytesIO(rows_csv().encode()), ROW_KEY)


async def _page(request: Request, error: Problem | HoldfastError | None = None) -> Response:
    server = server_of(request)
    listed = await server.work(server.samples.list)
    guarded = {row["sample"] for row in await server.work(server.guards.rows)}
    problem = noted(request, error)
    return show(
        request,
        "samples.html",
        200 if problem is None else problem.status,
        samples=listed,
        guarded=guarded,
        sources=sorted(server.settings.allow_source),
        folders=bool(server.settings.allow_folder),
        problem=problem,
    )
