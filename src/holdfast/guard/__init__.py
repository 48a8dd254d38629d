"""The guard: one door to a sample, and a ledger of everything that went through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.lazy import lazy

_HOMES = {
    "Policy": "policy",
}

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy

__getattr__, __dir__ = lazy(__name__, _HOMES)

__all__ = ["Policy"]
