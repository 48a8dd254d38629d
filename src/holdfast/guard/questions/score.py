"""The kind `score`: predictions scored without noise against hidden labels, on a board that the policy declares.

Three rules decide what is shown (`holdfast.guard.scoring.board`). By "intervals" a guess of the score is checked, as a
`Check` is. By "ladder" the score that a first submission claims is checked too; after it, a submission that does not
beat the best score so far shows nothing else. By "open" the plain score on the explored rows is shown, which is
weighed as what it tells and certifies nothing.

In a contest predictions are kept for the final on reserved rows. Where there is no room to show anything more, a
submission is taken for the final all the same.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from holdfast.core import arguments
from holdfast.core.strict_json import to_canonical_json
from holdfast.data.files import CHANGED
from holdfast.data.fingerprint import Batch
from holdfast.data.sample import Sample
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, QuestionRefused, SampleUnavailable
from holdfast.guard.ledger.transaction import View
from holdfast.guard.questions.base import BoundQuestion, Measured, Question, Settled, Situation
from holdfast.guard.questions.fields import DataInput, NumberInput, TextInput, Tolerance
from holdfast.guard.questions.words import ends, guess_sentence, number
from holdfast.guard.scoring import deadlines_and_quotas, kept, ladder
from holdfast.guard.scoring.board import OF_CLASSES
from holdfast.guard.scoring.grouped import group_values
from holdfast.guard.scoring.metrics import HiddenScore, metric_of
from holdfast.guard.scoring.tally import Making, RowTally, Tally, tally
from holdfast.holdout.error_budget import Message
from holdfast.holdout.transcript import THEOREM, Outcome

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy
    from holdfast.guard.state import Progress

ASSUMPTION = (
    "labels independent given what is known of the rows, whose predictions were fixed without them; labels not looked "
    "at except through this guard"
)
"""What a board's intervals assume. Rows that are independent and identically distributed are a special case."""
ASSUMES_DRAWN = (
    "rows drawn independently from one population, with predictions that were fixed without them; labels not looked at "
    "except through this guard"
)
"""What the intervals of metrics of classes and of R2 assume."""
ASSUMES_GROUPS = (
    "groups of rows independent of each other given what is known of them, with predictions that were fixed without "
    "their labels; labels not looked at except through this guard"
)
"""What boards with groups assume; rows of one group may depend on each other."""
UNFINISHED = "; the model could not be evaluated on all rows, so that there is no score and nothing is certified"
"""What is added to it for a model whose evaluation could not be finished."""
ONE_IN = 1000
"""Of what a failed model could have shown, one part in so many stands for an evaluation that could not be finished."""
NOT_CERTIFIED = "; the plain score on the explored rows, which certifies nothing: the final on reserved rows does"
"""What is added for a score that is shown as it is."""
PLAIN_PLACES = 10_000
"""At how many places a plain score that is no count is shown."""
_LONGEST_NAME = 100


