"""The routes, one concern a file; each has a `router` that `holdfast.server.app` includes."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from holdfast.server.http import CODES, MEDIA_TYPE, StrictJSON, StrictRoute
from holdfast.server.shapes import ProblemFacts

ALWAYS = (
    "malformed-request",
    "unauthenticated",
    "forbidden",
    "not-found",
    "rate-limited",
    "ledger-unavailable",
    "provider-unavailable",
)
ASKING = (
    "ledger-conflict",
    "too-large",
    "unsupported-media-type",
    "invalid-parameter",
    "sample-unavailable",
    "timed-out",
)


def router(tag: str, route_class: type[StrictRoute] = StrictRoute) -> APIRouter:
    """Return a router below /api/v1, whose routes read and write strict JSON."""
    return APIRouter(prefix="/api/v1", tags=[tag], route_class=route_class, default_response_class=StrictJSON)


def answers(model: Any, *codes: str, status: int = 200) -> dict[int | str, dict[str, Any]]:
    """Return what a route may answer with, for the OpenAPI page: its own shape, and problems by status."""
    responses: dict[int | str, dict[str, Any]] = {status: {"model": model}} if model is not None else {}
    by_status: dict[int, list[str]] = {}
    for code in dict.fromkeys((*ALWAYS, *ASKING, *codes)):
        by_status.setdefault(CODES[code][0], []).append(code)
    for number, named in sorted(by_status.items()):
        responses[number] = {
            "description": "; ".join(f"`{code}`: {CODES[code][1]}" for code in named),
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemFacts"}}},
        }
    return responses


__all__ = ["ALWAYS", "ASKING", "ProblemFacts", "answers", "router"]
