"""Predictions scored against hidden labels: a look, on a board that the policy declares.

Two rules decide what is shown (`holdfast.guard.scoring.board`). By "intervals" a guess of the score is checked, as a
`Check` is. By "ladder" a submission that does not beat the best score so far shows nothing else.
"""

from __future__ import annotations

import hashlib
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from holdfast import check
from holdfast.data.sample import CHANGED, Sample
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, QuestionRefused, SampleUnavailable
from holdfast.guard.policy import Policy
from holdfast.guard.questions.base import Bound, Measured, Question, Settled, Situation
from holdfast.guard.scoring import ladder
from holdfast.guard.scoring.making import Making
from holdfast.guard.scoring.metrics import HiddenScore, metric_of
from holdfast.guard.scoring.tally import Tally, tally
from holdfast.strict_json import to_canonical_json

ASSUMPTION = (
    "labels independent given what is known of the rows, whose predictions were fixed without them; labels not looked "
    "at except through this guard"
)
"""What a board's intervals assume. Rows that are independent and identically distributed are a special case."""
_LONGEST_NAME = 100


@dataclass(frozen=True)
class Score(Question):
    """Score predictions on a board.

    Parameters
    ----------
    board : str
        The name of one of the policy's boards.
    predictions : mapping, data frame, or Making
        Keys of rows to predictions; or `{"keys": [...], "predictions": [...]}`; or a frame with the key's column and
        one called `prediction`. A row without a prediction counts as the worst; a key that no row has, as nothing.
        A server takes a model in their place (docs/onnx.md).
    guess : float, optional
        On a board of intervals, and needed there: the score on the analyst's own validation rows.
    tolerance : float, optional
        On a board of intervals: a pass certifies the score within this of the guess.
    name : str
        What the submission is called on the leaderboard. It is not part of what the submission is.

    Examples
    --------
    >>> import holdfast as hf
    >>> rows = {"id": list(range(4000)), "rich": [i % 4 == 0 for i in range(4000)]}
    >>> board = hf.guard.Board("income", key="id", label="rich", metric="accuracy")
    >>> guard = hf.Guard.open(None, hf.data.table(rows), hf.guard.Policy(questions=100, boards=[board]))
    >>> nobody = hf.guard.score("income", {i: False for i in range(4000)}, guess=0.75, name="nobody")
    >>> guard.ask(nobody).passed
    True
    """

    kind: ClassVar[str] = "score"

    board: str
    predictions: Any = field(repr=False, hash=False)
    guess: float | None = None
    tolerance: float | None = None
    name: str = ""

    def bind(self, schema: Schema, n: int, policy: Policy) -> Bound:
        """Check against the schema and the policy's board; the predictions are put in order and hashed."""
        board = policy.board(self.board)
        if not isinstance(self.name, str) or len(self.name) > _LONGEST_NAME or not (self.name + " ").isprintable():
            raise InvalidParameter(f"name must be a printable text of at most {_LONGEST_NAME} characters")
        given = [name for name in ("guess", "tolerance") if getattr(self, name) is not None]
        if board.rule == "ladder":
            if given:
                raise InvalidParameter(f"{given[0]} must be left out: this board is a ladder")
            guess = tolerance = None
        else:
            low, high = board.range
            if self.guess is None:
                raise InvalidParameter("guess must be given: the score on rows of your own, which is checked here")
            guess = check.real("guess", self.guess, at_least=low, at_most=high)
            tolerance = None if self.tolerance is None else check.real("tolerance", self.tolerance, above=0)
        making = self.predictions if isinstance(self.predictions, Making) else None
        if making is not None and not board.models:
            raise QuestionRefused(f"models may not be submitted to the board {board.name!r}; send predictions")
        scored = self.predictions if making is None else making.stand_in(board, schema)
        return Scored(tally(board, schema, scored), n, guess, tolerance, self.name, making)


