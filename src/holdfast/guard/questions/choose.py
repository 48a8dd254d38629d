"""The kind `choose`: which of one's submissions take part in the final of a contest. No row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from holdfast.core import arguments
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter, QuestionRefused
from holdfast.guard.ledger.transaction import View
from holdfast.guard.questions.base import BoundQuestion, Question, Settled, Situation
from holdfast.guard.questions.fields import NumbersInput, TextInput
from holdfast.guard.scoring import deadlines_and_quotas
from holdfast.guard.scoring.board import Board
from holdfast.guard.scoring.kept import is_kept
from holdfast.holdout.error_budget import Message
from holdfast.holdout.transcript import THEOREM

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy
    from holdfast.guard.state import Progress


@dataclass(frozen=True)
class Choose(Question):
    """Choose which of your submissions take part in the final of a contest. If you choose several times before the
    final, the latest choice counts.

    Each participant may choose two submissions, or as many as the board's `finalists` says. Give the most important one
    first: if all chosen submissions together would be too many to compare, only the first of each participant takes
    part. No choice is accepted after the deadline of the phase.

    Examples
    --------
    >>> import holdfast as hf
    >>> rows = {"id": list(range(4000)), "rich": [i % 4 == 0 for i in range(4000)]}
    >>> board = hf.guard.Board("income", key="id", label="rich", metric="accuracy", rule="open")
    >>> guard = hf.Guard.open(None, hf.data.table(rows), hf.guard.Policy(boards=[board], reserve=0.5))
    >>> sent = guard.ask(hf.guard.score("income", {i: False for i in range(4000)}), analyst="ann")
    >>> guard.ask(hf.guard.choose("income", [sent.sequence]), analyst="ann").value
    [2]
    """

    kind: ClassVar[str] = "choose"
    title: ClassVar[str] = "Choose submissions"
    purpose: ClassVar[str] = "Which of your submissions take part in the final? The latest choice counts."
    place: ClassVar[int] = 20
    needs_contest: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"kind": "choose", "board": "income", "submissions": [2]}

    board: Annotated[str, TextInput(label="Board", help="The name of the contest's leaderboard.", argument=True)]
    submissions: Annotated[
        Any,
        NumbersInput(
            label="Submissions",
            help="The entry numbers of your submissions, separated by commas, the most important one first. The "
            "leaderboard sets how many each participant may choose (usually two).",
            argument=True,
        ),
    ]

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the policy. Whether the submissions belong to the analyst is checked later, in the
        ledger.
        """
        if not policy.has_contest:
            raise QuestionRefused(
                "submissions cannot be chosen, because this guard reserves no rows for a final of its leaderboards"
            )
        board, given = policy.board(self.board), self.submissions
        if isinstance(given, (str, bytes)) or not isinstance(given, (list, tuple)) or not given:
            raise InvalidParameter(
                f"submissions must be a list of the entry numbers of 1 to {board.finalists} of your own submissions"
            )
        entries = list(dict.fromkeys(arguments.whole("submissions", one, at_least=1) for one in given))
        if len(entries) > board.finalists:
            raise InvalidParameter(
                f"submissions must be at most {board.finalists} entry numbers, as many as the board {board.name!r} "
                f"lets each participant choose, got {len(entries)}; nothing was spent"
            )
        return Choosing(board, entries)

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line with the chosen submissions."""
        return f"choose {', '.join(f'entry {one}' for one in asked['submissions'])} for the final of {asked['board']}"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence that says which submissions were chosen."""
        return f"{', '.join(f'Entry {one}' for one in answer['value'])} will take part in the final."


class Choosing(BoundQuestion):
    """A choice: public, and free. A choice that was made before and replaced may be made again."""

    counts = False
    shows_rows = False
    is_act = True

    def __init__(self, board: Board, submissions: list[int]) -> None:
        self.cost = None
        self.statistics = ()
        self.question = {"kind": "choose", "board": board.name, "submissions": submissions}
        self._board, self._analyst = board, ""

    def by(self, analyst: str) -> BoundQuestion:
        """Each participant chooses for themselves."""
        self._analyst = analyst
        return self

    def require_new(self, progress: Progress) -> None:
        """Refuse a choice after the deadline: what takes part in the final is fixed then."""
        deadlines_and_quotas.require_in_time(self._board, progress.finals + 1, what="choices for the final of")

    def require(self, view: View) -> None:
        """Refuse submissions that are not this participant's own on this board, or whose predictions are not kept."""
        for number in self.question["submissions"]:
            entry = view.entry(number)
            asked = {} if entry is None or entry.kind != "answered" else entry.body["question"]
            mine = entry is not None and entry.analyst == self._analyst
            if not mine or asked.get("kind") != "score" or asked.get("board") != self.question["board"]:
                raise InvalidParameter(
                    "submissions must be entry numbers of your own submissions to the board "
                    f"{self.question['board']!r}, and {number} is not one"
                )
            if not is_kept(view, asked["predictions"]):
                raise InvalidParameter(
                    f"submissions must be submissions of predictions, and entry {number} is a model, which cannot "
                    "take part in a final; submit the model's predictions instead"
                )

    def settle(self, prepared: Any, situation: Situation) -> Settled:
        """Return the choice itself."""
        guarantee = situation.guarantee(THEOREM, interval="none")
        chosen = list(self.question["submissions"])
        return Settled(chosen, None, guarantee, None, Message(None, 0.0), {"board": self.question["board"]}, asked=0)

    def half_width(self, situation: Situation) -> float | None:
        """None: nothing is claimed."""
        return None
