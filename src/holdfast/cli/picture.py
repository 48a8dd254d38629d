"""The picture that a command leaves behind: whether it can be drawn there, and drawing it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from holdfast.errors import InvalidParameter, NotInstalled

PICTURES = (".svg", ".png", ".html", ".json")


def can_draw(plot: Path) -> None:
    """Find out before a long run, or a release that cannot be repeated, that its picture has no place or no painter."""
    from holdfast.experiments.output import INSTALL_HINT, can_plot

    if plot.suffix.lower() not in PICTURES:
        raise InvalidParameter(f"--plot must be a file that ends in {', '.join(PICTURES)}, got {plot.name!r}")
    if not plot.parent.is_dir():
        raise InvalidParameter(f"--plot must be in a folder that exists, {plot.parent} does not")
    if not can_plot():
        raise NotInstalled(INSTALL_HINT, name="altair")


def draw(chart: Any, plot: Path) -> None:
    """Write an Altair chart; the suffix says how."""
    from holdfast.experiments.plots import write_chart

    write_chart(chart, plot)


__all__ = ["PICTURES", "can_draw", "draw"]
