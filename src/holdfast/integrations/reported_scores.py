"""Who holds the budget of a benchmark: a reusable holdout of this process, or a guard, here or on a server."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from holdfast.core import arguments
from holdfast.core.copying import SharedOnCopy
from holdfast.core.extras import named_extras
from holdfast.core.strict_json import to_canonical_json
from holdfast.data.values import with_gaps
from holdfast.errors import BudgetExhausted, HoldfastError, InvalidParameter
from holdfast.holdout import ReusableHoldout

if TYPE_CHECKING:
    from holdfast.guard.analyst import AnalystGuard


# --- Score keepers ----------------------------------------------------------------------------------------------------

FIRST_GUESS = 0.5
"""What a holdout checks a score against before anything was shown, where no guess is given."""
TRUSTED = (
    "items drawn independently; how right each answer was as the harness says; models chosen by reported scores alone"
)
"""What intervals depend on where a guard has no labels of its own."""
CHECKED, LADDER = "checked", "ladder"
"""The boards of a benchmark that a guard keeps: scores that come with a guess, and scores that do not."""
_ITEM, _RIGHT = "item", "right"


@dataclass(frozen=True)
class ReportedScore:
    """What an evaluation harness may show of a score: numbers for its table and words for its log.

    Attributes
    ----------
    value : float
        The guess if it was confirmed, the corrected value if not; NaN where nothing was shown.
    low, high : float
        The interval. All intervals of one budget hold at once, with its confidence.
    confirmed : bool or None
        Whether the guess was confirmed; None where there was none.
    improved : bool or None
        Where there was no guess, on a ladder: whether the best score so far was beaten, and on a repeat whether nothing
        has beaten it since. If not, only `high` is shown.
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
        """Return what may be shown of an answer of a holdout, a guard or a server.

        Set `falling` if the answer is about one minus the score. Set `trusted` if the guard accepts the harness's
        values without checking them.
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
        """Return a report without a number, with the reason why there is none.

        `left` is 0 if the budget is used up, and NaN for any other reason, because then it is not known here.

        Examples
        --------
        >>> ReportedScore.refusal(BudgetExhausted("all 500 questions were asked")).left
        0.0
        """
        left = 0.0 if isinstance(error, BudgetExhausted) else math.nan
        return cls(math.nan, left=left, refused=f"{type(error).__name__}: {error}")

    def numbers(self, name: str) -> dict[str, float]:
        """Return the numbers for a table, under `name` and names that begin with it."""
        numbers = {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}
        for part, truth in (("confirmed", self.confirmed), ("improved", self.improved)):
            if truth is not None:
                numbers[f"{name}_{part}"] = float(truth)
        if math.isfinite(self.left):
            numbers[f"{name}_left"] = self.left
        return numbers

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON. Numbers that do not exist are None."""
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
        """Return what is promised, in plain public data."""


class HoldoutKeeper(Keeper):
    """A `ReusableHoldout` of this process."""

    def __init__(self, holdout: ReusableHoldout, tolerance: float | None) -> None:
        self.n, self._holdout, self._tolerance = holdout.n, holdout, tolerance

    def ask(self, ids: Sequence[str], values: Any, guess: float | None) -> ReportedScore:
        """`ReusableHoldout.check`, under a key that says what was asked; the best value so far is the guess if none is.

        A guess may be any function of what was shown before, so that is one.
        """
        if not np.isfinite(values).all():  # refused, and charged: that depends on the items
            return self._read(self._holdout.check(values, FIRST_GUESS if guess is None else guess, low=0, high=1))
        digest = hashlib.sha256(to_canonical_json([list(ids), values.tolist()]).encode()).hexdigest()
        if guess is None:
            belongs = [(entry["key"] or "").startswith(digest) for entry in self._holdout.state()["transcript"]]
            if any(belongs):
                return self._read(self._holdout.transcript[belongs.index(True)])
            shown = [answer.value for answer in self._holdout.transcript if answer.value is not None]
            guess = max(shown, default=FIRST_GUESS)
        key = f"{digest} {guess!r}"
        return self._read(self._holdout.check(values, guess, self._tolerance, low=0, high=1, key=key))

    def promise(self) -> dict[str, Any]:
        """Return the plan."""
        plan = self._holdout
        return {"n": plan.n, "confidence": plan.confidence, "questions": plan.questions, "failures": plan.failures}

    def _read(self, answer: Any) -> ReportedScore:
        return ReportedScore.of(answer, answer.remaining["questions"])


