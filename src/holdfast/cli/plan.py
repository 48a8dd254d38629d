"""`holdfast plan`: what every kind of holdout certifies for a given use, the recommended one first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import typer

from holdfast.cli import output
from holdfast.cli.output import can_draw, draw, progress_bar
from holdfast.cli.typed_words import plain_number
from holdfast.errors import GuaranteeUnavailable, InvalidParameter

_GROUPS = {
    "What is asked": ("n", "questions", "failures", "confidence", "half_width", "span", "guess", "no_guess", "binary"),
    "A way of working": ("workflow", "candidates", "rounds", "teams", "submissions", "reserve", "rule", "study"),
    "Output": ("save", "plot", "as_json"),
}
"""The options in groups, as the help lists them."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan", cls=output.grouped(_GROUPS))(plan)


def plan(
    rows: str = typer.Argument(None, help="Number of rows in the holdout, the same as --n.", show_default=False),
    number: str = typer.Argument(
        None, metavar="QUESTIONS", help="Total number of questions, the same as --questions.", show_default=False
    ),
    n: int | None = typer.Option(
        None,
        "--n",
        help="Number of rows in the holdout. Leave it out, and give --half-width, to see how many rows are needed.",
    ),
    questions: int | None = typer.Option(
        None, "--questions", help="Total number of questions, fixed in advance. [default: 1000]", show_default=False
    ),
    failures: int = typer.Option(
        None,
        "--failures",
        help="Number of failed checks (guesses that the holdout corrects) to plan for. Answers after them are "
        "still valid. [default: 10]",
    ),
    confidence: float = typer.Option(
        0.95,
        "--confidence",
        help="Probability with which all certified intervals together contain the population values.",
    ),
    half_width: float = typer.Option(
        None,
        "--half-width",
        help="The half-width that intervals should have. Shows which methods reach it, and how many rows they need.",
    ),
    span: tuple[float, float] = typer.Option(
        (0.0, 1.0),
        "--range",
        metavar="LOW HIGH",
        help="The smallest and the largest possible value of a row, e.g. 0 1.",
    ),
    guess: float = typer.Option(
        None,
        "--guess",
        help="The value that the means are expected to have, e.g. 0.95. Intervals are narrower near 0 and 1.",
    ),
    no_guess: bool = typer.Option(
        False, "--no-guess", help="Recommend among the methods that need no guess of each answer from other rows."
    ),
    binary: bool = typer.Option(
        False, "--binary", help="Declare that every row has one of the two end values of the range, such as 0 or 1."
    ),
    workflow: str = typer.Option(
        None,
        "--workflow",
        help="Plan a whole way of working: fixed (a list of candidates), rounds (of search), checks, contest or "
        "pairs (of models). Needs --n.",
    ),
    candidates: int = typer.Option(
        None,
        "--candidates",
        help="With --workflow: the number of candidates in the list (fixed), in a round (rounds) or in the final "
        "(checks); for pairs, the number of models.",
    ),
    rounds: int = typer.Option(
        None, "--rounds", help="With --workflow rounds: number of rounds of search.  [default: 5]"
    ),
    teams: int = typer.Option(
        None, "--teams", help="With --workflow contest: number of teams in the final.  [default: 40]"
    ),
    submissions: int = typer.Option(
        None, "--submissions", help="With --workflow contest: number of submissions before the final.  [default: 150]"
    ),
    reserve: float = typer.Option(
        None,
        "--reserve",
        help="With --workflow rounds, checks or contest: the part of the rows that is kept for the final, e.g. 0.5.",
    ),
    rule: str = typer.Option(
        None,
        "--rule",
        help="With --workflow contest: the leaderboard's rule, which decides what is shown of a score: open, ladder "
        "or checked. [default: open]",
    ),
    study: Path = typer.Option(  # noqa: B008
        None,
        "--study",
        help="Find the best policy for a study. The TOML file lists the questions that the study will ask.",
    ),
    save: Path = typer.Option(  # noqa: B008
        None, "--save", help="With --study: write the policy to this file, for `holdfast guard open --policy`."
    ),
    plot: Path = typer.Option(  # noqa: B008
        None,
        "--plot",
        help="Draw the half-width against the number of questions to this file: .svg, .png, .html or .json.",
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object instead of a table."),
) -> None:
    """Compare the interval widths that each kind of holdout guarantees, with the recommended kind first. With
    --workflow, plan a whole way of working and compare it with the best valid alternative on the same rows. With
    --study, find the policy of a guard that answers a list of intended questions with the narrowest intervals. The exit
    status is 3 if no method reaches the half-width that was asked for.
    """
    if n is not None and number is None:  # the rows have their option, so the one number counts questions
        rows, number = None, rows
    n, questions = _either("n", rows, n), _either("questions", number, questions)
    ways = {
        "candidates": candidates,
        "rounds": rounds,
        "teams": teams,
        "submissions": submissions,
        "reserve": reserve,
        "rule": rule,
    }
    if study is not None:
        given: dict[str, Any] = {"--n": n, "--questions": questions, "--failures": failures, "--workflow": workflow}
        given |= {"--plot": plot}
        given |= {"--half-width": half_width, "--guess": guess, "--no-guess": no_guess or None}
        given |= {"--binary": binary or None, "--range": None if span == (0.0, 1.0) else span}
        given |= {f"--{option}": value for option, value in ways.items()}
        given |= {"--confidence": None if confidence == 0.95 else confidence}
        _plan_study(study, save, given, as_json)
        return
    if save is not None:
        raise InvalidParameter("--save needs --study: it writes the policy that is found for the study")
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
            raise InvalidParameter(
                f"--{option} must be given together with --workflow, as in `holdfast plan --workflow rounds --n 3000`"
            )
    from holdfast.holdout.planning.plan import plan as make

    if n is None and half_width is None:
        raise InvalidParameter(
            "give --n (the number of rows), --half-width (the half-width to reach), or both, as in `holdfast plan "
            "--n 10000`"
        )
    if no_guess and guess is not None:
        raise InvalidParameter(f"--guess and --no-guess cannot be given together, got --guess {guess:g}")
    if plot is not None:
        can_draw(plot)
        if n is None:
            raise InvalidParameter("--plot needs --n, the number of rows for which half-widths are drawn")
    with progress_bar("planning", shown=not as_json):
        planned = make(
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
            draw(planned.plot(progress=progress), plot)
    if as_json:
        output.print_json(planned.to_dict() | ({} if plot is None else {"plot": str(plot)}))
    else:
        advice, *others = planned.words()
        if planned.feasible:
            output.say(advice)
        output.table(planned.title(), planned.columns(), planned.cells())
        for sentence in (*planned.notes(), "", *others):
            output.say(sentence)
        if plot is not None:
            output.say(f"The picture is in {plot}.")
    if not planned.feasible:
        raise GuaranteeUnavailable(planned.words()[0])


def _either(name: str, word: str | None, option: int | None) -> int | None:
    """A number that was given by its place or by its option, and not by both."""
    if word is None:
        return option
    if option is not None:
        raise InvalidParameter(f"--{name} must be left out if its value is given without the option too, as {word}")
    try:
        return int(plain_number(word))
    except ValueError:
        raise InvalidParameter(
            f"{name} must be a whole number, got {word[:60]!r}; `holdfast plan 10000 1000` plans 1,000 questions on "
            "10,000 rows"
        ) from None


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
        raise InvalidParameter(
            "--workflow needs --n, the number of rows, as in `holdfast plan --workflow fixed --n 3000`"
        )
    for option, value in others.items():
        if value is not None:
            raise InvalidParameter(
                f"{option} must be left out with --workflow, which always plans for values of 0 and 1 with a mean "
                "near --guess"
            )
    planned = workflow(name, n, guess=0.85 if guess is None else guess, confidence=confidence, **said)
    if as_json:
        output.print_json(planned.to_dict())
        return
    shows_gaps = planned.workflow == "pairs"
    rows: list[tuple[str, object]] = [
        ("smallest gap shown" if shows_gaps else "certified half-width", f"{planned.half_width:.4g}"),
        ("best valid alternative", f"{planned.alternative_half_width:.4g}, by {planned.alternative}"),
        ("ratio", f"{planned.ratio:.2f}"),
        ("plan", ", ".join(f"{name}={value}" for name, value in planned.policy.items() if value != [])),
        ("call", _calls(planned.verbs) + ("" if planned.workflow == "contest" else f'(claims="{planned.claims}")')),
    ]
    rows += [(name.replace("_", " "), f"{value:,.4g}") for name, value in planned.more.items()]
    output.facts(f"Workflow: {planned.workflow}", rows)
    output.say(planned.says)


def _plan_study(path: Path, save: Path | None, given: dict[str, Any], as_json: bool) -> None:
    from holdfast.guard.study import Study, plan_study

    for option, value in given.items():
        if value is not None:
            raise InvalidParameter(
                f"{option} must be left out with --study, because the study's file contains all settings"
            )
    study = Study.read(path)
    with progress_bar("planning", shown=not as_json):
        planned = plan_study(study)
    if save is not None:
        try:
            save.write_text(json.dumps(planned.policy.to_dict(), indent=2) + "\n", "utf-8")
        except OSError:
            raise InvalidParameter(f"--save must be a file that can be written, got {str(save)[:200]!r}") from None
    if as_json:
        output.print_json(planned.to_dict() | ({} if save is None else {"saved": str(save)}))
    else:
        rows = [
            (width.words, f"{width.count:,}", width.answered, _half(width.while_asking), _half(width.at_the_end))
            for width in planned.widths
        ]
        title = f"Study of {study.n:,} rows: {planned.name}"
        output.table(title, ("questions", "count", "answered", "half-width", "at the end"), rows)
        facts = [("mean at the end, of the range", f"{planned.score:.4f}")]
        facts += [
            (f"with {name}" if name[0].isdigit() else name, f"{score:.4f}") for name, score in planned.changes.items()
        ]
        output.facts("What would change it", facts)
        output.facts(
            "Other policies",
            [(name, f"{why:.4f}" if isinstance(why, float) else why) for name, why in planned.others.items()],
        )
        for remark in planned.remarks:
            output.say(f"{remark[:1].upper()}{remark[1:]}.")
        output.say(
            f"The policy is in {save}: holdfast guard open LEDGER DATA --policy {save}"
            if save is not None
            else "--save policy.json writes the policy, for `holdfast guard open LEDGER DATA --policy policy.json`."
        )
    if not planned.feasible:
        raise GuaranteeUnavailable(
            "no policy gives a useful interval for these questions; use more rows or fewer questions"
        )


def _half(width: float | None) -> str:
    return "by the rows" if width is None else f"{width:.4g}"


def _calls(verbs: Sequence[str]) -> str:
    """The verbs in order, each with how often in a row: `best (5 times), final`."""
    runs = [(verb, len(list(same))) for verb, same in groupby(verbs)]
    return ", ".join(verb if count == 1 else f"{verb} ({count} times)" for verb, count in runs)
