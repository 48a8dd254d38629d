"""A submitted model: what a board scores in the place of predictions."""

from __future__ import annotations

import hashlib
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.data.fingerprint import Texts
from holdfast.data.sample import Sample
from holdfast.data.schema import Kind, Schema
from holdfast.errors import InvalidParameter
from holdfast.guard.policy import Policy
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.making import Making
from holdfast.guard.scoring.onnx import evaluation, packing
from holdfast.guard.scoring.onnx.evaluation import Limits, Tried
from holdfast.guard.scoring.onnx.packing import Prediction
from holdfast.guard.scoring.predictions import Predictions, predictions
from holdfast.guard.scoring.tally import prediction_kind
from holdfast.strict_json import to_canonical_json

_PROBABILITIES = ("log-loss", "brier")


class Model(Making):
    """An .onnx file, and which of its outputs is the prediction.

    It sees every column but the keys and the labels of the policy's boards. Its digest is that of the file and of
    which output is meant: the same model again is the same submission, whatever it predicts.
    """

    def __init__(
        self,
        content: bytes,
        schema: Schema,
        n: int,
        policy: Policy,
        *,
        output: str | None = None,
        place: int | None = None,
        limits: Limits | None = None,
    ) -> None:
        limits = limits or Limits()
        if not 0 < len(content) <= limits.size:
            raise InvalidParameter(f"the model must have 1 to {limits.size} bytes, got {len(content)}")
        hidden = {name for board in policy.boards or () for name in (board.key, board.label)}
        features = packing.features_of(schema, hidden)
        if not features:
            raise InvalidParameter("this sample has no column that a model may see")
        self._content = content
        self._told = evaluation.wanted(features, n, output=output, place=place, limits=limits)
        which = to_canonical_json({"output": output, "place": place}).encode()
        self.digest = hashlib.sha256(b"holdfast model 1\n" + which + b"\n" + content).hexdigest()
        self.count = n

    def tried(self) -> Tried:
        """Try it without any row, or say what is wrong with it."""
        return evaluation.try_model(self._content, self._told)

    def make(self, sample: Sample, board: Board) -> Predictions:
        """Predict for every row, in a time that does not go by the rows."""
        kind, key = prediction_kind(board, sample.schema[board.label].kind), sample.schema[board.key].kind
        held = packing.columns_of(sample, [board.key, *self._told.features])
        columns = {name: packing.feature(held[name]) for name in self._told.features}
        made = evaluation.predict(self._content, self._told, columns)
        keys, share = _keys(*held[board.key]), board.metric in _PROBABILITIES
        usable: dict[Any, Prediction] = {}
        for name, one in zip(keys, made, strict=True):
            value = usable_as(kind, one, share)
            if name is not None and value is not None:
                usable[name] = value
        if not usable:  # a submission has at least one prediction: this one is for no row
            some = self.stand_in(board, sample.schema)
            return replace(some, keys=np.array([_free(set(keys), key)], dtype=some.keys.dtype))
        listed = {"keys": list(usable), "predictions": list(usable.values())}
        return self.told(predictions(listed, board.key, key, kind))

    def __repr__(self) -> str:
        return f"Model({self.digest[:12]}..., {len(self._content)} bytes)"


def model_in(
    file: Path, schema: Schema, n: int, policy: Policy, output: str | None = None, entry: int | None = None
) -> Model:
    """A model in a file of one's own, tried on made-up rows."""
    made = Model(file.read_bytes(), schema, n, policy, output=output, place=entry)
    made.tried()
    return made


def usable_as(kind: Kind, value: Prediction, share: bool = False) -> Prediction:
    """What a model predicted as a value of the kind that the board takes, or None.

    Examples
    --------
    >>> usable_as("integer", 2.0), usable_as("boolean", 1), usable_as("number", 1.5, share=True), usable_as("text", 3)
    (2, True, None, None)
    """
    if value is None or isinstance(value, str) != (kind == "text"):
        return None
    if isinstance(value, str):
        return value if "\0" not in value else None
    if not math.isfinite(value) if isinstance(value, float) else abs(value) >= 2**63:
        return None
    if kind == "number":
        found = float(value)
        return found if not share or 0 <= found <= 1 else None
    whole = int(value)
    if whole != value or abs(whole) >= 2**53:
        return None
    if kind == "boolean":
        return bool(whole) if whole in (0, 1) else None
    return whole


def _free(taken: set[Any], kind: Kind) -> Any:
    """A key that no row has."""
    names = (f"nobody {i}" if kind == "text" else i for i in range(len(taken) + 1))
    return next(name for name in names if name not in taken)


def _keys(values: Any, missing: Any) -> list[Any]:
    """The key of each row; None for a row without one, which no prediction reaches."""
    listed = [values.distinct[code] for code in values.codes] if isinstance(values, Texts) else values.tolist()
    return listed if missing is None else [None if gone else one for one, gone in zip(listed, missing, strict=True)]


__all__ = ["Model", "model_in", "usable_as"]
