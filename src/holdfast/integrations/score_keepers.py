"""Who holds the budget of a benchmark: a reusable holdout of this process, or a guard, here or on a server."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from holdfast.data.values import summarise
from holdfast.errors import BudgetExhausted, HoldfastError, InvalidParameter
from holdfast.holdout import ReusableHoldout
from holdfast.strict_json import to_canonical_json

FIRST_GUESS = 0.5
"""What a holdout checks a score against before anything was shown, where no guess is given."""
TRUSTED = (
    "items drawn independently; how right each answer was as the harness says; models chosen by reported scores alone"
)
"""What intervals rest on where a guard has no labels of its own."""
CHECKED, LADDER = "checked", "ladder"
"""The boards of a benchmark that a guard keeps: scores that come with a guess, and scores that do not."""
_ITEM, _RIGHT = "item", "right"


@dataclass(frozen=True)
class ReportedScore:
    """What a harness may show of a score: numbers for its table, words for its log.

    Attributes
    ----------
    value : float
        The guess if it was confirmed, the corrected value if not; NaN where nothing was shown.
    low, high : float
        The interval. All intervals of one budget hold at once, with its confidence.
    confirmed : bool or None
        Whether the guess was confirmed; None where there was none.
    improved : bool or None
        Where there was no guess, on a ladder: whether the best score so far was beaten. If not, only `high` is shown.
    left : float
        Questions that may still be asked; infinite without a cap, NaN where it is not known.
    guarantee : mapping
        The theorem, its parameters and the assumption.
    refused : str
        Why there is no number, where the keeper refused.
    entry : int or None
        The ledger's entry, where there is a ledger.

    Examples
    --------
    >>> ReportedScore(0.8, 0.77, 0.83, confirmed=True, left=99).numbers("accuracy")
    {'accuracy': 0.8, 'accuracy_low': 0.77, 'accuracy_high': 0.83, 'accuracy_confirmed': 1.0, 'accuracy_left': 99}
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    confirmed: bool | None = None
    improved: bool | None = None
    left: float = math.inf
    guarantee: Mapping[str, Any] = field(default_factory=dict)
    refused: str = ""
    entry: int | None = None

    @classmethod
    def of(cls, answer: Any, left: float | None, *, falling: bool = False, trusted: bool = False) -> Self:
        """Read an answer of a holdout, a guard or a server.

        `falling` where it is about what is missing to 1; `trusted` where a guard takes the harness's word for values.
        """
        value, ends = answer.value, answer.interval or (math.nan, math.nan)
        if falling:
            value, ends = None if value is None else 1 - value, (1 - ends[1], 1 - ends[0])
        improved = getattr(answer, "details", {}).get("improved")  # None but on a ladder
        guarantee = answer.guarantee.to_dict()
        return cls(
            math.nan if value is None else float(value),
            float(ends[0]),
            float(ends[1]),
            answer.passed if improved is None else None,
            improved,
            math.inf if left is None else left,
            guarantee | {"assumption": TRUSTED} if trusted else guarantee,
            "",
            getattr(answer, "sequence", None),
        )

    @classmethod
    def refusal(cls, error: HoldfastError) -> Self:
        """No number, and why; nothing is left where the budget is used up, and else it is not known here.

        Examples
        --------
        >>> ReportedScore.refusal(BudgetExhausted("all 500 questions were asked")).left
        0.0
        """
        left = 0.0 if isinstance(error, BudgetExhausted) else math.nan
        return cls(math.nan, left=left, refused=f"{type(error).__name__}: {error}")

    def numbers(self, name: str) -> dict[str, float]:
        """What fits into a table of numbers, under `name` and names made of it."""
        found = {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}
        for part, truth in (("confirmed", self.confirmed), ("improved", self.improved)):
            if truth is not None:
                found[f"{name}_{part}"] = float(truth)
        if math.isfinite(self.left):
            found[f"{name}_left"] = self.left
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: numbers that are none are None."""
        numbers = {name: getattr(self, name) for name in ("value", "low", "high", "left")}
        return {name: number if math.isfinite(number) else None for name, number in numbers.items()} | {
            "confirmed": self.confirmed,
            "improved": self.improved,
            "guarantee": dict(self.guarantee),
            "refused": self.refused,
            "entry": self.entry,
        }


class Keeper(ABC):
    """Who holds the budget of a benchmark of `n` items and answers for it."""

    n: int
    answers: bool = False
    """Whether it takes a model's answers, which it compares with labels of its own, or how right they were."""

    @abstractmethod
    def ask(self, ids: Sequence[str], values: Any, guess: float | None) -> ReportedScore:
        """Check the score of one value an item; ids are in order and each is there once."""

    @abstractmethod
    def promise(self) -> dict[str, Any]:
        """What is promised, in plain public data."""


