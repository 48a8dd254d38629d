"""Evaluating a submitted model on hidden rows, from the server's side: try it without rows, then let it predict.

What a model does while it sees rows is an output too: an error, a crash or a timeout that hangs on a row would tell
about it, for nothing. So nothing of the kind is told. A row that the model fails on takes the declared default, as a
failing expression does, and what is left of the failure is in the score, which is paid for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from holdfast.data.sample import Sample
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.server import apart
from holdfast.server.onnx import packing
from holdfast.server.onnx.child import REFUSED
from holdfast.server.onnx.packing import Prediction, Wanted

_CHILD = "holdfast.server.onnx.child"


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
    from importlib.util import find_spec

    return find_spec("onnxruntime") is not None and find_spec("onnx") is not None


def try_model(
    model: bytes,
    features: Mapping[str, str],
    rows: int,
    *,
    output: str | None = None,
    place: int | None = None,
    limits: Limits | None = None,
) -> Tried:
    """Try a model without any row: `InvalidParameter` says what is wrong with it, and nothing was spent.

    Parameters
    ----------
    model : bytes
        The .onnx file.
    features : mapping of str to str
        Names and kinds of the columns that it will see.
    rows : int
        How many it will be evaluated on.
    output, place : optional
        Which output is the prediction, by default the first; and which entry of it, where it has several a row.
    limits : Limits, optional
        What its process may use.
    """
    limits = limits or Limits()
    if not available():
        raise HoldfastError("onnxruntime is not installed: `pip install 'holdfast[onnx]'`")
    if len(model) > limits.size:
        raise InvalidParameter(f"the model must have at most {limits.size} bytes, got {len(model)}")
    wanted = Wanted(dict(features), rows, output, place, limits.seconds, limits.memory)
    done = apart.run(_CHILD, packing.pack(wanted, model, None), seconds=limits.seconds + _START)
    if done.status == 0:
        told = json.loads(done.answer)
        return Tried(float(told["seconds"]), bool(told["alone"]))
    if done.status == REFUSED:
        raise InvalidParameter(str(json.loads(done.answer)["detail"]))
    if done.status in (None, -_OUT_OF_TIME):
        raise InvalidParameter(
            f"the model must take less than {limits.seconds:g} s on a few made-up rows, and does not"
        )
    raise InvalidParameter(
        f"the model ended its process on made-up rows: it crashes, or takes more than {limits.memory >> 20} MB"
    )


def predict(
    model: bytes,
    sample: Sample,
    key: str,
    features: Mapping[str, str],
    *,
    default: Prediction,
    output: str | None = None,
    place: int | None = None,
    limits: Limits | None = None,
) -> dict[Prediction, Prediction]:
    """A prediction for each row key. It never fails because of what rows hold: such rows take `default`.

    A model that was tried and ends its process all the same gives every row the default. Call it in a time that does
    not depend on the rows: `docs/onnx.md` says how the server does.
    """
    limits = limits or Limits()
    columns = packing.columns_of(sample, [key, *(name for name in features if name != key)])
    keys: Sequence[Prediction] = columns[key].tolist()
    wanted = Wanted(dict(features), len(keys), output, place, limits.seconds, limits.memory)
    done = apart.run(_CHILD, packing.pack(wanted, model, columns), seconds=limits.seconds)
    found = packing.read_predictions(done.answer, len(keys)) if done.status == 0 else None
    values = [None] * len(keys) if found is None else found
    return {name: default if value is None else value for name, value in zip(keys, values, strict=True)}


_OUT_OF_TIME = 24  # SIGXCPU, which Windows has not
_START = 5.0  # seconds for the interpreter to come up, on top of what the model may take

__all__ = ["Limits", "Tried", "available", "predict", "try_model"]
