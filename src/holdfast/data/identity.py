"""Which rows a sample has: what finds it again, and what is remembered of files so that they are read once.

To read every row only to find out which rows they are takes longer than most questions. What was found is remembered
on this machine, in a folder of the user's own that nobody else may read, for the state that the files had: their
places, sizes, inodes, devices, and the times at which their content and their inodes changed. The last of these cannot
be set back as the others can. As long as nothing of it has changed, the files are not read again.

Files that changed less than `SETTLED` seconds before they were opened are not remembered: a further change could fall
into the same tick of the file system's clock. Files in a store are remembered by their size, version, time and tag,
where it is one that another content never has; a table of PostgreSQL by its server, its columns and the transactions
that wrote its rows. A machine whose own clock was set back while a file was rewritten, or a
file system that keeps no such times, can deceive it; the environment variable `HOLDFAST_CACHE` names another folder,
and an empty one keeps nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from holdfast.core.strict_json import to_canonical_json
from holdfast.data.files import Files
from holdfast.data.fingerprint import ColumnSummary, Content, Sketch, digest_of
from holdfast.data.schema import Declared, Schema
from holdfast.errors import InvalidParameter

FORMAT = 1
"""Of what is remembered; also raised when the rules by which files are read change."""
SETTLED = 3.0
"""Seconds for which files must not have changed: no file system's clock ticks slower than every two."""
SETTLED_ELSEWHERE = 60.0
"""The same for files of another machine, whose clock may be off."""
MOST_ENTRIES = 1_000
"""Entries of the folder; those that were used longest ago go first."""


@dataclass(frozen=True, repr=False)
class Identity:
    """What finds a sample again: a digest of its content, and one of each column that tells. The digests are secret.

    Examples
    --------
    >>> from holdfast.data import table
    >>> identity = table({"id": range(50), "age": [20 + at**2 % 47 for at in range(50)]}).identity()
    >>> len(identity.fingerprint), list(identity.column_digests), sorted(identity.numbered)
    (64, [], ['id'])
    """

    fingerprint: str
    column_digests: Mapping[str, str]
    """A digest of the values of each informative column; see `holdfast.data.fingerprint`."""
    numbered: frozenset[str]
    """Columns that are running numbers, which unrelated samples of this size have too."""

    @classmethod
    def of(cls, schema: Schema, content: Content, columns: Mapping[str, ColumnSummary]) -> Self:
        """From what reading all rows gave."""
        return cls(
            content.digest(schema),
            {name: column.digest() for name, column in columns.items() if column.is_informative()},
            frozenset(name for name, column in columns.items() if column.is_numbered()),
        )


@dataclass(frozen=True, repr=False)
class Known:
    """What an earlier opening of the same files found. Whoever opens them again need not read them through."""

    schema: Schema
    """The columns, with which of them have missing values."""
    n: int
    identity: Identity
    sketches: Mapping[str, Sketch] = field(default_factory=dict)
    """Sketches of columns that were row keys."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "schema": self.schema.to_dict(),
            "n": self.n,
            "fingerprint": self.identity.fingerprint,
            "columns": dict(self.identity.column_digests),
            "numbered": sorted(self.identity.numbered),
            "sketches": {name: sketch.to_dict() for name, sketch in self.sketches.items()},
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read it back."""
        return cls(
            Schema.from_dict(plain["schema"]),
            int(plain["n"]),
            Identity(str(plain["fingerprint"]), dict(plain["columns"]), frozenset(plain["numbered"])),
            {name: Sketch.from_dict(sketch) for name, sketch in plain["sketches"].items()},
        )


@dataclass(frozen=True)
class Memory:
    """Where what is known of some files is remembered, while they are as they were when they were opened."""

    place: Path

    @classmethod
    def of(cls, files: Files, engine: str, declared: Declared, table: str | None = None) -> Memory | None:
        """Return the place for files in their present state; None where they may not be remembered.

        `table` names the table of a file that is a database.
        """
        folder, settled = _folder(), SETTLED_ELSEWHERE if files.elsewhere else SETTLED
        newest = max(max(facts.modified, facts.changed) for _, facts in files.state) / 1e9
        if folder is None or not files.is_told_apart or not newest + settled < time.time():
            return None
        key: dict[str, Any] = {"files": [[name, list(facts)] for name, facts in files.state]}
        if files.held:
            key["held"] = [list(files.held[name].items()) for name, _ in files.state]
            key["types"] = list(files.types.items())
        if table is not None:
            key["table"] = table
        return cls._under(folder, engine, key, declared)

    @classmethod
    def of_table(cls, engine: str, state: Sequence[Any], declared: Declared) -> Memory | None:
        """Return the place for a table of a server in a state that no other content of any table has."""
        folder = _folder()
        return None if folder is None else cls._under(folder, engine, {"table": list(state)}, declared)

    @classmethod
    def _under(cls, folder: Path, engine: str, state: Mapping[str, Any], declared: Declared) -> Memory:
        wanted = None if declared is None else declared if isinstance(declared, Schema) else Schema(declared)
        key = {"format": FORMAT, "engine": engine, **state, "schema": None if wanted is None else wanted.to_dict()}
        return cls(folder / f"{digest_of(to_canonical_json(key))}.json")

    def recall(self) -> Known | None:
        """Return what is remembered; None where nothing is, or nothing that can be read."""
        try:
            known = Known.from_dict(json.loads(self.place.read_text(encoding="utf-8")))
            os.utime(self.place)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, InvalidParameter):
            return None
        return known

    def remember(self, known: Known) -> None:
        """Remember it, readable for this user alone. Where nothing can be written, nothing is remembered."""
        earlier = self.recall()
        if earlier is not None:
            known = replace(known, sketches={**earlier.sketches, **known.sketches})
        partial = self.place.with_suffix(f".{os.getpid()}.{time.monotonic_ns()}")
        try:
            self.place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(json.dumps(known.to_dict()))
            os.replace(partial, self.place)
            self._forget_oldest()
        except OSError:
            with suppress(OSError):
                partial.unlink()

    def _forget_oldest(self) -> None:
        entries = list(self.place.parent.glob("*.json"))
        if len(entries) <= MOST_ENTRIES:
            return
        used = sorted((entry.stat().st_mtime_ns, entry) for entry in entries)
        for _, entry in used[: len(entries) - MOST_ENTRIES]:
            entry.unlink(missing_ok=True)


def _folder() -> Path | None:
    """The folder of what is remembered; None where nothing will be."""
    named = os.environ.get("HOLDFAST_CACHE")
    if named is not None:
        return Path(named) if named else None
    try:
        caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    except RuntimeError:  # a user without a home
        return None
    return Path(caches) / "holdfast" / "identities"
