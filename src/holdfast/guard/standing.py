"""What a guard's ledger says about the guard itself: policy, status, sample. One account, read at every question."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, Self

from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, LedgerConflict, QuestionRefused
from holdfast.guard.ledger.transaction import Transaction, View
from holdfast.guard.policy import Policy

ACCOUNT = "guard"
Status = Literal["open", "paused", "closed"]


@dataclass(frozen=True)
class Standing:
    """Policy and status of a guard, the schema and number of rows of its sample, and the steward's overrides."""

    policy: Policy
    schema: Schema
    n: int
    status: Status = "open"
    overrides: int = 0

    @classmethod
    def of(cls, view: View) -> Self:
        """Read it from a ledger; `LedgerConflict` if the ledger was not opened by a guard."""
        text = view.account_text(ACCOUNT)
        if text is None:
            raise LedgerConflict("this ledger was not opened by a guard")
        return cls._read(text)

    @classmethod
    @lru_cache(maxsize=256)
    def _read(cls, text: str) -> Self:
        """From its text; remembered, because it is read several times for a question and rarely changes."""
        plain = json.loads(text)
        try:
            return cls(
                Policy.from_dict(plain["policy"]),
                Schema.from_dict(plain["schema"]),
                plain["n"],
                plain["status"],
                plain["overrides"],
            )
        except (KeyError, TypeError) as error:
            raise InvalidParameter("a guard's stored standing must be what a guard wrote") from error

    @cached_property
    def policy_name(self) -> str:
        """The policy in one line: what was computed for one may serve another of the same name."""
        return repr(self.policy)

    def put(self, transaction: Transaction, kind: str, body: Mapping[str, Any]) -> None:
        """Store it, with the entry that says why it changed."""
        transaction.put_account(ACCOUNT, self.to_dict())
        transaction.append(kind, body)

    def require_open(self) -> None:
        """Refuse questions to a guard that is paused, closed or expired."""
        if self.status != "open":
            raise QuestionRefused(f"this guard is {self.status}" + ("" if self.status == "closed" else " for now"))
        if self.policy.expired():
            raise QuestionRefused(f"this guard expired at {self.policy.expires}")

    def with_status(self, status: Status) -> Self:
        """The same guard in another status."""
        return replace(self, status=status)

    def with_policy(self, policy: Policy) -> Self:
        """The same guard under a policy that its steward put in the place of the one it was opened with."""
        return replace(self, policy=policy, overrides=self.overrides + 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "policy": self.policy.to_dict(),
            "schema": self.schema.to_dict(),
            "n": self.n,
            "status": self.status,
            "overrides": self.overrides,
        }


__all__ = ["ACCOUNT", "Standing", "Status"]
