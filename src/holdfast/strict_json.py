"""Plain data as strict JSON, numbers without a finite value included."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

_INFINITE = {"\x00inf\x00": "1e999", "\x00-inf\x00": "-1e999"}


def to_json(value: Any) -> str:
    """Strict JSON of plain data. An infinite number is written `1e999`, which every parser reads as infinity.

    Examples
    --------
    >>> to_json({"value": float("inf")})
    '{"value": 1e999}'
    """
    text = json.dumps(_plain(value), allow_nan=False)
    for marker, number in _INFINITE.items():
        text = text.replace(json.dumps(marker), number)
    return text


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if hasattr(value, "item") and not isinstance(value, (str, bytes)):
        value = value.item()
    if isinstance(value, float) and math.isinf(value):
        return "\x00inf\x00" if value > 0 else "\x00-inf\x00"
    return value
