"""`holdfast submit` and `holdfast leaderboard`: having predictions or a model scored, and who is where."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from holdfast.cli import ledgers, output
from holdfast.cli.ledgers import stewarded

if TYPE_CHECKING:
    from holdfast.guard.leaderboard import Place

_LEDGER = typer.Argument(..., help="The ledger: a file or a postgresql:// address; or a server's http(s):// address.")
_SAMPLE = typer.Argument(..., help="The .csv or .parquet file with the rows; with a server, the guard's name.")
_FILE = typer.Argument(
    ..., help="Predictions: .csv, .parquet or .json with the row keys and a column `prediction`; or an .onnx model."
)
_BOARD = typer.Option(None, "--board", help="Which board; may be left out where there is one.")
_DATASET = typer.Option(
    None,
    "--dataset",
    help="Which one, among several: the beginning of its fingerprint; with a server, the guard's name or id.",
)
_JSON = typer.Option(False, "--json", help="Print one JSON object instead of a table.")


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("submit")(submit)
    app.command("leaderboard")(leaderboard)


def submit(
    ledger: str = _LEDGER,
    sample: str = _SAMPLE,
    file: Path = _FILE,
    board: str = _BOARD,
    guess: float = typer.Option(None, "--guess", help="On a board of intervals: the score on rows of your own."),
    tolerance: float = typer.Option(
        None, "--tolerance", help="How near the truth a guess that stands is; twice the half-width if not given."
    ),
    name: str = typer.Option("", "--name", help="What the leaderboard calls it."),
    output_name: str = typer.Option(None, "--output", help="Of a model: the output that is the prediction."),
    entry: int = typer.Option(None, "--entry", help="Of a model: which entry of it, where it has several a row."),
    analyst: str = typer.Option(None, "--analyst", help="With a ledger: who submits; analyst by default."),
    key: str = typer.Option(None, "--key", help="Makes a retry the same submission: scored and paid once."),
    as_json: bool = _JSON,
) -> None:
    """Have predictions, or a model, scored against hidden labels. The same submission again is free."""
    with ledgers.analyst_guard(ledger, sample, analyst) as guard:
        found = guard.submit(
            file, board=board, guess=guess, tolerance=tolerance, name=name, output=output_name, entry=entry, key=key
        )
    if as_json:
        output.print_json(found.to_dict())
    else:
        _show(found)


def leaderboard(
    ledger: str = _LEDGER,
    dataset: str = _DATASET,
    board: str = _BOARD,
    every: bool = typer.Option(False, "--every", help="Every submission, not the best of each analyst."),
    as_json: bool = _JSON,
) -> None:
    """Show who is where on a board, as far as the intervals tell."""
    with stewarded(ledger, dataset) as guard:
        found = guard.leaderboard(board, every=every)
    if as_json:
        output.print_json(found.to_dict())
        return
    many = "1 submission" if found.submissions == 1 else f"{found.submissions:,} submissions"
    title = f"{found.board.name}: {found.board.metric}, {many}"
    columns = ("rank", "score", "interval", "analyst", "submission", "entry")
    output.table(title, columns, [_row(place) for place in found.places])


def _show(found: Any) -> None:
    from holdfast.guard.answer import submission_words

    details = found.details
    shown = "not shown" if found.value is None else f"{found.value:.6g}"
    rows: list[tuple[str, object]] = [(str(details["metric"]), shown)]
    if found.interval is not None:
        rows.append(("interval", f"[{found.interval[0]:.6g}, {found.interval[1]:.6g}]"))
    words = submission_words(details)
    if words:
        rows.append(("ladder" if "improved" in details else "model", words))
    else:
        rows.append(("guess", "stood" if found.passed else "corrected"))
    for who, left in found.remaining.items():
        if isinstance(left, dict) and left:
            rows.append((f"left ({who})", ", ".join(f"{v} {k}" for k, v in left.items())))
    rows += [("rests on", str(found.guarantee)), ("entry", found.sequence)]
    output.facts(f"Scored before, free: {details['board']}" if found.repeated else f"Scored: {details['board']}", rows)


def _row(place: Place) -> tuple[object, ...]:
    score = "" if place.value is None else f"{place.value:.6g}"
    ends = "" if place.interval is None else f"[{place.interval[0]:.4g}, {place.interval[1]:.4g}]"
    rank = place.rank_text if place.certified else f"{place.rank_text} (not certified)"
    return rank, score, ends, place.analyst, place.name, place.sequence
