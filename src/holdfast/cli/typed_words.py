"""What people type, made into what the commands understand: other names, numbers such as 1e4, and known ledgers.

Nothing here changes what a command does. It only reads more spellings of the same command line.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Container, Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, get_type_hints

import typer.core

from holdfast.errors import InvalidParameter

LEDGER_VARIABLE = "HOLDFAST_LEDGER"
"""The environment variable that names the ledger, or the server, of commands that name none."""

_GROUPED = re.compile(r"[+-]?\d{1,3}([,_]\d{3})+(\.\d+)?")
_LEDGER_SUFFIXES = (".db", ".sqlite", ".sqlite3", ".ledger")


def without_aliases(arguments: Sequence[str]) -> list[str]:
    """Return the command line with `version`, `-V` and `help COMMAND` in the form that the command line has.

    Examples
    --------
    >>> without_aliases(["help", "guard", "open"]), without_aliases(["-V"]), without_aliases(["help"])
    (['guard', 'open', '--help'], ['--version'], ['--help'])
    """
    words = list(arguments)
    if words[:1] == ["help"]:
        return [*words[1:], "--help"]
    return ["--version"] if words in (["version"], ["-V"]) else words


def plain_number(text: str) -> str:
    """Return a number without separators of thousands and without an exponent where it is whole.

    Examples
    --------
    >>> plain_number("10,000"), plain_number("10_000"), plain_number("1e4"), plain_number("0.5"), plain_number("x")
    ('10000', '10000', '10000', '0.5', 'x')
    """
    digits = text.strip()
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "").replace("_", "")
    try:
        number = Decimal(digits)
        return str(int(number)) if number.is_finite() and abs(number) < 10**18 and number == int(number) else digits
    except (InvalidOperation, ValueError):
        return text


def understand(command: Any) -> None:
    """Let a command read numbers such as `1e4` and `10,000`, and find the ledger and the data that are left out.

    The ledger comes from HOLDFAST_LEDGER, the data from what the ledger remembers of its opening.
    """
    numbers = set(_number_options(command))
    names = [parameter.name for parameter in command.params if parameter.param_type_name == "argument"]
    parse = command.parse_args

    def parse_args(ctx: Any, arguments: list[str]) -> Any:
        words = list(_with_plain_numbers(_with_guess(command, arguments), numbers))
        return parse(ctx, _with_ledger(command, names, words) if names[:1] == ["ledger"] else words)

    command.parse_args = parse_args
    if names[:1] == ["ledger"]:
        left_out = ("ledger",) if command.name in ("open", "create") else ("ledger", "sample")
        for parameter in command.params:
            if parameter.name in left_out and parameter.param_type_name == "argument":
                _show_as_optional(parameter)


def _show_as_optional(parameter: Any) -> None:
    """Let the help of a command say that an argument, which it parses as required, may be left out."""
    record, pieces = parameter.get_help_record, parameter.get_usage_pieces

    def get_help_record(ctx: Any) -> tuple[str, str]:
        name, said = record(ctx)
        return name, said.removesuffix("  [required]")

    parameter.get_help_record = get_help_record
    parameter.get_usage_pieces = lambda ctx: [f"[{piece.strip('{}[]')}]" for piece in pieces(ctx)]


def _with_guess(command: Any, arguments: Sequence[str]) -> list[str]:
    """The words with `--guess` before a number that ends them, where the command needs a guess and none is named."""
    needed = any(parameter.required and parameter.opts == ["--guess"] for parameter in command.params)
    words = [_Word(word) for word in arguments]
    if not needed or any(word.split("=")[0] == "--guess" for word in words):
        return list(words)
    positional = _positional(command, words)
    last = positional[-1] if len(positional) > 1 and _is_number(positional[-1]) else None
    return [part for word in words for part in (("--guess", str(word)) if word is last else (str(word),))]


def _is_number(text: str) -> bool:
    try:
        return Decimal(text).is_finite()
    except InvalidOperation:
        return False


def _number_options(command: Any) -> Iterator[str]:
    """The options of a command that take one number."""
    if command.callback is None:
        return
    kinds = get_type_hints(inspect.unwrap(command.callback))
    for parameter in command.params:
        if parameter.param_type_name == "option" and kinds.get(parameter.name) in (
            int,
            float,
            int | None,
            float | None,
        ):
            yield from parameter.opts


def _with_plain_numbers(words: Sequence[str], options: Container[str]) -> Iterator[str]:
    before = ""
    for word in words:
        option, equals, value = word.partition("=")
        if before in options:
            yield plain_number(word)
        elif equals and option in options:
            yield f"{option}={plain_number(value)}"
        else:
            yield word
        before = word


def _with_ledger(command: Any, names: Sequence[str], arguments: Sequence[str]) -> list[str]:
    """The words with the ledger and the data that were left out, where they are known."""
    with_data, opens = "sample" in names, command.name in ("open", "create")
    needed = len(names) - 1 - with_data
    words = [_Word(word) for word in arguments]
    positional = _positional(command, words)
    open_ended = any(parameter.nargs == -1 for parameter in command.params if parameter.param_type_name == "argument")
    whole = None if open_ended else needed + 1 + with_data
    ledger = positional[0] if positional and _is_ledger(positional, whole) else None
    missing: list[str] = []
    if ledger is None and (known := _known_ledger(positional, opens)):
        missing.append(known)
    elif ledger is None and positional and _is_data(positional[0], ""):
        rows = positional[0]
        raise InvalidParameter(
            f"LEDGER must be given before DATA, and {rows} looks like a file with rows of data; `holdfast guard open "
            f"{rows}` makes a ledger for it, {Path(rows).with_suffix('.db')}. Nothing was spent"
        )
    here = ledger if ledger is not None else missing[0] if missing else None
    if with_data and not opens and here is not None:
        others = [word for word in positional if word is not ledger]
        if len(others) <= needed if not open_ended else not (others and _is_data(others[0], here)):
            missing += _remembered(here)
    place = next((i for i, word in enumerate(words) if word is ledger), -1) + 1
    return [str(word) for word in (*words[:place], *missing, *words[place:])]


class _Word(str):
    """One word of a command line, found again by identity."""

    __slots__ = ()


def _positional(command: Any, words: list[_Word]) -> list[_Word]:
    """The words that are no options and no values of options."""
    options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
    bare = typer.core.TyperCommand(
        command.name, params=options, context_settings={"allow_extra_args": True, "ignore_unknown_options": True}
    )
    words_left = bare.make_context(command.name, list(words), resilient_parsing=True).args
    return [word for word in words_left if isinstance(word, _Word)]


def _is_ledger(positional: Sequence[str], whole: int | None) -> bool:
    """Whether the first word means a ledger: by its form, or because every argument was given, `whole` of them."""
    word = positional[0]
    if "://" in word or Path(word).suffix.lower() in _LEDGER_SUFFIXES:
        return True
    return len(positional) == whole


def _is_data(word: str, ledger: str) -> bool:
    from holdfast.cli.ledgers import ROWS, is_address

    return Path(word).suffix.lower() in ROWS or (is_address(ledger) and re.fullmatch(r"[\w.-]+", word) is not None)


def _known_ledger(positional: Sequence[str], opens: bool) -> str | None:
    """The ledger of the environment; for a guard that is opened, a file named after the rows where there is none."""
    named = os.environ.get(LEDGER_VARIABLE)
    if named:
        return named
    if opens and len(positional) == 1:
        from holdfast.cli.ledgers import ROWS

        rows = Path(positional[0])
        return str(rows.with_suffix(".db")) if rows.suffix.lower() in ROWS else None
    return None


def _remembered(ledger: str) -> list[str]:
    from holdfast.cli.ledgers import remembered_rows

    rows = remembered_rows(ledger)
    if rows is None:
        return []
    if "://" not in rows and not Path(rows.partition("#")[0]).exists():
        raise InvalidParameter(
            f"DATA must be given after {ledger}, because {rows}, the file with which the guard was opened, no longer "
            "exists; nothing was spent"
        )
    return [rows]


def commands_named(root: Any, name: str) -> Iterator[str]:
    """The commands of groups that have this name: `check` is `ask check`."""
    for group, below in sorted(root.commands.items()):
        commands = getattr(below, "commands", {})
        if name in commands and not commands[name].hidden:
            yield f"{group} {name}"
