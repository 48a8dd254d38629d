"""Whom the tools ask: a guard in this process, or one on a server. Both answer alike."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from holdfast.client.remote_guard import Asking
from holdfast.data.schema import Schema
from holdfast.guard import score
from holdfast.guard.answer import GuardedAnswer
from holdfast.guard.estimate import Estimate
from holdfast.guard.guard import Guard
from holdfast.guard.scoring.board import chosen
from holdfast.guard.scoring.files import predictions_in
from holdfast.guard.scoring.onnx.model import model_in

Question = Mapping[str, Any]


class Door(Protocol):
    """What the tools need of a guard. Whoever asks is fixed when the door is made: an agent cannot be somebody else."""

    def describe(self) -> dict[str, Any]:
        """Everything that may be shown."""

    def estimate(self, question: Question) -> Estimate:
        """What a question would cost."""

    def ask(self, question: Question, key: str | None) -> GuardedAnswer:
        """Answer a question."""

    def submit(self, given: Mapping[str, Any] | Path, board: str | None, how: Mapping[str, Any]) -> GuardedAnswer:
        """Have predictions by row key, or a file of them or of a model, scored. `how` holds what else was said."""

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

    def submit(self, given: Mapping[str, Any] | Path, board: str | None, how: Mapping[str, Any]) -> GuardedAnswer:
        """Have a submission scored."""
        facts, policy = self._guard.describe(), self._guard.policy
        on, schema = chosen(policy.boards, board), Schema.from_dict(facts["schema"])
        made: Any = given
        if isinstance(given, Path):
            if given.suffix.lower() == ".onnx":
                made = model_in(given, schema, facts["n"], policy)
            else:
                made = predictions_in(given, on, schema)
        rest = dict(how)
        key = rest.pop("key", None)
        return self._guard.ask(score(on.name, made, **rest), analyst=self._analyst, key=key)

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

    def submit(self, given: Mapping[str, Any] | Path, board: str | None, how: Mapping[str, Any]) -> GuardedAnswer:
        """Have a submission scored."""
        return self._guard.submit(given, board=board, **how)

    def remaining(self) -> dict[str, Any]:
        """What may still be asked."""
        return self._guard.remaining()


__all__ = ["Door", "LocalDoor", "ServerDoor"]
