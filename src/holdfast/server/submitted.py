"""Predictions as they are sent: small texts are read here, larger ones and Parquet in a process with limits.

What comes back from that process is two columns in Arrow's form. The file is deleted as soon as it was read; the
ledger keeps a digest.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.guard import apart
from holdfast.guard.scoring import texts
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.files import table_in
from holdfast.guard.scoring.tally import prediction_kind

if TYPE_CHECKING:
    from holdfast.server.settings import Settings
    from holdfast.server.state import Server

FORMATS = {
    "text/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
    "application/x-parquet": "parquet",
    "application/json": "json",
}
"""What may be sent, by media type."""
_REFUSED = 3
_SPARE = 10_000


async def read_on(server: Server, place: Path, format_: str, board: Board, schema: Schema, n: int) -> Any:
    """`read_predictions`, on a guard's thread where it is quick, and else among the few that have a process."""
    run = server.work if _is_quick(place, format_, server.settings) else server.read
    return await run(read_predictions, place, format_, board, schema, n, server.settings)


def _is_quick(place: Path, format_: str, settings: Settings) -> bool:
    return format_ != "parquet" and place.stat().st_size <= settings.max_body


def read_predictions(place: Path, format_: str, board: Board, schema: Schema, n: int, settings: Settings) -> Any:
    """The predictions in a file, as `Score` takes them.

    More than four for each row of the sample, and ten thousand, are refused: whoever sends so many asks about keys that
    are not there.

    Raises
    ------
    InvalidParameter
        Damaged, too large once unpacked, or without the two columns. Decided by the file alone.
    """
    kinds = schema[board.key].kind, prediction_kind(board, schema[board.label].kind)
    most = 4 * n + _SPARE
    if _is_quick(place, format_, settings):
        found = texts.read(place.read_bytes(), format_, board.key, *kinds)
        if len(found["keys"]) > most:
            raise texts.too_many(most)
        return found
    wanted = {
        "place": str(place.resolve()),
        "format": format_,
        "key": board.key,
        "kinds": kinds,
        "most": most,
        "memory_mb": settings.memory_mb,
        "bytes": settings.max_upload,
    }
    done = apart.run("holdfast.server.submitted", json.dumps(wanted).encode(), seconds=settings.upload_seconds)
    if done.status is None:
        raise InvalidParameter("the predictions could not be read in the time that is allowed")
    if done.status == _REFUSED:
        raise InvalidParameter(str(json.loads(done.answer)["detail"]))
    if done.status != 0:
        raise InvalidParameter("the predictions could not be read: damaged, or larger than is allowed once unpacked")
    import pyarrow as pa

    table = pa.ipc.open_stream(done.answer).read_all()
    columns = [_column(table.column(at).combine_chunks()) for at in (0, 1)]
    return {"keys": columns[0], "predictions": columns[1]}


def _column(array: Any) -> Any:
    import pyarrow as pa

    kept = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    return array.to_numpy(zero_copy_only=False) if kept else array.to_pylist()


def _child() -> int:
    channel = apart.answer_channel()
    apart.cut_off()
    wanted = json.loads(sys.stdin.buffer.read())
    apart.limit(wanted["memory_mb"] << 20)
    try:
        kinds = wanted["kinds"][0], wanted["kinds"][1]
        found = table_in(Path(wanted["place"]), wanted["format"], wanted["key"], kinds, wanted["most"])
        made, status = _arrow(found), 0
        if len(made) > wanted["bytes"]:  # what a server is to hold is as large as what it takes, not what it unfolds to
            raise InvalidParameter(f"the file must have at most {wanted['bytes']} bytes once it is unpacked")
    except InvalidParameter as error:
        made, status = json.dumps({"detail": str(error)}).encode(), _REFUSED
    with os.fdopen(channel, "wb") as out:
        out.write(made)
    return status


def _arrow(found: Any) -> bytes:
    """A frame as an Arrow stream."""
    import polars as pl
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    made = found.to_arrow(compat_level=pl.CompatLevel.oldest())
    with pa.ipc.new_stream(sink, made.schema) as writer:
        writer.write_table(made)
    return bytes(sink.getvalue())


if __name__ == "__main__":
    sys.exit(_child())

__all__ = ["FORMATS", "read_on", "read_predictions"]
