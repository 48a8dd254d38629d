"""`holdfast demo`: a tour in the terminal, then a prompt at which every theorem can be tried."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from pathlib import Path

import typer

from holdfast.bounds.registry import catalogue
from holdfast.cli import output

PLAN = ("plan", "--n", "10000", "--questions", "1000", "--failures", "10")
ATTACK = ("simulate", "--analyst", "adversarial", "--against", "all", "--runs", "20")
FIGURE = ("reproduce", "dwork-figure-2", "--quick", "--brief")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    once: bool = typer.Option(False, "--once", help="Play the tour, say where its files are, and exit."),
    out: Path = typer.Option(Path("holdfast-out"), "--out", help="Where the plot and the table go."),  # noqa: B008
) -> None:
    """A tour: a plan, an attack on everything that answers, and the figure that began it all."""
    output.say("1. A plan: 10,000 held-out rows and 1,000 questions, each asked after seeing the last answer.")
    status = _play(PLAN)
    output.say(
        "\n2. An attack: an analyst asks about 300 features that mean nothing, then about the vote that the answers "
        "suggest. Coverage is the share of her analyses in which every interval held."
    )
    status = status or _play(ATTACK)
    output.say(
        "\n3. The figure that began it all: 10,000 features without signal. How good a classifier looks, "
        "chosen by looking, and how good it is."
    )
    status = status or _play((*FIGURE, "--out", str(out)))
    _show_catalogue()
    if status == 0 and not once:
        _prompt()
    raise typer.Exit(status)


def _play(command: tuple[str, ...]) -> int:
    from holdfast.cli.main import run

    output.say(f"$ holdfast {shlex.join(command)}\n")
    return run(command)


def _show_catalogue() -> None:
    areas = Counter(id.split(".")[0] for id in catalogue())
    inside = ", ".join(f"{area} {count}" for area, count in sorted(areas.items()))
    output.say(
        f"\nEvery number rests on one of {sum(areas.values())} theorems, which `holdfast bound` lists: {inside}."
    )


def _prompt() -> None:
    """Stay up on a terminal: each line is what would follow `holdfast bound`."""
    if sys.stdin is None or not sys.stdin.isatty():
        return
    from holdfast.cli.main import run

    output.say("\nTry a theorem, for example: max-information.pure-dp --epsilon 0.01 --n 1000 --beta 0.05")
    output.say("An empty line lists them, `help` says more, `quit` leaves.")
    while True:
        try:
            line = input("holdfast bound> ").strip()
        except (EOFError, KeyboardInterrupt):
            print()
            return
        if line in ("quit", "exit", "q"):
            return
        run(["bound", *_words(line)])


def _words(line: str) -> list[str]:
    """What was typed, as the words of a command line; a whole command may be pasted."""
    line = "--help" if line in ("help", "?") else line.removeprefix("holdfast ").removeprefix("bound ")
    try:
        return shlex.split(line)
    except ValueError:  # a quote that was not closed: the command says what is wrong with the rest
        return line.split()
