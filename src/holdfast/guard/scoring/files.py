"""Predictions in files and texts: a table with the key's column and one called `prediction`, or JSON."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.core.extras import named_extras
from holdfast.core.strict_json import read_json
from holdfast.data import csv_files
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, SampleUnavailable
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.tally import prediction_kind

# --- Texts ------------------------------------------------------------------------------------------------------------
# Predictions in small plain texts, CSV or JSON: a text unfolds into nothing larger than itself.
#
# Larger files and Parquet are read as tables (`files`), by the same rules.

PREDICTION = "prediction"
"""The name of the column with the predictions; the other one is the key's."""
GAPS = "the file must have a key and a prediction in every line"
UNREADABLE = "the file must be a table of row keys and predictions, of the kinds that the board takes, without gaps"
WORDS = {"true": True, "false": False, "1": True, "0": False}
"""How CSV says true and false, in small letters."""
WHOLE = r"[+-]?[0-9]{1,19}"
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
"""How CSV says a whole and another number."""


def read(body: bytes, format_: str, key: str, key_kind: str, kind: str) -> dict[str, list[Any]]:
    """Return the keys and predictions of a text, "csv" or "json"."""
    return from_csv(body, key, key_kind, kind) if format_ == "csv" else from_json(body, key)


def too_many(most: int) -> InvalidParameter:
    """Return the refusal of a file with more predictions than are taken."""
    return InvalidParameter(f"the file must have at most {most} predictions")


def missing_columns(key: str) -> InvalidParameter:
    """Return the refusal of a file without the two columns."""
    return InvalidParameter(f"the file must have the columns {key!r} and {PREDICTION!r}")


def from_csv(body: bytes, key: str, key_kind: str, kind: str) -> dict[str, list[Any]]:
    r"""Two columns of a CSV text with a header.

    Examples
    --------
    >>> from_csv(b"id,prediction\n1,true\n2,false\n", "id", "integer", "boolean")
    {'keys': [1, 2], 'predictions': [True, False]}
    """
    try:
        header, *rows = csv_files.cells("the file", io.BytesIO(body))
    except InvalidParameter as error:
        raise InvalidParameter(f"{UNREADABLE}; {error}") from None
    if key not in header or PREDICTION not in header:
        raise missing_columns(key)
    places = header.index(key), header.index(PREDICTION)
    columns = [[row[place] for row in rows] for place in places]
    if any(not cell for column in columns for cell in column):
        raise InvalidParameter(GAPS)
    try:
        keys, values = (
            [_READ[of](cell) for cell in cells] for of, cells in zip((key_kind, kind), columns, strict=True)
        )
    except (KeyError, ValueError):
        raise InvalidParameter(UNREADABLE) from None
    return {"keys": keys, "predictions": values}


def from_json(body: bytes, key: str) -> dict[str, list[Any]]:
    """`{"keys": [...], "predictions": [...]}`, an object of keys to predictions, or a list of objects.

    Examples
    --------
    >>> from_json(b'{"1": 0.5}', "id")
    {'keys': ['1'], 'predictions': [0.5]}
    >>> from_json(b'[{"id": 1, "prediction": 0.5}]', "id")
    {'keys': [1], 'predictions': [0.5]}
    """
    try:
        read = read_json(body)
    except InvalidParameter as error:
        raise InvalidParameter(f"the predictions cannot be read: {error}") from None
    if isinstance(read, list) and all(isinstance(one, dict) and set(one) == {key, PREDICTION} for one in read):
        return _columns([one[key] for one in read], [one[PREDICTION] for one in read])
    if not isinstance(read, dict):
        raise InvalidParameter(
            'the predictions must be {"keys": [...], "predictions": [...]}, an object from keys to them, or a list of '
            f"objects with {key!r} and {PREDICTION!r}"
        )
    if set(read) == {"keys", "predictions"} and all(isinstance(one, list) for one in read.values()):
        return _columns(read["keys"], read["predictions"])
    return _columns(list(read), list(read.values()))


def _columns(keys: list[Any], values: list[Any]) -> dict[str, list[Any]]:
    if len(keys) != len(values):
        raise InvalidParameter("the predictions must have one prediction for each key")
    for column in (keys, values):
        kinds = {type(value) for value in column}
        if not kinds <= {int, float} and (len(kinds) != 1 or not kinds <= {str, bool}):
            raise InvalidParameter(
                "the keys must all be of one kind (numbers, texts or truth values), and so must the predictions"
            )
    return {"keys": keys, "predictions": values}


def _whole(cell: str) -> int:
    if not re.fullmatch(WHOLE, cell):
        raise ValueError
    return int(cell)


