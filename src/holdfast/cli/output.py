"""What commands print: tables for people, one JSON object for programs."""

from __future__ import annotations

import shutil
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


def width() -> int:
    """Columns to fill: the terminal's, what COLUMNS says, or 160 when the output goes elsewhere."""
    return shutil.get_terminal_size((160, 40)).columns


def console() -> Console:
    """A console on standard output, as wide as `width()` says."""
    return Console(width=width())


def say(text: str) -> None:
    """Print one paragraph as it is: no markup, no colour."""
    console().print(text, markup=False, highlight=False, soft_wrap=not sys.stdout.isatty())


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table that reads well on a terminal and in a log; the first column is never broken."""
    made = Table(title=Text(title), box=box.SIMPLE_HEAD, title_justify="left")
    for i, column in enumerate(columns):
        made.add_column(Text(column), overflow="fold", no_wrap=i == 0)
    for row in rows:
        made.add_row(*(Text(str(cell)) for cell in row))
    _print(made)


def _print(made: Table) -> None:
    screen = console()
    if sys.stdout.isatty():
        screen.print(made)
        return
    with screen.capture() as captured:
        screen.print(made)
    for line in captured.get().splitlines():
        print(line.rstrip())


def facts(title: str, rows: Iterable[tuple[str, object]]) -> None:
    """Print names and what they stand for, two columns under a title."""
    made = Table(title=Text(title), box=None, title_justify="left", show_header=False, padding=(0, 2))
    made.add_column(no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in rows:
        made.add_row(Text(name), Text(str(value)))
    _print(made)
