"""The leaderboard: a pure function of the ledger's answered submissions. Nothing on it is exact.

All intervals of a guard hold at once with the policy's confidence. So with that confidence every statement here does:
that one submission is better than another where their intervals do not overlap, and the best and worst rank of each.
"""

from __future__ import annotations

import csv
import io
import threading
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from holdfast.guard.ledger.entry import Entry
from holdfast.guard.ledger.ledger import Ledger
from holdfast.guard.scoring.board import Board
from holdfast.guard.state import GuardState

MOST = 1000
"""Places that a leaderboard lists unless more are asked for."""
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class Place:
    """One submission as the leaderboard shows it.

    Attributes
    ----------
    sequence, time, analyst, name
        The ledger's entry, when it was made, by whom, and what they call it.
    value, interval
        The score that is shown and the interval that holds; both None where nothing was shown. On an open board the
        score is the plain one, which has no interval.
    improved : bool or None
        On a ladder: whether it beat the best so far when it was scored; None where a model could not be finished.
    confirmed : bool or None
        On a board of intervals: whether the analyst's guess passed, and `value` is that guess.
    rank : (int, int) or None
        The best and the worst rank that it can have among the ranked, given all intervals; so it is as certain as they
        are, and certified where all of them are.
    tied : tuple of int
        Entries of the ranked that it may be better or worse than: their intervals overlap.
    certified : bool
        False after a steward's override, where another guard has some of the same rows, and where a model could not be
        finished.
    finished : bool
        False where a submitted model could not be evaluated on all rows; it shows nothing then.
    """

    sequence: int
    time: str
    analyst: str
    name: str
    value: float | None
    interval: tuple[float, float] | None
    improved: bool | None
    confirmed: bool | None
    rank: tuple[int, int] | None = None
    tied: tuple[int, ...] = ()
    certified: bool = True
    finished: bool = True

    @property
    def rank_text(self) -> str:
        """The ranks that the submission can have, as a text such as "1–3". Empty if it has no rank.

        Examples
        --------
        >>> from dataclasses import replace
        >>> place = Place(7, "2030-01-01", "ann", "forest", 0.8, (0.7, 0.9), None, True, rank=(1, 3))
        >>> place.rank_text, replace(place, rank=(2, 2)).rank_text, replace(place, rank=None).rank_text
        ('1–3', '2', '')
        """
        return "" if self.rank is None else "–".join(str(one) for one in dict.fromkeys(self.rank))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "sequence": self.sequence,
            "time": self.time,
            "analyst": self.analyst,
            "name": self.name,
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "improved": self.improved,
            "confirmed": self.confirmed,
            "rank": None if self.rank is None else list(self.rank),
            "tied": list(self.tied),
            "certified": self.certified,
            "finished": self.finished,
        }


@dataclass(frozen=True)
class Leaderboard:
    """A leaderboard and its places, the best one first. `submissions` is the number of scored submissions.

    Examples
    --------
    >>> import holdfast as hf
    >>> rows = {"id": list(range(4000)), "rich": [i % 4 == 0 for i in range(4000)]}
    >>> income = hf.guard.Board("income", key="id", label="rich", metric="accuracy")
    >>> guard = hf.Guard.open(None, hf.data.table(rows), hf.guard.Policy(questions=100, boards=[income]))
    >>> _ = guard.ask(hf.guard.score("income", dict.fromkeys(rows["id"], False), 0.75), analyst="ann")
    >>> board = leaderboard(guard.ledger, "income")
    >>> board.submissions, board.places[0].analyst, board.to_dict()["rising"]
    (1, 'ann', True)
    """

    board: Board
    confidence: float
    places: tuple[Place, ...]
    submissions: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "board": self.board.to_dict(),
            "rising": self.board.rising,
            "range": list(self.board.range),
            "confidence": self.confidence,
            "submissions": self.submissions,
            "places": [place.to_dict() for place in self.places],
        }

    def to_csv(self) -> str:
        """Return the leaderboard as CSV text, with one line for each place."""
        head = ("best rank", "worst rank", "participant", "submission", "score", "low", "high", "certified", "time")
        return csv_text(
            head,
            (
                (
                    *(place.rank or (None, None)),
                    place.analyst,
                    place.name,
                    place.value,
                    *(place.interval or (None, None)),
                    place.certified and place.interval is not None,
                    place.time,
                )
                for place in self.places
            ),
        )

    def __str__(self) -> str:
        lines = [f"{self.board.name} ({self.board.metric}, {self.board.rule}), {self.submissions} submissions"]
        for place in self.places:
            if place.value is None:
                continue
            ends = "" if place.interval is None else f" in [{place.interval[0]:.4g}, {place.interval[1]:.4g}]"
            mark = "" if place.certified else "  (not certified)"
            text = f"{place.rank_text:>7}  {place.value:.4g}{ends}  {place.analyst}  {place.name}"
            lines.append(text.rstrip() + mark)
        return "\n".join(lines)


