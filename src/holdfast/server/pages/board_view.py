"""A leaderboard as a page shows it: one reading of the ledger, places on one scale, and every submission in order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from holdfast.guard.leaderboard import Leaderboard, Place, Scores
from holdfast.guard.ledger.ledger import Ledger
from holdfast.server.roles import Caller

METRICS: dict[str, tuple[str, str]] = {
    "accuracy": ("Accuracy", "the share of rows whose prediction is the label"),
    "log-loss": ("Log-loss", "the mean of −ln of the probability given to what happened, clipped"),
    "brier": ("Brier score", "the mean squared error of a probability"),
    "mae": ("Mean absolute error", "how far predictions are from labels, both clipped"),
    "auc": ("AUC", "how often a row with the label is ranked above one without it"),
    "f1": ("F1", "the harmonic mean of precision and recall"),
}
"""What each metric is called, and what it is."""

_PLACES, _STRIP = 100, 60


@dataclass(frozen=True)
class Row:
    """A place, with the score that its analyst claimed where the reader may know it."""

    place: Place
    rank: str
    tied: str
    claimed: float | None
    mine: bool


def view(scores: Scores, ledger: Ledger, board: str, caller: Caller) -> dict[str, Any]:
    """What the page needs: rows best first, the scale they are drawn on, and the latest submissions, oldest first.

    Everybody who reaches the guard sees every place. Claims are shown to those who made them and to stewards.
    """
    found = scores.leaderboard(board, most=_PLACES)
    best = found.places
    latest = [place for place in scores.submissions(board) if caller.sees(place.analyst)][-_STRIP:]
    claims = _claims(ledger, {place.sequence for place in (*best, *latest) if caller.sees(place.analyst)})
    rows = [_row(place, best, claims.get(place.sequence), caller) for place in best]
    scale = _scale(found, [*best, *latest], claims)
    return {
        "found": found,
        "rows": rows,
        "scale": scale,
        "latest": [(place, claims.get(place.sequence)) for place in reversed(latest)],
        "points": [_point(place, claims.get(place.sequence), scale) for place in latest],
        "summary": summary(rows),
    }


def summary(rows: Sequence[Row]) -> str:
    """One sentence about a board for whoever has no time."""
    if not rows:
        return "Nobody is on it yet."
    first, others = rows[0].place, [one.place for one in rows[1:] if one.place.rank and one.place.rank[0] == 1]
    if len(rows) == 1:
        return f"{first.analyst} is alone on it."
    if not others:
        return f"{first.analyst} leads, and no other interval reaches as far."
    names = [place.analyst for place in others]
    listed = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
    return f"{first.analyst} and {listed} cannot be told apart: their intervals overlap."


def _claims(ledger: Ledger, sequences: set[int]) -> dict[int, float]:
    found = {}
    for sequence in sorted(sequences):
        for entry in ledger.entries(sequence, sequence):
            guess = entry.body["question"].get("guess")
            if guess is not None:
                found[sequence] = float(guess)
    return found


def _row(place: Place, best: Sequence[Place], claimed: float | None, caller: Caller) -> Row:
    known = {one.sequence: one.analyst for one in best}
    tied = [known[sequence] for sequence in place.tied if sequence in known]
    words = "" if not tied else f"may swap with {', '.join(tied[:3])}" + (" and others" if len(tied) > 3 else "")
    return Row(place, place.rank_text, words, claimed, place.analyst == caller.name)


def _scale(found: Leaderboard, places: Sequence[Place], claims: Mapping[int, float]) -> tuple[float, float]:
    """The part of the metric's range that has something on it."""
    low, high = found.board.range
    ends = [end for place in places if place.interval is not None and place.value is not None for end in place.interval]
    ends += list(claims.values())
    if not ends:
        return low, high
    step = _round_step(max(max(ends) - min(ends), 0.02 * (high - low)) / 10)
    first, last = math.floor(min(ends) / step - 0.3) * step, math.ceil(max(ends) / step + 0.3) * step
    return max(low, round(first, 12)), min(high, round(last, 12))


def _round_step(rough: float) -> float:
    """The next larger of 1, 2 and 5 times a power of ten.

    Examples
    --------
    >>> _round_step(0.11), _round_step(0.03)
    (0.2, 0.05)
    """
    unit = 10.0 ** math.floor(math.log10(rough))
    return next(unit * one for one in (1, 2, 5, 10) if unit * one >= rough)


def _point(place: Place, claimed: float | None, scale: tuple[float, float]) -> dict[str, Any]:
    """A submission as `pictures.strip` draws it."""
    low, high = scale
    good = place.improved if place.improved is not None else place.confirmed
    point: dict[str, Any] = {"kind": "passed" if good else "failed", "low": None, "high": None, "guess": None}
    if place.interval is not None and place.value is not None and high > low:
        point |= {name: _share(end, low, high) for name, end in zip(("low", "high"), place.interval, strict=True)}
        if claimed is not None:
            point["guess"] = _share(claimed, low, high)
    return point


def _share(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))


__all__ = ["METRICS", "Row", "summary", "view"]
