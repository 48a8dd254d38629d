"""`holdfast report`: brings what `holdfast audit` wrote to a server, and lists what is there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import typer

from holdfast.cli import ledgers, output

_SERVER = typer.Argument(
    ..., help="The server's http(s):// address. The access token is read from the environment variable HOLDFAST_TOKEN."
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Upload the reports of `holdfast audit` to a server, and list them.", no_args_is_help=True)
    group.command("upload")(upload)
    group.command("list")(list_)
    app.add_typer(group, name="report")


def upload(
    server: str = _SERVER,
    file: Path = typer.Argument(  # noqa: B008
        ..., help="The .json file of the report; `holdfast audit` writes it next to the HTML report."
    ),
    name: str = typer.Option(None, "--name", help="The report's name on the server (default: the file's name)."),
    publish: bool = typer.Option(
        False, "--publish", help="Show the report to all analysts immediately (default: only stewards can read it)."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Upload a report of `holdfast audit` to a server (for stewards, who manage the data). Uploading the same report
    again changes nothing.
    """
    with ledgers.at_server(server) as connection:
        published = connection.upload_report(name or named(file), file, publish=publish)
        where = f"{connection.url}/reports/{published['id']}"
    if as_json:
        output.print_json(published | {"url": where})
        return
    shown = [("verdict", _verdict(published)), ("name", published["name"]), ("SHA-256", published["digest"])]
    output.facts("Uploaded", [*shown, ("seen by", _seen(published)), ("page", where)])


def list_(
    server: str = _SERVER,
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """List the audit reports on a server that the access token may read."""
    with ledgers.at_server(server) as connection:
        reports = connection.reports()
    if as_json:
        output.print_json({"reports": reports})
        return
    rows = [
        (report["name"], _verdict(report), report["created"][:10], _seen(report), report["id"]) for report in reports
    ]
    output.table(f"Reports at {server}", ("name", "verdict", "uploaded", "seen by", "id"), rows)


def named(file: Path) -> str:
    """Return a name that a server takes, from a file's.

    Examples
    --------
    >>> named(Path("out/May <release>.json")), named(Path("---.json"))
    ('May release', 'report')
    """
    name = re.sub(r"[^A-Za-z0-9 _.@+()-]+", " ", file.stem)
    return re.sub(r" +", " ", name).strip(" _.@+()-")[:100] or "report"


def _verdict(one: dict[str, Any]) -> str:
    return f"{one['outcome']}{', PARTIAL' if one['partial'] else ''}"


def _seen(one: dict[str, Any]) -> str:
    return "stewards only" if one["published"] is None else "every analyst"
