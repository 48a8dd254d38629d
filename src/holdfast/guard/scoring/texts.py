"""Predictions in small plain texts, CSV or JSON: a text unfolds into nothing larger than itself.

Larger files and Parquet are read as tables (`files`), by the same rules.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from typing import Any

from holdfast.errors import InvalidParameter
from holdfast.strict_json import read_json

PREDICTION = "prediction"
"""The name of the column with the predictions; the other one is the key's."""
GAPS = "the file must have a key and a prediction in every line"
UNREADABLE = "the file must be a table of row keys and predictions, of the kinds that the board takes, without gaps"
WORDS = {"true": True, "false": False, "1": True, "0": False}
"""How CSV says true and false, in small letters."""
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def read(body: bytes, format_: str, key: str, key_kind: str, kind: str) -> dict[str, list[Any]]:
    """The keys and predictions of a text, "csv" or "json"."""
    return from_csv(body, key, key_kind, kind) if format_ == "csv" else from_json(body, key)


def too_many(most: int) -> InvalidParameter:
    """The refusal of a file with more predictions than are taken."""
    return InvalidParameter(f"the file must have at most {most} predictions")


def missing_columns(key: str) -> InvalidParameter:
    """The refusal of a file without the two columns."""
    return InvalidParameter(f"the file must have the columns {key!r} and {PREDICTION!r}")


def from_csv(body: bytes, key: str, key_kind: str, kind: str) -> dict[str, list[Any]]:
    r"""Two columns of a CSV text with a header.

    Examples
    --------
    >>> from_csv(b"id,prediction\n1,true\n2,false\n", "id", "integer", "boolean")
    {'keys': [1, 2], 'predictions': [True, False]}
    """
    try:
        lines = list(csv.reader(io.StringIO(body.decode("utf-8-sig"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise InvalidParameter(UNREADABLE) from None
    header, rows = (lines[0], [line for line in lines[1:] if line]) if lines else ([], [])
    if header.count(key) != 1 or header.count(PREDICTION) != 1:
        raise missing_columns(key)
    places = header.index(key), header.index(PREDICTION)
    if any(len(row) != len(header) for row in rows):
        raise InvalidParameter(UNREADABLE)
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
            'the predictions must be {"keys": [...], "predictions": [...]}, keys to predictions, or a list of objects '
            f"with {key!r} and {PREDICTION!r}"
        )
    if set(read) == {"keys", "predictions"} and all(isinstance(one, list) for one in read.values()):
        return _columns(read["keys"], read["predictions"])
    return _columns(list(read), list(read.values()))


def _columns(keys: list[Any], values: list[Any]) -> dict[str, list[Any]]:
    if len(keys) != len(values):
        raise InvalidParameter("the predictions must have one for each key")
    for column in (keys, values):
        kinds = {type(value) for value in column}
        if not kinds <= {int, float} and (len(kinds) != 1 or not kinds <= {str, bool}):
            raise InvalidParameter("keys and predictions must each be of one kind, numbers, texts or truth values")
    return {"keys": keys, "predictions": values}


def _whole(cell: str) -> int:
    if not _WHOLE.fullmatch(cell):
        raise ValueError
    return int(cell)


def _number(cell: str) -> float:
    if not _NUMBER.fullmatch(cell):
        raise ValueError
    return float(cell)


_READ: dict[str, Callable[[str], Any]] = {
    "integer": _whole,
    "number": _number,
    "boolean": lambda cell: WORDS[cell.lower()],
    "text": str,
}

__all__ = ["GAPS", "PREDICTION", "UNREADABLE", "WORDS", "from_csv", "from_json", "missing_columns", "read", "too_many"]
