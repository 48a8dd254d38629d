"""`holdfast simulate`: an analyst against a method on synthetic rows, next to the naive method on the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast.bounds.registry import shown
from holdfast.cli import output
from holdfast.cli.output import can_draw, draw, progress_bar
from holdfast.core import arguments
from holdfast.errors import GuaranteeUnavailable, HoldfastError

if TYPE_CHECKING:
    from holdfast.simulation.analysts import Analyst
    from holdfast.simulation.answerers import Design, Entry
    from holdfast.simulation.run import Simulated

_COLUMNS = (
    "method",
    "certified",
    "coverage",
    "95% limits",
    "half-width",
    "used",
    "mean error",
    "worst error",
    "largest",
    "failures",
    "refused",
)
_EXPLAINED = """\
coverage: the proportion of analyses in which every interval held; the 95% limits account for the number of runs.
used: the largest error of an analysis as a part of its interval's half-width; above 1, an interval missed.
mean error, worst error: averages over the analyses; largest: the largest error of all.
believed: the score that the analyst ends with; true: the same score in the population. Near is better."""
#: Questions in all from which more than one process pays.
_LARGE = 200_000


_GROUPS = {
    "Analyst and holdout": ("analyst", "against", "listing"),
    "Size": ("n", "questions", "failures", "confidence"),
    "Runs": ("runs", "seed", "workers"),
    "Output": ("plot", "as_json"),
}
"""The options in groups, as the help lists them."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate", cls=output.grouped(_GROUPS))(simulate)


