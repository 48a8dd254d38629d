"""The kind `claim`: a bound on a mean is claimed without noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from holdfast.data.schema import Schema
from holdfast.errors import InvalidParameter
from holdfast.guard.questions.base import BoundQuestion, Question
from holdfast.guard.questions.expressions import noisy_mean_of, rows_of
from holdfast.guard.questions.fields import (
    Default,
    Expression,
    High,
    Low,
    NumberInput,
    Risk,
    Stake,
    Where,
    WherePresent,
)
from holdfast.guard.questions.noiseless import look, stored_rows, weighed
from holdfast.guard.questions.planned import PlannedLook, answers_of, require_plain
from holdfast.guard.questions.words import claim_sentence, number, rows_text
from holdfast.holdout.questions import MeanQuestion

if TYPE_CHECKING:
    from holdfast.guard.policy import Policy


@dataclass(frozen=True)
class Claim(Question):
    """Claim that a mean is at least, or at most, a given number. The answer is "yes" (certified) or "no" (not
    certified). A "no" is not evidence against the claim.

    Examples
    --------
    >>> import holdfast as hf
    >>> sample = hf.data.table({"age": list(range(20, 60)) * 500})
    >>> guard = hf.Guard.open(None, sample, hf.guard.Policy(questions=10))
    >>> guard.ask(hf.guard.claim("age", at_least=35, low=0, high=100)).passed
    True
    """

    kind: ClassVar[str] = "claim"
    title: ClassVar[str] = "Make a claim"
    purpose: ClassVar[str] = "Is this mean at least, or at most, a number? The answer is one bit."
    place: ClassVar[int] = 11
    under_means: ClassVar[bool] = True
    example: ClassVar[Mapping[str, Any]] = {"kind": "claim", "expression": "age < 40", "at_least": 0.1}

    expression: Expression
    at_least: Annotated[
        float | None,
        NumberInput(
            label="The mean is at least",
            help="Claim that the mean is at least this number. Give either at_least or at_most.",
        ),
    ] = None
    at_most: Annotated[
        float | None,
        NumberInput(
            label="Or the mean is at most",
            help="Claim that the mean is at most this number. Give either at_most or at_least.",
        ),
    ] = None
    low: Low = None
    high: High = None
    default: Default = None
    where_present: WherePresent = False
    risk: Risk = None
    stake: Stake = None
    where: Where = None

    def bind(self, schema: Schema, n: int, policy: Policy) -> BoundQuestion:
        """Check the question against the schema."""
        if (self.at_least is None) == (self.at_most is None):
            raise InvalidParameter("either at_least or at_most must be given, and not both")
        rows = rows_of(self, schema, policy, ratios=policy.answers != "means")
        question = MeanQuestion(self.kind, "auto", None, rows.low, rows.high, rows.binary, n)
        name = "at_least" if self.at_least is not None else "at_most"
        asked = question.claim(name, getattr(self, name))
        if policy.answers == "means":
            require_plain(self.risk, self.stake)
            return PlannedLook(self.kind, (rows,), question, asked, answers_of(policy, n))
        return look(self.kind, (rows,), question, asked, schema).weighed(*weighed(self.risk, self.stake, policy))

    @classmethod
    def asked_again(cls, stored: Mapping[str, Any]) -> Question:
        """Return the stored claim again."""
        bounds = {name: stored[name] for name in ("at_least", "at_most") if name in stored}
        return cls(stored["rows"][0]["expression"], **bounds, **stored_rows(stored))

    @classmethod
    def question_words(cls, asked: Mapping[str, Any]) -> str:
        """Return one line with the expression and the claimed bound."""
        name = "at_least" if "at_least" in asked else "at_most"
        return f"{rows_text(asked)[0]}: {name.replace('_', ' ')} {number(asked[name])}?"

    @classmethod
    def answer_words(cls, asked: Mapping[str, Any], answer: Mapping[str, Any], whose: str = "Your") -> str:
        """Return a sentence that says whether the claim is certified."""
        return claim_sentence(answer)

    @classmethod
    def alternatives(cls, question: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the alternative to a refused claim: the mean with noise."""
        yield noisy_mean_of(question)
