"""Looking through rows for the first time, in a process of its own with limits on memory and time.

A file from outside may be damaged, or small and unfold into more than the machine holds. Whatever it does, it does to
the child; the server says no and goes on.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError, InvalidParameter, SampleUnavailable
from holdfast.guard import apart

if TYPE_CHECKING:
    from holdfast.server.settings import Settings

#: gzip, zstd, zlib, zip, bzip2, xz: a reader would unpack them silently.
_PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x78\x01", b"\x78\x9c", b"\x78\xda", b"PK\x03\x04", b"BZh", b"\xfd7zXZ")
_REFUSED = 3


def examine(
    place: str, table: str | None, row_key: str | None, schema: Mapping[str, Any] | None, settings: Settings
) -> dict[str, Any]:
    """Schema, number of rows and fingerprint of what is at `place`.

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
                raise InvalidParameter("the file must be plain CSV, not packed")
    wanted = {"place": place, "table": table, "row_key": row_key, "schema": schema, "memory_mb": settings.memory_mb}
    done = apart.run(
        "holdfast.server.examining",
        json.dumps(wanted).encode(),
        seconds=settings.upload_seconds,
        environment=os.environ | apart.ONE_THREAD | {"POLARS_MAX_THREADS": "2"},
        folder=Path.cwd(),
    )
    if done.status is None:
        raise InvalidParameter("the rows could not be read in the time that is allowed")
    if done.status == 0:
        facts: dict[str, Any] = json.loads(done.answer)
        return facts
    if done.status == _REFUSED:
        said = json.loads(done.answer)
        raise (SampleUnavailable if said["kind"] == "SampleUnavailable" else InvalidParameter)(said["detail"])
    raise InvalidParameter("the rows could not be read: damaged, or larger than is allowed once they are unpacked")


def _child() -> int:
    wanted = json.loads(sys.stdin.buffer.read())
    apart.limit(wanted["memory_mb"] << 20)
    try:
        from holdfast.data.schema import Schema
        from holdfast.data.tables import table

        schema = None if wanted["schema"] is None else Schema.from_dict(wanted["schema"])
        with table(wanted["place"], table=wanted["table"], schema=schema, row_key=wanted["row_key"]) as sample:
            facts = {"n": sample.n, "schema": sample.schema.to_dict(), "fingerprint": sample.fingerprint()}
        print(json.dumps(facts))
        return 0
    except HoldfastError as error:
        print(json.dumps({"kind": type(error).__name__, "detail": str(error)}))
        return _REFUSED


if __name__ == "__main__":
    sys.exit(_child())