class Scored(Bound):
    """A submission, ready to be scored."""

    def __init__(
        self,
        counted: Tally,
        n: int,
        guess: float | None,
        tolerance: float | None,
        name: str,
        making: Making | None = None,
    ) -> None:
        board = counted.board
        self.cost = None
        self.statistics = ()
        self.question = {
            "kind": "score",
            "board": board.name,
            "metric": board.metric,
            "rule": board.rule,
            "predictions": counted.given.digest,
            "count": counted.given.count,
            "guess": guess,
            "tolerance": tolerance,
            "name": name,
        }
        self._board, self._tally, self._making = board, counted, making
        self._metric = metric_of(board, n)
        self._guess, self._tolerance = guess, tolerance
        self._analyst = ""

    def by(self, analyst: str) -> Bound:
        """The same predictions of another analyst are another submission: it has a place on the board of its own."""
        mine = copy(self)
        mine.question = {**self.question, "analyst": analyst}
        mine._analyst = analyst
        return mine

    @property
    def digest(self) -> str:
        """The submission's identity, whatever it is called."""
        named = {name: value for name, value in self.question.items() if name != "name"}
        return hashlib.sha256(to_canonical_json(named).encode()).hexdigest()

    def gather(self, sample: Sample) -> Measured:
        """One reading of the key's and the label's column."""
        board, counted = self._board, self._tally
        if self._making is not None:
            counted = tally(board, sample.schema, self._making.make(sample, board))
        sums = sample.fold(
            (board.key, board.label),
            counted.start,
            lambda before, batch: counted.add(before, batch[board.key], batch[board.label]),
        )
        *found, rows = sums.tolist()
        if rows != sample.n:
            raise SampleUnavailable(CHANGED)
        return (tuple(found),)

    def prepare(self, measured: Measured, n: int, source: Any = None) -> HiddenScore:
        """The score of the rows, with an interval at any share. Secret."""
        return self._metric.read(measured[0])

    def settle(self, prepared: HiddenScore, situation: Situation) -> Settled:
        """What the board's rule shows of the score."""
        share = self._metric.share(situation.log_share)
        ended = situation.belief.policy.failures is not None and (
            situation.progress.failed >= situation.belief.policy.failures
        )
        details: dict[str, Any] = {"board": self._board.name, "metric": self._board.metric}
        if self._board.rule == "intervals":
            assert self._guess is not None
            outcome = self._metric.check(prepared, self._guess, self._tolerance, share)
        else:
            rungs = ladder.Rungs.of(self._board)
            name = ladder.account(self._board, self._analyst)
            assert situation.hidden is not None
            before = ladder.place(situation.hidden.transaction, name)
            outcome, place = ladder.climb(rungs, before, self._metric, prepared, share)
            details["improved"] = not outcome.passed
            if not outcome.passed and not ended:
                situation.hidden.transaction.put_account(name, {"place": place})
                details["place"] = place
        guarantee = situation.guarantee(
            "holdout.guess-and-check-share", log_share=round(share, 6), interval=outcome.family
        )
        guarantee = replace(guarantee, assumption=ASSUMPTION)
        if ended and not outcome.passed:  # the failure after the last planned one shows nothing more than that
            return Settled(None, None, guarantee, False, 1, {**details, "ended": True})
        interval = None if outcome.interval is None else list(outcome.interval)
        return Settled(outcome.value, interval, guarantee, outcome.passed, outcome.shown, details)

    def half_width(self, situation: Situation) -> float | None:
        """How far the truth can be from a guess that stands; on a ladder from a score in the middle of the range."""
        share = self._metric.share(situation.log_share)
        if self._guess is None:
            return self._metric.half_width(None, share)
        return self._metric.tolerance(self._guess, self._tolerance, share)

    def least_tolerance(self, situation: Situation) -> float | None:
        """The least tolerance that a guess could pass with; for AUC and F1 with classes of ordinary sizes."""
        if self._guess is None:
            return None
        return self._metric.half_width(self._guess, self._metric.share(situation.log_share))


__all__ = ["ASSUMPTION", "Score", "Scored"]
