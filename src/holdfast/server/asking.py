"""Single questions of many people: those to one guard that wait at the same moment are read and paid for together.

Each is decided by itself, as if it had come alone (`Guard.ask_each`). Without load nobody waits for anybody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from holdfast.errors import SampleUnavailable
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.policy import Policy
from holdfast.guard.together import Request
from holdfast.server.gathering import Gathered
from holdfast.server.guards_registry import Guards
from holdfast.server.roles import Caller

GROUPS = 2
"""Groups of one guard at work: while one waits for the disk, the next is checked and measured."""

Outcomes = list[GuardedAnswer | Exception]


@dataclass(frozen=True, kw_only=True)
class Asked(Request):
    """A question, and whose token it came with."""

    caller: Caller

    @classmethod
    def by(cls, caller: Caller, question: Mapping[str, Any], key: str | None) -> Self:
        """A question under the name of a token."""
        return cls(question=question, analyst=caller.name, key=key, caller=caller)


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
        def allowed(asked: Request, policy: Policy) -> None:
            assert isinstance(asked, Asked)
            self._guards.require(guard, asked.caller, policy)

        found = self._guards.opened_for(guard, [one.caller for one in group]).ask_each(group, allowed)
        if any(isinstance(one, SampleUnavailable) for one in found):
            self._guards.renew(guard)
        return found


__all__ = ["GROUPS", "Asked", "Asking"]
