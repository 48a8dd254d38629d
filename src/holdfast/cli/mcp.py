"""`holdfast mcp`: the guard as tools for an AI agent, over standard input and output."""

from __future__ import annotations

from pathlib import Path

import typer

from holdfast.cli import ledgers

_LEDGER = typer.Argument(
    ...,
    help="The ledger in which the guard's questions are recorded (a file or a postgresql:// address), or the "
    "http(s):// address of a server.",
)
_SAMPLE = typer.Argument(
    None,
    help="The guarded data set: a file, or a database table as ADDRESS#TABLE. With a server, the name of the guard.",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mcp")(mcp)


def mcp(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    analyst: str = typer.Option(
        None,
        "--analyst",
        help="With a ledger: the name under which the agent's questions are recorded (default: analyst).",
    ),
    label: str = typer.Option(
        None, "--label", help="The column that is predicted by rules that the agent submits to a leaderboard."
    ),
    files: Path = typer.Option(  # noqa: B008
        None,
        "--files",
        help="A folder of files with predictions or models. The agent may submit these files, and no others, to "
        "a leaderboard.",
    ),
    practice: bool = typer.Option(
        False,
        "--practice",
        help="Let the agent practise at no cost: answers are computed from made-up rows of the declared schema, not "
        "from the data, and are marked as practice.",
    ),
    public_key: str = typer.Option(
        None, "--public-key", help="With a server: the public key that must have signed the receipt of each answer."
    ),
) -> None:
    """Let an AI agent ask a guard, by these tools: describe, estimate, ask, sql, practice, submit, remaining.

    The agent's program starts this command and communicates with it over standard input and output (Model Context
    Protocol). The access token of a server is read from the environment variable HOLDFAST_TOKEN.
    """
    from holdfast.server.agents import stdio
    from holdfast.server.agents.tools import Tools

    with ledgers.analyst_guard(ledger, sample, analyst, public_key) as guard:
        stdio.serve(Tools(guard.practice() if practice else guard, label, files))