class GuardKeeper(Keeper):
    """The guard of one analyst, with a board for scores that come with a guess and a ladder for others.

    `boards` names them; either may be missing. `prefix` stands before an item's id to make its row's key.
    """

    def __init__(
        self,
        guard: AnalystGuard,
        boards: Sequence[str],
        *,
        tolerance: float | None,
        answers: bool,
        prefix: str,
    ) -> None:
        facts = guard.describe()
        self.n, self.answers = int(facts["n"]), answers
        self._guard, self._tolerance, self._prefix = guard, tolerance, prefix
        self._boards = {}
        self._policy = guard.policy
        for name in boards:
            board = self._policy.board(name)
            if not answers and board.metric not in ("accuracy", "mae"):
                raise InvalidParameter(
                    f"board must be accuracy or mae if the values say how correct each answer is, got {name!r}"
                )
            self._boards[board.rule] = board

    def ask(self, ids: Sequence[str], values: Any, guess: float | None) -> ReportedScore:
        """A `score` question: the guess is checked on the board of intervals, and without one the ladder is climbed."""
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
        keys = [self._prefix + item for item in ids]
        sent = {"keys": keys, "predictions": self._predictions(values, board.metric)}
        tolerance = None if guess is None else self._tolerance
        answer = self._guard.submit(sent, board=board.name, guess=guess, tolerance=tolerance)
        return ReportedScore.of(answer, _left(answer.remaining), falling=falling, trusted=not self.answers)

    def _predictions(self, values: Any, metric: str) -> list[Any]:
        if self.answers:
            return list(values.tolist())
        if metric == "mae":  # an item without a value counts as wrong: an error about it would depend on the items
            return list(np.where((values >= 0) & (values <= 1), values, 0.0).tolist())
        return [value == 1 for value in values.tolist()]

    def promise(self) -> dict[str, Any]:
        """Return the policy, as far as it is about scores, and which rows they are about."""
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
    return {_ITEM: [f"{prefix}{item}" for item in ids], _RIGHT: [1.0 if graded else True for _ in ids]}


