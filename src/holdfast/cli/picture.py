"""Whether a picture can be drawn where a command is asked to put it."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import HoldfastError, InvalidParameter

PICTURES = (".svg", ".png", ".html", ".json")


def can_draw(plot: Path) -> None:
    """Find out before a long run, or a release that cannot be repeated, that its picture has no place or no painter."""
    from holdfast.experiments.output import INSTALL_HINT, can_plot

    if plot.suffix not in PICTURES:
        raise InvalidParameter(f"--plot must be a file that ends in {', '.join(PICTURES)}, got {plot.name!r}")
    if not plot.parent.is_dir():
        raise InvalidParameter(f"--plot must be in a folder that exists, {plot.parent} does not")
    if not can_plot():
        raise HoldfastError(INSTALL_HINT)


__all__ = ["PICTURES", "can_draw"]
