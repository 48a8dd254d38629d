"""Answers that leave at set moments: how long the rows took is then hidden, up to which moment it was."""

from __future__ import annotations

import asyncio
import math
import time
from types import TracebackType
from typing import Self


class on_grid:
    """A block that ends at a multiple of `grid` seconds after it began, whether it raises or not; 0: at once.

    Examples
    --------
    >>> async def main():
    ...     begun = time.monotonic()
    ...     async with on_grid(0.05):
    ...         pass
    ...     return time.monotonic() - begun
    >>> 0.045 < asyncio.run(main()) < 5
    True
    """

    def __init__(self, grid: float) -> None:
        self._grid, self._begun = grid, time.monotonic()

    async def __aenter__(self) -> Self:
        return self

    def lift(self) -> None:
        """Wait for nothing: no row was read."""
        self._grid = 0.0

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._grid and (kind is None or issubclass(kind, Exception)):  # who was cancelled waits no longer
            passed = time.monotonic() - self._begun
            await asyncio.sleep(math.ceil(passed / self._grid) * self._grid - passed)


__all__ = ["on_grid"]
