"""Samples that stewards registered: uploads in one folder, and files and tables that the server was told to allow.

What a request names is never used as a path: an upload gets a name of our own, a file of a folder is resolved and must
still lie in it, and tables are chosen by the name under which they were allowed.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, select, update

from holdfast.core import sandbox
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.errors import HoldfastError, InvalidParameter, SampleUnavailable
from holdfast.server.http import Problem
from holdfast.server.records import GUARDS, IDENTITY, SAMPLES, Records, Taken, now
from holdfast.server.settings import Settings

# --- Samples ----------------------------------------------------------------------------------------------------------

FORMATS = ("csv", "parquet")
Origin = Literal["upload", "path", "source"]


class Samples:
    """The register of samples."""

    def __init__(self, records: Records, settings: Settings) -> None:
        self._records, self._settings = records, settings
        settings.uploads.mkdir(parents=True, exist_ok=True, mode=0o700)

    def fresh_upload(self, format_: str) -> Path:
        """Return a path for a file to come, under a name that nobody chose."""
        if format_ not in FORMATS:
            raise InvalidParameter(f"format must be one of {', '.join(FORMATS)}")
        return self.fresh_file(format_)

    def fresh_file(self, format_: str) -> Path:
        """Return the same for a file that is read once and deleted."""
        return self._settings.uploads / f"{secrets.token_hex(16)}.{format_}"

    def resolve(self, origin: Origin, place: str) -> tuple[str, str | None]:
        """Return where the rows of a place are, and their table: asked anew each time, so that what is allowed can end.

        An upload's place is its file, wherever the folder of uploads is now; a path's is what was asked for below an
        allowed folder; a source's is its name, so that addresses with passwords stay in the settings.
        """
        if origin == "upload":
            return str(self._settings.uploads / Path(place).name), None
        if origin == "path":
            return str(self._inside(place)), None
        if place not in self._settings.allow_source:
            raise Problem("forbidden", "this server was not told to allow a source of that name")
        address, _, table = self._settings.allow_source[place].partition("#")
        return address, table or None

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
        if self._records.get(SAMPLES, name=name) is not None:
            raise Problem("name-taken", f"a sample is called {name!r} already")
        where, table = self.resolve(origin, place)
        try:
            facts = examine(where, table, row_key, schema, self._settings)
        except (InvalidParameter, SampleUnavailable) as error:
            if origin == "upload":  # the file is what was sent: asking again does not help, nor its name here
                raise InvalidParameter(str(error).replace(Path(where).name, "the file")) from None
            raise
        if origin == "upload" and not Path(place).exists():
            raise Problem("timed-out", "the upload took too long and was given up")
        values = {
            "id": f"s_{secrets.token_hex(8)}",
            "name": name,
            "origin": origin,
            "place": place,
            "row_key": row_key,
            "row_key_numbered": facts["row_key_numbered"],
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
        """Return the rows, which must be those that were registered."""
        from holdfast.data.tables import table

        row = self.row(identity)
        try:
            where, inner = self.resolve(row["origin"], row["place"])
        except Problem as problem:
            raise SampleUnavailable(f"the rows of the data set cannot be reached: {problem.detail}") from None
        schema = Schema.from_dict(json.loads(row["schema"]))
        try:
            sample = table(where, table=inner, schema=schema, row_key=row["row_key"])
        except (InvalidParameter, SampleUnavailable):
            if inner is not None or "://" in where:
                raise
            # What is wrong with a file, and in which line, is for the steward, who registers it; here analysts ask.
            raise SampleUnavailable(
                "the file of the data set is missing, or no longer has the rows with which it was registered"
            ) from None
        if sample.fingerprint() != row["fingerprint"]:
            sample.close()
            raise SampleUnavailable("the data set no longer has the rows with which it was registered")
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
            row = connection.execute(statement).first()
            if row is None or row.removed is not None:
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
    return found.exists() and all(part.resolve().is_relative_to(root) for part in inner)


def public(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what may be shown of a sample: not where it lies."""
    names = ("id", "name", "origin", "row_key", "row_key_numbered", "fingerprint", "n", "created")
    plain = {name: row[name] for name in names}
    return plain | {"schema": json.loads(row["schema"])}


# --- Examining --------------------------------------------------------------------------------------------------------
# Looking through rows for the first time, in a process of its own with limits on memory and time.
#
# A file from outside may be damaged, or small and unfold into more than the machine holds. Whatever it does, it does to
# the child; the server says no and goes on.

#: gzip, zstd, zlib, zip, bzip2, xz: a reader would unpack them silently.
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x9c", b"\x78\xda", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")
_REFUSED = 3


def examine(
    place: str, table: str | None, row_key: str | None, schema: Mapping[str, Any] | None, settings: Settings
) -> dict[str, Any]:
    """Schema, number of rows and fingerprint of what is at `place`, and whether its row key is a running number.

    Raises
    ------
    InvalidParameter
        No rows that can be guarded: damaged, too large once unpacked, or unlike the declared schema.
    SampleUnavailable
        It cannot be reached.
    """
    if place.endswith(".csv") and Path(place).is_file():
        with Path(place).open("rb") as file:
            if file.read(6).startswith(_PACKED):
                raise InvalidParameter("the file must be a plain CSV file, and not a compressed one")
    wanted = {"place": place, "table": table, "row_key": row_key, "schema": schema, "memory_mb": settings.memory_mb}
    done = sandbox.run(
        "holdfast.server.samples",
        json.dumps(wanted).encode(),
        seconds=settings.upload_seconds,
        environment=os.environ | sandbox.ONE_THREAD | {"POLARS_MAX_THREADS": "2"},
        folder=Path.cwd(),
    )
    if done.status is None:
        raise InvalidParameter("the rows could not be read within the time limit of this server")
    if done.status == 0:
        facts: dict[str, Any] = json.loads(done.answer)
        return facts
    if done.status == _REFUSED:
        answered = json.loads(done.answer)
        raise (SampleUnavailable if answered["kind"] == "SampleUnavailable" else InvalidParameter)(answered["detail"])
    raise InvalidParameter(
        "the rows could not be read: the file is damaged, or it is larger than allowed after decompression"
    )


def _child() -> int:
    wanted = json.loads(sys.stdin.buffer.read())
    sandbox.limit(wanted["memory_mb"] << 20)
    try:
        from holdfast.data.schema import Schema
        from holdfast.data.tables import table

        schema = None if wanted["schema"] is None else Schema.from_dict(wanted["schema"])
        with table(wanted["place"], table=wanted["table"], schema=schema, row_key=wanted["row_key"]) as sample:
            facts = {"n": sample.n, "schema": sample.schema.to_dict(), "fingerprint": sample.fingerprint()}
            facts["row_key_numbered"] = sample.row_key in sample.identity().numbered
        print(json.dumps(facts))
        return 0
    except HoldfastError as error:
        print(json.dumps({"kind": type(error).__name__, "detail": str(error)}))
        return _REFUSED


if __name__ == "__main__":
    sys.exit(_child())
