"""`holdfast submit`, `holdfast leaderboard` and `holdfast contest`: having predictions scored, and who is where."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast.cli import ledgers, output
from holdfast.cli.ask import guarantee_words
from holdfast.cli.ledgers import stewarded
from holdfast.core.strict_json import to_json
from holdfast.errors import HoldfastError, InvalidParameter

if TYPE_CHECKING:
    from holdfast.guard.contest import Contest, ContestPlace
    from holdfast.guard.leaderboard import Leaderboard, Place

_LEDGER = typer.Argument(
    ...,
    help="The ledger in which the guard's questions are recorded (a file or a postgresql:// address), or the "
    "http(s):// address of a server.",
)
_SAMPLE = typer.Argument(
    ...,
    help="The rows with the hidden labels: a file, or a database table as ADDRESS#TABLE. With a server, the name of "
    "the guard.",
)
_FILE = typer.Argument(
    ...,
    help="The predictions: a .csv, .parquet or .json file with the row keys and a column `prediction`. Or a "
    "model as an .onnx file.",
)
_BOARD = typer.Option(None, "--board", help="The name of the leaderboard; may be left out if there is only one.")
_DATASET = typer.Option(
    None,
    "--dataset",
    help="Which data set, if there are several: the first characters of its fingerprint (`holdfast guard list` shows "
    "fingerprints). With a server, the guard's name or id.",
)
_MARKED = frozenset("\\`*_{}[]()<>#+!|&~@:/")
_OUT = typer.Option(
    None, "--out", help="Write the signed result of the contest's latest final to this file (.json or .html)."
)
_JSON = typer.Option(False, "--json", help="Print one JSON object instead of a table.")


_GROUPS = {
    "Submission": ("board", "name", "guess", "tolerance", "output_name", "entry", "analyst", "key"),
    "Waiting and output": ("wait", "comment_file", "as_json"),
}
"""The options in groups, as the help lists them."""


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("submit", cls=output.grouped(_GROUPS))(submit)
    app.command("leaderboard")(leaderboard)
    app.command("contest")(contest)


def submit(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    file: Path = _FILE,
    board: str = _BOARD,
    guess: float = typer.Option(
        None,
        "--guess",
        help="For a leaderboard with the rule 'intervals': the score that you expect, computed on rows of your own.",
    ),
    tolerance: float = typer.Option(
        None,
        "--tolerance",
        help="With --guess: a guess that passes is certified to be within this distance of the population value "
        "(default: 2.5 times the half-width of the interval).",
    ),
    name: str = typer.Option("", "--name", help="The submission's name on the leaderboard."),
    output_name: str = typer.Option(
        None, "--output", help="For an ONNX model: the name of the output that holds the prediction."
    ),
    entry: int = typer.Option(
        None,
        "--entry",
        help="For an ONNX model whose output has several values per row, such as class probabilities: the position "
        "(from 0) of the value that is the prediction.",
    ),
    analyst: str = typer.Option(
        None, "--analyst", help="With a ledger: the name of the analyst who submits (default: analyst)."
    ),
    key: str = typer.Option(
        None,
        "--key",
        help="Idempotency key, a text of your choice: if you repeat the command with the same key, for example after "
        "a lost connection, the submission is scored and charged only once.",
    ),
    wait: float = typer.Option(
        None,
        "--wait",
        metavar="SECONDS",
        help="With a server: the number of seconds for which to try again while the server is busy or restarting.",
    ),
    comment_file: Path = typer.Option(  # noqa: B008
        None,
        "--comment-file",
        metavar="FILE",
        help="Write the score and the leaderboard to this file as Markdown, or the reason if the submission was "
        "refused.",
    ),
    as_json: bool = _JSON,
) -> None:
    """Submit predictions, or a model, to a leaderboard, which scores them against hidden labels. Repeating the same
    submission is free.
    """
    if comment_file is not None and not comment_file.parent.is_dir():
        raise InvalidParameter(
            f"--comment-file must be in a folder that exists, and the folder {comment_file.parent} does not"
        )
    try:
        with ledgers.analyst_guard(ledger, sample, analyst, patience=wait) as guard:
            submission = guard.submit(
                file, board=board, guess=guess, tolerance=tolerance, name=name, output=output_name, entry=entry, key=key
            )
            if comment_file is not None:
                comment_file.write_text(_comment(submission, guard.leaderboard(submission.details["board"])), "utf-8")
    except HoldfastError as error:
        if comment_file is not None:
            comment_file.write_text(f"### Not scored\n\n{_cell(error)}\n", "utf-8")
        raise
    if as_json:
        output.print_json(submission.to_dict())
    else:
        _show(submission)


def leaderboard(
    ledger: str = _LEDGER,
    dataset: str = _DATASET,
    board: str = _BOARD,
    every: bool = typer.Option(
        False, "--every", help="Show every submission instead of only the best one of each analyst."
    ),
    as_json: bool = _JSON,
) -> None:
    """Show a leaderboard. Two submissions whose intervals overlap count as tied."""
    with stewarded(ledger, dataset) as guard:
        places = guard.leaderboard(board, every=every)
    if as_json:
        output.print_json(places.to_dict())
        return
    many = "1 submission" if places.submissions == 1 else f"{places.submissions:,} submissions"
    title = f"{places.board.name}: {places.board.metric}, {many}"
    columns = ("rank", "score", "interval", "analyst", "submission", "entry")
    output.table(title, columns, [_row(place) for place in places.places])


def _comment(found: Any, board: Leaderboard) -> str:
    """The score and the board as Markdown, for a comment on a pull request."""
    facts = [f"| {_cell(name)} | {_cell(value)} |" for name, value in _facts(found)]
    lines = [f"### {_cell(board.board.name)}: {_cell(board.board.metric)}", "", "| | |", "|---|---|", *facts, ""]
    lines += ["| rank | score | interval | analyst | submission | |", "|---|---|---|---|---|---|"]
    for place in board.places:
        rank, score, ends, analyst, name, sequence = map(_cell, _row(place))
        mark = "this submission" if sequence == str(found.sequence) else ""
        lines.append(f"| {rank} | {score} | {ends} | {analyst} | {name} | {mark} |")
    many = f"{board.submissions} submission{'' if board.submissions == 1 else 's'}"
    holds = f"Intervals hold together with {board.confidence:.0%} confidence."
    if board.board.rule == "open":
        holds = "Plain scores certify nothing: the final on reserved rows decides."
    return "\n".join([*lines, "", f"{many}. {holds}", ""])


def _cell(value: object) -> str:
    """A text that Markdown and HTML show as it is: names come from other participants."""
    return "".join(f"&#{ord(letter)};" if letter in _MARKED else letter for letter in " ".join(str(value).split()))


def contest(
    ledger: str = _LEDGER,
    dataset: str = _DATASET,
    board: str = _BOARD,
    out: Path = _OUT,
    as_json: bool = _JSON,
) -> None:
    """Show a contest to its host: its state, the budget that is left, warnings, and the results of its finals."""
    with stewarded(ledger, dataset) as guard:
        found = guard.contest(board)
    if out is not None:
        _write(found, out)
    if as_json:
        output.print_json(found.to_dict())
        return
    state = "ended" if found.ended else f"phase {found.phase} of {found.phases}"
    facts: list[tuple[str, object]] = [
        ("phase", state),
        ("rows", f"{found.explored:,} explored, {', '.join(f'{n:,}' for n in found.reserved)} reserved"),
        ("submissions", f"{found.submissions:,} of {found.participants:,} participants"),
        ("without a score", found.without_score),
    ]
    for name, left in (("scores left", found.questions_left), ("failures left", found.failures_left)):
        facts += [] if left is None else [(name, left)]
    facts += [] if found.half_width is None else [("a score is good to", f"±{found.half_width:.3g}")]
    facts += [("warning", warning) for warning in found.warnings]
    output.facts(f"Contest: {found.board.name}", facts)
    for result in found.results:
        columns = ("rank", "score", "true score", "participant", "better than", "shown before")
        output.table(f"Final {result.phase}: {result.summary}", columns, [_place(place) for place in result.places])


def _write(found: Contest, out: Path) -> None:
    if not found.results:
        raise InvalidParameter(
            "--out must be left out before the contest's first final, because there is no result yet"
        )
    result = found.results[-1]
    written = {".json": lambda: to_json(result.to_dict()), ".html": result.to_html}.get(out.suffix.lower())
    if written is None:
        raise InvalidParameter(f"--out must end in .json or .html, got {out.name!r}")
    out.write_text(written(), encoding="utf-8")


def _place(place: ContestPlace) -> tuple[object, ...]:
    value, shown = ("" if number is None else f"{number:.6g}" for number in (place.value, place.shown))
    low, high = place.interval
    return place.rank_text, value, f"[{low:.4g}, {high:.4g}]", place.label, place.better_than, shown


def _show(found: Any) -> None:
    title = f"Scored before, free: {found.details['board']}" if found.repeated else f"Scored: {found.details['board']}"
    output.facts(title, _facts(found))


def _facts(found: Any) -> list[tuple[str, object]]:
    from holdfast.mechanisms.answer import wider_words

    details = found.details
    shown = "not shown" if found.value is None else f"{found.value:.6g}"
    rows: list[tuple[str, object]] = [("answer", found.sentence), (str(details["metric"]), shown)]
    if found.interval is not None:
        rows.append(("interval", f"[{found.interval[0]:.6g}, {found.interval[1]:.6g}]"))
    price = wider_words(found.widening, found.final_widening)
    if price and not found.repeated:
        rows.append(("later intervals", price))
    for who, left in found.remaining.items():
        if isinstance(left, dict) and left:
            rows.append((f"left ({who})", ", ".join(f"{v} {k}" for k, v in left.items())))
    return [*rows, ("guarantee", guarantee_words(found.guarantee, verbose=False)), ("entry", found.sequence)]


def _row(place: Place) -> tuple[object, ...]:
    score = "" if place.value is None else f"{place.value:.6g}"
    ends = "" if place.interval is None else f"[{place.interval[0]:.4g}, {place.interval[1]:.4g}]"
    rank = place.rank_text if place.certified else f"{place.rank_text} (not certified)"
    return rank, score, ends, place.analyst, place.name, place.sequence
