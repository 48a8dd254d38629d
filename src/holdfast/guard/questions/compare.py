"""The kind `compare`: the difference of two means on the same rows, checked or claimed without noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.guard.questions.base import BoundQuestion, Question
from holdfast.guard.questions.expressions import spelled
from holdfast.guard.questions.fields import (
    Default,
    ExpressionInput,
    High,
    Low,
    NumberInput,
    Risk,
    Show,
    Stake,
    Tolerance,
    WherePresent,
)
from holdfast.guard.questions.noiseless import look, stored_guess, stored_rows, weighed
from holdfast.guard.questions.planned import PlannedLook, answers_of, require_plain
from holdfast.guard.questions.words import claim_sentence, guess_sentence, number, rows_text
from holdfast.holdout.questions import Guess, MeanQuestion, OneSided

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy


@dataclass(frozen=True)
class Compare(Question):
    """Compare two expressions on the same rows, by the mean of the difference `b` minus `a`.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10))
    >>> guard.ask(hf.guard.compare("age < 31", "age < 30")).passed
    True
    """

    kind: ClassVar[str] = "compare"
    title: ClassVar[str] = "Compare two"
    purpose: ClassVar[str] = "How much larger is one mean than the other, on the same rows?"
    place: ClassVar[int] = 12
    under_means: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"kind": "compare", "b": "age < 50", "a": "age < 30", "margin": 0.1}

    b: Annotated[
        str | Mapping[str, Any],
        ExpressionInput(label="First", help="The row expression B, whose mean may be the larger one.", argument=True),
    ]
    a: Annotated[
        str | Mapping[str, Any],
        ExpressionInput(
            label="Minus second",
            help="The row expression A, with which B is compared. It must have the same range as B.",
            argument=True,
        ),
    ]
    margin: Annotated[
        float | None,
        NumberInput(
            label="Claim at least",
            help="Claim that the mean of B is larger than the mean of A by at least this much (default: 0). For two "
            "conditions and a margin of 0, the test is the exact sign test on the rows where the conditions differ.",
        ),
    ] = None
    guess: Annotated[
        float | None,
        NumberInput(
            label="Or your guess of the difference",
            help="Your guess of the difference of the means, B minus A, which is checked instead of a margin.",
            placeholder="0",
        ),
    ] = None
    tolerance: Tolerance = None
    show: Show = "value"
    low: Low = None
    high: High = None
    default: Default = None
    where_present: Annotated[WherePresent, "Leave out the rows where one of the two expressions is null (missing)."] = (
        False
    )
    risk: Risk = None
    stake: Stake = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema."""
        given = (schema, self.low, self.high, self.default, self.where_present)
        ratios, columns = policy.answers != "means", policy.columns
        second, first = (spelled(one, *given, ratios=ratios, columns=columns) for one in (self.b, self.a))
        if (first.low, first.high) != (second.low, second.high):
            raise InvalidParameter(
                "a and b must have the same range: two conditions, or two numbers with the same low and high"
            )
        length = first.high - first.low
        question = MeanQuestion(self.kind, "auto", None, -length, length, False, n)
        if self.guess is not None and self.margin is not None:
            raise InvalidParameter(
                "guess and margin must not both be given; give guess to check a difference, or margin to claim one"
            )
        asked: Guess | OneSided = (
            question.claim("at_least", 0.0 if self.margin is None else self.margin, "margin")
            if self.guess is None
            else question.guess(self.guess, self.tolerance, self.show, None)
        )
        if policy.answers == "means":
            require_plain(self.risk, self.stake)
            return PlannedLook(self.kind, (second, first), question, asked, answers_of(policy, n))
        procedure = look(self.kind, (second, first), question, asked, schema)
        return procedure.weighed(*weighed(self.risk, self.stake, policy))

    def as_earlier(self) -> Question | None:
        """Return what this question meant in earlier versions: without a margin and a guess, it was a check of the
        guess that the difference is 0.
        """
        return replace(self, guess=0.0) if self.margin is None and self.guess is None else None

    @classmethod
    def asked_again(cls, stored: Mapping[str, Any]) -> Question:
        """Return the stored comparison again."""
        b, a = (part["expression"] for part in stored["rows"])
        if "guess" in stored:
            return cls(b, a, **stored_guess(stored), **stored_rows(stored))
        return cls(b, a, margin=stored["at_least"], **stored_rows(stored))

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line with both expressions, and with the guess or the margin."""
        first, second = rows_text(asked)
        margin = asked.get("at_least")
        end = f"about {number(asked['guess'])}?" if margin is None else f"at least {number(margin)}?"
        return f"{first} minus {second}: {end}"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence that says whether the guess passed, or whether the claim is certified."""
        return guess_sentence(asked, answer, whose) if "guess" in asked else claim_sentence(answer)

    @classmethod
    def axis(cls, asked: Mapping[str, Any], answer: Mapping[str, Any]) -> tuple[float, float]:
        """Return the smallest and the largest possible difference of two values."""
        length = float(asked["rows"][0]["high"]) - float(asked["rows"][0]["low"])
        return -length, length