def _number(cell: str) -> float:
    if not re.fullmatch(NUMBER, cell):
        raise ValueError
    return float(cell)


_READ: dict[str, Callable[[str], Any]] = {
    "integer": _whole,
    "number": _number,
    "boolean": lambda cell: WORDS[cell.lower()],
    "text": str,
}


# --- Files ------------------------------------------------------------------------------------------------------------
# Predictions in a file: a table with the key's column and one called `prediction`, or JSON.
#
# What comes from elsewhere a server reads by the same rules in a process of its own.

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
            return read(file.read_bytes(), format_, board.key, *kinds)
        frame = table_in(file, format_, board.key, kinds)
    except InvalidParameter as error:
        raise InvalidParameter(f"{file.name}: {error}") from None
    return {"keys": frame["key"].to_list(), "predictions": frame["value"].to_list()}


def table_in(file: Path, format_: str, key: str, kinds: tuple[str, str], most: int | None = None) -> Any:
    """Return the two columns of a file as a polars frame, `key` and `value`, of one kind each and without gaps.

    Raises
    ------
    InvalidParameter
        Damaged, without the two columns, or with more than `most` predictions. Decided by the file alone.
    """
    import polars as pl
    import pyarrow as pa

    try:
        if format_ == "json":
            read = from_json(file.read_bytes(), key)
            columns = {name: pl.Series(values=values, strict=False) for name, values in read.items()}
            frame = pl.DataFrame(columns).lazy().rename({"keys": "key", "predictions": "value"})
        elif format_ == "csv":
            frame = _csv(file, key, most)
        else:
            frame = pl.scan_parquet(file, glob=False, hive_partitioning=False)
            names = frame.collect_schema().names()
            if key not in names or PREDICTION not in names:
                raise missing_columns(key)
            frame = frame.select(pl.col(key).alias("key"), pl.col(PREDICTION).alias("value"))
        if most is not None and frame.select(pl.len()).collect(engine="streaming").item() > most:
            raise too_many(most)
        types = frame.collect_schema()
        plain = format_ == "csv"  # whose cells are texts, whatever they say
        typed = [_typed(name, types[name], kind, plain) for name, kind in zip(("key", "value"), kinds, strict=True)]
        collected = frame.select(typed).collect(engine="streaming")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, pa.ArrowException, OSError, TypeError):
        raise InvalidParameter(UNREADABLE) from None
    named = [name for name, type_ in collected.schema.items() if type_ == pl.String]
    if sum(collected.null_count().row(0)) or any((collected[name] == "").any() for name in named):
        raise InvalidParameter(GAPS)
    return collected


def _csv(file: Path, key: str, most: int | None) -> Any:
    """The two columns of a CSV file as texts."""
    import polars as pl

    try:
        names = csv_files.names_in(file)
        if key not in names or PREDICTION not in names:
            raise missing_columns(key)
        parts, rows = [], 0
        for part in csv_files.texts(file, [key, PREDICTION], len(names)):
            rows += part.num_rows
            if most is not None and rows > most:
                raise too_many(most)
            parts.append(pl.DataFrame([pl.Series("key", part.column(0)), pl.Series("value", part.column(1))]))
    except SampleUnavailable as error:
        raise InvalidParameter(f"{UNREADABLE}; {str(error).replace(file.name, 'the file')}") from None
    empty = pl.DataFrame(schema={"key": pl.String, "value": pl.String})
    return pl.concat([empty, *parts]).lazy()


def _typed(name: str, type_: Any, kind: str, plain: bool) -> Any:
    """A column as the kind that the board takes; a cell that is not of it is an error, here or when it is checked."""
    import polars as pl

    column = pl.col(name)
    if type_ in (pl.Categorical, pl.Enum):
        return column.cast(pl.String)
    if plain and kind == "boolean":
        return column.str.to_lowercase().replace_strict(WORDS, return_dtype=pl.Boolean)
    if plain and kind in ("integer", "number"):
        pattern, read = (WHOLE, pl.Int64) if kind == "integer" else (NUMBER, pl.Float64)
        # What is spelled otherwise stays a text, which is none.
        return pl.when(column.str.contains(f"^({pattern})$")).then(column).otherwise(pl.lit("none")).cast(read)
    if type_.is_integer() and kind in ("integer", "number"):
        return column.cast(pl.Int64 if kind == "integer" else pl.Float64)
    if type_ in (pl.Float32, pl.Float64, pl.Boolean, pl.String) or type_.is_integer():
        return column
    raise InvalidParameter(UNREADABLE)
