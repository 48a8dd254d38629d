"""What comes back from a guard: an answer with its cost, what is left, what it depends on, and a receipt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from holdfast.accounting import Cost
from holdfast.core.guarantee import Guarantee
from holdfast.errors import InvalidParameter
from holdfast.guard.questions.base import Question
from holdfast.mechanisms.answer import price_words, value_words

_BEATEN = "beaten"


def left_by_name(remaining: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is left by whose it is; versions before 0.2 called the total "whole".

    Examples
    --------
    >>> left_by_name({"yours": {"questions": 3}, "whole": {"questions": 9}})
    {'yours': {'questions': 3}, 'total': {'questions': 9}}
    """
    return {"total" if who == "whole" else who: left for who, left in remaining.items()}


@dataclass(frozen=True)
class GuardedAnswer:
    """One answer of a guard, with its interval, its cost and its guarantee.

    Attributes
    ----------
    value, interval
        What was asked for: a number and its two ends, or these for each cell, or a label for a selection; None
        where nothing but a bit was released. All intervals of a guard hold at once, with the policy's confidence.
    passed : bool or None
        Whether a check or claim passed. On a ladder, after its first submission, whether nothing is shown: an
        improvement is what its budget pays for, so there `details["improved"]` is the one to read.
    cost : Cost or None
        What a private answer spent.
    remaining : mapping
        What may still be asked, by this analyst and in all.
    guarantee : Guarantee
        The theorem, its parameters and the assumption.
    details : mapping
        What the kind of question has to show next to. On a ladder `improved` says whether the submission beat the best
        so far; on a repeat that was beaten since, it is False and `beaten` is True. `finished` is False where a
        submitted model could not be evaluated on all rows.
    sequence : int
        The ledger's entry.
    repeated : bool
        Whether this is a stored answer that cost nothing now.
    receipt : mapping or None
        The signed entry, for `holdfast verify`.
    widening, final_widening : float or None
        The price: by what part later intervals, and that of a final, are wider because of what this answer showed.

    question : mapping or None
        The question that it answers, in plain data; None where an answer is made without one.

    Examples
    --------
    >>> asked = {"kind": "check", "expression": "age < 40", "guess": 0.81}
    >>> answer = GuardedAnswer(0.81, [0.78, 0.84], Guarantee("t"), passed=True, sequence=3, question=asked)
    >>> print(answer)
    Your guess of 0.81 passed: the truth is between 0.78 and 0.84. (entry 3; t; rows independent)
    """

    value: Any
    interval: Any
    guarantee: Guarantee
    passed: bool | None = None
    cost: Cost | None = None
    remaining: Mapping[str, Any] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    sequence: int = 0
    repeated: bool = False
    receipt: Mapping[str, Any] | None = None
    widening: float | None = None
    final_widening: float | None = None
    question: Mapping[str, Any] | None = field(default=None, repr=False, compare=False, kw_only=True)

    @property
    def half_width(self) -> float | None:
        """Half the length of the answer's interval; None if the answer has no interval of one number."""
        ends = self.interval
        if not isinstance(ends, (list, tuple)) or len(ends) != 2 or isinstance(ends[0], (list, tuple)):
            return None
        return float(ends[1] - ends[0]) / 2

    @property
    def sentence(self) -> str:
        """A sentence that says what the answer means. If the question is not known, it gives the value and the
        interval.

        Examples
        --------
        >>> GuardedAnswer(None, None, Guarantee("t"), passed=True, question={"kind": "claim"}).sentence
        'The claim holds.'
        >>> GuardedAnswer(0.81, [0.78, 0.84], Guarantee("t")).sentence
        'The answer is 0.81 in [0.78, 0.84].'
        """
        kind = None if self.question is None else Question.kinds().get(self.question["kind"])
        if kind is None or self.question is None:
            if self.value is None and self.interval is None:
                return "No value is shown."
            where = "" if self.half_width is None else f"in [{self.interval[0]:.6g}, {self.interval[1]:.6g}]"
            return f"The answer is {value_words(self.value, where)}."
        return kind.answer_words(self.question, self.to_dict())

    def __str__(self) -> str:
        price = "" if self.repeated else price_words(self.widening, self.final_widening)  # a repeat is free
        return "; ".join(filter(None, (f"{self.sentence} (entry {self.sequence}; {self.guarantee})", price)))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return self.released() | {
            "details": dict(self.details),
            "sequence": self.sequence,
            "repeated": self.repeated,
            "receipt": None if self.receipt is None else dict(self.receipt),
        }

    def released(self) -> dict[str, Any]:
        """Return the part of the answer that the ledger stores. It describes the state when the question was answered,
        and later events do not change it.
        """
        details = dict(self.details)
        if details.pop(_BEATEN, False):
            details["improved"] = True
        price = {"widening": self.widening, "final_widening": self.final_widening}
        return {
            "value": self.value,
            "interval": self.interval,
            "passed": self.passed,
            "cost": None if self.cost is None else self.cost.to_dict(),
            "remaining": dict(self.remaining),
            "guarantee": self.guarantee.to_dict(),
            "details": details,
        } | {name: part for name, part in price.items() if part is not None}

    def beaten(self) -> Self:
        """Return the same answer, marked as an improvement on a ladder that a better submission has replaced since."""
        return replace(self, details={**self.details, "improved": False, _BEATEN: True})

    def doubted(self, doubt: str) -> Self:
        """Return the same answer. If the guard has a reason for doubt (`GuardState.doubt`), it is marked as not
        certified.
        """
        if not doubt or not self.guarantee.certified:
            return self
        assumption = self.guarantee.assumption + doubt
        return replace(self, guarantee=replace(self.guarantee, assumption=assumption, certified=False))

    @classmethod
    def stored(
        cls,
        plain: Mapping[str, Any],
        sequence: int,
        repeated: bool,
        receipt: Any = None,
        question: Mapping[str, Any] | None = None,
    ) -> Self:
        """Return the answer that an entry of the ledger stores."""
        try:
            cost = None if plain["cost"] is None else Cost.from_dict(plain["cost"])
            rest = {name: plain[name] for name in ("value", "interval", "passed", "details")}
            return cls(
                guarantee=Guarantee(**plain["guarantee"]),
                cost=cost,
                sequence=sequence,
                repeated=repeated,
                receipt=receipt,
                widening=plain.get("widening"),
                final_widening=plain.get("final_widening"),
                question=question,
                remaining=left_by_name(plain["remaining"]),
                **rest,
            )
        except (KeyError, TypeError) as error:
            raise InvalidParameter(
                "a stored answer must have the fields of an answer that a guard released, as to_dict() returns them"
            ) from error
