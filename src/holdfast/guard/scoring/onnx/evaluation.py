"""Evaluating a submitted model on hidden rows, from the guard's side: try it without rows, then let it predict.

What a model does while it sees rows is an output too: an error, a crash or a timeout that hangs on a row would tell
about it, for nothing. So nothing of the kind is told. A row that the model fails on has no prediction, which counts as
the worst on every board, and what can be seen of the failure is in the score, which is paid for.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from holdfast.errors import InvalidParameter
from holdfast.extras import require
from holdfast.guard import apart
from holdfast.guard.scoring.onnx import packing
from holdfast.guard.scoring.onnx.child import REFUSED
from holdfast.guard.scoring.onnx.packing import Prediction, Wanted

_CHILD = "holdfast.guard.scoring.onnx.child"
_PACKAGES = ("onnxruntime", "onnx")


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
    """Whether what it takes is installed."""
    return all(find_spec(package) is not None for package in _PACKAGES)


def wanted(
    features: Mapping[str, str],
    rows: int,
    *,
    output: str | None = None,
    place: int | None = None,
    limits: Limits | None = None,
) -> Wanted:
    """What a model is to do.

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
    done = apart.run(_CHILD, packing.pack(told, model, None), seconds=told.seconds + _START)
    if done.status == 0:
        found = json.loads(done.answer)
        return Tried(float(found["seconds"]), bool(found["alone"]))
    if done.status == REFUSED:
        raise InvalidParameter(str(json.loads(done.answer)["detail"]))
    if done.status in (None, -_OUT_OF_TIME):
        raise InvalidParameter(f"the model must take less than {told.seconds:g} s on a few made-up rows, and does not")
    raise InvalidParameter(
        f"the model ended its process on made-up rows: it crashes, or takes more than {told.memory >> 20} MB"
    )


def predict(model: bytes, told: Wanted, columns: packing.Columns) -> list[Prediction]:
    """A prediction for each row, None where the model gave nothing that can be used. It fails because of no row.

    It takes `told.seconds` and gives every row None where the model takes longer or ends its process; it takes as long
    where the model is quick, so that its time tells nothing.
    """
    end = time.monotonic() + told.seconds
    done = apart.run(_CHILD, packing.pack(told, model, columns), seconds=told.seconds)
    found = packing.read_predictions(done.answer, told.rows) if done.status == 0 else None
    values: list[Prediction] = [None] * told.rows if found is None else found
    time.sleep(max(0.0, end - time.monotonic()))
    return values


_OUT_OF_TIME = 24  # SIGXCPU, which Windows has not
_START = 5.0  # seconds for the interpreter to come up, on top of what the model may take

__all__ = ["Limits", "Tried", "available", "predict", "try_model", "wanted"]
