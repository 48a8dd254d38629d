"""Single questions of many people: those to one guard that wait at the same moment are read and paid for together.

Each is decided by itself, as if it had come alone (`Guard.ask_each`). Without load nobody waits for anybody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from holdfast.errors import SampleUnavailable
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.together import Request
from holdfast.server.gathering import Gathered
from holdfast.server.guards_registry import Guards
from holdfast.server.roles import Caller

GROUPS = 2
"""Groups of one guard at work: while one waits for the disk, the next is checked and measured."""

Outcomes = list[GuardedAnswer | Exception]


@dataclass(frozen=True)
class Asked:
    """A question, and who asks it."""

    caller: Caller
    question: Mapping[str, Any] = field(repr=False)
    key: str | None = None


class Asking:
    """Asks guards. `work` calls something that blocks on one of the worker's threads, of which there are `threads`."""

    def __init__(self, guards: Guards, work: Callable[..., Awaitable[Outcomes]], threads: int) -> None:
        self._guards, self._work, self._threads = guards, work, threads
        self._by_guard: dict[str, Gathered[Asked, GuardedAnswer]] = {}

    async def ask(self, guard: str, asked: Asked) -> GuardedAnswer:
        """Answer one question."""
        gathered = self._by_guard.get(guard)
        if gathered is None:
            gathered = self._by_guard[guard] = Gathered(partial(self._work, self._together, guard))
        # Slow rows are read by as many as there are threads; quick ones are better read for many at once.
        gathered.at_once = self._threads if self._guards.slow(guard) else GROUPS
        try:
            return await gathered(asked)
        finally:
            if gathered.idle:  # an address that is no guard leaves nothing behind
                self._by_guard.pop(guard, None)

    def _together(self, guard: str, group: list[Asked]) -> Outcomes:
        opened, reached = self._guards.for_each(guard, [one.caller for one in group])
        requests = [
            Request(one.question, one.caller.name, one.key)
            for one, problem in zip(group, reached, strict=True)
            if problem is None
        ]
        answers = iter(opened.ask_each(requests) if opened is not None else [])
        found = [next(answers) if problem is None else problem for problem in reached]
        if any(isinstance(one, SampleUnavailable) for one in found):
            self._guards.renew(guard)
        return found


__all__ = ["GROUPS", "Asked", "Asking"]