def csv_text(head: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    r"""A table as CSV. Texts that a spreadsheet would take for a formula begin with an apostrophe.

    Examples
    --------
    >>> csv_text(["name", "score"], [["=1+1", 0.5], ["a, b", None]])
    'name,score\r\n\'=1+1,0.5\r\n"a, b",\r\n'
    """
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(head)
    for line in lines:
        cells = (f"'{cell}" if isinstance(cell, str) and cell[:1] in _FORMULAS else cell for cell in line)
        writer.writerow([str(cell).lower() if isinstance(cell, bool) else cell for cell in cells])
    return file.getvalue()


def leaderboard(ledger: Ledger, board: str, *, every: bool = False, most: int = MOST) -> Leaderboard:
    """Read a leaderboard from a ledger. Each analyst has one place, for their submission with the best score that was
    shown (of equal scores, the earliest). With `every=True`, each submission with a shown score has a place.

    One submission is *certainly better* than another if its interval lies entirely on the better side of the other's
    interval. The best rank of a place is one more than the number of places that are certainly better than it. Its
    worst rank is the number of places that it is not certainly better than, itself included. Two places are tied if
    their intervals overlap or touch. Places are listed by best rank, then by worst rank, then by the score that was
    shown, then by the number of their entry.

    Parameters
    ----------
    ledger : Ledger
        `guard.ledger`.
    board : str
        Its name.
    every : bool
        Rank every submission that shows a score, and list those that show none after them.
    most : int
        How many places are listed. Ranks count all of them, ties those that are listed.

    Returns
    -------
    Leaderboard
        Time: one reading of the ledger, and a sort. `Scores` keeps what it read for the next time.

    Examples
    --------
    >>> import holdfast as hf
    >>> rows = {"id": list(range(4000)), "rich": [i % 4 == 0 for i in range(4000)]}
    >>> income = hf.guard.Board("income", key="id", label="rich", metric="accuracy")
    >>> guard = hf.Guard.open(None, hf.data.table(rows), hf.guard.Policy(questions=100, boards=[income]))
    >>> for analyst, says, guess in (("ann", False, 0.75), ("bob", True, 0.25)):
    ...     _ = guard.ask(hf.guard.score("income", dict.fromkeys(range(4000), says), guess), analyst=analyst)
    >>> print(leaderboard(guard.ledger, "income"))
    income (accuracy, intervals), 2 submissions
          1  0.75 in [0.6756, 0.8244]  ann
          2  0.25 in [0.1756, 0.3244]  bob
    """
    return Scores(ledger).leaderboard(board, every=every, most=most)


class Scores:
    """The leaderboards of one ledger, kept in memory. Each call reads only the entries that are new since the call
    before. Several threads may use one object.

    Examples
    --------
    >>> import holdfast as hf
    >>> rows = {"id": list(range(4000)), "rich": [i % 4 == 0 for i in range(4000)]}
    >>> income = hf.guard.Board("income", key="id", label="rich", metric="accuracy")
    >>> guard = hf.Guard.open(None, hf.data.table(rows), hf.guard.Policy(questions=100, boards=[income]))
    >>> _ = guard.ask(hf.guard.score("income", dict.fromkeys(rows["id"], False), 0.75), analyst="ann")
    >>> scores = Scores(guard.ledger)
    >>> [place.analyst for place in scores.submissions("income")], scores.leaderboard("income").submissions
    (['ann'], 1)
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._read = 0
        self._found: dict[str, list[Place]] = {}
        self._mutex = threading.Lock()

    def leaderboard(self, board: str, *, every: bool = False, most: int = MOST) -> Leaderboard:
        """Return the current state of one leaderboard; see the function `leaderboard`."""
        state = self._ledger.look(GuardState.of)
        policy = state.policy
        wanted = policy.board(board)
        rows = [
            replace(place, certified=place.certified and not state.doubt(place.sequence))
            for place in self.submissions(wanted.name)
        ]
        shown = [place for place in rows if place.value is not None]
        placed = shown if every else best_each(shown, wanted.rising)
        ranked = (
            listed_by_score(placed, wanted.rising, most)
            if wanted.rule == "open"
            else ranks(placed, wanted.rising, most)
        )
        rest = [place for place in rows if place.value is None][: most - len(ranked)] if every else []
        return Leaderboard(wanted, policy.confidence, (*ranked, *rest), len(rows))

    def submissions(self, board: str) -> list[Place]:
        """Return all submissions to a leaderboard in the order in which they were made, without ranks."""
        with self._mutex:
            for entry in self._ledger.entries(self._read + 1):
                self._read = entry.sequence
                if entry.kind == "answered" and entry.body["question"].get("kind") == "score":
                    self._found.setdefault(entry.body["question"]["board"], []).append(place_of(entry))
            return list(self._found.get(board, ()))


def ranks(places: Sequence[Place], rising: bool, most: int = MOST) -> tuple[Place, ...]:
    """Return places in order, each with its ranks and ties. The time is that of a sort, plus the square of the number
    of listed places.

    Examples
    --------
    >>> def at(number, low, high):
    ...     return Place(number, "", "", "", (low + high) / 2, (low, high), None, None)
    >>> [(one.sequence, one.rank, one.tied) for one in ranks([at(1, 0.1, 0.3), at(2, 0.2, 0.5), at(3, 0.4, 0.6)], True)]
    [(3, (1, 2), (2,)), (2, (1, 3), (1, 3)), (1, (2, 3), (2,))]
    """
    ends = [_better_side(place, rising) for place in places]  # negated where less is better: more is better now
    lows, highs = sorted(low for low, _ in ends), sorted(high for _, high in ends)
    many = len(places)
    ranked = [
        replace(place, rank=(1 + many - bisect_right(lows, high), many - bisect_left(highs, low)))
        for place, (low, high) in zip(places, ends, strict=True)
    ]
    listed = sorted(ranked, key=lambda one: (one.rank, -_score(one, rising), one.sequence))[:most]
    sides = [(place.sequence, *_better_side(place, rising)) for place in listed]
    return tuple(
        replace(
            place,
            tied=tuple(sorted(other for other, down, up in sides if other != number and down <= high and up >= low)),
        )
        for place, (number, low, high) in zip(listed, sides, strict=True)
    )


def listed_by_score(places: Sequence[Place], rising: bool, most: int = MOST) -> tuple[Place, ...]:
    """Return the places of a leaderboard with the rule open, the best score first. Its plain scores are not certified,
    so no place has a rank.

    Examples
    --------
    >>> def of(number, value):
    ...     return Place(number, "2030-01-01", "ann", "", value, None, None, None, certified=False)
    >>> [one.sequence for one in listed_by_score([of(1, 0.6), of(2, 0.7), of(3, 0.7)], rising=True)]
    [2, 3, 1]
    """
    return tuple(sorted(places, key=lambda one: (-_score(one, rising), one.sequence))[:most])


def _better_side(place: Place, rising: bool) -> tuple[float, float]:
    assert place.interval is not None
    low, high = place.interval
    return (low, high) if rising else (-high, -low)


def _score(place: Place, rising: bool) -> float:
    assert place.value is not None
    return place.value if rising else -place.value


def best_each(places: Iterable[Place], rising: bool) -> list[Place]:
    """Return one submission for each analyst: the one with the best score that was shown. Of equal scores, the earliest
    is taken.

    Examples
    --------
    >>> def of(number, analyst, value):
    ...     return Place(number, "2030-01-01", analyst, "", value, (value - 0.1, value + 0.1), None, True)
    >>> [one.sequence for one in best_each([of(1, "ann", 0.7), of(2, "bob", 0.6), of(3, "ann", 0.8)], rising=True)]
    [3, 2]
    """
    best: dict[str, Place] = {}
    for place in places:
        known = best.get(place.analyst)
        if known is None or _score(place, rising) > _score(known, rising):
            best[place.analyst] = place
    return list(best.values())


def place_of(entry: Entry) -> Place:
    """Return the place of a scored submission, without a rank.

    Examples
    --------
    >>> import holdfast as hf
    >>> rows = {"id": list(range(4000)), "rich": [i % 4 == 0 for i in range(4000)]}
    >>> income = hf.guard.Board("income", key="id", label="rich", metric="accuracy")
    >>> guard = hf.Guard.open(None, hf.data.table(rows), hf.guard.Policy(questions=100, boards=[income]))
    >>> _ = guard.ask(hf.guard.score("income", dict.fromkeys(rows["id"], False), 0.75), analyst="ann")
    >>> [place_of(entry).analyst for entry in guard.ledger.entries(2)]
    ['ann']
    """
    question, answer = entry.body["question"], entry.body["answer"]
    interval, finished = answer["interval"], answer["details"].get("finished", True)
    return Place(
        entry.sequence,
        entry.time,
        entry.analyst or "",
        question["name"],
        answer["value"],
        None if interval is None else (interval[0], interval[1]),
        answer["details"].get("improved"),
        answer["passed"] if question["rule"] == "intervals" and finished else None,
        certified=answer["guarantee"]["certified"],
        finished=finished,
    )


__all__ = ["MOST", "Leaderboard", "Place", "Scores", "best_each", "leaderboard", "listed_by_score", "place_of", "ranks"]
