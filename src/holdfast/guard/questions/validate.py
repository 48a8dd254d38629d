"""The kind `validate`: whether a condition holds for a proportion of the population, answered without noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from holdfast.core import arguments
from holdfast.data.expressions import expression
from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.guard.questions.base import BoundQuestion, Question
from holdfast.guard.questions.expressions import spelled
from holdfast.guard.questions.fields import Default, ExpressionInput, NumberInput, WherePresent
from holdfast.guard.questions.noiseless import look, stored_rows
from holdfast.guard.questions.words import claim_sentence, number, rows_text
from holdfast.holdout.questions import MeanQuestion

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy


@dataclass(frozen=True)
class Validate(Question):
    """Ask whether a condition holds for at least a given proportion of the population. The answer is "yes", or "not
    shown", which does not mean "no".

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10))
    >>> guard.ask(hf.guard.validate("age < 50", at_least=0.7)).passed
    True
    """

    kind: ClassVar[str] = "validate"
    title: ClassVar[str] = "Validate a rule"
    purpose: ClassVar[str] = "Does a condition hold for at least this share? Yes, or not shown."
    place: ClassVar[int] = 13
    example: ClassVar[Mapping[str, Any]] = {"kind": "validate", "condition": "age < 120", "at_least": 0.8}

    condition: Annotated[
        str | Mapping[str, Any],
        ExpressionInput(
            label="Condition", help="A condition on one row that is true or false, such as age < 40.", argument=True
        ),
    ]
    at_least: Annotated[
        float,
        NumberInput(
            label="Holds for at least this share",
            help="The claimed proportion of the population for which the condition holds, above 0 and below 1.",
            placeholder="0.9",
            above=0,
            below=1,
        ),
    ]
    default: Default = None
    where_present: WherePresent = False

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema."""
        if expression(self.condition, schema).kind == "number":
            raise InvalidParameter("condition must be true or false in each row, such as `age < 30`, got a number")
        rows = spelled(self.condition, schema, 0, 1, self.default, self.where_present)
        question = MeanQuestion(self.kind, "auto", None, 0.0, 1.0, True, n)
        share = arguments.probability("at_least", self.at_least)
        return look(self.kind, (rows,), question, question.claim("at_least", share), schema)

    @classmethod
    def asked_again(cls, stored: Mapping[str, Any]) -> Question:
        """Return the stored question again."""
        missing = {name: value for name, value in stored_rows(stored).items() if name not in ("low", "high")}
        return cls(stored["rows"][0]["expression"], stored["at_least"], **missing)

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line with the condition and the claimed proportion."""
        return f"{rows_text(asked)[0]}: at least {number(asked['at_least'])}?"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence that says whether the claimed proportion is certified."""
        return claim_sentence(answer)
