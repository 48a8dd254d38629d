"""Bounded threads for what blocks. A thread that nobody waits for any more keeps its place until it has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Threads:
    """So many calls at once, however many of those who waited for them have gone.

    A call that has not begun when its request ends is not made. One that has begun goes on, and nothing takes its
    place before it has ended: who sends questions and hangs up cannot have more of them worked on than who waits.
    """

    def __init__(self, most: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(most, thread_name_prefix=f"holdfast-{name}")

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call something, and wait for it."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, partial(function, *args, **kwargs))

    def close(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)


__all__ = ["Threads"]
