"""A submitted model: what a board scores in the place of predictions."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.core import sandbox
from holdfast.core.extras import require
from holdfast.core.strict_json import to_canonical_json
from holdfast.data.fingerprint import Batch, Texts
from holdfast.data.sample import Sample
from holdfast.data.schema import Kind, Schema
from holdfast.errors import InvalidParameter
from holdfast.guard.policy import Policy
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.onnx import packing
from holdfast.guard.scoring.onnx.child import NO_ROOM, REFUSED
from holdfast.guard.scoring.onnx.packing import Prediction, Wanted
from holdfast.guard.scoring.predictions import Predictions, predictions
from holdfast.guard.scoring.tally import Making, prediction_kind

# --- Evaluation -------------------------------------------------------------------------------------------------------
# Evaluating a submitted model on hidden rows, from the guard's side: try it without rows, then let it predict.
#
# What a model does while it sees rows is an output too: an error, a crash or a timeout that hangs on a row would tell
# about it, for nothing. So nothing of the kind is told. A row that the model fails on has no prediction, which counts
# as the worst on every board, and what can be seen of the failure is in the score, which is paid for. A row that ends
# the process is such a row: the others are predicted in a fresh one. What remains is that a run cannot be finished;
# then no score is shown, nothing is certified, and that it happened is paid for as a failure (docs/onnx.md).

_CHILD = "holdfast.guard.scoring.onnx.child"
_PACKAGES = ("onnxruntime", "onnx")
MOST_STARTS = 16
"""Processes that one model may have besides one for every `ROWS` rows: two for each row that ends one."""
ROWS = 1 << 17
"""Rows that one process is given."""


@dataclass(frozen=True)
class Limits:
    """What the process of a model may use.

    Attributes
    ----------
    seconds : float
        For trying it, and again for predicting.
    memory : int
        Bytes of address space; ONNX Runtime alone takes about half a gigabyte.
    size : int
        Bytes of the model.
    """

    seconds: float = 10.0
    memory: int = 2 << 30
    size: int = 64 << 20


@dataclass(frozen=True)
class Tried:
    """What trying a model on made-up rows said: how long it should take, and whether its process saw no network."""

    seconds: float
    alone: bool


def available() -> bool:
    """Return whether what it takes is installed."""
    return all(find_spec(package) is not None for package in _PACKAGES)


def wanted(
    features: Mapping[str, str],
    rows: int,
    *,
    output: str | None = None,
    place: int | None = None,
    limits: Limits | None = None,
) -> Wanted:
    """Return what a model is to do.

    Parameters
    ----------
    features : mapping of str to str
        Names and kinds of the columns that it sees.
    rows : int
        How many it is evaluated on.
    output, place : optional
        Which output is the prediction, by default the first; and which entry of it, where it has several a row.
    limits : Limits, optional
        What its process may use.
    """
    limits = limits or Limits()
    return Wanted(dict(features), rows, output, place, limits.seconds, limits.memory)


def try_model(model: bytes, told: Wanted) -> Tried:
    """Try a model without any row: `InvalidParameter` says what is wrong with it. Nothing was spent."""
    for package in _PACKAGES:
        require(package)
    done = sandbox.run(_CHILD, packing.pack(told, model, None), seconds=told.seconds + _START)
    if done.status == 0:
        reply = json.loads(done.answer)
        return Tried(float(reply["seconds"]), bool(reply["alone"]))
    if done.status == REFUSED:
        raise InvalidParameter(str(json.loads(done.answer)["detail"]))
    if done.status in (None, -_OUT_OF_TIME):
        raise InvalidParameter(f"the model must take less than {told.seconds:g} s on a few made-up rows, and does not")
    raise InvalidParameter(
        "the model ended its process when it was tried on made-up rows: it crashes, or it uses more than "
        f"{told.memory >> 20} MB of memory"
    )


def predict(model: bytes, told: Wanted, columns: packing.Columns) -> list[Prediction] | None:
    """A prediction for each row of columns that are at hand, in `told.seconds`; see `Predicting`."""
    run = Predicting(model, told)
    predictions = run.some(columns, told.rows)
    run.wait()
    return predictions


class Predicting:
    """A run of a model over rows that come some at a time, with one limit of time and of processes for all of them.

    Each prediction goes by its own row. If the process ends, a fresh one goes on with the row that it was at; a row
    that ends a process as the first one there has no prediction. The run has no end where the time runs out, where
    `ROWS` rows together take too much room, or where more than `MOST_STARTS` processes would be needed besides one for
    every `ROWS` rows.
    """

    def __init__(self, model: bytes, told: Wanted) -> None:
        self._model, self._told = model, told
        self._seconds, self._starts = told.seconds, MOST_STARTS - 1
        self._ended = False

    def some(self, columns: packing.Columns, rows: int) -> list[Prediction] | None:
        """A prediction for each of some rows, None where the model gave none that can be used; or None for no end."""
        if self._ended:
            return None
        begun = time.monotonic()
        predictions = self._in_turn(columns, rows, begun + self._seconds)
        self._seconds -= time.monotonic() - begun
        self._ended = predictions is None
        return predictions

    def wait(self) -> None:
        """Let the rest of the time pass, also where the model was quicker, so that its time tells nothing."""
        time.sleep(max(0.0, self._seconds))

    def _in_turn(self, columns: packing.Columns, rows: int, end: float) -> list[Prediction] | None:
        predictions: list[Prediction] = []
        request, self._starts = replace(self._told, rows=rows), self._starts + 1
        while self._starts > 0:
            self._starts -= 1
            seconds = end - time.monotonic()
            if seconds <= 0:
                return None
            rest = {name: values[len(predictions) :] for name, values in columns.items()}
            done = sandbox.run(_CHILD, packing.pack(request, self._model, rest), seconds=seconds)
            if done.status in (None, -_OUT_OF_TIME, REFUSED, NO_ROOM):
                return None
            try:
                lines = packing.read_lines(done.answer)
            except (ValueError, RecursionError):
                return None
            if lines == [] and done.status != 0:
                lines = [None]  # nothing was before it in this process: it ends every one
            predictions += lines or []
            if len(predictions) >= rows:
                return predictions if len(predictions) == rows else None
        return None


_OUT_OF_TIME = 24  # SIGXCPU, which Windows has not
_START = 5.0  # seconds for the interpreter to come up, on top of what the model may take


# --- Model ------------------------------------------------------------------------------------------------------------

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
            raise InvalidParameter(f"the model must be a file of 1 to {limits.size} bytes, got {len(content)}")
        hidden = {name for board in policy.boards or () for name in (board.key, board.label)}
        features = packing.features_of(schema, hidden)
        if not features:
            raise InvalidParameter("this data set has no column that a model may use")
        self._content = content
        self._told = wanted(features, n, output=output, place=place, limits=limits)
        which = to_canonical_json({"output": output, "place": place}).encode()
        self.digest = hashlib.sha256(b"holdfast model 1\n" + which + b"\n" + content).hexdigest()
        self.count = n

    def tried(self) -> Tried:
        """Try it without any row, or say what is wrong with it."""
        return try_model(self._content, self._told)

    def make(self, sample: Sample, board: Board) -> Predictions | None:
        """Predict for every row, in a time that does not go by the rows; None where that could not be finished."""
        kind, key = prediction_kind(board, sample.schema[board.label].kind), sample.schema[board.key].kind
        wanted_columns = [board.key, *self._told.features]
        predicted = sample.fold(
            wanted_columns, lambda: _Predicted(self._content, self._told, board, kind), _Predicted.add
        )
        predicted.finish()
        if predicted.unfinished:
            return None
        usable = predicted.usable
        if not usable:  # a submission has at least one prediction: this one is for no row
            some = self.stand_in(board, sample.schema)
            taken = sample.fold([board.key], set[Any], lambda keys, batch: keys.union(_keys(*batch[board.key])))
            return replace(some, keys=np.array([_free(taken, key)], dtype=some.keys.dtype))
        listed = {"keys": list(usable), "predictions": list(usable.values())}
        return self.told(predictions(listed, board.key, key, kind))

    def __repr__(self) -> str:
        return f"Model({self.digest[:12]}..., {len(self._content)} bytes)"


class _Predicted:
    """What a model predicts for rows that come some at a time: features are held of `ROWS` rows and a batch at most."""

    def __init__(self, content: bytes, told: Wanted, board: Board, kind: Kind) -> None:
        self._run, self.usable, self.unfinished = Predicting(content, told), dict[Any, Prediction](), False
        self._features, self._board, self._kind = tuple(told.features), board, kind
        self._parts: list[Batch] = []

    def add(self, batch: Batch) -> _Predicted:
        """Some more rows."""
        self._parts.append(batch)
        if sum(len(part[self._board.key][0]) for part in self._parts) >= ROWS:
            self._predict()
        return self

    def finish(self) -> None:
        """Predict for the last rows, and let the rest of the time pass."""
        if self._parts:
            self._predict()
        self._run.wait()

    def _predict(self) -> None:
        held = {name: packing.joined([part[name] for part in self._parts]) for name in self._parts[0]}
        self._parts = []
        keys, share = _keys(*held[self._board.key]), self._board.metric in _PROBABILITIES
        predictions = self._run.some({name: packing.feature(held[name]) for name in self._features}, len(keys))
        self.unfinished = self.unfinished or predictions is None
        for name, one in zip(keys, predictions or [None] * len(keys), strict=True):
            value = usable_as(self._kind, one, share)
            if name is not None and value is not None:
                self.usable[name] = value


def model_in(
    file: Path, schema: Schema, n: int, policy: Policy, output: str | None = None, entry: int | None = None
) -> Model:
    """Return a model in a file of one's own, tried on made-up rows."""
    model = Model(file.read_bytes(), schema, n, policy, output=output, place=entry)
    model.tried()
    return model


def usable_as(kind: Kind, value: Prediction, share: bool = False) -> Prediction:
    """Return what a model predicted as a value of the kind that the board takes, or None.

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
        number = float(value)
        return number if not share or 0 <= number <= 1 else None
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
