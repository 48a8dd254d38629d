"""Predictions in a file of one's own. What comes from elsewhere a server reads in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.extras import named_extras
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.tally import prediction_kind


@named_extras()
def predictions_in(file: Path, board: Board, schema: Schema) -> Any:
    """Predictions in a .csv, .parquet or .json file, as a `score` takes them.

    A table has the key's column and one called `prediction`; JSON is an object of keys to predictions, or two lists
    under `keys` and `predictions`.
    """
    kind = file.suffix.lower()
    if kind == ".json":
        return _in_json(file)
    if kind not in (".csv", ".parquet"):
        raise InvalidParameter(f"the file must end in .csv, .parquet, .json or .onnx, got {file.name!r}")
    import polars as pl

    types = {"integer": pl.Int64, "number": pl.Float64, "text": pl.String, "boolean": pl.Boolean}
    wanted = {
        board.key: types[schema[board.key].kind],
        "prediction": types[prediction_kind(board, schema[board.label].kind)],
    }
    try:
        with file.open("rb") as source:
            if kind == ".parquet":
                return pl.read_parquet(source, columns=list(wanted))
            return pl.read_csv(source, columns=list(wanted), schema_overrides=wanted)
    except pl.exceptions.PolarsError:
        raise InvalidParameter(
            f"{file.name} must have the columns {board.key!r} and 'prediction', of the kinds that the board takes"
        ) from None


def _in_json(file: Path) -> Any:
    try:
        found = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError):
        raise InvalidParameter(f"{file.name} must hold one JSON object: row keys to predictions") from None
    if not isinstance(found, dict):
        raise InvalidParameter(f"{file.name} must hold one JSON object: row keys to predictions")
    return found


__all__ = ["predictions_in"]
