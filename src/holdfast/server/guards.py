"""Guards by their public ids: opened when they are first used, in each worker, and kept open."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import insert

from holdfast.errors import SampleUnavailable
from holdfast.guard.guard import Guard
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.ledger.store import Store
from holdfast.guard.policy import Policy
from holdfast.guard.standing import Standing
from holdfast.server.errors import Problem
from holdfast.server.records import IDENTITY, Records, Taken, now
from holdfast.server.roles import Caller
from holdfast.server.samples import Samples
from holdfast.server.tables import GUARDS

_FILES = ("polars", "duckdb")
_PAUSE, _LONGEST_PAUSE = 0.5, 60.0
"""Seconds until rows that are out of reach are looked for again: as long as looking took, and again, within these."""


class Guards:
    """The register of guards. What it knows of them is a name and a sample; all else is on their ledgers."""

    def __init__(self, records: Records, store: Store, samples: Samples) -> None:
        self._records, self._store, self._samples = records, store, samples
        self._rows: dict[str, Mapping[str, Any]] = {}
        self._open: dict[str, Guard] = {}
        self._mutex = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._lacking: dict[str, tuple[float, str]] = {}

    def create(
        self, name: str, sample: str, policy: Mapping[str, Any] | None, allow_overlap: str | None = None
    ) -> Mapping[str, Any]:
        """Put a sample behind a guard."""
        made = None if policy is None else Policy.from_dict(policy)
        known = self._samples.row(sample)
        for values, detail in (
            ({"name": name}, f"a guard is called {name!r} already"),
            (
                {"dataset": self._store.name_of(known["fingerprint"])},
                "a guard stands before these rows already, under whatever name",
            ),
        ):
            if self._records.get(GUARDS, **values) is not None:
                raise Problem("name-taken", detail)
        rows = self._samples.open(sample)
        try:
            guard = Guard.open(self._store, rows, made, allow_overlap=allow_overlap)
        except BaseException:
            rows.close()
            raise
        values = {
            "id": f"g_{secrets.token_hex(8)}",
            "name": name,
            "sample": sample,
            "dataset": guard.dataset,
            "created": now(),
        }
        try:
            with self._samples.held(sample) as connection:
                connection.execute(insert(GUARDS).values(values))
        except Taken:
            guard.shut()
            raise Problem("name-taken", "a guard of that name, or of these rows, was made just now") from None
        except BaseException:
            guard.shut()
            raise
        with self._mutex:
            self._rows[values["id"]], self._open[values["id"]] = values, guard
        return values

    def row(self, identity: str) -> Mapping[str, Any]:
        """The record of a guard, which never changes."""
        if identity not in self._rows:
            found = self._records.get(GUARDS, id=identity) if IDENTITY.fullmatch(identity) else None
            if found is None:
                raise _absent()
            self._rows[identity] = found
        return self._rows[identity]

    def rows(self) -> list[Mapping[str, Any]]:
        """The records of all guards."""
        return [*self._records.all(GUARDS)]

    def ledger(self, identity: str, caller: Caller) -> Ledger:
        """The ledger of a guard that the caller reaches; no row of the sample is needed."""
        ledger = self.chain(identity)
        if not caller.steward and not caller.reaches(identity, ledger.look(Standing.of).policy):
            raise _absent()
        return ledger

    def chain(self, identity: str) -> Ledger:
        """The ledger of a guard, for who asks by themselves whether a caller reaches it."""
        return self._store.ledger(self.row(identity)["dataset"])

    def guard(self, identity: str, caller: Caller) -> Guard:
        """A guard that the caller reaches, with its rows."""
        self.ledger(identity, caller)
        return self.opened(identity)

    def opened_for(self, identity: str, callers: Sequence[Caller]) -> Guard:
        """A guard that one of the callers reaches, with its rows; whether each does is asked with its question."""
        guard = self._open.get(identity)
        if guard is not None:
            return guard
        policy = self.chain(identity).look(Standing.of).policy
        if not any(caller.reaches(identity, policy) for caller in callers):
            raise _absent()
        return self.opened(identity)

    def require(self, identity: str, caller: Caller, policy: Policy) -> None:
        """Raise for a caller who does not reach a guard of this policy."""
        if not caller.reaches(identity, policy):
            raise _absent()

    def slow(self, identity: str) -> bool:
        """Whether the rows of a guard that this worker has opened take long to read."""
        guard = self._open.get(identity)
        return guard is not None and guard.slow

    def opened(self, identity: str) -> Guard:
        """A guard with its rows, opened if this worker has not yet."""
        guard = self._open.get(identity)
        if guard is not None:
            return guard
        with self._mutex:
            opening = self._opening.setdefault(identity, threading.Lock())
        with opening:
            guard = self._open.get(identity)
            if guard is None:
                guard = self._open[identity] = self._try(identity)
            return guard

    def _try(self, identity: str) -> Guard:
        """Open a guard. Where its rows are out of reach, those who ask next are told so without looking again.

        To look may mean to read all rows; who waits for it one after the other would hold every thread.
        """
        until, words = self._lacking.get(identity, (0.0, ""))
        if time.monotonic() < until:
            raise SampleUnavailable(words)
        begun = time.monotonic()
        try:
            row = self.row(identity)
            guard = Guard.open(self._store, self._samples.open(row["sample"]))
            if guard.dataset != row["dataset"]:
                guard.shut()
                raise SampleUnavailable("the sample no longer has the rows it was registered with")
        except SampleUnavailable as error:
            ended = time.monotonic()
            self._lacking[identity] = ended + min(max(2 * (ended - begun), _PAUSE), _LONGEST_PAUSE), str(error)
            raise
        self._lacking.pop(identity, None)
        return guard

    def renew(self, identity: str, failed: Guard) -> None:
        """Open a file's sample again when it is next asked: what was there may be there again.

        The one that failed is let go of and not shut: others may be reading it, and its files are closed with the last
        of them. One that was opened since stays. A database connects again by itself, and reading all of its rows once
        more would cost too much.
        """
        if failed.engine in _FILES:
            with self._mutex:
                if self._open.get(identity) is failed:
                    del self._open[identity]

    def close(self) -> None:
        """Let go of every sample."""
        with self._mutex:
            guards, self._open = list(self._open.values()), {}
        for guard in guards:
            guard.shut()


def _absent() -> Problem:
    return Problem("not-found", "there is no such guard for this token")


__all__ = ["Guards"]
