"""What comes back from a guard: an answer with its cost, what is left, what it rests on, and a receipt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from holdfast.accounting import Cost
from holdfast.bounds.guarantee import Guarantee
from holdfast.errors import InvalidParameter


@dataclass(frozen=True)
class GuardedAnswer:
    """One answer of a guard.

    Attributes
    ----------
    value, interval
        What was asked for: a number and its two ends, a list of them for a histogram, a label for a selection; None
        where nothing but a bit was released. All intervals of a guard hold at once, with the policy's confidence.
    passed : bool or None
        Whether a check or claim passed.
    cost : Cost or None
        What a private answer spent.
    remaining : mapping
        What may still be asked, by this analyst and in all.
    guarantee : Guarantee
        The theorem, its parameters and the assumption.
    details : mapping
        What the kind of question has to show beside.
    sequence : int
        The ledger's entry.
    repeated : bool
        Whether this is a stored answer that cost nothing now.
    receipt : mapping or None
        The signed entry, for `holdfast verify`.

    Examples
    --------
    >>> answer = GuardedAnswer(0.81, [0.78, 0.84], Guarantee("transfer.interleaved"), sequence=3)
    >>> print(answer)
    0.81 in [0.78, 0.84] (entry 3; transfer.interleaved; rows independent)
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

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval of a number."""
        ends = self.interval
        if not isinstance(ends, (list, tuple)) or len(ends) != 2 or isinstance(ends[0], (list, tuple)):
            return None
        return float(ends[1] - ends[0]) / 2

    def __str__(self) -> str:
        head = "" if self.passed is None else "passed: " if self.passed else "failed: "
        value = "no value" if self.value is None else f"{self.value:.6g}" if _number(self.value) else str(self.value)
        where = "" if self.half_width is None else f" in [{self.interval[0]:.6g}, {self.interval[1]:.6g}]"
        return f"{head}{value}{where} (entry {self.sequence}; {self.guarantee})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return self.released() | {
            "sequence": self.sequence,
            "repeated": self.repeated,
            "receipt": None if self.receipt is None else dict(self.receipt),
        }

    def released(self) -> dict[str, Any]:
        """What the ledger stores of it."""
        return {
            "value": self.value,
            "interval": self.interval,
            "passed": self.passed,
            "cost": None if self.cost is None else self.cost.to_dict(),
            "remaining": dict(self.remaining),
            "guarantee": self.guarantee.to_dict(),
            "details": dict(self.details),
        }

    @classmethod
    def stored(cls, plain: Mapping[str, Any], sequence: int, repeated: bool, receipt: Any = None) -> Self:
        """The answer that the ledger holds."""
        try:
            cost = None if plain["cost"] is None else Cost.from_dict(plain["cost"])
            rest = {name: plain[name] for name in ("value", "interval", "passed", "remaining", "details")}
            return cls(
                guarantee=Guarantee(**plain["guarantee"]),
                cost=cost,
                sequence=sequence,
                repeated=repeated,
                receipt=receipt,
                **rest,
            )
        except (KeyError, TypeError) as error:
            raise InvalidParameter("a stored answer must be what a guard released") from error


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


__all__ = ["GuardedAnswer"]
