"""What comes back from a question: a value, an interval that holds, its cost, what is left, and what it depends on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from holdfast.accounting.costs import Cost
from holdfast.core.guarantee import Guarantee


@dataclass(frozen=True)
class Answer:
    """One answer. If only a pass or a failure was released, `value` and `interval` are None.

    The intervals of all answers of the same method hold together, with the confidence in `guarantee`. `passed` says
    whether a check or claim passed; it is None for questions that cannot fail. `remaining` counts what may still be
    asked. `widening` is the price of the answer, where it is known: the proportion by which later intervals are wider
    because of what this answer showed. `final_widening` is the same for the interval of a final, which can be larger.

    Examples
    --------
    >>> print(Answer(0.81, (0.78, 0.84), Guarantee("holdout.guess-and-check-width", {"beta": 0.05}), passed=True))
    passed (your estimate, confirmed within ±0.03): 0.81 in [0.78, 0.84] (holdout.guess-and-check-width (beta=0.05);
    rows independent)
    """

    _words: ClassVar[tuple[str, str]] = "passed", "failed"

    value: Any
    interval: tuple[float, float] | None
    guarantee: Guarantee
    cost: Cost | None = None
    remaining: Mapping[str, float] = field(default_factory=dict)
    passed: bool | None = None
    widening: float | None = field(default=None, kw_only=True)
    final_widening: float | None = field(default=None, kw_only=True)

    @property
    def half_width(self) -> float | None:
        """Half of the length of the interval."""
        return None if self.interval is None else (self.interval[1] - self.interval[0]) / 2

    def __str__(self) -> str:
        head = "" if self.passed is None else f"{self._words[0] if self.passed else self._words[1]}"
        one_side = self.value is not None and self.guarantee.parameters.get("interval") == "sign-test"
        if (
            self.passed
            and self._words[0] == "passed"
            and not one_side
            and (words := confirmed_words(self.value, self.interval))
        ):
            head += f" ({words})"
        head += ": " if head else ""
        where = "" if self.interval is None else f"in [{self.interval[0]:.6g}, {self.interval[1]:.6g}]"
        if where and one_side:
            where = "in direction only"  # the interval is one side of the range
        return "; ".join(filter(None, (f"{head}{value_words(self.value, where)} ({self.guarantee})", self.price)))

    @property
    def price(self) -> str:
        """The effect of the answer on later intervals, in words. It is empty if the effect is negligible."""
        return price_words(self.widening, self.final_widening)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data: numbers, texts, lists and mappings."""
        return {
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "passed": self.passed,
            "cost": None if self.cost is None else self.cost.to_dict(),
            "remaining": dict(self.remaining),
            "guarantee": self.guarantee.to_dict(),
            "widening": self.widening,
            "final_widening": self.final_widening,
        }


def confirmed_words(value: Any, interval: Any) -> str:
    """What a pass says about its value: it is what the analyst gave, and no value from the rows, and is this near.

    Examples
    --------
    >>> confirmed_words(0.81, (0.755, 0.865)), confirmed_words(0.5, (0.44, 0.5604)), confirmed_words(None, (0.2, 1.0))
    ('your estimate, confirmed within ±0.055', 'your estimate, confirmed within ±0.061', '')
    """
    numbers = (value, *interval) if isinstance(interval, (list, tuple)) and len(interval) == 2 else (None,)
    if not all(isinstance(number, (int, float)) and not isinstance(number, bool) for number in numbers):
        return ""
    near = max(value - interval[0], interval[1] - value)
    unit = 10.0 ** (math.floor(math.log10(near)) - 1) if near > 0 else 1.0
    return f"your estimate, confirmed within ±{math.ceil(near / unit - 1e-9) * unit:.2g}"  # rounded up: it is a promise


def value_words(value: Any, where: str) -> str:
    """Return a value and where the truth is; a claim that passed has no value of its own.

    Examples
    --------
    >>> value_words(0.25, "in [0.2, 0.3]"), value_words(None, "in [0.2, 1]"), value_words(None, "")
    ('0.25 in [0.2, 0.3]', 'in [0.2, 1]', 'no value')
    """
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    known = [] if value is None else [f"{value:.6g}" if number else str(value)]
    return " ".join([*known, *([where] if where else [])]) or "no value"


def price_words(widening: float | None, final: float | None = None) -> str:
    """Say what an answer did to later intervals and to that of a final, in words; empty where that is next to nothing.

    Examples
    --------
    >>> price_words(0.231), price_words(0.231, 0.87), price_words(0.0001, 0.0001)
    ('later intervals are 23% wider', "later intervals are 23% wider, a final's 87%", '')
    """
    words = wider_words(widening, final)
    return words and f"later intervals are {words}"


def wider_words(widening: float | None, final: float | None = None) -> str:
    """The two numbers of a price in words, to follow "later intervals are"; empty where both are next to nothing.

    Where no interval can come before the final, the final's is the only one.

    Examples
    --------
    >>> wider_words(0.231, 0.87), wider_words(0.001, 0.02), wider_words(None, 0.13), wider_words(None)
    ("23% wider, a final's 87%", "as wide as before, a final's 2% wider", '13% wider', '')
    """
    few, more = (part is None or part < 0.005 for part in (widening, final))
    if few and more:
        return ""
    if widening is None:
        return f"{final:.0%} wider"
    if few:
        return f"as wide as before, a final's {final:.0%} wider"
    return f"{widening:.0%} wider" + ("" if more else f", a final's {final:.0%}")
