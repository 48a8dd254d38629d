"""An interval as a pair of numbers that the catalogue can print."""

from __future__ import annotations

import math
from typing import Any, NamedTuple


class Limits(NamedTuple):
    """A lower and an upper limit; it unpacks as `(low, high)`.

    Examples
    --------
    >>> low, high = Limits(0.25, 0.75)
    >>> Limits(low, high).value
    0.25
    """

    low: float
    high: float

    @property
    def value(self) -> float:
        """Half the length."""
        return (self.high - self.low) / 2

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the limits under names of their own, since `low` and `high` are also the range of a value."""
        return {"value": self.value, "lower": self.low, "upper": self.high}


def outwards(lower: float, upper: float, low: float, high: float, ulps: int = 4) -> Limits:
    """The limits moved outwards by `ulps` units of the largest number around, and kept inside `[low, high]`.

    Examples
    --------
    >>> outwards(0.25, 1.5, 0.0, 1.0).high
    1.0
    """
    room = ulps * math.ulp(max(abs(low), abs(high), high - low))
    return Limits(min(max(low, lower - room), high), max(min(high, upper + room), low))


__all__ = ["Limits", "outwards"]
