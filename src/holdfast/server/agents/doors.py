"""Whom the tools ask: a guard in this process, or one on a server. Both answer alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from holdfast.client.remote_guard import Asking
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.estimate import Estimate
from holdfast.guard.guard import Guard

Question = Mapping[str, Any]


class Door(Protocol):
    """What the tools need of a guard. Whoever asks is fixed when the door is made: an agent cannot be somebody else."""

    def describe(self) -> dict[str, Any]:
        """Everything that may be shown."""

    def estimate(self, question: Question) -> Estimate:
        """What a question would cost."""

    def ask(self, question: Question, key: str | None) -> GuardedAnswer:
        """Answer a question."""

    def remaining(self) -> dict[str, Any]:
        """What may still be asked."""


class LocalDoor:
    """A guard in this process, asked under one name."""

    def __init__(self, guard: Guard, analyst: str) -> None:
        guard.policy.share(analyst)  # a name that the policy does not know is refused before the agent begins
        self._guard, self._analyst = guard, analyst

    def describe(self) -> dict[str, Any]:
        """Everything that may be shown to this analyst: nobody else's account."""
        found = self._guard.describe()
        found["analysts"] = {name: left for name, left in found["analysts"].items() if name == self._analyst}
        shares = found["policy"]["analysts"]
        if shares is not None:
            found["policy"] = found["policy"] | {"analysts": {self._analyst: shares[self._analyst]}}
        return found

    def estimate(self, question: Question) -> Estimate:
        """What a question would cost."""
        return self._guard.estimate(question, analyst=self._analyst)

    def ask(self, question: Question, key: str | None) -> GuardedAnswer:
        """Answer a question."""
        return self._guard.ask(question, analyst=self._analyst, key=key)

    def remaining(self) -> dict[str, Any]:
        """What may still be asked."""
        return self._guard.remaining(self._analyst)


class ServerDoor:
    """A guard on a server, asked with one token."""

    def __init__(self, guard: Asking) -> None:
        self._guard = guard

    def describe(self) -> dict[str, Any]:
        """Everything that the token may see."""
        return self._guard.describe()

    def estimate(self, question: Question) -> Estimate:
        """What a question would cost."""
        return self._guard.estimate(question)

    def ask(self, question: Question, key: str | None) -> GuardedAnswer:
        """Answer a question."""
        return self._guard.ask(question, key=key)

    def remaining(self) -> dict[str, Any]:
        """What may still be asked."""
        return self._guard.remaining()


__all__ = ["Door", "LocalDoor", "ServerDoor"]