def simulate(
    analyst: str = typer.Option(
        "greedy",
        "--analyst",
        help="The simulated analyst, who decides which questions are asked; `--list` shows all names.",
    ),
    against: str = typer.Option(
        "reusable-holdout",
        "--against",
        help="The method that answers the analyst's questions, or `all` to compare all methods; `--list` shows "
        "all names.",
    ),
    n: int = typer.Option(
        1000, "--n", help="Number of holdout rows. The simulated analyst has the same number of training rows."
    ),
    questions: int = typer.Option(
        300,
        "--questions",
        help="Number of questions that are planned. The analyst asks all of them, unless the method refuses one.",
    ),
    failures: int = typer.Option(
        None,
        "--failures",
        help="Number of failed checks that the method plans for (default: 10, or the number of questions if that is "
        "smaller).",
    ),
    confidence: float = typer.Option(
        0.95,
        "--confidence",
        help="Probability with which all intervals of a run together contain the population values.",
    ),
    runs: int = typer.Option(200, "--runs", help="Number of simulated runs, each on newly drawn rows."),
    seed: int = typer.Option(1, "--seed", help="Seed of the simulation's random numbers."),
    workers: int = typer.Option(
        0,
        "--workers",
        help="Number of processes. 0 (the default) means one per processor core for a long simulation and one "
        "process for a short one.",
    ),
    plot: Path = typer.Option(  # noqa: B008
        None,
        "--plot",
        help="Draw the largest error of each method, as a part of the half-width of its interval, to this file: "
        ".svg, .png, .html or .json.",
    ),
    listing: bool = typer.Option(False, "--list", help="List the names of the analysts and the methods."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Simulate an analyst who asks a holdout one question after another. Reports how often all intervals of a run
    contain the population values, and how large the errors of the answers are.
    """
    from holdfast.core.processes import cores
    from holdfast.simulation.analysts import analyst as find_analyst
    from holdfast.simulation.answerers import Design, answerer, answerers

    if listing:
        _list(as_json)
        return
    asks = find_analyst(analyst)
    known = answerers()
    arguments.choice("against", against, [*known, "all"])
    chosen = list(known.values()) if against == "all" else list(dict.fromkeys([answerer("naive"), known[against]]))
    failures = max(1, min(10, questions)) if failures is None else failures
    design = Design(n, questions, failures, confidence)
    runs = arguments.whole("runs", runs, at_least=1, at_most=10**7)
    seed = arguments.whole("seed", seed, at_least=0)
    large = runs * questions * len(chosen) >= _LARGE
    workers = arguments.whole("workers", workers, at_least=0, at_most=1024) or (cores() if large else 1)
    if plot is not None:
        can_draw(plot)
    with progress_bar(f"{analyst} analyst", shown=not as_json) as progress:
        simulated, left_out = _run_all(asks, chosen, design, runs, seed, workers, progress)
    if against in left_out:
        raise GuaranteeUnavailable(left_out[against])
    title = f"{runs} analyses by the {analyst} analyst: {questions} questions about {n} rows, nominal {confidence:g}"
    if plot is not None:
        from holdfast.simulation.run import chart

        draw(chart(simulated, title), plot)
    if as_json:
        given = {"n": n, "questions": questions, "failures": failures, "confidence": confidence}
        head = {"analyst": analyst, "against": against, **given, "runs": runs, "seed": seed}
        output.print_json(head | {"answerers": [s.to_dict() for s in simulated], "left_out": left_out})
    else:
        _show(title, simulated, left_out, confidence, plot)
    broken = [s for s in simulated if s.certified and s.coverage_high is not None and s.coverage_high < confidence]
    if broken:
        names = ", ".join(s.answerer for s in broken)
        raise HoldfastError(
            "in this simulation a certified method had a lower coverage than it guarantees, which is a defect of "
            f"Holdfast; please report it: {names}"
        )


def _run_all(
    asks: Analyst, chosen: list[Entry], design: Design, runs: int, seed: int, workers: int, progress: Any
) -> tuple[list[Simulated], dict[str, str]]:
    from holdfast.simulation import run as simulation

    simulated: list[Simulated] = []
    left_out: dict[str, str] = {}
    for i, entry in enumerate(chosen):

        def report(share: float, i: int = i, entry: Entry = entry) -> None:
            progress((i + share) / len(chosen), entry.name)

        try:
            simulated.append(
                simulation.simulate(
                    asks.run,
                    entry.make,
                    design,
                    runs=runs,
                    seed=seed,
                    name=entry.name,
                    certified=entry.certified,
                    progress=report,
                    workers=workers,
                )
            )
        except GuaranteeUnavailable as error:
            left_out[entry.name] = str(error)
    return simulated, left_out


def _show(title: str, found: list[Simulated], left_out: dict[str, str], confidence: float, plot: Path | None) -> None:
    output.table(title, _COLUMNS, [_row(s) for s in found])
    output.say(_EXPLAINED)
    for name, why in left_out.items():
        output.say(f"{name} left out: {why}.")
    for s in found:
        extra = ", ".join(f"{name} {value:.4f}" for name, value in s.extra.items())
        if extra:
            output.say(f"{s.answerer}: {extra}.")
    unclear = []
    for s in found:
        if s.coverage_low is None or s.coverage_high is None:
            continue
        if s.coverage_low >= confidence:
            output.say(f"{s.answerer}: every interval held in at least {s.coverage_low:.2%} of analyses: promise kept.")
        elif s.coverage_high < confidence:
            output.say(
                f"{s.answerer}: every interval held in at most {s.coverage_high:.2%} of analyses: promise broken."
            )
        else:
            unclear.append(s.answerer)
    if unclear:
        output.say(f"Too few runs to tell the coverage of {', '.join(unclear)} from {confidence:.2%}.")
    if plot is not None:
        output.say(f"The picture is in {plot}.")


def _row(s: Simulated) -> list[str]:
    def cell(value: float | None) -> str:
        return "" if value is None else f"{value:.4f}"

    return [
        s.answerer,
        "yes" if s.certified else "no",
        "no interval" if s.coverage is None else cell(s.coverage),
        "" if s.coverage is None else f"{cell(s.coverage_low)} to {cell(s.coverage_high)}",
        cell(s.half_width),
        "" if s.used is None else f"{s.used:.2f}",
        cell(s.mean_error),
        cell(s.worst),
        cell(s.largest),
        shown(round(s.failures, 2)),
        shown(round(s.refused, 2)),
    ]


def _list(as_json: bool) -> None:
    from holdfast.simulation.analysts import ANALYSTS
    from holdfast.simulation.answerers import answerers

    listed: dict[str, Any] = {
        "analysts": [entry.to_dict() for entry in ANALYSTS.values()],
        "answerers": [entry.to_dict() for entry in answerers().values()],
    }
    if as_json:
        output.print_json(listed)
        return
    output.table("analysts", ("name", "what it does"), [(e["name"], e["title"]) for e in listed["analysts"]])
    rows = [(e["name"], e["title"], "yes" if e["certified"] else "no") for e in listed["answerers"]]
    output.table("methods", ("name", "what it does", "certified"), rows)
