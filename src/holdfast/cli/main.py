"""`holdfast`: joins the commands and turns every error into one line and an exit status.

Exit status: 0 success, 1 failure, 2 wrong usage, 3 when the honest answer is "no".
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click
import typer

from holdfast import __version__
from holdfast.errors import BudgetExhausted, GuaranteeUnavailable, HoldfastError, InvalidParameter, QuestionRefused

COMMANDS = ("bound", "demo", "reproduce")


def build() -> typer.Typer:
    """The application with every command registered."""
    app = typer.Typer(
        name="holdfast",
        help="Keeps a data set behind a guard and answers adaptively chosen questions so that every answer stays true.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    @app.callback(invoke_without_command=True)
    def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
        if version:
            print(f"holdfast {__version__}")
            raise typer.Exit()

    for name in COMMANDS:
        importlib.import_module(f"holdfast.cli.{name}").register(app)
    return app


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit status.

    Examples
    --------
    >>> run(["--version"])
    holdfast 0.1.0
    0
    """
    try:
        status = typer.main.get_command(build())(args=list(arguments), prog_name="holdfast", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        return 0
    except click.exceptions.Abort:
        return _fail("interrupted", 1)
    except click.ClickException as error:
        where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else "holdfast"
        return _fail(f"{error.format_message()} Try `{where} --help`.", 2)
    except InvalidParameter as error:
        return _fail(str(error), 2)
    except (BudgetExhausted, QuestionRefused, GuaranteeUnavailable) as error:
        return _fail(str(error), 3)
    except HoldfastError as error:
        return _fail(str(error), 1)
    except BrokenPipeError:
        sys.stderr.close()
        return 0
    except OSError as error:
        return _fail(f"{error.strerror or error}: {error.filename}" if error.filename else str(error), 1)


def main() -> None:
    """Entry point of the `holdfast` command."""
    sys.exit(run(sys.argv[1:]))


def _fail(message: str, status: int) -> int:
    print("holdfast: " + " ".join(message.split()), file=sys.stderr)
    return status


if __name__ == "__main__":
    main()
