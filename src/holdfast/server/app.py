"""The application: routes, the checks before them, and errors as problems."""

from __future__ import annotations

import asyncio
import gc
import importlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException

from holdfast import __version__
from holdfast.errors import HoldfastError
from holdfast.server import observability, pages
from holdfast.server.http import Problem, problem_of, problem_of_form
from holdfast.server.middleware import Authentication, Bodies, Limits, RequestId, Slots, refusal
from holdfast.server.routes.health import Readiness
from holdfast.server.routes.questions import Direct
from holdfast.server.running import READ_SECONDS, end_in_time
from holdfast.server.settings import Settings
from holdfast.server.shapes import ProblemFacts
from holdfast.server.state import Server

ROUTES = (
    "questions",
    "health",
    "tokens",
    "invitations",
    "samples",
    "guards",
    "ledger",
    "reports",
    "submissions",
    "leaderboard",
)
"""Modules of `holdfast.server.routes`, each with a `router`. Routes are tried in order: the busiest come first."""

_ABOUT = """A sample behind a guard answers adaptively chosen questions so that every answer stays true.

Send `Authorization: Bearer hf_...`. Errors are `application/problem+json` with a stable `code`. Send an
`Idempotency-Key` with every question, and the same one when you retry: it is answered and paid once."""


def create_app(settings: Settings | None = None) -> FastAPI:
    """Return the web application (ASGI) of one server process. The ledger is opened immediately, and closed when the
    server stops.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     app = create_app(Settings(folder=folder))
    ...     app.state.server.close()
    >>> app.title, "/api/v1/openapi.json" == app.openapi_url
    ('Holdfast', True)
    """
    server = Server(settings or Settings())

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[dict[str, Any]]:
        observability.say("started", version=__version__, worker=os.getpid())
        writing = asyncio.create_task(_write_metrics(server))
        yield {READ_SECONDS: server.settings.read_seconds}
        writing.cancel()
        server.close()
        observability.say("stopped", worker=os.getpid())

    app = FastAPI(
        title="Holdfast",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.server, app.state.readiness = server, Readiness()
    for name in ROUTES:
        # Added one by one: FastAPI matches a router that is included twice for each request.
        app.router.routes.extend(importlib.import_module(f"holdfast.server.routes.{name}").router.routes)
    pages.add_to(app, server)
    _handle_errors(app)
    # The last one added is the first that a request meets.
    app.add_middleware(Direct, routes=app.routes)
    app.add_middleware(Slots, settings=server.settings)
    app.add_middleware(Bodies, server=server)
    app.add_middleware(Authentication, server=server)
    app.add_middleware(Limits, settings=server.settings)
    app.add_middleware(RequestId, server=server)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


async def _write_metrics(server: Server) -> None:
    while True:
        await asyncio.sleep(1)
        with suppress(OSError):  # a full disk ends no server
            server.metrics.write()


def from_environment() -> FastAPI:
    """Return the application of a worker process, whose settings its parent put into the environment."""
    observability.set_up()
    settings = Settings()
    end_in_time(settings.shutdown_seconds)
    app = create_app(settings)
    # Questions make much that ends with them, and what was loaded stays: the collector need not walk it all so often.
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)
    return app


def _handle_errors(app: FastAPI) -> None:
    @app.exception_handler(Problem)
    async def problem(request: Request, error: Problem) -> Response:
        if error.delay:
            raise error  # the outermost layer holds it back, where it takes no place
        return _say(request, error)

    @app.exception_handler(HoldfastError)
    async def ours(request: Request, error: HoldfastError) -> Response:
        return _say(request, problem_of(error))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        return _say(request, problem_of_form(error))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        code = {404: "not-found", 405: "method-not-allowed"}.get(error.status_code, "malformed-request")
        words = {"not-found": "there is nothing at this address", "method-not-allowed": "not with this method"}
        headers = {k: v for k, v in (error.headers or {}).items() if k.lower() == "allow"}
        return _say(request, Problem(code, words.get(code, "the request cannot be read"), headers=headers))


def _say(request: Request, problem: Problem) -> Response:
    request.state.code = problem.code
    return refusal(request.scope, request.receive, problem, request.state.request_id)


def _openapi(app: FastAPI) -> dict[str, Any]:
    if app.openapi_schema is None:
        document = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        parts = document.setdefault("components", {})
        parts.setdefault("schemas", {})["ProblemFacts"] = ProblemFacts.model_json_schema()
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "bearerFormat": "hf_<id>_<secret>"}}
        for path, methods in document["paths"].items():
            for method in methods.values():
                if path not in ("/healthz", "/readyz", "/api/v1/join"):
                    method["security"] = [{"token": []}]
        app.openapi_schema = document
    return app.openapi_schema
