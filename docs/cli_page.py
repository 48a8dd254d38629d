"""Writes the reference of the command line from the commands themselves."""

from pathlib import Path

import typer
from generated import escape, replace

from holdfast.cli.examples import examples
from holdfast.cli.main import build

HEAD = """# Command line

Made from the commands by `make docs`; `holdfast COMMAND --help` says the same. Every command prints tables for people
and one JSON object with `--json`. It ends with 0 on success, 1 on a failure or, for `audit` and `verify`, a finding,
2 on wrong usage and 3 when the honest answer is no.

Numbers may be written `10000`, `10_000`, `10,000` or `1e4`. Where the environment variable `HOLDFAST_LEDGER` names a
ledger or a server, LEDGER may be left out. A ledger remembers the file it was opened with, so DATA may be left out too.
`holdfast --install-completion` completes commands and options with the tab key.
"""


def commands() -> dict[str, object]:
    """Every command by the words that call it, groups before what is in them."""
    root = typer.main.get_command(build())
    found: dict[str, object] = {}

    def walk(words: str, command: object) -> None:
        if getattr(command, "hidden", False):
            return
        if words:
            found[words] = command
        for name, below in sorted(getattr(command, "commands", {}).items()):
            walk(f"{words} {name}".strip(), below)

    walk("", root)
    return found


def write_cli_page(path: Path) -> None:
    lines = [HEAD]
    for words, command in commands().items():
        lines += [f"{'#' * (2 + words.count(' '))} `holdfast {words}`", "", *_about(command), ""]
        lines += _table(command)
        lines += ["```text", *(f"holdfast {line}" for line in examples(words)), "```", ""] if examples(words) else []
    replace(path, "\n".join(lines))


def _about(command: object) -> list[str]:
    told = (getattr(command, "help", None) or getattr(command, "short_help", None) or "").strip()
    return [_prose(" ".join(part.split())) + "\n" for part in told.replace("\b", "").split("\n\n")]


def _prose(text: str) -> str:
    """Help as a paragraph; what it puts in backquotes stays code."""
    return "`".join(part if i % 2 else escape(part) for i, part in enumerate(text.split("`")))


def _table(command: object) -> list[str]:
    rows = [row for parameter in getattr(command, "params", []) if (row := _row(parameter))]
    if not rows:
        return []
    return ["| option | default | meaning |", "|---|---|---|", *rows, ""]


def _row(parameter: object) -> str:
    help_text = getattr(parameter, "help", None) or ""
    if getattr(parameter, "hidden", False) or "--help" in getattr(parameter, "opts", []):
        return ""
    argument = type(parameter).__name__.endswith("Argument")
    off = getattr(parameter, "secondary_opts", [])
    metavar = "" if argument or not parameter.metavar else f" {parameter.metavar}"  # type: ignore[attr-defined]
    name = (parameter.metavar or parameter.name.upper()) if argument else ", ".join([*parameter.opts, *off]) + metavar  # type: ignore[attr-defined]
    default = getattr(parameter, "default", None)
    if getattr(parameter, "required", False):
        shown = "required"
    elif default in (None, "", False, ()) or callable(default):
        shown = ""
    else:
        shown = f"`{default}`"
    return f"| `{name}` | {shown} | {_prose(' '.join(help_text.split())).replace('|', chr(92) + '|')} |"
