"""Single questions of many people: those to one guard that wait at the same moment are read and paid for together.

Each is decided by itself, as if it had come alone (`Guard.ask_each`). Without load nobody waits for anybody.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from holdfast.errors import SampleUnavailable
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Question
from holdfast.guard.together import Request, recall_each
from holdfast.server.gathering import Gathered
from holdfast.server.guards import Guards
from holdfast.server.roles import Caller

GROUPS, HEAD_START = 2, 0.1
"""Groups of one guard at work, and seconds that one is alone: large ones cost less, a slow one holds nobody up."""

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
            # Nothing is left behind when nobody asks any more: addresses that are no guard are for anybody to make up.
            gathered = self._by_guard[guard] = Gathered(
                partial(self._work, self._together, guard), when_idle=lambda: self._by_guard.pop(guard, None)
            )
        # Slow rows are read by as many as there are threads; quick ones are better read for many at once.
        slow = self._guards.slow(guard)
        gathered.at_once, gathered.head_start = (self._threads, 0.0) if slow else (GROUPS, HEAD_START)
        return await gathered(asked)

    def _together(self, guard: str, group: list[Asked]) -> Outcomes:
        def allowed(asked: Request, policy: Policy) -> None:
            assert isinstance(asked, Asked)
            self._guards.require(guard, asked.caller, policy)

        try:
            opened = self._guards.opened_for(guard, [one.caller for one in group])
        except SampleUnavailable as lacking:
            return recall_each(self._guards.chain(guard), group, lacking, allowed)
        found = opened.ask_each(group, allowed)
        if any(isinstance(one, SampleUnavailable) for one in found):
            self._guards.renew(guard, opened)
        return found


def ask_all(
    guards: Guards,
    guard: str,
    caller: Caller,
    questions: Sequence[Question | Mapping[str, Any]],
    keys: Sequence[str] | None,
) -> list[GuardedAnswer]:
    """Answer questions of one caller that were chosen together. Where the rows are out of reach, from the ledger."""
    try:
        opened = guards.guard(guard, caller)
    except SampleUnavailable as lacking:
        ledger = guards.ledger(guard, caller)
        wanted = [Request(one, caller.name, None if keys is None else keys[i]) for i, one in enumerate(questions)]
        found = []
        for one in recall_each(ledger, wanted, lacking):
            if isinstance(one, Exception):
                raise one from None
            found.append(one)
        return found
    try:
        return opened.ask_all(questions, analyst=caller.name, keys=keys)
    except SampleUnavailable:
        guards.renew(guard, opened)
        raise


__all__ = ["GROUPS", "HEAD_START", "Asked", "Asking", "ask_all"]
