"""`holdfast reproduce`: the figures and tables of the papers, where the distribution `holdfast-papers` is installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata

import typer

from holdfast.errors import NotInstalled

DISTRIBUTION = "holdfast-papers"
GROUP = "holdfast.commands"
INSTALL_HINT = (
    f"the figures and tables of the papers are in a package of their own, `{DISTRIBUTION}`: "
    "`pip install ./papers` in the clone"
)


def register(app: typer.Typer) -> None:
    """Add the command that the distribution's entry point names, or one that says how to install it."""
    command = _command()
    # Whatever options the command has where it is installed: without it the answer to all of them is how to install it.
    anything = {"ignore_unknown_options": True} if command is _absent else {}
    about = "Re-create figures and tables of the papers, or list them."
    app.command("reproduce", short_help=about, context_settings=anything)(command)


def installed() -> bool:
    """Return whether the experiments can be run here."""
    return _command() is not _absent


def _command() -> Callable[..., None]:
    try:
        # Asked by name: to look through every installed distribution takes longer than most commands.
        commands = metadata.distribution(DISTRIBUTION).entry_points.select(group=GROUP, name="reproduce")
    except metadata.PackageNotFoundError:
        return _absent
    return next((entry.load() for entry in commands), _absent)


def _absent(
    names: list[str] = typer.Argument(None, metavar="NAME", help="Experiments to run."),  # noqa: B008
) -> None:
    """Re-create the figures and tables of the papers; needs the package `holdfast-papers`, which is not installed."""
    raise NotInstalled(INSTALL_HINT, name="holdfast_papers")
