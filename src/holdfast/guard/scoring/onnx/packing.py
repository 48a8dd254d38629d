"""What goes into the process of a model and what comes back: plain bytes, read strictly on both sides."""

from __future__ import annotations

import io
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data.fingerprint import Held, Texts
from holdfast.data.schema import Schema

Columns = dict[str, NDArray[Any]]
"""Features by name, a value per row: doubles (missing: NaN), texts (missing: empty)."""
Prediction = str | int | float | bool | None
"""What a model predicted for a row; None where it gave nothing that can be used."""
LONGEST = 1000
"""Letters of a text: a model sees no more of one, and a longer prediction counts as none."""
READY = b"ready\n"
"""What the process writes once the model is loaded and the rows are read: from then on it may end by a row."""


@dataclass(frozen=True)
class Wanted:
    """What a model is to do.

    Attributes
    ----------
    features : mapping of str to str
        Names and kinds of the columns that it sees, in order.
    rows : int
        How many it will be evaluated on.
    output, place : str, int or None
        Which of its outputs is the prediction, by default the first; and which entry, where that has several.
    seconds, memory : float, int
        Limits of the process.
    """

    features: Mapping[str, str]
    rows: int
    output: str | None
    place: int | None
    seconds: float
    memory: int


def pack(wanted: Wanted, model: bytes, columns: Columns | None) -> bytes:
    """What the process reads: a line that says how long the parts are, the model, and the columns if it is to predict.

    Examples
    --------
    >>> wanted = Wanted({"age": "number"}, 2, None, None, 1.0, 1 << 30)
    >>> again, model, columns = unpack(pack(wanted, b"model", {"age": np.array([1.0, 2.0])}))
    >>> again == wanted, model, columns["age"].tolist()
    (True, b'model', [1.0, 2.0])
    """
    packed = io.BytesIO()
    if columns is not None:
        arrays: dict[str, NDArray[Any]] = {}
        for i, name in enumerate(wanted.features):
            values = columns[name]
            if values.dtype.kind in "OU":  # each text once: one long text must not make room for all as long
                texts, arrays[f"{i} places"] = np.unique(values, return_inverse=True)
                values = texts.astype(np.str_)
            arrays[str(i)] = values
        np.savez(packed, **arrays)  # type: ignore[arg-type]
    line = json.dumps(asdict(wanted) | {"features": dict(wanted.features), "model": len(model)})
    return line.encode() + b"\n" + model + packed.getvalue()


def unpack(content: bytes) -> tuple[Wanted, bytes, Columns | None]:
    """Return the parts again."""
    line, _, rest = content.partition(b"\n")
    header = json.loads(line)
    size = header.pop("model")
    wanted = Wanted(**header)
    if len(rest) == size:
        return wanted, rest, None
    with np.load(io.BytesIO(rest[size:]), allow_pickle=False) as arrays:
        columns = {name: arrays[str(i)] for i, name in enumerate(wanted.features)}
        for i, name in enumerate(wanted.features):
            if f"{i} places" in arrays:
                columns[name] = columns[name].astype(object)[arrays[f"{i} places"]]
    return wanted, rest[:size], columns


def line_of(prediction: Prediction) -> bytes:
    r"""Return what the process writes after each row.

    Examples
    --------
    >>> line_of(0.5), line_of(None), line_of("a\nb")
    (b'0.5\n', b'null\n', b'"a\\nb"\n')
    """
    return json.dumps(prediction).encode() + b"\n"


def read_lines(answer: bytes) -> list[Prediction] | None:
    r"""Return the predictions of the rows that a process was done with before it ended; None where it had not begun.

    A line that was not written to its end counts as none.

    Examples
    --------
    >>> read_lines(b"ready\n0.5\nnull\n0."), read_lines(b"ready\n"), read_lines(b"rea")
    ([0.5, None], [], None)
    >>> read_lines(b"ready\n[1]\n")
    Traceback (most recent call last):
        ...
    ValueError: a line of the output is not a prediction (a text, a number or null)
    """
    if not answer.startswith(READY):
        return None
    *lines, _ = answer[len(READY) :].split(b"\n")
    predictions = [json.loads(line) for line in lines]
    if not all(one is None or isinstance(one, (str, int, float)) for one in predictions):
        raise ValueError("a line of the output is not a prediction (a text, a number or null)")
    return predictions


def joined(parts: list[Held]) -> Held:
    """A column of some batches as one."""
    missing = None
    if any(gone is not None for _, gone in parts):
        missing = np.concatenate([np.zeros(len(held), np.bool_) if gone is None else gone for held, gone in parts])
    if isinstance(parts[0][0], Texts):
        return Texts.of([one.distinct[code] for one, _ in parts for code in one.codes]), missing  # type: ignore[union-attr]
    return np.concatenate([np.asarray(held) for held, _ in parts]), missing


def feature(held: Held) -> NDArray[Any]:
    """Return a column as a model sees it: texts are cut at `LONGEST` letters, so that what a row needs has a bound."""
    values, missing = held
    if isinstance(values, Texts):
        texts = np.array([*(text[:LONGEST] for text in values.distinct), ""], dtype=object)
        return np.asarray(texts[values.codes if missing is None else np.where(missing, len(texts) - 1, values.codes)])
    if missing is None:
        return np.asarray(values)
    numbers = np.asarray(values).astype(np.float64)
    numbers[missing] = np.nan
    return numbers


def features_of(schema: Schema, hidden: Collection[str]) -> dict[str, str]:
    """Columns that models see: all but those that are hidden from them, the label and the row key."""
    return {column.name: column.kind for column in schema if column.name not in hidden}
