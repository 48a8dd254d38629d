"""Predictions as they are sent: a CSV or Parquet file, or JSON, read in a process of its own with limits.

What comes back is two columns in Arrow's form. The file is deleted as soon as it was read; the ledger keeps a digest.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.tally import prediction_kind
from holdfast.server import apart

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
PREDICTION = "prediction"
"""The name of the column with the predictions; the other one is the key's."""


def read_predictions(place: Path, format_: str, board: Board, schema: Schema, n: int, settings: Settings) -> Any:
    """The predictions in a file, as `Score` takes them.

    More than four for each row of the sample, and ten thousand, are refused: whoever sends so many asks about keys that
    are not there.

    Raises
    ------
    InvalidParameter
        Damaged, too large once unpacked, or without the two columns. Decided by the file alone.
    """
    wanted = {
        "place": str(place.resolve()),
        "format": format_,
        "key": board.key,
        "key_kind": schema[board.key].kind,
        "kind": prediction_kind(board, schema[board.label].kind),
        "most": 4 * n + _SPARE,
        "memory_mb": settings.memory_mb,
        "answer": 4 * settings.max_upload,
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
    apart.limit(wanted["memory_mb"] << 20, answer=None)
    try:
        made = _read(wanted)
        status = 0
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
            frame = _from_json(Path(place).read_bytes(), key)
        elif wanted["format"] == "csv":
            frame = pl.scan_csv(place, infer_schema=False, glob=False)
        else:
            frame = pl.scan_parquet(place, glob=False, hive_partitioning=False)
        names = frame.collect_schema().names()
        if key not in names or PREDICTION not in names:
            raise InvalidParameter(f"the file must have the columns {key!r} and {PREDICTION!r}")
        frame = frame.select(pl.col(key).alias("key"), pl.col(PREDICTION).alias("value"))
        if frame.select(pl.len()).collect(engine="streaming").item() > wanted["most"]:
            raise InvalidParameter(f"the file must have at most {wanted['most']} predictions")
        types = frame.collect_schema()
        typed = frame.select(
            _typed("key", types["key"], wanted["key_kind"]), _typed("value", types["value"], wanted["kind"])
        )
        found = typed.collect(engine="streaming").to_arrow(compat_level=pl.CompatLevel.oldest())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, OSError, ValueError) as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(
            "the file must be a table of row keys and predictions, of the kinds that the board takes, without gaps"
        ) from None
    if found.column(0).null_count or found.column(1).null_count:
        raise InvalidParameter("the file must have a key and a prediction in every line")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, found.schema) as writer:
        writer.write_table(found)
    return bytes(sink.getvalue())


def _typed(name: str, type_: Any, kind: str) -> Any:
    """A column as the kind that the board takes; a cell that is not of it is an error."""
    import polars as pl

    column = pl.col(name)
    if kind == "text":
        return column.cast(pl.String) if type_ in (pl.Categorical, pl.Enum) or type_.is_integer() else column
    if kind == "boolean" and type_ == pl.String:
        words = {"true": True, "false": False, "1": True, "0": False}
        return column.str.to_lowercase().replace_strict(words, return_dtype=pl.Boolean)
    if kind == "boolean" or (type_ == pl.Boolean):
        return column
    if kind == "integer" and type_.is_float():
        return column  # whole ones are taken, others refused, where predictions are checked
    return column.cast({"integer": pl.Int64, "number": pl.Float64}[kind])


def _from_json(body: bytes, key: str) -> Any:
    """`{"keys": [...], "predictions": [...]}`, an object of keys to predictions, or a list of objects."""
    import polars as pl

    from holdfast.server.errors import Problem
    from holdfast.server.responses import strict_loads

    try:
        read = strict_loads(body)
    except Problem as problem:
        raise InvalidParameter(problem.detail) from None
    if isinstance(read, list) and all(isinstance(one, dict) and set(one) == {key, PREDICTION} for one in read):
        keys, values = [one[key] for one in read], [one[PREDICTION] for one in read]
    elif isinstance(read, dict) and set(read) == {"keys", "predictions"} and isinstance(read["keys"], list):
        keys, values = read["keys"], read["predictions"]
    elif isinstance(read, dict):
        keys, values = list(read), list(read.values())
    else:
        raise InvalidParameter('the body must be {"keys": [...], "predictions": [...]} or keys to predictions')
    if not isinstance(values, list) or len(keys) != len(values):
        raise InvalidParameter("the body must have one prediction for each key")
    try:
        return pl.DataFrame({key: _one_kind(keys), PREDICTION: _one_kind(values)}).lazy()
    except (pl.exceptions.PolarsError, TypeError, OverflowError):
        raise InvalidParameter("keys and predictions must each be of one kind") from None


def _one_kind(values: list[Any]) -> Any:
    """A column; whole numbers among decimals are decimals."""
    import polars as pl

    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        return pl.Series(values=[float(value) for value in values], dtype=pl.Float64)
    if len(kinds) > 1 or not kinds <= {int, float, str, bool}:
        raise InvalidParameter("keys and predictions must each be of one kind, numbers, texts or truth values")
    return pl.Series(values=values, strict=True)


if __name__ == "__main__":
    sys.exit(_child())

__all__ = ["FORMATS", "PREDICTION", "read_predictions"]
