"""Responses leave whole: head and body in one write, where uvicorn makes one of each.

With threads at work every system call gives another of them its turn, and a second write waits for the first's end.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

_MOST = 1 << 16
"""Bytes beyond which nothing is held back."""


class Whole:
    """A transport that writes what came in one step of the loop at its end, as one."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._held: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Hold some bytes until this step ends."""
        if not self._held:
            asyncio.get_running_loop().call_soon(self._flush)
        self._held.append(data)
        self._size += len(data)
        if self._size > _MOST:
            self._flush()

    def close(self) -> None:
        """Write what is held, and close."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._held:
            whole, self._held, self._size = b"".join(self._held), [], 0
            self._transport.write(whole)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class WholeWrites(H11Protocol):
    """uvicorn's protocol over such a transport."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection."""
        super().connection_made(Whole(transport))  # type: ignore[arg-type]


__all__ = ["Whole", "WholeWrites"]