def boards(*, graded: bool = False, step: float | None = None) -> list[Any]:
    """Return the boards for an answer sheet: "checked" for scores that come with a guess, "ladder" for others.

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
    questions = remaining.get("yours", {}).get("questions")
    return None if questions is None else float(questions)


# --- Reported scores --------------------------------------------------------------------------------------------------
# Scores that an evaluation harness reports: one value an item of a benchmark, told on only through a guard.
#
# The items of a benchmark are the hidden sample. Whoever picks models by their plain score on it fits the items; so a
# harness hands the per-item values over here and shows what comes back. The three harness modules next to this one are
# thin over `GuardedScores`.


class GuardedScores(SharedOnCopy):
    """The scores of models on one benchmark. Each score is checked before it is shown.

    `report` takes one value in [0, 1] for each item, by the id of the item, and a guess of the score that did not come
    from the benchmark, such as the score on a development split. If the guess is confirmed, the guess is reported. If
    not, a corrected value is reported. So thousands of models can be compared on the same items. With the confidence of
    the holdout or guard, every reported interval contains the score on the population from which the items were drawn,
    as long as models were chosen by reported numbers alone.

    Parameters
    ----------
    keeper : ReusableHoldout or AnalystGuard
        Who holds the budget: a plan in this process, or a guard with boards. `guard.for_analyst("ann")` gives it for a
        guard of this process, `hf.connect` for one on a server. `open` makes a guard on a ledger.
    board : str or sequence of str
        For a guard, its boards: one of intervals, a ladder, or both.
    guess : float, optional
        For reports that bring none of their own. Without any, a holdout is asked about the best score shown so far, at
        first one half: only what is clearly better or worse costs. A guard's ladder shows improvements only.
    tolerance : float, optional
        What a confirmation certifies; by default the keeper's choice.
    answers : bool
        For a guard that has the labels: values are a model's answers, which it compares with them. By default values
        say how right the answers were, and the guard trusts the harness.
    ids : iterable, optional
        The ids of all items; a report with others is then refused from the first one on. To a guard an id that none of
        its rows has is nothing, and an item without a value is wrong.
    prefix : str
        For a guard: what stands before an item's id in its row's key.

    Examples
    --------
    >>> scores = GuardedScores(ReusableHoldout(n=1000, questions=200))
    >>> right = {f"item {i}": i % 4 > 0 for i in range(1000)}
    >>> score = scores.report(right.keys(), right.values(), guess=0.76)
    >>> score.value, score.confirmed, round(score.high - score.value, 3)
    (0.76, True, 0.156)
    >>> scores.report(right.keys(), right.values(), guess=0.76).left == score.left    # the same again is free
    True
    """

    _not_copied = (
        "guarded scores are not pickled: a copy in another process would spend the same budget twice; "
        "GuardedScores.open the same ledger there"
    )

    def __init__(
        self,
        keeper: ReusableHoldout | AnalystGuard,
        *,
        board: str | Sequence[str] = (CHECKED, LADDER),
        guess: float | None = None,
        tolerance: float | None = None,
        answers: bool = False,
        ids: Iterable[object] | None = None,
        prefix: str = "",
    ) -> None:
        tolerance = None if tolerance is None else arguments.real("tolerance", tolerance, above=0)
        if isinstance(keeper, ReusableHoldout):
            if answers or prefix:
                raise InvalidParameter(
                    "answers and prefix must be left out with a holdout, because they are for the rows of a guard"
                )
            self._keeper: Keeper = HoldoutKeeper(keeper, tolerance)
        elif hasattr(type(keeper), "submit"):
            named = [board] if isinstance(board, str) else list(board)
            self._keeper = GuardKeeper(keeper, named, tolerance=tolerance, answers=answers, prefix=prefix)
        else:
            raise InvalidParameter(
                "keeper must be a ReusableHoldout or the guard of one analyst, which `guard.for_analyst(name)` and "
                f"`hf.connect` give, got a {type(keeper).__name__}"
            )
        self._guess = None if guess is None else arguments.real("guess", guess, at_least=0, at_most=1)
        self._ids = None if ids is None else tuple(sorted(_names(ids)))
        if self._ids is not None and len(self._ids) != self.n:
            raise InvalidParameter(f"ids must name all {self.n} items, got {len(self._ids)}")

    @classmethod
    @named_extras()
    def open(
        cls,
        ledger: str | Path | None,
        benchmark: str,
        ids: Iterable[object],
        *,
        questions: int | None = None,
        failures: int | None = None,
        confidence: float = 0.95,
        graded: bool = False,
        step: float | None = None,
        guess: float | None = None,
        tolerance: float | None = None,
        analyst: str = "analyst",
    ) -> Self:
        """Return scores whose budget is in a ledger, which all processes and users share. If there is no ledger yet,
        it is begun.

        The guard's data are the list of items, each with the label "right": the guard trusts the harness about which
        answers were right. Everything else works as for any guard: answers are stored, there are receipts, and
        `holdfast verify` checks the ledger.

        Parameters
        ----------
        ledger : str, path or None
            A SQLite file, a `postgresql://` address, or None for memory.
        benchmark : str
            Its name, which tells its items from those of another in the same ledger.
        ids : iterable
            The ids of all items, as the harness will report them.
        questions, failures, confidence
            The budget, as in `Policy`; fixed when the ledger is begun.
        graded : bool
            Values are numbers in [0, 1]; by default 0 or 1.
        step : float, optional
            Scores without a guess are rounded to steps of this length, and shown if, so rounded, they beat the best so
            far; by default 0.01.
        guess, tolerance
            As in the constructor.
        analyst : str
            Who asks.

        Examples
        --------
        >>> scores = GuardedScores.open(None, "sums", range(1000), questions=200)
        >>> score = scores.report(range(1000), [i % 4 > 0 for i in range(1000)])     # no guess: the ladder
        >>> score.value, score.improved
        (0.745, True)
        >>> scores.report(range(1000), [i % 4 > 1 for i in range(1000)]).improved
        False
        """
        from holdfast.data.tables import table
        from holdfast.guard.guard import Guard
        from holdfast.guard.policy import Policy

        if not isinstance(benchmark, str) or not benchmark or not benchmark.isprintable():
            raise InvalidParameter("benchmark must be a name of printable characters")
        names, prefix = _names(ids), f"{benchmark}/"
        policy = Policy(
            confidence=confidence,
            questions=questions,
            failures=failures,
            kinds=("score",),
            boards=tuple(boards(graded=graded, step=step)),
        )
        sample = table(answer_sheet(names, prefix, graded=graded), engine="numpy", row_key="item")
        guard = Guard.open(ledger, sample, policy).for_analyst(analyst)
        return cls(guard, guess=guess, tolerance=tolerance, ids=names, prefix=prefix)

    @property
    def n(self) -> int:
        """The number of items of the benchmark."""
        return self._keeper.n

    @property
    def answers(self) -> bool:
        """Whether the values that `report` takes are a model's answers, and not numbers that say how right the
        answers were.
        """
        return self._keeper.answers

    def promise(self) -> dict[str, Any]:
        """Return what is guaranteed, as plain public data for the log of a harness."""
        return self._keeper.promise()

    def report(self, ids: Iterable[object], values: Iterable[Any], guess: float | None = None) -> ReportedScore:
        """Check a model's score, and return what may be shown of it.

        Parameters
        ----------
        ids : iterable
            The items' ids, each once, as text or as what `str` makes of them; their order is free. Where they were not
            given before, the first report fixes which they are.
        values : iterable
            One number in [0, 1] an item: 1 or True for right. Or an answer an item, where the guard has the labels.
        guess : float, optional
            A guess of the score that did not come from these items.

        Returns
        -------
        ReportedScore
            What was said before where this was reported before, free of cost. Where the keeper refuses or cannot be
            reached the value is NaN and `refused` says why: an evaluation that took hours is not lost.

        Raises
        ------
        InvalidParameter
            Other ids than before, or a wrong number of them. Nothing is spent.
        ValuesRefused
            Some values are missing or outside [0, 1], and a `ReusableHoldout` keeps the budget. This depends on the
            items, so it is charged. To a guard, whose questions do not fail, such an item is wrong, and so is one with
            another value than 1 where items are right or wrong.
        """
        guess = self._guess if guess is None else arguments.real("guess", guess, at_least=0, at_most=1)
        names, numbers = self._matched(_names(ids), list(values))
        try:
            return self._keeper.ask(names, numbers, guess)
        except InvalidParameter:
            raise
        except HoldfastError as error:
            return ReportedScore.refusal(error)

    def _matched(self, names: list[str], values: list[Any]) -> tuple[list[str], Any]:
        """Ids in order with their values; checked, and the same ids as before."""
        if len(names) != self.n or len(values) != self.n:
            raise InvalidParameter(
                f"ids and values must have one entry for each of {self.n} items, because a score is checked on the "
                f"whole benchmark, got {len(names)} and {len(values)}"
            )
        if self.answers:
            matched = np.empty(self.n, dtype=object)
            matched[:] = values
        else:
            matched = with_gaps(values, "values")
        order = sorted(range(self.n), key=names.__getitem__)
        names = [names[place] for place in order]
        if self._ids is None:
            self._ids = tuple(names)
        elif self._ids != tuple(names):
            raise InvalidParameter("ids must be those of the benchmark, because a budget is for one set of items")
        return names, matched[order]

    def _repr_params_(self) -> dict[str, Any]:
        """What Inspect writes into a log in place of the object."""
        return self.promise()

    def __repr__(self) -> str:
        return f"GuardedScores(n={self.n})"


def _names(ids: Iterable[object]) -> list[str]:
    names = [str(name) for name in ids]
    if len(names) != len(set(names)):
        raise InvalidParameter("ids must name each item once, but some occur twice")
    return names


__all__ = [
    "GuardedScores",
    "ReportedScore",
]
