"""Which question an answer must be to: the digest that a guard knows it by, worked out here and not taken from there.

A receipt is signed over the digest of its question. Without a look at it, whoever stands between could answer one
question with the signed answer to another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.client.errors import ReceiptInvalid
from holdfast.data.schema import Schema
from holdfast.errors import HoldfastError, InvalidParameter
from holdfast.guard.ledger.receipts import Receipt
from holdfast.guard.policy import Policy
from holdfast.guard.questions import Question


@dataclass(frozen=True)
class Standing:
    """What a question is bound to: the columns, the number of rows, and what the policy leaves open."""

    schema: Schema
    n: int
    policy: Policy

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Standing:
        """From what a guard says about itself."""
        try:
            return cls(Schema.from_dict(facts["schema"]), int(facts["n"]), Policy.from_dict(facts["policy"]))
        except (InvalidParameter, KeyError, TypeError, ValueError, OverflowError):
            raise ReceiptInvalid("what the server says about the guard cannot be read, so no answer fits it") from None

    def digest(self, question: Mapping[str, Any]) -> str | None:
        """The digest of a question; None where it cannot be worked out with what is installed here.

        Examples
        --------
        >>> people = Standing(Schema({"age": "integer"}), 100, Policy())
        >>> people.digest({"kind": "check", "expression": "age<40", "guess": 0.5}) == people.digest(
        ...     {"kind": "check", "expression": "age < 40.0", "guess": 0.5}
        ... )
        True
        """
        try:
            made = Question.from_dict(question)
        except (
            InvalidParameter
        ):  # a kind that a newer server knows; what was asked is ours, so nobody can bring it about
            return None
        try:
            return made.bind(self.schema, self.n, self.policy).digest
        except ModuleNotFoundError:  # expressions as text are read by the extra `tables`
            return None
        except HoldfastError:
            raise ReceiptInvalid("the question does not fit the guard that is said to have answered it") from None


class Asked:
    """The questions of one guard, to be compared with receipts."""

    def __init__(self, describe: Callable[[], Mapping[str, Any]]) -> None:
        self._describe = describe
        self._standing: Standing | None = None

    def require(self, receipt: Receipt, question: Mapping[str, Any]) -> None:
        """Refuse a receipt that is not to this question."""
        standing = self._standing
        if standing is not None and standing.digest(question) == receipt.question:
            return
        # Looked up anew: costs that a question leaves open are the policy's, which a steward may have overridden.
        standing = self._standing = Standing.of(self._describe())
        expected = standing.digest(question)
        if expected is not None and expected != receipt.question:
            raise ReceiptInvalid("the answer is signed, and to another question than was asked")


__all__ = ["Asked", "Standing"]
