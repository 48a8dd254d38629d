"""Plain data as strict JSON, numbers without a finite value included; and JSON that means the same to everybody."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from json.encoder import encode_basestring_ascii
from typing import Any

from holdfast.errors import InvalidParameter

try:
    import orjson
except ImportError:  # it comes with the extra `guard`; nothing but time depends on it
    orjson = None  # type: ignore[assignment]

_SIMPLE = frozenset({str, int, bool, type(None)})


def _encode(encoder: json.JSONEncoder) -> Callable[[Any], str]:
    """`encoder.encode` without what it prepares anew for each text, which takes as long as a short text does."""
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:  # Python was built without it
        return encoder.encode
    separators = encoder.key_separator, encoder.item_separator
    switches = encoder.sort_keys, encoder.skipkeys, encoder.allow_nan
    pieces = make(None, encoder.default, encode_basestring_ascii, None, *separators, *switches)
    return lambda value: "".join(pieces(value, 0))


_READABLE = _encode(json.JSONEncoder(allow_nan=False))
_CANONICAL = _encode(json.JSONEncoder(allow_nan=False, sort_keys=True, separators=(",", ":")))
_NO_TEXT = re.compile(r'"(?:-?[0-9][0-9.e+-]*|true|false|null)":', re.ASCII)
"""A key that perhaps was no text. The encoder orders such keys as what they are, not as what it writes: 2 before 10."""
_FLOAT = re.compile(r"[:,\[]-?[0-9](?:\.0000[0-9]*|[0-9]{16}[0-9.]*|[0-9.]*e[-+0-9]+)", re.ASCII)
"""A number that a faster encoder perhaps writes in another way."""
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


def read_canonical_json(text: str) -> Any:
    """Return the value of a text that `to_canonical_json` writes; `ValueError` for every other text.

    Where orjson is installed it does most of the work: what it writes differs only in how some floats and characters
    are spelled. Wherever that could matter, Python's own parser and encoder decide.

    Examples
    --------
    >>> read_canonical_json('{"a":[1,2.5]}')
    {'a': [1, 2.5]}
    >>> read_canonical_json('{"b":1,"a":2}')
    Traceback (most recent call last):
    ...
    ValueError: the text is JSON, but not in the canonical form (sorted names, no spaces)
    """
    value = _read_fast(text)
    if value is None:
        value = json.loads(text)
        if to_canonical_json(value) != text:
            raise ValueError("the text is JSON, but not in the canonical form (sorted names, no spaces)")
    return value


def read_plain(text: str) -> Any:
    """Return the value of a JSON text, as fast as can be: what else the text may be is checked elsewhere.

    Numbers beyond 64 bits may be read as floats.

    Examples
    --------
    >>> read_plain('{"a":[1,2.5]}')
    {'a': [1, 2.5]}
    """
    if orjson is not None:
        with suppress(ValueError):  # it does not read infinity, which `to_canonical_json` writes as 1e999
            return orjson.loads(text)
    return json.loads(text)


def is_read_alike(text: str) -> bool:
    """Return whether `read_plain` gives a canonical text the value that Python's own parser gives it.

    Examples
    --------
    >>> is_read_alike("[1]"), is_read_alike("[18446744073709551616]")
    (True, False)
    """
    return _read_fast(text) is not None or repr(read_plain(text)) == repr(json.loads(text))


def _read_fast(text: str) -> Any:
    """The value of a text that is certainly canonical; None where that is not certain."""
    if orjson is None or "\x7f" in text:
        return None
    try:
        value = orjson.loads(text)
        expected = _FLOAT.sub(_respelled, text).encode("ascii")
        return value if orjson.dumps(value, option=orjson.OPT_SORT_KEYS) == expected else None
    except (ValueError, TypeError):
        return None


def _respelled(found: re.Match[str]) -> str:
    """A float as orjson writes it, where Python would write it as it stands."""
    before, text = found[0][0], found[0][1:]
    number = float(text)
    if repr(number) != text:
        raise ValueError("the JSON text has a number that is not written as Python's json module writes it")
    return before + orjson.dumps(number).decode()


def read_json(text: bytes) -> Any:
    """Parse JSON that means the same to everybody: no NaN, no name twice, no half characters and no NUL.

    Examples
    --------
    >>> read_json(b'{"a": 1}')
    {'a': 1}
    >>> read_json(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    ...
    holdfast.errors.InvalidParameter: the JSON text has an object in which a name occurs twice
    """
    try:
        read = json.loads(text.decode("utf-8"), parse_constant=_no_constant, object_pairs_hook=_no_twice)
        if b"\\u" in text or b"\x00" in text:
            _check_text(read)
        return read
    except RecursionError:
        raise InvalidParameter("the JSON text is nested too deeply") from None
    except InvalidParameter:
        raise
    except ValueError:
        raise InvalidParameter("the text is not JSON in UTF-8") from None


def _no_constant(name: str) -> Any:
    raise InvalidParameter(f"{name} is no JSON")


def _no_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise InvalidParameter("the JSON text has an object in which a name occurs twice")
    return entries


def _check_text(value: Any) -> None:
    if isinstance(value, str):
        if "\x00" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
            raise InvalidParameter("the JSON text has a string with a NUL character or half of a surrogate pair")
    elif isinstance(value, dict):
        for name, item in value.items():
            _check_text(name)
            _check_text(item)
    elif isinstance(value, list):
        for item in value:
            _check_text(item)


def _written(encode: Callable[[Any], str], value: Any) -> str:
    try:
        text = encode(value)  # nearly everything is plain already, and to find that out takes longer than this
        if _NO_TEXT.search(text) is None:
            return text
    except (TypeError, ValueError):
        pass
    return _infinite(encode(_plain(value)))


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
