"""`holdfast demo`: the web page on something alive, or a tour in the terminal with a prompt for every theorem."""

from __future__ import annotations

import shlex
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from holdfast.bounds.registry import catalogue
from holdfast.cli import output, reproduce
from holdfast.cli.output import progress_bar

if TYPE_CHECKING:
    from holdfast.server.demo.analysts import Played

PLAN = ("plan", "--n", "10000", "--questions", "1000", "--failures", "10")
FIXED_LIST = ("plan", "--workflow", "fixed", "--n", "3000", "--candidates", "60")
ATTACK = ("simulate", "--analyst", "adversarial", "--against", "all", "--runs", "20")
FIGURE = ("reproduce", "dwork-figure-2", "--quick", "--brief")
PEOPLE = (
    ("steward", "the steward, who sees everything:"),
    ("ann", "Ann, who guesses well:"),
    ("greg", "Greg, who tries until something looks good:"),
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo)


def demo(
    once: bool = typer.Option(
        False, "--once", help="Run the whole tour in the terminal, print where its files are, and exit."
    ),
    terminal: bool = typer.Option(
        False,
        "--terminal",
        help="Run the tour in the terminal instead of a web page, then wait for commands at a prompt.",
    ),
    out: Path = typer.Option(  # noqa: B008
        Path("holdfast-out"), "--out", help="The folder to which the tour writes its plot and its tables."
    ),
    port: int = typer.Option(
        8321, "--port", min=1, max=65535, help="The port of the web page on this machine (127.0.0.1)."
    ),
) -> None:
    """Start the demo: a web page that shows a guarded data set and two analysts who ask questions about it. With --once
    or --terminal, run a tour in the terminal instead. It shows two plans, a simulated attack on every method, a figure
    of the paper that introduced the reusable holdout, the two analysts, and the end of their run.
    """
    if not (once or terminal):
        try:
            _serve(port)
            return
        except ImportError as error:
            output.say(
                f"The web page needs {error.name}: `pip install 'holdfast[server]'`. Here is the tour instead.\n"
            )
    status = _tour(out)
    if status == 0 and not once:
        _prompt()
    raise typer.Exit(status)


def _tour(out: Path) -> int:
    output.say("1. A plan: 10,000 held-out rows and 1,000 questions, each asked after seeing the last answer.")
    status = _play(PLAN)
    output.say("\nA list of models that is fixed in advance needs no guesses. It is one final, which ends the run:")
    status = status or _play(FIXED_LIST)
    output.say(
        "\n2. An attack: an analyst asks about 300 features that mean nothing, then about the vote that the answers "
        "suggest. Coverage is the share of her analyses in which every interval held."
    )
    status = status or _play(ATTACK)
    output.say(
        "\n3. The figure that began it all: 10,000 features without signal. How good a classifier looks, "
        "chosen by looking, and how good it is."
    )
    if reproduce.installed():
        status = status or _play((*FIGURE, "--out", str(out)))
    else:
        output.say(f"Left out: {reproduce.INSTALL_HINT}.")
    output.say(
        "\n4. The demo's analysts at a guard: Ann guesses from last year, Greg tries rules until one looks good."
    )
    try:
        _play_analysts(out)
    except ImportError as error:
        output.say(f"This part needs {error.name}: `pip install 'holdfast[server]'`.")
    _show_catalogue()
    return status


def _play_analysts(out: Path) -> None:
    """Both analysts on an embedded ledger; the table shows a few of them, the file all."""
    from holdfast.server.demo import analysts

    ledger = out / "demo" / "ledger.db"
    for stale in (ledger, *ledger.parent.glob("ledger.db*")):  # a guard remembers: the demo begins anew
        stale.unlink(missing_ok=True)
    ledger.parent.mkdir(parents=True, exist_ok=True)
    with progress_bar("asking", shown=True):
        played = list(analysts.play(ledger))
    shown = [*played[:4], *played[11:18], played[-1]]
    output.table("Answers of one guard over 20,000 rows", analysts.COLUMNS, [play.cells() for play in shown])
    best = analysts.best_of_greg(played)
    assert best.interval is not None
    output.say(
        f"Greg's best rule was right for {best.step.believed:.0%} of his own 60 rows. The guard says "
        f"{best.interval[0]:.0%} to {best.interval[1]:.0%}; it is a coin, so the truth is 50%."
    )
    output.say(
        "\n5. The end of the run: `close` shows every check with its exact value and the interval that was certified "
        "all along. Nothing more can be asked of these rows."
    )
    exact = _close(ledger, [play for play in played if play.outcome in ("passed", "corrected")])
    rows = [(play.step.analyst, play.step.about, play.cells()[3], end) for play, end in (*exact[:4], *exact[-4:])]
    output.table("The first and the last checks", ("analyst", "asked about", "while they asked", "at the end"), rows)
    analysts.write(played, out / "demo" / "answers.csv")
    output.say(
        f"All {len(played)} questions: {out / 'demo' / 'answers.csv'}. "
        f"The ledger: {ledger}; `holdfast verify {ledger}` checks it."
    )


def _close(ledger: Path, checks: Sequence[Played]) -> list[tuple[Played, str]]:
    """End the run of the demo's guard: each check, and in words what the end shows of it."""
    from holdfast.data.tables import table
    from holdfast.guard import Guard, close
    from holdfast.server.demo import analysts

    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as place:
        file = Path(place) / "customers.csv"
        file.write_text(analysts.rows_csv())
        guard = Guard.open(ledger, table(str(file), row_key=analysts.ROW_KEY))
        try:
            revealed = guard.ask(close(), analyst="ann").details["revealed"]
        finally:
            guard.shut()
    return [
        (check, f"{line['value']:.3g} in {line['interval'][0]:.3g} to {line['interval'][1]:.3g}")
        for check, line in zip(checks, revealed, strict=True)
    ]


def _serve(port: int) -> None:
    """The web page and the API, until Ctrl-C."""
    from holdfast.server.demo import serving

    # A demo that is killed, or whose terminal is closed, leaves no rows behind. The server has its own orderly end for
    # the first of the two while it runs, and passes it on here.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    with tempfile.TemporaryDirectory(prefix="holdfast-demo-") as folder:
        with progress_bar("setting up a guard", shown=True):
            demo = serving.prepare(Path(folder), port)
        output.say(f"Holdfast is at {demo.address}")
        output.say("\nTokens, shown once; each link carries one and fills it in:")
        for name, words in PEOPLE:
            print(f"\n  {words}\n  {demo.link(name)}", flush=True)
        output.say("\nThe API is below /api/v1 and takes the same tokens. Ctrl-C ends the demo and deletes its rows.")
        sys.stdout.flush()
        serving.serve(demo)


def _play(command: tuple[str, ...]) -> int:
    from holdfast.cli.main import run

    output.say(f"$ holdfast {shlex.join(command)}\n")
    return run(command)


def _show_catalogue() -> None:
    areas = Counter(id.split(".")[0] for id in catalogue())
    inside = ", ".join(f"{area} {count}" for area, count in sorted(areas.items()))
    output.say(
        f"\nEvery number is guaranteed by one of {sum(areas.values())} theorems, which `holdfast bound` lists: "
        f"{inside}."
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
