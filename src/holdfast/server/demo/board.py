"""The demo's leaderboard: who of the shop's customers will leave? Both analysts know everything about them but that.

Ann fits her rule on last year's customers and says what it scored there. Greg lets hints vote, adds more of them for as
long as his own 60 rows look better, and claims what he saw on those.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.server.demo.analysts import ann_saw, believed, greg_saw, ranked, turned
from holdfast.server.demo.sample import ROW_KEY, Row

NAME = "who will leave"
BOARD: dict[str, Any] = {"name": NAME, "key": ROW_KEY, "label": "gone", "metric": "accuracy"}
"""As the demo's policy declares it."""

VOTES = (1, 3, 5, 9, 13, 19)
"""How many hints vote in each of Greg's submissions."""


@dataclass(frozen=True)
class Submission:
    """What somebody submits, and the score that they claim for it."""

    analyst: str
    name: str
    claimed: float
    predictions: Mapping[int, bool] = field(repr=False)


def submissions(customers: Sequence[Row]) -> Iterator[Submission]:
    """Ann's two and Greg's, for these customers."""
    rules: tuple[tuple[str, Callable[[Row], bool]], ...] = (
        ("nobody leaves", lambda row: False),
        ("new and calling often", lambda row: row["months"] < 6 and row["calls"] > 3),
    )
    before = ann_saw()
    for name, rule in rules:
        right = sum(rule(row) == row["gone"] for row in before) / len(before)
        yield Submission("ann", name, round(right, 3), {row[ROW_KEY]: rule(row) for row in customers})
    few = greg_saw()
    order = ranked(few)
    for many in VOTES:
        hints = turned(few, order[:many])
        said = {row[ROW_KEY]: 2 * sum(row[hint] == int(yes) for hint, yes in hints) > many for row in customers}
        name = f"the hint {order[0]}" if many == 1 else f"a vote of {many} hints"
        yield Submission("greg", name, round(believed(few, order[:many]), 3), said)


__all__ = ["BOARD", "NAME", "VOTES", "Submission", "submissions"]
