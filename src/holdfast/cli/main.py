"""`holdfast`: joins the commands and turns every error into one line and an exit status.

Exit status, for every command: 0 success, 1 a failure or, for `audit` and `verify`, a finding, 2 wrong usage, 3 when
the honest answer is "no".
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

import typer

from holdfast import __version__
from holdfast.cli import typed_words
from holdfast.cli.examples import finish
from holdfast.cli.output import short_help
from holdfast.errors import (
    BudgetExhausted,
    GuaranteeUnavailable,
    HoldfastError,
    InvalidParameter,
    LedgerConflict,
    QuestionRefused,
)

COMMANDS = (
    "ask",
    "audit",
    "bound",
    "correct",
    "correlated",
    "demo",
    "epsilon",
    "guard",
    "mcp",
    "plan",
    "report",
    "reproduce",
    "serve",
    "simulate",
    "sql",
    "submit",
    "test",
    "token",
    "verify",
)

# Newer releases of Typer carry their own copy of Click, older ones use the installed one: ask Typer which it raises.
_CLICK_ERROR: type[Exception] = typer.BadParameter.__mro__[2]


def build() -> typer.Typer:
    """Return the application with every command registered."""
    app = typer.Typer(
        name="holdfast",
        help="Answer questions about a data set so that all answers stay valid together, even if each question "
        "depends on earlier answers. The data set is kept behind a guard, which records every question.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(invoke_without_command=True)
    def root(version: bool = typer.Option(False, "--version", "-V", help="Print the version and exit.")) -> None:
        if version:
            print(f"holdfast {__version__}")
            raise typer.Exit()

    for name in COMMANDS:
        importlib.import_module(f"holdfast.cli.{name}").register(app)
    for group in app.registered_groups:
        if group.typer_instance is not None:
            group.short_help = short_help(str(group.typer_instance.info.help))
            _shorten(group.typer_instance)
    _shorten(app)
    return app


def _shorten(app: typer.Typer) -> None:
    for command in app.registered_commands:
        command.short_help = command.short_help or short_help((command.callback and command.callback.__doc__) or "")


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status.

    Examples
    --------
    >>> run(["--version"])
    holdfast 0.2.0
    0
    """
    try:
        return _call(arguments)
    except typer.Abort:
        return _fail("interrupted", 1)
    except InvalidParameter as error:
        return _fail(str(error), 2)
    except (BudgetExhausted, QuestionRefused, GuaranteeUnavailable, LedgerConflict) as error:
        return _fail(str(error), 3)
    except HoldfastError as error:
        return _fail(str(error), 1)
    except BrokenPipeError:  # whoever reads has enough, as `head` does; what is still buffered goes nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _fail(f"{error.strerror or error}: {error.filename}" if error.filename else str(error), 1)
    except Exception as error:
        if os.environ.get("HOLDFAST_TRACEBACK"):
            raise
        # The text of an unforeseen error may hold anything, rows included: only its kind is shown.
        problem = f"an unforeseen {type(error).__name__}, which is a defect"
        return _fail(f"{problem}; HOLDFAST_TRACEBACK=1 shows where, please report it", 1)


def main() -> None:
    """Entry point of the `holdfast` command."""
    for name in ("stdout", "stderr"):  # a stream that the caller has closed is None here
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    sys.exit(run(sys.argv[1:]))


def _call(arguments: Sequence[str]) -> int:
    try:
        status = _command()(args=typed_words.without_aliases(arguments), prog_name="holdfast", standalone_mode=False)
        sys.stdout.flush()  # here, where a closed pipe is understood, and not when the interpreter ends
        return status if isinstance(status, int) else 0
    except SystemExit as error:  # what Click makes of a closed pipe
        if isinstance(error.__context__, BrokenPipeError):
            raise error.__context__ from None
        raise
    except _CLICK_ERROR as error:
        return _wrong_usage(error)


@cache
def _command() -> Any:
    """The application as a command: in order, with examples, and arguments called as help texts call them: LEDGER.

    Made once: it takes longer than most commands, and whoever calls `run` calls it often.
    """
    group: Any = typer.main.get_command(build())
    group.commands = dict(sorted(group.commands.items()))
    waiting: list[tuple[str, Any]] = [("", group)]
    while waiting:
        words, command = waiting.pop()
        below = vars(command).get("commands", {})  # `ask` makes its commands, and finishes them, when they are needed
        waiting += [(f"{words} {name}".strip(), below_command) for name, below_command in below.items()]
        finish(words, command)
    return group


def _wrong_usage(error: Any) -> int:
    message, context = error.format_message(), getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        print(message)
        return 0
    message += _typed(error, message)
    message = re.sub(r"Input should be a valid integer\b[^.?]*?(?=, got|$)", "it must be a whole number", message)
    message = re.sub(r"Input should be a valid number\b[^.?]*?(?=, got|$)", "it must be a number", message)
    unknown = re.match(r"No such command '([\w-]+)'", message)
    if unknown and (meant := list(typed_words.commands_named(_command(), unknown[1]))):
        commands = " or ".join(f"`holdfast {words}`" for words in meant)
        message = f"No such command {unknown[1]!r}. Did you mean {commands}?"
    where = context.command_path if context else "holdfast"
    end = "" if message.endswith(("?", ".")) else "."
    return _fail(f"{message}{end} Try `{where} --help`.", 2)


def _typed(error: Exception, message: str) -> str:
    """What was typed instead; newer releases of Typer keep it with the cause and do not say it."""
    errors = getattr(error.__cause__, "errors", None)
    typed = [part.get("input") for part in errors()] if callable(errors) else []
    return "".join(f", got {text!r}" for text in typed[:1] if isinstance(text, str) and repr(text) not in message)


def _fail(message: str, status: int) -> int:
    print("holdfast: " + " ".join(message.split()), file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
