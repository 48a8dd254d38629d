"""What comes back from a question: a value, an interval that holds, its cost, what is left, and what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.accounting.costs import Cost
from holdfast.bounds.guarantee import Guarantee


@dataclass(frozen=True)
class Answer:
    """One answer. `value` and `interval` are None where nothing but a bit was released.

    `interval` holds for every answer of the same answerer at once, with the confidence in `guarantee`. `passed` says
    whether a check or claim passed, None for questions that cannot fail. `remaining` counts what may still be asked.

    Examples
    --------
    >>> print(Answer(0.81, (0.78, 0.84), Guarantee("holdout.guess-and-check-width", {"beta": 0.05}), passed=True))
    passed: 0.81 in [0.78, 0.84] (holdout.guess-and-check-width (beta=0.05); rows independent)
    """

    value: float | None
    interval: tuple[float, float] | None
    guarantee: Guarantee
    cost: Cost | None = None
    remaining: Mapping[str, float] = field(default_factory=dict)
    passed: bool | None = None

    @property
    def half_width(self) -> float | None:
        """Half the length of the interval."""
        return None if self.interval is None else (self.interval[1] - self.interval[0]) / 2

    def __str__(self) -> str:
        head = "" if self.passed is None else "passed: " if self.passed else "failed: "
        value = "no value" if self.value is None else f"{self.value:.6g}"
        where = "" if self.interval is None else f" in [{self.interval[0]:.6g}, {self.interval[1]:.6g}]"
        return f"{head}{value}{where} ({self.guarantee})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "passed": self.passed,
            "cost": None if self.cost is None else self.cost.to_dict(),
            "remaining": dict(self.remaining),
            "guarantee": self.guarantee.to_dict(),
        }


__all__ = ["Answer"]
