"""`holdfast plan`: what every kind of holdout certifies for a given use, best first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from holdfast.cli import output
from holdfast.cli.output import can_draw, draw, progress_bar
from holdfast.errors import GuaranteeUnavailable, InvalidParameter


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan)


def plan(
    n: int = typer.Option(None, "--n", help="Rows in the holdout; leave out to see how many are needed."),
    questions: int = typer.Option(1000, "--questions", help="Questions in all, fixed in advance."),
    failures: int = typer.Option(
        None, "--failures", help="Failed checks to plan for; later answers stay valid.  [default: 10]"
    ),
    confidence: float = typer.Option(0.95, "--confidence", help="Probability that every certified answer is right."),
    half_width: float = typer.Option(None, "--half-width", help="Wanted half-width: shows what would reach it."),
    span: tuple[float, float] = typer.Option((0.0, 1.0), "--range", metavar="LOW HIGH", help="Range of a row's value."),
    guess: float = typer.Option(
        None, "--guess", help="Where the means are expected, e.g. 0.95: narrower near the ends."
    ),
    no_guess: bool = typer.Option(False, "--no-guess", help="No guesses will be available: recommend without them."),
    binary: bool = typer.Option(False, "--binary", help="Every value is one of the two ends of the range."),
    workflow: str = typer.Option(
        None, "--workflow", help="Plan a way of working: fixed, rounds, checks, contest or pairs; needs --n."
    ),
    candidates: int = typer.Option(None, "--candidates", help="With --workflow: candidates of a list, round or final."),
    rounds: int = typer.Option(5, "--rounds", help="With --workflow rounds: rounds of search."),
    teams: int = typer.Option(40, "--teams", help="With --workflow contest: teams in the final."),
    submissions: int = typer.Option(150, "--submissions", help="With --workflow contest: submissions before it."),
    reserve: float = typer.Option(None, "--reserve", help="With --workflow: part of the rows kept for the final."),
    plot: Path = typer.Option(None, "--plot", help="Draw half-widths against questions: .svg, .png, .html or .json."),  # noqa: B008
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Compare what every kind of holdout certifies, best first; exit status 3 when none does what was asked.

    With --workflow, plan a whole way of working and compare it with the best valid alternative on the same rows.
    """
    if workflow is not None:
        _plan_workflow(
            workflow,
            n,
            as_json,
            candidates=candidates,
            questions=questions,
            rounds=rounds,
            failures=failures or 0,
            teams=teams,
            submissions=submissions,
            reserve=reserve,
            guess=0.85 if guess is None else guess,
            confidence=confidence,
        )
        return
    from holdfast.holdout.planning.plan import plan as make

    if n is None and half_width is None:
        raise InvalidParameter(
            "give --n (how many rows), --half-width (what is wanted), or both; `holdfast plan --n 10000`"
        )
    if no_guess and guess is not None:
        raise InvalidParameter(f"--guess and --no-guess exclude each other, got --guess {guess:g}")
    if plot is not None:
        can_draw(plot)
        if n is None:
            raise InvalidParameter("--plot needs --n: it draws half-widths for that many rows")
    with progress_bar("planning", shown=not as_json):
        found = make(
            n,
            questions,
            failures,
            confidence,
            half_width,
            low=span[0],
            high=span[1],
            guess=False if no_guess else guess,
            binary=binary,
        )
    if plot is not None:
        with progress_bar("plot", shown=not as_json) as progress:
            draw(found.plot(progress=progress), plot)
    if as_json:
        output.print_json(found.to_dict() | ({} if plot is None else {"plot": str(plot)}))
    else:
        output.table(found.title(), found.columns(), found.cells())
        for sentence in found.words()[0 if found.feasible else 1 :]:
            output.say(sentence)
        if plot is not None:
            output.say(f"The picture is in {plot}.")
    if not found.feasible:
        raise GuaranteeUnavailable(found.words()[0])


def _plan_workflow(name: str, n: int | None, as_json: bool, **use: Any) -> None:
    from holdfast.holdout.planning.workflows import workflow

    if n is None:
        raise InvalidParameter("--workflow needs --n, the number of rows: `holdfast plan --workflow fixed --n 3000`")
    found = workflow(name, n, **use)
    if as_json:
        output.print_json(found.to_dict())
        return
    rows: list[tuple[str, object]] = [
        ("certified half-width", f"{found.half_width:.4g}"),
        ("best valid alternative", f"{found.alternative}: {found.alternative_half_width:.4g}"),
        ("ratio", f"{found.ratio:.2f}"),
        ("call", ", ".join(dict.fromkeys(found.verbs))),
        ("plan", ", ".join(f"{name}={value}" for name, value in found.policy.items())),
    ]
    rows += [(name.replace("_", " "), f"{value:.4g}") for name, value in found.more.items()]
    output.facts(f"Workflow: {found.workflow}", rows)
    output.say(found.says)
