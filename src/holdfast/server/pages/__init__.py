"""Web pages over the guard: rendered here, with a little script and style of our own, and nothing from elsewhere.

They do what the API does, through the same registers and the same guard, for whoever signed in with a token.
"""

from __future__ import annotations

import importlib

from fastapi import FastAPI

from holdfast.server.auth.session import Sessions
from holdfast.server.state import Server

PARTS = (
    "rendering",
    "welcome",
    "samples",
    "making",
    "asking",
    "sql",
    "boards",
    "public",
    "people",
    "guards",
    "tokens",
    "reports",
)
"""Modules of this package with a `router`; the order decides which of two fitting routes is taken."""


def add_to(app: FastAPI, server: Server) -> None:
    """Serve the pages next to the API. They are no part of its OpenAPI document."""
    app.state.sessions = Sessions(server)
    app.state.tour = None
    provider = ("oidc",) if server.settings.oidc_client_id is not None else ()
    for name in (*PARTS, *provider):
        app.include_router(importlib.import_module(f"holdfast.server.pages.{name}").router, include_in_schema=False)


__all__ = ["PARTS", "add_to"]
