"""Samples that stewards registered: uploads in one folder, and files and tables that the server was told to allow.

What a request names is never used as a path: an upload gets a name of our own, a file of a folder is resolved and must
still lie in it, and tables are chosen by the name under which they were allowed.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, select, update

from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, SampleUnavailable
from holdfast.server.errors import Problem
from holdfast.server.records import IDENTITY, Records, Taken, now
from holdfast.server.settings import Settings
from holdfast.server.tables import GUARDS, SAMPLES

FORMATS = ("csv", "parquet")
Origin = Literal["upload", "path", "source"]


class Samples:
    """The register of samples."""

    def __init__(self, records: Records, settings: Settings) -> None:
        self._records, self._settings = records, settings
        settings.uploads.mkdir(parents=True, exist_ok=True, mode=0o700)

    def fresh_upload(self, format_: str) -> Path:
        """A path for a file to come, under a name that nobody chose."""
        if format_ not in FORMATS:
            raise InvalidParameter(f"format must be one of {', '.join(FORMATS)}")
        return self.fresh_file(format_)

    def fresh_file(self, format_: str) -> Path:
        """The same for a file that is read once and deleted."""
        return self._settings.uploads / f"{secrets.token_hex(16)}.{format_}"

    def resolve(self, origin: Origin, place: str) -> tuple[str, str | None]:
        """Where the rows of a place are, and their table: asked anew each time, so that what is allowed can end.

        An upload's place is its file, wherever the folder of uploads is now; a path's is what was asked for below an
        allowed folder; a source's is its name, so that addresses with passwords stay in the settings.
        """
        if origin == "upload":
            return str(self._settings.uploads / Path(place).name), None
        if origin == "path":
            return str(self._inside(place)), None
        if place not in self._settings.allow_source:
            raise Problem("forbidden", "this server was not told to allow a source of that name")
        found, _, table = self._settings.allow_source[place].partition("#")
        return found, table or None

    def _inside(self, path: str) -> Path:
        if path and "\x00" not in path:
            for folder in self._settings.allow_folder:
                root = folder.resolve()
                found = (root / path).resolve()
                if found.is_relative_to(root) and found != root and _stays(found, root):
                    return found
        raise Problem("forbidden", "this server was not told to allow a file at that path")

    def add(
        self,
        name: str,
        origin: Origin,
        place: str,
        row_key: str | None = None,
        schema: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Look through the rows in a process of their own, with limits, and remember where they are."""
        from holdfast.server.examining import examine

        if self._records.get(SAMPLES, name=name) is not None:
            raise Problem("name-taken", f"a sample is called {name!r} already")
        where, table = self.resolve(origin, place)
        try:
            facts = examine(where, table, row_key, schema, self._settings)
        except SampleUnavailable as error:
            if origin == "upload":  # the file is what was sent: asking again does not help
                raise InvalidParameter(str(error)) from None
            raise
        if origin == "upload" and not Path(place).exists():
            raise Problem("timed-out", "the upload took too long and was given up")
        values = {
            "id": f"s_{secrets.token_hex(8)}",
            "name": name,
            "origin": origin,
            "place": place,
            "row_key": row_key,
            "schema": json.dumps(facts["schema"]),
            "fingerprint": facts["fingerprint"],
            "n": facts["n"],
            "created": now(),
            "removed": None,
        }
        try:
            self._records.add(SAMPLES, **values)
        except Taken:
            raise Problem("name-taken", f"a sample is called {name!r} already") from None
        return public(values)

    def list(self) -> list[dict[str, Any]]:
        """Public facts of all that were not removed."""
        return [public(row) for row in self._records.all(SAMPLES, removed=None)]

    def row(self, identity: str) -> Mapping[str, Any]:
        """One sample's record."""
        row = self._records.get(SAMPLES, id=identity) if IDENTITY.fullmatch(identity) else None
        if row is None or row["removed"] is not None:
            raise Problem("not-found", "there is no such sample")
        return row

    def open(self, identity: str) -> Sample:
        """The rows, which must be those that were registered."""
        from holdfast.data.tables import table

        row = self.row(identity)
        try:
            where, inner = self.resolve(row["origin"], row["place"])
        except Problem as problem:
            raise SampleUnavailable(f"the sample cannot be reached: {problem.detail}") from None
        schema = Schema.from_dict(json.loads(row["schema"]))
        sample = table(where, table=inner, schema=schema, row_key=row["row_key"])
        if sample.fingerprint() != row["fingerprint"]:
            sample.close()
            raise SampleUnavailable("the sample no longer has the rows it was registered with")
        return sample

    def remove(self, identity: str) -> None:
        """Forget a sample that no guard has; an upload's file goes with it."""
        row = self.row(identity)
        free = f"{row['name']} ({identity})"  # the name may be given again
        with self.held(identity) as connection:
            if connection.execute(select(GUARDS.c.id).where(GUARDS.c.sample == identity)).first() is not None:
                raise Problem("ledger-conflict", "a guard stands before this sample; close the guard and keep the rows")
            connection.execute(update(SAMPLES).where(SAMPLES.c.id == identity).values(removed=now(), name=free))
        if row["origin"] == "upload":
            Path(self.resolve("upload", row["place"])[0]).unlink(missing_ok=True)

    @contextmanager
    def held(self, identity: str) -> Iterator[Connection]:
        """A transaction in which a sample stays registered: it is not forgotten while a guard is put before it."""
        with self._records.writing() as connection:
            statement = select(SAMPLES.c.removed).where(SAMPLES.c.id == identity).with_for_update()
            found = connection.execute(statement).first()
            if found is None or found.removed is not None:
                raise Problem("not-found", "there is no such sample")
            yield connection

    def sweep(self) -> None:
        """Delete what a crash left of uploads: files that no record names and that nobody writes any more."""
        known = {Path(row["place"]).name for row in self._records.all(SAMPLES, origin="upload")}
        long_ago = time.time() - max(3600.0, 2 * self._settings.upload_seconds)
        for path in self._settings.uploads.iterdir():
            with suppress(OSError):  # another server may be quicker
                if path.name not in known and path.stat().st_mtime < long_ago:
                    path.unlink()


def _stays(found: Path, root: Path) -> bool:
    """Whether what is there is in the folder itself: a folder of files may hold links, which lead anywhere."""
    inner = found.glob("*.parquet") if found.is_dir() else ()
    return found.exists() and all(one.resolve().is_relative_to(root) for one in inner)


def public(row: Mapping[str, Any]) -> dict[str, Any]:
    """What may be shown of a sample: not where it lies."""
    plain = {name: row[name] for name in ("id", "name", "origin", "row_key", "fingerprint", "n", "created")}
    return plain | {"schema": json.loads(row["schema"])}


__all__ = ["FORMATS", "Origin", "Samples", "public"]
