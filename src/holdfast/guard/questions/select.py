"""The kind `select`: the candidate whose mean is nearly the largest, chosen privately, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np

from holdfast.accounting import PureDP
from holdfast.data.schema import Schema
from holdfast.data.statistics import UNIT
from holdfast.errors import InvalidParameter
from holdfast.guard.questions.base import BoundQuestion, Measured, Question, Settled, Situation
from holdfast.guard.questions.best import CandidateList, candidate_rows
from holdfast.guard.questions.expressions import BoundExpression
from holdfast.guard.questions.fields import Default, High, Low, Spend
from holdfast.guard.questions.noisy import spend_of
from holdfast.mechanisms.selection import Selection
from holdfast.noise.grid import Grid

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy

MOST_CANDIDATES = 10_000


@dataclass(frozen=True)
class Select(Question):
    """Ask which of several expressions has (nearly) the largest mean. The choice is made with differential privacy.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> one = hf.accounting.PureDP(1.0)
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10, privacy=one, spend=one))
    >>> guard.ask(hf.guard.select({"young": "age < 30", "not old": "age < 50"})).value
    'not old'
    """

    kind: ClassVar[str] = "select"
    title: ClassVar[str] = "Pick the best"
    purpose: ClassVar[str] = "Which of several candidates has the largest mean, nearly?"
    answered = "private"
    place: ClassVar[int] = 22
    example: ClassVar[Mapping[str, Any]] = {
        "kind": "select",
        "candidates": {"young": "age < 30", "rich": "income > 3000"},
    }

    candidates: CandidateList
    low: Low = None
    high: High = None
    default: Annotated[
        Default,
        "The value that is used for rows where a candidate's expression is null (missing). It must be given if "
        "an expression can be null.",
    ] = None
    spend: Annotated[
        Spend, "The privacy cost of this answer: pure-dp:EPSILON (default: the cost that the guard's policy sets)."
    ] = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema and the policy."""
        rows = candidate_rows(self, schema, policy, 2, MOST_CANDIDATES, mixed=True)
        cost = spend_of(self.spend, policy)
        if not isinstance(cost, PureDP):
            raise InvalidParameter(
                "spend must be a PureDP, because the cost of a selection is in pure differential privacy"
            )
        return PrivateSelection(rows, cost)

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return the candidates in one line."""
        return f"best of {', '.join(asked['candidates'])}"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence with the label of the chosen candidate."""
        return f"“{answer['value']}” has the largest mean, or nearly."


class PrivateSelection(BoundQuestion):
    """Permute-and-flip over exact sums. The label is all that is shown."""

    def __init__(self, rows: Mapping[str, BoundExpression], cost: PureDP) -> None:
        self.cost = cost
        spelt = {label: one.to_dict() for label, one in rows.items()}
        self.question = {"kind": "select", "candidates": spelt, "spend": cost.to_dict()}
        self.statistics = tuple(one.fixed_sum for one in rows.values())
        self._labels, self._length = tuple(rows), next(iter(rows.values()))
        self._choice = Selection(sensitivity=UNIT, epsilon=cost.epsilon, grid=Grid(0))

    def settle(self, prepared: Measured, situation: Situation) -> Settled:
        """Return the label, and how far its mean in the sample falls short of the best one at most."""
        scores = np.array([total for (total,) in prepared], dtype=np.int64)
        place = self._choice.release(scores, situation.source)
        details = {"short_of_the_best_by_at_most": self.half_width(situation)}
        return Settled(self._labels[place], None, self._choice.guarantee, details=details)

    def half_width(self, situation: Situation) -> float:
        """Return how far the selected mean falls short of the best one in the sample at most."""
        steps = self._choice.gap(situation.noise_share, len(self._labels))
        return float((self._length.high - self._length.low) * steps / (UNIT * situation.n))
