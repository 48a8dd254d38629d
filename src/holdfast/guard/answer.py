"""What comes back from a guard: an answer with its cost, what is left, what it depends on, and a receipt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from holdfast.accounting import Cost
from holdfast.core.guarantee import Guarantee
from holdfast.errors import InvalidParameter
from holdfast.mechanisms.answer import confirmed_words, price_words, value_words

_BEATEN = "beaten"


@dataclass(frozen=True)
class GuardedAnswer:
    """One answer of a guard.

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

    Examples
    --------
    >>> answer = GuardedAnswer(0.81, [0.78, 0.84], Guarantee("transfer.interleaved"), sequence=3)
    >>> print(answer)
    0.81 in [0.78, 0.84] (entry 3; transfer.interleaved; rows independent)
    >>> print(GuardedAnswer(0.755, [0.7, 0.8], Guarantee("t"), passed=False, details={"improved": True}, sequence=4))
    beat the best so far: 0.755 in [0.7, 0.8] (entry 4; t; rows independent)
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

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval of a number."""
        ends = self.interval
        if not isinstance(ends, (list, tuple)) or len(ends) != 2 or isinstance(ends[0], (list, tuple)):
            return None
        return float(ends[1] - ends[0]) / 2

    def __str__(self) -> str:
        words = submission_words(self.details) or ("passed" if self.passed else "failed")
        near = confirmed_words(self.value, self.interval) if words == "passed" else ""
        head = "" if self.passed is None else f"{words} ({near}): " if near else f"{words}: "
        where = "" if self.half_width is None else f"in [{self.interval[0]:.6g}, {self.interval[1]:.6g}]"
        price = "" if self.repeated else price_words(self.widening, self.final_widening)  # a repeat is free
        said = end_words(self.value, self.details) or value_words(self.value, where)
        return "; ".join(filter(None, (f"{head}{said} (entry {self.sequence}; {self.guarantee})", price)))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return self.released() | {
            "details": dict(self.details),
            "sequence": self.sequence,
            "repeated": self.repeated,
            "receipt": None if self.receipt is None else dict(self.receipt),
        }

    def released(self) -> dict[str, Any]:
        """Return what the ledger stores of it: what was true when it was answered, whatever came since."""
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
        """Return the same answer to a ladder's old improvement, after a better submission took its place."""
        return replace(self, details={**self.details, "improved": False, _BEATEN: True})

    def doubted(self, doubt: str) -> Self:
        """Return the same answer, not certified any more where there is a doubt (`GuardState.doubt`)."""
        if not doubt or not self.guarantee.certified:
            return self
        assumption = self.guarantee.assumption + doubt
        return replace(self, guarantee=replace(self.guarantee, assumption=assumption, certified=False))

    @classmethod
    def stored(cls, plain: Mapping[str, Any], sequence: int, repeated: bool, receipt: Any = None) -> Self:
        """Return the answer that the ledger holds."""
        try:
            cost = None if plain["cost"] is None else Cost.from_dict(plain["cost"])
            rest = {name: plain[name] for name in ("value", "interval", "passed", "remaining", "details")}
            return cls(
                guarantee=Guarantee(**plain["guarantee"]),
                cost=cost,
                sequence=sequence,
                repeated=repeated,
                receipt=receipt,
                widening=plain.get("widening"),
                final_widening=plain.get("final_widening"),
                **rest,
            )
        except (KeyError, TypeError) as error:
            raise InvalidParameter("a stored answer must be what a guard released") from error


def end_words(values: Any, details: Mapping[str, Any]) -> str:
    """Return what the end of a run shows: the winner, what is claimed about it, and how many answers; else empty.

    Examples
    --------
    >>> details = {"winner": "a", "winner_interval": [0.75, 0.85], "loss_at_most": 0.01, "revealed": [{}]}
    >>> end_words({"a": 0.8, "b": 0.78}, details)
    'a is best with 0.8 in [0.75, 0.85], at most 0.01 below the truly best; b 0.78; 1 earlier answer exactly in details'
    >>> end_words(None, {"revealed": []}), end_words(0.5, {})
    ('no earlier answers', '')
    """
    if "revealed" not in details:
        return ""
    parts, winner = [], details.get("winner")
    if winner is not None:
        ends, lost = details.get("winner_interval"), details.get("loss_at_most")
        best = f"{winner} is best with {values[winner]:.6g}"
        best += "" if ends is None else f" in [{ends[0]:.6g}, {ends[1]:.6g}]"
        parts.append(best + ("" if lost is None else f", at most {lost:.4g} below the truly best"))
        parts += [f"{name} {value:.6g}" for name, value in values.items() if name != winner]
        ranks = (details.get("ranks") or {}).items()
        parts += [f"rank of {name} {first}" + (f" to {last}" if last > first else "") for name, (first, last) in ranks]
    count = len(details["revealed"])
    if count:
        parts.append(f"{count} earlier answer{'s' if count > 1 else ''} exactly in details")
    return "; ".join(parts) or "no earlier answers"


def submission_words(details: Mapping[str, Any]) -> str:
    """Return what became of a submission to a ladder, or of a model without an end; empty for everything else.

    Examples
    --------
    >>> submission_words({"improved": True}), submission_words({"improved": False}), submission_words({})
    ('beat the best so far', 'did not beat the best so far', '')
    """
    if details.get("finished") is False:
        return "could not be finished"
    if details.get(_BEATEN):
        return "beat the best when it was first submitted, and was beaten since"
    if "improved" not in details:
        return ""
    return "beat the best so far" if details["improved"] else "did not beat the best so far"
