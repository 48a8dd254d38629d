"""Calls that come while another is at work are done together by the next: the busier a server, the less each costs."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

I = TypeVar("I")  # noqa: E741
O = TypeVar("O")  # noqa: E741

Work = Callable[[list[I]], Awaitable[Sequence[O | Exception]]]
"""Does many calls at once: for each what came of it, or its error."""


class Gathered(Generic[I, O]):
    """One call at a time from outside, many at a time inside.

    A call that meets nobody at work is done at once. Others wait until a place is free and are then done together, in
    order, up to `most` at once. At most `at_once` groups are at work, and a group begins beside others only when none
    of them began less than `head_start` seconds ago. A call that is given up before its turn is not done at all.
    `when_idle` is called whenever the last of them has ended.

    Examples
    --------
    >>> async def doubled(numbers):
    ...     return [2 * number for number in numbers]
    >>> async def main():
    ...     double = Gathered(doubled)
    ...     return await asyncio.gather(*(double(i) for i in range(4)))
    >>> asyncio.run(main())
    [0, 2, 4, 6]
    """

    def __init__(
        self, work: Work[I, O], at_once: int = 1, most: int = 64, when_idle: Callable[[], object] | None = None
    ) -> None:
        self._work, self.at_once, self._most, self._when_idle = work, at_once, most, when_idle
        self._waiting: deque[tuple[I, asyncio.Future[O]]] = deque()
        self._groups: set[asyncio.Task[None]] = set()
        self.head_start = 0.0
        self._begun = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def idle(self) -> bool:
        """Whether nobody waits or is at work."""
        return not self._waiting and not self._groups

    async def __call__(self, item: I) -> O:
        """Have one call done, with whatever others are waiting."""
        future: asyncio.Future[O] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        self._start()
        return await future

    def _start(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting and len(self._groups) < self.at_once:
            if self._groups and loop.time() < self._begun + self.head_start:
                if self._timer is None:
                    self._timer = loop.call_at(self._begun + self.head_start, self._start_later)
                return
            group: list[tuple[I, asyncio.Future[O]]] = []
            while self._waiting and len(group) < self._most:
                one = self._waiting.popleft()
                if not one[1].done():  # not given up meanwhile
                    group.append(one)
            if group:
                self._begun = loop.time()
                task = asyncio.create_task(self._do(group))
                self._groups.add(task)
                task.add_done_callback(self._next)

    def _start_later(self) -> None:
        self._timer = None
        self._start()

    def _next(self, task: asyncio.Task[None]) -> None:
        self._groups.discard(task)
        self._start()
        if self.idle:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._when_idle is not None:
                self._when_idle()

    async def _do(self, group: list[tuple[I, asyncio.Future[O]]]) -> None:
        found: Sequence[O | Exception]
        try:
            found = await self._work([item for item, _ in group])
        except Exception as error:
            found = [error] * len(group)
        except BaseException:  # the server ends: nobody shall wait for what will not come
            for _, future in group:
                future.cancel()
            raise
        if len(found) != len(group):  # nobody shall wait for an outcome that was left out, or take another's
            found = [RuntimeError(f"{len(group)} calls have {len(found)} outcomes")] * len(group)
        for (_, future), one in zip(group, found, strict=True):
            if future.done():
                continue
            if isinstance(one, Exception):
                future.set_exception(one)
            else:
                future.set_result(one)


__all__ = ["Gathered"]
