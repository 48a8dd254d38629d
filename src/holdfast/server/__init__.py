"""The server: HTTP over the guard. It adds transport, tokens and limits; every answer is the guard's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.lazy import lazy

_HOMES = {"Settings": "settings", "create_app": "app"}

if TYPE_CHECKING:
    from holdfast.server.app import create_app
    from holdfast.server.settings import Settings

__getattr__, __dir__ = lazy(__name__, _HOMES)

__all__ = ["Settings", "create_app"]
