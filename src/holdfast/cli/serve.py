"""`holdfast serve`: the HTTP server over guards."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast.cli import output
from holdfast.core.extras import named_extras
from holdfast.errors import InvalidParameter

if TYPE_CHECKING:
    from holdfast.server.settings import Settings


_GROUPS = {
    "What is kept": ("folder", "ledger", "signing_key"),
    "Address": ("host", "port", "workers"),
    "What is allowed": ("allow_folder", "allow_source", "open_metrics"),
    "Tokens": ("new_steward", "token_file"),
    "Output": ("as_json",),
}
"""The options in groups, as the help lists them."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("serve", cls=output.grouped(_GROUPS))(serve)


def serve(
    folder: Path = typer.Option(  # noqa: B008
        None,
        "--folder",
        help="The folder in which the server keeps uploaded data and the ledger (default: holdfast-server).",
    ),
    ledger: str = typer.Option(
        None, "--ledger", help="The ledger: a SQLite file or a postgresql:// address (default: a file in --folder)."
    ),
    signing_key: Path = typer.Option(  # noqa: B008
        None,
        "--signing-key",
        help="The file with the key that signs the ledger's entries. It is created if it does not exist.",
    ),
    host: str = typer.Option(None, "--host", help="Address to listen on (default: loopback, this machine only)."),
    port: int = typer.Option(None, "--port", help="Port to listen on (default: 8321)."),
    workers: int = typer.Option(
        None, "--workers", help="Number of server processes that share the ledger (default: 1)."
    ),
    allow_folder: list[Path] = typer.Option(  # noqa: B008
        [],
        "--allow-folder",
        metavar="FOLDER",
        help="A folder whose .csv and .parquet files stewards may register as data sets; may be repeated.",
    ),
    allow_source: list[str] = typer.Option(  # noqa: B008
        [],
        "--allow-source",
        metavar="NAME=PLACE",
        help="A data source that stewards may register: FILE, FILE.duckdb#TABLE or postgresql://...#TABLE; may be "
        "repeated.",
    ),
    open_metrics: bool = typer.Option(
        None,
        "--open-metrics/--closed-metrics",
        help="Show the monitoring page /metrics to anyone, without a token (default: only with a steward's token).",
    ),
    new_steward: bool = typer.Option(
        False, "--new-steward", help="Create one more access token for a steward and show it."
    ),
    token_file: Path = typer.Option(  # noqa: B008
        None, "--token-file", help="Write a newly created steward's token to this file instead of printing it."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Start a server that offers guarded data sets over HTTP. Every option can also be set by an environment variable,
    such as HOLDFAST_SERVER_PORT. The first start creates an access token for a steward (who manages the data) and shows
    it once. Use a reverse proxy for TLS; the documentation says how.
    """
    given: dict[str, Any] = {
        "folder": folder,
        "ledger": ledger,
        "signing_key": signing_key,
        "host": host,
        "port": port,
        "workers": workers,
        "allow_folder": tuple(allow_folder) or None,
        "allow_source": dict(_source(text) for text in allow_source) or None,
        "open_metrics": open_metrics,
    }
    settings, running = _settings({name: value for name, value in given.items() if value is not None})
    _require_folders(settings)
    running.require_free(settings)
    os.umask(
        0o077
    )  # ledgers hold secrets and uploads hold rows: nobody else on this machine reads what a server writes
    if token_file is None:
        token = running.first_token(settings, another=new_steward)
    else:
        token = _first_token(token_file, lambda: running.first_token(settings, another=new_steward))
    _show(settings, token, token_file, as_json)
    running.serve(settings)


def _settings(given: dict[str, Any]) -> tuple[Settings, Any]:
    with named_extras("server"):
        from pydantic import ValidationError

        from holdfast.server import running
        from holdfast.server.settings import Settings
    try:
        return Settings(**given), running
    except ValidationError as error:
        first = error.errors()[0]
        where, what = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Value error, ")
        got = f", got {first['input']}" if isinstance(first["input"], (int, float)) else ""  # texts may hold passwords
        raise InvalidParameter(f"{where}: {what}{got}" if where else what) from None


def _require_folders(settings: Settings) -> None:
    """Refuse a folder that is not there: every file in it would be answered as one that is not allowed."""
    for folder in settings.allow_folder:
        if not folder.is_dir():
            raise InvalidParameter(f"allow_folder must be a folder that exists, and there is no folder at {folder}")


def _source(text: str) -> tuple[str, str]:
    name, equals, place = text.partition("=")
    if not (equals and name and place):
        raise InvalidParameter(
            f"--allow-source must be NAME=PLACE, where PLACE is a file or the address of a table, got {name!r}"
        )
    return name, place


def _first_token(path: Path, make: Callable[[], str | None]) -> str | None:
    """Make a token once there is a file for it: one that was made and cannot be written would be lost."""
    token = None
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w") as file:
            token = make()
            file.write("" if token is None else token + "\n")
    finally:
        if token is None:
            path.unlink()
    return token


def _show(settings: Settings, token: str | None, token_file: Path | None, as_json: bool) -> None:
    address = settings.public_url or f"http://{settings.host}:{settings.port}"
    shown = None if token is None else str(token_file) if token_file is not None else token
    if as_json:
        name = "token_file" if token_file is not None else "token"
        output.print_json({"address": address, "workers": settings.workers} | ({name: shown} if shown else {}))
    else:
        rows: list[tuple[str, object]] = [("address", address), ("OpenAPI", f"{address}/api/v1/openapi.json")]
        rows += [("steward's token", f"in {shown}" if token_file is not None else "below, shown once")] if shown else []
        output.facts("Holdfast server", rows)
        if shown and token_file is None:
            print(shown, flush=True)  # on a line of its own and never folded: whoever copies it must get all of it