@dataclass(frozen=True)
class Score(Question):
    """Have predictions scored on one of the guard's leaderboards.

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
    title: ClassVar[str] = "Submit predictions"
    purpose: ClassVar[str] = "How well do predictions agree with the hidden labels?"
    place: ClassVar[int] = 19
    needs_board: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {
        "kind": "score",
        "board": "income",
        "predictions": {"keys": [1, 2], "predictions": [0, 1]},
        "guess": 0.8,
    }

    board: Annotated[str, TextInput(label="Board", help="The name of one of the policy's boards.")]
    predictions: Annotated[
        Any,
        DataInput(
            label="Predictions",
            help="The predictions: a mapping from row keys to predictions, or a frame with the row key's column and "
            "a column named prediction. If the board takes models, a model instead. A row without a prediction "
            "counts as the worst possible prediction.",
            offered=False,
        ),
    ] = field(repr=False, hash=False)
    guess: Annotated[
        float | None,
        NumberInput(
            label="Your score",
            help="The score that you expect, from rows of your own. A leaderboard with the rule 'intervals' needs it "
            "unless the leaderboard has a baseline. The first submission to a ladder should have it, because "
            "otherwise a place is shown, which widens later intervals more. An open leaderboard takes no expected "
            "score.",
        ),
    ] = None
    tolerance: Tolerance = None
    name: Annotated[str, TextInput(label="Name", help="What the submission is called on the leaderboard.")] = ""

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the submission against the schema and the policy's leaderboard. The predictions are sorted by their
        keys and hashed.
        """
        board = policy.board(self.board)
        if not isinstance(self.name, str) or len(self.name) > _LONGEST_NAME or not (self.name + " ").isprintable():
            raise InvalidParameter(f"name must be a printable text of at most {_LONGEST_NAME} characters")
        low, high = board.range
        if board.rule == "open" and (self.guess is not None or self.tolerance is not None):
            raise InvalidParameter(
                "guess and tolerance must be left out on a leaderboard with the rule open, which shows the score itself"
            )
        claimed = self.guess
        if claimed is None and board.rule == "intervals":
            claimed = board.baseline
        if claimed is None and (board.rule == "intervals" or self.tolerance is not None):
            raise InvalidParameter(
                "guess must be given: the score that your predictions reach on rows of your own, which the "
                "leaderboard checks"
            )
        guess = None if claimed is None else arguments.real("guess", claimed, at_least=low, at_most=high)
        tolerance = None if self.tolerance is None else arguments.real("tolerance", self.tolerance, above=0)
        making = self.predictions if isinstance(self.predictions, Making) else None
        if making is not None and not board.models:
            raise QuestionRefused(f"the board {board.name!r} does not accept models; submit predictions instead")
        scored = self.predictions if making is None else making.stand_in(board, schema)
        counted = tally(board, schema, scored)
        if making is None:
            _refuse_other_labels(counted, policy)
        keeps = policy.has_contest and making is None
        return Scored(counted, n, guess, tolerance, self.name, making, contest=policy.has_contest, keeps=keeps)

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line with the submission, its leaderboard and the score that was expected of it."""
        claimed = "" if asked["guess"] is None else f", about {number(asked['guess'])}?"
        called = asked["name"] or ("1 prediction" if asked["count"] == 1 else f"{asked['count']:,} predictions")
        return f"{called}: {asked['metric']} on {asked['board']}{claimed}"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence with the result of the submission under the rule of its leaderboard."""
        details, value, interval = answer["details"], answer["value"], answer["interval"]
        if details.get("shown") is False:
            return "It takes part in the final. No score is shown: there is no room left to show one."
        if details.get("finished") is False:
            return f"{whose} model could not be evaluated on all rows. There is no score."
        if answer["passed"] is None and "improved" not in details:  # the rule "open"
            return f"{whose} score on the explored rows is {number(value)}. It is not certified: the final decides."
        claims = "improved" not in details or details.get("first", False)
        claimed = details.get("claimed", asked.get("guess"))
        if claims and (answer["passed"] or interval is None):
            return guess_sentence({**asked, "guess": claimed}, answer, whose, "score")
        if claims:
            return f"{whose} score of {number(claimed)} failed: it is between {ends(interval)}."
        if details.get("beaten"):
            was = f"A new best when it was first submitted: {number(value)}, between {ends(interval)}."
            return f"{was} It was beaten since."
        if details["improved"] and value is None:
            return "A new best, and the last answer: the failures that were planned are used up, so no score is shown."
        if details["improved"]:
            return f"A new best: {number(value)}. The truth is between {ends(interval)}."
        return "Rounded to the board's steps, it does not beat the best so far. Nothing more is shown."

    @classmethod
    def effect_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> str:
        """Return a sentence that says how the score affects later intervals. A ladder has its own; other leaderboards
        are like checks.
        """
        if asked["rule"] == "open" or answer["details"].get("shown") is False:
            return ""
        if asked["rule"] != "ladder" or answer["details"].get("first"):
            return super().effect_words(asked, answer)
        if answer["passed"]:
            return "Only improvements show a score: that is what keeps a ladder honest."
        return "A score that is shown makes later intervals a little wider, for everybody."

    @classmethod
    def axis(cls, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> tuple[float, float]:
        """Return 0 and the largest possible score. If the stored entry does not have the largest score, a round number
        above the interval is used.
        """
        if asked["metric"] not in ("log-loss", "mae"):
            return 0.0, 1.0
        seen = [*(answer["interval"] or ()), answer["value"] or 0.0, asked["guess"] or 0.0, 1e-9]
        return 0.0, float(f"{1.25 * max(seen):.1g}")


def _refuse_other_labels(counted: Tally, policy: Policy) -> None:
    """Refuse predictions of which none is a declared label, such as 1 and 0 for "yes" and "no".

    Which labels there are is public where the board or the policy declares them. Where they do not, such predictions
    are scored: to refuse them would tell which labels the rows have.
    """
    board = counted.board
    if board.metric not in ("accuracy", *OF_CLASSES):
        return
    column = (policy.columns or {}).get(board.label)
    labels = board.classes if board.classes is not None else None if column is None else column.categories
    given = set(counted.given.values.tolist())
    if labels is None or given & set(labels):
        return
    listed, sent = (", ".join(repr(one) for one in sorted(some, key=repr)[:5]) for some in (set(labels), given))
    blank = any(isinstance(one, str) and one.strip() in labels for one in given)
    raise InvalidParameter(
        f"predictions must be labels of the board {board.name!r}, which are {listed}, and no prediction is one of "
        f"these; the predictions are {sent}{' (with blanks around them)' if blank else ''}; nothing was spent"
    )


class Scored(BoundQuestion):
    """A submission, ready to be scored."""

    def __init__(
        self,
        counted: Tally,
        n: int,
        guess: float | None,
        tolerance: float | None,
        name: str,
        making: Making | None = None,
        *,
        contest: bool = False,
        keeps: bool = False,
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
        self._metric = metric_of(board, board.units(n))
        self._guess, self._tolerance = guess, tolerance
        self._analyst = ""
        self._contest, self._kept = contest, kept.pack(counted.given) if keeps else None
        self.counts = board.rule != "open"  # a plain score claims nothing, so it spends nothing

    def by(self, analyst: str) -> BoundQuestion:
        """The same predictions of another analyst are another submission: it has a place on the board of its own."""
        mine = copy(self)
        mine.question = {**self.question, "analyst": analyst}
        mine._analyst = analyst
        return mine

    def without_score(self) -> BoundQuestion | None:
        """In a contest, the same submission without a score; it takes part in the final."""
        if not self._contest or not self.shows_rows:
            return None
        entered = copy(self)
        entered.counts = entered.shows_rows = False
        return entered

    @property
    def digest(self) -> str:
        """The submission's identity, whatever it is called, and on a ladder whatever was claimed for it."""
        named = {name: value for name, value in self.question.items() if name != "name"}
        if self._board.rule == "ladder":
            named |= {"guess": None, "tolerance": None}
        return hashlib.sha256(to_canonical_json(named).encode()).hexdigest()

    def require_new(self, progress: Progress) -> None:
        """Refuse a submission after the deadline; one that was paid for before is finished."""
        deadlines_and_quotas.require_in_time(self._board, progress.finals + 1)

    def require(self, view: View) -> None:
        """Refuse a claimed score on a ladder that has one to beat, and more submissions than a participant has."""
        deadlines_and_quotas.require_quota(view, self._board, self._analyst)
        if self._board.rule != "ladder" or self._guess is None:
            return
        if ladder.place(view, ladder.account(self._board, self._analyst)) is not None:
            raise InvalidParameter(
                "guess must be left out, because this ladder only decides whether a submission beats the best score "
                "so far"
            )

    def check_public(self, sample: Sample) -> None:
        """Refuse predictions that name no row, on a board whose keys are public."""
        board, given = self._board, self._tally.given
        if self._making is not None or not board.public_keys:
            return

        def named(before: bool, batch: Batch) -> bool:
            return before or given.names(batch[board.key])

        if not sample.fold([board.key], bool, named):
            raise InvalidParameter(
                f"keys must be keys of rows of this data set, and none of the {len(given)} keys that were sent is in "
                f"its column {board.key!r}; nothing was spent"
            )

    def gather(self, sample: Sample) -> Measured:
        """One reading of the key's and the label's column; nothing where predictions could not be made."""
        board, counted = self._board, self._tally
        if not self.shows_rows:
            return ()
        if board.groups is not None:
            assert isinstance(counted, RowTally)
            return ((int(group_values(sample, board, [counted], self._metric.n).sum()),),)
        if self._making is not None:
            predictions = self._making.make(sample, board)
            if predictions is None:
                return ()
            counted = tally(board, sample.schema, predictions)
        sums = sample.total(
            (board.key, board.label),
            counted.start,
            lambda before, batch: counted.add(before, batch[board.key], batch[board.label]),
        )
        *found, rows = sums.tolist()
        if rows != sample.n:
            raise SampleUnavailable(CHANGED)
        return (tuple(found),)

    def prepare(self, measured: Measured, n: int, source: Any = None) -> HiddenScore | None:
        """The score of the rows, with an interval at any share; None where predictions could not be made. Secret."""
        return self._metric.read(measured[0]) if measured else None

    def _keep(self, situation: Situation) -> None:
        """Keep the predictions for the final."""
        if self._kept is not None:
            assert situation.hidden is not None
            transaction, name = situation.hidden.transaction, kept.name_of(self._tally.given.digest)
            if transaction.secret(name) is None:
                transaction.put_secret(name, self._kept)

    def _count(self, situation: Situation, details: dict[str, Any]) -> None:
        """Count the submission against the participant's quotas, and say how many there were."""
        if self._board.quota is not None or self._board.daily is not None:
            assert situation.hidden is not None
            transaction, name = situation.hidden.transaction, deadlines_and_quotas.account(self._board, self._analyst)
            details["submissions"] = deadlines_and_quotas.counted(transaction.account(name))
            transaction.put_account(name, details["submissions"])

    def _without_score(self, situation: Situation, details: dict[str, Any]) -> Settled:
        """Nothing that depends on the rows."""
        guarantee = replace(situation.guarantee(THEOREM, interval="none"), certified=False)
        return Settled(None, None, guarantee, None, Message(None, 0.0), details | {"shown": False}, asked=0)

    def _plain(self, prepared: HiddenScore | None, situation: Situation, details: dict[str, Any]) -> Settled:
        """The score itself, rounded unless it is a count. What it could have been is what it costs later intervals."""
        low, high = self._board.range
        places = situation.n if self._board.counts else PLAIN_PLACES
        weight = -math.log(places + 1)
        if self._making is not None:
            weight = -math.log(ONE_IN) if prepared is None else weight + math.log1p(-1 / ONE_IN)
        value = None
        if prepared is None:
            details["finished"] = False
        else:
            step = (high - low) / places
            value = min(high, max(low, low + step * round((prepared.value - low) / step)))
        guarantee = situation.guarantee(THEOREM, interval="none")
        assumption = ASSUMPTION if self._board.groups is None else ASSUMES_GROUPS
        guarantee = replace(guarantee, assumption=assumption + NOT_CERTIFIED, certified=False)
        return Settled(value, None, guarantee, None, Message(None, weight), details, asked=0)

    def settle(self, prepared: HiddenScore | None, situation: Situation) -> Settled:
        """What the board's rule shows of the score; for a model that could not be evaluated on all rows, only that."""
        details: dict[str, Any] = {"board": self._board.name, "metric": self._board.metric}
        self._keep(situation)
        self._count(situation, details)
        if not self.shows_rows:
            return self._without_score(situation, details)
        if self._board.rule == "open":
            return self._plain(prepared, situation, details)
        share = self._metric.share(situation.log_share)
        most = situation.budget.policy.failures
        ended = most is not None and situation.progress.failed >= most
        unclaimed = False
        if prepared is None:
            outcome = self._unfinished(share)
            details["finished"] = False
        elif self._board.rule == "intervals":
            assert self._guess is not None
            outcome = self._metric.check(prepared, self._guess, self._tolerance, share)
        else:
            rungs = ladder.Rungs.of(self._board)
            name = ladder.account(self._board, self._analyst)
            assert situation.hidden is not None
            before = ladder.place(situation.hidden.transaction, name)
            claimed = self._board.baseline if self._guess is None else self._guess
            unclaimed = before is None and claimed is None
            if before is None and claimed is not None:
                outcome = self._metric.check(prepared, claimed, self._tolerance, share)
                place: int | None = ladder.first_place(rungs, self._metric, outcome)
                details |= {"improved": True, "first": True}
                if self._guess is None:
                    details["claimed"] = claimed
            else:
                outcome, place = ladder.climb(rungs, before, self._metric, prepared, share)
                details["improved"] = not outcome.passed
            ended = ended and not unclaimed
            if place is not None and (outcome.passed or not ended):
                situation.hidden.transaction.put_account(name, {"place": place})
                details["place"] = place
        guarantee = situation.guarantee(THEOREM, log_share=round(share, 6), interval=outcome.family)
        rows = ASSUMES_DRAWN if self._metric.drawn else ASSUMPTION if self._board.groups is None else ASSUMES_GROUPS
        assumption = rows + (UNFINISHED if prepared is None else "")
        guarantee = replace(guarantee, assumption=assumption, certified=guarantee.certified and prepared is not None)
        if ended and not outcome.passed:  # the failure after the last planned one shows nothing more than that
            outcome = replace(outcome, value=None, interval=None, log_weight=0.0)
            details["ended"] = True
        interval = None if outcome.interval is None else list(outcome.interval)
        weight = outcome.log_weight
        if prepared is None:
            weight = -math.log(ONE_IN)
        elif self._making is not None and not outcome.passed:
            weight += math.log1p(-1 / ONE_IN)  # so that all that a failed model can show still adds up to one
        # A first score on a ladder without a claim is no failure: each of its places is as likely.
        message = Message(None if unclaimed else outcome.passed, weight)
        exact = None if outcome.exact is None else outcome.exact.to_dict()
        return Settled(
            outcome.value, interval, guarantee, outcome.passed, message, details, log_share=share, secret=exact
        )

    def _unfinished(self, share: float) -> Outcome:
        """A failure that shows nothing but itself, unless the question would have been refused whatever the rows."""
        if self._guess is not None:
            self._metric.require(self._guess, self._tolerance, share)
        return Outcome(False, None, None, self._metric.description)

    def half_width(self, situation: Situation) -> float | None:
        """How far the truth can be from a guess that passes; without one, from a score in the middle of the range."""
        if not self.shows_rows or self._board.rule == "open":
            return None
        share = self._metric.share(situation.log_share)
        if self._guess is None:
            return self._metric.half_width(None, share)
        return self._metric.tolerance(self._guess, self._tolerance, share)

    def least_tolerance(self, situation: Situation) -> float | None:
        """Return the least tolerance that a guess could pass with; for AUC and F1 with classes of ordinary sizes."""
        if self._guess is None or not self.shows_rows:
            return None
        return self._metric.half_width(self._guess, self._metric.share(situation.log_share))
