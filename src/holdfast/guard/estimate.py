"""What a question would cost and give, before it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from holdfast.accounting import Cost


@dataclass(frozen=True)
class Estimate:
    """What asking now would cost, how wide the answer would be, and whether it would be let in.

    Attributes
    ----------
    cost : Cost or None
        What a private question would spend; None for a look, which is paid in shares.
    half_width : float or None
        Half the width of the interval at most; for a check how near the truth the guess is if it stands, which is its
        tolerance. None where the answer has no interval, or where none is left.
    admitted : bool
        Whether it would be let in.
    repeated : bool
        Whether a stored answer would come back, free.
    reason : str
        Why not, in plain words.
    remaining : mapping
        What would be left afterwards, or what is left where it would be refused.
    least_tolerance : float or None
        For a check, the smallest `tolerance` that the guess could pass with; the default is about twice as wide.

    Examples
    --------
    >>> print(Estimate(None, 0.02, True))
    admitted, within 0.02
    """

    cost: Cost | None
    half_width: float | None
    admitted: bool
    repeated: bool = False
    reason: str = ""
    remaining: Mapping[str, Any] = field(default_factory=dict)
    least_tolerance: float | None = None

    def __str__(self) -> str:
        if not self.admitted:
            return f"refused: {self.reason}"
        parts = ["stored, free" if self.repeated else "admitted"]
        parts += [] if self.cost is None or self.repeated else [f"cost {self.cost}"]
        parts += [] if self.half_width is None else [f"within {self.half_width:.4g}"]
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "cost": None if self.cost is None else self.cost.to_dict(),
            "half_width": self.half_width,
            "admitted": self.admitted,
            "repeated": self.repeated,
            "reason": self.reason,
            "remaining": dict(self.remaining),
            "least_tolerance": self.least_tolerance,
        }


__all__ = ["Estimate"]
