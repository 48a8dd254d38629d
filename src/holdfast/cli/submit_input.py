"""Files that are submitted to a guard in reach: predictions as a table, or a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from holdfast.errors import HoldfastError, InvalidParameter

if TYPE_CHECKING:
    from holdfast.data.sample import Sample
    from holdfast.data.schema import Schema
    from holdfast.guard.policy import Policy
    from holdfast.guard.scoring.board import Board


def predictions_in(file: Path, board: Board, schema: Schema) -> Any:
    """Predictions in a .csv, .parquet or .json file, as a `score` takes them."""
    from holdfast.guard.scoring.tally import prediction_kind

    kind = file.suffix.lower()
    if kind == ".json":
        return _in_json(file)
    if kind not in (".csv", ".parquet"):
        raise InvalidParameter(f"the file must end in .csv, .parquet, .json or .onnx, got {file.name!r}")
    try:
        import polars as pl
    except ImportError:
        raise HoldfastError("polars is not installed: `pip install 'holdfast[tables]'`") from None
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


def model_in(file: Path, sample: Sample, policy: Policy, output: str | None, entry: int | None) -> Any:
    """A model in an .onnx file, tried on made-up rows."""
    from holdfast.server.onnx.model import Model

    made = Model(file.read_bytes(), sample.schema, sample.n, policy, output=output, place=entry)
    made.tried()
    return made


__all__ = ["model_in", "predictions_in"]
