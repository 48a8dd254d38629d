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
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.tally import prediction_kind
from holdfast.server import submitted_text
from holdfast.server.submitted_text import GAPS, PREDICTION, UNREADABLE, WORDS, missing_columns

if TYPE_CHECKING:
    from holdfast.server.settings import Settings

FORMATS = {
    "text/csv": "csv",
    "application/vnd.apache.parquet": "parquet",
    "application/x-parquet": "parquet",
    "application/json": "json",
}
"""What may be sent, by media type."""
_REFUSED = 3
_SPARE = 10_000


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
    if format_ != "parquet" and place.stat().st_size <= settings.max_body:
        body = place.read_bytes()
        if format_ == "csv":
            found = submitted_text.from_csv(body, board.key, *kinds)
        else:
            found = submitted_text.from_json(body, board.key)
        if len(found["keys"]) > most:
            raise _too_many(most)
        return found
    wanted = {
        "place": str(place.resolve()),
        "format": format_,
        "key": board.key,
        "kinds": kinds,
        "most": most,
        "memory_mb": settings.memory_mb,
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


def _too_many(most: int) -> InvalidParameter:
    return InvalidParameter(f"the file must have at most {most} predictions")


def _child() -> int:
    channel = apart.answer_channel()
    apart.cut_off()
    wanted = json.loads(sys.stdin.buffer.read())
    apart.limit(wanted["memory_mb"] << 20)
    try:
        made, status = _read(wanted), 0
    except InvalidParameter as error:
        made, status = json.dumps({"detail": str(error)}).encode(), _REFUSED
    with os.fdopen(channel, "wb") as out:
        out.write(made)
    return status


def _read(wanted: dict[str, Any]) -> bytes:
    """Two columns of one kind each, as an Arrow stream."""
    import polars as pl
    import pyarrow as pa

    place, key = wanted["place"], wanted["key"]
    try:
        if wanted["format"] == "json":
            read = submitted_text.from_json(Path(place).read_bytes(), key)
            columns = {name: pl.Series(values=values, strict=False) for name, values in read.items()}
            frame = pl.DataFrame(columns).lazy().rename({"keys": "key", "predictions": "value"})
        else:
            csv = wanted["format"] == "csv"
            frame = pl.scan_csv(place, infer_schema=False, glob=False) if csv else _parquet(place)
            names = frame.collect_schema().names()
            if key not in names or PREDICTION not in names:
                raise missing_columns(key)
            frame = frame.select(pl.col(key).alias("key"), pl.col(PREDICTION).alias("value"))
        if frame.select(pl.len()).collect(engine="streaming").item() > wanted["most"]:
            raise _too_many(wanted["most"])
        types = frame.collect_schema()
        plain = wanted["format"] == "csv"  # whose cells are texts, whatever they say
        kinds = zip(("key", "value"), wanted["kinds"], strict=True)
        typed = [_typed(name, types[name], kind, plain) for name, kind in kinds]
        found = frame.select(typed).collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, OSError, TypeError):
        raise InvalidParameter(UNREADABLE) from None
    texts = [name for name, type_ in found.schema.items() if type_ == pl.String]
    if sum(found.null_count().row(0)) or any((found[name] == "").any() for name in texts):
        raise InvalidParameter(GAPS)
    sink = pa.BufferOutputStream()
    made = found.to_arrow(compat_level=pl.CompatLevel.oldest())
    with pa.ipc.new_stream(sink, made.schema) as writer:
        writer.write_table(made)
    return bytes(sink.getvalue())


def _parquet(place: str) -> Any:
    import polars as pl

    return pl.scan_parquet(place, glob=False, hive_partitioning=False)


def _typed(name: str, type_: Any, kind: str, plain: bool) -> Any:
    """A column as the kind that the board takes; a cell that is not of it is an error, here or when it is checked."""
    import polars as pl

    column = pl.col(name)
    if type_ in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if plain and kind == "boolean":
        return column.str.to_lowercase().replace_strict(WORDS, return_dtype=pl.Boolean)
    if plain and kind in ("integer", "number"):
        return column.cast({"integer": pl.Int64, "number": pl.Float64}[kind])
    if type_.is_integer() and kind in ("integer", "number"):
        return column.cast(pl.Int64 if kind == "integer" else pl.Float64)
    if type_ in (pl.Float32, pl.Float64, pl.Boolean, pl.String) or type_.is_integer():
        return column
    raise InvalidParameter(UNREADABLE)


if __name__ == "__main__":
    sys.exit(_child())

__all__ = ["FORMATS", "PREDICTION", "read_predictions"]
