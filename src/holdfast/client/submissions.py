"""Submissions to a board of a server, and its leaderboard: what is sent, what comes back, how it looks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.client import display
from holdfast.client.answers import RemoteAnswer
from holdfast.client.errors import ReceiptInvalid, odd
from holdfast.errors import InvalidParameter
from holdfast.guard.leaderboard import Leaderboard, Place
from holdfast.guard.scoring.board import Board, chosen
from holdfast.guard.scoring.predictions import Predictions, predictions
from holdfast.strict_json import to_canonical_json, to_json

KINDS = {
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".json": "application/json",
    ".onnx": "application/onnx",
}
"""Files that can be submitted, by what their names end in."""
_OWN = (
    "board",
    "metric",
    "rule",
    "name",
    "analyst",
    "time",
    "predictions",
    "count",
    "guess",
    "tolerance",
    "improved",
    "confirmed",
)
_IDENTITY = ("board", "metric", "rule", "predictions", "count", "guess", "tolerance", "analyst")


@dataclass(frozen=True)
class RemoteSubmission(RemoteAnswer):
    """A `RemoteAnswer` to a submission.

    Attributes
    ----------
    board, metric, rule, name, analyst, time
        Where it was scored and how, what it is called, whose it is, and when.
    predictions, count
        The digest of the predictions or of the model, which the ledger keeps in their place, and how many there were.
    guess, tolerance
        What was checked, on a board of intervals.
    improved : bool or None
        On a ladder: whether it beat the best so far.
    confirmed : bool or None
        On a board of intervals: whether the guess stood.
    """

    board: str = ""
    metric: str = ""
    rule: str = ""
    name: str = ""
    analyst: str = ""
    time: str = ""
    predictions: str = ""
    count: int = 0
    guess: float | None = None
    tolerance: float | None = None
    improved: bool | None = None
    confirmed: bool | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return super().to_dict() | {name: getattr(self, name) for name in _OWN}

    def question_digest(self) -> str:
        """The digest under which the ledger holds the submission, computed from what the server says it was."""
        named = {name: getattr(self, name) for name in _IDENTITY}
        return hashlib.sha256(to_canonical_json({"kind": "score", **named}).encode()).hexdigest()

    def _repr_html_(self) -> str:
        title = f"{self.name or 'Submission'} on {self.board}"
        title += ": scored before, free" if self.repeated else ""
        shown = "nothing" if self.value is None else f"{display.short(self.value)}{display.ends(self.interval)}"
        rows: list[tuple[object, object]] = [(self.metric, shown)]
        if self.confirmed is not None:
            rows.append(("guess", f"{display.short(self.guess)}, " + ("stood" if self.confirmed else "corrected")))
        if self.improved is not None:
            rows.append(("ladder", "beat the best so far" if self.improved else "did not beat the best so far"))
        rows += display.remaining_rows(self.remaining)
        rows += [("rests on", str(self.guarantee)), ("entry", self.sequence)]
        return display.card(title, rows, display.interval_picture(self.value, self.interval))


@dataclass(frozen=True)
class RemoteLeaderboard(Leaderboard):
    """A `Leaderboard` that came over the wire; in a notebook each place has its interval drawn, all to one scale.

    Examples
    --------
    >>> board = Board("income", key="id", label="rich", metric="accuracy")
    >>> print(RemoteLeaderboard(board, 0.95, (), 0))
    income (accuracy, intervals), 0 submissions
    """

    def _repr_html_(self) -> str:
        low, high = self.board.range
        rows = []
        for place in self.places:
            rows.append(
                (
                    display.text(place.rank_text),
                    display.text(place.analyst),
                    display.text(place.name),
                    display.text(display.short(place.value) + display.ends(place.interval)),
                    display.interval_picture(place.value, place.interval, low, high),
                )
            )
        title = f"{self.board.name}: {self.board.metric}, {self.submissions} submissions"
        return display.marked_listing(title, ("rank", "analyst", "submission", "score", ""), rows)


def board_of(facts: Mapping[str, Any], name: str | None) -> Board:
    """The board of a guard that is meant: by its name, or the only one."""
    return chosen([Board.from_dict(one) for one in facts["policy"].get("boards") or ()], name)


def checked(given: Any, keys: Any, board: Board, schema: Mapping[str, Any]) -> Predictions:
    """Predictions in whatever form, checked as the guard checks them, before anything is sent."""
    from holdfast.data.schema import Schema
    from holdfast.guard.scoring.tally import prediction_kind

    columns = Schema.from_dict(schema)
    kind = prediction_kind(board, columns[board.label].kind)
    return predictions(_plain(given, keys, board.key), board.key, columns[board.key].kind, kind)


def _plain(given: Any, keys: Any, key: str) -> Any:
    """A mapping of keys to predictions, or two columns."""
    if keys is not None:
        return {"keys": _column(keys), "predictions": _column(given)}
    if isinstance(given, Mapping):
        return given
    if hasattr(given, "columns"):  # a frame of pandas, polars or their like
        names = [str(name) for name in given.columns]
        if key not in names or "prediction" not in names:
            raise InvalidParameter(f"predictions must have the columns {key!r} and 'prediction'")
        return {"keys": _column(given[key]), "predictions": _column(given["prediction"])}
    if hasattr(given, "index") and hasattr(given, "to_numpy"):  # a series of pandas, whose index are the keys
        return {"keys": _column(given.index), "predictions": _column(given)}
    raise InvalidParameter(
        "predictions must be a mapping of row keys to predictions, a frame, the path of a file, or a list beside keys="
    )


def _column(values: Any) -> Any:
    """A list of plain values, or an array of numbers."""
    found = np.asarray(values.to_numpy()) if hasattr(values, "to_numpy") else values
    if isinstance(found, np.ndarray):
        return found if found.ndim == 1 and found.dtype.kind in "iuf" else found.tolist()
    return list(found)


def body_of(made: Predictions) -> bytes:
    """Predictions as they are sent."""
    return to_json({"keys": made.keys.tolist(), "predictions": made.values.tolist()}).encode()


def file_of(path: str | Path) -> tuple[bytes, str]:
    """A file as it is sent, and its media type."""
    place = Path(path)
    kind = KINDS.get(place.suffix.lower())
    if kind is None:
        raise InvalidParameter(f"the file must end in {', '.join(KINDS)}, got {place.name!r}")
    return place.read_bytes(), kind


def read_submission(plain: Any) -> RemoteSubmission:
    """A submission as the server sent it."""
    try:
        found = RemoteSubmission.stored(plain, plain["sequence"], plain["repeated"], plain["receipt"])
        return replace(found, **{name: plain[name] for name in _OWN})
    except (InvalidParameter, KeyError, TypeError):
        raise odd() from None


def check_submission(found: RemoteSubmission, receipt_question: str | None, sent: Predictions | None) -> None:
    """Refuse an answer to another submission than the one that was sent."""
    if sent is not None and found.predictions != sent.digest:
        raise ReceiptInvalid("the server scored other predictions than those that were sent")
    if receipt_question != found.question_digest():
        raise ReceiptInvalid("the receipt is about another submission")


def read_leaderboard(plain: Any) -> RemoteLeaderboard:
    """A leaderboard as the server sent it."""
    try:
        places = tuple(_place(one) for one in plain["places"])
        board = Board.from_dict(plain["board"])
        return RemoteLeaderboard(board, float(plain["confidence"]), places, int(plain["submissions"]))
    except (InvalidParameter, KeyError, TypeError, ValueError, OverflowError):
        raise odd() from None


def _place(plain: Mapping[str, Any]) -> Place:
    pairs = {name: None if plain[name] is None else tuple(plain[name]) for name in ("interval", "rank")}
    return Place(**{**plain, **pairs, "tied": tuple(plain["tied"])})


__all__ = [
    "KINDS",
    "RemoteLeaderboard",
    "RemoteSubmission",
    "board_of",
    "body_of",
    "check_submission",
    "checked",
    "file_of",
    "read_leaderboard",
    "read_submission",
]
