"""`holdfast mcp`: the guard as tools for an AI agent, over standard input and output."""

from __future__ import annotations

from pathlib import Path

import typer

from holdfast.cli import ledgers

_LEDGER = typer.Argument(..., help="The ledger: a file or a postgresql:// address; or a server's http(s):// address.")
_SAMPLE = typer.Argument(None, help="The data: a file, or ADDRESS#TABLE; with a server, the guard's name.")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mcp")(mcp)


def mcp(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    analyst: str = typer.Option(
        None, "--analyst", help="With a ledger: the analyst's name under which the agent asks (default: analyst)."
    ),
    label: str = typer.Option(None, "--label", help="The column that submitted rules predict."),
    files: Path = typer.Option(  # noqa: B008
        None, "--files", help="A folder whose files the agent may submit to a leaderboard, by file name."
    ),
    practice: bool = typer.Option(
        False,
        "--practice",
        help="Practice: answer from made-up rows of the declared schema, at no cost. Answers are marked as practice.",
    ),
    public_key: str = typer.Option(None, "--public-key", help="With a server: the key that must sign its receipts."),
) -> None:
    """Offer a guard to an AI agent as tools: describe, estimate, ask, sql, practice, submit,
    remaining.

    The agent's program starts this command and speaks to it over standard input and output (Model Context Protocol).
    The token of a server is read from the environment variable HOLDFAST_TOKEN.
    """
    from holdfast.server.agents import stdio
    from holdfast.server.agents.tools import Tools

    with ledgers.analyst_guard(ledger, sample, analyst, public_key) as guard:
        stdio.serve(Tools(guard.practice() if practice else guard, label, files))
