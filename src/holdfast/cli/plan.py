"""`holdfast plan`: what every kind of holdout certifies for a given use, best first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
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
    questions: int = typer.Option(
        None, "--questions", help="Questions in all, fixed in advance.  [default: 1000]", show_default=False
    ),
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
    candidates: int = typer.Option(
        None, "--candidates", help="With --workflow: candidates of a list, a round or the final; models for pairs."
    ),
    rounds: int = typer.Option(None, "--rounds", help="With --workflow rounds: rounds of search.  [default: 5]"),
    teams: int = typer.Option(None, "--teams", help="With --workflow contest: teams in the final.  [default: 40]"),
    submissions: int = typer.Option(
        None, "--submissions", help="With --workflow contest: submissions before the final.  [default: 150]"
    ),
    reserve: float = typer.Option(
        None, "--reserve", help="With --workflow rounds, checks or contest: part of the rows kept for the final."
    ),
    plot: Path = typer.Option(None, "--plot", help="Draw half-widths against questions: .svg, .png, .html or .json."),  # noqa: B008
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Compare what every kind of holdout certifies, best first; exit status 3 when none does what was asked.

    With --workflow, plan a whole way of working and compare it with the best valid alternative on the same rows.
    """
    ways = {
        "candidates": candidates,
        "rounds": rounds,
        "teams": teams,
        "submissions": submissions,
        "reserve": reserve,
    }
    if workflow is not None:
        others = {
            "--half-width": half_width,
            "--range": None if span == (0.0, 1.0) else span,
            "--no-guess": no_guess or None,
            "--binary": binary or None,
            "--plot": plot,
        }
        _plan_workflow(
            workflow, n, guess, confidence, ways | {"questions": questions, "failures": failures}, others, as_json
        )
        return
    for option, value in ways.items():
        if value is not None:
            raise InvalidParameter(f"--{option} needs --workflow; `holdfast plan --workflow rounds --n 3000`")
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
            1000 if questions is None else questions,
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


def _plan_workflow(
    name: str,
    n: int | None,
    guess: float | None,
    confidence: float,
    said: dict[str, Any],
    others: dict[str, Any],
    as_json: bool,
) -> None:
    from holdfast.holdout.planning.workflows import workflow

    if n is None:
        raise InvalidParameter("--workflow needs --n, the number of rows: `holdfast plan --workflow fixed --n 3000`")
    for option, value in others.items():
        if value is not None:
            raise InvalidParameter(f"{option} must not be given with --workflow, whose values are 0/1 around --guess")
    found = workflow(name, n, guess=0.85 if guess is None else guess, confidence=confidence, **said)
    if as_json:
        output.print_json(found.to_dict())
        return
    shows_gaps = found.workflow == "pairs"
    rows: list[tuple[str, object]] = [
        ("smallest gap shown" if shows_gaps else "certified half-width", f"{found.half_width:.4g}"),
        ("best valid alternative", f"{found.alternative_half_width:.4g}, by {found.alternative}"),
        ("ratio", f"{found.ratio:.2f}"),
        ("plan", ", ".join(f"{name}={value}" for name, value in found.policy.items() if value != [])),
        ("call", f'{_calls(found.verbs)}(claims="{found.claims}")'),
    ]
    rows += [(name.replace("_", " "), f"{value:,.4g}") for name, value in found.more.items()]
    output.facts(f"Workflow: {found.workflow}", rows)
    output.say(found.says)


def _calls(verbs: Sequence[str]) -> str:
    """The verbs in order, each with how often in a row: `best (5 times), final`."""
    runs = [(verb, len(list(same))) for verb, same in groupby(verbs)]
    return ", ".join(verb if count == 1 else f"{verb} ({count} times)" for verb, count in runs)
