"""Predictions in a file: a table with the key's column and one called `prediction`, or JSON.

What comes from elsewhere a server reads by the same rules in a process of its own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.extras import named_extras
from holdfast.guard.scoring import texts
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.tally import prediction_kind
from holdfast.guard.scoring.texts import GAPS, PREDICTION, UNREADABLE, WORDS, missing_columns

FORMATS = {".csv": "csv", ".parquet": "parquet", ".json": "json"}
"""What a file may be, by how its name ends."""
SMALL = 1 << 20
"""Bytes up to which a text is read cell by cell."""


@named_extras()
def predictions_in(file: Path, board: Board, schema: Schema) -> Any:
    """Predictions in a .csv, .parquet or .json file of one's own, as a `score` takes them.

    A table has the key's column and one called `prediction`; JSON is an object of keys to predictions, two lists under
    `keys` and `predictions`, or a list of objects with the two columns.
    """
    format_ = FORMATS.get(file.suffix.lower())
    if format_ is None:
        raise InvalidParameter(f"the file must end in .csv, .parquet, .json or .onnx, got {file.name!r}")
    kinds = schema[board.key].kind, prediction_kind(board, schema[board.label].kind)
    small = file.stat().st_size <= SMALL  # where there is no such file, this says so
    try:
        if small and format_ != "parquet":
            return texts.read(file.read_bytes(), format_, board.key, *kinds)
        found = table_in(file, format_, board.key, kinds)
    except InvalidParameter as error:
        raise InvalidParameter(f"{file.name}: {error}") from None
    return {"keys": found["key"].to_list(), "predictions": found["value"].to_list()}


def table_in(file: Path, format_: str, key: str, kinds: tuple[str, str], most: int | None = None) -> Any:
    """The two columns of a file as a polars frame, `key` and `value`, of one kind each and without gaps.

    Raises
    ------
    InvalidParameter
        Damaged, without the two columns, or with more than `most` predictions. Decided by the file alone.
    """
    import polars as pl
    import pyarrow as pa

    try:
        if format_ == "json":
            read = texts.from_json(file.read_bytes(), key)
            columns = {name: pl.Series(values=values, strict=False) for name, values in read.items()}
            frame = pl.DataFrame(columns).lazy().rename({"keys": "key", "predictions": "value"})
        else:
            csv = format_ == "csv"
            frame = pl.scan_csv(file, infer_schema=False, glob=False) if csv else _parquet(file)
            names = frame.collect_schema().names()
            if key not in names or PREDICTION not in names:
                raise missing_columns(key)
            frame = frame.select(pl.col(key).alias("key"), pl.col(PREDICTION).alias("value"))
        if most is not None and frame.select(pl.len()).collect(engine="streaming").item() > most:
            raise texts.too_many(most)
        types = frame.collect_schema()
        plain = format_ == "csv"  # whose cells are texts, whatever they say
        typed = [_typed(name, types[name], kind, plain) for name, kind in zip(("key", "value"), kinds, strict=True)]
        found = frame.select(typed).collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, OSError, TypeError):
        raise InvalidParameter(UNREADABLE) from None
    named = [name for name, type_ in found.schema.items() if type_ == pl.String]
    if sum(found.null_count().row(0)) or any((found[name] == "").any() for name in named):
        raise InvalidParameter(GAPS)
    return found


def _parquet(file: Path) -> Any:
    import polars as pl

    return pl.scan_parquet(file, glob=False, hive_partitioning=False)


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


__all__ = ["FORMATS", "SMALL", "predictions_in", "table_in"]
