"""The bar that a long command shows on a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.experiments.registry import Progress


@contextmanager
def progress_bar(name: str, *, shown: bool) -> Iterator[Progress]:
    """A bar on standard error when that is a terminal; otherwise nothing."""
    from holdfast.experiments.registry import silent

    if not (shown and sys.stderr.isatty()):
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn(name),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda fraction, what: bar.update(task, completed=fraction, description=what)


__all__ = ["progress_bar"]