class HoldoutKeeper(Keeper):
    """A `ReusableHoldout` of this process."""

    def __init__(self, holdout: ReusableHoldout, tolerance: float | None) -> None:
        self.n, self._holdout, self._tolerance = holdout.n, holdout, tolerance

    def ask(self, ids: Sequence[str], values: Any, guess: float | None) -> ReportedScore:
        """`ReusableHoldout.check`, under a key that says what was asked; the best value so far is the guess if none is.

        A guess may be any function of what was shown before, so that is one.
        """
        digest = hashlib.sha256(to_canonical_json([list(ids), values.tolist()]).encode()).hexdigest()
        if guess is None:
            told = [(entry["key"] or "").startswith(digest) for entry in self._holdout.state()["transcript"]]
            if any(told):
                return self._read(self._holdout.transcript[told.index(True)])
            shown = [one.value for one in self._holdout.transcript if one.value is not None]
            guess = max(shown, default=FIRST_GUESS)
        key = f"{digest} {guess!r}"
        return self._read(self._holdout.check(values, guess, self._tolerance, low=0, high=1, key=key))

    def promise(self) -> dict[str, Any]:
        """The plan."""
        plan = self._holdout
        return {"n": plan.n, "confidence": plan.confidence, "questions": plan.questions, "failures": plan.failures}

    def _read(self, answer: Any) -> ReportedScore:
        return ReportedScore.of(answer, answer.remaining["questions"])


class GuardKeeper(Keeper):
    """A guard, here or on a server, with a board for scores that come with a guess and a ladder for others.

    `boards` names them; either may be missing. `prefix` stands before an item's id to make its row's key.
    """

    def __init__(
        self,
        guard: Any,
        boards: Sequence[str],
        *,
        analyst: str | None,
        tolerance: float | None,
        answers: bool,
        prefix: str,
    ) -> None:
        facts = guard.describe()
        self.n, self.answers = int(facts["n"]), answers
        self._guard, self._analyst, self._tolerance, self._prefix = guard, analyst, tolerance, prefix
        self._boards = {}
        self._policy = guard.policy
        for name in boards:
            board = self._policy.board(name)
            if not answers and board.metric not in ("accuracy", "mae"):
                raise InvalidParameter(f"board must be one of accuracy or mae where values say how right, got {name!r}")
            self._boards[board.rule] = board

    def ask(self, ids: Sequence[str], values: Any, guess: float | None) -> ReportedScore:
        """A `score` question: the guess is checked on the board of intervals, and without one the ladder is climbed."""
        from holdfast.guard.guard import Guard
        from holdfast.guard.questions import Score

        rule = "ladder" if guess is None else "intervals"
        if rule not in self._boards:
            raise InvalidParameter(
                "guess must be given: the score on items of your own, which is checked here"
                if guess is None
                else "guess must be left out: this board is a ladder"
            )
        board = self._boards[rule]
        falling = not self.answers and board.metric == "mae"
        if guess is not None and falling:
            guess = 1 - guess
        keys = [self._prefix + one for one in ids]
        sent = {"keys": keys, "predictions": self._predictions(values, board.metric)}
        tolerance = None if guess is None else self._tolerance
        if isinstance(self._guard, Guard):
            who = {} if self._analyst is None else {"analyst": self._analyst}
            answer: Any = self._guard.ask(Score(board.name, sent, guess, tolerance), **who)
        else:  # on a server, which takes predictions by a door of their own
            answer = self._guard.submit(sent, board=board.name, guess=guess, tolerance=tolerance)
        return ReportedScore.of(answer, _left(answer.remaining), falling=falling, trusted=not self.answers)

    def _predictions(self, values: Any, metric: str) -> list[Any]:
        if self.answers or metric == "mae":
            return list(values.tolist())
        summarise(values, n=self.n, binary=True, name="values")
        return [value == 1 for value in values.tolist()]

    def promise(self) -> dict[str, Any]:
        """The policy, as far as it is about scores, and which rows they are about."""
        policy = self._policy
        caps = {"confidence": policy.confidence, "questions": policy.questions, "failures": policy.failures}
        return {"n": self.n, **caps, "dataset": self._guard.dataset}


def answer_sheet(ids: Sequence[object], prefix: str = "", *, graded: bool = False) -> dict[str, list[Any]]:
    """The rows of a benchmark whose harness is trusted to say how right a model was: each item, labelled as right.

    Examples
    --------
    >>> answer_sheet([1, 2], "sums/")
    {'item': ['sums/1', 'sums/2'], 'right': [True, True]}
    """
    return {_ITEM: [f"{prefix}{one}" for one in ids], _RIGHT: [1.0 if graded else True for _ in ids]}


def boards(*, graded: bool = False, step: float | None = None) -> list[Any]:
    """The boards for an answer sheet: "checked" for scores that come with a guess, "ladder" for others.

    Examples
    --------
    >>> [(board.name, board.metric, board.rule) for board in boards()]
    [('checked', 'accuracy', 'intervals'), ('ladder', 'accuracy', 'ladder')]
    """
    from holdfast.guard.scoring.board import Board

    ends = {"metric": "mae", "low": 0.0, "high": 1.0} if graded else {"metric": "accuracy"}
    common: dict[str, Any] = {"key": _ITEM, "label": _RIGHT, **ends}
    return [
        Board(CHECKED, rule="intervals", **common),
        Board(LADDER, rule="ladder", step=step, best="board", **common),
    ]


def _left(remaining: Mapping[str, Any]) -> float | None:
    """Questions that this analyst may still ask."""
    found = remaining.get("yours", {}).get("questions")
    return None if found is None else float(found)


__all__ = [
    "CHECKED",
    "FIRST_GUESS",
    "LADDER",
    "GuardKeeper",
    "HoldoutKeeper",
    "Keeper",
    "ReportedScore",
    "answer_sheet",
    "boards",
]
