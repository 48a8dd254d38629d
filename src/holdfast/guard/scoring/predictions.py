"""Predictions by row key, checked and put in order: everything here comes from the analyst and nothing from a row.

A submission is a function of the row key. A row whose key has no prediction counts as the worst that a prediction can
be; a key that no row has counts for nothing. So no refusal and no message depends on which rows there are, and keys
need not be public. Where a board says that they are, predictions that name no row are refused.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.data.fingerprint import Held, Texts
from holdfast.data.schema import Kind
from holdfast.errors import InvalidParameter

MOST = 50_000_000
"""Predictions in one submission."""
_COLUMNS = {"keys", "predictions"}
_LARGEST = 2**63


@dataclass(frozen=True, eq=False, repr=False)
class Predictions:
    """One prediction per key, in order of the keys.

    `keys` are whole numbers or texts in order; `values` are numbers, truth values or texts. `digest` and `count` are
    what the ledger says of them. Where they were computed from hidden rows, as a submitted model's are, both must be of
    what was submitted instead: a digest of such predictions, or how many there are, would tell about the rows.
    """

    keys: NDArray[Any]
    values: NDArray[Any]
    digest: str
    count: int

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return f"Predictions({len(self)} keys, {self.digest[:12]}...)"

    def places(self, held: Held) -> NDArray[np.intp]:
        """For each row of a batch where its prediction is; `len(self)` where there is none."""
        column, missing = held
        if isinstance(column, Texts):
            distinct = self._search(np.array(column.distinct, dtype=object))
            places: NDArray[np.intp] = distinct[column.codes]
        else:
            places = self._search(column.astype(np.int64))
        if missing is not None:
            places[missing] = len(self)
        return places

    def names(self, held: Held) -> bool:
        """Return whether any row of a batch has a prediction."""
        return bool(np.any(self.places(held) < len(self)))

    def _search(self, wanted: NDArray[Any]) -> NDArray[np.intp]:
        places = np.searchsorted(self.keys, wanted)
        places_in_range = np.minimum(places, len(self) - 1)
        return np.asarray(np.where(self.keys[places_in_range] == wanted, places_in_range, len(self)), dtype=np.intp)


def predictions(given: Any, key: str, key_kind: Kind, kind: Kind) -> Predictions:
    """Check predictions and put them in the order of their keys.

    Parameters
    ----------
    given : mapping, data frame, or Predictions
        Keys to predictions; or `{"keys": [...], "predictions": [...]}`; or a frame with the key's column and one
        called `prediction`.
    key : str
        The name of the key's column.
    key_kind : {"integer", "text"}
        What keys are.
    kind : {"boolean", "integer", "number", "text"}
        What predictions are.

    Returns
    -------
    Predictions
        Time: one pass over the predictions and a sort of their keys.

    Examples
    --------
    >>> one = predictions({3: 0.5, 1: 0.25}, "id", "integer", "number")
    >>> one.keys, one.values
    (array([1, 3]), array([0.25, 0.5 ]))
    >>> one.digest == predictions({"keys": ["1", "3"], "predictions": [0.25, 0.5]}, "id", "integer", "number").digest
    True
    """
    if isinstance(given, Predictions):
        return given
    keys, values = _two_columns(given, key)
    if len(keys) != len(values):
        raise InvalidParameter(
            f"predictions must have one prediction for each key, got {len(keys)} keys and {len(values)} predictions"
        )
    if not 0 < len(keys) <= MOST:
        raise InvalidParameter(f"predictions must be a list of 1 to {MOST} predictions, got {len(keys)}")
    named = _whole(keys, "keys") if key_kind == "integer" else _texts(keys, "keys")
    order = np.argsort(named, kind="stable")
    named = named[order]
    if np.any(named[1:] == named[:-1]):
        raise InvalidParameter("keys must be different from each other, and some occur twice")
    read = {"integer": _whole, "text": _texts, "number": _numbers, "boolean": _truths}[kind]
    valued = read(values, "predictions")[order]
    return Predictions(named, valued, _digest(key_kind, named, kind, valued), len(named))


def columns_of(given: Any, keys: Any, key: str) -> Mapping[Any, Any]:
    """Bring predictions in any form that can be submitted into a mapping of row keys to predictions, or two columns.

    Parameters
    ----------
    given : mapping, data frame, series or sequence
        Row keys to predictions; a frame of pandas or polars with the key's column and one called `prediction`; a series
        of pandas whose index are the keys; or predictions in the order of `keys`.
    keys : sequence or None
        The row keys, where `given` is a sequence.
    key : str
        The name of the key's column.

    Examples
    --------
    >>> columns_of([0.5, 0.25], (3, 1), "id")
    {'keys': [3, 1], 'predictions': [0.5, 0.25]}
    """
    if keys is not None:
        return {"keys": _column(keys), "predictions": _column(given)}
    if isinstance(given, Mapping):
        return given
    if hasattr(given, "columns"):  # a frame of pandas, polars or their like
        names = [str(name) for name in given.columns]
        if key not in names or "prediction" not in names:
            raise InvalidParameter(f"predictions must have the columns {key!r} and 'prediction'")
        return {"keys": _column(given[key]), "predictions": _column(given["prediction"])}
    if hasattr(given, "index") and hasattr(given, "to_numpy"):  # a series of pandas, whose index are the keys
        return {"keys": _column(given.index), "predictions": _column(given)}
    raise InvalidParameter(
        "predictions must be a mapping from row keys to predictions, a frame, the path of a file, or a list of "
        "predictions together with keys="
    )


def _column(values: Any) -> Any:
    """A list of plain values, or an array of numbers."""
    array = np.asarray(values.to_numpy()) if hasattr(values, "to_numpy") else values
    if isinstance(array, np.ndarray):
        return array if array.ndim == 1 and array.dtype.kind in "iuf" else array.tolist()
    return list(array)


def _two_columns(given: Any, key: str) -> tuple[Sequence[Any], Sequence[Any]]:
    if isinstance(given, Mapping):
        if set(given) == _COLUMNS and all(_is_column(one) for one in given.values()):
            return given["keys"], given["predictions"]
        return list(given), list(given.values())
    try:
        import narwhals as nw

        frame = nw.from_native(given, eager_only=True)
    except (ImportError, TypeError):
        raise InvalidParameter(
            f"predictions must be a mapping from row keys to predictions, or a frame, got a {type(given).__name__}"
        ) from None
    if not {key, "prediction"} <= set(frame.columns):
        raise InvalidParameter(f"predictions must have the columns {key!r} and 'prediction'")
    return frame[key].to_list(), frame["prediction"].to_list()


def _is_column(given: Any) -> bool:
    return isinstance(given, (list, tuple, np.ndarray))


def _whole(values: Sequence[Any], name: str) -> NDArray[Any]:
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu" and values.dtype != np.uint64:
        return values.astype(np.int64)
    numbers = [_as_whole(value) for value in values]
    if any(value is None for value in numbers):
        raise InvalidParameter(f"{name} must be whole numbers of 64 bits, and some are not")
    return np.array(numbers, dtype=np.int64)


def _as_whole(value: Any) -> int | None:
    """A whole number; also as text, which is what names in a JSON object are."""
    whole: int | None
    if isinstance(value, str):
        digits: str = value.removeprefix("-")
        plain = digits.isascii() and digits.isdigit() and len(digits) < 20 and (digits == "0" or digits[0] != "0")
        whole = int(value) if plain else None
    elif isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        return None
    elif isinstance(value, (float, np.floating)):
        number = float(value)
        whole = int(number) if math.isfinite(number) and number == int(number) and abs(number) < 2**53 else None
    else:
        whole = int(value)
    return whole if whole is not None and -_LARGEST <= whole < _LARGEST else None


def _texts(values: Sequence[Any], name: str) -> NDArray[Any]:
    if not all(isinstance(value, str) and "\x00" not in value for value in values):
        raise InvalidParameter(f"{name} must be texts, and some are not")
    texts = np.empty(len(values), dtype=object)
    texts[:] = [str(value) for value in values]
    return texts


def _numbers(values: Sequence[Any], name: str) -> NDArray[Any]:
    try:
        if not isinstance(values, np.ndarray) and any(
            isinstance(value, (str, bytes, bool, np.bool_)) or value is None for value in values
        ):
            raise ValueError
        numbers = np.asarray(values)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iuf":
            numbers = np.array([float(value) for value in values])
        numbers = numbers.astype(np.float64) + 0.0  # minus zero becomes zero
    except (TypeError, ValueError, OverflowError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise InvalidParameter(f"{name} must be finite numbers, and some are not")
    return numbers


def _truths(values: Sequence[Any], name: str) -> NDArray[Any]:
    if isinstance(values, np.ndarray) and values.dtype.kind == "b":
        return values.copy()
    if not all(isinstance(value, (bool, np.bool_)) or value in (0, 1, "true", "false") for value in values):
        raise InvalidParameter(f"{name} must be true or false, and some are not")
    return np.array([value == "true" if isinstance(value, str) else bool(value) for value in values], dtype=np.bool_)


def _digest(key_kind: Kind, keys: NDArray[Any], kind: Kind, values: NDArray[Any]) -> str:
    """SHA-256 of kinds, number, keys and predictions in order; the same submission has the same in any spelling."""
    hashed = hashlib.sha256(f"holdfast predictions 1\n{key_kind} {kind} {len(keys)}\n".encode())
    for column in (keys, values):
        if column.dtype.kind == "O":
            for text in column:
                data = text.encode("utf-8", "surrogatepass")
                hashed.update(len(data).to_bytes(8, "little") + data)
        else:
            hashed.update(np.ascontiguousarray(column, dtype=column.dtype.newbyteorder("<")).tobytes())
    return hashed.hexdigest()
