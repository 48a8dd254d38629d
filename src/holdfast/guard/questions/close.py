"""The kind `close`: end the run, and show every earlier answer with its exact value and interval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from holdfast.data.schema import Schema
from holdfast.errors import QuestionRefused
from holdfast.guard.questions.base import BoundQuestion, Measured, Question, Settled, Situation
from holdfast.guard.questions.reveal import Ending, revealed_words
from holdfast.holdout.transcript import THEOREM

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy


@dataclass(frozen=True)
class Close(Question):
    """End the run of a guard and show the exact value of every earlier answer. No more questions can be asked
    afterwards.

    The exact intervals that are shown were certified when the questions were asked; only showing them was postponed.
    After a close no question is answered, not even with noise. If analysts share one history, the steward asks it. If
    histories are separate, each analyst ends their own run.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10))
    >>> answer = guard.ask(hf.guard.check("age < 30", guess=0.26))
    >>> (exact,) = guard.ask(hf.guard.close()).details["revealed"]
    >>> exact["value"], exact["interval"][1] - exact["interval"][0] < answer.interval[1] - answer.interval[0]
    (0.25, True)
    """

    kind: ClassVar[str] = "close"
    title: ClassVar[str] = "End and reveal"
    purpose: ClassVar[str] = "End the run and show every earlier answer exactly. Nothing can be asked after it."
    place: ClassVar[int] = 18
    ends_run: ClassVar[bool] = True
    steward_may: ClassVar[bool] = True
    added_later: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"kind": "close"}

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the policy of the guard."""
        if policy.reserve_parts:
            raise QuestionRefused(
                "this guard reserves rows for a final, so its run is ended by a final and not by close"
            )
        return Closing(schema, n, policy)

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line that says that the question ends the run."""
        return "end the run and reveal every answer"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence that says how many answers were revealed."""
        return f"The run has ended. {revealed_words(answer['details']['revealed'])}"


class Closing(Ending):
    """The end of a run without a final."""

    def __init__(self, schema: Schema, n: int, policy: Policy) -> None:
        super().__init__(schema, n, policy)
        self.question = {"kind": "close"}

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Return every earlier answer."""
        details = {"revealed": self.revealed(prepared, situation)}
        guarantee = situation.guarantee(THEOREM, interval="exact")
        return Settled(None, None, guarantee, None, None, details, asked=0, finishes=True)
