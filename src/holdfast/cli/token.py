"""`holdfast token`: a steward gives tokens to people who ask at a server, lists them, and ends them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

from holdfast.cli import ledgers, output
from holdfast.core import arguments
from holdfast.errors import InvalidParameter

if TYPE_CHECKING:
    from holdfast.client import Connection

_SERVER = typer.Argument(
    ...,
    help="The server's http(s):// address. The steward's access token is read from the environment variable "
    "HOLDFAST_TOKEN.",
)
_JSON = typer.Option(False, "--json", help="Print one JSON object instead of a table.")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(
        help="Issue, list and revoke the access tokens of a server (for its stewards, who manage the data).",
        no_args_is_help=True,
    )
    for name, command in (("issue", issue), ("list", list_), ("revoke", revoke)):
        group.command(name)(command)
    app.add_typer(group, name="token")


def issue(
    server: str = _SERVER,
    name: str = typer.Argument(
        ..., help="The name of the person or program that will use the token; policies and ledgers use this name."
    ),
    role: str = typer.Option(
        "analyst",
        "--role",
        help="The role of the token: analyst (asks questions) or steward (manages guards and tokens).",
    ),
    guard: list[str] = typer.Option(  # noqa: B008
        [],
        "--guard",
        metavar="GUARD",
        help="A guard that the token may use, by name or id; may be repeated (default: all guards).",
    ),
    expires: str = typer.Option(
        None,
        "--expires",
        help="When the token expires, e.g. 2030-01-31T12:00Z (default: after the number of days in the server's "
        "setting token_days, which is 90 unless changed).",
    ),
    as_json: bool = _JSON,
) -> None:
    """Make an access token for a server. Its secret text is shown once, now, and never again."""
    arguments.choice("--role", role, ("analyst", "steward"))
    until = None if expires is None else _moment(expires)
    with ledgers.at_server(server) as connection:
        names = {remote.id: remote.name for remote in (connection.guard(named_guard) for named_guard in guard)}
        token = connection.issue_token(role, name, expires=until, guards=list(names) or None)
    if as_json:
        output.print_json(token)
        return
    output.facts(f"A token for {token['name']}, shown once", _facts(token, names))
    print(token["token"])  # as it is: it is longer than many lines, and one that was broken is no token


def list_(server: str = _SERVER, as_json: bool = _JSON) -> None:
    """List all access tokens of a server. Their secret texts are not shown."""
    with ledgers.at_server(server) as connection:
        tokens = connection.tokens()
        names = _names(connection)
    if as_json:
        output.print_json({"tokens": tokens})
        return
    rows = [(token["name"], *(value for _, value in _facts(token, names))) for token in tokens]
    output.table(f"Tokens at {server}", ("name", "role", "reaches", "until", "id"), rows)


def revoke(
    server: str = _SERVER,
    token: str = typer.Argument(
        ..., help="The token's id, which `holdfast token list` shows (not the secret text of the token)."
    ),
    as_json: bool = _JSON,
) -> None:
    """Revoke an access token immediately. Questions that were asked with it stay in the ledger."""
    with ledgers.at_server(server) as connection:
        names = _names(connection)  # first: a token that ends itself is told nothing afterwards
        ended = connection.revoke_token(token)
    if as_json:
        output.print_json(ended)
        return
    output.facts(f"Ended the token of {ended['name']}", _facts(ended, names))


def _moment(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InvalidParameter(f"--expires must be a time such as 2030-01-31T12:00Z, got {text!r}") from None


def _names(connection: Connection) -> dict[str, str]:
    return {guard.id: guard.name for guard in connection.guards()}


def _facts(token: dict[str, Any], names: dict[str, str]) -> list[tuple[str, str]]:
    until = token["expires"][:10] if token["revoked"] is None else f"revoked {token['revoked'][:10]}"
    everything = "every guard" if token["role"] == "steward" else "every guard its name may ask"
    reached = (
        everything
        if token["guards"] is None
        else ", ".join(names.get(identity, identity) for identity in token["guards"])
    )
    return [("role", token["role"]), ("reaches", reached), ("until", until), ("id", token["id"])]
