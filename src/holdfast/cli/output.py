"""What commands print: tables for people, one JSON object for programs."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer.core
from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from holdfast.core.strict_json import to_json
from holdfast.errors import InvalidParameter, NotInstalled

# --- Output -----------------------------------------------------------------------------------------------------------


def short_help(told: str) -> str:
    """Return what stands next to a command's name in the list of commands: a whole clause, not what fits a line.

    Examples
    --------
    >>> short_help("Check a guess. A pass costs next to nothing.")
    'Check a guess.'
    """
    first = " ".join(told.strip().split("\n\n")[0].split()).partition(";")[0].partition(". ")[0]
    return first.rstrip(".") + "."


def print_json(value: Any) -> None:
    """Print one JSON object on standard output."""
    print(to_json(value))


def width() -> int:
    """Columns to fill: the terminal's, what COLUMNS says, or 160 when the output goes elsewhere."""
    return shutil.get_terminal_size((160, 40)).columns


class _Screen(Console):
    """A console that leaves it to the command line what a reader who stops early means; Rich would exit with 1."""

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError


def console() -> Console:
    """Return a console on standard output, as wide as `width()` says."""
    return _Screen(width=width())


def say(text: str) -> None:
    """Print one paragraph as it is: no markup, no colour."""
    console().print(text, markup=False, highlight=False, soft_wrap=not sys.stdout.isatty())


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table that reads well on a terminal and in a log.

    Lines break between words. Columns that do not fit next to each other even so follow in a further part that
    repeats the first column; a word is broken only if it is longer than the line.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    for place, (part, widths) in enumerate(_parts(columns, cells)):
        printed = Table(title=None if place else Text(title), box=box.SIMPLE_HEAD, title_justify="left")
        for i, wide in zip(part, widths, strict=True):
            printed.add_column(Text(columns[i]), overflow="fold", width=wide)
        for row in cells:
            printed.add_row(*(Text(row[i]) for i in part))
        _print(printed)


def _parts(columns: Sequence[str], cells: list[list[str]]) -> list[tuple[list[int], list[int]]]:
    """Which columns stand next to each other, and how wide each is."""
    texts = [[column, *(row[i] for row in cells)] for i, column in enumerate(columns)]
    whole = [max(1, *(cell_len(line) for text in column for line in text.split("\n"))) for column in texts]
    word = [max((cell_len(w) for text in column for w in text.split()), default=1) for column in texts]
    word[0] = whole[0]  # names are never broken
    room = width() - 1
    parts: list[list[int]] = [[0]]
    for i in range(1, len(columns)):
        if len(parts[-1]) > 1 and sum(word[j] + 3 for j in [*parts[-1], i]) > room:
            parts.append([0])
        parts[-1].append(i)
    return [(part, _shrunk([whole[i] for i in part], [word[i] for i in part], room)) for part in parts]


def _shrunk(whole: list[int], word: list[int], room: int) -> list[int]:
    """Widths that fit the room: the widest give first, alike, and below their longest word only when all are there."""
    widths = list(whole)
    while (over := sum(widths) + 3 * len(widths) - room) > 0:
        least = word if any(f > w for f, w in zip(widths, word, strict=True)) else [1] * len(widths)
        spare = [i for i in range(len(widths)) if widths[i] > least[i]]
        if not spare:
            break
        top = max(widths[i] for i in spare)
        level = max((widths[i] for i in spare if widths[i] < top), default=1)
        widest = [i for i in spare if widths[i] == top]
        for i in widest:
            widths[i] = max(least[i], level, top - -(-over // len(widest)))
    return widths


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
    printed = Table(title=Text(title), box=None, title_justify="left", show_header=False, padding=(0, 2))
    printed.add_column(no_wrap=True)
    printed.add_column(overflow="fold")
    for name, value in rows:
        printed.add_row(Text(name), Text(str(value)))
    _print(printed)


def grouped(groups: Mapping[str, Sequence[str]]) -> type[typer.core.TyperCommand]:
    """Return a command whose help lists its options under these headings; those of no group follow under `Options`."""

    class Grouped(typer.core.TyperCommand):
        def format_options(self, ctx: Any, formatter: Any) -> None:
            headings = {name: heading for heading, names in groups.items() for name in names}
            sections: dict[str, list[Any]] = {heading: [] for heading in ("Arguments", *groups, "Options")}
            for parameter in self.get_params(ctx):
                record = parameter.get_help_record(ctx)
                other = "Arguments" if parameter.param_type_name == "argument" else "Options"
                if record is not None:
                    sections[headings.get(str(parameter.name), other)].append(record)
            for heading, records in sections.items():
                if records:
                    with formatter.section(heading):
                        formatter.write_dl(records)

    return Grouped


# --- Picture ----------------------------------------------------------------------------------------------------------
# The picture that a command leaves behind: whether it can be drawn there, and drawing it.

PICTURES = (".svg", ".png", ".html", ".json")
INSTALL_HINT = "no plot: it needs the plots extra, `pip install 'holdfast[plots]'`"
_PACKAGES = ("altair", "vl_convert")


def can_draw(plot: Path) -> None:
    """Find out before a long run, or a release that cannot be repeated, that its picture has no place or no painter."""
    if plot.suffix.lower() not in PICTURES:
        raise InvalidParameter(f"--plot must be a file that ends in {', '.join(PICTURES)}, got {plot.name!r}")
    if not plot.parent.is_dir():
        raise InvalidParameter(f"--plot must be a file in a folder that exists, and the folder {plot.parent} does not")
    if not can_plot():
        raise NotInstalled(INSTALL_HINT, name="altair")


def can_plot() -> bool:
    """Return whether Altair and its renderer are installed; neither is imported to find out."""
    return all(importlib.util.find_spec(package) is not None for package in _PACKAGES)


def draw(chart: Any, plot: Path) -> None:
    """Write an Altair chart; the suffix says how."""
    chart.save(str(plot), **({"scale_factor": 2} if plot.suffix.lower() == ".png" else {}))


# --- Progress ---------------------------------------------------------------------------------------------------------
# The bar that a long command shows on a terminal.

Progress = Callable[[float, str], None]
"""Is told the share of the work that is done, in [0, 1], and what comes next."""


def silent(fraction: float, what: str) -> None:
    """A progress callback that shows nothing."""


@contextmanager
def progress_bar(name: str, *, shown: bool) -> Iterator[Progress]:
    """A bar on standard error when that is a terminal; otherwise nothing."""
    if not (shown and sys.stderr.isatty()):
        yield silent
        return
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn(name),
        rich.BarColumn(),
        rich.TaskProgressColumn(),
        rich.TimeElapsedColumn(),
        rich.TextColumn("{task.description}"),
    )
    with rich.Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda fraction, what: bar.update(task, completed=fraction, description=what)
