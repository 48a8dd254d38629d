"""What commands print: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

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


def print_json(value: Any) -> None:
    """Print one JSON object on standard output."""
    print(to_json(value))


def console() -> Console:
    """A console on standard output; wide when the output is not a terminal, so that no cell is cut."""
    return Console(width=None if sys.stdout.isatty() else 160)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table that reads well on a terminal and in a log."""
    made = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left")
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(Text(str(cell)) for cell in row))
    console().print(made)


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
