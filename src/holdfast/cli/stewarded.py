"""The guard that a steward's command means: a chain of a ledger in reach, or a guard of a server. Both act alike."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from holdfast.cli import remote
from holdfast.cli.guard_input import store_at

if TYPE_CHECKING:
    from holdfast.client import RemoteGuard
    from holdfast.guard.ledger.ledger import Ledger
    from holdfast.guard.policy import Policy
    from holdfast.guard.standing import Status


class Stewarded(Protocol):
    """What the commands need of a guard."""

    def describe(self) -> dict[str, Any]:
        """Everything that may be shown."""

    def set_status(self, status: Status, reason: str) -> None:
        """Pause, open again or close for good."""

    def override(self, policy: Policy, reason: str) -> None:
        """Put another policy in place."""

    def latest(self, number: int) -> list[dict[str, Any]]:
        """The last entries, oldest first."""


class _Chain:
    """A chain of a ledger in reach."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def describe(self) -> dict[str, Any]:
        from holdfast.guard.stewarding import describe

        return describe(self._ledger)

    def set_status(self, status: Status, reason: str) -> None:
        from holdfast.guard.stewarding import set_status

        set_status(self._ledger, status, reason)

    def override(self, policy: Policy, reason: str) -> None:
        from holdfast.guard.stewarding import override

        override(self._ledger, policy, reason)

    def latest(self, number: int) -> list[dict[str, Any]]:
        first = max(1, self._ledger.head().sequence - number + 1)
        return [entry.to_dict() for entry in self._ledger.entries(first)]


class _Served:
    """A guard of a server."""

    def __init__(self, guard: RemoteGuard) -> None:
        self._guard = guard
        self._acts = {"paused": guard.pause, "open": guard.resume, "closed": guard.close}

    def describe(self) -> dict[str, Any]:
        return self._guard.describe()

    def set_status(self, status: Status, reason: str) -> None:
        self._acts[status](reason)

    def override(self, policy: Policy, reason: str) -> None:
        self._guard.override(policy, reason)

    def latest(self, number: int) -> list[dict[str, Any]]:
        return self._guard.latest(number)


@contextmanager
def stewarded(where: str, name: str | None) -> Iterator[Stewarded]:
    """The guard of that name, or the only one there is."""
    if remote.is_address(where):
        with remote.connected(where, name) as connection:
            yield _Served(connection.guard())
        return
    from holdfast.guard.stewarding import find

    with store_at(where) as store:
        yield _Chain(find(store, name))


def described(where: str) -> list[dict[str, Any]]:
    """What may be shown of every guard there is."""
    if remote.is_address(where):
        with remote.connected(where) as connection:
            return [guard.describe() for guard in connection.guards()]
    from holdfast.guard.stewarding import describe

    with store_at(where) as store:
        return [describe(store.ledger(dataset)) for dataset in store.datasets()]


__all__ = ["Stewarded", "described", "stewarded"]
