"""The demo's leaderboard: who of the shop's customers will leave? Both analysts know everything about them but that.

Ann fits her rule on last year's customers and says what it scored there. Greg lets hints vote. Each time he adds the
two that make the vote look best on his own 60 rows, submits, and claims what he saw there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from holdfast.server.demo.analysts import ann_saw, greg_saw
from holdfast.server.demo.sample import HINTS, ROW_KEY, Row

NAME = "who will leave"
BOARD: dict[str, Any] = {"name": NAME, "key": ROW_KEY, "label": "gone", "metric": "accuracy"}
"""As the demo's policy declares it."""

Vote = tuple[str, int]
"""A hint, and what it must be to speak for leaving."""
VOTES = (1, 3, 5, 7, 9, 11)
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
    for votes, seen in climbed(greg_saw()):
        many = len(votes)
        said = {row[ROW_KEY]: 2 * sum(row[hint] == speaks for hint, speaks in votes) > many for row in customers}
        name = f"the hint {votes[0][0]}" if many == 1 else f"a vote of {many} hints"
        yield Submission("greg", name, round(seen, 3), said)


def climbed(few: Sequence[Row]) -> Iterator[tuple[list[Vote], float]]:
    """Greg's votes and how often each is right on his rows: two more hints a time, exchanged while that looks better.

    Examples
    --------
    >>> [round(seen, 2) for _, seen in climbed(greg_saw())]
    [0.7, 0.75, 0.78, 0.78, 0.78, 0.82]
    """
    gone = [bool(row["gone"]) for row in few]
    ballots = {(hint, speaks): [int(row[hint] == speaks) for row in few] for hint in HINTS for speaks in (1, 0)}

    def right(votes: Sequence[Vote]) -> float:
        cast: list[int] = [sum(yes) for yes in zip(*(ballots[one] for one in votes), strict=True)]
        return sum((2 * yes > len(votes)) == truth for yes, truth in zip(cast, gone, strict=True)) / len(few)

    def others(votes: Sequence[Vote]) -> list[Vote]:
        used = {hint for hint, _ in votes}
        return [one for one in ballots if one[0] not in used]

    votes: list[Vote] = []
    for many in VOTES:
        apart = (added for added in combinations(others(votes), many - len(votes)) if len(dict(added)) == len(added))
        votes = max(([*votes, *added] for added in apart), key=right)
        while True:
            changed = [[*votes[:i], one, *votes[i + 1 :]] for i in range(many) for one in others(votes)]
            best = max(changed, key=right)
            if right(best) <= right(votes):
                break
            votes = best
        yield list(votes), right(votes)


__all__ = ["BOARD", "NAME", "VOTES", "Submission", "climbed", "submissions"]
