"""Plain data as strict JSON, numbers without a finite value included; and JSON that means the same to everybody."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from holdfast.errors import InvalidParameter

_SIMPLE = frozenset({str, int, bool, type(None)})
_READABLE = json.JSONEncoder(allow_nan=False)
_CANONICAL = json.JSONEncoder(allow_nan=False, sort_keys=True, separators=(",", ":"))
_NO_TEXT = re.compile(r'"(?:-?[0-9][0-9.e+-]*|true|false|null)":', re.ASCII)
"""A key that perhaps was no text. The encoder orders such keys as what they are, not as what it writes: 2 before 10."""
_INFINITE = {"\x00inf\x00": "1e999", "\x00-inf\x00": "-1e999"}


def to_json(value: Any) -> str:
    """Strict JSON of plain data. An infinite number is written `1e999`, which every parser reads as infinity.

    Examples
    --------
    >>> to_json({"value": float("inf")})
    '{"value": 1e999}'
    """
    return _written(_READABLE, value)


def to_canonical_json(value: Any) -> str:
    r"""The one strict JSON text of plain data: keys in order, no spaces, ASCII only. What is hashed or signed is this.

    A float is its shortest decimal, as `repr` writes it. Reading the text and writing it again gives the same text.

    Examples
    --------
    >>> to_canonical_json({"b": [0.1, float("inf")], "a": "é"})
    '{"a":"\\u00e9","b":[0.1,1e999]}'
    """
    return _written(_CANONICAL, value)


def read_json(text: bytes) -> Any:
    """Parse JSON that means the same to everybody: no NaN, no name twice, no half characters and no NUL.

    Examples
    --------
    >>> read_json(b'{"a": 1}')
    {'a': 1}
    >>> read_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: a name occurs twice in one object
    """
    try:
        read = json.loads(text.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_no_twice)
        if b"\\u" in text or b"\x00" in text:
            _check_text(read)
        return read
    except RecursionError:
        raise InvalidParameter("it is nested too deeply") from None
    except InvalidParameter:
        raise
    except ValueError:
        raise InvalidParameter("it is no JSON in UTF-8") from None


def _no_constant(name: str) -> Any:
    raise InvalidParameter(f"{name} is no JSON")


def _no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise InvalidParameter("a name occurs twice in one object")
    return made


def _check_text(value: Any) -> None:
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
            raise InvalidParameter("a text has a NUL or half a character in it")
    elif isinstance(value, dict):
        for name, one in value.items():
            _check_text(name)
            _check_text(one)
    elif isinstance(value, list):
        for one in value:
            _check_text(one)


def _written(encoder: json.JSONEncoder, value: Any) -> str:
    try:
        text = encoder.encode(value)  # nearly everything is plain already, and to find that out takes longer than this
        if _NO_TEXT.search(text) is None:
            return text
    except (TypeError, ValueError):
        pass
    return _infinite(encoder.encode(_plain(value)))


def _infinite(text: str) -> str:
    if "\\u0000" in text:
        for marker, number in _INFINITE.items():
            text = text.replace(json.dumps(marker), number)
    return text


def _plain(value: Any) -> Any:
    kind = type(value)  # exact kinds first: this walks every answer and everything that is hashed, several times
    if kind in _SIMPLE:
        return value
    if kind is dict:
        return {k if type(k) is str else str(k): v if type(v) in _SIMPLE else _plain(v) for k, v in value.items()}
    if kind is float:
        return _number(value)
    if kind is list or kind is tuple:
        return [v if type(v) in _SIMPLE else _plain(v) for v in value]
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    return _number(value) if isinstance(value, float) else value


def _number(value: float) -> float | str:
    if math.isinf(value):
        return "\x00inf\x00" if value > 0 else "\x00-inf\x00"
    return value
