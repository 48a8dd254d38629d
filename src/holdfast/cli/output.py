"""What commands print: tables for people, one JSON object for programs."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.strict_json import to_json


def print_json(value: Any) -> None:
    """Print one JSON object on standard output."""
    print(to_json(value))


def console() -> Console:
    """A console on standard output; wide when the output is not a terminal, so that no cell is cut."""
    return Console(width=None if sys.stdout.isatty() else 160)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table that reads well on a terminal and in a log."""
    made = Table(title=Text(title), box=box.SIMPLE_HEAD, title_justify="left")
    for column in columns:
        made.add_column(Text(column), overflow="fold")
    for row in rows:
        made.add_row(*(Text(str(cell)) for cell in row))
    console().print(made)


def facts(title: str, rows: Iterable[tuple[str, object]]) -> None:
    """Print names and what they stand for, two columns under a title."""
    made = Table(title=Text(title), box=None, title_justify="left", show_header=False, padding=(0, 2))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(Text(name), Text(str(value)))
    console().print(made)
