"""`holdfast demo`: a tour in the terminal, then a prompt at which every theorem can be tried."""

from __future__ import annotations

import math
import shlex
import sys
from collections import Counter
from pathlib import Path

import typer

from holdfast.bounds.registry import catalogue, lookup, shown
from holdfast.cli import output

ROWS, QUESTIONS, BETA = 10_000, 1_000, 0.05
WIDTHS = ("posterior-shift", "scheduled", "russo-zou-kl", "jung", "russo-zou", "bns", "dfh", "splitting")
EXPERIMENT = "odometer-attack"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    once: bool = typer.Option(False, "--once", help="Play the tour, say where its files are, and exit."),
    out: Path = typer.Option(Path("holdfast-out"), "--out", help="Where the plot and the table go."),  # noqa: B008
) -> None:
    """A tour: the catalogue, a plan, and analysts who try to fool the accounting."""
    _show_catalogue()
    _show_plan()
    status = _play_analysts(out)
    if status == 0 and not once:
        _prompt()
    raise typer.Exit(status)


def _show_catalogue() -> None:
    areas = Counter(id.split(".")[0] for id in catalogue())
    output.table("1. The catalogue", ("area", "theorems"), sorted(areas.items()))
    output.say("`holdfast bound` lists them; each is a function with its paper, conditions and an example.\n")


def _show_plan() -> None:
    rows = []
    for name in WIDTHS:
        evaluation = lookup(f"interval.{name}").evaluate(n=ROWS, questions=QUESTIONS, beta=BETA)
        rows.append((evaluation.value, f"interval.{name}", evaluation.source))
    checked = lookup("holdout.guess-and-check-width").evaluate(
        n=ROWS, beta=BETA, question=QUESTIONS, failures=5, grid=0.01, questions=QUESTIONS
    )
    rows.append((checked.value, "holdout.guess-and-check-width, 5 failed guesses", checked.source))
    rows.sort()
    cells = [
        (name, shown(round(width, 4)), "says nothing" if width >= 0.5 else "", source) for width, name, source in rows
    ]
    title = f"2. A plan: {ROWS:,} rows, {QUESTIONS:,} adaptive questions, all within the half-width with {1 - BETA:.0%}"
    output.table(title, ("method", "half-width", "", "source"), cells)
    fresh = math.ceil(math.log(2 / BETA) / (2 * rows[0][0] ** 2))
    output.say(
        "A half-width of 0.5 says nothing about a number in [0, 1]. "
        f"The best one here is what {fresh:,} fresh rows would give a single question.\n"
    )


def _play_analysts(out: Path) -> int:
    from holdfast.cli.main import run

    output.say("3. The analysts: one stops as soon as the privacy loss looks worst, and reads the odometer then.")
    return run(["reproduce", EXPERIMENT, "--quick", "--out", str(out)])


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
