"""`holdfast simulate`: an analyst against an answerer on synthetic rows, beside the naive answerer on the same rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from holdfast.bounds.registry import shown
from holdfast.cli import output
from holdfast.cli.progress import progress_bar
from holdfast.errors import GuaranteeUnavailable

if TYPE_CHECKING:
    from holdfast.experiments.answerers import Entry
    from holdfast.experiments.simulation import Simulated

_COLUMNS = (
    "answerer",
    "certified",
    "coverage",
    "at least",
    "half-width",
    "mean error",
    "worst error",
    "largest",
    "failures",
    "refused",
)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate)


def simulate(
    analyst: str = typer.Option("greedy", "--analyst", help="Who asks; `--list` names them."),
    against: str = typer.Option("reusable-holdout", "--against", help="Who answers, or `all`; `--list` names them."),
    n: int = typer.Option(1000, "--n", help="Guarded rows."),
    questions: int = typer.Option(300, "--questions", help="Questions planned and asked."),
    failures: int = typer.Option(10, "--failures", help="Guesses that may fail."),
    confidence: float = typer.Option(0.95, "--confidence", help="Confidence of all answers at once."),
    runs: int = typer.Option(200, "--runs", help="Analyses, each of a fresh sample."),
    seed: int = typer.Option(1, "--seed", help="Where the simulation starts."),
    listing: bool = typer.Option(False, "--list", help="Name the analysts and the answerers."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Set an analyst on a holdout: how often every interval held its truth, and how far off the answers were."""
    from holdfast.experiments import simulation
    from holdfast.experiments.analysts import analyst as find_analyst
    from holdfast.experiments.answerers import Design, answerer, answerers

    if listing:
        _list(as_json)
        return
    asks = find_analyst(analyst)
    naive = answerer("naive")
    chosen = list(answerers().values()) if against == "all" else [naive, answerer(against)]
    design = Design(n, questions, failures, confidence)
    found: list[Simulated] = []
    left_out: dict[str, str] = {}
    with progress_bar(f"{analyst} analyst", shown=not as_json) as progress:
        for i, entry in enumerate(dict.fromkeys(chosen)):

            def report(share: float, i: int = i, entry: Entry = entry) -> None:
                progress((i + share) / len(chosen), entry.name)

            try:
                found.append(
                    simulation.simulate(
                        asks.run,
                        entry.make,
                        design,
                        runs=runs,
                        seed=seed,
                        name=entry.name,
                        certified=entry.certified,
                        progress=report,
                    )
                )
            except GuaranteeUnavailable as error:
                left_out[entry.name] = str(error)
    if against in left_out:
        raise GuaranteeUnavailable(left_out[against])
    if as_json:
        given = {"n": n, "questions": questions, "failures": failures, "confidence": confidence}
        head = {"analyst": analyst, "against": against, **given, "runs": runs, "seed": seed}
        output.print_json(head | {"answerers": [s.to_dict() for s in found], "left_out": left_out})
        return
    title = f"{runs} analyses by the {analyst} analyst: {questions} questions about {n} rows, nominal {confidence:g}"
    output.table(title, _COLUMNS, [_row(s) for s in found])
    for name, why in left_out.items():
        output.say(f"{name}: {why}")


def _row(s: Simulated) -> list[str]:
    def cell(value: float | None, digits: int = 4) -> str:
        return "" if value is None else f"{value:.{digits}f}"

    return [
        s.answerer,
        "yes" if s.certified else "no",
        "no interval" if s.coverage is None else cell(s.coverage),
        cell(s.coverage_low),
        cell(s.half_width),
        cell(s.mean_error),
        cell(s.worst),
        cell(s.largest),
        shown(round(s.failures, 2)),
        shown(round(s.refused, 2)),
    ]


def _list(as_json: bool) -> None:
    from holdfast.experiments.analysts import ANALYSTS
    from holdfast.experiments.answerers import answerers

    listed: dict[str, Any] = {
        "analysts": [entry.to_dict() for entry in ANALYSTS.values()],
        "answerers": [entry.to_dict() for entry in answerers().values()],
    }
    if as_json:
        output.print_json(listed)
        return
    output.table("analysts", ("name", "what it does"), [(e["name"], e["title"]) for e in listed["analysts"]])
    rows = [(e["name"], e["title"], "yes" if e["certified"] else "no") for e in listed["answerers"]]
    output.table("answerers", ("name", "what it does", "certified"), rows)
